package io.rdmatest.report.nights;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonProperty;
import io.rdmatest.Measurement;
import io.rdmatest.report.culprits.Culprit;
import io.rdmatest.report.culprits.Metric;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairMatrix;
import io.rdmatest.report.culprits.PairsReader;
import io.rdmatest.report.culprits.Quantiles;
import io.rdmatest.report.nights.QualificationComparison.Change;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.hipparchus.distribution.continuous.NormalDistribution;
import org.jspecify.annotations.Nullable;

/**
 * The changes in the cells of {@code pairs.jsonl} since earlier nights. Each metric of each cell is compared with its usual
 * value.
 *
 * <p>A value is worse if {@link Usual} says so, and if it also differs from the cell's median by more than six standard
 * deviations of the noise that the cells of its rail have from night to night. Normal noise exceeds that once in a billion times.
 * A failed cell is worse if its last earlier attempt was measured.
 *
 * <p>Of a million cells, some hundreds are slow for a moment in every night. So cells that are worse alone, in no worse port, count
 * only if there are more of them than in the nights before, or if the same cell is worse in so many nights in a row that chance
 * hardly does that to any of all cells.
 *
 * <p>A cell to which none of this applies is worse if it drifts: up to {@value QualificationComparison#DRIFT} times as many
 * nights show a trend that is no single step, and the newest quarter differs from the oldest by more than a single value may.
 */
public final class CellComparison {

    /** The largest number of nights in the chart of a culprit, including this night. */
    public static final int NIGHTS = 30;

    /** The largest number of worse cells in the data. */
    static final int MOST_CELLS = 1000;

    /** The largest number of worse cells that the console names. */
    private static final int MOST_NAMED = 5;

    private static final double MOST_DEVIATIONS = 6;

    /**
     * The mean number of cells that drift by chance in a clean run, or are worse by chance in nights in a row.
     */
    private static final double FALSE_CELLS = 1e-3;

    /** The least statistic of a trend for any number of cells. */
    private static final double LEAST_TREND = 4;

    /** The 95th percentile of normal noise, in standard deviations. */
    private static final double NORMAL = 1.645;

    /** The number of values of a metric that are enough to estimate its noise. */
    private static final int MOST_NOISE = 200_000;

    /** The smallest number of values of a rail that show its noise by themselves. */
    private static final int LEAST_NOISE = 20;

    /** The noise that is assumed where no value shows it: only a fourth or the fourfold is then beyond it. */
    private static final double UNKNOWN_NOISE = Math.log(4) / MOST_DEVIATIONS;

    /** How many values the assumed noise counts for, beside fewer than {@link #LEAST_NOISE} that show it. */
    private static final double WEIGHT_OF_UNKNOWN = 2;

    /** A port is named if at least this many of its cells are worse, and at least half of its compared cells. */
    private static final int LEAST_OF_PORT = 3;

    private static final byte MEASURED = 1;
    private static final byte FAILED = 2;

    private static final String OUTCOME = "outcome";

    private static final Metric[] METRICS = Metric.ofCells().toArray(Metric[]::new);

    /** Returns a measurement by whose rules a value of a cell is judged. */
    private static Measurement like(Metric metric) {
        return switch (metric) {
            case LATENCY_P50 -> Measurement.percentile(metric.words(), 50, 1, metric.unit(), 1000);
            case LATENCY_P99 -> Measurement.percentile(metric.words(), 99, 1, metric.unit(), 1000);
            default -> Measurement.rate(metric.words(), 1, metric.unit());
        };
    }

    private static String text(Metric metric, double value) {
        return String.format(Locale.ROOT, "%.4g", value * metric.scale());
    }

    /**
     * A group of cells whose values are reported night by night.
     *
     * @param name what it is called
     * @param metric the member of a cell that shows it most; {@code failed} for the share of failed cells; for any other name,
     *     {@code bandwidth} is used
     * @param has tells whether a cell is of the group
     */
    public record Group(String name, String metric, Cells has) {

        /** A group of cells. */
        @FunctionalInterface
        public interface Cells {
            /** Returns whether a cell is in it, as {@link Culprit#explains} does. */
            boolean have(String rail, String from, String to, @Nullable String fromLeaf, @Nullable String toLeaf);
        }

        /** Creates that of a cause. */
        public static Group of(Culprit culprit) {
            return new Group(culprit.name(), culprit.evidence().metric(), culprit::explains);
        }
    }

