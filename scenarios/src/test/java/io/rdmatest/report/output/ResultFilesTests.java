package io.rdmatest.report.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.rdmatest.Cause;
import io.rdmatest.ReportKeys;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsWriter;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.report.run.JournalEvent;
import io.rdmatest.report.run.JournalEvent.Kind;
import io.rdmatest.report.run.Outcome;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.RunAbout;
import io.rdmatest.report.run.Verdict;
import io.rdmatest.scenarios.Stage;
import io.rdmatest.scenarios.runner.WhatDiffers;
import io.rdmatest.scenarios.runner.WhatDiffersTests;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.stream.StreamSource;
import javax.xml.validation.SchemaFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.w3c.dom.Element;

/** What a run leaves for other programs. */
class ResultFilesTests {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    /** Ends labels, strings, attributes and elements, and has what XML has no form for. */
    private static final String ODD = "a\"b\\c\nd<&>'\u0000\u001b\uffff ü𝄞";

    private static final Pattern SAMPLE = Pattern.compile(
            "([a-z][a-z0-9_]*)\\{((?:[a-z_]+=\"(?:[^\"\\\\\n]|\\\\[\\\\n\"])*\",?)+)} (-?[0-9.]+(?:E-?[0-9]+)?)");

    @TempDir
    private Path folder;

    private final List<JournalEvent> events = new ArrayList<>();
    private final List<PairLine> cells = new ArrayList<>();
    private @Nullable JsonNode differs;

    private void scenario(
            String name, Verdict verdict, @Nullable String reason, @Nullable Cause cause, String... sides) {
        events.add(JournalEvent.of(Kind.STARTED).about(name, true, name, "a.B", "m"));
        for (int i = 0; i < sides.length; i++) {
            events.add(JournalEvent.of(Kind.ENTRY)
                    .about(name, true, name, "a.B", "m")
                    .withEntry(Map.of(
                            ReportKeys.PARAMETER, i == 0 ? "server" : "client", ReportKeys.VALUE, "node " + sides[i])));
        }
        events.add(JournalEvent.of(Kind.FINISHED)
                .about(name, true, name, "a.B", "m")
                .withOutcome(verdict, reason, null)
                .withCause(cause));
    }

    private void passes(String name, String... sides) {
        scenario(name, Verdict.PASSED, null, null, sides);
    }

    private static RunAbout about(String... nodes) {
        return about(List.of(), nodes);
    }

    private static RunAbout about(List<String> rails, String... nodes) {
        return new RunAbout(
                "00000000-0000-4000-8000-000000000033",
                new RunAbout.FabricName("lab", null, null),
                Arrays.stream(nodes)
                        .map(node -> new RunAbout.NodeName(node, rails))
                        .toList(),
                Map.of(),
                null,
                0);
    }

    private static PairLine cell(
            String rail, String from, String to, PairLine.Outcome outcome, @Nullable Cause cause, double bandwidth) {
        boolean measured = outcome == PairLine.Outcome.MEASURED;
        return new PairLine(
                rail,
                from,
                to,
                null,
                null,
                1,
                outcome,
                cause == null ? null : cause.name(),
                100e9,
                measured ? bandwidth : Double.NaN,
                measured ? bandwidth / 25_000 : Double.NaN,
                measured ? 3.2e-6 : Double.NaN,
                measured ? 5.4e-6 : Double.NaN,
                measured ? 1000 : 0,
                measured ? 65_536 : 0,
                1,
                false,
                null,
                null,
                PairLine.Counters.NONE);
    }

    /** Adds all pairs of some nodes on a rail, with a bit of noise. */
    private void pairs(String rail, List<String> nodes) {
        for (String from : nodes) {
            for (String to : nodes) {
                if (!from.equals(to)) {
                    double noise = 1 - (cells.size() * 7 % 11) / 1000.0;
                    cells.add(cell(rail, from, to, PairLine.Outcome.MEASURED, null, 96e9 * noise));
                }
            }
        }
    }

