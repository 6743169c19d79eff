package io.rdmatest.scenarios.qualify;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.report.Forked;
import io.rdmatest.report.listener.RdmaReportListener;
import io.rdmatest.report.run.Outcome;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a run tells in which everything but its tests fails. One run makes all that is looked at. */
class TroublesTests {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    @TempDir
    private static Path project;

    private static int status;
    private static String said = "";

    @BeforeAll
    static void run() throws Exception {
        // What a bench has left is no part of a qualification.
        Path bench =
                Files.createDirectories(project.resolve("scenarios/target")).resolve("bench.json");
        Files.writeString(
                bench, "{\"rows\": [{\"name\": \"send-lat\", \"holds\": false, \"target\": 1, \"ratio\": 2}]}");
        status = qualify(project, project.resolve("said"));
        said = Files.readString(project.resolve("said"));
    }

    private static int qualify(Path project, Path said, String... arguments) throws Exception {
        Path ignored = Forked.project(project);
        List<String> options = Forked.qualifying(project, Forked.launcher(), "io.rdmatest.report.troubled");
        return Forked.java(said, options, Qualify.class.getName(), List.of(arguments));
    }

    private static Map<String, JsonNode> scenarios() throws Exception {
        Map<String, JsonNode> scenarios = new LinkedHashMap<>();
        for (JsonNode scenario : MAPPER.readTree(
                        project.resolve("reports/target/qualification.json").toFile())
                .path("scenarios")) {
            scenarios.put(scenario.path("name").asText(), scenario);
        }
        return scenarios;
    }

    @Test
    void aCleanUpThatFailsIsBroken() throws Exception {
        JsonNode cleanUp = scenarios().get(RdmaReportListener.CLEAN_UP);

        assertThat(cleanUp).as(said).isNotNull();
        assertThat(cleanUp.path("verdict").asText()).isEqualTo("broken");
        assertThat(cleanUp.path("reason").asText()).contains("ibv_close_device failed: EBUSY");
        assertThat(said).contains(RdmaReportListener.CLEAN_UP);
    }

    @Test
    void aCleanUpThatFailsIsEnoughForTheRunToFail(@TempDir Path folder) throws Exception {
        Path output = folder.resolve("said");

        assertThat(qualify(folder, output, "--scenario", "RunScoped*")).isEqualTo(Outcome.INCONCLUSIVE.status());
        assertThat(Files.readString(output)).contains("2 scenarios: 1 passed, 0 failed, 1 broken, 0 skipped");
    }

    @Test
    void aTearDownThatFailsTookAsLongAsItsClass() throws Exception {
        JsonNode tearDown = scenarios().get("Tear down fails");

        assertThat(tearDown.path("verdict").asText()).isEqualTo("failed");
        assertThat(tearDown.path("durationMillis").asLong()).isBetween(0L, TimeUnit.MINUTES.toMillis(2));
    }

    @Test
    void aLineOfProgressThatIsGarbledIsOutput() throws Exception {
        assertThat(said).doesNotContain("Going on with what is left").containsPattern("passed .* Garbled: isShown");
        assertThat(scenarios().get("Garbled: garbles").path("verdict").asText()).isEqualTo("passed");
        assertThat(scenarios().get("Garbled: isShownAllTheSame").path("verdict").asText())
                .isEqualTo("passed");
    }

    @Test
    void theReportHasWhatTheSummaryHas() throws Exception {
        Map<String, JsonNode> scenarios = scenarios();

        assertThat(scenarios)
                .as(said)
                .containsOnlyKeys(
                        "Garbage: nestsStepsWithoutEnd",
                        "Garbage: publishesWhatNobodyCanRead",
                        "Garbled: garbles",
                        "Garbled: isShownAllTheSame",
                        "Gives up: five",
                        "Gives up: four",
                        "Run scoped: passes",
                        "Set up fails: one",
                        "Set up fails: two",
                        "Set up fails: three",
                        "Tear down fails: six",
                        "Tear down fails",
                        RdmaReportListener.CLEAN_UP);
        assertThat(Forked.results(project.resolve("reports/target/qualify-results")))
                .extracting(result -> result.path("name").asText() + " "
                        + result.path("status").asText())
                .containsExactlyInAnyOrderElementsOf(scenarios.values().stream()
                        .map(scenario -> scenario.path("name").asText().replaceFirst(".*: ", "") + " "
                                + scenario.path("verdict").asText())
                        .toList());
    }

    @Test
    void whatATestPublishesCannotLoseTheRun() throws Exception {
        assertThat(status).as(said).isEqualTo(1);
        assertThat(project.resolve("reports/target/allure-report/index.html")).isNotEmptyFile();
        JsonNode garbage = scenarios().get("Garbage: publishesWhatNobodyCanRead");
        assertThat(garbage.path("verdict").asText()).isEqualTo("passed");
        assertThat(garbage.path("measurements").properties()).hasSize(1);
        assertThat(garbage.at("/measurements/good/value").asDouble()).isEqualTo(0.0000123);
        assertThat(garbage.at("/measurements/good/better").asText()).isEqualTo("higher");
        assertThat(garbage.path("warnings"))
                .extracting(JsonNode::asText)
                .contains(
                        "unreadable entry rdma.measurement \"rate\": rdma.value \"1,5\" is not a decimal number with a"
                                + " point",
                        "unreadable entry rdma.throughput \"write\": rdma.size \"-1\" is not a whole number of at most"
                                + " 18 digits",
                        "unreadable entry rdma.histogram \"rtt\": rdma.histogram.data is not in HdrHistogram's"
                                + " compressed form",
                        "unreadable entry rdma.bytesVerified \"many\": rdma.bytesVerified \"many\" is not a whole"
                                + " number of at most 18 digits",
                        "unreadable entry rdma.label \"junit.platform.uniqueid\": the report itself sets this label")
                .hasSize(6);
        assertThat(said).contains("warning: Garbage: publishesWhatNobodyCanRead: unreadable entry", "(and 5 more");
        assertThat(Files.readString(project.resolve("reports/target/qualify-results/environment.properties")))
                .contains("unreadable\\: Garbage\\: publishesWhatNobodyCanRead");
        assertThat(Forked.results(project.resolve("reports/target/qualify-results")))
                .filteredOn(result -> result.path("name").asText().equals("publishesWhatNobodyCanRead"))
                .singleElement()
                .satisfies(result -> assertThat(result.path("attachments").findValuesAsText("name"))
                        .contains("warnings"));
    }
}
