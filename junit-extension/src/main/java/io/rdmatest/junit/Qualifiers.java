package io.rdmatest.junit;

import io.rdmatest.ConnectionMode;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Reads the annotations that qualify a resource, and refuses what they can't mean: by the names of the annotation, its
 * member, and the parameter or field, and with what is allowed.
 */
final class Qualifiers {

    private static final Set<Class<?>> ON_DEVICE = Set.of(
            FabricDevice.class,
            DeviceContext.class,
            ProtectionDomain.class,
            CompletionChannel.class,
            CompletionQueue.class,
            QueuePair.class,
            MemoryRegion.class,
            SharedReceiveQueue.class,
            Connection.class,
            RdmaResources.class);

    /** The annotations that mean something on some types only. */
    private static final Map<Class<? extends Annotation>, Set<Class<?>>> BELONGS_TO = Map.of(
            Registered.class, Set.of(MemoryRegion.class),
            QueuePairSpec.class, Set.of(QueuePair.class),
            CompletionQueueSpec.class, Set.of(CompletionQueue.class),
            SharedReceiveQueueSpec.class, Set.of(SharedReceiveQueue.class),
            OnPortSpace.class, Set.of(CmId.class),
            ConnectedBy.class, Set.of(Connection.class, QueuePair.class),
            ConnectionSpec.class, Set.of(Connection.class, QueuePair.class),
            OnDevice.class, ON_DEVICE,
            OnNode.class, ON_DEVICE);

    private static final Set<Class<? extends Annotation>> ALL = Stream.concat(
                    BELONGS_TO.keySet().stream(), Stream.of(Scoped.class))
            .collect(Collectors.toUnmodifiableSet());

    /** A shared receive queue, a completion queue: what their annotations say. */
    record Queue(int entries, boolean events) {}

    record Receives(int maxWr, int maxSge) {}

    record Memory(long size, MemoryPlacement placement, Access[] access) {}

    private Qualifiers() {}

    /** Tells whether a qualifier stands at the site: on a type that it does not fit it gets a message of its own. */
    static boolean areOn(AnnotatedElement element) {
        return ALL.stream().anyMatch(a -> AnnotationSupport.isAnnotated(element, a));
    }

    /** Checks whatever can be known without a device. */
    static void check(Site site, ExtensionContext context) {
        BELONGS_TO.forEach((annotation, owners) -> {
            if (site.has(annotation) && !owners.contains(site.type())) {
                throw new ParameterResolutionException("@" + annotation.getSimpleName() + " belongs on a "
                        + owners.stream().map(Class::getSimpleName).sorted().collect(Collectors.joining(" or "))
                        + " " + kind(site) + ", and " + site.where() + " is a "
                        + site.type().getSimpleName());
            }
        });
        if (site.has(QueuePairSpec.class) && (site.has(ConnectionSpec.class) || site.has(ConnectedBy.class))) {
            throw new ParameterResolutionException(
                    "@QueuePairSpec on " + site.where() + " asks for a queue pair that is not"
                            + " connected: @ConnectionSpec and @ConnectedBy do not go with it");
        }
        if (site.type() == MemoryRegion.class) {
            Memory ignored = memory(site);
        } else if (site.type() == CompletionQueue.class) {
            Queue ignored = completionQueue(site);
        } else if (site.type() == SharedReceiveQueue.class) {
            Receives ignored = sharedReceiveQueue(site);
        } else if (site.type() == QueuePair.class && site.has(QueuePairSpec.class)) {
            QueuePairOptions ignored = queuePair(site);
        } else if (site.type() == Connection.class || site.type() == QueuePair.class) {
            ConnectionOptions ignored = connection(site, context);
        }
        if (Selection.on(site.element()).isPresent()) {
            RunDevice ignored = RunDevice.of(site, context);
        }
    }

    private static String kind(Site site) {
        return site.executable().isPresent() ? "parameter" : "field";
    }

    /** Runs something whose complaints are about the members of an annotation at the site. */
    static <T> T at(Site site, Class<? extends Annotation> annotation, Supplier<T> reading) {
        try {
            return reading.get();
        } catch (OutOfRange e) {
            throw new ParameterResolutionException(
                    "@" + annotation.getSimpleName() + "(" + e.option() + ") on " + site.where() + " " + e.problem(),
                    e);
        }
    }

