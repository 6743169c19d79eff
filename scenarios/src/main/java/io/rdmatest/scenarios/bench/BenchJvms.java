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

/**
 * Measures each row in JVMs of its own, and each {@link Bench.Pairs#least} pairs in another one. What the compiler makes of a
 * loop depends on what ran before, and is never quite the same: the pairs of one JVM are closer to each other than to those of
 * another. And a JVM that dies takes no other row with it.
 */
public final class BenchJvms {

    /** How many JVMs of a row may die before it is not measured. */
    private static final int MOST_LOST = 2;

    /** What a JVM takes besides runs: its start, and the longest warm-up. */
    private static final Duration OVERHEAD = Duration.ofMinutes(3);

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
         * @param pairs how many are to be measured
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
     * Measures a row. One that cannot be measured has the reason in its result.
     *
     * @throws IOException if no JVM can be started
     * @throws CancellationException if the bench is to end
     * @throws InterruptedException if this thread is interrupted
     */
    public RowResult measure(BenchRow row) throws IOException, InterruptedException {
        try {
            return parts(row);
        } catch (NotMeasuredException e) {
            return RowResult.notMeasured(row, Map.of(), NotMeasuredException.sentence(e));
        }
    }

    private RowResult parts(BenchRow row) throws IOException, InterruptedException {
        RowResult result = part(row, pairs.least());
        while (result.isMeasured() && result.pairs().size() < pairs.most() && !result.isDecided()) {
            progress.accept(row.name() + ": not decided by " + result.pairs().size() + " pairs, in another JVM");
            result = result.and(part(
                    row, Math.min(pairs.least(), pairs.most() - result.pairs().size())));
        }
        return result;
    }

    private RowResult part(BenchRow row, int count) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("rdmatest-bench");
        Path file = folder.resolve("row.json");
        try {
            for (int lost = 0; ; lost++) {
                int status = run(launch.command(row.name(), count, file), limit(count));
                if (Files.exists(file)) {
                    JsonNode rows = new ObjectMapper().readTree(file.toFile()).path("rows");
                    return RowResult.of(row, rows.path(0)).withLostJvms(lost);
                }
                requireGoingOn();
                String end = "its JVM ended with status " + status + " before it had measured it";
                if (status <= BY_SIGNAL || lost == MOST_LOST) {
                    throw new NotMeasuredException(end + (lost == 0 ? "" : ", as " + lost + " before it"));
                }
                progress.accept(row.name() + ": " + end + "; once more");
            }
        } finally {
            boolean ignored = Files.deleteIfExists(file);
            ignored = Files.deleteIfExists(folder);
        }
    }

    /** Of each pair both sides run once, of ucmatose's twice; its own deadlines are to be the first to come. */
    private Duration limit(int count) {
        return OVERHEAD.plus(step.multipliedBy(3L * count + 5));
    }

    private int run(List<String> command, Duration limit) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(new ArrayList<>(command))
                .redirectInput(new File("/dev/null"))
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            long deadline = System.nanoTime() + limit.toNanos();
            while (!process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
                requireGoingOn();
                if (System.nanoTime() - deadline >= 0) {
                    throw new NotMeasuredException("its JVM still runs after " + limit.toSeconds() + " s");
                }
            }
            return process.exitValue();
        } finally {
            end(process);
        }
    }

    private void requireGoingOn() {
        if (cancelled.getAsBoolean()) {
            throw new CancellationException("the bench was ended before this row was measured");
        }
    }

    /** Lets it stop its programs and release what it holds, which it does when it is asked to end. */
    private static void end(Process process) {
        if (!process.isAlive()) {
            return;
        }
        process.destroy();
        boolean interrupted = false;
        try {
            boolean ignored = process.waitFor(GRACE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            interrupted = true;
        }
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
