package io.rdmatest.verbs;

import io.rdmatest.RdmaException;
import java.util.EnumSet;
import java.util.Set;

/** Finds out what no attribute of a device tells, by creating queue pairs. */
final class QueuePairProbe implements AutoCloseable {

    /** The upper bound of inline data on any device: work queue entries are smaller. */
    private static final int MOST_INLINE = 1 << 16;

    private final ProtectionDomain domain;
    private final CompletionQueue queue;

    QueuePairProbe(DeviceContext context) {
        domain = context.allocateProtectionDomain();
        try {
            queue = context.createCompletionQueue(1);
        } catch (RuntimeException e) {
            domain.close();
            throw e;
        }
    }

    Set<QpType> services() {
        Set<QpType> services = EnumSet.noneOf(QpType.class);
        for (QpType type : QpType.values()) {
            if (granted(type, 0) >= 0) {
                services.add(type);
            }
        }
        return services;
    }

    int maxInline(QpType type) {
        int accepted = granted(type, 0);
        int refused = MOST_INLINE + 1;
        while (accepted >= 0 && refused - accepted > 1) {
            // Powers of two first: devices usually grant a few hundred bytes.
            int next = accepted < 32 ? 64 : Math.min(accepted * 2, (accepted + refused) / 2);
            next = next >= refused ? (accepted + refused) / 2 : next;
            int granted = granted(type, next);
            if (granted < next) {
                refused = next;
            } else {
                accepted = Math.min(granted, MOST_INLINE);
            }
        }
        return Math.max(accepted, 0);
    }

    /** Creates a queue pair with inline data and returns how many bytes it got; -1 if the device refused the queue pair. */
    private int granted(QpType type, int inline) {
        QueuePairAttributes attributes = QueuePairAttributes.builder(type)
                .completionQueue(queue)
                .maxSendWr(1)
                .maxReceiveWr(1)
                .maxInline(inline)
                .build();
        try (QueuePair pair = domain.createQueuePair(attributes)) {
            return pair.maxInline();
        } catch (RdmaException e) {
            // Drivers refuse with different errno values. A lack of other resources than inline data is not a refusal.
            boolean refused = e.isUnsupported()
                    || e.errnoName().equals("EINVAL")
                    || inline > 0 && e.errnoName().equals("ENOMEM");
            if (!refused) {
                throw e;
            }
            return -1;
        }
    }

    @Override
    public void close() {
        try {
            queue.close();
        } finally {
            domain.close();
        }
    }
}
