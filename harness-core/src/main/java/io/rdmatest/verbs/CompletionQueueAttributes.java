package io.rdmatest.verbs;

import org.jspecify.annotations.Nullable;

/**
 * What a completion queue is created with (ibv_create_cq(3), ibv_create_cq_ex(3)).
 *
 * @param entries the least number of entries, from 1
 * @param channel the channel that delivers the queue's events; null for a queue that is only polled
 * @param vector the completion vector, from 0 to {@link DeviceContext#completionVectors()} - 1. It decides which interrupt, and
 *     so which processor, handles the queue's events
 * @param extended whether the queue is an extended one, which is polled field by field. An extended queue does what a plain one
 *     does, and can have timestamps
 * @param timestamps the clock of the timestamps in its completions
 */
public record CompletionQueueAttributes(
        int entries,
        @Nullable CompletionChannel channel,
        int vector,
        boolean extended,
        CompletionTimestamp timestamps) {

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException if there are no entries, the vector is negative, or a queue with timestamps is not
     *     extended
     */
    public CompletionQueueAttributes {
        if (entries < 1) {
            throw new IllegalArgumentException("a completion queue has at least 1 entry, not " + entries);
        }
        if (vector < 0) {
            throw new IllegalArgumentException("a completion vector is at least 0, not " + vector);
        }
        if (timestamps != CompletionTimestamp.NONE && !extended) {
            throw new IllegalArgumentException("only an extended completion queue has timestamps");
        }
    }

    /**
     * Makes attributes of a queue without a channel, on vector 0.
     *
     * @param entries the least number of entries, from 1
     * @return the attributes
     */
    public static CompletionQueueAttributes of(int entries) {
        return new CompletionQueueAttributes(entries, null, 0, false, CompletionTimestamp.NONE);
    }

    /**
     * Returns a copy with another channel.
     *
     * @param value a channel of the same device; null for a queue that is only polled
     */
    public CompletionQueueAttributes withChannel(@Nullable CompletionChannel value) {
        return new CompletionQueueAttributes(entries, value, vector, extended, timestamps);
    }

    /**
     * Returns a copy on another completion vector.
     *
     * @param value from 0
     */
    public CompletionQueueAttributes withVector(int value) {
        return new CompletionQueueAttributes(entries, channel, value, extended, timestamps);
    }

    /** Returns a copy for an extended queue (ibv_create_cq_ex(3)). Not every device supports extended queues. */
    public CompletionQueueAttributes asExtended() {
        return new CompletionQueueAttributes(entries, channel, vector, true, timestamps);
    }

    /**
     * Returns a copy for an extended queue with timestamps in its completions. Devices with
     * {@link DeviceCapability#COMPLETION_TIMESTAMPS} support them.
     *
     * @param clock the clock of the timestamps
     */
    public CompletionQueueAttributes withTimestamps(CompletionTimestamp clock) {
        return new CompletionQueueAttributes(entries, channel, vector, true, clock);
    }

    @Override
    public String toString() {
        return entries + " entries" + (vector == 0 ? "" : ", completion vector " + vector)
                + (timestamps == CompletionTimestamp.NONE ? "" : ", timestamps by " + timestamps);
    }
}
