package io.rdmatest.junit.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.PastTheLedger;
import io.rdmatest.junit.QueuePairOptions;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Registered;
import io.rdmatest.junit.Run;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.rsocket.RSocket;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.KernelResource;
import io.rdmatest.verbs.KernelResource.Kind;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.SendFlag;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.junit.platform.testkit.engine.Event;

/** What the ledger can't know of: objects that were made past the harness. */
@ExclusiveDevice
@Tag("slow")
class KernelAuditIT {

    private static final Deque<Runnable> UNDO = new ArrayDeque<>();

    @AfterEach
    void releaseWhatTheFixtureLeft() {
        while (!UNDO.isEmpty()) {
            UNDO.pop().run();
        }
    }

    private static void assertNothingFailed(Run run) {
        run.results().allEvents().failed().stream().findFirst().ifPresent(event -> {
            throw new AssertionError(event.toString());
        });
    }

    private static void killAfterwards(Process process) {
        UNDO.push(() -> {
            process.destroyForcibly();
            assertThat(process.onExit().orTimeout(30, TimeUnit.SECONDS).join()).isEqualTo(process);
        });
    }

    private static Set<Long> contexts() {
        return KernelResource.list(Kind.CONTEXT).stream()
                .map(KernelResource::number)
                .collect(Collectors.toSet());
    }

    @RdmaTest(timeout = "3 min")
    static class LeakingPastTheLedgerTestCase {
        @RdmaTest
        void allocates() {
            PastTheLedger leaked =
                    new PastTheLedger(RdmaDevice.list().getFirst().name());
            UNDO.push(leaked::close);
        }
    }

    @Test
    void failsTheTestThatLeavesAnObjectInTheKernel() {
        Run run = Run.of(LeakingPastTheLedgerTestCase.class);
        assertThat(run.failure("allocates"))
                .isInstanceOf(TestFaultError.class)
                .hasMessageMatching(
                        "allocates\\(\\) left \\d objects? in the kernel that the harness does not know of: "
                                + "(ctx .*; )?pd \\w+/\\d+ on ctx \\d+");
    }

    @Test
    void leavesTheLedgerToItselfOnDemand() {
        Run run = Run.of(LeakingPastTheLedgerTestCase.class, RdmaConfiguration.AUDIT, "ledger");
        assertNothingFailed(run);
    }

    @RdmaTest(timeout = "3 min")
    static class CleanTestCase {
        @RdmaTest
        void uses(RdmaResources resources, @Registered(size = "4KiB") MemoryRegion memory) {
            QueuePair queuePair = resources.queuePair(QueuePairOptions.of(QpType.RC));
            assertThat(queuePair.number()).isNotZero();
            assertThat(memory.bytes().byteSize()).isEqualTo(4096);
        }
    }

    @Test
    void passesAClassThatReleasesEverything() {
        Run run = Run.of(CleanTestCase.class);
        assertNothingFailed(run);
        assertThat(run.succeeded()).hasSize(1);
    }

    @RdmaTest(timeout = "3 min")
    static class CostTestCase {
        private static final List<Long> LOOKS = new ArrayList<>();

