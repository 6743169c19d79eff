package io.rdmatest.cm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class ConnectionParametersTests {

    @Test
    void defaultsAskForTheMost() {
        ConnectionParameters defaults = ConnectionParameters.defaults();
        assertThat(defaults.privateData()).isEmpty();
        assertThat(defaults.responderResources()).isEqualTo(255);
        assertThat(defaults.initiatorDepth()).isEqualTo(255);
        assertThat(defaults.retryCount()).isEqualTo(7);
        assertThat(defaults.rnrRetryCount()).isEqualTo(7);
        assertThat(defaults.flowControl()).isTrue();
    }

    @Test
    void refusesWhatDoesNotFitItsField() {
        ConnectionParameters.Builder builder = ConnectionParameters.builder();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder.retryCount(8))
                .withMessage("retryCount must be 0 to 7, not 8");
        assertThatIllegalArgumentException().isThrownBy(() -> builder.rnrRetryCount(-1));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.responderResources(256));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.initiatorDepth(-1));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.qpNumber(0x1000000));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.privateData(new byte[256]));
    }

    @Test
    void copiesItsPrivateData() {
        byte[] data = {1, 2};
        ConnectionParameters parameters =
                ConnectionParameters.builder().privateData(data).build();
        data[0] = 9;
        parameters.privateData()[1] = 9;
        assertThat(parameters.privateData()).containsExactly(1, 2);
    }

    @Test
    void survivesItsBuilder() {
        ConnectionParameters parameters = ConnectionParameters.builder()
                .privateData(new byte[] {3})
                .responderResources(1)
                .initiatorDepth(2)
                .flowControl(false)
                .retryCount(3)
                .rnrRetryCount(4)
                .srq(true)
                .qpNumber(5)
                .build();
        assertThat(parameters.toBuilder().build()).isEqualTo(parameters).hasSameHashCodeAs(parameters);
        assertThat(parameters.toBuilder().qpNumber(6).build()).isNotEqualTo(parameters);
        assertThat(parameters)
                .hasToString("responder resources 1, initiator depth 2, flow control false, retry count 3, RNR"
                        + " retry count 4, SRQ true, QP 5, 1 bytes of private data");
    }

    @Test
    void knowsTheLimitOfEachMessage() {
        assertThat(PortSpace.TCP.requestLimit(false)).isEqualTo(56);
        assertThat(PortSpace.TCP.requestLimit(true)).isEqualTo(92);
        assertThat(PortSpace.TCP.replyLimit()).isEqualTo(196);
        assertThat(PortSpace.TCP.rejectLimit()).isEqualTo(148);
        assertThat(PortSpace.UDP.requestLimit(false)).isEqualTo(180);
        assertThat(PortSpace.UDP.replyLimit()).isEqualTo(136);
    }
}
