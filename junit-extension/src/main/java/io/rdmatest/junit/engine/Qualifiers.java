package io.rdmatest.junit.engine;

import io.rdmatest.ConnectionMode;
import io.rdmatest.RdmaException;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Client;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionOptions;
import io.rdmatest.junit.ConnectionSpec;
import io.rdmatest.junit.OnDevice;
import io.rdmatest.junit.OutOfRange;
import io.rdmatest.junit.Provided;
import io.rdmatest.junit.Quantity;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.Registered;
import io.rdmatest.junit.Scoped;
import io.rdmatest.junit.Server;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
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
public final class Qualifiers {

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
            ConnectionSpec.class, Set.of(Connection.class, QueuePair.class),
            Client.class, Set.of(QueuePair.class),
            Server.class, Set.of(QueuePair.class),
            OnDevice.class, ON_DEVICE);

    private static final Set<Class<? extends Annotation>> ALL = Stream.concat(
                    BELONGS_TO.keySet().stream(), Stream.of(Scoped.class))
            .collect(Collectors.toUnmodifiableSet());

    /** Annotations for compilers, which give a parameter no value. Many projects have their own, so the package does not count. */
    private static final Set<String> FOR_COMPILERS =
            Set.of("CheckForNull", "Deprecated", "NonNull", "Nonnull", "NotNull", "Nullable");

    /** What {@link Registered @Registered} says. */
    record Memory(long size, MemoryPlacement placement, Access[] access) {}

    private Qualifiers() {}

    /** Tells whether a qualifier stands at the site: on a type that it does not fit it gets a message of its own. */
    static boolean areOn(AnnotatedElement element) {
        return ALL.stream().anyMatch(a -> AnnotationSupport.isAnnotated(element, a));
    }

    /** Tells whether a parameter carries another extension's annotation and none of this project. */
    static boolean areOfOthers(AnnotatedElement element) {
        return !areOn(element)
                && !AnnotationSupport.isAnnotated(element, ParameterSource.class)
                && Arrays.stream(element.getAnnotations())
                        .anyMatch(
                                a -> !FOR_COMPILERS.contains(a.annotationType().getSimpleName()));
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
        if (site.type() == MemoryRegion.class) {
            Memory ignored = memory(site);
        } else if (site.type() == Connection.class || site.type() == QueuePair.class) {
            ConnectionOptions ignored = connection(site, context);
        }
        boolean twice = Stream.of(Client.class, Server.class)
                .anyMatch(a -> sides(site).stream().filter(side -> side.has(a)).count() > 1);
        if (twice || site.has(Client.class) && site.has(Server.class)) {
            throw new ParameterResolutionException(site.where()
                    + " is one of the two sides of a connection: annotate one with @Client and the other with @Server");
        }
        if (Selection.on(site.element()).isPresent()) {
            RunDevice ignored = RunDevice.of(site, context);
        }
    }

    private static String kind(Site site) {
        return site.executable().isPresent() ? "parameter" : "field";
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

    /** Returns the annotations that describe the connection of a site, the nearest first. */
    static List<ConnectionSpec> specs(Site site, ExtensionContext context) {
        return specs(inner(site, context), context);
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
                ? site.siblings().stream()
                        .filter(other -> other.type() == QueuePair.class)
                        .toList()
                : List.of(site);
    }

    /** Tells whether a queue pair is to be the client's. The first of two is, where no annotation says otherwise. */
    static boolean isClient(Site site) {
        List<Site> pair = sides(site);
        boolean firstIsClient =
                !pair.getFirst().has(Server.class) && !pair.getLast().has(Client.class);
        return pair.getFirst().equals(site) == firstIsClient;
    }

    /** Returns what the connections of a test are like that asks for them while it runs. */
    static ConnectionOptions connection(ExtensionContext context) {
        return connection(List.of(), context, context.getDisplayName());
    }

    private static ConnectionOptions connection(List<AnnotatedElement> inner, ExtensionContext context, String where) {
        ConnectionOptions options =
                Optional.ofNullable(Settings.of(context).connections()).orElse(ConnectionOptions.defaults());
        try {
            for (ConnectionSpec spec : specs(inner, context).reversed()) {
                options = refined(options, spec);
            }
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

    /** Changes what an annotation sets; the rest stays. */
    private static ConnectionOptions refined(ConnectionOptions outer, ConnectionSpec spec) {
        if (spec.mode().length > 1) {
            throw new OutOfRange("mode", "names " + spec.mode().length + " modes, and a connection has one");
        }
        ConnectionOptions options = outer.depth(
                        set(spec.maxSendWr()).orElse(outer.maxSendWr()),
                        set(spec.maxReceiveWr()).orElse(outer.maxReceiveWr()))
                .maxSge(set(spec.maxSge()).orElse(outer.maxSge()))
                .maxInline(set(spec.maxInline()).orElse(outer.maxInline()))
                .events(spec.events() || outer.events())
                .retries(
                        set(spec.retryCount()).orElse(outer.retryCount()),
                        set(spec.rnrRetryCount()).orElse(outer.rnrRetryCount()));
        if (spec.mtu() != Mtu.UNKNOWN) {
            options = options.mtu(spec.mtu());
        }
        if (spec.ackTimeout() != ConnectionSpec.UNSET) {
            options = options.ackTimeout(spec.ackTimeout());
        }
        return spec.timeout().isEmpty() ? options : options.timeout(Quantity.duration(spec.timeout()));
    }

    private static OptionalInt set(int member) {
        return member == ConnectionSpec.UNSET ? OptionalInt.empty() : OptionalInt.of(member);
    }

    /** The nearest annotation that names a mode; what a source chose is nearer than the method's annotations. */
    private static ConnectionMode mode(
            List<AnnotatedElement> inner, ExtensionContext context, ConnectionOptions otherwise) {
        return inner.stream()
                .flatMap(element -> modeOn(element).stream())
                .findFirst()
                .or(() -> Optional.ofNullable(Choice.of(context).mode()))
                .or(() -> surrounding(context).stream()
                        .flatMap(element -> modeOn(element).stream())
                        .findFirst())
                .orElse(otherwise.mode());
    }

    private static Optional<ConnectionMode> modeOn(AnnotatedElement element) {
        return AnnotationSupport.findAnnotation(element, ConnectionSpec.class)
                .filter(spec -> spec.mode().length > 0)
                .map(spec -> spec.mode()[0]);
    }

    private static List<ConnectionSpec> specs(List<AnnotatedElement> inner, ExtensionContext context) {
        return Stream.concat(inner.stream(), surrounding(context).stream())
                .distinct()
                .flatMap(element -> AnnotationSupport.findAnnotation(element, ConnectionSpec.class).stream())
                .toList();
    }

    /** The test method, its class and the enclosing ones, as far as the context is inside of them. */
    private static List<AnnotatedElement> surrounding(ExtensionContext context) {
        List<AnnotatedElement> elements = new ArrayList<>();
        for (Optional<ExtensionContext> current = Optional.of(context);
                current.isPresent();
                current = current.get().getParent()) {
            current.get().getElement().ifPresent(elements::add);
        }
        return elements;
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
