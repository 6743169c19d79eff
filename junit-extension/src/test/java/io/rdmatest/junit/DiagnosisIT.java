package io.rdmatest.junit;

import static io.rdmatest.junit.Run.firstLine;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Cause;
import io.rdmatest.ConnectionMode;
import io.rdmatest.ReportKeys;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DriverQuirks;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.AssertionFailedError;

/** What a report says first, and what its file says at all. */
@ExclusiveDevice
class DiagnosisIT {

    private static final Duration STEP = Duration.ofSeconds(15);

    private static String only(List<String> files) {
        assertThat(files).hasSize(1);
        return files.getFirst();
    }

    @RdmaTest(timeout = "60 s")
    static class LeakTestCase {
        @RdmaTest
        void leaksAQueuePair(ProtectionDomain domain, CompletionQueue queue) {
            domain.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                    .completionQueue(queue)
                    .build());
        }

        @RdmaTest
        void leaksFromAnotherThread(ProtectionDomain domain) throws InterruptedException {
            Thread thread = Thread.ofPlatform().start(() -> domain.registerMemory(4096));
            thread.join();
        }
    }

    @Test
    void namesTheQueuePairThatATestLeaks() {
        Run run = Run.of(LeakTestCase.class);
        assertThat(firstLine(run.failure("leaksAQueuePair")))
                .matches("leaksAQueuePair\\(.*\\) left 1 native object behind: qp \\w+/\\d+");
        assertThat(run.failure("leaksAQueuePair"))
                .hasMessageMatching("(?s).*qp \\w+/\\d+, created at .*DiagnosisIT.java:\\d+\\), on pd .*cq .*");
        assertThat(firstLine(run.failure("leaksFromAnotherThread"))).contains("left 1 native object behind: mr ");
    }

    @RdmaTest(timeout = "60 s")
    static class ClassLeakTestCase {
        @BeforeAll
        static void open(FabricDevice device) {
            Connection ignored = Connection.open(device);
        }

        @RdmaTest
        void passes() {}
    }

    @Test
    void blamesTheClassForWhatItsSetUpLeft() {
        Run run = Run.of(ClassLeakTestCase.class);
        assertThat(run.succeeded()).containsExactly("passes()");
        assertThat(run.failure("DiagnosisIT$ClassLeakTestCase"))
                .hasMessageContaining("native objects behind:")
                .hasMessageContaining("DiagnosisIT.java:");
    }

    @RdmaTest(timeout = "60 s")
    static class EventTestCase {
        @RdmaTest
        void leavesARequest(EventChannel channel, CmId listen, CmId client, FabricDevice device) {
            listen.bind(new InetSocketAddress(device.address(), 0));
            listen.listen(1);
            client.resolveAddress(device.address(), new InetSocketAddress(device.address(), listen.localPort()), STEP);
            client.resolveRoute(STEP);
            client.connect(ConnectionParameters.builder().qpNumber(4711).build());
            long deadline = System.nanoTime() + STEP.toNanos();
            while (channel.eventsNotTaken().isEmpty()) {
                assertThat(System.nanoTime() - deadline).isNegative();
                Thread.onSpinWait();
            }
        }
    }

    @Test
    void namesTheEventThatNobodyAcknowledged() {
        assertThat(firstLine(Run.of(EventTestCase.class).failure("leavesARequest")))
                .matches("leavesARequest\\(.*\\) left 1 connection manager event unacknowledged:"
                        + " RDMA_CM_EVENT_CONNECT_REQUEST on cm-id .* arrived, and nobody took it.*");
    }

    @RdmaTest(timeout = "60 s")
    static class SilentPeerTestCase {
        @RdmaTest
        void waitsForAMessage(Connection connection, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 4096);
            connection.server().receiveQueue().awaitSuccess(Duration.ofMillis(300));
        }

        @RdmaTest(timeout = "1 s")
        void isCutShort(Connection connection, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 4096);
            connection.server().receiveQueue().awaitSuccess(Duration.ofMinutes(1));
        }
    }

    @Test
    void namesTheSilentPeer() {
        Run run = Run.of(SilentPeerTestCase.class);
        Throwable waits = run.failure("waitsForAMessage");
        assertThat(waits).isInstanceOf(AssertionFailedError.class);
        assertThat(firstLine(waits))
                .matches("no completion on cq \\w+/\\d+ within 300 ms; none came: the peer is silent: server qp"
                        + " \\w+/\\d+ has 1 receive outstanding, and client qp \\w+/\\d+ at the other end is in"
                        + " RTS and has posted no send");
        assertThat(waits.getMessage().lines()).hasSize(3);
        Throwable cut = run.failure("isCutShort");
        assertThat(firstLine(cut))
                .startsWith(
                        "test SilentPeerTestCase.isCutShort did not finish within 1 s (@RdmaTest(timeout)): the peer"
                                + " is silent: server qp")
                .endsWith("; it was in");
        assertThat(run.files("diagnosis.txt"))
                .hasSize(2)
                .allSatisfy(text -> assertThat(text)
                        .contains("likely cause: the peer is silent")
                        .containsPattern("\\d+T[\\d:.]+Z RDMA_CM_EVENT_ESTABLISHED on cm-id")
                        .containsPattern("client qp \\w+/\\d+, RC, state RTS")
                        .containsPattern("server qp \\w+/\\d+, RC, state RTS")
                        .contains("sends: 0 posted, 0 completed; receives: 1 posted, 0 completed")
                        .containsPattern(
                                "current state \\w+, destination QP [1-9]\\d*, path MTU MTU_\\d+, send PSN \\d+,"
                                        + " receive PSN \\d+, timeout \\d+, retry count 7, RNR retry 7")
                        .containsPattern("(?s)== ports and GIDs.*port 1: .*ACTIVE.*GidEntry")
                        .containsPattern("(?s)== counters.*sent_pkts: \\d+ -> \\d+")
                        .containsPattern("(?s)== kernel log since the test began\\R\\S")
                        .containsPattern(
                                "(?s)== this process's objects as the kernel lists them\\R.*qp \\w+/\\d+ on pd")
                        .containsPattern("(?s)== threads\\R.*io.rdmatest.junit")
                        .doesNotContain("not to be told"));
    }

    @RdmaTest(timeout = "60 s")
    static class EndlessTestCase {
        @RdmaTest
        void waitsForAPeerThatIsGone(RdmaResources resources, MemoryRegion source) {
            Connection connection = resources.connection(
                    ConnectionOptions.defaults().mode(ConnectionMode.RAW).protectionDomain(source.protectionDomain()));
            connection.server().queuePair().toError();
            connection.client().queuePair().postSend(1, source, 0, 64, SendFlag.SIGNALED);
            connection.client().sendQueue().awaitSuccess(Duration.ofMillis(300));
        }
    }

    /** A test that awaits RETRY_EXC_ERR with the default retry count, which is that of the programs. */
    @Test
    @RequiresDevice(driver = DriverQuirks.SOFT_ROCE)
    void namesTheRetryCountThatIsWithoutEnd() {
        assertThat(firstLine(Run.of(EndlessTestCase.class).failure("waitsForAPeerThatIsGone")))
                .matches("no completion on cq \\w+/\\d+ within 300 ms; none came: the peer is silent: client qp"
                        + " \\w+/\\d+ waits for the acknowledgement of 1 send; with retry count 7 rdma_rxe repeats"
                        + " them without end: with 6 they fail with IBV_WC_RETRY_EXC_ERR");
    }

    @RdmaTest(timeout = "60 s")
    static class WrongKeyTestCase {
        @RdmaTest
        void writesWithAWrongKey(Connection connection, MemoryRegion source, MemoryRegion target) {
            connection
                    .client()
                    .queuePair()
                    .postWrite(7, source, 0, 64, target.address(), target.rkey() ^ 0x5500, SendFlag.SIGNALED);
            connection.client().sendQueue().awaitSuccess(STEP);
        }
    }

    @Test
    void namesTheWrongKey() {
        Run run = Run.of(WrongKeyTestCase.class);
        assertThat(firstLine(run.failure("writesWithAWrongKey")))
                .contains("work request 7 on QP")
                .contains("IBV_WC_REM_ACCESS_ERR")
                .contains("the peer refuses the access: the rkey, the address range or the access flags are not those");
        assertThat(only(run.files("diagnosis.txt")))
                .containsPattern("client qp \\w+/\\d+, RC, state ERR")
                .contains("likely cause: the peer refuses the access");
    }

    @RdmaTest(timeout = "60 s")
    static class NobodyThereTestCase {
        @RdmaTest
        void losesItsPeer(FabricDevice device, MemoryRegion source) {
            lose(device, source);
        }

        @RdmaTest
        @IgnoreCounters("retry_*")
        void losesItOnPurpose(FabricDevice device, MemoryRegion source) {
            lose(device, source);
        }

        private static void lose(FabricDevice device, MemoryRegion source) {
            ConnectionOptions options = ConnectionOptions.defaults()
                    .mode(ConnectionMode.RAW)
                    .protectionDomain(source.protectionDomain())
                    .retries(1, 0);
            try (Connection connection = Connection.open(device, options)) {
                connection.server().queuePair().toError();
                connection.client().queuePair().postSend(1, source, 0, 64, SendFlag.SIGNALED);
                assertThat(connection
                                .client()
                                .sendQueue()
                                .awaitAny(1, STEP)
                                .getFirst()
                                .status())
                        .isEqualTo(WorkCompletion.Status.RETRY_EXC_ERR);
            }
        }
    }

    @Test
    void failsATestWhoseDeviceHadToGiveUp() {
        Run run = Run.of(NobodyThereTestCase.class);
        assertThat(firstLine(run.failure("losesItsPeer")))
                .matches(
                        "error counters of .* grew during losesItsPeer.*: retry_exceeded_err \\+1; if the test provokes"
                                + " that, annotate it with @IgnoreCounters\\(\"retry_exceeded_err\"\\)");
        assertThat(run.succeeded()).singleElement().asString().startsWith("losesItOnPurpose");
    }

    @Test
    void onlyReportsCountersOnDemand() {
        Run run = Run.of(NobodyThereTestCase.class, RdmaConfiguration.COUNTERS, "report");
        assertThat(run.failed()).isEmpty();
        assertThat(run.entries())
                .anySatisfy(entry -> assertThat(entry.get(ReportKeys.COUNTERS)).contains("retry_exceeded_err +1"));
    }

    /** The promise is judged by counters, whatever the run thinks of them otherwise. */
    @Test
    void aLosslessNetworkGivesNoCauseToRepeat(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("lossless.yaml"), """
            fabric: lossless
            nodes:
              - name: here
                device: auto
                promises: { lossless: true }
            """);
        Run run = Run.of(
                NobodyThereTestCase.class,
                RdmaConfiguration.COUNTERS,
                "report",
                FabricConfiguration.FABRIC,
                file.toString());
        assertThat(run.failure("losesItsPeer"))
                .hasMessageStartingWith("the fabric file promises a lossless network, but error counters of ")
                .extracting(Cause::of)
                .isEqualTo(Cause.PROMISE_BROKEN);
        assertThat(run.succeeded()).singleElement().asString().startsWith("losesItOnPurpose");
    }
}
