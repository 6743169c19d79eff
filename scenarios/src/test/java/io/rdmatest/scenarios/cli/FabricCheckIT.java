package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ./rdmatest fabric check} where there is a device; the launched nodes are this host under another name. */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "300 s")
class FabricCheckIT {

    private static final String LAUNCHED = "    launch: [env, '--']\n    java: same\n";

    /** In a network that is documentation's, so that nobody has it (RFC 5737). */
    private static final String NOBODY = "192.0.2.77";

    @TempDir
    private Path folder;

    private final FabricDevice device = Fabric.load("auto").local().resolve();
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    private int check(String nodes) throws IOException {
        Path file = Files.writeString(folder.resolve("lab.yaml"), "fabric: lab\nnodes:\n" + nodes);
        return run("fabric", "check", file.toString(), "--json", "--timeout", "120s");
    }

    private JsonNode node(int index) throws IOException {
        return new ObjectMapper().readTree(out.toString()).get("nodes").get(index);
    }

    private static List<String> problems(JsonNode node) {
        List<String> problems = new ArrayList<>();
        node.get("problems")
                .forEach(problem -> problems.add(problem.get("status").asText() + ": "
                        + problem.get("message").asText()));
        return problems;
    }

    @Test
    void autoIsReady() {
        assertThat(run("fabric", "check", "auto")).as(out + " " + err).isZero();
        assertThat(out.toString())
                .startsWith("auto (")
                .contains("node a: this host, ")
                .contains("  " + device.device().name() + "/" + device.port() + ", GID "
                        + device.gid().index() + " " + device.gid().gid())
                .contains(", address " + device.address().getHostAddress())
                .endsWith("fabric auto is ready" + System.lineSeparator());
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void aLaunchedNodeIsSeenAsTheDeviceItselfIs() throws Exception {
        assertThat(check("  - name: a\n  - name: b\n" + LAUNCHED))
                .as(out.toString())
                .isEqualTo(3);
        assertThat(problems(node(0))).isEmpty();
        // It is this host, which a pair of them must not be.
        assertThat(problems(node(1)))
                .singleElement()
                .asString()
                .startsWith("host not ready: it is the same machine as node a, ")
                .contains("with the same " + device.device().name() + "/" + device.port());
        for (int index = 0; index < 2; index++) {
            JsonNode seen = node(index).get("devices").get(0);
            assertThat(seen.get("device").asText()).isEqualTo(device.device().name());
            assertThat(seen.get("port").asInt()).isEqualTo(device.port());
            assertThat(seen.get("gidIndex").asInt()).isEqualTo(device.gid().index());
            assertThat(seen.get("gid").asText()).isEqualTo(device.gid().gid().toString());
            assertThat(seen.get("gidType").asText())
                    .isEqualTo(device.gid().type().toString());
            assertThat(seen.get("address").asText()).isEqualTo(device.address().getHostAddress());
            assertThat(seen.get("rateGbps").asDouble())
                    .isEqualTo(device.portAttributes().rateGbps());
            assertThat(seen.get("mtuBytes").asInt())
                    .isEqualTo(device.portAttributes().activeMtu().bytes());
        }
    }

    @Test
    void whatIsMissingIsNamedOnBothSides() throws Exception {
        String missing = "    device: mlx9_7\n";
        assertThat(check("  - name: a\n" + missing + "  - name: b\n" + LAUNCHED + missing + "  - name: c\n" + LAUNCHED
                        + "    address: " + NOBODY + "\n"))
                .isEqualTo(3);
        assertThat(problems(node(0)))
                .singleElement()
                .asString()
                .startsWith("host not ready: device 'mlx9_7' of node a of fabric lab is not on this host; seen: "
                        + device.device().name() + "/" + device.port() + " ACTIVE (");
        assertThat(problems(node(1)))
                .singleElement()
                .asString()
                .startsWith("host not ready: device 'mlx9_7' of node b of fabric lab is not there; seen: "
                        + device.device().name() + "/" + device.port() + " ACTIVE ("
                        + device.device().driver() + ")");
        assertThat(problems(node(2)))
                .singleElement()
                .asString()
                .startsWith("host not ready: no GID for node c of fabric lab, gid auto, address " + NOBODY + "; ");
    }

    @Test
    void brokenPromisesAreNamedOnBothSides() throws Exception {
        String promises =
                "    promises: { rate: 9999, mtu: 256, gid-type: IB, lossless: true, capabilities: [multicast] }\n";
        assertThat(check("  - name: a\n" + promises + "  - name: b\n" + LAUNCHED + promises))
                .isEqualTo(1);
        for (int index = 0; index < 2; index++) {
            assertThat(problems(node(index)))
                    .hasSize(2 + index)
                    .anyMatch(
                            problem -> problem.startsWith("fabric failed: a rate of 9999 Gb/s is promised, but it is "))
                    .contains("fabric failed: a GID of the type IB is promised, but it is "
                            + device.gid().type()
                            + "; correct the file if that is as it should be, or the port, cable or switch");
        }
        assertThat(node(0).get("notLookedAt").toString()).contains("lossless").doesNotContain("capabilities");
        assertThat(node(1).get("notLookedAt").toString()).contains("lossless", "capabilities");
    }

    @Test
    void aHostThatIsOffIsNeitherLaunchedNorReached() throws Exception {
        assertThat(check("  - name: a\n  - name: b\n    launch: [no-such-ssh, b]\n    address: " + NOBODY + "\n"))
                .isEqualTo(4);
        assertThat(problems(node(0))).isEmpty();
        assertThat(problems(node(1))).hasSize(2);
        assertThat(problems(node(1)).getFirst())
                .startsWith("peer absent: its launch command 'no-such-ssh b': there is no program 'no-such-ssh'");
        assertThat(problems(node(1)).getLast())
                .startsWith("no route: its address " + NOBODY + " is not reached from this host's "
                        + device.device().name() + "/" + device.port());
    }

    @Test
    void mistakesOfTheFileComeBeforeAllElse() throws Exception {
        assertThat(check("  - name: a\n    port: 0\n")).isEqualTo(2);
        assertThat(out.toString()).contains("port '0' is out of range; allowed: 1 … 255 or auto");
    }
}
