package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.FabricCheck.Place;
import io.rdmatest.fabric.FabricCheck.Result;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidType;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What {@code ./rdmatest fabric check --pin} writes, and what the reader makes of it. */
class FabricWriterTests {

    private static Place place(String rail, double rate, int mtu, String board) {
        InetAddress address = InetAddress.ofLiteral("192.0.2.1");
        return new Place(
                rail,
                "mlx5_0",
                1,
                3,
                Gid.of(address),
                GidType.ROCE_V2,
                address,
                rate,
                mtu,
                "mlx5_core",
                "22.36.1010",
                Map.of("board", board, "numaNode", "1"));
    }

    private static Fabric fabric(String text) {
        return FabricReader.read("lab.yaml", text);
    }

    /** What the nodes of a fabric were found to have, in its order; a node without places did not answer. */
    private static List<Result> results(Fabric fabric, List<List<Place>> places) {
        List<Result> results = new ArrayList<>();
        for (int index = 0; index < places.size(); index++) {
            results.add(new Result(
                    fabric.nodes().get(index),
                    places.get(index).isEmpty() ? Map.of() : Map.of("kernel", "Linux 6.1", "memlock", "unlimited"),
                    places.get(index),
                    List.of(),
                    List.of()));
        }
        return results;
    }

    private static Fabric reread(String text) {
        assertThat(FabricMistakesTests.refusals(text)).as(text).isEmpty();
        return FabricReader.read("pinned.yaml", text);
    }

    private static final String FOUR = """
            fabric: lab
            nodes:
              - name: a
              - { name: b, launch: [ssh, b] }
              - { name: c, launch: [ssh, c] }
              - { name: d, launch: [ssh, d] }
            """;

    @Test
    void whatMostNodesHaveIsPromisedOfAll() {
        Fabric fabric = fabric(FOUR);
        String text = FabricCheck.pinned(
                        fabric,
                        results(
                                fabric,
                                List.of(
                                        List.of(place("", 100, 4096, "X7")),
                                        List.of(place("", 25, 1024, "X7")),
                                        List.of(place("", 100, 4096, "X7")),
                                        List.of())))
                .orElseThrow();

        Fabric pinned = reread(text);
        Promises promises = new Promises(Set.of(), 100, 4096, GidSelector.Type.ROCE_V2, false);
        assertThat(pinned.nodes()).extracting(Node::name).containsExactly("a", "b", "c", "d");
        assertThat(pinned.nodes())
                .extracting(node -> node.port().rail().promises())
                .containsOnly(promises);
        assertThat(text)
                .containsOnlyOnce("promises:")
                .contains(
                        "# mlx5_core X7: a, b, c\n",
                        "#   firmware: 22.36.1010\n",
                        "#   NUMA node: 1\n",
                        "#   kernel: Linux 6.1\n",
                        "#   limit of locked memory (ulimit -l): unlimited\n",
                        "# differed: MTU is 4096 on 2 nodes, but 1024 on b\n")
                .doesNotContain("#   rate:", "#   MTU:");
    }

    /** There is no majority of two. */
    @Test
    void aTieIsNotPromisedAnew() {
        Fabric fabric = fabric("""
                fabric: lab
                promises: { rate: 50 }
                nodes:
                  - name: a
                  - { name: b, launch: [ssh, b] }
                """);
        String text = FabricCheck.pinned(
                        fabric,
                        results(
                                fabric,
                                List.of(List.of(place("", 100, 4096, "X7")), List.of(place("", 25, 4096, "X7")))))
                .orElseThrow();

        assertThat(reread(text).nodes())
                .extracting(node -> node.port().rail().promises())
                .containsOnly(new Promises(Set.of(), 50, 4096, GidSelector.Type.ROCE_V2, false));
        assertThat(text).contains("# differed: rate is 100 Gb/s on a, and 25 Gb/s on b\n");
    }

