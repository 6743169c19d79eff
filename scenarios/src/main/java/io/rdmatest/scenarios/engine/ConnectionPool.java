package io.rdmatest.scenarios.engine;

import io.rdmatest.Cause;
import io.rdmatest.Closer;
import io.rdmatest.RdmaException;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The resources that many connections on one device share: a protection domain, a memory region with a slice for each,
 * and as few completion queues as can hold all completions.
 */
public final class ConnectionPool implements AutoCloseable {

    /** The bytes of a datagram's global route header, which precedes its payload (ibv_poll_cq(3)). */
    public static final int GRH = 40;

    /** The limit of receive memory. Beyond it, slots are reused and messages can't be verified. */
    private static final long RECEIVE_BUDGET = 256L << 20;

    /** The limit of send memory. Beyond it, messages wait for the slots of earlier ones. */
    private static final long SEND_BUDGET = 64L << 20;

    private static final int BATCH = 64;

    private final Closer resources = new Closer();
    private final DeviceContext device;
    private final ProtectionDomain domain;
    private final int connections;
    private final int messages;
    private final int size;
    private final QpType type;
    /** The bytes of a receive: a datagram begins with its global route header. */
    private final int received;

    private final int group;
    private final List<@Nullable Queues> queues;
    private final DeviceAttributes limits;
    private final MemoryRegion region;
    private final int receiveSlots;
    private final int sendSlots;
    /**
     * A shared receive queue for connections that never receive: they need no receive queues of their own, which the
     * kernel would create and map.
     */
    private final @Nullable SharedReceiveQueue nothing;

    private final ReceiveRequests receives;
    private final SendRequests sends;
    private int queuePairs;

    /** The completion queues of some connections. */
    public record Queues(CompletionQueue send, CompletionQueue receive, Completions completions) {}

    /**
     * @param device the device of the connections
     * @param type RC or UD
     * @param connections the largest number of connections
     * @param messages the messages of each connection and direction, from 0
     * @param size the size of a message in bytes, from 0
     */
    public ConnectionPool(DeviceContext device, QpType type, int connections, int messages, int size) {
        this.device = device;
        this.connections = connections;
        this.messages = messages;
        this.size = size;
        this.type = type;
        this.received = size == 0 ? 0 : type == QpType.UD ? GRH + size : size;
        limits = device.attributes();
        int work = Math.max(1, messages);
        if (work > limits.maxQpWr() || work > limits.maxCqe()) {
            throw new ScenarioException(
                    Cause.UNSUPPORTED,
                    "%d messages are too many for %s: a queue pair holds %d requests, a completion queue %d; give a smaller -C"
                            .formatted(messages, device.deviceName(), limits.maxQpWr(), limits.maxCqe()));
        }
        if (connections > limits.maxQp()) {
            throw new ScenarioException(
                    Cause.UNSUPPORTED,
                    "%d connections are more than the %d queue pairs of %s (max_qp); give a smaller -c"
                            .formatted(connections, limits.maxQp(), device.deviceName()));
        }
        group = Math.clamp(limits.maxCqe() / work, 1, connections);
        queues = new ArrayList<>();
        for (int i = 0; i < connections; i += group) {
            queues.add(null);
        }
        long each = Math.max(1L, (long) connections * size);
        receiveSlots = (int) Math.clamp(RECEIVE_BUDGET / Math.max(1L, (long) connections * received), 1L, (long) work);
        sendSlots = (int) Math.clamp(SEND_BUDGET / each, 1L, (long) work);
        try {
            domain = own(device.allocateProtectionDomain());
            region = own(domain.registerMemory(
                    Math.max(1L, (long) connections * ((long) receiveSlots * received + (long) sendSlots * size)),
                    Access.LOCAL_WRITE));
            nothing = type == QpType.RC && messages == 0 && limits.maxSrq() > 0
                    ? own(domain.createSharedReceiveQueue(1, 1))
                    : null;
            int batch = Math.min(BATCH, work);
            receives = own(ReceiveRequests.allocate(batch));
            sends = own(SendRequests.allocate(batch));
            for (int i = 0; i < batch; i++) {
                receives.receive(i, 0, region, 0, received);
                sends.send(i, 0, region, 0, size, SendFlag.SIGNALED);
            }
        } catch (RuntimeException | Error e) {
            throw resources.closeAfter(e);
        }
    }

    /** Returns whether every message has its own memory until it is verified. */
    public boolean canVerify() {
        return receiveSlots >= messages;
    }

    /** Returns how many messages of a connection can be in flight at a time. */
    public int sendSlots() {
        return sendSlots;
    }

    /** Returns the completion queues; null for those that no connection has needed yet. */
    public List<@Nullable Queues> queues() {
        return queues;
    }

    /** Returns the protection domain that the connections share. */
    public ProtectionDomain domain() {
        return domain;
    }

