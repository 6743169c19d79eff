package io.rdmatest.junit.engine;

import io.rdmatest.NativeLibraryException;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.NodePort;
import io.rdmatest.junit.DeviceTransport;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.DeviceCapabilities;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.Transport;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;

/** A device that tests of a run are on: found once, opened once, kept to the run's end. */
public final class RunDevice {

    /** What was asked for; fabric, rail and device are those of the configuration. */
    private record Request(String fabric, String rail, String device, Selection selection) {}

    /** A device that was found before, in a fabric that the configuration of the test names. */
    private record Resolved(Request request, String device, int port, int gidIndex) {}

    private record ContextOf(String device) {}

    /** Not to be closed here: the one of librdmacm is shared by all runs of a JVM, and closed with the last id on it. */
    private record Opened(DeviceContext context) {}

    private final Life run;
    private final @Nullable Fabric fabric;
    private final @Nullable FabricDevice device;
    private final @Nullable RuntimeException failure;

    private RunDevice(Life run, Fabric fabric, FabricDevice device) {
        this.run = run;
        this.fabric = fabric;
        this.device = device;
        this.failure = null;
    }

    private RunDevice(Life run, Request request) {
        this.run = run;
        Fabric selected = null;
        FabricDevice resolved = null;
        RuntimeException problem = null;
        try {
            selected = fabric(request);
            resolved = port(selected, request).resolve();
        } catch (FabricException | RdmaException e) {
            problem = e;
        }
        this.fabric = selected;
        this.device = resolved;
        this.failure = problem;
    }

    private static Fabric fabric(Request request) {
        return Fabric.load(request.fabric(), request.rail(), request.device());
    }

    private static NodePort port(Fabric fabric, Request request) {
        String name = request.selection().name();
        return switch (request.selection().kind()) {
            case RUN -> fabric.local().port();
            case DEVICE -> portOf(fabric, name);
            case NODE -> fabric.nodeNamed(name).port();
        };
    }

    /** What the fabric's file says about the device holds wherever the device is meant. */
    private static NodePort portOf(Fabric fabric, String name) {
        List<Node> local = fabric.nodes().stream().filter(Node::isLocal).toList();
        return Stream.concat(local.stream().map(Node::port), local.stream().flatMap(node -> node.ports().stream()))
                .filter(port -> port.rail().device().equals(name))
                .findFirst()
                .orElseGet(() -> fabric.localOn(name).port());
    }

    /**
     * Returns the device of a test or class: what the sources of the invocation chose, else the nearest annotation, else the
     * builder, else the configuration.
     */
    public static RunDevice of(ExtensionContext context) {
        FabricDevice chosen = Choice.of(context).device();
        return chosen == null
                ? of(
                        context,
                        annotation(context).orElseGet(() -> Settings.of(context).selection()))
                : of(context, chosen);
    }

    public static RunDevice of(ExtensionContext context, Selection selection) {
        Life run = Life.ofRun(context);
        Request request = request(context, selection);
        return run.provide(request, RunDevice.class, () -> new RunDevice(run, request));
    }

    private static Request request(ExtensionContext context, Selection selection) {
        Configuration configuration = Configuration.of(context);
        return new Request(
                configuration.value(FabricConfiguration.FABRIC).orElse(FabricConfiguration.DEFAULT_FABRIC),
                configuration.value(FabricConfiguration.RAIL).orElse(""),
                configuration.value(FabricConfiguration.DEVICE).orElse(""),
                selection);
    }

    public static RunDevice of(ExtensionContext context, FabricDevice device) {
        Life run = Life.ofRun(context);
        Request request = request(context, Selection.OF_RUN);
        Resolved key = new Resolved(
                request, device.device().name(), device.port(), device.gid().index());
        return run.provide(key, RunDevice.class, () -> new RunDevice(run, fabric(request), device));
    }

    /** Returns the device that a parameter or field is to be of, or throws what is wrong with the annotation that says so. */
    public static RunDevice of(Site site, ExtensionContext context) {
        Optional<Selection> own = Selection.on(site.element());
        if (own.isEmpty() && !site.executable().equals(context.getTestMethod())) {
            own = site.executable().flatMap(Selection::on);
        }
        if (own.isEmpty()) {
            return of(context);
        }
        RunDevice selected = of(context, own.get());
        selected.failure().ifPresent(problem -> {
            throw new ParameterResolutionException(
                    selectionOf(context, site) + " on " + site.where() + ": " + problem.getMessage(), problem);
        });
        return selected;
    }

    private static Selection selectionOf(ExtensionContext context, Site site) {
        return Selection.on(site.element())
                .or(() -> site.executable().flatMap(Selection::on))
                .or(() -> annotation(context))
                .orElse(Selection.OF_RUN);
    }

    private static Optional<Selection> annotation(ExtensionContext context) {
        Optional<Selection> found = Optional.empty();
        for (Optional<ExtensionContext> current = Optional.of(context);
                found.isEmpty() && current.isPresent();
                current = current.get().getParent()) {
            found = current.get().getElement().flatMap(Selection::on);
        }
        return found;
    }

    /** Fails a test whose annotations name a device that is not there, by the annotation's name. */
    static void checkAnnotation(ExtensionContext context) {
        annotation(context)
                .ifPresent(selection -> of(context, selection).failure().ifPresent(problem -> {
                    throw new ExtensionConfigurationException(
                            selection + " for " + context.getDisplayName() + ": " + problem.getMessage(), problem);
                }));
    }

