package io.rdmatest.report.output;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.rdmatest.Cause;
import io.rdmatest.report.Forked;
import io.rdmatest.report.run.Journal;
import io.rdmatest.report.run.JournalEvent;
import io.rdmatest.report.run.Outcome;
import io.rdmatest.report.run.ReportConfiguration;
import io.rdmatest.report.run.Run;
import io.rdmatest.scenarios.qualify.Qualify;
import io.rdmatest.scenarios.runner.ScenarioRunner;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import javax.xml.parsers.DocumentBuilderFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ReportTests {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    @TempDir
    private Path directory;

    @Test
    void aRunBecomesASummaryThatKeepsTheSchemaAndAReportThatOpensFromDisk() throws Exception {
        assertThat(fork("LoopScenarios", false)).isZero();
        ReportGenerator generator = generate();
        JsonNode summary = summary(generator);

        assertThat(summary.at("/environment/kernel").asText()).isEqualTo("6.1.0");
        assertThat(verdict(summary, "Loop: retriesExhausted")).isEqualTo("failed");
        assertThat(verdict(summary, "Loop: hostBroken")).isEqualTo("broken");
        assertThat(verdict(summary, "Loop: notSupported")).isEqualTo("skipped");
        assertThat(verdict(summary, "Loop: leftOut")).isEqualTo("skipped");
        assertThat(scenario(summary, "Loop: leftOut").path("reason").asText()).isEqualTo("not selected: long");
        JsonNode everything = scenario(summary, "publishesEverything");
        assertThat(everything.path("verdict").asText()).isEqualTo("passed");
        assertThat(everything.path("device").asText()).isEqualTo("rxe7");
        assertThat(everything.path("bytesVerified").asLong()).isEqualTo(8192);
        assertThat(everything.at("/parameters/queue depth").asText()).isEqualTo("16");
        assertThat(everything.at("/measurements/round trip p50/value").asDouble())
                .isBetween(13.9, 14.1);
        assertThat(everything.at("/measurements/round trip p50/unit").asText()).isEqualTo("us");
        assertThat(summary.path("scenarios")).hasSize(7);
        // Whoever may read the schema beside it may read the summary.
        assertThat(Files.getPosixFilePermissions(generator.summary()))
                .isEqualTo(
                        Files.getPosixFilePermissions(generator.summary().resolveSibling("qualification.schema.json")));
        assertThat(generator.report()).isNotEmptyFile();

        JsonNode allure = result("publishesEverything");
        JsonNode outer = allure.path("steps").path(0);
        assertThat(outer.path("name").asText()).isEqualTo("outer");
        assertThat(outer.at("/steps/0/name").asText()).isEqualTo("inner");
        assertThat(outer.at("/steps/0/status").asText()).isEqualTo("passed");
        assertThat(allure.path("attachments").findValuesAsText("name"))
                .contains("round trip, distribution", "round trip, percentiles", "throughput by size", "measurements");
        assertThat(everything.at("/labels/subSuite").asText()).isEqualTo("role");
        assertThat(StreamSupport.stream(allure.path("labels").spliterator(), false)
                        .filter(label -> label.path("name").asText().endsWith("uite"))
                        .map(label -> label.path("value").asText()))
                .containsExactlyInAnyOrder("Matrix <1>", "program", "role");
        assertThat(matrix(allure.path("uuid").asText()))
                .contains("Matrix &lt;1&gt;", "1 of 1", "<li class=\"passed\">-C 1 &lt;2&gt; ")
                .doesNotContain("<1>", "<2>");
        for (JsonNode attachment : allure.path("attachments")) {
            if (attachment.path("type").asText().equals("image/svg+xml")) {
                byte[] svg = Files.readAllBytes(
                        results().resolve(attachment.path("source").asText()));
                DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new ByteArrayInputStream(svg));
                assertThat(new String(svg, StandardCharsets.UTF_8))
                        .containsAnyOf("p99.9", "send &lt;&amp;&gt; receive");
            }
        }
    }

    @Test
    void aTestWhoseJvmDiesIsBrokenAndWhatWouldHaveFollowedIsNotRun() throws Exception {
        assertThat(fork("MachineDies", true)).isEqualTo(134);
        JsonNode summary = summary(generate());

        assertThat(verdict(summary, "Machine dies: dies")).isEqualTo("broken");
        assertThat(scenario(summary, "Machine dies: dies").path("reason").asText())
                .contains("never finished");
        assertThat(scenario(summary, "Machine dies: neverReached")
                        .path("reason")
                        .asText())
                .startsWith("not run:");
        assertThat(result("dies").path("status").asText()).isEqualTo("broken");
    }

    @Test
    void aLastLineThatWasCutOffIsLeftOutAndAnyOtherIsTold() throws Exception {
        Path file = directory.resolve("1-a.jsonl");
        Files.writeString(file, JournalEvent.of(JournalEvent.Kind.RUN_STARTED).toLine() + "\n{\"event\":\"STAR");
        assertThat(Journal.read(directory)).hasSize(1);
        Files.writeString(
                file,
                "\n{}\n" + JournalEvent.of(JournalEvent.Kind.RUN_FINISHED).toLine() + "\n",
                StandardOpenOption.APPEND);
        assertThat(Journal.read(directory))
                .extracting(JournalEvent::event)
                .containsExactly(
                        JournalEvent.Kind.RUN_STARTED,
                        JournalEvent.Kind.LOST,
                        JournalEvent.Kind.LOST,
                        JournalEvent.Kind.RUN_FINISHED);
    }

    @Test
    void aGapInTheJournalCostsNoOtherVerdictAndIsBroken() throws Exception {
        assertThat(fork("MachineDies", false)).isZero();
        Path journal;
        try (Stream<Path> files = Files.list(directory.resolve("journal"))) {
            journal = files.toList().getFirst();
        }
        List<String> lines = new ArrayList<>(Files.readAllLines(journal));
        lines.set(1, lines.get(1).substring(0, 40));
        Files.write(journal, lines);

        JsonNode summary = summary(generate());

        assertThat(verdict(summary, "Machine dies: neverReached")).isEqualTo("passed");
        assertThat(verdict(summary, "Machine dies: dies")).isEqualTo("skipped");
        assertThat(verdict(summary, Run.RECORD)).isEqualTo("broken");
        assertThat(scenario(summary, Run.RECORD).path("reason").asText())
                .contains("may be missing: line 2 of " + journal + " is no journal line");
        assertThat(Forked.results(results()))
                .extracting(result -> result.path("name").asText() + " "
                        + result.path("status").asText())
                .contains(Run.RECORD + " broken");
    }

    /** By the name of the cause alone: the words of a message may change. */
    @ParameterizedTest
    @EnumSource(names = "NOT_APPLICABLE", mode = EnumSource.Mode.EXCLUDE)
    void eachCauseHasExactlyOneCategory(Cause cause) {
        ObjectNode result = MAPPER.createObjectNode();
        result.putObject("statusDetails")
                .put("message", "IBV_WC_RETRY_EXC_ERR, timed out, leaked, byte 17 differs")
                .put("trace", "java.lang.AssertionError: cause: LEAK\n\tat x.Y");
        Categories.mark(result, cause);

        assertThat(categories(result)).containsExactly(cause.category());
    }

    /** As Allure does. */
    private static List<String> categories(ObjectNode result) {
        return Categories.all().stream()
                .filter(category -> category.matchedStatuses().contains("broken"))
                .filter(category -> matches(category.messageRegex(), result.at("/statusDetails/message")))
                .filter(category -> matches(category.traceRegex(), result.at("/statusDetails/trace")))
                .map(Categories.Category::name)
                .toList();
    }

    private static boolean matches(@Nullable String regex, JsonNode text) {
        return regex == null
                || text.isTextual()
                        && Pattern.compile(regex, Pattern.DOTALL)
                                .matcher(text.asText())
                                .matches();
    }

    @Test
    void anEmptyRunIsSaidAndNotReported() throws Exception {
        // That of an earlier run would be taken for this one's.
        Files.writeString(directory.resolve("qualification.json"), "{}");
        assertThat(new ReportGenerator(directory, directory, directory, directory).call())
                .isEqualTo(3);
        assertThat(directory.resolve("qualification.json")).doesNotExist();
    }

    @Test
    void aScenarioIsFoundByTheNameThatTheListGivesIt() {
        for (String pattern : List.of("Connection: port without a listener", "ConnectionScenarios.noListener")) {
            assertThat(ScenarioRunner.list(List.of(pattern)))
                    .as(pattern)
                    .singleElement()
                    .asString()
                    .matches("ConnectionScenarios\\.noListener +Connection: port without a listener");
        }
    }

    @Test
    void wrongUsageIsOneMessage() throws Exception {
        for (List<String> arguments : List.of(
                List.of("--nonsense"),
                List.of("--timeout", "soon"),
                List.of("--timeout", "0"),
                List.of("--scenario", "there-is-no-such-thing"))) {
            Path said = directory.resolve("said");
            assertThat(Forked.java(said, List.of(), Qualify.class.getName(), arguments))
                    .isEqualTo(2);
            assertThat(Files.readString(said)).startsWith("./qualify: ").doesNotContain("\tat ");
        }
    }

    @Test
    void theFrontEndCountsAndEndsWithOneIfAScenarioFailed() throws Exception {
        Path target = Forked.project(directory, Forked.commandline());
        Path said = directory.resolve("said");
        List<String> options = Forked.qualifying(directory, Forked.launcher(), "io.rdmatest.report.fixture");
        assertThat(Forked.java(said, options, Qualify.class.getName(), List.of()))
                .isEqualTo(1);
        assertThat(Files.readString(said))
                .containsPattern("\\[  9/9\\] . \\w+")
                .contains("9 scenarios: 4 passed, 1 failed, 1 broken, 3 skipped");
        assertThat(target.resolve("allure-report/index.html")).isNotEmptyFile();
    }

    @Test
    void theFrontEndHandsSettingsOn() throws Exception {
        Path target = Forked.project(directory);
        Path said = directory.resolve("said");
        List<String> options = Forked.qualifying(directory, Forked.launcher(), "io.rdmatest.report.fixture");
        assertThat(Forked.java(
                        said,
                        options,
                        Qualify.class.getName(),
                        List.of("-Drdma.test.die=true", "--scenario", "MachineDies*.dies")))
                .isEqualTo(Outcome.INCONCLUSIVE.status());
        assertThat(Files.readString(said)).contains("1 broken").doesNotContain("Going on");
    }

    /** The JVM dies in an invocation of a test template, and another one in the set-up of a class. */
    @Test
    void theFrontEndGoesOnWithWhatIsLeftWhenAJvmDied() throws Exception {
        JsonNode summary = qualifyDying(List.of());

        String said = Files.readString(directory.resolve("said"));
        assertThat(said.lines().filter(line -> line.startsWith("Going on with what is left")))
                .as(said)
                .hasSize(2);
        assertThat(said)
                .contains(
                        "1 of them was not run.",
                        "last words of transfer 2",
                        "last words of a set-up",
                        "(exit status 134)")
                .contains("9 scenarios: 6 passed, 0 failed, 2 broken, 1 skipped");
        Matcher left = Pattern.compile("which leaves (\\d+) behind").matcher(said);
        assertThat(left.find()).isTrue();
        assertThat(ProcessHandle.of(Long.parseLong(left.group(1))).filter(ProcessHandle::isAlive))
                .isEmpty();
        for (String passed : List.of("first", "transfer 1", "transfer 3", "transfer 4", "last", "anyTime")) {
            assertThat(verdict(summary, passed)).as(passed).isEqualTo("passed");
        }
        assertThat(scenario(summary, "transfer 2").path("reason").asText())
                .startsWith(Run.NEVER_FINISHED)
                .endsWith("(exit status 134)");
        assertThat(verdict(summary, "Set up dies")).isEqualTo("broken");
        assertThat(scenario(summary, "Set up dies: neverReached").path("reason").asText())
                .isEqualTo(Run.NOT_RUN_IN_CLASS);
        // What is drawn at random is the same in all three JVMs.
        assertThat(summary.path("scenarios").findValuesAsText("run seed"))
                .hasSize(6)
                .containsOnly(
                        summary.path("scenarios").findValuesAsText("run seed").getFirst());
        // One result for each scenario, and none for what the other JVMs left out.
        List<JsonNode> results = Forked.results(directory.resolve("reports/target/qualify-results"));
        assertThat(results).hasSize(9);
        assertThat(results)
                .extracting(result -> result.path("historyId").asText())
                .doesNotHaveDuplicates();
        assertThat(results)
                .filteredOn(result -> result.path("name").asText().equals("transfer 2"))
                .singleElement()
                .satisfies(result ->
                        assertThat(result.at("/statusDetails/trace").asText()).contains("last words of transfer 2"));
    }

    @Test
    void theFrontEndGoesOnNoMoreOftenThanItMay() throws Exception {
        JsonNode summary = qualifyDying(List.of("--restarts", "0"));

        assertThat(Files.readString(directory.resolve("said")))
                .contains("The run ended early. Last output:", "were not run")
                .doesNotContain("Going on");
        assertThat(summary.path("scenarios").findValuesAsText("verdict")).containsOnlyOnce("broken");
    }

    /** The launcher of JVMs goes away with the first one, as its file system could, or the room for another process. */
    @Test
    void theFrontEndReportsWhatWasRunIfItCannotGoOn() throws Exception {
        Path target = Forked.project(directory);
        Path java = Forked.executable(directory.resolve("java"), "rm \"$0\"", "exec " + Forked.launcher() + " \"$@\"");
        List<String> options = Forked.qualifying(directory, java, "io.rdmatest.report.dying");
        Path said = directory.resolve("said");

        // Longer than this test would wait.
        assertThat(Forked.java(said, options, Qualify.class.getName(), List.of("--timeout", "1800")))
                .as(Files.readString(said))
                .isEqualTo(3);

        assertThat(Files.readString(said))
                .contains("./qualify: the run could not be followed to its end: Cannot run program")
                .doesNotContain("Interrupted");
        JsonNode summary = MAPPER.readTree(target.resolve("qualification.json").toFile());
        // It dies in the second transfer, or before that in the set-up of the other class.
        assertThat(summary.path("scenarios").findValuesAsText("verdict"))
                .containsOnlyOnce("broken")
                .contains("skipped");
        assertThat(summary.toString()).doesNotContain("interrupted");
        assertThat(target.resolve("allure-report/index.html")).isNotEmptyFile();
    }

    private JsonNode qualifyDying(List<String> arguments) throws Exception {
        Path target = Forked.project(directory);
        List<String> options = Forked.qualifying(directory, Forked.launcher(), "io.rdmatest.report.dying");
        Path said = directory.resolve("said");
        assertThat(Forked.java(said, options, Qualify.class.getName(), arguments))
                .as(Files.readString(said))
                .isEqualTo(Outcome.INCONCLUSIVE.status());
        return MAPPER.readTree(target.resolve("qualification.json").toFile());
    }

    @Test
    void theFrontEndStartsTheMachinesThatAFabricIsMadeOf() throws Exception {
        Path ignored = Forked.project(directory);
        Path asked = directory.resolve("asked");
        Path java = Forked.executable(
                directory.resolve("java"),
                "echo \"$RDMA_VM ${RDMA_VM_NODES-one}\" >>" + asked,
                "exec " + Forked.launcher() + " \"$@\"");
        List<String> options = Forked.qualifying(directory, java, "io.rdmatest.report.fixture");
        Path said = directory.resolve("said");
        Forked.java(
                said,
                options,
                Qualify.class.getName(),
                List.of("--fabric", "microvm-2", "--scenario", "MachineDies*.dies"));
        assertThat(asked).as(Files.readString(said)).hasContent("always 2\n");
    }

    private int fork(String pattern, boolean die) throws IOException, InterruptedException {
        return Forked.java(
                directory.resolve("said"),
                List.of(
                        "-D" + ScenarioRunner.PACKAGE + "=io.rdmatest.report.fixture",
                        "-D" + ReportConfiguration.DIRECTORY + "=" + directory.resolve("journal"),
                        "-Dallure.results.directory=" + results(),
                        "-Drdma.test.die=" + die),
                ScenarioRunner.class.getName(),
                List.of(pattern));
    }

    private ReportGenerator generate() throws IOException, InterruptedException {
        ReportGenerator generator = new ReportGenerator(
                directory.resolve("journal"), results(), Forked.commandline(), directory.resolve("out"));
        assertThat(generator.call()).isZero();
        return generator;
    }

    private Path results() {
        return directory.resolve("results");
    }

    private static JsonNode summary(ReportGenerator generator) throws IOException {
        JsonNode summary = MAPPER.readTree(generator.summary().toFile());
        try (InputStream schema =
                Files.newInputStream(generator.summary().resolveSibling("qualification.schema.json"))) {
            assertThat(JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                            .getSchema(schema)
                            .validate(summary))
                    .isEmpty();
        }
        return summary;
    }

    private JsonNode result(String name) throws IOException {
        var found = new TreeMap<String, JsonNode>();
        try (Stream<Path> files = Files.list(results())) {
            for (Path file : files.toList()) {
                if (file.toString().endsWith("-result.json")) {
                    JsonNode result = MAPPER.readTree(file.toFile());
                    found.put(result.path("fullName").asText(), result);
                }
            }
        }
        return found.entrySet().stream()
                .filter(entry -> entry.getKey().endsWith("." + name))
                .findFirst()
                .orElseThrow(() -> new AssertionError(name + " is not among " + found.keySet()))
                .getValue();
    }

    /** Returns the page of the matrix that a result belongs to. */
    private String matrix(String uuid) throws IOException {
        List<String> pages = new ArrayList<>();
        try (Stream<Path> files = Files.list(results())) {
            for (Path file : files.filter(file -> file.toString().endsWith("-container.json"))
                    .toList()) {
                JsonNode container = MAPPER.readTree(file.toFile());
                if (container.path("children").toString().contains(uuid)) {
                    for (String source : container.path("afters").findValuesAsText("source")) {
                        pages.add(Files.readString(results().resolve(source)));
                    }
                }
            }
        }
        assertThat(pages).hasSize(1);
        return pages.getFirst();
    }

    private static JsonNode scenario(JsonNode summary, String name) {
        return StreamSupport.stream(summary.path("scenarios").spliterator(), false)
                .filter(scenario -> scenario.path("name").asText().contains(name))
                .findFirst()
                .orElseThrow(() -> new AssertionError(name + " is not in " + summary));
    }

    private static String verdict(JsonNode summary, String name) {
        return scenario(summary, name).path("verdict").asText();
    }
}
