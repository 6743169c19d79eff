package io.rdmatest.report.qualify;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.report.Forked;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How {@code ./qualify} starts the JVM of the scenarios, which here only says how, and runs nothing. */
class QualifyCommandTests {

    @TempDir
    private Path project;

    private Path java = Path.of("");
    private Path target = Path.of("");
    private Path asked = Path.of("");

    private record Ended(int status, String output) {}

    @BeforeEach
    void makeAProject() throws IOException {
        target = Files.createDirectories(project.resolve("reports/target"));
        asked = project.resolve("asked");
        java = Forked.executable(
                project.resolve("java"),
                "{ echo \"RDMA_VM_NODES=$RDMA_VM_NODES\"; echo \"RDMA_VM_RW=$RDMA_VM_RW\"; printf '%s\\n' \"$@\"; } >"
                        + asked,
                "echo 'nothing is run here' >&2");
    }

    private Ended qualify(Map<String, String> environment, String... arguments) throws Exception {
        Path said = project.resolve("said");
        int status = Forked.java(
                said,
                environment,
                List.of("-Drdma.project=" + project, "-Drdma.java=" + java),
                Qualify.class.getName(),
                List.of(arguments));
        return new Ended(status, Files.readString(said));
    }

    private List<String> asked() throws IOException {
        return Files.readAllLines(asked);
    }

    @Test
    void aSettingIsTheSameAsItsOption() throws Exception {
        Ended ended = qualify(Map.of(), "-Drdma.fabric=microvm-2", "-Drdma.scenario.client=b", "-Drdma.wire=true");

        assertThat(ended.status()).as(ended.output()).isEqualTo(3);
        assertThat(asked())
                .contains("RDMA_VM_NODES=2", "-Drdma.fabric=microvm-2", "-Drdma.scenario.client=b", "-Drdma.wire=true");
    }

    @Test
    void anOptionWinsAgainstASetting() throws Exception {
        Ended ended = qualify(
                Map.of(),
                "-Drdma.fabric=no-such-fabric",
                "--fabric",
                "microvm-2",
                "--device",
                "rxe7",
                "-Drdma.device=x");

        assertThat(ended.status()).as(ended.output()).isEqualTo(3);
        assertThat(asked())
                .contains("RDMA_VM_NODES=2")
                .filteredOn(argument -> argument.matches("-Drdma\\.(fabric|device)=.*"))
                .containsExactlyInAnyOrder("-Drdma.fabric=microvm-2", "-Drdma.device=rxe7");
    }

    @Test
    void theRailIsOneOfTheFabric() throws Exception {
        Path file = Files.writeString(target.resolve("rails.yaml"), """
                fabric: lab
                nodes:
                  - name: a
                    rails: { one: { device: mlx5_0 }, two: { device: mlx5_1 } }
                """);
        Ended ended = qualify(Map.of(), "--fabric", file.toString(), "--rail", "two");
        assertThat(ended.status()).as(ended.output()).isEqualTo(3);
        assertThat(asked()).contains("-Drdma.rail=two");

        Ended unknown = qualify(Map.of(), "--fabric", file.toString(), "-Drdma.rail=six");
        assertThat(unknown.status()).as(unknown.output()).isEqualTo(3);
        assertThat(unknown.output()).contains("rdma.rail=six: fabric lab (" + file + ") has no such rail", "one, two");

        Ended alone = qualify(Map.of(), "--rail", "two");
        assertThat(alone.status()).as(alone.output()).isEqualTo(2);
        assertThat(alone.output()).contains("--rail is one of a fabric's file: name it with --fabric");
    }

    /** The machine lets nothing out of it but what is written to such a folder. */
    @Test
    void theJournalLeavesTheMachineFromWhereverTheRunIsStarted() throws Exception {
        qualify(Map.of());
        assertThat(asked()).contains("RDMA_VM_RW=" + target);

        qualify(Map.of("RDMA_VM_RW", "/var/tmp"));
        assertThat(asked()).contains("RDMA_VM_RW=/var/tmp:" + target);
    }

    @Test
    void anEarlierVerdictDoesNotOutliveARunThatCameToNothing() throws Exception {
        Path summary = target.resolve("qualification.json");
        Path page = target.resolve("index.html");
        Path pairs = target.resolve("pairs.jsonl");
        Path report = target.resolve("allure-report/index.html");
        for (List<String> arguments : List.of(List.of("--fabric", "no-such-fabric"), List.<String>of())) {
            Files.writeString(summary, "{}");
            Files.writeString(page, "<html></html>");
            Files.writeString(pairs, "{}");
            Files.createDirectories(report.getParent());
            Files.writeString(report, "<html></html>");

            // What is not understood at all is no run.
            assertThat(qualify(Map.of(), "--restarts", "-1").status()).isEqualTo(2);
            assertThat(summary).exists();
            assertThat(page).exists();
            assertThat(report).exists();

            Ended ended = qualify(Map.of(), arguments.toArray(String[]::new));
            assertThat(ended.status()).isEqualTo(3);
            assertThat(ended.output()).containsPattern("no-such-fabric|nothing is run here");
            assertThat(summary).doesNotExist();
            assertThat(page).doesNotExist();
            assertThat(pairs).doesNotExist();
            assertThat(report.getParent()).doesNotExist();
        }
    }
}
