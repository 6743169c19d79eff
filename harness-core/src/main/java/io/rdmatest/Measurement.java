package io.rdmatest;

import java.time.Duration;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A number that a test measured, with all that a comparison of runs has to know about it.
 *
 * @param name what was measured; not blank; it identifies the measurement among those of its test
 * @param kind what the number is
 * @param value the finite number, in full precision
 * @param unit its unit, for example {@code us}, {@code Gb/s} or {@code messages}; not blank
 * @param better the direction in which the number improves
 * @param percentile of a {@link Kind#PERCENTILE} which one it is, from 0 for the minimum to 100 for the maximum; null for
 *     every other kind
 * @param samples how many samples the number was computed from; 0 if that is not known
 */
public record Measurement(
        String name,
        Kind kind,
        double value,
        String unit,
        Better better,
        @Nullable Double percentile,
        long samples) {

    /** What a number is. */
    public enum Kind {
        /** A percentile of a distribution; 0 is its minimum and 100 its maximum. */
        PERCENTILE,
        /** How long something took: one time, or the mean of {@link #samples} times. */
        DURATION,
        /** An amount per second. */
        RATE,
        /** How many there were of something. */
        COUNT,
        /** What was demanded, not what was measured. */
        LIMIT,
        /** Any other number; runs are not compared by it. */
        OTHER;

        /** Returns the name in lower case, as report entries and {@code qualification.json} have it. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** The direction in which a number improves. */
    public enum Better {
        /** A smaller number is better. */
        LOWER,
        /** A larger number is better. */
        HIGHER,
        /** Neither direction is better; runs are not compared by the number. */
        NEITHER;

        /** Returns the name in lower case, as report entries and {@code qualification.json} have it. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Checks the arguments.
     *
     * @throws IllegalArgumentException if a name is blank or a number is out of range; the message names the measurement
     */
    public Measurement {
        if (name.isBlank()) {
            throw new IllegalArgumentException("a measurement of " + value + " " + unit + " has no name");
        }
        if (unit.isBlank()) {
            throw new IllegalArgumentException(name + ": the unit is missing");
        }
        if (!Double.isFinite(value)) {
            throw new IllegalArgumentException(name + ": " + value + " is not a finite number");
        }
        if (samples < 0) {
            throw new IllegalArgumentException(name + ": " + samples + " samples is less than 0");
        }
        if ((kind == Kind.PERCENTILE) != (percentile != null)) {
            throw new IllegalArgumentException(name + ": the kind is " + kind + " and the percentile " + percentile
                    + "; only percentiles have one");
        }
        if (percentile != null && !(percentile >= 0 && percentile <= 100)) {
            throw new IllegalArgumentException(name + ": percentile " + percentile + " is not from 0 to 100");
        }
    }

    /**
     * Returns a percentile of times, of which less is better.
     *
     * @param name what was measured, with the percentile, as in {@code round trip p99}
     * @param percentile 0 to 100
     * @param value the time
     * @param unit its unit
     * @param samples how many times there were; 0 if that is not known
     */
    public static Measurement percentile(String name, double percentile, double value, String unit, long samples) {
        return new Measurement(name, Kind.PERCENTILE, value, unit, Better.LOWER, percentile, samples);
    }

    /**
     * Returns how long something took once, in microseconds; less is better.
     *
     * @param name what it was
     * @param time how long it took
     */
    public static Measurement duration(String name, Duration time) {
        return new Measurement(name, Kind.DURATION, time.toNanos() / 1e3, "us", Better.LOWER, null, 1);
    }

    /**
     * Returns an amount per second, of which more is better. The number of samples is not known.
     *
     * @param name what was measured
     * @param value the finite rate
     * @param unit its unit, for example {@code Gb/s}
     */
    public static Measurement rate(String name, double value, String unit) {
        return new Measurement(name, Kind.RATE, value, unit, Better.HIGHER, null, 0);
    }

    /**
     * Returns how many there were of something.
     *
     * @param name what was counted
     * @param value how many there were
     * @param unit what they are, for example {@code messages}
     * @param better whether more or fewer of them are better
     */
    public static Measurement count(String name, long value, String unit, Better better) {
        return new Measurement(name, Kind.COUNT, value, unit, better, null, 1);
    }

    /**
     * Returns what was demanded of another measurement.
     *
     * @param name what is demanded
     * @param value the finite number
     * @param unit its unit
     */
    public static Measurement limit(String name, double value, String unit) {
        return new Measurement(name, Kind.LIMIT, value, unit, Better.NEITHER, null, 0);
    }

    /**
     * Returns the same measurement, computed from this many samples.
     *
     * @param samples 0 or more; 0 if it is not known
     */
    public Measurement of(long samples) {
        return new Measurement(name, kind, value, unit, better, percentile, samples);
    }

    /**
     * Returns whether samples can say something about a percentile: at least one of them has to lie beyond it. So 100 samples
     * have a 99th percentile and 50 have none. The minimum and the maximum take one sample.
     *
     * @param samples how many there are
     * @param percentile 0 to 100
     */
    public static boolean supports(long samples, double percentile) {
        return percentile == 0 || percentile == 100 ? samples > 0 : samplesBeyond(samples, percentile) >= 1;
    }

    /**
     * Returns how many of some samples lie beyond a percentile.
     *
     * @param samples how many there are
     * @param percentile 0 to 100
     */
    public static long samplesBeyond(long samples, double percentile) {
        // Rounded first: 99.9 is not exact as a binary number, and 1,000 samples have one beyond it.
        return (long) Math.floor(Math.round(samples * (100 - percentile) * 1e3) / 1e5);
    }
}
