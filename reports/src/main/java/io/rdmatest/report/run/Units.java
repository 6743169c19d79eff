package io.rdmatest.report.run;

import java.util.Locale;

/** Numbers as people read them. */
public final class Units {

    private Units() {}

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
        int decimals = Math.clamp(2 - (int) Math.floor(Math.log10(size)), 0, 9);
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
