package io.rdmatest.scenarios.qualify;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.rdmatest.report.Forked;
import io.rdmatest.report.run.Outcome;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Outcome and status are the same in all that a run leaves. */
class OutcomesTests {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    @TempDir
    private Path project;

    private record Case(
            String scenarios, List<String> arguments, String folder, int status, String state, String reason) {}

    /** A run that has the outcome, in the words of its results. */
    private static Case of(Outcome outcome) {
        return switch (outcome) {
            case QUALIFIED -> new Case("calm", List.of(), "", 0, "good", "The one scenario that was judged passed.");
            case REHEARSED ->
                new Case(
                        "calm",
                        List.of("-Drdma.test.machine=a"),
                        "",
                        0,
                        "unknown",
                        "The one scenario that was judged passed. This was a rehearsal: soft-RoCE in a virtual machine; this says"
                                + " nothing about a fabric.");
            case PARTIAL ->
                new Case(
                        "fixture",
                        List.of("--scenario", "Loop: 64 B"),
                        "partial",
                        0,
                        "unknown",
                        "The one scenario that was judged passed. 1 scenario was selected; a partial run qualifies nothing.");
            case NOT_QUALIFIED -> new Case("fixture", List.of(), "", 1, "bad", "The fabric failed 1 scenario of 9.");
            case INCONCLUSIVE ->
                new Case(
                        "troubled",
                        List.of("--scenario", "RunScoped*"),
                        "partial",
                        4,
                        "unknown",
                        "Broken, so that nothing was learnt from it: 1 scenario. 2 scenarios were selected; a partial run"
                                + " qualifies nothing.");
        };
    }

    private static String capitalised(Outcome outcome) {
        String words = outcome.toString();
        return Character.toUpperCase(words.charAt(0)) + words.substring(1);
    }

    @ParameterizedTest
    @EnumSource
    void everyResultSaysTheSame(Outcome outcome) throws Exception {
        Case run = of(outcome);
        Path target = Forked.project(project).resolve(run.folder());
        Path said = project.resolve("said");
        int status = Forked.java(
                said,
                Forked.qualifying(project, Forked.launcher(), "io.rdmatest.report." + run.scenarios()),
                Qualify.class.getName(),
                run.arguments());

        String console = Files.readString(said);
        assertThat(status).as(console).isEqualTo(run.status()).isEqualTo(outcome.status());
        assertThat(console).contains("\n" + capitalised(outcome) + ". " + run.reason());

        JsonNode summary = MAPPER.readTree(target.resolve("qualification.json").toFile());
        assertThat(summary.path("outcome").asText()).isEqualTo(outcome.toString());
        assertThat(summary.path("outcomeReason").asText()).startsWith(run.reason());
        assertThat(summary.path("exitStatus").asInt()).isEqualTo(status);
        requireValid(summary, target.resolve("qualification.schema.json"));

        assertThat(Files.readString(target.resolve("index.html")))
                .contains("<header class=\"outcome " + outcome.tone() + "\">")
                .contains("<span class=\"word\">" + capitalised(outcome) + ".</span> " + run.reason());

        JsonNode nodes = MAPPER.readTree(target.resolve("nodes.json").toFile());
        assertThat(nodes.path("outcome").asText()).isEqualTo(outcome.toString());
        assertThat(nodes.at("/nodes/0/state").asText()).isEqualTo(run.state());
        requireValid(nodes, target.resolve("nodes.schema.json"));

        List<String> metrics = Files.readAllLines(target.resolve("rdmatest.prom"));
        assertThat(metrics)
                .filteredOn(line -> line.startsWith("rdmatest_outcome{") && line.endsWith(" 1.0"))
                .singleElement()
                .asString()
                .contains("outcome=\"" + outcome + "\"");
        assertThat(metrics)
                .filteredOn(line -> line.startsWith("rdmatest_exit_status{"))
                .singleElement()
                .asString()
                .endsWith(" " + (double) status);

        assertThat(Files.readString(target.resolve("junit.xml")))
                .contains("<property name=\"outcome\" value=\"" + outcome + "\"");

        Properties allure = new Properties();
        try (InputStream in =
                Files.newInputStream(project.resolve("reports/target/qualify-results/environment.properties"))) {
            allure.load(in);
        }
        assertThat(allure.getProperty("outcome")).startsWith(outcome + ": " + run.reason());
    }

