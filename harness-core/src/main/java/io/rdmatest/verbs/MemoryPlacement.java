package io.rdmatest.verbs;

import io.rdmatest.internal.linux.Numa;
import java.util.OptionalInt;

/**
 * Says where registered memory lies: on which boundary it begins, on which NUMA node its pages are, and how large they are.
 *
 * @param alignment the alignment of the first byte: a power of two from 1 to {@value #MAX_ALIGNMENT} bytes, or 0 for the size of
 *     a page
 * @param numaNode the node that all pages are on (mbind(2), MPOL_BIND); empty to let the kernel choose
 * @param hugePage the size of the huge pages in bytes (mmap(2), MAP_HUGETLB): a power of two for which the kernel has a pool,
 *     usually 2 MiB and 1 GiB on x86-64; 0 for normal pages
 */
public record MemoryPlacement(long alignment, OptionalInt numaNode, long hugePage) {

    /** The largest alignment: 1 GiB, in bytes. */
    public static final long MAX_ALIGNMENT = 1L << 30;

    /** On a page boundary, on any node, on normal pages. */
    public static final MemoryPlacement ANYWHERE = new MemoryPlacement(0, OptionalInt.empty());

    /**
     * Checks the alignment and the size of the pages.
     *
     * @throws IllegalArgumentException if the alignment or the huge page is not a power of two, the alignment is too large, or
     *     the node is negative
     */
    public MemoryPlacement {
        if (alignment < 0 || alignment > MAX_ALIGNMENT || Long.bitCount(alignment) > 1) {
            throw new IllegalArgumentException(
                    "an alignment is a power of two from 1 to " + MAX_ALIGNMENT + " bytes, not " + alignment);
        }
        if (numaNode.isPresent() && numaNode.getAsInt() < 0) {
            throw new IllegalArgumentException("a NUMA node is at least 0, not " + numaNode.getAsInt());
        }
        if (hugePage < 0 || Long.bitCount(hugePage) > 1) {
            throw new IllegalArgumentException("a huge page has a power of two of bytes, not " + hugePage);
        }
    }

    /**
     * Makes a placement on usual pages.
     *
     * @param alignment a power of two from 1 to {@value #MAX_ALIGNMENT} bytes, or 0 for the size of a page
     * @param numaNode the node that all pages are on; empty for where the kernel puts them
     */
    public MemoryPlacement(long alignment, OptionalInt numaNode) {
        this(alignment, numaNode, 0);
    }

    /**
     * Returns a copy with another alignment.
     *
     * @param bytes a power of two from 1 to {@value #MAX_ALIGNMENT}, or 0 for the size of a page
     */
    public MemoryPlacement alignedTo(long bytes) {
        return new MemoryPlacement(bytes, numaNode, hugePage);
    }

    /**
     * Returns a copy on a NUMA node.
     *
     * @param node the node's number, at least 0
     */
    public MemoryPlacement onNumaNode(int node) {
        return new MemoryPlacement(alignment, OptionalInt.of(node), hugePage);
    }

    /**
     * Returns a copy on huge pages. The kernel has them only if somebody has reserved them:
     * {@code /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages} says how many of 2 MiB there are.
     *
     * @param bytes the size of a page, for example {@code 1L << 21}; 0 for usual pages
     */
    public MemoryPlacement onHugePages(long bytes) {
        return new MemoryPlacement(alignment, numaNode, bytes);
    }

    /**
     * Checks that this machine supports the placement. Registering memory checks it too.
     *
     * @throws io.rdmatest.RdmaException if this machine does not have the NUMA node, the kernel does not know NUMA, or the kernel
     *     has no huge pages of this size; the message says which there are
     */
    public void check() {
        if (numaNode.isPresent()) {
            Numa.check(numaNode.getAsInt());
        }
        if (hugePage != 0) {
            Numa.checkHugePage(hugePage);
        }
    }

    @Override
    public String toString() {
        return "alignment " + (alignment == 0 ? "of a page" : alignment + " B")
                + (numaNode.isPresent() ? ", NUMA node " + numaNode.getAsInt() : "")
                + (hugePage == 0 ? "" : ", huge pages of " + hugePage + " B");
    }
}