    /**
     * A cell that is worse than usual.
     *
     * @param rail its rail
     * @param from the node that sends
     * @param to the node that receives
     * @param what the member of the cell that changed most, or {@code outcome}
     * @param before the median of the earlier nights in SI units; null if the cell failed
     * @param lowest the lowest value of these nights
     * @param highest the highest one
     * @param after the value now; null if the cell failed
     * @param cause why it failed; null if it did not, or if that is unknown
     * @param runs the number of runs that a drift spans: {@code before} is then the median of the oldest runs, and {@code after}
     *     the median of the newest; 0 if it is worse in this run alone
     */
    public record Worse(
            String rail,
            String from,
            String to,
            String what,
            @Nullable Double before,
            @Nullable Double lowest,
            @Nullable Double highest,
            @Nullable Double after,
            @Nullable String cause,
            int runs) {

        /** Creates one that is worse in this run. */
        public Worse(
                String rail,
                String from,
                String to,
                String what,
                @Nullable Double before,
                @Nullable Double lowest,
                @Nullable Double highest,
                @Nullable Double after,
                @Nullable String cause) {
            this(rail, from, to, what, before, lowest, highest, after, cause, 0);
        }

        /** Returns whether it is a drift, which no single run shows. */
        @JsonIgnore
        public boolean isDrift() {
            return runs > 0;
        }

        /** By what factor it is worse; a cell that failed is worse than any other. */
        private double factor() {
            return before == null || after == null || before <= 0 || after <= 0
                    ? Double.POSITIVE_INFINITY
                    : Math.max(before / after, after / before);
        }

        /** Returns what changed, as a sentence does. */
        @JsonProperty("text")
        public String text() {
            Metric metric = Metric.ofMember(what).orElse(null);
            if (metric != null && isDrift() && before != null && after != null) {
                return "%s drifts %s -> %s %s over %d runs (%s times)"
                        .formatted(
                                metric.words(),
                                CellComparison.text(metric, before),
                                CellComparison.text(metric, after),
                                metric.unit(),
                                runs,
                                String.format(Locale.ROOT, "%.2f", after / before));
            }
            if (metric == null || before == null || lowest == null || highest == null || after == null) {
                return "measured -> failed" + (cause == null ? "" : " (" + cause + ")");
            }
            return "%s %s (%s to %s) -> %s %s (%s times)"
                    .formatted(
                            metric.words(),
                            CellComparison.text(metric, before),
                            CellComparison.text(metric, lowest),
                            CellComparison.text(metric, highest),
                            CellComparison.text(metric, after),
                            metric.unit(),
                            String.format(Locale.ROOT, "%.2f", after / before));
        }
    }

    /**
     * A port of which at least three cells are worse, and at least half of those that were compared.
     *
     * @param node its node
     * @param rail its rail
     * @param direction {@code out} for what it sends, {@code in} for what it receives
     * @param worse how many cells are worse
     * @param of how many were compared
     */
    public record Port(String node, String rail, String direction, int worse, int of) {

        /** Returns it as part of a sentence. */
        public String text() {
            return "%d of %d %s %s on %s".formatted(worse, of, direction.equals("out") ? "from" : "into", node, rail);
        }
    }

    /** The cells of a rail, with the row of the values of each sender and receiver. */
    private static final class Rail {
        private final String name;
        private final PairMatrix pairs;
        private final PairMatrix.Rail cells;

        /** By sender and receiver, as both are numbered: the row, or -1. */
        private final int[] rows;

        private Rail(PairMatrix pairs, PairMatrix.Rail cells) {
            this.name = cells.name();
            this.pairs = pairs;
            this.cells = cells;
            rows = new int[Math.multiplyExact(pairs.nodeCount(), pairs.nodeCount())];
            Arrays.fill(rows, -1);
        }

        private List<String> nodes() {
            return IntStream.range(0, pairs.nodeCount())
                    .filter(cells::has)
                    .mapToObj(pairs::node)
                    .toList();
        }

        private int row(PairLine cell) {
            int from = pairs.node(cell.from());
            int to = pairs.node(cell.to());
            return from < 0 || to < 0 ? -1 : rows[from * pairs.nodeCount() + to];
        }
    }

    /** A night's values of the rows of this night. */
    private static final class Night {
        private final byte[] states;
        private final float[][] values;

        private Night(int rows) {
            states = new byte[rows];
            values = new float[METRICS.length][rows];
            for (float[] each : values) {
                Arrays.fill(each, Float.NaN);
            }
        }

