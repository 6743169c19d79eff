package io.rdmatest.junit.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class RemoteCountersTests {

    @Test
    void repetitionsOfSoftRoceAreLosses() {
        assertThat(RemoteCounters.losses(
                        Map.of("completer_retry_err", 47L, "sent_pkts", 800L, "ack_deferred", 1L, "rdma_sends", 400L),
                        "rdma_rxe"))
                .containsExactly(Map.entry("completer_retry_err", 47L));
    }

    @Test
    void errorsOfHardwareAreLossesAndCongestionIsNot() {
        assertThat(RemoteCounters.losses(
                        Map.of(
                                "local_ack_timeout_err", 1L,
                                "symbol_error", 2L,
                                "np_ecn_marked_roce_packets", 3L,
                                "resp_cqe_flush_error", 4L),
                        "mlx5_core"))
                .containsExactly(Map.entry("local_ack_timeout_err", 1L), Map.entry("symbol_error", 2L));
    }
}
