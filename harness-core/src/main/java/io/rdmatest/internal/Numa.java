package io.rdmatest.internal;

import io.rdmatest.Cause;
import io.rdmatest.NumberList;
import io.rdmatest.RdmaException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;

/** Places memory on a NUMA node: mmap(2), then mbind(2), which the C library does not export. */
public final class Numa {

    private static final Path ONLINE = Path.of("/sys/devices/system/node/online");
    private static final Linker LINKER = Linker.nativeLinker();

    /** From linux/mempolicy.h and asm-generic/mman.h; the latter are the same on x86-64 and aarch64. */
    private static final int MPOL_BIND = 2;

    private static final int MPOL_MF_STRICT = 1;
    private static final int PROT_READ_WRITE = 3;
    private static final int MAP_PRIVATE_ANONYMOUS = 0x22;
    private static final long MAP_FAILED = -1;

    private Numa() {}

    /** The handles. The first placement makes them. */
    private static final class Calls {
        static final MethodHandle MMAP = LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow("mmap"),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_INT,
                        ValueLayout.JAVA_LONG),
                Linker.Option.captureCallState("errno"));
        static final MethodHandle MUNMAP = LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow("munmap"),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG),
                Linker.Option.captureCallState("errno"));
        /** syscall(number, address, length, mode, mask, bits, flags); all after the number are variadic. */
        static final MethodHandle SYSCALL = LINKER.downcallHandle(
                LINKER.defaultLookup().findOrThrow("syscall"),
                FunctionDescriptor.of(
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.ADDRESS,
                        ValueLayout.JAVA_LONG,
                        ValueLayout.JAVA_LONG),
                Linker.Option.firstVariadicArg(1),
                Linker.Option.captureCallState("errno"));
    }

    /** Returns the system call number of mbind, which depends on the architecture. */
    static long mbind() {
        return switch (System.getProperty("os.arch")) {
            case "amd64", "x86_64" -> 237;
            case "aarch64" -> 235;
            case "riscv64" -> 235;
            default ->
                throw new RdmaException("can't choose a NUMA node on " + System.getProperty("os.arch")
                        + ": mbind(2) is supported on amd64, aarch64 and riscv64");
        };
    }

    /**
     * Checks that a node exists and has its memory online.
     *
     * @param node its number
     * @throws RdmaException if it does not exist, or the kernel has no NUMA; the message lists the nodes
     */
    public static void check(int node) {
        String online;
        try {
            online = Files.readString(ONLINE).strip();
        } catch (IOException e) {
            RdmaException failure =
                    new RdmaException("can't choose NUMA node " + node + ": this kernel has no NUMA nodes (no " + ONLINE
                            + "); use a kernel with CONFIG_NUMA, or choose no node");
            failure.initCause(e);
            throw failure;
        }
        if (!NumberList.parse(online).get(node)) {
            throw new RdmaException("no NUMA node " + node + " on this machine; allowed: " + online);
        }
    }

    /**
     * Maps zeroed memory with all its pages on one node.
     *
     * @param arena the arena that frees the memory
     * @param size bytes, from 1
     * @param alignment a power of two
     * @param page the size of a page in bytes
     * @param node the node's number
     * @return the memory, of exactly this size
     * @throws RdmaException if the node does not exist, or the kernel refuses
     */
    public static MemorySegment allocate(Arena arena, long size, long alignment, long page, int node) {
        check(node);
        long boundary = Math.max(alignment, page);
        if (size > Long.MAX_VALUE - boundary - page) {
            throw new RdmaException(
                    Cause.OUT_OF_MEMORY, "not enough memory for " + size + " bytes on NUMA node " + node);
        }
        // One alignment more than needed, so that the range contains an aligned address.
        long length = (size + page - 1) / page * page + boundary - page;
        String operands = length + " bytes for NUMA node " + node;
        try {
            long address = (long) Calls.MMAP.invokeExact(
                    Native.errnoState(), 0L, length, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0L);
            if (address == MAP_FAILED) {
                throw Native.failure("mmap", operands);
            }
            MemorySegment mapped = MemorySegment.ofAddress(address)
                    .reinterpret(length, arena, whole -> unmap(whole.address(), length));
            bind(address, length, node, operands);
            return mapped.asSlice((boundary - address % boundary) % boundary, size);
        } catch (Throwable e) {
            throw Native.unchecked("mmap", e);
        }
    }

    /** Called before the first access to a page, so that no page has to move. */
    private static void bind(long address, long length, int node, String operands) throws Throwable {
        try (Arena scratch = Arena.ofConfined()) {
            long words = node / Long.SIZE + 1;
            MemorySegment mask = scratch.allocate(ValueLayout.JAVA_LONG, words);
            mask.setAtIndex(ValueLayout.JAVA_LONG, node / Long.SIZE, 1L << node % Long.SIZE);
            long result = (long) Calls.SYSCALL.invokeExact(
                    Native.errnoState(),
                    mbind(),
                    address,
                    length,
                    (long) MPOL_BIND,
                    mask,
                    // The kernel subtracts one from the number of bits.
                    words * Long.SIZE + 1,
                    (long) MPOL_MF_STRICT);
            if (result != 0) {
                int errno = Native.errno();
                throw new RdmaException(
                        "mbind",
                        operands,
                        errno,
                        switch (Errno.name(errno)) {
                            case "ENOSYS" -> "This kernel is built without NUMA: choose no node.";
                            case "EPERM" -> "The process may not choose nodes: a container needs CAP_SYS_NICE.";
                            case "EINVAL" -> "The node has no memory, or the process's cpuset excludes it.";
                            default -> "";
                        });
            }
        }
    }

    private static void unmap(long address, long length) {
        try {
            int ignored = (int) Calls.MUNMAP.invokeExact(Native.errnoState(), address, length);
        } catch (Throwable e) {
            throw Native.unchecked("munmap", e);
        }
    }
}
