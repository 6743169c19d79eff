package io.rdmatest.cm;

import static io.rdmatest.cm.CmFixture.IP4;
import static io.rdmatest.cm.CmFixture.SHORT;
import static io.rdmatest.cm.CmFixture.TIMEOUT;
import static io.rdmatest.cm.CmFixture.addresses;
import static io.rdmatest.cm.CmFixture.any;
import static io.rdmatest.cm.CmFixture.bytes;
import static io.rdmatest.cm.CmFixture.listener;
import static io.rdmatest.cm.CmFixture.resolved;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.rdmatest.Closer;
import io.rdmatest.DeviceUnderTest;
import io.rdmatest.EmptyLedger;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.WholeLedger;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AddressHandle;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Connections, datagrams and multicast groups with data on them. */
@Timeout(60)
@WholeLedger
@ExtendWith(EmptyLedger.class)
class CmDataIT {

    @Test
    void carriesDataBothWaysOnQueuePairsOfTheLibrary() {
        for (Supplier<InetAddress> each : addresses()) {
            InetAddress address = each.get();
            try (EventChannel channel = EventChannel.create();
                    CmId listener = listener(channel, PortSpace.TCP, address);
                    CmId client = resolved(channel, listener);
                    Endpoint near = Endpoint.of(client)) {
                assertThat(client.queuePair()).containsSame(near.qp());
                assertThat(near.qp().state()).isEqualTo(QpState.INIT);
                near.qp().postReceive(1, near.buffer(), 512, 512);
                client.connect(ConnectionParameters.defaults());
                try (CmId server = listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT)
                                .id();
                        Endpoint far = Endpoint.of(server)) {
                    far.qp().postReceive(2, far.buffer(), 512, 512);
                    server.accept(ConnectionParameters.defaults());
                    client.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT);
                    server.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT);
                    transfer(near, far);
                    transfer(far, near);

                    near.qp().postReceive(3, near.buffer(), 512, 512);
                    client.disconnect();
                    WorkCompletion flushed = near.cq().awaitAny(1, TIMEOUT).getFirst();
                    assertThat(flushed.status()).isEqualTo(WorkCompletion.Status.WR_FLUSH_ERR);
                    server.expectEvent(CmEvent.Type.DISCONNECTED, TIMEOUT);
                    server.disconnect();
                    client.expectEvent(CmEvent.Type.DISCONNECTED, TIMEOUT);
                }
            }
        }
    }

    @Test
    void carriesDataOnExternalQueuePairs() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, IP4);
                CmId client = resolved(channel, listener);
                Endpoint near = Endpoint.external(client)) {
            near.qp().modify(client.initQueuePairAttributes(QpState.INIT));
            assertThatIllegalStateException()
                    .isThrownBy(() -> client.initQueuePairAttributes(QpState.RTR))
                    .withMessageContaining("CONNECT_RESPONSE");
            near.qp().postReceive(1, near.buffer(), 512, 512);
            client.connect(external(near));
            try (CmId server = listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT)
                            .id();
                    Endpoint far = Endpoint.external(server)) {
                far.qp().modify(server.initQueuePairAttributes(QpState.INIT));
                far.qp().postReceive(2, far.buffer(), 512, 512);
                far.qp().modify(server.initQueuePairAttributes(QpState.RTR));
                far.qp().modify(server.initQueuePairAttributes(QpState.RTS));
                server.accept(external(far));
                CmEvent response = client.expectEvent(CmEvent.Type.CONNECT_RESPONSE, TIMEOUT);
                assertThat(response.connection()).isNotNull();
                near.qp().modify(client.initQueuePairAttributes(QpState.RTR));
                near.qp().modify(client.initQueuePairAttributes(QpState.RTS));
                client.establish();
                server.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT);
                transfer(near, far);
                transfer(far, near);
                client.disconnect();
                server.expectEvent(CmEvent.Type.DISCONNECTED, TIMEOUT);
            }
        }
    }

    @Test
    void movesTheQueuePairOfARejectedConnectionToError() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, IP4);
                CmId client = resolved(channel, listener);
                Endpoint near = Endpoint.of(client)) {
            client.connect(ConnectionParameters.defaults());
            try (CmId server =
                    listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT).id()) {
                server.reject(bytes(3));
            }
            assertThatExceptionOfType(UnexpectedCmEventException.class)
                    .isThrownBy(() -> client.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT));
            assertThat(near.qp().state()).isEqualTo(QpState.ERR);
        }
    }

    @Test
    void carriesADatagramToAServiceFoundByItsPort() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.UDP, IP4);
                CmId client = resolved(channel, listener);
                Endpoint near = Endpoint.of(client)) {
            client.connect(ConnectionParameters.defaults());
            try (CmId server = listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT)
                            .id();
                    Endpoint far = Endpoint.of(server)) {
                far.qp().postReceive(2, far.buffer(), 0, 512);
                server.accept(ConnectionParameters.defaults());
                UdParameters service =
                        client.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT).ud();
                assertThat(service).isNotNull();
                assertThat(service.qpNumber()).isEqualTo(far.qp().number());
                try (AddressHandle handle = near.pd().createAddressHandle(service.requireAddress())) {
                    near.write(0, bytes(100));
                    near.qp()
                            .postSend(
                                    1,
                                    near.buffer(),
                                    0,
                                    100,
                                    handle,
                                    service.qpNumber(),
                                    service.qkey(),
                                    SendFlag.SIGNALED);
                    near.cq().awaitSuccess(TIMEOUT);
                    WorkCompletion received = far.cq().awaitSuccess(TIMEOUT);
                    assertThat(received.byteLength()).isEqualTo(100 + Endpoint.GRH);
                    assertThat(received.sourceQp()).isEqualTo(near.qp().number());
                    assertThat(far.read(Endpoint.GRH, 100)).isEqualTo(bytes(100));
                }
            }
        }
    }

    @Test
    void deliversToEveryMemberOfAGroupUntilItLeaves() throws UnknownHostException {
        InetAddress address = InetAddress.getByName("239.1.2.3");
        try (EventChannel channel = EventChannel.create();
                CmId sender = bound(channel, IP4);
                CmId one = bound(channel, IP4);
                CmId two = bound(channel, IP4);
                Endpoint from = Endpoint.of(sender);
                Endpoint first = Endpoint.of(one);
                Endpoint second = Endpoint.of(two);
                MulticastMembership sending = sender.joinMulticast(address, JoinFlag.FULL_MEMBER, TIMEOUT);
                MulticastMembership stays = one.joinMulticast(address, JoinFlag.FULL_MEMBER, TIMEOUT)) {
            MulticastMembership leaves = two.joinMulticast(address, JoinFlag.FULL_MEMBER, TIMEOUT);
            assertThat(sending.qpNumber()).isEqualTo(0xFFFFFF);
            assertThat(sending.qkey()).isEqualTo(0x01234567);
            assertThat(sending.mgid()).isEqualTo(stays.mgid());
            assertThatIllegalStateException()
                    .isThrownBy(() -> one.joinMulticast(address, JoinFlag.FULL_MEMBER, TIMEOUT))
                    .withMessageContaining("already");
            // The same group by its other name.
            assertThatIllegalStateException()
                    .isThrownBy(() -> one.joinMulticast(Gid.parse("::ffff:239.1.2.3"), JoinFlag.FULL_MEMBER, TIMEOUT))
                    .withMessageContaining("already");
            assertThatIllegalStateException().isThrownBy(second.qp()::close).withMessageContaining(leaves.describe());

            first.qp().postReceive(1, first.buffer(), 0, 512);
            second.qp().postReceive(2, second.buffer(), 0, 512);
            multicast(from, sending, bytes(64));
            first.cq().awaitSuccess(TIMEOUT);
            second.cq().awaitSuccess(TIMEOUT);
            assertThat(first.read(Endpoint.GRH, 64)).isEqualTo(bytes(64));
            assertThat(second.read(Endpoint.GRH, 64)).isEqualTo(bytes(64));

            leaves.close();
            leaves.close();
            first.qp().postReceive(3, first.buffer(), 0, 512);
            second.qp().postReceive(4, second.buffer(), 0, 512);
            multicast(from, sending, bytes(32));
            first.cq().awaitSuccess(TIMEOUT);
            assertThatExceptionOfType(RdmaTimeoutException.class)
                    .isThrownBy(() -> second.cq().awaitAny(1, SHORT));
        }
    }

    /** librdmacm attaches the queue pair when it reads the event, and tells a failure in a way of its own. */
    @Test
    void tellsWhyAQueuePairCanNotBeAttachedToItsGroup() throws UnknownHostException {
        InetAddress group = InetAddress.getByName("239.1.2.8");
        try (Closer made = new Closer()) {
            EventChannel channel = made.own(EventChannel.create());
            for (int member = 0; ; member++) {
                CmId id = made.own(bound(channel, IP4));
                int most = id.context().attributes().maxMcastQpAttach();
                assertThat(most).as("queue pairs of a group").isBetween(1, 1000);
                Endpoint endpoint = made.own(Endpoint.of(id));
                if (member == most) {
                    assertThatExceptionOfType(UnexpectedCmEventException.class)
                            .isThrownBy(() -> id.joinMulticast(group, JoinFlag.FULL_MEMBER, TIMEOUT))
                            .withMessageContaining("MULTICAST_ERROR")
                            .withMessageContaining("ENOMEM");
                    assertThat(endpoint.qp().isClosed()).isFalse();
                    return;
                }
                made.own(id.joinMulticast(group, JoinFlag.FULL_MEMBER, TIMEOUT));
            }
        }
    }

    @Test
    void joinsWithoutAQueuePairAndByGid() throws UnknownHostException {
        InetAddress group = InetAddress.getByName("239.1.2.4");
        try (EventChannel channel = EventChannel.create();
                CmId id = bound(channel, IP4)) {
            try (MulticastMembership byAddress = id.joinMulticast(group, JoinFlag.FULL_MEMBER, TIMEOUT)) {
                assertThatIllegalStateException().isThrownBy(id::close).withMessageContaining("239.1.2.4");
                assertThat(byAddress.address().port()).isEqualTo(id.port());
            }
            Gid mgid = Gid.parse("::ffff:239.1.2.4");
            try (MulticastMembership byGid = id.joinMulticast(mgid, JoinFlag.FULL_MEMBER, TIMEOUT)) {
                assertThat(byGid.mgid()).isEqualTo(mgid);
            }
            assertThatExceptionOfType(RdmaException.class)
                    .isThrownBy(() -> id.joinMulticast(Gid.parse("ff0e::1234"), JoinFlag.FULL_MEMBER, TIMEOUT))
                    .withMessageContaining("ENOTSUPP")
                    .withMessageContaining("IPv4")
                    .satisfies(e -> assertThat(e.isUnsupported()).isTrue());
            assertThatIllegalArgumentException().isThrownBy(() -> id.joinMulticast(IP4, JoinFlag.FULL_MEMBER, TIMEOUT));
        }
    }

    @Test
    void sendsToAGroupThatItOnlySendsTo() throws UnknownHostException {
        InetAddress group = InetAddress.getByName("239.1.2.5");
        try (EventChannel channel = EventChannel.create();
                CmId sender = bound(channel, IP4);
                CmId receiver = bound(channel, IP4);
                Endpoint from = Endpoint.of(sender);
                Endpoint to = Endpoint.of(receiver);
                MulticastMembership member = receiver.joinMulticast(group, JoinFlag.FULL_MEMBER, TIMEOUT);
                MulticastMembership sending = sender.joinMulticast(group, JoinFlag.SEND_ONLY_FULL_MEMBER, TIMEOUT)) {
            assertThat(member.flag()).isEqualTo(JoinFlag.FULL_MEMBER);
            to.qp().postReceive(1, to.buffer(), 0, 512);
            multicast(from, sending, bytes(10));
            to.cq().awaitSuccess(TIMEOUT);
            assertThat(to.read(Endpoint.GRH, 10)).isEqualTo(bytes(10));
        }
    }

    @Test
    void receivesNothingFromAGroupThatItOnlySendsTo() throws UnknownHostException {
        InetAddress group = InetAddress.getByName("239.1.2.7");
        try (EventChannel channel = EventChannel.create();
                CmId sender = bound(channel, IP4);
                CmId receiver = bound(channel, IP4);
                Endpoint from = Endpoint.of(sender)) {
            try (Endpoint deaf = Endpoint.of(receiver);
                    MulticastMembership sending = sender.joinMulticast(group, JoinFlag.FULL_MEMBER, TIMEOUT);
                    MulticastMembership only = receiver.joinMulticast(group, JoinFlag.SEND_ONLY_FULL_MEMBER, TIMEOUT)) {
                deaf.qp().postReceive(1, deaf.buffer(), 0, 512);
                from.qp().postReceive(2, from.buffer(), 512, 512);
                multicast(from, sending, bytes(10));
                // It came around to the sender's own queue pair, and so past the other.
                from.cq().awaitSuccess(TIMEOUT);
                assertThatExceptionOfType(RdmaTimeoutException.class)
                        .isThrownBy(() -> deaf.cq().awaitAny(1, SHORT));
                // A send-only membership has no hold on the queue pair, and can be left after it.
                deaf.qp().close();
                only.close();
                assertThat(only.isClosed()).isTrue();
            }
        }
    }

    @Test
    void leavesTheChoiceOfAGroupToInfiniband() throws UnknownHostException {
        DeviceUnderTest.assumeRoce("a subnet administrator chooses groups");
        InetAddress any4 = InetAddress.getByName("0.0.0.0");
        InetAddress any6 = InetAddress.getByName("::");
        try (EventChannel channel = EventChannel.create();
                CmId id = bound(channel, IP4)) {
            for (ThrowingCallable join : List.<ThrowingCallable>of(
                    () -> id.joinMulticast(any4, JoinFlag.FULL_MEMBER, TIMEOUT),
                    () -> id.joinMulticast(any6, JoinFlag.FULL_MEMBER, TIMEOUT),
                    () -> id.joinMulticast(Gid.parse("::"), JoinFlag.FULL_MEMBER, TIMEOUT))) {
                assertThatExceptionOfType(RdmaException.class)
                        .isThrownBy(join)
                        .withMessageContaining("InfiniBand")
                        .satisfies(e -> assertThat(e.isUnsupported()).isTrue());
            }
        }
    }

    /** What mckey -l asks for. rxe can't; a device that can must keep the datagram from its own receivers. */
    @Test
    void keepsItsOwnMulticastDatagramsAwayOrSaysThatItCannot() throws UnknownHostException {
        InetAddress group = InetAddress.getByName("239.1.2.8");
        try (EventChannel channel = EventChannel.create();
                CmId id = bound(channel, IP4);
                ProtectionDomain pd = id.context().allocateProtectionDomain();
                CompletionQueue cq = id.context().createCompletionQueue(4)) {
            QueuePairAttributes blocking = QueuePairAttributes.builder(QpType.UD)
                    .completionQueue(cq)
                    .blockSelfMulticastLoopback(true)
                    .build();
            boolean able = false;
            try (QueuePair qp = id.createQueuePair(pd, blocking);
                    MemoryRegion buffer = pd.registerMemory(Endpoint.SIZE, Access.LOCAL_WRITE);
                    MulticastMembership member = id.joinMulticast(group, JoinFlag.FULL_MEMBER, TIMEOUT)) {
                able = true;
                qp.postReceive(1, buffer, 512, 512);
                multicast(new Endpoint(pd, cq, qp, buffer), member, bytes(10));
                assertThatExceptionOfType(RdmaTimeoutException.class).isThrownBy(() -> cq.awaitAny(1, SHORT));
            } catch (RdmaException e) {
                assertThat(e).hasMessageContaining("IBV_QP_CREATE_BLOCK_SELF_MCAST_LB");
                assertThat(e.isUnsupported()).as(e.getMessage()).isTrue();
                assertThat(id.queuePair()).isEmpty();
            }
            assertThat(able)
                    .as("what the provider's own call says")
                    .isEqualTo(created(() -> pd.createQueuePair(blocking)));
        }
    }

    private static boolean created(Supplier<QueuePair> maker) {
        try (QueuePair qp = maker.get()) {
            return qp.number() > 0;
        } catch (RdmaException e) {
            assertThat(e.isUnsupported()).as(e.getMessage()).isTrue();
            return false;
        }
    }

    @Test
    void refusesMulticastOnAConnectedId() throws UnknownHostException {
        InetAddress group = InetAddress.getByName("239.1.2.6");
        try (EventChannel channel = EventChannel.create();
                CmId unbound = channel.createId(PortSpace.UDP);
                CmId id = channel.createId(PortSpace.TCP)) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> unbound.joinMulticast(group, JoinFlag.FULL_MEMBER, TIMEOUT));
            id.bind(any(IP4));
            assertThatExceptionOfType(RdmaException.class)
                    .isThrownBy(() -> id.joinMulticast(group, JoinFlag.FULL_MEMBER, Duration.ofSeconds(2)))
                    .withMessageContaining("datagram");
        }
    }

    @Test
    void refusesQueuePairsThatDoNotFit() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.bind(any(IP4));
            try (Endpoint own = Endpoint.of(id)) {
                assertThatIllegalStateException()
                        .isThrownBy(() -> id.createQueuePair(own.pd(), Endpoint.attributes(QpType.RC, own.cq())))
                        .withMessageContaining("already");
                assertThatIllegalStateException().isThrownBy(id::establish).withMessageContaining("its own queue pair");
                assertThatIllegalStateException()
                        .isThrownBy(id::close)
                        .withMessageContaining(own.qp().describe());
            }
            assertThat(id.queuePair()).isEmpty();
            try (DeviceContext other =
                            RdmaDevice.byName(id.context().deviceName()).open();
                    ProtectionDomain foreign = other.allocateProtectionDomain();
                    CompletionQueue cq = other.createCompletionQueue(4)) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> id.createQueuePair(foreign, Endpoint.attributes(QpType.RC, cq)))
                        .withMessageContaining("another context");
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> id.createQueuePair(foreign, Endpoint.attributes(QpType.UD, cq)))
                        .withMessageContaining("type UD");
            }
        }
    }

    @Test
    void keepsTheLastIdOfADeviceUntilItsContextIsUnused() {
        try (EventChannel channel = EventChannel.create()) {
            CmId one = bound(channel, IP4);
            CmId two = bound(channel, IP4);
            assertThat(one.context()).isSameAs(two.context());
            ProtectionDomain pd = one.context().allocateProtectionDomain();
            one.close();
            assertThatIllegalStateException().isThrownBy(two::close).withMessageContaining(pd.describe());
            assertThat(two.isClosed()).isFalse();
            assertThat(two.localPort()).isPositive();
            pd.close();
            two.close();
        }
    }

    private static CmId bound(EventChannel channel, InetAddress source) {
        CmId id = channel.createId(PortSpace.UDP);
        id.bind(any(source));
        return id;
    }

    private static ConnectionParameters external(Endpoint endpoint) {
        return ConnectionParameters.builder().qpNumber(endpoint.qp().number()).build();
    }

    private static void multicast(Endpoint from, MulticastMembership group, byte[] data) {
        from.write(0, data);
        try (AddressHandle handle = from.pd().createAddressHandle(group.address())) {
            from.qp()
                    .postSend(
                            7,
                            from.buffer(),
                            0,
                            data.length,
                            handle,
                            group.qpNumber(),
                            group.qkey(),
                            SendFlag.SIGNALED);
            from.cq().awaitSuccess(TIMEOUT);
        }
    }

    /** Sends into the receive that is posted at 512. */
    private static void transfer(Endpoint from, Endpoint to) {
        byte[] data = bytes(300);
        from.write(0, data);
        from.qp().postSend(9, from.buffer(), 0, data.length, SendFlag.SIGNALED);
        from.cq().awaitSuccess(TIMEOUT);
        assertThat(to.cq().awaitSuccess(TIMEOUT).byteLength()).isEqualTo(data.length);
        assertThat(to.read(512, data.length)).isEqualTo(data);
    }
}
