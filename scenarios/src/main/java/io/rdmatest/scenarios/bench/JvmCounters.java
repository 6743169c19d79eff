package io.rdmatest.scenarios.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;

/**
 * What the JVM itself counts of the timed part of a thread: bytes allocated, and time on the processor, in the program and in
 * the kernel. Taking a reading allocates nothing that is counted.
 */
final class JvmCounters {

    private static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

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

    /** Returns how many collections there were since the JVM began, of all collectors. */
    static long collections() {
        long count = 0;
        for (GarbageCollectorMXBean collector : COLLECTORS) {
            count += Math.max(0, collector.getCollectionCount());
        }
        return count;
    }
}
