package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.fabric.FabricCheck.Place;
import io.rdmatest.verbs.GidType;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is made of the answers of hosts with devices that are not at hand: the launch command gives the answer. */
class NodeProbeTests {

    private static final String INTERFACES = """
            address lo 127.0.0.1
            address lo ::1
            address eth0 192.0.2.1
            address eth0 fe80::5054:ff:fe77:1
            """;

    private static final String INFINIBAND = """
            device mlx5_0 mlx5_core 1
            port mlx5_0 1 InfiniBand 4: ACTIVE
            rate mlx5_0 1 200 Gb/sec (2X HDR)
            interface mlx5_0 1 ib0
            interface mlx5_0 1 ib0.8001
            gid mlx5_0 1 0 fe80:0000:0000:0000:0002:c903:0001:0002 - IB/RoCE v1
            """;

    private static final String IWARP = """
            device siw0 siw 4
            port siw0 1 Ethernet 4: ACTIVE
            rate siw0 1 2.5 Gb/sec (1X SDR)
            interface siw0 1 eth0
            gid siw0 1 0 5254:0077:0001:0000:0000:0000:0000:0000 - IB/RoCE v1
            """;

    @TempDir
    private Path folder;

    private Place place(@Nullable String address, String... facts) throws Exception {
        StringBuilder answer = new StringBuilder();
        ("begin\nhost there\nkernel Linux 6.12\njava /usr/bin/java\njava-says openjdk version \"25\" 2025-09-16\n"
                        + "library librdmacm.so.1\nlibrary libibverbs.so.1\n"
                        + String.join("", facts) + "end\n")
                .lines()
                .forEach(line -> answer.append("rdmatest-probe ").append(line).append('\n'));
        Path file = Files.writeString(folder.resolve("answer"), answer);
        Rail rail = new Rail(
                "",
                Rail.AUTO,
                0,
                GidSelector.AUTO,
                address == null ? null : InetAddress.ofLiteral(address.replaceFirst("%.*", "")),
                address == null ? "" : address.replaceFirst("[^%]*%?", ""),
                Promises.NONE,
                null);
        Node node = new Node(
                "lab",
                "b",
                List.of("sh", "-c", "cat '" + file + "'; cat >/dev/null"),
                Node.DEFAULT_JAVA,
                Map.of(),
                List.of(rail));
        NodeProbe probe = NodeProbe.ask(node, Duration.ofSeconds(30), () -> false);
        assertThat(probe.problems()).isEmpty();
        return probe.place(node.port().rail());
    }

    /** Not that of the interface that leads to the node, which may come first. */
    @Test
    void anInfiniBandPortHasTheAddressOfItsOwnInterface() throws Exception {
        Place place = place(null, INFINIBAND, INTERFACES, "address ib0 fe80::2:c903:1:2\naddress ib0 198.51.100.1\n");

        assertThat(place.address()).isEqualTo(InetAddress.ofLiteral("198.51.100.1"));
        assertThat(place.gidType()).isEqualTo(GidType.IB);
        assertThat(place.rateGbps()).isEqualTo(200);
    }

    @Test
    void anInterfaceWithoutAnAddressIsPassedOver() throws Exception {
        assertThat(place(null, INFINIBAND, INTERFACES, "address ib0.8001 198.51.100.7\n")
                        .address())
                .isEqualTo(InetAddress.ofLiteral("198.51.100.7"));
        assertThatThrownBy(() -> place(null, INFINIBAND, INTERFACES))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("mlx5_0/1 has no network interface with an IP address; give the node an address");
    }

    @Test
    void anIwarpPortHasTheAddressOfItsInterface() throws Exception {
        Place place = place(null, IWARP, INTERFACES);

        assertThat(place.address()).isEqualTo(InetAddress.ofLiteral("192.0.2.1"));
        assertThat(place.gidType()).isEqualTo(GidType.IB);
    }

    @Test
    void anAddressThatTheHostDoesNotHaveIsRefused() throws Exception {
        assertThat(place("192.0.2.1", IWARP, INTERFACES).address()).isEqualTo(InetAddress.ofLiteral("192.0.2.1"));
        assertThatThrownBy(() -> place("192.0.2.2", IWARP, INTERFACES))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("address 192.0.2.2 is on no network interface there");
    }

