package io.rdmatest.junit;

import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
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
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * The life of a run, a class or a test: what was provisioned in it, in order, and what the ledger held when it began.
 *
 * <p>It lives in the store of its context. When JUnit closes the store it releases what was provisioned, last first, and
 * then audits: what the test made itself and left behind is named, and closed, so that one leak fails one test and not all
 * that follow. One object per context instead of one store entry per resource: the audit has to come after the last
 * release.
 */
final class Life implements AutoCloseable {

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(Life.class);

    /** Stores look into the stores of enclosing contexts as well, hence the id. */
    private record Key(String contextId) {}

    private final String name;
    private final @Nullable Life enclosing;
    private final boolean audited;
    private final Set<NativeResource> before = identitySet();
    private final Set<NativeResource> provisioned = identitySet();
    private final Deque<AutoCloseable> resources = new ArrayDeque<>();
    private final Map<Object, Object> byKey = new HashMap<>();
    private final List<AutoCloseable> afterRelease = new ArrayList<>();

    private Life(String name, @Nullable Life enclosing, boolean audited) {
        this.name = name;
        this.enclosing = enclosing;
        this.audited = audited;
        before.addAll(Ledger.live());
    }

    private static Set<NativeResource> identitySet() {
        return Collections.newSetFromMap(new IdentityHashMap<>());
    }

    /** Returns the life of exactly this context, begun now unless it has begun. */
    static Life of(ExtensionContext context) {
        Life enclosing = context.getParent().map(Life::of).orElse(null);
        boolean audited = enclosing != null && !Configuration.of(context).auditOff();
        Key key = new Key(context.getUniqueId());
        return context.getStore(NAMESPACE)
                .getOrComputeIfAbsent(
                        key, ignored -> new Life(context.getDisplayName(), enclosing, audited), Life.class);
    }

    static Life ofRun(ExtensionContext context) {
        return of(context.getRoot());
    }

    static Life ofClass(ExtensionContext context) {
        ExtensionContext current = context;
        while (current.getTestMethod().isPresent()) {
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

    /** Provisions something, and owns it and all native objects that came with it. */
    synchronized <T> T provide(Supplier<? extends T> provision) {
        Set<NativeResource> known = identitySet();
        known.addAll(Ledger.live());
        try {
            T value = provision.get();
            if (value instanceof AutoCloseable closeable) {
                resources.push(closeable);
            }
            return value;
        } finally {
            for (NativeResource resource : Ledger.live()) {
                // What the run or the class provisioned on the way lives as long as they do.
                if (!known.contains(resource) && !isProvisioned(resource)) {
                    provisioned.add(resource);
                }
            }
        }
    }

    /** Runs a check at the very end, when everything that was provisioned or left behind has been released. */
    synchronized void afterRelease(Runnable check) {
        afterRelease.add(check::run);
    }

    /** Returns the live native objects that came into being in this life, in the order of their creation. */
    List<NativeResource> live() {
        return Ledger.live().stream()
                .filter(resource -> !before.contains(resource))
                .toList();
    }

    @Override
    public synchronized void close() {
        List<Throwable> failures = new ArrayList<>();
        List<NativeResource> leaked = audited ? leaked() : List.of();
        String leakReport = leaked.isEmpty() ? "" : describe(leaked);
        // What leaked may be built on what was provisioned, so it goes first; and it was created last.
        for (NativeResource resource : leaked.reversed()) {
            release(resource, failures);
        }
        while (!resources.isEmpty()) {
            release(resources.pop(), failures);
        }
        List<NativeResource> remaining =
                provisioned.stream().filter(r -> !r.isClosed()).toList();
        for (NativeResource resource : remaining.reversed()) {
            release(resource, failures);
        }
        for (AutoCloseable check : afterRelease) {
            release(check, failures);
        }
        AssertionError leak = leaked.isEmpty()
                ? null
                : new AssertionError(name + " left " + leaked.size() + " native object"
                        + (leaked.size() == 1 ? "" : "s") + " behind:" + leakReport);
        Throwable first = leak;
        for (Throwable failure : failures) {
            if (first == null) {
                first = failure;
            } else {
                first.addSuppressed(failure);
            }
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

    private List<NativeResource> leaked() {
        return Ledger.live().stream()
                .filter(resource -> !before.contains(resource) && !isProvisioned(resource))
                .toList();
    }

    private boolean isProvisioned(NativeResource resource) {
        return provisioned.contains(resource) || enclosing != null && enclosing.isProvisioned(resource);
    }

    private static void release(AutoCloseable resource, List<Throwable> failures) {
        try {
            resource.close();
        } catch (Exception | AssertionError e) {
            failures.add(e);
        }
    }

    private static String describe(List<NativeResource> leaked) {
        StringBuilder text = new StringBuilder();
        for (NativeResource resource : leaked) {
            text.append(System.lineSeparator())
                    .append("  ")
                    .append(resource.describe())
                    .append(", created at ")
                    .append(createdAt(resource));
        }
        return text.toString();
    }

    /** Passes over this package's own helpers too: who called {@code Connection.open} is the one to look at. */
    private static StackTraceElement createdAt(NativeResource resource) {
        String helpers = Life.class.getPackageName() + ".Connection";
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
