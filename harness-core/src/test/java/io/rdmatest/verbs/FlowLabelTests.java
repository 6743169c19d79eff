package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FlowLabelTests {

    /** As the C function says; BindingsHostIT asks it about more of them. */
    @ParameterizedTest
    @CsvSource({"0, 49152", "1, 49153", "16383, 65535", "16384, 49153", "1048575, 65472"})
    void aLabelGivesAPort(int label, int port) {
        assertThat(AddressHandleAttributes.udpSourcePort(label)).isEqualTo(port);
    }

    @Test
    void everyPortHasALabelThatIsNotNone() {
        for (int port = 49152; port <= 65535; port++) {
            int label = AddressHandleAttributes.flowLabelOfUdpSourcePort(port);
            assertThat(label).isPositive();
            assertThat(AddressHandleAttributes.udpSourcePort(label)).isEqualTo(port);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 4791, 49151, 65536, -1})
    void otherPortsAreRefused(int port) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RawConnection.Parameters.DEFAULT.withUdpSourcePort(port))
                .withMessage("a source port of RoCE v2 is 49152 to 65535, not " + port);
    }

    @Test
    void labelsOf20BitsAreTaken() {
        assertThat(RawConnection.Parameters.DEFAULT.withFlowLabel(0xfffff).flowLabel())
                .isEqualTo(0xfffff);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RawConnection.Parameters.DEFAULT.withFlowLabel(1 << 20))
                .withMessage("flowLabel is 0 to 1048575, not 1048576");
        assertThatIllegalArgumentException().isThrownBy(() -> AddressHandleAttributes.udpSourcePort(-1));
    }

    /** As rdma_calc_flow_label of the kernel's ib_verbs.h folds the product. FlowLabelIT sees it on the wire. */
    @ParameterizedTest
    @CsvSource({"17, 18, 306", "18, 17, 306", "16777215, 16777215, 1048350"})
    void twoQueuePairsHaveALabel(int localQp, int remoteQp, int label) {
        assertThat(AddressHandleAttributes.flowLabel(localQp, remoteQp)).isEqualTo(label);
    }
}
