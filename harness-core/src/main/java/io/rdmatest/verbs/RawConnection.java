package io.rdmatest.verbs;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Connects queue pairs of type RC and UC through addresses that the sides exchanged by themselves, with an explicit GID index and
 * without a connection manager (IBTA volume 1, section 10.3.1 for the transitions).
 *
 * <p>UC has no acknowledgements. So the parameters for timeouts, retries, reads and atomics have no effect on it.
 */
public final class RawConnection {

    private RawConnection() {}

    /**
     * A path within an InfiniBand subnet.
     *
     * @param pathBits the low bits of this side's LID that packets come from, 0 to 127; no more bits than the port's LMC
     * @param staticRate the largest rate, as enum ibv_rate, 0 to 255; 0 for the port's own
     */
    public record LidPath(int pathBits, int staticRate) {

        /** The port's first LID, at the port's own rate. */
        public static final LidPath DEFAULT = new LidPath(0, 0);

        /** Checks the ranges. */
        public LidPath {
            AddressHandleAttributes.range("pathBits", pathBits, 127);
            AddressHandleAttributes.range("staticRate", staticRate, 255);
        }
    }

    /**
     * How a raw connection behaves. Immutable; begin with {@link #DEFAULT} and change what matters. The two sides may use different
     * values.
     */
    public static final class Parameters {

        /**
         * The usual values: smaller MTU of both ports, ACK timeout 67 ms with 7 retries, receiver-not-ready repeated for
         * ever every 0.64 ms, 4 reads outstanding, all access that the device can grant.
         */
        public static final Parameters DEFAULT = new Parameters();

        // Changed on a copy only, before anybody else sees it.
        private Mtu mtu = Mtu.UNKNOWN;
        private int timeout = 14;
        private int retryCount = 7;
        private int rnrRetry = 7;
        private int minRnrTimer = 12;
        private int maxReadAtomic = 4;
        private int maxDestinationReadAtomic = 4;
        private int hopLimit = 64;
        private int trafficClass;
        private int serviceLevel;
        private Set<Access> access =
                Set.of(Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ, Access.REMOTE_ATOMIC);
        private int pkeyIndex;
        private @Nullable LidPath lidPath;
        private int flowLabel;

        private Parameters() {}

        private Parameters with(Consumer<Parameters> change) {
            Parameters copy = new Parameters();
            copy.mtu = mtu;
            copy.timeout = timeout;
            copy.retryCount = retryCount;
            copy.rnrRetry = rnrRetry;
            copy.minRnrTimer = minRnrTimer;
            copy.maxReadAtomic = maxReadAtomic;
            copy.maxDestinationReadAtomic = maxDestinationReadAtomic;
            copy.hopLimit = hopLimit;
            copy.trafficClass = trafficClass;
            copy.serviceLevel = serviceLevel;
            copy.access = access;
            copy.pkeyIndex = pkeyIndex;
            copy.lidPath = lidPath;
            copy.flowLabel = flowLabel;
            change.accept(copy);
            return copy;
        }

        /** Returns the local ACK timeout: 4.096 us times 2 to this power; 0 is for ever. */
        public int timeout() {
            return timeout;
        }

        /** Returns the hop limit. */
        public int hopLimit() {
            return hopLimit;
        }

        /** Returns the index of the partition in the local port's P_Key table. */
        public int pkeyIndex() {
            return pkeyIndex;
        }

        /** Returns the flow label, 20 bits; on RoCE v2, 0 lets the device choose the UDP source port. */
        public int flowLabel() {
            return flowLabel;
        }

        /** Returns how long the peer waits after receiver-not-ready, a code of 0 to 31. */
        public int minRnrTimer() {
            return minRnrTimer;
        }

        /**
         * Returns a copy with another MTU.
         *
         * @param value the path MTU; UNKNOWN takes the smaller of both ports'
         */
        public Parameters withMtu(Mtu value) {
            return with(copy -> copy.mtu = value);
        }

        /**
         * Returns a copy with another ACK timeout.
         *
         * @param exponent 4.096 us times 2^exponent, 0 to 31
         * @param retries repetitions of a request without answer, 0 to 7; soft-RoCE retries without end if it is 7
         */
        public Parameters withTimeout(int exponent, int retries) {
            return with(copy -> {
                copy.timeout = exponent;
                copy.retryCount = retries;
            });
        }

        /**
         * Returns a copy with another behaviour after receiver-not-ready.
         *
         * @param retries repetitions, 0 to 6, 7 is for ever
         * @param timer how long the peer waits, a code of 0 to 31
         */
        public Parameters withRnr(int retries, int timer) {
            return with(copy -> {
                copy.rnrRetry = retries;
                copy.minRnrTimer = timer;
            });
        }

