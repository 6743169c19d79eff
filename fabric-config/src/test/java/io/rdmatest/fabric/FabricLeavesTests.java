package io.rdmatest.fabric;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

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
                        "n02/: its ports are cabled to S-0002c90200000001, S-0002c90200000002; name its port in the"
                                + " fabric file");
    }

    /** Older start scripts call every device HCA-1. The kernel's name of another device is another device. */
    @Test
    void aHostWithOnePortNeedsNoNameOfItsDevice() throws IOException {
        Path subnet = file("net.txt", """
                Switch\t41 "S-1070fd0300a1b2c0"\t\t# "MF0;leaf1:MQM8700/U1" enhanced port 0 lid 1 lmc 0

                Ca\t1 "H-b8599f0300000001"\t\t# "n01 mlx5_0"
                [1](b8599f0300000001) \t"S-1070fd0300a1b2c0"[1]\t\t# lid 4 lmc 0 "MF0;leaf1:MQM8700/U1" lid 1 4xHDR

                Ca\t1 "H-b8599f0300000002"\t\t# "n02 HCA-1"
                [1](b8599f0300000002) \t"S-1070fd0300a1b2c0"[2]\t\t# lid 5 lmc 0 "MF0;leaf1:MQM8700/U1" lid 1 4xHDR

                Ca\t1 "H-b8599f0300000003"\t\t# "n03 mlx5_1"
                [1](b8599f0300000003) \t"S-1070fd0300a1b2c0"[3]\t\t# lid 6 lmc 0 "MF0;leaf1:MQM8700/U1" lid 1 4xHDR
                """);
        Fabric fabric = fabric("name: n01, device: mlx5_0", "name: n02, device: mlx5_0", "name: n03, device: mlx5_0");
        Fabric rails = fabric("name: n02, rails: { rail0: { device: mlx5_0 }, rail1: { device: mlx5_1 } }");

        assertThat(leaves(fabric, Map.of(), subnet))
                .containsExactly(
                        "n01/: leaf1",
                        "n02/: leaf1",
                        "n03/: its device mlx5_0 is not there; check the name of the device in the fabric file,"
                                + " and its cable");
        assertThat(leaves(rails, Map.of(), subnet))
                .hasSize(2)
                .allMatch(line ->
                        line.contains("the source has 1 port of this host for 2 rails, and calls the device HCA-1"));
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
                                "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1,3-4], n2\n"
                                        + "SwitchName=s1 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s0\n")))
                .containsExactly("n2/: s0");
        assertThat(leaves(
                        fabric("name: n2"), Map.of(), file("blocks.conf", "BlockName=b1 Nodes=n[1-4]\nBlockSizes=4\n")))
                .containsExactly("n2/: b1");
    }

    /** A line that can't be read loses its own nodes only. */
    @Test
    void slurmsLinesThatCannotBeReadAreNamed() throws IOException {
        Path bad = file("bad.conf", "SwitchName=a Nodes=n[1-x]\nSwitchName=b Nodes=m[1-2]\nSwitchName=c Nodes=m[3\n");
        FabricLeaves leaves = FabricLeaves.read(List.of(bad));

        assertThat(texts(leaves.of(fabric("name: m1"), Map.of()))).containsExactly("m1/: b");
        assertThat(leaves.problems())
                .containsExactly(
                        bad + ":1: 'n[1-x]' is no list of hosts: '1-x' is not a number or a range",
                        bad + ":3: 'm[3' is no list of hosts: a bracket is not closed");
        assertThat(FabricLeaves.read(List.of(
                                file("many.conf", "SwitchName=a Nodes=n[0-9999][0-9999]\nSwitchName=b Nodes=m1\n")))
                        .problems())
                .singleElement()
                .asString()
                .endsWith("the list of hosts has more than 1000000");
    }

    @Test
    void slurmsGrammarIsRead() throws IOException {
        Files.writeString(
                Files.createDirectory(folder.resolve("part")).resolve("rest.conf"),
                "SwitchName=leaf2 Nodes=n[05-06]\n");
        Path conf = file("topology.conf", """
                SwitchName = leaf0 Nodes = "n[01-02], login1" # Nodes=n09
                switchname="leaf1"\tNodes\t=n[03-04]
                include part/rest.conf
                Include none.conf
                """);
        FabricLeaves leaves = FabricLeaves.read(List.of(conf));

        assertThat(texts(leaves.of(
                        fabric("name: n02", "name: login1", "name: n04", "name: n06", "name: n09"), Map.of())))
                .containsExactly(
                        "n02/: leaf0",
                        "login1/: leaf0",
                        "n04/: leaf1",
                        "n06/: leaf2",
                        "n09/: no host of its name is there; a node has to be called as its host is");
        assertThat(leaves.problems())
                .containsExactly(conf + ":4: Include none.conf: " + folder.resolve("none.conf")
                        + " can't be read: there is no such file; copy it there");
        Path circle = file("circle.conf", "SwitchName=a Nodes=n01\nInclude circle.conf\n");
        assertThat(FabricLeaves.read(List.of(circle)).problems())
                .singleElement()
                .asString()
                .endsWith("Include circle.conf: files include each other more than 10 levels deep");
        assertThat(leaves(
                        fabric("name: n3"),
                        Map.of(),
                        file(
                                "rings.txt",
                                "RingName=r1 Nodes=n[1-2] RingSize=2\nRingName=r2 Nodes=n[3-4] RingSize=2\n")))
                .containsExactly("n3/: r2");
        assertThat(FabricLeaves.read(List.of(file("torus.txt", "TorusName=t1 Dims=2x2x2\n")))
                        .problems())
                .singleElement()
                .asString()
                .endsWith("(Slurm's topology) names no leaf: it has no switch, block or ring with nodes");
    }

    /** A node of several topologies has the leaf of the default one, wherever it stands. */
    @Test
    void slurmsYamlIsRead() throws IOException {
        Path yaml = file("topology.yaml", """
                ---
                # two topologies
                - topology: racks
                  block:
                    block_sizes: [2]
                    blocks:
                      - block: b1
                        nodes: n[01-02],n09
                - topology: tree
                  cluster_default: true
                  tree:
                    switches:
                      - { switch: spine, children: "leaf[1-2]" }
                      - switch: leaf1
                        nodes: n[01-02]
                      - switch: leaf2
                        nodes: n[03-x]
                - topology: none
                  flat: true
                """);
        FabricLeaves leaves = FabricLeaves.read(List.of(yaml));

        assertThat(leaves.formats()).containsEntry(yaml, Format.SLURM);
        assertThat(texts(leaves.of(fabric("name: n02", "name: n09"), Map.of())))
                .containsExactly("n02/: leaf1", "n09/: b1");
        assertThat(leaves.problems())
                .singleElement()
                .asString()
                .startsWith(yaml + ":16: 'n[03-x]' is no list of hosts");
        Path broken = file("broken.yaml", "- topology: tree\n  tree: {\n");
        assertThat(FabricLeaves.read(List.of(broken)).problems())
                .singleElement()
                .asString()
                .startsWith(broken + ":")
                .contains("not YAML");
    }

    @Test
    void aNodeBelowSeveralSwitchesOfSlurmHasNoLeaf() throws IOException {
        Path conf = file("topology.conf", "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[2-3]\n");

        assertThat(leaves(fabric("name: n1", "name: n2"), Map.of(), conf))
                .containsExactly("n1/: a", "n2/: it is listed below a, b; write its leaf in the fabric file");
    }

    /** Names that a fabric file can't have may become the same one. */
    @Test
    void namesThatAreNotUniqueAreADoubt() throws IOException {
        Path conf = file("topology.conf", "SwitchName=leaf-\u00e9 Nodes=n1\nSwitchName=leaf-\u00fc Nodes=n2\n");

        assertThat(leaves(fabric("name: n1", "name: n2"), Map.of(), conf))
                .hasSize(2)
                .allMatch(line -> line.contains("several switches there would be called leaf--"));
        assertThat(FabricLeaves.read(List.of(file("blocks.conf", "BlockName=\u00e9 Nodes=n1\n")))
                        .problems())
                .singleElement()
                .asString()
                .endsWith(":1: '\u00e9' is no name that a leaf may have");
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

    private static String keyValues(String networkInterface, String via, String mac, String name, String more) {
        return """
                lldp.%1$s.via=%2$s
                lldp.%1$s.rid=1
                lldp.%1$s.age=0 day, 00:00:06
                lldp.%1$s.chassis.mac=%3$s
                lldp.%1$s.chassis.name=%4$s
                lldp.%1$s.chassis.descr=a switch, chassis.name=other
                %5$slldp.%1$s.port.ifname=Ethernet1/1
                """.formatted(networkInterface, via, mac, name, more);
    }

    private static String json(String networkInterface, String via, String mac, String name, String more) {
        return """
                {"%s": {"via": "%s", "rid": "1",
                  "chassis": {"%s": {"id": {"type": "mac", "value": "%s"}%s}},
                  "port": {"id": {"type": "ifname", "value": "Ethernet1/1"}}}}
                """.formatted(networkInterface, via, name, mac, more);
    }

    private static String json(String... neighbours) {
        return "{\"lldp\": {\"interface\": [" + String.join(",", neighbours) + "]}}";
    }

    private static String json0(String networkInterface, String mac, String name, String bridges) {
        return """
                {"lldp": [{"interface": [{"name": "%s", "via": "LLDP", "rid": "1",
                  "chassis": [{"id": [{"type": "mac", "value": "%s"}], "name": [{"value": "%s"}],
                    "mgmt-ip": [{"value": "192.0.2.1"}],
                    "capability": [{"type": "Bridge", "enabled": %s}, {"type": "Station", "enabled": true}]}],
                  "port": [{"id": [{"type": "ifname", "value": "Ethernet1/1"}]}]}]}]}
                """.formatted(networkInterface, mac, name, bridges);
    }

    /** The keys of lldpctl repeat for each neighbour of a port. */
    @Test
    void twoNeighboursOfOnePortAreADoubtInEachForm() throws IOException {
        Path keyValue = file(
                "n01.keyvalue",
                keyValues("eth2", "LLDP", "00:00:5e:00:53:01", "leaf1", "")
                        + keyValues("eth2", "LLDP", "00:00:5e:00:53:02", "bmc", ""));
        Path json = file(
                "n02.json",
                json(
                        json("eth2", "LLDP", "00:00:5e:00:53:01", "leaf1", ""),
                        json("eth2", "LLDP", "00:00:5e:00:53:02", "bmc", "")));
        Path names = file("n03.kv", "lldp.eth2.chassis.name=leaf1\nlldp.eth2.chassis.name=bmc\n");
        Fabric fabric = fabric("name: n01", "name: n02", "name: n03");
        String why = "its interface eth2 has several neighbours: leaf1, bmc; turn LLDP off at those that are no switch,"
                + " such as a BMC, or write the leaf in the fabric file";

        for (Map<String, String> interfaces : List.of(Map.<String, String>of(), Map.of("", "eth2"))) {
            assertThat(leaves(fabric, interfaces, keyValue, json, names))
                    .containsExactly("n01/: " + why, "n02/: " + why, "n03/: " + why);
        }
    }

    @Test
    void theNeighbourThatForwardsIsTheLeaf() throws IOException {
        String off = "lldp.eth2.chassis.Bridge.enabled=off\nlldp.eth2.chassis.Station.enabled=on\n";
        String on = "lldp.eth2.chassis.Bridge.enabled=on\nlldp.eth2.chassis.Router.enabled=on\n";
        String leaf = keyValues("eth2", "LLDP", "00:00:5e:00:53:01", "leaf1", on);
        String silentLeaf = keyValues("eth2", "LLDP", "00:00:5e:00:53:01", "leaf1", "");
        String bmc = keyValues("eth2", "LLDP", "00:00:5e:00:53:02", "bmc", off);
        Path first = file("n01.keyvalue", leaf + bmc);
        Path last = file("n02.keyvalue", bmc + leaf);
        Path silent = file("n03.keyvalue", silentLeaf + bmc);
        Path alone = file("n04.keyvalue", bmc);
        Path json = file(
                "n05.json",
                json(
                        json(
                                "eth2",
                                "LLDP",
                                "00:00:5e:00:53:02",
                                "bmc",
                                ", \"capability\": {\"type\": \"Station\", \"enabled\": true}"),
                        json(
                                "eth2",
                                "LLDP",
                                "00:00:5e:00:53:01",
                                "leaf1",
                                ", \"capability\": [{\"type\": \"Router\", \"enabled\": true}]")));
        Fabric fabric = fabric("name: n01", "name: n02", "name: n03", "name: n04", "name: n05");

        assertThat(leaves(fabric, Map.of("", "eth2"), first, last, silent, alone, json))
                .containsExactly("n01/: leaf1", "n02/: leaf1", "n03/: leaf1", "n04/: bmc", "n05/: leaf1");
        assertThat(FabricLeaves.read(List.of(first, alone)).of(fabric, Map.of()))
                .extracting(Found::leaf, Found::why)
                .startsWith(tuple("leaf1", ""))
                .contains(tuple("bmc", "the neighbour announces neither Bridge nor Router; check that it is a switch"));
    }

    /** One switch has its full name by LLDP, and a short one with its serial number by CDP. */
    @Test
    void lldpIsPreferredToOtherProtocols() throws IOException {
        String lldp = json("eth2", "LLDP", "00:00:5e:00:53:01", "leaf1.example", ", \"mgmt-ip\": \"192.0.2.1\"");
        String cdp = json("eth2", "CDPv2", "00:00:5e:00:53:01", "leaf1", "");
        String other = json("eth3", "LLDP", "00:00:5e:00:53:02", "leaf2.example", "");
        Fabric fabric = fabric("name: n01", "name: n02");

        assertThat(leaves(
                        fabric,
                        Map.of("", "eth2"),
                        file("n01.json", json(cdp, lldp, other)),
                        file("n02.json", json(cdp))))
                .containsExactly("n01/: leaf1.example", "n02/: leaf1");
    }

    /** The name of a switch may be the vendor's default. One switch may have another MAC address at each port. */
    @Test
    void switchesWithOneNameAreToldApart() throws IOException {
        Path one = file(
                "n01.json",
                json(
                        json("eth2", "LLDP", "00:00:5e:00:53:01", "sonic", ", \"mgmt-ip\": \"192.0.2.1\""),
                        json("eth3", "LLDP", "00:00:5e:00:53:02", "sonic", ", \"mgmt-ip\": \"192.0.2.2\"")));
        Path two = file("n02.keyvalue", keyValues("eth2", "LLDP", "00:00:5e:00:53:02", "sonic", ""));
        Path perPort = file(
                "n03.json",
                json(
                        json(
                                "eth2",
                                "LLDP",
                                "00:00:5e:00:53:11",
                                "leaf3",
                                ", \"mgmt-ip\": [\"192.0.2.3\", \"2001:db8::3\"]"),
                        json("eth3", "LLDP", "00:00:5e:00:53:12", "leaf3", ", \"mgmt-ip\": \"2001:db8::3\"")));
        Fabric fabric = fabric("name: n01", "name: n02", "name: n03");

        assertThat(leaves(fabric, Map.of("", "eth2"), one, two, perPort))
                .containsExactly("n01/: 00-00-5e-00-53-01", "n02/: 00-00-5e-00-53-02", "n03/: leaf3");
        assertThat(leaves(fabric, Map.of(), one, two, perPort))
                .first()
                .isEqualTo("n01/: its ports are cabled to 00-00-5e-00-53-01, 00-00-5e-00-53-02; name the interface:"
                        + " --interface NAME");
        assertThat(leaves(fabric("name: n02"), Map.of(), two)).containsExactly("n02/: sonic");
    }

    @Test
    void json0IsRead() throws IOException {
        Fabric fabric = fabric("name: n01");

        assertThat(leaves(
                        fabric,
                        Map.of("", "eth2"),
                        file("n01.json0", json0("eth2", "00:00:5e:00:53:01", "leaf1", "true"))))
                .containsExactly("n01/: leaf1");
    }

    /** One node without a neighbour must not cost the leaves of all others. */
    @Test
    void aFileWithoutALeafIsToldForItsNode() throws IOException {
        Path good = file("n01.json", json(json("eth2", "LLDP", "00:00:5e:00:53:01", "leaf1", "")));
        Path none = file("n02.json", "{\"lldp\": {}}");
        Path empty = file("n03.keyvalue", "");
        Path cut = file("n04.json", "{\"lldp\": {\n\"interface\": ");
        Path other = file("n05.txt", "Permission denied\n");
        Path retired = file("n99.json", "{}");
        FabricLeaves leaves = FabricLeaves.read(List.of(good, none, empty, cut, other, retired));

        List<String> texts = texts(
                leaves.of(fabric("name: n01", "name: n02", "name: n03.example", "name: N04", "name: n05"), Map.of()));

        assertThat(texts)
                .startsWith(
                        "n01/: leaf1",
                        "n02/: " + none + " (lldpctl -f json) names no neighbour; check that LLDP is on at the port of"
                                + " the switch",
                        "n03.example/: " + empty
                                + " is empty: the program that wrote it failed; lldpctl -f keyvalue also"
                                + " prints nothing if there is no neighbour");
        assertThat(texts.get(3)).startsWith("N04/: " + cut + " is not the whole output of lldpctl -f json: line 2: ");
        assertThat(texts.get(4)).startsWith("n05/: " + other + " is none of: the output of ibnetdiscover");
        assertThat(leaves.problems())
                .hasSize(5)
                .last()
                .isEqualTo(retired + " is no output of lldpctl -f json: it has no key lldp");
    }

    @Test
    void filesWithoutAnyLeafAreRefused() throws IOException {
        Path other = file("other.txt", "hello\n");
        Path empty = file("topology.txt", "\n");
        Path none = folder.resolve("none");
        Fabric fabric = fabric("name: n01");

        assertThatThrownBy(() -> leaves(fabric, Map.of(), other, empty))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith(other + " is none of: the output of ibnetdiscover")
                .hasMessageContaining(empty + " is empty: the program that wrote it failed");
        assertThatThrownBy(() -> FabricLeaves.read(List.of(none)))
                .hasMessage(none + " can't be read: there is no such file");
    }

    /** A description of a switch may be in Latin-1. */
    @Test
    void bytesOfAnotherEncodingDoNotMatter() throws IOException {
        Path file = folder.resolve("n01.keyvalue");
        Files.write(file, "lldp.eth2.chassis.descr=B\u00fcro\nlldp.eth2.chassis.name=leaf1\n".getBytes(ISO_8859_1));

        assertThat(leaves(fabric("name: n01"), Map.of(), file)).containsExactly("n01/: leaf1");
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
        assertThat(first.onRail("rail0").rail().leaf()).isEqualTo("leaf1");
        assertThat(first.onRail("rail1").rail().leaf()).isEqualTo("leaf2");
        assertThat(first.onRail("rail0").rail().promises().rate()).isEqualTo(100);
        assertThat(written.nodeNamed("n09").onRail("rail1").rail().leaf()).isEqualTo("kept");
        assertThat(written.nodeNamed("n09").port().rail().promises()).isEqualTo(Promises.NONE);
    }
}
