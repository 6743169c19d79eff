package io.rdmatest.scenarios.qualify;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.report.culprits.PairMatrix;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PairTablesTests {

    @TempDir
    private Path folder;

    private List<String> print(String file) throws Exception {
        Path path = Files.writeString(folder.resolve("pairs.jsonl"), file);
        List<String> lines = new ArrayList<>();
        PairTables.print(PairMatrix.read(List.of(path)), lines::add);
        return lines;
    }

    private static String line(String from, String to, String rest) {
        return """
                {"schema":"pairs/1","rail":"rail0","from":"%s","to":"%s",%s}
                """.formatted(from, to, rest);
    }

    @Test
    void eachMetricThatWasMeasuredHasATable() throws Exception {
        List<String> lines = print(line("a", "b", "\"outcome\":\"measured\",\"bandwidth\":1e9,\"latencyP50\":5e-6")
                + line("b", "a", "\"outcome\":\"failed\",\"cause\":\"RETRY_EXCEEDED\"")
                + line("a", "b", "\"outcome\":\"measured\",\"bandwidth\":12.5e9,\"latencyP50\":4e-6"));

        assertThat(lines)
                .containsExactly(
                        "",
                        "rail0, bandwidth in Gb/s, from \\ to:",
                        "                   a         b",
                        "a                  -     12.50",
                        "b             failed         -",
                        "",
                        "rail0, median round trip in us, from \\ to:",
                        "                   a         b",
                        "a                  -     4.000",
                        "b             failed         -");
    }

    @Test
    void manyNodesAreNotForAConsole() throws Exception {
        StringBuilder file = new StringBuilder();
        for (int i = 0; i < 12; i++) {
            file.append(line("a", "n" + i, "\"outcome\":\"measured\",\"bandwidth\":1e9"));
        }

        assertThat(print(file.toString())).isEmpty();
    }
}
