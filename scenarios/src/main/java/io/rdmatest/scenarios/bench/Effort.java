package io.rdmatest.scenarios.bench;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongSupplier;

/**
 * What some work took.
 *
 * @param units of work, more than 0
 * @param nanos for all of it
 * @param allocatedBytes on the JVM's heap, by all threads, whether still in use or not
 * @param residentBytes by which the memory of the process grew at most, the JVM's own included
 */
public record Effort(double units, long nanos, long allocatedBytes, long residentBytes) {

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final Path STATUS = Path.of("/proc/self/status");
    private static final Path PEAK = Path.of("/proc/self/clear_refs");

    /** Checks the units. */
    public Effort {
        if (!(units > 0)) {
            throw new IllegalArgumentException("Work has more than 0 units, not " + units);
        }
    }

    /**
     * Does work and measures it.
     *
     * @param units how much it is
     * @param work does it and returns the nanoseconds that count
     */
    static Effort of(double units, LongSupplier work) {
        System.gc();
        forgetPeak();
        long resident = kilobytes("VmRSS:");
        long allocated = THREADS.getTotalThreadAllocatedBytes();
        long nanos = work.getAsLong();
        allocated = THREADS.getTotalThreadAllocatedBytes() - allocated;
        return new Effort(units, nanos, allocated, Math.max(0, (kilobytes("VmHWM:") - resident) << 10));
    }

    /** Lets the greatest size begin anew (proc_pid_clear_refs(5)). */
    private static void forgetPeak() {
        try {
            Files.writeString(PEAK, "5");
        } catch (IOException e) {
            throw new NotMeasuredException("the kernel does not forget the process's greatest size: " + e, e);
        }
    }

    private static long kilobytes(String field) {
        try {
            for (String line : Files.readAllLines(STATUS)) {
                if (line.startsWith(field)) {
                    return Long.parseLong(line.substring(field.length()).strip().split(" ", 2)[0]);
                }
            }
        } catch (IOException | NumberFormatException e) {
            throw new NotMeasuredException("the kernel does not tell the process's size: " + e, e);
        }
        throw new NotMeasuredException(STATUS + " has no line " + field);
    }
}
