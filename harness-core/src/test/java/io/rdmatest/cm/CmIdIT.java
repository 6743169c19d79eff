package io.rdmatest.cm;

import static io.rdmatest.cm.CmFixture.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatRuntimeException;

import io.rdmatest.EmptyLedger;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.RejectReason;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.WholeLedger;
import io.rdmatest.verbs.Ece;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.QpState;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Ids, events and the handshake itself; no data flows, so no queue pair takes part. */
@Timeout(60)
@WholeLedger
@ExtendWith(EmptyLedger.class)
class CmIdIT {

    // ---- addresses ----

    @Test
    void bindsToADeviceAndAnEphemeralPort() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            assertThat(id.hasDevice()).isFalse();
            assertThat(id.localPort()).isZero();
            id.bind(any(IP4));
            assertThat(id.hasDevice()).isTrue();
            assertThat(id.localAddress().getAddress()).isEqualTo(IP4);
            assertThat(id.localPort()).isPositive();
            assertThat(id.port()).isEqualTo(1);
            assertThat(id.describe()).contains(IP4.getHostAddress());
        }
    }

    @Test
    void resolvesIp4AndIp6() {
        for (Supplier<InetAddress> each : addresses()) {
            InetAddress address = each.get();
            try (EventChannel channel = EventChannel.create();
                    CmId listener = listener(channel, PortSpace.TCP, address);
                    CmId client = resolved(channel, listener)) {
                assertThat(client.remoteAddress()).isEqualTo(listener.localAddress());
                assertThat(client.remotePort()).isEqualTo(listener.localPort());
                assertThat(client.localAddress().getAddress()).isEqualTo(address);
                assertThat(client.remoteGid()).isEqualTo(Gid.of(address));
            }
        }
    }

    @Test
    void resolvesFromAGivenSource() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.resolveAddress(IP4, new InetSocketAddress(IP4, 7), TIMEOUT);
            assertThat(id.localAddress().getAddress()).isEqualTo(IP4);
        }
    }

    @Test
    void saysWhichAddressIsNotOfThisHost() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            assertThatExceptionOfType(RdmaException.class)
                    .isThrownBy(() -> id.bind(any(NOBODY)))
                    .withMessageContaining("rdma_bind_addr(" + NOBODY.getHostAddress())
                    .satisfies(e -> assertThat(e.errnoName()).isIn("EADDRNOTAVAIL", "ENODEV"));
        }
    }

    @Test
    void saysThatAPortIsTaken() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, IP4);
                CmId second = channel.createId(PortSpace.TCP)) {
            assertThatExceptionOfType(RdmaException.class)
                    .isThrownBy(() -> second.bind(listener.localAddress()))
                    .withMessageContaining("EADDRINUSE")
                    .withMessageContaining("in use");
        }
    }

    @Test
    void reusesAnAddressWhereBothAllowIt() {
        try (EventChannel channel = EventChannel.create();
                CmId first = channel.createId(PortSpace.TCP);
                CmId second = channel.createId(PortSpace.TCP)) {
            first.setReuseAddress(true);
            second.setReuseAddress(true);
            first.bind(any(IP4));
            second.bind(first.localAddress());
            assertThat(second.localPort()).isEqualTo(first.localPort());
        }
    }

    @Test
    void listensOnBothFamiliesUnlessRestricted() {
        try (EventChannel channel = EventChannel.create();
                CmId six = channel.createId(PortSpace.TCP);
                CmId four = channel.createId(PortSpace.TCP)) {
            six.setAfOnly(true);
            six.bind(new InetSocketAddress("::", 0));
            six.listen(1);
            four.bind(new InetSocketAddress("0.0.0.0", six.localPort()));
            four.listen(1);
        }
    }

    @Test
    void reportsAnUnreachableNeighbourInTime() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            long begin = System.nanoTime();
            assertThatRuntimeException()
                    .isThrownBy(() -> id.resolveAddress(null, new InetSocketAddress(NOBODY, 7), Duration.ofMillis(500)))
                    .isInstanceOfAny(RdmaTimeoutException.class, UnexpectedCmEventException.class)
                    .withMessageContaining("ADDR_RESOLVED");
            assertThat(System.nanoTime() - begin).isLessThan(TimeUnit.SECONDS.toNanos(3));
        }
    }

    @Test
    void reportsAMissingRouteWithItsCure() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            assertThatRuntimeException()
                    .isThrownBy(() -> id.resolveAddress(null, new InetSocketAddress("203.0.113.9", 7), TIMEOUT))
                    .isInstanceOfAny(RdmaException.class, UnexpectedCmEventException.class)
                    .withMessageMatching("(?s).*(route|RDMA device).*");
        }
    }

    @Test
    void refusesANativeAddressOnRoce() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.IB)) {
            IbAddress address = IbAddress.of(Gid.of(ip6()), PortSpace.TCP, 7174);
            assertNeedsInfiniband("rdma_bind_addr", () -> id.bind(address));
            assertNeedsInfiniband("rdma_resolve_addr", () -> id.resolveAddress(address, address, TIMEOUT));
            // The kernel resolves this one to a RoCE port, and would refuse the route.
            assertNeedsInfiniband("rdma_resolve_addr", () -> id.resolveAddress(null, address, TIMEOUT));
        }
    }

    @Test
    void refusesThePortSpaceOfIpOverInfinibandOnRoce() throws UnknownHostException {
        InetSocketAddress group = new InetSocketAddress(InetAddress.getByName("239.1.2.3"), 0);
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.IPOIB)) {
            for (ThrowingCallable step :
                    List.<ThrowingCallable>of(() -> id.bind(any(IP4)), () -> id.resolveAddress(IP4, group, TIMEOUT))) {
                assertThatExceptionOfType(RdmaException.class)
                        .isThrownBy(step)
                        .withMessageContaining("IPOIB port space needs an InfiniBand link layer")
                        .satisfies(e -> assertThat(e.isUnsupported()).isTrue());
            }
        }
    }

    private static void assertNeedsInfiniband(String call, ThrowingCallable step) {
        assertThatExceptionOfType(RdmaException.class)
                .isThrownBy(step)
                .withMessageContaining(call)
                .withMessageContaining("AF_IB addressing needs an InfiniBand link layer")
                .satisfies(e -> assertThat(e.isUnsupported()).isTrue());
    }

    @Test
    void setsOptions() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, IP4);
                CmId id = channel.createId(PortSpace.TCP)) {
            id.setTypeOfService(0x88);
            id.resolveAddress(null, listener.localAddress(), TIMEOUT);
            id.setAckTimeout(14);
            id.resolveRoute(TIMEOUT);
            assertThatIllegalArgumentException().isThrownBy(() -> id.setTypeOfService(256));
            assertThatIllegalArgumentException().isThrownBy(() -> id.setAckTimeout(32));
        }
    }

    @Test
    void thePathOfAResolvedRouteIsRead() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, IP4);
                CmId id = channel.createId(PortSpace.TCP)) {
            id.resolveAddress(null, listener.localAddress(), TIMEOUT);
            assertThat(id.paths()).as("before the route is resolved").isEmpty();
            id.resolveRoute(TIMEOUT);
            PortAttributes port = id.context().port(id.port());
            PathRecord path = id.paths().getFirst();
            assertThat(path.sourceGid()).isEqualTo(id.localGid());
            assertThat(path.destinationGid()).isEqualTo(id.remoteGid());
            assertThat(path.mtu().bytes()).isBetween(256, port.activeMtu().bytes());
            assertThat(path.destinationLid() == 0).isEqualTo(port.linkLayer() == LinkLayer.ETHERNET);
            assertThat(path.toString()).contains("MTU " + path.mtu().bytes()).contains("SL " + path.serviceLevel());
        }
    }

    // ---- the handshake ----

    @Test
    void connectsWithPrivateDataBothWays() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, IP4);
                CmId client = resolved(channel, listener)) {
            client.connect(withoutQueuePair()
                    .qpNumber(0x1234)
                    .privateData(bytes(56))
                    .retryCount(5)
                    .rnrRetryCount(6)
                    .build());
            CmEvent request = listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT);
            assertThat(request.listenId()).isSameAs(listener);
            assertBegins(request.privateData(), bytes(56));
            assertThat(request.connection()).isNotNull().satisfies(parameters -> {
                assertThat(parameters.qpNumber()).isEqualTo(0x1234);
                assertThat(parameters.retryCount()).isEqualTo(5);
                assertThat(parameters.rnrRetryCount()).isEqualTo(6);
                assertThat(parameters.responderResources()).isEqualTo(1);
            });
            try (CmId server = request.id()) {
                assertThat(server.remoteAddress().getAddress()).isEqualTo(IP4);
                assertThat(server.channel()).isSameAs(channel);
                server.accept(withoutQueuePair().privateData(bytes(196)).build());
                CmEvent response = client.expectEvent(CmEvent.Type.CONNECT_RESPONSE, TIMEOUT);
                assertBegins(response.privateData(), bytes(196));
                client.establish();
                server.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT);

                client.disconnect();
                server.expectEvent(CmEvent.Type.DISCONNECTED, TIMEOUT);
                server.disconnect();
                client.expectEvent(CmEvent.Type.DISCONNECTED, TIMEOUT);
                server.expectEvent(CmEvent.Type.TIMEWAIT_EXIT, Duration.ofSeconds(30));
                client.expectEvent(CmEvent.Type.TIMEWAIT_EXIT, Duration.ofSeconds(30));
            }
        }
    }

    @Test
    void whatASideOffersByEceReachesTheOther() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, IP4);
                CmId client = resolved(channel, listener)) {
            Ece ofClient = new Ece(0x0002c9, 0x5);
            client.setLocalEce(ofClient);
            client.connect(withoutQueuePair().build());
            try (CmId server =
                    listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT).id()) {
                assertThat(server.remoteEce()).isEqualTo(ofClient);
                Ece ofServer = new Ece(0x0002c9, 0x4);
                server.setLocalEce(ofServer);
                server.accept(withoutQueuePair().build());
                client.expectEvent(CmEvent.Type.CONNECT_RESPONSE, TIMEOUT);
                assertThat(client.remoteEce()).isEqualTo(ofServer);
            }
            assertThatExceptionOfType(RdmaException.class)
                    .isThrownBy(() -> client.setLocalEce(new Ece(0, 1)))
                    .withMessageContaining("rdma_set_local_ece")
                    .withMessageContaining("EINVAL");
            assertThatIllegalArgumentException().isThrownBy(() -> new Ece(1 << 24, 0));
        }
    }

    @Test
    void connectsOverIp6() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, ip6());
                CmId client = resolved(channel, listener)) {
            client.connect(withoutQueuePair().build());
            try (CmId server =
                    listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT).id()) {
                assertThat(server.localAddress().getAddress()).isEqualTo(ip6());
                server.accept(withoutQueuePair().build());
                client.expectEvent(CmEvent.Type.CONNECT_RESPONSE, TIMEOUT);
            }
        }
    }

    @Test
    void rejectsWithPrivateData() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, IP4);
                CmId client = resolved(channel, listener)) {
            client.connect(withoutQueuePair().build());
            try (CmId server =
                    listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT).id()) {
                server.reject(bytes(148));
            }
            assertThatExceptionOfType(UnexpectedCmEventException.class)
                    .isThrownBy(() -> client.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT))
                    .withMessageContaining("RDMA_CM_EVENT_REJECTED")
                    .withMessageContaining("rejected by the peer's program")
                    .satisfies(e -> assertBegins(e.privateData(), bytes(148)))
                    .satisfies(e -> assertThat(e.status()).isEqualTo(28))
                    .satisfies(e -> assertThat(e.rejectReason()).contains(RejectReason.CONSUMER_DEFINED));
        }
    }

    @Test
    void isRejectedWhereNobodyListens() {
        try (EventChannel channel = EventChannel.create();
                CmId client = channel.createId(PortSpace.TCP)) {
            client.resolveAddress(null, new InetSocketAddress(IP4, 9), TIMEOUT);
            client.resolveRoute(TIMEOUT);
            assertThatExceptionOfType(UnexpectedCmEventException.class)
                    .isThrownBy(() -> client.connect(withoutQueuePair().build(), TIMEOUT))
                    .withMessageContaining("no listener on this port")
                    .satisfies(e -> assertThat(e.status()).isEqualTo(8))
                    .satisfies(e -> assertThat(e.rejectReason()).contains(RejectReason.INVALID_SERVICE_ID));
        }
    }

    @Test
    void timesOutWhereNobodyAnswers() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, IP4);
                CmId client = resolved(channel, listener)) {
            long begin = System.nanoTime();
            assertThatExceptionOfType(RdmaTimeoutException.class)
                    .isThrownBy(() -> client.connect(withoutQueuePair().build(), SHORT))
                    .withMessageContaining("RDMA_CM_EVENT_CONNECT_RESPONSE")
                    .withMessageContaining("ROUTE_RESOLVED");
            assertThat(System.nanoTime() - begin).isBetween(SHORT.toNanos(), TimeUnit.SECONDS.toNanos(2));
            // The request is left in the channel: it is destroyed with the listener, and closing does not hang.
        }
    }

    @Test
    void rejectsARequestThatNobodyTook() {
        try (EventChannel clients = EventChannel.create();
                EventChannel servers = EventChannel.create()) {
            CmId listener = listener(servers, PortSpace.TCP, IP4);
            try (CmId client = resolved(clients, listener)) {
                client.connect(withoutQueuePair().build());
                // Another wait on the channel reads the request and leaves it for the listener.
                try (CmId other = servers.createId(PortSpace.TCP)) {
                    assertThatExceptionOfType(RdmaTimeoutException.class).isThrownBy(() -> other.awaitEvent(SHORT));
                }
                assertThat(servers.recentEvents()).anyMatch(event -> event.contains("CONNECT_REQUEST"));
                listener.close();
                client.awaitEvent(TIMEOUT).require(CmEvent.Type.REJECTED);
            }
        }
    }

    @Test
    void keepsTheEventsOfIdsApart() throws Exception {
        int count = 20;
        try (EventChannel clientChannel = EventChannel.create();
                EventChannel serverChannel = EventChannel.create();
                CmId listener = listener(serverChannel, PortSpace.TCP, IP4)) {
            List<CmId> clients = new ArrayList<>();
            List<CmId> servers = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                CmId client = resolved(clientChannel, listener);
                clients.add(client);
                client.connect(
                        withoutQueuePair().privateData(new byte[] {(byte) i}).build());
            }
            for (int i = 0; i < count; i++) {
                CmEvent request = listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT);
                servers.add(request.id());
                request.id()
                        .accept(withoutQueuePair()
                                .privateData(new byte[] {request.privateData()[0]})
                                .build());
            }
            // One thread per client, all on one channel, the last id first.
            try (ExecutorService threads = Executors.newFixedThreadPool(count)) {
                List<Future<Byte>> answers = clients.reversed().stream()
                        .map(client -> threads.submit(() -> client.expectEvent(CmEvent.Type.CONNECT_RESPONSE, TIMEOUT)
                                .privateData()[0]))
                        .toList();
                for (int i = 0; i < count; i++) {
                    assertThat(answers.get(i).get()).isEqualTo((byte) (count - 1 - i));
                }
            }
            clients.forEach(CmId::establish);
            for (CmId server : servers) {
                server.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT);
            }
            servers.forEach(CmId::close);
            clients.forEach(CmId::close);
        }
    }

    @Test
    void findsADatagramService() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.UDP, IP4);
                CmId client = resolved(channel, listener)) {
            client.connect(
                    ConnectionParameters.builder().privateData(bytes(180)).build());
            CmEvent request = listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT);
            assertBegins(request.privateData(), bytes(180));
            assertThat(request.connection()).isNull();
            try (CmId server = request.id()) {
                server.accept(ConnectionParameters.builder()
                        .qpNumber(0x4321)
                        .privateData(bytes(136))
                        .build());
                CmEvent established = client.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT);
                assertBegins(established.privateData(), bytes(136));
                assertThat(established.ud()).isNotNull().satisfies(ud -> {
                    assertThat(ud.qpNumber()).isEqualTo(0x4321);
                    assertThat(ud.qkey()).isEqualTo(0x01234567);
                    assertThat(ud.requireAddress().gid()).isEqualTo(Gid.of(IP4));
                });
            }
        }
    }

    @Test
    void rejectsADatagramService() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.UDP, IP4);
                CmId client = resolved(channel, listener)) {
            client.connect(ConnectionParameters.defaults());
            try (CmId server =
                    listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT).id()) {
                server.reject(new byte[0]);
                assertThatExceptionOfType(UnexpectedCmEventException.class)
                        .isThrownBy(() -> client.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT))
                        .withMessageContaining("RDMA_CM_EVENT_UNREACHABLE")
                        .withMessageContaining("rejected by the peer's program");
            }
        }
    }

    // ---- channels ----

    @Test
    void migratesWithTheEventsThatNobodyTook() {
        try (EventChannel one = EventChannel.create();
                EventChannel two = EventChannel.create();
                EventChannel three = EventChannel.create()) {
            CmId listener = listener(one, PortSpace.TCP, IP4);
            try (CmId client = resolved(two, listener)) {
                client.connect(withoutQueuePair().build());
                CmId other = one.createId(PortSpace.TCP);
                assertThatExceptionOfType(RdmaTimeoutException.class).isThrownBy(() -> other.awaitEvent(SHORT));
                other.close();

                listener.migrate(three);
                assertThat(listener.channel()).isSameAs(three);
                assertThat(one.ids()).isEmpty();
                one.close();
                CmEvent request = three.expect(CmEvent.Type.CONNECT_REQUEST, TIMEOUT);
                try (CmId server = request.id()) {
                    assertThat(server.channel()).isSameAs(three);
                    server.accept(withoutQueuePair().build());
                    client.migrate(three);
                    client.expectEvent(CmEvent.Type.CONNECT_RESPONSE, TIMEOUT);
                    client.establish();
                    server.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT);
                    server.migrate(two);
                    client.disconnect();
                    server.expectEvent(CmEvent.Type.DISCONNECTED, TIMEOUT);
                }
            }
            listener.close();
        }
    }

    @Test
    void migratesInOppositeDirectionsWithoutADeadlock() throws Exception {
        try (EventChannel one = EventChannel.create();
                EventChannel two = EventChannel.create();
                CmId a = one.createId(PortSpace.TCP);
                CmId b = two.createId(PortSpace.TCP);
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Future<?> first = threads.submit(() -> swap(a, one, two));
            Future<?> second = threads.submit(() -> swap(b, two, one));
            first.get(30, TimeUnit.SECONDS);
            second.get(30, TimeUnit.SECONDS);
            assertThat(Set.of(a.channel(), b.channel())).hasSize(2);
        }
    }

    private static void swap(CmId id, EventChannel one, EventChannel two) {
        for (int i = 0; i < 100; i++) {
            id.migrate(two);
            id.migrate(one);
        }
    }

    @Test
    void pollsWithoutWaiting() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            assertThat(channel.poll()).isEmpty();
            assertThat(id.pollEvent()).isEmpty();
            assertThatExceptionOfType(RdmaTimeoutException.class)
                    .isThrownBy(() -> channel.await(Duration.ZERO))
                    .withMessageContaining("no event arrived");
            assertThatIllegalArgumentException().isThrownBy(() -> channel.await(Duration.ofMillis(-1)));
        }
    }

    @Test
    void closesChildrenFirst() {
        EventChannel channel = EventChannel.create();
        CmId id = channel.createId(PortSpace.TCP);
        assertThatIllegalStateException().isThrownBy(channel::close).withMessageContaining(id.describe());
        id.close();
        id.close();
        channel.close();
        channel.close();
        assertThatIllegalStateException().isThrownBy(() -> channel.createId(PortSpace.TCP));
        assertThatIllegalStateException().isThrownBy(() -> channel.await(SHORT));
        assertThatIllegalStateException().isThrownBy(() -> id.awaitEvent(SHORT));
        assertThatIllegalStateException().isThrownBy(() -> id.bind(any(IP4)));
        assertThatIllegalStateException().isThrownBy(id::disconnect);
    }

    @Test
    void endsAWaitWhenTheIdIsClosed() throws Exception {
        try (EventChannel channel = EventChannel.create();
                ExecutorService threads = Executors.newSingleThreadExecutor()) {
            CmId id = channel.createId(PortSpace.TCP);
            Future<CmEvent> waiting = threads.submit(() -> id.awaitEvent(Duration.ofSeconds(30)));
            assertThatExceptionOfType(java.util.concurrent.TimeoutException.class)
                    .isThrownBy(() -> waiting.get(300, TimeUnit.MILLISECONDS));
            id.close();
            assertThatExceptionOfType(ExecutionException.class)
                    .isThrownBy(() -> waiting.get(5, TimeUnit.SECONDS))
                    .withCauseInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void endsAWaitWhenTheThreadIsInterrupted() throws Exception {
        try (EventChannel channel = EventChannel.create()) {
            List<String> seen = new ArrayList<>();
            Thread thread = new Thread(() -> {
                try {
                    CmEvent event = channel.await(Duration.ofSeconds(30));
                    seen.add("got " + event);
                } catch (RdmaException e) {
                    seen.add(e.getMessage() + Thread.currentThread().isInterrupted());
                }
            });
            thread.start();
            thread.interrupt();
            thread.join(5000);
            assertThat(seen)
                    .singleElement()
                    .asString()
                    .startsWith("interrupted")
                    .endsWith("true");
        }
    }

    // ---- guards ----

    @Test
    void answersEveryStepTakenTooEarlyWithoutACrash() {
        try (EventChannel channel = EventChannel.create()) {
            for (PortSpace portSpace : List.of(PortSpace.TCP, PortSpace.UDP)) {
                try (CmId id = channel.createId(portSpace)) {
                    assertThatIllegalStateException().isThrownBy(id::context).withMessageContaining("not bound");
                    assertThatIllegalStateException().isThrownBy(id::port);
                    assertThatIllegalStateException().isThrownBy(id::localAddress);
                    assertThatIllegalStateException().isThrownBy(id::remoteAddress);
                    assertThatIllegalStateException().isThrownBy(id::localGid);
                    assertThatIllegalStateException().isThrownBy(() -> id.resolveRoute(SHORT));
                    assertThatIllegalStateException().isThrownBy(() -> id.connect(ConnectionParameters.defaults()));
                    assertThatIllegalStateException().isThrownBy(() -> id.accept(ConnectionParameters.defaults()));
                    assertThatIllegalStateException().isThrownBy(id::establish);
                    assertThatIllegalStateException().isThrownBy(id::disconnect);
                    assertThatIllegalStateException().isThrownBy(() -> id.initQueuePairAttributes(QpState.INIT));
                    assertThatExceptionOfType(RdmaException.class).isThrownBy(() -> id.reject(new byte[0]));
                    id.bind(any(IP4));
                    assertThatExceptionOfType(RdmaException.class)
                            .isThrownBy(() -> id.connect(withoutQueuePair().build()))
                            .withMessageContaining("resolved route");
                    assertThatExceptionOfType(RdmaException.class)
                            .isThrownBy(() -> id.accept(withoutQueuePair().build()));
                    assertThatExceptionOfType(RdmaException.class).isThrownBy(() -> id.resolveRoute(SHORT));
                    assertThatExceptionOfType(RdmaException.class).isThrownBy(id::establish);
                    assertThatExceptionOfType(RdmaException.class).isThrownBy(id::disconnect);
                    assertThatExceptionOfType(RdmaException.class).isThrownBy(() -> id.bind(any(IP4)));
                }
            }
        }
    }

    @Test
    void checksThePrivateDataOfEachMessage() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = listener(channel, PortSpace.TCP, IP4);
                CmId client = resolved(channel, listener)) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> client.connect(
                            withoutQueuePair().privateData(bytes(57)).build()))
                    .withMessageContaining("at most 56 bytes");
            assertThatIllegalArgumentException().isThrownBy(() -> client.reject(bytes(149)));
            assertThatIllegalStateException()
                    .isThrownBy(() -> client.connect(ConnectionParameters.defaults()))
                    .withMessageContaining("queue pair");
        }
    }

    @Test
    void namesItsIds() {
        try (EventChannel channel = EventChannel.create();
                CmId a = channel.createId(PortSpace.TCP);
                CmId b = channel.createId(PortSpace.UDP)) {
            assertThat(channel.ids().stream().map(CmId::describe).collect(Collectors.toSet()))
                    .containsExactlyInAnyOrder(a.describe(), b.describe());
        }
    }
}
