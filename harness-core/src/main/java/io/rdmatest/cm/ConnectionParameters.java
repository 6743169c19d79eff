package io.rdmatest.cm;

import java.util.Arrays;

/**
 * The parameters that one side requests for a connection; in an event those of the other side (struct rdma_conn_param,
 * rdma_connect(3), rdma_accept(3)).
 *
 * <p>In an event the depths are swapped to the receiver's view: the peer's initiator depth arrives as this side's
 * responder resources.
 */
public final class ConnectionParameters {

    /** For the two depths: the device's limit; when accepting, at most the peer's request. */
    public static final int MAXIMUM = 255;

    /** Retry count that never gives up (only for {@link Builder#rnrRetryCount(int)}). */
    public static final int RETRY_FOR_EVER = 7;

    private static final ConnectionParameters DEFAULTS = builder().build();

    private final byte[] privateData;
    private final int responderResources;
    private final int initiatorDepth;
    private final boolean flowControl;
    private final int retryCount;
    private final int rnrRetryCount;
    private final boolean srq;
    private final int qpNumber;

    private ConnectionParameters(Builder builder) {
        privateData = builder.privateData;
        responderResources = builder.responderResources;
        initiatorDepth = builder.initiatorDepth;
        flowControl = builder.flowControl;
        retryCount = builder.retryCount;
        rnrRetryCount = builder.rnrRetryCount;
        srq = builder.srq;
        qpNumber = builder.qpNumber;
    }

    /** Returns a builder with the defaults: no private data, both depths at {@link #MAXIMUM}, both retry counts 7. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the defaults of {@link #builder()}. */
    public static ConnectionParameters defaults() {
        return DEFAULTS;
    }

    /**
     * Returns a copy of the private data; may be empty.
     *
     * <p>In an event of an InfiniBand or RoCE device the copy is as long as the message's whole private data field, padded with
     * zeros.
     */
    public byte[] privateData() {
        return privateData.clone();
    }

    int privateDataLength() {
        return privateData.length;
    }

    /** Returns how many RDMA reads and atomics of the peer may be outstanding here, 0 to 255. */
    public int responderResources() {
        return responderResources;
    }

    /** Returns how many RDMA reads and atomics of this side may be outstanding there, 0 to 255. */
    public int initiatorDepth() {
        return initiatorDepth;
    }

    /** Returns whether end-to-end flow control of the hardware is requested. */
    public boolean flowControl() {
        return flowControl;
    }

    /** Returns how often a request is retransmitted without an acknowledgement, 0 to 7. */
    public int retryCount() {
        return retryCount;
    }

    /** Returns how often a send is retried after an RNR NAK, 0 to 7; 7 means for ever. */
    public int rnrRetryCount() {
        return rnrRetryCount;
    }

    /** Returns whether an external queue pair uses a shared receive queue. */
    public boolean srq() {
        return srq;
    }

    /** Returns the number of the external queue pair, or, in an event, of the peer's queue pair. */
    public int qpNumber() {
        return qpNumber;
    }

    /** Returns a builder with these values. */
    public Builder toBuilder() {
        Builder builder = new Builder();
        builder.privateData = privateData;
        builder.responderResources = responderResources;
        builder.initiatorDepth = initiatorDepth;
        builder.flowControl = flowControl;
        builder.retryCount = retryCount;
        builder.rnrRetryCount = rnrRetryCount;
        builder.srq = srq;
        builder.qpNumber = qpNumber;
        return builder;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ConnectionParameters that
                && responderResources == that.responderResources
                && initiatorDepth == that.initiatorDepth
                && flowControl == that.flowControl
                && retryCount == that.retryCount
                && rnrRetryCount == that.rnrRetryCount
                && srq == that.srq
                && qpNumber == that.qpNumber
                && Arrays.equals(privateData, that.privateData);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(privateData) * 31 + qpNumber;
    }

    @Override
    public String toString() {
        return "responder resources " + responderResources + ", initiator depth " + initiatorDepth + ", flow control "
                + flowControl + ", retry count " + retryCount + ", RNR retry count " + rnrRetryCount + ", SRQ " + srq
                + ", QP " + qpNumber + ", " + privateData.length + " bytes of private data";
    }

    /** Collects the parameters and checks their ranges. */
    public static final class Builder {

        private byte[] privateData = {};
        private int responderResources = MAXIMUM;
        private int initiatorDepth = MAXIMUM;
        private boolean flowControl = true;
        private int retryCount = 7;
        private int rnrRetryCount = 7;
        private boolean srq;
        private int qpNumber;

        private Builder() {}

        /**
         * Sets the private data of the request or the reply.
         *
         * <p>The limit depends on the message and is checked when it is sent: TCP port space 56 bytes in a request and
         * 196 in an acceptance; UDP port space 180 and 136.
         *
         * @param data 0 to 255 bytes; copied
         */
        public Builder privateData(byte[] data) {
            checkRange("privateData length", data.length, 0, 255);
            privateData = data.clone();
            return this;
        }

        /**
         * Sets how many RDMA reads and atomics of the peer may be outstanding here.
         *
         * @param count 0 to 255, at most what the device can do; with {@link #MAXIMUM} (the default) the library
         *     chooses
         */
        public Builder responderResources(int count) {
            responderResources = checkRange("responderResources", count, 0, 255);
            return this;
        }

        /**
         * Sets how many RDMA reads and atomics of this side may be outstanding at the peer.
         *
         * @param count 0 to 255, at most what the device can do; with {@link #MAXIMUM} (the default) the library
         *     chooses
         */
        public Builder initiatorDepth(int count) {
            initiatorDepth = checkRange("initiatorDepth", count, 0, 255);
            return this;
        }

        /**
         * Requests end-to-end flow control of the hardware.
         *
         * @param wanted true by default
         */
        public Builder flowControl(boolean wanted) {
            flowControl = wanted;
            return this;
        }

        /**
         * Sets how often a request is retransmitted without an acknowledgement. It has no effect when accepting.
         *
         * @param count 0 to 7, 7 by default. With 7, soft-RoCE retries for ever: requests to a lost peer never complete
         *     there
         */
        public Builder retryCount(int count) {
            retryCount = checkRange("retryCount", count, 0, 7);
            return this;
        }

        /**
         * Sets how often the <em>peer</em> may retry when this side has no receive posted.
         *
         * @param count 0 to 7; 7 (the default) means for ever
         */
        public Builder rnrRetryCount(int count) {
            rnrRetryCount = checkRange("rnrRetryCount", count, 0, 7);
            return this;
        }

        /**
         * Sets whether the external queue pair uses a shared receive queue. It has no effect on an id with its own
         * queue pair.
         *
         * @param used false by default
         */
        public Builder srq(boolean used) {
            srq = used;
            return this;
        }

        /**
         * Sets the number of the external queue pair. It has no effect on an id with its own queue pair.
         *
         * @param number 0 to 0xFFFFFF
         */
        public Builder qpNumber(int number) {
            qpNumber = checkRange("qpNumber", number, 0, 0xFFFFFF);
            return this;
        }

        /** Returns the parameters. */
        public ConnectionParameters build() {
            return new ConnectionParameters(this);
        }
    }

    static int checkRange(String name, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException(name + " must be " + least + " to " + most + ", not " + value);
        }
        return value;
    }
}
