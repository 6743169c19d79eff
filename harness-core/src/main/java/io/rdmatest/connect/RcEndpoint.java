package io.rdmatest.connect;

import io.rdmatest.Closer;
import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.util.Optional;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * One side of a reliable connection: a queue pair with its completion queues, and the memory that it was given.
 *
 * <p>With rdma_cm the asking side calls {@link #request}, then {@link #connected}; the other side calls {@link #accept}. Without it
 * {@link RawConnection} connects the queue pair. The caller owns the protection domain and the id, and waits for the events.
 */
public final class RcEndpoint implements AutoCloseable {

    /**
     * The sizes of an endpoint.
     *
     * @param sendDepth outstanding work requests of the send queue, from 1
     * @param receiveDepth outstanding receives of the queue pair or of the shared receive queue
     * @param maxSge the most segments of a work request, from 1
     * @param maxInline the most bytes of inline data
     * @param oneQueue whether sends and receives complete on one completion queue
     * @param events whether completions can cause events, on one channel
     * @param sharedReceives whether receives are posted to a shared receive queue
     * @param mtu the path MTU of {@link ConnectionMode#EXTERNAL_QP}; UNKNOWN for that of the route
     */
    public record Plan(
            int sendDepth,
            int receiveDepth,
            int maxSge,
            int maxInline,
            boolean oneQueue,
            boolean events,
            boolean sharedReceives,
            Mtu mtu) {}

    private final Closer resources;
    private final ProtectionDomain domain;
    private final @Nullable CmId id;
    private final boolean external;
    private final Mtu mtu;
    private final @Nullable CompletionChannel channel;
    private final QueuePairAttributes attributes;
    private final QueuePair queuePair;

    private RcEndpoint(
            ProtectionDomain domain,
            @Nullable CmId id,
            ConnectionMode mode,
            Mtu mtu,
            QueuePairAttributes attributes,
            @Nullable CompletionChannel channel,
            Closer resources) {
        this.resources = resources;
        this.domain = domain;
        this.id = id;
        this.external = mode == ConnectionMode.EXTERNAL_QP;
        this.mtu = mtu;
        this.channel = channel;
        this.attributes = attributes;
        if ((id == null) != (mode == ConnectionMode.RAW)) {
            throw new IllegalArgumentException(
                    "a connection by " + mode + (id == null ? " needs an id" : " has no id"));
        }
        queuePair = resources.own(
                id != null && !external ? id.createQueuePair(domain, attributes) : domain.createQueuePair(attributes));
        if (external) {
            move(QpState.INIT);
        }
    }

    /**
     * Creates an endpoint with completion queues of its own.
     *
     * @param domain the protection domain
     * @param id the id of rdma_cm, with a device; null for {@link ConnectionMode#RAW}
     * @param mode how it will be connected. With {@link ConnectionMode#EXTERNAL_QP} the queue pair is in INIT afterwards
     * @param plan the sizes
     * @throws IllegalArgumentException if the mode needs an id, or has none
     * @throws io.rdmatest.RdmaException if the device refuses
     */
    public static RcEndpoint open(ProtectionDomain domain, @Nullable CmId id, ConnectionMode mode, Plan plan) {
        Closer made = new Closer();
        try {
            DeviceContext context = domain.context();
            CompletionChannel channel = plan.events() ? made.own(context.createCompletionChannel()) : null;
            IntFunction<CompletionQueue> queues = entries -> made.own(
                    channel == null
                            ? context.createCompletionQueue(entries)
                            : context.createCompletionQueue(entries, channel));
            CompletionQueue sends = queues.apply(plan.sendDepth() + (plan.oneQueue() ? plan.receiveDepth() : 0));
            QueuePairAttributes.Builder attributes = QueuePairAttributes.builder(QpType.RC)
                    .sendQueue(sends)
                    .receiveQueue(plan.oneQueue() ? sends : queues.apply(plan.receiveDepth()))
                    .maxSendWr(plan.sendDepth())
                    .maxSendSge(plan.maxSge())
                    .maxReceiveSge(plan.maxSge())
                    .maxInline(plan.maxInline());
            if (plan.sharedReceives()) {
                attributes.srq(made.own(domain.createSharedReceiveQueue(plan.receiveDepth(), plan.maxSge())));
            } else {
                attributes.maxReceiveWr(plan.receiveDepth());
            }
            return new RcEndpoint(domain, id, mode, plan.mtu(), attributes.build(), channel, made);
        } catch (Throwable e) {
            throw made.closeAfter(e);
        }
    }

    /**
     * Creates an endpoint on completion queues that others may share; they stay the caller's.
     *
     * @param domain the protection domain
     * @param id the id of rdma_cm, with a device
     * @param mode how it will be connected. With {@link ConnectionMode#EXTERNAL_QP} the queue pair is in INIT afterwards
     * @param attributes the sizes and the queues
     * @throws io.rdmatest.RdmaException if the device refuses
     */
    public static RcEndpoint open(
            ProtectionDomain domain, CmId id, ConnectionMode mode, QueuePairAttributes attributes) {
        Closer made = new Closer();
        try {
            return new RcEndpoint(domain, id, mode, Mtu.UNKNOWN, attributes, null, made);
        } catch (Throwable e) {
            throw made.closeAfter(e);
        }
    }

    /**
     * Asks the peer for the connection (rdma_connect(3)). The peer's answer follows as an event of the id.
     *
     * @param parameters the parameters; with {@link ConnectionMode#EXTERNAL_QP} the number of the queue pair is added
     */
    public void request(ConnectionParameters.Builder parameters) {
        requireId().connect(numbered(parameters));
    }

    /**
     * Completes the connection after the answer to {@link #request}.
     *
     * @param answer the next event of the id
     * @throws io.rdmatest.UnexpectedCmEventException if it is no consent
     */
    public void connected(CmEvent answer) {
        // Only if it matters: listing the devices costs a part of the time to connect.
        if (external
                && !(answer.type() == CmEvent.Type.ESTABLISHED && requireId().isConnectedByKernel())) {
            answer.require(CmEvent.Type.CONNECT_RESPONSE);
            toReadyToSend();
            requireId().establish();
        } else {
            answer.require(CmEvent.Type.ESTABLISHED);
        }
    }

    /**
     * Accepts the request of the id (rdma_accept(3)). The event ESTABLISHED follows.
     *
     * @param parameters the parameters; with {@link ConnectionMode#EXTERNAL_QP} the number of the queue pair is added
     */
    public void accept(ConnectionParameters.Builder parameters) {
        if (external) {
            toReadyToSend();
        }
        requireId().accept(numbered(parameters));
    }

    private ConnectionParameters numbered(ConnectionParameters.Builder parameters) {
        return (external ? parameters.qpNumber(queuePair.number()) : parameters).build();
    }

    /** INIT is repeated: only now does rdma_cm know what the peer may do. */
    private void toReadyToSend() {
        move(QpState.INIT);
        move(QpState.RTR);
        move(QpState.RTS);
    }

    private void move(QpState state) {
        QueuePairModification next = requireId().initQueuePairAttributes(state);
        queuePair.modify(
                state == QpState.RTR && mtu != Mtu.UNKNOWN
                        ? next.toBuilder().pathMtu(mtu).build()
                        : next);
    }

    private CmId requireId() {
        if (id == null) {
            throw new IllegalStateException(queuePair.describe() + " has no rdma_cm id");
        }
        return id;
    }

    /** Returns the queue pair. */
    public QueuePair queuePair() {
        return queuePair;
    }

    /** Returns the queue on which sends complete. */
    public CompletionQueue sendQueue() {
        return attributes.sendQueue();
    }

    /** Returns the queue on which receives complete; may be that of the sends. */
    public CompletionQueue receiveQueue() {
        return attributes.receiveQueue();
    }

    /** Returns the channel of the completion events; empty if the plan has none. */
    public Optional<CompletionChannel> channel() {
        return Optional.ofNullable(channel);
    }

    /** Returns the protection domain. */
    public ProtectionDomain protectionDomain() {
        return domain;
    }

    /** Returns the id that rdma_cm connects; empty without rdma_cm. */
    public Optional<CmId> id() {
        return Optional.ofNullable(id);
    }

    /**
     * Posts a receive to the queue pair or to its shared receive queue.
     *
     * @param wrId the number that the completion has
     * @param region the memory to receive into
     * @param offset the offset in it, in bytes
     * @param length the length of the receive in bytes
     */
    public void postReceive(long wrId, MemoryRegion region, long offset, int length) {
        SharedReceiveQueue shared = attributes.srq();
        if (shared != null) {
            shared.postReceive(wrId, region, offset, length);
        } else {
            queuePair.postReceive(wrId, region, offset, length);
        }
    }

    /**
     * Takes over a resource such as memory, which is closed after the queue pair is destroyed: a peer that still writes then sees no
     * access error.
     *
     * @param resource a resource of the protection domain
     * @return the resource
     */
    public <T extends AutoCloseable> T own(T resource) {
        return resources.own(resource);
    }

    /** Destroys the queue pair, then releases the memory and the queues. */
    @Override
    public void close() {
        resources.run(queuePair);
        resources.close();
    }

    /** Returns the name of the queue pair, for example {@code "qp rxe0/17"}. */
    @Override
    public String toString() {
        return queuePair.describe();
    }
}
