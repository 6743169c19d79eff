package io.rdmatest.scenarios.pairs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.fabric.FabricException;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AllPairsTests {

    private static final double FACTOR = 3;

    private static final double ANY = Double.POSITIVE_INFINITY;

    @Test
    void pairsOfARoundRunAtOnceAndNoNodeIsBusyTwice() throws Exception {
        int nodes = 6;
        Set<Integer> busy = ConcurrentHashMap.newKeySet();
        AtomicInteger calls = new AtomicInteger();
        // Each waits for the two others of its round.
        Map<Integer, CountDownLatch> rounds = new ConcurrentHashMap<>();

        Map<Pair, Cell> cells = AllPairs.run(nodes, FACTOR, ANY, pair -> {
            assertThat(busy.add(pair.server()) && busy.add(pair.client())).isTrue();
            CountDownLatch all =
                    rounds.computeIfAbsent(calls.getAndIncrement() / 3, round -> new CountDownLatch(nodes / 2));
            all.countDown();
            assertThat(all.await(1, TimeUnit.MINUTES)).isTrue();
            busy.remove(pair.server());
            busy.remove(pair.client());
            return 10;
        });

        assertThat(cells).hasSize(30);
        assertThat(cells.values()).allMatch(cell -> cell.verdict() == Verdict.GOOD && cell.attempts() == 1);
    }

    @Test
    void anOutlierGetsASecondTryBeforeItIsCalledBad() throws Exception {
        Pair slowOnce = new Pair(0, 3);
        Pair slow = new Pair(2, 1);
        AtomicInteger tries = new AtomicInteger();

        Map<Pair, Cell> cells = AllPairs.run(
                5,
                FACTOR,
                ANY,
                pair -> pair.equals(slow) || pair.equals(slowOnce) && tries.getAndIncrement() == 0 ? 40 : 10);

        assertThat(cells.get(slowOnce)).isEqualTo(new Cell(slowOnce, Verdict.GOOD, 10, 2, null));
        assertThat(cells.get(slow)).isEqualTo(new Cell(slow, Verdict.BAD, 40, 2, "4.00 times the median of all pairs"));
        assertThat(cells.values().stream().filter(cell -> cell.attempts() == 1)).hasSize(18);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5, 6})
    void oneSlowNodeIsFoundHoweverFewThereAre(int nodes) throws Exception {
        // Of two, only what one sends is slow: were both directions, there would be nothing to compare with.
        Map<Pair, Cell> cells = AllPairs.run(
                nodes, FACTOR, ANY, pair -> pair.client() == 0 || pair.server() == 0 && nodes > 2 ? 31 : 10);

        assertThat(cells.values())
                .allSatisfy(cell -> assertThat(cell.verdict())
                        .as(cell.toString())
                        .isEqualTo(cell.value() > 10 ? Verdict.BAD : Verdict.GOOD));
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5})
    void whatVariesByLessThanTheFactorIsGood(int nodes) throws Exception {
        AtomicInteger calls = new AtomicInteger();
        Map<Pair, Cell> cells = AllPairs.run(nodes, FACTOR, ANY, pair -> 10 + calls.getAndIncrement() % 3 * 9);

        assertThat(cells.values()).allMatch(cell -> cell.verdict() == Verdict.GOOD && cell.attempts() == 1);
    }

    @Test
    void whatIsSlowerThanDemandedIsBadHoweverTheOthersAre() throws Exception {
        Map<Pair, Cell> cells = AllPairs.run(3, FACTOR, 10, pair -> pair.equals(new Pair(0, 1)) ? 10 : 11);

        assertThat(cells.get(new Pair(0, 1))).isEqualTo(new Cell(new Pair(0, 1), Verdict.GOOD, 10, 1, null));
        assertThat(cells.values().stream().filter(cell -> cell.verdict() == Verdict.BAD))
                .hasSize(5)
                .allMatch(cell -> cell.attempts() == 2 && "11.00, at most 10.00".equals(cell.why()));
    }

    @Test
    void whatCouldNotBeMeasuredIsNotCalledBad() throws Exception {
        Map<Pair, Cell> cells = AllPairs.run(4, FACTOR, ANY, pair -> {
            if (pair.server() == 3 || pair.client() == 3) {
                throw new FabricException("node d is not reached");
            }
            if (pair.equals(new Pair(0, 1))) {
                throw new AssertionError("wrong bytes");
            }
            return 5;
        });

        assertThat(cells.values().stream().filter(cell -> cell.verdict() == Verdict.NOT_MEASURED))
                .hasSize(6)
                .allMatch(cell -> cell.attempts() == 2 && "node d is not reached".equals(cell.why()));
        assertThat(cells.values().stream().filter(cell -> cell.verdict() == Verdict.BAD))
                .extracting(Cell::pair, Cell::why)
                .containsExactly(org.assertj.core.groups.Tuple.tuple(new Pair(0, 1), "wrong bytes"));
    }

    @Test
    void nothingMeasuredIsNothingBad() throws Exception {
        Map<Pair, Cell> cells = AllPairs.run(3, FACTOR, ANY, pair -> {
            throw new FabricException("no node is reached");
        });

        assertThat(cells.values()).hasSize(6).allMatch(cell -> cell.verdict() == Verdict.NOT_MEASURED);
    }

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
    void anInterruptEndsTheMeasurementsToo() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch interrupted = new CountDownLatch(1);
        AtomicInteger thrown = new AtomicInteger();
        Thread runner = Thread.ofPlatform().start(() -> {
            try {
                AllPairs.run(2, FACTOR, ANY, pair -> {
                    begun.countDown();
                    try {
                        new CountDownLatch(1).await();
                    } catch (InterruptedException e) {
                        interrupted.countDown();
                        throw e;
                    }
                    return 1;
                });
            } catch (InterruptedException e) {
                thrown.incrementAndGet();
            }
        });
        assertThat(begun.await(1, TimeUnit.MINUTES)).isTrue();
        runner.interrupt();
        assertThat(runner.join(java.time.Duration.ofMinutes(1))).isTrue();
        assertThat(interrupted.await(0, TimeUnit.SECONDS)).isTrue();
        assertThat(thrown).hasValue(1);
    }

    @Test
    void theMatrixHasARowForEachClient() {
        Map<Pair, Cell> cells = Map.of(
                new Pair(0, 1), new Cell(new Pair(0, 1), Verdict.GOOD, 12.5, 1, null),
                new Pair(1, 0), new Cell(new Pair(1, 0), Verdict.NOT_MEASURED, Double.NaN, 2, "away"));

        assertThat(AllPairs.matrix(List.of("a", "b"), cells, "us").lines())
                .containsExactly(
                        "client \\ server, us",
                        "                       a           b",
                        "a                      -     unknown",
                        "b                  12.50           -");
    }

    @Test
    void aFactorThatTellsNothingIsRefused() {
        assertThatThrownBy(() -> AllPairs.run(2, 1, ANY, pair -> 1)).hasMessageContaining("above 1, not 1.0");
    }
}
