package io.rdmatest.stream;

/**
 * The arithmetic of a ring of bytes: how much is in it, and where the next contiguous piece begins.
 *
 * <p>Two counters of 64 bits run on for ever, so that a full ring differs from an empty one and no amount of data makes
 * them wrong. Not thread-safe.
 */
final class Ring {

    private final int size;
    private long produced;
    private long consumed;

    Ring(int size) {
        this(size, 0);
    }

    /** A ring through which a number of bytes went already. */
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

    /** How many bytes can be put in from {@link #produceOffset()} on without a wrap. */
    int contiguousFree() {
        return Math.min(free(), size - produceOffset());
    }

    /** How many bytes can be taken from {@link #consumeOffset()} on without a wrap. */
    int contiguousUsed() {
        return Math.min(used(), size - consumeOffset());
    }

    /** Counts bytes that were put in; false, and nothing changes, if there is no room for them. */
    boolean produce(int bytes) {
        if (bytes < 0 || bytes > free()) {
            return false;
        }
        produced += bytes;
        return true;
    }

    /** Counts bytes that were taken; false, and nothing changes, if there are not as many. */
    boolean consume(int bytes) {
        if (bytes < 0 || bytes > used()) {
            return false;
        }
        consumed += bytes;
        return true;
    }

    /** Counts all as taken that was put in before the counter of produced bytes had a value. */
    void consumeTo(long position) {
        if (position < consumed || position > produced) {
            throw new IllegalStateException(
                    "position " + position + " is not between " + consumed + " and " + produced);
        }
        consumed = position;
    }
}
