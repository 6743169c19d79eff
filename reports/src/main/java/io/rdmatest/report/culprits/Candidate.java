package io.rdmatest.report.culprits;

/**
 * A possible cause of many bad cells: everything that a port sends, everything that it receives, or everything that flows from
 * one leaf to another or within a leaf.
 *
 * @param shape the kind of candidate
 * @param a the number of the node on this rail, or of the leaf of the senders
 * @param b the number of the leaf of the receivers; 0 unless it is a block
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
