package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmatest.Cause;
import io.rdmatest.Ledger;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.AtomicCapability;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.KernelResource;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.PortState;
import io.rdmatest.verbs.PostException;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Each answer of the interposer, while the kernel's device below it works as usual. */
@ExtendWith(UsualStandin.class)
class InterposedTestCase {

    private static final int EIO = 5;
    private static final int REMOTE_ATOMIC = 1 << 3;
    private static final int INFINIBAND = 1;
    private static final int XDR = 256;
    private static final int LID = 0xbee4;
    /** IBV_QP_STATE, PKEY_INDEX, PORT, QKEY, SQ_PSN, CAP and RNR_RETRY: EFA_QUERY_QP_SUPP_MASK of libefa. */
    private static final int QUERY_MASK_OF_EFA = 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 11 | 1 << 16 | 1 << 19;

    @BeforeEach
    void nothingIsInTheKernel() {
        assertThat(inKernel()).isEmpty();
    }

    @AfterEach
    void nothingIsLeftInTheKernel() {
        Standin.setUsual();
        assertThat(inKernel()).as("what the kernel still has").isEmpty();
    }

    private static List<KernelResource> inKernel() {
        return KernelResource.list(
                        KernelResource.Kind.PROTECTION_DOMAIN,
                        KernelResource.Kind.MEMORY_REGION,
                        KernelResource.Kind.COMPLETION_QUEUE,
                        KernelResource.Kind.SHARED_RECEIVE_QUEUE,
                        KernelResource.Kind.QUEUE_PAIR,
                        KernelResource.Kind.CM_ID)
                .stream()
                .filter(KernelResource::isOfThisProcess)
                .toList();
    }

