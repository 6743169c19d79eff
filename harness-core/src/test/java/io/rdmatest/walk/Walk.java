package io.rdmatest.walk;

import io.rdmatest.Cause;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What all threads of a walk share: the journal, the objects that the model holds for live, and the first divergence. */
final class Walk {

    static final int SHOWN = 60;

    final long seed;
    final Journal journal;
    private final AtomicLong operations = new AtomicLong();
    private final AtomicReference<@Nullable Divergence> divergence = new AtomicReference<>();
    /** Guarded by itself. */
    private final Set<NativeResource> live = Collections.newSetFromMap(new IdentityHashMap<>());

    /** Whether the device was reset: its calls fail, and connections break. */
    private volatile boolean reset;

    /** Whether the calling thread is about a connection, which a reset can break in many ways. */
    private final ThreadLocal<Boolean> connecting = ThreadLocal.withInitial(() -> false);

    private final Map<String, LongAdder> succeeded = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> refused = new ConcurrentHashMap<>();

    private final Map<String, LongAdder> nanos = new ConcurrentHashMap<>();

    Walk(long seed, Journal journal) {
        this.seed = seed;
        this.journal = journal;
    }

    long operations() {
        return operations.get();
    }

    void count(String name, boolean success, long nanos) {
        this.nanos.computeIfAbsent(name, ignored -> new LongAdder()).add(nanos);
        operations.incrementAndGet();
        (success ? succeeded : refused)
                .computeIfAbsent(name, ignored -> new LongAdder())
                .increment();
    }

    /** Returns how often each kind of operation succeeded and was refused, one line each. */
    String summary() {
        Set<String> names = new HashSet<>(succeeded.keySet());
        names.addAll(refused.keySet());
        Map<String, String> lines = new TreeMap<>();
        for (String name : names) {
            lines.put(
                    name,
                    name + ": " + sum(succeeded, name) + " succeeded, " + sum(refused, name) + " refused, "
                            + sum(nanos, name) / 1_000_000 + " ms");
        }
        return String.join(System.lineSeparator(), lines.values());
    }

    private static long sum(Map<String, LongAdder> counts, String name) {
        LongAdder count = counts.get(name);
        return count == null ? 0 : count.sum();
    }

    <T extends NativeResource> T made(T resource) {
        synchronized (live) {
            live.add(resource);
        }
        return resource;
    }

    void gone(NativeResource resource) {
        synchronized (live) {
            live.remove(resource);
        }
    }

    /** Of what a thread was about to close when its walk ended. */
    void forgetWhatIsClosed() {
        synchronized (live) {
            live.removeIf(NativeResource::isClosed);
        }
    }

    /** Compares ledger and model while no thread walks. */
    void requireLedgerAsModelled(String when) {
        List<NativeResource> ledger = Ledger.live();
        Set<NativeResource> extra = Collections.newSetFromMap(new IdentityHashMap<>());
        extra.addAll(ledger);
        Set<NativeResource> missing = Collections.newSetFromMap(new IdentityHashMap<>());
        synchronized (live) {
            missing.addAll(live);
            extra.removeAll(live);
        }
        ledger.forEach(missing::remove);
        if (!extra.isEmpty() || !missing.isEmpty()) {
            throw diverged(
                    when + ": the ledger has " + extra.size() + " objects more than the model: "
                            + Ledger.describe(List.copyOf(extra)) + " and misses " + missing,
                    null);
        }
        for (NativeResource resource : ledger) {
            for (NativeResource parent : resource.parents()) {
                if (parent.isClosed() || !parent.children().contains(resource)) {
                    throw diverged(
                            when + ": " + resource + " has parent " + parent + " whose children are "
                                    + parent.children(),
                            null);
                }
            }
            for (NativeResource child : resource.children()) {
                if (!child.parents().contains(resource)) {
                    throw diverged(when + ": " + resource + " has child " + child + " that does not know it", null);
                }
            }
        }
    }

    /** From now on a thread's walk may end because the device was reset, which is no divergence. */
    void reset() {
        reset = true;
    }

    /** The device is there again. */
    void recovered() {
        reset = false;
    }

    /** Does something about a connection. */
    void connecting(Walker.Action step) throws Exception {
        connecting.set(true);
        step.run();
        connecting.set(false);
    }

    /** Tells whether a call failed because the device was reset. */
    boolean isOfReset(@Nullable Throwable thrown) {
        for (Throwable each = thrown; reset && each != null; each = each.getCause()) {
            if (each instanceof RdmaException failure && failure.rdmaCause() == Cause.DEVICE_REMOVED) {
                return true;
            }
        }
        return false;
    }

    boolean stopped() {
        return divergence.get() != null;
    }

    /**
     * Notes the first divergence, with the last operations before it, and stops all threads. What a reset of the device brings about
     * ends the walk of the calling thread alone.
     */
    Divergence diverged(String message, @Nullable Throwable cause) {
        if (isOfReset(cause) || (reset && connecting.get())) {
            return new Divergence(message, cause);
        }
        Divergence made = new Divergence(
                message + System.lineSeparator() + "seed " + seed + ", thread "
                        + Thread.currentThread().getName() + ", after " + operations() + " operations; all of the last "
                        + Journal.LINES + " are in " + journal.file() + "; the last " + SHOWN + " of all threads:"
                        + System.lineSeparator()
                        + journal.last(SHOWN).stream().collect(Collectors.joining(System.lineSeparator())),
                cause);
        divergence.compareAndSet(null, made);
        return made;
    }

    void requireNoDivergence() {
        Divergence first = divergence.get();
        if (first != null) {
            throw first;
        }
    }
}
