package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ReportKeys;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.report.culprits.PairsFile;
import io.rdmatest.scenarios.PairScenarios.Findings;
import io.rdmatest.scenarios.pairs.AllPairs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reports of rails of which nothing was measured, so that no device is needed. */
class PairScenariosTests {

    @TempDir
    private Path folder;

    private final List<Map<String, String>> entries = new ArrayList<>();

    /** Reports a rail, and returns the text of its attachment. */
    private String report(int nodes, Map<String, String> keys) throws Exception {
        String text = IntStream.range(0, nodes)
                .mapToObj(node -> "  - {name: n%d%s, rails: {r: {device: x%d}}}"
                        .formatted(node, node == 0 ? "" : ", launch: [\"false\"]", node))
                .collect(Collectors.joining("\n", "fabric: test\nnodes:\n", "\n"));
        Path fabric = Files.writeString(folder.resolve("fabric.yaml"), text);
        ScenarioSettings settings = ScenarioSettings.read(key -> Optional.ofNullable(keys.get(key)));
        AllPairs.Rules rules = new AllPairs.Rules(3, Double.POSITIVE_INFINITY, true);
        entries.clear();
        try (Nodes all = new Nodes(Fabric.load(fabric.toString()));
                PairsFile file = PairsFile.begin(settings.pairs().file())) {
            new PairScenarios.Rail(all, "r", all.names(), null, new RdmaReport(entries::add), settings, rules, file)
                    .report(new Findings());
        }
        return entries.stream()
                .filter(entry -> entry.containsKey(ReportKeys.ATTACHMENT))
                .map(entry -> entry.get(ReportKeys.ATTACHMENT_DATA))
                .collect(Collectors.joining());
    }

    @Test
    void aLargeRailHasNoTextForEachPair() throws Exception {
        Map<String, String> file =
                Map.of(PairSettings.FILE, folder.resolve("pairs.jsonl").toString());

        assertThat(report(PairScenarios.MOST_LISTED_NODES + 1, file))
                .isEqualTo("33 nodes: the pairs are in pairs.jsonl beside the report, one in a line");
        assertThat(Files.readAllLines(folder.resolve("pairs.jsonl"))).hasSize(33 * 32);
        assertThat(report(PairScenarios.MOST_LISTED_NODES, file))
                .contains("client \\ server", "r server n31, client n0: ");
    }

    @Test
    void aLargeRailWithoutAFileKeepsItsText() throws Exception {
        assertThat(report(PairScenarios.MOST_LISTED_NODES + 1, Map.of()))
                .contains("client \\ server", "r server n32, client n0: ");
    }
}
