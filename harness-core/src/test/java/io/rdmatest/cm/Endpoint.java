package io.rdmatest.cm;

import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** One side of a transfer: a queue pair with a completion queue and a buffer of its own. */
record Endpoint(ProtectionDomain pd, CompletionQueue cq, QueuePair qp, MemoryRegion buffer) implements AutoCloseable {

    static final int SIZE = 1024;
    /** What a datagram's receive buffer begins with. */
    static final int GRH = 40;

    /** With a queue pair made by librdmacm. */
    static Endpoint of(CmId id) {
        DeviceContext context = id.context();
        ProtectionDomain pd = context.allocateProtectionDomain();
        CompletionQueue cq = context.createCompletionQueue(16);
        QueuePair qp = id.createQueuePair(pd, attributes(id.portSpace().isDatagram() ? QpType.UD : QpType.RC, cq));
        return new Endpoint(pd, cq, qp, pd.registerMemory(SIZE, Access.LOCAL_WRITE));
    }

    /** With a queue pair that librdmacm does not know. */
    static Endpoint external(CmId id) {
        DeviceContext context = id.context();
        ProtectionDomain pd = context.allocateProtectionDomain();
        CompletionQueue cq = context.createCompletionQueue(16);
        QueuePair qp = pd.createQueuePair(attributes(QpType.RC, cq));
        return new Endpoint(pd, cq, qp, pd.registerMemory(SIZE, Access.LOCAL_WRITE));
    }

    static QueuePairAttributes attributes(QpType type, CompletionQueue cq) {
        return QueuePairAttributes.builder(type)
                .completionQueue(cq)
                .maxSendWr(4)
                .maxReceiveWr(4)
                .build();
    }

    void write(long offset, byte[] data) {
        MemorySegment.copy(data, 0, buffer.bytes(), ValueLayout.JAVA_BYTE, offset, data.length);
    }

    byte[] read(long offset, int length) {
        return buffer.bytes().asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }

    @Override
    public void close() {
        qp.close();
        buffer.close();
        cq.close();
        pd.close();
    }
}
