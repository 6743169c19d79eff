package io.rdmatest.rsocket;

import io.rdmatest.internal.Libc;
import io.rdmatest.internal.linux.NativeCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A timer descriptor, timerfd_create(2), that ends an rpoll.
 *
 * <p>The timeout of rpoll can't be used. In rdma-core (seen in release 44), an rpoll that ends by its timeout still
 * counts as a waiting thread. The next event of any socket waits for that thread for ever. From then on every rpoll of
 * the process without an event spins beyond its timeout. An rpoll that ends by a ready descriptor is counted correctly.
 */
final class Alarm implements AutoCloseable {

    private static final int CLOCK_MONOTONIC = 1;
    private static final long VALUE_SECONDS = 16;
    private static final long VALUE_NANOS = 24;

    private final int fd;

    /** A struct itimerspec without an interval: the timer expires once. */
    private final MemorySegment spec = Arena.ofAuto().allocate(32, 8);

    private Alarm(int fd) {
        this.fd = fd;
    }

    static Alarm open() {
        int fd = Libc.timerfdCreate(CLOCK_MONOTONIC, Libc.O_CLOEXEC);
        if (fd < 0) {
            throw NativeCalls.failure("timerfd_create", "");
        }
        return new Alarm(fd);
    }

    /** Makes the descriptor readable after 1 to 999 milliseconds. */
    void set(int millis) {
        // A value of 0 would disarm it.
        spec.set(ValueLayout.JAVA_LONG, VALUE_SECONDS, 0);
        spec.set(ValueLayout.JAVA_LONG, VALUE_NANOS, millis * 1_000_000L);
        if (Libc.timerfdSettime(fd, 0, spec) != 0) {
            throw NativeCalls.failure("timerfd_settime", millis + " ms");
        }
    }

    int fd() {
        return fd;
    }

    @Override
    public void close() {
        int ignored = Libc.close(fd);
    }
}
