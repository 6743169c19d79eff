package io.rdmatest.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.bench.Contest.Sample;
import io.rdmatest.bench.RowResult.Verdict;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BenchTests {

    private static final Instant MEASURED = Instant.parse("2026-01-31T23:59:59Z");

    /** Speaks the values of both sides in order, and writes down who was asked. */
    private static final class Script implements Contest {

        private final Iterator<Double> theirs;
        private final Iterator<Double> ours;
        private final StringBuilder turns = new StringBuilder();
        private int repetitions = 20_000;

        Script(List<Double> theirs, List<Double> ours) {
            this.theirs = theirs.iterator();
            this.ours = ours.iterator();
        }

        @Override
        public Sample theirs() {
            turns.append('A');
            if (!theirs.hasNext()) {
                throw new NotMeasuredException("the program failed:\n it broke");
            }
            return new Sample(theirs.next(), Map.of());
        }

        @Override
        public Sample ours() {
            turns.append('B');
            if (!ours.hasNext()) {
                throw new AssertionError("byte 3 is wrong");
            }
            return new Sample(ours.next(), Map.of());
        }

        @Override
        public int repetitions() {
            return repetitions;
        }

        @Override
        public Map<String, Object> parameters() {
            return Map.of("sizeBytes", 64);
        }
    }

    private static BenchRow row(Target target, String... programs) {
        return new BenchRow("row", "what", "us", target, List.of(programs), context -> {
            throw new IllegalStateException("the test has a contest of its own");
        });
    }

    private static RowResult measure(Script script, BenchRow row, int pairs) throws InterruptedException {
        return measure(script, row, new Bench.Pairs(pairs, pairs));
    }

    private static RowResult measure(Script script, BenchRow row, Bench.Pairs pairs) throws InterruptedException {
        return new Bench(any -> script, () -> false, pairs, line -> {}, 1).measure(row);
    }

    @Test
    void severalRunsMakeOneSampleOfAllThatTheyDid() throws Exception {
        Script script = new Script(List.of(10.0, 30.0, 5.0, 5.0), List.of(20.0, 20.0, 40.0, 10.0));
        script.repetitions = 1000;
        AtomicBoolean cancelled = new AtomicBoolean();
        Contest contest = new Contest.Repeated(script, 2, cancelled::get);
        // As many messages at 10 a second as at 30 are at 15 a second together.
        assertThat(contest.theirs())
                .isEqualTo(new Sample(15, Map.of("runs", List.of(new Sample(10, Map.of()), new Sample(30, Map.of())))));
        assertThat(contest.ours().value()).isEqualTo(20);
        assertThat(contest.theirs().value()).isEqualTo(5);
        assertThat(contest.ours().value()).isEqualTo(16);
        assertThat(script.turns).hasToString("AABBAABB");
        assertThat(contest.repetitions()).isEqualTo(2000);
        assertThat(contest.parameters()).containsEntry("sizeBytes", 64).containsEntry("runsOfASample", 2);
        cancelled.set(true);
        assertThatThrownBy(contest::theirs).isInstanceOf(CancellationException.class);
        assertThat(script.turns).as("no run begins after that").hasToString("AABBAABB");
    }

    @Test
    void bothSidesTakeTurnsAfterTheWarmUpAndTheMedianOfTheRatiosIsJudged() throws InterruptedException {
        Script script = new Script(List.of(9.0, 10.0, 20.0, 10.0), List.of(90.0, 30.0, 11.0, 11.0, 20.0, 30.0));
        RowResult result = measure(script, row(Target.atMost(1.1)), 3);
        assertThat(script.turns).hasToString("ABBBABABAB");
        assertThat(result.pairs().stream().map(RowResult.Pair::ratio)).containsExactly(1.1, 1.0, 3.0);
        assertThat(result.ratios().median()).isEqualTo(1.1);
        assertThat(result.verdict()).as("of three pairs").isEqualTo(Verdict.UNDECIDED);
    }

    @Test
    void theWarmUpGoesOnUntilTheSameWasDoneOftenEnough() throws InterruptedException {
        Script script = new Script(List.of(10.0, 10.0), Collections.nCopies(6, 10.0));
        script.repetitions = 10_000;
        RowResult result = measure(script, row(Target.atMost(1)), 1);
        assertThat(script.turns).as("50,000 in five rounds").hasToString("ABBBBBAB");
        assertThat(result.pairs()).hasSize(1);
    }

    @Test
    void aTargetThatIsMissedIsMeasuredAndDoesNotHold() throws InterruptedException {
        RowResult result = measure(ratios(1.1, 1.1, 1.1, 1.1, 1.1), row(Target.atLeast(1.2)), 5);
        assertThat(result.isMeasured()).isTrue();
        BenchReport report = new BenchReport(MEASURED, List.of(result));
        assertThat(report.count(Verdict.MISSES)).isEqualTo(1);
        assertThat(report.lines().get(1)).contains("1.100", ">= 1.20").endsWith(" misses");
    }

    /** The warm-up takes one value of theirs and three of ours. */
    private static Script ratios(double... ratios) {
        List<Double> theirs = new ArrayList<>(List.of(1.0));
        List<Double> ours = new ArrayList<>(List.of(1.0, 1.0, 1.0));
        for (double ratio : ratios) {
            theirs.add(1.0);
            ours.add(ratio);
        }
        return new Script(theirs, ours);
    }

    @Test
    void aRowFarFromItsTargetIsDecidedByTheLeastPairs() throws InterruptedException {
        RowResult result =
                measure(ratios(0.8, 0.9, 0.7, 0.8, 0.99, 0.8), row(Target.atMost(1)), new Bench.Pairs(5, 15));
        assertThat(result.pairs()).hasSize(5);
        assertThat(result.json()).containsEntry("verdict", "holds");
        assertThat(result.line()).endsWith("holds");
    }

    @Test
    void aRowNearItsTargetIsMeasuredUntilItIsDecided() throws InterruptedException {
        RowResult result = measure(
                ratios(0.9, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1), row(Target.atMost(1)), new Bench.Pairs(5, 15));
        // 4 of 5, 5 of 6 and 6 of 7 are not enough, 7 of 8 are.
        assertThat(result.pairs()).hasSize(8);
        assertThat(result.verdict()).isEqualTo(Verdict.MISSES);
    }

    @Test
    void aRowAtItsTargetSaysThatItIsNotDecided() throws InterruptedException {
        RowResult result =
                measure(ratios(0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 0.9), row(Target.atMost(1)), new Bench.Pairs(5, 7));
        assertThat(result.pairs()).hasSize(7);
        assertThat(result.json()).containsEntry("verdict", "undecided");
        assertThat(result.line()).endsWith(" undecided");
        BenchReport report = new BenchReport(MEASURED, List.of(result));
        assertThat(report.count(Verdict.UNDECIDED)).isEqualTo(1);
        assertThat(report.count(Verdict.HOLDS)).isZero();
    }

    @Test
    void aProgramThatIsNotInstalledIsSaidInTheRow() throws InterruptedException {
        RowResult result = measure(new Script(List.of(), List.of()), row(Target.atMost(1), "ib_no_such_program"), 1);
        assertThat(result.isMeasured()).isFalse();
        assertThat(result.verdict()).isEqualTo(Verdict.NOT_MEASURED);
        assertThat(result.notMeasured()).contains("ib_no_such_program is not installed", "perftest");
    }

    @Test
    void aProgramThatFailsLaterLeavesNoHalfMeasuredRow() throws InterruptedException {
        Script script = new Script(List.of(1.0, 1.0), List.of(1.0, 1.0, 1.0, 1.0));
        RowResult result = measure(script, row(Target.atMost(1)), 2);
        assertThat(result.notMeasured()).isEqualTo("the program failed:; it broke");
        assertThat(result.pairs()).isEmpty();
        assertThat(result.parameters()).containsEntry("sizeBytes", 64);
        assertThat(new BenchReport(MEASURED, List.of(result)).lines().get(1)).contains("not measured", "it broke");
    }

    @Test
    void wrongDataOfOursIsSaidInTheRow() throws InterruptedException {
        RowResult result = measure(new Script(List.of(1.0), List.of()), row(Target.atMost(1)), 1);
        assertThat(result.notMeasured()).contains("byte 3 is wrong");
    }

    @Test
    void anInterruptionEndsTheBench() {
        Script script = new Script(List.of(1.0), List.of(1.0));
        Bench bench = new Bench(any -> script, () -> true, Bench.Pairs.DEFAULT, line -> {}, 1);
        assertThatThrownBy(() -> bench.measure(row(Target.atMost(1)))).isInstanceOf(CancellationException.class);
    }

    @Test
    void theFileHasEveryRow(@TempDir Path folder) throws Exception {
        RowResult measured = measure(
                new Script(List.of(10.0, 10.0, 10.0), List.of(5.0, 5.0, 5.0, 5.0, 10.0)), row(Target.atMost(1.05)), 2);
        RowResult not = measure(new Script(List.of(), List.of()), row(Target.atLeast(2)), 2);
        Path file = folder.resolve("bench.json");
        new BenchReport(MEASURED, List.of(measured, not)).write(file);
        JsonNode json = new ObjectMapper().readTree(file.toFile());
        List<String> names = new ArrayList<>();
        json.fieldNames().forEachRemaining(names::add);
        assertThat(names).containsExactly("measured", "rows");
        JsonNode first = json.get("rows").get(0);
        assertThat(first.get("name").asText()).isEqualTo("row");
        assertThat(first.get("ratio").asDouble()).isEqualTo(0.75);
        assertThat(first.get("target").asDouble()).isEqualTo(1.05);
        assertThat(first.get("verdict").asText()).isEqualTo("undecided");
        assertThat(first.get("pairs").size()).isEqualTo(2);
        assertThat(first.get("pairs").get(1).get("ratio").asDouble()).isEqualTo(1.0);
        JsonNode second = json.get("rows").get(1);
        assertThat(second.get("ratio").isNull()).isTrue();
        assertThat(second.get("verdict").asText()).isEqualTo("not measured");
        assertThat(second.get("pairs").size()).isZero();
        assertThat(second.get("notMeasured").asText()).contains("it broke");
        assertThat(folder).isDirectoryContaining("glob:**bench.json").isDirectoryNotContaining("glob:**.part");
    }

    @Test
    void everyRowOfTheTableIsThereOnce() {
        assertThat(BenchRow.all().stream().map(BenchRow::name))
                .doesNotHaveDuplicates()
                .contains(
                        "send-lat-64",
                        "write-lat-64",
                        "read-lat-64",
                        "send-bw-64k",
                        "read-bw-1m",
                        "send-rate-64",
                        "rping-verified",
                        "rstream-64-lat",
                        "rstream-1m-bw",
                        "rstream-verified-64k",
                        "rma-stream-4k-bw",
                        "rma-stream-verified-1m",
                        "ucmatose-1000",
                        "cmtime-1000",
                        "mckey");
    }
}
