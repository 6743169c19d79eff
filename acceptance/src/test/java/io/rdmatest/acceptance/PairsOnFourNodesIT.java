package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** All pairs of four virtual machines on one segment: enough for telling a port from a path. */
@Tag("two-nodes")
@Tag("four-nodes")
@EnabledIf(value = "io.rdmatest.acceptance.Machines#wanted", disabledReason = Machines.NO_QEMU)
@Timeout(value = 15, unit = TimeUnit.MINUTES)
class PairsOnFourNodesIT {

    /** Delays the RoCE packets that the interface sends, and nothing else. */
    private static final String SHAPED = """
            on-node c sh -c 'tc qdisc add dev eth0 root handle 1: prio
                && tc qdisc add dev eth0 parent 1:3 handle 30: netem rate 10mbit
                && tc filter add dev eth0 parent 1: protocol ip u32 match ip dport 4791 0xffff flowid 1:3' || exit 98
            """.replace("\n    &&", " &&");

    /**
     * Single paths are not judged: where machines are emulated and share a processor, one may stand still for longer than
     * soft-RoCE waits, and what it sends again then is no fault of this test's making.
     */
    @Test
    void thePortThatSendsSlowlyIsTheOnlyPortThatIsNamed(@TempDir Path folder) throws Exception {
        String said = Machines.inVm(
                        4,
                        folder.resolve("said"),
                        Duration.ofMinutes(14),
                        Map.of("classes", Machines.classPath()),
                        SHAPED + String.join(" ", Machines.java())
                                + " -cp \"$classes\" io.rdmatest.acceptance.AllPairsMain microvm-4")
                .output();

        List<String> ports = said.lines()
                .filter(line -> line.startsWith("culprits: "))
                .map(line -> line.substring("culprits: ".length()))
                .filter(line -> line.startsWith("port ") || line.startsWith("node "))
                .toList();
        assertThat(ports).as(said).containsExactly("port c on rail0, sending");
        assertThat(said)
                .contains("3 of 3 pairs from c on rail0 are bad")
                .containsPattern("culprits: .*; confirmed with \\w and \\w: ")
                .contains("server a, client c: ", "server b, client c: ", "server d, client c: ");
    }
}
