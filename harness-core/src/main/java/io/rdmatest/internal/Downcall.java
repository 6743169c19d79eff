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
 * A function of librdmacm, libibverbs or the C library, called with errno captured. The first use looks up its symbol
 * and makes its handle.
 *
 * <p>The first handle of each signature costs the JVM about seven classes. The generated bindings would make a second
 * handle, without errno, as soon as their descriptor or address is used. Made all at once, handles took more than half
 * of a JVM's start. So the descriptors are written out here, and a test compares them with the generated ones. A
 * pointer is {@link io.rdmatest.ffi.rdma_h#C_POINTER}, not ADDRESS: the target of a returned ADDRESS can't be read.
 *
 * <p>For set-up, queries and release. On a data path the handle belongs in a static final field, as a constant for the
 * JIT compiler.
 */
public final class Downcall {

    /** Where the function is found. */
    private enum Kind {
        LIBRARY,
        POINTER,
        LIBC
    }

    private final String function;
    private final Kind kind;
    private final FunctionDescriptor descriptor;
    private final Linker.Option[] options;
    private volatile @Nullable MethodHandle handle;

    private Downcall(String function, Kind kind, FunctionDescriptor descriptor, Linker.Option... options) {
        this.function = function;
        this.kind = kind;
        this.descriptor = descriptor;
        this.options = options;
    }

    /**
     * Describes a function with a result.
     *
     * @param function its symbol
     * @param result the layout of the result
     * @param arguments the layouts of the arguments
     * @return the call
     */
    public static Downcall of(String function, MemoryLayout result, MemoryLayout... arguments) {
        return new Downcall(function, Kind.LIBRARY, FunctionDescriptor.of(result, arguments), Native.CAPTURE);
    }

    /**
     * Describes a function without a result.
     *
     * @param function its symbol
     * @param arguments the layouts of the arguments
     * @return the call
     */
    public static Downcall ofVoid(String function, MemoryLayout... arguments) {
        return new Downcall(function, Kind.LIBRARY, FunctionDescriptor.ofVoid(arguments), Native.CAPTURE);
    }

    /**
     * Describes one way to call a function with a variable number of arguments.
     *
     * @param function its symbol
     * @param fixed the number of arguments that it always has
     * @param result the layout of the result
     * @param arguments all argument layouts of this way, the fixed ones first
     * @return the call
     */
    public static Downcall variadic(String function, int fixed, MemoryLayout result, MemoryLayout... arguments) {
        return new Downcall(
                function,
                Kind.LIBRARY,
                FunctionDescriptor.of(result, arguments),
                Native.CAPTURE,
                Linker.Option.firstVariadicArg(fixed));
    }

    /**
     * Describes a function of the C library, which needs no RDMA library: {@link Libc} has them all.
     *
     * @param function its symbol
     * @param result the layout of the result
     * @param arguments the layouts of the arguments
     * @return the call; it may be used before {@code NativeCalls.requireLibraries()}
     */
    static Downcall libc(String function, MemoryLayout result, MemoryLayout... arguments) {
        return new Downcall(function, Kind.LIBC, FunctionDescriptor.of(result, arguments), Native.CAPTURE);
    }

    /**
     * Describes one way to call a function of the C library with a variable number of arguments.
     *
     * @param function its symbol
     * @param fixed the number of arguments that it always has
     * @param result the layout of the result
     * @param arguments all argument layouts of this way, the fixed ones first
     * @return the call; it may be used before {@code NativeCalls.requireLibraries()}
     */
    static Downcall libcVariadic(String function, int fixed, MemoryLayout result, MemoryLayout... arguments) {
        return new Downcall(
                function,
                Kind.LIBC,
                FunctionDescriptor.of(result, arguments),
                Native.CAPTURE,
                Linker.Option.firstVariadicArg(fixed));
    }

    /**
     * Describes a function that is called through a function pointer of a struct.
     *
     * @param function the name of the struct's field
     * @param result the layout of the result
     * @param arguments the layouts of the arguments
     * @return the call; the first parameter of its handle is the function's address, before the errno state
     */
    public static Downcall pointer(String function, MemoryLayout result, MemoryLayout... arguments) {
        return new Downcall(function, Kind.POINTER, FunctionDescriptor.of(result, arguments), Native.CAPTURE);
    }

    /** Returns the symbol, or the name of the pointer. */
    public String function() {
        return function;
    }

    /** Returns the descriptor of the function itself, without the errno state. */
    public FunctionDescriptor descriptor() {
        return descriptor;
    }

    /** Returns whether one of the libraries has a symbol. Call {@code NativeCalls.requireLibraries()} first. */
    public static boolean isThere(String symbol) {
        return Lookup.LIBRARIES.find(symbol).isPresent();
    }

    /** Returns whether the installed libraries have the function; old releases of rdma-core lack some. */
    public boolean isPresent() {
        return address().isPresent();
    }

    /**
     * Returns the handle. Call {@code NativeCalls.requireLibraries()} first.
     *
     * @return a handle with the errno state as its first parameter, then those of the function; see also {@link #pointer}
     * @throws IllegalStateException if the installed libraries do not have the function
     */
    public MethodHandle handle() {
        MethodHandle made = handle;
        if (made == null) {
            // Two threads may both make it: the handles are equal, and the JVM shares their classes.
            Linker linker = Linker.nativeLinker();
            made = kind == Kind.POINTER
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
        return kind == Kind.LIBC ? Libc.lookup().find(function) : Lookup.LIBRARIES.find(function);
    }

    /** Used after {@code NativeCalls.requireLibraries()}. The libraries are never closed. */
    private static final class Lookup {
        static final SymbolLookup LIBRARIES = SymbolLookup.libraryLookup("librdmacm.so.1", Arena.global())
                .or(SymbolLookup.libraryLookup("libibverbs.so.1", Arena.global()))
                .or(Libc.lookup());
    }
}