    private static List<String> nodes(int count) {
        List<String> nodes = new ArrayList<>();
        for (int i = 1; i <= count; i++) {
            nodes.add("n%02d".formatted(i));
        }
        return nodes;
    }

    private void writePairs() throws IOException {
        try (PairsWriter writer = PairsWriter.create(folder.resolve(RunPairs.FILE))) {
            for (PairLine cell : cells) {
                writer.write(cell);
            }
        }
    }

    private JsonNode write(RunAbout about) throws Exception {
        if (!cells.isEmpty()) {
            writePairs();
        }
        ResultFiles.write(Run.of(events).with(about), RunPairs.read(folder, null), differs, folder);
        checkMetrics();
        checkJUnit();
        JsonNode nodes = MAPPER.readTree(folder.resolve("nodes.json").toFile());
        try (InputStream schema = Files.newInputStream(folder.resolve("nodes.schema.json"))) {
            assertThat(JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                            .getSchema(schema)
                            .validate(nodes))
                    .isEmpty();
        }
        return nodes;
    }

    private String metrics() throws IOException {
        return Files.readString(folder.resolve("rdmatest.prom"));
    }

    private Element junit() throws Exception {
        return DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(folder.resolve("junit.xml").toFile())
                .getDocumentElement();
    }

    private void checkJUnit() throws Exception {
        SchemaFactory.newInstance(XMLConstants.W3C_XML_SCHEMA_NS_URI)
                .newSchema(ResultFilesTests.class.getResource("junit.xsd"))
                .newValidator()
                .validate(new StreamSource(folder.resolve("junit.xml").toFile()));
    }

    /** What {@code promtool check metrics} and node_exporter refuse. */
    private void checkMetrics() throws IOException {
        String text = metrics();
        assertThat(text).endsWith("\n").doesNotContain("\r");
        Set<String> seen = new HashSet<>();
        Set<String> series = new HashSet<>();
        String metric = "";
        String expected = "HELP";
        for (String line : text.split("\n")) {
            String[] words = line.split(" ", 4);
            if (line.startsWith("# HELP ")) {
                metric = words[2];
                assertThat(seen.add(metric))
                        .as("all of a metric is in one place: " + line)
                        .isTrue();
                assertThat(words[3]).endsWith(".");
                expected = "TYPE";
            } else if (line.startsWith("# TYPE ")) {
                assertThat(expected).as(line).isEqualTo("TYPE");
                assertThat(words).containsExactly("#", "TYPE", metric, "gauge");
                expected = "samples";
            } else {
                Matcher sample = SAMPLE.matcher(line);
                assertThat(expected).as(line).isEqualTo("samples");
                assertThat(sample.matches()).as(line).isTrue();
                assertThat(sample.group(1)).isEqualTo(metric).startsWith("rdmatest_");
                assertThat(series.add(metric + sample.group(2)))
                        .as("twice: " + line)
                        .isTrue();
                assertThat(Double.parseDouble(sample.group(3))).isFinite();
            }
        }
    }

    private static JsonNode node(JsonNode nodes, String name) {
        for (JsonNode node : nodes.path("nodes")) {
            if (node.path("node").asText().equals(name)) {
                return node;
            }
        }
        throw new AssertionError(name + " is not in " + nodes);
    }

    private static String state(JsonNode nodes, String name) {
        return node(nodes, name).path("state").asText();
    }

    private static String evidence(JsonNode nodes, String name) {
        return node(nodes, name).at("/rails/0/evidence").toString();
    }

