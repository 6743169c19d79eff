package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.fault.ActiveFault;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.junit.condition.Privilege;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.junit.condition.RequiresPrivilege;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;

/** The routes over an interface that a fault takes away, and gives back in an order that is not that of the kernel's list. */
@RdmaTest(timeout = "4 min")
@ExclusiveDevice
@IgnoreCounters
@RequiresDevice(driver = "rdma_rxe")
@RequiresPrivilege(Privilege.ROOT)
@Tag("slow")
class RoutesFaultIT {

    private static final Duration SOON = Duration.ofSeconds(30);
    private static final Duration MOST = Duration.ofMinutes(2);

    /** As NetworkManager sets them: it adds the routes to the networks of its addresses itself. */
    private static final String SET_UP = """
            ip address add 10.78.1.1/32 dev eth0
            ip route add 10.78.1.254 dev eth0 scope link
            ip route add default via 10.78.1.254 dev eth0 metric 4000
            ip route add default via 10.78.1.254 dev eth0 table 4790
            ip address add 10.79.1.1/24 dev eth0 noprefixroute
            ip route add 10.79.1.0/24 dev eth0 proto kernel scope link src 10.79.1.1 metric 50
            ip address add fd79:1::1/64 dev eth0 noprefixroute nodad
            ip -6 route add fd79:1::/64 dev eth0 proto kernel metric 50
            ip -6 route add fd78:1::/64 via fd79:1::9 dev eth0 src fd79:1::1
            ip -6 route add default via fd79:1::9 dev eth0 metric 4000
            """;

    private static final String CLEAN_UP = """
            ip route delete default via 10.78.1.254 dev eth0 metric 4000
            ip route delete default via 10.78.1.254 dev eth0 table 4790
            ip route delete 10.78.1.254 dev eth0
            ip address delete 10.78.1.1/32 dev eth0
            ip address delete 10.79.1.1/24 dev eth0
            ip route delete 10.79.1.0/24 dev eth0 metric 50
            ip -6 route delete default via fd79:1::9 dev eth0
            ip -6 route delete fd78:1::/64 dev eth0
            ip -6 route delete fd79:1::/64 dev eth0 metric 50
            ip address delete fd79:1::1/64 dev eth0
            """;

    private Fabric fabric;

    @BeforeEach
    void setUp(FabricDevice device) throws IOException, InterruptedException {
        assertThat(device.environment()).containsEntry("netdev", "eth0");
        fabric = Fabric.load("microvm");
        String ignored = sh("set -e\n" + SET_UP);
    }

    /** What a test found missing can't be deleted either. */
    @AfterEach
    void cleanUp() throws IOException, InterruptedException {
        String ignored = sh(CLEAN_UP + "true");
    }

    private static String sh(String script) throws IOException, InterruptedException {
        return Command.run("sh", "-c", script);
    }

    /** Addresses and routes; which of them comes first may be another after a fault, and whether one was given back by it. */
    private static List<String> addressesAndRoutes() throws IOException, InterruptedException {
        String said = sh("ip -o address show dev eth0 | sed 's/\\\\.*//';"
                + " ip -4 route show table all dev eth0; ip -6 route show table all dev eth0");
        return said.lines()
                .map(line -> line.replace(" nodad", "").strip())
                .sorted()
                .toList();
    }

    @RdmaTest
    void allComeBackWhenTheLinkIsUp() throws Exception {
        List<String> before = addressesAndRoutes();
        assertThat(before).anyMatch(line -> line.startsWith("default via 10.78.1.254 table 4790"));
        try (ActiveFault down = Faults.on(fabric).linkDown(fabric.local().port(), MOST)) {
            assertThat(down.awaitApplied()).isEqualTo("eth0 is down");
            assertThat(sh("ip route show table all dev eth0; ip -6 route show dev eth0"))
                    .doesNotContain("default", "fd7");
        }
        assertThat(addressesAndRoutes()).isEqualTo(before);
    }

    @RdmaTest
    void allComeBackWithTheAddress() throws Exception {
        List<String> before = addressesAndRoutes();
        for (String address : List.of("10.79.1.1", "10.78.1.1", "fd79:1::1")) {
            try (ActiveFault gone =
                    Faults.on(fabric).addressRemoved(fabric.local().port(), InetAddress.ofLiteral(address), MOST)) {
                assertThat(gone.awaitApplied()).endsWith(" is not on eth0");
            }
            assertThat(addressesAndRoutes()).as(address).isEqualTo(before);
        }
    }

    private static List<ProcessHandle> shells() {
        return ProcessHandle.current()
                .children()
                .filter(child -> child.info().command().orElse("").matches(".*/(sh|dash|bash)"))
                .toList();
    }

    @RdmaTest
    void whatCantComeBackIsToldAndKeepsNothingElse() throws Exception {
        List<String> before = addressesAndRoutes();
        String ignored = sh("""
                set -e
                ip address add 10.81.1.1/32 dev lo
                ip address add fd81::1/128 dev lo nodad
                ip route add 10.70.1.0/24 dev eth0 src 10.81.1.1
                ip route add 10.70.2.0/24 dev eth0 src 10.81.1.1
                ip -6 route add fd70::/64 dev eth0 src fd81::1
                """);
        List<ProcessHandle> others = shells();
        ActiveFault down = Faults.on(fabric).linkDown(fabric.local().port(), MOST);
        assertThat(down.awaitApplied()).isEqualTo("eth0 is down");
        List<ProcessHandle> ofTheFault =
                shells().stream().filter(each -> !others.contains(each)).toList();
        ignored = sh("ip address delete 10.81.1.1/32 dev lo; ip address delete fd81::1/128 dev lo");
        NetworkInterface eth0 = NetworkInterface.getByName("eth0");
        CompletableFuture<Throwable> closed = CompletableFuture.supplyAsync(() -> catchThrowable(down::close));
        await().atMost(SOON).until(eth0::isUp);
        // Whoever ends the processes of a job means those that it left, and not the one that makes things good.
        assertThat(ofTheFault).isNotEmpty().allMatch(ProcessHandle::destroy);
        assertThat(closed.get(MOST.toSeconds(), TimeUnit.SECONDS))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("fd70::/64")
                .hasMessageContaining("10.70.1.0/24")
                .hasMessageContaining("10.70.2.0/24");
        assertThat(addressesAndRoutes()).isEqualTo(before);
    }
}
