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
 * A native object with its owner, its parents and its live children.
 *
 * <p>Children must be closed before their parents. Otherwise {@link #close} throws an {@link IllegalStateException}
 * that names them; the C libraries return EBUSY or crash later. Closing twice does nothing. Using a closed object
 * throws an {@link IllegalStateException}.
 *
 * <p>Every native call on the object stands between {@link #enter()} and {@link #exit()}. So no thread destroys the
 * object during another thread's call.
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

    /** The number of calls in progress, except those of {@link #user}. The sign bit is set as soon as closing begins. */
    @SuppressWarnings("unused") // through USES
    private volatile int uses;

    /** The first thread that called {@link #enterOften()}. It never changes afterwards. */
    private @Nullable Thread user;

    /** The number of calls of {@link #user} in progress. Only that thread writes it. */
    private int userCalls;

    private volatile boolean closed;

    /**
     * Adds the object to the ledger, below its parents. Audits on other threads can see it at once, so a subclass sets
     * its fields before it calls this constructor.
     *
     * @param kind its type as {@code rdma resource} names it: qp, cq, mr, pd, cm-id …
     * @param parents the objects that must outlive this one; null elements are ignored
     * @throws IllegalStateException if a parent is closed; the caller must then destroy the native object itself
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
     * Destroys the native object. Called without a call in progress and without a live child. If it throws, the object
     * stays in the ledger and open.
     */
    protected abstract void release();

    /**
     * Throws if the destroyed object had failed earlier. Called once, after {@link #release()} has returned and the
     * object has left the ledger.
     */
    protected void released() {}

    /** Returns a name for messages, for example {@code "qp rxe0/17"}. Must not make a native call. */
    public abstract String describe();

    /** Returns its type as {@code rdma resource} names it. */
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

    /** Returns the owner; null if unknown. */
    public final Ledger.@Nullable Owner owner() {
        return owner;
    }

    /** Returns whether a thread created the object. */
    public final boolean createdOn(Thread thread) {
        return creator == thread.threadId();
    }

    /**
     * Returns where the object was created: the first frame outside the harness, or the innermost one. For objects that
     * {@linkplain Ledger#shareStack() share a stack} it is the place where the sharing began.
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
                || className.startsWith("io.rdmatest.connect.") && !isTest(className)
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

    /** Returns whether the object has been closed. */
    public final boolean isClosed() {
        return closed;
    }

    /**
     * Replaces a parent when the native library has moved the object to another one.
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
     * Begins a native call on this object. Pair it with {@link #exit()} in a finally block. Calls must be short: split
     * a long wait into slices.
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
     * Begins a native call on this object as {@link #enter()} does, for calls that one thread makes often. The first thread that
     * calls this method becomes the user of the object. From then on its calls need no locked instruction. In return, a close on
     * another thread stops the user for a moment. Pair it with {@link #exitOften()} in a finally block.
     *
     * @return whether the calling thread is the user of the object; the answer for a thread never changes
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

    /** Ends the call that {@link #enterOften()} began. */
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
     * @throws IllegalStateException if objects built on this one are live, or another thread's native call does not
     *     return
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
        long deadline = Deadline.end(LONGEST_CALL);
        for (int turn = 0; calls() != 0; turn++) {
            if (Deadline.isOver(deadline)) {
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
