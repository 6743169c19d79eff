package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.cli.Qualification.Measurement;
import io.rdmatest.scenarios.cli.Qualification.Scenario;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What is other in one run than in an earlier one: the environment, verdicts, and measurements beyond a tolerance. */
final class QualificationComparison {

    /** What no scenario has: in one of the runs it is not there. */
    private static final String NOT_THERE = "not there";

    /** Says what the cells of that matrix were drawn from, which is another one in each run unless it is set. */
    private static final String DRAWN = "interoperability";

    private static final String CELLS = "Interoperability: ";

    /** Which way something went. */
    enum Change {
        WORSE,
        BETTER,
        /** Neither: a scenario that is new, for example, or one that fails in another way. */
        OTHER;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** A fact of the environment that is another one now. */
    record Fact(String name, String before, String after) {}

    /** A verdict that is another one now. */
    record Turn(Change change, String scenario, String before, String after, String reason) {}

    /** A measurement beyond the tolerance. */
    record Shift(Change change, String scenario, String measurement, String unit, double before, double after) {

        /** Returns how it is now, divided by how it was. */
        double ratio() {
            return after / before;
        }
    }

    private final Qualification before;
    private final Qualification after;
    private final double tolerance;
    private final List<Fact> facts = new ArrayList<>();
    private final List<Turn> turns = new ArrayList<>();
    private final List<Shift> shifts = new ArrayList<>();
    private int compared;
    private int drawnAnew;

    /**
     * Compares.
     *
     * @param tolerance by which share a measurement may be worse or better than before, from 0
     */
    QualificationComparison(Qualification before, Qualification after, double tolerance) {
        this.before = before;
        this.after = after;
        this.tolerance = tolerance;
        compareFacts();
        compareScenarios();
    }

    private void compareFacts() {
        TreeSet<String> names = new TreeSet<>(before.environment().keySet());
        names.addAll(after.environment().keySet());
        names.remove(DRAWN);
        for (String name : names) {
            String then = before.environment().getOrDefault(name, NOT_THERE);
            String now = after.environment().getOrDefault(name, NOT_THERE);
            if (!then.equals(now)) {
                facts.add(new Fact(name, then, now));
            }
        }
    }

