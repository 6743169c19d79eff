package io.rdmatest.scenarios.bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;

/** What the JVM itself counts: bytes that a thread allocates, and collections. Asking allocates nothing. */
final class JvmCounters {

    private static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private JvmCounters() {}

    /** Returns how many bytes the calling thread has allocated since it began. */
    static long allocatedBytes() {
        return THREADS.getCurrentThreadAllocatedBytes();
    }

    /** Returns how many collections there were since the JVM began, of all collectors. */
    static long collections() {
        long count = 0;
        for (int i = 0; i < COLLECTORS.size(); i++) {
            count += Math.max(0, COLLECTORS.get(i).getCollectionCount());
        }
        return count;
    }
}
