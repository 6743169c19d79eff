package io.rdmatest.scenarios;

import io.rdmatest.Closer;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.NodePair;
import io.rdmatest.fabric.NodePort;
import io.rdmatest.fabric.Rail;
import io.rdmatest.fabric.Thresholds;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.scenarios.node.NodeFacts;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.node.RoleAgent;
import io.rdmatest.scenarios.pairs.AtOnce;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** The places of a run, one for each node that is used; an agent that was lost is started again for the next test. */
final class Nodes implements AutoCloseable {

    private static final String JAR = "rdmatest-agent.jar";

    /** Each is a process on this host, such as ssh, and an archive that is sent. */
    private static final int STARTED_AT_ONCE = 32;

    /** How often in a row the agent of a node is tried to be started. */
    private static final int MOST_STARTS = 2;

    /** An emulated processor takes its time to load a JVM's classes. */
    private static final Duration START = Duration.ofMinutes(2);

    private static final Duration EMULATED_PATIENCE = Duration.ofSeconds(25);

    private static final Duration WARM_UP = Duration.ofMinutes(1);

    private final Fabric fabric;
    private final Map<String, Seat> seats = new ConcurrentHashMap<>();
    private final Set<Stage> warm = new HashSet<>();

    Nodes(Fabric fabric) {
        this.fabric = fabric;
    }

    boolean isOne() {
        return size() == 1;
    }

    /**
     * Returns the stage for a pair of nodes.
     *
     * @param server the server's node; null for the first other than the client's
     * @param client the client's node; null for this host's, or the first other than the server's
     * @throws FabricException if there is no such node, or it has no such device
     * @throws io.rdmatest.peer.PeerLostException if an agent can't be started
     */
    Stage stage(@Nullable String server, @Nullable String client) {
        requireNode(Stage.CLIENT, client);
        requireNode(Stage.SERVER, server);
        NodePair pair = fabric.pair(server, client);
        return new Stage(place(pair.server()), place(pair.client()), place(fabric.local()));
    }

    /**
     * Runs one exchange between the sides of a stage, once: it loads the classes that roles are made of, on both nodes, so that
     * no scenario's time is made of that.
     */
    synchronized void warmUp(Stage stage) {
        if (!warm.add(stage)) {
            return;
        }
        PingPongRoles.Plan plan = PingPongRoles.Plan.parse("-S 64 -C 1 --timeout", WARM_UP);
        Object ignored =
                stage.runPair(new PingPongRoles.Server(plan), new PingPongRoles.Client(plan), WARM_UP.multipliedBy(2));
    }

    private void requireNode(String key, @Nullable String name) {
        try {
            if (name != null) {
                Node ignored = fabric.nodeNamed(name);
            }
        } catch (FabricException e) {
            throw new FabricException(key + "=" + name + ": " + e.getMessage());
        }
    }

    int size() {
        return fabric.nodes().size();
    }

    Thresholds thresholds() {
        return fabric.thresholds();
    }

    String fabric() {
        return fabric.toString();
    }

    /** Returns the rails of the fabric; one without a name if it has none. */
    List<String> rails() {
        return fabric.nodes().stream()
                .flatMap(node -> node.rails().stream().map(Rail::name))
                .distinct()
                .toList();
    }

    List<String> names() {
        return fabric.nodes().stream().map(Node::name).toList();
    }

    /** Returns the names of the nodes that a rail connects. */
    List<String> on(String rail) {
        return fabric.nodes().stream()
                .filter(node ->
                        node.rails().stream().anyMatch(each -> each.name().equals(rail)))
                .map(Node::name)
                .toList();
    }

    /** Returns the switch that a node's port on a rail is cabled to; null if the file does not name it. */
    @Nullable
    String leaf(String name, String rail) {
        return fabric.nodeNamed(name).onRail(rail).rail().leaf();
    }

    /**
     * Returns a node's place on a rail.
     *
     * @throws FabricException if the node has no such device
     * @throws io.rdmatest.peer.PeerLostException if its agent can't be started
     */
    Place place(String name, String rail) {
        return seat(fabric.nodeNamed(name)).onRail(rail);
    }

