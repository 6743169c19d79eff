package io.rdmatest.scenarios.qualification;

import com.fasterxml.jackson.annotation.JsonValue;
import io.rdmatest.scenarios.bench.Spread;
import io.rdmatest.scenarios.qualification.Qualification.Measurement;
import io.rdmatest.scenarios.qualification.Qualification.Scenario;
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
 * What is other in one run than in earlier ones: the environment and verdicts than in the latest of these, and measurements that
 * are beyond a tolerance of their median and beyond all that they were.
 *
 * <p>Of one earlier run, that is by how much a measurement changed. Of several, it is also how much it changes anyway: what was
 * as bad before is not worse now, on a host on which one run says little of the next. For the same reason a run can be made again:
 * what it measures is worse only if it is so each time.
 */
public final class QualificationComparison {

    /** What no scenario has: in one of the runs it is not there. */
    private static final String NOT_THERE = "not there";

    private static final String PASSED = "passed";

    private static final int MOST_TOLERANCE = 1000;

    /** Says what the cells of that matrix were drawn from, which is another one in each run unless it is set. */
    private static final String DRAWN = "interoperability";

    private static final String CELLS = "Interoperability: ";

    /** Which way something went. */
    public enum Change {
        /** What passed does not any more, what did not fail does now, or a measurement costs more. */
        WORSE,
        /** What failed or was skipped passes, or a measurement costs less. */
        BETTER,
        /** Neither: a scenario that is new, for example, or one that fails in another way. */
        OTHER;

        @Override
        @JsonValue
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * A fact of the environment that is another one now.
     *
     * @param name such as {@code kernel}
     * @param before what it was
     * @param after what it is now
     */
    public record Fact(String name, String before, String after) {}

    /**
     * A verdict that is another one now.
     *
     * @param change which way it went
     * @param scenario whose it is
     * @param before the verdict of the latest earlier run
     * @param after the verdict now
     * @param reason why it did not pass; empty if it did
     * @param passedBefore in how many of the earlier runs it passed
     * @param again whether that is its verdict when it was run again, and not the first one
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
     * A measurement beyond the tolerance.
     *
     * @param change which way it went
     * @param scenario whose it is
     * @param measurement its name
     * @param unit of all values
     * @param before the median of the earlier runs
     * @param lowest the lowest of them
     * @param highest the highest of them
     * @param after the value now
     * @param again the values when it was run again
     */
    public record Shift(
            Change change,
            String scenario,
            String measurement,
            String unit,
            double before,
            double lowest,
            double highest,
            double after,
            List<Double> again) {

        /** Copies the list. */
        public Shift {
            again = List.copyOf(again);
        }

        /** Returns how it is now, divided by how it was. */
        double ratio() {
            return after / before;
        }
    }

    private final List<Qualification> before;
    private final Qualification latest;
    private final Qualification after;
    private final List<Qualification> again;
    private final double tolerance;
    private final List<Fact> facts = new ArrayList<>();
    private final List<Turn> turns = new ArrayList<>();
    private final List<Shift> shifts = new ArrayList<>();
    private int compared;
    private int notEachTime;
    private int drawnAnew;

    /**
     * Compares.
     *
     * @param before the earlier runs, at least one, the latest last
     * @param after the run that is judged
     * @param tolerance by which share a measurement may be worse or better than before, see {@link #tolerance}
     */
    public QualificationComparison(List<Qualification> before, Qualification after, double tolerance) {
        this(before, after, List.of(), tolerance);
    }

