package io.rdmatest.scenarios.bench;

import io.rdmatest.scenarios.bench.RowResult.Pair;
import io.rdmatest.scenarios.engine.RoleCancelledException;
import io.rdmatest.scenarios.interop.CProgram;
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
import java.util.function.LongSupplier;

/**
 * Measures rows: the C program and ours in turns, so that what changes on the host meets both alike.
 *
 * <p>Before the pairs each side runs untimed: the C program once, ours until its last rounds are close to each other.
 */
public final class Bench {

    /**
     * How often each side of a row is measured.
     *
     * @param least pairs in any case, at least 1
     * @param most pairs of a row that is {@linkplain RowResult#isDecided not decided} before, at least as many
     */
    public record Pairs(int least, int most) {

        /** Enough for a verdict where the ratio is far from the target, and not without end where it is near. */
        public static final Pairs DEFAULT = new Pairs(5, 15);

        /** Checks the numbers. */
        public Pairs {
            if (least < 1 || most < least) {
                throw new IllegalArgumentException(
                        "A row is measured in at least 1 pair and in no more than the most, not in " + least + " to "
                                + most);
            }
        }

        /** Tells whether these are all that a row needs. */
        boolean areEnough(Target target, List<Pair> measured) {
            return areEnough(measured.size(), RowResult.isDecided(target, measured));
        }

        /** Tells the same of so many, which decide about the row or do not. */
        boolean areEnough(int count, boolean decided) {
            return count >= least && (count >= most || decided);
        }
    }

    private static final Duration MOST_WARM_UP = Duration.ofSeconds(90);

    /**
     * How often the same is done before it can be warm. The JVM compiles a loop that is entered once a run after 40,000 turns
     * of it in all runs; until then rounds of interpreted code may well be as close to each other as any.
     */
    private static final long LEAST_REPETITIONS = 50_000;

    /** What takes so long that it does not come to as many in this time is not a matter of the loop around it. */
    private static final Duration LEAST_WARM_UP = Duration.ofSeconds(15);

    /**
     * A pair is measured again if the compilers had a processor for more than this share of ours: it then says how fast ours is
     * with less than the processors that the program had.
     */
    private static final double TOO_BUSY_COMPILER = 0.1;

    /** Pairs that one JVM measures again at most; later ones count whatever it compiles. */
    static final int MOST_COLD_PAIRS = 5;

    private final Function<BenchRow, Contest> contests;
    private final BooleanSupplier cancelled;
    private final Pairs pairs;
    private final Consumer<String> progress;
    private final LongSupplier compilerMillis;
    private final PauseLog pauses = PauseLog.ofThisJvm();
    /** How much of the warm-up there is: with few repetitions a quick look is meant. */
    private final double warming;

    /**
     * Creates a bench.
     *
     * @param context the device and the limits
     * @param pairs how often each side is measured
     * @param progress takes a line about each step
     */
    public Bench(BenchContext context, Pairs pairs, Consumer<String> progress) {
        this(
                row -> row.contest().open(context),
                context.cancelled(),
                pairs,
                progress,
                CompilerThreads.OWN::millis,
                Math.min(1, context.scale()));
    }

    Bench(
            Function<BenchRow, Contest> contests,
            BooleanSupplier cancelled,
            Pairs pairs,
            Consumer<String> progress,
            LongSupplier compilerMillis,
            double warming) {
        this.contests = contests;
        this.cancelled = cancelled;
        this.pairs = pairs;
        this.progress = progress;
        this.compilerMillis = compilerMillis;
        this.warming = warming;
    }

    /**
     * Measures a row. One that cannot be measured has the reason in its result.
     *
     * @throws CancellationException if the bench is to end
     * @throws InterruptedException if this thread is interrupted
     */
    public RowResult measure(BenchRow row) throws InterruptedException {
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
        try (Contest contest = contests.apply(row)) {
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
        WarmUp warmUp = warmUp(contest);
        List<Pair> measured = new ArrayList<>();
        List<Pair> cold = new ArrayList<>();
        while (!pairs.areEnough(row.target(), measured)) {
            requireGoingOn(cancelled);
            // Now, so that ours has room for what it allocates: connections, say.
            System.gc();
            Sample theirs = contest.theirs();
            requireGoingOn(cancelled);
            Run ours = ours(contest);
            Pair pair = new Pair(theirs, ours.sample());
            if (ours.compilers().share() > TOO_BUSY_COMPILER && cold.size() < MOST_COLD_PAIRS) {
                cold.add(pair);
                progress.accept("%s: ratio %.3f with the JVM's compilers busy for %.0f %% of the time, once more"
                        .formatted(
                                row.name(), pair.ratio(), 100 * ours.compilers().share()));
                continue;
            }
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
        RowResult.Jvm jvm = new RowResult.Jvm(measured.size(), warmUp.rounds(), warmUp.isSettled());
        return new RowResult(row, measured, cold, contest.parameters(), null, List.of(jvm), 0);
    }

    /**
     * A run of ours.
     *
     * @param sample what came of it
     * @param compilers what the JVM's compilers took of it
     */
    private record Run(Sample sample, CompilerWatch.Taken compilers) {}

    /** Runs ours, with set-up and end, and takes down whether the JVM paused or compiled meanwhile. */
    private Run ours(Contest contest) throws IOException, InterruptedException {
        long begin = System.nanoTime();
        CompilerWatch watch = new CompilerWatch(compilerMillis);
        Sample sample = contest.ours();
        CompilerWatch.Taken compilers = watch.stop();
        Map<String, Object> details = new LinkedHashMap<>(sample.details());
        pauses.put(details, begin, System.nanoTime());
        details.put("compilerMillis", compilers.millis());
        return new Run(new Sample(sample.value(), details), compilers);
    }

    private WarmUp warmUp(Contest contest) throws IOException, InterruptedException {
        WarmUp warmUp = new WarmUp();
        long start = System.nanoTime();
        boolean over;
        boolean exercised;
        do {
            requireGoingOn(cancelled);
            CompilerWatch watch = new CompilerWatch(compilerMillis);
            double value = contest.ours().value();
            over = warmUp.add(value, watch.stop());
            exercised = contest.repetitions() == 0
                    || (long) warmUp.rounds() * contest.repetitions() >= LEAST_REPETITIONS * warming
                    || System.nanoTime() - start >= LEAST_WARM_UP.toNanos() * warming;
        } while (!(over && exercised) && System.nanoTime() - start < MOST_WARM_UP.toNanos() * warming);
        return warmUp;
    }

    static void requireGoingOn(BooleanSupplier cancelled) {
        if (cancelled.getAsBoolean()) {
            throw new CancellationException("the bench was ended before this row was measured");
        }
    }

    private RowResult notMeasured(BenchRow row, Map<String, Object> parameters, Throwable reason) {
        String sentence = NotMeasuredException.sentence(reason);
        progress.accept(row.name() + ": not measured: " + sentence);
        return RowResult.notMeasured(row, parameters, sentence);
    }
}
