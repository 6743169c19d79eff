package io.rdmatest.junit;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.fabric.FabricDevice;
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
import java.util.function.Supplier;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;

/** Provides the resource that one parameter or field asks for. */
final class Provision {

    private static final Set<Class<?>> TYPES = Set.of(
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

    /** What is built on a protection domain. */
    private static final Set<Class<?>> IN_DOMAIN = Set.of(
            ProtectionDomain.class, MemoryRegion.class, QueuePair.class, SharedReceiveQueue.class, Connection.class);

    /** What all get who ask for the same in a class or run. */
    private record Shared(Class<?> type, String device, Set<Annotation> written, int ordinal) {}

    /** The connections of a life are numbered, so that a lifecycle method and the test can ask for the same. */
    private record Numbered(String device, ConnectionKind kind, int number) {}

    private record ConnectionKind(ConnectionMode mode, Optional<ConnectionSpec> spec) {}

    private record Checked(Object siblings) {}

    private final Site site;
    private final ExtensionContext context;
    private final Optional<Scoped> scoped;
    private final Life life;

    Provision(Site site, ExtensionContext context) {
        this.site = site;
        this.context = context;
        this.scoped = site.find(Scoped.class);
        this.life = scoped.map(s -> RdmaResources.life(s.value(), context)).orElseGet(() -> Life.of(context));
    }

    static boolean supports(Site site) {
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
        RdmaResources resources = new RdmaResources(context, device, life, domainLife());
        return resource(site.type(), resources, device);
    }

    private Object resource(Class<?> type, RdmaResources resources, RunDevice device) {
        if (type == RdmaResources.class) {
            return resources;
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
            Qualifiers.Queue queue = Qualifiers.completionQueue(site);
            return at(CompletionQueueSpec.class, () -> resources.completionQueue(key, queue.entries(), queue.events()));
        }
        if (type == MemoryRegion.class) {
            Qualifiers.Memory memory = Qualifiers.memory(site);
            return resources.memory(key, memory.size(), memory.placement(), memory.access());
        }
        if (type == CmId.class) {
            return resources.id(key, Qualifiers.portSpace(site));
        }
        if (type == SharedReceiveQueue.class) {
            Qualifiers.Receives receives = Qualifiers.sharedReceiveQueue(site);
            return at(
                    SharedReceiveQueueSpec.class,
                    () -> resources.sharedReceiveQueue(key, receives.maxWr(), receives.maxSge()));
        }
        if (type == Connection.class) {
            return connection(resources, device, site.ordinal(this::isLikewiseConnected));
        }
        return Qualifiers.isSide(site)
                ? sideOfConnection(resources, device)
                : at(QueuePairSpec.class, () -> resources.queuePair(key, Qualifiers.queuePair(site)));
    }

    private <T> T at(Class<? extends Annotation> annotation, Supplier<T> making) {
        return Qualifiers.at(site, annotation, making);
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
        return wider && scoped.isEmpty() ? RdmaResources.life(widest, context) : life;
    }

    /** Two queue pairs without further words are the client and the server of one connection. */
    private QueuePair sideOfConnection(RdmaResources resources, RunDevice device) {
        List<Site> pair = site.siblings().stream().filter(Qualifiers::isSide).toList();
        if (pair.size() != 2) {
            throw new ParameterResolutionException(site.where() + " is one of " + pair.size()
                    + " QueuePair parameters without annotation: either ask for two, the client and the server of one"
                    + " connection, or for an unconnected one with @QueuePairSpec");
        }
        if (!RunDevice.of(pair.getFirst(), context)
                .name()
                .equals(RunDevice.of(pair.getLast(), context).name())) {
            throw new ParameterResolutionException(
                    pair.getFirst().where() + " and " + pair.getLast().name()
                            + " are the two sides of one connection, and can't be on different devices: annotate both alike");
        }
        boolean swapped =
                pair.getFirst().name().equals("server") && pair.getLast().name().equals("client");
        boolean client = pair.getFirst().equals(site) != swapped;
        Connection connection = connection(resources, device, 0);
        return (client ? connection.client() : connection.server()).queuePair();
    }

    private Connection connection(RdmaResources resources, RunDevice device, int number) {
        ConnectionOptions options = Qualifiers.connection(site, context);
        Object key = new Numbered(device.name() + scoped.map(Scoped::name).orElse(""), kind(site), number);
        return at(ConnectionSpec.class, () -> resources.connection(key, options));
    }

    private ConnectionKind kind(Site of) {
        return new ConnectionKind(Qualifiers.connection(of, context).mode(), Qualifiers.spec(of, context));
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
