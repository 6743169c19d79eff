package io.rdmatest.cm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.DeviceUnderTest;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** Addresses of the device under test, and what every test of this package waits at most. */
final class CmFixture {

    static final Duration SHORT = Duration.ofMillis(300);
    static final Duration TIMEOUT = Duration.ofSeconds(10);

    static final InetAddress IP4 = DeviceUnderTest.ip4();
    /** On the same network, and nobody has it. */
    static final InetAddress NOBODY = DeviceUnderTest.nobody();

    private static final AtomicInteger NEXT_QP_NUMBER = new AtomicInteger(0x100000);

    private CmFixture() {}

    /** Returns an IPv6 address of the device; a test that asks for it is skipped where it has none. */
    static InetAddress ip6() {
        Optional<InetAddress> found = DeviceUnderTest.ip6();
        assumeTrue(
                found.isPresent(),
                "unsupported by the device: its network interface has no routable IPv6 address; -Drdma.test.ip6 gives one");
        return found.get();
    }

    /** Returns an address of either family. What a test does with that of IPv4 comes before it is skipped for want of the other. */
    static List<Supplier<InetAddress>> addresses() {
        return List.of(() -> IP4, CmFixture::ip6);
    }

    static InetSocketAddress any(InetAddress address) {
        return new InetSocketAddress(address, 0);
    }

    static CmId listener(EventChannel channel, PortSpace portSpace, InetAddress address) {
        CmId listener = channel.createId(portSpace);
        listener.bind(any(address));
        listener.listen(16);
        return listener;
    }

    /** An id with its route resolved to a listener. */
    static CmId resolved(EventChannel channel, CmId listener) {
        CmId client = channel.createId(listener.portSpace());
        client.resolveAddress(null, listener.localAddress(), TIMEOUT);
        client.resolveRoute(TIMEOUT);
        return client;
    }

    /**
     * Parameters for connections in which no queue pair takes part. The connection manager looks at the number only to
     * tell connections apart: one that is still in timewait is refused as stale, so every use gets another number.
     */
    static ConnectionParameters.Builder withoutQueuePair() {
        return ConnectionParameters.builder()
                .qpNumber(NEXT_QP_NUMBER.getAndIncrement())
                .responderResources(1)
                .initiatorDepth(1);
    }

    static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i + 1);
        }
        return bytes;
    }

    static void assertBegins(byte[] actual, byte[] expected) {
        assertThat(Arrays.copyOf(actual, expected.length)).isEqualTo(expected);
        assertThat(Arrays.copyOfRange(actual, expected.length, actual.length))
                .isEqualTo(new byte[actual.length - expected.length]);
    }
}
