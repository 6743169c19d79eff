package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.rdmatest.Cause.Verdict;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletion.Status;
import io.rdmatest.verbs.WorkCompletionException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class CauseTests {

    @ParameterizedTest
    @CsvSource({
        "RETRY_EXC_ERR, RETRY_EXCEEDED",
        "RNR_RETRY_EXC_ERR, RNR_RETRY_EXCEEDED",
        "REM_ACCESS_ERR, REMOTE_ACCESS",
        "WR_FLUSH_ERR, FLUSHED",
        "UNKNOWN, COMPLETION_ERROR",
    })
    void aCompletionStatus(Status status, Cause expected) {
        assertThat(Cause.of(failed(status))).isEqualTo(expected);
    }

    private static WorkCompletionException failed(Status status) {
        return new WorkCompletionException(status, status.code(), 0, WorkCompletion.Opcode.SEND, 1, 17);
    }

    /** One table has the words: those of a status are its cause's. */
    @ParameterizedTest
    @EnumSource(
            mode = EnumSource.Mode.EXCLUDE,
            names = {"SUCCESS", "UNKNOWN"})
    void everyCompletionStatusHasACauseOfItsOwn(Status status) {
        assertThat(status.cause().isCompletion()).isTrue();
        assertThat(status.cause().category()).endsWith(" (" + status.ibvName() + ")");
        assertThat(failed(status))
                .hasMessageContaining(status.ibvName())
                .hasMessageContaining(status.cause().clause());
    }

    @Test
    void aSuccessIsNoFailure() {
        assertThatIllegalStateException().isThrownBy(() -> failed(Status.SUCCESS));
    }

    @ParameterizedTest
    @CsvSource({
        "REJECTED, 8, PEER_ABSENT",
        "REJECTED, 28, REJECTED",
        "REJECTED, 5, UNSUPPORTED",
        "UNREACHABLE, -110, UNREACHABLE",
        "UNREACHABLE, 1, PEER_ABSENT",
        "ADDR_ERROR, -110, PEER_ABSENT",
        "ADDR_ERROR, -19, NO_ROUTE",
        "CONNECT_ERROR, -22, CONNECT_ERROR",
        "DEVICE_REMOVAL, 0, DEVICE_REMOVED",
        "DISCONNECTED, 0, PEER_LOST",
        "TIMEWAIT_EXIT, 0, UNEXPECTED_EVENT",
    })
    void anEventOfTheConnectionManager(String event, int status, Cause expected) {
        assertThat(Cause.of(new UnexpectedCmEventException(
                        "RDMA_CM_EVENT_ESTABLISHED", "RDMA_CM_EVENT_" + event, status, "", new byte[0])))
                .isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({
        "ibv_reg_mr, 12, OUT_OF_MEMORY, BROKEN",
        "ibv_open_device, 13, NOT_PERMITTED, BROKEN",
        "ibv_open_device, 19, DEVICE_REMOVED, BROKEN",
        "ibv_modify_qp, 22, CALL_FAILED, BROKEN",
        "ibv_create_qp, 95, UNSUPPORTED, BROKEN",
        "rdma_bind_addr, 19, NO_ROUTE, FAILED",
        "rrecv, 104, PEER_LOST, FAILED",
        "rconnect, 111, PEER_ABSENT, FAILED",
    })
    void aFailedCall(String call, int errno, Cause expected, Verdict verdict) {
        assertThat(Cause.of(new RdmaException(call, "operands", errno))).isEqualTo(expected);
        assertThat(expected.verdict()).isEqualTo(verdict);
    }

    @Test
    void theOutermostExceptionThatKnowsItDecides() {
        Throwable failure = new RdmaException(Cause.PEER_LOST, "the peer is gone");
        failure.initCause(failed(Status.RETRY_EXC_ERR));
        assertThat(Cause.of(new ExecutionException(new IllegalStateException(failure))))
                .isEqualTo(Cause.PEER_LOST);
    }

    @Test
    void anAssertionIsAFailureOfTheFabricWhateverIsBelowIt() {
        Throwable memory = new RdmaException("ibv_reg_mr", "", 12);
        Throwable lost = RdmaTimeoutException.reported(Cause.TIMEOUT, "message", Duration.ofSeconds(1), "");
        assertThat(Cause.of(new AssertionError("promised", memory))).isEqualTo(Cause.ASSERTION);
        assertThat(Cause.of(new AssertionError("promised", lost))).isEqualTo(Cause.TIMEOUT);
        assertThat(Cause.of(new IllegalStateException(new AssertionError("below"))))
                .isEqualTo(Cause.ASSERTION);
    }

    @Test
    void whatNothingExplainsIsADefect() {
        assertThat(Cause.of(new NullPointerException())).isEqualTo(Cause.DEFECT);
        assertThat(Cause.of(new IllegalStateException(new OutOfMemoryError()))).isEqualTo(Cause.OUT_OF_MEMORY);
    }

    @Test
    void aChainWithoutAnEndIsLeft() {
        RuntimeException one = new RuntimeException();
        RuntimeException other = new RuntimeException(one);
        Throwable ignored = one.initCause(other);
        assertThat(Cause.of(one)).isEqualTo(Cause.DEFECT);
    }

    /** Reports have one category for each cause, and a script has to tell success from each of them. */
    @ParameterizedTest
    @EnumSource
    void everyCauseHasACategoryOfItsOwnAndAStatus(Cause cause) {
        assertThat(Arrays.stream(Cause.values()).map(Cause::category).filter(cause.category()::equals))
                .hasSize(1);
        assertThat(cause.exitStatus().code()).isBetween(1, 255);
    }

    @ParameterizedTest
    @EnumSource
    void whatTheFabricDidWrongCountsAtOnce(Cause cause) {
        assertThat(cause.mayBeRetried() && cause.verdict() == Verdict.FAILED)
                .isEqualTo(Set.of(
                                Cause.OUTLIER,
                                Cause.COUNTERS,
                                Cause.PEER_ABSENT,
                                Cause.UNREACHABLE,
                                Cause.NO_ROUTE,
                                Cause.RETRY_EXCEEDED,
                                Cause.RNR_RETRY_EXCEEDED,
                                Cause.RESPONSE_TIMEOUT,
                                Cause.FLUSHED,
                                Cause.PEER_LOST,
                                Cause.TIMEOUT)
                        .contains(cause));
    }
}