        private void put(int row, PairLine cell) {
            states[row] = state(cell.outcome());
            for (Metric metric : METRICS) {
                // The values of a failed cell are not reliable.
                values[metric.ordinal()][row] = states[row] == MEASURED ? (float) metric.of(cell) : Float.NaN;
            }
        }

        private void put(int row, Place place) {
            PairMatrix.Rail cells = place.rail.cells;
            states[row] = state(cells.outcome(place.line));
            for (Metric metric : METRICS) {
                values[metric.ordinal()][row] = states[row] == MEASURED ? cells.value(metric, place.line) : Float.NaN;
            }
        }

        private static byte state(PairLine.Outcome outcome) {
            return switch (outcome) {
                case MEASURED -> MEASURED;
                case FAILED -> FAILED;
                case NOT_MEASURED -> 0;
            };
        }
    }

    /** A cell of this night: the number of its line on its rail. */
    private record Place(Rail rail, int line) {

        private String from() {
            return rail.pairs.node(rail.cells.from(line));
        }

        private String to() {
            return rail.pairs.node(rail.cells.to(line));
        }

        private boolean isOf(Group group) {
            return group.has()
                    .have(
                            rail.name,
                            from(),
                            to(),
                            rail.pairs.leaf(rail.cells, rail.cells.from(line)),
                            rail.pairs.leaf(rail.cells, rail.cells.to(line)));
        }
    }

    private final double tolerance;
    private final Map<String, Rail> rails = new TreeMap<>();
    private final List<Place> places = new ArrayList<>();
    private final List<Group> groups;

    /** The rows of each group, and those of the others on its rails. */
    private final List<int[]> rowsOfGroups = new ArrayList<>();

    private final List<int[]> rowsOfOthers = new ArrayList<>();
    private final List<List<@Nullable Double>> figures = new ArrayList<>();
    private final List<List<@Nullable Double>> otherFigures = new ArrayList<>();
    private final List<String> names = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();
    private final List<Worse> worse = new ArrayList<>();
    private final List<Port> ports = new ArrayList<>();
    private Night tonight = new Night(0);
    private final List<Night> usual = new ArrayList<>();

    /** Nights before those, the latest last. Drifts are looked for in both. */
    private final List<Night> older = new ArrayList<>();

    /** The smallest number of latency samples of any cell of this night. It decides how steady the percentiles are. */
    private long leastSamples;

    private int compared;
    private int failed;
    private int better;
    private int drifting;

    private CellComparison(List<Group> groups, double tolerance) {
        this.groups = List.copyOf(groups);
        this.tolerance = tolerance;
    }

    /**
     * Compares the cells of a run with those of earlier ones. Runs whose pairs were measured with other settings are left out.
     *
     * @param run the run
     * @param pairs its cells
     * @param earlier the earlier runs, the latest last; those without a {@code pairs.jsonl} beside their summary are ignored
     * @param last how many of these runs say what is usual, 1 or more
     * @param tolerance by which share a cell may be worse, see {@link QualificationComparison#tolerance}
     * @param groups whose figures are wanted night by night
     */
    public static CellComparison of(
            Qualification run,
            PairMatrix pairs,
            List<Qualification> earlier,
            int last,
            double tolerance,
            List<Group> groups) {
        CellComparison comparison = new CellComparison(groups, tolerance);
        comparison.take(pairs);
        List<Path> nights = comparison.comparable(run, earlier);
        int most = comparison.most(last);
        int kept = Math.max(most, comparison.fit(QualificationComparison.DRIFT * last));
        int from = Math.max(0, nights.size() - Math.max(kept, NIGHTS - 1));
        for (int at = from; at < nights.size(); at++) {
            int age = nights.size() - at;
            comparison.read(
                    nights.get(at),
                    age <= most ? comparison.usual : age <= kept ? comparison.older : null,
                    age < NIGHTS);
        }
        comparison.figures(comparison.tonight);
        comparison.names.add(run.file().toString());
        comparison.judge();
        return comparison;
    }

    /**
     * Reads the cells beside the summary of a run, which {@linkplain #hasCells has} some.
     *
     * @throws IOException if they can't be read; the message names the file
     */
    public static PairMatrix read(Path summary) throws IOException {
        return PairMatrix.read(List.of(cells(summary)));
    }

    /**
     * Returns whether a run has cells that can be compared.
     *
     * @param summary the summary of the run; a file with another name than {@code qualification.json} has no cells, because the
     *     pairs beside it may be those of another run
     */
    public static boolean hasCells(Path summary) {
        return summary.endsWith(Archive.SUMMARY) && Files.exists(cells(summary));
    }

