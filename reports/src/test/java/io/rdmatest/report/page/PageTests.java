package io.rdmatest.report.page;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PageTests {

    /** Ends elements, attributes, strings and entities. */
    static final String EVIL =
            "</script><img src=x onerror=\"document.title='broken in'\"> & 'quoted' \"twice\" <!-- ]]>";

    private static final ObjectMapper MAPPER = new ObjectMapper();

    @TempDir
    private Path folder;

    static void summary(Path folder, String outcome, String sentence, Object... scenarios) throws IOException {
        MAPPER.writeValue(
                folder.resolve("qualification.json").toFile(),
                Map.of(
                        "outcome",
                        outcome,
                        "outcomeReason",
                        sentence,
                        "notJudged",
                        List.of("2 scenarios: not selected: no thresholds"),
                        "environment",
                        Map.of("device", "mlx5_0"),
                        "scenarios",
                        List.of(scenarios)));
    }

    static Map<String, Object> scenario(String name, String verdict, String reason) {
        return Map.of(
                "name",
                name,
                "verdict",
                verdict,
                "reason",
                reason,
                "cause",
                "RETRY_EXCEEDED",
                "measurements",
                Map.of());
    }

    static String cell(String from, String to, String outcome, String rest) {
        return "{\"schema\": \"pairs/1\", \"rail\": \"rail0\", \"from\": \"%s\", \"to\": \"%s\", \"outcome\": \"%s\"%s}\n"
                .formatted(from, to, outcome, rest);
    }

    private String page() throws IOException {
        Page.write(folder, RunPairs.read(folder, null));
        return Files.readString(folder.resolve("index.html"));
    }

    @Test
    void saysTheOutcomeAndWhatWasNotJudged() throws IOException {
        summary(
                folder,
                "not qualified",
                "The fabric failed 1 scenario of 3.",
                scenario("Ping: SEND", "failed", "retries exhausted"));

        assertThat(page())
                .contains("<header class=\"outcome bad\">")
                .contains("<span class=\"word\">Not qualified.</span> The fabric failed 1 scenario of 3.")
                .contains("<li>2 scenarios: not selected: no thresholds</li>")
                .contains("<strong>Ping: SEND</strong> <code>RETRY_EXCEEDED</code><pre>retries exhausted</pre>")
                .contains("1 scenario: 0 passed, 1 failed, 0 broken, 0 skipped.")
                .contains("<a href=\"allure-report/index.html\">")
                .contains("<a href=\"qualification.json\">")
                .contains("<dt>device</dt><dd>mlx5_0</dd>");
    }

    @Test
    void aRunWithoutPairsHasNoMapAndSaysWhy() throws IOException {
        summary(folder, "qualified", "The one scenario that was judged passed.");

        assertThat(page())
                .contains("<header class=\"outcome good\">")
                .contains("The run left no pairs.jsonl with what each pair of nodes showed, so there is no heat map.")
                .contains("This run was not compared with earlier runs.")
                .doesNotContain("<canvas")
                .doesNotContain("Culprits</h2>")
                .doesNotContain("pairs.jsonl\">");
    }

    @Test
    void pairsThatAreWorseAndTheNightsOfACulpritAreShown() throws IOException {
        summary(folder, "qualified", "The one scenario that was judged passed.");
        new GeneratedPairs(8, 4, 1).write(folder.resolve("pairs.jsonl"));
        List<Map<String, Object>> worse = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            worse.add(Map.of(
                    "rail",
                    "rail0",
                    "from",
                    "n001",
                    "to",
                    "n004",
                    "what",
                    "bandwidth",
                    "text",
                    "96 -> 41 Gb/s" + EVIL));
        }
        MAPPER.writeValue(
                folder.resolve("comparison.json").toFile(),
                Map.of(
                        "cells",
                        Map.of(
                                "message",
                                "47 of 56 cells are worse than in the 9 runs before.",
                                "worse",
                                47,
                                "ports",
                                List.of(Map.of(
                                        "node", "n004", "rail", "rail0", "direction", "in", "worse", 7, "of", 7)),
                                "cells",
                                worse,
                                "notes",
                                List.of("Cells left out: one file")),
                        "culprits",
                        Map.of(
                                "runs",
                                List.of("a", "b"),
                                "series",
                                List.of(Map.of(
                                        "name",
                                        "port n004" + EVIL,
                                        "what",
                                        "bandwidth",
                                        "unit",
                                        "Gb/s",
                                        "values",
                                        List.of(96, 41),
                                        "others",
                                        List.of(96, 96))))));

        String page = page();

        assertThat(page)
                .contains("<p>47 of 56 cells are worse than in the 9 runs before.</p>")
                .contains("<li>7 of 7 into n004 on rail0</li>")
                .contains("<strong>n001 → n004 on rail0</strong>")
                .contains("<p>96 → 41 Gb/s")
                .contains("27 more are not listed here.")
                .contains("Cells left out: one file")
                .contains("<div class=\"charts\" id=\"nights\">")
                .contains("</strong>: bandwidth, in Gb/s</figcaption>")
                .contains("uPlot")
                .doesNotContain("<img src=x");
    }

    @Test
    void whatDiffersHasItsCommandAndCure() throws IOException {
        summary(folder, "qualified", "The one scenario that was judged passed.");
        assertThat(page()).doesNotContain("What differs between the nodes");

        Map<String, Object> differs = Map.of(
                "alike",
                false,
                "message",
                "Nodes differ: firmware (n2).",
                "differences",
                List.of(Map.of(
                        "message", "firmware is 20.1 on 3 nodes, but 22.3 on n2" + EVIL,
                        "odd", "n2",
                        "show", "cat /sys/class/infiniband/mlx5_0/fw_ver",
                        "cure", "flash 20.1")),
                "belowCapability",
                List.of(Map.of("node", "n3", "rail", "rail1", "message", "PCIe width is x8")),
                "unknown",
                List.of(Map.of("message", "n1 does not report ACS")),
                "notCompared",
                List.of(Map.of("node", "n4", "reason", "no answer")));
        MAPPER.writeValue(folder.resolve("nodes.json").toFile(), Map.of("differs", differs));

        assertThat(page())
                .contains("<h2 id=\"differs\">What differs between the nodes</h2>\n<p>Nodes differ: firmware (n2).</p>")
                .contains("firmware is 20.1 on 3 nodes, but 22.3 on n2&lt;/script")
                .contains("<dt>shown on n2 by</dt><dd><code>cat /sys/class/infiniband/mlx5_0/fw_ver</code></dd>"
                        + "<dt>to do there</dt><dd>flash 20.1</dd>")
                .contains("<li>n3 on rail1: PCIe width is x8</li>")
                .contains("Unknown: n1 does not report ACS.")
                .contains("Not compared: n4: no answer")
                .doesNotContain("talk to each other")
                .doesNotContain("<img src=x");
    }

    @Test
    void aFileThatCannotBeReadCostsItsOwnPartOnly() throws IOException {
        summary(folder, "qualified", "The one scenario that was judged passed.");
        new GeneratedPairs(5, 4, 1).write(folder.resolve("pairs.jsonl"));
        Path nodes = Files.writeString(folder.resolve("nodes.json"), "{\"differs\": ");
        Path comparison = Files.writeString(folder.resolve("comparison.json"), "");

        assertThat(page())
                .contains("<header class=\"outcome good\">")
                .contains("<canvas")
                .contains("<h2 id=\"differs\">What differs between the nodes</h2>\n<p>" + nodes + " can't be read: ")
                .contains("<p>" + comparison + " can't be read: it is no JSON object.</p>")
                .doesNotContain("This run was not compared");

        Files.delete(comparison);
        Path ignored = Files.createDirectory(comparison);
        assertThat(page()).contains("<p>" + comparison + " can't be read: ");
    }

    @Test
    void pairsOfAnEarlierRunOrThatCannotBeReadCostTheMapOnly() throws IOException {
        summary(folder, "inconclusive", "The run did not come to its end.");
        Path pairs = Files.writeString(folder.resolve("pairs.jsonl"), cell("a", "b", "measured", ""));
        Instant started = Instant.parse("2026-11-27T00:00:00Z");
        Files.setLastModifiedTime(pairs, FileTime.from(started.minusSeconds(3600)));

        Page.write(folder, RunPairs.read(folder, started));
        assertThat(Files.readString(folder.resolve("index.html")))
                .contains("pairs.jsonl is from an earlier run, so there is no heat map.");

        Files.writeString(pairs, "{\"rail\"\n{}\n");
        assertThat(page())
                .contains("<header class=\"outcome unsure\">")
                .contains("There is no heat map: " + pairs + ":1 is no cell of a pairs.jsonl: ");
        Files.writeString(pairs, "");
        assertThat(page()).contains("pairs.jsonl has no cell, so there is no heat map.");
    }

    @Test
    void withoutASummaryThereIsNoPage() {
        assertThatIOException().isThrownBy(this::page).withMessageContaining("qualification.json can't be read");
        assertThat(folder.resolve("index.html")).doesNotExist();
    }

    @Test
    void cellsThatAllFailedAreShown() throws IOException {
        summary(folder, "not qualified", "The fabric failed 1 scenario of 1.");
        StringBuilder cells = new StringBuilder();
        for (String from : List.of("a", "b", "c")) {
            for (String to : List.of("a", "b", "c")) {
                if (!from.equals(to)) {
                    cells.append(cell(from, to, "failed", ", \"cause\": \"NO_ROUTE\""));
                }
            }
        }
        Files.writeString(folder.resolve("pairs.jsonl"), cells);

        assertThat(page())
                .contains("<canvas")
                .contains("\"causes\":[\"NO_ROUTE\"]")
                .contains("<td class=\"number bad-word\">2 of 2</td>")
                .doesNotContain("No culprit: nothing stands out");
    }

    @Test
    void theCulpritIsNamedWithItsEvidence() throws IOException {
        summary(folder, "not qualified", "The fabric failed 1 scenario of 1.");
        GeneratedPairs pairs = new GeneratedPairs(40, 8, 2);
        pairs.write(folder.resolve("pairs.jsonl"));

        String name = GeneratedPairs.name(pairs.slowReceiver());
        assertThat(page())
                .contains("<strong>port " + name + " on rail0, receiving</strong>")
                .contains("data-metric=\"bandwidth\" data-rail=\"rail0\" data-from=\"\" data-to=\"" + name
                        + "\" data-place=\"nodes\"")
                .contains("Show all 80 rows")
                .contains("<tr><th scope=\"row\">" + name + "</th>");
    }

    /** Whatever the data holds: none of it becomes an element, a script or an attribute. */
    @Test
    void dataStaysText() throws IOException {
        summary(folder, EVIL, EVIL, scenario(EVIL, "broken", EVIL));
        String name = MAPPER.writeValueAsString(EVIL).substring(1).replaceFirst("\"$", "");
        Files.writeString(
                folder.resolve("pairs.jsonl"),
                cell(
                                name,
                                "b",
                                "failed",
                                ", \"cause\": \"" + name + "\", \"counters\": {\"from\": {\"" + name + "\": 1}}")
                        + cell("b", name, "failed", ", \"fromLeaf\": \"" + name + "\""));
        comparison(EVIL);

        String html = page();

        assertThat(html).doesNotContain("<img").doesNotContain("<!--").doesNotContain("=\"</script>");
        assertThat(html.split("<script", -1)).hasSameSizeAs(html.split("</script", -1));
        assertThat(Pattern.compile("<script(?! type=\"(application/json|text/plain)\")")
                        .matcher(html)
                        .results())
                .as("scripts that run: the chart library and the page's own")
                .hasSize(2);
        assertThat(html).contains("&lt;/script&gt;&lt;img src=x onerror=\"document.title='broken in'\"&gt; &amp;");
        assertThat(html).contains("\\u003c/script>\\u003cimg src=x");
    }

    private void comparison(String words) throws IOException {
        MAPPER.writeValue(
                folder.resolve("comparison.json").toFile(),
                Map.of(
                        "before", List.of("1.json", "2.json"),
                        "worse", 2,
                        "better", 1,
                        "comparedVerdicts", 5,
                        "comparedMeasurements", 7,
                        "environment", List.of(Map.of("name", words, "before", "6.1", "after", words)),
                        "verdicts",
                                List.of(Map.of(
                                        "change", "worse",
                                        "scenario", words,
                                        "before", "passed",
                                        "after", "failed",
                                        "reason", words)),
                        "measurements",
                                List.of(
                                        Map.of(
                                                "change", "better",
                                                "finding", "level",
                                                "scenario", "Stream: one",
                                                "measurement", "throughput",
                                                "unit", "Gb/s",
                                                "before", 40,
                                                "after", 80),
                                        Map.of(
                                                "change", "worse",
                                                "finding", "missing",
                                                "scenario", "Stream: two",
                                                "measurement", words,
                                                "unit", "Gb/s",
                                                "before", 4.5)),
                        "history",
                                Map.of(
                                        "runs", List.of("1.json", "2.json", "now.json"),
                                        "series",
                                                List.of(Map.of(
                                                        "scenario",
                                                        words,
                                                        "measurement",
                                                        "throughput",
                                                        "unit",
                                                        "Gb/s",
                                                        "values",
                                                        List.of(41.5, 39.25, 80))))));
    }

    @Test
    void whatChangedIsTheWorstFirstAndHasItsHistory() throws IOException {
        summary(folder, "qualified", "The one scenario that was judged passed.");
        comparison("Ping");

        assertThat(page())
                .contains(
                        "2 worse and 1 better than in the 2 runs before. 5 verdicts and 7 measurements were compared.")
                .containsSubsequence(
                        "<td class=\"worse-word\">worse</td><th scope=\"row\">Ping</th><td>passed → failed: Ping</td>",
                        "<td class=\"worse-word\">worse</td><th scope=\"row\">Stream: two: Ping</th><td>4.50 Gb/s → missing</td>",
                        "<td>40.0 → 80.0 Gb/s (2.00 times)</td>",
                        "<td>6.1 → Ping</td>",
                        "<figcaption>Ping: throughput, in Gb/s</figcaption>")
                .contains("[41.5,39.25,80]")
                .contains("var uPlot=");
    }

    @Test
    void thresholdsAreHeldAgainstWhatWasMeasured() throws IOException {
        Map<String, Object> measurements = Map.of(
                "round trip p99", Map.of("value", 12.5, "unit", "us", "better", "lower", "kind", "percentile"),
                "demanded: round trip p99", Map.of("value", 10, "unit", "us", "kind", "limit"),
                "throughput", Map.of("value", 92, "unit", "Gb/s", "better", "higher", "kind", "rate"),
                "demanded: throughput", Map.of("value", 90, "unit", "Gb/s", "kind", "limit"),
                "demanded: round trip max", Map.of("value", 90, "unit", "us", "kind", "limit"));
        summary(
                folder,
                "not qualified",
                "The fabric failed 1 scenario of 1.",
                Map.of("name", "Thresholds", "verdict", "failed", "reason", "slow", "measurements", measurements));

        assertThat(page())
                .contains("<td>round trip p99</td><td class=\"number\">10.0 us</td><td class=\"number\">12.5 us</td>"
                        + "<td class=\"missed-word\">missed</td>")
                .contains("<td>throughput</td><td class=\"number\">90.0 Gb/s</td><td class=\"number\">92.0 Gb/s</td>"
                        + "<td class=\"kept-word\">kept</td>")
                .contains("<td>round trip max</td><td class=\"number\">90.0 us</td><td class=\"number\">–</td>"
                        + "<td class=\"not-measured-word\">not measured</td>");
    }

    @Test
    void loadsNothing() throws IOException {
        summary(folder, "qualified", "The one scenario that was judged passed.");
        new GeneratedPairs(5, 4, 1).write(folder.resolve("pairs.jsonl"));
        comparison("Ping");

        String html = page();

        assertThat(html).contains("content=\"default-src &#39;none&#39;; ").contains("script-src &#39;sha256-");
        assertThat(Pattern.compile(
                                "\\b(src|href|srcset|action|data)\\s*=\\s*[\"']?\\s*(\\w+:)?//|url\\(|@import|<link|<iframe")
                        .matcher(html)
                        .results()
                        .map(found -> html.substring(found.start(), Math.min(html.length(), found.end() + 30))))
                .isEmpty();
        assertThat(Pattern.compile("href=\"([^\"]*)\"").matcher(html).results().map(found -> found.group(1)))
                .contains("allure-report/index.html", "qualification.json", "pairs.jsonl", "comparison.json")
                .allMatch(target -> !target.contains(":"));
    }
}
