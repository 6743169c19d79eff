package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.rdmatest.Cause;
import io.rdmatest.Ledger;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.fault.ActiveFault;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.fabric.fault.NetworkFault;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.fabric.Fault;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.rsocket.RSocket;
import io.rdmatest.scenarios.cprogram.WriteBandwidth;
import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Plan;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import io.rdmatest.scenarios.udaddy.UdaddyRoles;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletionException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/**
 * What {@link FaultsIT} runs on node a of two: faults on purpose, what must come of them, and that it does not come without
 * them.
 */
@RdmaTest(timeout = "4 min")
@ExclusiveDevice
@IgnoreCounters
class FaultsOnTwoNodes {

    /** The system property with the agent's jar. */
    static final String AGENT = "rdmatest.test.agent";

    private static final Fabric FABRIC = Fabric.load("microvm-2");
    private static final Node A = FABRIC.local();
    private static final Node B = FABRIC.remoteNodes().getFirst();
    private static final String ADDRESS = "10.77.0.2";
    private static final InetAddress ADDRESS_OF_B = InetAddress.ofLiteral(ADDRESS);

    private static final Duration STEP = Duration.ofSeconds(60);
    private static final Duration SCENARIO = Duration.ofMinutes(2);

    /** Less than this would be the machines' own doing; the retries of a connection allow for more. */
    private static final Duration DELAY = Duration.ofMillis(100);

    /** More than there is time for. */
    private static final int ENDLESS = 10_000_000;

    /** The size of a message of many packets in bytes, and how many go each way. */
    private static final int LARGE = 1 << 16;

    private static final int COUNT = 20;

    private static final Path COUNTERS = Path.of("/sys/class/infiniband/rxe0/ports/1/hw_counters");

    /** Longer than a link is down: the way to node b is the same link, and TCP tries again ever more seldom. */
    private static final PeerSettings PATIENT = PeerSettings.defaults()
            .withHeartbeat(Duration.ofSeconds(1), Duration.ofSeconds(60))
            .withStart(Duration.ofMinutes(2));

    /** Makes what a node sends by RoCE slow, and nothing else. */
    private static final String SHAPING = "tc qdisc add dev eth0 root handle 1: prio"
            + " && tc qdisc add dev eth0 parent 1:3 handle 30: netem rate 20mbit"
            + " && tc filter add dev eth0 parent 1: protocol ip u32 match ip dport 4791 0xffff flowid 1:3";

    private static final String NO_SHAPING = "tc qdisc del dev eth0 root";

    private static Place here;
    private static Place there;

    /** What a transfer over a reliable connection was like. */
    private record Seen(long retries, long duplicates, long early, Duration p50) {}

    @BeforeAll
    static void open() {
        here = Place.here(A.resolve());
        there = place(PATIENT);
    }

    @AfterAll
    static void close() {
        there.close();
        here.close();
    }

    private static Place place(PeerSettings settings) {
        return Place.on(B, Path.of(System.getProperty(AGENT)), settings);
    }

    // ---- the network ----

    // What the client sends arrives: it parts when it has its last answer, and if its acknowledgement
    // of that is lost, the server can't tell a client that has all from one that is gone.

    @RdmaTest
    @Fault(loss = 2, nodes = "b")
    void lossIsRepaired(RdmaReport report) throws Exception {
        requireRetries(transfer(report));
    }

    @RdmaTest
    @Fault(corrupt = 2, nodes = "b")
    void damagedPacketsAreSentAgain(RdmaReport report) throws Exception {
        requireRetries(transfer(report));
    }

    // With 30 % soft-RoCE gave up a live connection once (RETRY_EXC_ERR): it answered six retries of a request as
    // duplicates, and took none of the answers. In 2,800 pings that were captured it did not happen again.
    @RdmaTest
    @Fault(duplicate = 10)
    void doubledPacketsArriveOnce(RdmaReport report) throws Exception {
        requireDuplicates(transfer(report));
    }

    // Few: soft-RoCE counts each packet that it missed as a retry until a message has arrived whole, and
    // with 30 % a message of 16 packets was given up (RETRY_EXC_ERR) although the peer was there.
    @RdmaTest
    @Fault(reorder = 5, delay = "5ms", nodes = "a")
    void packetsThatOvertakeEachOtherArriveInOrder(RdmaReport report) throws Exception {
        requireOvertaking(transfer(report));
    }

