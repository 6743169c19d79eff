package io.rdmatest.junit.params;

import io.rdmatest.junit.engine.Choice;
import java.lang.reflect.AnnotatedElement;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.support.ParameterDeclaration;
import org.junit.jupiter.params.support.ParameterDeclarations;

/**
 * Gives JUnit's own parameterised tests and classes the values of all sources at once. JUnit finds this provider once,
 * however many of the annotations stand there: they all name it in the same words.
 */
final class SourceArgumentsProvider implements ArgumentsProvider {

    @Override
    public Stream<? extends Arguments> provideArguments(ParameterDeclarations declarations, ExtensionContext context) {
        AnnotatedElement element = Choice.annotated(declarations.getSourceElement());
        String where = declarations.getSourceElementDescription();
        List<Product.Target> targets = declarations.getAll().stream()
                .map(SourceArgumentsProvider::target)
                .toList();
        Product product = new Product(targets, Source.on(element, where), where);
        Source unserved = product.unserved();
        if (unserved != null) {
            throw new ExtensionConfigurationException(unserved + " needs a parameter of the type "
                    + unserved.fittingTypes() + " here; with @RdmaParameterizedTest it needs none");
        }
        int served = product.served();
        if (!IntStream.range(0, served).allMatch(product::serves)) {
            throw new ExtensionConfigurationException(
                    "the parameters of " + where + " that take values from sources have to"
                            + " come first with JUnit's own parameterised tests; with @RdmaParameterizedTest their order is free");
        }
        return product.combinations(context).stream()
                .map(combination -> Arguments.of(IntStream.range(0, served)
                        .mapToObj(combination.arguments()::get)
                        .toArray()));
    }

    private static Product.Target target(ParameterDeclaration declaration) {
        return new Product.Target(
                declaration.getAnnotatedElement(),
                declaration.getParameterType(),
                declaration.getParameterName().orElse("arg" + declaration.getParameterIndex()));
    }
}
