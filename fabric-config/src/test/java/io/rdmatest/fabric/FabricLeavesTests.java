package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.fabric.FabricLeaves.Format;
import io.rdmatest.fabric.FabricLeaves.Found;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FabricLeavesTests {

    private static final String SUBNET = """
            #
            # Topology file: generated on Fri Nov 27 04:00:00 2026
            #
            vendid=0x2c9
            devid=0xd2f0
            switchguid=0x1070fd0300a1b2c0(1070fd0300a1b2c0)
            Switch\t41 "S-1070fd0300a1b2c0"\t\t# "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 1 lmc 0
            [1]\t"H-b8599f0300000001"[1](b8599f0300000001) \t\t# "n01 mlx5_0" lid 4 4xHDR
            [40]\t"S-1070fd0300a1b2c1"[40]\t\t# "MF0;leaf2:MQM8700/U1" lid 2 4xHDR

            Switch\t41 "S-1070fd0300a1b2c1"\t\t# "MF0;leaf2:MQM8700/U1" enhanced port 0 lid 2 lmc 0
            [1]\t"H-b8599f0300000002"[1](b8599f0300000002) \t\t# "n01 mlx5_1" lid 5 4xHDR

            Switch\t36 "S-0002c90200000001"\t\t# "SwitchX -  Mellanox Technologies" base port 0 lid 3 lmc 0
            Switch\t36 "S-0002c90200000002"\t\t# "SwitchX -  Mellanox Technologies" base port 0 lid 6 lmc 0

            Ca\t1 "H-b8599f0300000001"\t\t# "n01 mlx5_0"
            [1](b8599f0300000001) \t"S-1070fd0300a1b2c0"[1]\t\t# lid 4 lmc 0 "MF0;leaf1:MQM8700/U1" lid 1 4xHDR

            Ca\t1 "H-b8599f0300000002"\t\t# "n01 mlx5_1"
            [1](b8599f0300000002) \t"S-1070fd0300a1b2c1"[1]\t\t# lid 5 lmc 0 "MF0;leaf2:MQM8700/U1" lid 2 4xHDR

            Ca\t2 "H-b8599f0300000003"\t\t# "n02 HCA-1"
            [1](b8599f0300000003) \t"S-0002c90200000001"[7]\t\t# lid 7 lmc 0 "SwitchX -  Mellanox Technologies" lid 3 4xFDR
            [2](b8599f0300000004) \t"S-0002c90200000002"[7]\t\t# lid 8 lmc 0 "SwitchX -  Mellanox Technologies" lid 6 4xFDR
            """;

    @TempDir
    private Path folder;

    private Path file(String name, String text) throws IOException {
        return Files.writeString(folder.resolve(name), text);
    }

    private static Fabric fabric(String... nodes) {
        List<String> lines = new ArrayList<>(List.of("fabric: lab", "nodes:"));
        for (int i = 0; i < nodes.length; i++) {
            lines.add("  - { " + nodes[i] + (i == 0 ? "" : ", launch: [ssh, x]") + " }");
        }
        return FabricReader.read("lab.yaml", String.join("\n", lines) + "\n");
    }

    private static List<String> texts(List<Found> found) {
        return found.stream()
                .map(each -> each.node() + "/" + each.rail() + ": " + (each.leaf() == null ? each.why() : each.leaf()))
                .toList();
    }

    private List<String> leaves(Fabric fabric, Map<String, String> interfaces, Path... files) {
        return texts(FabricLeaves.read(Arrays.asList(files)).of(fabric, interfaces));
    }

    @Test
    void theSubnetNamesTheSwitchOfEachDevice() throws IOException {
        Path subnet = file("net.txt", SUBNET);
        Fabric rails = fabric(
                "name: n01, rails: { rail0: { device: mlx5_0 }, rail1: { device: mlx5_1 } }",
                "name: n04, rails: { rail0: { device: mlx5_0 }, rail1: { device: mlx5_1 } }");
        Fabric fabric = fabric("name: n02.example, device: mlx4_0, port: 2", "name: n03");

        assertThat(FabricLeaves.read(List.of(subnet)).formats()).containsEntry(subnet, Format.IBNETDISCOVER);
        assertThat(leaves(rails, Map.of(), subnet)).startsWith("n01/rail0: leaf1", "n01/rail1: leaf2");
        assertThat(leaves(fabric, Map.of(), subnet))
                .containsExactly(
                        "n02.example/: S-0002c90200000002",
                        "n03/: no host of its name is there; a node has to be called as its host is");
        assertThat(leaves(fabric("name: n01"), Map.of(), subnet))
                .containsExactly(
                        "n01/: its ports are cabled to leaf1, leaf2; name its device and port in the fabric file");
    }

    /** The leaf of another device or port would be a wrong one. */
    @Test
    void aDeviceOrPortThatIsNotInTheSubnetHasNoLeaf() throws IOException {
        Path subnet = file(
                "net.txt",
                SUBNET.lines()
                        .filter(line -> !line.startsWith("[1](b8599f0300000002)"))
                        .collect(Collectors.joining("\n")));
        Fabric rails = fabric("name: n01, rails: { rail0: { device: mlx5_0, port: 1 }, rail1: { device: mlx5_1 } }");
        Fabric ports = fabric("name: n01, device: mlx5_0, port: 2", "name: n02, device: mlx5_7");

        assertThat(leaves(rails, Map.of(), subnet))
                .containsExactly(
                        "n01/rail0: leaf1",
                        "n01/rail1: its device mlx5_1 is not there; check the name of the device in the fabric file,"
                                + " and its cable");
        assertThat(leaves(ports, Map.of(), subnet))
                .containsExactly(
                        "n01/: port 2 of its device is not there; check the port in the fabric file, and its cable",
                        "n02/: its device mlx5_7 is not there; check the name of the device in the fabric file,"
                                + " and its cable");
    }

    @Test
    void slurmsTreeAndBlocksNameTheSwitchOfEachHost() throws IOException {
        Path conf = file("topology.conf", """
                # a tree
                SwitchName=leaf0 Nodes=n[01-02,7],login1 # the first rack
                SwitchName=leaf1 \\
                    Nodes=r[1-2]n[08-09]
                SwitchName=spine Switches=leaf[0-1] Nodes=n[01-02]
                """);
        Fabric fabric = fabric("name: n01", "name: n7", "name: LOGIN1.example", "name: r2n09", "name: n03");

        assertThat(leaves(fabric, Map.of(), conf))
                .startsWith("n01/: leaf0", "n7/: leaf0", "LOGIN1.example/: leaf0", "r2n09/: leaf1")
                .last()
                .asString()
                .startsWith("n03/: no host of its name");
        assertThat(leaves(
                        fabric("name: n2"),
                        Map.of(),
                        file(
                                "scontrol.txt",
                                "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-4]\n"
                                        + "SwitchName=s1 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s0\n")))
                .containsExactly("n2/: s0");
        assertThat(leaves(
                        fabric("name: n2"), Map.of(), file("blocks.conf", "BlockName=b1 Nodes=n[1-4]\nBlockSizes=4\n")))
                .containsExactly("n2/: b1");
        assertThatThrownBy(() -> FabricLeaves.read(List.of(file("bad.conf", "SwitchName=a Nodes=n[1-x]\n"))))
                .isInstanceOf(FabricException.class)
                .hasMessageEndingWith("'n[1-x]' is no list of hosts: '1-x' is not a number or a range");
    }

    @Test
    void lldpNamesTheNeighbourOfEachInterface() throws IOException {
        Path json = file("n01.json", """
                {"lldp": {"interface": [
                  {"eno1": {"via": "LLDP", "chassis": {"mgmt": {"id": {"type": "mac", "value": "00:00:5e:00:53:01"}}}}},
                  {"eth2": {"via": "LLDP", "chassis": {"leaf1": {"id": {"type": "mac", "value": "00:00:5e:00:53:02"}}},
                            "port": {"id": {"type": "ifname", "value": "Ethernet1\\/1"}}}}]}}
                """);
        Path one = file("n02.json", """
                {"lldp": {"interface": {"eth2": {"chassis": {"id": {"type": "mac", "value": "00:00:5e:00:53:03"}}}}}}
                """);
        Path keyValue = file(
                "n03.txt",
                "lldp.eno1.chassis.name=mgmt\nlldp.eth2.100.chassis.mac=00:00:5e:00:53:02\n"
                        + "lldp.eth2.100.chassis.name=leaf2\nlldp.eth2.100.port.ifname=Ethernet1/2\n");
        Fabric fabric = fabric("name: n01", "name: n02", "name: n03");

        assertThat(leaves(fabric, Map.of("", "eth2"), json, one, keyValue))
                .containsExactly("n01/: leaf1", "n02/: 00-00-5e-00-53-03", "n03/: its interface eth2 has no neighbour");
        assertThat(leaves(fabric, Map.of("", "eth2.100"), json, one, keyValue))
                .last()
                .isEqualTo("n03/: leaf2");
        assertThat(leaves(fabric, Map.of(), json))
                .first()
                .isEqualTo("n01/: its ports are cabled to mgmt, leaf1; name the interface: --interface NAME");
    }

    @Test
    void whatIsNoneOfTheseIsRefused() throws IOException {
        Path other = file("other.txt", "hello\n");
        assertThatThrownBy(() -> FabricLeaves.read(List.of(other)))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith(other + " is none of: the output of ibnetdiscover");
        Path empty = file("n01.json", "{\"lldp\": {}}");
        assertThatThrownBy(() -> FabricLeaves.read(List.of(empty)))
                .hasMessage(empty + " (lldpctl -f json) names no leaf of any node");
        Path broken = file("n02.json", "{\"lldp\": ");
        assertThatThrownBy(() -> FabricLeaves.read(List.of(broken))).hasMessageStartingWith(broken + " is no JSON of");
        Path none = folder.resolve("none");
        assertThatThrownBy(() -> FabricLeaves.read(List.of(none)))
                .hasMessage(none + " can't be read: there is no such file");
    }

    @Test
    void theFileThatIsWrittenHasTheLeavesAndKeepsTheRest() throws IOException {
        Fabric fabric = fabric(
                "name: n01, promises: { rate: 100 }, rails: { rail0: { device: mlx5_0, leaf: old },"
                        + " rail1: { device: mlx5_1 } }",
                "name: n09, leaf: kept, rails: { rail0: { device: mlx5_0 }, rail1: { device: mlx5_1 } }");
        List<Found> found = FabricLeaves.read(List.of(file("net.txt", SUBNET))).of(fabric, Map.of());

        Fabric written = FabricReader.read("new.yaml", FabricLeaves.written(fabric, found));

        Node first = written.nodeNamed("n01");
        assertThat(first.onRail("rail0").leaf()).isEqualTo("leaf1");
        assertThat(first.onRail("rail1").leaf()).isEqualTo("leaf2");
        assertThat(first.onRail("rail0").promises().rate()).isEqualTo(100);
        assertThat(written.nodeNamed("n09").onRail("rail1").leaf()).isEqualTo("kept");
        assertThat(written.nodeNamed("n09").promises()).isEqualTo(Promises.NONE);
    }
}
