package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.scenarios.engine.Progress;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletion.Status;
import io.rdmatest.verbs.WorkCompletionException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RpingLinkTests {

    @ParameterizedTest
    @CsvSource({
        "rdma_rxe, LOC_LEN_ERR, true, true",
        "rdma_rxe, LOC_QP_OP_ERR, true, true",
        "rdma_rxe, LOC_LEN_ERR, false, false",
        "rdma_rxe, LOC_QP_OP_ERR, false, false",
        "rdma_rxe, LOC_PROT_ERR, true, false",
        "rdma_rxe, WR_FLUSH_ERR, true, false",
        "mlx5_core, LOC_LEN_ERR, true, true",
        "mlx5_core, LOC_QP_OP_ERR, true, false",
    })
    void aReceiveThatIsTooShortIsToldFromWhatElseFails(String driver, Status status, boolean receive, boolean tooLong) {
        WorkCompletionException failure = new WorkCompletionException(
                status, status.code(), 0, WorkCompletion.Opcode.RECV, receive ? Progress.RECEIVE : 2, 17);
        assertThat(RpingLink.isTooLong(driver, failure)).isEqualTo(tooLong);
    }
}
