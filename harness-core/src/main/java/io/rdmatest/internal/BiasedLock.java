package io.rdmatest.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A reentrant lock that costs the first thread to take it no locked instruction, as long as no other thread wants it.
 *
 * <p>The first other thread ends that for good: it {@linkplain Threads#agreeWith comes to terms} with the first one, and from then
 * on all threads take a {@link ReentrantLock}. For objects that one thread uses millions of times, and that must stay whole if two
 * do.
 */
public final class BiasedLock {

    private static final VarHandle OWNER;
    private static final VarHandle DEPTH;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            OWNER = lookup.findVarHandle(BiasedLock.class, "owner", Thread.class);
            DEPTH = lookup.findVarHandle(BiasedLock.class, "depth", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final ReentrantLock lock = new ReentrantLock();
    /** The first thread; it stays that. */
    private @Nullable Thread owner;

    /** How often the owner has taken the lock without the other one. Written by the owner only. */
    private int depth;

    private volatile boolean shared;

    /** Whether the owner is known to take the other lock, too. Guarded by that lock. */
    private boolean agreed;

    /** Makes a lock that nobody has. */
    public BiasedLock() {}

    /** Takes the lock; waits while another thread has it. To be paired with {@link #unlock()} in a finally block. */
    public void lock() {
        Thread me = Thread.currentThread();
        if (owner != me || !lockAlone()) {
            lockSlowly(me);
        }
    }

    private boolean lockAlone() {
        int before = depth;
        DEPTH.setOpaque(this, before + 1);
        // Whoever has it already keeps it, also if others wait for the end of that.
        if (!shared || before > 0) {
            return true;
        }
        DEPTH.setRelease(this, before);
        return false;
    }

    private void lockSlowly(Thread me) {
        if (owner == null && OWNER.compareAndSet(this, (Thread) null, me) && lockAlone()) {
            return;
        }
        lock.lock();
        if (!agreed) {
            boolean done = false;
            try {
                agree();
                done = true;
            } finally {
                if (!done) {
                    lock.unlock();
                }
            }
        }
    }

    private void agree() {
        shared = true;
        Threads.agreeWith((Thread) OWNER.getVolatile(this));
        for (int turn = 0; (int) DEPTH.getAcquire(this) != 0; turn++) {
            if (turn < 1000) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(50_000);
            }
        }
        agreed = true;
    }

    /** Gives the lock back, which the calling thread has. */
    public void unlock() {
        if (owner == Thread.currentThread() && depth > 0) {
            DEPTH.setRelease(this, depth - 1);
        } else {
            lock.unlock();
        }
    }
}
