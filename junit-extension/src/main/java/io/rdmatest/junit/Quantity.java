package io.rdmatest.junit;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads the sizes and durations that people write into annotations and configuration. */
public final class Quantity {

    private static final Pattern NUMBER_AND_UNIT = Pattern.compile("(\\d{1,18})\\s*(\\p{L}*)");

    private Quantity() {}

    /**
     * Read a size such as {@code 64B}, {@code 4KiB} or {@code 4096}.
     *
     * @param text the size; never null
     * @return the size in bytes, at least 1
     * @throws IllegalArgumentException if the text is no size, or the size is 0 or too large; the message says what is
     *     allowed
     */
    public static long bytes(String text) {
        Matcher matcher = NUMBER_AND_UNIT.matcher(text.strip());
        if (!matcher.matches()) {
            throw noSize(text);
        }
        int shift = switch (matcher.group(2)) {
            case "", "B" -> 0;
            case "KiB" -> 10;
            case "MiB" -> 20;
            case "GiB" -> 30;
            default -> throw noSize(text);
        };
        long number = Long.parseLong(matcher.group(1));
        if (number == 0 || number > Long.MAX_VALUE >> shift) {
            throw new IllegalArgumentException(
                    "\"" + text + "\" is out of range: a size is at least 1 B and less than 2^63 B");
        }
        return number << shift;
    }

    private static IllegalArgumentException noSize(String text) {
        return new IllegalArgumentException(
                "\"" + text
                        + "\" is no size: write a whole number and B, KiB, MiB or GiB, for example 64B or 1MiB; no unit means bytes");
    }

    /**
     * Read a duration such as {@code 500 ms}, {@code 30s}, {@code 2 min} or {@code PT1M}.
     *
     * @param text the duration; never null
     * @return the duration, more than 0 and at most 24 h
     * @throws IllegalArgumentException if the text is no duration, or the duration is 0 or too long; the message says what
     *     is allowed
     */
    public static Duration duration(String text) {
        String stripped = text.strip();
        Matcher matcher = NUMBER_AND_UNIT.matcher(stripped);
        try {
            Duration duration;
            if (matcher.matches()) {
                long number = Long.parseLong(matcher.group(1));
                duration = switch (matcher.group(2).toLowerCase(Locale.ROOT)) {
                    case "us" -> Duration.ofNanos(Math.multiplyExact(number, 1000L));
                    case "ms" -> Duration.ofMillis(number);
                    case "", "s" -> Duration.ofSeconds(number);
                    case "m", "min" -> Duration.ofMinutes(number);
                    case "h" -> Duration.ofHours(number);
                    default -> throw noDuration(text);
                };
            } else {
                duration = Duration.parse(stripped);
            }
            if (duration.isZero() || duration.isNegative() || duration.compareTo(Duration.ofDays(1)) > 0) {
                throw new IllegalArgumentException(
                        "\"" + text + "\" is out of range: a duration is more than nothing and at most 24 h");
            }
            return duration;
        } catch (DateTimeParseException | ArithmeticException e) {
            IllegalArgumentException failure = noDuration(text);
            failure.initCause(e);
            throw failure;
        }
    }

    private static IllegalArgumentException noDuration(String text) {
        return new IllegalArgumentException("\"" + text
                + "\" is no duration: write a whole number and us, ms, s, min or h, for example 500 ms or 30 s,"
                + " or the ISO form, for example PT30S; no unit means seconds");
    }

    /**
     * Write a size with the largest unit that divides it.
     *
     * @param bytes the size in bytes
     * @return for example {@code 64 B} or {@code 4 KiB}
     */
    public static String words(long bytes) {
        String[] units = {"B", "KiB", "MiB", "GiB"};
        long number = bytes;
        int unit = 0;
        while (number % 1024 == 0 && number > 0 && unit < units.length - 1) {
            number /= 1024;
            unit++;
        }
        return number + " " + units[unit];
    }

    /**
     * Write a duration in seconds, or else in milliseconds.
     *
     * @param duration the duration; never null
     * @return for example {@code 250 ms} or {@code 30 s}
     */
    public static String words(Duration duration) {
        return duration.toMillis() % 1000 == 0 && duration.toSeconds() > 0
                ? duration.toSeconds() + " s"
                : duration.toMillis() + " ms";
    }
}
