package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * All pairs of four virtual machines on one segment, which are booted once. Node b has one fault after the other: each must be
 * named, and nothing else accused.
 */
@Tag("machines")
@Tag("four-nodes")
@EnabledIf(value = "io.rdmatest.acceptance.Machines#wanted", disabledReason = Machines.NO_QEMU)
@Timeout(value = 90, unit = TimeUnit.MINUTES)
class PairsOnFourNodesIT {

    /** Culprits that are right for a fault of node b, however much of it shows, or that it was given up. */
    private static final String B = "(node|port) b\\b.*|node given up: b: .*";

    private static final List<Fault> FAULTS = List.of(
            new Fault("none", "", "none", "true", "true"),
            Fault.ofPackets("loss 1%", "loss 1%", B, "b", ""),
            Fault.ofPackets("loss 4%", "loss 4%", B, "b", ""),
            Fault.ofPackets("loss 100%", "loss 100%", B, "b", ""),
            Fault.ofPackets("rate 8mbit", "rate 8mbit", B, "b", ""),
            Fault.ofPackets("delay 5ms", "delay 5ms", B, "b", ""),
            Fault.ofPackets("corrupt 4%", "corrupt 4%", B, "b", ""),
            Fault.ofPackets("duplicate 10%", "duplicate 10%", B, "b", ""),
            Fault.ofPackets("delay 2ms reorder 25%", "delay 2ms reorder 25%", B, "b", ""),
            Fault.ofPackets("loss 10% from a to c", "loss 10%", "path a to c\\b.*", "a", "match ip dst 10.77.0.3/32"),
            // The MTU of a switch is too small. Two hosts agree on the smaller MTU of theirs, and fabric check tells
            // it.
            Fault.ofPackets("full packets are lost", "loss 100%", B, "b", "match u16 0x1000 0xf000 at 2"),
            new Fault(
                    "link down 2 s of 7",
                    B,
                    "b",
                    "(while sleep 5; do ip link set eth0 down; sleep 2; ip link set eth0 up; done)"
                            + " </dev/null >/dev/null 2>&1 & echo $! >/tmp/flap",
                    "kill $(cat /tmp/flap); ip link set eth0 up"),
            new Fault(
                    "gone after a minute",
                    B,
                    "b",
                    "(sleep 60; ip link set eth0 down; sleep 300; ip link set eth0 up) </dev/null >/dev/null 2>&1 &",
                    "true"),
            new Fault("never started", B, "absent", "true", "true"));

    /** A culprit, or a node that was given up below the matrix. */
    private static final Pattern ACCUSED = Pattern.compile("(?:culprits:| +) ((?:node|port|block|path) .*)");

    private static String said = "";

    /**
     * A fault.
     *
     * @param name the name
     * @param culprits which culprits are right; none if empty
     * @param node the node that gets it; {@code absent} if node b can't be started, {@code none} if the commands run here
     * @param set the command that makes it
     * @param unset the command that makes it good
     */
    private record Fault(String name, String culprits, String node, String set, String unset) {

        /** Something that happens to the RoCE packets that a node sends, and to nothing else. */
        static Fault ofPackets(String name, String netem, String culprits, String node, String match) {
            return new Fault(
                    name,
                    culprits,
                    node,
                    "tc qdisc add dev eth0 root handle 1: prio"
                            + " && tc qdisc add dev eth0 parent 1:3 handle 30: netem " + netem
                            + " && tc filter add dev eth0 parent 1: protocol ip u32 match ip dport 4791 0xffff "
                            + match + " flowid 1:3",
                    "tc qdisc del dev eth0 root");
        }

        String script() {
            String where = node.length() == 1 && !"a".equals(node) ? "on-node " + node + " " : "";
            String fabric = "absent".equals(node) ? "$absent" : "microvm-4";
            return """
                    echo "fault: %s"
                    %ssh -c '%s' || exit 98
                    %s -cp "$classes" io.rdmatest.acceptance.AllPairsMain %s
                    await %ssh -c '%s'
                    echo "end of fault: %1$s"
                    """.formatted(name, where, set, String.join(" ", Machines.java()), fabric, where, unset);
        }

        /** What was said while the node had it. */
        String said() {
            return said.substring(said.indexOf("fault: " + name), said.indexOf("end of fault: " + name));
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Fault> faults() {
        return FAULTS.stream();
    }

    @BeforeAll
    static void measure(@TempDir Path folder) throws Exception {
        String fabric = Files.readString(Machines.PROJECT.resolve("fabric-config/fabrics/microvm-4.yaml"));
        Path absent = Files.writeString(
                Machines.PROJECT.resolve("acceptance/target/node-b-is-absent.yaml"),
                fabric.replace("[on-node, b]", "[sh, -c, exit 125]"));
        StringBuilder script = new StringBuilder(Machines.AWAIT);
        FAULTS.forEach(fault -> script.append(fault.script()));
        said = Machines.inVm(
                        4,
                        folder.resolve("said"),
                        Duration.ofMinutes(85),
                        Map.of("classes", Machines.classPath(), "absent", absent.toString()),
                        script.toString())
                .output();
        System.out.println(said);
    }

    @ParameterizedTest
    @MethodSource("faults")
    void itIsNamedAndNothingElseIsAccused(Fault fault) {
        List<String> culprits = fault.said()
                .lines()
                .map(ACCUSED::matcher)
                .filter(Matcher::matches)
                .map(line -> line.group(1))
                .toList();
        if (fault.culprits().isEmpty()) {
            assertThat(culprits).as(fault.said()).isEmpty();
        } else {
            assertThat(culprits)
                    .as(fault.said())
                    .isNotEmpty()
                    .allMatch(Pattern.compile(fault.culprits()).asMatchPredicate());
        }
    }
}