    @Test
    void thePortThatExplainsBadPairsIsBadAndItsPartnersAreGood() throws Exception {
        List<String> nodes = nodes(8);
        pairs("rail0", nodes);
        pairs("rail1", nodes);
        cells.replaceAll(cell -> cell.rail().equals("rail1") && cell.from().equals("n03")
                ? cell("rail1", "n03", cell.to(), PairLine.Outcome.MEASURED, Cause.OUTLIER, 41e9)
                : cell);
        scenario("All pairs: bandwidth", Verdict.FAILED, "7 bad pairs", Cause.OUTLIER);

        JsonNode json = write(about(List.of("rail0", "rail1"), nodes.toArray(String[]::new)));

        assertThat(json.path("outcome").asText()).isEqualTo("not qualified");
        assertThat(state(json, "n03")).isEqualTo("bad");
        JsonNode rails = node(json, "n03").path("rails");
        assertThat(rails).extracting(rail -> rail.path("state").asText()).containsExactly("good", "bad");
        assertThat(rails.at("/1/evidence/0").asText())
                .startsWith("port n03 on rail1, sending: 7 of 7 pairs from n03 on rail1 are bad");
        assertThat(rails.at("/1/action").asText()).startsWith("Take n03 out of service. Measure it again on rail1");
        assertThat(json.path("nodes"))
                .filteredOn(node -> node.path("state").asText().equals("good"))
                .hasSize(7);
        assertThat(json.path("notes").toString())
                .contains("1 scenario failed without a known node: All pairs: bandwidth");
        assertThat(metrics())
                .contains("rdmatest_node_state{fabric=\"lab\",node=\"n03\",state=\"bad\"} 1.0")
                .contains("rdmatest_node_state{fabric=\"lab\",node=\"n03\",state=\"good\"} 0.0")
                .contains("rdmatest_rail_state{fabric=\"lab\",node=\"n03\",rail=\"rail0\",state=\"good\"} 1.0")
                .contains(
                        "rdmatest_port_bandwidth_bytes_per_second{direction=\"out\",fabric=\"lab\",node=\"n03\",rail=\"rail1\"}"
                                + " 5.125E9")
                .contains(
                        "rdmatest_port_pairs{direction=\"in\",fabric=\"lab\",node=\"n03\",rail=\"rail1\",result=\"measured\"} 7.0")
                .contains("rdmatest_outcome{fabric=\"lab\",outcome=\"not qualified\"} 1.0");
    }

    @Test
    void aPortThatIsGoodWhenItIsMeasuredAgainIsSuspect() throws Exception {
        List<String> nodes = nodes(8);
        pairs("rail0", nodes);
        cells.replaceAll(cell -> cell.from().equals("n03")
                ? cell("rail0", "n03", cell.to(), PairLine.Outcome.MEASURED, null, 41e9)
                : cell);
        cells.add(again("n03", "n01"));
        cells.add(again("n03", "n02"));

        JsonNode json = write(about(nodes.toArray(String[]::new)));

        assertThat(state(json, "n03")).isEqualTo("suspect");
        assertThat(node(json, "n03").at("/rails/0/evidence/0").asText())
                .startsWith("port n03 on rail0, sending: 7 of 7 pairs")
                .endsWith("; not confirmed with n01 and n02: 96 Gb/s");
        assertThat(evidence(json, "n03")).contains("14 pairs with this node were measured");
        assertThat(json.path("nodes"))
                .filteredOn(node -> node.path("state").asText().equals("good"))
                .hasSize(7);
    }

    /** The evidence has it, and with it whoever shows evidence. It changes no state. */
    @Test
    void whatAnotherProgramMeasuredIsEvidence() throws Exception {
        List<String> nodes = nodes(8);
        pairs("rail0", nodes);
        cells.replaceAll(cell -> cell.from().equals("n03")
                ? cell("rail0", cell.from(), cell.to(), PairLine.Outcome.MEASURED, null, 41e9)
                : cell);
        cells.add(other("n03", "n01", 39e9));
        cells.add(other("n02", "n01", 92e9));

        JsonNode json = write(about(nodes.toArray(String[]::new)));

        assertThat(state(json, "n03")).isEqualTo("bad");
        assertThat(node(json, "n03").at("/rails/0/evidence/0").asText())
                .startsWith("port n03 on rail0, sending: 7 of 7 pairs")
                .endsWith("; ib_write_bw: 39 Gb/s bad pair, 92 Gb/s good pair: the fabric");
        assertThat(evidence(json, "n03")).contains("14 pairs with this node were measured");
    }

