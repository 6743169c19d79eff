package io.rdmatest.report.page;

import java.util.Locale;

/** What a cell of the matrix has a value of. The page's script has the same list in the same order. */
enum Metric {
    BANDWIDTH("bandwidth", "Gb/s", 1e9, true),
    MESSAGE_RATE("message rate", "Mmsg/s", 1e6, true),
    LATENCY_P50("latency p50", "µs", 1e-6, false),
    LATENCY_P99("latency p99", "µs", 1e-6, false);

    private final String words;
    private final String unit;
    private final double perUnit;
    private final boolean higherIsBetter;

    Metric(String words, String unit, double perUnit, boolean higherIsBetter) {
        this.words = words;
        this.unit = unit;
        this.perUnit = perUnit;
        this.higherIsBetter = higherIsBetter;
    }

    /** Returns its name on the page. */
    String words() {
        return words;
    }

    /** Returns the unit in which the page shows it. */
    String unit() {
        return unit;
    }

    /** Returns how much of the SI unit one unit of the page is. */
    double perUnit() {
        return perUnit;
    }

    boolean isHigherBetter() {
        return higherIsBetter;
    }

    /** Returns a value in the page's unit, with three digits; a dash if there is none. */
    String text(double value) {
        return Double.isNaN(value) ? "–" : digits(value / perUnit);
    }

    /** Returns how many times worse a value is than another one, as a binary logarithm; 0 if it is not worse or not known. */
    double worse(double value, double reference) {
        if (Double.isNaN(value) || !(reference > 0)) {
            return 0;
        }
        double ratio = higherIsBetter ? reference / value : value / reference;
        return Math.clamp(Math.log(ratio) / Math.log(2), 0, 10);
    }

    /** Returns a number with three digits that count. */
    static String digits(double value) {
        double size = Math.abs(value);
        if (size == 0 || size >= 100) {
            return String.format(Locale.ROOT, "%.0f", value);
        }
        int decimals = Math.clamp(2 - (int) Math.floor(Math.log10(size)), 0, 9);
        return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }
}