    private void compareScenarios() {
        before.scenarios().forEach((name, then) -> {
            Scenario now = after.scenarios().get(name);
            turn(name, then, now);
            if (now != null) {
                then.measurements()
                        .forEach((measurement, value) -> shift(
                                name, measurement, value, now.measurements().get(measurement)));
            }
        });
        after.scenarios().forEach((name, now) -> {
            if (!before.scenarios().containsKey(name)) {
                turn(name, null, now);
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

    private void turn(String name, @Nullable Scenario then, @Nullable Scenario now) {
        String was = then == null ? NOT_THERE : then.verdict();
        String is = now == null ? NOT_THERE : now.verdict();
        if ((then == null || now == null) && name.startsWith(CELLS) && areDrawnAnew()) {
            drawnAnew++;
        } else if (!was.equals(is)) {
            turns.add(new Turn(change(was, is), name, was, is, now == null ? "" : now.reason()));
        }
    }

    private boolean areDrawnAnew() {
        return !Objects.equals(
                before.environment().get(DRAWN), after.environment().get(DRAWN));
    }

    private static boolean isBad(String verdict) {
        return verdict.equals("failed") || verdict.equals("broken");
    }

    /** What passed and does no more is worse, whatever it is now: it is not shown any more. */
    private static Change change(String was, String is) {
        boolean passes = is.equals("passed");
        if (isBad(was)) {
            return passes ? Change.BETTER : Change.OTHER;
        }
        if (was.equals("passed") || isBad(is)) {
            return Change.WORSE;
        }
        return passes && !was.equals(NOT_THERE) ? Change.BETTER : Change.OTHER;
    }

    /** Medians and rates: of single times, tails and extremes one run says nothing of the next. */
    private void shift(String scenario, String name, Measurement then, @Nullable Measurement now) {
        boolean rate = then.unit().endsWith("/s");
        if (!rate && !name.endsWith("p50")
                || now == null
                || !now.unit().equals(then.unit())
                || !(then.value() > 0)
                || !(now.value() > 0)) {
            return;
        }
        compared++;
        double cost = rate ? then.value() / now.value() : now.value() / then.value();
        Change change = cost > 1 + tolerance ? Change.WORSE : 1 / cost > 1 + tolerance ? Change.BETTER : Change.OTHER;
        if (change != Change.OTHER) {
            shifts.add(new Shift(change, scenario, name, then.unit(), then.value(), now.value()));
        }
    }

    /** Returns how many verdicts and measurements went a way. */
    long count(Change change) {
        return Stream.concat(turns.stream().map(Turn::change), shifts.stream().map(Shift::change))
                .filter(change::equals)
                .count();
    }

    List<Turn> turns() {
        return turns;
    }

    List<Shift> shifts() {
        return shifts;
    }

    List<Fact> facts() {
        return facts;
    }

    /** Returns all of it in one sentence. */
    String summary() {
        return String.format(
                Locale.ROOT,
                "%d worse, %d better (changed verdicts: %d; medians and rates beyond %s %%: %d of %d)",
                count(Change.WORSE),
                count(Change.BETTER),
                turns.size(),
                percent(),
                shifts.size(),
                compared);
    }

    private String percent() {
        double percent = tolerance * 100;
        return percent == Math.rint(percent) ? Long.toString((long) percent) : Double.toString(percent);
    }

    /** Returns the text for people. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add("before: " + before.file() + ", " + before.counts());
        lines.add("after:  " + after.file() + ", " + after.counts());
        if (!facts.isEmpty()) {
            lines.add("Environment");
            facts.forEach(fact -> lines.add("  %s: %s -> %s".formatted(fact.name(), fact.before(), fact.after())));
        }
        if (!turns.isEmpty()) {
            lines.add("Verdicts");
            turns.forEach(turn -> lines.add("  %-6s  %s -> %s  %s%s"
                    .formatted(
                            turn.change(),
                            turn.before(),
                            turn.after(),
                            turn.scenario(),
                            turn.reason().isEmpty() ? "" : ": " + turn.reason())));
        }
        if (!shifts.isEmpty()) {
            lines.add("Measurements");
            shifts.forEach(shift -> lines.add(String.format(
                    Locale.ROOT,
                    "  %-6s  %s: %s %s -> %s %s (%.2f times)",
                    shift.change(),
                    shift.scenario(),
                    shift.measurement(),
                    number(shift.before()),
                    number(shift.after()),
                    shift.unit(),
                    shift.ratio())));
        }
        if (drawnAnew > 0) {
            lines.add(drawnAnew
                    + " cells of the interoperability matrix are in one of the runs only: they were drawn anew"
                    + " (rdma.interop.seed)");
        }
        lines.add(summary());
        return lines;
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, value < 10 ? "%.3f" : "%.1f", value);
    }

    /** Returns the same for machines. */
    Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("before", before.file().toString());
        json.put("after", after.file().toString());
        json.put("tolerance", tolerance);
        json.put("worse", count(Change.WORSE));
        json.put("better", count(Change.BETTER));
        json.put(
                "environment",
                facts.stream()
                        .map(fact -> Map.of("name", fact.name(), "before", fact.before(), "after", fact.after()))
                        .toList());
        json.put(
                "verdicts",
                turns.stream()
                        .map(turn -> {
                            Map<String, Object> each = new LinkedHashMap<>();
                            each.put("change", turn.change().toString());
                            each.put("scenario", turn.scenario());
                            each.put("before", turn.before());
                            each.put("after", turn.after());
                            each.put("reason", turn.reason());
                            return each;
                        })
                        .toList());
        json.put(
                "measurements",
                shifts.stream()
                        .map(shift -> {
                            Map<String, Object> each = new LinkedHashMap<>();
                            each.put("change", shift.change().toString());
                            each.put("scenario", shift.scenario());
                            each.put("measurement", shift.measurement());
                            each.put("unit", shift.unit());
                            each.put("before", shift.before());
                            each.put("after", shift.after());
                            return each;
                        })
                        .toList());
        return json;
    }
}
