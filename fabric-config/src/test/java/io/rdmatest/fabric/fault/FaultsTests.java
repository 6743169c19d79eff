package io.rdmatest.fabric.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

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
                .isThrownBy(() -> faults.network(fabric.local().port(), NetworkFault.loss(0), MINUTE))
                .withMessage("The network fault has no effect: set at least one of its values above 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> faults.linkDown(other.port(), MINUTE))
                .withMessageStartingWith("Node b is not one of fabric fragile");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> faults.linkDown(fabric.local().port(), Duration.ofMillis(999)))
                .withMessage("The duration of a fault is PT0.999S: allowed are 1 second to 1 hour");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> faults.linkDown(fabric.local().port(), Duration.ofHours(2)));
    }

    @Test
    void aMissingDeviceIsToldWithWhatThereIs() throws IOException {
        Fabric fabric = fabric("  - { name: a }\n  - { name: b, launch: [env], device: none_0 }\n");
        Node b = fabric.nodeNamed("b");

        assertThatThrownBy(() -> Faults.on(fabric).network(b.port(), NetworkFault.loss(1), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith("fault 'loss 1%' on node b: no active port of device none_0; seen: ");
        assertThatThrownBy(() -> Faults.on(fabric).removeDevice(b.port(), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith("fault 'device removed' on node b: no active port of device none_0; seen: ");
        assertThatThrownBy(() -> Faults.on(fabric).addressRemoved(b.port(), InetAddress.ofLiteral("fe80::1"), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith(
                        "fault 'address fe80:0:0:0:0:0:0:1 removed' on node b: no active port of device none_0");
        assertThatThrownBy(
                        () -> Faults.on(fabric).linkDown(fabric.local().port().onPort("none_0", 1), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith("fault 'link down' on node a: no active port of device none_0");
    }

    /** A node whose shell says that the time is over as soon as it has begun. */
    private Fabric hasty() throws IOException {
        return hasty("");
    }

    private Fabric hasty(String first) throws IOException {
        String shell = first + "while read -r line && [ \"$line\" != go ]; do"
                + " [ \"$line\" != '}' ] || echo rdmatest-fault ready eth0; done;"
                + " for word in applied removed 'statistics at the end'; do echo rdmatest-fault $word; done; cat";
        return fabric("  - { name: a }\n  - { name: b, launch: [sh, -c, '" + shell.replace("'", "''") + "', --] }\n");
    }

    @Test
    void aFaultOfTheNetworkThatEndedBeforeItWasClosedIsTold() throws IOException {
        Fabric fabric = hasty();
        Node b = fabric.nodeNamed("b");

        ActiveFault loss = Faults.on(fabric).network(b.port(), NetworkFault.loss(1), MINUTE);
        await().until(() -> !loss.statistics().isEmpty());
        assertThatThrownBy(loss::close)
                .isInstanceOf(FabricException.class)
                .hasMessage(
                        "fault 'loss 1%' on node b: it ended by itself after 60 s, before it was closed, so the rest of the"
                                + " test ran on a good network; give it more time (at most 3600 s), or do less meanwhile");
        loss.close();

        ActiveFault awaited = Faults.on(fabric).network(b.port(), NetworkFault.loss(1), MINUTE);
        awaited.awaitEnd();
        awaited.close();
    }

    @Test
    void aGreetingWithoutTheEndOfALineDoesNoHarm() throws IOException {
        Fabric fabric = hasty("printf 'Welcome '; ");

        ActiveFault down = Faults.on(fabric).linkDown(fabric.nodeNamed("b").port(), MINUTE);
        await().until(() -> !down.statistics().isEmpty());
        down.close();
    }

    @Test
    void aPromptIsToldWithTheFailure() throws IOException {
        Fabric fabric = fabric("  - { name: a }\n  - { name: b, launch: [sh, -c, 'printf \"Password: \"', --] }\n");

        assertThatThrownBy(
                        () -> Faults.on(fabric).linkDown(fabric.nodeNamed("b").port(), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("and wrote: ")
                .hasMessageContaining("Password: ");
    }

    @Test
    void theEndOfAnotherFaultMayBeWaitedFor() throws IOException {
        Fabric fabric = hasty();

        ActiveFault down = Faults.on(fabric).linkDown(fabric.nodeNamed("b").port(), MINUTE);
        await().until(() -> !down.statistics().isEmpty());
        down.close();
    }

    @Test
    void aLaunchCommandThatLeadsNowhereIsTold() throws IOException {
        Fabric fabric = fabric("""
                  - { name: a }
                  - { name: b, launch: [sh, -c, 'echo no such host >&2; exit 255', --] }
                  - { name: c, launch: [no-such-program] }
                """);

        assertThatThrownBy(() -> Faults.on(fabric)
                        .linkDown(fabric.node("b").orElseThrow().port(), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith(
                        "fault 'link down' on node b: the node ended before it said 'ready', and wrote: ")
                .hasMessageContaining("no such host");
        assertThatThrownBy(() -> Faults.on(fabric)
                        .linkDown(fabric.node("c").orElseThrow().port(), MINUTE))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("'no-such-program setsid -w sh' can't be started");
    }
}
