package io.rdmatest.report.culprits;

import io.rdmatest.report.culprits.Candidate.Shape;
import io.rdmatest.report.culprits.Culprit.Confirmation;
import io.rdmatest.report.culprits.Culprit.Direction;
import io.rdmatest.report.culprits.Culprit.Evidence;
import io.rdmatest.report.culprits.PairLine.Outcome;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Judges a node or a port by the lines that measured it again. It is confirmed if, on each of its rails and in at least one of
 * its directions, it is as bad as before with each of {@value #PARTNERS} partners or more. If that is unknown for a rail, there
 * is no result.
 *
 * @param matrix the nodes by their numbers
 * @param node the node's number
 * @param rails its rails
 * @param direction which way it is bad
 */
record Retrial(PairMatrix matrix, int node, List<RailAnalysis> rails, Direction direction) {

    /** With one partner, a bad path between both would look the same. */
    private static final int PARTNERS = 2;

    /**
     * Judges.
     *
     * @param evidence the evidence for the cause
     * @param confirmations the lines that measured causes again
     * @return the evidence with the result; unchanged if there are too few lines about the cause
     */
    Evidence judge(Evidence evidence, List<PairLine> confirmations) {
        if (isPart()) {
            return with(evidence, Confirmation.PART, evidence.text());
        }
        Metric metric = metric(evidence);
        SortedSet<String> partners = new TreeSet<>();
        List<Double> values = new ArrayList<>();
        Map<String, Integer> failures = new TreeMap<>();
        boolean confirmed = true;
        for (RailAnalysis rail : rails) {
            boolean known = false;
            boolean isBad = false;
            for (Direction way : ways()) {
                // If a pair was measured again twice, the last line counts.
                Map<String, Boolean> byPartner = new TreeMap<>();
                for (PairLine line : confirmations) {
                    Boolean bad = isBad(line, rail, way);
                    if (bad == null) {
                        continue;
                    }
                    byPartner.put(way == Direction.OUT ? line.to() : line.from(), bad);
                    if (line.outcome() == Outcome.FAILED) {
                        failures.merge(String.valueOf(line.cause()), 1, Integer::sum);
                    } else if (metric != null) {
                        values.add(metric.of(line));
                    }
                }
                if (byPartner.size() >= PARTNERS) {
                    known = true;
                    isBad |= !byPartner.containsValue(false);
                    partners.addAll(byPartner.keySet());
                }
            }
            if (!known) {
                return evidence;
            }
            confirmed &= isBad;
        }
        return told(evidence, confirmed, partners, figures(metric, values, failures));
    }

    private List<Direction> ways() {
        return direction == Direction.BOTH ? List.of(Direction.OUT, Direction.IN) : List.of(direction);
    }

    private Candidate cause(RailAnalysis rail, Direction way) {
        return new Candidate(
                way == Direction.OUT ? Shape.ROW : Shape.COLUMN, rail.cells().port(node), 0);
    }

    /** Tells whether only a part of the cells is bad on a rail, in one of the directions. */
    private boolean isPart() {
        return rails.stream()
                .anyMatch(rail -> ways().stream().anyMatch(way -> rail.causes().isPart(cause(rail, way))));
    }

    /** Returns whether a line is as bad as the cause; null if the line is not about the cause, or is no evidence. */
    private @Nullable Boolean isBad(PairLine line, RailAnalysis rail, Direction way) {
        int from = matrix.node(line.from());
        int to = matrix.node(line.to());
        if (!line.rail().equals(rail.name()) || (way == Direction.OUT ? from : to) != node) {
            return null;
        }
        int sender = rail.cells().port(from);
        int receiver = rail.cells().port(to);
        return sender < 0 || receiver < 0 ? null : rail.isAsBad(cause(rail, way), sender, receiver, line);
    }

    private static @Nullable Metric metric(Evidence evidence) {
        for (Metric metric : Metric.values()) {
            if (metric.member.equals(evidence.metric())) {
                return metric;
            }
        }
        return null;
    }

    private static String figures(@Nullable Metric metric, List<Double> values, Map<String, Integer> failures) {
        List<String> figures = new ArrayList<>();
        double[] known = values.stream()
                .mapToDouble(Double::doubleValue)
                .filter(value -> !Double.isNaN(value))
                .toArray();
        if (metric != null && known.length > 0) {
            figures.add(Culprits.Explanation.text(metric, Quantiles.median(known))
                    + (metric == Metric.COUNTERS ? " errors" : ""));
        }
        failures.forEach((cause, times) -> figures.add(cause + " " + times));
        return figures.isEmpty() ? "" : ": " + String.join(", ", figures);
    }

    private static Evidence told(Evidence evidence, boolean confirmed, SortedSet<String> partners, String figures) {
        String names = String.join(", ", partners.headSet(partners.last())) + " and " + partners.last();
        return with(
                evidence,
                confirmed ? Confirmation.CONFIRMED : Confirmation.NOT_CONFIRMED,
                evidence.text() + (confirmed ? "; confirmed with " : "; not confirmed with ") + names + figures);
    }

    private static Evidence with(Evidence evidence, Confirmation confirmation, String text) {
        return new Evidence(
                evidence.bad(),
                evidence.of(),
                evidence.metric(),
                evidence.median(),
                evidence.others(),
                confirmation,
                evidence.secondOpinion(),
                text);
    }
}
