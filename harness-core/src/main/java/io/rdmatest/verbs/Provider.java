package io.rdmatest.verbs;

import io.rdmatest.internal.Downcall;
import io.rdmatest.internal.Libc;
import java.lang.foreign.MemorySegment;
import java.util.Set;

/**
 * Tells which library a function of a device comes from (dladdr(3)), and whether calls of the function may be critical.
 *
 * <p>A critical call leaves out what the JVM does around a call that may take long. In return the JVM can't stop its threads
 * before the call returns, for example to collect garbage. So only functions that neither block nor enter the kernel are called
 * this way.
 *
 * <p>ibv_post_send, ibv_post_recv, ibv_post_srq_recv and ibv_req_notify_cq are critical for the providers in {@link #USER_SPACE}.
 * Those write to memory and to a doorbell under a spin lock. The functions of other providers are called as usual. rxe, siw and
 * hfi1 make a system call. hns makes one when a queue pair is in the error state. bnxt_re waits while the doorbells of all
 * programs are too many. irdma makes a system call when it flushes a queue pair in the error state. Nothing is known about the
 * rest. A function that a library in between has replaced is called as usual,
 * too.
 *
 * <p>ibv_poll_cq is critical for these providers and for those in {@link #POLLS_IN_USER_SPACE}. The polls of hfi1, ipath, hns and
 * cxgb4 enter the kernel, some only with an old kernel or for queue pairs in the error state. bnxt_re waits, as in its posts. No call on an extended completion queue is
 * critical, and no post to a queue pair that completes there: {@link ExtendedPoll} says why.
 */
final class Provider {

    /**
     * The name of libibverbs itself. A device's functions in libibverbs make a system call. The functions of its stand-in, which
     * loops messages back, do not.
     */
    private static final String VERBS = "ibverbs";

    private static final String OF_STANDIN = "loopback_set";

    /** Providers, by the name of their library in rdma-core: libNAME-rdmavNN.so. */
    private static final Set<String> USER_SPACE = Set.of("mlx5", "mlx4", "efa", "erdma", "mana", "qedr", "ionic");

    /** Further providers, whose polls read memory and do not enter the kernel. */
    private static final Set<String> POLLS_IN_USER_SPACE =
            Set.of("irdma", "rxe", "siw", "mthca", "ocrdma", "vmw_pvrdma");

    private Provider() {}

    /** Tells whether posts and requests for events may be critical. The device's function for posting sends decides it. */
    static boolean postsInUserSpace(MemorySegment postSend) {
        String name = name(postSend);
        return name.equals(VERBS) ? Downcall.isThere(OF_STANDIN) : USER_SPACE.contains(name);
    }

    /** Tells whether polls may be critical. The device's function for polling decides it. */
    static boolean pollsInUserSpace(MemorySegment poll) {
        String name = name(poll);
        return name.equals(VERBS)
                ? Downcall.isThere(OF_STANDIN)
                : USER_SPACE.contains(name) || POLLS_IN_USER_SPACE.contains(name);
    }

    /**
     * Tells whether polled completions have the kernel's flags. The kernel module of rxe itself writes the completions to the
     * queue.
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
