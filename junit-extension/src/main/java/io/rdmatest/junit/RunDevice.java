package io.rdmatest.junit;

import io.rdmatest.NativeLibraryException;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.verbs.DeviceAttributes;
import io.rdmatest.verbs.DeviceCapabilities;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.Transport;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The device that a run is on: found once, opened once, kept to the run's end. */
final class RunDevice {

    private final Life run;
    private final @Nullable Fabric fabric;
    private final @Nullable FabricDevice device;
    private final @Nullable RuntimeException failure;

    private RunDevice(Life run, Configuration configuration) {
        this.run = run;
        Fabric selected = null;
        FabricDevice resolved = null;
        RuntimeException problem = null;
        try {
            selected = Fabric.load(
                    configuration.value(FabricConfiguration.FABRIC).orElse(FabricConfiguration.DEFAULT_FABRIC));
            Optional<String> override = configuration.value(FabricConfiguration.DEVICE);
            if (override.isPresent()) {
                selected = selected.withDevice(override.get());
            }
            resolved = selected.local().resolve();
        } catch (FabricException | RdmaException e) {
            problem = e;
        }
        this.fabric = selected;
        this.device = resolved;
        this.failure = problem;
    }

    static RunDevice of(ExtensionContext context) {
        Life run = Life.ofRun(context);
        return run.provide(RunDevice.class, RunDevice.class, () -> new RunDevice(run, Configuration.of(context)));
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

    /** Returns why the run has no device; empty if it has one. */
    Optional<RuntimeException> failure() {
        return Optional.ofNullable(failure);
    }

    /** Returns the device, or throws why there is none: once per test, with the stack of this test. */
    FabricDevice require() {
        if (device == null) {
            RuntimeException problem = failure == null ? new FabricException("there is no device") : failure;
            throw new FabricException(problem.getMessage() + System.lineSeparator() + "Run in the project's soft-RoCE"
                    + " machine (-Djvm=fabric-config/rdma-jdk/bin/java), select a device with -D"
                    + FabricConfiguration.DEVICE + "=name, or let the tests be skipped with -D"
                    + RdmaConfiguration.SKIP_WITHOUT_DEVICE + "=true");
        }
        return device;
    }

    /**
     * Returns the context on which everything of a run is built. It is the one that librdmacm opened for the device, which
     * an id bound to the device's address keeps open: queue pairs that rdma_cm makes accept no protection domain of
     * another. A device that
     * rdma_cm does not know by its address has a context of its own.
     */
    DeviceContext context() {
        FabricDevice required = require();
        return run.provide(DeviceContext.class, DeviceContext.class, () -> {
            record AnchorChannel() {}
            record Anchor() {}
            EventChannel channel = run.provide(AnchorChannel.class, EventChannel.class, EventChannel::create);
            CmId anchor = run.provide(Anchor.class, CmId.class, () -> channel.createId(PortSpace.TCP));
            try {
                anchor.bind(new InetSocketAddress(required.address(), 0));
            } catch (RdmaException e) {
                return required.open();
            }
            return anchor.context();
        });
    }

    /** Returns the fabric that the device is of. */
    Fabric fabric() {
        FabricDevice ignored = require();
        return Objects.requireNonNull(fabric);
    }

    String name() {
        return require().device().name();
    }

    int port() {
        return require().port();
    }

    String driver() {
        return require().device().driver();
    }

    DeviceAttributes attributes() {
        return context().attributes();
    }

    /** Returns what the device can do, found out once per run. */
    DeviceCapabilities capabilities() {
        record Key(String device) {}
        return run.provide(
                new Key(name()), DeviceCapabilities.class, () -> context().capabilities());
    }

    /** Returns how many bytes a reliable connection can send inline, tried out once per run. */
    int maxInline() {
        record Key(String device) {}
        return run.provide(new Key(name()), Integer.class, () -> context().probeMaxInline(QpType.RC));
    }

    /** Returns what a known deviation can depend on. */
    Deviation.Platform platform() {
        return new Deviation.Platform(
                driver(),
                Release.leading(System.getProperty("os.version", "")),
                Release.leading(environment().getOrDefault("rdma-core", "")));
    }

    PortAttributes portAttributes() {
        return context().port(port());
    }

    GidType gidType() {
        return require().gid().type();
    }

    DeviceTransport transport() {
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
