package io.rdmatest.scenarios;

import io.rdmatest.scenarios.pairs.Tournament;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.ArgumentsProvider;
import org.junit.jupiter.params.support.ParameterDeclarations;

/** Provides the stages of {@link EachPair}. */
final class EachPairProvider implements ArgumentsProvider {

    @Override
    public Stream<? extends Arguments> provideArguments(ParameterDeclarations parameters, ExtensionContext context) {
        Nodes nodes = ScenarioSettingsExtension.nodes(context);
        if (nodes.isOne()) {
            return Stream.of(Arguments.of(nodes.stage(null, null)));
        }
        List<String> names = nodes.names();
        Tournament tournament = new Tournament(names.size());
        // A node is reached when its turn comes: the failure is that of the pair.
        return IntStream.range(0, tournament.rounds())
                .mapToObj(tournament::round)
                .flatMap(List::stream)
                .map(pair -> Arguments.of(nodes.stage(names.get(pair.server()), names.get(pair.client()))));
    }
}
