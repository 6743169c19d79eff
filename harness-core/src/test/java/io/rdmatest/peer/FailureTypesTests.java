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
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class FailureTypesTests {

    static Stream<Throwable> failures() {
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
                RdmaTimeoutException.reported(Cause.TIMEOUT, "end", Duration.ofNanos(1), ""),
                new WorkCompletionException(
                        WorkCompletion.Status.REM_ACCESS_ERR, 10, 0x80, WorkCompletion.Opcode.SEND, -5, 17),
                new UnexpectedCmEventException("RDMA_CM_EVENT_ESTABLISHED", "RDMA_CM_EVENT_REJECTED", 8, "why", data),
                new UnexpectedCmEventException("RDMA_CM_EVENT_ESTABLISHED", "RDMA_CM_EVENT_REJECTED", -1, "", data),
                new UnexpectedCmEventException("A", "B", 0, "only words", new byte[0]),
                new UnexpectedCmEventException("A", "B", 0, "", new byte[0]),
                new NativeLibraryException("install it", new IllegalStateException("x")),
                new NativeAccessException("allow it", new IllegalStateException("x")),
                new IllegalStateException("state", new IllegalArgumentException("argument")),
                new IllegalStateException(),
                new UnsupportedOperationException("no"),
                new NullPointerException("null"),
                new AssertionError("not so"));
    }

    private static Throwable over(Throwable failure) {
        FailureTypes types = FailureTypes.core();
        return types.read(types.write(failure));
    }

    @ParameterizedTest
    @MethodSource("failures")
    void typeMessageAndFieldsSurvive(Throwable failure) {
        Throwable rebuilt = over(failure);

        assertThat(rebuilt).hasSameClassAs(failure).hasMessage(failure.getMessage());
        assertThat(Cause.of(rebuilt)).isEqualTo(Cause.of(failure));
        FailureTypes types = FailureTypes.core();
        assertThat(types.describe(rebuilt).details())
                .isEqualTo(types.describe(failure).details());
    }

    @Test
    void aCauseSurvives() {
        assertThat(over(new IllegalStateException("state", new RdmaException("c", "", 12, "")))
                        .getCause())
                .isExactlyInstanceOf(RdmaException.class)
                .hasMessageContaining("ENOMEM");
    }

    /** Only its superclass is registered, and that does not keep the cause. */
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

    @Test
    void whatWentWrongSurvivesWhateverTheTypeBecomes() {
        Throwable rebuilt = over(new RuntimeException("role", new Violation("PSN 7 twice")));
        assertThat(Cause.of(rebuilt)).isEqualTo(Cause.PROTOCOL_VIOLATION);
        assertThat(rebuilt.getCause())
                .isInstanceOf(RemoteFailureException.class)
                .hasMessageEndingWith("Violation: PSN 7 twice");
        assertThat(Cause.of(over(new OutOfMemoryError("heap")))).isEqualTo(Cause.OUT_OF_MEMORY);
    }

    @Test
    void aCauseOfAnotherReleaseIsADefect() {
        PeerFailure later = new PeerFailure("x.Y", null, "z", "GRAVITY", java.util.Map.of(), "", null);

        assertThat(Cause.of(FailureTypes.core().rebuild(later))).isEqualTo(Cause.DEFECT);
    }

    @Test
    void aSubclassBecomesTheNearestRegisteredOne() {
        assertThat(over(new java.io.UncheckedIOException("disk", new java.io.IOException("full"))))
                .isExactlyInstanceOf(RuntimeException.class)
                .hasMessage("disk")
                .cause()
                .isInstanceOf(RemoteFailureException.class)
                .hasMessage("java.io.IOException: full");
    }

    @Test
    void anErrorOfTheJvmIsToldByItsName() {
        assertThat(over(new OutOfMemoryError("heap")))
                .isInstanceOf(RemoteFailureException.class)
                .hasMessage("java.lang.OutOfMemoryError: heap");
    }

    @Test
    void aTypeThatIsNotRegisteredIsNeverLoaded() {
        PeerFailure forged = new PeerFailure(
                "javax.naming.InitialContext",
                "javax.naming.InitialContext",
                "x",
                "DEFECT",
                java.util.Map.of(),
                "",
                null);

        assertThat(FailureTypes.core().rebuild(forged)).isInstanceOf(RemoteFailureException.class);
    }

    @Test
    void causesWithoutEndAreCutOff() {
        Throwable deep = new IllegalStateException("0");
        for (int i = 1; i < 100; i++) {
            deep = new IllegalStateException(Integer.toString(i), deep);
        }
        int depth = 0;
        for (Throwable at = over(deep); at != null; at = at.getCause()) {
            depth++;
        }
        assertThat(depth).isBetween(5, 20);
    }
}