    private static PairLine other(String from, String to, double bandwidth) {
        return new PairLine(
                "rail0",
                from,
                to,
                null,
                null,
                1,
                PairLine.Outcome.MEASURED,
                null,
                100e9,
                bandwidth,
                Double.NaN,
                Double.NaN,
                Double.NaN,
                0,
                0,
                1,
                true,
                "ib_write_bw",
                null,
                PairLine.Counters.NONE);
    }

    private static PairLine again(String from, String to) {
        PairLine cell = cell("rail0", from, to, PairLine.Outcome.MEASURED, null, 96e9);
        return new PairLine(
                cell.rail(),
                from,
                to,
                null,
                null,
                1,
                cell.outcome(),
                null,
                cell.lineRate(),
                cell.bandwidth(),
                cell.messageRate(),
                cell.latencyP50(),
                cell.latencyP99(),
                cell.samples(),
                cell.bytesVerified(),
                1,
                true,
                null,
                null,
                PairLine.Counters.NONE);
    }

    @Test
    void pairsThatNoCulpritExplainsMakeBothNodesSuspect() throws Exception {
        List<String> nodes = nodes(6);
        pairs("rail0", nodes);
        cells.replaceAll(cell -> cell(
                "rail0",
                cell.from(),
                cell.to(),
                PairLine.Outcome.MEASURED,
                Cause.THRESHOLD_MISSED,
                cell.bandwidth() / 3));

        JsonNode json = write(about(nodes.toArray(String[]::new)));

        assertThat(json.path("nodes")).allSatisfy(node -> {
            assertThat(node.path("state").asText()).isEqualTo("suspect");
            assertThat(node.at("/rails/0/evidence/0").asText())
                    .isEqualTo("10 pairs with this node were bad, and no culprit explains that: THRESHOLD_MISSED 10");
        });
    }

    @Test
    void aPathIsALinkAndMakesItsNodesSuspect() throws Exception {
        List<String> nodes = nodes(8);
        pairs("rail0", nodes);
        cells.replaceAll(cell -> cell.from().equals("n01") && cell.to().equals("n02")
                ? cell("rail0", "n01", "n02", PairLine.Outcome.FAILED, Cause.RETRY_EXCEEDED, 0)
                : cell);

        JsonNode json = write(about(nodes.toArray(String[]::new)));

        assertThat(json.path("links"))
                .singleElement()
                .satisfies(link -> assertThat(link.path("kind").asText()
                                + link.path("from").asText()
                                + link.path("to").asText())
                        .isEqualTo("pathn01n02"));
        assertThat(state(json, "n01")).isEqualTo("suspect");
        assertThat(state(json, "n02")).isEqualTo("suspect");
        assertThat(state(json, "n03")).isEqualTo("good");
    }

    @Test
    void onOneNodeWhatFailsIsThatNodes() throws Exception {
        passes("Ping: one");
        assertThat(state(write(about("a")), "a")).isEqualTo("good");

        scenario("Ping: two", Verdict.FAILED, "byte 3 differs", Cause.WRONG_DATA);
        JsonNode json = write(about("a"));

        assertThat(state(json, "a")).isEqualTo("bad");
        assertThat(evidence(json, "a"))
                .isEqualTo(
                        "[\"1 scenario failed on this node alone: Ping: two\",\"1 scenario passed with this node\"]");
        assertThat(node(json, "a").at("/rails/0/rail").asText()).isEqualTo("rail0");
        assertThat(metrics()).doesNotContain("rdmatest_port_");
    }

