package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RejectReasonTests {

    @ParameterizedTest
    @CsvSource({
        "RDMA_CM_EVENT_REJECTED, 8, INVALID_SERVICE_ID, true, false",
        "RDMA_CM_EVENT_REJECTED, 9, INVALID_TRANSPORT_TYPE, true, false",
        "RDMA_CM_EVENT_REJECTED, 28, CONSUMER_DEFINED, false, true",
        "RDMA_CM_EVENT_REJECTED, 10, STALE_CONNECTION, false, false",
        "RDMA_CM_EVENT_REJECTED, -111, CONNECTION_REFUSED, true, false",
        "RDMA_CM_EVENT_REJECTED, -104, CONNECTION_RESET, false, true",
        "RDMA_CM_EVENT_REJECTED, 34, UNKNOWN, false, false",
        "RDMA_CM_EVENT_UNREACHABLE, 1, INVALID_SERVICE_ID, true, false",
        "RDMA_CM_EVENT_UNREACHABLE, 2, CONSUMER_DEFINED, false, true",
        "RDMA_CM_EVENT_UNREACHABLE, 99, UNKNOWN, false, false",
    })
    void tellsNobodyListensFromRejected(
            String event, int status, RejectReason reason, boolean nobodyListens, boolean byPeerProgram) {
        UnexpectedCmEventException thrown =
                new UnexpectedCmEventException("RDMA_CM_EVENT_ESTABLISHED", event, status, "", new byte[0]);
        assertThat(thrown.rejectReason()).contains(reason);
        assertThat(reason.nobodyListens()).isEqualTo(nobodyListens);
        assertThat(reason.byPeerProgram()).isEqualTo(byPeerProgram);
    }

    @ParameterizedTest
    @CsvSource({"RDMA_CM_EVENT_UNREACHABLE, -110", "RDMA_CM_EVENT_ADDR_ERROR, -19", "RDMA_CM_EVENT_DISCONNECTED, 0"})
    void isNoneForAnEventThatIsNoRefusal(String event, int status) {
        assertThat(RejectReason.of(event, status)).isEmpty();
    }

    @Test
    void everyReasonButTheUnknownOneHasANumberAndAText() {
        assertThat(Arrays.stream(RejectReason.values()).map(RejectReason::number))
                .doesNotHaveDuplicates();
        assertThat(RejectReason.values())
                .allSatisfy(reason -> assertThat(reason.text().isEmpty()).isEqualTo(reason == RejectReason.UNKNOWN));
    }
}
