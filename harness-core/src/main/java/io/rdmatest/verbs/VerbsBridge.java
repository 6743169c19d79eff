package io.rdmatest.verbs;

import io.rdmatest.NativeResource;
import io.rdmatest.internal.SharedSecrets;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Gives the package of librdmacm the native pointers of this package, which are not public API. There is no other way to them: the
 * only object is handed over within this module, and users can't get it.
 */
public final class VerbsBridge {

    static {
        SharedSecrets.share(new VerbsBridge());
    }

    private VerbsBridge() {}

    /**
     * Wraps an {@code ibv_context} that librdmacm opened; closing the wrapper does not close the device.
     *
     * @param context the native context
     * @param parents the objects that must outlive it, for example the CM id
     * @return the context
     */
    public DeviceContext borrow(MemorySegment context, @Nullable NativeResource... parents) {
        return DeviceContext.borrow(context, parents);
    }

    /** Returns the {@code ibv_context} pointer. */
    public MemorySegment pointer(DeviceContext context) {
        return context.handle;
    }

    /** Returns the {@code ibv_qp} pointer. */
    public MemorySegment pointer(QueuePair queuePair) {
        return queuePair.handle;
    }

    /**
     * Fills a zeroed {@code ibv_qp_init_attr_ex}.
     *
     * @param target the struct
     * @param protectionDomain the protection domain
     * @param attributes the values
     */
    public void write(MemorySegment target, ProtectionDomain protectionDomain, QueuePairAttributes attributes) {
        Structs.queuePairEx(target, protectionDomain.handle, attributes);
    }

    /**
     * Creates a native queue pair and wraps it. Protection domain, completion queues and shared receive queue must
     * belong to one device; they stay open during the call.
     *
     * @param protectionDomain the protection domain
     * @param attributes the attributes of the new queue pair
     * @param create calls the library and returns the {@code ibv_qp}
     * @param destroy destroys the native queue pair, for example by rdma_destroy_qp
     * @param capabilities the {@code ibv_qp_cap} that the library fills in; read after {@code create}
     * @param parents other objects that must outlive it, for example the CM id
     * @return the queue pair; closing it runs {@code destroy}
     */
    public QueuePair createQueuePair(
            ProtectionDomain protectionDomain,
            QueuePairAttributes attributes,
            Supplier<MemorySegment> create,
            Runnable destroy,
            MemorySegment capabilities,
            @Nullable NativeResource... parents) {
        return QueuePair.create(protectionDomain, attributes, create, ignored -> destroy.run(), capabilities, parents);
    }

    /**
     * Notes that the program ends the connection of a queue pair, which moves it to ERR.
     *
     * @param queuePair the queue pair
     */
    public void intendError(QueuePair queuePair) {
        queuePair.intendError();
    }

    /**
     * Reads the result of rdma_init_qp_attr.
     *
     * @param attr an {@code ibv_qp_attr}
     * @param mask the {@code IBV_QP_*} bits of the fields that are set
     * @return the modification
     */
    public QueuePairModification modification(MemorySegment attr, int mask) {
        return QueuePairModification.read(attr, mask);
    }

    /**
     * Reads an {@code ibv_ah_attr}.
     *
     * @param attr the struct
     * @return the attributes
     */
    public AddressHandleAttributes addressHandleAttributes(MemorySegment attr) {
        return Structs.addressHandle(attr);
    }
}
