package io.rdmatest.internal;

import io.rdmatest.NativeAccessException;
import io.rdmatest.NativeLibraryException;
import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The errno of a downcall, and the failure that follows from it.
 *
 * <p>The first parameter of a handle that captures errno, see {@link Downcall}, is the calling thread's {@link #errnoState()}; the value is read with
 * {@link #errno()} right after the call.
 */
public final class Native {

    static final Linker.Option CAPTURE = Linker.Option.captureCallState("errno");
    private static final StructLayout STATE = Linker.Option.captureStateLayout();
    private static final long ERRNO = STATE.byteOffset(MemoryLayout.PathElement.groupElement("errno"));
    private static final ThreadLocal<MemorySegment> ERRNO_STATE =
            ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(STATE));

    private Native() {}

    /**
     * Loads librdmacm and libibverbs. Call it before the first use of {@code io.rdmatest.ffi}.
     *
     * <p>If native access is neither enabled nor denied, the JVM itself warns once on standard error and names the
     * option.
     *
     * @throws NativeLibraryException if they are not installed
     * @throws NativeAccessException if the JVM denies native access
     */
    public static void requireLibraries() {
        if (Libraries.FAILURE instanceof IllegalCallerException denied) {
            String module = Native.class.getModule().isNamed()
                    ? Native.class.getModule().getName()
                    : "ALL-UNNAMED";
            String option = "--enable-native-access=" + module;
            throw new NativeAccessException(
                    "the JVM denies calls to librdmacm and libibverbs: start it with " + option
                            + " (Surefire and Failsafe: <argLine>" + option + "</argLine>). The JVM's message: "
                            + denied.getMessage(),
                    denied);
        }
        if (Libraries.FAILURE != null) {
            throw new NativeLibraryException(
                    "librdmacm.so.1 or libibverbs.so.1 can't be loaded: install rdma-core's user-space libraries"
                            + " (Debian, Ubuntu: apt-get install librdmacm1 ibverbs-providers; Fedora, RHEL: dnf install"
                            + " librdmacm libibverbs). The JVM's message: " + Libraries.FAILURE.getMessage(),
                    Libraries.FAILURE);
        }
    }

    /**
     * Opens the libraries once. The initialiser of rdma_h can't be used for this: after a failure it can't run again.
     */
    private static final class Libraries {
        static final @Nullable Throwable FAILURE = open();

        private static @Nullable Throwable open() {
            try (Arena arena = Arena.ofConfined()) {
                Optional<MemorySegment> ignored =
                        SymbolLookup.libraryLookup("librdmacm.so.1", arena).find("rdma_create_event_channel");
                ignored = SymbolLookup.libraryLookup("libibverbs.so.1", arena).find("ibv_open_device");
                int loaded = rdma_h.EPERM();
                return loaded > 0 ? null : new IllegalStateException("the bindings are not usable");
            } catch (IllegalArgumentException | IllegalCallerException | LinkageError e) {
                return e;
            }
        }
    }

    /** Returns the calling thread's capture state: the first argument of every capturing handle. */
    public static MemorySegment errnoState() {
        return ERRNO_STATE.get();
    }

    /** Returns the errno of the calling thread's last capturing call. */
    public static int errno() {
        return ERRNO_STATE.get().get(ValueLayout.JAVA_INT, ERRNO);
    }

    /**
     * Builds the exception for a call that reports through errno.
     *
     * @param call the C function
     * @param operands the operands, readable for people; may be empty
     * @return the exception, with the errno of the calling thread's last capturing call
     */
    public static RdmaException failure(String call, String operands) {
        return new RdmaException(call, operands, errno());
    }

    /**
     * Converts a throwable of a MethodHandle to an unchecked exception.
     *
     * @param call the C function
     * @param thrown the throwable of {@code invokeExact}
     * @return the exception to throw
     */
    public static RuntimeException unchecked(String call, Throwable thrown) {
        if (thrown instanceof RuntimeException e) {
            return e;
        }
        if (thrown instanceof Error e) {
            throw e;
        }
        return new IllegalStateException(call + " threw " + thrown, thrown);
    }

    /**
     * Reads a C string.
     *
     * @param address its first byte; may be null
     * @param limit the longest length in bytes
     * @return the string; empty for a null address
     */
    public static String string(MemorySegment address, long limit) {
        return address.address() == 0 ? "" : address.reinterpret(limit).getString(0);
    }
}