    private static Path cells(Path summary) {
        return summary.resolveSibling("pairs.jsonl");
    }

    private void take(PairMatrix pairs) {
        for (PairMatrix.Rail cells : pairs.rails()) {
            Rail rail = new Rail(pairs, cells);
            rails.put(rail.name, rail);
            for (int line = 0; line < cells.count(); line++) {
                int at = cells.from(line) * pairs.nodeCount() + cells.to(line);
                Place place = new Place(rail, line);
                // Of several lines of a cell the last one counts.
                if (rail.rows[at] < 0) {
                    rail.rows[at] = places.size();
                    places.add(place);
                } else {
                    Place ignored = places.set(rail.rows[at], place);
                }
            }
        }
        tonight = new Night(places.size());
        leastSamples = places.stream()
                .filter(place -> !Float.isNaN(place.rail.cells.value(Metric.LATENCY_P99, place.line)))
                .mapToLong(place -> place.rail.cells.samples(place.line))
                .min()
                .orElse(0);
        for (int row = 0; row < places.size(); row++) {
            tonight.put(row, places.get(row));
        }
        boolean[] isOfAny = new boolean[places.size()];
        for (Group group : groups) {
            int[] its = rows(row -> places.get(row).isOf(group));
            rowsOfGroups.add(its);
            Arrays.stream(its).forEach(row -> isOfAny[row] = true);
            figures.add(new ArrayList<>());
            otherFigures.add(new ArrayList<>());
        }
        for (int[] its : rowsOfGroups) {
            Set<Rail> on =
                    Arrays.stream(its).mapToObj(row -> places.get(row).rail).collect(Collectors.toSet());
            rowsOfOthers.add(rows(row -> !isOfAny[row] && on.contains(places.get(row).rail)));
        }
    }

    private int[] rows(IntPredicate which) {
        return IntStream.range(0, places.size()).filter(which).toArray();
    }

    /** Returns the summaries of the earlier runs that have cells, measured with the same settings. */
    private List<Path> comparable(Qualification run, List<Qualification> earlier) {
        Map<String, String> own = PairConditions.of(run.settings());
        List<Path> nights = new ArrayList<>();
        int others = 0;
        for (Qualification each : earlier) {
            if (!hasCells(each.file())) {
                continue;
            }
            if (PairConditions.of(each.settings()).equals(own)) {
                nights.add(each.file());
            } else {
                others++;
            }
        }
        if (others > 0) {
            notes.add(others + (others == 1 ? " earlier run was" : " earlier runs were")
                    + " not compared cell by cell: pairs were measured with other settings ("
                    + PairConditions.NAMES
                    + ").");
        }
        return nights;
    }

    /** Returns how many nights fit into a quarter of the memory. */
    private int fit(int nights) {
        long night = Math.max(1, (long) places.size() * (METRICS.length * Float.BYTES + 1));
        return (int) Math.min(nights, Math.max(1, Runtime.getRuntime().maxMemory() / 4 / night));
    }

    /** Returns how many nights say what is usual. */
    private int most(int last) {
        int fit = fit(last);
        if (fit < last) {
            notes.add("Only the last " + fit
                    + " runs say what is usual for cells, because of the memory: give Java more (-Xmx).");
        }
        return fit;
    }

    /** Reads a night, keeps it in a list if there is one, and takes the figures of groups from it if they are wanted. */
    private void read(Path summary, @Nullable List<Night> list, boolean hasFigures) {
        Night night = new Night(places.size());
        try {
            new PairsReader().read(cells(summary), (cell, position) -> {
                Rail rail = rails.get(cell.rail());
                int row = rail == null ? -1 : rail.row(cell);
                if (row >= 0) {
                    night.put(row, cell);
                }
            });
        } catch (IOException e) {
            notes.add("Cells left out: " + e.getMessage());
            return;
        }
        if (list != null) {
            list.add(night);
        }
        if (hasFigures) {
            figures(night);
            names.add(summary.toString());
        }
    }

    private void figures(Night night) {
        for (int at = 0; at < groups.size(); at++) {
            figures.get(at).add(figure(groups.get(at), night, rowsOfGroups.get(at)));
            otherFigures.get(at).add(figure(groups.get(at), night, rowsOfOthers.get(at)));
        }
    }

