package io.rdmatest.scenarios.bench;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What a unit of work costs when there is more of it.
 *
 * @param row the row
 * @param points in ascending order of work; empty if it was not measured
 * @param notMeasured why it was not measured; null if it was
 * @param lostJvms how many JVMs died before they had measured it
 */
public record GrowthResult(
        GrowthRow row, List<Point> points, @Nullable String notMeasured, int lostJvms) {

    /** How many times the least cost of a unit the cost may be when there is most work. */
    public static final double MOST = 1.5;

    private static final String NANOS = "nanosPerUnit";
    private static final String ALLOCATED = "allocatedBytesPerUnit";
    private static final String RESIDENT = "residentBytesPerUnit";
    private static final String LOST_JVMS = "lostJvms";

    /**
     * The cost of a unit.
     *
     * @param work how much there was
     * @param nanos time for each unit
     * @param allocatedBytes on the heap for each unit
     * @param residentBytes by which the process grew for each unit
     */
    public record Point(long work, double nanos, double allocatedBytes, double residentBytes) {

        static Point of(long work, Effort effort) {
            return new Point(
                    work,
                    effort.nanos() / effort.units(),
                    effort.allocatedBytes() / effort.units(),
                    effort.residentBytes() / effort.units());
        }

        /**
         * Returns the time and the bytes allocated in the middle, each for itself, and the most bytes resident.
         *
         * @param runs of the same work, at least one; of an even number the middle is the greater one of two
         */
        static Point middle(List<Point> runs) {
            return new Point(
                    runs.getFirst().work(),
                    middle(runs, Point::nanos),
                    middle(runs, Point::allocatedBytes),
                    runs.stream().mapToDouble(Point::residentBytes).max().orElseThrow());
        }

        private static double middle(List<Point> runs, ToDoubleFunction<Point> cost) {
            return runs.stream()
                    .mapToDouble(cost)
                    .sorted()
                    .skip(runs.size() / 2)
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Copies the list. */
    public GrowthResult {
        points = List.copyOf(points);
        if (points.isEmpty() && notMeasured == null) {
            throw new IllegalArgumentException("The row " + row.name() + " has no point and no reason for it");
        }
    }

    /** Makes the result of a JVM that did not die. */
    GrowthResult(GrowthRow row, List<Point> points, @Nullable String notMeasured) {
        this(row, points, notMeasured, 0);
    }

    /**
     * Reads what another JVM measured.
     *
     * @param row the row
     * @param json the row as {@link #json} wrote it
     * @throws IllegalArgumentException if it is another row, or not written by that
     */
    static GrowthResult of(GrowthRow row, JsonNode json) {
        if (!json.path("name").asText().equals(row.name())) {
            throw new IllegalArgumentException("The result is not of the row " + row.name() + ": " + json);
        }
        List<Point> points = new ArrayList<>();
        for (JsonNode point : json.path("points")) {
            points.add(new Point(
                    point.path("work").longValue(),
                    number(point, NANOS),
                    number(point, ALLOCATED),
                    number(point, RESIDENT)));
        }
        return new GrowthResult(
                row,
                points,
                json.path("notMeasured").textValue(),
                json.path(LOST_JVMS).intValue());
    }

    private static double number(JsonNode point, String name) {
        JsonNode number = point.path(name);
        if (!number.isNumber()) {
            throw new IllegalArgumentException("The point has no " + name + ": " + point);
        }
        return number.doubleValue();
    }

    /** Returns this with JVMs that died before. */
    GrowthResult withLostJvms(int lost) {
        return new GrowthResult(row, points, notMeasured, lostJvms + lost);
    }

    /** Tells whether there is something to judge. */
    public boolean isMeasured() {
        return notMeasured == null;
    }

    /** Returns the time of a unit at the most work, divided by the least at any less work that is judged. */
    public double timeGrowth() {
        return growth(Point::nanos);
    }

    /** The same of the bytes allocated. */
    public double memoryGrowth() {
        return growth(Point::allocatedBytes);
    }

    private double growth(ToDoubleFunction<Point> cost) {
        double least = points.stream()
                .filter(point -> point.work() >= row.judgedFrom())
                .mapToDouble(cost)
                .min()
                .orElse(Double.NaN);
        double last = cost.applyAsDouble(points.getLast());
        // Less than a nanosecond or a byte is nothing, and nothing does not grow.
        return Math.max(last, 1) / Math.max(least, 1);
    }

    /** Tells whether the row was measured and neither time nor memory of a unit grows. */
    public boolean holds() {
        return isMeasured() && timeGrowth() <= MOST && memoryGrowth() <= MOST;
    }

    /** Returns what is said about the row. */
    public Verdict verdict() {
        return !isMeasured() ? Verdict.NOT_MEASURED : holds() ? Verdict.HOLDS : Verdict.MISSES;
    }

    /** Returns the row in one line. */
    String line() {
        String reason = notMeasured;
        if (reason != null) {
            return String.format(Locale.ROOT, "%-20s not measured: %s", row.name(), reason);
        }
        return String.format(
                Locale.ROOT,
                "%-20s us per %s: %s; grows %.2f times, memory %.2f times (<= %.2f): %s",
                row.name(),
                row.unit(),
                points.stream()
                        .map(point -> String.format(Locale.ROOT, "%.2f at %d", point.nanos() / 1e3, point.work()))
                        .collect(Collectors.joining(", ")),
                timeGrowth(),
                memoryGrowth(),
                MOST,
                verdict());
    }

    /** Returns the row for machines. */
    Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("name", row.name());
        json.put("what", row.what());
        json.put("unit", row.unit());
        json.put("most", MOST);
        json.put("judgedFrom", row.judgedFrom());
        json.put("holds", holds());
        json.put("verdict", verdict().toString());
        json.put(
                "points",
                points.stream()
                        .map(point -> {
                            Map<String, Object> each = new LinkedHashMap<>();
                            each.put("work", point.work());
                            each.put(NANOS, point.nanos());
                            each.put(ALLOCATED, point.allocatedBytes());
                            each.put(RESIDENT, point.residentBytes());
                            return each;
                        })
                        .toList());
        if (isMeasured()) {
            json.put("timeGrowth", timeGrowth());
            json.put("memoryGrowth", memoryGrowth());
        } else {
            json.put("notMeasured", notMeasured);
        }
        json.put(LOST_JVMS, lostJvms);
        return json;
    }
}