    /** A failure on soft-RoCE or siw is no reason to take a node out of service, and no finding about a fabric. */
    @ParameterizedTest
    @CsvSource({
        "machine, a, soft-RoCE in a virtual machine",
        "driver, rdma_rxe, soft-RoCE",
        "driver, siw, siw",
    })
    void aRehearsalThatFailsAccusesNeitherNodeNorFabric(String fact, String value, String rehearsal) throws Exception {
        events.add(JournalEvent.of(Kind.ENTRY).withEntry(Map.of(ReportKeys.ENVIRONMENT_PREFIX + fact, value)));
        passes("Ping: one");
        scenario("Ping: two", Verdict.FAILED, "byte 3 differs", Cause.WRONG_DATA);

        JsonNode json = write(about("a"));

        assertThat(state(json, "a")).isEqualTo("unknown");
        assertThat(evidence(json, "a")).contains("1 scenario failed on this node alone: Ping: two");
        assertThat(node(json, "a").at("/rails/0/action").asText()).isEqualTo(Outcome.REHEARSED.instead());
        assertThat(Run.of(events).outcomeReason())
                .isEqualTo("1 scenario of 2 failed. This was a rehearsal: " + rehearsal
                        + "; this says nothing about a fabric.");
    }

    @Test
    void whatSaysNothingOfANodeLeavesItUnknown() throws Exception {
        scenario("Ping: one", Verdict.SKIPPED, "not selected", null, "a", "b");
        scenario("Ping: two", Verdict.BROKEN, "no memory", Cause.OUT_OF_MEMORY, "a", "b");
        cells.add(cell("rail0", "b", "c", PairLine.Outcome.NOT_MEASURED, Cause.NODE_LOST, 0));

        JsonNode json = write(about("a", "b", "c", "d"));

        assertThat(json.path("nodes"))
                .extracting(node -> node.path("state").asText())
                .containsOnly("unknown");
        assertThat(evidence(json, "a")).contains("1 scenario broke, which says nothing of the fabric: Ping: two");
        assertThat(node(json, "a").at("/rails/0/action").asText()).startsWith("Fix what is broken on the hosts");
        assertThat(evidence(json, "c"))
                .contains("1 pair with this node was not measured, which says nothing of the fabric");
        assertThat(evidence(json, "d")).contains("no scenario ran here, and no pair was measured");
        assertThat(node(json, "d").at("/rails/0/action").asText()).startsWith("Include d on rail0 in a run");
    }

    @Test
    void betweenTwoNodesBothAreSuspectUnlessOneOfThemIsBadAnyway() throws Exception {
        scenario("Ping: one", Verdict.FAILED, "refused", Cause.REJECTED, "a", "b");
        for (int i = 1; i <= 4; i++) {
            scenario("Ping: c " + i, Verdict.FAILED, "refused", Cause.REJECTED, "c", "d");
        }
        scenario("Loop: d", Verdict.FAILED, "refused", Cause.REJECTED, "d", "d");
        passes("Ping: e", "c", "e");

        JsonNode json = write(about("a", "b", "c", "d", "e"));

        assertThat(json.path("nodes"))
                .extracting(node -> node.path("state").asText())
                .containsExactly("suspect", "suspect", "good", "bad", "good");
        assertThat(evidence(json, "b")).contains("1 scenario failed between this node and a: Ping: one");
        assertThat(evidence(json, "c"))
                .contains("4 scenarios failed between this node and d: Ping: c 1; Ping: c 2; Ping: c 3; and 1 more");
    }

    @Test
    void scenariosCountForTheRailThatWasAskedFor() throws Exception {
        passes("Ping: one", "a", "b");
        RunAbout about = about(List.of("rail0", "rail1"), "a", "b");

        JsonNode json = write(new RunAbout(
                about.runId(), new RunAbout.FabricName("lab", null, "rail1"), about.nodes(), Map.of(), null, 0));

        assertThat(node(json, "a").path("rails"))
                .extracting(rail -> rail.path("state").asText())
                .containsExactly("unknown", "good");
        assertThat(state(json, "a")).isEqualTo("good");
    }

