package io.rdmatest.junit.params;

import java.lang.annotation.Annotation;
import java.lang.annotation.Repeatable;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.provider.ArgumentsSource;
import org.junit.jupiter.params.support.AnnotationConsumer;
import org.junit.jupiter.params.support.ParameterDeclaration;
import org.junit.jupiter.params.support.ParameterDeclarations;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.ReflectionSupport;

/** Reads JUnit's sources and those of users ({@code @ArgumentsSource}) on a method, as a {@code @ParameterizedTest} does. */
final class OwnSources {

    private OwnSources() {}

    /** The parameters that the rows are for. */
    private record Declarations(Method method, List<ParameterDeclaration> all) implements ParameterDeclarations {
        @Override
        public List<ParameterDeclaration> getAll() {
            return all;
        }

        @Override
        public Optional<ParameterDeclaration> getFirst() {
            return all.stream().findFirst();
        }

        @Override
        public Optional<ParameterDeclaration> get(int index) {
            return index < 0 || index >= all.size() ? Optional.empty() : Optional.of(all.get(index));
        }

        @Override
        public AnnotatedElement getSourceElement() {
            return method;
        }

        @Override
        public String getSourceElementDescription() {
            return "method [" + method.toGenericString() + "]";
        }
    }

    private record Declaration(Product.Target target, int index) implements ParameterDeclaration {
        @Override
        public AnnotatedElement getAnnotatedElement() {
            return target.element();
        }

        @Override
        public Class<?> getParameterType() {
            return target.type();
        }

        @Override
        public int getParameterIndex() {
            return index;
        }

        @Override
        public Optional<String> getParameterName() {
            return Optional.of(target.name());
        }
    }

    /** Returns the rows of all sources, one source after the other; empty if there is no source. */
    static List<@Nullable Object[]> rows(Method method, List<Product.Target> free, ExtensionContext context) {
        Set<Class<? extends ArgumentsProvider>> providers = new LinkedHashSet<>();
        for (ArgumentsSource source : AnnotationSupport.findRepeatableAnnotations(method, ArgumentsSource.class)) {
            if (source.value() != SourceArgumentsProvider.class) {
                providers.add(source.value());
            }
        }
        List<ParameterDeclaration> declarations = new ArrayList<>();
        for (int i = 0; i < free.size(); i++) {
            declarations.add(new Declaration(free.get(i), i));
        }
        List<@Nullable Object[]> rows = new ArrayList<>();
        for (Class<? extends ArgumentsProvider> type : providers) {
            ArgumentsProvider provider = ReflectionSupport.newInstance(type);
            if (provider instanceof AnnotationConsumer<?> consumer) {
                consume(consumer, method);
            }
            try (Stream<? extends Arguments> stream =
                    provider.provideArguments(new Declarations(method, declarations), context)) {
                stream.map(Arguments::get).forEach(rows::add);
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new ExtensionConfigurationException(
                        "the source " + type.getSimpleName() + " of " + method.getName() + " failed: " + e.getMessage(),
                        e);
            }
        }
        return rows;
    }

    private static void consume(AnnotationConsumer<?> consumer, Method method) {
        Class<? extends Annotation> wanted = consumed(consumer.getClass());
        if (wanted == null) {
            throw new ExtensionConfigurationException(consumer.getClass().getName()
                    + " is an AnnotationConsumer, and does not say of which annotation: extend"
                    + " AnnotationBasedArgumentsProvider<TheAnnotation>");
        }
        List<? extends Annotation> found = wanted.isAnnotationPresent(Repeatable.class)
                ? AnnotationSupport.findRepeatableAnnotations(method, wanted)
                : AnnotationSupport.findAnnotation(method, wanted).stream().toList();
        for (Annotation annotation : found) {
            accept(consumer, annotation);
        }
    }

    @SuppressWarnings("unchecked") // it is of the type that the consumer declares
    private static <A extends Annotation> void accept(AnnotationConsumer<A> consumer, Annotation annotation) {
        consumer.accept((A) annotation);
    }

    /** Finds the annotation that a consumer declares, on itself or the nearest of its superclasses. */
    private static @Nullable Class<? extends Annotation> consumed(Class<?> type) {
        for (Class<?> current = type; current != null; current = current.getSuperclass()) {
            List<Type> declared = new ArrayList<>(List.of(current.getGenericInterfaces()));
            Type above = current.getGenericSuperclass();
            if (above != null) {
                declared.add(above);
            }
            for (Type each : declared) {
                if (each instanceof ParameterizedType generic
                        && generic.getRawType() instanceof Class<?> raw
                        && AnnotationConsumer.class.isAssignableFrom(raw)
                        && generic.getActualTypeArguments()[0] instanceof Class<?> argument
                        && argument.isAnnotation()) {
                    return argument.asSubclass(Annotation.class);
                }
            }
        }
        return null;
    }
}
