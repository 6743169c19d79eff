package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.Ledger;
import io.rdmatest.RdmaException;
import io.rdmatest.ReportKeys;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.PortState;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Resolves nodes on this host; what is asserted holds for any active RoCE device, rxe0 among them. */
class DeviceResolverIT {

    @AfterEach
    void nothingIsLeftOpen() {
        assertThat(Ledger.live()).isEmpty();
    }

    @Test
    void autoFindsAnActivePortAndItsAddress() throws Exception {
        FabricDevice device = Fabric.load("auto").local().resolve();

        assertThat(device.portAttributes().state()).isEqualTo(PortState.ACTIVE);
        assertThat(NetworkInterface.getByInetAddress(device.address()))
                .as("the interface of %s", device.address())
                .isNotNull();
        assertThat(device.address()).isEqualTo(device.gid().gid().toInetAddress());
        try (DeviceContext context = device.open()) {
            assertThat(context.gid(device.port(), device.gid().index()))
                    .isEqualTo(device.gid().gid());
        }
    }

    @Test
    void describesTheEnvironmentWithoutGaps() {
        FabricDevice device = Fabric.load("auto").local().resolve();

        assertThat(device.environment().get(ReportKeys.MACHINE)).isEqualTo(System.getenv("RDMA_NODE"));
        assertThat(device.environment().keySet())
                .filteredOn(fact -> !fact.equals(ReportKeys.MACHINE))
                .containsExactly(
                        "host",
                        "kernel",
                        "rdma-core",
                        "device",
                        "driver",
                        "firmware",
                        "port",
                        "linkLayer",
                        "rate",
                        "mtu",
                        "gidIndex",
                        "gidValue",
                        "gidType",
                        "netdev",
                        "address",
                        "fabric",
                        "java");
        assertThat(device.environment())
                .containsEntry("fabric", "auto")
                .containsEntry("address", device.address().getHostAddress())
                .doesNotContainEntry("rdma-core", "unknown")
                .doesNotContainEntry("driver", "unknown")
                .doesNotContainEntry("netdev", "unknown");
    }

    @Test
    void selectsTheGidByFamilyAndByIndex() {
        FabricDevice auto = Fabric.load("auto").local().resolve();
        String name = auto.device().name();
        FabricDevice four = node(name, 0, family(GidSelector.Family.IPV4), null).resolve();
        FabricDevice six = node(name, 0, family(GidSelector.Family.IPV6), null).resolve();

        assertThat(four.address()).isInstanceOf(Inet4Address.class);
        assertThat(six.address()).isInstanceOf(Inet6Address.class);
        assertThat(node(name, six.port(), GidSelector.ofIndex(six.gid().index()), null)
                        .resolve()
                        .gid())
                .isEqualTo(six.gid());
        assertThat(node(name, 0, GidSelector.AUTO, six.address())
                        .resolve()
                        .gid()
                        .gid())
                .isEqualTo(six.gid().gid());
    }

    @Test
    void saysWhatItSawWhenADevicePortOrGidIsNotThere() {
        FabricDevice auto = Fabric.load("auto").local().resolve();
        String name = auto.device().name();
        String port = name + "/" + auto.port();

        assertThatThrownBy(() -> node("mlx9_7", 0, GidSelector.AUTO, null).resolve())
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("device 'mlx9_7' of node a of fabric t is not on this host")
                .hasMessageContaining(port + " ACTIVE (" + auto.device().driver() + ")");
        assertThatThrownBy(() -> node(name, 200, GidSelector.AUTO, null).resolve())
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("has no port 200")
                .hasMessageContaining("allowed: 1 … ");
        assertThatThrownBy(() -> node("auto", 200, GidSelector.AUTO, null).resolve())
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("no active RDMA device on this host")
                .hasMessageContaining("rdma link add")
                .hasMessageContaining("rdma-jdk/bin/java");
        assertThatThrownBy(() -> node(name, 0, GidSelector.ofIndex(255), null).resolve())
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("gid {index: 255}")
                .hasMessageContaining("{index: " + auto.gid().index() + ", type: "
                        + auto.gid().type());
        InetAddress elsewhere = InetAddress.ofLiteral("192.0.2.77");
        assertThatThrownBy(() -> node(name, 0, GidSelector.AUTO, elsewhere).resolve())
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("address 192.0.2.77");
    }

