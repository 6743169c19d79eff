package io.rdmatest.internal.linux;

import io.rdmatest.Cause;
import io.rdmatest.NumberList;
import io.rdmatest.RdmaException;
import io.rdmatest.internal.Errno;
import io.rdmatest.internal.Libc;
import io.rdmatest.internal.Native;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.OptionalInt;
import java.util.stream.Collectors;

/** Places memory on huge pages and on a NUMA node: mmap(2), then mbind(2), which the C library does not export. */
public final class Numa {

    private static final Path ONLINE = Path.of("/sys/devices/system/node/online");
    private static final Path HUGE_PAGES = Path.of("/sys/kernel/mm/hugepages");

    /** From linux/mempolicy.h. */
    private static final int MPOL_BIND = 2;

    private static final int MPOL_MF_STRICT = 1;

    /** From asm-generic/mman.h, the same on x86-64 and aarch64. */
    private static final int MAP_HUGETLB = 0x40000;

    /** Where the flags have the binary logarithm of the size of a huge page. */
    private static final int MAP_HUGE_SHIFT = 26;

    private static final long KIB = 1024;

    private Numa() {}

    /** Returns the system call number of mbind, which depends on the architecture. */
    public static long mbind() {
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
     * Checks that the kernel has huge pages of a size.
     *
     * @param bytes the size of a page
     * @throws RdmaException if it has none of this size; the message lists the sizes
     */
    public static void checkHugePage(long bytes) {
        if (!Files.isDirectory(poolOf(bytes))) {
            String[] names = HUGE_PAGES.toFile().list();
            String sizes = names == null
                    ? ""
                    : Arrays.stream(names)
                            .map(name -> name.replaceAll("\\D", ""))
                            .mapToLong(Long::parseLong)
                            .sorted()
                            .mapToObj(kib -> kib + " KiB")
                            .collect(Collectors.joining(", "));
            throw new RdmaException("this machine has no huge pages of " + bytes / KIB + " KiB"
                    + (sizes.isEmpty() ? ": its kernel has no " + HUGE_PAGES : "; its kernel has " + sizes));
        }
    }

    private static Path poolOf(long bytes) {
        return HUGE_PAGES.resolve("hugepages-" + bytes / KIB + "kB");
    }

    /**
     * Maps zeroed memory with all its pages on one node, on huge pages, or both.
     *
     * @param arena the arena that frees the memory
     * @param size bytes, from 1
     * @param alignment a power of two
     * @param page the size of a page in bytes
     * @param huge whether that is a huge page
     * @param node the node's number; empty for where the kernel puts the pages
     * @return the memory, of exactly this size
     * @throws RdmaException if the node or the huge page does not exist, or the kernel refuses
     */
    public static MemorySegment allocate(
            Arena arena, long size, long alignment, long page, boolean huge, OptionalInt node) {
        if (node.isPresent()) {
            check(node.getAsInt());
        }
        if (huge) {
            checkHugePage(page);
        }
        long boundary = Math.max(alignment, page);
        String place = (huge ? " on pages of " + page / KIB + " KiB" : "")
                + (node.isPresent() ? " on NUMA node " + node.getAsInt() : "");
        if (size > Long.MAX_VALUE - boundary - page) {
            throw new RdmaException(Cause.OUT_OF_MEMORY, "not enough memory for " + size + " bytes" + place);
        }
        // One alignment more than needed, so that the range contains an aligned address.
        long length = (size + page - 1) / page * page + boundary - page;
        String operands = length + " bytes" + place;
        int flags = Libc.MAP_PRIVATE_ANONYMOUS
                | (huge ? MAP_HUGETLB | Long.numberOfTrailingZeros(page) << MAP_HUGE_SHIFT : 0);
        long address = Libc.mmap(length, Libc.PROT_READ_WRITE, flags, -1);
        if (address == Libc.MAP_FAILED) {
            int errno = Native.errno();
            throw new RdmaException("mmap", operands, errno, huge ? tooFewHugePages(length, page) : "");
        }
        MemorySegment mapped =
                MemorySegment.ofAddress(address).reinterpret(length, arena, whole -> unmap(whole.address(), length));
        if (node.isPresent()) {
            bind(address, length, node.getAsInt(), operands);
        }
        return mapped.asSlice((boundary - address % boundary) % boundary, size);
    }

    private static String tooFewHugePages(long length, long page) {
        Path pool = poolOf(page);
        String free;
        try {
            free = Files.readString(pool.resolve("free_hugepages")).strip();
        } catch (IOException e) {
            free = "an unknown number";
        }
        return "It takes " + length / page + " huge pages, and " + free + " are free: raise the number in "
                + pool.resolve("nr_hugepages") + " as root.";
    }

    /** Called before the first access to a page, so that no page has to move. */
    private static void bind(long address, long length, int node, String operands) {
        try (Arena scratch = Arena.ofConfined()) {
            long words = node / Long.SIZE + 1;
            MemorySegment mask = scratch.allocate(ValueLayout.JAVA_LONG, words);
            mask.setAtIndex(ValueLayout.JAVA_LONG, node / Long.SIZE, 1L << node % Long.SIZE);
            // The kernel subtracts one from the number of bits.
            long bits = words * Long.SIZE + 1;
            if (Libc.mbind(mbind(), address, length, MPOL_BIND, mask, bits, MPOL_MF_STRICT) != 0) {
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
        int ignored = Libc.munmap(address, length);
    }
}
