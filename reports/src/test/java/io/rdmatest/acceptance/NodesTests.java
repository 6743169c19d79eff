package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Roles on two nodes, which are virtual machines on one segment; the agent is the jar that the build made. */
@EnabledIf(
        value = "prepared",
        disabledReason = "the project is not packaged, or no virtual machine can be started here")
@Timeout(value = 8, unit = TimeUnit.MINUTES)
class NodesTests {

    private static final Path PROJECT = Path.of("..").toAbsolutePath().normalize();
    private static final Path SCRIPTS = PROJECT.resolve("fabric-config/rdma-jdk/bin");
    private static final Path AGENT = PROJECT.resolve("scenarios/target/rdmatest-agent.jar");

    @TempDir
    private Path folder;

    static boolean prepared() throws Exception {
        return CommandsAgainstProgramsTests.prepared() && Files.exists(AGENT);
    }

    @Test
    void rolesPingAcrossTheWireWithEitherSideOnEitherNode() throws Exception {
        String said = onTwoNodes("across pings \"$jar\"");

        assertThat(said)
                .containsSubsequence(
                        "copied to b (host",
                        "server on b, client on a: 20 pings, 20000 bytes verified there and 20000 here",
                        "found on b (host",
                        "server on a, client on b: 20 pings, 20000 bytes verified there and 20000 here",
                        "raw, server on b, client on a: 20 pings, 20000 bytes verified there and 20000 here",
                        "ended with 0")
                .containsPattern("left on b: 0 processes, 0 folders, 0 connections");
    }

    @Test
    void anAgentThatDiesOrHangsOnTheOtherNodeIsNamed() throws Exception {
        String said = onTwoNodes("across losses \"$jar\"");

        assertThat(said)
                .containsPattern("KILL: ENDED of node b, after \\d+ ms: node b \\(on-node b sh\\) .*signal 9")
                .containsPattern("STOP: SILENT of node b, after \\d+ ms: node b .*has said nothing for")
                .contains("ended with 0", "left on b: 0 processes, 0 folders, 0 connections");
    }

    @Test
    void nothingIsLeftOnTheOtherNodeWhenThisSideIsKilled() throws Exception {
        String said = onTwoNodes("""
                replace=exec
                across wait "$jar" >"$scratch/said" & parent=$!
                await grep -q '^serving' "$scratch/said"
                echo "before: $(on-node b pgrep -fc '[r]dmatest-agent.jar') processes"
                kill -KILL $parent
                wait $parent
                """);

        assertThat(said)
                .contains("before: 1 processes", "ended with 137", "left on b: 0 processes, 0 folders, 0 connections");
    }

    /** Runs a shell script on node a, and tells what is left of agents on node b afterwards. */
    private String onTwoNodes(String script) throws Exception {
        String java = System.getProperty("java.home") + "/bin/java";
        String whole = """
                jar=%s replace=''
                scratch=$(mktemp -d)
                across() {
                    $replace %s -XX:TieredStopAtLevel=1 -XX:+UseSerialGC --enable-native-access=ALL-UNNAMED \\
                        -cp %s:"$jar" io.rdmatest.acceptance.AcrossNodes "$@"
                }
                await() {
                    tries=0
                    until "$@"; do
                        tries=$((tries + 1))
                        [ $tries -lt 300 ] || { echo "in vain: $*" >&2; exit 99; }
                        sleep 0.2
                    done
                }
                none() { ! on-node b pgrep -f '[r]dmatest-agent.jar' >/dev/null; }
                %s
                echo "ended with $?"
                await none
                echo "left on b: $(on-node b pgrep -fc '[r]dmatest-agent.jar') processes," \\
                    "$(on-node b sh -c 'ls -d /tmp/rdmatest-agent.* 2>/dev/null | wc -l') folders," \\
                    "$(on-node b rdma resource show cm_id | grep -c LISTEN) connections"
                """.formatted(AGENT, java, classes(), script);
        Path said = folder.resolve("said");
        ProcessBuilder builder = new ProcessBuilder(
                        List.of(SCRIPTS.resolve("in-vm").toString(), "--nodes", "2", "--", "sh", "-c", whole))
                .directory(PROJECT.toFile())
                .redirectErrorStream(true)
                .redirectOutput(said.toFile());
        // Also where there is a device: what is shown here is two hosts.
        builder.environment().put("RDMA_VM", "always");
        Process process = builder.start();
        try {
            assertThat(process.waitFor(6, TimeUnit.MINUTES))
                    .as(() -> read(said))
                    .isTrue();
        } finally {
            process.destroy();
        }
        return read(said);
    }

    private static Path classes() throws URISyntaxException {
        return Path.of(AcrossNodes.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
    }

    private static String read(Path file) {
        try {
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
