package io.rdmatest.scenarios.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.rdmatest.Cause;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.Rail;
import io.rdmatest.peer.PeerLostException;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.peer.RemoteFailureException;
import io.rdmatest.scenarios.role.LocalRoles.Pair;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import java.io.File;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Roles in other processes of a host without a device: a stream over TCP needs none. */
@Timeout(180)
class NodeRolesTests {

    private static final Duration STEP = Duration.ofSeconds(30);
    private static final Duration SCENARIO = Duration.ofSeconds(90);

    /** On a host that runs many tests at once, a process may wait for seconds before it runs. */
    private static final PeerSettings SETTINGS =
            PeerSettings.defaults().withHeartbeat(Duration.ofSeconds(1), Duration.ofSeconds(45));

    private static final AtomicInteger NAMES = new AtomicInteger();

    private final String a = "a" + NAMES.incrementAndGet();
    private final String b = "b" + NAMES.incrementAndGet();

    private static Node node(String name, String... launch) {
        return new Node("test", name, Rail.AUTO, 0, GidSelector.AUTO, null, List.of(launch));
    }

    private static Place child(String name) {
        return Place.inChildProcess(node(name), SETTINGS);
    }

    private static RstreamOptions options() {
        return clientOptions().and("-b 127.0.0.1");
    }

    /** The client's own port is any. */
    private static RstreamOptions clientOptions() {
        return RstreamOptions.parse("-T s,v -s 127.0.0.1 -p 0 -S 10000 -I 20 -C 5 --timeout", STEP);
    }

    private void nothingIsLeft() {
        assertThat(Thread.getAllStackTraces().keySet().stream()
                        .map(Thread::getName)
                        .filter(name -> name.startsWith("rdma-peer-" + a + "-")
                                || name.startsWith("rdma-peer-" + b + "-")
                                || name.endsWith("-to-" + a)
                                || name.endsWith("-to-" + b)))
                .isEmpty();
    }

    private static void verified(Pair<StreamRoles.Result, StreamRoles.Result> results) {
        long payload = 20L * 5 * 10_000;
        assertThat(results.server().bytesVerified()).isGreaterThanOrEqualTo(payload);
        assertThat(results.client().bytesVerified()).isGreaterThanOrEqualTo(payload);
        assertThat(results.client().timings().getFirst().nanos()).isPositive();
        assertThat(results.client().timings().getFirst().latency()).isNotNull();
    }

    @Test
    void bothSidesOfAStreamInProcessesOfTheirOwn() {
        try (Place here = child(a);
                Place there = child(b)) {
            verified(NodeRoles.runPair(
                    there, new StreamRoles.Server(options()), here, new StreamRoles.Client(clientOptions()), SCENARIO));
            // The same processes once more, with the sides exchanged.
            verified(NodeRoles.runPair(
                    here, new StreamRoles.Server(options()), there, new StreamRoles.Client(clientOptions()), SCENARIO));
        }
        nothingIsLeft();
    }

    @Test
    void bothSidesInOneProcess() {
        try (Place there = child(b)) {
            verified(NodeRoles.runPair(
                    there,
                    new StreamRoles.Server(options()),
                    there,
                    new StreamRoles.Client(clientOptions()),
                    SCENARIO));
        }
    }

