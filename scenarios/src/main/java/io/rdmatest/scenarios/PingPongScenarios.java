package io.rdmatest.scenarios;

import io.rdmatest.ConnectionMode;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Operation;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.verbs.DeviceCapability;
import java.time.Duration;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;

/** Ping-pong with verification: the sequence of rping(1), and every operation of the verbs. */
@RdmaTest(timeout = "60 s")
@Tag(Phase.DATA_TAG)
@DisplayName("Ping-pong")
public class PingPongScenarios {

    private static final Duration SCENARIO = Duration.ofSeconds(55);

    @ParameterizedTest(name = "rping, {0} bytes, {1}")
    @RowsByMode(
            value = {"23", "64", "4096", "65535"},
            modes = {ConnectionMode.RDMA_CM, ConnectionMode.EXTERNAL_QP})
    void rping(int size, ConnectionMode bringUp, Stage stage, RdmaReport report, ScenarioSettings settings) {
        DeviceNeeds.of(stage).bringUp(bringUp);
        int count = iterations(size, bringUp, settings);
        report.parameter("size", size);
        report.parameter("pings", count);
        report.parameter("connection", bringUp);
        RpingOptions options = RpingOptions.parse(
                "-p 0 -S",
                size,
                "-C",
                count,
                "-V",
                bringUp == ConnectionMode.EXTERNAL_QP ? "-q" : "",
                "--timeout",
                settings.stepTimeout());
        var results = report.step(
                "rping -V -C " + count + " -S " + size,
                () -> stage.runPair(new RpingRoles.Server(options), new RpingRoles.Client(options), SCENARIO));
        if (results.server().pings() != count) {
            throw new AssertionError("The server answered %d pings instead of %d"
                    .formatted(results.server().pings(), count));
        }
        report.bytesVerified(results.server().bytesVerified());
        report.bytesVerified(results.client().bytesVerified());
        report.latency("ping", results.client().latencies());
        ReportText.phase(report, "resolve address", results.client().resolveNanos());
        ReportText.phase(report, "resolve route", results.client().routeNanos());
        ReportText.phase(report, "connect", results.client().connectNanos());
    }

    @ParameterizedTest(name = "{0}, {1} bytes, {2}")
    @RowsByMode({
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
    void operation(
            Operation operation,
            int size,
            ConnectionMode bringUp,
            Stage stage,
            RdmaReport report,
            ScenarioSettings settings) {
        run(plan(operation, size, bringUp, settings), stage, report);
    }

    @ParameterizedTest(name = "{0} inline, {1} bytes, {2}")
    @RowsByMode({"SEND, 1", "SEND, 64", "WRITE_WITH_IMMEDIATE, 64"})
    void inline(
            Operation operation,
            int size,
            ConnectionMode bringUp,
            Stage stage,
            RdmaReport report,
            ScenarioSettings settings) {
        run(plan(operation, size, bringUp, settings).and("--inline"), stage, report);
    }

    @ParameterizedTest(name = "{0} into a shared receive queue, {1}")
    @RowsByMode({"SEND", "SEND_WITH_IMMEDIATE", "WRITE_WITH_IMMEDIATE"})
    void sharedReceiveQueue(
            Operation operation, ConnectionMode bringUp, Stage stage, RdmaReport report, ScenarioSettings settings) {
        DeviceNeeds.of(stage).capability(DeviceCapability.SHARED_RECEIVE_QUEUES);
        run(plan(operation, 1024, bringUp, settings).and("--shared-receives"), stage, report);
    }

    @ParameterizedTest(name = "{0} driven by completion events, {1}")
    @RowsByMode({"SEND", "WRITE_WITH_IMMEDIATE", "READ"})
    void completionEvents(
            Operation operation, ConnectionMode bringUp, Stage stage, RdmaReport report, ScenarioSettings settings) {
        run(plan(operation, 1024, bringUp, settings).and("--events"), stage, report);
    }

    private static PingPongRoles.Plan plan(
            Operation operation, int size, ConnectionMode bringUp, ScenarioSettings settings) {
        return PingPongRoles.Plan.parse(
                "--operation",
                operation,
                "-S",
                size,
                "-C",
                iterations(size, bringUp, settings),
                "--timeout",
                settings.stepTimeout(),
                "--connection",
                bringUp);
    }

    /**
     * The largest messages take dozens of packets each, so fewer of them say as much. Once a connection stands, how it came up
     * makes no difference to what goes over it: most of the repetitions are made over one kind.
     */
    private static int iterations(int size, ConnectionMode bringUp, ScenarioSettings settings) {
        int fewer = (size > 4096 ? 4 : 1) * (bringUp == ConnectionMode.RDMA_CM ? 1 : 4);
        return Math.max(1, settings.pingPongIterations() / fewer);
    }

    private static void run(PingPongRoles.Plan plan, Stage stage, RdmaReport report) {
        DeviceNeeds needs = DeviceNeeds.of(stage);
        needs.bringUp(plan.bringUp());
        switch (plan.operation()) {
            case SEND_WITH_IMMEDIATE, WRITE_WITH_IMMEDIATE -> needs.immediateData();
            case FETCH_AND_ADD, COMPARE_AND_SWAP -> needs.capability(DeviceCapability.ATOMICS);
            case SEND, WRITE, READ -> {
                // Every reliable connection has these.
            }
        }
        report.parameter("operation", plan.operation());
        report.parameter("size", plan.size());
        report.parameter("iterations", plan.iterations());
        report.parameter("connection", plan.bringUp());
        var results = report.step(
                plan.iterations() + " times " + plan.operation(),
                () -> stage.runPair(new PingPongRoles.Server(plan), new PingPongRoles.Client(plan), SCENARIO));
        // What is one-sided the server compares at the end.
        requireVerified(plan, "server", results.server(), plan.operation().isOneSided() ? 1 : plan.iterations());
        requireVerified(plan, "client", results.client(), plan.iterations());
        report.bytesVerified(results.server().bytesVerified());
        report.bytesVerified(results.client().bytesVerified());
        report.latency(
                plan.operation().isOneSided() ? "operation" : "round trip",
                results.client().latencies());
    }

    private static void requireVerified(
            PingPongRoles.Plan plan, String side, PingPongRoles.Result result, int messages) {
        long expected = (long) messages * plan.size();
        if (result.bytesVerified() != expected) {
            throw new AssertionError("%d bytes were compared at the %s instead of %d, %d messages of %d"
                    .formatted(result.bytesVerified(), side, expected, messages, plan.size()));
        }
    }
}
