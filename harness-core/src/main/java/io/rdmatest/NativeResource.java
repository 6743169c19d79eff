package io.rdmatest;

import io.rdmatest.internal.Threads;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A native object with one owner, its parents and its live children.
 *
 * <p>Closing goes children first: closing a parent with live children is an {@link IllegalStateException} that names
 * them, where the C libraries would answer EBUSY or crash later. Closing twice does nothing. Using a closed object is an
 * {@link IllegalStateException}.
 *
 * <p>Every native call on the object stands between {@link #enter()} and {@link #exit()}, so that an object which one
 * thread closes is never destroyed under a call of another thread.
 */
public abstract class NativeResource implements AutoCloseable {

    private static final VarHandle USES;
    private static final VarHandle USER;
    private static final VarHandle USER_CALLS;
    private static final int CLOSING = Integer.MIN_VALUE;
    private static final Duration LONGEST_CALL = Duration.ofSeconds(10);

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            USES = lookup.findVarHandle(NativeResource.class, "uses", int.class);
            USER = lookup.findVarHandle(NativeResource.class, "user", Thread.class);
            USER_CALLS = lookup.findVarHandle(NativeResource.class, "userCalls", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final String kind;
    /** Replaced under {@link Ledger#LOCK}. */
    private volatile List<NativeResource> parents;

    private final Ledger.@Nullable Owner owner;

    private final long creator = Thread.currentThread().threadId();
    private final Throwable origin = Ledger.stackOfNew();
    /** Guarded by {@link Ledger#LOCK}. */
    private final Set<NativeResource> children = new LinkedHashSet<>();

    /** The number of calls under way but for those of the user; the sign bit is set from the begin of closing on. */
    @SuppressWarnings("unused") // through USES
    private volatile int uses;

    /** The first thread that called {@link #enterOften()}; it stays that. */
    private @Nullable Thread user;

    /** The number of its calls under way. Written by the user only. */
    private int userCalls;

    private volatile boolean closed;

    /**
     * Enters the object into the ledger, below its parents, where audits of other threads look at it at once: the
     * constructor of a class below sets its fields before it calls this one.
     *
     * @param kind what it is, in the words of {@code rdma resource}: qp, cq, mr, pd, cm-id …
     * @param parents the objects that must outlive this one; null elements are passed over
     * @throws IllegalStateException if a parent is closed: the caller then has to destroy the native object itself
     */
    protected NativeResource(String kind, @Nullable NativeResource... parents) {
        this.kind = kind;
        List<NativeResource> present = new ArrayList<>(parents.length);
        for (NativeResource parent : parents) {
            if (parent != null && !present.contains(parent)) {
                present.add(parent);
            }
        }
        this.parents = List.copyOf(present);
        this.owner = Ledger.ownerOfNew(this.parents);
        synchronized (Ledger.LOCK) {
            for (NativeResource parent : this.parents) {
                if ((parent.uses & CLOSING) != 0) {
                    throw new IllegalStateException(
                            parent.kind + " is closed: a new " + kind + " can't be built on it");
                }
            }
            for (NativeResource parent : this.parents) {
                parent.children.add(this);
            }
            Ledger.LIVE.add(this);
        }
    }

    /**
     * Destroys the native object. Called once, with no call under way and no live child; throwing keeps the object in
     * the ledger, still usable as far as the native library allows.
     */
    protected abstract void release();

    /**
     * Says what went wrong with an object that is destroyed all the same, by throwing. Called once, after {@link #release()}
     * has returned and the object has left the ledger.
     */
    protected void released() {}

    /** Returns a name for messages, for example {@code "qp rxe0/17"}. Must not make a native call. */
    public abstract String describe();

    /** Returns what it is, in the words of {@code rdma resource}. */
    public final String kind() {
        return kind;
    }

    /** Returns the live objects built on this one; may be empty. */
    public final List<NativeResource> children() {
        synchronized (Ledger.LOCK) {
            return List.copyOf(children);
        }
    }

    /** Returns the objects that this one is built on; may be empty. */
    public final List<NativeResource> parents() {
        return parents;
    }

    /** Returns the one that the object was made for; null if nobody is known. */
    public final Ledger.@Nullable Owner owner() {
        return owner;
    }

    /** Tells whether a thread created the object. */
    public final boolean createdOn(Thread thread) {
        return creator == thread.threadId();
    }

    /**
     * Returns where the object was created: the first frame outside the harness, or the innermost one. Of objects that
     * {@linkplain Ledger#shareStack() share a stack} it is the place where that began.
     */
    public final StackTraceElement createdAt() {
        StackTraceElement[] frames = origin.getStackTrace();
        for (StackTraceElement frame : frames) {
            if (!isHarness(frame.getClassName())) {
                return frame;
            }
        }
        return frames[frames.length - 1];
    }

    /** Returns the whole stack at the object's creation, or the one that it {@linkplain Ledger#shareStack() shares}. */
    public final StackTraceElement[] creationStack() {
        return origin.getStackTrace();
    }

    private static boolean isHarness(String className) {
        return className.equals(NativeResource.class.getName())
                || className.equals(Ledger.class.getName())
                || className.startsWith("io.rdmatest.internal.")
                || className.startsWith("io.rdmatest.verbs.") && !isTest(className)
                || className.startsWith("io.rdmatest.cm.") && !isTest(className)
                || className.startsWith("io.rdmatest.rsocket.") && !isTest(className)
                || className.startsWith("io.rdmatest.stream.") && !isTest(className)
                || className.startsWith("java.")
                || className.startsWith("jdk.");
    }

    private static boolean isTest(String className) {
        int nested = className.indexOf('$');
        String top = nested < 0 ? className : className.substring(0, nested);
        return top.endsWith("IT") || top.endsWith("Tests") || top.endsWith("TestCase");
    }

    /** Tells whether the object has been closed. */
    public final boolean isClosed() {
        return closed;
    }

    /**
     * Replaces a parent, for an object that the native library moved from one to the other.
     *
     * @param from a parent of this object
     * @param to the parent that takes its place
     * @throws IllegalStateException if the new parent is closed
     */
    protected final void moveToParent(NativeResource from, NativeResource to) {
        synchronized (Ledger.LOCK) {
            if ((to.uses & CLOSING) != 0) {
                throw new IllegalStateException(to.kind + " is closed: " + kind + " can't be moved to it");
            }
            parents =
                    parents.stream().map(parent -> parent == from ? to : parent).toList();
            from.children.remove(this);
            to.children.add(this);
        }
    }

    /**
     * Begins a native call on this object; to be paired with {@link #exit()} in a finally block. Calls must be short:
     * whoever waits does so in slices.
     *
     * @throws IllegalStateException if the object is closed or being closed
     */
    protected final void enter() {
        int now;
        do {
            now = uses;
            if (now < 0) {
                throw new IllegalStateException(describe() + " is closed");
            }
        } while (!USES.weakCompareAndSetAcquire(this, now, now + 1));
    }

    /** Ends a native call on this object. */
    protected final void exit() {
        int ignored = (int) USES.getAndAddRelease(this, -1);
    }

    /**
     * Begins a native call on this object as {@link #enter()} does, for calls that one thread makes again and again: the first
     * thread that comes here pays no locked instruction for it from then on. A close on another thread stops it for a moment. To be
     * paired with {@link #exitOften()} in a finally block.
     *
     * @return whether the calling thread is that first one, always the same for a thread
     * @throws IllegalStateException if the object is closed or being closed
     */
    protected final boolean enterOften() {
        Thread me = Thread.currentThread();
        Thread first = user;
        if (first != me && (first != null || !USER.compareAndSet(this, (Thread) null, me))) {
            enter();
            return false;
        }
        int before = userCalls;
        USER_CALLS.setOpaque(this, before + 1);
        if (uses < 0) {
            USER_CALLS.setRelease(this, before);
            throw new IllegalStateException(describe() + " is closed");
        }
        return true;
    }

    /** Ends what {@link #enterOften()} began. */
    protected final void exitOften() {
        if (user == Thread.currentThread()) {
            USER_CALLS.setRelease(this, userCalls - 1);
        } else {
            exit();
        }
    }

    /**
     * Destroys the native object; does nothing the second time.
     *
     * @throws IllegalStateException if objects built on this one are live, or another thread keeps it in a call
     * @throws RdmaException if the native library refuses; the object then stays in the ledger
     */
    @Override
    public final void close() {
        synchronized (Ledger.LOCK) {
            if ((uses & CLOSING) != 0) {
                return;
            }
            if (!children.isEmpty()) {
                throw new IllegalStateException(describe() + " can't be closed before "
                        + children.stream().map(NativeResource::describe).collect(Collectors.joining(", ")));
            }
            int ignored = (int) USES.getAndBitwiseOr(this, CLOSING);
        }
        boolean released = false;
        try {
            awaitLastCall();
            release();
            released = true;
        } finally {
            if (released) {
                closed = true;
                synchronized (Ledger.LOCK) {
                    for (NativeResource parent : parents) {
                        parent.children.remove(this);
                    }
                    Ledger.LIVE.remove(this);
                }
            } else {
                int ignored = (int) USES.getAndBitwiseAnd(this, ~CLOSING);
            }
        }
        released();
    }

    private void awaitLastCall() {
        Thread often = (Thread) USER.getVolatile(this);
        if (often != null) {
            Threads.agreeWith(often);
        }
        long deadline = System.nanoTime() + LONGEST_CALL.toNanos();
        for (int turn = 0; calls() != 0; turn++) {
            if (System.nanoTime() - deadline > 0) {
                throw new IllegalStateException(describe() + " can't be closed: " + calls()
                        + " native call(s) on it did not return within " + LONGEST_CALL.toSeconds() + " s");
            }
            if (turn < 1000) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(100_000);
            }
        }
    }

    private int calls() {
        return (uses & ~CLOSING) + (int) USER_CALLS.getAcquire(this);
    }

    @Override
    public String toString() {
        return describe();
    }
}
