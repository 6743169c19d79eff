package io.rdmatest.scenarios.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.rdmatest.Cause;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.fabric.Node;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.peer.PeerLostException;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.peer.RemoteFailureException;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.role.LocalRoles.Pair;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.scenarios.rping.RpingRoles.ClientResult;
import io.rdmatest.scenarios.rping.RpingRoles.ServerResult;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** One side of a scenario in this JVM, the other in a JVM of its own on the same host, over the device. */
@Timeout(value = 400, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@ExclusiveDevice
@Tag("slow")
class NodeRolesIT {

    private static final Duration STEP = Duration.ofSeconds(90);
    private static final Duration SCENARIO = Duration.ofSeconds(150);

    /** An emulated machine may be busy for seconds. */
    private static final PeerSettings SETTINGS = PeerSettings.defaults()
            .withHeartbeat(Duration.ofSeconds(1), Duration.ofSeconds(20))
            .withStart(Duration.ofSeconds(180));

    private final FabricDevice device = Fabric.load("auto").local().resolve();
    private final Place here = Place.here(device);
    private Place there = here;

    @BeforeAll
    void start() {
        there = Place.inChildProcess(node(device.device().name()), SETTINGS);
    }

    @AfterAll
    void end() {
        there.close();
    }

    private static Node node(String device) {
        return new Node("test", "other", device, 0, GidSelector.AUTO, null, List.of());
    }

    private static RpingOptions options() {
        return RpingOptions.parse("-p 0 -C 10 -S 1000 -V --timeout", STEP);
    }

    private static void verified(Pair<ServerResult, ClientResult> results) {
        assertThat(results.server().pings()).isEqualTo(10);
        assertThat(results.server().bytesVerified()).isEqualTo(10_000);
        assertThat(results.client().bytesVerified()).isEqualTo(10_000);
        assertThat(results.client().latencies().getTotalCount()).isEqualTo(10);
    }

    @Test
    void theClientHereTheServerThere() {
        verified(NodeRoles.runPair(
                there, new RpingRoles.Server(options()), here, new RpingRoles.Client(options()), SCENARIO));
    }

    @Test
    void theServerHereTheClientThere() {
        verified(NodeRoles.runPair(
                here, new RpingRoles.Server(options()), there, new RpingRoles.Client(options()), SCENARIO));
    }

    @Test
    void withoutRdmaCmTheAddressesGoOverTheChannel() {
        PingPongRoles.Plan raw = PingPongRoles.Plan.parse("-S 1000 -C 20 --timeout", STEP, "--connection raw");

        var results =
                NodeRoles.runPair(there, new PingPongRoles.Server(raw), here, new PingPongRoles.Client(raw), SCENARIO);

        assertThat(results.server().bytesVerified()).isEqualTo(20_000);
        assertThat(results.client().bytesVerified()).isEqualTo(20_000);
    }

    @Test
    void wrongDataIsTheFailureOfTheSideThatSawItWithItsDevice() {
        Throwable failure = catchThrowable(() -> NodeRoles.runPair(
                there,
                new RpingRoles.Server(options()),
                here,
                new RpingRoles.Client(options().and("--fault flip-payload-byte")),
                SCENARIO));

        assertThat(Cause.of(failure)).isEqualTo(Cause.WRONG_DATA);
        RemoteFailureException origin = (RemoteFailureException) failure;
        assertThat(origin.node()).startsWith("other");
        assertThat(origin.diagnosis())
                .contains("device: " + device.device().name(), "port now", "counters of the port that increased");
    }

    @Test
    void aRefusalIsAResultLikeAnyOther() {
        byte[] data = {1, 2, 3};
        Pair<byte[], UcmatoseRoles.Refusal> results = NodeRoles.runPair(
                here,
                new UcmatoseRoles.RejectingServer(data, STEP),
                there,
                new UcmatoseRoles.RefusedClient(0, new byte[] {9}, STEP),
                SCENARIO);

        assertThat(results.server()).startsWith(9);
        assertThat(results.client().event()).isEqualTo("RDMA_CM_EVENT_REJECTED");
        assertThat(results.client().privateData()).startsWith(data);
    }

    @Test
    void aNodeWithoutItsDeviceSaysSo() {
        try (Place lacking = Place.inChildProcess(node("mlx5_77"), SETTINGS);
                NodeRoles roles = new NodeRoles()) {
            Running<ServerResult> server = roles.start("server", lacking, new RpingRoles.Server(options()));

            assertThat(catchThrowable(() -> server.join(STEP)))
                    .hasMessageContaining("mlx5_77")
                    .extracting(Cause::of)
                    .isEqualTo(Cause.HOST_NOT_READY);
        }
    }

    @Test
    void linesOfTheOtherSideComeToItsConsumer() {
        List<String> printed = Collections.synchronizedList(new ArrayList<>());
        List<String> traced = Collections.synchronizedList(new ArrayList<>());
        RpingOptions talkative = options().and("-v -d");
        verified(NodeRoles.runPair(
                there,
                new RpingRoles.Server(talkative, printed::add, traced::add),
                here,
                new RpingRoles.Client(options()),
                SCENARIO));

        assertThat(printed).hasSize(10);
        assertThat(traced).isNotEmpty();
    }

    /** Nothing of a killed process stays in the kernel: whoever comes next finds the device as it was. */
    @Test
    void aProcessThatIsKilledInMidRunIsNamed() {
        try (Place dying = Place.inChildProcess(node(device.device().name()), SETTINGS)) {
            try (NodeRoles roles = new NodeRoles()) {
                Running<ServerResult> server = roles.start("server", dying, new RpingRoles.Server(options()));
                server.hear("port", STEP);
                ProcessHandle.of(dying.peer().orElseThrow().pid()).orElseThrow().destroyForcibly();

                assertThat(catchThrowable(() -> server.join(STEP)))
                        .isInstanceOf(PeerLostException.class)
                        .hasMessageContaining("node other")
                        .hasMessageContaining("signal 9");
            }
        }
        theClientHereTheServerThere();
    }
}
