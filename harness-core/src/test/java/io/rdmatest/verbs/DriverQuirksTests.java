package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.verbs.WorkCompletion.Status;
import java.util.Arrays;
import java.util.List;
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
    void onlySoftRoceRetriesWithoutEnd() {
        assertThat(DriverQuirks.retriesWithoutEnd("rdma_rxe", 7)).isTrue();
        assertThat(DriverQuirks.retriesWithoutEnd("rdma_rxe", DriverQuirks.LARGEST_FINITE_RETRY_COUNT))
                .isFalse();
        assertThat(DriverQuirks.retriesWithoutEnd("mlx5_core", 7)).isFalse();
        assertThat(DriverQuirks.retriesWithoutEnd("siw", 7)).isFalse();
    }

    @Test
    void aMessageThatIsTooLongHasTheStatusOfTheSpecificationOrThatOfSoftRoce() {
        assertThat(tooLong("rdma_rxe")).containsExactly(Status.LOC_LEN_ERR, Status.LOC_QP_OP_ERR);
        assertThat(peersTooShort("rdma_rxe")).containsExactly(Status.REM_INV_REQ_ERR, Status.REM_OP_ERR);
    }

    /** An adapter reports an operation that failed for other reasons. The length of the message is not among them. */
    @Test
    void onOtherDriversOnlyTheStatusOfTheSpecificationMeansThatAMessageIsTooLong() {
        for (String driver : List.of("mlx5_core", "irdma", "siw", "unknown")) {
            assertThat(tooLong(driver)).as(driver).containsExactly(Status.LOC_LEN_ERR);
            assertThat(peersTooShort(driver)).as(driver).containsExactly(Status.REM_INV_REQ_ERR);
        }
    }

    private static List<Status> tooLong(String driver) {
        return Arrays.stream(Status.values())
                .filter(status -> DriverQuirks.isMessageTooLong(driver, status))
                .toList();
    }

    private static List<Status> peersTooShort(String driver) {
        return Arrays.stream(Status.values())
                .filter(status -> DriverQuirks.isPeersReceiveTooShort(driver, status))
                .toList();
    }
}
