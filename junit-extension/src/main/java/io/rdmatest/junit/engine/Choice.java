package io.rdmatest.junit.engine;

import io.rdmatest.ConnectionMode;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.GidEntry;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.ClassTemplate;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.ParameterInfo;
import org.junit.jupiter.params.support.ParameterDeclaration;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * What the sources of one invocation chose for the resources that are injected into it.
 *
 * @param device by a source of devices or GIDs; null for the device of the test
 * @param mode by a source of connection modes; null for that of the test
 */
public record Choice(
        @Nullable FabricDevice device, @Nullable ConnectionMode mode) {

    /** A key by identity. */
    private record Same(GidEntry entry) {
        @Override
        @SuppressWarnings("ReferenceEquality") // that is what it is for
        public boolean equals(@Nullable Object other) {
            return other instanceof Same same && same.entry == entry;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(entry);
        }
    }

    public static final Choice NONE = new Choice(null, null);

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(Choice.class);

    public Choice with(FabricDevice chosen) {
        return new Choice(chosen, mode);
    }

    public Choice with(ConnectionMode chosen) {
        return new Choice(device, chosen);
    }

    private Choice orElse(Choice other) {
        return new Choice(device != null ? device : other.device, mode != null ? mode : other.mode);
    }

    /** Makes it the choice of an invocation. */
    public void keep(ExtensionContext context) {
        context.getStore(NAMESPACE).put(Choice.class, this);
    }

    /** Remembers which device an entry is of: equal ones may be in the tables of several. */
    public static GidEntry entry(FabricDevice device, ExtensionContext context) {
        GidEntry entry = device.gid();
        context.getStore(NAMESPACE).put(new Same(entry), device);
        return entry;
    }

    /** Returns the choice for a context, the nearest one for each of the two. */
    static Choice of(ExtensionContext context) {
        Choice choice = NONE;
        ParameterInfo seen = null;
        for (Optional<ExtensionContext> current = Optional.of(context);
                current.isPresent();
                current = current.get().getParent()) {
            Choice kept = current.get().getStore(NAMESPACE).get(Choice.class, Choice.class);
            if (kept != null) {
                choice = choice.orElse(kept);
            }
            ParameterInfo info = ParameterInfo.get(current.get());
            if (info != null && info != seen) {
                seen = info;
                choice = choice.orElse(of(info, current.get()));
            }
        }
        return choice;
    }

    /**
     * Tells whether the invocations of a test or class choose the device, each its own: then nothing that depends on the device
     * can be said of all of them at once.
     */
    static boolean isOfInvocations(ExtensionContext context) {
        AnnotatedElement element = context.getElement().orElse(null);
        boolean template = element instanceof Method && AnnotationSupport.isAnnotated(element, TestTemplate.class)
                || element instanceof Class && AnnotationSupport.isAnnotated(element, ClassTemplate.class);
        // An invocation is of the same element as what it is an invocation of.
        return template
                && context.getParent()
                        .flatMap(ExtensionContext::getElement)
                        .filter(element::equals)
                        .isEmpty()
                && isDeviceChosen(element);
    }

    private static boolean isDeviceChosen(AnnotatedElement template) {
        Stream<? extends Executable> executables = template instanceof Class<?> type
                ? Stream.of(type.getDeclaredConstructors())
                : Stream.of((Method) template);
        return Stream.concat(Stream.of(template), executables.flatMap(each -> Stream.of(each.getParameters())))
                .anyMatch(element -> AnnotationSupport.isAnnotated(element, ParameterSource.OfDevice.class));
    }

    /** JUnit's own parameterised tests know arguments only; what they stand for shows in where they come from. */
    private static Choice of(ParameterInfo info, ExtensionContext context) {
        Choice choice = NONE;
        AnnotatedElement source = annotated(info.getDeclarations().getSourceElement());
        for (ParameterDeclaration declaration : info.getDeclarations().getAll()) {
            int index = declaration.getParameterIndex();
            if (index >= info.getArguments().size()) {
                continue;
            }
            Object argument = info.getArguments().get(index);
            if (argument instanceof ConnectionMode chosen && from(ParameterSource.OfMode.class, source, declaration)) {
                choice = choice.with(chosen);
            } else if (argument instanceof FabricDevice chosen
                    && from(ParameterSource.OfDevice.class, source, declaration)) {
                choice = choice.with(chosen);
            } else if (argument instanceof GidEntry entry
                    && from(ParameterSource.OfDevice.class, source, declaration)) {
                FabricDevice chosen = context.getStore(NAMESPACE).get(new Same(entry), FabricDevice.class);
                choice = chosen == null ? choice : choice.with(chosen);
            }
        }
        return choice;
    }

    private static boolean from(
            Class<? extends Annotation> kind, AnnotatedElement source, ParameterDeclaration declaration) {
        return AnnotationSupport.isAnnotated(source, kind)
                || AnnotationSupport.isAnnotated(declaration.getAnnotatedElement(), kind);
    }

    /** JUnit names the constructor where the arguments of a class go; the annotations stand on the class. */
    public static AnnotatedElement annotated(AnnotatedElement source) {
        return source instanceof Constructor<?> constructor ? constructor.getDeclaringClass() : source;
    }
}
