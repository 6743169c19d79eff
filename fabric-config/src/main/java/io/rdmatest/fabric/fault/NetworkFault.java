package io.rdmatest.fabric.fault;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * A fault of the packets that a node sends, as in tc-netem(8). Percentages apply to each packet independently.
 *
 * @param loss packets that are lost, 0 … 100 percent
 * @param delay the additional delay of each packet, 0 … 1 minute, rounded down to microseconds
 * @param jitter the variation of the delay in both directions, 0 … the delay; it may reorder packets
 * @param duplicate packets that are sent twice, 0 … 100 percent
 * @param reorder packets that are sent without the delay, 0 … 100 percent; needs a delay
 * @param corrupt packets with one flipped bit, 0 … 100 percent
 */
public record NetworkFault(
        double loss, Duration delay, Duration jitter, double duplicate, double reorder, double corrupt) {

    private static final Duration LONGEST = Duration.ofMinutes(1);

    /** The base of all faults; it has no effect and can't be injected. */
    private static final NetworkFault NONE = new NetworkFault(0, Duration.ZERO, Duration.ZERO, 0, 0, 0);

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException if a value is out of its range; the message has the value and the range
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
     * @return a fault with only this effect
     */
    public static NetworkFault loss(double percent) {
        return NONE.withLoss(percent);
    }

    /**
     * Delays packets.
     *
     * @param delay 0 … 1 minute
     * @return a fault with only this effect
     */
    public static NetworkFault delay(Duration delay) {
        return NONE.withDelay(delay, Duration.ZERO);
    }

    /**
     * Doubles packets.
     *
     * @param percent 0 … 100
     * @return a fault with only this effect
     */
    public static NetworkFault duplicate(double percent) {
        return NONE.withDuplicate(percent);
    }

    /**
     * Damages packets.
     *
     * @param percent 0 … 100
     * @return a fault with only this effect
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

    /** Returns whether it has any effect. */
    public boolean isAny() {
        return !equals(NONE);
    }

    /** Returns the parameters of tc-netem(8), for example {@code loss 2% delay 5000us}; empty without an effect. */
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
        // Also rejects NaN.
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
