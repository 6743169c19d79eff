package io.rdmatest.scenarios.bench;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What came of a row.
 *
 * @param row the row
 * @param pairs one run of each side after the other, in order; empty if it was not measured
 * @param coldPairs those that were measured again, because the JVM's compilers were busy in ours; they are not judged
 * @param parameters what both sides were given
 * @param notMeasured why it was not measured; null if it was
 * @param jvms the JVMs that measured it one after the other, each a part of the pairs
 * @param lostJvms how many more died before they had measured anything
 */
public record RowResult(
        BenchRow row,
        List<Pair> pairs,
        List<Pair> coldPairs,
        Map<String, Object> parameters,
        @Nullable String notMeasured,
        List<Jvm> jvms,
        int lostJvms) {

    private static final double UNDECIDED = 0.1;
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final TypeReference<LinkedHashMap<String, Object>> DETAILS = new TypeReference<>() {};
    private static final TypeReference<List<Jvm>> JVMS = new TypeReference<>() {};

    /**
     * One run of each side.
     *
     * @param theirs the C program, which ran first
     * @param ours ours
     */
    public record Pair(Sample theirs, Sample ours) {

        /** Returns ours divided by theirs. */
        public double ratio() {
            return ours.value() / theirs.value();
        }
    }

    /**
     * A JVM that measured a part of the pairs.
     *
     * @param pairs how many
     * @param warmUpRounds how often ours ran before the first of them
     * @param warm whether ours had come to a steady speed by then
     */
    public record Jvm(int pairs, int warmUpRounds, boolean warm) {}

    /** Copies the collections. */
    public RowResult {
        pairs = List.copyOf(pairs);
        coldPairs = List.copyOf(coldPairs);
        jvms = List.copyOf(jvms);
        parameters = Collections.unmodifiableMap(new LinkedHashMap<>(parameters));
        if (pairs.isEmpty() && notMeasured == null) {
            throw new IllegalArgumentException("The row " + row.name() + " has no pair and no reason for it");
        }
    }

    /** Makes the result of a row that was not measured. */
    static RowResult notMeasured(BenchRow row, Map<String, Object> parameters, String reason) {
        return new RowResult(row, List.of(), List.of(), parameters, reason, List.of(), 0);
    }

    /**
     * Reads what another JVM measured.
     *
     * @param row the row
     * @param json the row as {@link #json} wrote it
     * @throws IllegalArgumentException if it is another row, or not written by that
     */
    static RowResult of(BenchRow row, JsonNode json) {
        if (!json.path("name").asText().equals(row.name())) {
            throw new IllegalArgumentException("The result is not of the row " + row.name() + ": " + json);
        }
        return new RowResult(
                row,
                pairs(json.path("pairs")),
                pairs(json.path("coldPairs")),
                details(json.path("parameters")),
                json.path("notMeasured").textValue(),
                json.path("jvms").isArray() ? MAPPER.convertValue(json.path("jvms"), JVMS) : List.of(),
                json.path("lostJvms").intValue());
    }

    private static List<Pair> pairs(JsonNode json) {
        List<Pair> pairs = new ArrayList<>();
        for (JsonNode pair : json) {
            pairs.add(new Pair(sample(pair, "theirs", "theirDetails"), sample(pair, "ours", "ourDetails")));
        }
        return pairs;
    }

    private static Sample sample(JsonNode pair, String value, String details) {
        double number = pair.path(value).doubleValue();
        if (!(number > 0)) {
            throw new IllegalArgumentException("a pair needs the number " + value + ", and has not: " + pair);
        }
        return new Sample(number, details(pair.path(details)));
    }

    private static Map<String, Object> details(JsonNode json) {
        return json.isObject() ? MAPPER.convertValue(json, DETAILS) : Map.of();
    }

    /**
     * Adds what was measured after this.
     *
     * @param next of the same row; if it was not measured, the whole row was not
     */
    RowResult and(RowResult next) {
        if (!isMeasured() || !next.isMeasured()) {
            return isMeasured() ? next.withLostJvms(lostJvms) : this;
        }
        return new RowResult(
                row,
                joined(pairs, next.pairs),
                joined(coldPairs, next.coldPairs),
                next.parameters,
                null,
                joined(jvms, next.jvms),
                lostJvms + next.lostJvms);
    }

    private static <T> List<T> joined(List<T> first, List<T> second) {
        return Stream.concat(first.stream(), second.stream()).toList();
    }

    /** Returns this with JVMs that died before. */
    RowResult withLostJvms(int lost) {
        return new RowResult(row, pairs, coldPairs, parameters, notMeasured, jvms, lostJvms + lost);
    }

    /** Tells whether ours had come to a steady speed before its first pair, in each JVM. */
    public boolean warm() {
        return jvms.stream().allMatch(Jvm::warm);
    }

    /** Returns how often ours ran in all warm-ups. */
    public int warmUpRounds() {
        return jvms.stream().mapToInt(Jvm::warmUpRounds).sum();
    }

    /** Tells whether there is a ratio to judge. */
    public boolean isMeasured() {
        return notMeasured == null;
    }

    /** Returns the distribution of the ratios pair by pair. */
    public Spread ratios() {
        return Spread.of(pairs.stream().map(Pair::ratio).toList());
    }

    /** Returns what the ratios say about the target, if they say something. */
    public Verdict verdict() {
        return Verdict.of(isMeasured(), isDecided(), holds());
    }

    /** Tells whether the row was measured and the median of its ratios meets the target, decided or not. */
    public boolean holds() {
        return isMeasured() && row.target().holds(ratios().median());
    }

    /**
     * Tells whether the verdict would most likely be the same another time: whether so many of the ratios lie on one side of
     * the target as would in at most 1 of 10 rows whose ratio is at the target (two-sided sign test). That is 5 of 5, 7 of 8,
     * 9 of 11, 12 of 15.
     */
    public boolean isDecided() {
        return isMeasured() && isDecided(row.target(), pairs);
    }

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
        json.put("holds", holds());
        json.put("decided", isDecided());
        json.put("verdict", verdict().toString());
        json.put("pairs", json(pairs));
        json.put("coldPairs", json(coldPairs));
        json.put("targetIs", row.target().bound() == Target.Bound.AT_MOST ? "at most" : "at least");
        json.put("what", row.what());
        json.put("programs", row.programs());
        json.put("unit", row.unit());
        json.put("parameters", parameters);
        if (isMeasured()) {
            json.put("spread", spread(ratios()));
            json.put("ours", spread(ours()));
            json.put("theirs", spread(theirs()));
            json.put("warmUpRounds", warmUpRounds());
            json.put("warm", warm());
        } else {
            json.put("notMeasured", notMeasured);
        }
        json.put("jvms", jvms);
        json.put("lostJvms", lostJvms);
        return json;
    }

    private static List<Map<String, Object>> json(List<Pair> pairs) {
        List<Map<String, Object>> each = new ArrayList<>();
        for (Pair pair : pairs) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("ratio", pair.ratio());
            one.put("theirs", pair.theirs().value());
            one.put("ours", pair.ours().value());
            one.put("theirDetails", pair.theirs().details());
            one.put("ourDetails", pair.ours().details());
            each.add(one);
        }
        return each;
    }

    private static Map<String, Object> spread(Spread spread) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("min", spread.min());
        json.put("lowerQuartile", spread.lowerQuartile());
        json.put("median", spread.median());
        json.put("upperQuartile", spread.upperQuartile());
        json.put("max", spread.max());
        return json;
    }
}
