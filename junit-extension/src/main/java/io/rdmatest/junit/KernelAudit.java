package io.rdmatest.junit;

import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.KernelResource;
import io.rdmatest.verbs.KernelResource.Kind;
import io.rdmatest.verbs.QueuePair;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Compares what the kernel lists as this process's RDMA objects after a test with what it listed before, and with what came
 * into the ledger meanwhile. So it finds what the harness does not know of.
 *
 * <p>The kernel tells the thread that made an object, as long as that thread lives. While other tests run, a test answers
 * for what its own thread made; the rest is left to the class, if that is alone. An object whose thread has ended could be
 * any process's, and is taken for this test's if the test is alone.
 *
 * <p>librdmacm keeps the device open that an id was bound to, and a protection domain on it as long as there are such ids:
 * one of each a device is not looked at.
 */
final class KernelAudit {

    /** The words of the ledger for the kernel's kinds. */
    private static final Map<Kind, String> LEDGER = Map.of(
            Kind.CONTEXT, "context",
            Kind.PROTECTION_DOMAIN, "pd",
            Kind.MEMORY_REGION, "mr",
            Kind.COMPLETION_QUEUE, "cq",
            Kind.SHARED_RECEIVE_QUEUE, "srq",
            Kind.QUEUE_PAIR, "qp",
            Kind.CM_ID, "cm-id");

    /** Objects that consist of others which the ledger does not list one by one. */
    private static final Set<String> COMPOUND = Set.of("rsocket", "iomap");

    /** The kernel takes down the objects of a process that has just ended after its parent has learnt of the end. */
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private static final long PAUSE_NANOS = 5_000_000;

    /** The devices that librdmacm has opened in this process. */
    private static final Set<String> OPENED_BY_CM = ConcurrentHashMap.newKeySet();

    private record Key(Kind kind, String device, long number) {
        static Key of(KernelResource resource) {
            return new Key(resource.kind(), resource.device(), resource.number());
        }
    }

    private final Set<Key> before;
    private final Set<NativeResource> known = Collections.newSetFromMap(new IdentityHashMap<>());
    private Set<Key> latest;
    private final Thread thread = Thread.currentThread();
    private final long threadId;

    private KernelAudit(Set<Key> before, long threadId) {
        this.before = before;
        this.threadId = threadId;
        this.latest = before;
        known.addAll(Ledger.live());
        known.stream().filter(KernelAudit::isOpenedByCm).forEach(KernelAudit::noteOpenedByCm);
    }

    /**
     * Looks at what there is.
     *
     * @return null where the kernel has no RDMA subsystem to ask
     */
    static @Nullable KernelAudit begin() {
        try {
            return new KernelAudit(
                    KernelResource.list().stream().map(Key::of).collect(Collectors.toSet()), nativeThreadId());
        } catch (RdmaException e) {
            return null;
        }
    }

    /** Begins with what the audit before it saw at its end, which saves half of the looks: nothing came in between. */
    static KernelAudit following(KernelAudit previous) {
        return new KernelAudit(
                previous.latest, previous.thread == Thread.currentThread() ? previous.threadId : nativeThreadId());
    }

    private static long nativeThreadId() {
        try {
            return Long.parseLong(
                    Path.of("/proc/thread-self").toRealPath().getFileName().toString());
        } catch (IOException | NumberFormatException e) {
            return 0;
        }
    }

    /**
     * Finds what the kernel has more than before and what the ledger does not account for.
     *
     * @param alone whether no other test ran meanwhile
     */
    List<KernelResource> unexplained(boolean alone) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            List<KernelResource> found = look(alone);
            if (found.isEmpty() || System.nanoTime() - deadline >= 0) {
                return found;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private List<KernelResource> look(boolean alone) {
        List<KernelResource> added = new ArrayList<>();
        List<KernelResource> all = KernelResource.list();
        latest = all.stream().map(Key::of).collect(Collectors.toSet());
        for (KernelResource resource : all) {
            boolean own = alone
                    ? resource.module().isEmpty() && (resource.thread() == 0 || resource.isOfThisProcess())
                    : threadId != 0 && resource.thread() == threadId;
            if (own && !before.contains(Key.of(resource))) {
                added.add(resource);
            }
        }
        if (added.isEmpty()) {
            return added;
        }
        List<NativeResource> entered = Ledger.live().stream()
                .filter(resource -> !known.contains(resource) && (alone || resource.createdOn(thread)))
                .toList();
        if (entered.stream().anyMatch(resource -> COMPOUND.contains(resource.kind()))) {
            return List.of();
        }
        entered.stream().filter(KernelAudit::isOpenedByCm).forEach(KernelAudit::noteOpenedByCm);
        List<KernelResource> unexplained = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            List<KernelResource> ofKind =
                    added.stream().filter(resource -> resource.kind() == kind).collect(Collectors.toList());
            unexplained.addAll(excess(kind, ofKind, entered));
        }
        return unexplained;
    }

    private static List<KernelResource> excess(Kind kind, List<KernelResource> added, List<NativeResource> entered) {
        List<NativeResource> accounted = entered.stream()
                .filter(resource -> resource.kind().equals(LEDGER.get(kind)))
                .toList();
        if (kind == Kind.QUEUE_PAIR) {
            // The only number that user space and the kernel share.
            Set<Long> numbers = new HashSet<>();
            accounted.forEach(resource -> numbers.add((long) ((QueuePair) resource).number()));
            added.removeIf(resource -> numbers.contains(resource.number()));
            return added;
        }
        int explained = accounted.size();
        if (added.size() > explained && kind == Kind.CONTEXT) {
            for (KernelResource context : added) {
                explained += OPENED_BY_CM.add(context.device()) ? 1 : 0;
            }
        }
        if (kind == Kind.PROTECTION_DOMAIN
                && entered.stream().anyMatch(resource -> resource.kind().equals(LEDGER.get(Kind.CM_ID)))) {
            explained +=
                    (int) added.stream().map(KernelResource::device).distinct().count();
        }
        return added.subList(Math.min(explained, added.size()), added.size());
    }

    private static boolean isOpenedByCm(NativeResource resource) {
        return resource instanceof DeviceContext && !resource.parents().isEmpty();
    }

    private static void noteOpenedByCm(NativeResource context) {
        boolean ignored = OPENED_BY_CM.add(((DeviceContext) context).deviceName());
    }
}
