package io.rdmatest.scenarios.command;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.rdmatest.Cause;
import io.rdmatest.ExitStatus;
import io.rdmatest.NativeLibraryException;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.SkipReason;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.scenarios.engine.PayloadMismatchError;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletion.Status;
import io.rdmatest.verbs.WorkCompletionException;
import java.io.EOFException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.opentest4j.TestAbortedException;

class VerdictsTests {

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "DEFECT")
    void everyCauseOfARoleHasItsStatusAndItsMessage(Cause why) {
        Verdicts.Verdict verdict = Verdicts.of(new ScenarioException(why, "because"));
        assertThat(verdict.status()).isEqualTo(why.exitStatus());
        assertThat(verdict.message()).isEqualTo("because");
        assertThat(verdict.defect()).isFalse();
    }

    /** What an event says: see rdma_get_cm_event(3), and RejectReason for the statuses. */
    @ParameterizedTest
    @CsvSource({
        "REJECTED, 8, PEER_ABSENT, start the server first",
        "REJECTED, 9, PEER_ABSENT, start the server first",
        "REJECTED, -111, PEER_ABSENT, start the server first",
        "REJECTED, 28, REJECTED, the peer rejected",
        "REJECTED, -104, REJECTED, the peer rejected",
        "REJECTED, 3, REJECTED, the peer rejected",
        "REJECTED, 10, REJECTED, the peer rejected",
        "REJECTED, 5, UNSUPPORTED, not supported by",
        "UNREACHABLE, 1, PEER_ABSENT, start the server first",
        "UNREACHABLE, 2, REJECTED, the peer rejected",
        "UNREACHABLE, -110, PEER_ABSENT, did not answer",
        "ADDR_ERROR, -19, NO_ROUTE, no route to the address over an RDMA device",
        "ROUTE_ERROR, -22, NO_ROUTE, no route to the address over an RDMA device",
        "CONNECT_ERROR, -22, FABRIC_FAILED, could not be established",
        "MULTICAST_ERROR, -12, UNSUPPORTED, not supported by",
        "MULTICAST_ERROR, -22, FABRIC_FAILED, could not be joined",
        "DEVICE_REMOVAL, 0, HOST_NOT_READY, device removed",
        "DISCONNECTED, 0, PEER_LOST, disconnected or stopped answering before",
    })
    void anEventOfTheConnectionManager(String got, int status, ExitStatus expected, String sentence) {
        Verdicts.Verdict verdict = Verdicts.of(new UnexpectedCmEventException(
                "RDMA_CM_EVENT_ESTABLISHED", "RDMA_CM_EVENT_" + got, status, "", new byte[0]));
        assertThat(verdict.status()).isEqualTo(expected);
        assertThat(verdict.message()).contains(sentence, "RDMA_CM_EVENT_" + got);
        assertThat(verdict.defect()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "RETRY_EXC_ERR, PEER_LOST",
        "RESP_TIMEOUT_ERR, PEER_LOST",
        "WR_FLUSH_ERR, PEER_LOST",
        "RNR_RETRY_EXC_ERR, FABRIC_FAILED",
        "REM_ACCESS_ERR, FABRIC_FAILED",
        "LOC_PROT_ERR, FABRIC_FAILED",
    })
    void aFailedWorkRequest(Status status, ExitStatus expected) {
        assertThat(Verdicts.of(
                        new WorkCompletionException(status, status.code(), 0, WorkCompletion.Opcode.SEND, 1, 17)))
                .satisfies(verdict -> {
                    assertThat(verdict.status()).isEqualTo(expected);
                    assertThat(verdict.message())
                            .startsWith(status.cause().hint())
                            .contains(status.ibvName());
                });
    }

    /** By the cause that whoever waited gave, and not by the words for what was awaited. */
    @ParameterizedTest
    @CsvSource({
        "PEER_ABSENT, PEER_ABSENT, nobody listens",
        "NO_ROUTE, NO_ROUTE, no route to the address",
        "UNKNOWN_HOST, NO_ROUTE, unknown host name",
        "TIMEOUT, PEER_LOST, the peer stopped answering",
        "PEER_LOST, PEER_LOST, stopped answering",
    })
    void anEndOfPatience(Cause cause, ExitStatus expected, String sentence) {
        Verdicts.Verdict verdict =
                Verdicts.of(RdmaTimeoutException.reported(cause, "whatever", Duration.ofSeconds(3), "nothing"));
        assertThat(verdict.status()).isEqualTo(expected);
        assertThat(verdict.message()).contains(sentence, "whatever", "3000 ms");
    }

    @ParameterizedTest
    @CsvSource({
        "rdma_bind_addr, 19, NO_ROUTE",
        "rdma_bind_addr, 99, NO_ROUTE",
        "rdma_resolve_addr, 101, NO_ROUTE",
        "rdma_resolve_addr, 113, NO_ROUTE",
        "rdma_getaddrinfo, 22, NO_ROUTE",
        "rconnect, 111, PEER_ABSENT",
        "rconnect, 110, PEER_ABSENT",
        "rrecv, 110, PEER_LOST",
        "rrecv, 104, PEER_LOST",
        "rsend, 32, PEER_LOST",
        "ibv_create_qp, 95, UNSUPPORTED",
        "rdma_join_multicast_ex, 38, UNSUPPORTED",
        "rdma_create_id, 93, UNSUPPORTED",
        "rdma_resolve_addr, 97, UNSUPPORTED",
        "ibv_post_send, 90, SIZE_REFUSED",
        "ibv_reg_mr, 12, HOST_NOT_READY",
        "ibv_open_device, 13, HOST_NOT_READY",
        "rdma_bind_addr, 98, HOST_NOT_READY",
        "rdma_create_event_channel, 2, HOST_NOT_READY",
    })
    void aFailedCall(String call, int errno, ExitStatus expected) {
        Verdicts.Verdict verdict = Verdicts.of(new RdmaException(call, "operands", errno));
        assertThat(verdict.status()).isEqualTo(expected);
        assertThat(verdict.message()).contains(call, "operands");
        assertThat(verdict.defect()).isFalse();
    }

    @ParameterizedTest
    @MethodSource
    void others(Throwable failure, ExitStatus expected) {
        assertThat(Verdicts.of(failure).status()).isEqualTo(expected);
        assertThat(Verdicts.of(failure).defect()).isFalse();
    }

    static Stream<Arguments> others() {
        Throwable aborted = new TestAbortedException(SkipReason.UNSUPPORTED_BY_DEVICE.because("rxe0 has no atomics"));
        return Stream.of(
                arguments(new AssertionError("2 of 10 datagrams lost"), ExitStatus.FABRIC_FAILED),
                arguments(new PayloadMismatchError("ping 3", 7, (byte) 1, (byte) 2), ExitStatus.FABRIC_FAILED),
                arguments(aborted, ExitStatus.UNSUPPORTED),
                arguments(new RdmaException(Cause.UNKNOWN_HOST, "nowhere is unknown"), ExitStatus.NO_ROUTE),
                arguments(new RdmaException("no RDMA device named 'x'"), ExitStatus.HOST_NOT_READY),
                arguments(new FabricException("no active RDMA device"), ExitStatus.HOST_NOT_READY),
                arguments(
                        new NativeLibraryException("install librdmacm1", new UnsatisfiedLinkError()),
                        ExitStatus.HOST_NOT_READY),
                arguments(new OutOfMemoryError("Cannot reserve memory"), ExitStatus.HOST_NOT_READY),
                arguments(new ConnectException("Connection refused"), ExitStatus.PEER_ABSENT),
                arguments(new NoRouteToHostException("No route to host"), ExitStatus.NO_ROUTE),
                arguments(new UnknownHostException("nowhere.example"), ExitStatus.NO_ROUTE),
                arguments(new BindException("Address already in use"), ExitStatus.HOST_NOT_READY),
                arguments(new SocketException("Connection reset"), ExitStatus.PEER_LOST),
                arguments(new SocketTimeoutException("Read timed out"), ExitStatus.PEER_LOST),
                arguments(new EOFException(), ExitStatus.PEER_LOST),
                arguments(new ExecutionException(new AssertionError("lost")), ExitStatus.FABRIC_FAILED),
                arguments(new CompletionException(new ConnectException("refused")), ExitStatus.PEER_ABSENT));
    }

    @Test
    void whatNothingExplainsIsADefect() {
        Verdicts.Verdict verdict = Verdicts.of(new NullPointerException("id is null"));
        assertThat(verdict.status()).isEqualTo(ExitStatus.DEFECT);
        assertThat(verdict.defect()).isTrue();
        assertThat(verdict.message()).contains("NullPointerException", "id is null");
    }

    @Test
    void aMessageIsOneLine() {
        FabricException failure = new FabricException(List.of("nodes[0]: no name", "nodes[1]: no name"));
        assertThat(Verdicts.of(failure).message()).isEqualTo("nodes[0]: no name; nodes[1]: no name");
    }

    @Test
    void statusesAreThoseThatTheReadmePromises() {
        assertThat(Stream.of(ExitStatus.values()).map(status -> status.code() + " " + status))
                .containsExactly(
                        "0 verified",
                        "1 fabric failed",
                        "2 usage",
                        "3 host not ready",
                        "4 peer absent",
                        "5 unsupported",
                        "6 rejected",
                        "7 no route",
                        "8 peer lost",
                        "9 size refused",
                        "14 worse",
                        "15 nothing compared",
                        "16 nothing judged",
                        "70 defect",
                        "130 interrupted");
    }
}
