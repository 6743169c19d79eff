package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.DeviceUnderTest;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.WholeLedger;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
@WholeLedger
class DeviceIT {

    @Test
    void devicesSayWhatTheyAre() {
        RdmaDevice device = DeviceUnderTest.device();
        assertThat(RdmaDevice.list()).contains(device);
        assertThat(device.nodeGuid()).isNotZero();
        assertThat(device.nodeType()).isNotEqualTo(NodeType.UNKNOWN);
        assertThat(device.transport()).isNotEqualTo(Transport.UNKNOWN);
        if (DeviceUnderTest.driver() == DeviceUnderTest.Driver.RXE) {
            assertThat(device.nodeType()).isEqualTo(NodeType.CA);
            assertThat(device.transport()).isEqualTo(Transport.IB);
        }
        assertThat(device.driver()).isNotEqualTo("unknown");
        assertThat(RdmaDevice.byName(device.name())).isEqualTo(device);
    }

    @Test
    void anUnknownDeviceIsNamedBesideThoseThatAreThere() {
        assertThatThrownBy(() -> RdmaDevice.byName("mlx9_9"))
                .isInstanceOf(RdmaException.class)
                .hasMessageContaining("mlx9_9")
                .hasMessageContaining(RdmaDevice.list().get(0).name());
    }

    @Test
    void attributesOfDeviceAndPortAreFull() throws Exception {
        try (Rig rig = new Rig()) {
            DeviceAttributes device = rig.context.attributes();
            assertThat(device.physicalPorts()).isPositive();
            assertThat(device.maxQp()).isPositive();
            assertThat(device.maxSge()).isPositive();
            assertThat(device.maxMrSize()).isNotZero();
            assertThat(device.atomicCapability()).isNotEqualTo(AtomicCapability.UNKNOWN);
            assertThat(device.nodeGuid()).isEqualTo(DeviceUnderTest.device().nodeGuid());
            PortAttributes port = rig.context.port(rig.port);
            assertThat(port.state()).isEqualTo(PortState.ACTIVE);
            assertThat(port.linkLayer()).isIn(LinkLayer.ETHERNET, LinkLayer.INFINIBAND);
            assertThat(port.activeMtu().bytes()).isBetween(256, 4096);
            assertThat(port.rateGbps()).isPositive();
            assertThat(port.gidTableLength()).isPositive();
        }
    }

    @Test
    void theExtendedAttributesAgreeWithTheFirst() throws Exception {
        try (Rig rig = new Rig()) {
            DeviceAttributes device = rig.context.attributes();
            ExtendedDeviceAttributes extended = rig.context.extendedAttributes();
            // The same bits by another call, at an offset that only a right layout has.
            assertThat((int) extended.capabilityFlags()).isEqualTo(device.capabilityFlags());
            DeviceCapabilities all = rig.context.capabilities();
            assertThat(all.attributes()).isEqualTo(device);
            assertThat(all.extended()).isEqualTo(extended);
            assertThat(all.services()).contains(QpType.RC);
            assertThat(all.has(DeviceCapability.SHARED_RECEIVE_QUEUES)).isEqualTo(device.maxSrq() > 0);
        }
    }

    @Test
    void inlineDataAreGrantedUpToWhatTheProbeFinds() throws Exception {
        try (Rig rig = new Rig()) {
            int most = rig.context.probeMaxInline(QpType.RC);
            assertThat(most).isPositive();
            CompletionQueue cq = rig.cq();
            assertThat(rig.qp(cq, builder -> one(builder).maxInline(most)).maxInline())
                    .isEqualTo(most);
            assertThatThrownBy(() -> rig.qp(cq, builder -> one(builder).maxInline(most + 1)))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("max_inline_data " + (most + 1));
        }
    }

    private static QueuePairAttributes.Builder one(QueuePairAttributes.Builder builder) {
        return builder.maxSendWr(1).maxReceiveWr(1).maxSendSge(1).maxReceiveSge(1);
    }

    @Test
    void gidTableHasBothFamilies() throws Exception {
        DeviceUnderTest.assumeRoce("on InfiniBand a GID is of no family");
        int unused = DeviceUnderTest.unusedGidIndex();
        try (Rig rig = new Rig()) {
            GidEntry ipv4 = rig.gid(true);
            GidEntry ipv6 = rig.gid(false);
            assertThat(rig.context.gid(rig.port, ipv4.index())).isEqualTo(ipv4.gid());
            assertThat(ipv6.interfaceIndex()).isPositive();
            assertThatThrownBy(() -> rig.context.gid(rig.port, unused))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("index " + unused)
                    .hasMessageContaining(ipv4.gid().toString());
        }
    }

    @Test
    void aPortThatIsNotThereIsRefused() throws Exception {
        try (Rig rig = new Rig()) {
            assertThatThrownBy(() -> rig.context.port(rig.context.attributes().physicalPorts() + 1))
                    .isInstanceOf(RdmaException.class);
            assertThatThrownBy(() -> rig.context.port(0)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void theWaitForAnEventEnds() throws Exception {
        try (Rig rig = new Rig()) {
            while (rig.context.pollAsyncEvent().isPresent()) {
                Thread.onSpinWait();
            }
            assertThatThrownBy(() -> rig.context.awaitAsyncEvent(Duration.ofMillis(50)))
                    .isInstanceOf(RdmaTimeoutException.class)
                    .hasMessageContaining("asynchronous event")
                    .hasMessageContaining("50 ms");
        }
    }
}
