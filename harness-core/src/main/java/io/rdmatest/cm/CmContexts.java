package io.rdmatest.cm;

import io.rdmatest.verbs.DeviceContext;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The device contexts of librdmacm, each with its number of ids.
 *
 * <p>librdmacm closes a context with the last id on a removed device. Objects built on the context would then have
 * dangling pointers. So the last id can't be closed before them.
 */
final class CmContexts {

    private static final Map<Long, CmContexts> KNOWN = new HashMap<>();

    private int ids;
    private @Nullable DeviceContext context;

    private CmContexts() {}

    /** Counts an id that was bound to a device. */
    static void acquire(long address) {
        synchronized (KNOWN) {
            KNOWN.computeIfAbsent(address, key -> new CmContexts()).ids++;
        }
    }

    /**
     * Removes an id that is being destroyed from the count.
     *
     * @throws IllegalStateException if it is the last one and objects built on the context are live
     */
    static void release(long address) {
        synchronized (KNOWN) {
            CmContexts entry = KNOWN.get(address);
            if (entry == null) {
                return;
            }
            if (entry.ids == 1) {
                if (entry.context != null) {
                    entry.context.close();
                }
                KNOWN.remove(address);
            } else {
                entry.ids--;
            }
        }
    }

    /** Returns the shared object of a context that has an id. */
    static DeviceContext context(long address, MemorySegment segment) {
        synchronized (KNOWN) {
            CmContexts entry = KNOWN.get(address);
            if (entry == null) {
                throw new IllegalStateException("no id is bound to this device");
            }
            if (entry.context == null || entry.context.isClosed()) {
                entry.context = Rdmacm.VERBS.borrow(segment);
            }
            return entry.context;
        }
    }
}
