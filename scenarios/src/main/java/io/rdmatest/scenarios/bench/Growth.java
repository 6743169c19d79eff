package io.rdmatest.scenarios.bench;

import io.rdmatest.scenarios.bench.GrowthResult.Point;
import io.rdmatest.scenarios.bench.GrowthResult.Round;
import io.rdmatest.scenarios.engine.RoleCancelledException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Measures what a unit of work costs when there is more of it: all amounts in turn, and that again, so that whatever changes
 * meanwhile on the host, or in what the compiler made of the work, meets each of them. Of the runs of an amount the time and
 * the memory in the middle count.
 */
public final class Growth {

    /** As many rounds as there are pairs of a row with a program. */
    private static final Bench.Pairs ROUNDS = Bench.Pairs.DEFAULT;

    /** After so long no other round is begun. */
    private static final Duration ENOUGH = Duration.ofSeconds(150);

    /** Runs of an amount in a round, of those that take less than {@link #SHORT} together. */
    private static final int RUNS = 3;

    private static final Duration SHORT = Duration.ofSeconds(3);

    /**
     * So long that what a connection needs is called 10,000 times, and is compiled: it then allocates less, and amounts of
     * which one was measured before and one after that are not to be compared.
     */
    private static final Duration LEAST_WARM_UP = Duration.ofSeconds(30);

    private static final Duration MOST_WARM_UP = Duration.ofSeconds(90);

    /** Does the work of a row, as much as is asked for. */
    @FunctionalInterface
    interface Work {
        Effort run(GrowthRow row, long work);
    }

    private final Work work;
    private final BooleanSupplier cancelled;
    private final Consumer<String> progress;
    private final LongSupplier compilerMillis;
    private final long leastWarmUpNanos;
    private final long mostWarmUpNanos;
    private final long enoughNanos;

    /**
     * Creates it.
     *
     * @param context the device and the limits
     * @param progress takes a line about each step
     */
    public Growth(BenchContext context, Consumer<String> progress) {
        this(
                (row, work) -> row.source().run(context, work),
                context.cancelled(),
                progress,
                CompilerThreads.OWN::millis,
                scaled(LEAST_WARM_UP, context),
                scaled(MOST_WARM_UP, context),
                scaled(ENOUGH, context));
    }

    Growth(
            Work work,
            BooleanSupplier cancelled,
            Consumer<String> progress,
            LongSupplier compilerMillis,
            Duration leastWarmUp,
            Duration mostWarmUp,
            Duration enough) {
        this.work = work;
        this.cancelled = cancelled;
        this.progress = progress;
        this.compilerMillis = compilerMillis;
        this.leastWarmUpNanos = leastWarmUp.toNanos();
        this.mostWarmUpNanos = mostWarmUp.toNanos();
        this.enoughNanos = enough.toNanos();
    }

    /** With a small scale a quick look is meant. */
    private static Duration scaled(Duration time, BenchContext context) {
        return Duration.ofNanos((long) (time.toNanos() * Math.min(1, context.scale())));
    }

    /**
     * Measures a row. One that cannot be measured has the reason in its result.
     *
     * @throws CancellationException if the bench is to end
     */
    public GrowthResult measure(GrowthRow row) {
        SortedMap<Long, List<Point>> runs = new TreeMap<>();
        try {
            progress.accept(row.name() + ": warming up");
            warmUp(row);
            long begin = System.nanoTime();
            List<Round> rounds = new ArrayList<>();
            GrowthResult result;
            do {
                List<Point> round = new ArrayList<>();
                for (long amount : row.work()) {
                    List<Point> now = runs(row, amount);
                    runs.computeIfAbsent(amount, each -> new ArrayList<>()).addAll(now);
                    round.add(Point.middle(now));
                    tell(row, round.getLast());
                }
                rounds.add(Round.of(row, round));
                result = new GrowthResult(row, points(runs), rounds, null, 0);
            } while (!ROUNDS.areEnough(rounds.size(), result.isDecided()) && System.nanoTime() - begin < enoughNanos);
            return result;
        } catch (CancellationException | RoleCancelledException e) {
            throw e;
        } catch (RuntimeException | AssertionError e) {
            // The other rows are measured all the same, and this one says why not.
            String sentence = NotMeasuredException.sentence(e);
            progress.accept(row.name() + ": not measured: " + sentence);
            return GrowthResult.notMeasured(row, points(runs), sentence);
        }
    }

    private void tell(GrowthRow row, Point point) {
        progress.accept(String.format(
                Locale.ROOT,
                "%s: %d: %.2f us, %.0f B allocated, %.0f B resident for each %s",
                row.name(),
                point.work(),
                point.nanos() / 1e3,
                point.allocatedBytes(),
                point.residentBytes(),
                row.unit()));
    }

    private static List<Point> points(SortedMap<Long, List<Point>> runs) {
        return runs.values().stream().map(Point::middle).toList();
    }

    /** Until a unit takes as long as before, with nothing compiled meanwhile. */
    private void warmUp(GrowthRow row) {
        // With work of which there is enough to compile what does it.
        long some = row.work().get(row.work().size() / 2);
        WarmUp warmUp = new WarmUp();
        long start = System.nanoTime();
        long elapsed;
        boolean over;
        do {
            CompilerWatch watch = new CompilerWatch(compilerMillis);
            double nanos = Point.of(some, run(row, some)).nanos();
            over = warmUp.add(nanos, watch.stop());
            elapsed = System.nanoTime() - start;
        } while (!(over && elapsed >= leastWarmUpNanos) && elapsed < mostWarmUpNanos);
    }

    private List<Point> runs(GrowthRow row, long amount) {
        List<Point> runs = new ArrayList<>();
        long begin = System.nanoTime();
        do {
            runs.add(Point.of(amount, run(row, amount)));
        } while (runs.size() < RUNS && System.nanoTime() - begin < SHORT.toNanos());
        return runs;
    }

    private Effort run(GrowthRow row, long amount) {
        if (cancelled.getAsBoolean()) {
            throw new CancellationException("the bench was ended before this row was measured");
        }
        return work.run(row, amount);
    }
}