    @Test
    void eachKindAndRailHasItsOwnPromises() {
        Fabric fabric = fabric("""
                fabric: lab
                nodes:
                  - name: a
                    rails: { rail0: { device: mlx5_0 }, rail1: { device: mlx5_1 } }
                  - name: b
                    launch: [ssh, b]
                    rails: { rail0: { device: mlx5_0 }, rail1: { device: mlx5_1 } }
                """);
        Fabric pinned = reread(FabricCheck.pinned(
                        fabric,
                        results(
                                fabric,
                                List.of(
                                        List.of(place("rail0", 100, 4096, "X7"), place("rail1", 2.5, 1024, "P2")),
                                        List.of(place("rail0", 400, 4096, "X8"), place("rail1", 2.5, 1024, "P2")))))
                .orElseThrow());

        assertThat(pinned.nodeNamed("a").onRail("rail0").rail().promises().rate())
                .isEqualTo(100);
        assertThat(pinned.nodeNamed("b").onRail("rail0").rail().promises().rate())
                .isEqualTo(400);
        assertThat(pinned.nodeNamed("a").onRail("rail1").rail().promises().rate())
                .isEqualTo(2.5);
        assertThat(pinned.nodeNamed("b").onRail("rail1").rail().promises().mtu())
                .isEqualTo(1024);
    }

    /** But for comments, aliases, and what is as the reader would have it anyway. */
    @Test
    void whatTheFileSaysIsKept() {
        Fabric fabric = fabric("""
                fabric: lab-rack-42
                faults: allowed
                promises: { lossless: true, capabilities: [atomics] }
                thresholds:
                  round-trip: { p50: 12.5us, p99.9: 1ns, max: 1000s }
                  throughput: 90
                  bandwidth: 7.25 %
                nodes:
                  - name: a
                    port: 2
                    gid: { type: RoCEv2, family: ipv4 }
                    address: fe80::12%eth0
                    leaf: leaf0
                  - name: b
                    gid: { index: 3 }
                    address: 192.0.2.12
                    launch: [ssh, -o, "Ciphers=a,b # c: d", 'it''s', '*x', 'true', '12', '']
                    java: /opt/jdk 25/bin/java
                    environment: { LD_LIBRARY_PATH: "/opt/a:/opt/b", EMPTY: '' }
                """);
        Fabric pinned = reread(FabricCheck.pinned(
                        fabric, results(fabric, List.of(List.of(place("", 100, 4096, "X7")), List.of())))
                .orElseThrow());

        assertThat(pinned.name()).isEqualTo(fabric.name());
        assertThat(pinned.faultsAllowed()).isTrue();
        assertThat(pinned.thresholds()).isEqualTo(fabric.thresholds());
        for (Node old : fabric.nodes()) {
            Node node = pinned.nodeNamed(old.name());
            assertThat(node.port().rail().promises())
                    .isEqualTo(
                            new Promises(Set.of(DeviceCapability.ATOMICS), 100, 4096, GidSelector.Type.ROCE_V2, true));
            assertThat(node)
                    .usingRecursiveComparison()
                    .ignoringFields("rails.promises")
                    .isEqualTo(old);
        }
    }

    /** Nothing that a node answers makes the file unreadable. */
    @Test
    void strangeAnswersAreCommentsAllTheSame() {
        Fabric fabric = fabric(FOUR);
        String text = FabricCheck.pinned(
                        fabric, results(fabric, List.of(List.of(place("", 100, 0, "X\u0007\n: - {\u2028\u00e9")))))
                .orElseThrow();

        assertThat(reread(text).local().port().rail().promises().rate()).isEqualTo(100);
    }

    @Test
    void machinesStayMachines() {
        Fabric fabric = Fabric.load("microvm-2", null, null);
        String text = FabricCheck.pinned(fabric, results(fabric, List.of(List.of(place("", 2.5, 1024, "")), List.of())))
                .orElseThrow();

        assertThat(reread(text).microvms()).isEqualTo(2);
    }

    @Test
    void withoutAnyDeviceNothingIsPinned() {
        Fabric fabric = fabric(FOUR);

        assertThat(FabricCheck.pinned(fabric, results(fabric, List.of(List.of(), List.of()))))
                .isEmpty();
    }
}
