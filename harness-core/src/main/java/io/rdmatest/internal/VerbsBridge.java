package io.rdmatest.internal;

import io.rdmatest.NativeResource;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Gives the package of librdmacm access to the native pointers of libibverbs objects, which are not public API.
 *
 * <p>The only implementation is in io.rdmatest.verbs. It installs itself when {@link DeviceContext} is initialised.
 */
public abstract class VerbsBridge {

    private static volatile @Nullable VerbsBridge installed;

    /** For the implementation only. */
    protected VerbsBridge() {}

    /**
     * Installs the implementation; for io.rdmatest.verbs only.
     *
     * @param bridge the implementation
     */
    public static void install(VerbsBridge bridge) {
        if (installed != null) {
            throw new IllegalStateException("the bridge is already installed");
        }
        installed = bridge;
    }

    /** Returns the bridge. */
    public static VerbsBridge get() {
        VerbsBridge bridge = installed;
        if (bridge == null) {
            try {
                Class.forName(DeviceContext.class.getName(), true, VerbsBridge.class.getClassLoader());
            } catch (ClassNotFoundException e) {
                throw new LinkageError("io.rdmatest.verbs is missing", e);
            }
            bridge = installed;
            if (bridge == null) {
                throw new LinkageError("io.rdmatest.verbs did not install its bridge");
            }
        }
        return bridge;
    }

    /**
     * Wraps an {@code ibv_context} that librdmacm opened; closing the wrapper does not close the device.
     *
     * @param context the native context
     * @param parents the objects that must outlive it, for example the CM id
     * @return the context
     */
    public abstract DeviceContext borrow(MemorySegment context, @Nullable NativeResource... parents);

    /** Returns the {@code ibv_context} pointer. */
    public abstract MemorySegment pointer(DeviceContext context);

    /** Returns the {@code ibv_pd} pointer. */
    public abstract MemorySegment pointer(ProtectionDomain protectionDomain);

    /** Returns the {@code ibv_cq} pointer. */
    public abstract MemorySegment pointer(CompletionQueue queue);

    /** Returns the {@code ibv_srq} pointer. */
    public abstract MemorySegment pointer(SharedReceiveQueue queue);

    /** Returns the {@code ibv_qp} pointer. */
    public abstract MemorySegment pointer(QueuePair queuePair);

    /**
     * Fills a zeroed {@code ibv_qp_init_attr_ex}.
     *
     * @param target the struct
     * @param protectionDomain the protection domain
     * @param attributes the values
     */
    public abstract void write(MemorySegment target, ProtectionDomain protectionDomain, QueuePairAttributes attributes);

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
    public abstract QueuePair createQueuePair(
            ProtectionDomain protectionDomain,
            QueuePairAttributes attributes,
            Supplier<MemorySegment> create,
            Runnable destroy,
            MemorySegment capabilities,
            @Nullable NativeResource... parents);

    /**
     * Notes that the program ends the connection of a queue pair, which moves it to ERR.
     *
     * @param queuePair the queue pair
     */
    public abstract void intendError(QueuePair queuePair);

    /**
     * Reads the result of rdma_init_qp_attr.
     *
     * @param attr an {@code ibv_qp_attr}
     * @param mask the {@code IBV_QP_*} bits of the fields that are set
     * @return the modification
     */
    public abstract QueuePairModification modification(MemorySegment attr, int mask);

    /**
     * Reads an {@code ibv_ah_attr}.
     *
     * @param attr the struct
     * @return the attributes
     */
    public abstract AddressHandleAttributes addressHandleAttributes(MemorySegment attr);
}
