package io.rdmatest.bench;

import io.rdmatest.bench.Contest.Sample;
import io.rdmatest.report.nights.Spread;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The result of a row.
 *
 * @param row the row
 * @param pairs one run of each side after the other, in order; empty if it was not measured
 * @param parameters what both sides were given
 * @param notMeasured why it was not measured; null if it was
 */
record RowResult(
        BenchRow row,
        List<Pair> pairs,
        Map<String, Object> parameters,
        @Nullable String notMeasured) {

    private static final double UNDECIDED = 0.1;

    /** The verdict on a row. */
    enum Verdict {
        /** Its target is met, and most likely is the next time. */
        HOLDS,

        /** Its target is not met, and most likely isn't the next time. */
        MISSES,

        /** It is so near its target that the next time may show either; no finding about the speed. */
        UNDECIDED,

        /** There is no ratio, and a reason for that. */
        NOT_MEASURED;

        /** Returns the name in words, such as {@code not measured}. */
        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
    }

    /**
     * One run of each side.
     *
     * @param theirs the C program, which ran first
     * @param ours ours
     */
    record Pair(Sample theirs, Sample ours) {

        /** Returns ours divided by theirs. */
        double ratio() {
            return ours.value() / theirs.value();
        }
    }

    /** Copies the collections. */
    RowResult {
        pairs = List.copyOf(pairs);
        parameters = Collections.unmodifiableMap(new LinkedHashMap<>(parameters));
        if (pairs.isEmpty() && notMeasured == null) {
            throw new IllegalArgumentException("The row " + row.name() + " has no pair and no reason for it");
        }
    }

    /** Tells whether there is a ratio to judge. */
    boolean isMeasured() {
        return notMeasured == null;
    }

    /** Returns the distribution of the ratios pair by pair. */
    Spread ratios() {
        return Spread.of(pairs.stream().map(Pair::ratio).toList());
    }

    /** Returns what the ratios say about the target, if they say something. */
    Verdict verdict() {
        if (!isMeasured()) {
            return Verdict.NOT_MEASURED;
        }
        if (!isDecided(row.target(), pairs)) {
            return Verdict.UNDECIDED;
        }
        return row.target().holds(ratios().median()) ? Verdict.HOLDS : Verdict.MISSES;
    }

    /**
     * Tells whether the verdict would most likely be the same another time: whether so many of the ratios lie on one side of
     * the target as would in at most 1 of 10 rows whose ratio is at the target (two-sided sign test). That is 5 of 5, 7 of 8,
     * 9 of 11, 12 of 15.
     */
    static boolean isDecided(Target target, List<Pair> pairs) {
        int meeting =
                (int) pairs.stream().filter(pair -> target.holds(pair.ratio())).count();
        return isDecided(meeting, pairs.size());
    }

    /** Tells whether so many of a count say so much more often one thing than the other. */
    static boolean isDecided(int meeting, int count) {
        // The share of all sequences of so many coins that have as many heads or more, or as many tails or more.
        double share = 0;
        double ways = 1;
        for (int other = 0; other <= Math.min(meeting, count - meeting); other++) {
            share += ways * Math.pow(0.5, count - 1);
            ways = ways * (count - other) / (other + 1);
        }
        return share <= UNDECIDED;
    }

    private Spread ours() {
        return Spread.of(pairs.stream().map(pair -> pair.ours().value()).toList());
    }

    private Spread theirs() {
        return Spread.of(pairs.stream().map(pair -> pair.theirs().value()).toList());
    }

    /** Returns the heading of the columns of {@link #line}. */
    static String heading() {
        return String.format(
                Locale.ROOT,
                "%-18s %12s %12s %-8s %7s %-27s %-8s %s",
                "row",
                "ours",
                "theirs",
                "unit",
                "ratio",
                "min / quartiles / max",
                "target",
                "verdict");
    }

    /** Returns the row in one line: medians of both sides, median and spread of the ratio, target and verdict. */
    String line() {
        String reason = notMeasured;
        if (reason != null) {
            return String.format(
                    Locale.ROOT, "%-18s %-80s %-8s not measured: %s", row.name(), "", row.target(), reason);
        }
        Spread ratios = ratios();
        return String.format(
                Locale.ROOT,
                "%-18s %12.2f %12.2f %-8s %7.3f %-27s %-8s %s",
                row.name(),
                ours().median(),
                theirs().median(),
                row.unit(),
                ratios.median(),
                String.format(
                        Locale.ROOT,
                        "%.3f / %.3f %.3f / %.3f",
                        ratios.min(),
                        ratios.lowerQuartile(),
                        ratios.upperQuartile(),
                        ratios.max()),
                row.target(),
                verdict());
    }

    /** Returns the row for machines. */
    Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("name", row.name());
        json.put("ratio", isMeasured() ? ratios().median() : null);
        json.put("target", row.target().value());
        json.put("targetIs", row.target().bound() == Target.Bound.AT_MOST ? "at most" : "at least");
        json.put("verdict", verdict().toString());
        json.put("pairs", pairs.stream().map(RowResult::json).toList());
        json.put("what", row.what());
        json.put("programs", row.programs());
        json.put("unit", row.unit());
        json.put("parameters", parameters);
        if (isMeasured()) {
            json.put("spread", ratios());
            json.put("ours", ours());
            json.put("theirs", theirs());
        } else {
            json.put("notMeasured", notMeasured);
        }
        return json;
    }

    private static Map<String, Object> json(Pair pair) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("ratio", pair.ratio());
        json.put("theirs", pair.theirs().value());
        json.put("ours", pair.ours().value());
        json.put("theirDetails", pair.theirs().details());
        json.put("ourDetails", pair.ours().details());
        return json;
    }
}
