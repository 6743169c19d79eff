package io.rdmatest.junit.engine;

import io.rdmatest.Cause;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.junit.Connection;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.KernelResource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The life of a run, a class or a test: what was provisioned in it, in order, and the owner of what was made in it.
 *
 * <p>Each life has two owners in the ledger: one for what the test's own code makes, which it has to release, and one for
 * what is provisioned, which is released here. So tests that run in parallel answer for their own objects only. Objects
 * that nobody is known to have made are this life's if no other was under way at the same time.
 *
 * <p>It lives in the store of its context. When JUnit closes the store it releases what was provisioned, last first, and
 * then audits: what the test made itself and left behind is named, and closed, so that one leak fails one test and not all
 * that follow. One object per context instead of one store entry per resource: the audit has to come after the last
 * release.
 *
 * <p>It is closeable in two ways: {@code junit.jupiter.extensions.store.close.autocloseable.enabled=false} leaves to stores
 * only the older one. Whichever a store knows, it closes once.
 */
@SuppressWarnings("deprecation") // see above
public final class Life implements AutoCloseable, ExtensionContext.Store.CloseableResource {

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(Life.class);

    /** Stores look into the stores of enclosing contexts as well, hence the id. */
    private record Key(String contextId) {}

    /** The lives of classes and tests that have begun and not ended, in all runs of this JVM; guarded by itself. */
    private static final Set<Life> UNDER_WAY = identitySet();

    private final ExtensionContext context;
    private final String name;
    private final @Nullable Life enclosing;
    private final boolean audited;
    private final Ledger.Owner owner;
    private final Ledger.Owner custodian;
    /** Objects without an owner that existed before this test. */
    private final Set<NativeResource> before = identitySet();

    private volatile boolean overlapped;
    private @Nullable KernelAudit kernel;
    /** That of the test in this class which ended last, if it was alone. */
    private @Nullable KernelAudit lastInside;

    /** Whether something failed in this life, or in one inside it: then work that failed is what is told already. */
    private volatile boolean unsound;

    private @Nullable Thread thread;
    private Ledger.@Nullable Acting acting;
    private final Deque<AutoCloseable> resources = new ArrayDeque<>();
    private final Map<Object, Object> byKey = new HashMap<>();

    private Life(ExtensionContext context, @Nullable Life enclosing, boolean audited) {
        this.context = context;
        this.name = context.getDisplayName();
        this.enclosing = enclosing;
        this.audited = audited;
        this.owner = Ledger.Owner.of(name, enclosing == null ? null : enclosing.owner);
        this.custodian = owner.custodian();
        before.addAll(ownerless());
        if (enclosing != null) {
            begin();
        }
    }

    private void begin() {
        synchronized (UNDER_WAY) {
            for (Life other : UNDER_WAY) {
                if (!encloses(other) && !other.encloses(this)) {
                    other.overlapped = true;
                    overlapped = true;
                }
            }
            UNDER_WAY.add(this);
        }
    }

    private boolean encloses(Life other) {
        for (Life above = other.enclosing; above != null; above = above.enclosing) {
            if (above == this) {
                return true;
            }
        }
        return false;
    }

    private static <T> Set<T> identitySet() {
        return Collections.newSetFromMap(new IdentityHashMap<>());
    }

    /** Returns the life of exactly this context, begun now unless it has begun. */
    static Life of(ExtensionContext context) {
        Life enclosing = context.getParent().map(Life::of).orElse(null);
        boolean audited = enclosing != null && !Configuration.of(context).auditOff();
        Key key = new Key(context.getUniqueId());
        return context.getStore(NAMESPACE)
                .getOrComputeIfAbsent(key, ignored -> new Life(context, enclosing, audited), Life.class);
    }

    static Life ofRun(ExtensionContext context) {
        return of(context.getRoot());
    }

    static Life ofClass(ExtensionContext context) {
        ExtensionContext current = context;
        // A dynamic test or container has neither method nor class: what made it is further up.
        while (!(current.getElement().orElse(null) instanceof Class)) {
            current = current.getParent().orElseThrow();
        }
        return of(current);
    }

    /** Returns what was provisioned under the key, provisioned now unless it has been. */
    synchronized <T> T provide(Object key, Class<T> type, Supplier<? extends T> provision) {
        Object present = byKey.get(key);
        if (present == null) {
            present = provide(provision);
            byKey.put(key, present);
        }
        return type.cast(present);
    }

