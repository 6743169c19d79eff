package io.rdmatest.internal.linux;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SocketAddressesHostIT {

    @BeforeAll
    static void load() {
        NativeCalls.requireLibraries();
    }

    @ParameterizedTest
    @CsvSource({"10.77.0.1, 7174", "255.255.255.255, 65535", "fd77::1, 1", "::, 0", "fe80::1%3, 5"})
    void readsWhatItWrote(String host, int port) {
        InetSocketAddress address = new InetSocketAddress(host, port);
        try (Arena arena = Arena.ofConfined()) {
            assertThat(SocketAddresses.decode(SocketAddresses.encode(address, arena)))
                    .isEqualTo(address);
        }
    }

    @Test
    void writesPortAndAddressInNetworkOrder() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment storage = SocketAddresses.encode(new InetSocketAddress("10.77.0.1", 0x1C06), arena);
            assertThat(storage.asSlice(2, 6).toArray(ValueLayout.JAVA_BYTE)).containsExactly(0x1C, 0x06, 10, 77, 0, 1);
        }
    }

    @Test
    void refusesAnUnresolvedName() {
        try (Arena arena = Arena.ofConfined()) {
            InetSocketAddress address = InetSocketAddress.createUnresolved("nowhere.invalid", 1);
            assertThatExceptionOfType(RdmaException.class)
                    .isThrownBy(() -> SocketAddresses.encode(address, arena))
                    .withMessage("unknown host 'nowhere.invalid'")
                    .matches(e -> e.rdmaCause() == Cause.UNKNOWN_HOST);
        }
    }

    @Test
    void writesTextWithoutASlash() {
        assertThat(SocketAddresses.text(new InetSocketAddress("10.77.0.1", 5))).isEqualTo("10.77.0.1:5");
        assertThat(SocketAddresses.text(new InetSocketAddress("fd77::1", 5))).isEqualTo("[fd77:0:0:0:0:0:0:1]:5");
    }

    @Test
    void hasTheSizeOfItsStructureAsRconnectCopiesIt() {
        try (Arena arena = Arena.ofConfined()) {
            assertThat(SocketAddresses.encode(new InetSocketAddress("10.77.0.1", 1), arena)
                            .byteSize())
                    .isEqualTo(16);
            assertThat(SocketAddresses.encode(new InetSocketAddress("fd77::1", 1), arena)
                            .byteSize())
                    .isEqualTo(28);
        }
    }

    @Test
    void keepsAMappedAddressInIp6AndReadsItAsIp4() throws UnknownHostException {
        byte[] mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 10, 77, 0, 1};
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sockaddr = SocketAddresses.encodeIp6(mapped, arena);
            assertThat(SocketAddresses.family(sockaddr)).isEqualTo(10);
            assertThat(sockaddr.asSlice(8, 16).toArray(ValueLayout.JAVA_BYTE)).isEqualTo(mapped);
            assertThat(SocketAddresses.decode(sockaddr))
                    .isEqualTo(new InetSocketAddress(InetAddress.getByName("10.77.0.1"), 0));
        }
    }

    @Test
    void readsNoAddressOfAnotherFamily() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment none = arena.allocate(128, 8);
            assertThat(SocketAddresses.decode(none)).isNull();
            assertThat(SocketAddresses.decodeInfiniband(none)).isNull();
            assertThat(SocketAddresses.isInfiniband(none)).isFalse();
        }
    }
}
