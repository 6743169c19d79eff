package io.rdmatest.scenarios;

import io.rdmatest.junit.RdmaExtension;
import io.rdmatest.scenarios.pairs.Tournament;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.Extension;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContext;
import org.junit.jupiter.api.extension.TestTemplateInvocationContextProvider;

/** Provides the invocations of {@link EachPair}; no node is reached before it is the turn of its pair. */
final class EachPairProvider implements TestTemplateInvocationContextProvider {

    @Override
    public boolean supportsTestTemplate(ExtensionContext context) {
        return true;
    }

    @Override
    public Stream<TestTemplateInvocationContext> provideTestTemplateInvocationContexts(ExtensionContext context) {
        List<String> names = ScenarioPlugin.nodes(context).names();
        if (names.size() == 1) {
            return Stream.of(new Turn(names.getFirst(), names.getFirst()));
        }
        Tournament tournament = new Tournament(names.size());
        return IntStream.range(0, tournament.rounds())
                .mapToObj(tournament::round)
                .flatMap(List::stream)
                .map(pair -> new Turn(names.get(pair.server()), names.get(pair.client())));
    }

    /**
     * The turn of a pair. It has names only: were the stage opened here, a node out of reach would end the stream of
     * invocations, and with it the pairs that are well.
     */
    private record Turn(String server, String client) implements TestTemplateInvocationContext {

        @Override
        public String getDisplayName(int invocationIndex) {
            return Stage.describe(server, client);
        }

        /** The extension of {@code @RdmaTest}, for a class that does not have it. */
        @Override
        public List<Extension> getAdditionalExtensions() {
            return List.of(RdmaExtension.builder().build());
        }

        @Override
        public void prepareInvocation(ExtensionContext context) {
            ScenarioPlugin.choose(context, new ScenarioPlugin.Pair(server, client));
        }
    }
}
