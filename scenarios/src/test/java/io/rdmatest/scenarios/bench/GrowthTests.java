package io.rdmatest.scenarios.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.scenarios.bench.GrowthResult.Point;
import io.rdmatest.scenarios.bench.GrowthResult.Round;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.LongFunction;
import java.util.function.LongSupplier;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GrowthTests {

    private static final Instant MEASURED = Instant.parse("2026-01-31T23:59:59Z");

    private static final Duration LONG = Duration.ofMinutes(1);

    private final List<String> said = new ArrayList<>();

    private static GrowthRow row() {
        return new GrowthRow("growth-x", "things", "thing", List.of(1L, 10L, 100L), 10, (context, work) -> {
            throw new AssertionError("the row's own work is not done here");
        });
    }

    private GrowthResult measure(BooleanSupplier cancelled, LongFunction<Effort> source) {
        return measure(cancelled, () -> 0, Duration.ZERO, LONG, source);
    }

    private GrowthResult measure(
            BooleanSupplier cancelled,
            LongSupplier compilerMillis,
            Duration least,
            Duration most,
            LongFunction<Effort> source) {
        // One round takes longer than that.
        return measure(cancelled, compilerMillis, least, most, Duration.ofNanos(1), source);
    }

    private GrowthResult measure(
            BooleanSupplier cancelled,
            LongSupplier compilerMillis,
            Duration least,
            Duration most,
            Duration enough,
            LongFunction<Effort> source) {
        return new Growth((row, work) -> source.apply(work), cancelled, said::add, compilerMillis, least, most, enough)
                .measure(row());
    }

    private static GrowthResult result(Point... points) {
        return rounds(List.of(), points);
    }

    private static GrowthResult rounds(List<Round> rounds, Point... points) {
        return new GrowthResult(row(), List.of(points), rounds, null, 0);
    }

    /** Rounds in which time grows so many times, and memory does not. */
    private static List<Round> growing(double... times) {
        return Arrays.stream(times).mapToObj(each -> new Round(each, 1)).toList();
    }

    @Test
    void theReportCountsItWithTheRows() {
        GrowthResult flat = result(new Point(10, 20, 8, 0), new Point(100, 20, 8, 0));
        GrowthResult grows = result(new Point(10, 20, 8, 0), new Point(100, 40, 8, 0));
        GrowthResult either = rounds(growing(1.2, 1.9), new Point(10, 20, 8, 0), new Point(100, 31, 8, 0));
        GrowthResult not = GrowthResult.notMeasured(row(), List.of(), "no device");
        BenchReport report = new BenchReport(MEASURED, List.of(), List.of(flat, grows, either, not));

        assertThat(report.rows()).isEqualTo(4);
        assertThat(report.count(Verdict.HOLDS)).isEqualTo(1);
        assertThat(report.count(Verdict.MISSES)).isEqualTo(1);
        assertThat(report.count(Verdict.UNDECIDED)).isEqualTo(1);
        assertThat(report.count(Verdict.NOT_MEASURED)).isEqualTo(1);
        assertThat(report.lines()).hasSize(4).last().asString().contains("not measured: no device");
        assertThat(report.json().get("growth"))
                .asInstanceOf(InstanceOfAssertFactories.LIST)
                .hasSize(4);
    }

    @Test
    void whatIsPaidOnceIsNotJudged() {
        GrowthResult flat = result(new Point(1, 100, 1, 0), new Point(10, 20, 8, 0), new Point(100, 29, 12, 0));

        assertThat(flat.growth()).isEqualTo(new Round(1.45, 1.5));
        assertThat(flat.holds()).isTrue();
    }

    @Test
    void timeOrMemoryThatGrowsIsTold() {
        assertThat(result(new Point(10, 20, 8, 0), new Point(100, 31, 8, 0)).holds())
                .isFalse();
        assertThat(result(new Point(10, 20, 8, 0), new Point(100, 20, 13, 0)).holds())
                .isFalse();
        // Less than a byte is nothing.
        assertThat(result(new Point(10, 20, 0, 0), new Point(100, 20, 2, 0)).holds())
                .isFalse();
        assertThat(result(new Point(10, 20, 0, 0), new Point(100, 20, 0.5, 0)).holds())
                .isTrue();
    }

    @ParameterizedTest
    @CsvSource({
        // Points that grow 1.55 times.
        "31, '', misses",
        "31, '1.6 1.7 1.8', misses",
        "31, '1.4 1.6 1.8', undecided",
        "31, '1.6 1.6 1.6 1.6 1.6', misses",
        "31, '1.6 1.6 1.6 1.6 1.6 1.5', undecided",
        "31, '1.6 1.6 1.6 1.6 1.6 1.6 1.6 1.5', misses",
        // Such rounds are possible, as points are those in the middle of all.
        "31, '1.4 1.4 1.4 1.4 1.4', undecided",
        "29, '1.4 1.4 1.4 1.4 1.4', holds",
        "29, '1.4 1.4 1.6 1.6 1.6', undecided"
    })
    void whereRoundsSayBothNothingIsDecided(double last, String times, String verdict) {
        double[] growth = Arrays.stream(times.split(" "))
                .filter(each -> !each.isEmpty())
                .mapToDouble(Double::parseDouble)
                .toArray();

        GrowthResult result = rounds(growing(growth), new Point(10, 20, 8, 0), new Point(100, last, 8, 0));

        assertThat(result.verdict()).hasToString(verdict);
        assertThat(result.json()).containsEntry("decided", !verdict.equals("undecided"));
    }

    @Test
    void whatARoundSaysIsSaidOfMemoryToo() {
        assertThat(new Round(1.5, 1.5).holds()).isTrue();
        assertThat(new Round(1, 1.51).holds()).isFalse();
        assertThat(new Round(1.51, 1).holds()).isFalse();
    }

    @Test
    void moreRoundsFollowAsLongAsTheyDisagree() {
        AtomicInteger runs = new AtomicInteger();
        // Three runs with 100 are a round; each second round grows twice.
        LongFunction<Effort> source = work -> {
            boolean grows = work == 100 && runs.getAndIncrement() / 3 % 2 == 1;
            return new Effort(work, grows ? 2 * work : work, 0, 0);
        };

        GrowthResult result = measure(() -> false, () -> 0, Duration.ZERO, LONG, LONG, source);

        assertThat(result.rounds()).hasSize(15).startsWith(new Round(1, 1), new Round(2, 1));
        assertThat(result.holds()).isTrue();
        assertThat(result.verdict()).isEqualTo(Verdict.UNDECIDED);
        assertThat(result.line()).contains("grows 1.00 times", "1.00 to 2.00 in 15 rounds", "undecided");
    }

    @Test
    void aRowOfWhichNothingIsJudgedIsRefused() {
        assertThatThrownBy(() -> new GrowthRow("x", "things", "thing", List.of(1L, 2L), 2, (context, work) -> {
                    throw new AssertionError();
                }))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void eachAmountOfWorkIsAPointByTheRunInTheMiddle() {
        List<Long> asked = new ArrayList<>();

        GrowthResult result = measure(() -> false, work -> {
            asked.add(work);
            // Of three runs with 100 the times are 300, 100, 200.
            long times = asked.stream().filter(each -> each == 100).count();
            return new Effort(work, work == 100 ? List.of(300L, 100L, 200L).get((int) times - 1) : work * 4, 0, 0);
        });

        assertThat(asked).containsExactly(10L, 10L, 10L, 1L, 1L, 1L, 10L, 10L, 10L, 100L, 100L, 100L);
        assertThat(result.points()).extracting(Point::nanos).containsExactly(4.0, 4.0, 2.0);
        assertThat(result.json()).containsEntry("timeGrowth", 1.0).containsEntry("holds", true);
        assertThat(result.line()).contains("0.00 at 100", "holds");
    }

    @Test
    void timeAndMemoryAreThoseInTheMiddleOfAllRoundsEachForItself() {
        AtomicInteger first = new AtomicInteger();
        GrowthResult result = measure(() -> false, () -> 0, Duration.ZERO, LONG, LONG, work -> {
            if (work == 1) {
                first.incrementAndGet();
            }
            // Three runs of each amount are a round. The second is compiled otherwise: quicker, but allocating more.
            return switch ((first.get() - 1) / 3) {
                case 0 -> new Effort(work, work * 4, work * 8, work);
                case 1 -> new Effort(work, work, work * 32, work * 7);
                case 2 -> new Effort(work, work * 3, work * 6, 0);
                case 3 -> new Effort(work, work * 2, work * 9, 0);
                default -> new Effort(work, work * 5, work * 10, 0);
            };
        });

        assertThat(first).as("five rounds that agree are enough").hasValue(15);
        assertThat(result.points()).extracting(Point::nanos).containsExactly(3.0, 3.0, 3.0);
        assertThat(result.points()).extracting(Point::allocatedBytes).containsExactly(9.0, 9.0, 9.0);
        assertThat(result.points()).extracting(Point::residentBytes).containsExactly(7.0, 7.0, 7.0);
    }

    @Test
    void theWarmUpGoesOnWhileAUnitGetsCheaperOrTheCompilerIsBusy() {
        List<Long> asked = new ArrayList<>();
        // Asked before and after each round: the compiler works for a minute in the fifth one.
        AtomicInteger questions = new AtomicInteger();
        LongSupplier compilerMillis = () -> questions.incrementAndGet() > 9 ? 60_000 : 0;
        GrowthResult result = measure(() -> false, compilerMillis, Duration.ZERO, LONG, work -> {
            asked.add(work);
            // The first two rounds are interpreted.
            return new Effort(work, asked.size() <= 2 ? work * 9 : work * 4, 0, 0);
        });

        assertThat(asked.stream().takeWhile(work -> work == 10))
                .as("two, two that are steady, one with the compiler, three that are steady and quiet")
                .hasSize(8);
        assertThat(result.points()).extracting(Point::nanos).containsExactly(4.0, 4.0, 4.0);
    }

    @Test
    void theWarmUpTakesItsLeastTimeHoweverSteadyItIs() {
        Duration least = Duration.ofMillis(50);
        List<Long> measuredAt = new ArrayList<>();
        long begin = System.nanoTime();
        GrowthResult result = measure(() -> false, () -> 0, least, LONG, work -> {
            // The first amount that is measured, and not the one of the warm-up.
            if (work == 1) {
                measuredAt.add(System.nanoTime());
            }
            return new Effort(work, work, 0, 0);
        });
        assertThat(measuredAt.getFirst() - begin).isGreaterThanOrEqualTo(least.toNanos());
        assertThat(result.isMeasured()).isTrue();
    }

    @Test
    void theWarmUpEndsAfterItsLongestTime() {
        List<Long> asked = new ArrayList<>();
        GrowthResult result = measure(() -> false, () -> 0, LONG, Duration.ZERO, work -> {
            asked.add(work);
            return new Effort(work, work, 0, 0);
        });
        assertThat(asked.stream().takeWhile(work -> work == 10)).hasSize(1);
        assertThat(result.isMeasured()).isTrue();
    }

    @Test
    void aWarmUpThatNeverSettlesEnds() {
        List<Long> asked = new ArrayList<>();
        GrowthResult result = measure(() -> false, work -> {
            asked.add(work);
            return new Effort(work, asked.size() % 2 == 0 ? work : work * 9, 0, 0);
        });
        assertThat(asked.stream().takeWhile(work -> work == 10)).hasSize(200);
        assertThat(result.points()).hasSize(3);
    }

    @Test
    void whatFailsHasItsReasonAndWhatWasMeasuredBefore() {
        GrowthResult result = measure(() -> false, work -> {
            if (work > 10) {
                throw new AssertionError("7 of 100 came up");
            }
            return new Effort(work, 1, 1, 1);
        });

        assertThat(result.isMeasured()).isFalse();
        assertThat(result.holds()).isFalse();
        assertThat(result.points()).hasSize(2);
        assertThat(result.json()).containsEntry("notMeasured", "AssertionError: 7 of 100 came up");
        assertThat(said).last().asString().contains("not measured", "7 of 100 came up");
    }

    @Test
    void whatIsCancelledEnds() {
        assertThatThrownBy(() -> measure(() -> true, work -> {
                    throw new AssertionError("it began");
                }))
                .isInstanceOf(CancellationException.class);
    }

    @Test
    void effortCountsWhatIsAllocated() {
        byte[][] kept = new byte[64][];

        Effort effort = Effort.of(64, () -> {
            for (int i = 0; i < kept.length; i++) {
                kept[i] = new byte[1 << 20];
            }
            return 5;
        });

        assertThat(effort.nanos()).isEqualTo(5);
        // What the tests beside this one allocate is counted as well: it is that of all threads.
        assertThat(effort.allocatedBytes()).isGreaterThanOrEqualTo(64L << 20);
        assertThat(effort.residentBytes()).isPositive();
        assertThat(kept[63]).hasSize(1 << 20);
    }
}
