package io.rdmatest.acceptance;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.fabric.Node;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import io.rdmatest.scenarios.stream.RmaStreamOptions;
import io.rdmatest.scenarios.stream.RmaStreamRoles;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import io.rdmatest.scenarios.udaddy.UdaddyRoles;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What {@link RailsIT} runs on node a of two that have a second device each: every kind of role on the second devices, and how
 * many packets each of the four devices sent meanwhile.
 */
final class AcrossRails {

    private static final Duration STEP = Duration.ofSeconds(60);
    private static final Duration SCENARIO = Duration.ofMinutes(2);
    private static final InetAddress B = InetAddress.ofLiteral("10.77.0.12");
    private static final PeerSettings SETTINGS = PeerSettings.defaults()
            .withHeartbeat(Duration.ofSeconds(1), Duration.ofSeconds(20))
            .withStart(Duration.ofMinutes(2));

    private AcrossRails() {}

    /**
     * Runs all roles.
     *
     * @param arguments the agent's jar
     */
    public static void main(String[] arguments) throws Exception {
        Node there = new Node("two", "b", "rxe1", 1, GidSelector.AUTO, B, List.of("on-node", "b"));
        try (Place a = Place.here(Fabric.load("auto").withDevice("rxe1").local().resolve());
                Place b = Place.on(there, Path.of(arguments[0]), SETTINGS)) {
            RpingOptions rping = RpingOptions.parse("-p 0 -C 20 -S 1000 -V --timeout", STEP);
            run("rping", a, b, new RpingRoles.Server(rping), new RpingRoles.Client(rping));
            PingPongRoles.Plan plan = PingPongRoles.Plan.parse("-S 1000 -C 20 --timeout", STEP);
            run("ping-pong", a, b, new PingPongRoles.Server(plan), new PingPongRoles.Client(plan));
            UcmatoseOptions ucmatose = UcmatoseOptions.parse("-p 0 --timeout", STEP);
            run("ucmatose", a, b, new UcmatoseRoles.Server(ucmatose), new UcmatoseRoles.Client(ucmatose));
            UdaddyOptions udaddy = UdaddyOptions.parse("--port 0 --timeout", STEP);
            run("udaddy", a, b, new UdaddyRoles.Server(udaddy), new UdaddyRoles.Client(udaddy));
            RmaStreamOptions stream = RmaStreamOptions.parse("-p 0 -S 1000 -C 20 -I 1 --verify --timeout", STEP);
            run("stream", a, b, new RmaStreamRoles.Server(stream), new RmaStreamRoles.Client(stream));
            RstreamOptions rstream = RstreamOptions.parse("-S 1000 -C 20 -I 1 -p 0 --on-device --timeout", STEP);
            run("rstream", a, b, new StreamRoles.Server(rstream), new StreamRoles.Client(rstream));
        }
    }

    private static <A, C> void run(String what, Place a, Place b, Role<A> server, Role<C> client) throws Exception {
        long[] before = packets();
        NodeRoles.runPair(b, server, a, client, SCENARIO);
        long[] after = packets();
        System.out.printf(
                "%s: rxe0 of a %+d, rxe1 of a %+d, rxe0 of b %+d, rxe1 of b %+d%n",
                what, after[0] - before[0], after[1] - before[1], after[2] - before[2], after[3] - before[3]);
    }

    private static long[] packets() throws Exception {
        long[] counts = new long[4];
        for (int i = 0; i < 2; i++) {
            String file = "/sys/class/infiniband/rxe" + i + "/ports/1/hw_counters/sent_pkts";
            counts[i] = Long.parseLong(Files.readString(Path.of(file)).strip());
            Process there = new ProcessBuilder("on-node", "b", "cat", file)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            counts[2 + i] = Long.parseLong(new String(there.getInputStream().readAllBytes()).strip());
            if (!there.waitFor(STEP.toSeconds(), TimeUnit.SECONDS)) {
                there.destroyForcibly();
            }
        }
        return counts;
    }
}
