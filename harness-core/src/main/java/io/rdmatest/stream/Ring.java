package io.rdmatest.stream;

/**
 * The counters of a ring of bytes: its fill level, and the next contiguous piece.
 *
 * <p>The two counters have 64 bits and never wrap, so a full ring differs from an empty one. Not thread-safe.
 */
final class Ring {

    private final int size;
    private long produced;
    private long consumed;

    Ring(int size) {
        this(size, 0);
    }

    /** Creates a ring through which a number of bytes have already passed. */
    Ring(int size, long passed) {
        if (size < 1 || passed < 0) {
            throw new IllegalArgumentException("no ring of " + size + " bytes after " + passed);
        }
        this.size = size;
        this.produced = passed;
        this.consumed = passed;
    }

    int size() {
        return size;
    }

    long produced() {
        return produced;
    }

    long consumed() {
        return consumed;
    }

    int used() {
        return (int) (produced - consumed);
    }

    int free() {
        return size - used();
    }

    int produceOffset() {
        return (int) (produced % size);
    }

    int consumeOffset() {
        return (int) (consumed % size);
    }

    /** Returns how many bytes can be added at {@link #produceOffset()} without a wrap. */
    int contiguousFree() {
        return Math.min(free(), size - produceOffset());
    }

    /** Returns how many bytes can be taken at {@link #consumeOffset()} without a wrap. */
    int contiguousUsed() {
        return Math.min(used(), size - consumeOffset());
    }

    /** Counts added bytes; false, and no change, if there is no room for them. */
    boolean produce(int bytes) {
        if (bytes < 0 || bytes > free()) {
            return false;
        }
        produced += bytes;
        return true;
    }

    /** Counts taken bytes; false, and no change, if there are fewer. */
    boolean consume(int bytes) {
        if (bytes < 0 || bytes > used()) {
            return false;
        }
        consumed += bytes;
        return true;
    }

    /** Counts all bytes before a position as taken. */
    void consumeTo(long position) {
        if (position < consumed || position > produced) {
            throw new IllegalStateException(
                    "position " + position + " is not between " + consumed + " and " + produced);
        }
        consumed = position;
    }
}
