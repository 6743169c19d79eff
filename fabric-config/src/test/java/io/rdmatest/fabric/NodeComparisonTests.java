package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.FabricCheck.Difference;
import io.rdmatest.fabric.FabricCheck.Place;
import io.rdmatest.fabric.FabricCheck.Result;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidType;
import java.net.InetAddress;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class NodeComparisonTests {

    private static Result node(String name, Map<String, String> host, Place... places) {
        return new Result(
                new Node("lab", name, Node.AUTO, 0, GidSelector.AUTO, null, List.of("ssh", name)),
                host,
                List.of(places),
                List.of(),
                List.of());
    }

    private static Place place(String rail, GidType type, double rate, int mtu, String driver, String firmware) {
        InetAddress address = InetAddress.ofLiteral("192.0.2.1");
        return new Place(rail, "mlx5_0", 1, 3, Gid.of(address), type, address, rate, mtu, driver, firmware);
    }

    private static Place place(int mtu) {
        return place("", GidType.ROCE_V2, 100, mtu, "mlx5_core", "22.36.1010");
    }

    @Test
    void nodesThatAreAlikeDoNotDiffer() {
        Map<String, String> host =
                Map.of("host", "x", "kernel", "Linux 6.1", "rdma-core", "44.0", "memlock", "unlimited");
        assertThat(FabricCheck.differences(List.of(node("a", host, place(4096)), node("b", host, place(4096)))))
                .isEmpty();
    }

    /** What is not known of a node says nothing. */
    @Test
    void theOddOnesAreNamedAgainstMostOfTheNodes() {
        List<Difference> differences = FabricCheck.differences(List.of(
                node("a", Map.of(), place(4096)),
                node("b", Map.of(), place(1024)),
                node("c", Map.of(), place(4096)),
                node("d", Map.of(), place(0)),
                node("e", Map.of()),
                node("f", Map.of(), place(1024)),
                node("g", Map.of(), place(4096))));

        assertThat(differences)
                .extracting(Difference::text)
                .containsExactly("MTU is 4096 on 3 nodes, but 1024 on b, f");
        assertThat(differences.getFirst().values())
                .containsExactly(Map.entry("4096", List.of("a", "c", "g")), Map.entry("1024", List.of("b", "f")));
        assertThat(differences.getFirst().separates()).isFalse();
    }

    @Test
    void withoutAMajorityAllAreNamed() {
        assertThat(FabricCheck.differences(
                        List.of(node("a", Map.of("memlock", "unlimited")), node("b", Map.of("memlock", "64")))))
                .extracting(Difference::text)
                .containsExactly("limit of locked memory (ulimit -l) is unlimited on a, and 64 on b");
    }

    @Test
    void everyKindIsCompared() {
        Map<String, String> host = Map.of("kernel", "Linux 6.1", "rdma-core", "44.0", "memlock", "8192");
        Map<String, String> other = Map.of("kernel", "Linux 6.12", "rdma-core", "55.0", "memlock", "64");
        List<Difference> differences = FabricCheck.differences(List.of(
                node(
                        "a",
                        host,
                        place("one", GidType.ROCE_V2, 100, 4096, "mlx5_core", "1"),
                        place("two", GidType.ROCE_V2, 25, 4096, "mlx5_core", "1")),
                node(
                        "b",
                        other,
                        place("one", GidType.ROCE_V1, 2.5, 1024, "irdma", "2"),
                        place("two", GidType.ROCE_V2, 25, 4096, "mlx5_core", "1"))));

        assertThat(differences)
                .extracting(difference -> difference.rail() + " " + difference.what())
                .containsExactly(
                        "one GID type",
                        "one MTU",
                        "one rate",
                        "one driver",
                        "one firmware",
                        " kernel",
                        " rdma-core",
                        " limit of locked memory (ulimit -l)");
        assertThat(differences).extracting(Difference::separates).startsWith(true, false);
        assertThat(differences.get(2).text()).isEqualTo("rail one: rate is 100 Gb/s on a, and 2.5 Gb/s on b");
    }

    @Test
    void theLimitOfThisProcessIsKnown() {
        assertThat(NodeComparison.memlockHere()).matches("\\d+|unlimited");
    }
}
