package io.rdmatest.report.listener;

import io.rdmatest.Measurement;
import io.rdmatest.report.run.Measurements;
import io.rdmatest.report.run.Units;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.function.DoubleUnaryOperator;
import java.util.function.LongFunction;
import java.util.stream.DoubleStream;
import org.HdrHistogram.Histogram;

/** Draws distributions and throughput as SVG, and the same numbers as CSV. */
final class Charts {

    private static final int WIDTH = 860;
    private static final int HEIGHT = 400;
    private static final int LEFT = 78;
    private static final int RIGHT = 24;
    private static final int TOP = 64;
    private static final int BOTTOM = 62;
    private static final int PLOT_WIDTH = WIDTH - LEFT - RIGHT;
    private static final int PLOT_HEIGHT = HEIGHT - TOP - BOTTOM;
    private static final int BUCKETS = 72;

    /** The smallest distance between the labels of an axis. Closer labels would overlap. */
    private static final int LABEL_WIDTH = 62;

    private static final String[] COLOURS = {"#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#666666"};

    private Charts() {}

    /** Draws how often which latency occurred, on a logarithmic axis, and marks the percentiles. */
    static String latency(String title, String unit, Histogram histogram) {
        boolean nanos = unit.equals("ns");
        double scale = nanos ? 1000.0 : 1.0;
        String shownUnit = nanos ? "µs" : unit;
        double least = Math.max(1, histogram.getMinValue()) / 1.15;
        double most = Math.max(histogram.getMaxValue() * 1.15, least * 2);
        double span = Math.log(most / least);
        long[] counts = new long[BUCKETS];
        long highest = 1;
        for (var value : histogram.recordedValues()) {
            int bucket = (int) (Math.log(Math.max(value.getValueIteratedTo(), least) / least) / span * BUCKETS);
            int index = Math.clamp(bucket, 0, BUCKETS - 1);
            counts[index] += value.getCountAtValueIteratedTo();
            highest = Math.max(highest, counts[index]);
        }
        StringBuilder svg = open(
                title,
                "%d samples, mean %s %s"
                        .formatted(histogram.getTotalCount(), Units.tick(histogram.getMean() / scale), shownUnit));
        yAxis(svg, highest, "samples per bar");
        for (double tick : logTicks(least / scale, most / scale)) {
            xTick(svg, Math.log(tick * scale / least) / span, Units.tick(tick));
        }
        xTitle(svg, "latency in " + shownUnit + " (logarithmic)");
        double width = (double) PLOT_WIDTH / BUCKETS;
        for (int i = 0; i < BUCKETS; i++) {
            if (counts[i] > 0) {
                double height = Math.max(1, counts[i] * (double) PLOT_HEIGHT / niceMaximum(highest));
                put(
                        svg,
                        "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#4c8fc3'/>",
                        LEFT + i * width,
                        TOP + PLOT_HEIGHT - height,
                        Math.max(1, width - 1),
                        height);
            }
        }
        int row = 0;
        for (Map.Entry<String, Double> percentile : Measurements.PERCENTILES.entrySet()) {
            if (!Measurement.supports(histogram.getTotalCount(), percentile.getValue())) {
                continue;
            }
            long value = histogram.getValueAtPercentile(percentile.getValue());
            double x = LEFT + Math.log(Math.max(value, least) / least) / span * PLOT_WIDTH;
            String colour = COLOURS[(row + 1) % COLOURS.length];
            put(
                    svg,
                    "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='%s' stroke-width='1.5' stroke-dasharray='5 3'/>",
                    x,
                    x,
                    TOP,
                    TOP + PLOT_HEIGHT,
                    colour);
            // One row each, so that labels of neighbouring percentiles do not run into each other.
            boolean atRight = x > LEFT + PLOT_WIDTH * 0.8;
            put(
                    svg,
                    "<text x='%.1f' y='%d' text-anchor='%s' fill='%s' font-size='12' font-weight='600'"
                            + " stroke='#fff' stroke-width='3' paint-order='stroke'>%s %s %s</text>",
                    x + (atRight ? -5 : 5),
                    TOP + 14 + row * 17,
                    atRight ? "end" : "start",
                    colour,
                    percentile.getKey(),
                    Units.tick(value / scale),
                    escape(shownUnit));
            row++;
        }
        return svg.append("</svg>\n").toString();
    }

