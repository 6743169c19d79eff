package io.rdmatest.scenarios;

import io.rdmatest.scenarios.culprits.Culprit;
import io.rdmatest.scenarios.culprits.Culprit.Confirmation;
import io.rdmatest.scenarios.culprits.Culprit.Direction;
import io.rdmatest.scenarios.pairs.AllPairs;
import io.rdmatest.scenarios.pairs.Cell;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Measures nodes and ports again that explain bad pairs, each with two partners that are good, in the directions that are bad.
 * Blocks and paths are not measured again: their nodes are good with others. Neither is a cause of which only a part of the pairs
 * is bad: whether two partners show it again is chance.
 */
final class Confirmations {

    /** A rail whose pairs were measured. */
    interface Rail {

        /** Returns its name in the file of results. */
        String name();

        /** Returns its nodes, by the numbers that cells have. */
        List<String> names();

        /** Returns the results of its pairs. */
        List<Cell> cells();

        /**
         * Measures a pair again, and writes the result to the file of results.
         *
         * @param from the node that sends
         * @param to the node that receives
         */
        void measureAgain(String from, String to);
    }

    private static final int PARTNERS = 2;

    /** Why causes were not measured again, by their names. */
    private final Map<String, String> hindrances = new HashMap<>();

    /**
     * Measures causes again.
     *
     * @param causes what explains the pairs
     * @param rails those that were measured
     * @param deadline until when measurements begin, on the scale of {@link System#nanoTime}
     * @return whether any pair was measured again
     */
    boolean measure(List<Culprit> causes, List<? extends Rail> rails, long deadline) {
        boolean any = false;
        for (Culprit cause : causes) {
            if (cause.evidence().confirmation() == Confirmation.PART) {
                continue;
            }
            for (Rail rail : rails) {
                if (cause instanceof Culprit.Node bad && rail.names().contains(bad.node())) {
                    any |= measure(cause, rail, bad.node(), bad.direction(), causes, deadline);
                } else if (cause instanceof Culprit.Port bad && bad.rail().equals(rail.name())) {
                    any |= measure(cause, rail, bad.node(), bad.direction(), causes, deadline);
                }
            }
        }
        return any;
    }

    private boolean measure(
            Culprit cause, Rail rail, String node, Direction direction, List<Culprit> causes, long deadline) {
        List<String> partners = goodPartners(rail, causes);
        if (partners.size() < PARTNERS) {
            hindrances.put(cause.name(), "fewer than %d other nodes are good on %s".formatted(PARTNERS, rail.name()));
            return false;
        }
        boolean any = false;
        for (String partner : partners.subList(0, PARTNERS)) {
            if (Thread.currentThread().isInterrupted()) {
                hindrances.put(cause.name(), "the run was interrupted before");
                return any;
            }
            if (System.nanoTime() - deadline >= 0) {
                hindrances.put(cause.name(), "the time limit of all pairs ended before");
                return any;
            }
            any = true;
            if (direction != Direction.IN) {
                rail.measureAgain(node, partner);
            }
            if (direction != Direction.OUT) {
                rail.measureAgain(partner, node);
            }
        }
        return any;
    }

    /** Returns the nodes that no cause names, and that are good with each other node that none names. */
    private static List<String> goodPartners(Rail rail, List<Culprit> causes) {
        Set<Integer> named = new HashSet<>();
        for (Culprit cause : causes) {
            if (cause instanceof Culprit.Node bad) {
                named.add(rail.names().indexOf(bad.node()));
            } else if (cause instanceof Culprit.Port bad && bad.rail().equals(rail.name())) {
                named.add(rail.names().indexOf(bad.node()));
            }
        }
        return AllPairs.goodPartners(rail.cells(), named).stream()
                .map(rail.names()::get)
                .toList();
    }

    /**
     * Returns why a cause was not confirmed, nor found good.
     *
     * @param cause as it is explained after it was measured again
     * @return a clause that goes on behind its evidence; empty if it was judged, or is one that is not measured again
     */
    String hindrance(Culprit cause) {
        boolean isAsked = cause instanceof Culprit.Node || cause instanceof Culprit.Port;
        if (isAsked && cause.evidence().confirmation() == Confirmation.PART) {
            return "; it was not measured again: only a part of its pairs is bad";
        }
        if (!isAsked || cause.evidence().confirmation() != Confirmation.NONE) {
            return "";
        }
        return "; it could not be confirmed: "
                + hindrances.getOrDefault(cause.name(), "it could not be measured again with two partners");
    }
}
