package io.rdmatest.report.run;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.List;
import java.util.Locale;

/** Numbers as people read them. */
public final class Units {

    /** Units of one quantity, each a thousand times the one before it. */
    private static final List<List<String>> SCALES = List.of(
            List.of("ns", "us", "ms", "s"),
            List.of("b/s", "kb/s", "Mb/s", "Gb/s"),
            List.of("msg/s", "kmsg/s", "Mmsg/s"));

    private Units() {}

    /**
     * Returns a value with its unit: times and rates with three digits and the prefix that fits, as {@code 305 ms}; whole numbers of
     * anything else with all of their digits.
     */
    public static String text(double value, String unit) {
        for (List<String> scale : SCALES) {
            int at = scale.indexOf(unit);
            if (at >= 0 && value != 0) {
                double scaled = value;
                // 999.5 is shown as 1000.
                for (; Math.abs(scaled) >= 999.5 && at < scale.size() - 1; at++) {
                    scaled /= 1000;
                }
                for (; Math.abs(scaled) < 0.9995 && at > 0; at--) {
                    scaled *= 1000;
                }
                return digits(scaled) + " " + scale.get(at);
            }
        }
        boolean whole = value == Math.rint(value) && Math.abs(value) < 1e15;
        return (whole ? String.format(Locale.ROOT, "%.0f", value) : digits(value)) + " " + unit;
    }

    public static String bytes(long bytes) {
        String[] units = {"B", "KiB", "MiB", "GiB", "TiB"};
        double value = bytes;
        int unit = 0;
        while (value >= 1024 && unit < units.length - 1) {
            value /= 1024;
            unit++;
        }
        return value == Math.rint(value)
                ? "%d %s".formatted((long) value, units[unit])
                : String.format(Locale.ROOT, "%.1f %s", value, units[unit]);
    }

    public static String seconds(long millis) {
        return String.format(Locale.ROOT, "%.2f s", millis / 1000.0);
    }

    /** Returns a number with three digits that count. */
    public static String digits(double value) {
        double size = Math.abs(value);
        if (size == 0 || size >= 100) {
            return String.format(Locale.ROOT, "%.0f", value);
        }
        // 9.999 is shown as 10.0.
        double rounded = new BigDecimal(size).round(new MathContext(3)).doubleValue();
        int decimals = Math.clamp(2 - (int) Math.floor(Math.log10(rounded)), 0, 9);
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }

    /** A number of an axis: as many digits as tell neighbours apart, no more. */
    public static String tick(double value) {
        if (value == 0) {
            return "0";
        }
        if (Math.abs(value) >= 100) {
            return String.format(Locale.ROOT, "%.0f", value);
        }
        String text = String.format(Locale.ROOT, Math.abs(value) >= 1 ? "%.1f" : "%.3f", value);
        return text.replaceFirst("\\.?0+$", "");
    }
}
