package io.rdmatest.fabric;

import java.math.BigDecimal;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A data rate. Its unit is in the name of each method, so that bits, bytes and their multiples are not mistaken for each other.
 *
 * @param bitsPerSecond bits per second, 0 or more
 */
public record Rate(double bitsPerSecond) implements Comparable<Rate> {

    private static final double GIGA = 1e9;
    private static final double MEGA = 1e6;
    private static final Map<String, BigDecimal> UNITS = Map.of(
            "b/s", BigDecimal.ONE,
            "kb/s", BigDecimal.TEN.pow(3),
            "Mb/s", BigDecimal.TEN.pow(6),
            "Gb/s", BigDecimal.TEN.pow(9),
            "Tb/s", BigDecimal.TEN.pow(12));
    private static final Pattern TEXT = Pattern.compile("(\\d{1,15}(?:\\.\\d{1,9})?) ?([kMGT]?b/s)");

    /**
     * Checks the number.
     *
     * @throws IllegalArgumentException if it is negative or no number
     */
    public Rate {
        if (!(bitsPerSecond >= 0)) {
            throw new IllegalArgumentException("A rate is 0 b/s or more, not " + bitsPerSecond);
        }
    }

    /**
     * Returns a rate.
     *
     * @param value gigabits per second, 0 or more; a gigabit is 10⁹ bits
     */
    public static Rate ofGigabitsPerSecond(double value) {
        return new Rate(value * GIGA);
    }

    /**
     * Reads a rate with its unit: {@code b/s}, {@code kb/s}, {@code Mb/s}, {@code Gb/s} or {@code Tb/s}, such as {@code 90 Gb/s}.
     *
     * @param text the number, at most one space, and the unit in exactly these letters
     * @return the rate; empty if the text is no such rate
     */
    public static Optional<Rate> parse(String text) {
        Matcher matcher = TEXT.matcher(text);
        return matcher.matches()
                ? Optional.of(new Rate(new BigDecimal(matcher.group(1))
                        .multiply(UNITS.get(matcher.group(2)))
                        .doubleValue()))
                : Optional.empty();
    }

    /** Returns gigabits (10⁹ bits) per second. */
    public double gigabitsPerSecond() {
        return bitsPerSecond / GIGA;
    }

    /** Returns megabits (10⁶ bits) per second. */
    public double megabitsPerSecond() {
        return bitsPerSecond / MEGA;
    }

    /** Returns bytes (8 bits) per second. */
    public double bytesPerSecond() {
        return bitsPerSecond / Byte.SIZE;
    }

    @Override
    public int compareTo(Rate other) {
        return Double.compare(bitsPerSecond, other.bitsPerSecond);
    }

    /** Returns it in Gb/s with the unit, such as {@code 90.0 Gb/s}. */
    @Override
    public String toString() {
        return gigabitsPerSecond() + " Gb/s";
    }
}
