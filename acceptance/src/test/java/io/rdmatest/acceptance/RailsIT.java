package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two devices in one subnet on each of two machines. The routes of the kernel prefer the first device for every address of the
 * subnet: what is to use the second one must be bound to it.
 */
@Tag("machines")
@EnabledIf(value = "io.rdmatest.acceptance.Machines#wanted", disabledReason = Machines.NO_QEMU)
@Timeout(value = 8, unit = TimeUnit.MINUTES)
class RailsIT {

    /**
     * Gives the node a second interface on the segment, with a soft-RoCE device. Its argument is the last part of the address.
     * A macvlan would not do: the kernel adds the addresses of an upper interface to the GIDs of the lower one's device.
     */
    private static final String RAIL = Machines.AWAIT + """
            ip link add rail1 mtu 9000 type veth peer name port1 mtu 9000 && ip link set port1 up && ip link set eth0 promisc on &&
            tc qdisc add dev eth0 ingress &&
            tc filter add dev eth0 parent ffff: protocol all u32 match u32 0 0 action mirred egress mirror dev port1 &&
            tc qdisc add dev port1 ingress &&
            tc filter add dev port1 parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev eth0 &&
            for each in all eth0 rail1; do
                echo 1 >/proc/sys/net/ipv4/conf/$each/arp_ignore; echo 2 >/proc/sys/net/ipv4/conf/$each/arp_announce
            done &&
            ip address add 10.77.0.$1/24 dev rail1 && ip link set rail1 up &&
            rdma link add rxe1 type rxe netdev rail1 || exit
            await grep -qs 0000:ffff:0a4d /sys/class/infiniband/rxe1/ports/1/gids/*
            chmod a+rw /dev/infiniband/*
            """;

    private static String said = "";

    @BeforeAll
    static void runAllOfIt(@TempDir Path folder) throws Exception {
        String script = Machines.AWAIT
                + """
                rail=$(mktemp) && cat >"$rail" <<'END' || exit
                %s
                END
                sh "$rail" 11 || exit
                on-node b sh -s 12 <"$rail" || exit
                %s -cp %s:%s io.rdmatest.acceptance.AcrossRails %s
                echo "roles ended with $?"
                listens() { rdma resource show cm_id | grep -q LISTEN; }
                ./rdmatest rping -s -a 0.0.0.0 --device rxe1 --timeout 60s & server=$!
                await listens
                on-node b timeout 60 rping -c -a 10.77.0.1 -C 3
                wait $server
                echo "server ended with $?"
                ip link set rail1 down
                ./rdmatest rping -c -a 10.77.0.2 -p 7999 --device rxe1 --timeout 10s
                echo "client on a dead rail ended with $?"
                """.formatted(
                                RAIL,
                                String.join(" ", Machines.java()),
                                Path.of(AcrossRails.class
                                        .getProtectionDomain()
                                        .getCodeSource()
                                        .getLocation()
                                        .toURI()),
                                Machines.AGENT,
                                Machines.AGENT);
        said = Machines.inVm(2, folder.resolve("said"), Duration.ofMinutes(6), Map.of(), script)
                .output();
    }

    @ParameterizedTest
    @ValueSource(strings = {"rping", "ping-pong", "ucmatose", "udaddy", "stream", "rstream"})
    void rolesStayOnTheDeviceUnderTest(String role) {
        assertThat(said)
                .containsPattern(
                        role + ": rxe0 of a \\+0, rxe1 of a \\+[1-9]\\d*, rxe0 of b \\+0, rxe1 of b \\+[1-9]\\d*\n");
    }

    @Test
    void anotherDeviceIsAFailureThatNamesBoth() {
        assertThat(said).contains(" uses rxe0/1, not rxe1/1, which is under test", "server ended with 7");
    }

    @Test
    void aDeadRailDoesNotPassOverAnotherOne() {
        assertThat(said).containsPattern("client on a dead rail ended with [37]\n");
    }
}
