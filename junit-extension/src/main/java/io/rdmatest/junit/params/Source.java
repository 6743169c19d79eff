package io.rdmatest.junit.params;

import io.rdmatest.ConnectionMode;
import io.rdmatest.ReportKeys;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Quantity;
import io.rdmatest.junit.engine.Choice;
import io.rdmatest.junit.engine.RunDevice;
import io.rdmatest.junit.engine.Selection;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.QpType;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * One annotation that gives a parameter its values.
 *
 * @param where for messages: {@code method Foo.bar}
 */
public record Source(Annotation annotation, String where) {

    /** One value: the argument, its text, and the choice that it means for what is injected beside it. */
    record Value(Object argument, String text, Choice choice) {}

    /** In the order in which their values depend on each other: GIDs and MTUs are those of a device. */
    private static final Map<Class<? extends Annotation>, Set<Class<?>>> TYPES = types();

    private static Map<Class<? extends Annotation>, Set<Class<?>>> types() {
        Map<Class<? extends Annotation>, Set<Class<?>>> types = new LinkedHashMap<>();
        types.put(EachDevice.class, Set.of(FabricDevice.class));
        types.put(EachGid.class, Set.of(GidEntry.class, FabricDevice.class));
        types.put(EachMtu.class, Set.of(Mtu.class, int.class, Integer.class));
        types.put(EachConnectionMode.class, Set.of(ConnectionMode.class));
        types.put(EachQpType.class, Set.of(QpType.class));
        types.put(EachSize.class, Set.of(long.class, Long.class, int.class, Integer.class));
        return types;
    }

    static List<Source> on(AnnotatedElement element, String where) {
        List<Source> sources = new ArrayList<>();
        for (Class<? extends Annotation> type : TYPES.keySet()) {
            AnnotationSupport.findAnnotation(element, type).ifPresent(found -> sources.add(new Source(found, where)));
        }
        return sources;
    }

    int rank() {
        return List.copyOf(TYPES.keySet()).indexOf(annotation.annotationType());
    }

    boolean fits(Class<?> type) {
        return TYPES.getOrDefault(annotation.annotationType(), Set.of()).contains(type);
    }

    String fittingTypes() {
        return TYPES.getOrDefault(annotation.annotationType(), Set.of()).stream()
                .map(Class::getSimpleName)
                .sorted()
                .collect(Collectors.joining(" or "));
    }

    /** Tells whether the values mean something without a parameter that takes them. */
    boolean standsAlone() {
        return annotation instanceof EachDevice
                || annotation instanceof EachGid
                || annotation instanceof EachConnectionMode;
    }

    @Override
    public String toString() {
        return "@" + annotation.annotationType().getSimpleName() + " on " + where;
    }

    /**
     * Returns the values.
     *
     * @param target the parameter's type, or Object where none takes them
     * @param choice what the sources before this one chose
     */
    List<Value> values(Class<?> target, Choice choice, ExtensionContext context) {
        List<Value> values = switch (annotation) {
            case EachSize sizes -> sizes(sizes, target, choice);
            case EachMtu mtus -> mtus(mtus, target, choice, context);
            case EachQpType types -> constants(types.value(), QpType.values(), choice);
            case EachConnectionMode modes ->
                constants(modes.value(), ConnectionMode.values(), choice).stream()
                        .map(v -> new Value(v.argument(), v.text(), choice.with((ConnectionMode) v.argument())))
                        .toList();
            case EachDevice devices -> devices(devices, choice, context);
            case EachGid gids -> gids(gids, target, choice, context);
            default -> throw new IllegalStateException(annotation + " is no source");
        };
        if (values.isEmpty()) {
            throw new ExtensionConfigurationException(this + " has no value on this host: nothing would be tested");
        }
        return values;
    }

    private ExtensionConfigurationException wrong(String member, String problem) {
        return new ExtensionConfigurationException(
                "@" + annotation.annotationType().getSimpleName() + "(" + member + ") on " + where + ": " + problem);
    }

    private long size(String member, String text) {
        try {
            return Quantity.bytes(text);
        } catch (IllegalArgumentException e) {
            throw wrong(member, e.getMessage());
        }
    }

