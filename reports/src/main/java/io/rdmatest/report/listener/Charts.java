package io.rdmatest.report.listener;

import io.rdmatest.Measurement;
import io.rdmatest.report.run.Measurements;
import io.rdmatest.report.run.Templates;
import io.rdmatest.report.run.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.HdrHistogram.Histogram;

/** Draws distributions and throughput as SVG, by {@code chart.jte}, and the same numbers as CSV. */
final class Charts {

    /** The place of the plot in pixels, as in the template. */
    private static final int LEFT = 78;

    private static final int TOP = 64;
    private static final int PLOT_WIDTH = 758;
    private static final int PLOT_HEIGHT = 274;
    private static final int BUCKETS = 72;

    /** The smallest distance between the labels of an axis. Closer labels would overlap. */
    private static final int LABEL_WIDTH = 62;

    private static final String[] COLOURS = {"#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a", "#666666"};

    private Charts() {}

    /** The content of a chart. All places are in pixels, from the left and from the top. */
    record Drawing(
            String title,
            String subtitle,
            String xTitle,
            String yTitle,
            List<Tick> xTicks,
            List<Tick> yTicks,
            List<Bar> bars,
            List<Mark> marks,
            List<Line> lines) {

        private String toSvg() {
            return Templates.render(Charts.class, "chart.jte", this);
        }
    }

    /** A place on an axis. */
    record Tick(double at, String label) {}

    /** A column of a distribution. */
    record Bar(double x, double y, double width, double height) {}

    /** A vertical line across the plot, with a text beside it. */
    record Mark(double x, int y, boolean atRight, String colour, String text) {}

    /** A line through the dots of a series, and the place of its name. */
    record Line(String colour, double legend, String name, List<Dot> dots) {

        String points() {
            return dots.stream().map(dot -> dot.x + "," + dot.y).collect(Collectors.joining(" "));
        }
    }

    /** A value of a series, with the text that is shown when the user points at it. */
    record Dot(double x, double y, String text) {}

    /** Draws how often which latency occurred, on a logarithmic axis, and marks the percentiles. */
    static String latency(String title, String unit, Histogram histogram) {
        boolean nanos = unit.equals("ns");
        double scale = nanos ? 1000.0 : 1.0;
        String shownUnit = nanos ? "µs" : unit;
        double least = Math.max(1, histogram.getMinValue()) / 1.15;
        double most = Math.max(histogram.getMaxValue() * 1.15, least * 2);
        LogAxis axis = new LogAxis(least, Math.log(most / least));
        long[] counts = new long[BUCKETS];
        long highest = 1;
        for (var value : histogram.recordedValues()) {
            int bucket = (int) (axis.fraction(value.getValueIteratedTo()) * BUCKETS);
            int index = Math.clamp(bucket, 0, BUCKETS - 1);
            counts[index] += value.getCountAtValueIteratedTo();
            highest = Math.max(highest, counts[index]);
        }
        List<Bar> bars = new ArrayList<>();
        double width = (double) PLOT_WIDTH / BUCKETS;
        for (int i = 0; i < BUCKETS; i++) {
            if (counts[i] > 0) {
                double height = Math.max(1, counts[i] * (double) PLOT_HEIGHT / niceMaximum(highest));
                bars.add(new Bar(
                        rounded(LEFT + i * width),
                        rounded(TOP + PLOT_HEIGHT - height),
                        rounded(Math.max(1, width - 1)),
                        rounded(height)));
            }
        }
        List<Mark> marks = new ArrayList<>();
        Measurements.PERCENTILES.forEach((name, percentile) -> {
            if (Measurement.supports(histogram.getTotalCount(), percentile)) {
                long value = histogram.getValueAtPercentile(percentile);
                int row = marks.size();
                // One row each, so that labels of neighbouring percentiles do not run into each other.
                marks.add(new Mark(
                        axis.place(value),
                        TOP + 14 + row * 17,
                        axis.fraction(value) > 0.8,
                        COLOURS[(row + 1) % COLOURS.length],
                        "%s %s %s".formatted(name, Units.tick(value / scale), printable(shownUnit))));
            }
        });
        return new Drawing(
                        printable(title),
                        "%d samples, mean %s %s"
                                .formatted(
                                        histogram.getTotalCount(),
                                        Units.tick(histogram.getMean() / scale),
                                        printable(shownUnit)),
                        "latency in " + printable(shownUnit) + " (logarithmic)",
                        "samples per bar",
                        logTicks(least / scale, most / scale)
                                .mapToObj(tick -> new Tick(axis.place(tick * scale), Units.tick(tick)))
                                .toList(),
                        yTicks(highest),
                        bars,
                        marks,
                        List.of())
                .toSvg();
    }

