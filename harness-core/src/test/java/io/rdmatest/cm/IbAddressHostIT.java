package io.rdmatest.cm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.internal.linux.SocketAddresses;
import io.rdmatest.verbs.Gid;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.Test;

class IbAddressHostIT {

    @Test
    void writesANativeAddressWithTheServiceIdOfItsPort() {
        IbAddress address = IbAddress.of(Gid.parse("fe80::1"), PortSpace.TCP, 7174);
        assertThat(address.serviceId()).isEqualTo(0x01061C06L);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment storage = address.encode(arena);
            assertThat(SocketAddresses.family(storage)).isEqualTo(27);
            assertThat(SocketAddresses.decode(storage)).isNull();
            assertThat(IbAddress.port(storage)).isEqualTo(7174);
            assertThat(IbAddress.decode(storage)).isEqualTo(address);
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
