package io.rdmatest.scenarios.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BenchTests {

    private static final Instant MEASURED = Instant.parse("2026-01-31T23:59:59Z");

    /** Speaks the values of both sides in order, and writes down who was asked. */
    private static final class Script implements Contest {

        private final Iterator<Double> theirs;
        private final Iterator<Double> ours;
        private final StringBuilder turns = new StringBuilder();
        private int repetitions;
        private boolean closed;

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

        @Override
        public void close() {
            closed = true;
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
        return new Bench(any -> script, () -> false, pairs, line -> {}, () -> 0, 1).measure(row);
    }

    @Test
    void severalRunsMakeOneSampleOfAllThatTheyDid() throws Exception {
        Script script = new Script(List.of(10.0, 30.0, 5.0, 5.0), List.of(20.0, 20.0, 40.0, 10.0));
        script.repetitions = 1000;
        AtomicBoolean cancelled = new AtomicBoolean();
        try (Contest contest = new RepeatedContest(script, 2, cancelled::get)) {
            // As many messages at 10 a second as at 30 are at 15 a second together.
            assertThat(contest.theirs())
                    .isEqualTo(new Sample(
                            15, Map.of("runs", List.of(new Sample(10, Map.of()), new Sample(30, Map.of())))));
            assertThat(contest.ours().value()).isEqualTo(20);
            assertThat(contest.theirs().value()).isEqualTo(5);
            assertThat(contest.ours().value()).isEqualTo(16);
            assertThat(script.turns).hasToString("AABBAABB");
            assertThat(contest.repetitions()).isEqualTo(2000);
            assertThat(contest.parameters()).containsEntry("sizeBytes", 64).containsEntry("runsOfASample", 2);
            cancelled.set(true);
            assertThatThrownBy(contest::theirs).isInstanceOf(CancellationException.class);
            assertThat(script.turns).as("no run begins after that").hasToString("AABBAABB");
            assertThat(script.closed).isFalse();
        }
        assertThat(script.closed).isTrue();
    }

    @Test
    void bothSidesTakeTurnsAfterTheWarmUpAndTheMedianOfTheRatiosIsJudged() throws InterruptedException {
        // Two rounds of ours are cold; three close ones end the warm-up.
        Script script =
                new Script(List.of(9.0, 10.0, 20.0, 10.0), List.of(90.0, 30.0, 11.0, 11.0, 11.0, 11.0, 20.0, 30.0));
        RowResult result = measure(script, row(Target.atMost(1.1)), 3);
        assertThat(script.turns).hasToString("ABBBBBABABAB");
        assertThat(result.pairs().stream().map(RowResult.Pair::ratio)).containsExactly(1.1, 1.0, 3.0);
        assertThat(result.ratios().median()).isEqualTo(1.1);
        assertThat(result.holds()).isTrue();
        assertThat(result.warm()).isTrue();
        assertThat(result.warmUpRounds()).isEqualTo(5);
        assertThat(script.closed).isTrue();
    }

    @Test
    void theWarmUpGoesOnUntilTheSameWasDoneOftenEnough() throws InterruptedException {
        Script script = new Script(List.of(10.0, 10.0), Collections.nCopies(6, 10.0));
        script.repetitions = 10_000;
        RowResult result = measure(script, row(Target.atMost(1)), 1);
        assertThat(script.turns)
                .as("50,000 in five rounds, though the third was as fast")
                .hasToString("ABBBBBAB");
        assertThat(result.warmUpRounds()).isEqualTo(5);
    }

    @Test
    void theWarmUpGoesOnWhileTheCompilerIsBusy() throws InterruptedException {
        Script script = new Script(List.of(10.0, 10.0), Collections.nCopies(6, 10.0));
        // Asked before and after each round: the compiler worked for a minute in the second one.
        Iterator<Long> millis = List.of(0L, 0L, 0L, 60_000L).iterator();
        RowResult result = new Bench(
                        any -> script,
                        () -> false,
                        new Bench.Pairs(1, 1),
                        line -> {},
                        () -> millis.hasNext() ? millis.next() : 60_000L,
                        1)
                .measure(row(Target.atMost(1)));
        assertThat(script.turns).hasToString("ABBBBBAB");
        assertThat(result.warm()).isTrue();
    }

    /** Asked before and after each of our runs: for these numbers of runs the compilers rest, for the others they work. */
    private static LongSupplier compilers(int resting, int working) {
        AtomicLong asked = new AtomicLong();
        return () -> {
            long runs = asked.getAndIncrement() / 2;
            // An hour in each run that they work in, which is more than any share of it.
            long after = asked.get() % 2 == 0 ? 1 : 0;
            return 3_600_000 * Math.clamp(runs + after - resting, 0, working);
        };
    }

    private static RowResult measure(Script script, LongSupplier compilers, int pairs) throws InterruptedException {
        return new Bench(any -> script, () -> false, new Bench.Pairs(pairs, pairs), line -> {}, compilers, 1)
                .measure(row(Target.atLeast(1)));
    }

    @Test
    void aPairInWhichTheJvmCompiledIsMeasuredAgainAndKept() throws InterruptedException {
        Script script = ratios(0.5, 0.75, 2, 3);
        RowResult result = measure(script, compilers(3, 2), 2);
        assertThat(script.turns).as("both sides, once more").hasToString("ABBBABABABAB");
        assertThat(result.pairs()).extracting(RowResult.Pair::ratio).containsExactly(2.0, 3.0);
        assertThat(result.coldPairs()).extracting(RowResult.Pair::ratio).containsExactly(0.5, 0.75);
        assertThat(result.coldPairs().getFirst().ours().details()).containsEntry("compilerMillis", 3_600_000L);
        assertThat(result.pairs().getFirst().ours().details()).containsEntry("compilerMillis", 0L);
        assertThat(result.ratios().min()).isEqualTo(2);
        assertThat((List<?>) result.json().get("coldPairs")).hasSize(2);
    }

    @Test
    void aJvmThatGoesOnCompilingIsNotWaitedForWithoutEnd() throws InterruptedException {
        RowResult result = measure(ratios(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), compilers(3, 100), 2);
        assertThat(result.coldPairs()).hasSize(5);
        assertThat(result.pairs()).extracting(RowResult.Pair::ratio).containsExactly(0.6, 0.7);
    }

    @Test
    void aTargetThatIsMissedIsMeasuredAndDoesNotHold() throws InterruptedException {
        RowResult result = measure(ratios(1.1, 1.1, 1.1, 1.1, 1.1), row(Target.atLeast(1.2)), 5);
        assertThat(result.isMeasured()).isTrue();
        assertThat(result.holds()).isFalse();
        BenchReport report = new BenchReport(MEASURED, List.of(result), List.of());
        assertThat(report.count(Verdict.MISSES)).isEqualTo(1);
        assertThat(report.lines().getLast()).contains("1.100", ">= 1.20").endsWith(" misses");
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
        assertThat(result.isDecided()).isTrue();
        assertThat(result.json()).containsEntry("decided", true).containsEntry("verdict", "holds");
        assertThat(result.line()).endsWith("holds");
    }

    @Test
    void aRowNearItsTargetIsMeasuredUntilItIsDecided() throws InterruptedException {
        RowResult result = measure(
                ratios(0.9, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1), row(Target.atMost(1)), new Bench.Pairs(5, 15));
        // 4 of 5, 5 of 6 and 6 of 7 are not enough, 7 of 8 are.
        assertThat(result.pairs()).hasSize(8);
        assertThat(result.isDecided()).isTrue();
        assertThat(result.holds()).isFalse();
        assertThat(result.verdict()).isEqualTo(Verdict.MISSES);
    }

    @Test
    void aRowAtItsTargetSaysThatItIsNotDecided() throws InterruptedException {
        RowResult result =
                measure(ratios(0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 0.9), row(Target.atMost(1)), new Bench.Pairs(5, 7));
        assertThat(result.pairs()).hasSize(7);
        assertThat(result.isDecided()).isFalse();
        assertThat(result.holds()).isTrue();
        assertThat(result.json())
                .containsEntry("holds", true)
                .containsEntry("decided", false)
                .containsEntry("verdict", "undecided");
        assertThat(result.line()).endsWith(" undecided");
        BenchReport report = new BenchReport(MEASURED, List.of(result), List.of());
        assertThat(report.count(Verdict.UNDECIDED)).isEqualTo(1);
        assertThat(report.count(Verdict.HOLDS)).isZero();
    }

    @Test
    void aProgramThatIsNotInstalledIsSaidInTheRow() throws InterruptedException {
        RowResult result = measure(new Script(List.of(), List.of()), row(Target.atMost(1), "ib_no_such_program"), 1);
        assertThat(result.isMeasured()).isFalse();
        assertThat(result.holds()).isFalse();
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
        assertThat(script.closed).isTrue();
        assertThat(new BenchReport(MEASURED, List.of(result), List.of()).lines().getLast())
                .contains("not measured", "it broke");
    }

    @Test
    void wrongDataOfOursIsSaidInTheRow() throws InterruptedException {
        RowResult result = measure(new Script(List.of(1.0), List.of()), row(Target.atMost(1)), 1);
        assertThat(result.notMeasured()).contains("byte 3 is wrong");
    }

    @Test
    void anInterruptionEndsTheBench() {
        Script script = new Script(List.of(1.0), List.of(1.0));
        Bench bench = new Bench(any -> script, () -> true, Bench.Pairs.DEFAULT, line -> {}, () -> 0, 1);
        assertThatThrownBy(() -> bench.measure(row(Target.atMost(1)))).isInstanceOf(CancellationException.class);
        assertThat(script.closed).isTrue();
    }

    @Test
    void theFileHasEveryRow(@TempDir Path folder) throws Exception {
        RowResult measured = measure(
                new Script(List.of(10.0, 10.0, 10.0), List.of(5.0, 5.0, 5.0, 5.0, 10.0)), row(Target.atMost(1.05)), 2);
        RowResult not = measure(new Script(List.of(), List.of()), row(Target.atLeast(2)), 2);
        Path file = folder.resolve("bench.json");
        new BenchReport(MEASURED, List.of(measured, not), List.of()).write(file);
        JsonNode json = new ObjectMapper().readTree(file.toFile());
        List<String> names = new ArrayList<>();
        json.fieldNames().forEachRemaining(names::add);
        assertThat(names).containsExactly("measured", "rows");
        JsonNode first = json.get("rows").get(0);
        assertThat(first.get("name").asText()).isEqualTo("row");
        assertThat(first.get("ratio").asDouble()).isEqualTo(0.75);
        assertThat(first.get("target").asDouble()).isEqualTo(1.05);
        assertThat(first.get("holds").asBoolean()).isTrue();
        assertThat(first.get("pairs").size()).isEqualTo(2);
        assertThat(first.get("pairs").get(1).get("ratio").asDouble()).isEqualTo(1.0);
        JsonNode second = json.get("rows").get(1);
        assertThat(second.get("ratio").isNull()).isTrue();
        assertThat(second.get("holds").asBoolean()).isFalse();
        assertThat(second.get("pairs").size()).isZero();
        assertThat(second.get("notMeasured").asText()).contains("it broke");
        assertThat(folder).isDirectoryContaining("glob:**bench.json").isDirectoryNotContaining("glob:**.part");
    }

    @Test
    void everyRowOfTheTableIsThereOnce() {
        assertThat(BenchRows.all().stream().map(BenchRow::name))
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
