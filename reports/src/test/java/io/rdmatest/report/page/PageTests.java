package io.rdmatest.report.page;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.Cause;
import io.rdmatest.Measurement;
import io.rdmatest.ReportKeys;
import io.rdmatest.report.nights.CellComparison;
import io.rdmatest.report.nights.CellComparison.Group;
import io.rdmatest.report.nights.Qualification;
import io.rdmatest.report.nights.Qualification.Scenario;
import io.rdmatest.report.nights.QualificationComparison;
import io.rdmatest.report.run.JournalEvent;
import io.rdmatest.report.run.JournalEvent.Kind;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.Verdict;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PageTests {

    /** Ends elements, attributes, strings and entities. */
    static final String EVIL =
            "</script><img src=x onerror=\"document.title='broken in'\"> & 'quoted' \"twice\" <!-- ]]>";

    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** A run in which the one scenario passed. */
    static final Run PASSED = run(List.of("mlx5_0"), scenario("Ping", Verdict.PASSED, null));

    @TempDir
    private Path folder;

    private Run run = PASSED;
    private List<Page.Need> needs = List.of();
    private @Nullable JsonNode differs;
    private @Nullable Changes changes;

    /** Makes a run of some scenarios; a fact of its environment is the device. */
    @SafeVarargs
    static Run run(List<String> device, List<JournalEvent>... scenarios) {
        List<JournalEvent> events = new ArrayList<>();
        device.forEach(name -> events.add(
                JournalEvent.of(Kind.ENTRY).withEntry(Map.of(ReportKeys.ENVIRONMENT_PREFIX + "device", name))));
        List.of(scenarios).forEach(events::addAll);
        return Run.of(events);
    }

    static List<JournalEvent> scenario(
            String name, Verdict verdict, @Nullable String reason, Measurement... measurements) {
        List<JournalEvent> events = new ArrayList<>();
        events.add(JournalEvent.of(Kind.STARTED).about(name, true, name, "a.B", "m"));
        for (Measurement each : measurements) {
            Map<String, String> entry = new HashMap<>(Map.of(
                    ReportKeys.MEASUREMENT, each.name(),
                    ReportKeys.KIND, each.kind().toString(),
                    ReportKeys.BETTER, each.better().toString(),
                    ReportKeys.VALUE, Double.toString(each.value()),
                    ReportKeys.UNIT, each.unit()));
            if (each.percentile() != null) {
                entry.put(ReportKeys.PERCENTILE, Double.toString(each.percentile()));
            }
            events.add(JournalEvent.of(Kind.ENTRY)
                    .about(name, true, name, "a.B", "m")
                    .withEntry(entry));
        }
        JournalEvent end = JournalEvent.of(Kind.FINISHED)
                .about(name, true, name, "a.B", "m")
                .withOutcome(verdict, reason, null);
        events.add(verdict == Verdict.FAILED ? end.withCause(Cause.RETRY_EXCEEDED) : end);
        return events;
    }

    /** A run in which one of three scenarios failed. */
    static Run oneOfThreeFailed() {
        return run(
                List.of("mlx5_0"),
                scenario("Ping: SEND", Verdict.FAILED, "retries exhausted"),
                scenario("one", Verdict.SKIPPED, "not selected: no thresholds"),
                scenario("two", Verdict.SKIPPED, "not selected: no thresholds"));
    }

    static String cell(String from, String to, String outcome, String rest) {
        return "{\"schema\": \"pairs/1\", \"rail\": \"rail0\", \"from\": \"%s\", \"to\": \"%s\", \"outcome\": \"%s\"%s}\n"
                .formatted(from, to, outcome, rest);
    }

    private String page() throws IOException {
        Page.write(folder, run, RunPairs.read(folder, null), needs, differs, changes);
        return Files.readString(folder.resolve("index.html"));
    }

    @Test
    void saysTheOutcomeAndWhatWasNotJudged() throws IOException {
        run = oneOfThreeFailed();
        Path ignored = Files.createFile(folder.resolve("qualification.json"));

        assertThat(page())
                .contains("<header class=\"outcome bad\">")
                .contains("<span class=\"word\">Not qualified.</span> The fabric failed 1 scenario of 3.")
                .contains("<li>2 scenarios: not selected: no thresholds</li>")
                .contains("<strong>Ping: SEND</strong> <code>RETRY_EXCEEDED</code> " + Cause.RETRY_EXCEEDED.category()
                        + "<pre>retries exhausted</pre>")
                .contains("<summary>2 scenarios, for 1 reason</summary>")
                .contains("<p>? on ?: mlx5_0/?")
                .containsPattern("The run began at \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC and took \\d+\\.\\d\\d s\\.")
                .contains("<code>./qualify --last-failed</code>")
                .contains("3 scenarios: 0 passed, 1 failed, 0 broken, 2 skipped.")
                .contains("<a href=\"allure-report/index.html\">")
                .contains("<a href=\"qualification.json\">")
                .contains("<dt>device</dt><dd>mlx5_0</dd>");
    }

    @Test
    void aRunWithoutPairsHasNoMapAndSaysWhy() throws IOException {

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
        changes = nights(folder, EVIL);

        String page = page();

        assertThat(page)
                .contains("<p>28 of 56 cells are worse than in the 4 runs before.</p>")
                .contains("<li>7 of 7 into n4 on rail0</li>")
                .contains("<strong>n0 → n4 on rail0</strong>")
                .contains("Gb/s (0.40 times)</p>")
                .contains(
                        "data-metric=\"bandwidth\" data-rail=\"rail0\" data-from=\"n0\" data-to=\"n4\" data-place=\"cell\"")
                .contains("8 more are not listed here.")
                .contains("Cells left out: " + folder.resolve("night0/pairs.jsonl") + ":1 is no cell")
                .contains("<div class=\"charts\" id=\"nights\">")
                .contains("</strong>: bandwidth, in Gb/s</figcaption>")
                .contains("uPlot")
                .doesNotContain("<img src=x");
    }

    /** Compares a night, whose second half of the nodes receives slowly, with four clean ones and one that can't be read. */
    static Changes nights(Path folder, String culprit) throws IOException {
        List<Qualification> runs = new ArrayList<>();
        for (int night = 0; night < 6; night++) {
            Path its = night == 5 ? folder : Files.createDirectories(folder.resolve("night" + night));
            StringBuilder cells = new StringBuilder();
            for (int from = 0; from < 8; from++) {
                for (int to = 0; to < 8; to++) {
                    if (from != to) {
                        double bandwidth = 96e9 * (1 - (from + to) / 1000.0) * (night == 5 && to > 3 ? 0.4 : 1);
                        cells.append(cell("n" + from, "n" + to, "measured", ", \"bandwidth\": " + bandwidth));
                    }
                }
            }
            Path pairs = Files.writeString(its.resolve("pairs.jsonl"), night == 0 ? "{}\n" : cells);
            runs.add(new Qualification(pairs.resolveSibling("qualification.json"), Map.of(), Map.of()));
        }
        Group group = new Group(culprit, "bandwidth", (rail, from, to, fromLeaf, toLeaf) -> to.equals("n4"));
        return new Changes(
                new QualificationComparison(runs.subList(0, 5), runs.getLast(), 14, 0.2),
                CellComparison.of(
                        runs.getLast(),
                        CellComparison.read(runs.getLast().file()),
                        runs.subList(0, 5),
                        14,
                        0.2,
                        List.of(group)));
    }

    @Test
    void whatDiffersHasItsCommandAndCure() throws IOException {
        assertThat(page()).doesNotContain("What differs between the nodes");

        Map<String, Object> found = Map.of(
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
        differs = MAPPER.valueToTree(found);

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
    void pairsOfAnEarlierRunOrThatCannotBeReadCostTheMapOnly() throws IOException {
        run = PASSED.thatEndedEarly();
        Path pairs = Files.writeString(folder.resolve("pairs.jsonl"), cell("a", "b", "measured", ""));
        Instant started = Instant.parse("2026-11-27T00:00:00Z");
        Files.setLastModifiedTime(pairs, FileTime.from(started.minusSeconds(3600)));

        Page.write(folder, run, RunPairs.read(folder, started), List.of(), null, null);
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
    void cellsThatAllFailedAreShown() throws IOException {
        run = oneOfThreeFailed();
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
        run = oneOfThreeFailed();
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
        run = run(List.of(EVIL), scenario(EVIL, Verdict.BROKEN, EVIL));
        String name = MAPPER.writeValueAsString(EVIL).substring(1).replaceFirst("\"$", "");
        Files.writeString(
                folder.resolve("pairs.jsonl"),
                cell(
                                name,
                                "b",
                                "failed",
                                ", \"cause\": \"" + name + "\", \"counters\": {\"from\": {\"" + name + "\": 1}}")
                        + cell("b", name, "failed", ", \"fromLeaf\": \"" + name + "\""));
        changes = comparison(EVIL);

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

    /** Compares a run with two earlier ones: a scenario fails, a measurement is missing, another one is better. */
    private static Changes comparison(String words) {
        List<Qualification> runs = new ArrayList<>();
        for (int at = 0; at < 3; at++) {
            boolean now = at == 2;
            Measurement throughput = Measurement.rate("throughput", now ? 80 : at == 0 ? 41.5 : 39.25, "Gb/s");
            Measurement missing = Measurement.rate(words, 4.5, "Gb/s");
            runs.add(new Qualification(
                    Path.of(at + ".json"),
                    Map.of(words, now ? words : "6.1"),
                    Map.of(
                            words,
                            new Scenario(now ? "failed" : "passed", now ? words : "", Map.of()),
                            "Stream: one",
                            new Scenario("passed", "", Map.of("throughput", throughput)),
                            "Stream: two",
                            new Scenario("passed", "", now ? Map.of() : Map.of(words, missing)))));
        }
        return new Changes(new QualificationComparison(runs.subList(0, 2), runs.getLast(), 14, 0.2), null);
    }

    @Test
    void whatChangedIsTheWorstFirstAndHasItsHistory() throws IOException {
        changes = comparison("Ping");

        assertThat(page())
                .contains(
                        "2 worse and 1 better than in the 2 runs before. 3 verdicts and 2 measurements were compared.")
                .containsSubsequence(
                        "<td class=\"worse-word\">worse</td><th scope=\"row\">Ping</th><td>passed → failed: Ping</td>",
                        "<td class=\"worse-word\">worse</td><th scope=\"row\">Stream: two: Ping</th><td>4.50 Gb/s → missing</td>",
                        "<td>40.4 → 80.0 Gb/s (1.98 times)</td>",
                        "<td>6.1 → Ping</td>",
                        "<figcaption>Stream: two: Ping, in Gb/s</figcaption>",
                        "<figcaption>Stream: one: throughput, in Gb/s</figcaption>")
                .contains("[4.5,4.5,null],[41.5,39.25,80.0]")
                .contains("var uPlot=");
    }

    @Test
    void aNodeThatIsBadHasWhatToDo() throws IOException {
        needs = List.of(new Page.Need("n7", "rail1", "bad", "7 of 7 pairs are bad", "Swap the cable <now>"));

        assertThat(page())
                .contains("<tr><th scope=\"row\">n7</th><td>rail1</td><td class=\"bad-word\">bad</td>"
                        + "<td>7 of 7 pairs are bad</td><td>Swap the cable &lt;now&gt;</td></tr>");
    }

    @Test
    void aMeasurementOfEachMethodIsShownWithoutADemand() throws IOException {
        run = run(
                List.of(),
                scenario(
                        "SEND, 64 bytes",
                        Verdict.PASSED,
                        null,
                        Measurement.rate("throughput", 1.5, "Gb/s"),
                        Measurement.percentile("round trip p50", 50, 1234.5, "us", 200)),
                scenario("the same method", Verdict.PASSED, null, Measurement.rate("throughput", 2, "Gb/s")));

        assertThat(page())
                .contains(
                        "<tr><th scope=\"row\">SEND, 64 bytes</th><td>round trip p50</td><td class=\"number\">1.23 ms</td>"
                                + "<td class=\"number\"></td>")
                .doesNotContain("the same method");
    }

    @Test
    void thresholdsAreHeldAgainstWhatWasMeasured() throws IOException {
        run = run(
                List.of(),
                scenario(
                        "Thresholds",
                        Verdict.FAILED,
                        "slow",
                        Measurement.percentile("round trip p99", 99, 12.5, "us", 1000),
                        Measurement.limit("demanded: round trip p99", 10, "us"),
                        Measurement.rate("throughput", 92, "Gb/s"),
                        Measurement.limit("demanded: throughput", 90, "Gb/s"),
                        Measurement.limit("demanded: round trip max", 90, "us")));

        assertThat(page())
                .contains("<td>round trip p99</td><td class=\"number\">12.5 us</td><td class=\"number\">10.0 us</td>"
                        + "<td class=\"missed-word\">missed</td>")
                .contains("<td>throughput</td><td class=\"number\">92.0 Gb/s</td><td class=\"number\">90.0 Gb/s</td>"
                        + "<td class=\"kept-word\">kept</td>")
                .contains("<td>round trip max</td><td class=\"number\">–</td><td class=\"number\">90.0 us</td>"
                        + "<td class=\"not-measured-word\">not measured</td>");
    }

    @Test
    void loadsNothing() throws IOException {
        new GeneratedPairs(5, 4, 1).write(folder.resolve("pairs.jsonl"));
        changes = comparison("Ping");
        for (String file : List.of("qualification.json", "comparison.json")) {
            Path ignored = Files.createFile(folder.resolve(file));
        }

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