    /** Draws a line for each series, against the transfer size on a logarithmic axis. */
    static String throughput(String title, Map<String, SortedMap<Long, Double>> series) {
        double highest = values(series).max().orElse(0);
        double top = niceMaximum(highest);
        WorkAxis sizes = WorkAxis.of(series);
        StringBuilder svg = open(title, "");
        yAxis(svg, highest, "throughput in Gb/s");
        sizes.axis(svg, "transfer size (logarithmic)", Units::bytes);
        lines(
                svg,
                series,
                sizes,
                rate -> rate / top,
                (size, rate) -> Units.bytes(size) + ": " + Units.tick(rate) + " Gb/s");
        return svg.append("</svg>\n").toString();
    }

    private static DoubleStream values(Map<String, SortedMap<Long, Double>> series) {
        return series.values().stream()
                .flatMap(points -> points.values().stream())
                .mapToDouble(Double::doubleValue);
    }

    /**
     * The logarithmic axis to the right.
     *
     * @param all the values on it
     * @param least its left end
     * @param span the logarithm of its right end divided by its left end
     */
    private record WorkAxis(TreeSet<Long> all, double least, double span) {

        static WorkAxis of(Map<String, SortedMap<Long, Double>> series) {
            TreeSet<Long> all = new TreeSet<>();
            series.values().forEach(points -> all.addAll(points.keySet()));
            double least = Math.max(1, all.first()) / 1.4;
            return new WorkAxis(all, least, Math.log(Math.max(1, all.last()) * 1.4 / least));
        }

        double fraction(long work) {
            return Math.log(Math.max(1, work) / least) / span;
        }

        void axis(StringBuilder svg, String title, LongFunction<String> label) {
            double labelledUpTo = Double.NEGATIVE_INFINITY;
            for (long work : all) {
                double at = fraction(work);
                if (at * PLOT_WIDTH - labelledUpTo >= LABEL_WIDTH) {
                    xTick(svg, at, label.apply(work));
                    labelledUpTo = at * PLOT_WIDTH;
                }
            }
            xTitle(svg, title);
        }
    }

    /**
     * Adds a line for each series with its dots and its name.
     *
     * @param height the height of a value, from 0 to 1; NaN for a value without a place
     * @param words the text that is shown when the user points at a dot
     */
    private static void lines(
            StringBuilder svg,
            Map<String, SortedMap<Long, Double>> series,
            WorkAxis works,
            DoubleUnaryOperator height,
            BiFunction<Long, Double, String> words) {
        int index = 0;
        double legend = LEFT;
        for (Map.Entry<String, SortedMap<Long, Double>> line : series.entrySet()) {
            String colour = COLOURS[index++ % COLOURS.length];
            StringBuilder points = new StringBuilder();
            StringBuilder dots = new StringBuilder();
            line.getValue().forEach((work, value) -> {
                double up = height.applyAsDouble(value);
                if (!Double.isNaN(up)) {
                    double x = LEFT + works.fraction(work) * PLOT_WIDTH;
                    double y = TOP + PLOT_HEIGHT - up * PLOT_HEIGHT;
                    put(points, "%.1f,%.1f ", x, y);
                    put(
                            dots,
                            "<circle cx='%.1f' cy='%.1f' r='4' fill='%s'><title>%s</title></circle>",
                            x,
                            y,
                            colour,
                            words.apply(work, value));
                }
            });
            put(
                    svg,
                    "<polyline points='%s' fill='none' stroke='%s' stroke-width='2'/>%s",
                    points.toString().strip(),
                    colour,
                    dots);
            put(svg, "<rect x='%.0f' y='44' width='14' height='4' fill='%s'/>", legend, colour);
            put(svg, "<text x='%.0f' y='50' font-size='12'>%s</text>", legend + 20, escape(line.getKey()));
            legend += 44 + line.getKey().length() * 7.2;
        }
    }

    static String percentilesCsv(String unit, Histogram histogram) {
        StringBuilder csv = new StringBuilder("percentile,value,unit\n");
        put(csv, "min,%d,%s\n", histogram.getMinValue(), unit);
        Measurements.PERCENTILES.forEach((name, percentile) -> {
            if (Measurement.supports(histogram.getTotalCount(), percentile)) {
                put(csv, "%s,%d,%s\n", name, histogram.getValueAtPercentile(percentile), unit);
            }
        });
        put(csv, "mean,%.1f,%s\n", histogram.getMean(), unit);
        put(csv, "samples,%d,\n", histogram.getTotalCount());
        return csv.toString();
    }

