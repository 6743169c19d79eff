package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.junit.jupiter.api.Test;

class QueuePairModificationTests {

    @Test
    void theMaskIsThatOfTheValuesSet() {
        QueuePairModification rtr = QueuePairModification.to(QpState.RTR)
                .addressVector(AddressHandleAttributes.toGid(1, 3, Gid.parse("fe80::9")))
                .pathMtu(Mtu.MTU_2048)
                .destinationQp(0xabcdef)
                .receivePsn(0xffffff)
                .maxDestinationReadAtomic(200)
                .minRnrTimer(31)
                .build();
        assertThat(rtr.mask()).isEqualTo(1 | 1 << 7 | 1 << 8 | 1 << 20 | 1 << 12 | 1 << 17 | 1 << 15);
        assertThat(rtr.state()).isEqualTo(QpState.RTR);
        assertThat(rtr.pathMtu()).isEqualTo(Mtu.MTU_2048);
        assertThat(rtr.destinationQp()).isEqualTo(0xabcdef);
        assertThat(rtr.receivePsn()).isEqualTo(0xffffff);
        assertThat(rtr.maxDestinationReadAtomic()).isEqualTo(200);
        assertThat(rtr.minRnrTimer()).isEqualTo(31);
        AddressHandleAttributes destination = rtr.addressVector();
        assertThat(destination).isEqualTo(AddressHandleAttributes.toGid(1, 3, Gid.parse("fe80::9")));
        assertThat(rtr.toString()).contains("to RTR").contains("IBV_QP_AV").contains("IBV_QP_DEST_QPN");
        assertThatIllegalStateException().isThrownBy(rtr::timeout).withMessageContaining("IBV_QP_TIMEOUT");
    }

    @Test
    void aBuilderDoesNotChangeWhatItBuilt() {
        QueuePairModification.Builder builder =
                QueuePairModification.to(QpState.RTS).timeout(14);
        QueuePairModification first = builder.build();
        builder.timeout(3).rnrRetry(7);
        assertThat(first.timeout()).isEqualTo(14);
        assertThat(first.mask()).isEqualTo(1 | 1 << 9);
        assertThat(first.toBuilder().rnrRetry(2).build().rnrRetry()).isEqualTo(2);
    }

    @Test
    void valuesOutOfRangeAreRefused() {
        QueuePairModification.Builder builder = QueuePairModification.builder();
        assertThatIllegalArgumentException().isThrownBy(() -> builder.timeout(32));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.retryCount(8));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.rnrRetry(-1));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.sendPsn(1 << 24));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.port(0));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.pathMtu(Mtu.UNKNOWN));
        assertThatIllegalArgumentException().isThrownBy(() -> builder.state(QpState.UNKNOWN));
        assertThat(builder.build().mask()).isZero();
    }
}
