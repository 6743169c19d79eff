package io.rdmatest.fabric.fault;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * What a network does to the packets that a node sends, as tc-netem(8) does it. Percentages are of packets, and each packet is
 * judged for itself.
 *
 * @param loss packets that are lost, 0 … 100 percent
 * @param delay how much later each packet leaves, 0 … 1 minute; of microseconds what is less is cut off
 * @param jitter by how much the delay varies to both sides, 0 … the delay; packets may overtake each other then
 * @param duplicate packets that are sent twice, 0 … 100 percent
 * @param reorder packets that leave at once while the others are delayed, 0 … 100 percent; needs a delay
 * @param corrupt packets of which one bit is flipped, 0 … 100 percent
 */
public record NetworkFault(
        double loss, Duration delay, Duration jitter, double duplicate, double reorder, double corrupt) {

    private static final Duration LONGEST = Duration.ofMinutes(1);

    /** Nothing: what the others begin with, and nothing that can be injected. */
    private static final NetworkFault NONE = new NetworkFault(0, Duration.ZERO, Duration.ZERO, 0, 0, 0);

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException if a value is outside of its range; says which, and what is allowed
     */
    public NetworkFault {
        Objects.requireNonNull(delay, "delay");
        Objects.requireNonNull(jitter, "jitter");
        checkPercent("loss", loss);
        checkPercent("duplicate", duplicate);
        checkPercent("reorder", reorder);
        checkPercent("corrupt", corrupt);
        checkDuration("delay", delay, LONGEST);
        checkDuration("jitter", jitter, delay);
        if (reorder > 0 && delay.isZero()) {
            throw new IllegalArgumentException(
                    "reorder is " + text(reorder) + " %, and there is no delay: packets overtake only delayed ones");
        }
    }

    /**
     * Loses packets.
     *
     * @param percent 0 … 100
     * @return a fault that does this and nothing else
     */
    public static NetworkFault loss(double percent) {
        return NONE.withLoss(percent);
    }

    /**
     * Delays packets.
     *
     * @param delay 0 … 1 minute
     * @return a fault that does this and nothing else
     */
    public static NetworkFault delay(Duration delay) {
        return NONE.withDelay(delay, Duration.ZERO);
    }

    /**
     * Doubles packets.
     *
     * @param percent 0 … 100
     * @return a fault that does this and nothing else
     */
    public static NetworkFault duplicate(double percent) {
        return NONE.withDuplicate(percent);
    }

    /**
     * Damages packets.
     *
     * @param percent 0 … 100
     * @return a fault that does this and nothing else
     */
    public static NetworkFault corrupt(double percent) {
        return NONE.withCorrupt(percent);
    }

    /**
     * Loses packets as well.
     *
     * @param percent 0 … 100
     * @return a fault that is otherwise the same
     */
    public NetworkFault withLoss(double percent) {
        return new NetworkFault(percent, delay, jitter, duplicate, reorder, corrupt);
    }

    /**
     * Delays packets as well.
     *
     * @param by 0 … 1 minute
     * @param variation 0 … the delay
     * @return a fault that is otherwise the same
     */
    public NetworkFault withDelay(Duration by, Duration variation) {
        return new NetworkFault(loss, by, variation, duplicate, reorder, corrupt);
    }

    /**
     * Doubles packets as well.
     *
     * @param percent 0 … 100
     * @return a fault that is otherwise the same
     */
    public NetworkFault withDuplicate(double percent) {
        return new NetworkFault(loss, delay, jitter, percent, reorder, corrupt);
    }

    /**
     * Lets packets overtake delayed ones as well.
     *
     * @param percent 0 … 100
     * @return a fault that is otherwise the same
     */
    public NetworkFault withReorder(double percent) {
        return new NetworkFault(loss, delay, jitter, duplicate, percent, corrupt);
    }

    /**
     * Damages packets as well.
     *
     * @param percent 0 … 100
     * @return a fault that is otherwise the same
     */
    public NetworkFault withCorrupt(double percent) {
        return new NetworkFault(loss, delay, jitter, duplicate, reorder, percent);
    }

    /** Tells whether it does anything to packets. */
    public boolean isAny() {
        return !equals(NONE);
    }

    /** Returns the parameters of tc-netem(8), for example {@code loss 2% delay 5000us}; empty if it does nothing. */
    public String netem() {
        List<String> words = new ArrayList<>();
        if (!delay.isZero()) {
            words.add("delay " + micros(delay) + (jitter.isZero() ? "" : " " + micros(jitter)));
        }
        percent(words, "loss", loss);
        percent(words, "duplicate", duplicate);
        percent(words, "reorder", reorder);
        percent(words, "corrupt", corrupt);
        return String.join(" ", words);
    }

    /** Returns what {@link #netem()} does. */
    @Override
    public String toString() {
        return netem();
    }

    private static void percent(List<String> words, String what, double value) {
        if (value > 0) {
            words.add(what + " " + text(value) + "%");
        }
    }

    private static String micros(Duration duration) {
        return duration.toNanos() / 1000 + "us";
    }

    /** Without an exponent, which tc does not read. */
    private static String text(double value) {
        return BigDecimal.valueOf(value).stripTrailingZeros().toPlainString();
    }

    private static void checkPercent(String what, double value) {
        // Also refuses what is not a number.
        if (!(value >= 0 && value <= 100)) {
            throw new IllegalArgumentException(what + " is " + value + " %: allowed are 0 to 100");
        }
    }

    private static void checkDuration(String what, Duration value, Duration most) {
        if (value.isNegative() || value.compareTo(most) > 0 || !value.isZero() && value.toNanos() < 1000) {
            throw new IllegalArgumentException(
                    "%s is %s: allowed are 0 and 1 us to %s".formatted(what, seconds(value), seconds(most)));
        }
    }

    private static String seconds(Duration value) {
        return BigDecimal.valueOf(value.toNanos(), 6).stripTrailingZeros().toPlainString() + " ms";
    }
}
