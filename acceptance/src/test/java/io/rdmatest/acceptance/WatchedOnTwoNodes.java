package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.Stage;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Plan;
import io.rdmatest.wire.RocePacket;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.time.Duration;

/** What {@link AcrossWire} runs with the wire being watched: one test that is well, and two that must fail. */
@RdmaTest(timeout = "4 min")
class WatchedOnTwoNodes {

    private static final Duration STEP = Duration.ofSeconds(60);

    private static void exchange(Stage stage) {
        Plan plan = Plan.parse("-S 100 -C 5 --timeout", STEP);
        Object ignored =
                stage.runPair(new PingPongRoles.Server(plan), new PingPongRoles.Client(plan), STEP.multipliedBy(2));
    }

    @RdmaTest
    void keepsTheRules(Stage stage) {
        exchange(stage);
    }

    /** The device of the other node throws it away: nobody but the wire knows. */
    @RdmaTest
    void breaksARule(Stage stage) throws IOException {
        exchange(stage);
        byte[] packet = ByteBuffer.allocate(16).put((byte) 0x1f).array();
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.send(new DatagramPacket(
                    packet, packet.length, new InetSocketAddress(stage.server().address(), RocePacket.PORT)));
        }
    }

    @RdmaTest
    void failsByItself(Stage stage) {
        exchange(stage);
        assertThat(stage.server().name()).as("it fails by itself").isEmpty();
    }
}
