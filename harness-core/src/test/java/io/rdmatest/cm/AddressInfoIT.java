package io.rdmatest.cm;

import static io.rdmatest.cm.CmFixture.IP4;
import static io.rdmatest.cm.CmFixture.TIMEOUT;
import static io.rdmatest.cm.CmFixture.addresses;
import static io.rdmatest.cm.CmFixture.ip6;
import static io.rdmatest.cm.CmFixture.listener;
import static io.rdmatest.cm.CmFixture.withoutQueuePair;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.EmptyLedger;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.WholeLedger;
import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.AddressInfo.Hints;
import io.rdmatest.rsocket.RSocket;
import io.rdmatest.verbs.Gid;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Look-ups, and connections to what they found. */
@Timeout(60)
@WholeLedger
@ExtendWith(EmptyLedger.class)
class AddressInfoIT {

    private static AddressInfo lookup(String node, String service, Hints hints) {
        List<AddressInfo> answers = AddressInfo.lookup(node, service, hints, TIMEOUT);
        assertThat(answers).isNotEmpty();
        return answers.getFirst();
    }

    @Test
    void readsAddressesOfEveryFormat() {
        for (Format format : List.of(Format.NAME, Format.IP)) {
            for (Supplier<InetAddress> each : addresses()) {
                InetAddress address = each.get();
                AddressInfo info = lookup(address.getHostAddress(), "7471", Hints.active(format, PortSpace.TCP));
                assertThat(info.destination()).contains(new InetSocketAddress(address, 7471));
                assertThat(info.nativeDestination()).isEmpty();
                assertThat(info.source()).isEmpty();
                assertThat(info.portSpace()).contains(PortSpace.TCP);
                assertThat(info.qpType()).isEqualTo(2);
                assertThat(info.isPassive()).isFalse();
                assertThat(info.isNative()).isFalse();
                assertThat(info.connectData()).isEmpty();
            }
        }
        assertThat(lookup("localhost", "7471", Hints.active(Format.NAME, PortSpace.TCP))
                        .destination())
                .hasValueSatisfying(found ->
                        assertThat(found.getAddress().isLoopbackAddress()).isTrue());
        assertThat(lookup(ip6().getHostAddress(), null, Hints.active(Format.IPV6, PortSpace.UDP))
                        .destination())
                .contains(new InetSocketAddress(ip6(), 0));
    }

    @Test
    void readsGids() {
        AddressInfo info = lookup(
                ip6().getHostAddress(),
                "7471",
                Hints.active(Format.GID, PortSpace.TCP).withSource(Gid.of(IP4).toString()));
        assertThat(info.isNative()).isTrue();
        assertThat(info.destination()).isEmpty();
        assertThat(info.nativeDestination()).contains(IbAddress.of(Gid.of(ip6()), PortSpace.TCP, 7471));
        assertThat(info.nativeSource())
                .hasValueSatisfying(source -> assertThat(source.gid()).isEqualTo(Gid.of(IP4)));
        AddressInfo any = lookup(null, "7471", Hints.passive(Format.GID, PortSpace.TCP));
        assertThat(any.isPassive()).isTrue();
        assertThat(any.nativeSource())
                .hasValueSatisfying(source -> assertThat(source.gid().isZero()).isTrue());
    }

    @Test
    void refusesWhatDoesNotFitTheFormat() {
        Hints gid = Hints.active(Format.GID, PortSpace.TCP);
        assertThatIllegalArgumentException().isThrownBy(() -> lookup("10.77.0.1", "7471", gid));
        assertThatIllegalArgumentException().isThrownBy(() -> lookup("fd77::1", "7471", gid.withSource("10.77.0.1")));
        assertThatIllegalArgumentException().isThrownBy(() -> lookup(null, "7471", gid));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> lookup(null, null, Hints.passive(Format.IP, PortSpace.TCP)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Hints.passive(Format.IP, PortSpace.TCP).withSource("10.77.0.1"));
        for (Hints hints : List.of(Hints.active(Format.IP, PortSpace.TCP), Hints.active(Format.IPV6, PortSpace.TCP))) {
            assertThatExceptionOfType(RdmaException.class)
                    .isThrownBy(() -> lookup("localhost", "7471", hints))
                    .withMessageContaining("localhost")
                    .withMessageContaining("format " + hints.format());
        }
        assertThatExceptionOfType(RdmaException.class)
                .isThrownBy(() -> lookup("10.77.0.1", "no-such-service", Hints.active(Format.IP, PortSpace.TCP)))
                .withMessageContaining("no-such-service");
    }