    /** Draws a line for each series, against the transfer size on a logarithmic axis. */
    static String throughput(String title, Map<String, SortedMap<Long, Double>> series) {
        TreeSet<Long> sizes = new TreeSet<>();
        series.values().forEach(points -> sizes.addAll(points.keySet()));
        double least = Math.max(1, sizes.first()) / 1.4;
        LogAxis axis = new LogAxis(least, Math.log(Math.max(1, sizes.last()) * 1.4 / least));
        List<Tick> xTicks = new ArrayList<>();
        for (long size : sizes) {
            double at = axis.place(Math.max(1, size));
            if (xTicks.isEmpty() || at - xTicks.getLast().at() >= LABEL_WIDTH) {
                xTicks.add(new Tick(at, Units.bytes(size)));
            }
        }
        double highest = series.values().stream()
                .flatMap(points -> points.values().stream())
                .mapToDouble(Double::doubleValue)
                .max()
                .orElse(0);
        double top = niceMaximum(highest);
        List<Line> lines = new ArrayList<>();
        double legend = LEFT;
        for (Map.Entry<String, SortedMap<Long, Double>> each : series.entrySet()) {
            List<Dot> dots = new ArrayList<>();
            each.getValue().forEach((size, rate) -> {
                if (!Double.isNaN(rate)) {
                    dots.add(new Dot(
                            axis.place(Math.max(1, size)),
                            rounded(TOP + PLOT_HEIGHT - rate / top * PLOT_HEIGHT),
                            Units.bytes(size) + ": " + Units.tick(rate) + " Gb/s"));
                }
            });
            String name = each.getKey();
            lines.add(new Line(COLOURS[lines.size() % COLOURS.length], rounded(legend), printable(name), dots));
            legend += 44 + name.length() * 7.2;
        }
        return new Drawing(
                        printable(title),
                        "",
                        "transfer size (logarithmic)",
                        "throughput in Gb/s",
                        xTicks,
                        yTicks(highest),
                        List.of(),
                        List.of(),
                        lines)
                .toSvg();
    }

    /**
     * The logarithmic axis to the right.
     *
     * @param least its left end
     * @param span the logarithm of its right end divided by its left end
     */
    private record LogAxis(double least, double span) {

        /** Returns a place as a share of the axis. */
        double fraction(double value) {
            return Math.log(Math.max(value, least) / least) / span;
        }

        double place(double value) {
            return rounded(LEFT + fraction(value) * PLOT_WIDTH);
        }
    }

    private static List<Tick> yTicks(double highest) {
        double top = niceMaximum(highest);
        return IntStream.rangeClosed(0, 4)
                .mapToObj(i -> new Tick(rounded(TOP + PLOT_HEIGHT - i / 4.0 * PLOT_HEIGHT), Units.tick(top * i / 4)))
                .toList();
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

    /** Returns a text without characters that XML cannot have. */
    private static String printable(String text) {
        return text.replaceAll("[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]", " ");
    }

    private static double rounded(double pixels) {
        return Math.round(pixels * 10) / 10.0;
    }

    private static DoubleStream logTicks(double least, double most) {
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
        return ticks.stream().mapToDouble(Double::doubleValue);
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
        // The root locale, because a decimal comma is a separator in CSV.
        text.append(String.format(Locale.ROOT, format, arguments));
    }
}
