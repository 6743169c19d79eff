package io.rdmatest.junit;

import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.QpType;

/**
 * What an unconnected queue pair is like. Immutable; begin with {@link #of(QpType)} and change what matters.
 *
 * @param type the type of service
 * @param maxSendWr the most outstanding sends, at least 1
 * @param maxReceiveWr the most outstanding receives, at least 1
 * @param maxSge the most segments of a work request, at least 1
 * @param maxInline the most bytes that are copied into a work request, at least 0
 */
public record QueuePairOptions(QpType type, int maxSendWr, int maxReceiveWr, int maxSge, int maxInline) {

    /**
     * Check the ranges.
     *
     * @throws IllegalArgumentException if a value is out of range; the message says which and what is allowed
     */
    public QueuePairOptions {
        OutOfRange.check("maxSendWr", maxSendWr, 1, Integer.MAX_VALUE);
        OutOfRange.check("maxReceiveWr", maxReceiveWr, 1, Integer.MAX_VALUE);
        OutOfRange.check("maxSge", maxSge, 1, Integer.MAX_VALUE);
        OutOfRange.check("maxInline", maxInline, 0, Integer.MAX_VALUE);
    }

    /**
     * Begin with 16 work requests of one segment either way and no inline data.
     *
     * @param type the type of service; never null
     * @return the options; never null
     */
    public static QueuePairOptions of(QpType type) {
        return new QueuePairOptions(type, 16, 16, 1, 0);
    }

    /**
     * Size the queues; the completion queues are sized to hold a completion for each work request.
     *
     * @param sends the most outstanding sends, at least 1
     * @param receives the most outstanding receives, at least 1
     * @return changed options; never null
     */
    public QueuePairOptions depth(int sends, int receives) {
        return new QueuePairOptions(type, sends, receives, maxSge, maxInline);
    }

    /**
     * Bound the segments of a work request.
     *
     * @param value at least 1
     * @return changed options; never null
     */
    public QueuePairOptions maxSge(int value) {
        return new QueuePairOptions(type, maxSendWr, maxReceiveWr, value, maxInline);
    }

    /**
     * Bound the data that can be sent inline.
     *
     * @param bytes at least 0
     * @return changed options; never null
     */
    public QueuePairOptions maxInline(int bytes) {
        return new QueuePairOptions(type, maxSendWr, maxReceiveWr, maxSge, bytes);
    }

    /**
     * Check the options against the limits of a device.
     *
     * @param limits the limits of the device
     * @param device its name, for messages
     * @throws IllegalArgumentException if an option exceeds a limit
     */
    public void check(DeviceAttributes limits, String device) {
        OutOfRange.checkLimit("maxSendWr", maxSendWr, limits.maxQpWr(), "max_qp_wr of " + device);
        OutOfRange.checkLimit("maxReceiveWr", maxReceiveWr, limits.maxQpWr(), "max_qp_wr of " + device);
        OutOfRange.checkLimit("maxSge", maxSge, limits.maxSge(), "max_sge of " + device);
    }
}
