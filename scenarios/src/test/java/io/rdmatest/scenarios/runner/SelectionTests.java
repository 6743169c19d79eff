package io.rdmatest.scenarios.runner;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmatest.report.Forked;
import io.rdmatest.report.run.Outcome;
import io.rdmatest.scenarios.Phase;
import io.rdmatest.scenarios.qualify.Qualify;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.ReflectionSupport;

/** What a run prints can be run again, and in which order scenarios run. */
class SelectionTests {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    @TempDir
    private Path project;

    private Path target = Path.of("");

    private record Ended(int status, String said) {}

    @BeforeEach
    void makeAProject() throws IOException {
        target = Forked.project(project);
    }

    private Ended qualify(String... arguments) throws Exception {
        Path said = project.resolve("said");
        int status = Forked.java(
                said,
                Forked.qualifying(project, Forked.launcher(), "io.rdmatest.report.fixture"),
                Qualify.class.getName(),
                List.of(arguments));
        return new Ended(status, Files.readString(said));
    }

    /** Returns the summary of a run of some scenarios. */
    private JsonNode summary() throws IOException {
        return MAPPER.readTree(target.resolve("partial/qualification.json").toFile());
    }

    private List<String> scenarios() throws IOException {
        JsonNode summary = summary();
        List<String> scenarios = new ArrayList<>();
        summary.path("scenarios")
                .forEach(each -> scenarios.add(
                        each.path("verdict").asText() + " " + each.path("id").asText()));
        return scenarios;
    }

    @Test
    void everyClassOfScenariosHasAPhase() {
        List<Class<?>> classes = ReflectionSupport.findAllClassesInPackage(
                ScenarioRunner.SCENARIOS, each -> true, name -> name.endsWith("Scenarios"));
        assertThat(classes).hasSizeGreaterThanOrEqualTo(9);
        assertThat(classes)
                .allSatisfy(each -> assertThat(AnnotationSupport.findRepeatableAnnotations(each, Tag.class).stream()
                                .flatMap(tag -> Phase.of(tag.value()).stream()))
                        .as(each.getName() + " has @Tag(Phase.…_TAG)")
                        .hasSize(1));
    }

    @Test
    void scenariosAreInTheOrderOfTheirPhases() {
        List<String> classes = ScenarioRunner.list(List.of()).stream()
                .map(line -> line.substring(0, line.indexOf('.')))
                .distinct()
                .toList();

        assertThat(classes)
                .startsWith("ConnectionScenarios", "ConformanceScenarios")
                .containsSubsequence("MulticastScenarios", "StreamScenarios", "PairScenarios", "ThresholdScenarios");
    }

    @Test
    void aNameThatARunPrintsSelectsThatInvocation() throws Exception {
        Ended ended = qualify("--scenario", "Loop: 64 B");

        assertThat(ended.status()).as(ended.said()).isZero();
        assertThat(scenarios()).containsExactly("passed LoopScenarios.transfers[64 B]");
        assertThat(ended.said())
                .contains("1 scenario: 1 passed", "] + passed")
                .doesNotContain("?")
                .doesNotContain("No scenario matches");
        assertThat(Forked.results(target.resolve("qualify-results")))
                .extracting(result -> result.path("name").asText())
                .containsExactly("64 B");

        Ended both = qualify("--scenario", "Loop: * B", "--scenario", "Loop: 65 B");
        assertThat(both.status()).as(both.said()).isZero();
        assertThat(scenarios())
                .containsExactly("passed LoopScenarios.transfers[64 B]", "passed LoopScenarios.transfers[4096 B]");
        assertThat(both.said()).contains("No scenario matches Loop: 65 B");
    }

    @Test
    void aNameThatNoScenarioHasIsWrongUsage() throws Exception {
        Ended ended = qualify("--scenario", "Loop: 65 B");

        assertThat(ended.status()).as(ended.said()).isEqualTo(2);
        assertThat(ended.said()).contains("./qualify: no scenario matches Loop: 65 B; names are as a run prints them");

        Ended atOnce = qualify("--scenario", "LoopScenarios.transfers", "--scenario", "NoSuchScenario");
        assertThat(atOnce.status()).as(atOnce.said()).isEqualTo(2);
        assertThat(atOnce.said())
                .isEqualTo("./qualify: no scenario matches NoSuchScenario; ./qualify --list shows all\n");
    }