        @RepeatedTest(40)
        void movesAByte(Connection connection, MemoryRegion source, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 64);
            connection.client().queuePair().postSend(2, source, 0, 64, SendFlag.SIGNALED);
            connection.client().sendQueue().awaitSuccess(Duration.ofSeconds(15));
            connection.server().receiveQueue().awaitSuccess(Duration.ofSeconds(15));
            long begin = System.nanoTime();
            KernelAudit audit = KernelAudit.begin();
            LOOKS.add(System.nanoTime() - begin);
            assertThat(audit).isNotNull();
        }
    }

    /** Publishes what the audit costs: one look a test. Nothing is asserted about time, which is the host's. */
    @Test
    void costsLittle(TestReporter reporter) {
        CostTestCase.LOOKS.clear();
        Run run = Run.of(CostTestCase.class, RdmaConfiguration.AUDIT, "ledger");
        assertNothingFailed(run);
        List<Instant> ends = run.results().testEvents().succeeded().stream()
                .map(Event::getTimestamp)
                .toList();
        assertThat(ends).hasSize(40);
        // The first half is the JVM's warming up.
        double test = Duration.between(ends.get(19), ends.get(39)).toNanos() / 20.0;
        double look = CostTestCase.LOOKS.stream()
                .skip(20)
                .sorted()
                .skip(10)
                .findFirst()
                .orElseThrow();
        reporter.publishEntry(
                "rdma.audit=kernel",
                String.format(
                        Locale.ROOT,
                        "one look %.2f ms, a test with a connection and one message %.1f ms: %.1f %%",
                        look / 1e6,
                        (test - look) / 1e6,
                        100 * look / (test - look)));
    }

    /** A server of another process that outlives the test: its objects are its own. */
    @RdmaTest(timeout = "3 min")
    static class OtherProcessTestCase {
        private static @Nullable Process other;

        @RdmaTest
        void leavesItRunning(FabricDevice device) throws IOException {
            other = new ProcessBuilder(
                            "stdbuf",
                            "-oL",
                            "ibv_rc_pingpong",
                            "-d",
                            device.device().name(),
                            "-g",
                            "1")
                    .redirectErrorStream(true)
                    .start();
            killAfterwards(other);
            // It says its local address when it has made all its objects.
            assertThat(other.inputReader().readLine()).contains("local address");
            assertThat(KernelResource.list(Kind.QUEUE_PAIR))
                    .anyMatch(queuePair -> queuePair.module().isEmpty());
        }
    }

    /** Of such a process the kernel tells no thread: it looks like one of this process whose thread has ended. */
    @RdmaTest(timeout = "3 min")
    static class OtherProcessWithThreadsTestCase {
        private static long context;

        @RdmaTest
        void leavesItRunning(FabricDevice device) throws IOException {
            Set<Long> before = contexts();
            Process other = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "--enable-native-access=ALL-UNNAMED",
                            // A small one: the virtual machine has little memory, and this JVM the most of it.
                            "-Xmx64m",
                            "-XX:+UseSerialGC",
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            System.getProperty("java.class.path"),
                            PastTheLedger.class.getName(),
                            device.device().name())
                    .redirectErrorStream(true)
                    .start();
            killAfterwards(other);
            String said = other.inputReader().readLine();
            assertThat(said)
                    .as(() -> other.onExit()
                            .thenApply(ended -> "it ended with status " + ended.exitValue())
                            .completeOnTimeout("it still runs", 10, TimeUnit.SECONDS)
                            .join())
                    .isEqualTo(PastTheLedger.READY);
            // Java's join returns a moment before the kernel has ended the thread.
            context = await().atMost(Duration.ofSeconds(30))
                    .until(
                            () -> KernelResource.list(Kind.CONTEXT).stream()
                                    .filter(resource -> resource.thread() == 0 && !before.contains(resource.number()))
                                    .toList(),
                            added -> added.size() == 1)
                    .getFirst()
                    .number();
        }

        @RdmaTest
        void passesWhileItRuns() {}
    }

    @Test
    void blamesNobodyForWhatAnEndedThreadOfAnotherProcessMade() {
        Run ignored = Run.of(OtherProcessWithThreadsTestCase.class).allSucceeded(2);
        assertThat(KernelResource.list(Kind.CONTEXT))
                .as("it was there until the end")
                .anyMatch(resource -> resource.number() == OtherProcessWithThreadsTestCase.context);
    }

    /** The number of the context that was left. */
    private static long left;

    private static void leaveOnAThread(FabricDevice device) throws InterruptedException {
        Set<Long> before = contexts();
        Thread thread = new Thread(() -> {
            PastTheLedger past = new PastTheLedger(device.device().name());
            UNDO.push(past::close);
        });
        thread.start();
        thread.join();
        left = contexts().stream()
                .filter(number -> !before.contains(number))
                .findFirst()
                .orElseThrow();
    }

    @RdmaTest(timeout = "3 min")
    static class LeakingBeforeAnotherProcessTestCase {
        @RdmaTest
        void allocates(FabricDevice device) throws IOException, InterruptedException {
            leaveOnAThread(device);
            new OtherProcessWithThreadsTestCase().leavesItRunning(device);
        }
    }

    @RdmaTest(timeout = "3 min")
    static class LeakingAfterAnotherProcessTestCase {
        @RdmaTest
        void allocates(FabricDevice device) throws IOException, InterruptedException {
            new OtherProcessWithThreadsTestCase().leavesItRunning(device);
            leaveOnAThread(device);
        }
    }

    /** The other process must not be an excuse for what the test has left itself. */
    @ParameterizedTest
    @ValueSource(classes = {LeakingBeforeAnotherProcessTestCase.class, LeakingAfterAnotherProcessTestCase.class})
    void findsWhatAnEndedThreadLeftBesideAnotherProcess(Class<?> fixture) {
        // The context that librdmacm keeps is known then, and no other is taken for it.
        assertNothingFailed(Run.of(FirstSocketTestCase.class));
        assertThat(Run.of(fixture).failure("allocates"))
                .isInstanceOf(TestFaultError.class)
                .hasMessageContaining("in the kernel that the harness does not know of: ")
                .hasMessageContaining(" on ctx " + left);
    }

    @Test
    void blamesNobodyForTheObjectsOfAnotherProcess() {
        Run run = Run.of(OtherProcessTestCase.class);
        assertNothingFailed(run);
        assertThat(run.succeeded()).containsExactly("leavesItRunning(FabricDevice)");
    }

    /** librdmacm opens the device for the first socket and keeps it: neither the test nor its class has left it. */
    @RdmaTest(timeout = "3 min")
    static class FirstSocketTestCase {
        @RdmaTest
        void binds(FabricDevice device) {
            try (RSocket socket = RSocket.stream()) {
                socket.bind(new InetSocketAddress(device.address(), 0));
            }
        }
    }

    @Test
    void knowsTheDeviceThatTheConnectionManagerKeepsOpen() {
        assertNothingFailed(Run.of(FirstSocketTestCase.class));
        assertNothingFailed(Run.of(FirstSocketTestCase.class));
    }

    /** Closed by the extension at the end of the class: the audit must come after that. */
    @RdmaTest(timeout = "3 min")
    static class OwnedByTheClassTestCase {
        @BeforeAll
        static void provisioned(RdmaResources resources) {
            QueuePair queuePair = resources.queuePair(QueuePairOptions.of(QpType.RC));
            assertThat(queuePair.number()).isNotZero();
        }

        @RdmaTest
        void passes() {}
    }

    @Test
    void looksAfterTheClassHasReleasedWhatBelongsToIt() {
        Run run = Run.of(OwnedByTheClassTestCase.class);
        assertNothingFailed(run);
        assertThat(run.succeeded()).containsExactly("passes()");
    }

    /** The ids that there were before a condition asked what the device can do; null before the test that tells. */
    private static @Nullable Set<Long> idsBefore;

    private static Set<Long> ids() {
        return KernelResource.list(Kind.CM_ID).stream()
                .map(KernelResource::number)
                .collect(Collectors.toSet());
    }

    private static void assertTheConditionHasMadeAnId() {
        Set<Long> made = ids();
        made.removeAll(Objects.requireNonNull(idsBefore, "the test before did not run before"));
        assertThat(made).hasSize(1);
    }

    @RdmaTest(timeout = "3 min")
    static class BeforeAConditionTestCase {
        @RdmaTest
        void needsNothing() {
            idsBefore = ids();
        }
    }

    @RdmaTest(timeout = "3 min")
    @RequiresDevice(capabilities = DeviceCapability.MULTICAST)
    static class ConditionOnTheClassTestCase {
        @RdmaTest
        void needsWhatTheClassNeeds() {
            assertTheConditionHasMadeAnId();
        }
    }

    /** An instance of its own would be made before the condition is asked, and the test's audit would begin there. */
    @RdmaTest(timeout = "3 min")
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    @TestMethodOrder(MethodOrderer.MethodName.class)
    static class ConditionOnATestTestCase {
        @RdmaTest
        void aNeedsNothing() {
            idsBefore = ids();
        }

        @RdmaTest
        @RequiresDevice(capabilities = DeviceCapability.MULTICAST)
        void bNeedsMore() {
            assertTheConditionHasMadeAnId();
        }
    }

    /** To answer it the run opens the device: after the last look at the class before, and before the first at this one. */
    @Test
    void blamesNoClassForTheIdThatItsConditionHadTheRunMake() {
        idsBefore = null;
        Run ignored = Run.ofAll(BeforeAConditionTestCase.class, ConditionOnTheClassTestCase.class)
                .allSucceeded(2);
    }

    @Test
    void blamesNoTestForTheIdThatItsConditionHadTheRunMake() {
        idsBefore = null;
        Run ignored = Run.of(ConditionOnATestTestCase.class).allSucceeded(2);
    }

    /** What explains the id that was made between two audits must explain nothing else. */
    @Test
    void findsWhatWasLeftBesideAnIdThatWasMadeBetweenTwoAudits() {
        // The context that librdmacm keeps is known then, and no other is taken for it.
        assertNothingFailed(Run.of(FirstSocketTestCase.class));
        FabricDevice device = Fabric.load().local().resolve();
        KernelAudit previous = KernelAudit.begin();
        assertThat(previous).isNotNull();
        assertThat(previous.unexplained(true)).isEmpty();
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.bind(new InetSocketAddress(device.address(), 0));
            KernelAudit audit = KernelAudit.following(previous);
            assertThat(audit.unexplained(true)).isEmpty();
            try (PastTheLedger leaked = new PastTheLedger(device.device().name())) {
                assertThat(audit.unexplained(true))
                        .as("%s", leaked)
                        .extracting(KernelResource::kind)
                        .containsExactly(Kind.CONTEXT, Kind.PROTECTION_DOMAIN);
            }
        }
    }

    /** The kernel lists an id only when it is bound: one that a test binds was made before it, and is no leak. */
    @Test
    void anIdThatWasMadeBeforeIsExplainedWhenItIsBound() {
        // The context that librdmacm keeps is known then, and no other is taken for it.
        assertNothingFailed(Run.of(FirstSocketTestCase.class));
        FabricDevice device = Fabric.load().local().resolve();
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP);
                CmId stays = channel.createId(PortSpace.TCP)) {
            KernelAudit first = KernelAudit.begin();
            assertThat(first).isNotNull();
            assertThat(first.unexplained(true)).isEmpty();
            KernelAudit second = KernelAudit.following(first);
            id.bind(new InetSocketAddress(device.address(), 0));
            assertThat(stays.hasDevice()).isFalse();
            for (KernelAudit audit : List.of(first, second)) {
                assertThat(audit.unexplained(true)).isEmpty();
            }
            // That it was bound is in the picture that the next one begins with: it excuses nothing any more.
            KernelAudit third = KernelAudit.following(second);
            assertThat(third.unexplained(true)).isEmpty();
            assertThat(third.isNew(id)).isFalse();
            assertThat(first.isNew(id)).isTrue();
            assertThat(third.isNew(stays)).isFalse();
        }
    }
}
