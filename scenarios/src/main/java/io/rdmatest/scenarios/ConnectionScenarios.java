package io.rdmatest.scenarios;

import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.SkipReason;
import io.rdmatest.scenarios.role.Addresses;
import io.rdmatest.scenarios.role.BringUp;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.PingPongRoles;
import io.rdmatest.scenarios.role.UcmatoseRoles;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Connection set-up and what can be set, refused and moved on the way: the ground of ucmatose(1), and more. */
@RdmaTest
@ExtendWith(ScenarioSettingsExtension.class)
@DisplayName("Connection")
public class ConnectionScenarios {

    private static final Duration SCENARIO = Duration.ofSeconds(25);

    @ParameterizedTest(name = "{0} connections without data, {1}")
    @CsvSource({"1, RDMA_CM", "10, RDMA_CM", "1, EXTERNAL_QP", "10, EXTERNAL_QP"})
    void setUpAndTearDown(
            int connections, BringUp bringUp, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        run(UcmatoseRoles.Plan.of(connections, 0, 0, bringUp, settings.stepTimeout()), null, device, report);
    }

    @ParameterizedTest(name = "{0} connections, {1} messages of {2} bytes each way")
    @CsvSource({"1, 10, 100", "10, 10, 100", "2, 50, 4096"})
    void messages(
            int connections,
            int messages,
            int size,
            FabricDevice device,
            RdmaReport report,
            ScenarioSettings settings) {
        run(
                UcmatoseRoles.Plan.of(connections, messages, size, BringUp.RDMA_CM, settings.stepTimeout()),
                null,
                device,
                report);
    }

    @Test
    @DisplayName("IPv6 addresses")
    void ipv6(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        InetAddress address = Addresses.find(device, false)
                .orElseThrow(() -> SkipReason.PEER_ABSENT.skip(
                        "the network interface of " + device.device().name() + " has no IPv6 address"));
        run(UcmatoseRoles.Plan.of(1, 10, 100, BringUp.RDMA_CM, settings.stepTimeout()), address, device, report);
    }

    @ParameterizedTest(name = "private data of {0} bytes comes back")
    @ValueSource(ints = {1, 56})
    void privateData(int length, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        byte[] data = new byte[length];
        for (int i = 0; i < length; i++) {
            data[i] = (byte) (0xa5 ^ i);
        }
        report.parameter("private data", length);
        run(
                UcmatoseRoles.Plan.of(1, 0, 0, BringUp.RDMA_CM, settings.stepTimeout())
                        .withPrivateData(data),
                null,
                device,
                report);
    }

    @Test
    @DisplayName("migration to another event channel")
    void migration(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        run(
                UcmatoseRoles.Plan.of(2, 10, 100, BringUp.RDMA_CM, settings.stepTimeout())
                        .withMigration(),
                null,
                device,
                report);
    }

    @Test
    @DisplayName("type of service")
    void typeOfService(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        report.parameter("type of service", 0x20);
        run(
                UcmatoseRoles.Plan.of(1, 10, 100, BringUp.RDMA_CM, settings.stepTimeout())
                        .withOptions(0x20, -1),
                null,
                device,
                report);
    }

    @Test
    @DisplayName("ACK timeout")
    void ackTimeout(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        report.parameter("ACK timeout exponent", 17);
        run(
                UcmatoseRoles.Plan.of(1, 10, 100, BringUp.RDMA_CM, settings.stepTimeout())
                        .withOptions(-1, 17),
                null,
                device,
                report);
    }