    /** Provisions something, and owns it and all native objects that the calling thread makes for it. */
    synchronized <T> T provide(Supplier<? extends T> provision) {
        // What an enclosing life provides on the way becomes that one's: it says so in its own turn.
        try (Ledger.Acting ignored = Ledger.actFor(custodian)) {
            T value = provision.get();
            if (value instanceof AutoCloseable closeable) {
                resources.push(closeable);
            }
            return value;
        }
    }

    /** Makes what the calling thread makes until the returned object is closed this life's own. */
    Ledger.Acting act() {
        return Ledger.actFor(owner);
    }

    /** Does so until the end of this life, for the callbacks of other extensions on the test's thread. */
    synchronized void actToTheEnd() {
        if (acting == null) {
            thread = Thread.currentThread();
            acting = act();
        }
    }

    /** Tells whether no other test, or class with its tests, has been under way in this JVM since this one began. */
    boolean isAlone() {
        return !overlapped;
    }

    /** Looks at the kernel's objects, unless it has done so, to look again when everything has been released. */
    synchronized void beginKernelAudit() {
        if (kernel == null && audited) {
            KernelAudit previous = enclosing == null ? null : enclosing.takeLastAudit();
            kernel = previous == null || !isAlone() ? KernelAudit.begin() : KernelAudit.following(previous);
        }
    }

    private synchronized @Nullable KernelAudit takeLastAudit() {
        KernelAudit last = lastInside;
        lastInside = null;
        return last;
    }

    private synchronized void keepLastAudit(KernelAudit last) {
        lastInside = last;
    }

    /** Returns the live native objects that were made or provisioned in this life, in the order of their creation. */
    List<NativeResource> live() {
        return Ledger.live().stream()
                .filter(resource -> isOwn(resource) || resource.owner() == custodian)
                .toList();
    }

    /** Returns these and those of the enclosing lives that the test may have used, except for the run's. */
    List<NativeResource> inSight() {
        return enclosing == null
                ? List.of()
                : Stream.concat(enclosing.inSight().stream(), live().stream()).toList();
    }

    private boolean isOwn(NativeResource resource) {
        return resource.owner() == owner
                || resource.owner() == null && enclosing != null && isAlone() && !before.contains(resource);
    }

    private static List<NativeResource> ownerless() {
        return Ledger.live().stream()
                .filter(resource -> resource.owner() == null)
                .toList();
    }

    @Override
    public synchronized void close() {
        List<String> leaks = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        try {
            try {
                failures.addAll(failedWork());
            } finally {
                release(leaks, failures);
            }
        } catch (RuntimeException e) {
            failures.add(e);
        } finally {
            // Whatever happened: all tests after one that does not end would seem to run beside it.
            end();
        }
        fail(leaks, failures);
    }

    /** Work of provided queues that failed, and that the test did not notice. */
    private List<Error> failedWork() {
        boolean told = unsound || context.getExecutionException().isPresent() || WorkAudit.isOff(context);
        List<Error> found = audited && !told ? WorkAudit.of(Ledger.live(custodian), isClass() && isAlone()) : List.of();
        if (enclosing != null && (told || !found.isEmpty())) {
            enclosing.unsound = true;
        }
        return found;
    }

    /** Tests share the device's asynchronous events with their class, and a thread of it may wait for them. */
    private boolean isClass() {
        return context.getElement().orElse(null) instanceof Class;
    }

    private void release(List<String> leaks, List<Throwable> failures) {
        List<NativeResource> leaked = audited ? leaked() : List.of();
        if (!leaked.isEmpty()) {
            leaks.add(describe(leaked));
        }
        if (audited) {
            leaks.addAll(eventsNotTaken());
        }
        // What leaked may be built on what was provisioned, so it goes first; and it was created last.
        for (NativeResource resource : leaked.reversed()) {
            release(resource, failures);
        }
        while (!resources.isEmpty()) {
            release(resources.pop(), failures);
        }
        for (NativeResource resource : Ledger.live(custodian).reversed()) {
            if (!isShared(resource)) {
                release(resource, failures);
            }
        }
        leaks.addAll(leftInTheKernel());
    }

