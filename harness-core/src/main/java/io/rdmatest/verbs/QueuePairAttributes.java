package io.rdmatest.verbs;

import org.jspecify.annotations.Nullable;

/** What a queue pair is created with (struct ibv_qp_init_attr; ibv_create_qp(3)). */
public final class QueuePairAttributes {

    private final Builder values;
    private final CompletionQueue sendQueue;
    private final CompletionQueue receiveQueue;

    private QueuePairAttributes(Builder values, CompletionQueue sendQueue, CompletionQueue receiveQueue) {
        this.values = values;
        this.sendQueue = sendQueue;
        this.receiveQueue = receiveQueue;
    }

    /**
     * Makes a builder. The defaults are 16 work requests of 1 segment on each queue, no inline data, and completions of sends
     * only where they are asked for.
     *
     * @param type the service
     * @return a builder; it needs a completion queue
     */
    public static Builder builder(QpType type) {
        return new Builder(type);
    }

    /** Returns the service. */
    public QpType type() {
        return values.type;
    }

    /** Returns the queue for completions of sends. */
    public CompletionQueue sendQueue() {
        return sendQueue;
    }

    /** Returns the queue for completions of receives. */
    public CompletionQueue receiveQueue() {
        return receiveQueue;
    }

    /** Returns the shared receive queue; null if the queue pair has its own. */
    public @Nullable SharedReceiveQueue srq() {
        return values.srq;
    }

    /** Returns the least number of outstanding sends. */
    public int maxSendWr() {
        return values.maxSendWr;
    }

    /** Returns the least number of outstanding receives. */
    public int maxReceiveWr() {
        return values.maxReceiveWr;
    }

    /** Returns the least number of gather elements of a send. */
    public int maxSendSge() {
        return values.maxSendSge;
    }

    /** Returns the least number of scatter elements of a receive. */
    public int maxReceiveSge() {
        return values.maxReceiveSge;
    }

    /** Returns the least number of bytes that can be sent inline. */
    public int maxInline() {
        return values.maxInline;
    }

    /** Tells whether every send completes, signaled or not. */
    public boolean signalAll() {
        return values.signalAll;
    }

    /** Tells whether the queue pair's own multicast datagrams are kept from the receivers on the same device. */
    public boolean blockSelfMulticastLoopback() {
        return values.blockSelfMulticastLoopback;
    }

    /** Tells whether the queue pair is the sending end of an extended reliable connection. */
    public boolean xrcInitiator() {
        return values.xrcInitiator;
    }

    @Override
    public String toString() {
        return (values.xrcInitiator ? "XRC_SEND" : values.type) + ", max_send_wr " + values.maxSendWr + ", max_recv_wr "
                + values.maxReceiveWr
                + ", max_send_sge " + values.maxSendSge + ", max_recv_sge " + values.maxReceiveSge
                + ", max_inline_data " + values.maxInline
                + (values.blockSelfMulticastLoopback ? ", IBV_QP_CREATE_BLOCK_SELF_MCAST_LB" : "");
    }

    /** Builds attributes. */
    public static final class Builder {

        private final QpType type;
        private @Nullable CompletionQueue sendQueue;
        private @Nullable CompletionQueue receiveQueue;
        private @Nullable SharedReceiveQueue srq;
        private int maxSendWr = 16;
        private int maxReceiveWr = 16;
        private int maxSendSge = 1;
        private int maxReceiveSge = 1;
        private int maxInline;
        private boolean signalAll;
        private boolean blockSelfMulticastLoopback;
        private boolean xrcInitiator;

        private Builder(QpType type) {
            this.type = type;
        }

        private Builder(Builder other) {
            this.type = other.type;
            this.sendQueue = other.sendQueue;
            this.receiveQueue = other.receiveQueue;
            this.srq = other.srq;
            this.maxSendWr = other.maxSendWr;
            this.maxReceiveWr = other.maxReceiveWr;
            this.maxSendSge = other.maxSendSge;
            this.maxReceiveSge = other.maxReceiveSge;
            this.maxInline = other.maxInline;
            this.signalAll = other.signalAll;
            this.blockSelfMulticastLoopback = other.blockSelfMulticastLoopback;
            this.xrcInitiator = other.xrcInitiator;
        }