    private static final String ROCE = """
            link eth0 2
            link eth1 3
            device rxe0 rdma_rxe 1
            port rxe0 1 Ethernet 4: ACTIVE
            rate rxe0 1 2.5 Gb/sec (1X SDR)
            gid rxe0 1 0 fe80:0000:0000:0000:5054:00ff:fe77:0001 eth0 RoCE v2
            gid rxe0 1 1 0000:0000:0000:0000:0000:ffff:cb00:7107 eth7 RoCE v2
            gid rxe0 1 2 0000:0000:0000:0000:0000:ffff:a9fe:0304 eth0 RoCE v2
            gid rxe0 1 3 0000:0000:0000:0000:0000:ffff:c000:0201 eth0 RoCE v2
            gid rxe0 1 4 fe80:0000:0000:0000:5054:00ff:fe77:0001 eth1 RoCE v2
            """;

    /** As the selection on this host does: not what is in another network namespace, nor what reaches one link only. */
    @Test
    void aGidIsChosenWhoseAddressIsThere() throws Exception {
        assertThat(place(null, ROCE, INTERFACES, "address eth0 169.254.3.4\n").gidIndex())
                .isEqualTo(3);
        assertThat(place(null, ROCE, "address eth0 169.254.3.4\n").gidIndex()).isEqualTo(2);
        assertThat(place(null, ROCE, "address lo ::1\n").gidIndex()).isZero();
        assertThatThrownBy(() -> place("203.0.113.7", ROCE, INTERFACES))
                .hasMessageContaining("whose network interface is not in this network namespace");
    }

    @Test
    void aScopeIsAnInterfaceOfThatHost() throws Exception {
        String both = "address eth1 fe80::5054:ff:fe77:1\n";

        assertThat(place("fe80::5054:ff:fe77:1%eth1", ROCE, INTERFACES, both).gidIndex())
                .isEqualTo(4);
        assertThat(place("fe80::5054:ff:fe77:1%2", ROCE, INTERFACES, both).gidIndex())
                .isZero();
        assertThatThrownBy(() -> place("fe80::5054:ff:fe77:1%rdma1", ROCE, INTERFACES, both))
                .isInstanceOf(FabricException.class)
                .hasMessage(
                        "the address fe80:0:0:0:5054:ff:fe77:1%rdma1 names the network interface rdma1, which is not"
                                + " there; seen: eth0, eth1");
    }

    private NodeProbe probe(String... facts) throws Exception {
        Path file = Files.writeString(
                folder.resolve("facts"),
                ("begin\nhost there\nkernel Linux 6.12\njava /usr/bin/java\njava-says openjdk version \"25\"\n"
                                + "library librdmacm.so.1\nlibrary libibverbs.so.1\n" + String.join("\n", facts)
                                + "\nend\n")
                        .lines()
                        .map(line -> "rdmatest-probe " + line + "\n")
                        .collect(Collectors.joining()));
        Node node = new Node(
                "lab",
                "b",
                Rail.AUTO,
                0,
                GidSelector.AUTO,
                null,
                List.of("sh", "-c", "cat '" + file + "'; cat >/dev/null"));
        return NodeProbe.ask(node, Duration.ofSeconds(30), () -> false);
    }

    /** Root may lock what it likes. */
    @Test
    void aLimitOfLockedMemoryThatIsTooSmallIsTheNodesFault() throws Exception {
        assertThat(probe("memlock 64", "user 1000").problems())
                .extracting(FabricCheck.Problem::text)
                .singleElement()
                .asString()
                .startsWith("its user may lock 64 KiB of memory there (ulimit -l), and 8192 KiB are needed at least");
        assertThat(probe("memlock 64", "user 0").problems()).isEmpty();
        assertThat(probe("memlock unlimited", "user 1000").problems()).isEmpty();
        assertThat(probe("memlock 8192", "user 1000", "rdma-core /usr/lib/librdmacm.so.1.3.44.0")
                        .host())
                .containsEntry("memlock", "8192")
                .containsEntry("rdma-core", "44.0");
    }

    private static void file(Path file, String text) throws Exception {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
    }

