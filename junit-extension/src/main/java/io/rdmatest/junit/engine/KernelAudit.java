package io.rdmatest.junit.engine;

import io.rdmatest.Deadline;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.CmId;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.KernelResource;
import io.rdmatest.verbs.KernelResource.Kind;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.XrcTarget;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Compares what the kernel lists as this process's RDMA objects after a test with what it listed before, and with what came
 * into the ledger meanwhile. So it finds what the harness does not know of.
 *
 * <p>The kernel tells the thread that made an object, as long as that thread lives. While other tests run, a test answers
 * for what its own thread made; the rest is left to the class, if that is alone. The owner of an object is found by three rules:
 *
 * <ol>
 *   <li>The kernel names the thread that made the object.
 *   <li>Otherwise its owner is the process that owns its protection domain or device.
 *   <li>Otherwise, because the thread has ended, its owner is this test, if the test runs alone and this process has enough
 *       devices open. The kernel may hold a killed program for a minute, with the objects of its ended threads.
 * </ol>
 *
 * <p>librdmacm keeps the device open that an id was bound to, and a protection domain on it as long as there are such ids,
 * whichever test they are of: one of each a device is not looked at.
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

    /** The contexts that librdmacm has opened in this process, by device; {@link #UNKNOWN} until an audit has met them. */
    private static final Map<String, Long> OPENED_BY_CM = new ConcurrentHashMap<>();

    /** The ledger does not tell the kernel's number of a context. */
    private static final Long UNKNOWN = -1L;

    /** Contexts without a thread that turned out to be another process's. */
    private static final Set<Key> FOREIGN = ConcurrentHashMap.newKeySet();

    /** The kernel's number of the first PID namespace, PROC_PID_INIT_INO. */
    private static final String FIRST_PID_NAMESPACE = "pid:[4026531836]";

    static final String BLIND =
            RdmaConfiguration.AUDIT + "=kernel has no effect: this process runs in a PID namespace of its own, as in a"
                    + " container, where the kernel does not say which process an object belongs to."
                    + " Tests are checked by the ledger only.";

    private static final boolean OWNERS_ARE_TOLD = ownersAreTold(Path.of("/proc/self/ns/pid"));
    private static final AtomicBoolean WARNED = new AtomicBoolean();

    /**
     * Tells whether the kernel's list says whose its objects are. In a PID namespace of its own, a process sees the objects of
     * processes outside of it without their process.
     *
     * @param namespace the link that names the process's PID namespace
     */
    static boolean ownersAreTold(Path namespace) {
        try {
            return Files.readSymbolicLink(namespace).toString().equals(FIRST_PID_NAMESPACE);
        } catch (IOException | UnsupportedOperationException e) {
            // A kernel without PID namespaces.
            return true;
        }
    }

    private record Key(Kind kind, String device, long number) {
        static Key of(KernelResource resource) {
            return new Key(resource.kind(), resource.device(), resource.number());
        }
    }

    private final Set<Key> before;
    /** What was in the ledger when this began, and whether the kernel listed it then. */
    private final Map<NativeResource, Boolean> known;

    private Set<Key> latest;
    /** The same of the look that saw {@link #latest}. */
    private Map<NativeResource, Boolean> knownAtLatest;

    private final Thread thread = Thread.currentThread();
    private final long threadId;

    private KernelAudit(Set<Key> before, Map<NativeResource, Boolean> known, long threadId) {
        this.before = before;
        this.threadId = threadId;
        this.latest = before;
        this.known = known;
        this.knownAtLatest = known;
        known.keySet().stream().filter(KernelAudit::isOpenedByCm).forEach(KernelAudit::noteOpenedByCm);
    }

    /**
     * Looks at what there is.
     *
     * @return null where the kernel has no RDMA subsystem to ask, or does not say whose its objects are
     */
    static @Nullable KernelAudit begin() {
        if (!OWNERS_ARE_TOLD) {
            if (WARNED.compareAndSet(false, true)) {
                System.err.println(BLIND);
            }
            return null;
        }
        try {
            Set<Key> before = KernelResource.list().stream().map(Key::of).collect(Collectors.toSet());
            return new KernelAudit(before, picture(Ledger.live()), nativeThreadId());
        } catch (RdmaException e) {
            return null;
        }
    }

    /**
     * Begins with what the audit before it saw at its end in the kernel and in the ledger, which saves half of the looks.
     * What came in between, such as the run's id that answers a condition, is new to both then, and the one explains the
     * other.
     */
    static KernelAudit following(KernelAudit previous) {
        return new KernelAudit(
                previous.latest,
                previous.knownAtLatest,
                previous.thread == Thread.currentThread() ? previous.threadId : nativeThreadId());
    }

    private static Map<NativeResource, Boolean> picture(List<NativeResource> ledger) {
        Map<NativeResource, Boolean> picture = new IdentityHashMap<>();
        ledger.forEach(resource -> picture.put(resource, isListed(resource)));
        return picture;
    }

    /** Whether the kernel lists what is in the ledger: an id only when it is bound to a device. */
    private static boolean isListed(NativeResource resource) {
        return !(resource instanceof CmId id) || id.hasDevice();
    }

    /** Whether an object of the ledger may be one that the kernel did not list at the beginning. */
    boolean isNew(NativeResource resource) {
        Boolean listed = known.get(resource);
        return listed == null || !listed && isListed(resource);
    }

    /** Returns what the kernel calls this thread; 0 if it does not tell. */
    static long nativeThreadId() {
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
        long deadline = Deadline.end(PATIENCE);
        while (true) {
            List<KernelResource> found = look(alone);
            if (found.isEmpty() || Deadline.isOver(deadline)) {
                return found;
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    private List<KernelResource> look(boolean alone) {
        List<KernelResource> added = new ArrayList<>();
        List<KernelResource> all = KernelResource.list();
        Map<Key, KernelResource> byKey = new HashMap<>();
        all.forEach(resource -> byKey.put(Key.of(resource), resource));
        latest = Set.copyOf(byKey.keySet());
        List<NativeResource> live = Ledger.live();
        knownAtLatest = picture(live);
        List<NativeResource> entered = live.stream()
                .filter(resource -> isNew(resource) && (alone || resource.createdOn(thread)))
                .toList();
        if (alone) {
            findForeignContexts(all, byKey, entered);
        }
        for (KernelResource resource : all) {
            boolean own = alone ? mayBeOurs(resource, byKey) : threadId != 0 && resource.thread() == threadId;
            if (own && !before.contains(Key.of(resource))) {
                added.add(resource);
            }
        }
        if (added.isEmpty()) {
            return added;
        }
        if (entered.stream().anyMatch(resource -> COMPOUND.contains(resource.kind()))) {
            return List.of();
        }
        entered.stream().filter(KernelAudit::isOpenedByCm).forEach(KernelAudit::noteOpenedByCm);
        List<KernelResource> unexplained = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            List<KernelResource> ofKind =
                    added.stream().filter(resource -> resource.kind() == kind).collect(Collectors.toList());
            if (kind == Kind.PROTECTION_DOMAIN) {
                removeDomainsOfCm(ofKind, entered, byKey, unexplained);
            }
            unexplained.addAll(excess(kind, ofKind, entered));
        }
        return unexplained;
    }

    /**
     * Finds out which of the new contexts without a thread are another process's: those that exceed the files which this
     * process has open for its own. They can be told apart only if those of this process are all accounted for.
     */
    private void findForeignContexts(
            List<KernelResource> all, Map<Key, KernelResource> byKey, List<NativeResource> entered) {
        Map<String, List<KernelResource>> doubtful = all.stream()
                .filter(resource -> resource.kind() == Kind.CONTEXT && resource.thread() == 0)
                .filter(resource -> mayBeOurs(resource, byKey) && !before.contains(Key.of(resource)))
                .filter(resource -> !Key.of(resource).equals(openedByCm(resource.device())))
                .collect(Collectors.groupingBy(KernelResource::device));
        doubtful.forEach((device, contexts) -> {
            long surplus = byKey.values().stream()
                            .filter(resource -> resource.kind() == Kind.CONTEXT
                                    && resource.device().equals(device)
                                    && mayBeOurs(resource, byKey))
                            .count()
                    - DeviceFiles.open(device);
            if (surplus > 0 && contexts.size() - surplus <= accounted(device, entered)) {
                // A program is held because it was killed, at the end of a test: it came last.
                contexts.stream()
                        .sorted(Comparator.comparingLong(KernelResource::number).reversed())
                        .limit(surplus)
                        .forEach(context -> FOREIGN.add(Key.of(context)));
            }
        });
    }

    /** Counts the new contexts that the ledger explains, and the one that librdmacm may have opened. */
    private long accounted(String device, List<NativeResource> entered) {
        long ledger = entered.stream()
                .filter(resource -> resource instanceof DeviceContext context
                        && !context.isShared()
                        && context.deviceName().equals(device))
                .count();
        return latest.contains(openedByCm(device)) ? ledger : ledger + 1;
    }

    private static Key openedByCm(String device) {
        return new Key(Kind.CONTEXT, device, OPENED_BY_CM.getOrDefault(device, UNKNOWN));
    }

    private static boolean mayBeOurs(KernelResource resource, Map<Key, KernelResource> all) {
        if (!resource.module().isEmpty() || FOREIGN.contains(Key.of(resource))) {
            return false;
        }
        if (resource.thread() != 0) {
            return resource.isOfThisProcess();
        }
        return resource.parents().entrySet().stream()
                .map(parent -> all.get(new Key(parent.getKey(), resource.device(), parent.getValue())))
                .filter(Objects::nonNull)
                .allMatch(parent -> mayBeOurs(parent, all));
    }

    private List<KernelResource> excess(Kind kind, List<KernelResource> added, List<NativeResource> entered) {
        List<NativeResource> accounted = entered.stream()
                .filter(resource -> resource.kind().equals(LEDGER.get(kind)))
                .toList();
        if (kind == Kind.QUEUE_PAIR) {
            // The only number that user space and the kernel share.
            Set<Long> numbers = new HashSet<>();
            for (NativeResource resource : accounted) {
                switch (resource) {
                    case QueuePair queuePair -> numbers.add((long) queuePair.number());
                    case XrcTarget target -> numbers.add((long) target.number());
                    default -> throw new IllegalStateException(resource + " is no queue pair");
                }
            }
            added.removeIf(resource -> numbers.contains(resource.number()));
            return added;
        }
        int explained = accounted.size();
        if (kind == Kind.CONTEXT) {
            explained -=
                    (int) accounted.stream().filter(KernelAudit::isOpenedByCm).count();
            removeOpenedByCm(added, explained);
        }
        return added.subList(Math.min(explained, added.size()), added.size());
    }

    /**
     * Removes the one protection domain a device that librdmacm keeps, if it must be among the added ones. The first id on
     * the device has it made, in its thread; the last one's end takes it away, and that may be an id of another test.
     *
     * @param unexplained what was found until now, contexts among them: what is on those is not librdmacm's
     */
    private void removeDomainsOfCm(
            List<KernelResource> added,
            List<NativeResource> entered,
            Map<Key, KernelResource> all,
            List<KernelResource> unexplained) {
        List<NativeResource> live = Ledger.live();
        if (live.stream().noneMatch(KernelAudit::keepsDomainOfCm)) {
            return;
        }
        for (String device : added.stream().map(KernelResource::device).collect(Collectors.toSet())) {
            Key opened = openedByCm(device);
            boolean known = latest.contains(opened);
            // Where the context of librdmacm is not known, it may be any but those that nobody accounts for.
            Predicate<Key> ofCm = known
                    ? opened::equals
                    : context -> unexplained.stream().map(Key::of).noneMatch(context::equals);
            Predicate<KernelResource> candidate = resource -> {
                Long context = resource.parents().get(Kind.CONTEXT);
                return resource.kind() == Kind.PROTECTION_DOMAIN
                        && resource.device().equals(device)
                        && (context == null || ofCm.test(new Key(Kind.CONTEXT, device, context)));
            };
            List<KernelResource> addedHere = added.stream().filter(candidate).toList();
            long unknown = all.values().stream()
                            .filter(candidate)
                            .filter(resource -> mayBeOurs(resource, all))
                            .count()
                    - domains(live, device, known);
            long unknownAdded = addedHere.size() - domains(entered, device, known);
            if (unknownAdded > 0 && unknown <= unknownAdded) {
                boolean ignored = added.remove(addedHere.getFirst());
            }
        }
    }

    private static boolean keepsDomainOfCm(NativeResource resource) {
        return resource.kind().equals(LEDGER.get(Kind.CM_ID)) || COMPOUND.contains(resource.kind());
    }

    private static long domains(List<NativeResource> resources, String device, boolean onContextOfCm) {
        return resources.stream()
                .filter(resource -> resource instanceof ProtectionDomain domain
                        && domain.context().deviceName().equals(device)
                        && (!onContextOfCm || domain.context().isShared()))
                .count();
    }

    /** Removes the one context a device that librdmacm keeps, if there are more than the ledger explains. */
    private void removeOpenedByCm(List<KernelResource> added, int explained) {
        for (KernelResource context : List.copyOf(added)) {
            Long number = OPENED_BY_CM.getOrDefault(context.device(), UNKNOWN);
            if (number == context.number()) {
                boolean ignored = added.remove(context);
            } else if (added.size() > explained && !latest.contains(new Key(Kind.CONTEXT, context.device(), number))) {
                OPENED_BY_CM.put(context.device(), context.number());
                boolean ignored = added.remove(context);
            }
        }
    }

    private static boolean isOpenedByCm(NativeResource resource) {
        return resource instanceof DeviceContext context && context.isShared();
    }

    private static void noteOpenedByCm(NativeResource context) {
        Long ignored = OPENED_BY_CM.putIfAbsent(((DeviceContext) context).deviceName(), UNKNOWN);
    }
}
