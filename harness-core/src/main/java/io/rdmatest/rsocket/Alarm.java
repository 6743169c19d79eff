package io.rdmatest.rsocket;

import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * A timer descriptor, timerfd_create(2), that ends an rpoll.
 *
 * <p>The timeout of rpoll can't be used. In rdma-core (seen in release 44), an rpoll that ends by its timeout still
 * counts as a waiting thread. The next event of any socket waits for that thread for ever. From then on every rpoll of
 * the process without an event spins beyond its timeout. An rpoll that ends by a ready descriptor is counted correctly.
 */
final class Alarm implements AutoCloseable {

    private static final int CLOCK_MONOTONIC = 1;
    private static final int TFD_CLOEXEC = 0x80000;
    private static final long VALUE_SECONDS = 16;
    private static final long VALUE_NANOS = 24;

    private static final MethodHandle CREATE = libc(
            "timerfd_create", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
    private static final MethodHandle SET_TIME = libc(
            "timerfd_settime",
            FunctionDescriptor.of(
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_INT,
                    ValueLayout.ADDRESS,
                    ValueLayout.ADDRESS));
    private static final MethodHandle CLOSE =
            libc("close", FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));

    private final int fd;

    /** A struct itimerspec without an interval: the timer expires once. */
    private final MemorySegment spec = Arena.ofAuto().allocate(32, 8);

    private Alarm(int fd) {
        this.fd = fd;
    }

    private static MethodHandle libc(String name, FunctionDescriptor descriptor) {
        return Native.capturing(Linker.nativeLinker().defaultLookup().findOrThrow(name), descriptor);
    }

    static Alarm open() {
        int fd;
        try {
            fd = (int) CREATE.invokeExact(Native.errnoState(), CLOCK_MONOTONIC, TFD_CLOEXEC);
        } catch (Throwable e) {
            throw Native.unchecked("timerfd_create", e);
        }
        if (fd < 0) {
            throw Native.failure("timerfd_create", "");
        }
        return new Alarm(fd);
    }

    /** Makes the descriptor readable after 1 to 999 milliseconds. */
    void set(int millis) {
        // A value of 0 would disarm it.
        spec.set(ValueLayout.JAVA_LONG, VALUE_SECONDS, 0);
        spec.set(ValueLayout.JAVA_LONG, VALUE_NANOS, millis * 1_000_000L);
        int result;
        try {
            result = (int) SET_TIME.invokeExact(Native.errnoState(), fd, 0, spec, MemorySegment.NULL);
        } catch (Throwable e) {
            throw Native.unchecked("timerfd_settime", e);
        }
        if (result != 0) {
            throw Native.failure("timerfd_settime", millis + " ms");
        }
    }

    int fd() {
        return fd;
    }

    @Override
    public void close() {
        try {
            int ignored = (int) CLOSE.invokeExact(Native.errnoState(), fd);
        } catch (Throwable e) {
            throw Native.unchecked("close", e);
        }
    }
}
