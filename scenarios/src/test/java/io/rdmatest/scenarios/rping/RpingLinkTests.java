package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.WorkCompletionException;
import io.rdmatest.scenarios.engine.Progress;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RpingLinkTests {

    @ParameterizedTest
    @CsvSource({
        "IBV_WC_LOC_LEN_ERR, true, true",
        "IBV_WC_LOC_QP_OP_ERR, true, true",
        "IBV_WC_LOC_LEN_ERR, false, false",
        "IBV_WC_LOC_QP_OP_ERR, false, false",
        "IBV_WC_LOC_PROT_ERR, true, false",
        "IBV_WC_WR_FLUSH_ERR, true, false",
    })
    void aReceiveThatIsTooShortIsToldFromWhatElseFails(String status, boolean receive, boolean tooLong) {
        WorkCompletionException failure =
                new WorkCompletionException(status, 1, "why", 0, "RECV", receive ? Progress.RECEIVE : 2, 17);
        assertThat(RpingLink.isTooLong(failure)).isEqualTo(tooLong);
    }
}
