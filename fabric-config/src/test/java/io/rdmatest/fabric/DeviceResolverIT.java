package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Ledger;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.PortState;
import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.List;
import java.util.OptionalInt;
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

        assertThat(device.environment().keySet())
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

    @Test
    void refusesANodeThatIsAnotherHost() {
        assertThatThrownBy(() -> Fabric.load("two-hosts.example")
                        .remoteNodes()
                        .getFirst()
                        .resolve())
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("reached by 'ssh root@b.example': its device is there");
    }

    private static GidSelector family(GidSelector.Family family) {
        return new GidSelector(OptionalInt.empty(), null, family);
    }

    private static Node node(String device, int port, GidSelector gid, @Nullable InetAddress address) {
        return new Node("t", "a", device, port, gid, address, List.of());
    }
}
