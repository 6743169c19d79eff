package io.rdmatest.acceptance;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.Rail;
import io.rdmatest.peer.PeerLostException;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Plan;
import io.rdmatest.scenarios.role.LocalRoles.Pair;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.scenarios.rping.RpingRoles.ClientResult;
import io.rdmatest.scenarios.rping.RpingRoles.ServerResult;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** What {@link NodesIT} runs on node a of two: roles here and on node b, and what becomes of them when one goes away. */
final class AcrossNodes {

    private static final Duration STEP = Duration.ofSeconds(60);
    private static final Duration SCENARIO = Duration.ofMinutes(2);
    private static final InetAddress A = InetAddress.ofLiteral("10.77.0.1");
    private static final InetAddress B = InetAddress.ofLiteral("10.77.0.2");
    private static final Node NODE_B = new Node("two", "b", Rail.AUTO, 0, GidSelector.AUTO, B, List.of("on-node", "b"));

    /** An emulated machine may be busy for seconds, and loads classes slowly. */
    private static final PeerSettings SETTINGS = PeerSettings.defaults()
            .withHeartbeat(Duration.ofSeconds(1), Duration.ofSeconds(20))
            .withStart(Duration.ofMinutes(2));

    private AcrossNodes() {}

    /**
     * Runs one of the cases.
     *
     * @param arguments the case, and the agent's jar
     */
    public static void main(String[] arguments) throws Exception {
        Path jar = Path.of(arguments[1]);
        switch (arguments[0]) {
            case "pings" -> pings(jar);
            case "losses" -> losses(jar);
            case "wait" -> waitForTheEnd(jar);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static RpingOptions options() {
        return RpingOptions.parse("-p 0 -C 20 -S 1000 -V --timeout", STEP);
    }

    private static void pings(Path jar) throws IOException {
        // Node b does not see what is written on node a: it gets the jar over the channel.
        Path hidden = Files.copy(jar, Files.createTempDirectory("agent").resolve("rdmatest-agent.jar"));
        try (Place a = Place.here(Fabric.load("auto").local().resolve())) {
            try (Place b = Place.on(NODE_B, hidden, SETTINGS)) {
                System.out.println("copied to " + b);
                report(
                        "server on b, client on a",
                        NodeRoles.runPair(
                                b,
                                new RpingRoles.Server(options()),
                                a,
                                new RpingRoles.Client(options().and("-a", B)),
                                SCENARIO));
            }
            try (Place b = Place.on(NODE_B, jar, SETTINGS)) {
                System.out.println("found on " + b);
                report(
                        "server on a, client on b",
                        NodeRoles.runPair(
                                a,
                                new RpingRoles.Server(options()),
                                b,
                                new RpingRoles.Client(options().and("-a", A)),
                                SCENARIO));
                Plan plan = Plan.parse("-S 1000 -C 20 --timeout", STEP, "--connection raw");
                var raw = NodeRoles.runPair(
                        b, new PingPongRoles.Server(plan), a, new PingPongRoles.Client(plan), SCENARIO);
                System.out.printf(
                        "raw, server on b, client on a: %d bytes verified there and %d here%n",
                        raw.server().bytesVerified(), raw.client().bytesVerified());
            }
        }
    }

    private static void report(String what, Pair<ServerResult, ClientResult> results) {
        System.out.printf(
                "%s: %d pings, %d bytes verified there and %d here%n",
                what,
                results.client().pings(),
                results.server().bytesVerified(),
                results.client().bytesVerified());
    }

    private static void losses(Path jar) throws Exception {
        for (String signal : new String[] {"KILL", "STOP"}) {
            try (Place b = Place.on(NODE_B, jar, SETTINGS);
                    NodeRoles roles = new NodeRoles()) {
                Running<ServerResult> server = roles.start("server", b, new RpingRoles.Server(options()));
                server.hear("port", STEP);
                long began = System.nanoTime();
                Process kill = new ProcessBuilder(
                                "on-node",
                                "b",
                                "kill",
                                "-" + signal,
                                Long.toString(b.peer().orElseThrow().pid()))
                        .inheritIO()
                        .start();
                try {
                    server.join(STEP);
                    System.out.println(signal + ": nothing was noticed");
                } catch (PeerLostException e) {
                    System.out.printf(
                            "%s: %s of node %s, after %d ms: %s%n",
                            signal,
                            e.reason(),
                            e.node(),
                            Duration.ofNanos(System.nanoTime() - began).toMillis(),
                            e.getMessage());
                }
                if (!kill.waitFor(STEP.toSeconds(), TimeUnit.SECONDS)) {
                    kill.destroyForcibly();
                    System.out.println(signal + ": kill itself did not end");
                }
            }
        }
    }

    private static void waitForTheEnd(Path jar) throws Exception {
        Place b = Place.on(NODE_B, jar, SETTINGS);
        NodeRoles roles = new NodeRoles();
        roles.start("server", b, new RpingRoles.Server(RpingOptions.parse("-p 0")))
                .hear("port", STEP);
        System.out.println("serving on " + b);
        // Killed long before; if not, the script sees an exit status that it does not expect.
        boolean ignored = new CountDownLatch(1).await(SCENARIO.toMinutes(), TimeUnit.MINUTES);
    }
}
