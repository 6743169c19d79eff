package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.IbAddress;
import io.rdmatest.cm.PathRecord;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.SendFlag;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Connections within an InfiniBand subnet: LIDs, path records, partitions. The library tells what modify_qp received. */
@ExtendWith(UsualStandin.class)
class InfinibandTestCase {

    private static final int INFINIBAND = 1;
    private static final int LID = 0xbee4;
    private static final int RATE_25 = 15;
    private static final int RATE_100 = 16;
    private static final Gid PEER = Gid.parse("fe80::2:c903:0:1");

    @BeforeEach
    void anInfinibandPort() {
        Standin.set("link_layer", INFINIBAND);
        Standin.set("lid", LID);
        Standin.set("lmc", 2);
        Standin.set("pkeys", 4);
    }

    private static Map<String, Long> received(QueuePair queuePair, String... fields) {
        Map<String, Long> received = new LinkedHashMap<>();
        for (String field : fields) {
            received.put(field, Standin.received(queuePair, field));
        }
        return received;
    }

    @Test
    void queuePairsConnectByLidWithoutAGlobalRouteHeader() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.cq();
            QueuePair a = standin.qp(QpType.RC, cq);
            QueuePair b = standin.qp(QpType.RC, standin.cq());
            RawConnection.connect(
                    a,
                    b,
                    1,
                    1,
                    RawConnection.Parameters.DEFAULT
                            .withRouting(33, 44, 3)
                            .withLidPath(new RawConnection.LidPath(2, RATE_25)));
            assertThat(received(
                            a,
                            "is_global",
                            "dlid",
                            "sl",
                            "src_path_bits",
                            "static_rate",
                            "ah_port_num",
                            "sgid_index",
                            "hop_limit",
                            "traffic_class"))
                    .isEqualTo(Map.of(
                            "is_global", 0L,
                            "dlid", (long) LID,
                            "sl", 3L,
                            "src_path_bits", 2L,
                            "static_rate", (long) RATE_25,
                            "ah_port_num", 1L,
                            "sgid_index", 0L,
                            "hop_limit", 0L,
                            "traffic_class", 0L));
            AddressHandleAttributes vector = a.query().addressVector();
            assertThat(vector)
                    .isEqualTo(AddressHandleAttributes.toLid(1, LID)
                            .withServiceLevel(3)
                            .withPathBits(2)
                            .withStaticRate(RATE_25));
            var from = standin.memory();
            var to = standin.memory();
            a.postWrite(1, from, 0, 64, to.address(), to.rkey(), SendFlag.SIGNALED);
            assertThatCode(() -> cq.awaitSuccess(Standin.SOON)).doesNotThrowAnyException();
        }
    }

    @Test
    void queuePairsConnectWithAGlobalRouteHeaderUnlessTheyAreToldOtherwise() throws Exception {
        try (Standin standin = new Standin()) {
            QueuePair a = standin.qp(QpType.RC, standin.cq());
            QueuePair b = standin.qp(QpType.RC, standin.cq());
            RawConnection.connect(a, b, 1, 1, RawConnection.Parameters.DEFAULT.withRouting(33, 44, 3));
            assertThat(received(a, "is_global", "dlid", "sl", "sgid_index", "hop_limit", "traffic_class"))
                    .isEqualTo(Map.of(
                            "is_global", 1L,
                            "dlid", (long) LID,
                            "sl", 3L,
                            "sgid_index", 1L,
                            "hop_limit", 33L,
                            "traffic_class", 44L));
        }
    }

    @Test
    void aPortWithoutALidIsNotReachedByOne() throws Exception {
        Standin.set("link_layer", 2);
        Standin.set("lid", 0);
        try (Standin standin = new Standin()) {
            QueuePair a = standin.qp(QpType.RC, standin.cq());
            QueuePair b = standin.qp(QpType.RC, standin.cq());
            assertThatThrownBy(() -> RawConnection.connect(
                            a, b, 1, 0, RawConnection.Parameters.DEFAULT.withLidPath(RawConnection.LidPath.DEFAULT)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("has no LID");
            assertThat(a.query().state()).isEqualTo(QpState.INIT);
        }
    }

    @Test
    void pathsOfAResolvedIdAreRead() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            assertThat(id.paths()).isEmpty();
            IbAddress target = IbAddress.of(PEER, PortSpace.TCP, 7471);
            id.resolveAddress(null, target, Standin.SOON);
            assertThat(id.paths()).as("before the route is resolved").isEmpty();
            id.resolveRoute(Standin.SOON);

            PathRecord first = new PathRecord(
                    id.localGid(), PEER, LID, 0x777, 0xffff, 5, Mtu.MTU_2048, RATE_100, 0, 0, 0, 18, true);
            PathRecord second = new PathRecord(
                    id.localGid(),
                    PEER,
                    LID + 1,
                    0x778,
                    0xffff,
                    6,
                    Mtu.MTU_2048,
                    RATE_25,
                    0xabcde,
                    64,
                    0x12,
                    18,
                    false);
            assertThat(id.paths()).containsExactly(first, second);
            assertThat(first.rateGbps()).isEqualTo(100);
            assertThat(second.rateGbps()).isEqualTo(25);
            assertThat(first.lifeTime()).isEqualTo(Duration.ofNanos(4096L << 18));
            assertThat(first)
                    .hasToString(id.localGid() + " to " + PEER + ", LID 48868 to 1911, P_Key 0xffff, SL 5, MTU 2048,"
                            + " 100 Gbit/s, hop limit 0");
        }
    }

    @Test
    void aPathCarriesAQueuePair() throws Exception {
        try (Standin standin = new Standin();
                EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.resolveAddress(null, IbAddress.of(PEER, PortSpace.TCP, 7471), Standin.SOON);
            id.resolveRoute(Standin.SOON);
            List<PathRecord> paths = id.paths();

            QueuePair within = readyToReceive(standin, paths.getFirst());
            assertThat(received(within, "is_global", "dlid", "sl", "src_path_bits", "static_rate", "path_mtu"))
                    .isEqualTo(Map.of(
                            "is_global", 0L,
                            "dlid", 0x777L,
                            "sl", 5L,
                            "src_path_bits", 0L,
                            "static_rate", (long) RATE_100,
                            "path_mtu", 4L));
            QueuePair beyond = readyToReceive(standin, paths.getLast());
            assertThat(received(
                            beyond,
                            "is_global",
                            "dlid",
                            "sl",
                            "src_path_bits",
                            "static_rate",
                            "hop_limit",
                            "traffic_class",
                            "flow_label"))
                    .isEqualTo(Map.of(
                            "is_global", 1L,
                            "dlid", 0x778L,
                            "sl", 6L,
                            "src_path_bits", 1L,
                            "static_rate", (long) RATE_25,
                            "hop_limit", 64L,
                            "traffic_class", 0x12L,
                            "flow_label", 0xabcdeL));
        }
    }

    private static QueuePair readyToReceive(Standin standin, PathRecord path) {
        QueuePair queuePair = standin.qp(QpType.RC, standin.cq());
        queuePair.modify(QueuePairModification.to(QpState.INIT)
                .port(1)
                .pkeyIndex(0)
                .access(Set.of())
                .build());
        queuePair.toReadyToReceive(QueuePairModification.builder()
                .addressVector(path.addressVector(1, 0, standin.context.port(1).lmc()))
                .pathMtu(path.mtu())
                .destinationQp(7)
                .receivePsn(1)
                .maxDestinationReadAtomic(1)
                .minRnrTimer(12));
        return queuePair;
    }

    @Test
    void aPartitionOfANativeAddressReachesTheQueuePair() throws Exception {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.resolveAddress(null, new IbAddress(PEER, 0x8022, 0x0106_1d2fL, -1L), Standin.SOON);
            id.resolveRoute(Standin.SOON);
            assertThat(id.remoteGid()).isEqualTo(PEER);
            assertThat(id.paths().getFirst().pkey()).isEqualTo(0x8022);
            try (ProtectionDomain pd = id.context().allocateProtectionDomain();
                    CompletionQueue cq = id.context().createCompletionQueue(16);
                    QueuePair queuePair = id.createQueuePair(
                            pd,
                            QueuePairAttributes.builder(QpType.RC)
                                    .completionQueue(cq)
                                    .build())) {
                assertThat(received(queuePair, "state", "pkey_index"))
                        .isEqualTo(Map.of("state", (long) QpState.INIT.ordinal(), "pkey_index", 2L));
            }
        }
    }

    /** As {@code -f gid} of the programs looks an address up. */
    @Test
    void aGidThatIsLookedUpReachesTheQueuePair() throws Exception {
        AddressInfo info = AddressInfo.lookup(
                        "fe80::2:c903:0:1",
                        "7471",
                        AddressInfo.Hints.active(AddressInfo.Format.GID, PortSpace.TCP),
                        Standin.SOON)
                .getFirst();
        assertThat(info.isNative()).isTrue();
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.resolveAddress(info, Standin.SOON);
            id.resolveRoute(Standin.SOON);
            assertThat(id.remoteGid()).isEqualTo(PEER);
            assertThat(id.remotePort()).isEqualTo(7471);
            assertThat(id.paths().getFirst().destinationGid()).isEqualTo(PEER);
            try (ProtectionDomain pd = id.context().allocateProtectionDomain();
                    CompletionQueue cq = id.context().createCompletionQueue(16);
                    QueuePair queuePair = id.createQueuePair(
                            pd,
                            QueuePairAttributes.builder(QpType.RC)
                                    .completionQueue(cq)
                                    .build())) {
                assertThat(received(queuePair, "state", "pkey_index"))
                        .isEqualTo(Map.of("state", (long) QpState.INIT.ordinal(), "pkey_index", 0L));
            }
        }
    }

    @Test
    void aPartitionThatThePortIsNotInIsRefused() throws Exception {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.resolveAddress(null, new IbAddress(PEER, 0x8033, 0x0106_1d2fL, -1L), Standin.SOON);
            try (ProtectionDomain pd = id.context().allocateProtectionDomain();
                    CompletionQueue cq = id.context().createCompletionQueue(16)) {
                QueuePairAttributes attributes = QueuePairAttributes.builder(QpType.RC)
                        .completionQueue(cq)
                        .build();
                assertThatThrownBy(() -> id.createQueuePair(pd, attributes))
                        .isInstanceOfSatisfying(RdmaException.class, failure -> {
                            assertThat(failure.call()).isEqualTo("rdma_create_qp_ex");
                            assertThat(failure.errnoName()).isEqualTo("EINVAL");
                            assertThat(failure.rdmaCause()).isEqualTo(Cause.HOST_NOT_READY);
                        })
                        .hasCauseInstanceOf(RdmaException.class)
                        .hasMessageContaining("can't have a queue pair")
                        .hasMessageContaining("is not a member of partition 0x8033")
                        .hasMessageContaining("0xffff, 0x8011, 0x8022");
            }
        }
    }
}
