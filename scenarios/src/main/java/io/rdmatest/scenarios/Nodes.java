package io.rdmatest.scenarios;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.scenarios.role.PingPongRoles;
import io.rdmatest.scenarios.role.Place;
import io.rdmatest.scenarios.role.RoleAgent;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The places of a run, one for each node that is used; an agent that was lost is started again for the next test. */
final class Nodes implements AutoCloseable {

    private static final String JAR = "rdmatest-agent.jar";

    /** An emulated processor takes its time to load a JVM's classes. */
    private static final Duration START = Duration.ofMinutes(2);

    private static final Duration EMULATED_PATIENCE = Duration.ofSeconds(25);

    private static final Duration WARM_UP = Duration.ofMinutes(1);

    private final Fabric fabric;
    private final Map<String, Place> places = new LinkedHashMap<>();
    private final Map<String, RuntimeException> broken = new LinkedHashMap<>();
    private final Set<Stage> warm = new HashSet<>();

    Nodes(Fabric fabric) {
        this.fabric = fabric;
    }

    boolean isOne() {
        return fabric.nodes().size() == 1;
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
        Node local = fabric.local();
        Node first = client != null ? named(Stage.CLIENT, client) : local.name().equals(server) ? other(local) : local;
        Node second = server != null ? named(Stage.SERVER, server) : other(first);
        return new Stage(place(second), place(first), place(local));
    }

    /**
     * Runs one exchange between the sides of a stage, once: it loads the classes that roles are made of, on both nodes, so that
     * no scenario's time is made of that.
     */
    synchronized void warmUp(Stage stage) {
        if (!warm.add(stage)) {
            return;
        }
        PingPongRoles.Plan plan = PingPongRoles.Plan.of(PingPongRoles.Operation.SEND, 64, 1, WARM_UP);
        Object ignored =
                stage.runPair(new PingPongRoles.Server(plan), new PingPongRoles.Client(plan), WARM_UP.multipliedBy(2));
    }

    private Node named(String key, String name) {
        return fabric.node(name)
                .orElseThrow(() -> new FabricException("%s=%s: the fabric %s has no such node; allowed: %s"
                        .formatted(
                                key,
                                name,
                                fabric.name(),
                                String.join(
                                        ", ",
                                        fabric.nodes().stream().map(Node::name).toList()))));
    }

    private Node other(Node node) {
        return fabric.nodes().stream()
                .filter(each -> !each.name().equals(node.name()))
                .findFirst()
                .orElse(node);
    }

    private synchronized Place place(Node node) {
        RuntimeException before = broken.get(node.name());
        if (before != null) {
            throw new FabricException(before.getMessage() + " (as before; not tried again)");
        }
        Place known = places.get(node.name());
        if (known != null && known.peer().map(peer -> peer.isAlive()).orElse(true)) {
            return known;
        }
        if (known != null) {
            places.remove(node.name());
            known.close();
        }
        try {
            Place place = node.isLocal() ? Place.here(node.resolve()) : Place.on(node, agent(), settings());
            places.put(node.name(), place);
            return place;
        } catch (RuntimeException e) {
            // So that a run on a fabric without this node ends in the time of one start.
            broken.put(node.name(), e);
            throw e;
        }
    }

    /** In an emulated machine, an agent that is well may be silent for seconds: it waits for a processor. */
    private static PeerSettings settings() {
        PeerSettings usual = PeerSettings.defaults().withStart(START);
        return System.getenv("RDMA_NODE") == null ? usual : usual.withHeartbeat(usual.heartbeat(), EMULATED_PATIENCE);
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

    @Override
    public synchronized void close() {
        RuntimeException first = null;
        for (Place place : List.copyOf(places.values())) {
            try {
                place.close();
            } catch (RuntimeException e) {
                first = e;
            }
        }
        places.clear();
        if (first != null) {
            throw first;
        }
    }
}