    @Test
    void whatFailedIsRepeatedAtTheEndAndRunAgain() throws Exception {
        Ended first = qualify("--scenario", "LoopScenarios", "-Drdma.interop.cells=3");

        assertThat(first.status()).as(first.said()).isEqualTo(1);
        assertThat(first.said().substring(first.said().indexOf("scenario  ")))
                .contains("""
                        X failed  Loop: retriesExhausted
                                  completion of QP 17 failed: IBV_WC_RETRY_EXC_ERR, vendor error 0x81
                        """)
                .contains("! broken  Loop: hostBroken\n          no space left on device\n")
                .contains("Run these again: ./qualify --last-failed\n");

        JsonNode firstSummary = summary();
        assertThat(firstSummary.at("/fabric/name").asText()).isEqualTo("auto");
        assertThat(firstSummary.at("/nodes/0/name").asText()).isNotEmpty();
        assertThat(firstSummary.at("/tool/version").asText()).matches("\\d+\\.\\d+\\.\\d+.*");
        assertThat(firstSummary.path("start").asText())
                .isLessThanOrEqualTo(firstSummary.at("/scenarios/0/start").asText())
                .isLessThan(firstSummary.path("end").asText());

        Ended listed = qualify("--last-failed", "--list");
        assertThat(listed.said()).contains("LoopScenarios.hostBroken").doesNotContain("publishesEverything");

        Ended again = qualify("--last-failed");
        assertThat(again.status()).as(again.said()).isEqualTo(1);
        assertThat(again.said())
                .contains("As in the last run: -Drdma.interop.cells=3", "Running 2 scenarios", "[  2/2] ");
        assertThat(scenarios())
                .containsExactlyInAnyOrder("failed LoopScenarios.retriesExhausted", "broken LoopScenarios.hostBroken");

        assertThat(summary().path("exitStatus").asInt()).isEqualTo(1);
        assertThat(summary().path("runId").asText())
                .as("another one for each run")
                .isNotEqualTo(firstSummary.path("runId").asText());
        assertThat(summary().at("/settings/rdma.run.seed").asText())
                .isEqualTo(firstSummary.at("/settings/rdma.run.seed").asText())
                .isNotEmpty();

        // A run that comes to nothing is not the last one.
        Ended nothing = qualify("--fabric", "no-such-fabric");
        assertThat(nothing.status()).isEqualTo(2);
        assertThat(qualify("--last-failed", "--list").said()).contains("LoopScenarios.hostBroken");
    }

    @Test
    void oneInvocationThatFailedIsRunAgainAlone() throws Exception {
        write("failed", "\"id\": \"LoopScenarios.transfers[4096 B]\", \"name\": \"Loop: 4096 B\"");
        Ended ended = qualify("--last-failed");

        assertThat(ended.status()).as(ended.said()).isZero();
        assertThat(scenarios()).containsExactly("passed LoopScenarios.transfers[4096 B]");

        // As earlier builds wrote it.
        write("broken", "\"name\": \"Loop: 64 B\"");
        assertThat(qualify("--last-failed").status()).isZero();
        assertThat(scenarios()).containsExactly("passed LoopScenarios.transfers[64 B]");
    }

    private void write(String verdict, String members) throws IOException {
        boolean ignoredPart = Files.deleteIfExists(target.resolve("partial/qualification.json"));
        Path ignored = Files.writeString(
                target.resolve("qualification.json"),
                "{\"environment\": {}, \"scenarios\": [{%s, \"verdict\": \"%s\"}]}".formatted(members, verdict));
    }

    @Test
    void withoutALastRunOrAFailureThatIsSaid() throws Exception {
        Ended none = qualify("--last-failed");
        assertThat(none.status()).isEqualTo(2);
        assertThat(none.said())
                .contains("--last-failed: there is no last run: " + target.resolve("qualification.json")
                        + " does not exist; run ./qualify without --last-failed");

        Files.writeString(target.resolve("qualification.json"), "{");
        Ended broken = qualify("--last-failed");
        assertThat(broken.status()).isEqualTo(2);
        assertThat(broken.said()).contains("is no qualification.json: ").hasLineCount(1);

        for (Outcome outcome : Outcome.values()) {
            if (outcome != Outcome.NOT_QUALIFIED) {
                write("passed", "\"id\": \"LoopScenarios.leftOut\", \"name\": \"Loop: leftOut\"");
                ObjectNode summary = (ObjectNode)
                        MAPPER.readTree(target.resolve("qualification.json").toFile());
                MAPPER.writeValue(
                        target.resolve("qualification.json").toFile(), summary.put("outcome", outcome.toString()));
                Ended nothing = qualify("--last-failed");
                assertThat(nothing.status()).as(nothing.said()).isEqualTo(outcome.status());
                assertThat(nothing.said()).contains("Nothing to run again: no scenario failed or was broken");
            }
        }

        write("failed", "\"id\": \"GoneScenarios.gone\", \"name\": \"Gone: gone\"");
        Ended gone = qualify("--last-failed");
        assertThat(gone.status()).isEqualTo(2);
        assertThat(gone.said()).contains("no scenario matches GoneScenarios.gone;");
        Ended both = qualify("--last-failed", "--scenario", "Loop");
        assertThat(both.status()).isEqualTo(2);
        assertThat(both.said()).contains("--last-failed says which scenarios to run: leave out --scenario");
    }

    @Test
    void phasesAreNamedByTheirTags() {
        assertThat(Arrays.stream(Phase.values()).map(Phase::tag))
                .containsExactly("connect", "conformance", "data", "performance");
        assertThat(Stream.of("connect", "slow").map(Phase::of))
                .containsExactly(Optional.of(Phase.CONNECT), Optional.empty());
    }
}
