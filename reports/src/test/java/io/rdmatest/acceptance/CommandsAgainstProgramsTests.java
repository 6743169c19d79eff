package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * {@code ./rdmatest} against the C programs: in one virtual machine, and from one of two hosts to the other, on which nothing
 * but rdma-core is used.
 */
@EnabledIf(
        value = "prepared",
        disabledReason = "the project is not packaged, or no virtual machine can be started here")
@Timeout(value = 6, unit = TimeUnit.MINUTES)
class CommandsAgainstProgramsTests {

    private static final Path PROJECT = Path.of("..").toAbsolutePath().normalize();
    private static final Path SCRIPTS = PROJECT.resolve("fabric-config/rdma-jdk/bin");

    /** Waits until somebody on this host (or with a prefix on the other one) listens; a client that comes earlier is refused. */
    private static final String LISTENING = """
            listening() {
                tries=0
                until "$@" rdma resource show cm_id | grep -q LISTEN; do
                    tries=$((tries + 1))
                    [ $tries -lt 300 ] || { echo 'nobody listens' >&2; exit 99; }
                    sleep 0.2
                done
            }
            """;

    @TempDir
    private Path folder;

    private record Ended(int status, String output) {}

    static boolean prepared() throws Exception {
        Process check = new ProcessBuilder(SCRIPTS.resolve("setup").toString(), "--check")
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        return check.waitFor(1, TimeUnit.MINUTES)
                && check.exitValue() == 0
                && Files.exists(Path.of("/usr/bin/qemu-system-x86_64"))
                && Files.exists(PROJECT.resolve("scenarios/target/rdmatest.stamp"));
    }

    @Test
    void ourClientPingsTheProgramInOneMachine() throws Exception {
        Ended ended = inVm(1, "rping -s -a 10.77.0.1 & ./rdmatest rping -c -a 10.77.0.1 -C 100 -S 64 -V");

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("verified: 100 pings of 64 bytes, 6400 bytes compared");
    }

    @Test
    void theProgramPingsOurServerInOneMachine() throws Exception {
        Ended ended = inVm(1, LISTENING + """
                ./rdmatest rping -s -a 10.77.0.1 & server=$!
                listening && rping -c -a 10.77.0.1 -C 100 -S 64 -V && wait $server
                """);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("verified: 100 pings of 1 client, 6400 bytes compared");
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(
            delimiter = '|',
            value = {
                "rping | -s -a 10.77.0.2 -S 1000 | -c -a 10.77.0.2 -C 20 -S 1000 -V",
            })
    void ourClientAgainstTheProgramOnTheOtherHost(String program, String server, String client) throws Exception {
        Ended ended = inVm(2, LISTENING + """
                on-node b %1$s %2$s & server=$!
                listening on-node b && ./rdmatest %1$s %3$s || exit
                wait $server
                """.formatted(program, server, client));

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("verified: ");
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(
            delimiter = '|',
            value = {
                "rping | -s -a 10.77.0.1 -S 1000 | -c -a 10.77.0.1 -C 20 -S 1000 -V",
            })
    void ourServerAgainstTheProgramOnTheOtherHost(String program, String server, String client) throws Exception {
        Ended ended = inVm(2, LISTENING + """
                ./rdmatest %1$s %2$s & server=$!
                listening && on-node b %1$s %3$s
                wait $server
                """.formatted(program, server, client));

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("verified: ");
    }

    /** Runs a shell script in the project's folder on node a of a machine, or of two. */
    private Ended inVm(int nodes, String script) throws Exception {
        List<String> command = new ArrayList<>(List.of(SCRIPTS.resolve("in-vm").toString()));
        if (nodes > 1) {
            command.addAll(List.of("--nodes", Integer.toString(nodes)));
        }
        command.addAll(List.of("--", "sh", "-c", script));
        Path said = folder.resolve("said");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(PROJECT.toFile())
                .redirectErrorStream(true)
                .redirectOutput(said.toFile());
        // Also where there is a device: what is shown here is two hosts.
        builder.environment().put("RDMA_VM", "always");
        Process process = builder.start();
        try {
            assertThat(process.waitFor(5, TimeUnit.MINUTES))
                    .as("%s ended within 5 min", script)
                    .isTrue();
        } finally {
            process.destroy();
        }
        return new Ended(process.exitValue(), Files.readString(said, StandardCharsets.UTF_8));
    }
}
