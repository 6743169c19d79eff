package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.FabricCheck.Difference;
import io.rdmatest.fabric.FabricCheck.Place;
import io.rdmatest.fabric.FabricCheck.Result;
import io.rdmatest.fabric.FabricCheck.Unknown;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidType;
import java.net.InetAddress;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class NodeComparisonTests {

    private static Result node(String name, Map<String, String> host, Place... places) {
        return new Result(
                new Node("lab", name, Rail.AUTO, 0, GidSelector.AUTO, null, List.of("ssh", name)),
                host,
                List.of(places),
                List.of(),
                List.of());
    }

    private static Place place(String rail, GidType type, double rate, int mtu, String driver, String firmware) {
        InetAddress address = InetAddress.ofLiteral("192.0.2.1");
        return new Place(rail, "mlx5_0", 1, 3, Gid.of(address), type, address, rate, mtu, driver, firmware, Map.of());
    }

    /** A place with some settings, as in {@code board=x}. */
    private static Place with(Place place, String... settings) {
        Map<String, String> all = new LinkedHashMap<>(place.settings());
        for (String setting : settings) {
            all.put(setting.replaceFirst("=.*", ""), setting.replaceFirst("[^=]*=", ""));
        }
        return new Place(
                place.rail(),
                place.device(),
                place.port(),
                place.gidIndex(),
                place.gid(),
                place.gidType(),
                place.address(),
                place.rateGbps(),
                place.mtu(),
                place.driver(),
                place.firmware(),
                all);
    }

    private static Place withIndex(int index, Place place) {
        return new Place(
                place.rail(),
                place.device(),
                place.port(),
                index,
                place.gid(),
                place.gidType(),
                place.address(),
                place.rateGbps(),
                place.mtu(),
                place.driver(),
                place.firmware(),
                place.settings());
    }

    private static List<String> texts(List<Result> results) {
        return FabricCheck.differences(results).stream().map(Difference::text).toList();
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
    void whatOneNodeDoesNotReportIsUnknownAndNoDifference() {
        List<Result> results = List.of(
                node("a", Map.of("kernel", "Linux 6.1"), with(place(4096), "numaNode=0", "acs=off")),
                node("b", Map.of("kernel", "Linux 6.1"), with(place(4096), "numaNode=0", "acs=off")),
                node("c", Map.of("kernel", ""), place(4096)),
                node("d", Map.of()));

        assertThat(texts(results)).isEmpty();
        assertThat(FabricCheck.unknown(results))
                .containsExactly(new Unknown(
                        "",
                        List.of("c"),
                        List.of("NUMA node", "ACS", "kernel"),
                        "c does not report NUMA node, ACS, kernel"));
    }

    @Test
    void whatNoNodeReportsIsNotMentioned() {
        List<Result> results = List.of(node("a", Map.of(), place(4096)), node("b", Map.of(), place(4096)));

        assertThat(texts(results)).isEmpty();
        assertThat(FabricCheck.unknown(results)).isEmpty();
    }

    /** Each with its own firmware and PCIe, but one network with one MTU. */
    @Test
    void nodesOfOneKindAreComparedAmongThemselves() {
        Place compute = with(place(4096), "board=X7", "pcieWidth=16", "pcieMaxWidth=16");
        Place storage = with(place("", GidType.ROCE_V2, 25, 4096, "bnxt_re", "231.1"), "board=P2", "pcieWidth=8");
        Place old = with(place("", GidType.ROCE_V2, 25, 1024, "bnxt_re", "228.0"), "board=P2", "pcieWidth=8");
        List<Result> results = List.of(
                node("c1", Map.of("kernel", "Linux 6.1"), compute),
                node("c2", Map.of("kernel", "Linux 6.1"), compute),
                node("c3", Map.of("kernel", "Linux 6.2"), compute),
                node("s1", Map.of("kernel", "Linux 5.14"), storage),
                node("s2", Map.of("kernel", "Linux 5.14"), storage),
                node("s3", Map.of("kernel", "Linux 5.14"), old));

        assertThat(texts(results))
                .containsExactly(
                        "MTU is 4096 on 5 nodes, but 1024 on s3",
                        "driver is mlx5_core on c1, c2, c3, and bnxt_re on s1, s2, s3",
                        "board is X7 on c1, c2, c3, and P2 on s1, s2, s3",
                        "bnxt_re P2: firmware is 231.1 on 2 nodes, but 228.0 on s3",
                        "mlx5_core X7: kernel is Linux 6.1 on 2 nodes, but Linux 6.2 on c3");
        assertThat(FabricCheck.differences(results).get(3).kind()).isEqualTo("bnxt_re P2");
    }

    @Test
    void aCardThatDoesNotReportItsBoardIsOfTheKindOfItsDriver() {
        List<Result> results = List.of(
                node("a", Map.of(), with(place(4096), "board=X7", "pcieWidth=16")),
                node("b", Map.of(), with(place(4096), "board=X7", "pcieWidth=16")),
                node("c", Map.of(), with(place(4096), "pcieWidth=8")));

        assertThat(texts(results)).containsExactly("PCIe width is x16 on 2 nodes, but x8 on c");
        assertThat(FabricCheck.unknown(results)).extracting(Unknown::text).containsExactly("c does not report board");
    }

    @Test
    void theCommandAndTheCureAreThoseOfTheOddNode() {
        Place most = with(place(4096), "interface=eth0", "interfaceMtu=9000");
        Difference difference = FabricCheck.differences(List.of(
                        node("a", Map.of(), most),
                        node("b", Map.of(), with(most, "interface=ens3", "interfaceMtu=1500")),
                        node("c", Map.of(), most)))
                .getFirst();

        assertThat(difference.text()).isEqualTo("MTU of the interface is 9000 on 2 nodes, but 1500 on b");
        assertThat(difference.odd()).isEqualTo("b");
        assertThat(difference.show()).isEqualTo("cat /sys/class/net/ens3/mtu");
        assertThat(difference.cure()).isEqualTo("ip link set dev ens3 mtu 9000");
    }

    /** Then nobody knows which value is right. */
    @Test
    void ofATieTheCureNamesNoValue() {
        Difference difference = FabricCheck.differences(List.of(
                        node("a", Map.of(), with(place(4096), "trust=pcp")),
                        node("b", Map.of(), with(place(4096), "trust=dscp")),
                        node("c", Map.of(), with(place(4096), "trust=dscp")),
                        node("d", Map.of(), with(place(4096), "trust=pcp"))))
                .getFirst();

        assertThat(difference.text()).isEqualTo("trust mode is pcp on a, d, and dscp on b, c");
        assertThat(difference.cure()).isEqualTo("mlnx_qos -i INTERFACE --trust VALUE");
    }

    @Test
    void everySettingIsCompared() {
        String[] one = {
            "interfaceMtu=1",
            "pcieSpeed=1",
            "pcieWidth=1",
            "numaNode=1",
            "acs=on",
            "relaxedOrdering=on",
            "trust=pcp",
            "pfc=1",
            "dscpMap=1",
            "dscpEntries=1",
            "ecn=1"
        };
        String[] two =
                Stream.of(one).map(setting -> setting.replaceFirst("=.*", "=2")).toArray(String[]::new);
        List<Difference> differences = FabricCheck.differences(
                List.of(node("a", Map.of(), with(place(4096), one)), node("b", Map.of(), with(place(4096), two))));

        assertThat(differences)
                .extracting(Difference::what)
                .containsExactly(
                        "MTU of the interface",
                        "PCIe speed",
                        "PCIe width",
                        "NUMA node",
                        "ACS",
                        "relaxed ordering",
                        "trust mode",
                        "PFC",
                        "DSCP map",
                        "DSCP entries",
                        "ECN");
        assertThat(differences).allSatisfy(difference -> {
            assertThat(difference.show()).isNotBlank().doesNotContain("{", "}");
            assertThat(difference.cure()).isNotBlank().doesNotContain("{", "}");
        });
    }

    /** Also if all nodes are alike. */
    @Test
    void aDeviceBelowItsOwnCapabilityIsNamed() {
        Place slow = with(
                place(4096),
                "pcieSpeed=8.0 GT/s PCIe",
                "pcieMaxSpeed=16.0 GT/s PCIe",
                "pcieWidth=8",
                "pcieMaxWidth=16",
                "pcieAddress=0000:17:00.0");

        assertThat(texts(List.of(node("a", Map.of(), slow), node("b", Map.of(), slow))))
                .isEmpty();
        assertThat(slow.belowCapability())
                .hasSize(2)
                .anyMatch(text ->
                        text.startsWith("PCIe speed is 8.0 GT/s PCIe, and the device supports 16.0 GT/s PCIe; "))
                .anyMatch(text -> text.startsWith("PCIe width is x8, and the device supports x16; "));
        assertThat(with(slow, "pcieSpeed=16 GT/s", "pcieWidth=16").belowCapability())
                .isEmpty();
        assertThat(with(place(4096), "pcieWidth=8").belowCapability()).isEmpty();
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
                        withIndex(1, place("one", GidType.ROCE_V1, 2.5, 1024, "mlx5_core", "2")),
                        place("two", GidType.ROCE_V2, 25, 4096, "mlx5_core", "1"))));

        assertThat(differences)
                .extracting(difference -> difference.rail() + " " + difference.what())
                .containsExactly(
                        "one GID type",
                        "one MTU",
                        "one rate",
                        "one firmware",
                        "one GID index",
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

    private static Result on(String name, String machine, String device, String gid) {
        InetAddress address = InetAddress.ofLiteral(gid);
        Result node = node(
                name,
                Map.of("host", "h"),
                new Place(
                        "",
                        device,
                        1,
                        3,
                        Gid.of(address),
                        GidType.ROCE_V2,
                        address,
                        100,
                        4096,
                        "mlx5_core",
                        "",
                        Map.of()));
        return new Result(node.node(), node.host(), machine, node.places(), List.of(), List.of());
    }

    private static List<String> duplicates(Result... results) {
        return FabricCheck.withDuplicates(List.of(results)).stream()
                .flatMap(result -> result.unusable().stream())
                .toList();
    }

    /** Their pairs would measure one device, and a dead fabric would seem to be well. */
    @Test
    void nodesThatAreOneMachineAreNamed() {
        assertThat(duplicates(
                        on("a", "boot-1 net:[1]", "mlx5_0", "192.0.2.1"),
                        on("b", "boot-2 net:[1]", "mlx5_0", "192.0.2.2"),
                        on("c", "boot-2 net:[1]", "mlx5_0", "192.0.2.2"),
                        on("d", "boot-2 net:[1]", "mlx5_0", "192.0.2.3")))
                .containsExactly(
                        "node c: it is the same machine as node b, h, with the same mlx5_0/1: a pair of them measures"
                                + " one device; to do: correct the launch of one, or remove it from the file",
                        "node d: it is the same machine as node b, h, with the same mlx5_0/1: a pair of them measures"
                                + " one device; to do: correct the launch of one, or remove it from the file");
    }

    /** A host that has no shell, or no /proc, does not tell which machine it is. */
    @Test
    void nodesWithOneGidAreNamed() {
        assertThat(duplicates(
                        on("a", "", "mlx5_0", "192.0.2.1"),
                        on("b", "", "mlx5_0", "192.0.2.2"),
                        on("c", "boot-1 net:[1]", "mlx5_1", "192.0.2.1")))
                .singleElement()
                .asString()
                .matches("node c: its GID .* is also that of node a: a pair of them connects to itself; to do: .*");
    }

    @Test
    void containersWithTheirOwnDevicesAndNetworkNamespacesAreNodesOfTheirOwn() {
        assertThat(duplicates(
                        on("host", "boot-1 net:[1]", "mlx5_0", "192.0.2.1"),
                        on("other device", "boot-1 net:[1]", "mlx5_1", "192.0.2.2"),
                        on("other namespace", "boot-1 net:[2]", "mlx5_0", "192.0.2.3"),
                        on("other machine", "boot-2 net:[1]", "mlx5_0", "192.0.2.4")))
                .isEmpty();
    }
}