    private List<Value> sizes(EachSize annotated, Class<?> target, Choice choice) {
        List<Long> sizes = new ArrayList<>();
        if (annotated.values().length > 0) {
            if (!annotated.from().isEmpty() || !annotated.to().isEmpty()) {
                throw wrong("values", "it goes without from and to");
            }
            for (String text : annotated.values()) {
                sizes.add(size("values", text));
            }
        } else {
            if (annotated.from().isEmpty() || annotated.to().isEmpty()) {
                throw wrong(annotated.from().isEmpty() ? "from" : "to", "from and to go together, or values alone");
            }
            long from = size("from", annotated.from());
            long to = size("to", annotated.to());
            if (to < from) {
                throw wrong("to", annotated.to() + " is less than from, " + annotated.from());
            }
            if (annotated.factor() < 2) {
                throw wrong("factor", "is " + annotated.factor() + ", and must be at least 2");
            }
            long size = from;
            while (size < to) {
                sizes.add(size);
                size = size > to / annotated.factor() ? to : size * annotated.factor();
            }
            sizes.add(to);
        }
        boolean narrow = target == int.class || target == Integer.class;
        List<Value> values = new ArrayList<>();
        for (long size : sizes) {
            if (narrow && size > Integer.MAX_VALUE) {
                throw wrong(
                        annotated.values().length > 0 ? "values" : "to",
                        size + " B does not fit an int: make the parameter a long");
            }
            Object argument = narrow ? (Object) (int) size : (Object) size;
            values.add(new Value(argument, Quantity.words(size), choice));
        }
        return values;
    }

    private List<Value> mtus(EachMtu annotated, Class<?> target, Choice choice, ExtensionContext context) {
        FabricDevice device = device(choice, context).require();
        Mtu active = device.portAttributes().activeMtu();
        List<Mtu> listed = annotated.value().length == 0
                ? Arrays.stream(Mtu.values())
                        .filter(mtu -> mtu != Mtu.UNKNOWN && mtu.bytes() <= active.bytes())
                        .toList()
                : List.of(annotated.value());
        List<Value> values = new ArrayList<>();
        for (Mtu mtu : listed) {
            if (mtu == Mtu.UNKNOWN) {
                throw wrong("value", "UNKNOWN is no MTU");
            }
            if (mtu.bytes() > active.bytes()) {
                leftOut(context, mtu.toString(), "the active MTU of " + device + " is " + active.bytes());
            } else {
                values.add(new Value(target == Mtu.class ? mtu : (Object) mtu.bytes(), mtu.toString(), choice));
            }
        }
        return values;
    }

    private static <E extends Enum<E>> List<Value> constants(E[] listed, E[] all, Choice choice) {
        return Arrays.stream(listed.length == 0 ? all : listed)
                .map(constant -> new Value(constant, constant.toString(), choice))
                .toList();
    }

    private List<Value> devices(EachDevice annotated, Choice choice, ExtensionContext context) {
        List<Value> values = new ArrayList<>();
        for (String name : annotated.value()) {
            RunDevice device = RunDevice.of(context, Selection.device(name));
            device.failure().ifPresent(problem -> {
                throw wrong("value", problem.getMessage());
            });
            values.add(value(device.require(), choice));
        }
        if (annotated.value().length == 0) {
            RunDevice.all(context).forEach((name, device) -> {
                Optional<RuntimeException> failure = device.failure();
                if (failure.isPresent()) {
                    leftOut(context, name, String.valueOf(failure.get().getMessage()));
                } else {
                    values.add(value(device.require(), choice));
                }
            });
        }
        return values;
    }

    private static Value value(FabricDevice device, Choice choice) {
        return new Value(device, device.device().name() + "/" + device.port(), choice.with(device));
    }

    private List<Value> gids(EachGid annotated, Class<?> target, Choice choice, ExtensionContext context) {
        Predicate<GidType> wanted = type ->
                annotated.value().length == 0 || List.of(annotated.value()).contains(type);
        return device(choice, context).withEachGid().stream()
                .filter(device -> wanted.test(device.gid().type()))
                .map(device -> new Value(
                        target == FabricDevice.class ? device : Choice.entry(device, context),
                        device.gid().index() + " " + device.gid().type() + " "
                                + device.gid().gid(),
                        choice.with(device)))
                .toList();
    }

    private static RunDevice device(Choice choice, ExtensionContext context) {
        return choice.device() == null ? RunDevice.of(context) : RunDevice.of(context, choice.device());
    }

    private void leftOut(ExtensionContext context, String what, String why) {
        context.publishReportEntry(ReportKeys.LEFT_OUT, this + ": " + what + ", " + why);
    }
}
