package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Roles on two nodes, which are virtual machines on one segment; the agent is the jar that the build made. */
@Tag("two-nodes")
@EnabledIf(value = "io.rdmatest.acceptance.Machines#wanted", disabledReason = Machines.NO_QEMU)
@Timeout(value = 8, unit = TimeUnit.MINUTES)
class NodesIT {

    @TempDir
    private Path folder;

    @Test
    void rolesPingAcrossTheWireWithEitherSideOnEitherNode() throws Exception {
        String said = onTwoNodes("across pings \"$jar\"");

        assertThat(said)
                .containsSubsequence(
                        "copied to b (host",
                        "server on b, client on a: 20 pings, 20000 bytes verified there and 20000 here",
                        "found on b (host",
                        "server on a, client on b: 20 pings, 20000 bytes verified there and 20000 here",
                        "raw, server on b, client on a: 20000 bytes verified there and 20000 here",
                        "ended with 0")
                .containsPattern("left on b: 0 processes, 0 folders, 0 connections");
    }

    @Test
    void anAgentThatDiesOrHangsOnTheOtherNodeIsNamed() throws Exception {
        String said = onTwoNodes("across losses \"$jar\"");

        assertThat(said)
                .containsPattern("KILL: ENDED of node b, after \\d+ ms: node b \\(on-node b sh\\) .*signal 9")
                .containsPattern("STOP: SILENT of node b, after \\d+ ms: node b .*has sent nothing for")
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
        String whole =
                Machines.AWAIT + """
                jar=%s replace=''
                scratch=$(mktemp -d)
                across() {
                    $replace %s -cp %s:"$jar" io.rdmatest.acceptance.AcrossNodes "$@"
                }
                none() { ! on-node b pgrep -f '[r]dmatest-agent.jar' >/dev/null; }
                %s
                echo "ended with $?"
                await none
                echo "left on b: $(on-node b pgrep -fc '[r]dmatest-agent.jar') processes," \\
                    "$(on-node b sh -c 'ls -d /tmp/rdmatest-agent.* 2>/dev/null | wc -l') folders," \\
                    "$(on-node b rdma resource show cm_id | grep -c LISTEN) connections"
                """.formatted(Machines.AGENT, String.join(" ", Machines.java()), classes(), script);
        return Machines.inVm(2, folder.resolve("said"), Duration.ofMinutes(6), Map.of(), whole)
                .output();
    }

    private static Path classes() throws URISyntaxException {
        return Path.of(AcrossNodes.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
    }
}
