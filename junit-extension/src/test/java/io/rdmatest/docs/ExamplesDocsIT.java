package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.cm.CmId;
import io.rdmatest.cm.JoinFlag;
import io.rdmatest.cm.MulticastMembership;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Client;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.DataPattern;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Server;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.verbs.AddressHandle;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RemoteMemory;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;

/** The examples of the page about tests of one's own. */
@RdmaTest
class ExamplesDocsIT {

    private static final Duration SOON = Duration.ofSeconds(10);

    // begin ping-pong
    @RdmaTest
    void pingPong(@Client QueuePair client, @Server QueuePair server, MemoryRegion near, MemoryRegion far) {
        for (int round = 1; round <= 100; round++) {
            send(client, near, server, far, round);
            send(server, far, client, near, -round);
        }
    }

    private static void send(QueuePair from, MemoryRegion source, QueuePair to, MemoryRegion target, int seed) {
        DataPattern pattern = DataPattern.of(seed);
        pattern.fill(source.bytes());
        to.postReceive(seed, target, 0, 4096);
        from.postSend(seed, source, 0, 4096, SendFlag.SIGNALED);
        from.sendQueue().awaitSuccess(SOON);
        assertThat(to.receiveQueue().awaitSuccess(SOON).byteLength()).isEqualTo(4096);
        pattern.verify(target.bytes());
    }
    // end ping-pong

    // begin write-with-immediate
    @RdmaTest
    void writeWithImmediate(Connection connection, MemoryRegion source, MemoryRegion target) {
        DataPattern pattern = DataPattern.of(7);
        pattern.fill(source.bytes());
        connection.server().queuePair().postReceive(1, target, 0, 4096);
        connection.client().queuePair().postWriteWithImmediate(2, source, target.remote(), 42, SendFlag.SIGNALED);
        connection.client().sendQueue().awaitSuccess(SOON);
        assertThat(connection.server().receiveQueue().awaitSuccess(SOON).immediate())
                .isEqualTo(42);
        pattern.verify(target.bytes());
    }
    // end write-with-immediate

    // begin access-error
    @RdmaTest
    void aWrongKeyIsRefused(Connection connection, MemoryRegion source, MemoryRegion target) {
        RemoteMemory wrong = new RemoteMemory(target.address(), ~target.rkey(), target.size());
        connection.client().queuePair().postWrite(1, source, wrong, SendFlag.SIGNALED);
        connection.client().sendQueue().awaitStatus(WorkCompletion.Status.REM_ACCESS_ERR, SOON);
    }
    // end access-error

    // begin multicast
    @RdmaTest
    @RequiresDevice(capabilities = DeviceCapability.MULTICAST)
    void aGroupGetsADatagram(RdmaResources resources, FabricDevice device, MemoryRegion source, MemoryRegion target)
            throws UnknownHostException {
        int headers = 40; // a received datagram begins behind room for a global routing header
        CompletionQueue sends = resources.completionQueue(1, false);
        CompletionQueue receives = resources.completionQueue(1, false);
        QueuePairAttributes attributes = QueuePairAttributes.builder(QpType.UD)
                .sendQueue(sends)
                .receiveQueue(receives)
                .maxSendWr(1)
                .maxReceiveWr(1)
                .build();
        CmId id = resources.id(PortSpace.UDP);
        id.bind(new InetSocketAddress(device.address(), 0));
        InetAddress group = InetAddress.getByName("239.1.2.9");
        try (QueuePair member = id.createQueuePair(resources.protectionDomain(), attributes);
                MulticastMembership joined = id.joinMulticast(group, JoinFlag.FULL_MEMBER, SOON);
                AddressHandle path = resources.protectionDomain().createAddressHandle(joined.address())) {
            DataPattern pattern = DataPattern.of(9);
            pattern.fill(source.bytes());
            member.postReceive(1, target, 0, headers + 1024);
            member.postSend(2, source, 0, 1024, path, joined.qpNumber(), joined.qkey(), SendFlag.SIGNALED);
            sends.awaitSuccess(SOON);
            receives.awaitSuccess(SOON);
            pattern.verify(target.bytes().asSlice(headers, 1024));
        }
    }
    // end multicast
}