    @Test
    void anInterruptedRunHasItsFilesWithWhatIsKnown() throws Exception {
        passes("Ping: one", "n01", "n02");
        events.add(JournalEvent.of(Kind.STARTED).about("Ping: two", true, "Ping: two", "a.B", "m"));
        events.add(JournalEvent.died("interrupted", "last words"));
        pairs("rail0", nodes(4));
        writePairs();
        Path file = folder.resolve(RunPairs.FILE);
        String whole = Files.readString(file);
        Files.writeString(file, whole.substring(0, whole.length() - 20));
        cells.clear();

        JsonNode json = write(about("n01", "n02", "n03", "n04").withExitStatus(null));

        assertThat(json.path("outcome").asText()).isEqualTo("inconclusive");
        assertThat(state(json, "n01")).isEqualTo("good");
        assertThat(json.path("notes")).isNotEmpty();
        assertThat(metrics())
                .doesNotContain("rdmatest_exit_status")
                .contains("rdmatest_scenarios{fabric=\"lab\",result=\"broken\"} 1.0")
                .contains("rdmatest_last_run_end_timestamp_seconds{fabric=\"lab\"} ");
        Element error = (Element) junit().getElementsByTagName("error").item(0);
        assertThat(error.getAttribute("type")).isEqualTo("NEVER_FINISHED");
        assertThat(error.getTextContent()).endsWith("(interrupted)\nlast words");
    }

    @Test
    void pairsThatCannotBeReadAreNotedAndCostNothingElse() throws Exception {
        Path pairs = Files.writeString(folder.resolve(RunPairs.FILE), "{\"rail\"\n{}\n");
        passes("Ping: one", "a", "b");

        JsonNode json = write(about("a", "b"));

        assertThat(json.path("notes"))
                .singleElement()
                .satisfies(note -> assertThat(note.asText())
                        .startsWith("Pairs are left out: " + pairs + ":1 is no cell of a pairs.jsonl: "));
        assertThat(state(json, "a")).isEqualTo("good");
    }

    @Test
    void oddNamesStayWhatTheyAre() throws Exception {
        scenario("Ping: " + ODD, Verdict.FAILED, ODD + "\nmore", Cause.WRONG_DATA, ODD);
        scenario("Skip: " + ODD, Verdict.SKIPPED, ODD, null);
        scenario("]]> Break", Verdict.BROKEN, "]]>", Cause.LEAK);
        pairs(ODD, List.of(ODD, "b", "c"));

        JsonNode json = write(about(List.of(ODD), ODD, "b", "c"));

        assertThat(state(json, ODD)).isEqualTo("bad");
        assertThat(state(json, "b")).isEqualTo("good");
        assertThat(metrics()).contains("node=\"a\\\"b\\\\c\\nd<&>'\u0000\u001b\uffff ü𝄞\"");
        Element failure = (Element) junit().getElementsByTagName("failure").item(0);
        assertThat(failure.getAttribute("message")).isEqualTo("a\"b\\c");
        assertThat(failure.getTextContent()).isEqualTo("a\"b\\c\nd<&>'\ufffd\ufffd\ufffd ü𝄞\nmore");
        assertThat(junit().getElementsByTagName("error").item(0).getTextContent())
                .isEqualTo("]]>");
    }

    @Test
    void theXmlCountsWhatItHas() throws Exception {
        passes("Ping: one");
        scenario("Ping: two", Verdict.FAILED, "byte 3 differs", Cause.WRONG_DATA);
        scenario("Ping: three", Verdict.BROKEN, "left 1 native object behind", Cause.LEAK);
        scenario("Ping: four", Verdict.SKIPPED, "not selected", null);

        JsonNode ignored = write(about("a"));

        Element suite = junit();
        for (String count : List.of("tests=4", "failures=1", "errors=1", "skipped=1")) {
            String[] words = count.split("=");
            assertThat(suite.getAttribute(words[0])).as(count).isEqualTo(words[1]);
        }
        Element first = (Element) suite.getElementsByTagName("testcase").item(0);
        assertThat(first.getAttribute("name")).isEqualTo("one");
        assertThat(first.getAttribute("classname")).isEqualTo("a.B");
        assertThat(first.getChildNodes().getLength()).isZero();
        assertThat(((Element) suite.getElementsByTagName("failure").item(0)).getAttribute("type"))
                .isEqualTo("WRONG_DATA");
        assertThat(suite.getElementsByTagName("skipped")
                        .item(0)
                        .getAttributes()
                        .getNamedItem("message")
                        .getNodeValue())
                .isEqualTo("not selected");
    }