    /** Returns all devices of this host that can be used, and why the others can't be, by name. */
    public static Map<String, RunDevice> all(ExtensionContext context) {
        Map<String, RunDevice> devices = new LinkedHashMap<>();
        for (RdmaDevice device : RdmaDevice.list()) {
            devices.put(device.name(), of(context, Selection.device(device.name())));
        }
        return devices;
    }

    /** Returns this device with each GID of its port that is in use in this network namespace. */
    public List<FabricDevice> withEachGid() {
        FabricDevice base = require();
        List<FabricDevice> devices = new ArrayList<>();
        for (GidEntry entry : context().gidTable(base.port())) {
            if (!entry.gid().isZero() && base.isUsable(entry)) {
                devices.add(new NodePort(base.node(), base.rail())
                        .onPort(name(), base.port())
                        .onGid(entry.index())
                        .resolve());
            }
        }
        return devices;
    }

    /** Returns why the run has no device, if this host has none at all; empty for a device that is named wrongly. */
    Optional<RuntimeException> absence() {
        return failure().filter(problem -> problem instanceof NativeLibraryException || listIsEmpty());
    }

    private static boolean listIsEmpty() {
        try {
            return RdmaDevice.list().isEmpty();
        } catch (RdmaException e) {
            return false;
        }
    }

    /** Returns why there is no such device; empty if there is. */
    public Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure);
    }

    /** Returns the device, or throws why there is none: once per test, with the stack of this test. */
    public FabricDevice require() {
        if (device == null) {
            RuntimeException problem = failure == null ? new FabricException("there is no device") : failure;
            // Where there are devices, the problem's own message says what is wrong with the choice.
            String waysOut = absence().isEmpty()
                    ? ""
                    : System.lineSeparator() + "Run in the project's soft-RoCE machine"
                            + " (-Djvm=fabric-config/rdma-jdk/bin/java), select a device with -D"
                            + FabricConfiguration.DEVICE + "=name, or let the tests be skipped with -D"
                            + RdmaConfiguration.SKIP_WITHOUT_DEVICE + "=true";
            throw new FabricException(problem.getMessage() + waysOut);
        }
        return device;
    }

    /**
     * Returns the context on which everything of a run is built that is on this device. It is the one that librdmacm opened
     * for the device, which an id bound to the device's address keeps open: queue pairs that rdma_cm makes accept no
     * protection domain of another. A device that rdma_cm does not know by its address has a context of its own.
     */
    DeviceContext context() {
        FabricDevice required = require();
        return run.provide(new ContextOf(name()), Opened.class, () -> {
                    record AnchorChannel() {}
                    record Anchor(String device) {}
                    EventChannel channel = run.provide(new AnchorChannel(), EventChannel.class, EventChannel::create);
                    CmId anchor = run.provide(new Anchor(name()), CmId.class, () -> channel.createId(PortSpace.TCP));
                    try {
                        anchor.bind(new InetSocketAddress(required.address(), 0));
                    } catch (RdmaException e) {
                        return own(required);
                    }
                    DeviceContext context = anchor.context();
                    // Several devices may be on one network interface; rdma_cm takes the first.
                    return context.deviceName().equals(name()) ? new Opened(context) : own(required);
                })
                .context();
    }

    private Opened own(FabricDevice required) {
        record Own(String device) {}
        return new Opened(run.provide(new Own(name()), DeviceContext.class, required::open));
    }

    /** Returns the fabric that the device is of, also where it has no such device. */
    public Fabric fabric() {
        if (fabric != null) {
            return fabric;
        }
        throw Objects.requireNonNull(failure);
    }

    public String name() {
        return require().device().name();
    }

    int port() {
        return require().port();
    }

    public String driver() {
        return require().device().driver();
    }

    DeviceAttributes attributes() {
        return context().attributes();
    }

    /** Returns what the device can do, found out once per run. */
    public DeviceCapabilities capabilities() {
        record Key(String device) {}
        return run.provide(
                new Key(name()), DeviceCapabilities.class, () -> context().capabilities());
    }

    /** Returns how many bytes a reliable connection can send inline, tried out once per run. */
    public int maxInline() {
        record Key(String device) {}
        return run.provide(new Key(name()), Integer.class, () -> context().probeMaxInline(QpType.RC));
    }

    Release kernel() {
        return Release.leading(System.getProperty("os.version", ""));
    }

    Release rdmaCore() {
        return Release.leading(environment().getOrDefault("rdma-core", ""));
    }

    public PortAttributes portAttributes() {
        return context().port(port());
    }

    public GidType gidType() {
        return require().gid().type();
    }

    public DeviceTransport transport() {
        Transport transport = require().device().transport();
        LinkLayer linkLayer = portAttributes().linkLayer();
        if (transport == Transport.IWARP) {
            return DeviceTransport.IWARP;
        }
        if (transport != Transport.IB) {
            return DeviceTransport.OTHER;
        }
        if (linkLayer != LinkLayer.ETHERNET) {
            return DeviceTransport.INFINIBAND;
        }
        return switch (gidType()) {
            case ROCE_V1 -> DeviceTransport.ROCE_V1;
            case ROCE_V2 -> DeviceTransport.ROCE_V2;
            default -> DeviceTransport.ROCE;
        };
    }

    Map<String, String> environment() {
        Map<String, String> facts = new LinkedHashMap<>(require().environment());
        facts.values().removeIf(String::isBlank);
        return facts;
    }
}
