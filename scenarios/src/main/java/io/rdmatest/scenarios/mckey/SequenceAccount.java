package io.rdmatest.scenarios.mckey;

/**
 * Counts the numbered messages of one sender: received, duplicated and reordered ones.
 *
 * <p>The expected numbers begin at 0. Counting allocates nothing.
 */
final class SequenceAccount {

    private static final int SHOWN_GAPS = 4;

    private final int expected;
    private final long[] seen;
    private int distinct;
    private long duplicates;
    private long reordered;
    private long beyond;
    private int highest = -1;

    /**
     * @param expected the number of expected messages, from 0
     */
    SequenceAccount(int expected) {
        this.expected = expected;
        this.seen = new long[(int) ((expected + 63L) / 64)];
    }

    /**
     * Counts a message.
     *
     * @param sequence its number, any
     */
    void accept(long sequence) {
        if (sequence < 0 || sequence >= expected) {
            beyond++;
            return;
        }
        int number = (int) sequence;
        long bit = 1L << (number & 63);
        if ((seen[number >> 6] & bit) != 0) {
            duplicates++;
            return;
        }
        seen[number >> 6] |= bit;
        distinct++;
        if (number < highest) {
            reordered++;
        } else {
            highest = number;
        }
    }

    /** Returns whether every expected message arrived. */
    boolean isComplete() {
        return distinct == expected;
    }

    /** Returns the number after the highest received one; 0 before any. */
    int next() {
        return highest + 1;
    }

    int received() {
        return distinct;
    }

    int lost() {
        return expected - distinct;
    }

    /** Returns how many messages arrived again. */
    long duplicates() {
        return duplicates;
    }

    /** Returns how many messages arrived after one with a higher number. */
    long reordered() {
        return reordered;
    }

    /** Returns how many messages had an unexpected number. */
    long beyond() {
        return beyond;
    }

    /** Returns the first missing numbers, as in {@code 3, 7-9}; empty if none is missing. */
    String missing() {
        StringBuilder text = new StringBuilder();
        int gaps = 0;
        for (int number = 0; number < expected; number++) {
            if (came(number)) {
                continue;
            }
            int last = number;
            while (last + 1 < expected && !came(last + 1)) {
                last++;
            }
            if (gaps++ == SHOWN_GAPS) {
                return text.append(", …").toString();
            }
            text.append(gaps == 1 ? "" : ", ").append(number);
            if (last > number) {
                text.append('-').append(last);
            }
            number = last;
        }
        return text.toString();
    }

    private boolean came(int number) {
        return (seen[number >> 6] & 1L << (number & 63)) != 0;
    }
}