    static String throughputCsv(Map<String, SortedMap<Long, Double>> series) {
        StringBuilder csv = new StringBuilder("series,size in bytes,throughput in Gb/s\n");
        series.forEach((name, points) ->
                points.forEach((size, rate) -> put(csv, "%s,%d,%.3f\n", Measurements.csv(name), size, rate)));
        return csv.toString();
    }

    static String escape(String text) {
        return text.replaceAll("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]", " ")
                .replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("'", "&#39;")
                .replace("\"", "&quot;");
    }

    private static StringBuilder open(String title, String subtitle) {
        StringBuilder svg = new StringBuilder();
        put(
                svg,
                "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d'"
                        + " font-family='Helvetica, Arial, sans-serif' fill='#333'>",
                WIDTH,
                HEIGHT,
                WIDTH,
                HEIGHT);
        put(svg, "<rect width='%d' height='%d' fill='#fff'/>", WIDTH, HEIGHT);
        put(svg, "<text x='%d' y='26' font-size='17' font-weight='600'>%s</text>", LEFT, escape(title));
        put(svg, "<text x='%d' y='48' font-size='12' fill='#666'>%s</text>", LEFT, escape(subtitle));
        return svg;
    }

    private static void yAxis(StringBuilder svg, double highest, String title) {
        double top = niceMaximum(highest);
        for (int i = 0; i <= 4; i++) {
            yTick(svg, i / 4.0, Units.tick(top * i / 4));
        }
        yTitle(svg, title);
    }

    private static void yTick(StringBuilder svg, double fraction, String label) {
        double y = TOP + PLOT_HEIGHT - fraction * PLOT_HEIGHT;
        put(
                svg,
                "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='%s'/>",
                LEFT,
                LEFT + PLOT_WIDTH,
                y,
                y,
                fraction == 0 ? "#888" : "#e4e4e4");
        put(svg, "<text x='%d' y='%.1f' text-anchor='end' font-size='12'>%s</text>", LEFT - 8, y + 4, escape(label));
    }

    private static void yTitle(StringBuilder svg, String title) {
        put(
                svg,
                "<text transform='translate(20 %d) rotate(-90)' text-anchor='middle' font-size='13'>%s</text>",
                TOP + PLOT_HEIGHT / 2,
                escape(title));
    }

    private static void xTick(StringBuilder svg, double fraction, String label) {
        double x = LEFT + fraction * PLOT_WIDTH;
        put(
                svg,
                "<line x1='%.1f' x2='%.1f' y1='%d' y2='%d' stroke='#888'/>",
                x,
                x,
                TOP + PLOT_HEIGHT,
                TOP + PLOT_HEIGHT + 5);
        put(
                svg,
                "<text x='%.1f' y='%d' text-anchor='middle' font-size='12'>%s</text>",
                x,
                TOP + PLOT_HEIGHT + 20,
                escape(label));
    }

    private static void xTitle(StringBuilder svg, String title) {
        put(
                svg,
                "<text x='%d' y='%d' text-anchor='middle' font-size='13'>%s</text>",
                LEFT + PLOT_WIDTH / 2,
                HEIGHT - 16,
                escape(title));
    }

    private static double[] logTicks(double least, double most) {
        TreeSet<Double> ticks = new TreeSet<>();
        // Beyond three decades 1-2-5 would crowd the axis.
        double[] steps = most / least > 1000 ? new double[] {1} : new double[] {1, 2, 5};
        for (double decade = Math.pow(10, Math.floor(Math.log10(least))); decade <= most; decade *= 10) {
            for (double step : steps) {
                if (decade * step >= least && decade * step <= most) {
                    ticks.add(decade * step);
                }
            }
        }
        return ticks.stream().mapToDouble(Double::doubleValue).toArray();
    }

    /** The end of the axis: the next of 1, 2, 4, 8 or 10 times a power of ten, which four divide well. */
    private static double niceMaximum(double highest) {
        if (highest <= 0) {
            return 1;
        }
        double decade = Math.pow(10, Math.floor(Math.log10(highest)));
        for (double step : new double[] {1, 2, 4, 6, 8}) {
            if (highest <= decade * step) {
                return decade * step;
            }
        }
        return decade * 10;
    }

    private static void put(StringBuilder text, String format, Object... arguments) {
        // The root locale, because a decimal comma is no number in SVG and a separator in CSV.
        text.append(String.format(Locale.ROOT, format, arguments));
    }
}
