package io.rdmatest.bench;

import io.rdmatest.bench.Contest.Sample;
import io.rdmatest.bench.RowResult.Pair;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.role.RoleCancelledException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Measures rows: the C program and ours in turns, so that what changes on the host meets both alike.
 *
 * <p>Before the pairs each side runs untimed: the C program once, ours until the JVM has had time to compile it.
 */
final class Bench {

    /**
     * How often each side of a row is measured.
     *
     * @param least pairs in any case, at least 1
     * @param most pairs of a row that is {@linkplain RowResult#isDecided not decided} before, at least as many
     */
    record Pairs(int least, int most) {

        /** Enough for a verdict where the ratio is far from the target, and not without end where it is near. */
        static final Pairs DEFAULT = new Pairs(5, 15);

        /** Checks the numbers. */
        Pairs {
            if (least < 1 || most < least) {
                throw new IllegalArgumentException(
                        "A row is measured in at least 1 pair and in no more than the most, not in " + least + " to "
                                + most);
            }
        }

        /** Tells whether these are all that a row needs. */
        boolean areEnough(Target target, List<Pair> measured) {
            return measured.size() >= least && (measured.size() >= most || RowResult.isDecided(target, measured));
        }
    }

    /**
     * How often the same is done before it can be warm. The JVM compiles a loop that is entered once a run after 40,000 turns
     * of it in all runs; until then it is interpreted.
     */
    private static final long WARM_REPETITIONS = 50_000;

    /** What takes so long that it does not come to as many in this time is not a matter of the loop around it. */
    private static final Duration LONGEST_WARM_UP = Duration.ofSeconds(15);

    /** Runs of ours before the first pair. */
    private static final int LEAST_ROUNDS = 3;

    private final Function<BenchRow, Contest> contests;
    private final BooleanSupplier cancelled;
    private final Pairs pairs;
    private final Consumer<String> progress;
    /** How much of the warm-up there is: with few repetitions a quick look is meant. */
    private final double warming;

    /**
     * Creates a bench.
     *
     * @param context the device and the limits
     * @param pairs how often each side is measured
     * @param progress takes a line about each step
     */
    Bench(Contest.Context context, Pairs pairs, Consumer<String> progress) {
        this(row -> row.contest().open(context), context.cancelled(), pairs, progress, Math.min(1, context.scale()));
    }

    Bench(
            Function<BenchRow, Contest> contests,
            BooleanSupplier cancelled,
            Pairs pairs,
            Consumer<String> progress,
            double warming) {
        this.contests = contests;
        this.cancelled = cancelled;
        this.pairs = pairs;
        this.progress = progress;
        this.warming = warming;
    }

    /**
     * Measures a row. One that cannot be measured has the reason in its result.
     *
     * @throws CancellationException if the bench is to end
     * @throws InterruptedException if this thread is interrupted
     */
    RowResult measure(BenchRow row) throws InterruptedException {
        for (String program : row.programs()) {
            if (CProgram.find(program).isEmpty()) {
                return notMeasured(
                        row,
                        Map.of(),
                        new NotMeasuredException(
                                "the program " + program + " is not installed (Debian: apt-get install "
                                        + (program.startsWith("ib_") ? "perftest" : "rdmacm-utils") + ")"));
            }
        }
        Map<String, Object> parameters = new LinkedHashMap<>();
        try {
            Contest contest = contests.apply(row);
            try {
                return measure(row, contest);
            } finally {
                parameters.putAll(contest.parameters());
            }
        } catch (InterruptedException | CancellationException | RoleCancelledException e) {
            throw e;
        } catch (IOException | RuntimeException | AssertionError e) {
            // Ours failed, or what it stands on: the other rows are measured all the same, and this one says why not.
            return notMeasured(row, parameters, e);
        }
    }

    private RowResult measure(BenchRow row, Contest contest) throws IOException, InterruptedException {
        progress.accept(row.name() + ": warming up");
        Sample ignored = contest.theirs();
        warmUp(contest);
        List<Pair> measured = new ArrayList<>();
        while (!pairs.areEnough(row.target(), measured)) {
            requireGoingOn(cancelled);
            // Now, so that ours has room for what it allocates: connections, say.
            System.gc();
            Sample theirs = contest.theirs();
            requireGoingOn(cancelled);
            Pair pair = new Pair(theirs, contest.ours());
            measured.add(pair);
            progress.accept("%s: pair %d: ours %.3f, theirs %.3f %s, ratio %.3f"
                    .formatted(
                            row.name(),
                            measured.size(),
                            pair.ours().value(),
                            pair.theirs().value(),
                            row.unit(),
                            pair.ratio()));
        }
        return new RowResult(row, measured, contest.parameters(), null);
    }

    private void warmUp(Contest contest) throws IOException, InterruptedException {
        long start = System.nanoTime();
        long repetitions = 0;
        for (int round = 0;
                round < LEAST_ROUNDS
                        || (repetitions < WARM_REPETITIONS * warming
                                && System.nanoTime() - start < LONGEST_WARM_UP.toNanos() * warming);
                round++) {
            requireGoingOn(cancelled);
            Sample ignored = contest.ours();
            repetitions += contest.repetitions();
        }
    }

    static void requireGoingOn(BooleanSupplier cancelled) {
        if (cancelled.getAsBoolean()) {
            throw new CancellationException("the bench was ended before this row was measured");
        }
    }

    private RowResult notMeasured(BenchRow row, Map<String, Object> parameters, Throwable reason) {
        String sentence = NotMeasuredException.sentence(reason);
        progress.accept(row.name() + ": not measured: " + sentence);
        return new RowResult(row, List.of(), parameters, sentence);
    }
}
