package io.rdmatest.scenarios;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.report.culprits.Culprit;
import io.rdmatest.report.culprits.Culprit.Confirmation;
import io.rdmatest.report.culprits.Culprit.Direction;
import io.rdmatest.report.culprits.Metric;
import io.rdmatest.scenarios.pairs.AllPairs;
import io.rdmatest.scenarios.pairs.Cell;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import io.rdmatest.scenarios.pairs.Pair;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Measures each suspected node or port again, against two good partners and in the bad directions only.
 * Blocks and paths are not measured again: their nodes are good with others. Neither is a cause of which only a part of the pairs
 * is bad: whether two partners show it again is chance.
 *
 * <p>Another program measures one bad pair of a node, a port or a path as well, and one good pair of the same rail. What it says, or
 * why it says nothing, becomes evidence and never a verdict.
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

        /**
         * Measures a pair with another program, and writes the result to the file of results.
         *
         * @param from the node that sends
         * @param to the node that receives
         * @return what came of it
         */
        Answer askOther(String from, String to);

        /** Returns whether rdmatest measures the bandwidth of pairs. */
        boolean measuresBandwidth();
    }

    /**
     * What came of asking another program.
     *
     * @param isMeasured whether it measured
     * @param missing why nothing was written: no program is there to be asked; null if it was asked
     */
    record Answer(boolean isMeasured, @Nullable String missing) {

        /** It measured. */
        static final Answer MEASURED = new Answer(true, null);

        /** It failed. */
        static final Answer FAILED = new Answer(false, null);
    }

    /** Failures that a program does not notice which compares no data. */
    private static final Set<Cause> OF_DATA = Set.of(Cause.WRONG_DATA, Cause.WRONG_DELIVERY);

    /** For so many causes another program is asked, which takes seconds each. */
    static final int MOST_ASKED = 10;

    private static final int PARTNERS = 2;

    /** Why causes were not measured again, by their names. */
    private final Map<String, String> hindrances = new HashMap<>();

    /** The good partners of each rail: of a thousand nodes, a million cells say which they are. */
    private final Map<String, List<String>> partners = new HashMap<>();

    /** The bad pairs of each rail, and why they are. */
    private final Map<String, Map<Pair, Cause>> badPairs = new HashMap<>();

    /** What another program says of the good pair of a rail. */
    private final Map<String, Answer> goodPairs = new HashMap<>();

    private final Set<String> missing = new LinkedHashSet<>();
    private int asked;
    private int notAsked;

    /**
     * Measures causes again.
     *
     * @param causes what explains the pairs
     * @param rails those that were measured
     * @param deadline until when measurements begin, on the scale of {@link System#nanoTime}
     * @return whether any pair was measured again
     */
    boolean measure(List<Culprit> causes, List<? extends Rail> rails, long deadline) {
        partners.clear();
        badPairs.clear();
        boolean any = false;
        List<Culprit> whole = causes.stream()
                .filter(cause -> cause.evidence().confirmation() != Confirmation.PART)
                .toList();
        for (Culprit cause : whole) {
            for (Rail rail : rails) {
                if (cause instanceof Culprit.Node bad && rail.names().contains(bad.node())) {
                    any |= measure(cause, rail, bad.node(), bad.direction(), causes, deadline);
                } else if (cause instanceof Culprit.Port bad && bad.rail().equals(rail.name())) {
                    any |= measure(cause, rail, bad.node(), bad.direction(), causes, deadline);
                }
            }
        }
        for (Culprit cause : whole) {
            any |= ask(cause, rails, causes, deadline);
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
            if (Deadline.isOver(deadline)) {
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

    /**
     * Asks another program about one bad pair of a cause, and about a good one beside it.
     *
     * @return whether a line was written
     */
    private boolean ask(Culprit cause, List<? extends Rail> rails, List<Culprit> causes, long deadline) {
        for (Rail rail : rails) {
            if (!isOn(cause, rail) || !Metric.isJudgedByAnother(cause.evidence().metric(), rail.measuresBandwidth())) {
                continue;
            }
            List<String> partners = goodPartners(rail, causes);
            if (partners.size() < PARTNERS) {
                missing.add("fewer than %d other nodes are good on %s".formatted(PARTNERS, rail.name()));
                continue;
            }
            Bad bad = badPair(cause, partners.getFirst());
            if (!mayBeAsked(cause, rail, bad)) {
                continue;
            }
            if (asked == MOST_ASKED) {
                notAsked++;
                return false;
            }
            if (Thread.currentThread().isInterrupted() || Deadline.isOver(deadline)) {
                return false;
            }
            Answer answer = rail.askOther(bad.from(), bad.to());
            if (answer.missing() != null) {
                missing.add(answer.missing());
                return false;
            }
            asked++;
            if (answer.isMeasured() && !Deadline.isOver(deadline)) {
                Answer good =
                        goodPairs.computeIfAbsent(rail.name(), name -> rail.askOther(partners.get(1), partners.get(0)));
                if (good.missing() != null) {
                    missing.add(good.missing());
                }
            }
            return true;
        }
        return false;
    }

    private record Bad(String from, String to) {}

    /** Tells whether a cause has pairs on a rail of which it is known that they are bad. */
    private static boolean isOn(Culprit cause, Rail rail) {
        return switch (cause) {
            case Culprit.Node node -> rail.names().contains(node.node());
            case Culprit.Port port -> port.rail().equals(rail.name());
            case Culprit.Path path -> path.rail().equals(rail.name());
            case Culprit.Block block -> false;
        };
    }

    private static Bad badPair(Culprit cause, String partner) {
        return switch (cause) {
            case Culprit.Node node -> badPair(node.node(), node.direction(), partner);
            case Culprit.Port port -> badPair(port.node(), port.direction(), partner);
            case Culprit.Path path -> new Bad(path.from(), path.to());
            case Culprit.Block block -> throw new IllegalArgumentException(block.name() + " has no pair of its own");
        };
    }

    private static Bad badPair(String node, Direction direction, String partner) {
        return direction == Direction.IN ? new Bad(partner, node) : new Bad(node, partner);
    }

    /**
     * Tells whether another program can say something about a pair, and whether that may be asked: what it loses on its way increases
     * the counters that the run is judged by. A path alone fails no run, but its pair does if it is bad.
     */
    private boolean mayBeAsked(Culprit cause, Rail rail, Bad bad) {
        Map<Pair, Cause> ofRail = badPairs.computeIfAbsent(rail.name(), name -> findBadPairs(rail));
        Cause why =
                ofRail.get(new Pair(rail.names().indexOf(bad.to()), rail.names().indexOf(bad.from())));
        return why == null ? !(cause instanceof Culprit.Path) : !OF_DATA.contains(why);
    }

    private static Map<Pair, Cause> findBadPairs(Rail rail) {
        Map<Pair, Cause> bad = new HashMap<>();
        for (Cell cell : rail.cells()) {
            Cause why = cell.cause();
            if (cell.verdict() == Verdict.BAD && why != null) {
                bad.put(cell.pair(), why);
            }
        }
        return bad;
    }

    /**
     * Returns why another program was not asked, as sentences without their end. Nothing is wrong then.
     *
     * @return empty if it was asked about each cause that it can tell something of
     */
    List<String> notes() {
        List<String> notes = new ArrayList<>();
        missing.forEach(why -> notes.add("no second opinion: " + why));
        if (notAsked > 0) {
            notes.add("no second opinion on %d more causes: it takes too long for more than %d"
                    .formatted(notAsked, MOST_ASKED));
        }
        return notes;
    }

    /** Returns the nodes that no cause names, and that are good with each other node that none names. */
    private List<String> goodPartners(Rail rail, List<Culprit> causes) {
        return partners.computeIfAbsent(rail.name(), name -> findPartners(rail, causes));
    }

    private static List<String> findPartners(Rail rail, List<Culprit> causes) {
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
