package io.rdmatest.scenarios.bench;

import com.sun.management.ThreadMXBean;
import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.Pattern;

/**
 * What the JVM itself counts of the timed part of a thread: bytes allocated, and time on the processor, in the program and in
 * the kernel. Taking a reading allocates nothing that is counted.
 */
final class JvmCounters {

    private static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static final Path THIS_PROCESS = Path.of("/proc/self");

    /** "C2 CompilerThread0", of which the kernel keeps 15 characters. */
    private static final Pattern COMPILER = Pattern.compile("C[12] CompilerThre");

    private long allocated;
    private long cpuNanos;
    private long userNanos;

    /** Begins to count for the calling thread. */
    void begin() {
        cpuNanos = THREADS.getCurrentThreadCpuTime();
        userNanos = THREADS.getCurrentThreadUserTime();
        allocated = THREADS.getCurrentThreadAllocatedBytes();
    }

    /** Ends what {@link #begin} began, on the same thread. */
    void end() {
        allocated = THREADS.getCurrentThreadAllocatedBytes() - allocated;
        cpuNanos = THREADS.getCurrentThreadCpuTime() - cpuNanos;
        userNanos = THREADS.getCurrentThreadUserTime() - userNanos;
    }

    /** Adds what two threads were counted for; user time is counted in ticks of the kernel, of 4 to 10 ms. */
    static void put(Map<String, Object> details, JvmCounters client, JvmCounters server, long collections) {
        details.put("allocatedBytes", client.allocated + server.allocated);
        details.put("collections", collections);
        details.put("cpuMillisOfClient", client.cpuNanos / 1e6);
        details.put("userMillisOfClient", client.userNanos / 1e6);
        details.put("cpuMillisOfServer", server.cpuNanos / 1e6);
        details.put("userMillisOfServer", server.userNanos / 1e6);
    }

    /**
     * Returns how long the JVM's compilers have had a processor since it began, all together. The JVM's own count has only what
     * they have finished, and some methods take seconds.
     */
    static long compilerMillis() {
        OptionalLong nanos = compilerNanos(THIS_PROCESS);
        if (nanos.isPresent()) {
            return nanos.getAsLong() / 1_000_000;
        }
        CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
        return compilers != null && compilers.isCompilationTimeMonitoringSupported()
                ? compilers.getTotalCompilationTime()
                : 0;
    }

    /**
     * Returns what the kernel counts of the threads that are called as HotSpot calls its compilers.
     *
     * @param process its directory in proc(5)
     * @return nanoseconds; empty if there is no such thread, or the kernel does not count (no CONFIG_SCHED_INFO)
     */
    static OptionalLong compilerNanos(Path process) {
        long nanos = 0;
        boolean found = false;
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(process.resolve("task"))) {
            for (Path task : tasks) {
                try {
                    if (COMPILER.matcher(Files.readString(task.resolve("comm"))).lookingAt()) {
                        nanos += Long.parseLong(
                                Files.readString(task.resolve("schedstat")).split(" ", 2)[0]);
                        found = true;
                    }
                } catch (IOException e) {
                    // A thread that has just ended, which must not change what is counted; or no thread has a
                    // schedstat.
                    continue;
                }
            }
        } catch (IOException | DirectoryIteratorException | NumberFormatException e) {
            return OptionalLong.empty();
        }
        return found ? OptionalLong.of(nanos) : OptionalLong.empty();
    }

    /** Returns how many collections there were since the JVM began, of all collectors. */
    static long collections() {
        long count = 0;
        for (GarbageCollectorMXBean collector : COLLECTORS) {
            count += Math.max(0, collector.getCollectionCount());
        }
        return count;
    }
}
