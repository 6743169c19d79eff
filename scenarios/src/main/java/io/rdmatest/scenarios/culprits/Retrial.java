package io.rdmatest.scenarios.culprits;

import io.rdmatest.scenarios.culprits.Culprit.Confirmation;
import io.rdmatest.scenarios.culprits.Culprit.Direction;
import io.rdmatest.scenarios.culprits.Culprit.Evidence;
import io.rdmatest.scenarios.culprits.PairLine.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Judges a node or a port by the lines with which it was measured again. It is confirmed if it is as bad as before with each of
 * {@value #PARTNERS} partners or more, in one of its directions on each of its rails that was measured again.
 *
 * @param node the node
 * @param rails its rails
 * @param direction which way it is bad
 */
record Retrial(String node, List<String> rails, Direction direction) {

    /** With one partner, a bad path between both would look the same. */
    private static final int PARTNERS = 2;

    /**
     * Judges.
     *
     * @param evidence what speaks for the cause
     * @param confirmations lines with which causes were measured again
     * @return the same with what came of it; as it was if there are too few lines about the cause
     */
    Evidence judge(Evidence evidence, List<PairLine> confirmations) {
        Metric metric = metric(evidence);
        SortedSet<String> partners = new TreeSet<>();
        List<Double> values = new ArrayList<>();
        Map<String, Integer> failures = new TreeMap<>();
        boolean judged = false;
        boolean confirmed = true;
        for (String rail : rails) {
            boolean known = false;
            boolean isBad = false;
            for (Direction way : ways()) {
                // Of a pair that was measured again twice, the last one counts.
                Map<String, Boolean> byPartner = new TreeMap<>();
                for (PairLine line : confirmations) {
                    String mine = way == Direction.OUT ? line.from() : line.to();
                    Boolean bad = line.rail().equals(rail) && mine.equals(node) ? isBad(line, metric, evidence) : null;
                    if (bad == null) {
                        continue;
                    }
                    byPartner.put(way == Direction.OUT ? line.to() : line.from(), bad);
                    if (line.outcome() == Outcome.FAILED) {
                        failures.merge(String.valueOf(line.cause()), 1, Integer::sum);
                    } else if (metric != null) {
                        values.add(value(line, metric));
                    }
                }
                if (byPartner.size() >= PARTNERS) {
                    known = true;
                    isBad |= !byPartner.containsValue(false);
                    partners.addAll(byPartner.keySet());
                }
            }
            judged |= known;
            confirmed &= !known || isBad;
        }
        return judged ? told(evidence, confirmed, partners, figures(metric, values, failures)) : evidence;
    }

    private List<Direction> ways() {
        return direction == Direction.BOTH ? List.of(Direction.OUT, Direction.IN) : List.of(direction);
    }

    private static @Nullable Metric metric(Evidence evidence) {
        for (Metric metric : Metric.values()) {
            if (metric.member.equals(evidence.metric())) {
                return metric;
            }
        }
        return null;
    }

    /** Tells whether a line is nearer to what the cause showed than to the others; null if it says nothing. */
    private static @Nullable Boolean isBad(PairLine line, @Nullable Metric metric, Evidence evidence) {
        String cause = line.cause();
        if (line.outcome() == Outcome.NOT_MEASURED
                || (line.outcome() == Outcome.FAILED && cause != null && PairMatrix.isHostsFault(cause))) {
            return null;
        }
        if (line.outcome() == Outcome.FAILED) {
            return true;
        }
        if (metric == null) {
            return false;
        }
        double value = logarithm(value(line, metric), metric);
        double median = logarithm(evidence.median(), metric);
        double others = logarithm(evidence.others(), metric);
        if (Double.isNaN(value) || Double.isNaN(median) || Double.isNaN(others)) {
            return null;
        }
        return Math.abs(value - median) < Math.abs(value - others);
    }

    private static double value(PairLine line, Metric metric) {
        return switch (metric) {
            case BANDWIDTH -> line.bandwidth();
            case MESSAGE_RATE -> line.messageRate();
            case LATENCY_P50 -> line.latencyP50();
            case LATENCY_P99 -> line.latencyP99();
            case COUNTERS -> PairMatrix.errorsOf(line);
        };
    }

    /** None counted is a value as well. */
    private static double logarithm(double value, Metric metric) {
        return metric == Metric.COUNTERS ? Math.log1p(value) : Math.log(Math.max(value, Double.MIN_NORMAL));
    }

    private static String figures(@Nullable Metric metric, List<Double> values, Map<String, Integer> failures) {
        List<String> figures = new ArrayList<>();
        double[] known = values.stream()
                .mapToDouble(Double::doubleValue)
                .filter(value -> !Double.isNaN(value))
                .toArray();
        if (metric != null && known.length > 0) {
            figures.add(Culprits.Explanation.text(metric, Quantiles.median(known, known.length))
                    + (metric == Metric.COUNTERS ? " errors" : ""));
        }
        failures.forEach((cause, times) -> figures.add(cause + " " + times));
        return figures.isEmpty() ? "" : ": " + String.join(", ", figures);
    }

    private static Evidence told(Evidence evidence, boolean confirmed, SortedSet<String> partners, String figures) {
        String names = String.join(", ", partners.headSet(partners.last())) + " and " + partners.last();
        return new Evidence(
                evidence.bad(),
                evidence.of(),
                evidence.metric(),
                evidence.median(),
                evidence.others(),
                confirmed ? Confirmation.CONFIRMED : Confirmation.NOT_CONFIRMED,
                evidence.text() + (confirmed ? "; confirmed with " : "; not confirmed with ") + names + figures);
    }
}
