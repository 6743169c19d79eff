package io.rdmatest.report.culprits;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.report.culprits.PairLine.Outcome;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Small matrices made by hand. Values scatter by some percent, as a multiple of 7 modulo 11 does. */
class CulpritsTests {

    /** Changes what a good cell would be. */
    @FunctionalInterface
    private interface Change {
        Values of(int rail, int from, int to, Values good);
    }

    @TempDir
    private Path folder;

    private record Values(
            double lineRate,
            double bandwidth,
            double messageRate,
            double p50,
            double p99,
            Outcome outcome,
            @Nullable String cause,
            Map<String, Long> counters,
            long samples) {

        Values slower(double share) {
            return new Values(lineRate, bandwidth * share, messageRate, p50, p99, outcome, cause, counters, samples);
        }

        Values fewerMessages(double share) {
            return new Values(lineRate, bandwidth, messageRate * share, p50, p99, outcome, cause, counters, samples);
        }

        Values later(double times, double tailTimes) {
            return new Values(
                    lineRate, bandwidth, messageRate, p50 * times, p99 * tailTimes, outcome, cause, counters, samples);
        }

        Values counted(String counter, long count) {
            return new Values(
                    lineRate, bandwidth, messageRate, p50, p99, outcome, cause, Map.of(counter, count), samples);
        }

        Values atLineRate(double rate) {
            return new Values(
                    rate, bandwidth * rate / lineRate, messageRate, p50, p99, outcome, cause, counters, samples);
        }

        Values ended(Outcome how, String why) {
            double none = Double.NaN;
            return new Values(lineRate, none, none, none, none, how, why, Map.of(), samples);
        }

        Values judged(String why) {
            return new Values(lineRate, bandwidth, messageRate, p50, p99, outcome, why, counters, samples);
        }

        Values measuredBy(long roundTrips) {
            return new Values(lineRate, bandwidth, messageRate, p50, p99, outcome, cause, counters, roundTrips);
        }
    }

    private static List<PairLine> matrix(int nodes, int rails, int leafSize, Change change) {
        List<PairLine> cells = new ArrayList<>();
        for (int rail = 0; rail < rails; rail++) {
            for (int from = 0; from < nodes; from++) {
                for (int to = 0; to < nodes; to++) {
                    if (from == to) {
                        continue;
                    }
                    double by = 1 + ((from * 7 + to * 3 + rail) % 11 - 5) / 250.0;
                    Values values = change.of(
                            rail,
                            from,
                            to,
                            new Values(
                                    100e9,
                                    95e9 * by,
                                    4e6 * by,
                                    3.2e-6 * by,
                                    5.4e-6 * by,
                                    Outcome.MEASURED,
                                    null,
                                    Map.of(),
                                    1000));
                    cells.add(new PairLine(
                            "rail" + rail,
                            "n" + from,
                            "n" + to,
                            leafSize == 0 ? null : "leaf" + from / leafSize,
                            leafSize == 0 ? null : "leaf" + to / leafSize,
                            1,
                            values.outcome(),
                            values.cause(),
                            values.lineRate(),
                            values.bandwidth(),
                            values.messageRate(),
                            values.p50(),
                            values.p99(),
                            values.samples(),
                            65536,
                            1,
                            false,
                            null,
                            null,
                            new PairLine.Counters(values.counters(), Map.of())));
                }
            }
        }
        return cells;
    }

    private static Set<String> names(Culprits culprits) {
        assertThat(Schemas.mistakesOfCulprits(new ObjectMapper().valueToTree(culprits.json())))
                .isEmpty();
        return culprits.causes().stream().map(GeneratedFabric::text).collect(Collectors.toSet());
    }

