package io.rdmatest.report.nights;

import com.fasterxml.jackson.annotation.JsonValue;
import io.rdmatest.Measurement;
import io.rdmatest.Measurement.Better;
import io.rdmatest.Measurement.Kind;
import io.rdmatest.SkipReason;
import io.rdmatest.report.nights.Qualification.Scenario;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The differences between one run and earlier runs. Environment and verdicts are compared with the latest earlier run, and
 * measurements with their usual values.
 *
 * <p>The latest earlier runs say what is usual and how much that varies. With one earlier run, a measurement is worse beyond the
 * tolerance. With several, it also has to be worse than in all of them; of ten or more, one may have been as bad. From five runs
 * on it also has to differ by more than they scatter. All earlier runs together show whether a measurement drifts. A measurement
 * that is missing, or 0, is worse. A run can be repeated: then a measurement is worse only if every repetition confirms it.
 */
public final class QualificationComparison {

    /** The verdict of a scenario that one of the runs does not have. */
    private static final String NOT_THERE = "not there";

    private static final String PASSED = "passed";
    private static final String SKIPPED = "skipped";

    private static final int MOST_TOLERANCE = 1000;
    private static final int MOST_RUNS = 1000;

    /** The name of the form of {@link #json} with its version. */
    public static final String SCHEMA = "comparison/1";

    /** The default number of earlier runs that define what is usual. */
    public static final int LAST = 14;

    /** Drifts are looked for in this many times the runs that define what is usual. */
    public static final int DRIFT = 4;

    /**
     * The fact of the environment that has the seed of the interoperability matrix. Each run has another seed unless it is set.
     */
    private static final String DRAWN = "interoperability";

    private static final String CELLS = "Interoperability: ";

    /** The id of the scenario whose measurements depend on {@link PairConditions}. */
    private static final String PAIRS = "PairScenarios.allPairs";

    /** The direction of a change. */
    public enum Change {
        /** A scenario that passed no longer passes, a scenario that did not fail now fails, or a measurement is worse. */
        WORSE,
        /** A scenario that failed or was skipped now passes, or a measurement is better. */
        BETTER,
        /** Neither: a scenario that is new, for example, or one that fails in another way. */
        OTHER;

        @Override
        @JsonValue
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** In which way a measurement changed. */
    public enum Finding {
        /** Its value is beyond what is usual. */
        LEVEL,
        /** It was measured before, and is not there. */
        MISSING,
        /** Each run differs little from those before it, and the newest ones together differ from the oldest. */
        DRIFT;

        @Override
        @JsonValue
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * A fact of the environment that changed.
     *
     * @param name such as {@code kernel}
     * @param before what it was
     * @param after what it is now
     */
    public record Fact(String name, String before, String after) {}

    /**
     * A verdict that changed.
     *
     * @param change which way it went
     * @param scenario whose it is
     * @param before the verdict of the latest earlier run
     * @param after the verdict now
     * @param reason why it did not pass; empty if it did
     * @param passedBefore in how many of the earlier runs it passed
     * @param again whether it is the verdict of a repetition, not of the first run
     */
    public record Turn(
            Change change,
            String scenario,
            String before,
            String after,
            String reason,
            int passedBefore,
            boolean again) {}

    /**
     * A measurement that changed.
     *
     * @param change which way it went
     * @param finding in which way it changed
     * @param scenario whose it is
     * @param measurement its name
     * @param unit of all values
     * @param before the median of the earlier runs; of a drift that of the oldest ones
     * @param lowest the lowest of these runs
     * @param highest the highest of them
     * @param after the value now; of a drift the median of the newest runs; null if it is missing
     * @param again the values when it was run again
     */
    public record Shift(
            Change change,
            Finding finding,
            String scenario,
            String measurement,
            String unit,
            double before,
            double lowest,
            double highest,
            @Nullable Double after,
            List<Double> again) {

        /** Copies the list. */
        public Shift {
            again = List.copyOf(again);
        }

        /** Returns how it is now, divided by how it was; 0 if it is missing. */
        double ratio() {
            return after == null ? 0 : after / before;
        }
    }

