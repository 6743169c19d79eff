package io.rdmatest.scenarios.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Measures each row in JVMs of its own, and each {@link Bench.Pairs#least} pairs in another one. What the compiler makes of a
 * loop depends on what ran before, and is never quite the same: the pairs of one JVM are closer to each other than to those of
 * another. And a JVM that dies takes no other row with it.
 */
public final class BenchJvms {

    /** How many JVMs of a part may die before the row is not measured. */
    private static final int MOST_LOST = 2;

    /** What a JVM takes besides runs: its start, and the longest warm-up. */
    private static final Duration OVERHEAD = Duration.ofMinutes(3);

    /** The amounts of work that grows are the same on every host; in emulation the longest row takes ten minutes. */
    private static final Duration LONGEST_GROWTH = Duration.ofHours(1);

    /** How long a JVM may take to stop what it has started. */
    private static final Duration GRACE = Duration.ofSeconds(12);

    private static final int LOOK_MILLIS = 100;

    /** A status beyond this stands for a signal that ended the process, as shells have it. */
    private static final int BY_SIGNAL = 128;

    private final Launch launch;
    private final Bench.Pairs pairs;
    private final Duration step;
    private final BooleanSupplier cancelled;
    private final Consumer<String> progress;

    /** Says how a part of a row is measured in another JVM. */
    @FunctionalInterface
    public interface Launch {

        /**
         * Returns the command.
         *
         * @param row the name of the row
         * @param pairs how many are to be measured, if it is one of pairs
         * @param json the file for the {@link BenchReport}, which does not exist
         */
        List<String> command(String row, int pairs, Path json);
    }

    /**
     * Prepares the measurement.
     *
     * @param launch how a JVM is started
     * @param pairs how often each side is measured
     * @param step how long any one run of either side may take
     * @param cancelled whether the bench is to end
     * @param progress takes a line about each step
     */
    public BenchJvms(
            Launch launch, Bench.Pairs pairs, Duration step, BooleanSupplier cancelled, Consumer<String> progress) {
        this.launch = launch;
        this.pairs = pairs;
        this.step = step;
        this.cancelled = cancelled;
        this.progress = progress;
    }

    /**
     * Returns what such a JVM is to be started with besides what its bench was: a log of its pauses, and room for all that a run
     * allocates, so that there is none.
     *
     * @param json the file of its result; the log is beside it
     */
    public static List<String> options(Path json) {
        List<String> options = new ArrayList<>(PauseLog.options(json.resolveSibling("pauses.log")));
        // Shares of what there is: a host or a user with less memory gets a smaller heap, and no error.
        options.addAll(List.of("-XX:InitialRAMPercentage=20", "-XX:NewRatio=1"));
        return options;
    }

    /**
     * Measures a row. One that cannot be measured has the reason in its result.
     *
     * @throws IOException if no JVM can be started
     * @throws CancellationException if the bench is to end
     * @throws InterruptedException if this thread is interrupted
     */
    public RowResult measure(BenchRow row) throws IOException, InterruptedException {
        RowResult result = part(row, pairs.least());
        while (result.isMeasured() && !pairs.areEnough(row.target(), result.pairs())) {
            progress.accept(row.name() + ": not decided by " + result.pairs().size() + " pairs, in another JVM");
            result = result.and(part(
                    row, Math.min(pairs.least(), pairs.most() - result.pairs().size())));
        }
        return result;
    }

    /**
     * Measures a row of work that grows, in one JVM. One that cannot be measured has the reason in its result.
     *
     * @throws IOException if no JVM can be started
     * @throws CancellationException if the bench is to end
     * @throws InterruptedException if this thread is interrupted
     */
    public GrowthResult measure(GrowthRow row) throws IOException, InterruptedException {
        return inJvm(
                row.name(),
                1,
                LONGEST_GROWTH,
                (report, lost) ->
                        GrowthResult.of(row, report.path("growth").path(0)).withLostJvms(lost),
                (reason, lost) ->
                        GrowthResult.notMeasured(row, List.of(), reason).withLostJvms(lost));
    }

    private RowResult part(BenchRow row, int count) throws IOException, InterruptedException {
        return inJvm(
                row.name(),
                count,
                limit(count),
                (report, lost) -> RowResult.of(row, report.path("rows").path(0)).withLostJvms(lost),
                (reason, lost) -> RowResult.notMeasured(row, Map.of(), reason).withLostJvms(lost));
    }

    /**
     * Makes a result of what came of a JVM.
     *
     * @param <T> the report that it wrote, or why it wrote none
     * @param <R> the result
     */
    @FunctionalInterface
    private interface Making<T, R> {

        /**
         * Makes it.
         *
         * @param lost how many JVMs died before
         */
        R of(T what, int lost);
    }

    private <R> R inJvm(String row, int count, Duration limit, Making<JsonNode, R> measured, Making<String, R> not)
            throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("rdmatest-bench");
        Path file = folder.resolve("row.json");
        int lost = 0;
        try {
            while (true) {
                int status = run(launch.command(row, count, file), limit);
                if (Files.exists(file)) {
                    return measured.of(new ObjectMapper().readTree(file.toFile()), lost);
                }
                Bench.requireGoingOn(cancelled);
                String end = "its JVM ended with status " + status + " before it had measured it";
                if (status <= BY_SIGNAL) {
                    throw new NotMeasuredException(end);
                }
                lost++;
                if (lost > MOST_LOST) {
                    throw new NotMeasuredException(end + ", as " + MOST_LOST + " before it");
                }
                progress.accept(row + ": " + end + "; once more");
            }
        } catch (NotMeasuredException e) {
            String reason = NotMeasuredException.sentence(e);
            progress.accept(row + ": not measured: " + reason);
            return not.of(reason, lost);
        } finally {
            remove(folder);
        }
    }

    /** With what a JVM that died may have left in it. */
    private static void remove(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
        Files.delete(folder);
    }

    /** Far more than runs take, few or many to a sample; one that hangs ends at its own deadline, a step, long before. */
    private Duration limit(int count) {
        return OVERHEAD.plus(step.multipliedBy(3L * (count + Bench.MOST_COLD_PAIRS) + 5));
    }

    /** Runs it in a session of its own: so what it leaves behind, however it ends, can be told from everything else. */
    private int run(List<String> command, Duration limit) throws IOException, InterruptedException {
        List<String> inSession = new ArrayList<>(List.of("setsid"));
        inSession.addAll(command);
        Process process = new ProcessBuilder(inSession)
                .redirectInput(new File("/dev/null"))
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            long deadline = System.nanoTime() + limit.toNanos();
            while (!process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
                Bench.requireGoingOn(cancelled);
                if (System.nanoTime() - deadline >= 0) {
                    throw new NotMeasuredException("its JVM still runs after " + limit.toSeconds() + " s");
                }
            }
            return process.exitValue();
        } finally {
            end(process);
        }
    }

    /**
     * Lets a JVM that still runs stop its programs and release what it holds, which it does when it is asked to end, and kills
     * what is left of its process group: a program that goes on polling would slow down whatever is measured next.
     */
    private static void end(Process process) throws IOException {
        boolean interrupted = false;
        try {
            if (process.isAlive()) {
                process.destroy();
                interrupted = waits(process);
            }
        } finally {
            // A child of this JVM leads no process group, so setsid(1) does not fork, and its number is that of the
            // group.
            Process killing = new ProcessBuilder("sh", "-c", "kill -s KILL -- -" + process.pid())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            interrupted |= waits(killing);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for its end, but not for ever; tells whether this thread was interrupted. */
    private static boolean waits(Process process) {
        try {
            boolean ignored = process.waitFor(GRACE.toMillis(), TimeUnit.MILLISECONDS);
            return false;
        } catch (InterruptedException e) {
            return true;
        }
    }
}
