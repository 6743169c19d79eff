package io.rdmatest.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BenchPageTests {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static final String ROWS = """
            {"rows": [
              {"name": "send-lat-64", "ratio": 0.91, "target": 1.05, "holds": true, "targetIs": "at most", "unit": "us",
               "pairs": [{"ratio": 0.91, "ourDetails": {"safepoints": 1, "collections": 1, "pausedMillis": 2.5,
                          "pauses": ["1.000 ms: GC(0) Pause Young"]}},
                         {"ratio": 0.91, "ourDetails": {"safepoints": 0, "collections": 0, "pausedMillis": 0, "pauses": []}}],
               "coldPairs": [{"ratio": 0.4}, {"ratio": 0.5}],
               "what": "SEND, 64 bytes", "parameters": {"size": 64},
               "spread": {"min": 0.9, "median": 0.91, "max": 0.95}, "ours": {"median": 91.5}, "theirs": {"median": 100.5}},
              {"name": "rstream-64k_bw", "ratio": 0.8, "target": 1, "holds": false, "decided": false, "targetIs": "at least", "unit": "Gb/s",
               "pairs": [{"ratio": 0.8}], "what": "<a stream>", "parameters": {},
               "spread": {"min": 0.7, "median": 0.8, "max": 0.85}, "ours": {"median": 0.8}, "theirs": {"median": 1}},
              {"name": "mckey", "ratio": 0.5, "target": 1, "holds": false, "decided": true, "targetIs": "at least", "unit": "1/s",
               "pairs": [{"ratio": 0.5}], "what": "multicast", "parameters": {},
               "spread": {"min": 0.4, "median": 0.5, "max": 0.6}, "ours": {"median": 0.5}, "theirs": {"median": 1}},
              {"name": "cmtime-1000", "ratio": null, "target": 1.5, "holds": false, "targetIs": "at least", "unit": "1/s",
               "pairs": [], "what": "connections", "parameters": {}, "notMeasured": "cmtime is not installed"}
            ]}
            """;

    private static final String GROWTH = """
            {"rows": [], "growth": [
              {"name": "growth-connections", "what": "connections", "unit": "connection", "most": 1.5, "judgedFrom": 16,
               "holds": false, "timeGrowth": 1.0, "memoryGrowth": 5.5, "points": [
                 {"work": 1, "nanosPerUnit": 140000, "allocatedBytesPerUnit": 90000, "residentBytesPerUnit": 0},
                 {"work": 4096, "nanosPerUnit": 12000, "allocatedBytesPerUnit": 220000, "residentBytesPerUnit": 28000}]},
              {"name": "growth-tests", "what": "tests", "unit": "test", "most": 1.5, "judgedFrom": 10, "holds": false,
               "points": [], "notMeasured": "no memory"},
              {"name": "growth-qps", "what": "queue pairs", "unit": "message", "most": 1.5, "judgedFrom": 1, "holds": true,
               "decided": false, "timeGrowth": 1.25, "memoryGrowth": 1.0, "points": [
                 {"work": 1, "nanosPerUnit": 20000, "allocatedBytesPerUnit": 0, "residentBytesPerUnit": 0},
                 {"work": 1024, "nanosPerUnit": 25000, "allocatedBytesPerUnit": 0, "residentBytesPerUnit": 0}],
               "rounds": [{"timeGrowth": 1.25, "memoryGrowth": 1.0}, {"timeGrowth": 1.1, "memoryGrowth": 1.75}]}
            ]}
            """;

    @TempDir
    private Path folder;

    private Map<String, JsonNode> results() throws IOException {
        Map<String, JsonNode> results = new TreeMap<>();
        try (Stream<Path> all = Files.list(folder)) {
            for (Path file :
                    all.filter(each -> each.toString().endsWith("-result.json")).toList()) {
                JsonNode result = MAPPER.readTree(file.toFile());
                results.put(result.path("name").asText(), result);
            }
        }
        return results;
    }

    /** Returns the one page with the table. */
    private String page() throws IOException {
        List<Path> pages;
        try (Stream<Path> all = Files.list(folder)) {
            pages = all.filter(each -> each.toString().endsWith(".html")).toList();
        }
        assertThat(pages).hasSize(1);
        return Files.readString(pages.getFirst());
    }

    private Path write(String text) throws IOException {
        return Files.writeString(folder.resolve("bench.json"), text);
    }

    @Test
    void eachRowIsAResultThatSaysWhetherItsTargetHolds() throws Exception {
        BenchPage.read(write(ROWS)).addTo(folder);

        Map<String, JsonNode> results = results();
        assertThat(results.keySet()).containsExactly("cmtime-1000", "mckey", "rstream-64k_bw", "send-lat-64");
        assertThat(results.get("send-lat-64").path("status").asText()).isEqualTo("passed");
        assertThat(results.get("send-lat-64").has("statusDetails")).isFalse();
        assertThat(results.get("rstream-64k_bw").path("status").asText()).isEqualTo("unknown");
        assertThat(results.get("rstream-64k_bw").at("/statusDetails/message").asText())
                .isEqualTo("undecided: the median ratio is 0.800, the target at least 1.000");
        assertThat(results.get("mckey").path("status").asText()).isEqualTo("failed");
        assertThat(results.get("mckey").at("/statusDetails/message").asText())
                .isEqualTo("misses its target: the median ratio is 0.500, the target at least 1.000");
        assertThat(results.get("cmtime-1000").path("status").asText()).isEqualTo("broken");
        assertThat(results.get("cmtime-1000").at("/statusDetails/message").asText())
                .isEqualTo("not measured: cmtime is not installed");
        assertThat(results.get("send-lat-64").path("parameters").toString())
                .contains("{\"name\":\"ours\",\"value\":\"91.500 us\"}", "{\"name\":\"size\",\"value\":\"64\"}")
                .contains("{\"name\":\"pairs measured again, because the JVM compiled\",\"value\":\"2\"}");
        assertThat(results.get("mckey").path("parameters").toString()).doesNotContain("measured again");
    }

    @Test
    void whenTheJvmPausedIsAttached() throws Exception {
        BenchPage.read(write(ROWS)).addTo(folder);

        JsonNode attachments = results().get("send-lat-64").path("attachments");
        assertThat(attachments).hasSize(1);
        assertThat(Files.readString(folder.resolve(attachments.at("/0/source").asText())))
                .isEqualTo("pair 1: safepoints: 1, collections: 1, 2.500 ms in all\n"
                        + "    at 1.000 ms: GC(0) Pause Young\n"
                        + "pair 2: safepoints: 0, collections: 0, 0.000 ms in all\n");
        assertThat(results().get("mckey").has("attachments")).isFalse();
    }

    @Test
    void theTableHasEveryRowAndNoMarkupFromOutside() throws Exception {
        BenchPage.read(write(ROWS)).addTo(folder);

        assertThat(page())
                .contains(
                        "<td title='SEND, 64 bytes'>send-lat-64</td><td class='number'>91.500 us</td>"
                                + "<td class='number'>100.5 us</td><td class='number'>0.910</td>"
                                + "<td class='number'>0.900 to 0.950</td><td>at most 1.050</td><td>holds</td>",
                        "&lt;a stream&gt;",
                        "<tr class='unknown'>",
                        "<tr class='failed'>",
                        "<tr class='broken'>");
    }

    @Test
    void whatMissesItsTargetIsNoBrokenPromiseOfTheFabric() throws Exception {
        BenchPage.read(write(GROWTH)).addTo(folder);

        String message =
                results().get("growth-connections").at("/statusDetails/message").asText();
        assertThat(Categories.all().stream()
                        .filter(category -> category.matchedStatuses().contains("failed"))
                        .filter(category -> message.matches(category.messageRegex()))
                        .map(Categories.Category::name))
                .containsExactly("Bench: target missed");
    }

    @Test
    void workThatGrowsHasItsChartsAndItsVerdict() throws Exception {
        BenchPage.read(write(GROWTH)).addTo(folder);

        Map<String, JsonNode> results = results();
        assertThat(results.keySet()).containsExactly("growth-connections", "growth-qps", "growth-tests");
        JsonNode connections = results.get("growth-connections");
        assertThat(connections.path("status").asText()).isEqualTo("failed");
        assertThat(connections.at("/statusDetails/message").asText())
                .isEqualTo("misses its target: the time of a connection grows 1.000 times and its memory 5.500 times,"
                        + " at most 1.500 is flat");
        assertThat(connections.path("attachments")).hasSize(2);
        assertThat(Files.readString(
                        folder.resolve(connections.at("/attachments/0/source").asText())))
                .contains("µs for each connection", "<title>1: 140</title>", "<title>4096: 12</title>");
        // What takes no memory has no dot on a logarithmic axis.
        assertThat(Files.readString(
                        folder.resolve(connections.at("/attachments/1/source").asText())))
                .contains("allocated on the heap", "<title>4096: 28000</title>")
                .doesNotContain("<title>1: 0</title>");
        assertThat(results.get("growth-tests").path("status").asText()).isEqualTo("broken");
        assertThat(results.get("growth-tests").at("/statusDetails/message").asText())
                .isEqualTo("not measured: no memory");
        assertThat(results.get("growth-tests").path("attachments")).isEmpty();
        JsonNode queuePairs = results.get("growth-qps");
        assertThat(queuePairs.path("status").asText()).isEqualTo("unknown");
        assertThat(queuePairs.at("/statusDetails/message").asText())
                .isEqualTo("undecided: the time of a message grows 1.250 times and its memory 1.000 times,"
                        + " 1.250 to 1.750 in 2 rounds, at most 1.500 is flat");
        assertThat(queuePairs.path("parameters"))
                .anySatisfy(parameter ->
                        assertThat(parameter.toString()).isEqualTo("{\"name\":\"rounds\",\"value\":\"1.250, 1.750\"}"));
        assertThat(page())
                .contains(
                        "<tr class='failed'><td title='connections'>growth-connections</td>",
                        "<td>misses its target: at most 1.500 is flat</td>",
                        "<tr class='unknown'><td title='queue pairs'>growth-qps</td>",
                        "<td>undecided: 1.250 to 1.750 in 2 rounds, at most 1.500 is flat</td>",
                        "<tr class='broken'><td title='tests'>growth-tests</td>",
                        "<td>not measured: no memory</td>");
    }

    @Test
    void theTimeIsTheBenchsAndNotTheFiles() throws Exception {
        String measured = "\"measured\": \"2026-01-31T23:59:59Z\", ";
        BenchPage.read(write("{" + measured + ROWS.strip().substring(1))).addTo(folder);

        Instant time = Instant.parse("2026-01-31T23:59:59Z");
        assertThat(results().get("mckey").path("start").asLong()).isEqualTo(time.toEpochMilli());
        assertThat(page()).contains("2026-01-31T23:59:59Z");
    }

    @Test
    void whereTheBenchDoesNotSayItTheTimeIsTheFiles() throws Exception {
        Path file = write(ROWS);
        Instant time = Instant.parse("2026-02-01T00:00:01Z");
        Path ignored = Files.setLastModifiedTime(file, FileTime.from(time));

        BenchPage.read(file).addTo(folder);

        assertThat(results().get("mckey").path("start").asLong()).isEqualTo(time.toEpochMilli());
    }

    @Test
    void aFileThatIsNoneIsNamed() throws Exception {
        Path half = write("{\"rows\": [");
        assertThatThrownBy(() -> BenchPage.read(half))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(half + " is not the JSON of a bench: ");
        Path other = write("{}");
        assertThatThrownBy(() -> BenchPage.read(other))
                .isInstanceOf(IOException.class)
                .hasMessage(other + " is not the JSON of a bench: it has no rows");
        Path never = write("{\"measured\": 1, \"rows\": []}");
        assertThatThrownBy(() -> BenchPage.read(never))
                .isInstanceOf(IOException.class)
                .hasMessage(
                        never + " is not the JSON of a bench: \"measured\" is a time like 2026-01-31T23:59:59Z, not 1");
    }
}