    /** What says what is usual, the latest last. */
    private final List<Qualification> before;

    /** What shows a drift, the latest last. */
    private final List<Qualification> longBefore;

    private final Qualification latest;
    private final Qualification after;
    private final List<Qualification> again;
    private final int last;
    private final double tolerance;
    private final List<Fact> facts = new ArrayList<>();
    private final List<Turn> turns = new ArrayList<>();
    private final List<Shift> shifts = new ArrayList<>();
    private int comparedVerdicts;
    private int compared;
    private int notEachTime;
    private int drawnAnew;
    private int otherUnits;
    private int tooFewSamples;
    private int usuallyNothing;
    private int otherConditions;

    /**
     * Compares.
     *
     * @param before the earlier runs, at least one, the latest last
     * @param after the run that is judged
     * @param last how many of the earlier runs say what is usual, see {@link #last}
     * @param tolerance by which share a measurement may be worse or better than before, see {@link #tolerance}
     */
    public QualificationComparison(List<Qualification> before, Qualification after, int last, double tolerance) {
        this(before, after, List.of(), last, tolerance);
    }

    /**
     * Compares a run that was made again.
     *
     * @param before the earlier runs, at least one, the latest last
     * @param after the run that is judged
     * @param again what came of the same scenarios then, each time
     * @param last how many of the earlier runs say what is usual, see {@link #last}
     * @param tolerance by which share a measurement may be worse or better than before, see {@link #tolerance}
     */
    public QualificationComparison(
            List<Qualification> before, Qualification after, List<Qualification> again, int last, double tolerance) {
        List<Qualification> named = latest(before, DRIFT * last).stream()
                .map(run -> run.withNamesOf(after))
                .toList();
        this.before = latest(named, last);
        this.longBefore = named;
        this.latest = named.getLast();
        this.after = after;
        this.again = List.copyOf(again);
        this.last = last;
        this.tolerance = tolerance;
        compareFacts();
        compareScenarios();
    }

    private static List<Qualification> latest(List<Qualification> runs, int most) {
        return List.copyOf(runs.subList(Math.max(0, runs.size() - most), runs.size()));
    }

    /**
     * Returns the share that a percentage is.
     *
     * @param percent of {@code --tolerance}, 0 to {@value #MOST_TOLERANCE}
     * @throws IllegalArgumentException if it is another one; the message names the option
     */
    public static double tolerance(double percent) {
        if (!(percent >= 0) || percent > MOST_TOLERANCE) {
            throw new IllegalArgumentException("--tolerance is 0 to " + MOST_TOLERANCE + " percent, not " + percent);
        }
        return percent / 100;
    }

    /**
     * Checks how many earlier runs say what is usual.
     *
     * @param runs of {@code --last}, 1 to {@value #MOST_RUNS}
     * @return the same
     * @throws IllegalArgumentException if it is another one; the message names the option
     */
    public static int last(int runs) {
        if (runs < 1 || runs > MOST_RUNS) {
            throw new IllegalArgumentException("--last is 1 to " + MOST_RUNS + " runs, not " + runs);
        }
        return runs;
    }

    private void compareFacts() {
        TreeSet<String> names = new TreeSet<>(latest.environment().keySet());
        names.addAll(after.environment().keySet());
        names.remove(DRAWN);
        for (String name : names) {
            String then = latest.environment().getOrDefault(name, NOT_THERE);
            String now = after.environment().getOrDefault(name, NOT_THERE);
            if (!then.equals(now)) {
                facts.add(new Fact(name, then, now));
            }
        }
    }

    private void compareScenarios() {
        latest.scenarios()
                .forEach((name, then) ->
                        turn(name, judgedLast(name), after.scenarios().get(name)));
        after.scenarios().forEach((name, now) -> {
            if (!latest.scenarios().containsKey(name)) {
                turn(name, judgedLast(name), now);
            }
            if (!isBad(now.verdict())) {
                failedAgain(name);
            }
            otherConditions += (int) (countMeasured(longBefore, name) - countMeasured(alike(longBefore, name), name));
            now.measurements().values().forEach(measurement -> shift(name, measurement));
            if (now.verdict().equals(PASSED)) {
                missing(name, now);
            }
        });
        turns.sort(Comparator.comparing(Turn::change));
        shifts.sort(Comparator.comparing(Shift::change)
                .thenComparing(Comparator.comparingDouble(QualificationComparison::distance)
                        .reversed()));
    }

