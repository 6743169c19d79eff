package io.rdmatest.scenarios;

import io.rdmatest.Cause;
import io.rdmatest.ConnectionMode;
import io.rdmatest.Measurement;
import io.rdmatest.SkipReason;
import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.engine.ConnectionResult;
import io.rdmatest.scenarios.node.NodeFacts;
import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.role.LocalRoles.Pair;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.Transport;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.opentest4j.TestAbortedException;

/** Connection set-up and what can be set, refused and moved on the way: the ground of ucmatose(1), and more. */
@RdmaTest(timeout = "60 s")
@Tag(Phase.CONNECT_TAG)
@DisplayName("Connection")
public class ConnectionScenarios {

    private static final Duration SCENARIO = Duration.ofSeconds(55);
    private static final int TYPE_OF_SERVICE = 0x20;
    private static final int ACK_TIMEOUT = 17;

    @ParameterizedTest(name = "{0} connections without data, {1}")
    @CsvSource({"1, RDMA_CM", "10, RDMA_CM", "200, RDMA_CM", "1, EXTERNAL_QP", "10, EXTERNAL_QP", "100, EXTERNAL_QP"})
    void setUpAndTearDown(
            int connections, ConnectionMode bringUp, Stage stage, RdmaReport report, ScenarioSettings settings) {
        run(options(settings).and("-c", connections, "-C 0 -S 0", by(bringUp)), stage, report);
    }

    @ParameterizedTest(name = "{0} connections, {1} messages of {2} bytes each way, {3}")
    @CsvSource({
        "1, 10, 100, RDMA_CM",
        "1, 10, 100, EXTERNAL_QP",
        "10, 10, 100, RDMA_CM",
        "10, 10, 100, EXTERNAL_QP",
        "2, 50, 4096, RDMA_CM",
        "2, 50, 4096, EXTERNAL_QP"
    })
    void messages(
            int connections,
            int messages,
            int size,
            ConnectionMode bringUp,
            Stage stage,
            RdmaReport report,
            ScenarioSettings settings) {
        run(options(settings).and("-c", connections, "-C", messages, "-S", size, by(bringUp)), stage, report);
    }

    @ParameterizedTest(name = "IPv6 addresses, {0}")
    @EnumSource(
            value = ConnectionMode.class,
            names = {"RDMA_CM", "EXTERNAL_QP"})
    void ipv6(ConnectionMode bringUp, Stage stage, RdmaReport report, ScenarioSettings settings) {
        String server = ipv6Address(stage.server());
        UcmatoseOptions options = options(settings).and("-f", Format.IPV6, "-s", server, by(bringUp));
        run(options.and("-b", server), options.and("-b", ipv6Address(stage.client())), stage, report);
    }

    private static String ipv6Address(Place place) {
        return place.facts()
                .address(false)
                .orElseThrow(() -> new TestAbortedException(SkipReason.PEER_ABSENT.because("the network interface of "
                        + place.facts().environment().get("device") + " of node " + place.name()
                        + " has no IPv6 address")))
                .getHostAddress();
    }

    @ParameterizedTest(name = "private data of {0} bytes comes back")
    @ValueSource(ints = {1, 56})
    void privateData(int length, Stage stage, RdmaReport report, ScenarioSettings settings) {
        byte[] data = new byte[length];
        for (int i = 0; i < length; i++) {
            data[i] = (byte) (0xa5 ^ i);
        }
        report.parameter("private data", length);
        var results = report.step(
                "connect with private data",
                () -> stage.runPair(
                        new UcmatoseRoles.EchoingServer(length, settings.stepTimeout()),
                        new UcmatoseRoles.AskingClient(data, settings.stepTimeout()),
                        SCENARIO));
        requirePrefix("the request", data, results.server());
        requirePrefix("the answer", data, results.client());
        report.bytesVerified(2L * length);
    }

    @ParameterizedTest(name = "migration to another event channel, {0}")
    @EnumSource(
            value = ConnectionMode.class,
            names = {"RDMA_CM", "EXTERNAL_QP"})
    void migration(ConnectionMode bringUp, Stage stage, RdmaReport report, ScenarioSettings settings) {
        run(options(settings).and("-c 2 -m", by(bringUp)), stage, report);
    }

    @ParameterizedTest(name = "type of service, {0}")
    @EnumSource(
            value = ConnectionMode.class,
            names = {"RDMA_CM", "EXTERNAL_QP"})
    void typeOfService(
            ConnectionMode bringUp, Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        report.parameter("type of service", TYPE_OF_SERVICE);
        var results = run(options(settings).and("-t", TYPE_OF_SERVICE, by(bringUp)), stage, report);
        // In an InfiniBand subnet, its manager makes a service level of it.
        if (device.portAttributes().linkLayer() == LinkLayer.ETHERNET
                && device.device().transport() != Transport.IWARP) {
            requireEach(
                    "traffic class of the queue pair",
                    TYPE_OF_SERVICE,
                    results.client(),
                    UcmatoseRoles.Attributes::trafficClass);
        }
    }