    /** Returns the median of the group's metric, or the share of what failed; null if there is none. */
    private static @Nullable Double figure(Group group, Night night, int[] rows) {
        if (group.metric().equals("failed")) {
            long tried =
                    Arrays.stream(rows).filter(row -> night.states[row] != 0).count();
            long bad = Arrays.stream(rows)
                    .filter(row -> night.states[row] == FAILED)
                    .count();
            return tried == 0 ? null : Double.valueOf((double) bad / tried);
        }
        float[] all = night.values[metric(group).ordinal()];
        double[] values = Arrays.stream(rows)
                .mapToDouble(row -> all[row])
                .filter(value -> !Double.isNaN(value))
                .toArray();
        return values.length == 0 ? null : Double.valueOf(Quantiles.median(values));
    }

    private static Metric metric(Group group) {
        return Metric.ofMember(group.metric()).orElse(Metric.BANDWIDTH);
    }

    private void judge() {
        if (usual.isEmpty() || places.isEmpty()) {
            return;
        }
        double[][] noise = new double[METRICS.length][];
        Map<Rail, Integer> numbers = new HashMap<>();
        rails.values().forEach(rail -> numbers.put(rail, numbers.size()));
        Usual[] like = new Usual[METRICS.length];
        for (Metric metric : METRICS) {
            noise[metric.ordinal()] = noise(metric, numbers);
            like[metric.ordinal()] = new Usual(like(metric).of(leastSamples), tolerance);
        }
        Rule rule = (night, row, before) ->
                judged(night, row, before, like, noise, Objects.requireNonNull(numbers.get(places.get(row).rail)));
        Map<Integer, Worse> alone = new TreeMap<>();
        double leastTrend = leastTrend();
        Map<String, int[]> counts = new TreeMap<>();
        for (int row = 0; row < places.size(); row++) {
            Place place = places.get(row);
            int rail = Objects.requireNonNull(numbers.get(place.rail));
            Worse found = null;
            Judged judged = rule.judged(tonight, row, usual.size());
            boolean isCompared = judged.isCompared();
            if (tonight.states[row] == FAILED) {
                Byte was = lastState(row);
                isCompared = was != null;
                if (was != null && was == MEASURED) {
                    found = worse(place, OUTCOME, null, null, null, null);
                    failed++;
                }
            }
            if (judged.worse() != null) {
                found = judged.worse();
                alone.put(row, found);
            }
            if (found == null && isCompared) {
                found = drift(row, like, noise, rail, leastTrend);
                drifting += found == null ? 0 : 1;
            }
            if (isCompared) {
                compared++;
                count(place, found != null, counts);
            }
            if (found != null) {
                worse.add(found);
            } else if (judged.isBetter()) {
                better++;
            }
        }
        ports.addAll(ports(counts));
        leaveOutChance(alone, rule);
        // What became worse at once comes first.
        worse.sort(Comparator.comparing(Worse::isDrift)
                .thenComparing(Comparator.comparingDouble(Worse::factor).reversed()));
    }

    /** How a cell compares in a night: whether it could be, whether it is better, and what is worse, if anything is. */
    private record Judged(
            boolean isCompared, boolean isBetter, @Nullable Worse worse) {}

    /** Judges a row of a night by so many of the first nights. */
    @FunctionalInterface
    private interface Rule {
        Judged judged(Night night, int row, int before);
    }

    private Judged judged(Night night, int row, int before, Usual[] like, double[][] noise, int rail) {
        Worse found = null;
        boolean isCompared = false;
        boolean isBetter = false;
        for (Metric metric : METRICS) {
            float now = night.values[metric.ordinal()][row];
            double[] earlier = earlier(metric, row, before);
            if (Float.isNaN(now) || earlier.length == 0) {
                continue;
            }
            isCompared = true;
            Change change = change(metric, like[metric.ordinal()], earlier, now, noise[metric.ordinal()][rail]);
            isBetter |= change == Change.BETTER;
            if (change == Change.WORSE) {
                Worse each = worse(
                        places.get(row),
                        metric.member(),
                        Quantiles.median(earlier),
                        earlier[0],
                        earlier[earlier.length - 1],
                        (double) now);
                found = found == null || each.factor() > found.factor() ? each : found;
            }
        }
        return new Judged(isCompared, isBetter, found);
    }

