package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/**
 * Roles on two nodes, which are virtual machines on one segment that are booted once; the agent is the jar that the build made.
 */
@Tag("machines")
@EnabledIf(value = "io.rdmatest.acceptance.Machines#wanted", disabledReason = Machines.NO_QEMU)
@Timeout(value = 8, unit = TimeUnit.MINUTES)
class NodesIT {

    /** What each case said, by its name. */
    private static final Map<String, String> SAID = new HashMap<>();

    @BeforeAll
    static void run(@TempDir Path folder) throws Exception {
        Map<String, String> cases =
                Map.of("pings", "across pings \"$jar\"", "losses", "across losses \"$jar\"", "wait", """
                replace=exec
                across wait "$jar" >"$scratch/said" & parent=$!
                await grep -q '^serving' "$scratch/said"
                echo "before: $(on-node b pgrep -fc '[r]dmatest-agent.jar') processes"
                kill -KILL $parent
                wait $parent
                """);
        String all = onTwoNodes(folder, cases);
        for (String name : cases.keySet()) {
            String end = "end of case " + name + "\n";
            assertThat(all).contains(end);
            SAID.put(name, all.substring(all.indexOf("case " + name + "\n"), all.indexOf(end)));
        }
    }

    @Test
    void rolesPingAcrossTheWireWithEitherSideOnEitherNode() {
        assertThat(SAID.get("pings"))
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
    void anAgentThatDiesOrHangsOnTheOtherNodeIsNamed() {
        assertThat(SAID.get("losses"))
                .containsPattern("KILL: ENDED of node b, after \\d+ ms: node b \\(on-node b sh\\) .*signal 9")
                .containsPattern("STOP: SILENT of node b, after \\d+ ms: node b .*has sent nothing for")
                .contains("ended with 0", "left on b: 0 processes, 0 folders, 0 connections");
    }

    @Test
    void nothingIsLeftOnTheOtherNodeWhenThisSideIsKilled() {
        assertThat(SAID.get("wait"))
                .contains("before: 1 processes", "ended with 137", "left on b: 0 processes, 0 folders, 0 connections");
    }

    /** Runs shell scripts on node a, one after the other, and tells what is left of agents on node b after each. */
    private static String onTwoNodes(Path folder, Map<String, String> cases) throws Exception {
        StringBuilder whole = new StringBuilder(
                Machines.AWAIT + """
                jar=%s
                scratch=$(mktemp -d)
                across() {
                    $replace %s -cp %s:"$jar" io.rdmatest.acceptance.AcrossNodes "$@"
                }
                none() { ! on-node b pgrep -f '[r]dmatest-agent.jar' >/dev/null; }
                """.formatted(Machines.AGENT, String.join(" ", Machines.java()), classes()));
        cases.forEach((name, script) -> whole.append("""
                echo "case %1$s"
                replace=''
                %2$s
                echo "ended with $?"
                await none
                echo "left on b: $(on-node b pgrep -fc '[r]dmatest-agent.jar') processes," \\
                    "$(on-node b sh -c 'ls -d /tmp/rdmatest-agent.* 2>/dev/null | wc -l') folders," \\
                    "$(on-node b rdma resource show cm_id | grep -c LISTEN) connections"
                echo "end of case %1$s"
                """.formatted(name, script)));
        return Machines.inVm(2, folder.resolve("said"), Duration.ofMinutes(7), Map.of(), whole.toString())
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