    private static void requireValid(JsonNode json, Path schema) throws IOException {
        try (InputStream in = Files.newInputStream(schema)) {
            assertThat(JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                            .getSchema(in)
                            .validate(json))
                    .isEmpty();
        }
    }

    @Test
    void anArchiveThatIsLostDuringTheRunIsInTheStatusOfTheSummary() throws Exception {
        Path target = Forked.project(project);
        Path said = project.resolve("said");
        Path archive = project.resolve("nights");
        Path java = Forked.executable(
                project.resolve("java"),
                "rmdir " + archive + " && : >" + archive,
                "exec " + Forked.launcher() + " \"$@\"");

        int status = Forked.java(
                said,
                Forked.qualifying(project, java, "io.rdmatest.report.calm"),
                Qualify.class.getName(),
                List.of("--archive", archive.toString()));

        assertThat(status).as(Files.readString(said)).isEqualTo(3);
        assertThat(Files.readString(said)).contains("the results are not all kept: " + archive);
        assertThat(MAPPER.readTree(target.resolve("qualification.json").toFile())
                        .path("exitStatus")
                        .asInt())
                .isEqualTo(3);
    }

    @Test
    void eachOutcomeHasWordsOfItsOwn() {
        assertThat(Arrays.stream(Outcome.values()).map(Outcome::toString)).doesNotHaveDuplicates();
        assertThat(Outcome.values())
                .allSatisfy(each -> assertThat(Outcome.of(each.toString())).isSameAs(each));
        assertThat(Outcome.of("splendid")).isNull();
    }

    /** A selection counts against the last whole run, whose results stay. */
    @Test
    void aPartialRunLeavesTheResultsOfTheWholeOne() throws Exception {
        Path target = Forked.project(project);
        Path said = project.resolve("said");
        List<String> options = Forked.qualifying(project, Forked.launcher(), "io.rdmatest.report.fixture");
        String whole = "{\"environment\": {}, \"end\": \"2026-01-01T00:00:00.000Z\", \"fabric\": {\"name\": \"auto\"},"
                + " \"scenarios\": [{\"name\": \"Loop: 64 B\", \"id\": \"LoopScenarios.transfers[64 B]\", \"verdict\":"
                + " \"failed\"}, {\"name\": \"b\", \"verdict\": \"passed\"}]}";
        Path summary = Files.writeString(target.resolve("qualification.json"), whole);
        Path page = Files.writeString(target.resolve("index.html"), "the whole run's");
        Path pairs = Files.writeString(target.resolve("pairs.jsonl"), "the whole run's");

        assertThat(Forked.java(said, options, Qualify.class.getName(), List.of("--last-failed")))
                .as(Files.readString(said))
                .isZero();

        assertThat(Files.readString(said))
                .contains("1 of 2 scenarios was selected; a partial run qualifies nothing.")
                .contains("Page     " + target.resolve("partial/index.html"));
        assertThat(summary).hasContent(whole);
        assertThat(page).hasContent("the whole run's");
        assertThat(pairs).hasContent("the whole run's");
        assertThat(target.resolve("partial/pairs.jsonl")).doesNotExist();

        // The last run is now the partial one.
        assertThat(Forked.java(said, options, Qualify.class.getName(), List.of("--last-failed")))
                .isZero();
        assertThat(Files.readString(said))
                .contains("Nothing to run again", target.resolve("partial/qualification.json") + " (partial)");

        // What it did not judge has still failed.
        Files.writeString(
                summary, whole.replace("\"b\", \"verdict\": \"passed\"", "\"Loop: 4 KiB\", \"verdict\": \"failed\""));
        LastRun last = LastRun.read(target);
        assertThat(last.file()).isEqualTo(summary);
        assertThat(last.failed()).singleElement().asString().endsWith("Loop: 4 KiB");

        assertThat(Forked.java(
                        said,
                        options,
                        Qualify.class.getName(),
                        List.of("--scenario", "Loop: 64 B", "--archive", project + "/nights", "--accept")))
                .isEqualTo(2);
        assertThat(Files.readString(said)).contains("--accept makes a whole run the new normal");
    }
}
