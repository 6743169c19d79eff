package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.WorkCompletionException;
import io.rdmatest.scenarios.engine.Progress;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RpingLinkTests {

    @ParameterizedTest
    @CsvSource({
        "rdma_rxe, IBV_WC_LOC_LEN_ERR, true, true",
        "rdma_rxe, IBV_WC_LOC_QP_OP_ERR, true, true",
        "rdma_rxe, IBV_WC_LOC_LEN_ERR, false, false",
        "rdma_rxe, IBV_WC_LOC_QP_OP_ERR, false, false",
        "rdma_rxe, IBV_WC_LOC_PROT_ERR, true, false",
        "rdma_rxe, IBV_WC_WR_FLUSH_ERR, true, false",
        "mlx5_core, IBV_WC_LOC_LEN_ERR, true, true",
        "mlx5_core, IBV_WC_LOC_QP_OP_ERR, true, false",
    })
    void aReceiveThatIsTooShortIsToldFromWhatElseFails(String driver, String status, boolean receive, boolean tooLong) {
        WorkCompletionException failure =
                new WorkCompletionException(status, 1, "why", 0, "RECV", receive ? Progress.RECEIVE : 2, 17);
        assertThat(RpingLink.isTooLong(driver, failure)).isEqualTo(tooLong);
    }
}
