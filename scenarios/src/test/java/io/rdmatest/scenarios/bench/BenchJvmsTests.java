package io.rdmatest.scenarios.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.scenarios.bench.GrowthResult.Point;
import io.rdmatest.scenarios.bench.GrowthResult.Round;
import io.rdmatest.scenarios.bench.RowResult.Jvm;
import io.rdmatest.scenarios.bench.RowResult.Pair;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How the parts of a row are put together; what stands for its JVMs are other processes, which copy results or die. */
@Timeout(60)
class BenchJvmsTests {

    private static final Instant MEASURED = Instant.parse("2026-01-31T23:59:59Z");

    private static final BenchJvms.Launch DIES = (row, count, json) -> List.of("sh", "-c", "kill -KILL $$");
    private static final BenchJvms.Launch FAILS = (row, count, json) -> List.of("sh", "-c", "exit 3");
    private static final Duration STEP = Duration.ofSeconds(10);

    private static final BenchRow ROW = new BenchRow("row", "what", "us", Target.atMost(1), List.of(), context -> {
        throw new IllegalStateException("the test measures nothing");
    });

    private static final GrowthRow GROWTH =
            new GrowthRow("growth-x", "things", "thing", List.of(1L, 10L, 100L), 10, (context, work) -> {
                throw new IllegalStateException("the test measures nothing");
            });

    @TempDir
    private Path folder;

    private final List<Integer> asked = new ArrayList<>();
    private final List<String> told = new ArrayList<>();
    private final List<Path> folders = new ArrayList<>();

    /** A row with these ratios, of one JVM. */
    private static RowResult measured(double... ratios) {
        List<Pair> pairs = Arrays.stream(ratios)
                .mapToObj(ratio -> new Pair(
                        new Sample(2, Map.of("bytes", 64)),
                        new Sample(2 * ratio, Map.of("latencyUs", Map.of("p50", 1.5)))))
                .toList();
        return new RowResult(
                ROW,
                pairs,
                List.of(new Pair(new Sample(4, Map.of()), new Sample(ratios[0], Map.of("compilerMillis", 900)))),
                Map.of("sizeBytes", 64),
                null,
                List.of(new Jvm(ratios.length, 4, ratios[0] < 1)),
                0);
    }

    private static RowResult failed() {
        return RowResult.notMeasured(ROW, Map.of("sizeBytes", 64), "it broke");
    }

