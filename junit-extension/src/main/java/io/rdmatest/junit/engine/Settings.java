package io.rdmatest.junit.engine;

import io.rdmatest.junit.ConnectionOptions;
import io.rdmatest.junit.RdmaExtension;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.junit.platform.commons.support.ReflectionSupport;

/**
 * What the builders of the {@link RdmaExtension} fields say that surround a test: the nearest one for each setting. They are
 * read from the fields, because JUnit calls the extensions of a class in no order that one could rely on.
 *
 * @param values of configuration keys
 * @param selected the device; null for the configuration's
 * @param connections the options of injected connections; null for the usual ones
 */
record Settings(
        Map<String, String> values,
        @Nullable Selection selected,
        @Nullable ConnectionOptions connections) {

    static final Settings NONE = new Settings(Map.of(), null, null);

    private static final ClassValue<List<Field>> FIELDS = new ClassValue<>() {
        @Override
        protected List<Field> computeValue(Class<?> type) {
            // JUnit's order within a class depends on the names; an instance's field comes before a static one.
            return AnnotationSupport.findAnnotatedFields(
                            type,
                            RegisterExtension.class,
                            field -> RdmaExtension.class.isAssignableFrom(field.getType()),
                            HierarchyTraversalMode.BOTTOM_UP)
                    .stream()
                    .sorted(Comparator.comparing((Field field) -> Modifier.isStatic(field.getModifiers())))
                    .toList();
        }
    };

    static Settings of(ExtensionContext context) {
        Settings settings = NONE;
        for (Optional<ExtensionContext> current = Optional.of(context);
                current.isPresent();
                current = current.get().getParent()) {
            Class<?> type = current.get().getTestClass().orElse(null);
            if (type == null) {
                continue;
            }
            for (Field field : FIELDS.get(type)) {
                // Of the test's own context: those of its classes have no instances where each test has one of its own.
                Object owner = Modifier.isStatic(field.getModifiers()) ? null : instance(context, type);
                if (owner != null || Modifier.isStatic(field.getModifiers())) {
                    Object value = ReflectionSupport.tryToReadFieldValue(field, owner)
                            .toOptional()
                            .orElse(null);
                    if (value instanceof RdmaExtension extension) {
                        settings = settings.orElse(extension.settings());
                    }
                }
            }
        }
        return settings;
    }

    private static @Nullable Object instance(ExtensionContext context, Class<?> type) {
        return context.getTestInstances()
                .flatMap(instances -> instances.findInstance(type).map(Object.class::cast))
                .orElse(null);
    }

    private Settings orElse(RdmaExtension.Settings farther) {
        Map<String, String> all = new HashMap<>(farther.values());
        all.putAll(values);
        return new Settings(
                all,
                selected != null ? selected : Selection.of(farther.device(), farther.node()),
                connections != null ? connections : farther.connections());
    }

    Selection selection() {
        return selected == null ? Selection.OF_RUN : selected;
    }
}
