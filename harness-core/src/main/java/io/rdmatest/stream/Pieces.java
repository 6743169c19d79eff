package io.rdmatest.stream;

/** A queue of pieces of a stream, each with start and length. It allocates nothing. Not thread-safe. */
final class Pieces {

    private final long[] starts;
    private final int[] lengths;
    private int head;
    private int count;

    Pieces(int most) {
        starts = new long[most];
        lengths = new int[most];
    }

    boolean isEmpty() {
        return count == 0;
    }

    boolean isFull() {
        return count == starts.length;
    }

    int count() {
        return count;
    }

    /** Returns the start of a piece; index 0 is the oldest one. */
    long start(int index) {
        return starts[place(index)];
    }

    int length(int index) {
        return lengths[place(index)];
    }

    private int place(int index) {
        if (index < 0 || index >= count) {
            throw new IndexOutOfBoundsException("piece " + index + " of " + count);
        }
        return (head + index) % starts.length;
    }

    void add(long start, int length) {
        if (isFull()) {
            throw new IllegalStateException("the queue of " + count + " pieces is full");
        }
        int at = (head + count) % starts.length;
        starts[at] = start;
        lengths[at] = length;
        count++;
    }

    /** Removes the oldest piece; returns its length. */
    int remove() {
        int length = length(0);
        head = (head + 1) % starts.length;
        count--;
        return length;
    }
}
