package io.rdmatest.internal.linux;

import io.rdmatest.NativeAccessException;
import io.rdmatest.NativeLibraryException;
import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Loads librdmacm and libibverbs, and builds the exception for a native call that failed. */
public final class NativeCalls {

    private NativeCalls() {}

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
        if (Opened.FAILURE instanceof IllegalCallerException denied) {
            String module = NativeCalls.class.getModule().isNamed()
                    ? NativeCalls.class.getModule().getName()
                    : "ALL-UNNAMED";
            String option = "--enable-native-access=" + module;
            throw new NativeAccessException(
                    "the JVM denies calls to librdmacm and libibverbs: start it with " + option
                            + " (Surefire and Failsafe: <argLine>" + option + "</argLine>). The JVM's message: "
                            + denied.getMessage(),
                    denied);
        }
        if (Opened.FAILURE != null) {
            throw new NativeLibraryException(
                    "librdmacm.so.1 or libibverbs.so.1 can't be loaded: install rdma-core's user-space libraries"
                            + " (Debian, Ubuntu: apt-get install librdmacm1 ibverbs-providers; Fedora, RHEL: dnf install"
                            + " librdmacm libibverbs). The JVM's message: " + Opened.FAILURE.getMessage(),
                    Opened.FAILURE);
        }
    }

    /**
     * Opens the libraries once. The initialiser of rdma_h can't be used for this: after a failure it can't run again.
     */
    private static final class Opened {
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

    /**
     * Builds the exception for a call that reports through errno.
     *
     * @param call the C function
     * @param operands the operands, readable for people; may be empty
     * @return the exception, with the errno of the calling thread's last capturing call
     */
    public static RdmaException failure(String call, String operands) {
        return new RdmaException(call, operands, Native.errno());
    }
}
