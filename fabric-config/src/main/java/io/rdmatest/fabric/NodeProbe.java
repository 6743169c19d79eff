package io.rdmatest.fabric;

import io.rdmatest.fabric.FabricCheck.Kind;
import io.rdmatest.fabric.FabricCheck.Place;
import io.rdmatest.fabric.FabricCheck.Problem;
import io.rdmatest.peer.NodeJava;
import io.rdmatest.peer.PosixShell;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.PortState;
import io.rdmatest.verbs.Transport;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Asks a launched node for its properties by the script {@code probe.sh}, and judges the answer. */
final class NodeProbe {

    private static final String LINE = "rdmatest-probe ";
    private static final Pattern VERSION = Pattern.compile("version \"(\\d+)[^\"]*\"");
    private static final int LAST_LINES = 3;

    /**
     * rdma-core has no call that returns its release. The last two numbers of the library's full name are the release.
     */
    private static final Pattern RDMA_CORE = Pattern.compile("librdmacm\\.so\\.\\d+\\.\\d+\\.(\\d+\\.\\d+)");

    /** The kernel's default limit since 5.16. The earlier limit of 64 KiB is too small for almost any queue. */
    private static final long LEAST_MEMLOCK_KIB = 8192;

    /** The cures for error messages of launch commands, mostly those of ssh(1). */
    private static final Map<Pattern, String> CURES = new LinkedHashMap<>();

    static {
        // This pattern comes first, because the message also repeats the system's error text.
        cure("was it started with --nodes", "start the machines by in-vm --nodes N");
        cure(
                "Permission denied \\(|Permission denied, please try again|Too many authentication failures",
                "let this host's user log in there: ssh-copy-id, or another user or key (-i) in launch");
        cure(
                "Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED",
                "the key of that host is not known here, or another one than before: log in once by hand and check it");
        cure(
                "Could not resolve hostname|Name or service not known|name resolution",
                "the host's name is not known here: check its spelling, DNS and /etc/hosts");
        cure("Connection refused", "nobody listens there: start sshd, or give its port in launch (-p)");
        cure(
                "timed out|No route to host|Network is unreachable|Host is down",
                "the host is off, or its address or a firewall is in the way: check it by ping");
    }

    private static void cure(String symptom, String cure) {
        CURES.put(Pattern.compile(symptom), cure);
    }

    private final Node node;
    private final List<Problem> problems = new ArrayList<>();
    private final Map<String, String> host = new LinkedHashMap<>();
    private final Map<String, String> drivers = new HashMap<>();
    private final Map<String, Transport> transports = new HashMap<>();
    private final Map<String, String> forbidden = new HashMap<>();
    private final List<PortSelector.Port> ports = new ArrayList<>();
    private final Map<String, List<GidEntry>> gids = new HashMap<>();
    private final Map<String, String> firmwares = new HashMap<>();
    private final Map<String, Double> rates = new HashMap<>();
    private final Map<String, Integer> mtus = new HashMap<>();
    private final Map<String, List<String>> interfaces = new HashMap<>();
    private final Map<String, List<InetAddress>> addresses = new LinkedHashMap<>();
    private final Map<String, Integer> links = new LinkedHashMap<>();
    private final Map<GidEntry, String> interfacesOfGids = new HashMap<>();
    private final NodeSettings settings = new NodeSettings();
    private String machine = "";
    private String manager = "";
    private boolean answered;

    private NodeProbe(Node node) {
        this.node = node;
    }

    /** Asks a node. */
    static NodeProbe ask(Node node, Duration timeout, BooleanSupplier cancelled) throws InterruptedException {
        NodeProbe probe = new NodeProbe(node);
        try {
            probe.judge(LaunchedCommand.run(node.launch(), script(node), timeout, cancelled), timeout);
        } catch (IOException e) {
            throw new UncheckedIOException("the folder for temporary files can't be used", e);
        }
        return probe;
    }

