package io.rdmatest.scenarios.options;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a duration such as {@code 500ms}, {@code 10s} or {@code 2min}, 1 us to 24 h; without a unit it is in seconds. */
public final class DurationText implements ITypeConverter<Duration> {

    private static final Pattern NUMBER_AND_UNIT = Pattern.compile("(\\d{1,9})\\s*(us|ms|s|m|min|h|)");
    private static final Duration MOST = Duration.ofDays(1);

    /** Creates the converter. */
    public DurationText() {}

    @Override
    public Duration convert(String text) {
        Matcher matcher = NUMBER_AND_UNIT.matcher(text.strip());
        if (!matcher.matches()) {
            throw new TypeConversionException("'" + text
                    + "' is not a duration: write a whole number and us, ms, s, min or h, for example 500ms");
        }
        long number = Long.parseLong(matcher.group(1));
        Duration duration = switch (matcher.group(2)) {
            case "us" -> Duration.ofNanos(number * 1000);
            case "ms" -> Duration.ofMillis(number);
            case "m", "min" -> Duration.ofMinutes(number);
            case "h" -> Duration.ofHours(number);
            default -> Duration.ofSeconds(number);
        };
        if (duration.isZero() || duration.compareTo(MOST) > 0) {
            throw new TypeConversionException("'" + text + "' is out of range: allowed are 1us to 24h");
        }
        return duration;
    }

    /**
     * Returns a duration as it is read here. It is rounded up to whole microseconds below 1 s, and to whole milliseconds above.
     *
     * @param duration 0 to 24 h
     */
    static String of(Duration duration) {
        long micros = Math.ceilDiv(duration.toNanos(), 1000L);
        if (micros < 1_000_000 && micros % 1000 != 0) {
            return micros + "us";
        }
        long millis = Math.ceilDiv(micros, 1000L);
        return millis % 1000 == 0 ? millis / 1000 + "s" : millis + "ms";
    }

    /** Reads the same, and 0. */
    public static final class OrZero implements ITypeConverter<Duration> {

        /** Creates the converter. */
        public OrZero() {}

        @Override
        public Duration convert(String text) {
            return text.strip().matches("0+(us|ms|s|m|min|h|)") ? Duration.ZERO : new DurationText().convert(text);
        }
    }
}