    /**
     * Starts the agents of nodes, looks at their devices, and does it once more for those that fail.
     *
     * @param names the nodes, which the rail connects
     * @return the nodes that failed twice, and why
     * @throws InterruptedException if the caller is to end
     */
    Map<String, Throwable> start(List<String> names, String rail) throws InterruptedException {
        return AtOnce.withOneRetry(names, STARTED_AT_ONCE, name -> look(name, rail), name -> {
            seat(fabric.nodeNamed(name)).forgetFailure();
            look(name, rail);
        });
    }

    private void look(String name, String rail) {
        NodeFacts ignored = place(name, rail).facts();
    }

    private Place place(Node node) {
        return seat(node).place();
    }

    private Seat seat(Node node) {
        return seats.computeIfAbsent(node.name(), name -> new Seat(node));
    }

    /** A node's place; nodes are started side by side. */
    private static final class Seat {

        private final Node node;
        private final Map<String, Place> rails = new HashMap<>();
        private @Nullable Place place;
        private @Nullable RuntimeException broken;
        private int failed;

        Seat(Node node) {
            this.node = node;
        }

        synchronized Place place() {
            if (broken != null) {
                throw new FabricException(broken.getMessage() + " (as before; not tried again)");
            }
            Place known = place;
            if (known != null && known.peer().map(peer -> peer.isAlive()).orElse(true)) {
                return known;
            }
            try {
                close();
                Place opened = node.isLocal() ? Place.here(node.resolve()) : Place.on(node, agent(), settings());
                place = opened;
                failed = 0;
                return opened;
            } catch (RuntimeException e) {
                // So that a run on a fabric without this node ends in the time of one start.
                broken = e;
                failed++;
                throw e;
            }
        }

        /** Forgets the first failure in a row. A second one stays, so that no further rail waits for this node again. */
        synchronized void forgetFailure() {
            if (failed < MOST_STARTS) {
                broken = null;
            }
        }

        synchronized Place onRail(String rail) {
            Place whole = place();
            NodePort port = node.onRail(rail);
            return port.equals(node.port()) ? whole : rails.computeIfAbsent(rail, name -> whole.onRail(port));
        }

        synchronized void close() {
            Place known = place;
            place = null;
            rails.clear();
            if (known != null) {
                known.close();
            }
        }
    }

    /** In an emulated machine, an agent that is well may be silent for seconds: it waits for a processor. */
    private static PeerSettings settings() {
        PeerSettings usual = PeerSettings.defaults().withStart(START);
        return Fabric.machine().isEmpty() ? usual : usual.withHeartbeat(usual.heartbeat(), EMULATED_PATIENCE);
    }

    /** Finds the agent's jar: the build leaves it beside the classes, and whoever has the classes in a jar, beside that. */
    private static Path agent() {
        String given = System.getProperty(Stage.AGENT);
        if (given != null) {
            return existing(Path.of(given))
                    .orElseThrow(() -> new FabricException(Stage.AGENT + "=" + given + ": there is no such file"));
        }
        Path classes;
        try {
            classes = Path.of(RoleAgent.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
        return existing(classes.resolveSibling(JAR))
                .orElseThrow(() -> new FabricException(("There is no %s beside %s, which runs roles on other nodes:"
                                + " build it with 'mvn -pl scenarios -am -DskipTests package', or name it with -D%s=FILE")
                        .formatted(JAR, classes, Stage.AGENT)));
    }

    private static Optional<Path> existing(Path file) {
        return Optional.of(file).filter(Files::isRegularFile);
    }

    /** Ends all agents at once: each may need some time to end by itself. */
    @Override
    public void close() {
        try (Closer closer = new Closer()) {
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (Seat seat : seats.values()) {
                    Future<?> closed = threads.submit(seat::close);
                    closer.own(() -> {
                        if (closed.state() == Future.State.FAILED) {
                            throw new IllegalStateException(closed.exceptionNow());
                        }
                    });
                }
            }
        }
    }
}
