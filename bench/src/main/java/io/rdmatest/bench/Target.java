package io.rdmatest.bench;

import java.util.Locale;

/**
 * What the ratio of ours to theirs has to be.
 *
 * @param bound the direction
 * @param value the ratio, more than 0
 */
record Target(Bound bound, double value) {

    /** The direction of a target. */
    public enum Bound {
        /** For times: the ratio is this or less. */
        AT_MOST("<="),
        /** For rates: the ratio is this or more. */
        AT_LEAST(">=");

        private final String sign;

        Bound(String sign) {
            this.sign = sign;
        }

        /** Returns {@code <=} or {@code >=}. */
        public String sign() {
            return sign;
        }
    }

    /** Checks the value. */
    public Target {
        if (!(value > 0) || Double.isInfinite(value)) {
            throw new IllegalArgumentException("The target of a ratio is a positive number, not " + value);
        }
    }

    static Target atMost(double value) {
        return new Target(Bound.AT_MOST, value);
    }

    static Target atLeast(double value) {
        return new Target(Bound.AT_LEAST, value);
    }

    /**
     * Tells whether a ratio meets the target.
     *
     * @param ratio ours divided by theirs
     */
    public boolean holds(double ratio) {
        return bound == Bound.AT_MOST ? ratio <= value : ratio >= value;
    }

    /** Returns the target as one writes it, such as {@code <= 1.05}. */
    @Override
    public String toString() {
        return String.format(Locale.ROOT, "%s %.2f", bound.sign(), value);
    }
}
