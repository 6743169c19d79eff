package io.rdmatest.junit.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.ReportKeys;
import io.rdmatest.SkipReason;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.junit.Provided;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Run;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletionException;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.assertj.core.api.SoftAssertions;
import org.assertj.core.api.junit.jupiter.SoftAssertionsExtension;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

class VerdictTests {

    private static WorkCompletionException flushed() {
        return new WorkCompletionException(WorkCompletion.Status.WR_FLUSH_ERR, 5, 0, WorkCompletion.Opcode.SEND, 7, 17);
    }

    @RdmaTest
    static class ThrowingTestCase {
        @RdmaTest
        void completion() {
            throw flushed();
        }

        @RdmaTest
        void event() {
            throw new UnexpectedCmEventException(
                    "RDMA_CM_EVENT_ESTABLISHED", "RDMA_CM_EVENT_REJECTED", 28, "", new byte[0]);
        }

        @RdmaTest
        void silence() {
            throw RdmaTimeoutException.reported(Cause.TIMEOUT, "completion on cq rxe0/1", Duration.ofSeconds(2), "");
        }

        @RdmaTest
        void otherThread() throws ExecutionException, InterruptedException {
            CompletableFuture.runAsync(() -> {
                        throw flushed();
                    })
                    .get();
        }

        @RdmaTest
        void host() {
            throw new RdmaException("ibv_reg_mr", "4096 bytes", 12);
        }

        @RdmaTest
        void gaveUp() {
            throw new TestAbortedException(SkipReason.PEER_ABSENT.because("192.0.2.7 does not answer"));
        }
    }

    @Test
    void blamesTheFabricForWhatTheHarnessFound() {
        Run run = Run.withoutDevice(ThrowingTestCase.class);
        assertThat(run.failure("completion"))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessageContaining("IBV_WC_WR_FLUSH_ERR")
                .hasCauseInstanceOf(WorkCompletionException.class);
        assertThat(run.failure("event"))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessageContaining("RDMA_CM_EVENT_REJECTED");
        assertThat(run.failure("silence"))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessageContaining("no completion on cq rxe0/1 within 2000 ms");
        assertThat(run.failure("otherThread"))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessageContaining("IBV_WC_WR_FLUSH_ERR");
    }

    @RdmaTest
    @ExtendWith(SoftAssertionsExtension.class)
    static class SoftTestCase {
        @RdmaTest
        void asserts(SoftAssertions softly) {
            softly.assertThat(1).isEqualTo(2);
        }
    }

    @Test
    void publishesTheCauseOfASoftAssertion() {
        Run run = Run.withoutDevice(SoftTestCase.class);
        assertThat(run.failure("asserts")).isInstanceOf(AssertionError.class);
        assertThat(run.entries()).anySatisfy(entry -> assertThat(entry).containsEntry(ReportKeys.CAUSE, "ASSERTION"));
    }

    @RdmaTest
    static class BlankTitleTestCase {
        @RdmaTest
        void asserts() {
            assertThat(1).isEqualTo(2);
        }
    }

    @Test
    void theFirstLineOfAMessageSaysSomething() {
        Throwable failure = Run.withoutDevice(BlankTitleTestCase.class).failure("asserts");
        assertThat(failure).isInstanceOf(AssertionFailedError.class);
        assertThat(Run.firstLine(failure)).isNotBlank();
        assertThat(((AssertionFailedError) failure).getExpected().getStringRepresentation())
                .isEqualTo("2");
        assertThat(failure.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(BlankTitleTestCase.class.getName()));
    }

    @Test
    void leavesABrokenHostBroken() {
        assertThat(Run.withoutDevice(ThrowingTestCase.class).failure("host"))
                .isExactlyInstanceOf(RdmaException.class)
                .hasMessageContaining("ENOMEM");
    }

    @Test
    void leavesASkippedTestSkippedWithItsReason() {
        assertThat(Run.withoutDevice(ThrowingTestCase.class).failure("gaveUp"))
                .isInstanceOf(TestAbortedException.class)
                .hasMessage("peer absent: 192.0.2.7 does not answer");
    }

    @Test
    void failsASkippedTestOnDemand() {
        assertThat(Run.withoutDevice(ThrowingTestCase.class, RdmaConfiguration.SKIPS, "fail")
                        .failure("gaveUp"))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessage("rdma.skips=fail: peer absent: 192.0.2.7 does not answer");
    }

    @RdmaTest
    static class SetUpTestCase {
        @BeforeEach
        void fails() {
            throw flushed();
        }

