package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.acceptance.Machines.Ended;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Wrong options of {@code ./qualify} are told in one message, before anything is installed or booted. */
class QualifyUsageTests {

    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--pairs                        | --pairs is about the nodes of a fabric: name it with --fabric",
                "--wire                         | --wire is about the nodes of a fabric: name it with --fabric",
                "--wire --fabric loopback       | --wire takes two nodes, and the fabric loopback (",
                "--pairs --fabric loopback      | --pairs takes two nodes, and the fabric loopback (",
                "--pairs=speed --fabric microvm-2 | rdma.pairs.measure=speed: 'speed' is not measured of pairs; allowed: bandwidth, rate, latency",
                "--pairs --pairs-qps 65 --fabric microvm-2 | rdma.pairs.qps=65: allowed are 1.0 to 64.0",
                "--pairs --pairs-operation atomic --fabric microvm-2 | rdma.pairs.operation=atomic: allowed are [write, read, send]",
                "--pairs --pairs-directions 2 --fabric microvm-2 | rdma.pairs.directions=2: allowed are [one, both]",
                "--pairs --pairs-time 0 --fabric microvm-2 | rdma.pairs.time=0: allowed are 0.01 to 60.0",
                "-Drdma.pairs.file=x            | -Drdma.pairs.file is set by ./qualify itself",
                "--server b                     | --server and --client are nodes of a fabric: name it with --fabric",
                "--client z --fabric microvm-2  | has no node 'z'; allowed: a, b",
                "-Drdma.scenario.server=b       | --server and --client are nodes of a fabric: name it with --fabric",
                "--client z -Drdma.fabric=microvm-2         | has no node 'z'; allowed: a, b",
                "-Drdma.wire=true --server a --client a --fabric microvm-2 | servers and clients are both to be on a",
                "-Drdma.report.directory=/tmp   | -Drdma.report.directory is set by ./qualify itself; --output says",
                "-Drdma.report.progress=false   | -Drdma.report.progress is set by ./qualify itself",
                "--timeout 0                    | --timeout 0 is not a number of seconds above 0",
                "--restarts -1                  | --restarts -1 is not a number of restarts, 0 or more",
                "--scenario NoSuchScenario      | no scenario matches NoSuchScenario",
                "--no-such-option               | Unknown option: '--no-such-option'",
            })
    void isToldAtOnce(String options, String message) throws Exception {
        requireTold(List.of(options.split(" ")), message);
    }

    @Test
    void isToldIfTheWireCannotBeWatched() throws Exception {
        Path fabric = Files.writeString(folder.resolve("three.yaml"), """
                fabric: three
                nodes:
                  - { name: a, device: rxe0 }
                  - { name: b, device: rxe0, launch: [ssh, b] }
                  - { name: c, device: rxe0, launch: [ssh, c] }
                """);
        String why = "--wire captures on this host, node a: the server is to be on b and the client on c";
        requireTold(List.of("--wire", "--fabric", fabric.toString(), "--server", "b", "--client", "c"), why);
        requireTold(List.of("-Drdma.wire=true", "-Drdma.fabric=" + fabric, "--server", "b", "--client", "c"), why);
    }

    private void requireTold(List<String> options, String message) throws Exception {
        List<String> command = new ArrayList<>(Machines.qualify());
        command.addAll(options);

        Ended ended = Machines.run(command, folder.resolve("said"), Duration.ofMinutes(1), Map.of());

        assertThat(ended.status()).as(ended.output()).isEqualTo(2);
        assertThat(ended.output()).contains(message);
        assertThat(ended.output().lines()).hasSizeLessThanOrEqualTo(2);
    }
}
