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
 * @param points in ascending order of work, of all rounds; empty if it was not measured
 * @param rounds what each round says; empty if it was not measured, or by a bench that did not tell
 * @param notMeasured why it was not measured; null if it was
 * @param lostJvms how many JVMs died before they had measured it
 */
public record GrowthResult(
        GrowthRow row,
        List<Point> points,
        List<Round> rounds,
        @Nullable String notMeasured,
        int lostJvms) {

    /** How many times the least cost of a unit the cost may be when there is most work. */
    public static final Target TARGET = Target.atMost(1.5);

    private static final String NANOS = "nanosPerUnit";
    private static final String ALLOCATED = "allocatedBytesPerUnit";
    private static final String RESIDENT = "residentBytesPerUnit";
    private static final String LOST_JVMS = "lostJvms";
    private static final String TIME_GROWTH = "timeGrowth";
    private static final String MEMORY_GROWTH = "memoryGrowth";

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

    /**
     * All amounts once, held against each other.
     *
     * @param timeGrowth the time of a unit at the most work, divided by the least at any less work that is judged
     * @param memoryGrowth the same of the bytes allocated
     */
    public record Round(double timeGrowth, double memoryGrowth) {

        static Round of(GrowthRow row, List<Point> points) {
            return new Round(growth(row, points, Point::nanos), growth(row, points, Point::allocatedBytes));
        }

        /** Returns what grows more. */
        public double greater() {
            return Math.max(timeGrowth, memoryGrowth);
        }

        /** Tells whether neither time nor memory of a unit grows. */
        public boolean holds() {
            return TARGET.holds(greater());
        }

        private static double growth(GrowthRow row, List<Point> points, ToDoubleFunction<Point> cost) {
            double least = points.stream()
                    .filter(point -> point.work() >= row.judgedFrom())
                    .mapToDouble(cost)
                    .min()
                    .orElse(Double.NaN);
            double last = cost.applyAsDouble(points.getLast());
            // Less than a nanosecond or a byte is nothing, and nothing does not grow.
            return Math.max(last, 1) / Math.max(least, 1);
        }
    }

    /** Copies the lists. */
    public GrowthResult {
        points = List.copyOf(points);
        rounds = List.copyOf(rounds);
        if (points.isEmpty() && notMeasured == null) {
            throw new IllegalArgumentException("The row " + row.name() + " has no point and no reason for it");
        }
    }

    /** Makes the result of a row that was not measured, or not to its end. */
    static GrowthResult notMeasured(GrowthRow row, List<Point> points, String reason) {
        return new GrowthResult(row, points, List.of(), reason, 0);
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
        List<Round> rounds = new ArrayList<>();
        for (JsonNode round : json.path("rounds")) {
            rounds.add(new Round(number(round, TIME_GROWTH), number(round, MEMORY_GROWTH)));
        }
        return new GrowthResult(
                row,
                points,
                rounds,
                json.path("notMeasured").textValue(),
                json.path(LOST_JVMS).intValue());
    }

    private static double number(JsonNode json, String name) {
        JsonNode number = json.path(name);
        if (!number.isNumber()) {
            throw new IllegalArgumentException("The number " + name + " is missing: " + json);
        }
        return number.doubleValue();
    }

    /** Returns this with JVMs that died before. */
    GrowthResult withLostJvms(int lost) {
        return new GrowthResult(row, points, rounds, notMeasured, lostJvms + lost);
    }

    /** Tells whether there is something to judge. */
    public boolean isMeasured() {
        return notMeasured == null;
    }

    /** Returns the growth of what is in the middle of all rounds. */
    public Round growth() {
        return Round.of(row, points);
    }

    /** Tells whether the row was measured and neither time nor memory in the middle grows, decided or not. */
    public boolean holds() {
        return isMeasured() && growth().holds();
    }

    /**
     * Tells whether the verdict would most likely be the same another time: whether as many of the rounds say the same as
     * {@linkplain RowResult#isDecided of pairs}, or all of the fewer than five for which there was time.
     */
    public boolean isDecided() {
        boolean holds = holds();
        int count = rounds.size();
        int same = (int) rounds.stream().filter(round -> round.holds() == holds).count();
        return isMeasured() && (same == count || 2 * same > count && RowResult.isDecided(same, count));
    }

    /** Returns what is said about the row. */
    public Verdict verdict() {
        return Verdict.of(isMeasured(), isDecided(), holds());
    }

    /** Returns the row in one line. */
    String line() {
        String reason = notMeasured;
        if (reason != null) {
            return String.format(Locale.ROOT, "%-20s not measured: %s", row.name(), reason);
        }
        return String.format(
                Locale.ROOT,
                "%-20s us per %s: %s; grows %.2f times, memory %.2f times%s (%s): %s",
                row.name(),
                row.unit(),
                points.stream()
                        .map(point -> String.format(Locale.ROOT, "%.2f at %d", point.nanos() / 1e3, point.work()))
                        .collect(Collectors.joining(", ")),
                growth().timeGrowth(),
                growth().memoryGrowth(),
                spread(),
                TARGET,
                verdict());
    }

    private String spread() {
        if (rounds.isEmpty()) {
            return "";
        }
        Spread spread = Spread.of(rounds.stream().map(Round::greater).toList());
        return String.format(Locale.ROOT, ", %.2f to %.2f in %d rounds", spread.min(), spread.max(), rounds.size());
    }

    /** Returns the row for machines. */
    Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("name", row.name());
        json.put("what", row.what());
        json.put("unit", row.unit());
        json.put("most", TARGET.value());
        json.put("judgedFrom", row.judgedFrom());
        json.put("holds", holds());
        json.put("decided", isDecided());
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
            json.put(TIME_GROWTH, growth().timeGrowth());
            json.put(MEMORY_GROWTH, growth().memoryGrowth());
            json.put("rounds", rounds);
        } else {
            json.put("notMeasured", notMeasured);
        }
        json.put(LOST_JVMS, lostJvms);
        return json;
    }
}
