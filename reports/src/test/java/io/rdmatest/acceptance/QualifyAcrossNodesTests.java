package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.acceptance.Machines.Ended;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;

/** {@code ./qualify} with its scenarios across two nodes, which are virtual machines on one segment. */
@EnabledIf(
        value = "io.rdmatest.acceptance.Machines#preparedForNodes",
        disabledReason = "the project is not packaged, or no virtual machine can be started here")
@Timeout(value = 8, unit = TimeUnit.MINUTES)
class QualifyAcrossNodesTests {

    /** Not a temporary folder of the host's: of this one, the machines see the same. */
    private final Path folder = Machines.PROJECT.resolve("reports/target/qualify-across-nodes");

    @BeforeEach
    void createFolder() throws Exception {
        Files.createDirectories(folder);
    }

    @Test
    void theServersSideIsOnTheOtherNodeAndTheProgramToo() throws Exception {
        String said = run(
                Machines.qualify(),
                "--fabric",
                "microvm-2",
                "--scenario",
                "ConnectionScenarios.ipv6",
                "--scenario",
                "ConnectionScenarios.raw",
                "--scenario",
                "MulticastScenarios.sendOnly",
                "--scenario",
                "InteropScenarios.cell",
                "--output",
                folder.toString());

        // Five programs, in either role.
        requirePassed(said, 2 + 2 + 1 + 10, "node b", "node a");
        assertThat(Files.readString(folder.resolve("qualification.json"))).contains("on-node b rping -s");
    }

    @Test
    void allPairsAreMeasured() throws Exception {
        String said = run(Machines.qualify(), "--fabric", "microvm-2", "--pairs", "--output", folder.toString());

        JsonNode scenario = new ObjectMapper()
                .readTree(folder.resolve("qualification.json").toFile())
                .path("scenarios");
        assertThat(scenario).as(said).hasSize(1);
        assertThat(scenario.path(0).path("verdict").asText()).as(said).isEqualTo("passed");
        JsonNode measured = scenario.path(0).path("measurements");
        assertThat(measured.path("pairs").path("value").asInt()).isEqualTo(2);
        assertThat(measured.path("good").path("value").asInt()).isEqualTo(2);
        // Both directions of 200 round trips, twice.
        assertThat(scenario.path(0).path("bytesVerified").asLong()).isEqualTo(2 * 2 * 200 * 64);
    }

    /** Each scenario has bytes that were compared, and says which node did what. */
    private void requirePassed(String said, int count, String server, String client) throws Exception {
        JsonNode scenarios = new ObjectMapper()
                .readTree(folder.resolve("qualification.json").toFile())
                .path("scenarios");
        assertThat(scenarios).as(said).hasSize(count);
        for (JsonNode scenario : scenarios) {
            assertThat(scenario.path("verdict").asText())
                    .as(scenario.toString())
                    .isEqualTo("passed");
            // Of the matrix, some cells are drawn that move no bytes.
            if (!scenario.path("name").asText().startsWith("Interoperability")) {
                assertThat(scenario.path("bytesVerified").asLong())
                        .as(scenario.toString())
                        .isPositive();
            }
            assertThat(scenario.path("parameters").path("server").asText()).isEqualTo(server);
            assertThat(scenario.path("parameters").path("client").asText()).isEqualTo(client);
        }
    }

    private String run(List<String> program, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(program);
        command.addAll(List.of(arguments));
        Files.deleteIfExists(folder.resolve("qualification.json"));
        Ended ended = Machines.run(command, folder.resolve("said"), Duration.ofMinutes(6), Map.of());
        assertThat(ended.status()).as(ended.output()).isZero();
        return ended.output();
    }
}
