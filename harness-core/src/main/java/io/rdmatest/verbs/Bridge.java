package io.rdmatest.verbs;

import io.rdmatest.NativeResource;
import io.rdmatest.internal.VerbsBridge;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Gives other packages of the harness the native pointers of this package. There is no other way to them. */
final class Bridge extends VerbsBridge {

    @Override
    public DeviceContext borrow(MemorySegment context, @Nullable NativeResource... parents) {
        return DeviceContext.borrow(context, parents);
    }

    @Override
    public MemorySegment pointer(DeviceContext context) {
        return context.handle;
    }

    @Override
    public MemorySegment pointer(ProtectionDomain protectionDomain) {
        return protectionDomain.handle;
    }

    @Override
    public MemorySegment pointer(CompletionQueue queue) {
        return queue.handle;
    }

    @Override
    public MemorySegment pointer(SharedReceiveQueue queue) {
        return queue.handle;
    }

    @Override
    public MemorySegment pointer(QueuePair queuePair) {
        return queuePair.handle;
    }

    @Override
    public void write(MemorySegment target, ProtectionDomain protectionDomain, QueuePairAttributes attributes) {
        Structs.queuePairEx(target, protectionDomain.handle, attributes);
    }

    @Override
    public QueuePair createQueuePair(
            ProtectionDomain protectionDomain,
            QueuePairAttributes attributes,
            Supplier<MemorySegment> create,
            Runnable destroy,
            MemorySegment capabilities,
            @Nullable NativeResource... parents) {
        return QueuePair.create(protectionDomain, attributes, create, ignored -> destroy.run(), capabilities, parents);
    }

    @Override
    public void intendError(QueuePair queuePair) {
        queuePair.intendError();
    }

    @Override
    public QueuePairModification modification(MemorySegment attr, int mask) {
        return QueuePairModification.read(attr, mask);
    }

    @Override
    public AddressHandleAttributes addressHandleAttributes(MemorySegment attr) {
        return Structs.addressHandle(attr);
    }
}