    /**
     * Asks this host for properties of its devices that libibverbs does not report. Without a shell, they stay unknown.
     */
    static NodeProbe askHere(Node node, Duration timeout, BooleanSupplier cancelled) throws InterruptedException {
        NodeProbe probe = new NodeProbe(node);
        try {
            List<String> lines = lines(LaunchedCommand.run(List.of(), script(node), timeout, cancelled));
            probe.answered = lines.contains("end");
            if (probe.answered) {
                probe.read(lines);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("the folder for temporary files can't be used", e);
        }
        return probe;
    }

    private static String script(Node node) {
        StringBuilder script = new StringBuilder();
        node.environment()
                .forEach((name, value) -> script.append("export ")
                        .append(name)
                        .append('=')
                        .append(PosixShell.quote(value))
                        .append('\n'));
        script.append("LC_ALL=C\nexport LC_ALL\n");
        if (node.isLocal()) {
            script.append("java= looked= seen=\n");
        } else {
            boolean any = node.java().equals(Node.DEFAULT_JAVA);
            script.append(NodeJava.finder())
                    .append(any ? "find_java ''" : "java=" + PosixShell.quote(node.java()))
                    .append('\n');
        }
        try (InputStream probe = Objects.requireNonNull(NodeProbe.class.getResourceAsStream("probe.sh"), "probe.sh")) {
            return script + new String(probe.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException("the script that asks a node can't be read", e);
        }
    }

    /** Returns whether the node's shell reached the end of the script. */
    boolean answered() {
        return answered;
    }

    /** Returns the problems of the connection to the node and of its host. */
    List<Problem> problems() {
        return problems;
    }

    /** Returns the properties of the host, as it reported them. */
    Map<String, String> host() {
        return host;
    }

    /** Returns what tells its machine and network namespace from all others; empty if unknown. */
    String machine() {
        return machine;
    }

    private static List<String> lines(LaunchedCommand.Answer answer) {
        return answer.out()
                .lines()
                // The shell may have written other text at the beginning of the line.
                .filter(line -> line.contains(LINE))
                .map(line -> line.substring(line.indexOf(LINE) + LINE.length()))
                .toList();
    }

    private void judge(LaunchedCommand.Answer answer, Duration timeout) {
        List<String> lines = lines(answer);
        answered = lines.contains("end");
        if (!answered) {
            problems.add(new Problem(Kind.UNREACHABLE, silence(answer, lines.contains("begin"), timeout)));
            return;
        }
        read(lines);
        judgeJava(lines);
        judgeMemlock(lines);
        judgeManager(lines);
        List<String> missing = Stream.of("librdmacm.so.1", "libibverbs.so.1")
                .filter(library -> !lines.contains("library " + library))
                .toList();
        if (!missing.isEmpty()) {
            notReady(String.join(" and ", missing)
                    + " not found there: install rdma-core's user-space libraries (Debian: librdmacm1 and"
                    + " ibverbs-providers; Fedora: librdmacm and libibverbs), or name their folder in the node's"
                    + " environment: LD_LIBRARY_PATH");
        }
    }

    /** Root usually has CAP_IPC_LOCK, and then no limit applies. */
    private void judgeMemlock(List<String> lines) {
        String memlock = value(lines, "memlock ");
        if (!value(lines, "user ").equals("0")
                && memlock.matches("\\d{1,18}")
                && Long.parseLong(memlock) < LEAST_MEMLOCK_KIB) {
            notReady("its user may lock " + memlock + " KiB of memory there (ulimit -l), and " + LEAST_MEMLOCK_KIB
                    + " KiB are needed at least; to do: raise memlock in /etc/security/limits.conf there, or for a"
                    + " service LimitMEMLOCK, and log in again");
        }
    }

    private void judgeManager(List<String> lines) {
        manager = value(lines, "no-manager ");
        if (manager.equals("container")) {
            notReady("the container there lacks /dev/infiniband/rdma_cm, which connections need: start it with --device"
                    + " /dev/infiniband/rdma_cm");
        }
    }

    /** Tells that the module of the connection manager is not loaded; empty if it is. The first connection loads it on a host. */
    Optional<String> managerNotLoaded() {
        return manager.equals("module")
                ? Optional.of(
                        "the connection manager: /dev/infiniband/rdma_cm is missing there, and Linux makes it at the"
                                + " first connection; if that fails, load the kernel module ('modprobe rdma_ucm' as root, for a"
                                + " container on its host)")
                : Optional.empty();
    }

    private void notReady(String text) {
        problems.add(new Problem(Kind.NOT_READY, text));
    }

    /** Returns the reason why there is no answer. */
    private String silence(LaunchedCommand.Answer answer, boolean begun, Duration timeout) {
        String command = "its launch command '" + String.join(" ", node.launch()) + "'";
        String program = node.launch().getFirst();
        String wrote = lastLines(answer.err(), answer.out());
        return switch (answer.end()) {
            case NOT_STARTED -> {
                if (errno(answer, 2)) {
                    yield command + ": there is no program '" + program + "' on this host"
                            + (program.contains("/") ? "" : "'s PATH")
                            + "; to do: install it, or correct its name";
                }
                if (errno(answer, 13)) {
                    yield command + ": '" + program + "' may not be executed; to do: chmod +x, or correct its name";
                }
                yield command + " can't be started: " + answer.err();
            }
            case TIMED_OUT ->
                command + " gave no answer within " + timeout.toMillis() / 1e3 + " s" + said(wrote)
                        + "; to do: check that the host is up, and that the command asks for nothing, such as a"
                        + " password (ssh -o BatchMode=yes says at once what is missing)";
            case FLOODED ->
                command + " writes without end" + said(wrote)
                        + "; to do: the launch command must run its arguments (here: sh) and write nothing of its own";
            case CANCELLED -> command + " was given up";
            case EXITED -> {
                String how = command + " ended with status " + answer.status()
                        + (begun ? " in the middle of the answer" : "") + said(wrote) + "; to do: ";
                yield how
                        + CURES.entrySet().stream()
                                .filter(entry -> entry.getKey().matcher(wrote).find())
                                .map(Map.Entry::getValue)
                                .findFirst()
                                .orElseGet(() -> switch (answer.status()) {
                                    case 127 -> "a command is not there: install it, or correct its name";
                                    case 126 -> "a command may not be executed: chmod +x, or correct its name";
                                    default ->
                                        "the launch command must run its arguments (here: sh) on the node and pass on standard"
                                                + " input and output";
                                });
            }
        };
    }

    /** The JDK reports the errno of exec(3) only in its message, in one of two forms. */
    private static boolean errno(LaunchedCommand.Answer answer, int errno) {
        return Pattern.compile("error[=:] ?" + errno + "\\b")
                .matcher(answer.err())
                .find();
    }

    private static String said(String wrote) {
        return wrote.isEmpty() ? ", and wrote nothing" : ", and wrote: " + wrote;
    }

    private static String lastLines(String err, String out) {
        List<String> lines = Stream.of(err, out)
                .flatMap(String::lines)
                .map(String::strip)
                .filter(line -> !line.isEmpty() && !line.startsWith(LINE.strip()))
                .toList();
        List<String> ofErr =
                err.lines().map(String::strip).filter(line -> !line.isEmpty()).toList();
        List<String> shown = ofErr.isEmpty() ? lines : ofErr;
        return shown.stream()
                .skip(Math.max(0, shown.size() - LAST_LINES))
                .map(line -> line.length() > 300 ? line.substring(0, 300) + " …" : line)
                .collect(Collectors.joining(" / "));
    }

    private void judgeJava(List<String> lines) {
        String path = value(lines, "java ");
        String cure = "; to do: install a JDK " + NodeJava.LEAST_VERSION + ", or name its java in the node's key java";
        if (path.isEmpty() && node.java().equals(Node.DEFAULT_JAVA)) {
            String seen = value(lines, "java-seen ").strip();
            notReady((seen.isEmpty()
                            ? "there is no java there, looked at " + value(lines, "java-looked ")
                            : "a java of version " + NodeJava.LEAST_VERSION + " or later is needed there, seen: "
                                    + seen)
                    + cure);
            return;
        }
        if (path.isEmpty()) {
            String unusable = value(lines, "java-unusable ");
            notReady((unusable.isEmpty()
                            ? "there is no program '" + node.java() + "' there"
                            : "'" + unusable + "' is there, but is no program that may be executed")
                    + cure);
            return;
        }
        List<String> says = lines.stream()
                .filter(line -> line.startsWith("java-says "))
                .map(line -> line.substring("java-says ".length()))
                .toList();
        Optional<Matcher> version =
                says.stream().map(VERSION::matcher).filter(Matcher::find).findFirst();
        if (version.isEmpty()) {
            notReady("'" + path + " -version' tells no version there" + said(String.join(" / ", says)) + cure);
            return;
        }
        String text = version.get().group().replaceAll("version |\"", "");
        host.put("java", text);
        if (Integer.parseInt(version.get().group(1)) < NodeJava.LEAST_VERSION) {
            notReady(path + " is Java " + text + " there, and " + NodeJava.LEAST_VERSION + " is needed" + cure);
        }
    }

    private static String value(List<String> lines, String key) {
        return lines.stream()
                .filter(line -> line.startsWith(key))
                .map(line -> line.substring(key.length()))
                .findFirst()
                .orElse("");
    }

    private void read(List<String> lines) {
        host.put("host", value(lines, "host "));
        host.put("kernel", value(lines, "kernel "));
        Matcher library = RDMA_CORE.matcher(value(lines, "rdma-core "));
        host.put("rdma-core", library.find() ? library.group(1) : "");
        host.put("memlock", value(lines, "memlock "));
        machine = value(lines, "machine ");
        // In the script's order: a GID follows its port.
        for (String line : lines) {
            String[] words = line.split(" ", 7);
            switch (words[0]) {
                case "device" -> {
                    drivers.put(words[1], words[2]);
                    // As the kernel numbers node types (enum rdma_node_type): the adapters of iWARP are its RNICs.
                    transports.put(words[1], words[3].equals("4") ? Transport.IWARP : Transport.IB);
                }
                case "firmware" -> firmwares.put(words[1], words[2]);
                case "no-access" -> forbidden.put(words[1], words[2]);
                case "port" -> {
                    List<GidEntry> ofPort = new ArrayList<>();
                    gids.put(words[1] + "/" + words[2], ofPort);
                    ports.add(new PortSelector.Port(
                            words[1],
                            drivers.getOrDefault(words[1], "unknown"),
                            transports.getOrDefault(words[1], Transport.UNKNOWN),
                            Integer.parseInt(words[2]),
                            named(PortState.values(), line.replaceFirst(".*: ", ""), PortState.UNKNOWN),
                            named(LinkLayer.values(), words[3], LinkLayer.UNKNOWN),
                            ofPort));
                }
                case "rate" -> number(words[3]).ifPresent(rate -> rates.put(words[1] + "/" + words[2], rate));
                case "mtu" -> number(words[3]).ifPresent(mtu -> mtus.put(words[1] + "/" + words[2], mtu.intValue()));
                case "gid" -> gid(words);
                case "interface" ->
                    interfaces
                            .computeIfAbsent(words[1] + "/" + words[2], port -> new ArrayList<>())
                            .add(words[3]);
                case "link" -> links.put(words[1], Integer.parseInt(words[2]));
                case "address" ->
                    addresses
                            .computeIfAbsent(words[1], name -> new ArrayList<>())
                            .add(InetAddress.ofLiteral(words[2]));
                default -> settings.read(line);
            }
        }
    }

    /** Returns a number; empty if the driver does not report it. */
    private static Optional<Double> number(String text) {
        return text.matches("\\d{1,9}(\\.\\d{1,9})?") ? Optional.of(Double.valueOf(text)) : Optional.empty();
    }

    private void gid(String[] words) {
        String port = words[1] + "/" + words[2];
        boolean roce = ports.getLast().hasAddressesAsGids();
        GidType type = words[6].equals("RoCE v2")
                ? GidType.ROCE_V2
                : !words[6].contains("RoCE v1") ? GidType.UNKNOWN : roce ? GidType.ROCE_V1 : GidType.IB;
        GidEntry entry = new GidEntry(
                Gid.parse(words[4]),
                Integer.parseInt(words[3]),
                Integer.parseInt(words[2]),
                type,
                links.getOrDefault(words[5], 0));
        gids.getOrDefault(port, new ArrayList<>()).add(entry);
        interfacesOfGids.put(entry, words[5]);
    }

    private static <E extends Enum<E>> E named(E[] values, String name, E otherwise) {
        return Stream.of(values)
                .filter(value -> value.name().equalsIgnoreCase(name))
                .findFirst()
                .orElse(otherwise);
    }

    private Optional<InetAddress> interfaceAddress(PortSelector.Port port) {
        return interfaces.getOrDefault(port.name(), List.of()).stream()
                .map(name -> addresses.getOrDefault(name, List.of()).stream()
                        .min(Comparator.comparingInt(address -> PortSelector.familyRank(Gid.of(address)))))
                .flatMap(Optional::stream)
                .findFirst();
    }

    private PortSelector.Presence presence(GidEntry entry) {
        String name = interfacesOfGids.getOrDefault(entry, "");
        InetAddress address = entry.gid().toInetAddress();
        boolean present = entry.gid().isLinkLocal() && addresses.containsKey(name)
                ? addresses.get(name).contains(address)
                : mayHave(address);
        return present
                ? PortSelector.Presence.ADDRESS
                : entry.gid().isLinkLocal() && links.containsKey(name)
                        ? PortSelector.Presence.INTERFACE
                        : PortSelector.Presence.ELSEWHERE;
    }

    private int interfaceIndex(Rail on, String scope) {
        Integer index = scope.matches("\\d{1,9}") ? Integer.valueOf(scope) : links.get(scope);
        if (links.isEmpty() || links.containsValue(index)) {
            return index == null ? 0 : index;
        }
        throw new FabricException("the address " + on.addressText() + " names the network interface " + scope
                + ", which is not there; seen: " + String.join(", ", links.keySet()));
    }

    /** Returns whether the host may have an address. Without ip(8) that is unknown, and the result is true. */
    private boolean mayHave(InetAddress address) {
        return addresses.isEmpty()
                || addresses.values().stream().anyMatch(ofInterface -> ofInterface.contains(address));
    }

    /**
     * Finds the device of one of the node's rails.
     *
     * @throws FabricException if the node does not have it
     */
    Place place(Rail on) {
        List<String> seen = new ArrayList<>();
        List<PortSelector.Port> usable = new ArrayList<>();
        for (PortSelector.Port port : ports) {
            String file = forbidden.get(port.device());
            if (file == null) {
                usable.add(port);
                seen.add(port.toString());
            } else {
                seen.add(port.device() + " (" + port.driver() + ", no permission for " + file
                        + ": its user needs to be root or in the file's group)");
            }
        }
        PortSelector.Choice choice = PortSelector.select(
                new NodePort(node, on),
                new PortSelector.Host(
                        "there",
                        PortSelector.LOAD_DRIVER + ", or " + PortSelector.MAKE_DEVICE,
                        usable,
                        seen,
                        this::interfaceAddress,
                        (port, gid) -> presence(gid),
                        scope -> interfaceIndex(on, scope)));
        InetAddress address = on.address();
        if (!choice.port().hasAddressesAsGids() && address != null && !mayHave(address)) {
            throw new FabricException("address " + address.getHostAddress()
                    + " is on no network interface there; seen: "
                    + addresses.values().stream()
                            .flatMap(List::stream)
                            .map(InetAddress::getHostAddress)
                            .collect(Collectors.joining(", ")));
        }
        String port = choice.port().name();
        return new Place(
                on.name(),
                choice.port().device(),
                choice.port().number(),
                choice.gid().index(),
                choice.gid().gid(),
                choice.gid().type(),
                choice.address(),
                rates.getOrDefault(port, 0.0),
                mtus.getOrDefault(port, 0),
                choice.port().driver().equals("unknown") ? "" : choice.port().driver(),
                firmwares.getOrDefault(choice.port().device(), ""),
                settings(
                        choice.port().device(),
                        choice.port().number(),
                        choice.gid().index()));
    }

    /**
     * Returns the settings of a device and of the network interface of one of its GIDs, as far as the host reports
     * them.
     */
    Map<String, String> settings(String device, int port, int gidIndex) {
        String name = device + "/" + port;
        String ofGid = gids.getOrDefault(name, List.of()).stream()
                .filter(entry -> entry.index() == gidIndex)
                .map(entry -> interfacesOfGids.getOrDefault(entry, "-"))
                .findFirst()
                .orElse("-");
        return settings.of(
                device,
                ofGid.equals("-")
                        ? interfaces.getOrDefault(name, List.of()).stream()
                                .findFirst()
                                .orElse("")
                        : ofGid);
    }
}
