package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.acceptance.Machines.Ended;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** {@code ./qualify} with its scenarios across two nodes, which are virtual machines on one segment. */
@Tag("machines")
@EnabledIf(value = "io.rdmatest.acceptance.Machines#wanted", disabledReason = Machines.NO_QEMU)
@Timeout(value = 8, unit = TimeUnit.MINUTES)
class QualifyAcrossNodesIT {

    /** Not a temporary folder of the host's: of this one, the machines see the same. */
    private final Path folder = Machines.PROJECT.resolve("acceptance/target/qualify-across-nodes");

    /** Where the results of a run of some scenarios are. */
    private final Path partial = folder.resolve("partial");

    @BeforeEach
    void createFolder() throws Exception {
        Files.createDirectories(folder);
    }

    /** That an sshd is installed; the project itself needs none. */
    static boolean isSshdThere() {
        return Files.isExecutable(Path.of("/usr/sbin/sshd")) && Files.isExecutable(Path.of("/usr/bin/ssh"));
    }

    @Test
    @Tag("every-build")
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
        assertThat(said)
                .contains("Rehearsal: soft-RoCE in a virtual machine; this says nothing about a fabric\n")
                .contains("\nRehearsed. All 15 scenarios that were judged passed. This was a rehearsal: ");
        assertThat(Files.readString(partial.resolve("qualification.json"))).contains("on-node b rping -s");
    }

    @Test
    void packetsAreMissedOnlyWhereThereAreSome() throws Exception {
        String said = run(
                Machines.qualify(),
                "--fabric",
                "microvm-2",
                "--wire",
                "--scenario",
                "StreamScenarios.mode",
                "--scenario",
                "ConnectionScenarios.setUpAndTearDown",
                "--output",
                folder.toString());

        assertThat(scenarios()).as(said).hasSize(14 + 6);
        List<String> silent = new ArrayList<>();
        for (JsonNode scenario : scenarios()) {
            String name = scenario.path("name").asText();
            String seen = scenario.path("parameters").path("wire").asText();
            assertThat(scenario.path("verdict").asText())
                    .as(scenario.toString())
                    .isEqualTo("passed");
            if (name.matches(".*-T [sf],.*")) {
                silent.add(seen);
            } else {
                assertThat(seen).as(name).matches("[1-9]\\d* packets, .*");
            }
        }
        // The last packet of the scenario before, or a report of a multicast group, may still come.
        assertThat(silent)
                .hasSize(6)
                .allSatisfy(seen -> assertThat(seen).matches("no packet: .*|[1-9] packets, .*"))
                .contains("no packet: TCP carries the stream");
    }

    /**
     * Of all pairs, by a run that is started from another folder: the machines can write only to some folders of this host, and
     * the one here is none of them.
     */
    @Test
    void allPairsAreMeasuredAndTheResultsAreWhereTheRunWasStarted(@TempDir Path elsewhere) throws Exception {
        List<String> command = new ArrayList<>(Machines.qualify());
        command.addAll(List.of("--fabric", "microvm-2", "--pairs", "--output", elsewhere.toString()));

        Ended ended = Machines.run(elsewhere, command, folder.resolve("said"), Duration.ofMinutes(6), Map.of());

        assertThat(ended.status()).as(ended.output()).isZero();
        JsonNode scenario = scenarios(elsewhere);
        assertThat(scenario).as(ended.output()).hasSize(1);
        assertThat(scenario.path(0).path("verdict").asText()).as(ended.output()).isEqualTo("passed");
        JsonNode measured = scenario.path(0).path("measurements");
        assertThat(measured.path("pairs").path("value").asInt()).isEqualTo(2);
        assertThat(measured.path("good").path("value").asInt()).isEqualTo(2);
        // Both directions of 200 round trips and of 10 before them, for two pairs; one that stands out is measured
        // again, and on a loaded host a pair ends with fewer.
        // Two streams over two queue pairs are verified at their ends.
        long pair = 2 * 210 * 64 + 2 * (4 * 65536 + 64 * 64);
        assertThat(scenario.path(0).path("bytesVerified").asLong())
                .isPositive()
                .isLessThanOrEqualTo(4 * pair)
                .matches(bytes -> bytes % (2 * 64) == 0, "whole round trips");
        assertThat(measured.path("bandwidth minimum").path("value").asDouble()).isPositive();
        assertThat(measured.path("message rate median").path("value").asDouble())
                .isPositive();
        assertThat(measured.path("p50 median").path("value").asDouble()).isPositive();
        // Of a second attempt there is another line.
        assertThat(new PairsReader().read(elsewhere.resolve("pairs.jsonl")))
                .hasSizeBetween(2, 4)
                .allSatisfy(cell -> {
                    assertThat(cell.outcome()).isEqualTo(PairLine.Outcome.MEASURED);
                    assertThat(cell.bandwidth()).isPositive();
                    assertThat(cell.messageRate()).isPositive();
                    assertThat(cell.latencyP50()).isPositive();
                    assertThat(cell.lineRate()).isNaN();
                    assertThat(cell.bytesVerified()).isPositive().isLessThanOrEqualTo(pair);
                    assertThat(cell.counters().from()).containsKey("sent_pkts");
                    assertThat(cell.counters().to()).containsKey("rcvd_pkts");
                })
                .extracting(PairLine::from, PairLine::to)
                .contains(tuple("a", "b"), tuple("b", "a"));
        assertThat(ended.output()).contains("rail0, bandwidth in Gb/s, from \\ to:", "Pairs    " + elsewhere);
    }

    @Test
    @Timeout(value = 12, unit = TimeUnit.MINUTES)
    @EnabledIf(value = "isSshdThere", disabledReason = "there is no sshd (Debian: apt-get install openssh-server)")
    void theOtherNodeIsReachedBySsh() throws Exception {
        Path fabric = Files.writeString(folder.resolve("ssh.yaml"), """
                fabric: two-by-ssh
                nodes:
                  - name: here
                    device: rxe0
                    address: 10.77.0.1
                  - name: there
                    launch: [ssh, -i, /tmp/key, -o, BatchMode=yes, -o, StrictHostKeyChecking=no,
                             -o, UserKnownHostsFile=/tmp/known, -o, LogLevel=ERROR, root@10.77.0.2]
                    device: rxe0
                    address: 10.77.0.2
                    environment: { JDK_JAVA_OPTIONS: '-XX:TieredStopAtLevel=1' }
                """);
        String script = Machines.AWAIT + """
                ssh-keygen -q -t ed25519 -N '' -f /tmp/key || exit
                on-node b sh -c 'cat >/tmp/authorized' </tmp/key.pub || exit
                on-node b sh -c 'mkdir -p /run/sshd && ssh-keygen -q -t ed25519 -N "" -f /tmp/host &&
                    exec /usr/sbin/sshd -D -e -h /tmp/host -o AuthorizedKeysFile=/tmp/authorized -o StrictModes=no \\
                        -o PidFile=none -o UsePAM=no -o PermitRootLogin=prohibit-password' >/tmp/sshd.log 2>&1 </dev/null &
                await grep -q 'Server listening' /tmp/sshd.log
                %s --fabric %s --server here --client there --scenario ConnectionScenarios.privateData \\
                    --scenario InteropScenarios.cell --output %s
                status=$?
                echo "left there: $(on-node b pgrep -fc '[r]dmatest-agent.jar') agents," \\
                    "$(on-node b ps -eo comm= | grep -xcE 'rping|ucmatose|udaddy|mckey|rstream') programs"
                exit $status
                """.formatted(String.join(" ", Machines.qualify()), fabric, folder);
        Ended ended = Machines.inVm(2, folder.resolve("said"), Duration.ofMinutes(10), Map.of(), script);

        assertThat(ended.status()).as(ended.output()).isZero();
        // Two payloads, and five programs in either role.
        requirePassed(ended.output(), 2 + 10, "node here", "node there");
        assertThat(Files.readString(partial.resolve("qualification.json")))
                .contains("root@10.77.0.2' ucmatose ", "root@10.77.0.2' rping ");
        assertThat(ended.output()).contains("left there: 0 agents, 0 programs");
    }

    /** What the scenarios run in ends under them: that is told, what was run is reported, and nothing stays. */
    @Test
    void aMachineThatIsKilledInMidRunIsTold() throws Exception {
        String output = killInMidRun(0, "--restarts", "0", "--scenario", "PingPongScenarios");

        assertThat(output).contains("The run ended early. Last output:");
        assertThat(verdicts()).as(output).contains("passed", "broken");
    }

    /** The other machine is killed here. What is left is done on two new ones, and nothing twice. */
    @Test
    @Timeout(value = 12, unit = TimeUnit.MINUTES)
    void aRunGoesOnWhenAMachineWasKilled() throws Exception {
        String output = killInMidRun(
                1,
                "--scenario",
                "PingPongScenarios.sharedReceiveQueue",
                "--scenario",
                "PingPongScenarios.inline",
                "--scenario",
                "PingPongScenarios.completionEvents");

        assertThat(output).containsOnlyOnce("Going on with what is left in another one");
        assertThat(verdicts()).as(output).containsOnly("passed", "broken").containsOnlyOnce("broken");
        assertThat(scenarios()).extracting(each -> each.path("name").asText()).doesNotHaveDuplicates();
        assertThat(scenarios())
                .as(output)
                .extracting(each -> each.path("name").asText())
                .anySatisfy(name -> assertThat(name).contains("shared receive queue"))
                .anySatisfy(name -> assertThat(name).contains("inline"))
                .anySatisfy(name -> assertThat(name).contains("events"));
    }

    /** Runs scenarios on two machines, kills one of them when the first scenario has ended, and returns what was said. */
    private String killInMidRun(int node, String... arguments) throws Exception {
        Path said = folder.resolve("killed");
        List<String> command = new ArrayList<>(Machines.qualify());
        command.addAll(List.of("--fabric", "microvm-2", "--output", folder.toString()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(Machines.PROJECT.toFile())
                .redirectErrorStream(true)
                .redirectOutput(said.toFile());
        builder.environment().put("RDMA_VM", "always");
        builder.environment().put("RDMA_VM_DEVICE", "rxe0");
        Path journal = Machines.PROJECT.resolve("reports/target/qualify-journal");
        Instant begin = Instant.now();
        Process process = builder.start();
        List<ProcessHandle> started = List.of();
        try {
            await(process, "a scenario that ended", () -> finished(journal, begin) > 0);
            started = process.descendants().toList();
            List<ProcessHandle> machines = started.stream()
                    .filter(each -> each.info().command().orElse("").contains("qemu-system"))
                    .sorted(Comparator.comparingLong(ProcessHandle::pid))
                    .toList();
            assertThat(machines).hasSize(2);
            assertThat(machines.get(node).destroyForcibly()).isTrue();

            long killed = System.nanoTime();
            await(process, "the end of both machines", () -> machines.stream().noneMatch(ProcessHandle::isAlive));
            assertThat(Duration.ofNanos(System.nanoTime() - killed)).isLessThan(Duration.ofSeconds(30));
            assertThat(process.waitFor(6, TimeUnit.MINUTES)).isTrue();
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        String output = Files.readString(said);
        // Inconclusive: what the machine died in says nothing about the fabric.
        assertThat(process.exitValue()).as(output).isEqualTo(4);
        assertThat(output)
                .contains("the virtual machine" + (node == 0 ? "" : " b") + " ended: QEMU was killed by signal 9");
        assertThat(started).noneMatch(ProcessHandle::isAlive);
        return output;
    }

    private JsonNode scenarios() throws IOException {
        return scenarios(partial);
    }

    private static JsonNode scenarios(Path output) throws IOException {
        return new ObjectMapper()
                .readTree(output.resolve("qualification.json").toFile())
                .path("scenarios");
    }

    private List<String> verdicts() throws IOException {
        return scenarios().findValuesAsText("verdict");
    }

    /** Counts the tests that ended since; until it is deleted, the journal of another run is there. */
    private static long finished(Path journal, Instant since) {
        try (Stream<Path> files = Files.walk(journal)) {
            long count = 0;
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                if (Files.getLastModifiedTime(file).toInstant().isBefore(since)) {
                    continue;
                }
                count += Files.readString(file)
                        .lines()
                        .filter(line -> line.contains("FINISHED") && line.contains("\"test\":true"))
                        .count();
            }
            return count;
        } catch (IOException | UncheckedIOException e) {
            // Not there yet, or written just now.
            return 0;
        }
    }

    /** Waits until something is so, or the process ended. */
    private static void await(Process process, String what, BooleanSupplier so) throws InterruptedException {
        long deadline = System.nanoTime() + Duration.ofMinutes(3).toNanos();
        while (!so.getAsBoolean()) {
            boolean over = process.waitFor(100, TimeUnit.MILLISECONDS) || System.nanoTime() - deadline > 0;
            assertThat(over && !so.getAsBoolean()).as("in vain: " + what).isFalse();
        }
    }

    /** Each scenario has bytes that were compared, and says which node did what. */
    private void requirePassed(String said, int count, String server, String client) throws Exception {
        JsonNode scenarios = scenarios();
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
        Files.deleteIfExists(partial.resolve("qualification.json"));
        Ended ended = Machines.run(command, folder.resolve("said"), Duration.ofMinutes(6), Map.of());
        assertThat(ended.status()).as(ended.output()).isZero();
        return ended.output();
    }
}
