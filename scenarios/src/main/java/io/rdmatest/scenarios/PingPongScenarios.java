package io.rdmatest.scenarios;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.SkipReason;
import io.rdmatest.scenarios.role.BringUp;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.PingPongRoles;
import io.rdmatest.scenarios.role.PingPongRoles.Operation;
import io.rdmatest.scenarios.role.RpingRoles;
import io.rdmatest.verbs.AtomicCapability;
import io.rdmatest.verbs.DeviceContext;
import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Ping-pong with verification: the sequence of rping(1), and every operation of the verbs. */
@RdmaTest
@ExtendWith(ScenarioSettingsExtension.class)
@DisplayName("Ping-pong")
public class PingPongScenarios {

    private static final Duration SCENARIO = Duration.ofSeconds(25);

    @ParameterizedTest(name = "rping, {0} bytes, {1}")
    @CsvSource({
        "23, RDMA_CM", "64, RDMA_CM", "4096, RDMA_CM", "65535, RDMA_CM",
        "23, EXTERNAL_QP", "64, EXTERNAL_QP", "4096, EXTERNAL_QP", "65535, EXTERNAL_QP"
    })
    void rping(int size, BringUp bringUp, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        // The largest ping takes 130 packets, so fewer of them say as much.
        int count = Math.max(1, size > 4096 ? settings.pingPongIterations() / 4 : settings.pingPongIterations());
        report.parameter("size", size);
        report.parameter("pings", count);
        report.parameter("connection", bringUp);
        var results = report.step(
                "rping -C " + count + " -S " + size,
                () -> LocalRoles.runPair(
                        device,
                        new RpingRoles.Server(null, 0, bringUp, size, settings.stepTimeout()),
                        new RpingRoles.Client(null, 0, bringUp, size, count, settings.stepTimeout()),
                        SCENARIO));
        if (results.server().pings() != count) {
            throw new AssertionError("The server answered %d pings instead of %d"
                    .formatted(results.server().pings(), count));
        }
        report.bytesVerified(results.server().bytesVerified());
        report.bytesVerified(results.client().bytesVerified());
        ReportText.latency(report, "ping", results.client().latencies());
        ReportText.phase(report, "resolve address", results.client().resolveNanos());
        ReportText.phase(report, "resolve route", results.client().routeNanos());
        ReportText.phase(report, "connect", results.client().connectNanos());
    }

    @ParameterizedTest(name = "{0}, {1} bytes")
    @CsvSource({
        "SEND, 64",
        "SEND, 4096",
        "SEND, 65536",
        "SEND_WITH_IMMEDIATE, 64",
        "WRITE, 64",
        "WRITE, 65536",
        "WRITE_WITH_IMMEDIATE, 64",
        "WRITE_WITH_IMMEDIATE, 65536",
        "READ, 64",
        "READ, 65536",
        "FETCH_AND_ADD, 8",
        "COMPARE_AND_SWAP, 8"
    })
    void operation(Operation operation, int size, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        if (size == Long.BYTES) {
            requireAtomics(device);
        }
        run(plan(operation, size, settings), device, report);
    }

    @ParameterizedTest(name = "{0} inline, {1} bytes")
    @CsvSource({"SEND, 1", "SEND, 64", "WRITE_WITH_IMMEDIATE, 64"})
    void inline(Operation operation, int size, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        run(plan(operation, size, settings).withInline(), device, report);
    }

    @ParameterizedTest(name = "{0} into a shared receive queue")
    @EnumSource(names = {"SEND", "SEND_WITH_IMMEDIATE", "WRITE_WITH_IMMEDIATE"})
    void sharedReceiveQueue(Operation operation, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        try (DeviceContext context = device.open()) {
            if (context.attributes().maxSrq() == 0) {
                throw SkipReason.UNSUPPORTED_BY_DEVICE.skip(device.device().name() + " has max_srq 0");
            }
        }
        run(plan(operation, 1024, settings).withSharedReceives(), device, report);
    }

    @ParameterizedTest(name = "{0} driven by completion events")
    @EnumSource(names = {"SEND", "WRITE_WITH_IMMEDIATE", "READ"})
    void completionEvents(Operation operation, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        run(plan(operation, 1024, settings).withEvents(), device, report);
    }

    @ParameterizedTest(name = "SEND over a connection by {0}")
    @EnumSource(names = {"EXTERNAL_QP", "RAW"})
    void bringUp(BringUp bringUp, FabricDevice device, RdmaReport report, ScenarioSettings settings) {
        run(plan(Operation.SEND, 1024, settings).by(bringUp, null), device, report);
    }

    private static PingPongRoles.Plan plan(Operation operation, int size, ScenarioSettings settings) {
        int iterations = size > 4096 ? settings.pingPongIterations() / 4 : settings.pingPongIterations();
        return PingPongRoles.Plan.of(operation, size, Math.max(1, iterations), settings.stepTimeout());
    }

    private static void run(PingPongRoles.Plan plan, FabricDevice device, RdmaReport report) {
        report.parameter("operation", plan.operation());
        report.parameter("size", plan.size());
        report.parameter("iterations", plan.iterations());
        report.parameter("connection", plan.bringUp());
        var results = report.step(
                plan.iterations() + " times " + plan.operation(),
                () -> LocalRoles.runPair(
                        device, new PingPongRoles.Server(plan), new PingPongRoles.Client(plan), SCENARIO));
        report.bytesVerified(results.server().bytesVerified());
        report.bytesVerified(results.client().bytesVerified());
        ReportText.latency(
                report,
                plan.operation().isOneSided() ? "operation" : "round trip",
                results.client().latencies());
    }

    private static void requireAtomics(FabricDevice device) {
        try (DeviceContext context = device.open()) {
            if (context.attributes().atomicCapability() == AtomicCapability.NONE) {
                throw SkipReason.UNSUPPORTED_BY_DEVICE.skip(device.device().name() + " has no atomics");
            }
        }
    }
}
