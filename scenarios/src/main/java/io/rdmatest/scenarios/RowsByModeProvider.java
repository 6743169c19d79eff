package io.rdmatest.scenarios;

import io.rdmatest.ConnectionMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.provider.AnnotationBasedArgumentsProvider;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.support.ParameterDeclarations;

/** Makes the arguments of {@link RowsByMode}: row by row, each over every way. */
final class RowsByModeProvider extends AnnotationBasedArgumentsProvider<RowsByMode> {

    @Override
    protected Stream<? extends Arguments> provideArguments(
            ParameterDeclarations parameters, ExtensionContext context, RowsByMode annotation) {
        return Arrays.stream(annotation.value())
                .flatMap(row -> Arrays.stream(annotation.modes()).map(way -> arguments(row, way)));
    }

    private static Arguments arguments(String row, ConnectionMode way) {
        List<Object> values = new ArrayList<>();
        Arrays.stream(row.split(",", -1)).map(String::strip).forEach(values::add);
        values.add(way);
        return Arguments.of(values.toArray());
    }
}