    @Test
    void endsAtItsDeadline() {
        assertThatExceptionOfType(RdmaTimeoutException.class)
                .isThrownBy(() ->
                        AddressInfo.lookup("10.77.0.1", "1", Hints.active(Format.IP, PortSpace.TCP), Duration.ZERO))
                .withMessageContaining("10.77.0.1");
    }

    @Test
    void connectsToWhatItFound() {
        try (EventChannel channel = EventChannel.create();
                CmId listener = channel.createId(PortSpace.TCP);
                CmId client = channel.createId(PortSpace.TCP)) {
            listener.bind(lookup(IP4.getHostAddress(), "0", Hints.passive(Format.IP, PortSpace.TCP)));
            listener.listen(1);
            assertThat(listener.localAddress().getAddress()).isEqualTo(IP4);
            AddressInfo info = lookup(
                    IP4.getHostAddress(),
                    Integer.toString(listener.localPort()),
                    Hints.active(Format.IP, PortSpace.TCP).withSource(IP4.getHostAddress()));
            assertThat(info.source()).contains(new InetSocketAddress(IP4, 0));
            client.resolveAddress(info, TIMEOUT);
            client.resolveRoute(TIMEOUT);
            assertThat(client.remoteAddress()).isEqualTo(listener.localAddress());
            client.connect(withoutQueuePair().build());
            listener.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT).id().close();
        }
    }

    @Test
    void namesTheSideThatIsMissing() {
        AddressInfo active = lookup(IP4.getHostAddress(), "9", Hints.active(Format.IP, PortSpace.TCP));
        AddressInfo passive = lookup(IP4.getHostAddress(), "9", Hints.passive(Format.IP, PortSpace.TCP));
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> id.bind(active))
                    .withMessageContaining("no local address");
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> id.resolveAddress(passive, TIMEOUT))
                    .withMessageContaining("no peer's address");
        }
    }

    @Test
    void servesStreamSocketsToo() throws Exception {
        AddressInfo local = lookup(IP4.getHostAddress(), "0", Hints.passive(Format.IP, PortSpace.TCP));
        try (RSocket listener = RSocket.stream(local)) {
            listener.bind(local);
            listener.listen(1);
            AddressInfo peer = lookup(
                    IP4.getHostAddress(),
                    Integer.toString(listener.localAddress().getPort()),
                    Hints.active(Format.IP, PortSpace.TCP));
            CompletableFuture<InetSocketAddress> accepted = CompletableFuture.supplyAsync(() -> {
                try (RSocket server = listener.accept(TIMEOUT)) {
                    return server.localAddress();
                }
            });
            try (RSocket client = RSocket.stream(peer)) {
                client.route(peer).connect(peer, TIMEOUT);
                assertThat(accepted.get()).isEqualTo(client.remoteAddress());
            }
        }
    }

    @Test
    void saysThatNativeAddressingNeedsInfiniband() {
        AddressInfo peer = lookup(Gid.of(IP4).toString(), "7471", Hints.active(Format.GID, PortSpace.TCP));
        AddressInfo local = lookup(Gid.of(IP4).toString(), "7471", Hints.passive(Format.GID, PortSpace.TCP));
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP);
                RSocket listener = RSocket.stream(local);
                RSocket client = RSocket.stream(peer)) {
            for (Runnable step : List.<Runnable>of(
                    () -> id.bind(local),
                    () -> id.resolveAddress(peer, TIMEOUT),
                    () -> listener.bind(local),
                    () -> client.connect(peer, TIMEOUT))) {
                assertThatExceptionOfType(RdmaException.class)
                        .isThrownBy(step::run)
                        .withMessageContaining("AF_IB addressing needs an InfiniBand link layer")
                        .satisfies(e -> assertThat(e.isUnsupported()).isTrue());
            }
        }
    }
}
