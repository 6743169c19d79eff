package io.rdmatest.junit;

import static io.rdmatest.junit.Run.firstLine;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Cause;
import io.rdmatest.ConnectionMode;
import io.rdmatest.Deadline;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion.Status;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;

/** Work that fails, or that cannot succeed, and that the test itself does not notice. */
@ExclusiveDevice
class WorkAuditIT {

    private static final Duration STEP = Duration.ofSeconds(15);
    private static final Duration SHORT = Duration.ofMillis(500);

    private static void writeWithWrongKey(Connection connection, MemoryRegion source, MemoryRegion target) {
        connection
                .client()
                .queuePair()
                .postWrite(7, source, 0, 64, target.address(), target.rkey() ^ 0x5500, SendFlag.SIGNALED);
    }

    /** Gives up soon where the peer is silent, or has no receive posted. */
    private static Connection impatient(RdmaResources resources, MemoryRegion source) {
        return resources.connection(ConnectionOptions.defaults()
                .mode(ConnectionMode.RAW)
                .protectionDomain(source.protectionDomain())
                .retries(1, 1));
    }

    @RdmaTest(timeout = "60 s")
    static class UnnoticedTestCase {
        @RdmaTest
        void neverPolls(Connection connection, MemoryRegion source, MemoryRegion target) {
            writeWithWrongKey(connection, source, target);
        }

        @RdmaTest
        void overruns(Connection connection, MemoryRegion source, MemoryRegion target) {
            CompletionQueue queue = connection.client().sendQueue();
            int most = queue.entries() + 50;
            for (int i = 0; i < most; i++) {
                connection
                        .client()
                        .queuePair()
                        .postWrite(i, source, 0, 8, target.address(), target.rkey(), SendFlag.SIGNALED);
            }
        }