    @RdmaTest
    @Fault(delay = "100ms", nodes = "a")
    void delayShowsInLatency() {
        requireDelay(Duration.ofNanos(pings(6, 1000).latencies().getValueAtPercentile(50)));
    }

    @RdmaTest
    void withoutFaultsNothingOfItIsSeen(RdmaReport report) throws Exception {
        Seen seen = transfer(report);
        // A machine that stands still for longer than a retry takes is a fault that nobody asked for.
        for (int i = 0; i < 2 && seen.retries() > 0; i++) {
            seen = transfer(report);
        }
        Seen quiet = seen;

        assertThatThrownBy(() -> requireRetries(quiet)).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> requireDuplicates(quiet)).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> requireOvertaking(quiet)).isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> requireDelay(quiet.p50())).isInstanceOf(AssertionError.class);
    }

    private static void requireRetries(Seen seen) {
        assertThat(seen.retries()).as("requests that were sent again").isPositive();
    }

    private static void requireDuplicates(Seen seen) {
        assertThat(seen.duplicates()).as("requests that came twice").isPositive();
    }

    private static void requireOvertaking(Seen seen) {
        assertThat(seen.early()).as("requests that came before their time").isPositive();
    }

    private static void requireDelay(Duration p50) {
        assertThat(p50).as("half of the pings").isGreaterThanOrEqualTo(DELAY);
    }

    /** Pings, and messages of many packets; every byte is compared where it arrives. */
    private static Seen transfer(RdmaReport report) throws Exception {
        long[] before = counters();
        var pings = pings(20, 1000);
        PingPongRoles.Plan large = PingPongRoles.Plan.parse("-S", LARGE, "-C", COUNT, "--timeout", STEP);
        var messages = NodeRoles.runPair(
                there, new PingPongRoles.Server(large), here, new PingPongRoles.Client(large), SCENARIO);
        assertThat(messages.server().bytesVerified()).isGreaterThanOrEqualTo((long) COUNT * LARGE);
        assertThat(messages.client().bytesVerified()).isGreaterThanOrEqualTo((long) COUNT * LARGE);
        long[] after = counters();
        Seen seen = new Seen(
                after[0] - before[0],
                after[1] - before[1],
                after[2] - before[2],
                Duration.ofNanos(pings.latencies().getValueAtPercentile(50)));
        System.out.println("  " + seen);
        report.bytesVerified(pings.bytesVerified() + messages.client().bytesVerified());
        return seen;
    }

    private static RpingRoles.ClientResult pings(int count, int size) {
        RpingOptions options = RpingOptions.parse("-p 0 -C", count, "-S", size, "-V --timeout", STEP);
        var results = NodeRoles.runPair(
                there,
                new RpingRoles.Server(options),
                here,
                new RpingRoles.Client(options.and("-a", ADDRESS_OF_B)),
                SCENARIO);
        assertThat(results.client().bytesVerified()).isEqualTo((long) count * size);
        assertThat(results.server().bytesVerified()).isEqualTo((long) count * size);
        return results.client();
    }

    // ---- all pairs ----

    /** What one node sends is slow, and what it receives is not. */
    @RdmaTest
    void allPairsFindTheNodeThatSendsSlowly() throws Exception {
        AllPairs pairs;
        try {
            String ignored = on(B, "sh", "-c", SHAPING);
            pairs = AllPairs.measure("microvm-2");
        } finally {
            String ignored = on(B, "sh", "-c", NO_SHAPING);
        }

        PairLine slow = pairs.last("b", "a");
        PairLine good = pairs.last("a", "b");
        assertThat(pairs.failure).isInstanceOf(AssertionError.class).hasMessageContaining("server a, client b: ");
        assertThat(pairs.failure).hasMessageNotContaining("server b, client a: ");
        assertThat(slow.bandwidth()).isBetween(10e6, 20e6).isLessThan(good.bandwidth() / 2);
        // An outlier gets a second attempt. On the slow link any attempt may repeat a packet, and counters show that at
        // once.
        assertThat(slow.cause()).isIn("OUTLIER", "COUNTERS");
        assertThat(slow.attempts()).isBetween("OUTLIER".equals(slow.cause()) ? 2 : 1, 2);
        assertThat(good.cause()).isNull();
    }

    /** The other program sees the same slow sender, in its own direction, and nothing of it is left. */
    @RdmaTest
    void anotherProgramFindsTheNodeThatSendsSlowly() throws Exception {
        WriteBandwidth.Plan plan = new WriteBandwidth.Plan(1 << 16, 2, 4, 2, STEP);
        WriteBandwidth.Result slow;
        WriteBandwidth.Result good;
        try {
            String ignored = on(B, "sh", "-c", SHAPING);
            slow = WriteBandwidth.measure(there, here, plan);
            good = WriteBandwidth.measure(here, there, plan);
        } finally {
            String ignored = on(B, "sh", "-c", NO_SHAPING);
        }
        WriteBandwidth.Result none =
                WriteBandwidth.measure(there, here, new WriteBandwidth.Plan(1 << 16, 2, 4, 30, Duration.ofSeconds(10)));

        System.out.println("  " + slow + ", " + good + ", " + none);
        assertThat(slow.reason()).isNull();
        assertThat(good.reason()).isNull();
        assertThat(slow.bandwidth()).isBetween(1e6, 22e6).isLessThan(good.bandwidth() / 2);
        assertThat(none.isMeasured()).isFalse();
        assertThat(none.reason()).contains("Still running after 10 s");
        String left =
                on(B, "sh", "-c", "for i in $(seq 100); do pgrep -x ib_write_bw || exit 0; sleep 0.2; done; exit 1");
        System.out.println("  gone after " + left.lines().count() + " looks");
        assertThat(ProcessHandle.allProcesses().flatMap(process -> process.info().command().stream()))
                .noneMatch(command -> command.endsWith("/ib_write_bw"));
    }

    /** Few round trips meet a loss, but in a stream many do. */
    @RdmaTest
    @Fault(loss = 1, nodes = "b")
    void allPairsFindLittleLossByCountersAndRate() {
        AllPairs pairs = AllPairs.measure("microvm-2");

        assertThat(pairs.failure).isInstanceOf(AssertionError.class).hasMessageContaining("server a, client b: ");
        PairLine lossy = pairs.last("b", "a");
        assertThat(lossy.cause()).isIn("COUNTERS", "RETRY_EXCEEDED");
        assertThat(lossy.counters().from().getOrDefault("completer_retry_err", 0L)
                        + lossy.counters().to().getOrDefault("out_of_seq_request", 0L))
                .isPositive();
    }

    // ---- datagrams ----

    @RdmaTest
    @Fault(loss = 20, nodes = "a")
    void lostDatagramsAreTold() {
        requireLosses(FaultsOnTwoNodes::datagrams);
    }

    @RdmaTest
    void withoutFaultsNoDatagramIsLost() {
        assertThatThrownBy(() -> requireLosses(FaultsOnTwoNodes::datagrams))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("Expecting code to raise a throwable");
    }

    private static void requireLosses(ThrowingCallable datagrams) {
        assertThatThrownBy(datagrams)
                .satisfies(failure -> assertThat(Cause.of(failure).verdict()).isEqualTo(Cause.Verdict.FAILED))
                .hasMessageContaining("were lost")
                .hasMessageMatching("(?s).* got \\d+ of 100, the first missing one is \\d+.*");
    }

    private static void datagrams() {
        UdaddyOptions options = UdaddyOptions.parse("--port 0 -C 100 --first-wait", STEP);
        // The server notices that its messages do not come before the client does that
        // nothing comes back. And a lookup that is lost as well is repeated after 4 s.
        var results = NodeRoles.runPair(
                there,
                new UdaddyRoles.Server(options.and("--timeout 12s")),
                here,
                new UdaddyRoles.Client(options.and("--timeout", STEP, "-s", ADDRESS)),
                SCENARIO);
        assertThat(results.server().messagesReceived()).isEqualTo(100);
        assertThat(results.client().messagesReceived()).isEqualTo(100);
    }

    // ---- streams ----

    // rclose waits for acknowledgements without a limit of its own; the transport would give up after 17 s, since
    // the kernel's rdma_cm assumes that a RoCE packet lives for 1 s (2 to the 18th times 4.096 us).
    @RdmaTest
    void aStreamThatIsNotAcknowledgedIsClosedAllTheSame() {
        assertThatThrownBy(() -> closeStream(() -> Faults.on(FABRIC).network(A.port(), NetworkFault.loss(100), STEP)))
                .isInstanceOf(RdmaTimeoutException.class)
                .hasMessageContaining("end of rclose(")
                .hasMessageContaining("within 10000 ms")
                .hasMessageContaining("the peer's device did not acknowledge")
                .hasMessageContaining("the call was interrupted");
    }

    @RdmaTest
    void aStreamThatIsAcknowledgedIsClosedWithoutInterruption() {
        assertThat(catchThrowable(() -> closeStream(() -> null))).isNull();
    }

    /** Connects a stream to node b, lets something happen, sends, closes, and makes good what happened. */
    private static void closeStream(Supplier<@Nullable ActiveFault> meanwhile) {
        RstreamOptions options = RstreamOptions.parse("-p 0 --timeout", STEP);
        NodeRoles servers = new NodeRoles();
        Running<StreamRoles.Result> server = servers.start("server", there, new StreamRoles.Server(options));
        int port = Integer.parseInt(server.hear("port", STEP));
        try (RSocket socket = RSocket.stream()) {
            socket.connect(new InetSocketAddress(ADDRESS_OF_B, port), STEP);
            try (ActiveFault fault = meanwhile.get()) {
                socket.sendFully(ByteBuffer.allocateDirect(100), STEP);
                try {
                    socket.close();
                } finally {
                    assertThat(socket.isClosed()).isTrue();
                    assertThat(Ledger.live()).doesNotContain(socket);
                }
            }
        } finally {
            // It waits for the rest of a transfer, which does not come.
            Throwable ignored = catchThrowable(servers::close);
        }
    }

    // ---- a link, a device ----

    @RdmaTest
    void aLinkThatGoesDownEndsRequestsAndComesBack() {
        List<ActiveFault> down = new ArrayList<>();
        Throwable failure =
                failureOfReads(ENDLESS, () -> down.add(Faults.on(FABRIC).linkDown(B.port(), Duration.ofSeconds(6))));
        // Before the link is up again: then the reads would go on.
        requireRetriesExceeded(failure);
        down.getFirst().awaitEnd();
        assertThat(down.getFirst().awaitApplied()).endsWith("is down");
        pings(5, 100);
    }

    @RdmaTest
    void withTheLinkUpReadsComeToTheirEnd() {
        Throwable none = failureOfReads(300, () -> {});
        assertThatThrownBy(() -> requireRetriesExceeded(none)).isInstanceOf(AssertionError.class);
        assertThat(none).isNull();
    }

    private static void requireRetriesExceeded(@Nullable Throwable failure) {
        assertThat(failure)
                .isInstanceOfSatisfying(
                        WorkCompletionException.class,
                        completion -> assertThat(completion.status()).isEqualTo(WorkCompletion.Status.RETRY_EXC_ERR));
    }

    /**
     * Reads from node b's memory, does something in the middle of it, and returns what became of the reads. The connection
     * repeats a request twice, less than roles do, so that the link need not be down for long.
     */
    private static @Nullable Throwable failureOfReads(int count, Runnable meanwhile) {
        Plan plan = Plan.parse("--operation read -S 1000 -C 1 --timeout", STEP);
        NodeRoles servers = new NodeRoles();
        Running<PingPongRoles.Result> server = servers.start("server", there, new PingPongRoles.Server(plan));
        int port = Integer.parseInt(server.hear("port", STEP));
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.resolveAddress(null, new InetSocketAddress(ADDRESS_OF_B, port), STEP);
            id.resolveRoute(STEP);
            try (ProtectionDomain domain = id.context().allocateProtectionDomain();
                    MemoryRegion sink = domain.registerMemory(1000, Access.LOCAL_WRITE);
                    CompletionQueue queue = id.context().createCompletionQueue(4);
                    QueuePair queuePair = id.createQueuePair(
                            domain,
                            QueuePairAttributes.builder(QpType.RC)
                                    .completionQueue(queue)
                                    .build())) {
                id.connect(ConnectionParameters.builder()
                        .initiatorDepth(1)
                        .responderResources(1)
                        .retryCount(2)
                        .build());
                ByteBuffer memory = ByteBuffer.wrap(
                        id.awaitEvent(STEP).require(CmEvent.Type.ESTABLISHED).privateData());
                long address = memory.getLong();
                int rkey = memory.getInt();
                for (int i = 0; i < count; i++) {
                    if (i == 20) {
                        meanwhile.run();
                    }
                    queuePair.postRead(i, sink, 0, 1000, address, rkey, SendFlag.SIGNALED);
                    WorkCompletion completion = queue.awaitAny(1, STEP).getFirst();
                    if (!completion.isSuccess()) {
                        return completion.exception();
                    }
                }
                return null;
            }
        } finally {
            // It waits for a client's last word, which does not come.
            Throwable ignored = catchThrowable(servers::close);
        }
    }

    @RdmaTest
    void aRemovedDeviceIsGoneAndComesBack() throws Exception {
        // Without a fault it is there.
        assertThatThrownBy(FaultsOnTwoNodes::requireNoDevice).isInstanceOf(AssertionError.class);
        // librdmacm keeps a device open until its process ends, and the kernel waits for that.
        there.close();
        try (ActiveFault removal = Faults.on(FABRIC).removeDevice(B.port(), Duration.ofMinutes(2))) {
            assertThat(removal.awaitApplied()).isEqualTo("rxe0 on eth0 is removed");
            requireNoDevice();
        } finally {
            there = place(PATIENT);
        }
        pings(5, 100);
    }

    private static void requireNoDevice() throws Exception {
        assertThat(on(B, "ls", "/sys/class/infiniband")).isEmpty();
    }

    // ---- what can't be done ----

    @RdmaTest
    void aSecondFaultOnAnInterfaceIsRefused() {
        Faults faults = Faults.on(FABRIC);
        try (ActiveFault first = faults.network(A.port(), NetworkFault.loss(0.5), STEP)) {
            assertThatThrownBy(() -> faults.network(A.port(), NetworkFault.loss(1), STEP))
                    .isInstanceOf(FabricException.class)
                    .hasMessageContaining("fault 'loss 1%' on node a: another fault is on eth0");
            assertThat(first.awaitApplied()).contains("eth0", "loss 0.5%");
        }
        // The refused one has not taken the first one with it, nor has that one left anything.
        faults.network(A.port(), NetworkFault.delay(Duration.ofMillis(1)), STEP).close();
    }

    // ---- counters of both nodes ----

    /** Returns what the devices of both nodes counted: requests sent again, requests that came twice, and that came early. */
    private static long[] counters() throws IOException, InterruptedException {
        long[] sums = new long[3];
        for (Node node : FABRIC.nodes()) {
            String said = on(
                    node,
                    "cat",
                    COUNTERS + "/completer_retry_err",
                    COUNTERS + "/duplicate_request",
                    COUNTERS + "/out_of_seq_request");
            List<String> lines = said.lines().toList();
            for (int i = 0; i < sums.length; i++) {
                sums[i] += Long.parseLong(lines.get(i));
            }
        }
        return sums;
    }

    private static String on(Node node, String... command) throws IOException, InterruptedException {
        List<String> whole = new ArrayList<>(node.launch());
        whole.addAll(List.of(command));
        Path file = Files.createTempFile("on-" + node.name(), ".txt");
        Process process = new ProcessBuilder(whole)
                .redirectErrorStream(true)
                .redirectOutput(file.toFile())
                .start();
        try {
            process.getOutputStream().close();
            boolean ended = process.waitFor(30, TimeUnit.SECONDS);
            String said = Files.readString(file).strip();
            assertThat(ended).as(said).isTrue();
            assertThat(process.exitValue()).as(said).isZero();
            return said;
        } finally {
            process.destroyForcibly();
            Files.delete(file);
        }
    }
}