    /**
     * Leaves out cells that are worse alone, if there are no more of them than in the nights before. Adds those that are worse in
     * nights in a row.
     *
     * @param found the rows whose values are worse tonight
     */
    private void leaveOutChance(Map<Integer, Worse> found, Rule rule) {
        List<Worse> alone = found.entrySet().stream()
                .filter(each -> !isOf(ports, places.get(each.getKey())))
                .map(Map.Entry::getValue)
                .toList();
        if (alone.isEmpty()) {
            return;
        }
        int last = usual.size() - 1;
        // Of two nights, either one may have had its moment.
        int chance = last == 0 ? better : worseAlone(last, rule).size();
        if (last > 1) {
            chance = Math.min(chance, worseAlone(last - 1, rule).size());
        }
        if (alone.size() > chance + MOST_DEVIATIONS * Math.sqrt(chance)) {
            return;
        }
        int runs = 2;
        while (runs <= last && places.size() * Math.pow(chance / (double) places.size(), runs) > FALSE_CELLS) {
            runs++;
        }
        worse.removeAll(new HashSet<>(alone));
        int first = usual.size() + 1 - runs;
        if (first > 0) {
            List<Night> later = Stream.concat(usual.subList(first + 1, usual.size()).stream(), Stream.of(tonight))
                    .toList();
            for (int row : worseAlone(first, rule)) {
                if (later.stream()
                        .allMatch(night -> rule.judged(night, row, first).worse() != null)) {
                    worse.add(Objects.requireNonNull(
                            rule.judged(tonight, row, first).worse()));
                }
            }
        }
        notes.add(
                "%d cells that are worse in this run alone are left out: %d were so in an earlier run. One counts if it is worse in"
                                .formatted(alone.size(), chance)
                        + " %d runs in a row.".formatted(runs));
    }

    /** Returns the rows that are worse in an earlier night than in those before it, but in no worse port. */
    private List<Integer> worseAlone(int night, Rule rule) {
        List<Integer> rows = new ArrayList<>();
        Map<String, int[]> counts = new TreeMap<>();
        for (int row = 0; row < places.size(); row++) {
            Judged judged = rule.judged(usual.get(night), row, night);
            if (judged.isCompared()) {
                count(places.get(row), judged.worse() != null, counts);
            }
            if (judged.worse() != null) {
                rows.add(row);
            }
        }
        List<Port> its = ports(counts);
        rows.removeIf(row -> isOf(its, places.get(row)));
        return rows;
    }

    private static boolean isOf(List<Port> ports, Place place) {
        return ports.stream()
                .anyMatch(port -> port.rail().equals(place.rail.name)
                        && port.node().equals(port.direction().equals("out") ? place.from() : place.to()));
    }

    private List<Port> ports(Map<String, int[]> counts) {
        List<Port> found = new ArrayList<>();
        for (Rail rail : rails.values()) {
            for (String node : rail.nodes()) {
                for (String direction : List.of("out", "in")) {
                    int[] its = counts.getOrDefault(key(rail, node, direction), new int[] {0, 1});
                    if (its[0] >= LEAST_OF_PORT && 2 * its[0] >= its[1]) {
                        found.add(new Port(node, rail.name, direction, its[0], its[1]));
                    }
                }
            }
        }
        found.sort(Comparator.comparingInt(Port::worse).reversed());
        return found;
    }

    /** Returns the statistic of a trend that normal noise reaches in one of a thousand runs, in any of all cells and metrics. */
    private double leastTrend() {
        return Math.max(
                LEAST_TREND,
                new NormalDistribution()
                        .inverseCumulativeProbability(1 - FALSE_CELLS / (places.size() * (double) METRICS.length)));
    }

    /** Returns the drift of a cell that is not worse in this run alone; null if it does not drift, or gets better. */
    private @Nullable Worse drift(int row, Usual[] like, double[][] noise, int rail, double leastTrend) {
        int nights = older.size() + usual.size() + 1;
        if (nights < 2 * Usual.end(nights)) {
            return null;
        }
        Worse found = null;
        for (Metric metric : METRICS) {
            List<Double> values = new ArrayList<>();
            for (List<Night> some : List.of(older, usual, List.of(tonight))) {
                for (Night night : some) {
                    float value = night.values[metric.ordinal()][row];
                    if (!Float.isNaN(value)) {
                        values.add(value * metric.scale());
                    }
                }
            }
            if (values.isEmpty() || Float.isNaN(tonight.values[metric.ordinal()][row])) {
                continue;
            }
            // The largest difference between the medians of both ends that noise explains.
            double least =
                    MOST_DEVIATIONS * noise[metric.ordinal()][rail] * Math.sqrt(Math.PI / Usual.end(values.size()));
            Usual usual = like[metric.ordinal()];
            Usual.Drift drift = usual.drift(values, least, leastTrend);
            if (drift.change() == Change.WORSE && !usual.isStep(values)) {
                Place place = places.get(row);
                Worse each = new Worse(
                        place.rail.name,
                        place.from(),
                        place.to(),
                        metric.member(),
                        drift.oldest() / metric.scale(),
                        null,
                        null,
                        drift.newest() / metric.scale(),
                        null,
                        values.size());
                found = found == null || each.factor() > found.factor() ? each : found;
            }
        }
        return found;
    }