    @Test
    void whatDiffersBetweenTheNodesIsInTheFile() throws Exception {
        passes("Ping: one", "a", "b");
        assertThat(write(about("a", "b")).path("differs").isNull()).isTrue();

        differs = MAPPER.valueToTree(WhatDiffers.json(WhatDiffersTests.results("20.1", "20.1", "22.3", "")));

        JsonNode written = write(about("n1", "n2", "n3", "n4")).path("differs");
        assertThat(written.path("alike").isBoolean()).isTrue();
        assertThat(written.path("alike").asBoolean()).isFalse();
        assertThat(written.path("compared").asInt()).isEqualTo(3);
        assertThat(written.at("/differences/0/values/20.1").toString()).isEqualTo("[\"n1\",\"n2\"]");
        assertThat(written.at("/notCompared/0/node").asText()).isEqualTo("n4");
    }

    @Test
    void aRunWithoutScenariosAndNodesHasItsFiles() throws Exception {
        events.add(JournalEvent.of(Kind.RUN_STARTED));

        JsonNode json =
                write(new RunAbout("00000000-0000-4000-8000-000000000033", null, List.of(), Map.of(), null, null));

        assertThat(json.path("nodes")).isEmpty();
        assertThat(junit().getAttribute("tests")).isEqualTo("0");
        assertThat(metrics()).contains("rdmatest_outcome{fabric=\"\",outcome=\"inconclusive\"} 1.0");
    }

    /** node_exporter drops the later of two series that have the same labels, and no metric of its own says so. */
    @Test
    void runsOfDifferentPartsOfAFabricHaveNoSeriesInCommon() throws Exception {
        scenario("Ping: one", Verdict.FAILED, "byte 3 differs", Cause.WRONG_DATA, "a", "b");
        List<Set<String>> runs = new ArrayList<>();
        for (Map<String, String> part : List.of(
                Map.<String, String>of(),
                Map.of(FabricConfiguration.RAIL, "rail0"),
                Map.of(FabricConfiguration.RAIL, "rail1"),
                Map.of(FabricConfiguration.DEVICE, "mlx5_1"),
                Map.of(Stage.SERVER, "a", Stage.CLIENT, "b"))) {
            cells.clear();
            pairs("rail1", List.of("a", "b", "c"));
            RunAbout about = about(List.of("rail0", "rail1"), "a", "b", "c");
            JsonNode ignored = write(new RunAbout(
                    about.runId(), about.fabric(), about.nodes(), part, about.selected(), about.exitStatus()));
            runs.add(metrics()
                    .lines()
                    .filter(line -> !line.startsWith("#"))
                    .map(line -> line.substring(0, line.lastIndexOf(' ')))
                    .collect(Collectors.toSet()));
        }

        assertThat(runs.getFirst()).contains("rdmatest_exit_status{fabric=\"lab\"}");
        assertThat(runs.get(2)).contains("rdmatest_exit_status{fabric=\"lab\",run_rail=\"rail1\"}");
        for (int i = 0; i < runs.size(); i++) {
            for (int k = 0; k < i; k++) {
                assertThat(runs.get(i)).doesNotContainAnyElementsOf(runs.get(k));
            }
        }
    }

    @Test
    void aFolderThatIsNotThereIsNamed() {
        Path none = folder.resolve("none");
        passes("Ping: one");
        Run run = Run.of(events).with(about("a"));

        assertThatThrownBy(() -> ResultFiles.write(run, RunPairs.read(none, null), null, none))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(none.toString());
    }
}
