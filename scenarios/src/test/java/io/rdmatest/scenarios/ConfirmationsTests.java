package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Cause;
import io.rdmatest.junit.FabricError;
import io.rdmatest.report.culprits.Culprit;
import io.rdmatest.report.culprits.Culprit.Confirmation;
import io.rdmatest.report.culprits.Culprit.Direction;
import io.rdmatest.report.culprits.Culprit.Evidence;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsFile;
import io.rdmatest.scenarios.Confirmations.Answer;
import io.rdmatest.scenarios.pairs.Cell;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import io.rdmatest.scenarios.pairs.Pair;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which pairs are measured again for which cause. */
class ConfirmationsTests {

    private static final Evidence EVIDENCE =
            new Evidence(3, 3, "bandwidth", 41e9, 96e9, Confirmation.NONE, "3 of 3 pairs are bad");

    /** A rail on which each pair with one of some nodes is bad. */
    private record Fake(
            String name,
            List<String> names,
            Set<String> bad,
            List<String> measured,
            List<String> asked,
            Cause cause,
            BiFunction<String, String, Answer> other)
            implements Confirmations.Rail {

        @Override
        public Answer askOther(String from, String to) {
            asked.add(name + " " + from + " " + to);
            return other.apply(from, to);
        }

        @Override
        public boolean measuresBandwidth() {
            return true;
        }

        @Override
        public List<Cell> cells() {
            List<Cell> cells = new ArrayList<>();
            for (int server = 0; server < names.size(); server++) {
                for (int client = 0; client < names.size(); client++) {
                    if (server != client) {
                        boolean isBad = bad.contains(names.get(server))
                                || bad.contains(names.get(client))
                                || bad.contains(names.get(client) + names.get(server));
                        cells.add(new Cell(
                                new Pair(server, client),
                                isBad ? Verdict.BAD : Verdict.GOOD,
                                null,
                                1,
                                isBad ? cause : null,
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
    private final List<String> asked = new ArrayList<>();
    private BiFunction<String, String, Answer> other = (from, to) -> Answer.MEASURED;
    private Cause failure = Cause.OUTLIER;
    private final Confirmations confirmations = new Confirmations();

    private Fake rail(String name, String names, String... bad) {
        return new Fake(
                name,
                List.of(names.split("")),
                Set.of(bad),
                measured,
                asked,
                failure,
                (from, to) -> other.apply(from, to));
    }

    private static Culprit.Port port(String node, String rail, Direction direction) {
        return new Culprit.Port(node, rail, direction, EVIDENCE);
    }

    private static long in(Duration time) {
        return System.nanoTime() + time.toNanos();
    }

    private void measure(List<Culprit> causes, Fake... rails) {
        measured.clear();
        asked.clear();
        assertThat(confirmations.measure(causes, List.of(rails), in(Duration.ofMinutes(1))))
                .isEqualTo(!measured.isEmpty() || !asked.isEmpty());
    }

    @Test
    void aPortIsMeasuredWithTwoGoodNodesInItsDirectionOnItsRail() {
        measure(List.of(port("a", "r0", Direction.OUT)), rail("r0", "abcd", "a"), rail("r1", "abcd"));
        assertThat(measured).containsExactly("r0 a b", "r0 a c");

        measure(List.of(port("b", "r0", Direction.IN)), rail("r0", "abcd", "b"));
        assertThat(measured).containsExactly("r0 a b", "r0 c b");

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
        assertThat(confirmations.measure(List.of(late), List.of(rail("r0", "abcd", "a")), in(Duration.ofMillis(-1))))
                .isFalse();
        assertThat(measured).isEmpty();
        assertThat(confirmations.hindrance(late)).endsWith("the time limit of all pairs ended before");

        Culprit.Port lost = port("b", "r0", Direction.OUT);
        measure(List.of(lost), rail("r0", "abcd", "b"));
        assertThat(confirmations.hindrance(lost)).endsWith("it could not be measured again with two partners");
    }

    /** Whether two good partners show it again is chance. */
    @Test
    void aCauseOfWhichAPartIsBadIsNotMeasuredAgain() {
        Evidence part = new Evidence(3, 9, "bandwidth", 41e9, 96e9, Confirmation.PART, "3 of 9 pairs are bad");
        Culprit.Port cause = new Culprit.Port("a", "r0", Direction.OUT, part);

        measure(List.of(cause), rail("r0", "abcd", "a"));
        assertThat(measured).isEmpty();
        assertThat(confirmations.hindrance(cause))
                .isEqualTo("; it was not measured again: only a part of its pairs is bad");
    }

    /** What the matrix shows is real, though it does not show without the load of the other pairs. */
    @Test
    void aCauseThatIsNotConfirmedFailsTheRun(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("pairs.jsonl");
        PairScenarios.Findings findings = new PairScenarios.Findings();
        try (PairsFile writer = PairsFile.begin(file)) {
            for (String from : List.of("a", "b", "c", "d", "e", "f")) {
                for (String to : List.of("a", "b", "c", "d", "e", "f")) {
                    if (!from.equals(to)) {
                        writer.write(line(from, to, from.equals("c") ? 41e9 : 96e9, false));
                    }
                }
            }
            writer.write(line("c", "a", 96e9, true));
            writer.write(line("c", "b", 96e9, true));
            findings.explain(writer);
        }
        assertThatThrownBy(findings::judge)
                .isInstanceOf(FabricError.class)
                .hasMessageContaining("1 culprit: port c on r0, sending: 5 of 5 pairs from c on r0 are bad")
                .hasMessageContaining("; not confirmed with a and b: 96 Gb/s");
    }

    private static PairLine line(String from, String to, double bandwidth, boolean confirmation) {
        double none = Double.NaN;
        return new PairLine(
                "r0",
                from,
                to,
                null,
                null,
                1,
                PairLine.Outcome.MEASURED,
                null,
                100e9,
                bandwidth,
                none,
                none,
                none,
                0,
                0,
                1,
                confirmation,
                null,
                null,
                PairLine.Counters.NONE);
    }

    @Test
    void whatWasJudgedOrIsNotMeasuredAgainHasNoHindrance() {
        Evidence judged = new Evidence(3, 3, "bandwidth", 41e9, 96e9, Confirmation.CONFIRMED, "3 of 3 pairs are bad");
        Culprit.Block block = new Culprit.Block("leaf0", "leaf1", "r0", EVIDENCE);
        Culprit.Path path = new Culprit.Path("a", "b", "r0", EVIDENCE);

        measure(List.of(block), rail("r0", "abcd"));
        assertThat(asked).isEmpty();
        measure(List.of(block, path), rail("r0", "abcd"));
        assertThat(measured).isEmpty();
        assertThat(confirmations.hindrance(block)).isEmpty();
        assertThat(confirmations.hindrance(path)).isEmpty();
        assertThat(confirmations.hindrance(new Culprit.Port("a", "r0", Direction.OUT, judged)))
                .isEmpty();
    }

    // ---- another program ----

    private static Evidence shownBy(String metric) {
        return new Evidence(3, 3, metric, 41e9, 96e9, Confirmation.NONE, "3 of 3 pairs are bad");
    }

    @Test
    void anotherProgramMeasuresABadPairAndAGoodOneBesideIt() {
        measure(List.of(port("a", "r0", Direction.OUT)), rail("r0", "abcd", "a"), rail("r1", "abcd"));
        assertThat(asked).containsExactly("r0 a b", "r0 c b");
        assertThat(confirmations.notes()).isEmpty();

        // The good pair of a rail is measured once.
        measure(List.of(port("b", "r0", Direction.IN)), rail("r0", "abcd", "b"));
        assertThat(asked).containsExactly("r0 a b");

        measure(List.of(port("b", "r1", Direction.BOTH)), rail("r1", "abcd", "b"));
        assertThat(asked).containsExactly("r1 b a", "r1 c a");

        measure(
                List.of(new Culprit.Node("a", Direction.OUT, EVIDENCE)),
                rail("r2", "abc", "a"),
                rail("r3", "bcd"),
                rail("r4", "acd", "a"));
        assertThat(asked).containsExactly("r2 a b", "r2 c b");

        measure(List.of(new Culprit.Path("a", "d", "r5", EVIDENCE)), rail("r5", "abcd", "ad"));
        assertThat(asked.getFirst()).isEqualTo("r5 a d");
        assertThat(asked).hasSize(2);
    }

    /** A path alone fails no run, and the traffic of another program must not either. */
    @Test
    void aPathWhosePairIsNotBadIsNotAskedAbout() {
        measure(List.of(new Culprit.Path("a", "d", "r0", EVIDENCE)), rail("r0", "abcd"));

        assertThat(asked).isEmpty();
        assertThat(confirmations.notes()).isEmpty();
    }

    @Test
    void anotherProgramThatFailsIsNotAskedForTheGoodPair() {
        other = (from, to) -> Answer.FAILED;
        measure(List.of(port("a", "r0", Direction.OUT)), rail("r0", "abcd", "a"));

        assertThat(asked).containsExactly("r0 a b");
        assertThat(confirmations.notes()).isEmpty();
    }

    @Test
    void whereTheOtherProgramIsNotInstalledOneNoteSaysSo() {
        other = (from, to) -> new Answer(false, "ib_write_bw is not installed on b (package perftest)");
        Fake rail = rail("r0", "abcdf", "a", "b");
        measure(List.of(port("a", "r0", Direction.OUT), port("b", "r0", Direction.OUT)), rail);

        assertThat(asked).containsExactly("r0 a c", "r0 b c");
        assertThat(measured).hasSize(4);
        assertThat(confirmations.notes())
                .containsExactly("no second opinion: ib_write_bw is not installed on b (package perftest)");
    }

    @Test
    void whatABandwidthTellsNothingOfIsNotAsked() {
        for (String metric : List.of("latencyP50", "latencyP99", "messageRate")) {
            measure(List.of(new Culprit.Port("a", "r0", Direction.OUT, shownBy(metric))), rail("r0", "abcd", "a"));
            assertThat(asked).isEmpty();
            assertThat(measured).hasSize(2);
        }
        failure = Cause.WRONG_DATA;
        measure(List.of(new Culprit.Port("a", "r0", Direction.OUT, shownBy("failed"))), rail("r0", "abcd", "a"));
        assertThat(asked).isEmpty();
        failure = Cause.RETRY_EXCEEDED;
        measure(List.of(new Culprit.Port("a", "r0", Direction.OUT, shownBy("failed"))), rail("r0", "abcd", "a"));
        assertThat(asked).containsExactly("r0 a b", "r0 c b");
    }

    @Test
    void anotherProgramIsAskedAboutTenCausesAtMost() {
        List<Culprit> causes = new ArrayList<>();
        for (int i = 0; i < Confirmations.MOST_ASKED + 2; i++) {
            causes.add(new Culprit.Path("a", "d", "r0", EVIDENCE));
        }
        measure(causes, rail("r0", "abcd", "ad"));

        assertThat(asked).hasSize(Confirmations.MOST_ASKED + 1);
        assertThat(confirmations.notes())
                .containsExactly("no second opinion on 2 more causes: it takes too long for more than 10");
    }
}