    /** An address that is removed and added again is at another index, here behind one that reaches one link only. */
    @Test
    void aTableThatChangesLeadsToTheSameGid() throws Exception {
        FabricDevice before =
                node("auto", 0, family(GidSelector.Family.IPV4), null).resolve();
        NetworkInterface network = NetworkInterface.getByInetAddress(before.address());
        assumeTrue(
                before.environment().get("driver").equals("rdma_rxe")
                        && System.getProperty("user.name").equals("root"),
                "the addresses of a soft-RoCE device are changed, as root");
        String own = before.address().getHostAddress() + "/"
                + network.getInterfaceAddresses().stream()
                        .filter(each -> each.getAddress().equals(before.address()))
                        .findFirst()
                        .orElseThrow()
                        .getNetworkPrefixLength();
        String linkLocal = "169.254.3.4/16";
        try (DeviceContext context = before.open()) {
            try {
                ip("del", own, network);
                awaitGids(context, before, "::ffff:" + before.address().getHostAddress(), false);
                assertThatThrownBy(() -> context.current(before.gid()))
                        .isInstanceOf(RdmaException.class)
                        .hasMessageContaining(
                                "no longer has the GID " + before.gid().gid() + " (RoCE v2), which was at index "
                                        + before.gid().index());
                ip("add", linkLocal, network);
                awaitGids(context, before, "::ffff:169.254.3.4", true);
                ip("add", own, network);
                awaitGids(context, before, "::ffff:" + before.address().getHostAddress(), true);

                FabricDevice after = node(before.device().name(), 0, family(GidSelector.Family.IPV4), null)
                        .resolve();
                assertThat(after.address()).isEqualTo(before.address());
                assertThat(after.gid().index()).isNotEqualTo(before.gid().index());
                assertThat(context.current(before.gid())).isEqualTo(after.gid());
            } finally {
                // In this order the address has its index again.
                for (String address : List.of(linkLocal, own)) {
                    if (NetworkInterface.getByName(network.getName())
                            .inetAddresses()
                            .anyMatch(each -> address.startsWith(each.getHostAddress() + "/"))) {
                        ip("del", address, network);
                    }
                }
                awaitGids(context, before, "::ffff:169.254.3.4", false);
                awaitGids(context, before, "::ffff:" + before.address().getHostAddress(), false);
                ip("add", own, network);
                awaitGids(context, before, "::ffff:" + before.address().getHostAddress(), true);
            }
        }
    }

    private static void ip(String what, String address, NetworkInterface network) throws Exception {
        Process ip = new ProcessBuilder("ip", "addr", what, address, "dev", network.getName())
                .inheritIO()
                .start();
        assertThat(ip.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(ip.exitValue()).as("ip addr %s %s", what, address).isZero();
    }

    /** The kernel changes the table a moment after the addresses. */
    private static void awaitGids(DeviceContext context, FabricDevice device, String gid, boolean present) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (context.gidTable(device.port()).stream()
                        .anyMatch(entry -> entry.gid().equals(Gid.parse(gid)))
                != present) {
            assertThat(System.nanoTime()).as("GID %s present: %s", gid, present).isLessThan(deadline);
            Thread.onSpinWait();
        }
    }

    @Test
    void refusesANodeThatIsAnotherHost() {
        assertThatThrownBy(() -> Fabric.load("two-hosts.example")
                        .remoteNodes()
                        .getFirst()
                        .resolve())
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("reached by 'ssh -o BatchMode=yes root@b.example': only a process on that host"
                        + " can open its device");
    }

    private static GidSelector family(GidSelector.Family family) {
        return new GidSelector(OptionalInt.empty(), null, family);
    }

    private static Node node(String device, int port, GidSelector gid, @Nullable InetAddress address) {
        return new Node("t", "a", device, port, gid, address, List.of());
    }
}