        /**
         * Returns a copy with other reads and atomics outstanding.
         *
         * @param initiator as the initiator, 0 to 255
         * @param target as the target, 0 to 255
         */
        public Parameters withReadAtomic(int initiator, int target) {
            return with(copy -> {
                copy.maxReadAtomic = initiator;
                copy.maxDestinationReadAtomic = target;
            });
        }

        /**
         * Returns a copy with other marks in the packets.
         *
         * @param hops the hop limit, 0 to 255
         * @param traffic the traffic class, 0 to 255
         * @param service the service level, 0 to 15
         */
        public Parameters withRouting(int hops, int traffic, int service) {
            return with(copy -> {
                copy.hopLimit = hops;
                copy.trafficClass = traffic;
                copy.serviceLevel = service;
            });
        }

        /**
         * Returns a copy with other access.
         *
         * @param value what the peer may do. {@link Access#REMOTE_ATOMIC} is granted only if the device has atomic operations. On UC
         *     neither it nor {@link Access#REMOTE_READ} is granted
         */
        public Parameters withAccess(Access... value) {
            return with(copy -> copy.access = Set.copyOf(Arrays.asList(value)));
        }

        /**
         * Returns a copy in another partition.
         *
         * @param index its index in the local port's P_Key table, as {@link DeviceContext#pkeyIndex} finds it
         */
        public Parameters withPkeyIndex(int index) {
            AddressHandleAttributes.range("pkeyIndex", index, 0xffff);
            return with(copy -> copy.pkeyIndex = index);
        }

        /**
         * Returns a copy whose packets go to the peer's LID without a global route header, on an InfiniBand subnet. RoCE and routers
         * of InfiniBand need the header. Hop limit, traffic class and GID then have no effect.
         *
         * @param path which of the port's LIDs packets come from, and their rate
         */
        public Parameters withLidPath(LidPath path) {
            return with(copy -> copy.lidPath = path);
        }

        /**
         * Returns a copy with another flow label. On RoCE v2 the label chooses the UDP source port. Switches use that port to
         * choose one of several paths: see {@link AddressHandleAttributes#udpSourcePort(int)}. The label has no effect without a
         * global route header.
         *
         * @param label 20 bits; 0 leaves the choice to the device
         */
        public Parameters withFlowLabel(int label) {
            AddressHandleAttributes.range("flowLabel", label, 0xfffff);
            return with(copy -> copy.flowLabel = label);
        }

        /**
         * Returns a copy whose packets have a given UDP source port, on RoCE v2.
         *
         * @param port 49152 to 65535
         */
        public Parameters withUdpSourcePort(int port) {
            return withFlowLabel(AddressHandleAttributes.flowLabelOfUdpSourcePort(port));
        }
    }

    /**
     * Brings a queue pair from RESET to INIT, so that receives may be posted before the peer can send.
     *
     * @param queuePair the queue pair
     * @param local its own address
     * @param parameters how the connection behaves
     * @throws IllegalArgumentException if it is of type UD, which has no connections
     */
    public static void init(QueuePair queuePair, RawAddress local, Parameters parameters) {
        requireConnected(queuePair);
        Set<Access> access = granted(queuePair.protectionDomain().context(), parameters);
        if (queuePair.type() == QpType.UC) {
            access.removeAll(Set.of(Access.REMOTE_READ, Access.REMOTE_ATOMIC));
        }
        queuePair.modify(initialized(local, parameters, access));
    }

    private static Set<Access> granted(DeviceContext context, Parameters parameters) {
        Set<Access> access = EnumSet.noneOf(Access.class);
        access.addAll(parameters.access);
        if (access.contains(Access.REMOTE_ATOMIC) && !context.hasAtomics()) {
            // mlx5 and efa refuse the whole transition for it.
            access.remove(Access.REMOTE_ATOMIC);
        }
        return access;
    }

    private static QueuePairModification initialized(RawAddress local, Parameters parameters, Set<Access> access) {
        return QueuePairModification.to(QpState.INIT)
                .port(local.port())
                .pkeyIndex(parameters.pkeyIndex)
                .access(access)
                .build();
    }

    /**
     * Brings a queue pair from INIT to RTS. The peer does the same with the addresses swapped.
     *
     * @param queuePair the queue pair, in INIT
     * @param local its own address, as it was given to the peer
     * @param remote the peer's address
     * @param parameters how the connection behaves
     * @throws IllegalArgumentException if the parameters have a {@code lidPath} and the peer's port has no LID, or if the queue
     *     pair is of type UD
     */
    public static void establish(QueuePair queuePair, RawAddress local, RawAddress remote, Parameters parameters) {
        requireConnected(queuePair);
        QueuePairModification.Builder receive = towards(local, remote, parameters);
        QueuePairModification.Builder send = QueuePairModification.builder().sendPsn(local.psn());
        if (queuePair.type() == QpType.RC) {
            // The sending end of an extended reliable connection answers no requests.
            receive = queuePair.isXrcInitiator() ? receive : answering(receive, parameters);
            send = send.timeout(parameters.timeout)
                    .retryCount(parameters.retryCount)
                    .rnrRetry(parameters.rnrRetry)
                    .maxReadAtomic(parameters.maxReadAtomic);
        }
        queuePair.toReadyToReceive(receive);
        queuePair.toReadyToSend(send);
    }

