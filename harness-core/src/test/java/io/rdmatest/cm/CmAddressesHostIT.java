package io.rdmatest.cm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.verbs.Gid;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CmAddressesHostIT {

    @ParameterizedTest
    @CsvSource({"10.77.0.1, 7174", "255.255.255.255, 65535", "fd77::1, 1", "::, 0", "fe80::1%3, 5"})
    void readsWhatItWrote(String host, int port) {
        InetSocketAddress address = new InetSocketAddress(host, port);
        try (Arena arena = Arena.ofConfined()) {
            assertThat(CmAddresses.decode(CmAddresses.encode(arena, address))).isEqualTo(address);
        }
    }

    @Test
    void writesPortAndAddressInNetworkOrder() {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment storage = CmAddresses.encode(arena, new InetSocketAddress("10.77.0.1", 0x1C06));
            assertThat(storage.asSlice(2, 6).toArray(ValueLayout.JAVA_BYTE)).containsExactly(0x1C, 0x06, 10, 77, 0, 1);
        }
    }

    @Test
    void refusesAnUnresolvedName() {
        try (Arena arena = Arena.ofConfined()) {
            InetSocketAddress address = InetSocketAddress.createUnresolved("nowhere.invalid", 1);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> CmAddresses.encode(arena, address))
                    .withMessageContaining("nowhere.invalid");
        }
    }

    @Test
    void writesTextWithoutASlash() {
        assertThat(CmAddresses.text(new InetSocketAddress("10.77.0.1", 5))).isEqualTo("10.77.0.1:5");
        assertThat(CmAddresses.text(new InetSocketAddress("fd77::1", 5))).isEqualTo("[fd77:0:0:0:0:0:0:1]:5");
    }

    @Test
    void writesANativeAddressWithTheServiceIdOfItsPort() {
        IbAddress address = IbAddress.of(Gid.parse("fe80::1"), PortSpace.TCP, 7174);
        assertThat(address.serviceId()).isEqualTo(0x01061C06L);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment storage = address.encode(arena);
            assertThat(CmAddresses.family(storage)).isEqualTo(27);
            assertThat(CmAddresses.decode(storage)).isNull();
            assertThat(IbAddress.port(storage)).isEqualTo(7174);
        }
        assertThatIllegalArgumentException().isThrownBy(() -> IbAddress.of(Gid.parse("fe80::1"), PortSpace.TCP, 65536));
    }

    @Test
    void keepsUnknownEventsVisible() {
        assertThat(CmEvent.Type.of(9)).isEqualTo(CmEvent.Type.ESTABLISHED);
        assertThat(CmEvent.Type.of(19)).isEqualTo(CmEvent.Type.INTERNAL);
        assertThat(CmEvent.Type.of(20)).isEqualTo(CmEvent.Type.UNKNOWN);
        assertThat(CmEvent.Type.of(-1)).isEqualTo(CmEvent.Type.UNKNOWN);
        assertThat(CmEvent.cName(42)).isEqualTo("RDMA_CM_EVENT 42");
        for (CmEvent.Type type : CmEvent.Type.values()) {
            if (type != CmEvent.Type.UNKNOWN) {
                assertThat(CmEvent.Type.of(type.number())).isEqualTo(type);
            }
        }
    }
}
