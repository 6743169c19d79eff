package io.rdmatest.internal;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A function of librdmacm, libibverbs or the C library, called with errno captured. Its symbol is looked up and its handle made
 * when it is first asked for.
 *
 * <p>The first handle of each shape costs the JVM about seven classes, and the generated bindings make another one that does
 * not capture errno as soon as their descriptor or their address is asked for. All at once they were more than half of the start
 * of a JVM with the RDMA libraries. So descriptors are written out, and a test compares them with the generated ones. A pointer
 * is {@link io.rdmatest.ffi.rdma_h#C_POINTER}, not ADDRESS: what a returned one points to could not be read.
 *
 * <p>For calls that set up, ask and release. A handle on a data path belongs into a static final field, where the JIT compiler
 * takes it for a constant.
 */
public final class Downcall {

    private final String function;
    private final boolean pointer;
    private final FunctionDescriptor descriptor;
    private final Linker.Option[] options;
    private volatile @Nullable MethodHandle handle;

    private Downcall(String function, boolean pointer, FunctionDescriptor descriptor, Linker.Option... options) {
        this.function = function;
        this.pointer = pointer;
        this.descriptor = descriptor;
        this.options = options;
    }

    /**
     * Describes a function with a result.
     *
     * @param function its symbol
     * @param result what it returns
     * @param arguments what it takes
     * @return the call
     */
    public static Downcall of(String function, MemoryLayout result, MemoryLayout... arguments) {
        return new Downcall(function, false, FunctionDescriptor.of(result, arguments), Native.CAPTURE);
    }

    /**
     * Describes a function without a result.
     *
     * @param function its symbol
     * @param arguments what it takes
     * @return the call
     */
    public static Downcall ofVoid(String function, MemoryLayout... arguments) {
        return new Downcall(function, false, FunctionDescriptor.ofVoid(arguments), Native.CAPTURE);
    }

    /**
     * Describes one way to call a function with a variable number of arguments.
     *
     * @param function its symbol
     * @param fixed the number of arguments that it always has
     * @param result what it returns
     * @param arguments what it takes this way, those that it always has first
     * @return the call
     */
    public static Downcall variadic(String function, int fixed, MemoryLayout result, MemoryLayout... arguments) {
        return new Downcall(
                function,
                false,
                FunctionDescriptor.of(result, arguments),
                Native.CAPTURE,
                Linker.Option.firstVariadicArg(fixed));
    }

    /**
     * Describes a function that is called through a pointer read from a struct.
     *
     * @param function its name there
     * @param result what it returns
     * @param arguments what it takes
     * @return the call; its handle has the function's address as first parameter, before the errno state
     */
    public static Downcall pointer(String function, MemoryLayout result, MemoryLayout... arguments) {
        return new Downcall(function, true, FunctionDescriptor.of(result, arguments), Native.CAPTURE);
    }

    /** Returns the symbol, or the name of the pointer. */
    public String function() {
        return function;
    }

    /** Returns the descriptor of the function itself, without the errno state. */
    public FunctionDescriptor descriptor() {
        return descriptor;
    }

    /** Tells whether the installed libraries have the function; not every release of rdma-core has all of them. */
    public boolean isPresent() {
        return address().isPresent();
    }

    /**
     * Returns the handle; to be called only after {@link Native#requireLibraries()}.
     *
     * @return a handle with the errno state as its first parameter, then those of the function; see also {@link #pointer}
     * @throws IllegalStateException if the installed libraries do not have the function
     */
    public MethodHandle handle() {
        MethodHandle made = handle;
        if (made == null) {
            // Two threads may both make it: the handles are equal, and the JVM makes the classes of a shape once.
            Linker linker = Linker.nativeLinker();
            made = pointer
                    ? linker.downcallHandle(descriptor, options)
                    : linker.downcallHandle(address().orElseThrow(this::missing), descriptor, options);
            handle = made;
        }
        return made;
    }

    private IllegalStateException missing() {
        return new IllegalStateException("the installed libraries have no " + function);
    }

    private Optional<MemorySegment> address() {
        return Lookup.LIBRARIES.find(function);
    }

    /** After {@link Native#requireLibraries()}: the libraries stay open for good. */
    private static final class Lookup {
        static final SymbolLookup LIBRARIES = SymbolLookup.libraryLookup("librdmacm.so.1", Arena.global())
                .or(SymbolLookup.libraryLookup("libibverbs.so.1", Arena.global()))
                .or(Linker.nativeLinker().defaultLookup());
    }
}
