package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.WorkCompletionException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

class VerdictTests {

    private static WorkCompletionException flushed() {
        return new WorkCompletionException("IBV_WC_WR_FLUSH_ERR", 5, "flushed", 0, "SEND", 7, 17);
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
            throw new RdmaTimeoutException("completion on cq rxe0/1", Duration.ofSeconds(2), "");
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
            throw SkipReason.PEER_ABSENT.skip("192.0.2.7 does not answer");
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

    @Test
    void leavesABrokenSetUpBroken() {
        assertThat(Run.withoutDevice(SetUpTestCase.class).failure("neverReached"))
                .isExactlyInstanceOf(WorkCompletionException.class);
    }
}