    DeviceContext device() {
        return device;
    }

    /** Returns the attributes of a connection's queue pair. Its completions have {@link #wrId}. */
    public QueuePairAttributes attributes(int connection) {
        Queues present = queues.get(connection / group);
        if (present == null) {
            int members = Math.min(group, connections - connection / group * group);
            CompletionQueue send = own(device.createCompletionQueue(members * sendSlots));
            CompletionQueue receive = own(device.createCompletionQueue(members * Math.max(1, messages)));
            present = new Queues(send, receive, receive.newCompletions(BATCH));
            queues.set(connection / group, present);
        }
        QueuePairAttributes.Builder attributes = QueuePairAttributes.builder(type)
                .sendQueue(present.send())
                .receiveQueue(present.receive())
                .maxSendWr(sendSlots)
                .maxSendSge(1);
        return nothing == null
                ? attributes
                        .maxReceiveWr(Math.max(1, messages))
                        .maxReceiveSge(1)
                        .build()
                : attributes.srq(nothing).build();
    }

    /** Owns a created queue pair or its endpoint, and counts it for the message of {@link #limit}; returns it. */
    public <T extends AutoCloseable> T made(T queuePair) {
        queuePairs++;
        return own(queuePair);
    }

    /** Explains which limit prevents the next queue pair. A failure that explains one of the kernel, or has none, explains itself. */
    public RuntimeException limit(RdmaException failure) {
        if (failure.errno() == 0 || failure.getCause() instanceof RdmaException) {
            return failure;
        }
        String reached = queuePairs + " of " + connections + " connections have a queue pair on " + device.deviceName()
                + ", but the next one fails with " + failure.errnoName() + ": ";
        String cure;
        if (failure.errnoName().equals("EMFILE")) {
            cure = "the limit of open files is reached, raise it with 'ulimit -n'";
        } else if (queuePairs >= limits.maxQp() - 2) {
            cure = "the device has " + limits.maxQp() + " queue pairs (max_qp), give a smaller -c";
        } else {
            cure = "the device has " + limits.maxQp()
                    + " queue pairs (max_qp), also for other programs, and each needs locked memory; raise 'ulimit"
                    + " -l', end other programs, or give smaller -c and -C";
        }
        return new ScenarioException(Cause.HOST_NOT_READY, reached + cure, failure);
    }

    /** Returns the work request id of a message of a connection; both are counted from 0. */
    public static long wrId(int connection, int message) {
        return (long) connection << 32 | message;
    }

    /** Returns the connection of a {@linkplain #wrId work request id}. */
    public static int connection(long wrId) {
        return (int) (wrId >>> 32);
    }

    /** Returns the message of a {@linkplain #wrId work request id}. */
    public static int message(long wrId) {
        return (int) wrId;
    }

    /** Posts every receive of a connection. */
    public void postReceives(QueuePair queuePair, int connection) {
        for (int done = 0; done < messages; ) {
            int count = Math.min(receives.capacity(), messages - done);
            for (int i = 0; i < count; i++) {
                receives.wrId(i, wrId(connection, done + i));
                receives.segment(i, receiveOffset(connection, done + i), received);
            }
            queuePair.post(receives, 0, count);
            done += count;
        }
    }

    /** Posts some sends of a connection, which must have free slots. */
    public void postSends(QueuePair queuePair, int connection, int first, int count) {
        for (int done = 0; done < count; ) {
            int now = Math.min(sends.capacity(), count - done);
            for (int i = 0; i < now; i++) {
                sends.wrId(i, wrId(connection, first + done + i));
                sends.segment(i, sendOffset(connection, first + done + i), size);
            }
            queuePair.post(sends, 0, now);
            done += now;
        }
    }

    /** Returns the memory of all connections. */
    public MemoryRegion region() {
        return region;
    }

    /** Returns the offset of a message's receive, including a datagram's global route header. */
    public long receiveOffset(int connection, int message) {
        return ((long) connection * receiveSlots + message % receiveSlots) * received;
    }

    /** Returns the offset of a message to send in the {@linkplain #region() region}, in bytes. */
    public long sendOffset(int connection, int message) {
        return (long) connections * receiveSlots * received
                + ((long) connection * sendSlots + message % sendSlots) * size;
    }

    /** Returns the memory of a received message, without a global route header. */
    public MemorySegment received(int connection, int message) {
        return region.bytes().asSlice(receiveOffset(connection, message) + received - size, size);
    }

    /** Returns the bytes of a message to send. */
    public MemorySegment toSend(int connection, int message) {
        return region.bytes().asSlice(sendOffset(connection, message), size);
    }

    /** Adds a resource that the pool closes, before earlier ones. */
    public <T extends AutoCloseable> T own(T resource) {
        return resources.own(resource);
    }

    /** Destroys the queue pairs, then the shared resources. */
    @Override
    public void close() {
        resources.close();
    }
}