    @ParameterizedTest(name = "ACK timeout, {0}")
    @EnumSource(
            value = ConnectionMode.class,
            names = {"RDMA_CM", "EXTERNAL_QP"})
    void ackTimeout(ConnectionMode bringUp, Stage stage, RdmaReport report, ScenarioSettings settings) {
        DeviceNeeds.of(stage).ackTimeout();
        report.parameter("ACK timeout exponent", ACK_TIMEOUT);
        var results = run(options(settings).and("-a", ACK_TIMEOUT, by(bringUp)), stage, report);
        for (UcmatoseRoles.Result side : Arrays.asList(results.server(), results.client())) {
            requireEach(
                    "ACK timeout exponent of the queue pair", ACK_TIMEOUT, side, UcmatoseRoles.Attributes::ackTimeout);
        }
    }

    /** An option is set where the queue pair has it: that the call succeeded says nothing. */
    static void requireEach(
            String what, int expected, UcmatoseRoles.Result side, ToIntFunction<UcmatoseRoles.Attributes> attribute) {
        List<Integer> values =
                side.attributes().stream().map(attribute::applyAsInt).toList();
        if (values.isEmpty() || values.stream().anyMatch(value -> value != expected)) {
            throw new AssertionError(
                    "The %s is %s at each connection, %d was asked for".formatted(what, values, expected));
        }
    }

    @Test
    @DisplayName("InfiniBand port space between IP addresses")
    void infiniBandPortSpace(Stage stage, RdmaReport report, ScenarioSettings settings) {
        report.parameter("port space", PortSpace.IB);
        run(options(settings).and("-P ib"), stage, report);
    }

    @Test
    @DisplayName("a connection too many")
    void surplus(Stage stage, RdmaReport report, ScenarioSettings settings) {
        UcmatoseOptions two = options(settings).and("-c 2");
        report.parameter("connections", 2);
        report.step("a server of 2 connections and a client of 3", () -> {
            try (NodeRoles roles = new NodeRoles()) {
                var server = roles.start("server", stage.server(), new UcmatoseRoles.Server(two));
                int port = Integer.parseInt(server.hear("port", settings.stepTimeout()));
                var client = roles.start(
                        "client", stage.client(), new UcmatoseRoles.Client(two.and("-c 3 -p", port)), stage.server());
                client.join(SCENARIO);
                throw new AssertionError("A third connection came up");
            } catch (RuntimeException e) {
                if (Cause.of(e) != Cause.REJECTED) {
                    throw e;
                }
            }
        });
    }

    @Test
    @DisplayName("rejection with private data")
    void rejection(Stage stage, RdmaReport report, ScenarioSettings settings) {
        byte[] question = "may I?".getBytes(StandardCharsets.US_ASCII);
        byte[] answer = "no, you may not".getBytes(StandardCharsets.US_ASCII);
        var results = report.step(
                "connect and be rejected",
                () -> stage.runPair(
                        new UcmatoseRoles.RejectingServer(answer, settings.stepTimeout()),
                        new UcmatoseRoles.RefusedClient(0, question, settings.stepTimeout()),
                        SCENARIO));
        requirePrefix("the request", question, results.server());
        requireEvent(results.client(), "RDMA_CM_EVENT_REJECTED");
        requirePrefix("the rejection", answer, results.client().privateData());
        report.bytesVerified((long) question.length + answer.length);
    }

    @Test
    @DisplayName("port without a listener")
    void noListener(Stage stage, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        long start = System.nanoTime();
        // Bound and not listening, the port is nobody else's.
        try (EventChannel channel = EventChannel.create();
                CmId bound = channel.createId(PortSpace.TCP);
                NodeRoles roles = new NodeRoles()) {
            bound.bind(new InetSocketAddress(device.address(), 0));
            int port = bound.localPort();
            report.parameter("port", port);
            UcmatoseRoles.Refusal refusal = report.step(
                    "connect to a port nobody listens on",
                    () -> roles.start(
                                    "client",
                                    stage.elsewhere(),
                                    new UcmatoseRoles.RefusedClient(port, new byte[0], settings.stepTimeout()),
                                    stage.here())
                            .join(SCENARIO));
            requireEvent(refusal, "RDMA_CM_EVENT_REJECTED");
            if (refusal.cause() != Cause.PEER_ABSENT) {
                throw unexpected("Refused for another reason than that nobody listens: " + refusal.text(), refusal);
            }
            ReportText.phase(report, "refusal", System.nanoTime() - start);
            report.parameter("event", refusal.event());
        }
    }

    @ParameterizedTest(name = "raw, explicit GID index, {0}")
    @ValueSource(strings = {"IPv4", "IPv6"})
    void raw(String family, Stage stage, RdmaReport report, ScenarioSettings settings) {
        DeviceNeeds.of(stage).bringUp(ConnectionMode.RAW);
        List<GidEntry> gids =
                gids(family, stage.client().facts(), stage.server().facts());
        GidEntry gid = gids.getFirst();
        GidEntry serverGid = gids.getLast();
        report.parameter("GID", gid.gid());
        report.parameter("GID index", gid.index());
        report.parameter("GID type", gid.type());
        PingPongRoles.Plan plan =
                PingPongRoles.Plan.parse("--connection raw -S 1000 -C 20 --timeout", settings.stepTimeout());
        var results = report.step(
                "connect without rdma_cm and exchange 20 messages",
                () -> stage.runPair(
                        new PingPongRoles.Server(plan, PingPongRoles.Pace.PLAIN, serverGid),
                        new PingPongRoles.Client(plan, PingPongRoles.Pace.PLAIN, gid),
                        SCENARIO));
        report.bytesVerified(results.server().bytesVerified());
        report.bytesVerified(results.client().bytesVerified());
        report.latency("round trip", results.client().latencies());
    }