    private static void carryData(Standin.Pair pair) {
        pair.mrA().fill((byte) 7);
        pair.a()
                .postWrite(
                        1,
                        pair.mrA(),
                        0,
                        Standin.SIZE,
                        pair.mrB().address(),
                        pair.mrB().rkey(),
                        SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Standin.SOON).wrId()).isEqualTo(1);
        assertThat(pair.mrB().bytes().get(ValueLayout.JAVA_BYTE, Standin.SIZE - 1))
                .isEqualTo((byte) 7);
    }

    @Test
    void theDeviceSaysThatItIsAStandIn() {
        assertThat(RdmaDevice.list().getFirst().driver()).isEqualTo("stand-in");
    }

    @Test
    void withoutACommandNothingDiffers() throws Exception {
        try (Standin standin = new Standin()) {
            carryData(standin.pair());
            assertThat(standin.context.port(1).linkLayer()).isEqualTo(LinkLayer.ETHERNET);
            assertThat(standin.context.attributes().physicalPorts()).isEqualTo(1);
        }
    }

    @Test
    void aResetReleasesEverythingAlsoInTheKernel() throws Exception {
        try (Standin standin = new Standin();
                EventChannel channel = EventChannel.create()) {
            CompletionChannel events = standin.add(standin.context.createCompletionChannel());
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(16, events));
            Standin.Pair pair = standin.pair(standin.cq(), cq);
            standin.add(standin.pd.createSharedReceiveQueue(16, 1));
            GidEntry gid = standin.context.gidTable(1).getFirst();
            standin.add(standin.pd.createAddressHandle(AddressHandleAttributes.toGid(1, gid.index(), gid.gid())));
            QueuePair datagrams = standin.qp(QpType.UD, standin.cq());
            datagrams.toReadyToSendDatagrams(1, 0, 1, 1);
            datagrams.attachMulticast(Gid.parse("ff0e::ffff:224.0.2.1"), 0);
            CmId id = standin.add(channel.createId(PortSpace.TCP));
            id.bind(new InetSocketAddress(standin.address(), 0));
            standin.add(id.createQueuePair(
                    standin.add(id.context().allocateProtectionDomain()),
                    QueuePairAttributes.builder(QpType.RC)
                            .completionQueue(standin.add(id.context().createCompletionQueue(16)))
                            .build()));
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.a().postSend(2, pair.mrA(), 0, 64);
            assertThat(inKernel()).hasSizeGreaterThan(8);

            Standin.reset();
            RdmaException failure = catchThrowableOfType(RdmaException.class, () -> standin.pd.registerMemory(64));
            assertThat(failure.rdmaCause()).isEqualTo(Cause.DEVICE_REMOVED);
            standin.close();
            assertThat(Ledger.live()).containsExactly(channel);
            assertThat(Standin.get("destroy_calls")).isGreaterThan(8);
            assertThat(inKernel()).isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {-2, -EIO})
    void aPollThatFailsIsToldAsTheProviderMeansIt(int result) throws Exception {
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.cq();
            Standin.set("poll_result", result);
            RdmaException failure = catchThrowableOfType(RdmaException.class, () -> cq.poll(cq.newCompletions(1)));
            assertThat(failure).hasMessageContaining("returned " + result);
            assertThat(failure.rdmaCause()).isEqualTo(result == -EIO ? Cause.DEVICE_REMOVED : Cause.CALL_FAILED);
        }
    }

    /** What stands before the request that is refused is on its way, and completes. */
    @Test
    void aPostThatReturnsMinusOneHasPostedWhatStandsBefore() throws Exception {
        try (Standin standin = new Standin();
                SendRequests sends = SendRequests.allocate(3)) {
            Standin.Pair pair = standin.pair();
            for (int i = 0; i < 3; i++) {
                sends.write(
                        i,
                        10 + i,
                        pair.mrA(),
                        0,
                        8,
                        pair.mrB().address(),
                        pair.mrB().rkey(),
                        SendFlag.SIGNALED);
            }
            Standin.set("post_result", -1);
            Standin.set("post_bad", 2);
            PostException failure =
                    catchThrowableOfType(PostException.class, () -> pair.a().post(sends));
            assertThat(failure).hasMessageContaining("It returned -1, which is no errno");
            assertThat(failure.badIndex()).isEqualTo(2);
            Standin.set("post_result", 0);
            assertThat(pair.cqA().awaitAny(2, Standin.SOON))
                    .extracting(completion -> completion.wrId())
                    .containsExactly(10L, 11L);
            assertThat(pair.a().work().sends()).isZero();
        }
    }

    @Test
    void anXdrPortHasItsWholeRate() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("speed", 128);
            Standin.set("speed_ex", XDR);
            Standin.set("width", 2);
            assertThat(standin.context.port(1).rateGbps()).isEqualTo(800.0);
        }
    }

    @Test
    void dataGoesByLidWithinASubnet() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("link_layer", INFINIBAND);
            Standin.set("lid", LID);
            Standin.set("lmc", 2);
            PortAttributes port = standin.context.port(1);
            assertThat(port.linkLayer()).isEqualTo(LinkLayer.INFINIBAND);
            assertThat(port.lid()).isEqualTo(LID);
            assertThat(standin.context.gidTable(1)).extracting(GidEntry::type).containsOnly(GidType.IB);
            Standin.Pair pair = standin.unconnected();
            RawConnection.connect(
                    pair.a(),
                    pair.b(),
                    1,
                    0,
                    RawConnection.Parameters.DEFAULT
                            .withRouting(0, 0, 3)
                            .withLidPath(new RawConnection.LidPath(2, 15)));
            assertThat(pair.a().query().addressVector())
                    .isEqualTo(AddressHandleAttributes.toLid(1, LID)
                            .withServiceLevel(3)
                            .withPathBits(2)
                            .withStaticRate(15));
            carryData(pair);
        }
    }

    @Test
    void dataGoesInAPartitionThatIsNamedByItsPkey() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("link_layer", INFINIBAND);
            Standin.set("pkeys", 4);
            assertThat(standin.context.pkeyTable(1)).containsExactly(0xffff, 0x8011, 0x8022, 0);
            Standin.Pair pair = standin.unconnected();
            int index = standin.context.pkeyIndex(1, 0x8022);
            RawConnection.connect(pair.a(), pair.b(), 1, 0, RawConnection.Parameters.DEFAULT.withPkeyIndex(index));
            assertThat(pair.a().query().pkeyIndex()).isEqualTo(2);
            carryData(pair);
            assertThatThrownBy(() -> standin.context.pkeyIndex(1, 0x8033))
                    .hasMessageContaining("is not a member of partition 0x8033");
        }
    }

    @Test
    void dataGoesFromGidsAfterHoles() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("gids", 256);
            Standin.set("gid_step", 51);
            List<GidEntry> table = standin.context.gidTable(1);
            assertThat(table).extracting(GidEntry::index).startsWith(0, 51, 102);
            Standin.Pair pair = standin.unconnected();
            RawConnection.connect(pair.a(), pair.b(), table.get(2), RawConnection.Parameters.DEFAULT);
            assertThat(pair.a().query().addressVector().gidIndex()).isEqualTo(102);
            carryData(pair);
            assertThatThrownBy(() -> standin.context.gid(1, 1)).hasMessageContaining("has no GID at index 1");
        }
    }

    @Test
    void aDeviceOfEfasLimitsIsUsedWithinThem() throws Exception {
        Standin.set("rc", 0);
        Standin.set("srq", 0);
        Standin.set("max_sge", 2);
        Standin.set("atomics", AtomicCapability.NONE.ordinal());
        Standin.set("query_mask", QUERY_MASK_OF_EFA);
        Standin.set("refused_access", REMOTE_ATOMIC);
        try (Standin standin = new Standin()) {
            assertThat(standin.context.attributes().maxSge()).isEqualTo(2);
            assertThat(standin.context.capabilities().toString()).contains("UD").doesNotContain("RC");
            MemoryRegion region = standin.memory(standin.context.allAccess());
            assertThat(region.access()).doesNotContain(Access.REMOTE_ATOMIC);
            QueuePair pair = standin.qp(QpType.UD, standin.cq());
            pair.toReadyToSendDatagrams(1, 0, 0x1234, 77);
            assertThat(pair.query().state()).isEqualTo(QpState.RTS);
            assertThatThrownBy(() -> standin.qp(QpType.RC, standin.cq()))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("EOPNOTSUPP");
            assertThatThrownBy(() -> standin.pd.createSharedReceiveQueue(16, 1))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("EOPNOTSUPP");
        }
    }

    @Test
    void dataGoesThroughTheSecondPort() throws Exception {
        Standin.set("ports", 2);
        try (Standin standin = new Standin()) {
            assertThat(standin.context.attributes().physicalPorts()).isEqualTo(2);
            assertThat(standin.context.port(1).state()).isEqualTo(PortState.DOWN);
            assertThat(standin.context.port(2).state()).isEqualTo(PortState.ACTIVE);
            assertThat(standin.context.gidTable(1)).isEmpty();
            GidEntry gid = standin.context.gidTable(2).getFirst();
            Standin.Pair pair = standin.unconnected();
            RawConnection.connect(pair.a(), pair.b(), gid, RawConnection.Parameters.DEFAULT);
            assertThat(pair.a().query().port()).isEqualTo(2);
            carryData(pair);
        }
    }
}
