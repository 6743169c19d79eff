package io.rdmatest.bench;

import io.rdmatest.Closer;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.cprogram.PerftestOutput;
import io.rdmatest.scenarios.engine.Payload;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawConnection;

/** Two queue pairs of this JVM, connected with each other as perftest connects its own: without rdma_cm. */
final class QueuePairs implements AutoCloseable {

    /** One end: the memory has a half for what goes out and a half for what comes in. */
    record End(QueuePair queuePair, CompletionQueue sends, CompletionQueue receives, MemoryRegion memory) {

        /** The numbers of the data of both ends, as {@link Payload} has them. */
        static final long OF_CLIENT = 1;

        static final long OF_SERVER = 2;

        /** Where what comes in begins in the memory. */
        long incoming() {
            return memory.size() / 2;
        }

        /**
         * Fills send buffers with the pattern and receive buffers with its complement.
         *
         * @param size bytes of a message
         * @param data which, {@link #OF_CLIENT} or {@link #OF_SERVER}
         */
        void fill(int size, long data) {
            Payload.fill(memory.bytes().asSlice(0, size), data);
            memory.bytes().asSlice(incoming(), size).fill((byte) 0);
        }

        /**
         * Requires that data came in: what is wrong now was not moved, whatever the completions said.
         *
         * @param size how many bytes of it are compared
         * @param data which
         * @throws AssertionError if a byte is another
         */
        void requireData(int size, long data) {
            Payload.verify(memory.bytes().asSlice(incoming(), size), data, "the memory of the message that came last");
        }
    }

    private final Closer resources = new Closer();
    private final PerftestOutput.Parameters parameters;
    private final End client;
    private final End server;

    /**
     * Creates and connects both ends.
     *
     * @param device the device of both
     * @param parameters sizes of queues and memory, the MTU and the reads in flight
     */
    QueuePairs(FabricDevice device, PerftestOutput.Parameters parameters) {
        this.parameters = parameters;
        try {
            DeviceContext context = own(device.open());
            ProtectionDomain domain = own(context.allocateProtectionDomain());
            client = end(context, domain);
            server = end(context, domain);
            int reads = Math.max(1, parameters.outstandingReads());
            RawConnection.connect(
                    client.queuePair(),
                    server.queuePair(),
                    device.gid(),
                    RawConnection.Parameters.DEFAULT
                            .withMtu(Mtu.ofBytes(parameters.mtuBytes()))
                            .withReadAtomic(reads, reads));
        } catch (RuntimeException | Error e) {
            throw resources.closeAfter(e);
        }
    }

    private End end(DeviceContext context, ProtectionDomain domain) {
        // A latency test posts its next send before it has looked for the completion of the last one.
        int sends = Math.max(2, parameters.txDepth());
        CompletionQueue sendQueue = own(context.createCompletionQueue(sends));
        CompletionQueue receiveQueue = own(context.createCompletionQueue(parameters.rxDepth()));
        MemoryRegion memory = own(domain.registerMemory(
                2L * parameters.sizeBytes(), Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ));
        QueuePair queuePair = own(domain.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                .sendQueue(sendQueue)
                .receiveQueue(receiveQueue)
                .maxSendWr(sends)
                .maxReceiveWr(parameters.rxDepth())
                .maxInline(parameters.inlineBytes())
                .build()));
        return new End(queuePair, sendQueue, receiveQueue, memory);
    }

    PerftestOutput.Parameters parameters() {
        return parameters;
    }

    End client() {
        return client;
    }

    End server() {
        return server;
    }

    private <T extends AutoCloseable> T own(T resource) {
        return resources.own(resource);
    }

    /** Releases everything, the youngest first. */
    @Override
    public void close() {
        resources.close();
    }
}
