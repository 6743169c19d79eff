package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletionException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RdmaExceptionTests {

    @Test
    void namesCallOperandsErrnoAndCure() {
        RdmaException exception = new RdmaException("ibv_reg_mr", "pd rxe0/1, 1048576 bytes", 12);
        assertThat(exception)
                .hasMessageStartingWith(
                        "ibv_reg_mr(pd rxe0/1, 1048576 bytes) failed: ENOMEM (Cannot allocate memory). The limit of locked")
                .hasMessageContaining("ulimit -l");
        assertThat(exception.errnoName()).isEqualTo("ENOMEM");
        assertThat(exception.call()).isEqualTo("ibv_reg_mr");
    }

    @ParameterizedTest
    @CsvSource({
        "rdma_bind_addr, 99, ip address",
        "rdma_resolve_addr, 19, rdma link show",
        "ibv_modify_qp, 5, its firmware was reset",
        "ibv_alloc_pd, 19, its firmware was reset",
        "rdma_disconnect, 6, its firmware was reset",
        "rdma_resolve_addr, 101, ip route get",
        "rdma_resolve_addr, 110, ip neigh",
        "rconnect, 110, check that it runs",
        "rconnect, 111, start the server",
        "rsend, 104, the peer closed it",
        "rdma_bind_addr, 98, another listener",
    })
    void namesTheCureOfTheUsualCausesInOneSentence(String call, int errno, String cure) {
        String message = new RdmaException(call, "10.77.0.1:7471", errno).getMessage();
        assertThat(message).contains(cure).endsWith(".");
        assertThat(message.substring(message.indexOf("). ") + 3)).doesNotContain(". ");
    }

    @Test
    void tellsWhatIsNotSupportedFromWhatFailed() {
        assertThat(new RdmaException("rdma_create_qp_ex", "", 95).isUnsupported())
                .isTrue();
        assertThat(new RdmaException("rdma_join_multicast_ex", "", 524).isUnsupported())
                .isTrue();
        assertThat(new RdmaException("rdma_bind_addr", "", 19).isUnsupported()).isFalse();
    }

    @Test
    void aBrokenConnectionOfARsocketIsNoDeviceThatIsGone() {
        assertThat(new RdmaException("rsend", "", 5)).hasMessage("rsend() failed: EIO (Input/output error)");
    }

    @Test
    void anUnknownErrnoStaysVisible() {
        assertThat(new RdmaException("rdma_listen", "", 133))
                .hasMessageStartingWith("rdma_listen() failed: errno 133 (");
    }

    @Test
    void aTimeoutSaysWhatItWaitedForAndWhatItSaw() {
        assertThat(RdmaTimeoutException.reported(
                        Cause.TIMEOUT, "2 completions on cq rxe0/4", Duration.ofMillis(250), "1 completion came"))
                .hasMessage("no 2 completions on cq rxe0/4 within 250 ms; 1 completion came");
    }

    @Test
    void aFailedCompletionNamesItsStatus() {
        assertThat(new WorkCompletionException(
                        WorkCompletion.Status.REM_ACCESS_ERR, 10, 0x88, WorkCompletion.Opcode.RDMA_WRITE, 7, 17))
                .hasMessage(
                        "work request 7 on QP 17 completed with IBV_WC_REM_ACCESS_ERR (10, peer's memory not accessible: key,"
                                + " bounds or permission), vendor error 0x88");
    }

    @Test
    void anUnexpectedEventNamesBothEventsAndTheStatus() {
        assertThat(new UnexpectedCmEventException(
                        "RDMA_CM_EVENT_ESTABLISHED", "RDMA_CM_EVENT_REJECTED", 28, "consumer reject", new byte[] {1, 2
                        }))
                .hasMessage("expected RDMA_CM_EVENT_ESTABLISHED but got RDMA_CM_EVENT_REJECTED, status 28"
                        + " (consumer reject), private data 0102");
    }
}