    private static double distance(Shift shift) {
        return Math.max(shift.ratio(), 1 / shift.ratio());
    }

    /** Returns what some runs say of a scenario, of those in which it is there. */
    private static Stream<Scenario> in(List<Qualification> runs, String scenario) {
        return runs.stream().map(run -> run.scenarios().get(scenario)).filter(Objects::nonNull);
    }

    /** Returns the runs whose measurements of a scenario are comparable: measurements of pairs depend on settings. */
    private List<Qualification> alike(List<Qualification> runs, String scenario) {
        if (!PAIRS.equals(after.ids().get(scenario))) {
            return runs;
        }
        Map<String, String> conditions = PairConditions.of(after.settings());
        return runs.stream()
                .filter(run -> PairConditions.of(run.settings()).equals(conditions))
                .toList();
    }

    private static long countMeasured(List<Qualification> runs, String scenario) {
        return in(runs, scenario).filter(each -> !each.measurements().isEmpty()).count();
    }

    /** Returns the runs that say what a scenario usually measures. */
    private List<Qualification> usual(String scenario) {
        return latest(alike(longBefore, scenario), last);
    }

    private int passedBefore(String scenario) {
        return (int) in(before, scenario)
                .filter(each -> each.verdict().equals(PASSED))
                .count();
    }

    /** A scenario that passes first and fails in a repetition is as much a finding as one that fails at once. */
    private void failedAgain(String name) {
        String was = verdict(latest.scenarios().get(name));
        in(again, name)
                .filter(each -> isBad(each.verdict()))
                .findFirst()
                .ifPresent(each -> add(name, was, each.verdict(), each.reason(), true));
    }

    private static String verdict(@Nullable Scenario scenario) {
        return scenario == null ? NOT_THERE : scenario.verdict();
    }

    private void add(String name, String was, String is, String reason, boolean again) {
        turns.add(new Turn(change(was, is), name, was, is, reason, passedBefore(name), again));
    }

    /**
     * Returns a scenario from the latest earlier run that selected it; if there is none, from the latest run, which may lack it.
     */
    private @Nullable Scenario judgedLast(String name) {
        return in(before.reversed(), name)
                .filter(scenario -> !isNotSelected(scenario))
                .findFirst()
                .orElse(latest.scenarios().get(name));
    }

    private static boolean isNotSelected(Scenario scenario) {
        return scenario.verdict().equals(SKIPPED) && scenario.reason().startsWith(SkipReason.NOT_SELECTED.toString());
    }

    private void turn(String name, @Nullable Scenario then, @Nullable Scenario now) {
        if (now != null && isNotSelected(now)) {
            return;
        }
        String was = verdict(then);
        String is = verdict(now);
        // If the scenario was skipped in both runs, there is no verdict to compare.
        if (then != null && now != null && !(was.equals(SKIPPED) && is.equals(SKIPPED))) {
            comparedVerdicts++;
        }
        if ((then == null || now == null) && name.startsWith(CELLS) && areDrawnAnew()) {
            drawnAnew++;
        } else if (!was.equals(is)) {
            add(name, was, is, now == null ? "" : now.reason(), false);
        }
    }

    private boolean areDrawnAnew() {
        return !Objects.equals(
                latest.environment().get(DRAWN), after.environment().get(DRAWN));
    }

    private static boolean isBad(String verdict) {
        return verdict.equals("failed") || verdict.equals("broken");
    }

    /**
     * A scenario that passed and no longer passes is worse, whatever its verdict is now, because nothing shows any more that it
     * works.
     */
    private static Change change(String was, String is) {
        boolean passes = is.equals(PASSED);
        if (isBad(was)) {
            return passes ? Change.BETTER : Change.OTHER;
        }
        if (was.equals(PASSED) || isBad(is)) {
            return Change.WORSE;
        }
        return passes && !was.equals(NOT_THERE) ? Change.BETTER : Change.OTHER;
    }