        @RdmaTest
        void leavesItsPeerInError(RdmaResources resources, ProtectionDomain domain, MemoryRegion source) {
            QueuePair provided = resources.queuePair(QueuePairOptions.of(QpType.RC));
            try (CompletionQueue queue = domain.context().createCompletionQueue(8);
                    QueuePair own = domain.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                            .completionQueue(queue)
                            .build())) {
                RawConnection.connect(own, provided, resources.device().gid(), RawConnection.Parameters.DEFAULT);
                own.postWrite(1, source, 0, 64, source.address(), source.rkey() ^ 0x5500, SendFlag.SIGNALED);
                Deadline deadline = Deadline.after(STEP);
                while (provided.state() != QpState.ERR) {
                    deadline.check("error state of " + provided.describe(), () -> "");
                    Thread.onSpinWait();
                }
            }
        }
    }

    @Test
    void failsATestForTheWorkThatFailedBehindItsBack() {
        Run run = Run.of(UnnoticedTestCase.class);
        assertThat(run.succeeded()).isEmpty();
        assertThat(run.failure("neverPolls"))
                .satisfies(failure -> assertThat(firstLine(failure))
                        .matches("client qp \\w+/\\d+: 1 completion with IBV_WC_REM_ACCESS_ERR was never polled;"
                                + " annotate a test that provokes this with @IgnoreCompletions"))
                .extracting(Cause::of)
                .isEqualTo(Cause.REMOTE_ACCESS);
        assertThat(run.failure("overruns"))
                .satisfies(failure -> assertThat(firstLine(failure))
                        .matches(
                                "cq \\w+/\\d+ of (\\d+) entries overran: \\d+ signaled sends were posted and not polled\\."
                                        + " Completions are lost: poll it in time, or make it larger"))
                .extracting(Cause::of)
                .isEqualTo(Cause.WRONG_USE);
        assertThat(run.failure("leavesItsPeerInError"))
                .satisfies(failure -> assertThat(firstLine(failure))
                        .startsWith("qp ")
                        .contains(" is in ERR, where the test did not move it, and no completion says why"))
                .extracting(Cause::of)
                .isEqualTo(Cause.ASYNCHRONOUS_ERROR);
    }

    @RdmaTest(timeout = "60 s")
    static class NoticedTestCase {
        @RdmaTest
        @IgnoreCompletions
        void saysSo(Connection connection, MemoryRegion source, MemoryRegion target) {
            writeWithWrongKey(connection, source, target);
        }

        @RdmaTest
        void expectsIt(Connection connection, MemoryRegion source, MemoryRegion target) {
            writeWithWrongKey(connection, source, target);
            assertThat(connection
                            .client()
                            .sendQueue()
                            .awaitStatus(Status.REM_ACCESS_ERR, STEP)
                            .wrId())
                    .isEqualTo(7);
        }

        @RdmaTest
        @IgnoreCounters
        void expectsItOfAReceiveThatIsTooShort(Connection connection, MemoryRegion source, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 32);
            connection.client().queuePair().postSend(2, source, 0, 64, SendFlag.SIGNALED);
            assertThat(connection.client().sendQueue().awaitAny(1, STEP))
                    .noneMatch(completion -> completion.status() == Status.SUCCESS);
        }

        @RdmaTest
        @IgnoreCounters
        void endsItsPeer(RdmaResources resources, MemoryRegion source) {
            Connection impatient = impatient(resources, source);
            impatient.server().queuePair().toError();
            impatient.client().queuePair().postSend(1, source, 0, 64, SendFlag.SIGNALED);
        }

        @RdmaTest
        void disconnects(Connection connection, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 64);
            connection.client().queuePair().postReceive(1, target, 0, 64);
            connection.client().id().orElseThrow().disconnect();
            connection.server().id().orElseThrow().disconnect();
        }

        @RdmaTest
        @ConnectionSpec(mode = ConnectionMode.RAW)
        void flushes(Connection connection, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 64);
            connection.server().queuePair().toError();
        }

        @RdmaTest
        void closes(Connection connection, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 64);
            connection.close();
        }

        @RdmaTest
        void leavesSuccess(Connection connection, MemoryRegion source, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 64);
            connection.server().queuePair().postReceive(2, target, 0, 64);
            connection.client().queuePair().postSend(3, source, 0, 64, SendFlag.SIGNALED);
        }
    }

    @Test
    @IgnoreCounters
    void leavesAloneWhatATestProvokesAndNotices() {
        Run.of(NoticedTestCase.class).allSucceeded(8);
    }

    @RdmaTest(timeout = "60 s")
    @TestMethodOrder(MethodOrderer.OrderAnnotation.class)
    static class SharedTestCase {
        @Provided
        @Scoped(ResourceScope.CLASS)
        static Connection connection;

        @Provided
        @Scoped(ResourceScope.CLASS)
        static MemoryRegion region;

        @RdmaTest
        @Order(1)
        void writes() {
            writeWithWrongKey(connection, region, region);
        }
    }

    @Test
    void failsTheClassForWhatItsTestsShare() {
        Run run = Run.of(SharedTestCase.class);
        assertThat(run.succeeded()).containsExactly("writes()");
        assertThat(run.failure("WorkAuditIT$SharedTestCase"))
                .hasMessageContaining("1 completion with IBV_WC_REM_ACCESS_ERR was never polled");
    }

    /** It hangs elsewhere than in a wait for the silent write. */
    @RdmaTest(timeout = "1 s")
    static class HangingTestCase {
        @RdmaTest
        void hangs(Connection connection, MemoryRegion source, MemoryRegion target) throws InterruptedException {
            connection.client().queuePair().postWrite(1, source, 0, 64, target.address(), target.rkey());
            new CountDownLatch(1).await();
        }
    }

    @Test
    void aTestThatHangsElsewhereIsNotToldOfItsSilentWrites() {
        assertThat(Run.of(HangingTestCase.class).failure("hangs"))
                .hasMessageContaining("did not finish within 1 s")
                .hasMessageNotContaining("nothing will come");
    }

    @RdmaTest(timeout = "60 s")
    static class MistakenTestCase {
        @RdmaTest
        void forgetsSignaled(Connection connection, MemoryRegion source, MemoryRegion target) {
            connection.client().queuePair().postWrite(1, source, 0, 64, target.address(), target.rkey());
            connection.client().sendQueue().awaitSuccess(SHORT);
        }

        @RdmaTest
        void forgetsTheReceive(Connection connection, MemoryRegion source) {
            connection.client().queuePair().postSend(1, source, 0, 64, SendFlag.SIGNALED);
            connection.client().sendQueue().awaitSuccess(SHORT);
        }

        @RdmaTest
        void forgetsTheReceiveAndGivesUp(RdmaResources resources, MemoryRegion source) {
            Connection impatient = impatient(resources, source);
            impatient.client().queuePair().postSend(1, source, 0, 64, SendFlag.SIGNALED);
            impatient.client().sendQueue().awaitSuccess(STEP);
        }

        @RdmaTest
        void receivesTooLittle(Connection connection, MemoryRegion source, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 32);
            connection.client().queuePair().postSend(2, source, 0, 64, SendFlag.SIGNALED);
            connection.client().sendQueue().awaitSuccess(STEP);
        }

        @RdmaTest
        void mixesDomains(Connection connection, ProtectionDomain domain) {
            try (ProtectionDomain other = domain.context().allocateProtectionDomain();
                    MemoryRegion foreign = other.registerMemory(4096)) {
                connection.client().queuePair().postSend(1, foreign, 0, 64, SendFlag.SIGNALED);
            }
        }
    }

    @Test
    @IgnoreCounters("retry_rnr_*")
    void tellsTheMistakeOfATest() {
        Run run = Run.of(MistakenTestCase.class);
        assertThat(List.of(
                        run.failure("forgetsSignaled"),
                        run.failure("forgetsTheReceive"),
                        run.failure("forgetsTheReceiveAndGivesUp"),
                        run.failure("receivesTooLittle"),
                        run.failure("mixesDomains")))
                .allSatisfy(failure -> {
                    assertThat(Cause.of(failure)).as(failure.getMessage()).isEqualTo(Cause.WRONG_USE);
                    assertThat(Cause.of(failure).verdict()).isEqualTo(Cause.Verdict.BROKEN);
                    assertThat(failure).isNotInstanceOf(AssertionError.class);
                    assertThat(failure.getStackTrace())
                            .anyMatch(frame -> frame.getClassName().equals(MistakenTestCase.class.getName()));
                });
        assertThat(firstLine(run.failure("forgetsSignaled")))
                .endsWith("none came: 1 send was posted without SIGNALED and completes silently: nothing will come");
        assertThat(firstLine(run.failure("forgetsTheReceive")))
                .matches(".*none came: server qp \\w+/\\d+ has no receive posted");
        assertThat(firstLine(run.failure("forgetsTheReceiveAndGivesUp")))
                .matches(".*IBV_WC_RNR_RETRY_EXC_ERR.*: server qp \\w+/\\d+ has no receive posted");
        assertThat(firstLine(run.failure("receivesTooLittle")))
                .matches(".*: the receive that server qp \\w+/\\d+ posted .*too short.*");
        assertThat(firstLine(run.failure("mixesDomains")))
                .matches("mr \\w+/\\w+ is of pd \\w+/\\d+, and qp \\w+/\\d+ is of pd \\w+/\\d+: register the memory in"
                        + " the protection domain of the queue");
    }

    private static final Pattern FILE = Pattern.compile("everything else is in (\\S+diagnosis\\.txt)");

    @RdmaTest(timeout = "60 s")
    static class FailingTestCase {
        @RdmaTest
        void writes(Connection connection, MemoryRegion source, MemoryRegion target) {
            writeWithWrongKey(connection, source, target);
            connection.client().sendQueue().awaitSuccess(STEP);
        }

        @RdmaTest
        void asserts(MemoryRegion region) {
            assertThat(region.size()).isEqualTo(-1);
        }
    }

    @Test
    void aFailureNamesTheLineOfTheTestAndTheFileOfTheRest() {
        Run run = Run.of(FailingTestCase.class);
        Throwable writes = run.failure("writes");
        assertThat(writes.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(FailingTestCase.class.getName()));
        Matcher file = FILE.matcher(writes.getMessage());
        assertThat(file.find()).as(writes.getMessage()).isTrue();
        assertThat(Files.isRegularFile(Path.of(file.group(1)))).isTrue();
        Throwable asserts = run.failure("asserts");
        assertThat(firstLine(asserts)).isNotBlank();
        assertThat(asserts.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(FailingTestCase.class.getName()));
        assertThat(asserts.getSuppressed())
                .extracting(String::valueOf)
                .noneMatch(note -> note.contains("speed is unknown"));
    }
}