    private static QueuePairModification.Builder towards(RawAddress local, RawAddress remote, Parameters parameters) {
        Mtu mtu = parameters.mtu;
        if (mtu == Mtu.UNKNOWN) {
            mtu = local.mtu().bytes() <= remote.mtu().bytes() ? local.mtu() : remote.mtu();
        }
        return QueuePairModification.builder()
                .addressVector(destination(local, remote, parameters))
                .pathMtu(mtu)
                .destinationQp(remote.qpNumber())
                .receivePsn(remote.psn());
    }

    private static QueuePairModification.Builder answering(
            QueuePairModification.Builder receive, Parameters parameters) {
        return receive.maxDestinationReadAtomic(parameters.maxDestinationReadAtomic)
                .minRnrTimer(parameters.minRnrTimer);
    }

    /**
     * Brings the receiving end of an extended reliable connection from RESET to RTS. The peer connects its
     * {@linkplain QueuePairAttributes.Builder#xrcInitiator initiator} like any queue pair.
     *
     * @param target the receiving end
     * @param local its own address, as it was given to the peer
     * @param remote the address of the peer's initiator
     * @param parameters how the connection behaves; retry counts and {@code maxReadAtomic} have no effect here
     * @throws IllegalArgumentException if the parameters have a {@code lidPath} and the peer's port has no LID
     */
    public static void connect(XrcTarget target, RawAddress local, RawAddress remote, Parameters parameters) {
        target.modify(initialized(local, parameters, granted(target.domain().context(), parameters)));
        target.modify(answering(towards(local, remote, parameters), parameters)
                .state(QpState.RTR)
                .build());
        target.modify(QueuePairModification.to(QpState.RTS)
                .sendPsn(local.psn())
                .timeout(parameters.timeout)
                .build());
    }

    private static void requireConnected(QueuePair queuePair) {
        if (queuePair.type() == QpType.UD) {
            throw new IllegalArgumentException(
                    queuePair.describe() + " is of type UD, which has no connections: use toReadyToSendDatagrams");
        }
    }

    private static AddressHandleAttributes destination(RawAddress local, RawAddress remote, Parameters parameters) {
        AddressHandleAttributes byLid =
                AddressHandleAttributes.toLid(local.port(), remote.lid()).withServiceLevel(parameters.serviceLevel);
        LidPath path = parameters.lidPath;
        if (path == null) {
            return byLid.withGid(remote.gid(), local.gidIndex())
                    .withHopLimit(parameters.hopLimit)
                    .withTrafficClass(parameters.trafficClass)
                    .withFlowLabel(parameters.flowLabel);
        }
        if (remote.lid() == 0) {
            throw new IllegalArgumentException(
                    "the peer's port has no LID, so it is reached with a global route header only: leave lidPath out");
        }
        return byLid.withPathBits(path.pathBits()).withStaticRate(path.staticRate());
    }

    /**
     * Brings a queue pair from RESET to RTS.
     *
     * @param queuePair the queue pair
     * @param local its own address, as it was given to the peer
     * @param remote the peer's address
     * @param parameters how the connection behaves
     */
    public static void connect(QueuePair queuePair, RawAddress local, RawAddress remote, Parameters parameters) {
        init(queuePair, local, parameters);
        establish(queuePair, local, remote, parameters);
    }

    /**
     * Connects two queue pairs of this JVM with each other, both over a GID that was read earlier.
     *
     * @param a the one, in RESET
     * @param b the other, in RESET
     * @param gid the GID; used at the index that it has now
     * @param parameters how the connection behaves
     * @throws io.rdmatest.RdmaException if the port no longer has the GID
     */
    public static void connect(QueuePair a, QueuePair b, GidEntry gid, Parameters parameters) {
        GidEntry current = a.protectionDomain().context().current(gid);
        connect(a, b, current.port(), current.index(), parameters);
    }

    /**
     * Connects two queue pairs of this JVM with each other, both over the same port and GID index.
     *
     * @param a the one, in RESET
     * @param b the other, in RESET
     * @param port the local port, from 1
     * @param gidIndex the index of the GID to use
     * @param parameters how the connection behaves
     */
    public static void connect(QueuePair a, QueuePair b, int port, int gidIndex, Parameters parameters) {
        RawAddress addressOfA = RawAddress.of(a, port, gidIndex, 0x123);
        RawAddress addressOfB = RawAddress.of(b, port, gidIndex, 0xabcdef);
        connect(a, addressOfA, addressOfB, parameters);
        connect(b, addressOfB, addressOfA, parameters);
    }
}