    private void program(String name, String... lines) throws Exception {
        Path file = folder.resolve("bin").resolve(name);
        file(file, "#!/bin/sh\n" + String.join("\n", lines));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    /** A card below a bridge, and a VLAN on its interface. */
    private Path card() throws Exception {
        Path sys = folder.resolve("sys");
        Path bus = sys.resolve("devices/pci0000:16/0000:16:02.0/0000:17:00.0");
        file(bus.resolve("numa_node"), "1");
        file(bus.resolve("current_link_speed"), "16.0 GT/s PCIe");
        file(bus.resolve("current_link_width"), "8");
        file(bus.resolve("max_link_speed"), "16.0 GT/s PCIe");
        file(bus.resolve("max_link_width"), "16");
        file(sys.resolve("bus/pci/drivers/mlx5_core/bind"), "");
        Files.createSymbolicLink(bus.resolve("driver"), sys.resolve("bus/pci/drivers/mlx5_core"));
        Path device = sys.resolve("class/infiniband/mlx5_0");
        file(device.resolve("board_id"), "MT_0000000223");
        file(device.resolve("fw_ver"), "22.36.1010");
        file(device.resolve("node_type"), "1: CA");
        Files.createSymbolicLink(device.resolve("device"), bus);
        Path port = device.resolve("ports/1");
        file(port.resolve("link_layer"), "Ethernet");
        file(port.resolve("state"), "4: ACTIVE");
        file(port.resolve("rate"), "100 Gb/sec (4X EDR)");
        file(port.resolve("gids/3"), "0000:0000:0000:0000:0000:ffff:c000:0201");
        file(port.resolve("gid_attrs/types/3"), "RoCE v2");
        file(port.resolve("gid_attrs/ndevs/3"), "fake0.100");
        Path net = sys.resolve("class/net");
        file(net.resolve("fake0.100/mtu"), "4200");
        Files.createSymbolicLink(net.resolve("fake0.100/lower_fake0"), net.resolve("fake0"));
        for (int priority = 0; priority < 8; priority++) {
            file(net.resolve("fake0/ecn/roce_np/enable/" + priority), "1");
            file(net.resolve("fake0/ecn/roce_rp/enable/" + priority), priority == 3 ? "1" : "0");
        }
        // Nothing of this host.
        program("ip", "exit 0");
        program("ibv_devinfo", "printf '\\t\\t\\tactive_mtu:\\t\\t4096 (5)\\n'");
        program("dcb", "exit 1");
        program("setpci", "exit 1");
        return sys;
    }

    private Place placeOn(Path sys) throws Exception {
        Node node = new Node(
                "lab",
                "b",
                Rail.AUTO,
                0,
                GidSelector.AUTO,
                null,
                List.of("env", "RDMATEST_SYSFS=" + sys, "PATH=" + folder.resolve("bin") + ":" + System.getenv("PATH")));
        NodeProbe probe = NodeProbe.ask(node, Duration.ofSeconds(60), () -> false);
        assertThat(probe.answered()).as(probe.problems().toString()).isTrue();
        return probe.place(node.port().rail());
    }

    @Test
    void whatSysfsAndTheInstalledToolsShowIsRead() throws Exception {
        Path sys = card();
        program("setpci", "case $* in", "'-s 0000:17:00.0 CAP_EXP+8.w') echo 2936 ;;", "*ACS*) echo 001d ;;", "esac");
        program(
                "mlnx_qos",
                "[ \"$*\" = '-i fake0' ] || exit 1",
                "echo 'DCBX mode: OS controlled'",
                "echo 'Priority trust state: dscp'",
                "echo 'dscp2prio mapping:'",
                "printf '\\tprio:0 dscp:03,02,01,00,\\n\\tprio:3 dscp:26,\\n'",
                "echo 'PFC configuration:'",
                "printf '\\tpriority    0   1   2   3   4   5   6   7\\n'",
                "printf '\\tenabled     0   0   0   1   0   0   0   0   \\n'");

        Place place = placeOn(sys);

        assertThat(place.driver()).isEqualTo("mlx5_core");
        assertThat(place.firmware()).isEqualTo("22.36.1010");
        assertThat(place.mtu()).isEqualTo(4096);
        assertThat(place.gidIndex()).isEqualTo(3);
        assertThat(place.settings())
                .containsExactlyInAnyOrderEntriesOf(Map.ofEntries(
                        Map.entry("board", "MT_0000000223"),
                        Map.entry("numaNode", "1"),
                        Map.entry("pcieAddress", "0000:17:00.0"),
                        Map.entry("pcieSpeed", "16.0 GT/s PCIe"),
                        Map.entry("pcieWidth", "8"),
                        Map.entry("pcieMaxSpeed", "16.0 GT/s PCIe"),
                        Map.entry("pcieMaxWidth", "16"),
                        Map.entry("relaxedOrdering", "on"),
                        Map.entry("acs", "on"),
                        Map.entry("acsBridge", "0000:16:02.0"),
                        Map.entry("interface", "fake0.100"),
                        Map.entry("interfaceMtu", "4200"),
                        Map.entry("adapterInterface", "fake0"),
                        Map.entry("trust", "dscp"),
                        Map.entry("pfc", "0,0,0,1,0,0,0,0"),
                        Map.entry("dscpMap", "0-3:0 26:3"),
                        Map.entry("ecn", "np 11111111 rp 00010000")));
        assertThat(place.belowCapability())
                .singleElement()
                .asString()
                .startsWith("PCIe width is x8, and the device supports x16; shown by:"
                        + " cat /sys/class/infiniband/mlx5_0/device/current_link_width; to do: ")
                .contains("lspci -vv -s 0000:17:00.0");
    }

    /** A virtual function has no link of its own, and no tool here shows anything. */
    @Test
    void whatAHostDoesNotReportIsMissing() throws Exception {
        Path sys = card();
        Path bus = sys.resolve("devices/pci0000:16/0000:16:02.0/0000:17:00.0");
        file(bus.resolve("numa_node"), "-1");
        file(bus.resolve("physfn/current_link_speed"), "Unknown");
        file(bus.resolve("physfn/current_link_width"), "255");
        Files.delete(sys.resolve("class/infiniband/mlx5_0/board_id"));
        Files.delete(sys.resolve("class/net/fake0.100/mtu"));
        Files.delete(sys.resolve("class/net/fake0/ecn/roce_np/enable/0"));
        program("mlnx_qos", "echo 'Netdevice fake0 does not exist'", "exit 1");

        Place place = placeOn(sys);

        assertThat(place.settings())
                .containsOnlyKeys("pcieAddress", "interface", "adapterInterface", "ecn")
                .containsEntry("adapterInterface", "fake0");
        assertThat(place.belowCapability()).isEmpty();
    }

    @Test
    void whereMlnxQosIsNotInstalledDcbIsAsked() throws Exception {
        Path sys = card();
        program(
                "dcb",
                "case $* in",
                "'pfc show dev fake0 prio-pfc') echo 'prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off' ;;",
                "'-N app show dev fake0 dscp-prio') echo 'dscp-prio 24:3 25:3 46:6 ' ;;",
                "esac");

        assertThat(placeOn(sys).settings())
                .containsEntry("pfc", "0,0,0,1,0,0,0,0")
                .containsEntry("dscpEntries", "24-25:3 46:6")
                .doesNotContainKeys("trust", "dscpMap", "acs", "relaxedOrdering");
    }

    /** The program timeout ends with 124 then. */
    @Test
    void aProgramThatHangsIsNotAskedAgain() throws Exception {
        Path sys = card();
        Path asked = folder.resolve("asked");
        program("timeout", "shift", "echo $* >>" + asked, "[ $1 != dcb ] && exec \"$@\"", "exit 124");
        program("mlnx_qos", "echo 'Priority trust state: pcp'");

        assertThat(placeOn(sys).settings()).containsEntry("trust", "pcp").doesNotContainKey("pfc");
        assertThat(Files.readAllLines(asked))
                .filteredOn(line -> line.startsWith("dcb "))
                .hasSize(1);
    }

    @Test
    void garbledLinesAreNoSettings() throws Exception {
        Place place = place(null, ROCE, INTERFACES, """
                setting rxe0
                setting rxe0 board
                register rxe0 acs 0000:16:02.0
                register rxe0 acs 0000:16:02.0 zzzz
                register rxe0 relaxedOrdering 0000:17:00.0 ffff
                mlnx-qos eth0 enabled 0 1
                mlnx-qos eth0 prio:9 dscp:1,
                mlnx-qos eth0 prio:1 dscp:99,x,
                dcb eth0 prio-pfc 0:on
                of-interface eth0 interfaceMtu 1500
                something-new eth0 x
                """);

        assertThat(place.settings()).containsOnly(Map.entry("interface", "eth0"), Map.entry("interfaceMtu", "1500"));
    }

    @Test
    void oneBridgeOnTheWayWithAcsIsEnough() throws Exception {
        String bridges = "register rxe0 acs 0000:17:01.0 0000\nregister rxe0 acs 0000:16:02.0 000F\n";

        assertThat(place(null, ROCE, INTERFACES, bridges, "register rxe0 acs 0000:15:00.0 001d\n")
                        .settings())
                .containsEntry("acs", "on")
                .containsEntry("acsBridge", "0000:16:02.0");
        assertThat(place(null, ROCE, INTERFACES, "register rxe0 acs 0000:17:01.0 0000\n")
                        .settings())
                .containsEntry("acs", "off");
    }
}