    static Queue completionQueue(Site site) {
        return at(site, CompletionQueueSpec.class, () -> {
            Optional<CompletionQueueSpec> spec = site.find(CompletionQueueSpec.class);
            int entries = spec.map(CompletionQueueSpec::entries).orElse(64);
            return new Queue(
                    OutOfRange.check("entries", entries, 1, Integer.MAX_VALUE),
                    spec.map(CompletionQueueSpec::events).orElse(false));
        });
    }

    static Receives sharedReceiveQueue(Site site) {
        return at(site, SharedReceiveQueueSpec.class, () -> {
            Optional<SharedReceiveQueueSpec> spec = site.find(SharedReceiveQueueSpec.class);
            int maxWr = spec.map(SharedReceiveQueueSpec::maxWr).orElse(64);
            int maxSge = spec.map(SharedReceiveQueueSpec::maxSge).orElse(1);
            return new Receives(
                    OutOfRange.check("maxWr", maxWr, 1, Integer.MAX_VALUE),
                    OutOfRange.check("maxSge", maxSge, 1, Integer.MAX_VALUE));
        });
    }

    static QueuePairOptions queuePair(Site site) {
        QueuePairSpec spec = site.find(QueuePairSpec.class).orElseThrow();
        return at(
                site,
                QueuePairSpec.class,
                () -> new QueuePairOptions(
                        spec.type(), spec.maxSendWr(), spec.maxReceiveWr(), spec.maxSge(), spec.maxInline()));
    }

    static PortSpace portSpace(Site site) {
        return site.find(OnPortSpace.class).map(OnPortSpace::value).orElse(PortSpace.TCP);
    }

    static Memory memory(Site site) {
        Optional<Registered> registered = site.find(Registered.class);
        if (registered.isEmpty()) {
            return new Memory(4096, MemoryPlacement.ANYWHERE, new Access[0]);
        }
        Registered spec = registered.get();
        long size = member(site, "size", () -> Quantity.bytes(spec.size()));
        MemoryPlacement placement = member(
                site,
                "alignment",
                () -> MemoryPlacement.ANYWHERE.alignedTo(
                        spec.alignment().isEmpty() ? 0 : Quantity.bytes(spec.alignment())));
        if (spec.numaNode() != -1) {
            placement = member(site, "numaNode", () -> {
                        MemoryPlacement bound = new MemoryPlacement(0, OptionalInt.of(spec.numaNode()));
                        bound.check();
                        return bound;
                    })
                    .alignedTo(placement.alignment());
        }
        return new Memory(size, placement, spec.access());
    }

    private static <T> T member(Site site, String member, Supplier<T> reading) {
        try {
            return reading.get();
        } catch (IllegalArgumentException | RdmaException e) {
            throw new ParameterResolutionException(
                    "@Registered(" + member + ") on " + site.where() + ": " + e.getMessage(), e);
        }
    }

    /** Returns what the connection of a site is like. */
    static ConnectionOptions connection(Site site, ExtensionContext context) {
        return connection(inner(site, context), context, site.where());
    }

    /** Returns the annotation that describes the connection of a site. */
    static Optional<ConnectionSpec> spec(Site site, ExtensionContext context) {
        return nearest(inner(site, context), context, ConnectionSpec.class);
    }

    /** What is nearer to a site than the test method. */
    private static List<AnnotatedElement> inner(Site site, ExtensionContext context) {
        List<AnnotatedElement> inner = new ArrayList<>();
        for (Site side : sides(site)) {
            inner.add(side.element());
        }
        site.executable()
                .filter(executable -> !Optional.of(executable).equals(context.getTestMethod()))
                .ifPresent(inner::add);
        return inner;
    }

    /** The annotation of a pair may stand on either of the two. */
    private static List<Site> sides(Site site) {
        return site.type() == QueuePair.class
                ? site.siblings().stream().filter(Qualifiers::isSide).toList()
                : List.of(site);
    }

    static boolean isSide(Site site) {
        return site.type() == QueuePair.class && !site.has(QueuePairSpec.class);
    }