    private void shift(String scenario, Measurement now) {
        if (now.better() == Better.NEITHER) {
            return;
        }
        List<Measurement> earlier = measured(usual(scenario), scenario, now.name());
        List<Double> values = values(earlier, now.unit());
        if (values.isEmpty()) {
            otherUnits += earlier.isEmpty() ? 0 : 1;
            return;
        }
        // The smallest number of samples decides how steady the measurement is. Files of earlier builds have no numbers
        // of samples.
        Usual usual = new Usual(
                now.of(Stream.concat(Stream.of(now), earlier.stream())
                        .mapToLong(Measurement::samples)
                        .min()
                        .orElse(0)),
                tolerance);
        if (!usual.canJudgeBy(values)) {
            usuallyNothing++;
            return;
        }
        compared++;
        Change change = usual.change(values, now.value());
        List<Double> repeated =
                change == Change.WORSE ? values(measured(again, scenario, now.name()), now.unit()) : List.of();
        if (repeated.stream().anyMatch(value -> usual.change(values, value) != Change.WORSE)) {
            notEachTime++;
        } else if (change != Change.OTHER) {
            add(change, Finding.LEVEL, scenario, now, values, null, now.value(), repeated);
        } else {
            List<Double> all =
                    new ArrayList<>(values(measured(alike(longBefore, scenario), scenario, now.name()), now.unit()));
            all.add(now.value());
            Usual.Drift drift = usual.drift(all);
            if (drift.change() != Change.OTHER) {
                add(drift.change(), Finding.DRIFT, scenario, now, all, drift.oldest(), drift.newest(), List.of());
            }
        }
    }

    private void add(
            Change change,
            Finding finding,
            String scenario,
            Measurement of,
            List<Double> values,
            @Nullable Double usual,
            @Nullable Double now,
            List<Double> repeated) {
        Spread then = Spread.of(values);
        shifts.add(new Shift(
                change,
                finding,
                scenario,
                of.name(),
                of.unit(),
                usual == null ? then.median() : usual,
                then.min(),
                then.max(),
                now,
                repeated));
    }

    /** A missing measurement is worse if at least half of the earlier runs in which the scenario passed have it. */
    private void missing(String scenario, Scenario now) {
        List<Scenario> passed = in(usual(scenario), scenario)
                .filter(each -> each.verdict().equals(PASSED))
                .toList();
        Map<String, Measurement> known = new LinkedHashMap<>();
        passed.forEach(each -> known.putAll(each.measurements()));
        known.keySet().removeAll(now.measurements().keySet());
        known.values().removeIf(each -> each.better() == Better.NEITHER);
        if (PAIRS.equals(after.ids().get(scenario))) {
            known.keySet().removeIf(name -> !PairConditions.isAsked(after.settings(), name));
        }
        known.forEach((name, then) -> {
            List<Double> values = values(measured(usual(scenario), scenario, name), then.unit());
            if (2 * values.size() < passed.size()) {
                return;
            }
            if (!canBeMeasured(then, now)) {
                tooFewSamples++;
                return;
            }
            compared++;
            List<Double> repeated = values(measured(again, scenario, name), then.unit());
            if (repeated.isEmpty()) {
                add(Change.WORSE, Finding.MISSING, scenario, then, values, null, null, List.of());
            } else {
                notEachTime++;
            }
        });
    }

    /** Returns whether a run has enough samples for a percentile that it lacks: earlier builds reported every percentile. */
    private static boolean canBeMeasured(Measurement then, Scenario now) {
        Double percentile = then.percentile();
        return percentile == null
                || now.measurements().values().stream()
                        .filter(each -> each.kind() == Kind.PERCENTILE && each.samples() > 0)
                        .filter(each -> distribution(each.name()).equals(distribution(then.name())))
                        .allMatch(each -> Measurement.supports(each.samples(), percentile));
    }

    /** Returns what a percentile is of: {@code round trip} of {@code round trip p99}. */
    private static String distribution(String percentile) {
        return percentile.substring(0, Math.max(0, percentile.lastIndexOf(' ')));
    }

