package io.rdmatest.verbs;

import io.rdmatest.internal.Downcall;
import io.rdmatest.internal.Libc;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * Tells from which library a function of a device comes (dladdr(3)), and whether calls of it may be critical.
 *
 * <p>A critical call leaves out what the JVM does around a call that may take long. In return the JVM can't stop its threads, for
 * example to collect garbage, before the call is over. So only functions that neither block nor enter the kernel are called so.
 * The rule: ibv_post_send, ibv_post_recv, ibv_post_srq_recv and ibv_req_notify_cq of the providers in {@link #USER_SPACE} write to
 * memory and to a doorbell under a spin lock, and are called so. Those of rxe, siw and hfi1 make a system call, those of hns make
 * one when a queue pair is in the error state, those of bnxt_re wait while the doorbells of all programs are too many, and of other
 * providers nothing is known: these are called as usual, and so is any function that a library in between has replaced. ibv_poll_cq
 * is critical but for the providers in {@link #POLLS_IN_KERNEL}. No call on an extended completion queue is critical, and no
 * post to a queue pair that completes there: {@link ExtendedPoll} says why.
 */
final class Provider {

    /**
     * A device's functions that are in libibverbs itself make a system call. Those of the stand-in for it, which loops messages back,
     * do not.
     */
    private static final String VERBS = "ibverbs";

    private static final String OF_STANDIN = "loopback_set";

    /** By the name of the library in rdma-core: libNAME-rdmavNN.so. */
    private static final Set<String> USER_SPACE =
            Set.of("mlx5", "mlx4", "irdma", "efa", "erdma", "mana", "qedr", "ionic");

    /** Some of them only with an old kernel, or for queue pairs in the error state. Those of bnxt_re wait, as its posts do. */
    private static final Set<String> POLLS_IN_KERNEL = Set.of("hfi1verbs", "ipathverbs", "hns", "cxgb4", "bnxt_re");

    private Provider() {}

    /** Tells whether posts and requests for events may be critical, by the device's function for the first of them. */
    static boolean postsInUserSpace(MemorySegment postSend) {
        String name = name(postSend);
        return name.equals(VERBS) ? Downcall.isThere(OF_STANDIN) : USER_SPACE.contains(name);
    }

    /** Tells whether polls may be critical, by the device's function for them. */
    static boolean pollsInUserSpace(MemorySegment poll) {
        String name = name(poll);
        return name.equals(VERBS) ? Downcall.isThere(OF_STANDIN) : !POLLS_IN_KERNEL.contains(name);
    }

    /**
     * Tells whether completions that the device's function polls have the kernel's flags: rxe's kernel module writes them to the queue
     * itself.
     */
    static boolean hasFlagsOfKernel(MemorySegment poll) {
        return name(poll).equals("rxe");
    }

    private static String name(MemorySegment function) {
        return nameOf(Libc.libraryOf(function));
    }

    /** Returns NAME of a path that ends with libNAME.so.1 or libNAME-rdmav34.so; empty if it does not. */
    static String nameOf(String path) {
        String file = path.substring(path.lastIndexOf('/') + 1);
        int end = file.indexOf("-rdmav");
        if (end < 0) {
            end = file.indexOf(".so");
        }
        return file.startsWith("lib") && end > 3 ? file.substring(3, end) : "";
    }
}
