package io.rdmatest.fabric.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is refused before anything is broken. */
class FaultsTests {

    private static final Duration MINUTE = Duration.ofMinutes(1);

    @TempDir
    private Path folder;

    private Fabric fabric(String nodes) throws IOException {
        return Fabric.load(
                Files.writeString(folder.resolve("fragile.yaml"), "fabric: fragile\nfaults: allowed\nnodes:\n" + nodes)
                        .toString());
    }

    @Test
    void aFabricHasToAllowFaults() {
        assertThatThrownBy(() -> Faults.on(Fabric.load("loopback")))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("fabric loopback")
                .hasMessageContaining(
                        "does not allow faults; if nobody else uses it, add to its file: faults: allowed");
        assertThat(Faults.on(Fabric.load("microvm"))).isNotNull();
        assertThat(Faults.on(Fabric.load("microvm-2"))).isNotNull();
    }

    @Test
    void aFaultThatDoesNothingAnotherFabricsNodeAndAWrongTimeAreRefused() throws IOException {
        Fabric fabric = fabric("  - { name: a, device: none_0 }\n");
        Faults faults = Faults.on(fabric);
        Node other = Fabric.load("microvm-2").remoteNodes().getFirst();

        assertThatIllegalArgumentException()
                .isThrownBy(() -> faults.network(fabric.local(), NetworkFault.loss(0), MINUTE))
                .withMessage("A network fault that does nothing can't be told from none");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> faults.linkDown(other, MINUTE))
                .withMessageStartingWith("Node b is not one of fabric fragile");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> faults.linkDown(fabric.local(), Duration.ofMillis(999)))
                .withMessage("A fault lasts at most PT0.999S: allowed are 1 second to 1 hour");
        assertThatIllegalArgumentException().isThrownBy(() -> faults.linkDown(fabric.local(), Duration.ofHours(2)));
    }

    @Test
    void aMissingDeviceIsToldWithWhatThereIs() throws IOException {
        Fabric fabric = fabric("  - { name: a, device: none_0 }\n");

        assertThatThrownBy(() -> Faults.on(fabric).network(fabric.local(), NetworkFault.loss(1), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith("fault 'loss 1%' on node a: no active port of device none_0; seen: ");
        assertThatThrownBy(() -> Faults.on(fabric).removeDevice(fabric.local(), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith("fault 'device removed' on node a: no active port of device none_0; seen: ");
        assertThatThrownBy(() ->
                        Faults.on(fabric).addressRemoved(fabric.local(), InetAddress.ofLiteral("fe80::1"), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith(
                        "fault 'address fe80:0:0:0:0:0:0:1 removed' on node a: no active port of device none_0");
    }

    @Test
    void aLaunchCommandThatLeadsNowhereIsTold() throws IOException {
        Fabric fabric = fabric("""
                  - { name: a }
                  - { name: b, launch: [sh, -c, 'echo no such host >&2; exit 255', --] }
                  - { name: c, launch: [no-such-program] }
                """);

        assertThatThrownBy(() -> Faults.on(fabric).linkDown(fabric.node("b").orElseThrow(), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith(
                        "fault 'link down' on node b: the node ended before it said 'ready', and wrote: ")
                .hasMessageContaining("no such host");
        assertThatThrownBy(() -> Faults.on(fabric).linkDown(fabric.node("c").orElseThrow(), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("'no-such-program setsid -w sh' can't be started");
    }
}