    private static Worse worse(
            Place place,
            String what,
            @Nullable Double before,
            @Nullable Double lowest,
            @Nullable Double highest,
            @Nullable Double after) {
        return new Worse(
                place.rail.name,
                place.from(),
                place.to(),
                what,
                before,
                lowest,
                highest,
                after,
                place.rail.cells.cause(place.line));
    }

    private static String key(Rail rail, String node, String direction) {
        return rail.name + "\n" + node + "\n" + direction;
    }

    private static void count(Place place, boolean isWorse, Map<String, int[]> counts) {
        for (String key : List.of(key(place.rail, place.from(), "out"), key(place.rail, place.to(), "in"))) {
            int[] its = counts.computeIfAbsent(key, ignored -> new int[2]);
            its[0] += isWorse ? 1 : 0;
            its[1]++;
        }
    }

    /** Returns the state of the cell's last earlier attempt; null if there was none. */
    private @Nullable Byte lastState(int row) {
        for (Night night : usual.reversed()) {
            if (night.states[row] != 0) {
                return night.states[row];
            }
        }
        return null;
    }

    /** Returns the values of so many of the first nights, sorted. */
    private double[] earlier(Metric metric, int row, int nights) {
        double[] values = new double[nights];
        int count = 0;
        for (Night night : usual.subList(0, nights)) {
            float value = night.values[metric.ordinal()][row];
            if (!Float.isNaN(value)) {
                values[count++] = value;
            }
        }
        double[] found = Arrays.copyOf(values, count);
        Arrays.sort(found);
        return found;
    }

    private static Change change(Metric metric, Usual like, double[] earlier, double now, double noise) {
        double median = Quantiles.median(earlier);
        // Most cells are as usual; these need no closer look.
        double distance = Math.abs(Math.log(Math.max(now, Double.MIN_NORMAL) / Math.max(median, Double.MIN_NORMAL)));
        if (distance <= MOST_DEVIATIONS * noise) {
            return Change.OTHER;
        }
        List<Double> values = Arrays.stream(earlier)
                .map(value -> value * metric.scale())
                .boxed()
                .toList();
        return like.canJudgeBy(values) ? like.change(values, now * metric.scale()) : Change.OTHER;
    }

    /**
     * Returns the noise of the logarithm of a metric by rail, as a standard deviation. It is computed from the 95th percentile of
     * how much worse each earlier value is than the median of the other values of its cell. Only the worse side is used, because the
     * noise of tails is larger there. Where few values show it, {@link #UNKNOWN_NOISE} counts as well.
     */
    private double[] noise(Metric metric, Map<Rail, Integer> numbers) {
        double[][] found = new double[numbers.size()][64];
        int[] count = new int[numbers.size()];
        int step = Math.max(1, (int) ((long) places.size() * usual.size() / MOST_NOISE));
        for (int row = 0; row < places.size(); row += step) {
            double[] values = earlier(metric, row, usual.size());
            float now = tonight.values[metric.ordinal()][row];
            if (values.length == 1 && !Float.isNaN(now)) {
                // With a single earlier night, this night is also needed for the estimate.
                values = new double[] {Math.min(values[0], now), Math.max(values[0], now)};
            }
            if (values.length < 2 || values[0] <= 0) {
                continue;
            }
            int rail = Objects.requireNonNull(numbers.get(places.get(row).rail));
            for (int at = 0; at < values.length; at++) {
                if (count[rail] == found[rail].length) {
                    found[rail] = Arrays.copyOf(found[rail], 2 * count[rail]);
                }
                double change = Math.log(values[at] / Quantiles.median(without(values, at)));
                found[rail][count[rail]++] = metric.isRate() ? -change : change;
            }
        }
        double[] noise = new double[numbers.size()];
        for (int rail = 0; rail < noise.length; rail++) {
            double[] sorted = Arrays.copyOf(found[rail], count[rail]);
            Arrays.sort(sorted);
            double shown = sorted.length == 0 ? 0 : Math.max(0, sorted[(int) (0.95 * sorted.length)] / NORMAL);
            noise[rail] = sorted.length >= LEAST_NOISE ? shown : noiseOfFew(sorted.length, shown);
        }
        return noise;
    }