    /**
     * Compares a run that was made again.
     *
     * @param before the earlier runs, at least one, the latest last
     * @param after the run that is judged
     * @param again what came of the same scenarios then, each time
     * @param tolerance by which share a measurement may be worse or better than before, see {@link #tolerance}
     */
    public QualificationComparison(
            List<Qualification> before, Qualification after, List<Qualification> again, double tolerance) {
        this.before = List.copyOf(before);
        this.latest = before.getLast();
        this.after = after;
        this.again = List.copyOf(again);
        this.tolerance = tolerance;
        compareFacts();
        compareScenarios();
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
                .forEach((name, then) -> turn(name, then, after.scenarios().get(name)));
        after.scenarios().forEach((name, now) -> {
            if (!latest.scenarios().containsKey(name)) {
                turn(name, null, now);
            }
            if (!isBad(now.verdict())) {
                failedAgain(name);
            }
            now.measurements().forEach((measurement, value) -> shift(name, measurement, value));
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

    private int passedBefore(String scenario) {
        return (int) in(before, scenario)
                .filter(each -> each.verdict().equals(PASSED))
                .count();
    }

    /** What passes once and fails the next time is no less a finding than what fails at once. */
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

    private void turn(String name, @Nullable Scenario then, @Nullable Scenario now) {
        String was = verdict(then);
        String is = verdict(now);
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

    /** What passed and does no more is worse, whatever it is now: it is not shown any more. */
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

    /** Medians and rates: of single times, tails and extremes one run says nothing of the next. */
    private void shift(String scenario, String name, Measurement now) {
        boolean rate = now.unit().endsWith("/s");
        if (!rate && !name.endsWith("p50") || !(now.value() > 0)) {
            return;
        }
        List<Double> values = values(before, scenario, name, now.unit());
        if (values.isEmpty()) {
            return;
        }
        compared++;
        Spread then = Spread.of(values);
        Change change = change(then, now.value(), rate);
        List<Double> repeated = change == Change.WORSE ? values(again, scenario, name, now.unit()) : List.of();
        if (repeated.stream().anyMatch(value -> change(then, value, rate) != Change.WORSE)) {
            notEachTime++;
        } else if (change != Change.OTHER) {
            shifts.add(new Shift(
                    change, scenario, name, now.unit(), then.median(), then.min(), then.max(), now.value(), repeated));
        }
    }

    private static List<Double> values(List<Qualification> runs, String scenario, String name, String unit) {
        return in(runs, scenario)
                .map(each -> each.measurements().get(name))
                .filter(Objects::nonNull)
                .filter(each -> each.unit().equals(unit) && each.value() > 0)
                .map(Measurement::value)
                .toList();
    }

    private Change change(Spread then, double now, boolean rate) {
        double cost = rate ? then.median() / now : now / then.median();
        boolean below = now < then.min();
        boolean above = now > then.max();
        if (cost > 1 + tolerance && (rate ? below : above)) {
            return Change.WORSE;
        }
        return 1 / cost > 1 + tolerance && (rate ? above : below) ? Change.BETTER : Change.OTHER;
    }

    /** Returns how many verdicts and measurements went a way. */
    public long count(Change change) {
        return Stream.concat(turns.stream().map(Turn::change), shifts.stream().map(Shift::change))
                .filter(change::equals)
                .count();
    }

    /** Returns the verdicts that changed, what is worse first. */
    public List<Turn> turns() {
        return List.copyOf(turns);
    }

    /** Returns the measurements that changed, what is worse first, and of these what changed most. */
    public List<Shift> shifts() {
        return List.copyOf(shifts);
    }

    /** Returns what is other in the environment, by name. */
    public List<Fact> facts() {
        return List.copyOf(facts);
    }

    /** Returns all of it in one sentence. */
    public String summary() {
        return String.format(
                Locale.ROOT,
                "%d worse, %d better (changed verdicts: %d; medians and rates beyond %s %%: %d of %d%s)",
                count(Change.WORSE),
                count(Change.BETTER),
                turns.size(),
                percent(),
                shifts.size(),
                compared,
                notEachTime == 0 ? "" : "; worse, but not each time: " + notEachTime);
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
        return String.format(
                Locale.ROOT,
                "%s%s -> %s %s (%.2f times)%s",
                number(shift.before()),
                before.size() == 1 ? "" : " (" + number(shift.lowest()) + " to " + number(shift.highest()) + ")",
                number(shift.after()),
                shift.unit(),
                shift.ratio(),
                shift.again().isEmpty()
                        ? ""
                        : shift.again().stream()
                                .map(QualificationComparison::number)
                                .collect(Collectors.joining(", ", ", again ", "")));
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, value < 0.1 ? "%.5f" : value < 10 ? "%.3f" : "%.1f", value);
    }

    /** Returns which cells were not compared; empty if all were. */
    public String notCompared() {
        return drawnAnew == 0
                ? ""
                : drawnAnew + " cells of the interoperability matrix are in one of the runs only: they were drawn anew"
                        + " (rdma.interop.seed)";
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
        if (drawnAnew > 0) {
            lines.add(notCompared());
        }
        lines.add(summary());
        return lines;
    }

    /** Returns the same for machines. */
    public Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("before", before.stream().map(run -> run.file().toString()).toList());
        json.put("after", after.file().toString());
        json.put("tolerance", tolerance);
        json.put("worse", count(Change.WORSE));
        json.put("better", count(Change.BETTER));
        json.put("notEachTime", notEachTime);
        json.put("environment", facts());
        json.put("verdicts", turns());
        json.put("measurements", shifts());
        return json;
    }
}
