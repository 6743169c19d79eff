package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.acceptance.Machines.Ended;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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
                "--server b                     | --server and --client are nodes of a fabric: name it with --fabric",
                "--client z --fabric microvm-2  | has no node 'z'; allowed: a, b",
                "-Drdma.scenario.server=b       | --server and --client are nodes of a fabric: name it with --fabric",
                "--client z -Drdma.fabric=microvm-2         | has no node 'z'; allowed: a, b",
                "--timeout 0                    | --timeout 0 is not a number of seconds above 0",
                "--restarts -1                  | --restarts -1 is not a number of restarts, 0 or more",
                "--scenario NoSuchScenario      | no scenario matches NoSuchScenario",
                "--no-such-option               | Unknown option: '--no-such-option'",
            })
    void isToldAtOnce(String options, String message) throws Exception {
        requireTold(List.of(options.split(" ")), message);
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
