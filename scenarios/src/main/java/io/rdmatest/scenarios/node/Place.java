package io.rdmatest.scenarios.node;

import io.rdmatest.Cause;
import io.rdmatest.NativeLibraryException;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.NodePort;
import io.rdmatest.peer.Peer;
import io.rdmatest.peer.PeerSettings;
import io.rdmatest.peer.PreparedClasses;
import io.rdmatest.peer.RemoteFailureException;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.ForwardingContext;
import io.rdmatest.scenarios.role.Role;
import java.io.File;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A place where roles run: this JVM, another process of this host, or another node. A place runs any number of roles,
 * also concurrently. Closing it ends its process, if it has its own.
 */
public final class Place implements AutoCloseable {

    /** The limit for reading the facts of a device; the first role of a node loads most of the agent's classes. */
    private static final Duration LOOK = Duration.ofMinutes(1);

    private final String name;
    private final Supplier<FabricDevice> device;
    private final @Nullable Peer peer;
    private final @Nullable NodePort on;
    private final boolean owner;
    private final Object looking = new Object();
    private @Nullable NodeFacts facts;

    private Place(
            String name, Supplier<FabricDevice> device, @Nullable Peer peer, @Nullable NodePort on, boolean owner) {
        this.name = name;
        this.device = device;
        this.peer = peer;
        this.on = on;
        this.owner = owner;
    }

    /**
     * Returns this JVM.
     *
     * @param device the device that roles use
     */
    public static Place here(FabricDevice device) {
        return new Place(device.node().name(), () -> device, null, null, false);
    }

    /**
     * Starts another JVM on this host, with this one's JDK and class path.
     *
     * @param node the node with the device for its roles; the launch command is ignored
     * @param settings the time limits
     * @return the place, ready for roles
     * @throws io.rdmatest.peer.PeerLostException if it does not start
     */
    public static Place inChildProcess(Node node, PeerSettings settings) {
        // As a module this JVM has a module path; the child has one class path for everything.
        String classPath = Stream.of(
                        System.getProperty("java.class.path", ""), System.getProperty("jdk.module.path", ""))
                .filter(path -> !path.isEmpty())
                .collect(Collectors.joining(File.pathSeparator));
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                // Standard output is the channel.
                "-XX:+DisplayVMOutputToStderr",
                "-Xlog:disable",
                "-Xlog:all=warning:stderr",
                "--enable-native-access=ALL-UNNAMED"));
        if (Fabric.machine().isPresent()) {
            // In an emulated machine the second compiler costs more than it saves.
            command.add("-XX:TieredStopAtLevel=1");
        }
        command.addAll(PreparedClasses.options());
        command.addAll(List.of("-cp", classPath, RoleAgent.class.getName()));
        return remote(Peer.start(node.name(), command, settings), node.port(), true);
    }

    /**
     * Copies the agent to a node by its launch command and starts it there.
     *
     * @param node the node, with {@link Node#launch()}, {@link Node#java()} and {@link Node#environment()}; a node of
     *     this host gets its own process. The {@linkplain Node#DEFAULT_JAVA default} java means any suitable java there
     * @param agent {@code rdmatest-agent.jar} on this host
     * @param settings the time limits
     * @return the place, ready for roles
     * @throws io.rdmatest.peer.PeerLostException if it does not start; the message says what the node lacks
     */
    public static Place on(Node node, Path agent, PeerSettings settings) {
        String java = node.java().equals(Node.DEFAULT_JAVA) ? null : node.java();
        return remote(
                Peer.launch(node.name(), node.launch(), java, node.environment(), agent, settings), node.port(), true);
    }

    private static Place remote(Peer peer, NodePort on, boolean owner) {
        String name = on.node().name();
        return new Place(
                name,
                () -> {
                    throw new IllegalStateException("The device of node " + name + " is not this JVM's");
                },
                peer,
                on,
                owner);
    }

    /**
     * Returns the same place with the device of another rail. It ends with this place and needs no closing.
     *
     * @param rail the node on its rail
     * @throws io.rdmatest.fabric.FabricException if the node is this host and has no such device
     */
    public Place onRail(NodePort rail) {
        if (peer == null) {
            return here(rail.resolve());
        }
        return remote(peer, rail, false);
    }

    /** Returns the node's name. */
    public String name() {
        return name;
    }

    /** Returns the agent that runs the roles; empty for this JVM. */
    public Optional<Peer> peer() {
        return Optional.ofNullable(peer);
    }

    Supplier<FabricDevice> device() {
        return device;
    }

    /** Returns the command that runs another command on the node; empty for this host. */
    public List<String> launch() {
        return on == null ? List.of() : on.node().launch();
    }

    /** Returns the device for roles in this JVM; empty for another JVM. */
    public Optional<FabricDevice> local() {
        return peer == null ? Optional.of(device.get()) : Optional.empty();
    }

    /**
     * Returns the facts of the device, read once in the place.
     *
     * @throws FabricException if this host has no such device
     * @throws RemoteFailureException if another place has no such device
     * @throws io.rdmatest.peer.PeerLostException if the place does not answer
     */
    public NodeFacts facts() {
        synchronized (looking) {
            NodeFacts known = facts;
            if (known == null) {
                try (NodeRoles roles = new NodeRoles()) {
                    known = roles.start("look", this, new NodeFacts.Look()).join(LOOK);
                }
                facts = known;
            }
            return known;
        }
    }

    /** Returns the IP address at which rdma_cm of other places reaches this one's device. */
    public InetAddress address() {
        InetAddress known = on == null ? null : on.rail().address();
        return known != null ? known : facts().address();
    }

    /**
     * Returns null without a device: some roles need none, for example over TCP. A role that needs one reports its
     * absence.
     */
    private static @Nullable InetAddress addressOf(Place other) {
        try {
            return other.address();
        } catch (FabricException | NativeLibraryException | RemoteFailureException e) {
            if (Cause.of(e) == Cause.HOST_NOT_READY) {
                return null;
            }
            throw e;
        }
    }

    /**
     * Returns the role to run in this JVM: the role itself, or its proxy for another place.
     *
     * @param other the place of the other side; null if unknown, or given by the role's options
     */
    <R> Role<R> placed(String title, Role<R> role, @Nullable Place other) {
        InetAddress target = other == null || other == this ? null : addressOf(other);
        if (peer != null && on != null) {
            return new RemoteRun<>(title, peer, on, target, role);
        }
        return target == null
                ? role
                : context -> role.run(new ForwardingContext(context) {
                    @Override
                    public InetAddress peerAddress() {
                        return Addresses.ofPeer(target, context::device);
                    }
                });
    }

    @Override
    public void close() {
        if (peer != null && owner) {
            peer.close();
        }
    }

    @Override
    public String toString() {
        return peer == null ? name + " (this JVM)" : peer.describe();
    }
}