    @Test
    void aNodeIsReachedByItsCommand(@TempDir Path folder) throws Exception {
        Path jar = folder.resolve("agent.jar");
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, RoleAgent.class.getName());
        manifest.getMainAttributes()
                .put(
                        Attributes.Name.CLASS_PATH,
                        Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                                .map(entry -> Path.of(entry).toUri().toString())
                                .collect(Collectors.joining(" ")));
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out, manifest)) {
            entries.finish();
        }
        Path java = Files.createSymbolicLink(
                folder.resolve("java-of-" + b), Path.of(System.getProperty("java.home"), "bin", "java"));
        Node launched = new Node(
                "test", b, List.of("env", "WHATEVER=launches"), java.toString(), Map.of("OF_NODE", b), node(b).rails());
        try (Place there = Place.on(launched, jar, SETTINGS);
                Place here = Place.on(node(a), jar, SETTINGS)) {
            long pid = there.peer().orElseThrow().pid();
            assertThat(pid).isNotEqualTo(here.peer().orElseThrow().pid());
            assertThat(Files.readString(Path.of("/proc", Long.toString(pid), "cmdline")))
                    .startsWith(java.toString());
            assertThat(Files.readString(Path.of("/proc", Long.toString(pid), "environ"))
                            .split("\0"))
                    .contains("WHATEVER=launches", "OF_NODE=" + b);
            verified(NodeRoles.runPair(
                    there, new StreamRoles.Server(options()), here, new StreamRoles.Client(clientOptions()), SCENARIO));
        }
        nothingIsLeft();
    }

    @Test
    void messagesGoToAndComeFromTheCaller() {
        try (Place there = child(b);
                NodeRoles roles = new NodeRoles()) {
            Running<StreamRoles.Result> server = roles.start("server", there, new StreamRoles.Server(options()));
            Running<StreamRoles.Result> client = roles.start("client", there, new StreamRoles.Client(clientOptions()));
            client.tell(server.hear("port", STEP));

            assertThat(client.join(STEP).bytesVerified()).isPositive();
            assertThat(server.join(STEP).connections()).isEqualTo(1);
        }
    }

    @Test
    void aRoleThatIsGivenUpEndsOnItsNode() {
        try (Place there = child(b)) {
            try (NodeRoles roles = new NodeRoles()) {
                roles.start("server", there, new StreamRoles.Server(options())).hear("port", STEP);
            }
            assertThat(there.peer().orElseThrow().isAlive()).isTrue();
            verified(NodeRoles.runPair(
                    there,
                    new StreamRoles.Server(options()),
                    there,
                    new StreamRoles.Client(clientOptions()),
                    SCENARIO));
        }
    }

    /** The launching side has two such threads for each pair of a thousand nodes. */
    @Test
    void aProxyWaitsWithoutPolling() {
        try (Place there = child(b);
                NodeRoles idle = new NodeRoles()) {
            idle.start("idle-" + b, there, new StreamRoles.Server(options())).hear("port", STEP);
            Thread proxy = Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().equals("rdma-role-idle-" + b))
                    .findFirst()
                    .orElseThrow();
            long before = waits(proxy);
            // As long as many polls of some milliseconds.
            try (NodeRoles other = new NodeRoles()) {
                Running<StreamRoles.Result> server = other.start(
                        "server", there, new StreamRoles.Server(options().and("--first-wait 500ms")));
                assertThat(catchThrowable(() -> server.join(STEP))).hasMessageContaining("No rstream client connected");
            }
            assertThat(waits(proxy)).isLessThanOrEqualTo(before + 1);
        }
    }

    private static long waits(Thread thread) {
        return ManagementFactory.getThreadMXBean()
                .getThreadInfo(thread.threadId())
                .getWaitedCount();
    }

    // ---- failures ----

    @Test
    void wrongDataIsTheFailureOfTheSideThatSawIt() {
        try (Place here = child(a);
                Place there = child(b)) {
            Throwable failure = catchThrowable(() -> NodeRoles.runPair(
                    there,
                    new StreamRoles.Server(options()),
                    here,
                    new StreamRoles.Client(clientOptions().and("--fault flip-payload-byte")),
                    SCENARIO));

            assertThat(Cause.of(failure)).isEqualTo(Cause.WRONG_DATA);
            assertThat(failure).hasMessageContaining("wrong byte at offset");
            assertThat(origin(failure).node()).startsWith(b);
            assertThat(origin(failure).stack()).contains("StreamRoles");
        }
    }

    @Test
    void aFailureKeepsItsCauseAndBringsTheDiagnosis() {
        try (Place there = child(b);
                NodeRoles roles = new NodeRoles()) {
            Running<StreamRoles.Result> server = roles.start(
                    "server", there, new StreamRoles.Server(options().and("--first-wait 200ms")));
            Throwable failure = catchThrowable(() -> server.join(STEP));

            assertThat(failure).hasMessageContaining("No rstream client connected");
            assertThat(Cause.of(failure)).isEqualTo(Cause.PEER_ABSENT);
            assertThat(origin(failure).diagnosis())
                    .contains("device: not used by the role", "kernel log since the role began");
        }
    }

    @Test
    void aNodeThatDiesEndsTheScenarioAndIsNamed() {
        try (Place here = child(a);
                Place there = child(b)) {
            try (NodeRoles roles = new NodeRoles()) {
                // Both wait for the other side, which does not come.
                Running<StreamRoles.Result> server = roles.start("server", here, new StreamRoles.Server(options()));
                Running<StreamRoles.Result> dead = roles.start("dead", there, new StreamRoles.Server(options()));
                server.hear("port", STEP);
                dead.hear("port", STEP);
                ProcessHandle.of(there.peer().orElseThrow().pid()).orElseThrow().destroyForcibly();

                Throwable failure = catchThrowable(() -> server.join(STEP));
                assertThat(failure).isInstanceOf(PeerLostException.class).hasMessageContaining("node " + b);
            }
            assertThat(here.peer().orElseThrow().isAlive()).isTrue();
        }
        nothingIsLeft();
    }

    private static RemoteFailureException origin(Throwable failure) {
        return (RemoteFailureException) failure;
    }
}