    /** Returns at most {@link #UNKNOWN_NOISE}, since one change among few values looks like noise. */
    private static double noiseOfFew(int values, double shown) {
        double known = Math.min(shown, UNKNOWN_NOISE);
        return Math.sqrt((values * known * known + WEIGHT_OF_UNKNOWN * UNKNOWN_NOISE * UNKNOWN_NOISE)
                / (values + WEIGHT_OF_UNKNOWN));
    }

    private static double[] without(double[] values, int one) {
        double[] others = Arrays.copyOf(values, values.length - 1);
        System.arraycopy(values, one + 1, others, one, others.length - one);
        return others;
    }

    /** Returns how many cells were held against earlier nights. */
    public int compared() {
        return compared;
    }

    /** Returns how many earlier nights said what is usual. */
    public int nights() {
        return usual.size();
    }

    /** Returns the cells that are worse, the worst first. */
    public List<Worse> worse() {
        return List.copyOf(worse);
    }

    /** Returns the ports with many of these cells, those with the most first. */
    public List<Port> ports() {
        return List.copyOf(ports);
    }

    /** Returns what limits the comparison, as sentences. */
    public List<String> notes() {
        return List.copyOf(notes);
    }

    /** Returns all of it in a sentence. */
    public String summary() {
        if (compared == 0) {
            return "No cell was compared: no earlier run has the same pairs, measured with the same settings.";
        }
        String nights = usual.size() == 1 ? "in the run before" : "in the " + usual.size() + " runs before";
        if (worse.isEmpty()) {
            return "None of %d cells is worse than %s%s."
                    .formatted(compared, nights, better == 0 ? "" : ", and " + better + " are better");
        }
        return "%d of %d cells %s worse than %s%s%s%s."
                .formatted(
                        worse.size(),
                        compared,
                        worse.size() == 1 ? "is" : "are",
                        nights,
                        failed == 0 ? "" : ", " + failed + " of them failed",
                        drifting == 0 ? "" : ", " + drifting + " of them by a drift that no run alone shows",
                        better == 0 ? "" : "; " + better + " are better");
    }

    /** Returns the text for people. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add(summary());
        if (!ports.isEmpty()) {
            lines.add("  " + ports.stream().limit(MOST_NAMED).map(Port::text).collect(Collectors.joining("; ")));
        }
        worse.stream()
                .limit(MOST_NAMED)
                .forEach(cell ->
                        lines.add("  %s -> %s on %s: %s".formatted(cell.from(), cell.to(), cell.rail(), cell.text())));
        if (worse.size() > MOST_NAMED) {
            lines.add("  and " + (worse.size() - MOST_NAMED) + " more, see comparison.json");
        }
        lines.addAll(notes);
        return lines;
    }

    /** Returns what is worse, for machines: the member {@code cells} of {@code comparison.json}. */
    public Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("message", summary());
        json.put("nights", usual.size());
        json.put("compared", compared);
        json.put("worse", worse.size());
        json.put("failed", failed);
        json.put("better", better);
        json.put("drifting", drifting);
        json.put("ports", ports);
        json.put("cells", worse.stream().limit(MOST_CELLS).toList());
        json.put("notes", notes);
        return json;
    }

    /** The figures of each group night by night, this run last: the member {@code culprits} of {@code comparison.json}. */
    public record History(List<String> runs, List<Series> series) {}

    /**
     * The figures of a group, null for a night without one.
     *
     * @param name what the group is called
     * @param what the figure
     * @param unit its unit
     * @param values those of the group
     * @param others those of the pairs of its rails that are of no group
     */
    public record Series(
            String name, String what, String unit, List<@Nullable Double> values, List<@Nullable Double> others) {}

    /** Returns the figures of each group night by night. */
    public History history() {
        List<Series> series = new ArrayList<>();
        for (int at = 0; at < groups.size(); at++) {
            Group group = groups.get(at);
            boolean share = group.metric().equals("failed");
            Metric metric = metric(group);
            double scale = share ? 100 : metric.scale();
            series.add(new Series(
                    group.name(),
                    share ? "share of pairs that failed" : metric.words(),
                    share ? "%" : metric.unit(),
                    scaled(figures.get(at), scale),
                    scaled(otherFigures.get(at), scale)));
        }
        return new History(names, series);
    }

    private static List<@Nullable Double> scaled(List<@Nullable Double> values, double scale) {
        List<@Nullable Double> scaled = new ArrayList<>();
        values.forEach(value -> scaled.add(value == null ? null : Double.valueOf(value * scale)));
        return scaled;
    }
}
