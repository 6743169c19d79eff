package io.rdmatest.junit.params;

import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.engine.Choice;
import io.rdmatest.junit.engine.Configuration;
import io.rdmatest.junit.engine.Plugins;
import io.rdmatest.junit.engine.Provision;
import io.rdmatest.junit.engine.Site;
import io.rdmatest.junit.engine.Taken;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.conversion.ConversionException;
import org.junit.platform.commons.support.conversion.ConversionSupport;

/** Makes the invocations of an {@link RdmaParameterizedTest}. */
final class RdmaParameterizedTestExtension implements TestTemplateInvocationContextProvider {

    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return AnnotationSupport.isAnnotated(context.getRequiredTestMethod(), RdmaParameterizedTest.class);
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
        Method method = context.getRequiredTestMethod();
        String name = method.getDeclaringClass().getSimpleName() + "." + method.getName();
        AnnotationSupport.findAnnotation(method, RdmaParameterizedTest.class)
                .ifPresent(annotation ->
                        Configuration.keepTimeout(context, annotation.timeout(), "RdmaParameterizedTest"));
        List<Product.Target> targets = new ArrayList<>();
        for (Parameter parameter : method.getParameters()) {
            targets.add(new Product.Target(parameter, parameter.getType(), parameter.getName()));
        }
        List<Source> ofMethod = Source.on(method, "method " + name);
        Product product = new Product(targets, ofMethod, name);
        List<Integer> free = new ArrayList<>();
        for (int i = 0; i < targets.size(); i++) {
            if (!product.serves(i) && !isResolved(method, i)) {
                free.add(i);
            }
        }
        List<@Nullable Object[]> rows =
                OwnSources.rows(method, free.stream().map(targets::get).toList(), context);
        if (rows.isEmpty() && product.served() == 0 && ofMethod.isEmpty()) {
            throw new ExtensionConfigurationException(
                    "@RdmaParameterizedTest on " + name + " has no source: put one on a"
                            + " parameter or on the method, such as @EachSize, or write @RdmaTest for a single test");
        }
        if (rows.isEmpty()) {
            rows = List.<@Nullable Object[]>of(new Object[0]);
        }
        List<TestTemplateInvocationContext> invocations = new ArrayList<>();
        for (Product.Combination combination : product.combinations(context)) {
            for (@Nullable Object[] row : rows) {
                invocations.add(invocation(method, combination, row, free, targets));
            }
        }
        return invocations.stream();
    }

    private static boolean isResolved(Method method, int index) {
        Class<?> type = method.getParameterTypes()[index];
        return type == RdmaReport.class
                || type == TestInfo.class
                || type == TestReporter.class
                || Plugins.of(type).isPresent()
                || Provision.supports(Site.of(method, index));
    }

    private static TestTemplateInvocationContext invocation(
            Method method,
            Product.Combination combination,
            @Nullable Object[] row,
            List<Integer> free,
            List<Product.Target> targets) {
        Map<Integer, @Nullable Object> arguments = new HashMap<>(combination.arguments());
        List<String> texts = new ArrayList<>(combination.texts());
        for (int i = 0; i < row.length && i < free.size(); i++) {
            Product.Target target = targets.get(free.get(i));
            Object value = row[i];
            arguments.put(free.get(i), value instanceof Named<?> named ? named.getPayload() : value);
            texts.add(target.name() + " = " + (value instanceof Named<?> named ? named.getName() : value));
        }
        return new Invocation(method, arguments, String.join(", ", texts), combination.choice());
    }

    private record Invocation(Method method, Map<Integer, @Nullable Object> arguments, String text, Choice choice)
            implements TestTemplateInvocationContext, ParameterResolver {

        @Override
        public String getDisplayName(int invocationIndex) {
            return "[" + invocationIndex + "] " + text;
        }

        @Override
        public List<Extension> getAdditionalExtensions() {
            return List.of(this);
        }

        @Override
        public void prepareInvocation(ExtensionContext context) {
            choice.keep(context);
            new Taken(method, arguments.keySet()).keep(context);
        }

        @Override
        public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
            return parameter.getDeclaringExecutable().equals(method) && arguments.containsKey(parameter.getIndex());
        }

        @Override
        public @Nullable Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
            Object value = arguments.get(parameter.getIndex());
            Class<?> type = parameter.getParameter().getType();
            if (value instanceof String text && type != String.class) {
                try {
                    return ConversionSupport.convert(
                            text, type, method.getDeclaringClass().getClassLoader());
                } catch (ConversionException e) {
                    throw new ParameterResolutionException(
                            Site.of(method, parameter.getIndex()).where() + ": " + e.getMessage(), e);
                }
            }
            return value;
        }
    }
}
