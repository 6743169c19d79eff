package io.rdmatest.scenarios.mckey;

/**
 * Keeps account of the numbered messages of one sender: which came, which came twice, which came late.
 *
 * <p>Expected are the numbers from 0. Taking note of one allocates nothing.
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
     * @param expected how many messages are expected, from 0
     */
    SequenceAccount(int expected) {
        this.expected = expected;
        this.seen = new long[(int) ((expected + 63L) / 64)];
    }

    /**
     * Takes note of a message.
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

    /** Whether every expected message came. */
    boolean isComplete() {
        return distinct == expected;
    }

    /** The number after the highest that came; 0 before any. */
    int next() {
        return highest + 1;
    }

    int received() {
        return distinct;
    }

    int lost() {
        return expected - distinct;
    }

    /** Messages that came once more. */
    long duplicates() {
        return duplicates;
    }

    /** Messages that came after one with a higher number. */
    long reordered() {
        return reordered;
    }

    /** Messages whose numbers are not among the expected ones. */
    long beyond() {
        return beyond;
    }

    /** Names what is missing, as in {@code 3, 7-9}; the first gaps only; empty if nothing is. */
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
