package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.WorkCompletionException;
import io.rdmatest.verbs.WorkCompletion.Status;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class DriverQuirksTests {

    @Test
    void softwareHasNoWire() {
        assertThat(DriverQuirks.isSoftware("rdma_rxe")).isTrue();
        assertThat(DriverQuirks.isSoftware("siw")).isTrue();
        assertThat(DriverQuirks.isSoftware("mlx5_core")).isFalse();
        assertThat(DriverQuirks.isSoftware("unknown")).isFalse();
    }

    @Test
    void onlySoftRoceRepeatsBecauseItsHostIsBusy() {
        assertThat(DriverQuirks.repeatsOnASlowHost("rdma_rxe")).isTrue();
        // TCP repeats for siw, which has no counters of that.
        assertThat(DriverQuirks.repeatsOnASlowHost("siw")).isFalse();
        assertThat(DriverQuirks.repeatsOnASlowHost("mlx5_core")).isFalse();
    }

    @Test
    void aMessageThatIsTooLongHasTheStatusOfTheSpecificationOrThatOfSoftRoce() {
        assertThat(Arrays.stream(Status.values()).filter(DriverQuirks::isMessageTooLong))
                .containsExactly(Status.LOC_LEN_ERR, Status.LOC_QP_OP_ERR);
        assertThat(Arrays.stream(Status.values()).filter(DriverQuirks::isPeersReceiveTooShort))
                .containsExactly(Status.REM_INV_REQ_ERR, Status.REM_OP_ERR);
    }

    @Test
    void aFailureIsJudgedByItsStatus() {
        for (Status status : Status.values()) {
            var failure = new WorkCompletionException(status.ibvName(), status.code(), "why", 0, "RECV", 1, 17);
            assertThat(DriverQuirks.isMessageTooLong(failure))
                    .as(status.name())
                    .isEqualTo(DriverQuirks.isMessageTooLong(status));
        }
    }
}
