package io.rdmatest.acceptance;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.fault.ActiveFault;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.fabric.fault.NetworkFault;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.scenarios.ScenarioSettings;
import io.rdmatest.scenarios.Stage;
import io.rdmatest.scenarios.mckey.MckeyOptions;
import io.rdmatest.scenarios.mckey.MulticastRoles;
import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Plan;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import io.rdmatest.scenarios.udaddy.UdaddyRoles;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.wire.WireCapture;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** What {@link WireIT} runs on node a of two: exchanges with node b, each captured in a file of its own. */
final class AcrossWire {

    static final String GROUP = "239.77.0.21";

    /** A port that nobody listens on, and what a request to it says. */
    static final int CLOSED_PORT = 9;

    static final int LOSSY_READS = 150;

    static final String HELLO = "a request with something to say";

    private static final Duration STEP = Duration.ofSeconds(60);
    private static final Duration SCENARIO = Duration.ofMinutes(2);
    private static final Fabric FABRIC = Fabric.load("microvm-2");
    private static final Node NODE_B = FABRIC.remoteNodes().getFirst();
    private static final InetAddress B = InetAddress.ofLiteral("10.77.0.2");
    private static final InetAddress B6 = InetAddress.ofLiteral("fd77::2");

    /** An emulated machine may be busy for seconds, and loads classes slowly. */
    private static final PeerSettings SETTINGS = PeerSettings.defaults()
            .withHeartbeat(Duration.ofSeconds(1), Duration.ofSeconds(30))
            .withStart(Duration.ofMinutes(2));

    @FunctionalInterface
    private interface Exchange {
        void run() throws Exception;
    }

    private final Place a;
    private final Place b;
    private final Path folder;

    private AcrossWire(Place a, Place b, Path folder) {
        this.a = a;
        this.b = b;
        this.folder = folder;
    }

    /**
     * Runs all.
     *
     * @param arguments the agent's jar, and the folder for the captures
     */
    public static void main(String[] arguments) throws Exception {
        watched(arguments[0]);
        try (Place here = Place.here(FABRIC.local().resolve());
                Place there = Place.on(NODE_B, Path.of(arguments[0]), SETTINGS)) {
            AcrossWire wire = new AcrossWire(here, there, Path.of(arguments[1]));
            wire.capture("pings", () -> wire.pings(20, options().and("-a", B)));
            wire.capture("six", () -> wire.pings(5, options().and("-a", B6)));
            wire.capture("raw", () -> wire.exchange(Plan.parse("-S 1000 -C 5 --timeout", STEP, "--connection raw")));
            // Answers of three packets at an MTU of 4096.
            wire.capture("reads", () -> wire.reads(5, 10_000));
            wire.capture("datagrams", wire::datagrams);
            wire.capture("rejected", wire::rejected);
            wire.capture("multicast", wire::multicast);
            try (ActiveFault loss = Faults.on(FABRIC).network(NODE_B.port(), NetworkFault.loss(10), SCENARIO)) {
                System.out.println(loss.awaitApplied());
                wire.capture("loss", wire::losses);
            }
        }
    }

    /** Runs the tests that are watched, one line for what became of each. */
    private static void watched(String agent) throws IOException {
        System.setProperty(Stage.AGENT, agent);
        TestsOnNodeA.run(List.of(selectClass(WatchedOnTwoNodes.class)), Map.of(ScenarioSettings.WIRE, "true"));
    }

    private void capture(String name, Exchange exchange) throws Exception {
        String networkInterface =
                WireCapture.interfaceOf(a.local().orElseThrow().device().name());
        try (WireCapture capture = WireCapture.start(
                networkInterface, folder.resolve(name + ".pcap"), WireCapture.WHOLE, WireCapture.DEFAULT_LIMIT)) {
            exchange.run();
            WireCapture.Result result = capture.stop();
            System.out.printf(
                    "%s on %s: %d packets, %s%n",
                    name, networkInterface, result.packets(), result.isComplete() ? "complete" : result);
        }
    }

    private static RpingOptions options() {
        return RpingOptions.parse("-p 0 -S 1000 -V --timeout", STEP);
    }

    /** The client is here: what it sends arrives also where node b loses packets, so that both sides end well. */
    private void pings(int count, RpingOptions options) {
        RpingRoles.ClientResult result = NodeRoles.runPair(
                        b,
                        new RpingRoles.Server(options.and("-C", count)),
                        a,
                        new RpingRoles.Client(options.and("-C", count)),
                        SCENARIO)
                .client();
        System.out.printf("%d pings, %d bytes verified%n", result.pings(), result.bytesVerified());
    }

    /**
     * Node b loses. What it sends anew is seen only once here, since what was lost never came; what tells is that node a asks
     * anew because it had no answer. Without any loss of answers 150 reads would get by once in 7 million times.
     */
    private void losses() {
        pings(10, options().and("-a", B));
        reads(LOSSY_READS, 1000);
    }

    private void reads(int count, int size) {
        System.out.printf(
                "%d reads, %d bytes verified%n",
                count, exchange(Plan.parse("--operation read -S", size, "-C", count, "--timeout", STEP)));
    }

    private long exchange(Plan plan) {
        return NodeRoles.runPair(b, new PingPongRoles.Server(plan), a, new PingPongRoles.Client(plan), SCENARIO)
                .client()
                .bytesVerified();
    }

    private void datagrams() {
        UdaddyOptions options = UdaddyOptions.parse("--port 0 --timeout", STEP);
        Object ignored = NodeRoles.runPair(
                b,
                new UdaddyRoles.Server(options),
                a,
                new UdaddyRoles.Client(options.and("-s", B.getHostAddress())),
                SCENARIO);
    }

    private void rejected() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.resolveAddress(null, new InetSocketAddress(B, CLOSED_PORT), STEP);
            id.resolveRoute(STEP);
            try (ProtectionDomain domain = id.context().allocateProtectionDomain();
                    CompletionQueue queue = id.context().createCompletionQueue(4);
                    QueuePair queuePair = id.createQueuePair(
                            domain,
                            QueuePairAttributes.builder(QpType.RC)
                                    .completionQueue(queue)
                                    .build())) {
                id.connect(ConnectionParameters.builder()
                        .privateData(HELLO.getBytes(StandardCharsets.US_ASCII))
                        .build());
                CmEvent event = id.awaitEvent(STEP);
                try {
                    CmEvent ignored = event.require(CmEvent.Type.ESTABLISHED);
                    System.out.println("connected, with " + queuePair);
                } catch (UnexpectedCmEventException e) {
                    System.out.println("rejected: " + event.type());
                }
            }
        }
    }

    private void multicast() {
        MckeyOptions options =
                MckeyOptions.parse("-m", InetAddress.ofLiteral(GROUP), "-C 20 --settle 0 --timeout", STEP);
        try (NodeRoles roles = new NodeRoles()) {
            Running<MulticastRoles.Received> receiver =
                    roles.start("receiver", b, new MulticastRoles.Receiver(options, false));
            String ignored = receiver.hear("joining the group", STEP);
            MulticastRoles.Sent sent =
                    roles.start("sender", a, new MulticastRoles.Sender(options)).join(STEP);
            System.out.printf(
                    "%d messages sent, %d received%n",
                    sent.messages(), receiver.join(STEP).messages());
        }
    }
}