    /** Each node has a table of its own, and an index in one says nothing about the other. */
    private static List<GidEntry> gids(String family, NodeFacts client, NodeFacts server) {
        List<GidEntry> gids = client.gidsWith(server, family.equals("IPv4"));
        if (gids.isEmpty()) {
            throw new TestAbortedException(SkipReason.UNSUPPORTED_BY_DEVICE.because(
                    "there are no %s GIDs of the networks of %s and %s that reach each other; the nodes have %s and %s"
                            .formatted(
                                    family,
                                    client.address().getHostAddress(),
                                    server.address().getHostAddress(),
                                    client.gids(),
                                    server.gids())));
        }
        return gids;
    }

    private static String by(ConnectionMode bringUp) {
        return bringUp == ConnectionMode.EXTERNAL_QP ? "--external-qp" : "";
    }

    private static UcmatoseOptions options(ScenarioSettings settings) {
        return UcmatoseOptions.parse("-p 0 --timeout", settings.stepTimeout());
    }

    private static Pair<UcmatoseRoles.Result, UcmatoseRoles.Result> run(
            UcmatoseOptions options, Stage stage, RdmaReport report) {
        return run(options, options, stage, report);
    }

    /** Runs both sides with options that differ in addresses only. */
    private static Pair<UcmatoseRoles.Result, UcmatoseRoles.Result> run(
            UcmatoseOptions ofServer, UcmatoseOptions options, Stage stage, RdmaReport report) {
        DeviceNeeds.of(stage).bringUp(options.bringUp());
        report.parameter("connections", options.connections());
        report.parameter("messages", options.messages());
        report.parameter("size", options.sizeBytes());
        report.parameter("connection", options.bringUp());
        var results = report.step(
                "ucmatose -c %d -C %d -S %d".formatted(options.connections(), options.messages(), options.sizeBytes()),
                () -> stage.runPair(new UcmatoseRoles.Server(ofServer), new UcmatoseRoles.Client(options), SCENARIO));
        long expected = (long) options.connections() * options.messages();
        for (UcmatoseRoles.Result side : Arrays.asList(results.server(), results.client())) {
            if (side.messagesReceived() != expected) {
                throw new AssertionError(
                        "%d messages arrived instead of %d".formatted(side.messagesReceived(), expected));
            }
            if (side.bytesVerified() != expected * options.sizeBytes()) {
                throw new AssertionError("%d bytes were compared instead of %d"
                        .formatted(side.bytesVerified(), expected * options.sizeBytes()));
            }
            report.bytesVerified(side.bytesVerified());
        }
        if (!results.client().paths().isEmpty()) {
            report.attachment(
                    "paths", "text/plain", String.join("\n", results.client().paths()));
        }
        step(report, "resolve address", results.client(), ConnectionResult.Times::resolve);
        step(report, "resolve route", results.client(), ConnectionResult.Times::route);
        step(report, "connect", results.client(), ConnectionResult.Times::connect);
        step(report, "disconnect", results.server(), ConnectionResult.Times::disconnect);
        return results;
    }

    /** Reports the mean of a step, and of many connections how it is distributed. */
    private static void step(
            RdmaReport report, String name, UcmatoseRoles.Result side, ToLongFunction<ConnectionResult.Times> time) {
        Histogram nanos = new Histogram(3);
        long total = 0;
        for (ConnectionResult.Times times : side.times()) {
            total += time.applyAsLong(times);
            nanos.recordValue(time.applyAsLong(times));
        }
        report.measurement(
                Measurement.duration(name, Duration.ofNanos(total / side.times().size()))
                        .of(side.times().size()));
        if (side.times().size() > 1) {
            report.latency(name, nanos);
        }
    }

    private static void requireEvent(UcmatoseRoles.Refusal refusal, String expected) {
        if (!refusal.event().equals(expected)) {
            throw unexpected("The refusal is " + refusal.text() + "; expected was " + expected, refusal);
        }
    }

    private static AssertionError unexpected(String message, UcmatoseRoles.Refusal refusal) {
        return new AssertionError(message, new ScenarioException(refusal.cause(), refusal.text()));
    }

    /** The network pads private data with zeros up to a fixed length. */
    private static void requirePrefix(String what, byte[] expected, byte[] actual) {
        if (actual.length < expected.length
                || !Arrays.equals(expected, 0, expected.length, actual, 0, expected.length)) {
            throw new AssertionError("The private data of %s is %s; sent was %s"
                    .formatted(what, Arrays.toString(actual), Arrays.toString(expected)));
        }
    }
}
