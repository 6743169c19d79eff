package io.rdmatest.junit.engine;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionOptions;
import io.rdmatest.junit.ConnectionSpec;
import io.rdmatest.junit.OutOfRange;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.ResourceScope;
import io.rdmatest.junit.Scoped;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.lang.annotation.Annotation;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;

/** Provides the resource that one parameter or field asks for. */
public final class Provision {

    private static final Set<Class<?>> TYPES = Set.of(
            Fabric.class,
            FabricDevice.class,
            DeviceContext.class,
            ProtectionDomain.class,
            CompletionChannel.class,
            CompletionQueue.class,
            QueuePair.class,
            MemoryRegion.class,
            EventChannel.class,
            CmId.class,
            SharedReceiveQueue.class,
            Connection.class,
            RdmaResources.class);

    /** What a queue holds that is asked for without its size. */
    private static final int USUAL_ENTRIES = 64;

    /** What is built on a protection domain. */
    private static final Set<Class<?>> IN_DOMAIN = Set.of(
            ProtectionDomain.class, MemoryRegion.class, QueuePair.class, SharedReceiveQueue.class, Connection.class);

    /** What all get who ask for the same in a class or run. */
    private record Shared(Class<?> type, String device, Set<Annotation> written, int ordinal) {}

    /** The connections of a life are numbered, so that a lifecycle method and the test can ask for the same. */
    private record Numbered(String device, ConnectionKind kind, int number) {}

    private record ConnectionKind(ConnectionMode mode, List<ConnectionSpec> specs) {}

    private record Checked(Object siblings) {}

    private final Site site;
    private final ExtensionContext context;
    private final Optional<Scoped> scoped;
    private final Life life;

    Provision(Site site, ExtensionContext context) {
        this.site = site;
        this.context = context;
        this.scoped = site.find(Scoped.class);
        this.life = scoped.map(s -> Resources.life(s.value(), context)).orElseGet(() -> Life.of(context));
    }

    public static boolean supports(Site site) {
        return TYPES.contains(site.type()) || Qualifiers.areOn(site.element());
    }

    Object resolve() {
        // All at once, so that nothing is made for a test that can't run.
        record AllChecked() {}
        List<Site> siblings = site.siblings();
        Life.of(context).provide(new Checked(siblings), AllChecked.class, () -> {
            siblings.stream().filter(Provision::supports).forEach(s -> Qualifiers.check(s, context));
            return new AllChecked();
        });
        if (!TYPES.contains(site.type())) {
            throw new ParameterResolutionException("@Scoped belongs on a resource, and " + site.where() + " is a "
                    + site.type().getSimpleName());
        }
        RunDevice device = RunDevice.of(site, context);
        Resources resources = new Resources(context, device, life, domainLife());
        return resource(site.type(), resources, device);
    }

    private Object resource(Class<?> type, Resources resources, RunDevice device) {
        if (type == RdmaResources.class) {
            return resources;
        }
        if (type == Fabric.class) {
            return resources.fabric();
        }
        if (type == FabricDevice.class) {
            return resources.device();
        }
        if (type == DeviceContext.class) {
            return resources.context();
        }
        if (type == ProtectionDomain.class) {
            return resources.protectionDomain();
        }
        if (type == CompletionChannel.class) {
            return resources.completionChannel();
        }
        if (type == EventChannel.class) {
            return resources.eventChannel();
        }
        Object key = key(device);
        if (type == CompletionQueue.class) {
            return resources.completionQueue(key, USUAL_ENTRIES, false);
        }
        if (type == MemoryRegion.class) {
            Qualifiers.Memory memory = Qualifiers.memory(site);
            return resources.memory(key, memory.size(), memory.placement(), memory.access());
        }
        if (type == CmId.class) {
            return resources.id(key, PortSpace.TCP);
        }
        if (type == SharedReceiveQueue.class) {
            return resources.sharedReceiveQueue(key, USUAL_ENTRIES, 1);
        }
        if (type == Connection.class) {
            return connection(resources, device, site.ordinal(this::isLikewiseConnected));
        }
        return sideOfConnection(resources, device);
    }

    private Object key(RunDevice device) {
        return scoped.isEmpty() || scoped.get().value() == ResourceScope.METHOD
                ? site
                : new Shared(site.type(), device.name(), site.written(), site.ordinal(this::isTheSame));
    }

    private boolean isTheSame(Site other) {
        return other.type() == site.type() && other.written().equals(site.written());
    }

    /**
     * Memory, queue pairs and connections of one method are to work together: they use the protection domain of the widest
     * scope that one of them asks for.
     */
    private Life domainLife() {
        if (!IN_DOMAIN.contains(site.type()) || scoped.isPresent() && site.type() == ProtectionDomain.class) {
            return life;
        }
        ResourceScope widest = scoped.map(Scoped::value).orElse(ResourceScope.METHOD);
        boolean wider = false;
        for (Site sibling : site.siblings()) {
            Optional<Scoped> other = sibling.find(Scoped.class);
            if (IN_DOMAIN.contains(sibling.type())
                    && other.isPresent()
                    && other.get().value().compareTo(widest) > 0) {
                widest = other.get().value();
                wider = true;
            }
        }
        return wider && scoped.isEmpty() ? Resources.life(widest, context) : life;
    }

    /** Two queue pairs are the client and the server of one connection, in this order where no annotation tells them apart. */
    private QueuePair sideOfConnection(Resources resources, RunDevice device) {
        List<Site> pair = site.siblings().stream()
                .filter(other -> other.type() == QueuePair.class)
                .toList();
        if (pair.size() != 2) {
            throw new ParameterResolutionException(
                    site.where() + " is one of " + pair.size() + " of the type QueuePair: ask"
                            + " for two, the client and the server of one connection; for a queue pair that is not connected, ask"
                            + " for RdmaResources and call queuePair(QueuePairOptions)");
        }
        if (!RunDevice.of(pair.getFirst(), context)
                .name()
                .equals(RunDevice.of(pair.getLast(), context).name())) {
            throw new ParameterResolutionException(
                    pair.getFirst().where() + " and " + pair.getLast().name()
                            + " are the two sides of one connection, and can't be on different devices: annotate both alike");
        }
        Connection connection = connection(resources, device, 0);
        return (Qualifiers.isClient(site) ? connection.client() : connection.server()).queuePair();
    }

    private Connection connection(Resources resources, RunDevice device, int number) {
        ConnectionOptions options = Qualifiers.connection(site, context);
        Object key = new Numbered(device.name() + scoped.map(Scoped::name).orElse(""), kind(site), number);
        try {
            return resources.connection(key, options);
        } catch (OutOfRange e) {
            throw new ParameterResolutionException(
                    "@ConnectionSpec(" + e.option() + ") on " + site.where() + " " + e.problem(), e);
        }
    }

    private ConnectionKind kind(Site of) {
        return new ConnectionKind(Qualifiers.connection(of, context).mode(), Qualifiers.specs(of, context));
    }

    private boolean isLikewiseConnected(Site other) {
        return other.type() == Connection.class
                && kind(other).equals(kind(site))
                && other.find(Scoped.class).equals(scoped)
                && RunDevice.of(other, context)
                        .name()
                        .equals(RunDevice.of(site, context).name());
    }
}