    /** Returns what the connections of a test are like that asks for them while it runs. */
    static ConnectionOptions connection(ExtensionContext context) {
        return connection(List.of(), context, context.getDisplayName());
    }

    private static ConnectionOptions connection(List<AnnotatedElement> inner, ExtensionContext context, String where) {
        Optional<ConnectionSpec> spec = nearest(inner, context, ConnectionSpec.class);
        ConnectionOptions usual =
                Optional.ofNullable(Settings.of(context).connections()).orElse(ConnectionOptions.defaults());
        try {
            ConnectionOptions options = spec.map(Qualifiers::options).orElse(usual);
            ConnectionOptions complete = options.mode(mode(inner, context, options));
            complete.check();
            return complete;
        } catch (OutOfRange e) {
            throw new ParameterResolutionException(
                    "@ConnectionSpec(" + e.option() + ") for " + where + " " + e.problem(), e);
        } catch (IllegalArgumentException e) {
            throw new ParameterResolutionException("@ConnectionSpec(timeout) for " + where + ": " + e.getMessage(), e);
        }
    }

    private static ConnectionOptions options(ConnectionSpec spec) {
        if (spec.mode().length > 1) {
            throw new OutOfRange("mode", "names " + spec.mode().length + " modes, and a connection has one");
        }
        ConnectionOptions options = ConnectionOptions.defaults()
                .mtu(spec.mtu())
                .depth(spec.maxSendWr(), spec.maxReceiveWr())
                .maxSge(spec.maxSge())
                .maxInline(spec.maxInline())
                .events(spec.events())
                .retries(spec.retryCount(), spec.rnrRetryCount())
                .timeout(Quantity.duration(spec.timeout()));
        return spec.ackTimeout() == ConnectionOptions.USUAL_ACK_TIMEOUT
                ? options
                : options.ackTimeout(spec.ackTimeout());
    }

    /** The nearest of both annotations that names a mode; what a source chose is nearer than the method's annotations. */
    private static ConnectionMode mode(
            List<AnnotatedElement> inner, ExtensionContext context, ConnectionOptions otherwise) {
        Optional<ConnectionMode> found =
                inner.stream().flatMap(e -> modeOn(e).stream()).findFirst();
        if (found.isEmpty()) {
            found = Optional.ofNullable(Choice.of(context).mode());
        }
        return found.or(() -> surrounding(context, Qualifiers::modeOn)).orElse(otherwise.mode());
    }

    private static Optional<ConnectionMode> modeOn(AnnotatedElement element) {
        return AnnotationSupport.findAnnotation(element, ConnectedBy.class)
                .map(ConnectedBy::value)
                .or(() -> AnnotationSupport.findAnnotation(element, ConnectionSpec.class)
                        .filter(spec -> spec.mode().length > 0)
                        .map(spec -> spec.mode()[0]));
    }

    private static <A extends Annotation> Optional<A> nearest(
            List<AnnotatedElement> inner, ExtensionContext context, Class<A> annotation) {
        return inner.stream()
                .flatMap(e -> AnnotationSupport.findAnnotation(e, annotation).stream())
                .findFirst()
                .or(() -> surrounding(context, e -> AnnotationSupport.findAnnotation(e, annotation)));
    }

    private static <T> Optional<T> surrounding(ExtensionContext context, Function<AnnotatedElement, Optional<T>> look) {
        Optional<T> found = Optional.empty();
        for (Optional<ExtensionContext> current = Optional.of(context);
                found.isEmpty() && current.isPresent();
                current = current.get().getParent()) {
            found = current.get().getElement().flatMap(look);
        }
        return found;
    }

    /** Refuses fields that have qualifiers and are not filled. */
    static void checkFields(Class<?> type) {
        for (Class<? extends Annotation> annotation : ALL) {
            AnnotationSupport.findAnnotatedFields(type, annotation).forEach(field -> {
                if (!AnnotationSupport.isAnnotated(field, Provided.class)) {
                    throw new ExtensionConfigurationException("@" + annotation.getSimpleName() + " on field "
                            + field.getDeclaringClass().getSimpleName() + "." + field.getName()
                            + " does nothing without @Provided");
                }
            });
        }
    }
}
