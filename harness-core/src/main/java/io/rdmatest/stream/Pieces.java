package io.rdmatest.stream;

/** Pieces of a stream, by where they begin and how long they are: a queue that allocates nothing. Not thread-safe. */
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

    /** Returns where a piece begins, counted from the oldest one. */
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
            throw new IllegalStateException("there is no place for more than " + count + " pieces");
        }
        int at = (head + count) % starts.length;
        starts[at] = start;
        lengths[at] = length;
        count++;
    }

    /** Takes the oldest away; returns how long it was. */
    int remove() {
        int length = length(0);
        head = (head + 1) % starts.length;
        count--;
        return length;
    }
}