    private static List<Measurement> measured(List<Qualification> runs, String scenario, String name) {
        return in(runs, scenario)
                .map(each -> each.measurements().get(name))
                .filter(Objects::nonNull)
                .toList();
    }

    private static List<Double> values(List<Measurement> measured, String unit) {
        return measured.stream()
                .filter(each -> each.unit().equals(unit))
                .map(Measurement::value)
                .toList();
    }

    /** Returns whether anything could be compared: a verdict other than skipped, or a measurement. */
    public boolean isAnythingCompared() {
        return comparedVerdicts + compared + turns.size() > 0;
    }

    /** Returns how many earlier runs say what is usual. */
    public int runsBefore() {
        return before.size();
    }

    /** Returns how many verdicts were compared. */
    public int comparedVerdicts() {
        return comparedVerdicts;
    }

    /** Returns how many measurements were compared. */
    public int comparedMeasurements() {
        return compared;
    }

    /** Returns how many verdicts and measurements went a way. */
    public long count(Change change) {
        return Stream.concat(turns.stream().map(Turn::change), shifts.stream().map(Shift::change))
                .filter(change::equals)
                .count();
    }

    /** Returns the changed verdicts, the worse ones first. */
    public List<Turn> turns() {
        return List.copyOf(turns);
    }

    /** Returns the changed measurements: the worse ones first, and among these the largest changes first. */
    public List<Shift> shifts() {
        return List.copyOf(shifts);
    }

    /** Returns the changed facts of the environment, by name. */
    public List<Fact> facts() {
        return List.copyOf(facts);
    }

    /**
     * Returns all of it in one sentence, with the cells.
     *
     * @param cells those of the same runs; null if they have none
     */
    public String summary(@Nullable CellComparison cells) {
        if (cells == null) {
            return summary();
        }
        // Begins with the part that is worse: the first words say what the run ends with.
        return count(Change.WORSE) == 0 && !cells.worse().isEmpty()
                ? cells.summary() + " Scenarios: " + summary()
                : summary() + ". " + cells.summary();
    }

    /** Returns verdicts and measurements in one sentence. */
    public String summary() {
        if (!isAnythingCompared()) {
            return "nothing was compared: the runs have no scenario in common that was not skipped";
        }
        return String.format(
                Locale.ROOT,
                "%d worse, %d better (verdicts changed: %d of %d; measurements changed: %d of %d; tolerance: %s %%%s)",
                count(Change.WORSE),
                count(Change.BETTER),
                turns.size(),
                Math.max(comparedVerdicts, turns.size()),
                shifts.size(),
                compared,
                percent(),
                notEachTime == 0 ? "" : "; worse, but not in every repetition: " + notEachTime);
    }

    private String percent() {
        double percent = tolerance * 100;
        return percent == Math.rint(percent) ? Long.toString((long) percent) : Double.toString(percent);
    }

    /** Returns the runs, in a line each. */
    public List<String> runs() {
        return List.of(
                "before: " + (before.size() == 1 ? "" : before.size() + " runs, of which the latest is ")
                        + latest.file() + ", " + latest.counts(),
                "after:  " + after.file() + ", " + after.counts());
    }

    /** Returns what a verdict was before and what it is now. */
    public String text(Turn turn) {
        return turn.before() + " -> " + turn.after() + (turn.again() ? " when run again" : "")
                + (before.size() == 1
                        ? ""
                        : " (passed in " + turn.passedBefore() + " of the " + before.size() + " runs before)");
    }

    /** Returns what a measurement was before and what it is now. */
    public String text(Shift shift) {
        Double now = shift.after();
        boolean range = shift.lowest() != shift.highest() && shift.finding() != Finding.DRIFT;
        return (shift.finding() == Finding.DRIFT ? "drifts " : "")
                + number(shift.before())
                + (range ? " (" + number(shift.lowest()) + " to " + number(shift.highest()) + ")" : "")
                + (now == null
                        ? " " + shift.unit() + " -> missing"
                        : String.format(
                                Locale.ROOT, " -> %s %s (%.2f times)", number(now), shift.unit(), shift.ratio()))
                + (shift.again().isEmpty()
                        ? ""
                        : shift.again().stream()
                                .map(QualificationComparison::number)
                                .collect(Collectors.joining(", ", ", again ", "")));
    }