    /** A process that leaves this report behind. */
    private BenchJvms.Launch leaves(BenchReport report) {
        return (row, count, json) -> {
            Path made = folder.resolve("made-" + folders.size() + ".json");
            try {
                report.write(made);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            return List.of("cp", made.toString(), json.toString());
        };
    }

    private BenchJvms.Launch leaves(RowResult result) {
        return leaves(new BenchReport(MEASURED, List.of(result), List.of()));
    }

    private BenchJvms.Launch leaves(GrowthResult result) {
        return leaves(new BenchReport(MEASURED, List.of(), List.of(result)));
    }

    private BenchJvms.Launch leaves(double... ratios) {
        return leaves(measured(ratios));
    }

    /** Measures with these processes, one after the other. */
    private RowResult measure(Bench.Pairs pairs, BenchJvms.Launch... processes) throws Exception {
        Deque<BenchJvms.Launch> next = new ArrayDeque<>(List.of(processes));
        RowResult result = jvms("row", pairs, next).measure(ROW);
        assertThat(next).isEmpty();
        return result;
    }

    private GrowthResult measureGrowth(BenchJvms.Launch... processes) throws Exception {
        Deque<BenchJvms.Launch> next = new ArrayDeque<>(List.of(processes));
        GrowthResult result = jvms("growth-x", Bench.Pairs.DEFAULT, next).measure(GROWTH);
        assertThat(next).isEmpty();
        return result;
    }

    /** What starts these processes, one after the other. */
    private BenchJvms jvms(String name, Bench.Pairs pairs, Deque<BenchJvms.Launch> next) {
        BenchJvms.Launch launch = (row, count, json) -> {
            assertThat(row).isEqualTo(name);
            asked.add(count);
            folders.add(json.getParent());
            return next.removeFirst().command(row, count, json);
        };
        return new BenchJvms(launch, pairs, STEP, () -> false, told::add);
    }

    @AfterEach
    void noFolderIsLeft() {
        assertThat(folders).noneMatch(Files::exists);
    }

    @Test
    void aRowThatIsDecidedHasOneJvmAndAllThatItMeasured() throws Exception {
        RowResult made = measured(0.5, 0.75, 0.5, 0.5, 0.5);

        RowResult result = measure(new Bench.Pairs(5, 15), leaves(made));

        assertThat(result).isEqualTo(made);
        assertThat(result.json()).isEqualTo(made.json());
        assertThat(asked).containsExactly(5);
    }

    @Test
    void aRowThatIsNotGoesOnInOthers() throws Exception {
        RowResult result = measure(
                new Bench.Pairs(5, 12),
                leaves(0.5, 1.5, 0.5, 1.5, 0.5),
                leaves(1.5, 0.5, 0.5, 1.5, 0.5),
                leaves(0.5, 1.5));

        assertThat(asked).as("no more than there may be").containsExactly(5, 5, 2);
        assertThat(result.pairs())
                .extracting(Pair::ratio)
                .containsExactly(0.5, 1.5, 0.5, 1.5, 0.5, 1.5, 0.5, 0.5, 1.5, 0.5, 0.5, 1.5);
        assertThat(result.coldPairs()).extracting(Pair::ratio).containsExactly(0.125, 0.375, 0.125);
        assertThat(result.jvms()).containsExactly(new Jvm(5, 4, true), new Jvm(5, 4, false), new Jvm(2, 4, true));
        assertThat(result.warm()).as("in each").isFalse();
        assertThat(result.warmUpRounds()).isEqualTo(12);
        assertThat(result.isDecided()).isFalse();
        assertThat(told).hasSize(2).allMatch(line -> line.contains("not decided by"));
    }

    @Test
    void aJvmThatDiesIsReplacedAndCounted() throws Exception {
        RowResult result = measure(new Bench.Pairs(5, 5), DIES, DIES, leaves(0.5, 0.5, 0.5, 0.5, 0.5));

        assertThat(result.isMeasured()).isTrue();
        assertThat(result.lostJvms()).isEqualTo(2);
        assertThat(result.json()).containsEntry("lostJvms", 2);
        assertThat(told)
                .containsExactly(
                        "row: its JVM ended with status 137 before it had measured it; once more",
                        "row: its JVM ended with status 137 before it had measured it; once more");
    }

    @Test
    void aRowWhoseJvmsAllDieIsNotMeasured() throws Exception {
        RowResult result = measure(new Bench.Pairs(5, 5), DIES, DIES, DIES);

        assertThat(result.notMeasured())
                .isEqualTo("its JVM ended with status 137 before it had measured it, as 2 before it");
        assertThat(result.lostJvms()).isEqualTo(3);
        assertThat(told).hasSize(3).last().isEqualTo("row: not measured: " + result.notMeasured());
    }

    @Test
    void aJvmThatFailsIsNotReplaced() throws Exception {
        RowResult result = measure(new Bench.Pairs(5, 5), FAILS);

        assertThat(result.notMeasured()).isEqualTo("its JVM ended with status 3 before it had measured it");
        assertThat(result.lostJvms()).isZero();
        assertThat(told).containsExactly("row: not measured: " + result.notMeasured());
    }

    @Test
    void whatFailsInALaterPartLeavesNoHalfMeasuredRow() throws Exception {
        RowResult result = measure(new Bench.Pairs(2, 4), DIES, leaves(0.5, 1.5), DIES, leaves(failed()));

        assertThat(result.notMeasured()).isEqualTo("it broke");
        assertThat(result.pairs()).isEmpty();
        assertThat(result.parameters()).containsEntry("sizeBytes", 64);
        assertThat(result.lostJvms()).as("in both parts").isEqualTo(2);
        assertThat(result.json()).containsEntry("lostJvms", 2);
    }

    @Test
    void aJvmThatDiesWhileItWritesIsReplacedToo() throws Exception {
        BenchJvms.Launch writing =
                (row, count, json) -> List.of("sh", "-c", "echo '{' > \"$0.part\"; kill -KILL $$", json.toString());

        assertThat(measure(new Bench.Pairs(1, 1), writing, leaves(0.5)).lostJvms())
                .isOne();
    }

    @Test
    void whatAJvmThatDiedLeavesBehindIsKilled() throws Exception {
        Path number = folder.resolve("number");
        BenchJvms.Launch leaving = (row, count, json) ->
                List.of("sh", "-c", "sleep 1000 & echo $! > \"$0\"; kill -KILL $$", number.toString());

        assertThat(measure(new Bench.Pairs(1, 1), leaving, leaves(0.5)).isMeasured())
                .isTrue();

        Path state = Path.of("/proc", Files.readString(number).strip(), "stat");
        Awaitility.await().atMost(STEP).until(() -> !runs(state));
    }

    @Test
    void workThatGrowsHasAJvmOfItsOwnToo() throws Exception {
        GrowthResult made = new GrowthResult(
                GROWTH,
                List.of(new Point(1, 900.5, 64, 0), new Point(10, 20.25, 8, 3), new Point(100, 40.5, 8, 2.5)),
                List.of(new Round(2, 1), new Round(1.75, 1.25)),
                null,
                0);

        GrowthResult result = measureGrowth(DIES, leaves(made));

        assertThat(result.points()).isEqualTo(made.points());
        assertThat(result.rounds()).isEqualTo(made.rounds());
        assertThat(result.growth()).isEqualTo(new Round(2, 1));
        assertThat(result.verdict()).isEqualTo(Verdict.MISSES);
        assertThat(result.lostJvms()).isOne();
        assertThat(result.json()).containsEntry("lostJvms", 1);
        assertThat(told)
                .containsExactly("growth-x: its JVM ended with status 137 before it had measured it; once more");
    }

    @Test
    void workThatFailsThereSaysWhyAndWhatWasMeasuredBefore() throws Exception {
        GrowthResult made = GrowthResult.notMeasured(GROWTH, List.of(new Point(1, 900, 64, 0)), "7 of 10 came up");

        assertThat(measureGrowth(leaves(made))).isEqualTo(made);
    }

    @Test
    void workWhoseJvmsAllDieIsNotMeasured() throws Exception {
        GrowthResult result = measureGrowth(DIES, DIES, DIES);

        assertThat(result.notMeasured())
                .isEqualTo("its JVM ended with status 137 before it had measured it, as 2 before it");
        assertThat(result.points()).isEmpty();
        assertThat(result.lostJvms()).isEqualTo(3);
    }

    @Test
    void theResultOfAnotherRowIsRefused() {
        GrowthResult other = GrowthResult.notMeasured(
                new GrowthRow("growth-y", "things", "thing", List.of(1L, 10L), 1, (context, work) -> {
                    throw new IllegalStateException("the test measures nothing");
                }),
                List.of(),
                "it broke");

        assertThatThrownBy(() -> measureGrowth(leaves(other)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("not of the row growth-x");
    }

    /** Whether the process of this file is there; one that only waits for its parent to take note of its end is not. */
    private static boolean runs(Path stat) {
        try {
            return !Files.readString(stat).contains(") Z ");
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void anInterruptionEndsTheJvmToo() {
        List<ProcessHandle> before = ProcessHandle.current().children().toList();
        BenchJvms jvms = new BenchJvms(
                (row, count, json) -> List.of("sleep", "1000"), Bench.Pairs.DEFAULT, STEP, () -> true, told::add);

        assertThatThrownBy(() -> jvms.measure(ROW)).isInstanceOf(CancellationException.class);
        assertThat(ProcessHandle.current().children().filter(child -> !before.contains(child)))
                .noneMatch(child -> child.info().command().orElse("").endsWith("sleep"));
    }
}
