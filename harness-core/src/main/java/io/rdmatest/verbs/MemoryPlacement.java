package io.rdmatest.verbs;

import io.rdmatest.internal.Numa;
import java.util.OptionalInt;

/**
 * Says where registered memory lies: on which boundary it begins, and on which NUMA node its pages are.
 *
 * @param alignment the first byte's address is a multiple of it: a power of two from 1 to {@value #MAX_ALIGNMENT} bytes, or
 *     0 for the size of a page
 * @param numaNode the node that all pages are on (mbind(2), MPOL_BIND); empty for where the kernel puts them
 */
public record MemoryPlacement(long alignment, OptionalInt numaNode) {

    /** The largest alignment: 1 GiB, in bytes. */
    public static final long MAX_ALIGNMENT = 1L << 30;

    /** On a page boundary, on whatever node. */
    public static final MemoryPlacement ANYWHERE = new MemoryPlacement(0, OptionalInt.empty());

    /**
     * Checks the alignment.
     *
     * @throws IllegalArgumentException if the alignment is no power of two or too large, or the node is negative
     */
    public MemoryPlacement {
        if (alignment < 0 || alignment > MAX_ALIGNMENT || Long.bitCount(alignment) > 1) {
            throw new IllegalArgumentException(
                    "an alignment is a power of two from 1 to " + MAX_ALIGNMENT + " bytes, not " + alignment);
        }
        if (numaNode.isPresent() && numaNode.getAsInt() < 0) {
            throw new IllegalArgumentException("a NUMA node is at least 0, not " + numaNode.getAsInt());
        }
    }

    /**
     * Returns a copy with another alignment.
     *
     * @param bytes a power of two from 1 to {@value #MAX_ALIGNMENT}, or 0 for the size of a page
     */
    public MemoryPlacement alignedTo(long bytes) {
        return new MemoryPlacement(bytes, numaNode);
    }

    /**
     * Returns a copy on a NUMA node.
     *
     * @param node the node's number, at least 0
     */
    public MemoryPlacement onNumaNode(int node) {
        return new MemoryPlacement(alignment, OptionalInt.of(node));
    }

    /**
     * Checks that this machine can do it; registering does so too.
     *
     * @throws io.rdmatest.RdmaException if the NUMA node is not one of this machine's, or the kernel knows no NUMA; says
     *     which nodes there are
     */
    public void check() {
        if (numaNode.isPresent()) {
            Numa.check(numaNode.getAsInt());
        }
    }

    @Override
    public String toString() {
        return "alignment " + (alignment == 0 ? "of a page" : alignment + " B")
                + (numaNode.isPresent() ? ", NUMA node " + numaNode.getAsInt() : "");
    }
}
