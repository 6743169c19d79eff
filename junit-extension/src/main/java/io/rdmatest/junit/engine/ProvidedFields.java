package io.rdmatest.junit.engine;

import io.rdmatest.junit.Provided;
import io.rdmatest.junit.RdmaReport;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fills the fields with {@link Provided @Provided}. */
public final class ProvidedFields {

    private static final ClassValue<List<Site>> STATIC = sites(true);
    private static final ClassValue<List<Site>> INSTANCE = sites(false);

    private ProvidedFields() {}

    private static ClassValue<List<Site>> sites(boolean statics) {
        return new ClassValue<>() {
            @Override
            protected List<Site> computeValue(Class<?> type) {
                Qualifiers.checkFields(type);
                return Site.fields(type, statics);
            }
        };
    }

    /** Fills the static fields of a test class, once in the life of the class. */
    static void fillStatic(ExtensionContext context) {
        record Filled(Class<?> type) {}
        ExtensionContext ofClass = context;
        while (ofClass.getTestMethod().isPresent()) {
            ofClass = ofClass.getParent().orElseThrow();
        }
        ExtensionContext current = ofClass;
        Class<?> type = current.getRequiredTestClass();
        Filled key = new Filled(type);
        Life.of(current).provide(key, Filled.class, () -> {
            fill(STATIC.get(type), null, current);
            return key;
        });
    }

    /** Fills the fields of the instances that a test is about to run on, the outermost first. */
    static void fillInstances(ExtensionContext context) {
        for (Object instance : context.getRequiredTestInstances().getAllInstances()) {
            fill(INSTANCE.get(instance.getClass()), instance, context);
        }
    }

    private static void fill(List<Site> sites, @Nullable Object instance, ExtensionContext context) {
        for (Site site : sites) {
            Field field = ((Site.OfField) site).field();
            if (Modifier.isFinal(field.getModifiers())) {
                throw new ExtensionConfigurationException(
                        "@Provided on " + site.where() + ": the field is final and can't be filled");
            }
            if (field.getType() != RdmaReport.class && !Provision.supports(site)) {
                throw new ExtensionConfigurationException("@Provided on " + site.where() + ": no resource is a "
                        + field.getType().getSimpleName());
            }
            Object value = field.getType() == RdmaReport.class
                    ? new RdmaReport(context::publishReportEntry)
                    : new Provision(site, context).resolve();
            if (!field.trySetAccessible()) {
                throw new ExtensionConfigurationException(
                        "@Provided on " + site.where() + ": the module of the class does not"
                                + " open the package: write 'opens "
                                + field.getDeclaringClass().getPackageName()
                                + "' into its module-info");
            }
            try {
                field.set(instance, value);
            } catch (IllegalAccessException e) {
                throw new ExtensionConfigurationException("@Provided on " + site.where() + " can't be filled", e);
            }
        }
    }
}
