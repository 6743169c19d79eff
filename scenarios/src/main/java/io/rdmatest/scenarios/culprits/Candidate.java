package io.rdmatest.scenarios.culprits;

/**
 * What may be a cause of many bad cells: all that a port sends, all that it receives, or all that flows from a leaf to a leaf.
 *
 * @param shape which of these
 * @param a the node, by its number on this rail, or the leaf of the senders
 * @param b the leaf of the receivers, or 0
 */
record Candidate(Shape shape, int a, int b) {

    /** Where its cells are in the matrix. */
    enum Shape {
        /** A port sends: a row. */
        ROW,
        /** A port receives: a column. */
        COLUMN,
        /** From a leaf to a leaf: a block. */
        BLOCK
    }
}
