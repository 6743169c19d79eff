package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.scenarios.culprits.Culprit;
import io.rdmatest.scenarios.culprits.Culprit.Confirmation;
import io.rdmatest.scenarios.culprits.Culprit.Direction;
import io.rdmatest.scenarios.culprits.Culprit.Evidence;
import io.rdmatest.scenarios.pairs.Cell;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import io.rdmatest.scenarios.pairs.Pair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Which pairs are measured again for which cause. */
class ConfirmationsTests {

    private static final Evidence EVIDENCE =
            new Evidence(3, 3, "bandwidth", 41e9, 96e9, Confirmation.NONE, "3 of 3 pairs are bad");

    /** A rail on which each pair with one of some nodes is bad. */
    private record Fake(String name, List<String> names, Set<String> bad, List<String> measured)
            implements Confirmations.Rail {

        @Override
        public List<Cell> cells() {
            List<Cell> cells = new ArrayList<>();
            for (int server = 0; server < names.size(); server++) {
                for (int client = 0; client < names.size(); client++) {
                    if (server != client) {
                        boolean isBad = bad.contains(names.get(server)) || bad.contains(names.get(client));
                        cells.add(new Cell(
                                new Pair(server, client),
                                isBad ? Verdict.BAD : Verdict.GOOD,
                                null,
                                1,
                                null,
                                null,
                                null));
                    }
                }
            }
            return cells;
        }

        @Override
        public void measureAgain(String from, String to) {
            measured.add(name + " " + from + " " + to);
        }
    }

    private final List<String> measured = new ArrayList<>();
    private final Confirmations confirmations = new Confirmations();

    private Fake rail(String name, String names, String... bad) {
        return new Fake(name, List.of(names.split("")), Set.of(bad), measured);
    }

    private static Culprit.Port port(String node, String rail, Direction direction) {
        return new Culprit.Port(node, rail, direction, EVIDENCE);
    }

    private static long in(Duration time) {
        return System.nanoTime() + time.toNanos();
    }

    private void measure(List<Culprit> causes, Fake... rails) {
        confirmations.measure(causes, List.of(rails), in(Duration.ofMinutes(1)));
    }

    @Test
    void aPortIsMeasuredWithTwoGoodNodesInItsDirectionOnItsRail() {
        measure(List.of(port("a", "r0", Direction.OUT)), rail("r0", "abcd", "a"), rail("r1", "abcd"));
        assertThat(measured).containsExactly("r0 a b", "r0 a c");

        measured.clear();
        measure(List.of(port("b", "r0", Direction.IN)), rail("r0", "abcd", "b"));
        assertThat(measured).containsExactly("r0 a b", "r0 c b");

        measured.clear();
        measure(List.of(port("b", "r0", Direction.BOTH)), rail("r0", "abcd", "b"));
        assertThat(measured).containsExactly("r0 b a", "r0 a b", "r0 b c", "r0 c b");
    }

    @Test
    void aNodeIsMeasuredOnEachRailThatItHas() {
        measure(
                List.of(new Culprit.Node("a", Direction.OUT, EVIDENCE)),
                rail("r0", "abc", "a"),
                rail("r1", "bcd"),
                rail("r2", "acd", "a"));

        assertThat(measured).containsExactly("r0 a b", "r0 a c", "r2 a c", "r2 a d");
    }

    @Test
    void whoIsNamedOrBadWithOthersIsNoPartner() {
        measure(
                List.of(port("a", "r0", Direction.OUT), port("b", "r0", Direction.IN), port("c", "r1", Direction.IN)),
                rail("r0", "abcdf", "a", "b"));
        assertThat(measured).containsExactly("r0 a c", "r0 a d", "r0 c b", "r0 d b");

        measured.clear();
        // e is bad with all, and no cause says why.
        Culprit.Port cause = port("a", "r0", Direction.OUT);
        measure(List.of(cause), rail("r0", "abe", "a", "e"));
        assertThat(measured).isEmpty();
        assertThat(confirmations.hindrance(cause))
                .isEqualTo("; it could not be confirmed: fewer than 2 other nodes are good on r0");
    }

    @Test
    void whyACauseWasNotMeasuredAgainIsTold() {
        Culprit.Port late = port("a", "r0", Direction.OUT);
        confirmations.measure(List.of(late), List.of(rail("r0", "abcd", "a")), in(Duration.ofMillis(-1)));
        assertThat(measured).isEmpty();
        assertThat(confirmations.hindrance(late)).endsWith("the time limit of all pairs ended before");

        Culprit.Port lost = port("b", "r0", Direction.OUT);
        measure(List.of(lost), rail("r0", "abcd", "b"));
        assertThat(confirmations.hindrance(lost)).endsWith("it could not be measured again with two partners");
    }

    @Test
    void whatWasJudgedOrIsNotMeasuredAgainHasNoHindrance() {
        Evidence judged = new Evidence(3, 3, "bandwidth", 41e9, 96e9, Confirmation.CONFIRMED, "3 of 3 pairs are bad");
        Culprit.Block block = new Culprit.Block("leaf0", "leaf1", "r0", EVIDENCE);
        Culprit.Path path = new Culprit.Path("a", "b", "r0", EVIDENCE);

        measure(List.of(block, path), rail("r0", "abcd"));
        assertThat(measured).isEmpty();
        assertThat(confirmations.hindrance(block)).isEmpty();
        assertThat(confirmations.hindrance(path)).isEmpty();
        assertThat(confirmations.hindrance(new Culprit.Port("a", "r0", Direction.OUT, judged)))
                .isEmpty();
    }
}
