package io.rdmatest.scenarios;

import io.rdmatest.scenarios.options.Options;
import java.lang.reflect.Parameter;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.provider.AnnotationBasedArgumentsProvider;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.support.ParameterDeclarations;

/** Makes the options of {@link EachOptionLine}, named after their lines. */
final class EachOptionLineProvider extends AnnotationBasedArgumentsProvider<EachOptionLine> {

    @Override
    protected Stream<? extends Arguments> provideArguments(
            ParameterDeclarations parameters, ExtensionContext context, EachOptionLine annotation) {
        Class<? extends Options<?>> type = Arrays.stream(
                        context.getRequiredTestMethod().getParameters())
                .map(Parameter::getType)
                .findFirst()
                .filter(Options.class::isAssignableFrom)
                .<Class<? extends Options<?>>>map(EachOptionLineProvider::options)
                .orElseThrow(() -> new IllegalArgumentException("@EachOptionLine on "
                        + context.getRequiredTestMethod()
                        + ": the first parameter is to be the options of a program, such as RpingOptions"));
        return Arrays.stream(annotation.value())
                .map(line -> Arguments.of(Named.of(line.isBlank() ? "defaults" : line, Options.parse(type, line))));
    }

    @SuppressWarnings("unchecked")
    private static Class<? extends Options<?>> options(Class<?> type) {
        return (Class<? extends Options<?>>) type;
    }
}