    private static Set<String> names(List<PairLine> cells) {
        return names(Culprits.of(cells));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 8, 40})
    void aGoodFabricHasNoCulprit(int nodes) {
        Culprits culprits = Culprits.of(matrix(nodes, 2, nodes / 4, (rail, from, to, good) -> good));
        assertThat(names(culprits)).isEmpty();
        assertThat(culprits.unexplained()).isEmpty();
        assertThat(culprits.cells()).isEqualTo(2 * nodes * (nodes - 1));
    }

    @Test
    void aPortThatSendsBadlyIsToldWithItsEvidence() throws Exception {
        Culprits culprits = Culprits.of(
                matrix(32, 4, 8, (rail, from, to, good) -> rail == 2 && from == 17 ? good.slower(0.43) : good));
        assertThat(names(culprits)).containsExactly("port n17 rail2 out");
        JsonNode cause =
                new ObjectMapper().valueToTree(culprits.json()).path("causes").path(0);
        assertThat(cause.path("kind").asText()).isEqualTo("port");
        assertThat(cause.path("node").asText()).isEqualTo("n17");
        assertThat(cause.path("rail").asText()).isEqualTo("rail2");
        assertThat(cause.path("direction").asText()).isEqualTo("out");
        JsonNode evidence = cause.path("evidence");
        assertThat(evidence.path("bad").asInt()).isEqualTo(31);
        assertThat(evidence.path("of").asInt()).isEqualTo(31);
        assertThat(evidence.path("metric").asText()).isEqualTo("bandwidth");
        assertThat(evidence.path("median").asDouble()).isBetween(40e9, 42e9);
        assertThat(evidence.path("others").asDouble()).isBetween(94e9, 96e9);
        assertThat(evidence.path("text").asText())
                .startsWith("31 of 31 pairs from n17 on rail2 are bad, 0 of 31 to it; bandwidth 4")
                .endsWith(" Gb/s, others 95 Gb/s");
    }

    /** The port that sends slowly has no queue, so its latencies are the best of all. They are not what is usual. */
    @Test
    void theGoodLatenciesOfOnePortAloneAreNotWhatIsUsual() {
        assertThat(names(matrix(
                        4,
                        1,
                        0,
                        (rail, from, to, good) -> from == 2 ? good.slower(0.06).later(0.15, 0.15) : good)))
                .containsExactly("port n2 rail0 out");
    }

    @Test
    void aPortThatReceivesBadly() {
        assertThat(names(matrix(8, 2, 0, (rail, from, to, good) -> rail == 1 && to == 3 ? good.later(1.6, 1.6) : good)))
                .containsExactly("port n3 rail1 in");
    }

    @Test
    void aPortThatFailsWithAll() {
        Culprits culprits = Culprits.of(matrix(
                8,
                2,
                4,
                (rail, from, to, good) ->
                        rail == 0 && (from == 5 || to == 5) ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED") : good));
        assertThat(names(culprits)).containsExactly("port n5 rail0 both");
        assertThat(culprits.causes().getFirst().evidence().text())
                .isEqualTo(
                        "7 of 7 pairs from n5 on rail0 are bad, and 7 of 7 pairs to n5; 14 failed: RETRY_EXCEEDED 14");
        assertThat(culprits.causes().getFirst().evidence().metric()).isEqualTo("failed");
        assertThat(culprits.unexplained()).isEmpty();
    }

    /** Of a node that failed with one partner after the other the rest was not measured. Its partners are not suspected. */
    @Test
    void aNodeThatWasGivenUpIsACauseBothWays() {
        Culprits culprits = Culprits.of(matrix(
                4,
                1,
                0,
                (rail, from, to, good) -> from != 1 && to != 1
                        ? good
                        : from == 1 && to != 3
                                ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED")
                                : good.ended(Outcome.NOT_MEASURED, "GIVEN_UP")));
        assertThat(names(culprits)).containsExactly("port n1 rail0 both");
        assertThat(culprits.unexplained()).isEmpty();
        assertThat(culprits.causes().getFirst().evidence().text()).endsWith("6 failed: GIVEN_UP 4, RETRY_EXCEEDED 2");
    }

    /** What the run itself judged as bad is bad here as well. */
    @Test
    void aPairThatWasJudgedAsBadIsUnexplained() {
        Culprits culprits = Culprits.of(matrix(
                4,
                1,
                0,
                (rail, from, to, good) -> from == 1 && to == 3 ? good.ended(Outcome.MEASURED, "COUNTERS") : good));
        assertThat(names(culprits)).isEmpty();
        assertThat(culprits.unexplained()).hasSize(1);
    }

    @Test
    void aNodeIsBadOnAllItsRails() {
        assertThat(names(matrix(8, 3, 0, (rail, from, to, good) -> from == 2 ? good.fewerMessages(0.5) : good)))
                .containsExactly("node n2 out");
        assertThat(names(matrix(
                        8,
                        3,
                        0,
                        (rail, from, to, good) -> to == 2 || (from == 2 && rail == 1) ? good.slower(0.4) : good)))
                .containsExactlyInAnyOrder("node n2 in", "port n2 rail1 out");
    }

    @Test
    void aNodeWithOneRailIsToldAsPort() {
        List<PairLine> cells = matrix(8, 2, 0, (rail, from, to, good) -> from == 2 ? good.slower(0.5) : good).stream()
                .filter(cell -> cell.rail().equals("rail0")
                        || !Set.of(cell.from(), cell.to()).contains("n2"))
                .toList();
        assertThat(names(cells)).containsExactly("port n2 rail0 out");
    }

    /** Each cell alone is within what others scatter by. */
    @Test
    void aMildCauseIsFoundByAllOfItsCells() {
        assertThat(names(matrix(16, 1, 4, (rail, from, to, good) -> from == 9 ? good.slower(0.84) : good)))
                .containsExactly("port n9 rail0 out");
    }

    @Test
    void aBlockIsOneWay() {
        Culprits culprits = Culprits.of(matrix(
                24,
                2,
                6,
                (rail, from, to, good) -> rail == 1 && from / 6 == 0 && to / 6 == 3 ? good.slower(0.5) : good));
        assertThat(names(culprits)).containsExactly("block leaf0 leaf3 rail1");
        assertThat(culprits.causes().getFirst().evidence().text())
                .startsWith("36 of 36 pairs from leaf0 to leaf3 on rail1 are bad; bandwidth");
    }

    @Test
    void aBlockOfTwoLeavesIsNoneOfItsNodes() {
        assertThat(names(matrix(16, 1, 8, (rail, from, to, good) -> from < 8 && to >= 8 ? good.later(2.5, 2.5) : good)))
                .containsExactly("block leaf0 leaf1 rail0");
    }

    @Test
    void aLeafWithFewNodes() {
        assertThat(names(matrix(33, 1, 8, (rail, from, to, good) -> from == 32 && to < 8 ? good.slower(0.4) : good)))
                .containsExactly("block leaf4 leaf0 rail0");
    }

    @Test
    void aBadLeafIsToldByItsBlocks() {
        assertThat(names(matrix(64, 1, 8, (rail, from, to, good) -> from < 8 && to >= 8 ? good.slower(0.4) : good)))
                .hasSize(7)
                .allMatch(name -> name.startsWith("block leaf0 leaf"));
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 8, 40})
    void aPath(int nodes) {
        Culprits culprits = Culprits.of(matrix(
                nodes, 2, 0, (rail, from, to, good) -> rail == 0 && from == 1 && to == 3 ? good.slower(0.4) : good));
        assertThat(names(culprits)).containsExactly("path n1 n3 rail0");
        assertThat(culprits.causes().getFirst().evidence().text())
                .startsWith("this pair is bad, and others of n1 and n3 are not for this reason; bandwidth 3");
    }

    @Test
    void aPathThatFailsOrDamages() {
        Culprits culprits = Culprits.of(matrix(
                12,
                1,
                4,
                (rail, from, to, good) -> from == 1 && to == 3 ? good.ended(Outcome.FAILED, "WRONG_DATA") : good));
        assertThat(names(culprits)).containsExactly("path n1 n3 rail0");
        assertThat(culprits.causes().getFirst().evidence().text()).endsWith("; 1 failed: WRONG_DATA 1");
    }

    @Test
    void aSlowCellIsNoPath() {
        assertThat(names(matrix(12, 1, 4, (rail, from, to, good) -> from == 1 && to == 3 ? good.slower(0.8) : good)))
                .isEmpty();
    }

    @Test
    void lostPacketsShowInCountersOnly() {
        Culprits culprits = Culprits.of(matrix(
                12, 2, 4, (rail, from, to, good) -> to == 6 && rail == 1 ? good.counted("packet_seq_err", 12) : good));
        assertThat(names(culprits)).containsExactly("port n6 rail1 in");
        assertThat(culprits.causes().getFirst().evidence().text()).endsWith("; errors counted 12, others 0");
    }

    /** The delays of busy hosts make soft-RoCE count errors of pairs that were found good. */
    @Test
    void errorsOfPairsThatWereFoundGoodHideNoPort() {
        assertThat(names(matrix(
                        4,
                        1,
                        0,
                        (rail, from, to, good) -> from == 1
                                ? good.counted("rcvd_seq_err", 60 + 15L * to).judged("COUNTERS")
                                : good.counted("completer_retry_err", (from + 2L * to) % 4))))
                .containsExactly("port n1 rail0 out");
    }

    @Test
    void congestionIsNoError() {
        for (String counter : List.of("rp_cnp_handled", "np_ecn_marked_roce_packets", "rx_pause", "port_xmit_wait")) {
            assertThat(PairMatrix.isError(counter)).as(counter).isFalse();
            assertThat(names(matrix(12, 1, 4, (rail, from, to, good) -> to == 6 ? good.counted(counter, 5000) : good)))
                    .isEmpty();
        }
        assertThat(List.of(
                        "retransmissions",
                        "outOfSequence",
                        "out_of_sequence",
                        "local_ack_timeout_err",
                        "symbol_error",
                        "link_downed",
                        "carrier_changes",
                        "rx_discards_phy"))
                .allMatch(PairMatrix::isError);
        assertThat(List.of("port_xmit_data", "tx_bytes", "unicast_rcv_packets", "interrupts"))
                .noneMatch(PairMatrix::isError);
    }

    @Test
    void twoBadNodesShareCells() {
        assertThat(names(matrix(
                        6,
                        1,
                        0,
                        (rail, from, to, good) -> from == 1 || to == 1 || from == 4
                                ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED")
                                : good)))
                .containsExactlyInAnyOrder("port n1 rail0 both", "port n4 rail0 out");
    }

    @Test
    void severalCausesOfAllKinds() {
        assertThat(names(matrix(32, 2, 8, (rail, from, to, good) -> {
                    if (from == 3) {
                        return good.slower(0.5);
                    }
                    if (rail == 0 && to == 20) {
                        return good.later(1, 3);
                    }
                    if (rail == 1 && from / 8 == 0 && to / 8 == 2) {
                        return good.slower(0.6);
                    }
                    return rail == 1 && from == 30 && to == 9 ? good.ended(Outcome.FAILED, "RESPONSE_TIMEOUT") : good;
                })))
                .containsExactlyInAnyOrder(
                        "node n3 out", "port n20 rail0 in", "block leaf0 leaf2 rail1", "path n30 n9 rail1");
    }

    /** Of four machines, the sending of one is slow, as {@code netem rate} makes it. */
    @Test
    void oneOfFourMachines() {
        assertThat(names(matrix(4, 2, 0, (rail, from, to, good) -> rail == 1 && from == 2 ? good.slower(0.3) : good)))
                .containsExactly("port n2 rail1 out");
    }

    @Test
    void mostOfASmallFabricIsBad() {
        assertThat(names(matrix(8, 1, 0, (rail, from, to, good) -> from < 3 || to < 3 ? good.slower(0.4) : good)))
                .containsExactlyInAnyOrder("port n0 rail0 both", "port n1 rail0 both", "port n2 rail0 both");
    }

    @Test
    void aPortThatFailsNowAndThen() {
        assertThat(names(matrix(
                        20,
                        1,
                        5,
                        (rail, from, to, good) ->
                                from == 7 && to % 2 == 0 ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED") : good)))
                .containsExactly("port n7 rail0 out");
    }

    @Test
    void aSlowerPortIsNotBad() {
        assertThat(names(matrix(
                        16,
                        1,
                        4,
                        (rail, from, to, good) ->
                                from == 5 || to == 5 ? good.atLineRate(25e9).fewerMessages(0.5) : good)))
                .isEmpty();
        assertThat(names(matrix(
                        16,
                        1,
                        4,
                        (rail, from, to, good) -> from == 5
                                ? good.atLineRate(25e9).slower(0.5)
                                : to == 5 ? good.atLineRate(25e9) : good)))
                .containsExactly("port n5 rail0 out");
    }

    @Test
    void moreThanTheLineRateIsANote() {
        Culprits culprits =
                Culprits.of(matrix(8, 1, 0, (rail, from, to, good) -> from == 5 && to == 1 ? good.slower(1.2) : good));
        assertThat(names(culprits)).isEmpty();
        assertThat(culprits.notes())
                .containsExactly(
                        "rail0: 1 cells have more bandwidth than the line rate, which is a defect of the measurement");
    }

    @Test
    void whatTheHostIsToBlameForIsNoEvidence() {
        for (Outcome outcome : List.of(Outcome.NOT_MEASURED, Outcome.FAILED)) {
            Culprits culprits = Culprits.of(matrix(
                    8, 1, 0, (rail, from, to, good) -> from == 5 ? good.ended(outcome, "HOST_NOT_READY") : good));
            assertThat(names(culprits)).isEmpty();
            assertThat(culprits.unexplained()).isEmpty();
            assertThat(culprits.cells()).isEqualTo(49);
        }
    }

    @Test
    void withTwoNodesOneDirectionIsAPath() {
        Culprits slow = Culprits.of(matrix(2, 1, 0, (rail, from, to, good) -> from == 1 ? good.slower(0.4) : good));
        assertThat(names(slow)).containsExactly("path n1 n0 rail0");
        assertThat(slow.notes()).containsExactly("rail0 has two nodes: a port can't be told from a path");
        assertThat(names(matrix(
                        2,
                        1,
                        0,
                        (rail, from, to, good) -> from == 1 ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED") : good)))
                .containsExactly("path n1 n0 rail0");
    }

    /** Cells of an emulated device differ so much by themselves. */
    @ParameterizedTest
    @ValueSource(ints = {2, 3, 8, 16})
    void withFewNodesHalfTheRateIsNoPath(int nodes) {
        Culprits culprits = Culprits.of(
                matrix(nodes, 1, 0, (rail, from, to, good) -> from == 1 && to == 0 ? good.slower(0.5) : good));
        assertThat(names(culprits)).isEmpty();
        // Two nodes don't even tell that it is bad.
        assertThat(culprits.unexplained()).hasSize(nodes == 2 ? 0 : 1);
    }

    @Test
    void withManyNodesHalfTheRateIsAPath() {
        assertThat(names(matrix(17, 1, 0, (rail, from, to, good) -> from == 1 && to == 0 ? good.slower(0.5) : good)))
                .containsExactly("path n1 n0 rail0");
    }

    @Test
    void withThreeNodesABadOneIsFound() {
        assertThat(names(matrix(
                        3,
                        1,
                        0,
                        (rail, from, to, good) ->
                                from == 1 || to == 1 ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED") : good)))
                .containsExactly("port n1 rail0 both");
        assertThat(names(matrix(3, 1, 0, (rail, from, to, good) -> from == 1 && to == 2 ? good.slower(0.4) : good)))
                .containsExactly("path n1 n2 rail0");
    }

    @Test
    void whereAllFailsNothingIsNamed() {
        Culprits culprits =
                Culprits.of(matrix(4, 1, 2, (rail, from, to, good) -> good.ended(Outcome.FAILED, "RETRY_EXCEEDED")));
        assertThat(names(culprits)).isEmpty();
        assertThat(culprits.unexplained()).hasSize(12);
        assertThat(culprits.notes())
                .containsExactly("rail0: every cell failed, so that nothing tells good parts from bad ones");
    }

    @Test
    void theOnlyCellOfAPortStaysUnexplained() {
        List<PairLine> cells = matrix(
                        8,
                        1,
                        0,
                        (rail, from, to, good) ->
                                from == 5 && to == 6 ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED") : good)
                .stream()
                .filter(cell -> !cell.from().equals("n5") || cell.to().equals("n6"))
                .toList();
        Culprits culprits = Culprits.of(cells);
        assertThat(names(culprits)).isEmpty();
        assertThat(culprits.unexplained())
                .singleElement()
                .satisfies(cell -> assertThat(cell.from()).isEqualTo("n5"));
        assertThat(culprits.lines()).contains("unexplained: 1 bad cell", "  n5 to n6 on rail0: failed, RETRY_EXCEEDED");
    }

    @Test
    void aCellThatWasMeasuredAgainCountsOnce() {
        List<PairLine> cells = new ArrayList<>(
                matrix(8, 1, 0, (rail, from, to, good) -> from == 5 ? good.ended(Outcome.FAILED, "TIMEOUT") : good));
        cells.addAll(matrix(8, 1, 0, (rail, from, to, good) -> good));
        Culprits culprits = Culprits.of(cells);
        assertThat(names(culprits)).isEmpty();
        assertThat(culprits.cells()).isEqualTo(56);
    }

    @Test
    void noCells() {
        Culprits culprits = Culprits.of(List.of());
        assertThat(names(culprits)).isEmpty();
        assertThat(culprits.cells()).isZero();
    }

    // ---- measured again ----

    /** n3 of 8 sends at 43 %. */
    private static List<PairLine> slowSender() {
        return matrix(8, 1, 0, (rail, from, to, good) -> from == 3 ? good.slower(0.43) : good);
    }

    private static PairLine again(String from, String to, Outcome outcome, @Nullable String cause, double bandwidth) {
        return again("rail0", from, to, outcome, cause, 100e9, bandwidth, Double.NaN);
    }

    private static PairLine again(
            String rail,
            String from,
            String to,
            Outcome outcome,
            @Nullable String cause,
            double lineRate,
            double bandwidth,
            double p50) {
        return new PairLine(
                rail,
                from,
                to,
                null,
                null,
                1,
                outcome,
                cause,
                lineRate,
                bandwidth,
                Double.NaN,
                p50,
                Double.NaN,
                0,
                0,
                1,
                true,
                null,
                null,
                PairLine.Counters.NONE);
    }

    private static Culprit cause(List<PairLine> cells, PairLine... confirmations) {
        List<PairLine> all = new ArrayList<>(cells);
        all.addAll(List.of(confirmations));
        Culprits culprits = Culprits.of(all);
        assertThat(names(culprits)).containsExactly("port n3 rail0 out");
        return culprits.causes().getFirst();
    }

    @Test
    void whatIsAsBadWithTwoPartnersIsConfirmed() {
        Culprit cause = cause(
                slowSender(),
                again("n3", "n0", Outcome.MEASURED, null, 40e9),
                again("n3", "n1", Outcome.MEASURED, null, 42e9),
                // Of other nodes, and of the other direction.
                again("n4", "n2", Outcome.MEASURED, null, 96e9),
                again("n2", "n3", Outcome.MEASURED, null, 96e9));

        assertThat(cause.evidence().text()).endsWith("others 95 Gb/s; confirmed with n0 and n1: 41 Gb/s");
        assertThat(cause.isSuspect()).isFalse();
        assertThat(cause.json().toString()).contains("confirmed=true");
    }

    @Test
    void whatIsGoodWithOneOfTwoPartnersIsNotConfirmed() {
        Culprit cause = cause(
                slowSender(),
                again("n3", "n0", Outcome.MEASURED, null, 96e9),
                again("n3", "n1", Outcome.MEASURED, null, 42e9));

        assertThat(cause.evidence().text()).endsWith("; not confirmed with n0 and n1: 69 Gb/s");
        assertThat(cause.isSuspect()).isTrue();
        assertThat(cause.json().toString()).contains("confirmed=false");
    }

    @Test
    void onePartnerConfirmsNothingAndNeitherDoesAHost() {
        for (PairLine second : List.of(
                again("n3", "n0", Outcome.MEASURED, null, 42e9),
                again("n3", "n1", Outcome.NOT_MEASURED, "NODE_LOST", Double.NaN),
                again("n3", "n1", Outcome.MEASURED, null, Double.NaN))) {
            Culprit cause = cause(slowSender(), again("n3", "n0", Outcome.MEASURED, null, 40e9), second);

            assertThat(cause.evidence().text()).endsWith("others 95 Gb/s");
            assertThat(cause.isSuspect()).isFalse();
            assertThat(cause.json().toString()).doesNotContain("confirmed");
        }
    }

    @Test
    void whatFailsAgainIsConfirmed() {
        List<PairLine> cells = matrix(
                8, 1, 0, (rail, from, to, good) -> from == 3 ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED") : good);
        PairLine first = again("n3", "n0", Outcome.FAILED, "RETRY_EXCEEDED", Double.NaN);

        assertThat(cause(cells, first, again("n3", "n1", Outcome.FAILED, "RETRY_EXCEEDED", Double.NaN))
                        .evidence()
                        .text())
                .endsWith("; confirmed with n0 and n1: RETRY_EXCEEDED 2");
        assertThat(cause(cells, first, again("n3", "n1", Outcome.MEASURED, null, 96e9))
                        .isSuspect())
                .isTrue();
    }

    @Test
    void oneDirectionThatIsAsBadIsEnough() {
        List<PairLine> all = new ArrayList<>(
                matrix(8, 1, 0, (rail, from, to, good) -> from == 3 || to == 3 ? good.slower(0.43) : good));
        all.addAll(List.of(
                again("n3", "n0", Outcome.MEASURED, null, 41e9),
                again("n0", "n3", Outcome.MEASURED, null, 96e9),
                again("n3", "n1", Outcome.MEASURED, null, 41e9),
                again("n1", "n3", Outcome.MEASURED, null, 41e9)));
        Culprits culprits = Culprits.of(all);

        assertThat(names(culprits)).containsExactly("port n3 rail0 both");
        assertThat(culprits.causes().getFirst().evidence().text()).endsWith("; confirmed with n0 and n1: 41 Gb/s");
    }

    /** A confirmation does not take the place of the cell that it repeats. */
    @Test
    void confirmationsAreNoCells() throws IOException {
        List<PairLine> all = new ArrayList<>(slowSender());
        int cells = all.size();
        all.add(again("n3", "n0", Outcome.MEASURED, null, 96e9));
        all.add(again("n3", "n1", Outcome.MEASURED, null, 96e9));
        Path file = folder.resolve("pairs.jsonl");
        try (PairsWriter writer = PairsWriter.create(file)) {
            for (PairLine line : all) {
                writer.write(line);
            }
        }
        PairsReader reader = new PairsReader();

        assertThat(reader.read(file)).isEqualTo(all.subList(0, cells));
        assertThat(reader.confirmations()).isEqualTo(all.subList(cells, all.size()));
        assertThat(Files.readAllLines(file))
                .allSatisfy(line -> assertThat(Schemas.mistakesOfPair(line)).isEmpty());
        Culprits culprits = Culprits.of(PairMatrix.read(List.of(file)));
        assertThat(culprits).isEqualTo(Culprits.of(all));
        assertThat(culprits.cells()).isEqualTo(cells);
        assertThat(culprits.lines()).contains("port n3 on rail0, sending");
        assertThat(culprits.lines().get(1)).endsWith("; not confirmed with n0 and n1: 96 Gb/s");
    }

    // ---- a second opinion ----

    private static PairLine other(String from, String to, double bandwidth, @Nullable String reason) {
        return other(from, to, 100e9, bandwidth, reason);
    }

    private static PairLine other(String from, String to, double lineRate, double bandwidth, @Nullable String reason) {
        return new PairLine(
                "rail0",
                from,
                to,
                null,
                null,
                1,
                reason == null ? Outcome.MEASURED : Outcome.NOT_MEASURED,
                null,
                lineRate,
                bandwidth,
                bandwidth / 25e3,
                Double.NaN,
                Double.NaN,
                0,
                0,
                1,
                true,
                "ib_write_bw",
                reason,
                PairLine.Counters.NONE);
    }

    private static final PairLine FIRST = again("n3", "n0", Outcome.MEASURED, null, 40e9);
    private static final PairLine SECOND = again("n3", "n1", Outcome.MEASURED, null, 42e9);

    @Test
    void anotherProgramThatIsSlowAsWellBlamesTheFabric() {
        Culprit cause =
                cause(slowSender(), FIRST, SECOND, other("n3", "n0", 39e9, null), other("n1", "n0", 91e9, null));

        assertThat(cause.evidence().text())
                .endsWith("; confirmed with n0 and n1: 41 Gb/s;"
                        + " ib_write_bw: 39 Gb/s bad pair, 91 Gb/s good pair: the fabric");
        assertThat(cause.json().toString())
                .contains("secondOpinion={program=ib_write_bw, bad=3.9E10, good=9.1E10, agrees=true}");
        assertThat(cause.isSuspect()).isFalse();
    }

    @Test
    void anotherProgramThatIsAsFastAsBesideBlamesTheInstrument() {
        Culprit cause =
                cause(slowSender(), FIRST, SECOND, other("n3", "n0", 96e9, null), other("n1", "n0", 96e9, null));

        assertThat(cause.evidence().text())
                .endsWith("; ib_write_bw measures 96 Gb/s for the bad pair, 96 Gb/s for a good one:"
                        + " look at the instrument");
        assertThat(cause.json().toString()).contains("agrees=false");
        // It is no verdict.
        assertThat(cause.isSuspect()).isFalse();

        Culprit notConfirmed = cause(
                slowSender(),
                again("n3", "n0", Outcome.MEASURED, null, 96e9),
                SECOND,
                other("n3", "n0", 96e9, null),
                other("n1", "n0", 96e9, null));
        assertThat(notConfirmed.evidence().text())
                .endsWith("; ib_write_bw: 96 Gb/s bad pair, 96 Gb/s good pair: not bad when it is measured alone");
    }

    /** Of another program, no figure counts for itself: it may be slower than rdmatest everywhere. */
    @Test
    void anotherProgramIsHeldAgainstItself() {
        assertThat(cause(slowSender(), FIRST, SECOND, other("n3", "n0", 50e9, null), other("n1", "n0", 52e9, null))
                        .evidence()
                        .text())
                .endsWith("look at the instrument");
        assertThat(cause(slowSender(), FIRST, SECOND, other("n3", "n0", 20e9, null), other("n1", "n0", 52e9, null))
                        .evidence()
                        .text())
                .endsWith("the fabric");
    }

    /** A port of 25 Gb/s sends at half of that; 23 Gb/s are all that it can. */
    @Test
    void anotherProgramIsJudgedByTheLineRate() {
        List<PairLine> cells = matrix(
                16,
                1,
                0,
                (rail, from, to, good) ->
                        from == 3 ? good.atLineRate(25e9).slower(0.5) : to == 3 ? good.atLineRate(25e9) : good);
        PairLine good = other("n1", "n0", 96e9, null);

        assertThat(evidence(cells, slow("n0", 11.9e9), slow("n1", 11.9e9), other("n3", "n0", 25e9, 12e9, null), good))
                .endsWith("ib_write_bw: 12 Gb/s bad pair, 96 Gb/s good pair: the fabric");
        assertThat(evidence(cells, slow("n0", 11.9e9), slow("n1", 11.9e9), other("n3", "n0", 25e9, 23e9, null), good))
                .endsWith("look at the instrument");
    }

    /** Under the load of all pairs, half the bandwidth is usual between leaves. The other program measures one pair alone. */
    @Test
    void anotherProgramIsJudgedWithoutTheLoadBetweenLeaves() {
        List<PairLine> cells = matrix(24, 1, 8, (rail, from, to, good) -> {
            Values usual = from / 8 == to / 8 ? good : good.slower(0.5);
            return from == 3 ? usual.slower(0.43) : usual;
        });

        assertThat(evidence(cells, other("n3", "n9", 41e9, null), other("n1", "n0", 96e9, null)))
                .endsWith("ib_write_bw: 41 Gb/s bad pair, 96 Gb/s good pair: the fabric");
        assertThat(evidence(cells, other("n3", "n4", 96e9, null), other("n1", "n9", 96e9, null)))
                .endsWith("ib_write_bw: 96 Gb/s bad pair, 96 Gb/s good pair: not bad when it is measured alone");
    }

    /** Another program has measured the pair for another cause. */
    @Test
    void aCauseOfLatencyHasNoSecondOpinion() {
        List<PairLine> cells = matrix(16, 1, 0, (rail, from, to, good) -> from == 3 ? good.later(3, 3) : good);

        assertThat(evidence(cells, other("n3", "n0", 96e9, null), other("n1", "n0", 96e9, null)))
                .doesNotContain("ib_write_bw");
    }

    @Test
    void anotherProgramThatFailsIsNoVerdict() {
        Culprit cause = cause(
                slowSender(),
                FIRST,
                SECOND,
                other("n3", "n0", Double.NaN, "ib_write_bw on n0 ended with 1: no device"));

        assertThat(cause.evidence().text())
                .endsWith("confirmed with n0 and n1: 41 Gb/s;"
                        + " no second opinion: ib_write_bw on n0 ended with 1: no device");
        assertThat(cause.json().toString())
                .contains("secondOpinion={program=ib_write_bw, reason=ib_write_bw on n0 ended with 1: no device}")
                .doesNotContain("agrees");
        assertThat(evidence(
                        slowSender(),
                        FIRST,
                        SECOND,
                        other("n3", "n0", 96e9, null),
                        other("n1", "n0", Double.NaN, "it hung")))
                .endsWith("; no second opinion: it hung");
        assertThat(evidence(slowSender(), FIRST, SECOND, other("n3", "n0", 96e9, null)))
                .endsWith("; no second opinion: no good pair was measured beside the bad one");
    }

    /** n3 sends badly to all but n0, and that pair says nothing of it. */
    @Test
    void anotherProgramIsNotHeldAgainstAPairThatWasGood() {
        List<PairLine> cells =
                matrix(12, 1, 0, (rail, from, to, good) -> from == 3 && to != 0 ? good.slower(0.43) : good);
        PairLine good = other("n1", "n2", 96e9, null);

        assertThat(evidence(cells, other("n3", "n0", 96e9, null), good)).doesNotContain("ib_write_bw");
        assertThat(evidence(cells, other("n3", "n1", 41e9, null), good)).endsWith("the fabric");
    }

    /** What another program measured is none of the two partners, and none of another direction. */
    @Test
    void anotherProgramConfirmsNothing() {
        assertThat(evidence(slowSender(), FIRST, other("n3", "n1", 41e9, null), other("n1", "n0", 96e9, null)))
                .doesNotContain("confirmed")
                .endsWith("the fabric");
        assertThat(evidence(slowSender(), other("n0", "n3", 41e9, null), other("n1", "n0", 96e9, null)))
                .endsWith("others 95 Gb/s");
    }

    @Test
    void whatFailsIsHeldAgainstWhatAnotherProgramMoves() {
        List<PairLine> cells = matrix(
                8, 1, 0, (rail, from, to, good) -> from == 3 ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED") : good);
        PairLine first = again("n3", "n0", Outcome.FAILED, "RETRY_EXCEEDED", Double.NaN);
        PairLine second = again("n3", "n1", Outcome.FAILED, "RETRY_EXCEEDED", Double.NaN);
        PairLine good = other("n1", "n0", 96e9, null);

        assertThat(evidence(cells, first, second, other("n3", "n0", 0, null), good))
                .endsWith("; ib_write_bw: 0 Gb/s bad pair, 96 Gb/s good pair: the fabric");
        assertThat(evidence(cells, first, second, other("n3", "n0", 95e9, null), good))
                .endsWith("look at the instrument");
    }

    @Test
    void aProgramThatCountsNoErrorsCantDenyThem() {
        List<PairLine> cells =
                matrix(12, 1, 0, (rail, from, to, good) -> from == 3 ? good.counted("packet_seq_err", 400) : good);
        PairLine good = other("n1", "n0", 96e9, null);

        assertThat(evidence(cells, other("n3", "n0", 96e9, null), good))
                .endsWith("; ib_write_bw: 96 Gb/s bad pair, 96 Gb/s good pair, and it counts no errors");
        assertThat(evidence(cells, other("n3", "n0", 50e9, null), good)).endsWith("the fabric");
    }

    @Test
    void aPathHasASecondOpinionToo() {
        List<PairLine> all = new ArrayList<>(
                matrix(20, 1, 0, (rail, from, to, good) -> from == 3 && to == 9 ? good.slower(0.3) : good));
        all.add(other("n3", "n9", 30e9, null));
        all.add(other("n1", "n0", 96e9, null));
        Culprits culprits = Culprits.of(all);

        assertThat(names(culprits)).containsExactly("path n3 n9 rail0");
        assertThat(culprits.causes().getFirst().evidence().text())
                .endsWith("; ib_write_bw: 30 Gb/s bad pair, 96 Gb/s good pair: the fabric");
    }

    @Test
    void secondOpinionsAreInTheFile() throws Exception {
        List<PairLine> all = new ArrayList<>(slowSender());
        all.addAll(List.of(
                FIRST,
                SECOND,
                other("n3", "n0", 39e9, null),
                other("n1", "n0", 91e9, null),
                other("n2", "n0", Double.NaN, "it hung")));
        Path file = file("opinions.jsonl", all);

        assertThat(Files.readAllLines(file))
                .allSatisfy(line -> assertThat(Schemas.mistakesOfPair(line)).isEmpty());
        PairsReader reader = new PairsReader();
        assertThat(reader.read(file)).hasSize(56);
        assertThat(reader.confirmations()).isEqualTo(all.subList(56, 61));
        Culprits culprits = Culprits.of(PairMatrix.read(List.of(file)));
        assertThat(culprits).isEqualTo(Culprits.of(all));
        assertThat(Schemas.mistakesOfCulprits(new ObjectMapper().valueToTree(culprits.json())))
                .isEmpty();
    }

    /** A file from elsewhere may have members of these names that mean something else. */
    @Test
    void aCellMayHaveAnInstrumentOfItsOwn() throws IOException {
        Path file = Files.writeString(folder.resolve("elsewhere.jsonl"), """
                {"rail":"r","from":"a","to":"b","outcome":"measured","instrument":"perftest","reason":{"x":[1]}}
                {"rail":"r","from":"b","to":"a","outcome":"measured","instrument":7}
                """);

        assertThat(new PairsReader().read(file))
                .hasSize(2)
                .allSatisfy(cell -> assertThat(cell.instrument()).isNull());
    }

    private static String evidence(List<PairLine> cells, PairLine... confirmations) {
        return cause(cells, confirmations).evidence().text();
    }

    /** 1.8 us are a fifth too much within a leaf, and less than what is usual between leaves. */
    @Test
    void whatIsMeasuredAgainWithinALeafIsJudgedByPairsWithinALeaf() {
        List<PairLine> cells = matrix(16, 1, 8, (rail, from, to, good) -> {
            double times = (from / 8 == to / 8 ? 1.5 : 2.5) / 3.2 * (from == 3 ? 1.2 : 1);
            return good.later(times, times);
        });

        assertThat(evidence(cells, late("n0", 1.8e-6), late("n1", 1.8e-6)))
                .endsWith("; confirmed with n0 and n1: 1.8 us");
        assertThat(evidence(cells, late("n0", 1.5e-6), late("n1", 1.5e-6)))
                .endsWith("; not confirmed with n0 and n1: 1.5 us");
        assertThat(evidence(cells, late("n8", 3e-6), late("n9", 3e-6))).endsWith("; confirmed with n8 and n9: 3 us");
        assertThat(evidence(cells, late("n8", 2.5e-6), late("n9", 2.5e-6)))
                .endsWith("; not confirmed with n8 and n9: 2.5 us");
    }

    private static PairLine late(String to, double p50) {
        return again("rail0", "n3", to, Outcome.MEASURED, null, 100e9, Double.NaN, p50);
    }

    /** A port of 25 Gb/s sends at half of that. */
    @Test
    void whatIsMeasuredAgainIsJudgedByItsLineRate() {
        List<PairLine> cells = matrix(
                16,
                1,
                4,
                (rail, from, to, good) ->
                        from == 3 ? good.atLineRate(25e9).slower(0.5) : to == 3 ? good.atLineRate(25e9) : good);

        assertThat(evidence(cells, slow("n0", 11.9e9), slow("n1", 11.9e9)))
                .endsWith("; confirmed with n0 and n1: 11.9 Gb/s");
        assertThat(evidence(cells, slow("n0", 23.7e9), slow("n1", 23.7e9)))
                .endsWith("; not confirmed with n0 and n1: 23.7 Gb/s");
    }

    private static PairLine slow(String to, double bandwidth) {
        return again("rail0", "n3", to, Outcome.MEASURED, null, 25e9, bandwidth, Double.NaN);
    }

    /** Ports of 25 Gb/s are later by design. What one of them is late beyond that is bad. */
    @Test
    void whatSlowPortsAreForgivenIsForgivenAgain() {
        List<PairLine> cells = matrix(16, 1, 4, (rail, from, to, good) -> {
            Values its = from == 3 || to == 3 || from == 7 || to == 7
                    ? good.atLineRate(25e9).later(1.4, 1.4)
                    : good;
            return from == 3 ? its.later(1.5, 1.5) : its;
        });

        assertThat(evidence(cells, slowAndLate("n0", 6.7e-6), slowAndLate("n1", 6.7e-6)))
                .endsWith("; confirmed with n0 and n1: 6.7 us");
        assertThat(evidence(cells, slowAndLate("n0", 4.5e-6), slowAndLate("n1", 4.5e-6)))
                .endsWith("; not confirmed with n0 and n1: 4.5 us");
    }

    private static PairLine slowAndLate(String to, double p50) {
        return again("rail0", "n3", to, Outcome.MEASURED, null, 25e9, Double.NaN, p50);
    }

    /** Two of its good pairs would speak against it, two of its bad ones for it. */
    @Test
    void aCauseOfWhichAPartIsBadIsNotJudgedAgain() {
        List<PairLine> cells = matrix(
                20,
                1,
                5,
                (rail, from, to, good) ->
                        from == 3 && to % 2 == 0 ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED") : good);
        for (List<String> partners : List.of(List.of("n0", "n2"), List.of("n1", "n5"), List.of("n0", "n1"))) {
            for (Outcome outcome : List.of(Outcome.MEASURED, Outcome.FAILED)) {
                String why = outcome == Outcome.FAILED ? "RETRY_EXCEEDED" : null;
                double bandwidth = outcome == Outcome.FAILED ? Double.NaN : 96e9;
                Culprit cause = cause(
                        cells,
                        again("n3", partners.get(0), outcome, why, bandwidth),
                        again("n3", partners.get(1), outcome, why, bandwidth));

                assertThat(cause.evidence().text()).doesNotContain("confirmed");
                assertThat(cause.json().toString()).doesNotContain("confirmed");
                assertThat(cause.evidence().confirmation()).isEqualTo(Culprit.Confirmation.PART);
            }
        }
    }

    @Test
    void aPartnerWhosePairWasGoodSaysNothing() {
        List<PairLine> cells =
                matrix(12, 1, 0, (rail, from, to, good) -> from == 3 && to != 0 ? good.slower(0.43) : good);
        PairLine good = again("n3", "n0", Outcome.MEASURED, null, 95e9);
        PairLine bad = again("n3", "n1", Outcome.MEASURED, null, 41e9);

        assertThat(evidence(cells, good, bad)).doesNotContain("confirmed");
        assertThat(evidence(cells, good, bad, again("n3", "n2", Outcome.MEASURED, null, 41e9)))
                .endsWith("; confirmed with n1 and n2: 41 Gb/s");
    }

    @Test
    void aNodeIsConfirmedOnlyIfEachOfItsRailsIsKnown() {
        for (double second : new double[] {41e9, 96e9}) {
            List<PairLine> all =
                    new ArrayList<>(matrix(8, 2, 0, (rail, from, to, good) -> from == 3 ? good.slower(0.43) : good));
            all.add(again("n3", "n0", Outcome.MEASURED, null, 41e9));
            all.add(again("n3", "n1", Outcome.MEASURED, null, 41e9));
            all.add(again("rail1", "n3", "n0", Outcome.MEASURED, null, 100e9, second, Double.NaN));
            Culprits oneRail = Culprits.of(all);
            assertThat(names(oneRail)).containsExactly("node n3 out");
            assertThat(oneRail.causes().getFirst().evidence().text()).doesNotContain("confirmed");

            all.add(again("rail1", "n3", "n1", Outcome.MEASURED, null, 100e9, second, Double.NaN));
            assertThat(Culprits.of(all).causes().getFirst().evidence().text())
                    .contains(second < 50e9 ? "; confirmed with n0 and n1" : "; not confirmed with n0 and n1");
        }
    }

    @Test
    void aRailOnWhichEverythingFailedMakesNoPortANode() {
        assertThat(names(matrix(
                        8,
                        2,
                        0,
                        (rail, from, to, good) -> rail == 1
                                ? good.ended(Outcome.FAILED, "RETRY_EXCEEDED")
                                : from == 3 ? good.slower(0.43) : good)))
                .containsExactly("port n3 rail0 out");
    }

    /** The cells that were confirmed are others then. */
    @Test
    void aLaterFileWithCellsOfTheRailEndsWhatEarlierOnesConfirm() throws IOException {
        List<PairLine> again = List.of(
                again("n3", "n0", Outcome.MEASURED, null, 96e9), again("n3", "n1", Outcome.MEASURED, null, 96e9));
        List<PairLine> all = new ArrayList<>(slowSender());
        all.addAll(again);
        Path judged = file("judged.jsonl", all);
        Path cells = file("cells.jsonl", slowSender());
        Path other = file(
                "other.jsonl",
                matrix(8, 2, 0, (rail, from, to, good) -> good).stream()
                        .filter(cell -> cell.rail().equals("rail1"))
                        .toList());
        Path alone = file("alone.jsonl", again);

        assertThat(evidenceOf(judged, cells)).doesNotContain("confirmed");
        assertThat(evidenceOf(cells, judged)).endsWith("; not confirmed with n0 and n1: 96 Gb/s");
        assertThat(evidenceOf(judged, other)).endsWith("; not confirmed with n0 and n1: 96 Gb/s");
        assertThat(evidenceOf(judged, cells, alone)).endsWith("; not confirmed with n0 and n1: 96 Gb/s");
    }

    // ---- few round trips ----

    /** A median of one round trip is that round trip: a cell is no evidence by it, if others have more. */
    @ParameterizedTest
    @CsvSource({"1000, path n1 n2 rail0", "100, path n1 n2 rail0", "0, path n1 n2 rail0", "20, ''", "1, ''"})
    void aLatencyOfFewRoundTripsMakesNoPath(long samples, String named) {
        assertThat(names(matrix(
                        6,
                        1,
                        0,
                        (rail, from, to, good) ->
                                from == 1 && to == 2 ? good.later(8, 8).measuredBy(samples) : good)))
                .containsExactlyElementsOf(named.isEmpty() ? List.of() : List.of(named));
    }

    @ParameterizedTest
    @CsvSource({"1000, port n3 rail0 out", "0, port n3 rail0 out", "40, port n3 rail0 out", "1, ''"})
    void latenciesOfFewRoundTripsNeedALargerEffectForAPort(long samples, String named) {
        assertThat(names(matrix(
                        8,
                        1,
                        0,
                        (rail, from, to, good) -> from == 3 ? good.later(3, 3).measuredBy(samples) : good)))
                .containsExactlyElementsOf(named.isEmpty() ? List.of() : List.of(named));
    }

    /** The number of round trips says nothing of a bandwidth. */
    @Test
    void aBandwidthCountsFullyBesideFewRoundTrips() {
        assertThat(names(
                        matrix(8, 1, 0, (rail, from, to, good) -> (from == 3 ? good.slower(0.5) : good).measuredBy(1))))
                .containsExactly("port n3 rail0 out");
    }

    private Path file(String name, List<PairLine> lines) throws IOException {
        Path file = folder.resolve(name);
        try (PairsWriter writer = PairsWriter.create(file)) {
            for (PairLine line : lines) {
                writer.write(line);
            }
        }
        return file;
    }

    private static String evidenceOf(Path... files) throws IOException {
        Culprits culprits = Culprits.of(PairMatrix.read(List.of(files)));
        assertThat(names(culprits)).containsExactly("port n3 rail0 out");
        return culprits.causes().getFirst().evidence().text();
    }
}
