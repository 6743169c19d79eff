package io.rdmatest.scenarios.qualify;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.Node;
import io.rdmatest.report.Forked;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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

    @ParameterizedTest
    @CsvSource({"--hosts, ssh -o BatchMode=yes", "--slurm, srun --overlap -N1 -n1 -w"})
    void hostsNeedNoFabricFile(String option, String launch) throws Exception {
        String here = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        String list = here + ",node[08-10]";
        Ended ended = option.equals("--slurm")
                ? qualify(Map.of("SLURM_JOB_NODELIST", list), option)
                : qualify(Map.of(), option, list);

        assertThat(ended.status()).as(ended.output()).isEqualTo(3);
        String name = asked().stream()
                .filter(argument -> argument.startsWith("-Drdma.fabric="))
                .findFirst()
                .orElseThrow()
                .substring("-Drdma.fabric=".length());
        Fabric fabric = Fabric.load(name);
        assertThat(fabric.nodes()).extracting(Node::name).containsExactly(here, "node08", "node09", "node10");
        assertThat(fabric.local().name()).isEqualTo(here);
        assertThat(fabric.nodes().getLast().launch())
                .isEqualTo(Stream.concat(Stream.of(launch.split(" ")), Stream.of("node10"))
                        .toList());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--slurm                     | SLURM_JOB_NODELIST is not set",
                "--hosts n[1-2] --fabric lab | --fabric, --hosts and --slurm each name the nodes",
                "--hosts n[1-2] --slurm      | --fabric, --hosts and --slurm each name the nodes",
                "--hosts n[1-2              | a bracket is not closed",
                "--hosts n[1-2],m            | Of a list, it is the node with the name of this host"
            })
    void hostsThatAreNoneAreWrongUsage(String options, String message) throws Exception {
        Ended ended = qualify(Map.of(), options.split(" +"));

        assertThat(ended.status()).as(ended.output()).isEqualTo(2);
        assertThat(ended.output()).contains(message);
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
        assertThat(unknown.status()).as(unknown.output()).isEqualTo(2);
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

    /** Whether by wrong usage, or because the host is not ready: a run that came to nothing replaces nothing. */
    @Test
    void theLastResultsOutliveARunThatCameToNothing() throws Exception {
        Path summary = Files.writeString(target.resolve("qualification.json"), "{}");
        Path page = Files.writeString(target.resolve("index.html"), "<html></html>");
        Path pairs = Files.writeString(target.resolve("pairs.jsonl"), "{}");
        Path report = Files.createDirectories(target.resolve("allure-report")).resolve("index.html");
        Files.writeString(report, "<html></html>");
        Map<List<String>, Integer> runs = Map.of(
                List.of("--restarts", "-1"), 2,
                List.of("--fabric", "no-such-fabric"), 2,
                List.of("--fabric", "loopback", "--rail", "six"), 2,
                List.of("--device", "/"), 2,
                List.of("--last-failed"), 2,
                List.of(), 3);
        for (Map.Entry<List<String>, Integer> run : runs.entrySet()) {
            Ended ended = qualify(Map.of(), run.getKey().toArray(String[]::new));

            assertThat(ended.status()).as(run.getKey() + ": " + ended.output()).isEqualTo(run.getValue());
            assertThat(List.of(summary, page, pairs, report))
                    .allSatisfy(
                            file -> assertThat(file).as(run.getKey().toString()).isNotEmptyFile());
        }
    }

    private static void recordHardware(Path summary) throws IOException {
        Files.createDirectories(summary.getParent());
        Files.writeString(
                summary,
                "{\"environment\": {\"device\": \"mlx5_0\", \"driver\": \"mlx5_core\"}, \"scenarios\": [],"
                        + " \"schemaVersion\": 3}");
    }

    /** How the set-up is asked where the run is to be, and that the JVM of the scenarios keeps to its answer. */
    @Test
    void theSetUpDecidesWhereTheRunIs() throws Exception {
        Path jdk = project.resolve("fabric-config/rdma-jdk/bin");
        Path setUp = project.resolve("set-up");
        Files.writeString(target.resolve("lab.yaml"), "fabric: lab\nnodes: [{ name: a, device: mlx5_0 }]\n");
        Files.writeString(
                target.resolve("two.yaml"),
                "fabric: two\nnodes: [{ name: a }, { name: b, launch: [ssh, b.example] }]\n");
        Path ignored = Forked.executable(
                jdk.resolve("java"), "echo \"java RDMA_VM=$RDMA_VM\" >>" + setUp, "echo 'nothing is run here' >&2");
        record Row(String options, String answer, String asked) {}
        String lab = "--fabric " + target.resolve("lab.yaml");
        String two = "--fabric " + target.resolve("two.yaml");
        for (Row row : List.of(
                new Row("", "machine", "setup RDMA_VM= --run\njava RDMA_VM=always\n"),
                new Row("", "host", "setup RDMA_VM= --run\njava RDMA_VM=never\n"),
                new Row("--device rxe0/1", "machine", "setup RDMA_VM= --run --device rxe0\njava RDMA_VM=always\n"),
                new Row("--device mlx5_0", "host", "setup RDMA_VM=never --run --device mlx5_0\njava RDMA_VM=never\n"),
                new Row(lab, "host", "setup RDMA_VM=never --run --device mlx5_0\njava RDMA_VM=never\n"),
                new Row(two, "host", "setup RDMA_VM=never --run\njava RDMA_VM=never\n"),
                new Row(
                        "--fabric microvm",
                        "machine",
                        "setup RDMA_VM=always --run --device rxe0\njava RDMA_VM=always\n"))) {
            Files.deleteIfExists(setUp);
            Path ignoredSetUp = Forked.executable(
                    jdk.resolve("setup"), "echo \"setup RDMA_VM=$RDMA_VM $*\" >>" + setUp, "echo " + row.answer());
            Path said = project.resolve("said");
            int status = Forked.java(
                    said,
                    List.of("-Drdma.project=" + project),
                    Qualify.class.getName(),
                    List.of(
                            row.options().isEmpty()
                                    ? new String[0]
                                    : row.options().split(" ")));

            String console = Files.readString(said);
            assertThat(status).as(row + console).isEqualTo(3);
            assertThat(setUp).as(row.toString()).hasContent(row.asked());
            if (row.answer().equals("machine")) {
                assertThat(console).startsWith("Rehearsal: soft-RoCE in a virtual machine");
            } else {
                assertThat(console).as(row.toString()).doesNotContain("Rehearsal");
            }
        }
    }

    /** A host on which an earlier run was on hardware has lost it. */
    @Test
    void anEarlierRunOnHardwareIsASignOfIt() throws Exception {
        Path jdk = project.resolve("fabric-config/rdma-jdk/bin");
        Path ignored = Forked.executable(jdk.resolve("setup"), "printf '<%s>' \"$@\" >&2", "exit 3");
        Path archive = project.resolve("nights");
        for (Path summary : List.of(
                target.resolve("qualification.json"),
                target.resolve("partial/qualification.json"),
                archive.resolve("2026-11-27T040000.123Z-x/qualification.json"))) {
            recordHardware(summary);
            Path said = project.resolve("said");
            int status = Forked.java(
                    said,
                    List.of("-Drdma.project=" + project),
                    Qualify.class.getName(),
                    List.of("--archive", archive.toString()));

            assertThat(status).isEqualTo(3);
            assertThat(Files.readString(said))
                    .isEqualTo("<--run><--seen><an earlier run was on mlx5_0, see " + summary + ">");
            Files.delete(summary);
        }
    }
}
