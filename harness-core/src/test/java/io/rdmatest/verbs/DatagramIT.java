package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.WholeLedger;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MulticastSocket;
import java.net.NetworkInterface;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(300)
@WholeLedger
class DatagramIT {

    private static final int GRH = 40;
    private static final int LENGTH = 512;
    private static final int QKEY = 0x1234567;

    private Rig rig;
    private CompletionQueue cqA;
    private CompletionQueue cqB;
    private QueuePair a;
    private QueuePair b;

    @BeforeEach
    void open() {
        rig = new Rig();
        cqA = rig.cq();
        cqB = rig.cq();
        a = datagrams(cqA);
        b = datagrams(cqB);
    }

    private QueuePair datagrams(CompletionQueue cq) {
        QueuePair qp = rig.add(rig.pd.createQueuePair(QueuePairAttributes.builder(QpType.UD)
                .completionQueue(cq)
                .maxInline(32)
                .build()));
        qp.toReadyToSendDatagrams(rig.port, 0, QKEY, 0);
        return qp;
    }

    @AfterEach
    void close() throws Exception {
        rig.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aDatagramArrivesBehindItsHeaderAndIsAnswered(boolean ipv4) throws Exception {
        GidEntry gid = rig.gid(ipv4);
        MemoryRegion mrA = rig.memory();
        MemoryRegion mrB = rig.memory();
        Rig.pattern(mrA, 6);
        AddressHandle toB =
                rig.add(rig.pd.createAddressHandle(AddressHandleAttributes.toGid(rig.port, gid.index(), gid.gid())));
        b.postReceive(1, mrB, 0, GRH + LENGTH);
        a.postSendWithImmediate(2, mrA, 0, LENGTH, toB, b.number(), QKEY, 0x0a0b0c0d, SendFlag.SIGNALED);
        WorkCompletion received = cqB.awaitSuccess(Rig.SOON);
        assertThat(cqA.awaitSuccess(Rig.SOON).wrId()).isEqualTo(2);
        assertThat(received.hasGrh()).isTrue();
        assertThat(received.byteLength()).isEqualTo(GRH + LENGTH);
        assertThat(received.sourceQp()).isEqualTo(a.number());
        assertThat(received.immediate()).isEqualTo(0x0a0b0c0d);
        assertThat(Rig.slice(mrB, GRH, LENGTH)).isEqualTo(Rig.slice(mrA, 0, LENGTH));

        AddressHandle toA = rig.add(rig.pd.createAddressHandle(received, mrB, 0, rig.port));
        a.postReceive(3, mrA, 1000, GRH + LENGTH);
        b.postSend(4, mrB, GRH, LENGTH, toA, received.sourceQp(), QKEY, SendFlag.SIGNALED);
        assertThat(cqA.awaitSuccess(Rig.SOON).sourceQp()).isEqualTo(b.number());
        cqB.awaitSuccess(Rig.SOON);
        assertThat(Rig.slice(mrA, 1000 + GRH, LENGTH)).isEqualTo(Rig.slice(mrA, 0, LENGTH));
    }

    @Test
    void aMulticastDatagramReachesAnAttachedQueuePair() throws Exception {
        InetAddress address = InetAddress.getByName("239.77.0.7");
        Gid group = Gid.of(address);
        GidEntry gid = rig.gid(true);
        NetworkInterface netdev = NetworkInterface.getByIndex(gid.interfaceIndex());
        MemoryRegion mrA = rig.memory();
        MemoryRegion mrB = rig.memory();
        Rig.pattern(mrA, 8);
        // Without a connection manager somebody has to make the port a member: on RoCE v2 that is IGMP.
        try (MulticastSocket member = new MulticastSocket()) {
            member.joinGroup(new InetSocketAddress(address, 0), netdev);
            b.attachMulticast(group, 0);
            b.postReceive(1, mrB, 0, GRH + LENGTH);
            AddressHandle toGroup =
                    rig.add(rig.pd.createAddressHandle(AddressHandleAttributes.toGid(rig.port, gid.index(), group)));
            a.postSend(2, mrA, 0, LENGTH, toGroup, 0xffffff, QKEY, SendFlag.SIGNALED);
            cqA.awaitSuccess(Rig.SOON);
            assertThat(cqB.awaitSuccess(Rig.SOON).byteLength()).isEqualTo(GRH + LENGTH);
            assertThat(Rig.slice(mrB, GRH, LENGTH)).isEqualTo(Rig.slice(mrA, 0, LENGTH));
            b.detachMulticast(group, 0);
            assertThatThrownBy(() -> b.detachMulticast(group, 0)).hasMessageContaining("ibv_detach_mcast");
            member.leaveGroup(new InetSocketAddress(address, 0), netdev);
        }
    }

    @Test
    void closingLeavesTheGroups() {
        b.attachMulticast(Gid.parse("::ffff:239.77.0.8"), 0);
        b.attachMulticast(Gid.parse("::ffff:239.77.0.9"), 0);
        b.close();
        assertThat(b.isClosed()).isTrue();
    }

    @Test
    void requestsOfAnotherServiceAreRefused() {
        MemoryRegion memory = rig.memory();
        assertThatThrownBy(() -> a.postSend(1, memory, 0, 8, SendFlag.SIGNALED))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("has no destination");
        assertThatThrownBy(() -> a.postWrite(1, memory, 0, 8, memory.address(), memory.rkey()))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aClosedDestinationIsRefused() {
        GidEntry gid = rig.gid(true);
        MemoryRegion memory = rig.memory();
        AddressHandle handle =
                rig.pd.createAddressHandle(AddressHandleAttributes.toGid(rig.port, gid.index(), gid.gid()));
        try (SendRequests list = SendRequests.allocate(1)) {
            list.sendTo(0, 1, memory, 0, 8, handle, b.number(), QKEY);
            handle.close();
            assertThatThrownBy(() -> a.post(list))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is closed");
        }
    }
}
