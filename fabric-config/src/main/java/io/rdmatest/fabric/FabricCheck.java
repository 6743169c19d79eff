package io.rdmatest.fabric;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidType;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Checks the nodes of a fabric before any test. Each node must be reachable. It must have a JVM, the libraries, and the
 * file's device, port and GID, and keep the file's promises. This host's device must reach its address.
 *
 * <p>It changes nothing: it opens and closes devices, resolves addresses, and runs a read-only shell script on launched
 * nodes.
 */
public final class FabricCheck {

    /** The default limit for a launched node's answer: 30 seconds. */
    public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);

    private static final int AT_ONCE = 16;
    private static final Duration REACH = Duration.ofSeconds(5);

    /** An arbitrary port: nothing connects to it. */
    private static final int PORT = 7471;

    /** The kinds of problems. */
    public enum Kind {
        /** The node can't be reached by its launch command. */
        UNREACHABLE,
        /** The node lacks a JVM, a library, the device, port or GID, or a permission. */
        NOT_READY,
        /** This host's device does not reach the node's address. */
        NO_ROUTE,
        /** The device does not keep what the file promises. */
        BROKEN_PROMISE,
        /** The node is another node of the file, too: a pair of them would measure one device. */
        DUPLICATE
    }

    /**
     * A problem of a node.
     *
     * @param kind the kind of problem
     * @param text one sentence with the cause and the cure
     */
    public record Problem(Kind kind, String text) {}

    /**
     * A device of a node.
     *
     * @param rail the name of the rail; empty for a node without rails
     * @param device the name of the device
     * @param port its port, 1 … 255
     * @param gidIndex the index of the GID
     * @param gid the GID
     * @param gidType its type
     * @param address the address that peers connect to
     * @param rateGbps the rate of the port in Gb/s; 0 if unknown
     * @param mtu the active MTU in bytes; 0 if unknown
     * @param driver the kernel driver; empty if unknown
     * @param firmware the version of the firmware; empty if unknown
     * @param settings the settings of the device and its network interface, by the names in docs/what-differs.md;
     *     values that the node does not report are missing
     */
    public record Place(
            String rail,
            String device,
            int port,
            int gidIndex,
            Gid gid,
            GidType gidType,
            InetAddress address,
            double rateGbps,
            int mtu,
            String driver,
            String firmware,
            Map<String, String> settings) {

        /** Copies the settings. */
        public Place {
            settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
        }

        /**
         * Lists the properties of the device's PCIe link, speed and width, that are below its capability.
         *
         * @return one sentence each, with the command that shows it and the cure; empty if there are none, or they are
         *     unknown
         */
        public List<String> belowCapability() {
            return NodeComparison.belowCapability(this);
        }
    }

    /**
     * A difference between nodes.
     *
     * @param what the property, for example {@code MTU}
     * @param rail the rail on which it differs; empty for the hosts themselves, and for nodes without rails
     * @param kind the kind of the nodes that were compared: driver and board; empty if all nodes are of one kind, or were compared
     *     regardless of it
     * @param values the nodes that have each value, by the value; the value that most nodes have is the first
     * @param separates whether nodes that differ in it can't talk to each other
     * @param text one sentence
     * @param odd the first node without the majority's value
     * @param show the command that shows the value on that node
     * @param cure the cure on that node
     */
    public record Difference(
            String what,
            String rail,
            String kind,
            Map<String, List<String>> values,
            boolean separates,
            String text,
            String odd,
            String show,
            String cure) {}

    /**
     * Values that some nodes do not report, but others of their kind do. They do not count as differences.
     *
     * @param rail the rail; empty for the hosts themselves, and for nodes without rails
     * @param nodes the nodes that do not report them
     * @param what the missing properties, for example {@code firmware}
     * @param text one sentence
     */
    public record Unknown(String rail, List<String> nodes, List<String> what, String text) {}

    /**
     * Compares the nodes with each other: their devices with those of the same driver and board on the same rail, and
     * their hosts with those that have the same devices. GID type, MTU, driver and board are compared among all nodes.
     * Nodes with an unknown value are left out.
     *
     * @param results the results of the nodes
     * @return the differences; empty if there are none
     */
    public static List<Difference> differences(List<Result> results) {
        return new NodeComparison(results).differences();
    }

    /**
     * Lists the values that some nodes do not report, and others of their kind do.
     *
     * @param results the results of the nodes
     * @return empty if there are none
     */
    public static List<Unknown> unknown(List<Result> results) {
        return new NodeComparison(results).unknown();
    }

    /**
     * Writes a fabric file that promises the majority's values: rate, MTU and GID type of each rail and kind of node.
     * Comments have the other values of the majority. A value without a majority adds no promise.
     *
     * @param fabric the fabric
     * @param results the results of its nodes
     * @return the text of the file; empty if no device of any node was found
     */
    public static Optional<String> pinned(Fabric fabric, List<Result> results) {
        return results.stream().allMatch(result -> result.places().isEmpty())
                ? Optional.empty()
                : Optional.of(new FabricWriter(fabric, new NodeComparison(results)).text());
    }

    /**
     * The result of a node.
     *
     * @param node the node
     * @param host the properties of its host: host, kernel, java, rdma-core, memlock (the limit of locked memory,
     *     ulimit -l, in KiB or unlimited); empty if it did not answer; an unknown value is empty
     * @param machine the boot of its host's kernel and its network namespace; empty if unknown
     * @param places the devices, in the order of the rails
     * @param problems the problems; empty if the node can be used
     * @param notes the checks that were left out, and why
     */
    public record Result(
            Node node,
            Map<String, String> host,
            String machine,
            List<Place> places,
            List<Problem> problems,
            List<String> notes) {

        /** Creates the result of a node whose machine is unknown. */
        public Result(
                Node node, Map<String, String> host, List<Place> places, List<Problem> problems, List<String> notes) {
            this(node, host, "", places, problems, notes);
        }

        private Result with(List<Problem> all) {
            return new Result(node, host, machine, places, all, notes);
        }

        /**
         * Returns what keeps the node from being used: it is not reached, not ready, or the same machine as another node.
         *
         * @return {@code node b: its launch command ...}; empty if it can be used
         */
        public Optional<String> unusable() {
            return problems.stream()
                    .filter(problem -> switch (problem.kind()) {
                        case UNREACHABLE, NOT_READY, DUPLICATE -> true;
                        case NO_ROUTE, BROKEN_PROMISE -> false;
                    })
                    .findFirst()
                    .map(problem -> "node " + node.name() + ": " + problem.text());
        }

        /** Copies the lists. */
        public Result {
            host = Collections.unmodifiableMap(new LinkedHashMap<>(host));
            places = List.copyOf(places);
            problems = List.copyOf(problems);
            notes = List.copyOf(notes);
        }
    }

    private final Fabric fabric;
    private final List<Node> nodes;
    private final Duration timeout;
    private final BooleanSupplier cancelled;

    private FabricCheck(Fabric fabric, List<Node> nodes, Duration timeout, BooleanSupplier cancelled) {
        this.fabric = fabric;
        this.nodes = List.copyOf(nodes);
        this.timeout = timeout;
        this.cancelled = cancelled;
    }

    /**
     * Checks every node.
     *
     * @param fabric the fabric
     * @param timeout the limit for each launched node's answer
     * @param cancelled returns whether to cancel
     * @return one result per node, in the file's order
     * @throws CancellationException if {@code cancelled} returned true
     * @throws InterruptedException if the thread was interrupted
     */
    public static List<Result> run(Fabric fabric, Duration timeout, BooleanSupplier cancelled)
            throws InterruptedException {
        return run(fabric, fabric.nodes(), timeout, cancelled);
    }

    /**
     * Checks some nodes of a fabric.
     *
     * @param fabric the fabric
     * @param nodes nodes of it, at least one
     * @param timeout the limit for each launched node's answer
     * @param cancelled returns whether to cancel
     * @return one result per node, in the order of {@code nodes}
     * @throws CancellationException if {@code cancelled} returned true
     * @throws InterruptedException if the thread was interrupted
     */
    public static List<Result> run(Fabric fabric, List<Node> nodes, Duration timeout, BooleanSupplier cancelled)
            throws InterruptedException {
        List<Result> results = new FabricCheck(fabric, nodes, timeout, cancelled).results(true);
        if (cancelled.getAsBoolean()) {
            throw new CancellationException("cancelled before every node was checked");
        }
        return results;
    }

    /**
     * Asks some nodes of a fabric for their devices and settings. Does not check whether their addresses can be reached.
     *
     * @param fabric the fabric
     * @param nodes nodes of it, at least one
     * @param timeout the limit for each launched node's answer
     * @param cancelled returns whether to cancel: nodes that have not answered by then are {@link Kind#UNREACHABLE}
     * @return one result per node, in the order of {@code nodes}
     * @throws InterruptedException if the thread was interrupted
     */
    public static List<Result> ask(Fabric fabric, List<Node> nodes, Duration timeout, BooleanSupplier cancelled)
            throws InterruptedException {
        return new FabricCheck(fabric, nodes, timeout, cancelled).results(false);
    }

    private List<Result> results(boolean tryAddresses) throws InterruptedException {
        if (fabric.microvms() > 0 && Fabric.machine().isEmpty()) {
            String text = "the fabric is made of the project's virtual machines, and this JVM does not run in one:"
                    + " ./rdmatest and ./qualify start them unless RDMA_VM=never; other programs are started by"
                    + " fabric-config/rdma-jdk/bin/in-vm --nodes " + fabric.microvms();
            return nodes.stream()
                    .map(node -> new Result(
                            node, Map.of(), List.of(), List.of(new Problem(Kind.NOT_READY, text)), List.of()))
                    .toList();
        }
        Result local = tryAddresses || nodes.contains(fabric.local()) ? local(fabric.local()) : null;
        boolean connects = tryAddresses && EventChannel.unusable().isEmpty();
        List<Result> results = new ArrayList<>();
        // In parallel: otherwise the waits for many unreachable hosts would add up.
        try (ExecutorService workers = Executors.newFixedThreadPool(Math.min(AT_ONCE, nodes.size()), work -> {
            Thread thread = new Thread(work, "rdmatest-check");
            thread.setDaemon(true);
            return thread;
        })) {
            List<Future<Result>> running = nodes.stream()
                    .map(node -> workers.submit(() -> {
                        Result result = local != null && node.equals(fabric.local())
                                ? local
                                : node.isLocal() ? local(node) : launched(node);
                        return local != null && connects ? reached(result, local) : result;
                    }))
                    .toList();
            for (Future<Result> each : running) {
                results.add(of(each));
            }
        }
        return withDuplicates(results);
    }

    /**
     * Adds a problem to each node that is a node before it, too: it has the same port of the same machine in the same network
     * namespace, or the same GID. Containers and network namespaces of one machine are nodes of their own if their devices or GIDs
     * differ.
     */
    static List<Result> withDuplicates(List<Result> results) {
        List<Result> told = new ArrayList<>();
        Map<String, String> ports = new HashMap<>();
        Map<String, String> gids = new HashMap<>();
        for (Result result : results) {
            List<Problem> problems = new ArrayList<>(result.problems());
            String name = result.node().name();
            for (Place place : result.places()) {
                String machine = result.machine();
                String port = place.device() + "/" + place.port();
                String onPort =
                        machine.isEmpty() ? null : ports.putIfAbsent(place.rail() + " " + machine + " " + port, name);
                String onGid = gids.putIfAbsent(place.rail() + " " + place.gid(), name);
                String text = onPort != null
                        ? "it is the same machine as node " + onPort + ", "
                                + result.host().get("host") + ", with the same " + port
                                + ": a pair of them measures one device; to do: correct the launch of one, or remove"
                                + " it from the file"
                        : onGid != null
                                ? "its GID " + place.gid() + " is also that of node " + onGid
                                        + ": a pair of them connects to itself; to do: if they are one machine,"
                                        + " correct the launch of one, otherwise its address"
                                : null;
                if (text != null) {
                    problems.add(new Problem(Kind.DUPLICATE, Rail.prefix(place.rail()) + text));
                }
            }
            told.add(result.with(problems));
        }
        return List.copyOf(told);
    }

    private static Result of(Future<Result> running) throws InterruptedException {
        try {
            return running.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("a node could not be checked", e.getCause());
        }
    }

    private Result local(Node node) throws InterruptedException {
        NodeProbe probe = null;
        List<Place> places = new ArrayList<>();
        List<Problem> problems = new ArrayList<>();
        Map<String, String> host = new LinkedHashMap<>();
        for (Rail rail : node.rails()) {
            try {
                FabricDevice found = new NodePort(node, rail).resolve();
                // Only now: a host without the device needs no shell.
                probe = probe == null ? NodeProbe.askHere(node, timeout, cancelled) : probe;
                host.putIfAbsent("host", found.environment().getOrDefault("host", ""));
                host.putIfAbsent("kernel", "Linux " + found.environment().getOrDefault("kernel", ""));
                host.putIfAbsent("java", Runtime.version().toString());
                host.putIfAbsent("rdma-core", known(found.environment().getOrDefault("rdma-core", "")));
                host.putIfAbsent("memlock", NodeComparison.memlockHere());
                places.add(new Place(
                        rail.name(),
                        found.device().name(),
                        found.port(),
                        found.gid().index(),
                        found.gid().gid(),
                        found.gid().type(),
                        found.address(),
                        found.portAttributes().rateGbps(),
                        found.portAttributes().activeMtu().bytes(),
                        known(found.device().driver()),
                        found.device().firmware(),
                        probe.settings(
                                found.device().name(), found.port(), found.gid().index())));
                try (DeviceContext context = found.open()) {
                    rail.promises()
                            .brokenBy(
                                    context.capabilities(),
                                    context.port(found.port()),
                                    found.gid().type())
                            .forEach(text -> problems.add(brokenPromise(rail, text)));
                }
            } catch (FabricException | RdmaException e) {
                problems.add(new Problem(Kind.NOT_READY, rail.say(String.valueOf(e.getMessage()))));
            }
        }
        // Without it every address would seem not to be reached.
        EventChannel.unusable().ifPresent(text -> problems.add(new Problem(Kind.NOT_READY, text)));
        return new Result(node, host, probe == null ? "" : probe.machine(), places, problems, notes(node, List.of()));
    }

    private static String known(String value) {
        return value.equals("unknown") ? "" : value;
    }

    private Result launched(Node node) throws InterruptedException {
        NodeProbe probe = NodeProbe.ask(node, timeout, cancelled);
        List<Problem> problems = new ArrayList<>(probe.problems());
        List<Place> places = new ArrayList<>();
        List<String> unknown = new ArrayList<>();
        if (probe.answered()) {
            probe.managerNotLoaded().ifPresent(unknown::add);
            for (Rail rail : node.rails()) {
                try {
                    Place place = probe.place(rail);
                    places.add(place);
                    rail.promises()
                            .brokenBy(place.rateGbps(), place.mtu(), place.gidType())
                            .forEach(text -> problems.add(brokenPromise(rail, text)));
                    if (rail.promises().mtu() > 0 && place.mtu() == 0) {
                        unknown.add(rail.say("the promised MTU: ibv_devinfo is not installed there"));
                    }
                } catch (FabricException e) {
                    problems.add(new Problem(Kind.NOT_READY, rail.say(String.valueOf(e.getMessage()))));
                }
            }
            if (node.rails().stream()
                    .anyMatch(rail -> !rail.promises().capabilities().isEmpty())) {
                unknown.add("the promised capabilities: a shell can't ask the device for them, a test does");
            }
        }
        return new Result(node, probe.host(), probe.machine(), places, problems, notes(node, unknown));
    }

    private static List<String> notes(Node node, List<String> unknown) {
        List<String> notes = new ArrayList<>(unknown);
        if (node.rails().stream().anyMatch(rail -> rail.promises().lossless())) {
            notes.add("the promise to be lossless: that shows under traffic, in the error counters of the tests");
        }
        return notes;
    }

    private static Problem brokenPromise(Rail rail, String text) {
        return new Problem(
                Kind.BROKEN_PROMISE,
                rail.say(text + "; correct the file if that is as it should be, or the port, cable or switch"));
    }

    /** Adds a problem for each address of the node that this host's device does not reach. */
    private Result reached(Result result, Result local) {
        List<Problem> problems = new ArrayList<>(result.problems());
        for (Rail rail : result.node().rails()) {
            Place from = place(local, rail);
            Place found = place(result, rail);
            InetAddress to = found != null ? found.address() : rail.address();
            // If an address was not found on its own host, this host does not look for it. If the host did not answer,
            // this host does.
            boolean known =
                    found != null || result.problems().stream().anyMatch(problem -> problem.kind() == Kind.UNREACHABLE);
            if (from != null && to != null && known && !to.isLinkLocalAddress() && !cancelled.getAsBoolean()) {
                String why = unreached(from, to);
                if (why != null) {
                    problems.add(new Problem(Kind.NO_ROUTE, rail.say(why)));
                }
            }
        }
        return result.with(problems);
    }

    private static @Nullable Place place(Result result, Rail rail) {
        return result.places().stream()
                .filter(place -> place.rail().equals(rail.name()))
                .findFirst()
                .orElse(null);
    }

    /** Resolves the address and route by rdma_cm, as each connection does; null on success. */
    private static @Nullable String unreached(Place from, InetAddress to) {
        String way = "its address " + to.getHostAddress() + " is not reached from this host's " + from.device() + "/"
                + from.port() + " (" + from.address().getHostAddress() + "): ";
        if (from.address() instanceof Inet4Address != to instanceof Inet4Address) {
            return way + "one is IPv4 and the other IPv6; give both nodes a gid of the same family, or addresses of it";
        }
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.resolveAddress(from.address(), new InetSocketAddress(to, PORT), REACH);
            id.resolveRoute(REACH);
            return null;
        } catch (RdmaTimeoutException | UnexpectedCmEventException | RdmaException e) {
            return way + firstLine(e)
                    + "; to do: check the address, that the host is up, and that both are on one network"
                    + " (ip route get, ping)";
        }
    }

    private static String firstLine(RuntimeException e) {
        return String.valueOf(e.getMessage()).lines().findFirst().orElse("");
    }
}
