package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.junit.jupiter.api.Test;

class DecodingTests {

    @Test
    void unknownValuesStayUnknown() {
        assertThat(WorkCompletion.Status.of(99)).isEqualTo(WorkCompletion.Status.UNKNOWN);
        assertThat(WorkCompletion.Status.of(-1)).isEqualTo(WorkCompletion.Status.UNKNOWN);
        assertThat(WorkCompletion.Opcode.of(50)).isEqualTo(WorkCompletion.Opcode.UNKNOWN);
        assertThat(QpState.of(7)).isEqualTo(QpState.UNKNOWN);
        assertThat(Mtu.of(6)).isEqualTo(Mtu.UNKNOWN);
        assertThat(PortState.of(6)).isEqualTo(PortState.UNKNOWN);
        assertThat(GidType.of(3)).isEqualTo(GidType.UNKNOWN);
        assertThat(LinkLayer.of(3)).isEqualTo(LinkLayer.UNKNOWN);
        assertThat(NodeType.of(42)).isEqualTo(NodeType.UNKNOWN);
        assertThat(AsyncEvent.Type.of(20)).isEqualTo(AsyncEvent.Type.DEVICE_SPEED_CHANGE);
        assertThat(AsyncEvent.Type.of(21)).isEqualTo(AsyncEvent.Type.UNKNOWN);
    }

    @Test
    void statusesAndOperationsHaveTheirNumbers() {
        for (WorkCompletion.Status status : WorkCompletion.Status.values()) {
            assertThat(WorkCompletion.Status.of(status.code())).isEqualTo(status);
        }
        assertThat(WorkCompletion.Status.REM_ACCESS_ERR.code()).isEqualTo(10);
        assertThat(WorkCompletion.Status.GENERAL_ERR.code()).isEqualTo(21);
        assertThat(WorkCompletion.Opcode.of(129)).isEqualTo(WorkCompletion.Opcode.RECV_RDMA_WITH_IMM);
        assertThat(WorkCompletion.Opcode.RECV.isReceive()).isTrue();
        assertThat(WorkCompletion.Opcode.FETCH_ADD.isReceive()).isFalse();
    }

    @Test
    void mtusHaveTheirSizes() {
        assertThat(Mtu.ofBytes(1024)).isEqualTo(Mtu.MTU_1024);
        assertThat(Mtu.MTU_4096.bytes()).isEqualTo(4096);
        assertThat(Mtu.MTU_256.bytes()).isEqualTo(256);
        assertThatIllegalArgumentException().isThrownBy(() -> Mtu.ofBytes(1500));
    }

    @Test
    void accessGoesBothWays() {
        assertThat(Access.ofMask(Access.mask(List.of(Access.LOCAL_WRITE, Access.REMOTE_ATOMIC))))
                .containsExactly(Access.LOCAL_WRITE, Access.REMOTE_ATOMIC);
        assertThat(Access.mask(List.of())).isZero();
    }

    @Test
    void ratesAreWidthTimesSpeed() {
        assertThat(PortAttributes.lanes(2) * PortAttributes.laneGbps(32)).isEqualTo(100.0);
        assertThat(PortAttributes.lanes(1) * PortAttributes.laneGbps(1)).isEqualTo(2.5);
        assertThat(PortAttributes.lanes(2) * PortAttributes.laneGbps(256)).isEqualTo(800.0);
        assertThat(PortAttributes.lanes(3)).isZero();
    }
}
