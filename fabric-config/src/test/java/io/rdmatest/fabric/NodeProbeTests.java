package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.fabric.FabricCheck.Place;
import io.rdmatest.verbs.GidType;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
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
        Node node = new Node(
                "lab",
                "b",
                Node.AUTO,
                0,
                GidSelector.AUTO,
                address == null ? null : InetAddress.ofLiteral(address.replaceFirst("%.*", "")),
                address == null ? "" : address.replaceFirst("[^%]*%?", ""),
                List.of("sh", "-c", "cat '" + file + "'; cat >/dev/null"),
                Promises.NONE,
                Map.of(),
                Node.DEFAULT_JAVA,
                Map.of(),
                null);
        NodeProbe probe = NodeProbe.ask(node, Duration.ofSeconds(30), () -> false);
        assertThat(probe.problems()).isEmpty();
        return probe.place("", node);
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
                Node.AUTO,
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
}