        /**
         * Sets the completion queue of sends. Receives use it too, unless another one is set for them.
         *
         * @param queue the queue
         */
        public Builder sendQueue(CompletionQueue queue) {
            sendQueue = queue;
            return this;
        }

        /**
         * Sets the completion queue of receives. Sends use it too, unless another one is set for them.
         *
         * @param queue the queue
         */
        public Builder receiveQueue(CompletionQueue queue) {
            receiveQueue = queue;
            return this;
        }

        /**
         * Sets one completion queue for sends and receives.
         *
         * @param queue the queue
         */
        public Builder completionQueue(CompletionQueue queue) {
            sendQueue = queue;
            receiveQueue = queue;
            return this;
        }

        /**
         * Takes receives from a shared receive queue.
         *
         * @param queue the queue; null if the queue pair has its own receive queue
         */
        public Builder srq(@Nullable SharedReceiveQueue queue) {
            srq = queue;
            return this;
        }

        /**
         * Sets the least number of outstanding sends.
         *
         * @param value from 0
         */
        public Builder maxSendWr(int value) {
            maxSendWr = natural("maxSendWr", value);
            return this;
        }

        /**
         * Sets the least number of outstanding receives.
         *
         * @param value from 0
         */
        public Builder maxReceiveWr(int value) {
            maxReceiveWr = natural("maxReceiveWr", value);
            return this;
        }

        /**
         * Sets the least number of gather elements of a send.
         *
         * @param value from 0
         */
        public Builder maxSendSge(int value) {
            maxSendSge = natural("maxSendSge", value);
            return this;
        }

        /**
         * Sets the least number of scatter elements of a receive.
         *
         * @param value from 0
         */
        public Builder maxReceiveSge(int value) {
            maxReceiveSge = natural("maxReceiveSge", value);
            return this;
        }

        /**
         * Sets the least number of bytes that can be sent inline.
         *
         * @param value bytes, from 0
         */
        public Builder maxInline(int value) {
            maxInline = natural("maxInline", value);
            return this;
        }

        /**
         * Sets whether every send completes, signaled or not.
         *
         * @param value whether it does
         */
        public Builder signalAll(boolean value) {
            signalAll = value;
            return this;
        }

        /**
         * Sets whether the queue pair's own multicast datagrams are kept from the receivers on the same device
         * (IBV_QP_CREATE_BLOCK_SELF_MCAST_LB; mckey -l). Not every device supports this. On the others, creating the queue pair
         * fails with an {@linkplain io.rdmatest.RdmaException#isUnsupported() unsupported} exception.
         *
         * @param value whether they are
         */
        public Builder blockSelfMulticastLoopback(boolean value) {
            blockSelfMulticastLoopback = value;
            return this;
        }

        /**
         * Sets whether the queue pair is the sending end of an extended reliable connection (IBV_QPT_XRC_SEND). It must be of
         * type RC, and receives nothing. {@link SendRequests#sharedReceiveQueue} sets where a message goes.
         *
         * @param value whether it is
         */
        public Builder xrcInitiator(boolean value) {
            xrcInitiator = value;
            return this;
        }

        private static int natural(String name, int value) {
            if (value < 0) {
                throw new IllegalArgumentException(name + " can't be negative: " + value);
            }
            return value;
        }

        /**
         * Builds the attributes.
         *
         * @throws IllegalStateException if no completion queue is set
         * @throws IllegalArgumentException if an XRC initiator is not of type RC, or has a shared receive queue
         */
        public QueuePairAttributes build() {
            CompletionQueue sends = sendQueue != null ? sendQueue : receiveQueue;
            CompletionQueue receives = receiveQueue != null ? receiveQueue : sendQueue;
            if (sends == null || receives == null) {
                throw new IllegalStateException("a queue pair needs a completion queue");
            }
            if (xrcInitiator && (type != QpType.RC || srq != null)) {
                throw new IllegalArgumentException(
                        "an XRC initiator is of type RC and has no shared receive queue, not " + type + " and " + srq);
            }
            return new QueuePairAttributes(new Builder(this), sends, receives);
        }
    }
}
