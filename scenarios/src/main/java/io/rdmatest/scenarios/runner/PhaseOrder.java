package io.rdmatest.scenarios.runner;

import io.rdmatest.scenarios.Phase;
import java.util.Comparator;
import org.junit.jupiter.api.ClassDescriptor;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.ClassOrdererContext;
import org.junit.jupiter.api.Tag;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Orders classes of scenarios by their {@link Phase}: connect, conformance, data, performance. Classes without one come last, and
 * those of the same phase are in the order of their names.
 */
public final class PhaseOrder implements ClassOrderer {

    /** Creates the order; JUnit does. */
    public PhaseOrder() {}

    @Override
    public void orderClasses(ClassOrdererContext context) {
        context.getClassDescriptors()
                .sort(Comparator.<ClassDescriptor>comparingInt(each -> place(each.getTestClass()))
                        .thenComparing(each -> each.getTestClass().getName()));
    }

    private static int place(Class<?> type) {
        return AnnotationSupport.findRepeatableAnnotations(type, Tag.class).stream()
                .flatMap(tag -> Phase.of(tag.value()).stream())
                .mapToInt(Phase::ordinal)
                .min()
                .orElse(Phase.values().length);
    }
}