    private static String number(double value) {
        return value == 0
                ? "0"
                : String.format(Locale.ROOT, value < 0.1 ? "%.3g" : value < 10 ? "%.3f" : "%.1f", value);
    }

    /** Returns what was not compared and why, a sentence each. */
    public List<String> notCompared() {
        List<String> lines = new ArrayList<>();
        if (drawnAnew > 0) {
            lines.add(drawnAnew
                    + " cells of the interoperability matrix are in one of the runs only: each run drew its own (set"
                    + " rdma.interop.seed to repeat a draw)");
        }
        if (otherUnits > 0) {
            lines.add("Not compared: " + otherUnits + " measurements, which had another unit before");
        }
        if (usuallyNothing > 0) {
            lines.add("Not compared: " + usuallyNothing + " measurements, which usually were 0 before");
        }
        if (tooFewSamples > 0) {
            lines.add("Not compared: " + tooFewSamples + " percentiles, for which this run has too few samples");
        }
        if (otherConditions > 0) {
            lines.add("Not compared: measurements of all pairs in " + otherConditions
                    + (otherConditions == 1 ? " earlier run" : " earlier runs") + ", which had other settings ("
                    + PairConditions.NAMES + ")");
        }
        return lines;
    }

    /** Returns the text for people. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>(runs());
        if (!facts.isEmpty()) {
            lines.add("Environment");
            facts.forEach(fact -> lines.add("  %s: %s -> %s".formatted(fact.name(), fact.before(), fact.after())));
        }
        if (!turns.isEmpty()) {
            lines.add("Verdicts");
            turns.forEach(turn -> lines.add("  %-6s  %s  %s%s"
                    .formatted(
                            turn.change(),
                            text(turn),
                            turn.scenario(),
                            turn.reason().isEmpty() ? "" : ": " + turn.reason())));
        }
        if (!shifts.isEmpty()) {
            lines.add("Measurements");
            shifts.forEach(shift -> lines.add(
                    "  %-6s  %s: %s %s".formatted(shift.change(), shift.scenario(), shift.measurement(), text(shift))));
        }
        lines.addAll(notCompared());
        lines.add(summary());
        return lines;
    }

    /** Returns the same for machines. */
    public Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("schema", SCHEMA);
        json.put("before", before.stream().map(run -> run.file().toString()).toList());
        json.put("after", after.file().toString());
        json.put("tolerance", tolerance);
        json.put("comparedVerdicts", comparedVerdicts);
        json.put("comparedMeasurements", compared);
        json.put("worse", count(Change.WORSE));
        json.put("better", count(Change.BETTER));
        json.put("notEachTime", notEachTime);
        json.put("environment", facts());
        json.put("verdicts", turns());
        json.put("measurements", shifts());
        json.put("history", history());
        return json;
    }

    /** The values of changed measurements in earlier runs, and in this run last. */
    public record History(List<String> runs, List<Series> series) {}

    /** The values of a measurement of a scenario; null for a run that has none in the same unit. */
    public record Series(String scenario, String measurement, String unit, List<@Nullable Double> values) {}

    /** Returns the values of the changed measurements. */
    public History history() {
        List<Qualification> runs =
                Stream.concat(longBefore.stream(), Stream.of(after)).toList();
        List<Series> series = new ArrayList<>();
        for (Shift shift : shifts) {
            List<@Nullable Double> values = new ArrayList<>();
            for (Qualification run : runs) {
                List<Double> value = values(
                        measured(alike(List.of(run), shift.scenario()), shift.scenario(), shift.measurement()),
                        shift.unit());
                values.add(value.isEmpty() ? null : value.getFirst());
            }
            series.add(new Series(shift.scenario(), shift.measurement(), shift.unit(), values));
        }
        return new History(runs.stream().map(run -> run.file().toString()).toList(), series);
    }
}