    /** Throws what was found: leaks before failures, all others suppressed by the first. */
    private void fail(List<String> leaks, List<Throwable> failures) {
        Throwable first = null;
        for (String leak : leaks.reversed()) {
            TestFaultError error = new TestFaultError(Cause.LEAK, name + leak);
            if (first != null) {
                error.addSuppressed(first);
            }
            first = error;
        }
        for (Throwable failure : failures) {
            if (first == null) {
                first = failure;
            } else {
                first.addSuppressed(failure);
            }
        }
        if (first != null) {
            Verdict.publishCause(context, first);
        }
        if (first instanceof Error error) {
            throw error;
        }
        if (first instanceof RuntimeException exception) {
            throw exception;
        }
        if (first != null) {
            throw new IllegalStateException(name + ": a resource could not be released: " + first.getMessage(), first);
        }
    }

    private void end() {
        synchronized (UNDER_WAY) {
            UNDER_WAY.remove(this);
        }
        owner.end();
        custodian.end();
        if (acting != null && thread == Thread.currentThread()) {
            acting.close();
        }
    }

    private List<NativeResource> leaked() {
        return Ledger.live().stream()
                .filter(resource -> isOwn(resource) && !isShared(resource))
                .toList();
    }

    /** The first test that asks an id for its device is not the only one that uses it. */
    private static boolean isShared(NativeResource resource) {
        return resource instanceof DeviceContext context && context.isShared();
    }

    private static void release(AutoCloseable resource, List<Throwable> failures) {
        try {
            resource.close();
        } catch (Exception | AssertionError e) {
            failures.add(e);
        }
    }

    /** Events that arrived while the test ran and that it never asked for. */
    private List<String> eventsNotTaken() {
        List<String> events = new ArrayList<>();
        for (NativeResource resource : live()) {
            if (resource instanceof EventChannel channel) {
                try {
                    events.addAll(channel.eventsNotTaken());
                } catch (IllegalStateException | RdmaException e) {
                    // Closed by another thread meanwhile: then its ids, and their events, are gone too.
                    continue;
                }
            }
        }
        if (events.isEmpty()) {
            return List.of();
        }
        return List.of(" left " + events.size() + " connection manager event" + (events.size() == 1 ? "" : "s")
                + " unacknowledged: " + String.join("; ", events)
                + " arrived, and nobody took " + (events.size() == 1 ? "it" : "them")
                + " (await or poll the channel, or expectEvent on the id)");
    }

    private List<String> leftInTheKernel() {
        if (kernel == null) {
            return List.of();
        }
        List<KernelResource> left = kernel.unexplained(isAlone());
        if (left.isEmpty()) {
            if (enclosing != null && isAlone()) {
                enclosing.keepLastAudit(kernel);
            }
            return List.of();
        }
        return List.of(" left " + left.size() + " object" + (left.size() == 1 ? "" : "s")
                + " in the kernel that the harness does not know of: "
                + left.stream().map(KernelResource::describe).collect(Collectors.joining("; ")));
    }

    /** The first line says what leaked; those after it say where each came from. */
    private static String describe(List<NativeResource> leaked) {
        StringBuilder text = new StringBuilder(
                " left " + leaked.size() + " native object" + (leaked.size() == 1 ? "" : "s") + " behind: ");
        text.append(leaked.stream().map(NativeResource::describe).collect(Collectors.joining(", ")));
        for (NativeResource resource : leaked) {
            text.append(System.lineSeparator())
                    .append("  ")
                    .append(resource.describe())
                    .append(", created at ")
                    .append(createdAt(resource));
            if (!resource.parents().isEmpty()) {
                text.append(", on ")
                        .append(resource.parents().stream()
                                .map(NativeResource::describe)
                                .collect(Collectors.joining(", ")));
            }
        }
        return text.toString();
    }

    /** Passes over the connection's own helpers too: who called {@code Connection.open} is the one to look at. */
    static StackTraceElement createdAt(NativeResource resource) {
        String helpers = Connection.class.getName();
        boolean outside = false;
        for (StackTraceElement frame : resource.creationStack()) {
            outside |= frame.equals(resource.createdAt());
            String type = frame.getClassName();
            boolean own = type.equals(resource.getClass().getName());
            if (outside && !own && !type.equals(helpers) && !type.startsWith(helpers + "$")) {
                return frame;
            }
        }
        return resource.createdAt();
    }
}
