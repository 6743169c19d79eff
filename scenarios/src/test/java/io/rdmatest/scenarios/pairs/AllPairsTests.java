package io.rdmatest.scenarios.pairs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.rdmatest.Cause;
import io.rdmatest.scenarios.pairs.AllPairs.Measurement;
import io.rdmatest.scenarios.pairs.AllPairs.Rules;
import io.rdmatest.scenarios.pairs.Cell.Outcome;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class AllPairsTests {

    private static final Rules RULES = new Rules(3, Double.POSITIVE_INFINITY, true);

    private static final Runnable NOTHING = () -> {};

    private static final IntFunction<@Nullable String> ALL = round -> null;

    /** A failure of a simulated node with a cause of its own. */
    private static final class Caused extends RuntimeException implements Cause.Carrier {

        private static final long serialVersionUID = 1L;

        private final Cause cause;

        Caused(Cause cause, String message) {
            super(message);
            this.cause = cause;
        }

        @Override
        public Cause rdmaCause() {
            return cause;
        }
    }

    /** A pair of nodes that are well, or slow, but measured to the end. */
    private static Sample quick(double p50) {
        return sample(p50, p50);
    }

    private static Sample sample(double p50, double p99) {
        return new Sample(p50, p99, p99, 200, new TreeMap<>(), new TreeMap<>());
    }

    private static Sample losing(double p50) {
        return new Sample(p50, p50, p50, 200, new TreeMap<>(Map.of("completer_retry_err", 47L)), new TreeMap<>());
    }

    private static long never() {
        return System.nanoTime() + Duration.ofHours(1).toNanos();
    }

    private static AllPairs ran(int nodes, Rules rules, Measurement measurement) throws InterruptedException {
        AllPairs all = new AllPairs(nodes, rules, measurement);
        all.run(never(), "1 h", ALL, NOTHING);
        return all;
    }

    private static Map<Pair, Cell> run(int nodes, Rules rules, Measurement measurement) throws InterruptedException {
        return byPair(ran(nodes, rules, measurement).cells());
    }

    private static Map<Pair, Cell> byPair(Collection<Cell> cells) {
        Map<Pair, Cell> map = new HashMap<>();
        cells.forEach(cell -> map.put(cell.pair(), cell));
        assertThat(map).hasSameSizeAs(cells);
        return map;
    }

    private static boolean has(Pair pair, int node) {
        return pair.server() == node || pair.client() == node;
    }

    /** The host was busy during the first attempts. The second one shows what is usual, and the other pair is slow beside that. */
    @Test
    void aPairThatOnlyASecondAttemptShowsToBeSlowGetsOneAsWell() throws Exception {
        Map<Pair, List<Double>> times =
                Map.of(new Pair(0, 1), List.of(11_000.0, 1_900.0), new Pair(1, 0), List.of(50_000.0, 1_800.0));
        Map<Pair, Integer> attempts = new ConcurrentHashMap<>();

        Map<Pair, Cell> cells =
                run(2, RULES, pair -> quick(times.get(pair).get(attempts.merge(pair, 1, Integer::sum) - 1)));

        assertThat(cells.values()).allMatch(cell -> cell.verdict() == Verdict.GOOD && cell.attempts() == 2);
    }

    @Test
    void aSlowNodeIsTriedAgainWithFiveOthersInEachDirection() throws Exception {
        Map<Pair, Integer> attempts = new ConcurrentHashMap<>();

        Map<Pair, Cell> cells = run(40, RULES, pair -> {
            attempts.merge(pair, 1, Integer::sum);
            return quick(has(pair, 7) ? 100 : 10);
        });

        assertThat(attempts.values().stream().filter(count -> count == 2)).hasSize(2 * AllPairs.SPEAK_FOR_OTHERS);
        assertThat(cells.values())
                .allMatch(cell -> cell.verdict() == (has(cell.pair(), 7) ? Verdict.BAD : Verdict.GOOD));
        assertThat(cells.values().stream().filter(cell -> has(cell.pair(), 7) && cell.attempts() == 1))
                .hasSize(2 * (39 - AllPairs.SPEAK_FOR_OTHERS))
                .allMatch(cell -> cell.reason()
                        .endsWith("(tried once: 5 other pairs of this %s showed the same twice)"
                                .formatted(cell.pair().server() == 7 ? "server" : "client")));
    }

    @Test
    void aNodeThatWasSlowForAWhileIsTriedAgainWithAll() throws Exception {
        Map<Pair, Integer> attempts = new ConcurrentHashMap<>();

        Map<Pair, Cell> cells =
                run(40, RULES, pair -> quick(attempts.merge(pair, 1, Integer::sum) == 1 && has(pair, 7) ? 100 : 10));

        assertThat(cells.values()).allMatch(cell -> cell.verdict() == Verdict.GOOD);
        assertThat(attempts.values().stream().filter(count -> count == 2)).hasSize(2 * 39);
    }

    @Test
    void roundsThatAreNotWantedHaveNoCellsAndAreTold() throws Exception {
        AllPairs all = new AllPairs(40, RULES, pair -> quick(has(pair, 7) ? 100 : 10));
        all.run(never(), "1 h", round -> round < 16 ? null : "as asked", NOTHING);

        assertThat(all.leftOut()).hasValue("62 of 78 rounds (as asked)");
        assertThat(all.cells()).hasSize(16 * 20).allMatch(cell -> cell.attempts() > 0);
        assertThat(all.cells().stream().filter(cell -> cell.verdict() == Verdict.BAD))
                .hasSize(16);
        assertThat(ran(4, RULES, pair -> quick(10)).leftOut()).isEmpty();
    }

    @Test
    void pairsOfARoundRunAtOnceAndNoNodeIsBusyTwice() throws Exception {
        int nodes = 6;
        Set<Integer> busy = ConcurrentHashMap.newKeySet();
        AtomicInteger calls = new AtomicInteger();
        // Each waits for the two others of its round.
        Map<Integer, CountDownLatch> rounds = new ConcurrentHashMap<>();

        Map<Pair, Cell> cells = run(nodes, RULES, pair -> {
            assertThat(busy.add(pair.server()) && busy.add(pair.client())).isTrue();
            CountDownLatch all =
                    rounds.computeIfAbsent(calls.getAndIncrement() / 3, round -> new CountDownLatch(nodes / 2));
            all.countDown();
            assertThat(all.await(1, TimeUnit.MINUTES)).isTrue();
            busy.remove(pair.server());
            busy.remove(pair.client());
            return quick(10);
        });

        assertThat(cells).hasSize(30);
        assertThat(cells.values()).allMatch(cell -> cell.verdict() == Verdict.GOOD && cell.attempts() == 1);
    }

    @Test
    void anOutlierGetsASecondTryBeforeItIsCalledBad() throws Exception {
        Pair slowOnce = new Pair(0, 3);
        Pair slow = new Pair(2, 1);
        AtomicInteger tries = new AtomicInteger();

        Map<Pair, Cell> cells = run(
                5,
                RULES,
                pair -> quick(pair.equals(slow) || pair.equals(slowOnce) && tries.getAndIncrement() == 0 ? 40 : 10));

        assertThat(cells.get(slowOnce))
                .isEqualTo(new Cell(
                        slowOnce, Verdict.GOOD, quick(10), 2, null, "4.00 times the median of all pairs", null));
        assertThat(cells.get(slow))
                .isEqualTo(new Cell(
                        slow,
                        Verdict.BAD,
                        quick(40),
                        2,
                        Cause.OUTLIER,
                        "4.00 times the median of all pairs",
                        "4.00 times the median of all pairs"));
        assertThat(cells.values().stream().filter(cell -> cell.attempts() == 1)).hasSize(18);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 6})
    void oneSlowNodeIsFoundHoweverFewThereAre(int nodes) throws Exception {
        // Of two, only what one sends is slow: were both directions, there would be nothing to compare with.
        Map<Pair, Cell> cells =
                run(nodes, RULES, pair -> quick(pair.client() == 0 || pair.server() == 0 && nodes > 2 ? 31 : 10));

        assertThat(cells.values())
                .allSatisfy(cell -> assertThat(cell.verdict())
                        .as(cell.toString())
                        .isEqualTo(cell.sample().p50() > 10 ? Verdict.BAD : Verdict.GOOD));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5})
    void whatVariesByLessThanTheFactorIsGood(int nodes) throws Exception {
        AtomicInteger calls = new AtomicInteger();
        Map<Pair, Cell> cells = run(nodes, RULES, pair -> quick(10 + calls.getAndIncrement() % 3 * 9));

        assertThat(cells.values()).allMatch(cell -> cell.verdict() == Verdict.GOOD && cell.attempts() == 1);
    }

    @Test
    void whatIsSlowerThanDemandedIsBadHoweverTheOthersAre() throws Exception {
        Map<Pair, Cell> cells = run(3, new Rules(3, 10, true), pair -> quick(pair.equals(new Pair(0, 1)) ? 10 : 11));

        assertThat(cells.get(new Pair(0, 1)))
                .isEqualTo(new Cell(new Pair(0, 1), Verdict.GOOD, quick(10), 1, null, null, null));
        assertThat(cells.values().stream().filter(cell -> cell.verdict() == Verdict.BAD))
                .hasSize(5)
                .allMatch(cell -> cell.attempts() == 2
                        && cell.cause() == Cause.THRESHOLD_MISSED
                        && "11.00, at most 10.00".equals(cell.reason()));
    }

    // ---- what is bad at once, what is not known ----

    static Stream<Throwable> failuresOfTheFabric() {
        return Stream.of(
                new AssertionError("wrong byte"),
                new Caused(Cause.WRONG_DATA, "wrong byte"),
                new Caused(Cause.REMOTE_ACCESS, "IBV_WC_REM_ACCESS_ERR"),
                new Caused(Cause.REJECTED, "rejected"));
    }

    /** The reproduction of a link that corrupts data once: the second attempt would have passed. */
    @ParameterizedTest
    @MethodSource("failuresOfTheFabric")
    void whatTheFabricDoesWrongOnceIsBadForGood(Throwable failure) throws Exception {
        Pair wrong = new Pair(3, 1);
        AtomicInteger tries = new AtomicInteger();

        Map<Pair, Cell> cells = run(4, RULES, pair -> {
            if (pair.equals(wrong) && tries.getAndIncrement() == 0) {
                throw thrown(failure);
            }
            return quick(10);
        });

        assertThat(tries).hasValue(1);
        assertThat(cells.get(wrong))
                .isEqualTo(new Cell(
                        wrong, Verdict.BAD, null, 1, Cause.of(failure), failure.getMessage(), failure.getMessage()));
        assertThat(cells.get(wrong).outcome()).isEqualTo(Outcome.FAILED);
        assertThat(cells.values().stream().filter(cell -> cell.verdict() == Verdict.GOOD))
                .hasSize(11);
    }

    private static RuntimeException thrown(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        return (RuntimeException) failure;
    }

    static Stream<Throwable> troubleOfTheHost() {
        return Stream.of(
                new OutOfMemoryError(
                        "unable to create native thread: possibly out of memory or process limits reached"),
                new Caused(Cause.OUT_OF_MEMORY, "ibv_reg_mr: ENOMEM (ulimit -l)"),
                new Caused(Cause.HOST_NOT_READY, "EMFILE"),
                new Caused(Cause.NODE_LOST, "node d ended"),
                new IllegalStateException("The role did not end within 12 s"));
    }

    @ParameterizedTest
    @MethodSource("troubleOfTheHost")
    void whatAHostLacksIsNotCalledBad(Throwable trouble) throws Exception {
        Map<Pair, Cell> cells = run(4, RULES, pair -> {
            if (pair.equals(new Pair(3, 2))) {
                throw thrown(trouble);
            }
            return quick(10);
        });

        Cell cell = cells.get(new Pair(3, 2));
        assertThat(cell.verdict()).isEqualTo(Verdict.NOT_MEASURED);
        assertThat(cell.outcome()).isEqualTo(Outcome.NOT_MEASURED);
        assertThat(cell.reason()).isEqualTo(trouble.getMessage());
        assertThat(cell.attempts()).isEqualTo(Cause.of(trouble).mayBeRetried() ? 2 : 1);
        assertThat(cells.values().stream().filter(other -> other.verdict() == Verdict.BAD))
                .isEmpty();
    }

    @Test
    void aNodeThatWasNotReachedOnceGetsASecondTry() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        Map<Pair, Cell> cells = run(3, RULES, pair -> {
            if (pair.equals(new Pair(0, 1)) && tries.getAndIncrement() == 0) {
                throw new Caused(Cause.NODE_LOST, "node a ended");
            }
            return quick(5);
        });

        assertThat(cells.get(new Pair(0, 1)))
                .isEqualTo(new Cell(new Pair(0, 1), Verdict.GOOD, quick(5), 2, null, "node a ended", null));
    }

    // ---- loss and tails ----

    @Test
    void aPairThatLosesPacketsTwiceIsBadThoughItsMedianIsLikeTheOthers() throws Exception {
        Map<Pair, Cell> cells = run(4, RULES, pair -> pair.equals(new Pair(2, 0)) ? losing(10) : quick(10));

        Cell cell = cells.get(new Pair(2, 0));
        assertThat(cell.attempts()).isEqualTo(2);
        assertThat(cell.verdict()).isEqualTo(Verdict.BAD);
        assertThat(cell.cause()).isEqualTo(Cause.COUNTERS);
        assertThat(cell.outcome()).isEqualTo(Outcome.MEASURED);
        assertThat(cell.reason()).isEqualTo("error counters increased: completer_retry_err +47 at the server");
        assertThat(cells.values().stream().filter(other -> other.verdict() == Verdict.BAD))
                .hasSize(1);
    }

    /** A symptom of a stall, and one of the fabric as well: only what shows twice is of the fabric. */
    static Stream<Measurement> symptoms() {
        return Stream.concat(
                Stream.of(pair -> losing(10), pair -> quick(100), pair -> sample(10, 1000)),
                failuresOfAStall().map(cause -> pair -> {
                    throw new Caused(cause, "no answer within 5 s");
                }));
    }

    /** Those that {@code CauseTests} lists, without what measured values show. */
    static Stream<Cause> failuresOfAStall() {
        return Stream.of(Cause.values())
                .filter(cause -> cause.verdict() == Cause.Verdict.FAILED && cause.mayBeRetried())
                .filter(cause -> cause != Cause.OUTLIER && cause != Cause.COUNTERS);
    }

    @ParameterizedTest
    @MethodSource("failuresOfAStall")
    void aPeerThatDoesNotAnswerTwiceIsBad(Cause cause) throws Exception {
        Pair silent = new Pair(2, 0);
        AtomicInteger tries = new AtomicInteger();
        Map<Pair, Cell> cells = run(4, RULES, pair -> {
            if (pair.equals(silent)) {
                // A path that loses all shows it by whichever step waits.
                throw new Caused(tries.getAndIncrement() == 0 ? Cause.TIMEOUT : cause, "no answer");
            }
            return quick(10);
        });

        assertThat(cells.get(silent))
                .isEqualTo(new Cell(silent, Verdict.BAD, null, 2, cause, "no answer", "no answer"));
        assertThat(cells.get(silent).outcome()).isEqualTo(Outcome.FAILED);
        assertThat(cells.values().stream().filter(cell -> cell.verdict() == Verdict.GOOD))
                .hasSize(11);
    }

    private static FailedAttemptException silent(Cause cause, HostStall.Delay delay) {
        return failed(cause, Double.NaN, 0, delay, null);
    }

    private static FailedAttemptException failed(
            Cause cause, double p50, long count, HostStall.Delay delay, @Nullable String pattern) {
        return new FailedAttemptException(
                new Caused(cause, "no answer"),
                new Sample(p50, p50, p50, count, Rates.NONE, new TreeMap<>(), new TreeMap<>(), delay),
                pattern);
    }

    @ParameterizedTest
    @MethodSource("failuresOfAStall")
    void aPeerWhoseHostStalledEachTimeIsNotMeasured(Cause cause) throws Exception {
        Pair stalled = new Pair(2, 0);
        HostStall.Delay late = new HostStall.Delay(2_100_000_000L, 2_200_000_000L, 12_000_000_000L);
        Map<Pair, Cell> cells = run(4, RULES, pair -> {
            if (pair.equals(stalled)) {
                throw silent(cause, late);
            }
            return quick(10);
        });

        assertThat(cells.get(stalled))
                .extracting(Cell::verdict, Cell::outcome, Cell::cause, Cell::attempts, Cell::reason)
                .containsExactly(
                        Verdict.NOT_MEASURED,
                        Outcome.NOT_MEASURED,
                        Cause.HOST_BUSY,
                        2,
                        "the host was busy: it ran the measurement up to 2100 ms late, and 2200 ms of 12000 ms in"
                                + " all; no answer");
    }

    @Test
    void aStallThatIsTooShortForTheFailureExplainsNothing() throws Exception {
        Map<Pair, Cell> cells = run(4, RULES, pair -> {
            if (pair.equals(new Pair(2, 0))) {
                throw silent(Cause.RETRY_EXCEEDED, new HostStall.Delay(900_000_000, 900_000_000, 12_000_000_000L));
            }
            return quick(10);
        });

        assertThat(cells.get(new Pair(2, 0)).verdict()).isEqualTo(Verdict.BAD);
        assertThat(cells.get(new Pair(2, 0)).cause()).isEqualTo(Cause.RETRY_EXCEEDED);
    }

    /** A stall explains no damaged data. */
    @Test
    void wrongDataIsBadAtOnceBesideAStall() throws Exception {
        Map<Pair, Cell> cells = run(4, RULES, pair -> {
            if (pair.equals(new Pair(2, 0))) {
                throw silent(Cause.WRONG_DATA, new HostStall.Delay(5_000_000_000L, 5_000_000_000L, 6_000_000_000L));
            }
            return quick(10);
        });

        assertThat(cells.get(new Pair(2, 0)).verdict()).isEqualTo(Verdict.BAD);
        assertThat(cells.get(new Pair(2, 0)).attempts()).isEqualTo(1);
    }

    /** RoCE packets above the MTU of a switch are lost, and small ones pass. */
    @Test
    void whereOnlySmallPacketsPassThePatternIsToldAndTheLatencyIsKept() throws Exception {
        Pair narrow = new Pair(2, 0);
        String pattern = "64 bytes pass, full packets don't: check the MTU of the switches on this path";
        Map<Pair, Cell> cells = run(4, RULES, pair -> {
            if (pair.equals(narrow)) {
                throw failed(Cause.RETRY_EXCEEDED, 11, 200, HostStall.Delay.NONE, pattern);
            }
            return quick(10);
        });

        Cell cell = cells.get(narrow);
        assertThat(cell)
                .extracting(Cell::verdict, Cell::outcome, Cell::cause, Cell::attempts, Cell::reason)
                .containsExactly(Verdict.BAD, Outcome.FAILED, Cause.RETRY_EXCEEDED, 2, pattern + "; no answer");
        assertThat(cell.sample().p50()).isEqualTo(11);
        assertThat(cell.sample().count()).isEqualTo(200);
    }

    @Test
    void aPathThatFailsOnceWithFullPacketsAndThenWorksIsGood() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        Map<Pair, Cell> cells = run(4, RULES, pair -> {
            if (pair.equals(new Pair(2, 0)) && tries.getAndIncrement() == 0) {
                throw failed(Cause.RETRY_EXCEEDED, 11, 200, HostStall.Delay.NONE, "full packets don't pass");
            }
            return quick(10);
        });

        assertThat(cells.get(new Pair(2, 0)).verdict()).isEqualTo(Verdict.GOOD);
    }

    @ParameterizedTest
    @MethodSource("symptoms")
    void aSymptomThatDoesNotShowAgainMakesNoPairBad(Measurement once) throws Exception {
        AtomicInteger tries = new AtomicInteger();
        Map<Pair, Cell> cells = run(
                4,
                RULES,
                pair -> pair.equals(new Pair(2, 0)) && tries.getAndIncrement() == 0 ? once.measure(pair) : quick(10));

        Cell cell = cells.get(new Pair(2, 0));
        assertThat(cell.verdict()).isEqualTo(Verdict.GOOD);
        assertThat(cell.attempts()).isEqualTo(2);
        assertThat(cell.firstReason()).isNotNull();
    }

    @Test
    void aThirdAttemptDecidesBetweenTwoThatDiffer() throws Exception {
        List<Sample> shown = List.of(quick(100), losing(10), quick(100));
        AtomicInteger tries = new AtomicInteger();
        Map<Pair, Cell> cells =
                run(4, RULES, pair -> pair.equals(new Pair(2, 0)) ? shown.get(tries.getAndIncrement()) : quick(10));

        assertThat(cells.get(new Pair(2, 0)).verdict()).isEqualTo(Verdict.BAD);
        assertThat(cells.get(new Pair(2, 0)).cause()).isEqualTo(Cause.OUTLIER);
        assertThat(cells.get(new Pair(2, 0)).attempts()).isEqualTo(3);
    }

    @Test
    void threeAttemptsThatDifferAreNotMeasured() throws Exception {
        List<Sample> shown = List.of(quick(100), losing(10), sample(10, 1000));
        AtomicInteger tries = new AtomicInteger();
        Map<Pair, Cell> cells =
                run(4, RULES, pair -> pair.equals(new Pair(2, 0)) ? shown.get(tries.getAndIncrement()) : quick(10));

        assertThat(cells.get(new Pair(2, 0)).verdict()).isEqualTo(Verdict.NOT_MEASURED);
        assertThat(cells.get(new Pair(2, 0)).outcome()).isEqualTo(Outcome.NOT_MEASURED);
        // No stall was measured.
        assertThat(cells.get(new Pair(2, 0)).cause()).isEqualTo(Cause.ATTEMPTS_DISAGREE);
        assertThat(cells.get(new Pair(2, 0)).reason())
                .isEqualTo(
                        "the attempts disagree: first 10.0 times the lower quartile of all pairs, then error counters"
                                + " increased: completer_retry_err +47 at the server, then its 99th percentile, 1000, is 100"
                                + " times its median");
    }

    @Test
    void aStallInOneOfThreeAttemptsThatDifferIsTheCause() throws Exception {
        HostStall.Delay late = new HostStall.Delay(2_100_000_000L, 2_200_000_000L, 12_000_000_000L);
        AtomicInteger tries = new AtomicInteger();
        Map<Pair, Cell> cells = run(4, RULES, pair -> {
            if (!pair.equals(new Pair(2, 0))) {
                return quick(10);
            }
            return switch (tries.getAndIncrement()) {
                case 0 -> quick(100);
                case 1 -> throw silent(Cause.TIMEOUT, late);
                default -> losing(10);
            };
        });

        assertThat(cells.get(new Pair(2, 0)).verdict()).isEqualTo(Verdict.NOT_MEASURED);
        assertThat(cells.get(new Pair(2, 0)).cause()).isEqualTo(Cause.HOST_BUSY);
        assertThat(cells.get(new Pair(2, 0)).reason()).startsWith("the attempts disagree: first 10.0 times the lower");
    }

    @Test
    void whatABusyHostShowsEachTimeIsNotMeasured() throws Exception {
        HostStall.Delay late = new HostStall.Delay(1_100_000_000, 1_200_000_000, 2_000_000_000);
        Map<Pair, Cell> cells = run(4, RULES, pair -> {
            Sample sample = pair.equals(new Pair(2, 0)) ? losing(10) : quick(10);
            return new Sample(
                    sample.p50(),
                    sample.p99(),
                    sample.max(),
                    sample.count(),
                    sample.rates(),
                    sample.serverErrors(),
                    sample.clientErrors(),
                    late);
        });

        Cell cell = cells.get(new Pair(2, 0));
        assertThat(cell.verdict()).isEqualTo(Verdict.NOT_MEASURED);
        assertThat(cell.cause()).isEqualTo(Cause.HOST_BUSY);
        assertThat(cell.reason())
                .isEqualTo("the host was busy: it ran the measurement up to 1100 ms late, and 1200 ms of"
                        + " 2000 ms in all; error counters increased: completer_retry_err +47 at the server");
        // What a busy host does not spoil is good.
        assertThat(cells.values().stream().filter(other -> other.verdict() == Verdict.GOOD))
                .hasSize(11);
    }

    @Test
    void countersThatAreNotJudgedMakeNoPairBad() throws Exception {
        Map<Pair, Cell> cells = run(2, new Rules(3, Double.POSITIVE_INFINITY, false), pair -> losing(10));

        assertThat(cells.values())
                .allMatch(cell -> cell.verdict() == Verdict.GOOD
                        && cell.sample().serverErrors().equals(Map.of("completer_retry_err", 47L)));
    }

    @Test
    void aLongTailIsBadIfItComesTwice() throws Exception {
        Pair twice = new Pair(0, 1);
        Pair once = new Pair(2, 3);
        AtomicInteger tries = new AtomicInteger();

        Map<Pair, Cell> cells = run(5, RULES, pair -> {
            boolean late = pair.equals(twice) || pair.equals(once) && tries.getAndIncrement() == 0;
            return late ? sample(10, 250) : sample(10, 200);
        });

        assertThat(cells.get(twice).verdict()).isEqualTo(Verdict.BAD);
        assertThat(cells.get(twice).reason()).isEqualTo("its 99th percentile, 250.0, is 25.0 times its median");
        assertThat(cells.get(once).verdict()).isEqualTo(Verdict.GOOD);
        assertThat(cells.get(once).firstReason()).contains("25.0 times its median");
        assertThat(cells.values().stream().filter(cell -> cell.verdict() == Verdict.BAD))
                .hasSize(1);
    }

    @Test
    void fewValuesHaveTheirLongestAsTail() {
        assertThat(new Sample(10, 20, 90, 100, new TreeMap<>(), new TreeMap<>()).tail())
                .isEqualTo(20);
        assertThat(new Sample(10, 20, 90, 99, new TreeMap<>(), new TreeMap<>()).tail())
                .isEqualTo(90);
    }

    // ---- bandwidth ----

    private static Sample rated(double p50, long count, Rates rates) {
        return new Sample(p50, p50, p50, count, rates, new TreeMap<>(), new TreeMap<>(), HostStall.Delay.NONE);
    }

    private static Sample moving(double bandwidth, double lineRate) {
        return rated(10, 200, new Rates(bandwidth, 1e6, lineRate));
    }

    /** Of two nodes too: one direction is held against the other. */
    @ParameterizedTest
    @ValueSource(ints = {2, 4, 5, 16})
    void aBandwidthBelowHalfOfWhatIsUsualIsBadIfItComesTwice(int nodes) throws Exception {
        AtomicInteger tries = new AtomicInteger();
        Map<Pair, Cell> cells = run(nodes, RULES, pair -> {
            boolean slow = pair.client() == 0;
            tries.addAndGet(slow ? 1 : 0);
            return moving(slow ? 40e9 : 96e9, 100e9);
        });

        assertThat(tries).hasValue(2 * (nodes - 1));
        assertThat(cells.values()).allSatisfy(cell -> {
            boolean slow = cell.pair().client() == 0;
            assertThat(cell.verdict()).isEqualTo(slow ? Verdict.BAD : Verdict.GOOD);
            assertThat(cell.cause()).isEqualTo(slow ? Cause.OUTLIER : null);
            if (slow) {
                assertThat(cell.reason())
                        .isEqualTo("40.00 Gb/s, 0.417 times the %s of all pairs"
                                .formatted(nodes < 5 ? "upper quartile" : "median"));
            }
        });
    }

    /** Two nodes of ten have ports of a quarter of the rate. */
    @Test
    void aPortOfALowerRateIsNoOutlier() throws Exception {
        assertThat(run(10, RULES, pair -> {
                            double rate = pair.client() < 2 || pair.server() < 2 ? 100e9 : 400e9;
                            return moving(0.97 * rate, rate);
                        })
                        .values())
                .allMatch(cell -> cell.verdict() == Verdict.GOOD && cell.attempts() == 1);
    }

    @Test
    void aBandwidthOfHalfIsNoOutlier() throws Exception {
        assertThat(run(2, RULES, pair -> moving(pair.client() == 0 ? 50e9 : 100e9, 100e9))
                        .values())
                .allMatch(cell -> cell.verdict() == Verdict.GOOD && cell.attempts() == 1);
    }

    @Test
    void aShareOfTheLineRateMayBeDemanded() throws Exception {
        Rules rules = new Rules(3, Double.POSITIVE_INFINITY, 0.9, true);
        Map<Pair, Cell> cells = run(2, rules, pair -> moving(pair.client() == 0 ? 89e9 : 90e9, 100e9));

        Cell slow = cells.get(new Pair(1, 0));
        assertThat(slow.verdict()).isEqualTo(Verdict.BAD);
        assertThat(slow.cause()).isEqualTo(Cause.THRESHOLD_MISSED);
        assertThat(slow.attempts()).isEqualTo(2);
        assertThat(slow.reason()).isEqualTo("89.00 Gb/s, 89.0 % of the line rate, at least 90.0 %");
        assertThat(cells.get(new Pair(0, 1)).verdict()).isEqualTo(Verdict.GOOD);
    }

    /** Software reports a rate that no wire has. */
    @Test
    void withoutALineRateNoShareIsJudged() throws Exception {
        Rules rules = new Rules(3, Double.POSITIVE_INFINITY, 0.9, true);

        assertThat(run(2, rules, pair -> moving(0.1e9, Double.NaN)).values())
                .allMatch(cell -> cell.verdict() == Verdict.GOOD);
    }

    @Test
    void moreThanTheLineRateIsAWrongMeasurement() throws Exception {
        Map<Pair, Cell> cells = run(2, RULES, pair -> moving(pair.client() == 0 ? 101e9 : 100e9, 100e9));

        Cell wrong = cells.get(new Pair(1, 0));
        assertThat(wrong.verdict()).isEqualTo(Verdict.NOT_MEASURED);
        assertThat(wrong.cause()).isEqualTo(Cause.DEFECT);
        assertThat(wrong.outcome()).isEqualTo(Outcome.NOT_MEASURED);
        assertThat(wrong.reason()).contains("101.0 Gb/s is above the line rate, 100.0 Gb/s");
        assertThat(cells.get(new Pair(0, 1)).verdict()).isEqualTo(Verdict.GOOD);
    }

    /** What was not measured is no outlier, and makes none. */
    @Test
    void bandwidthsAloneAreJudgedWithoutTimes() throws Exception {
        Map<Pair, Cell> cells = run(
                5, RULES, pair -> rated(Double.NaN, 0, new Rates(pair.client() == 0 ? 10e9 : 96e9, Double.NaN, 100e9)));

        assertThat(cells.values()).allMatch(cell -> (cell.pair().client() == 0) == (cell.cause() == Cause.OUTLIER));
    }

    // ---- telling ----

    @Test
    void eachAttemptIsToldAtOnceAndTheSecondOneIsHeldAgainstAll() throws Exception {
        Pair slow = new Pair(1, 0);
        List<Cell> told = new CopyOnWriteArrayList<>();
        List<Integer> toldBefore = new CopyOnWriteArrayList<>();
        AllPairs all = new AllPairs(
                5,
                RULES,
                pair -> {
                    if (pair.equals(slow)) {
                        toldBefore.add(told.size());
                    }
                    if (pair.equals(new Pair(2, 3))) {
                        throw new Caused(Cause.REMOTE_ACCESS, "no access");
                    }
                    return moving(pair.equals(slow) ? 40e9 : 96e9, 100e9);
                },
                told::add);
        all.run(never(), "1 h", ALL, NOTHING);

        assertThat(told).hasSize(21);
        assertThat(toldBefore).hasSize(2).last().isEqualTo(20);
        assertThat(told.stream().filter(cell -> cell.pair().equals(slow)))
                .extracting(Cell::attempts, Cell::cause)
                .containsExactly(tuple(1, null), tuple(2, Cause.OUTLIER));
        assertThat(told.stream().filter(cell -> cell.pair().equals(new Pair(2, 3))))
                .extracting(Cell::outcome, Cell::cause)
                .containsExactly(tuple(Outcome.FAILED, Cause.REMOTE_ACCESS));
    }

    // ---- nodes that are given up ----

    /** The case that a matrix of all pairs is for: it costs a few pairs of the one node, and no cell of the others. */
    @ParameterizedTest
    @ValueSource(ints = {4, 5, 16, 63})
    void aNodeThatReachesNobodyIsGivenUpAfterThreePairs(int nodes) throws Exception {
        int dead = nodes / 2;
        Set<Pair> tried = ConcurrentHashMap.newKeySet();
        AllPairs all = ran(nodes, RULES, pair -> {
            if (has(pair, dead)) {
                tried.add(pair);
                throw new Caused(Cause.UNREACHABLE, "no answer to the connection request");
            }
            return quick(10);
        });

        assertThat(tried).hasSize(3);
        assertThat(all.givenUp()).containsOnlyKeys(dead);
        assertThat(all.givenUp().get(dead))
                .isEqualTo("its pairs with 3 different nodes failed one after the other, the last one because:"
                        + " no answer to the connection request");
        assertThat(all.cells()).hasSize(nodes * (nodes - 1)).allSatisfy(cell -> {
            if (!has(cell.pair(), dead)) {
                assertThat(cell.verdict()).isEqualTo(Verdict.GOOD);
            } else if (tried.contains(cell.pair())) {
                assertThat(cell.verdict()).isEqualTo(Verdict.BAD);
            } else {
                assertThat(cell.verdict()).isEqualTo(Verdict.NOT_MEASURED);
                assertThat(cell.attempts()).isZero();
                assertThat(cell.reason()).startsWith("node given up: its pairs with 3 different nodes failed");
            }
        });
    }

    /** A dead node costs time beside a busy host as well, though nothing says then that the node is bad. */
    @Test
    void aNodeThatReachesNobodyBesideABusyHostIsGivenUpAndNotCalledBad() throws Exception {
        HostStall.Delay late = new HostStall.Delay(2_100_000_000L, 2_200_000_000L, 12_000_000_000L);
        AtomicInteger tries = new AtomicInteger();
        AllPairs all = ran(16, RULES, pair -> {
            if (has(pair, 5)) {
                tries.incrementAndGet();
                throw silent(Cause.TIMEOUT, late);
            }
            return quick(10);
        });

        assertThat(tries).hasValue(3);
        assertThat(all.givenUp()).containsOnlyKeys(5);
        assertThat(all.cells()).filteredOn(cell -> has(cell.pair(), 5)).allSatisfy(cell -> {
            assertThat(cell.verdict()).isEqualTo(Verdict.NOT_MEASURED);
            assertThat(cell.cause()).isNotEqualTo(Cause.GIVEN_UP);
        });
    }

    @Test
    void aNodeThatNoStallExplainsTwiceIsGivenUpAsBad() throws Exception {
        HostStall.Delay late = new HostStall.Delay(2_100_000_000L, 2_200_000_000L, 12_000_000_000L);
        AtomicInteger tries = new AtomicInteger();
        AllPairs all = ran(16, RULES, pair -> {
            if (has(pair, 5)) {
                throw silent(Cause.TIMEOUT, tries.getAndIncrement() == 0 ? late : HostStall.Delay.NONE);
            }
            return quick(10);
        });

        assertThat(all.givenUp()).containsOnlyKeys(5);
        assertThat(all.cells().stream().filter(cell -> cell.cause() == Cause.GIVEN_UP))
                .hasSize(27);
    }

    @Test
    void ofThreeNodesTheOneThatReachesNeitherIsNamed() throws Exception {
        AllPairs all = ran(3, RULES, pair -> {
            if (has(pair, 2)) {
                throw new Caused(Cause.UNREACHABLE, "no answer");
            }
            return quick(10);
        });

        assertThat(all.givenUp()).containsOnlyKeys(2);
        assertThat(byPair(all.cells()).get(new Pair(0, 1)).verdict()).isEqualTo(Verdict.GOOD);
    }

    @Test
    void ofTwoNodesBothDirectionsAreTried() throws Exception {
        AllPairs all = ran(2, RULES, pair -> {
            throw new Caused(Cause.UNREACHABLE, "no answer");
        });

        assertThat(all.givenUp()).isEmpty();
        assertThat(all.cells()).hasSize(2).allMatch(cell -> cell.verdict() == Verdict.BAD && cell.attempts() == 2);
    }

    /** A rack without power: the nodes that meet several of its nodes one after the other are well. */
    @Test
    void onlyTheNodesOfADeadRackAreGivenUp() throws Exception {
        AllPairs all = ran(64, RULES, pair -> {
            if (pair.server() / 16 == 2 || pair.client() / 16 == 2) {
                throw new Caused(Cause.UNREACHABLE, "no answer");
            }
            return quick(10);
        });

        assertThat(all.givenUp().keySet()).allMatch(node -> node / 16 == 2).hasSize(16);
        assertThat(all.cells())
                .filteredOn(
                        cell -> cell.pair().server() / 16 != 2 && cell.pair().client() / 16 != 2)
                .hasSize(48 * 47)
                .allMatch(cell -> cell.verdict() == Verdict.GOOD);
    }

    /** A fabric in two halves: no node is to blame, and the matrix shows the halves. */
    @Test
    void noNodeOfAFabricInTwoHalvesIsGivenUp() throws Exception {
        AllPairs all = ran(40, RULES, pair -> {
            if (pair.server() / 20 != pair.client() / 20) {
                throw new Caused(Cause.UNREACHABLE, "no answer");
            }
            return quick(10);
        });

        assertThat(all.givenUp()).isEmpty();
        assertThat(all.cells().stream().filter(cell -> cell.verdict() == Verdict.GOOD))
                .hasSize(2 * 20 * 19);
    }

    @Test
    void aNodeThatDiesInMidRunIsGivenUpAfterSixPairs() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        AtomicInteger failed = new AtomicInteger();
        AllPairs all = ran(16, RULES, pair -> {
            if (has(pair, 5) && calls.getAndIncrement() >= 10) {
                failed.incrementAndGet();
                throw new Caused(Cause.UNREACHABLE, "no answer");
            }
            return quick(10);
        });

        assertThat(all.givenUp()).containsOnlyKeys(5);
        assertThat(failed).hasValue(6);
    }

    /** Its cells are what shows how it is bad, and they cost little time. */
    @Test
    void aNodeThatLosesPacketsIsNotGivenUp() throws Exception {
        AllPairs all = ran(8, RULES, pair -> has(pair, 5) ? losing(10) : quick(10));

        assertThat(all.givenUp()).isEmpty();
        assertThat(all.cells()).allMatch(cell -> cell.outcome() == Outcome.MEASURED);
        assertThat(all.cells().stream().filter(cell -> cell.verdict() == Verdict.BAD))
                .hasSize(14)
                .allMatch(cell -> has(cell.pair(), 5) && cell.attempts() == 2);
    }

    @Test
    void whereNobodyReachesAnybodyTheRunEndsSoon() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        AllPairs all = ran(100, RULES, pair -> {
            calls.incrementAndGet();
            throw new Caused(Cause.UNREACHABLE, "no answer");
        });

        assertThat(calls).hasValue(3 * 50);
        assertThat(all.givenUp()).hasSize(100);
    }

    @Test
    void whatTheLaunchingHostLacksIsNoFaultOfANode() throws Exception {
        AllPairs all = ran(8, RULES, pair -> {
            if (has(pair, 5)) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            return quick(10);
        });

        assertThat(all.givenUp()).isEmpty();
    }

    @Test
    void aNodeThatIsGivenUpBeforehandIsNotMeasured() throws Exception {
        AllPairs all = new AllPairs(4, RULES, pair -> {
            assertThat(has(pair, 1)).isFalse();
            return quick(10);
        });
        all.giveUp(1, "it could not be started: ssh: no route to host");
        all.run(never(), "1 h", ALL, NOTHING);

        assertThat(all.cells().stream().filter(cell -> cell.verdict() == Verdict.NOT_MEASURED))
                .hasSize(6)
                .allMatch(
                        cell -> "node given up: it could not be started: ssh: no route to host".equals(cell.reason()));
        assertThat(all.cells().stream().filter(cell -> cell.verdict() == Verdict.GOOD))
                .hasSize(6);
    }

    // ---- the end ----

    @Test
    void secondTriesShareNoNodeAtOnce() {
        List<Pair> pairs = List.of(new Pair(0, 1), new Pair(0, 2), new Pair(2, 3), new Pair(1, 0), new Pair(4, 5));

        assertThat(AllPairs.disjoint(pairs))
                .containsExactly(
                        List.of(new Pair(0, 1), new Pair(2, 3), new Pair(4, 5)),
                        List.of(new Pair(0, 2)),
                        List.of(new Pair(1, 0)));
    }

    @Test
    void anInterruptEndsTheMeasurementsAndKeepsWhatWasMeasured() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        AtomicInteger thrown = new AtomicInteger();
        AtomicInteger calls = new AtomicInteger();
        // Two pairs of the first round, and one of the second, end.
        AllPairs all = new AllPairs(4, RULES, pair -> {
            if (calls.incrementAndGet() != 4) {
                return quick(10);
            }
            begun.countDown();
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                interrupted.countDown();
                throw new IllegalStateException(e);
            }
            return quick(1);
        });
        Thread runner = Thread.ofPlatform().start(() -> {
            try {
                all.run(never(), "1 h", ALL, NOTHING);
            } catch (InterruptedException e) {
                thrown.incrementAndGet();
            }
        });
        assertThat(begun.await(1, TimeUnit.MINUTES)).isTrue();
        runner.interrupt();
        assertThat(runner.join(Duration.ofMinutes(1))).isTrue();
        assertThat(interrupted.await(0, TimeUnit.SECONDS)).isTrue();
        assertThat(thrown).hasValue(1);
        assertThat(all.cells()).hasSize(12);
        assertThat(all.cells().stream().filter(cell -> cell.verdict() == Verdict.GOOD))
                .hasSize(3);
        assertThat(all.cells().stream()
                        .filter(cell -> cell.verdict() == Verdict.NOT_MEASURED)
                        .map(Cell::reason))
                .hasSize(9)
                .containsOnlyOnce("the run was interrupted")
                .contains("the run was interrupted before");
    }

    @Test
    void theTimeLimitEndsTheRoundsAndKeepsWhatWasMeasured() throws Exception {
        AllPairs all = new AllPairs(4, RULES, pair -> quick(10));
        AtomicInteger rounds = new AtomicInteger();
        long begin = System.nanoTime();
        // Two rounds fit.
        long deadline = begin + Duration.ofMillis(200).toNanos();
        all.run(deadline, "0 min", ALL, () -> {
            if (rounds.incrementAndGet() == 2) {
                while (System.nanoTime() - deadline < 0) {
                    Thread.onSpinWait();
                }
            }
        });

        assertThat(rounds).hasValueLessThanOrEqualTo(2);
        assertThat(all.cells().stream().filter(cell -> cell.verdict() == Verdict.NOT_MEASURED))
                .isNotEmpty()
                .allMatch(cell -> "the time limit of all pairs, 0 min, ended before".equals(cell.reason())
                        && cell.attempts() == 0);
        assertThat(all.cells().stream().filter(cell -> cell.verdict() == Verdict.GOOD))
                .hasSize(2 * rounds.get());
    }

    @Test
    void theMatrixHasARowForEachClient() {
        List<Cell> cells =
                List.of(cell(0, 1, Verdict.BAD, quick(65_140), "slow"), cell(1, 0, Verdict.NOT_MEASURED, null, "away"));

        assertThat(AllPairs.matrix(List.of("a", "b"), cells, "us", Sample::p50).lines())
                .containsExactly(
                        "client \\ server, us",
                        "                             a              b",
                        "a                            -        unknown",
                        "b                BAD 6.514e+04              -");
    }

    private static Cell cell(
            int server, int client, Verdict verdict, @Nullable Sample sample, @Nullable String reason) {
        return new Cell(new Pair(server, client), verdict, sample, 1, null, reason, reason);
    }

    @Test
    void aFactorThatTellsNothingIsRefused() {
        assertThatThrownBy(() -> new Rules(1, 10, true)).hasMessageContaining("above 1, not 1.0");
        assertThatThrownBy(() -> new Rules(3, 10, 1.1, true)).hasMessageContaining("from 0 to 1, not 1.1");
    }

    private static Cell cell(int server, int client, Verdict verdict) {
        return new Cell(new Pair(server, client), verdict, null, 1, null, null, null);
    }

    /** A bad node spoils the pairs of its partners, which says nothing about these. */
    @Test
    void partnersAreGoodAmongEachOther() {
        List<Cell> cells = List.of(
                cell(0, 1, Verdict.GOOD),
                cell(1, 0, Verdict.GOOD),
                cell(0, 2, Verdict.BAD),
                cell(2, 1, Verdict.BAD),
                cell(1, 3, Verdict.GOOD),
                cell(3, 4, Verdict.NOT_MEASURED),
                cell(5, 2, Verdict.GOOD));

        assertThat(AllPairs.goodPartners(cells, Set.of(2))).containsExactly(0, 1);
        // The pairs of 2 leave out 2, and not 0 and 1, which are good together.
        assertThat(AllPairs.goodPartners(cells, Set.of())).containsExactly(0, 1);
    }

    /** Each node of a fabric with noise may have a bad pair somewhere. */
    @Test
    void aBadPairElsewhereLeavesOutOneOfItsNodes() {
        List<Cell> cells = new ArrayList<>();
        for (int server = 0; server < 6; server++) {
            for (int client = 0; client < 6; client++) {
                if (server != client) {
                    boolean isBad = server == 0 && client == 1 || server == 3 && client == 2 || server == 5;
                    cells.add(cell(server, client, isBad ? Verdict.BAD : Verdict.GOOD));
                }
            }
        }

        assertThat(AllPairs.goodPartners(cells, Set.of(5)))
                .hasSize(3)
                .contains(4)
                .doesNotContain(5)
                .satisfies(good -> assertThat(cells)
                        .filteredOn(cell -> good.contains(cell.pair().server())
                                && good.contains(cell.pair().client()))
                        .extracting(Cell::verdict)
                        .containsOnly(Verdict.GOOD));
        // What 5 receives is bad: it is good with nobody.
        assertThat(AllPairs.goodPartners(cells, Set.of())).hasSize(3).doesNotContain(5);
        // The node with the bad pairs is left out, and not its partners.
        assertThat(AllPairs.goodPartners(
                        cells.stream()
                                .map(cell -> cell.pair().server() == 0
                                                || cell.pair().client() == 0
                                        ? cell(cell.pair().server(), cell.pair().client(), Verdict.BAD)
                                        : cell(cell.pair().server(), cell.pair().client(), Verdict.GOOD))
                                .toList(),
                        Set.of()))
                .containsExactly(1, 2, 3, 4, 5);
    }
}
