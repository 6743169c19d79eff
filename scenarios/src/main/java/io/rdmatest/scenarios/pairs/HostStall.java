package io.rdmatest.scenarios.pairs;

import io.rdmatest.Deadline;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * Measures for how long the host kept this process from running: a thread parks for 10 ms again and again, and the time beyond that
 * is the host's own delay. It runs beside a measurement, until it is closed. Steal of a hypervisor, other processes and pauses of
 * the JVM look alike, and none of them is the fabric's. The steal that the kernel counts is a second witness, which sees all processors.
 */
public final class HostStall implements AutoCloseable {

    private static final long STEP_NANOS = 10_000_000;

    private static final Path STAT = Path.of("/proc/stat");

    /** The unit of /proc/stat, proc_stat(5): USER_HZ is 100 on Linux. */
    private static final long TICK_NANOS = 10_000_000;

    /** The member of a line of /proc/stat that has the time stolen by a hypervisor. */
    private static final int STEAL = 8;

    /** How long the last step may take on a host that is almost stuck. */
    private static final Duration JOIN = Duration.ofMinutes(1);

    private final Thread thread;
    private final long begin = System.nanoTime();
    private final long stolenBefore = stolen();
    private volatile boolean ended;
    private long longest;
    private long total;

    private HostStall() {
        thread = Thread.ofPlatform().daemon().name("host-stall").unstarted(this::watch);
    }

    /** Begins to measure. */
    public static HostStall begin() {
        HostStall stall = new HostStall();
        stall.thread.start();
        return stall;
    }

    private void watch() {
        long before = System.nanoTime();
        while (!ended) {
            LockSupport.parkNanos(STEP_NANOS);
            long now = System.nanoTime();
            note(now - before - STEP_NANOS);
            before = now;
        }
    }

    private void note(long delay) {
        if (delay > 0) {
            total += delay;
            longest = Math.max(longest, delay);
        }
    }

    /** Ends the measurement and returns it. */
    public Delay end() {
        close();
        return new Delay(longest, Math.max(total, stolen() - stolenBefore), System.nanoTime() - begin);
    }

    /** Returns the time that a hypervisor took from each processor so far, in nanoseconds; 0 if it is not known. */
    private static long stolen() {
        try (Stream<String> lines = Files.lines(STAT)) {
            return stolen(lines.takeWhile(line -> line.startsWith("cpu")).toList());
        } catch (IOException | UncheckedIOException e) {
            // Another system than Linux: the thread alone is the witness.
            return 0;
        }
    }

    /**
     * Returns the stolen time of a processor.
     *
     * @param lines the lines of /proc/stat that begin with {@code cpu}: that of all processors, then one for each
     */
    static long stolen(List<String> lines) {
        String[] all = lines.isEmpty() ? new String[0] : lines.getFirst().split(" +");
        return lines.size() < 2 || all.length <= STEAL || !all[STEAL].matches("\\d{1,12}")
                ? 0
                : Long.parseLong(all[STEAL]) * TICK_NANOS / (lines.size() - 1);
    }

    /** Ends the measurement. The thread ends at its next step. */
    @Override
    public void close() {
        ended = true;
        LockSupport.unpark(thread);
        boolean ignored = Deadline.after(JOIN).join(thread, () -> {});
    }

    /**
     * The delay of a host during a measurement.
     *
     * @param longest the longest delay in nanoseconds
     * @param total the sum of all delays in nanoseconds, or the time stolen from each processor if that is more
     * @param elapsed how long was measured, in nanoseconds
     */
    public record Delay(long longest, long total, long elapsed) {

        /** Nothing was measured, or the host was never late. */
        public static final Delay NONE = new Delay(0, 0, 0);

        /** Returns the worse of two hosts in each member. */
        public Delay worse(Delay other) {
            return new Delay(
                    Math.max(longest, other.longest), Math.max(total, other.total), Math.max(elapsed, other.elapsed));
        }
    }
}