    @Test
    @DisplayName("rejection with private data")
    void rejection(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        byte[] question = "may I?".getBytes(StandardCharsets.US_ASCII);
        byte[] answer = "no, you may not".getBytes(StandardCharsets.US_ASCII);
        var results = report.step(
                "connect and be rejected",
                () -> LocalRoles.runPair(
                        device,
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
    void noListener(FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        // Nobody is given this port: it lies below the ephemeral range and above the services in use here.
        int port = 20_049;
        report.parameter("port", port);
        long start = System.nanoTime();
        try (LocalRoles roles = new LocalRoles()) {
            UnexpectedCmEventException refusal = report.step(
                    "connect to a port nobody listens on",
                    () -> roles.start(
                                    "client",
                                    device,
                                    new UcmatoseRoles.RefusedClient(port, new byte[0], settings.stepTimeout()))
                            .join(SCENARIO));
            requireEvent(refusal, "RDMA_CM_EVENT_REJECTED", "RDMA_CM_EVENT_UNREACHABLE");
            ReportText.phase(report, "refusal", System.nanoTime() - start);
            report.parameter("event", refusal.got());
        }
    }

    @ParameterizedTest(name = "raw, explicit GID index, {0}")
    @ValueSource(strings = {"IPv4", "IPv6"})
    void raw(String family, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        GidEntry gid;
        try (DeviceContext context = device.open()) {
            gid = context.gidTable(device.port()).stream()
                    .filter(entry -> entry.type() != GidType.ROCE_V1)
                    .filter(entry -> entry.gid().isIpv4Mapped() == family.equals("IPv4"))
                    .findFirst()
                    .orElseThrow(() -> SkipReason.UNSUPPORTED_BY_DEVICE.skip("%s port %d has no %s GID among %s"
                            .formatted(
                                    device.device().name(), device.port(), family, context.gidTable(device.port()))));
        }
        report.parameter("GID", gid.gid());
        report.parameter("GID index", gid.index());
        report.parameter("GID type", gid.type());
        PingPongRoles.Plan plan = PingPongRoles.Plan.of(PingPongRoles.Operation.SEND, 1000, 20, settings.stepTimeout())
                .by(BringUp.RAW, gid);
        var results = report.step(
                "connect without rdma_cm and exchange 20 messages",
                () -> LocalRoles.runPair(
                        device, new PingPongRoles.Server(plan), new PingPongRoles.Client(plan), SCENARIO));
        report.bytesVerified(results.server().bytesVerified());
        report.bytesVerified(results.client().bytesVerified());
        ReportText.latency(report, "round trip", results.client().latencies());
    }

    private static void run(
            UcmatoseRoles.Plan plan, @Nullable InetAddress address, FabricDevice device, RdmaReport report) {
        report.parameter("connections", plan.connections());
        report.parameter("messages", plan.messages());
        report.parameter("size", plan.size());
        report.parameter("connection", plan.bringUp());
        var results = report.step(
                "ucmatose -c %d -C %d -S %d".formatted(plan.connections(), plan.messages(), plan.size()),
                () -> LocalRoles.runPair(
                        device,
                        new UcmatoseRoles.Server(address, 0, plan),
                        new UcmatoseRoles.Client(null, address, 0, plan),
                        SCENARIO));
        long expected = (long) plan.connections() * plan.messages();
        for (UcmatoseRoles.Result side : Arrays.asList(results.server(), results.client())) {
            if (side.messagesReceived() != expected) {
                throw new AssertionError(
                        "%d messages arrived instead of %d".formatted(side.messagesReceived(), expected));
            }
            report.bytesVerified(side.bytesVerified());
        }
        Histogram connects = new Histogram(3);
        long resolve = 0;
        long route = 0;
        long connect = 0;
        long disconnect = 0;
        for (UcmatoseRoles.Times times : results.client().times()) {
            resolve += times.resolve();
            route += times.route();
            connect += times.connect();
            connects.recordValue(times.connect());
        }
        for (UcmatoseRoles.Times times : results.server().times()) {
            disconnect += times.disconnect();
        }
        int count = plan.connections();
        ReportText.phase(report, "resolve address", resolve / count);
        ReportText.phase(report, "resolve route", route / count);
        ReportText.phase(report, "connect", connect / count);
        ReportText.phase(report, "disconnect", disconnect / count);
        if (count > 1) {
            report.histogram("connect", "ns", connects);
        }
    }

    private static void requireEvent(UnexpectedCmEventException refusal, String... allowed) {
        if (!Arrays.asList(allowed).contains(refusal.got())) {
            throw new AssertionError(
                    "The refusal is " + refusal.getMessage() + "; expected was one of " + Arrays.toString(allowed),
                    refusal);
        }
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
