package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FabricTests {

    @Test
    void knowsTheShippedFabricsAndEachOfThemIsValid() {
        assertThat(Fabric.available())
                .contains(
                        "auto",
                        "loopback",
                        "microvm",
                        "microvm-2",
                        "microvm-4",
                        "rails.example",
                        "rxe-ipv6",
                        "two-hosts.example");
        for (String name : Fabric.available()) {
            assertThat(Fabric.load(name).name()).isEqualTo(name);
        }
    }

    @Test
    void autoIsOneLocalNodeWithNothingFixed() {
        Fabric auto = Fabric.load("auto");
        assertThat(auto.nodes()).containsExactly(auto.local());
        assertThat(auto.local().port().rail().device()).isEqualTo(Rail.AUTO);
    }

    @Test
    void microvm2IsTwoMachinesOnOneSegment() {
        Fabric fabric = Fabric.load("microvm-2");
        assertThat(fabric.microvms()).isEqualTo(2);
        assertThat(fabric.faultsAllowed()).isTrue();
        assertThat(fabric.local().name()).isEqualTo("a");
        assertThat(fabric.local().port().rail().address()).isEqualTo(InetAddress.ofLiteral("10.77.0.1"));
        Node far = fabric.remoteNodes().getFirst();
        assertThat(far.launch()).containsExactly("on-node", "b");
        assertThat(far.port().rail().address()).isEqualTo(InetAddress.ofLiteral("10.77.0.2"));
        assertThat(Fabric.load("microvm").microvms()).isEqualTo(1);
    }

    @Test
    void microvm4IsFourMachinesOnOneSegment() {
        Fabric fabric = Fabric.load("microvm-4");
        assertThat(fabric.microvms()).isEqualTo(4);
        assertThat(fabric.local().name()).isEqualTo("a");
        assertThat(fabric.remoteNodes())
                .extracting(node ->
                        node.launch() + " " + node.port().rail().address().getHostAddress())
                .containsExactly("[on-node, b] 10.77.0.2", "[on-node, c] 10.77.0.3", "[on-node, d] 10.77.0.4");
    }

    @Test
    void loopbackIsThisHostAlone() {
        Fabric fabric = Fabric.load("loopback");
        assertThat(fabric.nodes()).containsExactly(fabric.local());
        assertThat(fabric.local().port().rail().device()).isEqualTo(Rail.AUTO);
        assertThat(fabric.microvms()).isZero();
        assertThat(fabric.faultsAllowed()).isFalse();
    }

    @Test
    void anUnknownNameIsAnsweredWithTheKnownOnes() {
        assertThatThrownBy(() -> Fabric.load("lab-rack-43"))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("no fabric named 'lab-rack-43'; available: auto, ")
                .hasMessageContaining("two-hosts.example");
    }

    @Test
    void aPathIsReadAsItIsGiven(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("mine.yaml"), "fabric: mine\nnodes: [{name: n1, device: rxe0}]\n");
        assertThat(Fabric.load(file.toString()).local().port().rail().device()).isEqualTo("rxe0");
    }

    @Test
    void namesTheFileOfAProblem(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("mine.yaml"), "fabric: mine\nnodes: 3\n");
        assertThatThrownBy(() -> Fabric.load(file.toString()))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith(file + ":2:8: nodes must be");
        Files.write(file, new byte[] {(byte) 0xff, (byte) 0xfe, 0x41});
        assertThatThrownBy(() -> Fabric.load(file.toString())).hasMessage(file + ": not text in UTF-8");
        assertThatThrownBy(() -> Fabric.load(folder + "/none.yaml"))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("no fabric file '" + folder + "/none.yaml'");
        assertThatThrownBy(() -> Fabric.load(folder + "/"))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("can't be read");
        assertThatThrownBy(() -> Fabric.load(" ")).hasMessageContaining("rdma.fabric is empty; available: ");
    }

    @ParameterizedTest
    @CsvSource({"rxe0,rxe0,1", "rxe1,rxe1,0", "mlx5_1/2,mlx5_1,2", "auto,auto,0"})
    void theDeviceCanBeOverridden(String override, String device, int port) {
        Node local = Fabric.load("rxe-ipv6").withDevice(override).local();
        assertThat(local.port().rail().device()).isEqualTo(device);
        assertThat(local.port().rail().port()).isEqualTo(port);
        assertThat(local.port().rail().gid().family()).isEqualTo(GidSelector.Family.IPV6);
    }

    private static Fabric fabric(Path folder, String node) throws IOException {
        return Fabric.load(Files.writeString(folder.resolve("lab.yaml"), "fabric: lab\nnodes: [" + node + "]\n")
                .toString());
    }

    @Test
    void theDeviceThatTheFileNamesKeepsWhatTheFileSaysOfIt(@TempDir Path folder) throws IOException {
        Fabric fabric = fabric(folder, "{ name: a, device: mlx5_0, port: 2, address: 192.0.2.11 }");
        Node local = fabric.local();
        assertThat(fabric.withDevice("mlx5_0").nodes()).containsExactly(local);
        assertThat(fabric.withDevice("mlx5_0/2").nodes()).containsExactly(local);
        assertThat(fabric.withDevice("mlx5_0/1").local())
                .isEqualTo(new Node("lab", "a", "mlx5_0", 1, local.port().rail().gid(), null, List.of()));
        assertThat(fabric.withDevice("mlx5_1").local())
                .isEqualTo(new Node("lab", "a", "mlx5_1", 0, local.port().rail().gid(), null, List.of()));
    }

    @Test
    void anotherDeviceDoesNotTakeThePlaceOfRails(@TempDir Path folder) throws IOException {
        Fabric fabric = fabric(folder, "{ name: a, rails: { one: { device: mlx5_0 }, two: { device: mlx5_1 } } }");
        assertThat(fabric.withDevice("mlx5_0").rails()).containsExactly("one", "two");
        assertThatThrownBy(() -> fabric.withDevice("mlx5_2"))
                .isInstanceOf(FabricException.class)
                .hasMessage("rdma.device=mlx5_2 would leave node a of fabric lab (" + folder.resolve("lab.yaml")
                        + ") without its rails (one, two); set no device, or select a fabric without"
                        + " rails with -Drdma.fabric");
        assertThat(fabric.localOn("mlx5_2").railNames()).isEmpty();
    }

    private static Fabric rails(Path folder) throws IOException {
        return Fabric.load(Files.writeString(folder.resolve("lab.yaml"), """
                fabric: lab
                promises: { mtu: 1024 }
                nodes:
                  - name: a
                    rails:
                      one: { device: mlx5_0, address: 192.0.2.11 }
                      two: { device: mlx5_1, port: 2, promises: { rate: 25 } }
                  - name: b
                    launch: [ssh, b]
                    rails: { one: { device: mlx5_0 }, three: { device: mlx5_2 } }
                  - name: c
                    launch: [ssh, c]
                    rails: { two: { device: mlx5_7 }, three: { device: mlx5_2 } }
                """).toString());
    }

    @Test
    void aRailIsTheNodesThatItConnectsWithTheirDevicesOnIt(@TempDir Path folder) throws IOException {
        Fabric fabric = rails(folder);
        assertThat(fabric.local().port().rail().name()).isEqualTo("one");
        Rail other = fabric.local().onRail("two").onPort("mlx5_9", 1).rail();
        assertThat(other.name() + " " + other.device() + "/" + other.port()).isEqualTo("two mlx5_9/1");
        assertThat(other.promises())
                .isEqualTo(fabric.local().onRail("two").rail().promises());

        Fabric two = fabric.onRail("two");

        assertThat(two.nodes()).extracting(Node::name).containsExactly("a", "c");
        assertThat(two.nodes()).extracting(node -> node.port().rail().device()).containsExactly("mlx5_1", "mlx5_7");
        assertThat(two.local().port().rail().port()).isEqualTo(2);
        assertThat(two.local().port().rail().address()).isNull();
        assertThat(two.local().port().rail().promises())
                .isEqualTo(fabric.local().onRail("two").rail().promises());
        assertThat(two.local().railNames()).containsExactly("two");
        assertThat(two.rails()).containsExactly("two");
        assertThat(two.pair(null, null).server().name()).isEqualTo("c");
        assertThat(two).hasToString("lab on rail two (" + folder.resolve("lab.yaml") + ")");
        assertThat(two.withDevice("mlx5_1/2").nodes()).isEqualTo(two.nodes());
        assertThatThrownBy(() -> two.nodeNamed("b"))
                .hasMessage(
                        "fabric lab on rail two (" + folder.resolve("lab.yaml") + ") has no node 'b'; allowed: a, c");
        assertThat(Fabric.load(folder.resolve("lab.yaml").toString(), " two ", "")
                        .nodes())
                .isEqualTo(two.nodes());
    }

    @Test
    void aRailThatIsNotThereIsRefused(@TempDir Path folder) throws IOException {
        Fabric fabric = rails(folder);
        String lab = "fabric lab (" + folder.resolve("lab.yaml") + ")";
        assertThatThrownBy(() -> fabric.onRail("four"))
                .isInstanceOf(FabricException.class)
                .hasMessage("rdma.rail=four: " + lab + " has no such rail; allowed: one, two, three");
        assertThatThrownBy(() -> fabric.onRail("three"))
                .isInstanceOf(FabricException.class)
                .hasMessage("rdma.rail=three: this host's node a of " + lab + " is not on it; allowed: one, two");
        assertThatThrownBy(() -> Fabric.load("auto", "one", null))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith("rdma.rail=one: fabric auto (")
                .hasMessageEndingWith(") has no rails");
        assertThat(Fabric.load("auto", "", " ").local().railNames()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"rxe0/", "rxe0/0", "rxe0/256", "rxe0/one", "/1", "a b", "rxe0/1/2"})
    void anOverrideOfAnotherFormIsRefused(String override) {
        Fabric auto = Fabric.load("auto");
        assertThatThrownBy(() -> auto.withDevice(override))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith("rdma.device=" + override + " is not a device: expected");
    }
}
