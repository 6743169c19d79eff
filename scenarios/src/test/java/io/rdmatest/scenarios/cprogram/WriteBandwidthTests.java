package io.rdmatest.scenarios.cprogram;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.scenarios.cprogram.WriteBandwidth.Result;
import io.rdmatest.scenarios.cprogram.WriteBandwidth.Side;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A script takes the place of ib_write_bw: with an address it is the client. */
@Timeout(120)
class WriteBandwidthTests {

    private static final Duration LONG = Duration.ofSeconds(60);

    private static final String WAITS = "echo '* Waiting for client to connect... *'; exec sleep 600";

    @TempDir
    private Path folder;

    private Side a;
    private Side b;

    @BeforeEach
    void sides() {
        a = side("a", "a:" + System.getenv("PATH"));
        b = side("b", "b:" + System.getenv("PATH"));
    }

    private Side side(String name, String path) {
        return new Side(
                name, List.of("env", "-C", folder.toString(), "PATH=" + folder.resolve(path)), List.of("-s", 64));
    }

    /** Installs the program on a node. It leaves the number of its process and its words. */
    private void install(String node, String script) throws IOException {
        Path program = Files.createDirectories(folder.resolve(node)).resolve("ib_write_bw");
        Files.writeString(program, "#!/bin/sh\necho $$ >>pids\necho \"$@\" >>" + node + ".words\n" + script + "\n");
        assertThat(program.toFile().setExecutable(true)).isTrue();
    }

    private String printed(List<String> lines) throws IOException {
        Path file = Files.write(folder.resolve("printed"), lines);
        return "cat " + file;
    }

    private Result measure(Duration limit) throws Exception {
        return WriteBandwidth.measure(a, b, "10.77.0.2", limit);
    }

    /** Whatever ran has ended, or does when it is killed. */
    private void requireNothingLeft() throws Exception {
        for (String pid : Files.readAllLines(folder.resolve("pids"))) {
            Optional<ProcessHandle> left = ProcessHandle.of(Long.parseLong(pid));
            if (left.isPresent()) {
                left.get().onExit().get(30, TimeUnit.SECONDS);
            }
        }
    }

    @Test
    void theClientsTableIsTheResult() throws Exception {
        install("b", WAITS);
        install("a", printed(PerftestOutputTests.recorded("ib_write_bw_2s")));

        Result result = measure(LONG);

        assertThat(result.reason()).isNull();
        assertThat(result.isMeasured()).isTrue();
        assertThat(result.bandwidth()).isEqualTo(46.09 * 8 * (1 << 20));
        assertThat(result.messageRate()).isEqualTo(0.000737 * 1e6);
        assertThat(Files.readString(folder.resolve("b.words"))).matches("-s 64 -p \\d+\\R");
        assertThat(Files.readString(folder.resolve("a.words")))
                .isEqualTo(Files.readString(folder.resolve("b.words")).strip() + " 10.77.0.2\n");
        requireNothingLeft();
    }

    @Test
    void aTableThatIsCutShortIsNoResult() throws Exception {
        List<String> lines = new ArrayList<>(PerftestOutputTests.recorded("ib_write_bw_2s"));
        while (!lines.getLast().contains("#bytes")) {
            lines.removeLast();
        }
        install("b", WAITS);
        install("a", printed(lines));

        Result result = measure(LONG);

        assertThat(result.isMeasured()).isFalse();
        assertThat(result.missingOn()).isNull();
        assertThat(result.bandwidth()).isNaN();
        assertThat(result.reason()).startsWith("ib_write_bw from a to b: ").contains("[its output ends]");
        requireNothingLeft();
    }

    @Test
    void whoFailsIsNamedWithWhatItPrinted() throws Exception {
        install("b", WAITS);
        install("a", "echo 'IB device rxe9 not found'; echo ' Unable to find the Infiniband/RoCE device' >&2; exit 1");
        assertThat(measure(LONG).reason())
                .isEqualTo("ib_write_bw on a ended with 1: IB device rxe9 not found;"
                        + " Unable to find the Infiniband/RoCE device");
        requireNothingLeft();

        install("b", "echo 'Failed to modify QP' >&2; exit 2");
        assertThat(measure(LONG).reason()).isEqualTo("ib_write_bw on b ended with 2: Failed to modify QP");
    }

    /** As perftest 4.5 of Debian 12 does between IPv6 addresses. */
    @Test
    void anOptionThatAnOlderVersionLacksIsNamed() throws Exception {
        install(
                "b",
                "echo \"ib_write_bw: unrecognized option '--ipv6-addr'\" >&2; echo 'Usage:'; echo '  many lines'; exit 1");
        install("a", "exit 1");

        assertThat(measure(LONG).reason())
                .isEqualTo("ib_write_bw on b has no option --ipv6-addr, which perftest 25.01 has: install a newer"
                        + " perftest there");
    }

    @Test
    void aClientThatIsTooEarlyTriesAgain() throws Exception {
        install("b", WAITS);
        install(
                "a",
                "[ -e tried ] || { touch tried; echo \"Couldn't connect to 10.77.0.2:20202\"; exit 1; }; "
                        + printed(PerftestOutputTests.recorded("ib_write_bw_1m")));

        assertThat(measure(LONG).bandwidth()).isEqualTo(43.01 * 8 * (1 << 20));
        assertThat(Files.readAllLines(folder.resolve("a.words"))).hasSize(2);
        requireNothingLeft();
    }

    @Test
    void aServerThatIsOutOfReachIsTriedForAPartOfTheTimeAndTold() throws Exception {
        install("b", WAITS);
        install("a", "echo \"Couldn't connect to 10.77.0.2:20202\"; exit 1");

        assertThat(measure(Duration.ofSeconds(8)).reason())
                .isEqualTo("ib_write_bw on a ended with 1: Couldn't connect to 10.77.0.2:20202");
        requireNothingLeft();
    }

    @Test
    void whereItIsNotInstalledIsTold() throws Exception {
        Side none = new Side("b", List.of("env", "PATH=" + onlyThePrograms("sh", "stdbuf")), List.of());
        assertThat(WriteBandwidth.measure(a, none, "10.77.0.2", LONG).missingOn())
                .isEqualTo("b");

        install("b", WAITS);
        none = new Side("a", List.of("env", "PATH=" + onlyThePrograms("sh", "stdbuf")), List.of());
        Result result = WriteBandwidth.measure(none, b, "10.77.0.2", LONG);
        assertThat(result.missingOn()).isEqualTo("a");
        assertThat(result.reason()).isEqualTo("ib_write_bw is not installed on a (package perftest)");
        requireNothingLeft();
    }

    /** A folder for a PATH that has some programs of this host, and no other one. */
    private Path onlyThePrograms(String... names) throws IOException {
        Path only = Files.createDirectories(folder.resolve("only"));
        for (String name : names) {
            Path link = only.resolve(name);
            if (!Files.exists(link)) {
                Files.createSymbolicLink(link, CProgram.find(name).orElseThrow());
            }
        }
        return only;
    }

    @Test
    void aProgramThatHangsIsEnded() throws Exception {
        install("b", WAITS);
        install("a", "exec sleep 600");

        Result result = measure(Duration.ofSeconds(3));

        assertThat(result.isMeasured()).isFalse();
        assertThat(result.reason()).startsWith("ib_write_bw from a to b: Still running after 3 s");
        requireNothingLeft();

        install("b", "exec sleep 600");
        assertThat(measure(Duration.ofSeconds(1)).reason()).contains("Still running after 1 s");
        requireNothingLeft();
    }
}
