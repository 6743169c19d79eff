package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.RdmaException;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AsyncEvent;
import io.rdmatest.verbs.AtomicCapability;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.RawAddress;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.SendFlag;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Ports and devices that no software device is like. */
@ExtendWith(UsualStandin.class)
class PortsTestCase {

    private static final int REMOTE_ATOMIC = 1 << 3;
    private static final int INFINIBAND = 1;
    private static final int NDR = 128;
    private static final int XDR = 256;
    private static final int DEVICE_SPEED_CHANGE = 20;
    /** IBV_QP_STATE, PKEY_INDEX, PORT, QKEY, SQ_PSN, CAP and RNR_RETRY: EFA_QUERY_QP_SUPP_MASK of libefa. */
    private static final int QUERY_MASK_OF_EFA = 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 11 | 1 << 16 | 1 << 19;

    @Test
    void anXdrPortHasItsWholeRate() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("speed", NDR);
            Standin.set("speed_ex", XDR);
            PortAttributes port = standin.context.port(1);
            assertThat(port.activeSpeed()).isEqualTo(XDR);
            assertThat(port.activeWidth()).isEqualTo(4);
            assertThat(port.rateGbps()).isEqualTo(800.0);
        }
    }

    @Test
    void aChangeOfTheSpeedIsToldAsAnEvent() throws Exception {
        try (Standin standin = new Standin()) {
            standin.tell(DEVICE_SPEED_CHANGE);
            AsyncEvent event = standin.context.awaitAsyncEvent(Standin.SOON);
            assertThat(event.type()).isEqualTo(AsyncEvent.Type.DEVICE_SPEED_CHANGE);
            assertThat(event.affected()).isEqualTo(Standin.DEVICE);
        }
    }

    @Test
    void anOlderLibraryTellsWhatItKnows() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("speed", NDR);
            Standin.set("speed_ex", XDR);
            Standin.set("port_attr_size", 52);
            PortAttributes port = standin.context.port(1);
            assertThat(port.activeSpeed()).isEqualTo(NDR);
            assertThat(port.rateGbps()).isEqualTo(400.0);
            assertThat(port.linkLayer()).isEqualTo(LinkLayer.ETHERNET);
        }
    }

    @Test
    void connectionsOfDevicesWithoutAtomicsComeUp() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("atomics", AtomicCapability.NONE.ordinal());
            Standin.set("refused_access", REMOTE_ATOMIC);
            Standin.Pair pair = standin.pair();
            assertThat(pair.a().query().access())
                    .containsExactlyInAnyOrder(Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ);
            pair.a()
                    .postWrite(
                            1,
                            pair.mrA(),
                            0,
                            64,
                            pair.mrB().address(),
                            pair.mrB().rkey(),
                            SendFlag.SIGNALED);
            assertThatCode(() -> pair.cqA().awaitSuccess(Standin.SOON)).doesNotThrowAnyException();
        }
    }

    @Test
    void allAccessIsWhatTheDeviceCanGrant() throws Exception {
        try (Standin standin = new Standin()) {
            assertThat(standin.context.allAccess()).contains(Access.REMOTE_ATOMIC);
        }
        Standin.set("atomics", AtomicCapability.NONE.ordinal());
        Standin.set("refused_access", REMOTE_ATOMIC);
        try (Standin standin = new Standin()) {
            MemoryRegion region = standin.memory(standin.context.allAccess());
            assertThat(region.access())
                    .containsExactlyInAnyOrder(Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ);
        }
    }

    @Test
    void aDatagramQueuePairOfEfaCanBeQueried() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("rc", 0);
            Standin.set("srq", 0);
            Standin.set("max_sge", 2);
            Standin.set("atomics", AtomicCapability.NONE.ordinal());
            Standin.set("query_mask", QUERY_MASK_OF_EFA);
            QueuePair pair = standin.qp(QpType.UD, standin.cq());
            pair.toReadyToSendDatagrams(1, 0, 0x1234, 77);
            QueuePairModification its = pair.query();
            assertThat(its.state()).isEqualTo(QpState.RTS);
            assertThat(its.qkey()).isEqualTo(0x1234);
            assertThat(its.sendPsn()).isEqualTo(77);
            assertThat(its.port()).isEqualTo(1);
            assertThat(its.pkeyIndex()).isZero();
            assertThat(its.addressVector()).isNull();
            assertThat(standin.context.capabilities().toString()).contains("UD");
        }
    }

    @Test
    void aGidTableOf256EntriesHasHoles() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("gids", 256);
            Standin.set("gid_step", 51);
            List<GidEntry> table = standin.context.gidTable(1);
            assertThat(table).extracting(GidEntry::index).containsExactly(0, 51, 102, 153, 204, 255);
            GidEntry last = table.getLast();
            assertThat(standin.context.gid(1, 255)).isEqualTo(last.gid());
            QueuePair pair = standin.qp(QpType.RC, standin.cq());
            assertThat(RawAddress.of(pair, last, 1).gidIndex()).isEqualTo(255);
        }
    }

    @Test
    void aPartitionIsFoundByItsPkeyAndCarriesAConnection() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("link_layer", INFINIBAND);
            Standin.set("pkeys", 4);
            assertThat(standin.context.pkeyTable(1)).containsExactly(0xffff, 0x8011, 0x8022, 0);
            assertThat(standin.context.pkeyIndex(1, 0x8022)).isEqualTo(2);
            assertThat(standin.context.pkeyIndex(1, 0x0011))
                    .as("a limited member")
                    .isEqualTo(1);
            assertThatThrownBy(() -> standin.context.pkeyIndex(1, 0x8033))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("not a member of partition 0x8033")
                    .hasMessageContaining("0xffff, 0x8011, 0x8022");
            QueuePair a = standin.qp(QpType.RC, standin.cq());
            QueuePair b = standin.qp(QpType.RC, standin.cq());
            int index = standin.context.pkeyIndex(1, 0x8022);
            RawConnection.connect(a, b, 1, 0, RawConnection.Parameters.DEFAULT.withPkeyIndex(index));
            assertThat(a.query().pkeyIndex()).isEqualTo(2);
        }
    }

    @Test
    void anInfinibandPortConnectsByItsLids() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("link_layer", INFINIBAND);
            Standin.set("lid", 0xbeef);
            Standin.set("sm_lid", 0xfffe - 0x4000);
            Standin.set("lmc", 2);
            Standin.set("pkeys", 128);
            PortAttributes port = standin.context.port(1);
            assertThat(port.linkLayer()).isEqualTo(LinkLayer.INFINIBAND);
            assertThat(port.lid()).isEqualTo(0xbeef);
            assertThat(port.smLid()).isEqualTo(0xbffe);
            assertThat(port.lmc()).isEqualTo(2);
            assertThat(port.pkeyTableLength()).isEqualTo(128);
            assertThat(standin.context.gidTable(1)).extracting(GidEntry::type).containsOnly(GidType.IB);
            Standin.Pair pair = standin.pair();
            assertThat(pair.a().query().addressVector())
                    .satisfies(vector -> assertThat(vector.lid()).isEqualTo(0xbeef));
        }
    }
}
