package io.rdmatest.peer;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Cause;
import io.rdmatest.NativeAccessException;
import io.rdmatest.NativeLibraryException;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletionException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RemoteFailureTests {

    static Stream<Throwable> sentences() {
        byte[] data = new byte[40];
        data[3] = 7;
        return Stream.of(
                new RdmaException("ibv_reg_mr", "pd rxe0/1, 4096 bytes", 12),
                new RdmaException("ibv_reg_mr", "", 12, ""),
                new RdmaException("rdma_bind_addr", "10.0.0.1) failed: no", 98, "End it. Or another"),
                new RdmaException("ibv_close_device", "rxe0", 0),
                new RdmaException("a condition that no errno describes"),
                new RdmaException(Cause.PEER_LOST, "the stream ended"),
                RdmaTimeoutException.reported(Cause.PEER_ABSENT, "connection request", Duration.ofMillis(1500), ""),
                RdmaTimeoutException.reported(
                        Cause.TIMEOUT, "2 completions on cq rxe0/4", Duration.ofMillis(1500), "1 came; not more"),
                new WorkCompletionException(
                        WorkCompletion.Status.REM_ACCESS_ERR, 10, 0x80, WorkCompletion.Opcode.SEND, -5, 17),
                new UnexpectedCmEventException("RDMA_CM_EVENT_ESTABLISHED", "RDMA_CM_EVENT_REJECTED", 8, "why", data),
                new NativeLibraryException("install it", new IllegalStateException("x")),
                new NativeAccessException("allow it", new IllegalStateException("x")),
                new AssertionError("not so"),
                new Violation("PSN 7 twice"));
    }

    private static final class Violation extends IllegalStateException implements Cause.Carrier {
        private static final long serialVersionUID = 1L;

        Violation(String message) {
            super(message);
        }

        @Override
        public Cause rdmaCause() {
            return Cause.PROTOCOL_VIOLATION;
        }
    }

    private static RemoteFailureException over(Throwable failure) throws Exception {
        String line = Wire.MAPPER.writeValueAsString(PeerFailure.of(failure));
        return new RemoteFailureException(Wire.MAPPER.readValue(line, PeerFailure.class), "b (host x)", "port down");
    }

    @ParameterizedTest
    @MethodSource("sentences")
    void causeMessageAndStackSurvive(Throwable failure) throws Exception {
        RemoteFailureException remote = over(failure);

        assertThat(remote).hasMessage(failure.getMessage());
        assertThat(remote.rdmaCause()).isEqualTo(Cause.of(failure));
        assertThat(Cause.of(remote)).isEqualTo(Cause.of(failure));
        assertThat(remote.stack()).startsWith(failure.toString()).contains("RemoteFailureTests");
    }

    @Test
    void theCauseOfAFailureBelowSurvives() throws Exception {
        assertThat(over(new RuntimeException("role", new Violation("PSN 7 twice"))))
                .hasMessage("java.lang.RuntimeException: role")
                .satisfies(remote -> assertThat(remote.stack()).contains("Violation: PSN 7 twice"))
                .extracting(RemoteFailureException::rdmaCause)
                .isEqualTo(Cause.PROTOCOL_VIOLATION);
        assertThat(over(new AssertionError("promised", new RdmaException("ibv_reg_mr", "", 12)))
                        .rdmaCause())
                .isEqualTo(Cause.ASSERTION);
    }

    /** A message of Java, or none, says little without the type of the exception. */
    @Test
    void whatWasNotWrittenForPeopleIsToldWithItsType() throws Exception {
        assertThat(over(new OutOfMemoryError("heap"))).hasMessage("java.lang.OutOfMemoryError: heap");
        assertThat(over(new NullPointerException())).hasMessage("java.lang.NullPointerException");
        assertThat(over(new AssertionError())).hasMessage("java.lang.AssertionError");
        assertThat(over(new OutOfMemoryError("heap")).rdmaCause()).isEqualTo(Cause.OUT_OF_MEMORY);
    }

    @Test
    void thePrintedStackTraceHasTheNodeItsStackAndItsDiagnosis() throws Exception {
        RemoteFailureException remote = over(new RdmaException("ibv_reg_mr", "", 12, ""));
        StringWriter printed = new StringWriter();
        remote.printStackTrace(new PrintWriter(printed, true));

        assertThat(printed.toString())
                .contains("Suppressed: on b (host x)", "io.rdmatest.RdmaException: ibv_reg_mr", "port down");
        assertThat(remote.node()).isEqualTo("b (host x)");
        assertThat(remote.diagnosis()).isEqualTo("port down");
    }

    @Test
    void aCauseOfAnotherReleaseIsADefect() {
        PeerFailure later = new PeerFailure("GRAVITY", "z", "");

        assertThat(new RemoteFailureException(later, "b", "").rdmaCause()).isEqualTo(Cause.DEFECT);
    }

    @Test
    void aStackWithoutEndIsCutOff() {
        Throwable deep = new IllegalStateException("x".repeat(1000));
        for (int i = 1; i < 100; i++) {
            deep = new IllegalStateException("x".repeat(1000), deep);
        }
        assertThat(PeerFailure.of(deep).stack()).hasSizeLessThan(70_000).endsWith("…");
    }
}