        @RdmaTest
        void neverReached() {}
    }

    /** The cause decides, wherever in a test it shows. */
    @Test
    void blamesTheFabricInTheSetUpToo() {
        assertThat(Run.withoutDevice(SetUpTestCase.class).failure("neverReached"))
                .isInstanceOf(AssertionFailedError.class)
                .hasCauseInstanceOf(WorkCompletionException.class);
    }

    @Test
    void publishesTheCause() {
        Run run = Run.withoutDevice(ThrowingTestCase.class);
        assertThat(run.entries().stream()
                        .map(entry -> entry.get(ReportKeys.CAUSE))
                        .filter(Objects::nonNull))
                .containsExactlyInAnyOrder("FLUSHED", "REJECTED", "TIMEOUT", "FLUSHED", "OUT_OF_MEMORY");
    }

    /** Another extension's resolver stands for what opens a connection while a parameter is injected. */
    private static final class Opening implements ParameterResolver {
        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getParameter().getType() == String.class;
        }

        @Override
        public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            throw switch (parameter.getDeclaringExecutable().getName()) {
                case "gaveUp" -> new TestAbortedException(SkipReason.PEER_ABSENT.because("192.0.2.7 does not answer"));
                case "host" -> new RdmaException("ibv_reg_mr", "4096 bytes", 12);
                default -> flushed();
            };
        }
    }

    @RdmaTest
    @ExtendWith(Opening.class)
    static class InjectedTestCase {
        @RdmaTest
        void completion(String ignored) {}

        @RdmaTest
        void host(String ignored) {}

        @RdmaTest
        void gaveUp(String ignored) {}
    }

    @RdmaTest
    @ExtendWith(Opening.class)
    static class InjectedSetUpTestCase {
        @BeforeEach
        void fails(String ignored) {}

        @RdmaTest
        void neverReached() {}
    }

    @RdmaTest
    @ExtendWith(Opening.class)
    static class InjectedClassTestCase {
        @BeforeAll
        static void fails(String ignored) {}

        @RdmaTest
        void neverReached() {}
    }

    @Test
    void judgesWhatFailsWhileParametersAreInjectedAsIfTheBodyDid() {
        Run run = Run.withoutDevice(InjectedTestCase.class);
        assertThat(run.failure("completion"))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessageStartingWith(flushed().getMessage());
        assertThat(run.failure("host"))
                .isInstanceOf(ParameterResolutionException.class)
                .hasMessageContaining("ENOMEM");
        assertThat(run.failure("gaveUp"))
                .isInstanceOf(TestAbortedException.class)
                .hasMessage("peer absent: 192.0.2.7 does not answer");
        assertThat(run.entries())
                .contains(Map.of(ReportKeys.CAUSE, "FLUSHED"), Map.of(ReportKeys.CAUSE, "OUT_OF_MEMORY"));
        assertThat(Run.withoutDevice(InjectedTestCase.class, RdmaConfiguration.SKIPS, "fail")
                        .failure("gaveUp"))
                .hasMessage("rdma.skips=fail: peer absent: 192.0.2.7 does not answer");
        assertThat(Run.withoutDevice(InjectedSetUpTestCase.class).failure("neverReached"))
                .isInstanceOf(AssertionFailedError.class);
        assertThat(Run.withoutDevice(InjectedClassTestCase.class).failure("VerdictTests$InjectedClassTestCase"))
                .isInstanceOf(AssertionFailedError.class);
    }

    @RdmaTest
    static class FieldTestCase {
        @Provided
        ProtectionDomain domain;

        @RdmaTest
        void neverReached() {}
    }

    @Test
    void judgesWhatAFieldAsksForToo() {
        Run run = Run.withoutDevice(FieldTestCase.class, FabricConfiguration.DEVICE, "none0");
        assertThat(run.failure("neverReached")).hasMessageContaining("none0");
        assertThat(run.entries()).contains(Map.of(ReportKeys.CAUSE, "HOST_NOT_READY"));
    }

    @Test
    void tellsItselfFromAWrongTest() {
        assertThat(Verdict.why(new ParameterResolutionException("no resolver"))).isEqualTo(Cause.MISCONFIGURED);
        assertThat(Verdict.why(new ParameterResolutionException("wrapped", flushed())))
                .isEqualTo(Cause.FLUSHED);
        assertThat(Verdict.why(new RdmaException(Cause.PEER_LOST, "the link is down")))
                .isEqualTo(Cause.PEER_LOST);
    }
}
