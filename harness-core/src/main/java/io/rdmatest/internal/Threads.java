package io.rdmatest.internal;

import java.lang.foreign.Arena;

/** What the one side of an asymmetric handshake needs. */
public final class Threads {

    private Threads() {}

    /**
     * Returns after every other thread of the JVM has passed a point where it sees what this thread has written before, and where
     * what it has written before is seen by this thread.
     *
     * <p>It is for a rare side that wants to spare a frequent one its fences. The frequent side writes a mark, then reads a flag,
     * and takes its mark back if the flag is set. The rare side sets the flag, calls this method, then reads the mark. One of them
     * sees the other's write. This is what the JVM does when a shared arena is closed: it stops every thread for a moment at a point
     * where its compiled code has no access under way. So this method closes one. It takes some tens of microseconds.
     *
     * @param other the thread of the frequent side; there is nothing to do if it is this one or has ended
     */
    public static void agreeWith(Thread other) {
        // A thread that is seen to have ended has nothing left that would not be seen (JLS 17.4.4).
        if (other != Thread.currentThread() && other.isAlive()) {
            Arena.ofShared().close();
        }
    }
}
