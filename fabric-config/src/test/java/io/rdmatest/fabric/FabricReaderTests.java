package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.verbs.DeviceCapability;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class FabricReaderTests {

    private static final String LIST = """
            fabric: lab
            nodes:
              - name: n[08-11],login1
                launch: [ssh, -J, "jump-{name}", "{name}.example"]
                environment: { HOST: "{name}" }
                rails:
                  rail0: { device: mlx5_0, leaf: "leaf-{name}" }
                  rail1: { device: mlx5_1 }
            """;

    @Test
    void aListOfNamesIsANodeForEachOfThem() {
        Fabric fabric = FabricReader.read("lab.yaml", LIST, "n09.cluster.example");

        assertThat(fabric.nodes()).extracting(Node::name).containsExactly("n08", "n09", "n10", "n11", "login1");
        assertThat(fabric.nodes().getLast().launch()).containsExactly("ssh", "-J", "jump-login1", "login1.example");
        assertThat(fabric.nodes().getLast().environment()).containsExactly(Map.entry("HOST", "login1"));
        assertThat(fabric.nodes())
                .allMatch(node -> ("leaf-" + node.name())
                        .equals(node.onRail("rail0").rail().leaf()));
    }

    @Test
    void ofAListOfNamesTheOneOfThisHostIsThisHost() {
        Fabric fabric = FabricReader.read("lab.yaml", LIST, "n09.cluster.example");

        assertThat(fabric.nodes())
                .filteredOn(Node::isLocal)
                .extracting(Node::name)
                .containsExactly("n09");
        assertThat(fabric.local().environment()).isEmpty();
        assertThatThrownBy(() -> FabricReader.read("lab.yaml", LIST, "head"))
                .hasMessageContaining("lab.yaml:3:3: every node has launch")
                .hasMessageContaining("the node with the name of this host, head");
    }

    @Test
    void theNameOfANodeStandsInItsOtherKeys() {
        Fabric fabric = FabricReader.read("lab.yaml", """
                fabric: lab
                x-common: &common { launch: [srun, -w, "{name}"] }
                nodes:
                  - { name: n1 }
                  - { name: n2, <<: *common }
                  - { name: n3, <<: *common }
                """);

        assertThat(fabric.nodes())
                .extracting(Node::launch)
                .containsExactly(List.of(), List.of("srun", "-w", "n2"), List.of("srun", "-w", "n3"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "n[1-3]                | n1 n2 n3",
                "n[001-010/3],m        | n001 n004 n007 n010 m",
                "r[1-2]n[08,11-12].ib  | r1n08.ib r1n11.ib r1n12.ib r2n08.ib r2n11.ib r2n12.ib",
                "a,b                   | a b"
            })
    void listsOfHostsAreThoseOfClusterShell(String list, String hosts) {
        assertThat(HostList.of(list)).containsExactly(hosts.split(" "));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "n[3-1]   | the range 3-1 is empty",
                "n[1-3    | a bracket is not closed",
                "n[a-c]   | 'a-c' is not a number or a range",
                "n[1-9/0] | the range 1-9/0 is empty",
                "n[1-2,2] | name 'n2' is taken by the node in line 3"
            })
    void aListThatIsNoneIsOneMistake(String list, String mistake) {
        assertThatThrownBy(() -> FabricReader.read(
                        "lab.yaml", "fabric: lab\nnodes:\n  - { name: '" + list + "', launch: [ssh], jva: x }\n", "n1"))
                .isInstanceOfSatisfying(
                        FabricException.class,
                        e -> assertThat(e.problems())
                                .filteredOn(line -> line.contains(mistake))
                                .hasSize(1));
    }

    @Test
    void readsEveryKey() {
        Fabric fabric = FabricReader.read("lab.yaml", """
                fabric: lab-rack-42
                nodes:
                  - name: a                       # this host
                    device: mlx5_0
                    port: 2
                    gid: { type: RoCEv2, family: ipv4 }
                    address: 192.0.2.11
                  - name: b
                    gid: { index: 3 }
                    launch: [ssh, root@b.example, -p, 2222]
                    address: 2001:db8::12
                  - { name: c, device: auto, port: auto, gid: auto, address: auto }
                """);

        assertThat(fabric.name()).isEqualTo("lab-rack-42");
        assertThat(fabric.source()).isEqualTo("lab.yaml");
        assertThat(fabric.nodes())
                .containsExactly(
                        new Node(
                                "lab-rack-42",
                                "a",
                                "mlx5_0",
                                2,
                                new GidSelector(OptionalInt.empty(), GidSelector.Type.ROCE_V2, GidSelector.Family.IPV4),
                                InetAddress.ofLiteral("192.0.2.11"),
                                List.of()),
                        new Node(
                                "lab-rack-42",
                                "b",
                                "auto",
                                0,
                                GidSelector.ofIndex(3),
                                InetAddress.ofLiteral("2001:db8::12"),
                                List.of("ssh", "root@b.example", "-p", "2222")),
                        new Node("lab-rack-42", "c", "auto", 0, GidSelector.AUTO, null, List.of()));
        assertThat(fabric.local().name()).isEqualTo("a");
        assertThat(fabric.remoteNodes()).extracting(Node::name).containsExactly("b");
    }

    private static final String FABRIC_KEYS = "fabric, nodes, promises, thresholds, faults, microvm";
    private static final String NODE_KEYS =
            "name, device, port, gid, address, leaf, rails, launch, java, environment, promises";

    private static final String ALL_CAPABILITIES = String.join(
            ", ",
            Stream.of(DeviceCapability.values()).map(DeviceCapability::toString).toList());

    @Test
    void aLeafIsThatOfTheNodeUnlessARailNamesItsOwn() {
        Fabric fabric = FabricReader.read("lab.yaml", """
                fabric: lab
                nodes:
                  - { name: a, rails: { rail0: { device: mlx5_0 }, rail1: { device: mlx5_1 } } }
                  - name: b
                    launch: [ssh, b]
                    leaf: leaf1
                    rails:
                      rail0: { device: mlx5_0 }
                      rail1: { device: mlx5_1, leaf: 7 }
                """);

        assertThat(fabric.nodes()).extracting(node -> node.port().rail().leaf()).containsExactly(null, "leaf1");
        Node b = fabric.nodeNamed("b");
        assertThat(b.onRail("rail0").rail().leaf()).isEqualTo("leaf1");
        assertThat(b.onRail("rail1").rail().leaf()).isEqualTo("7");
        assertThat(b.port().onPort("mlx5_9", 1).rail().leaf()).isEqualTo("leaf1");
        assertThat(FabricReader.read("lab.yaml", """
                        fabric: lab
                        nodes: [{ name: a, leaf: sw1.example }]
                        """).local().port().rail().leaf())
                .isEqualTo("sw1.example");
        assertThatThrownBy(() -> FabricReader.read("lab.yaml", """
                        fabric: lab
                        nodes:
                          - { name: a, leaf: '' }
                        """))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("lab.yaml:3:22: leaf '' is not a name");
    }

    /** Each node of a fleet may merge the same mapping, and such a file may have some megabytes. */
    @Test
    void readsAFleetWithAnAliasInEachNode() {
        int nodes = 4_000;
        String yaml = "fabric: fleet\nx-common: &common { rails: { rail0: { device: mlx5_0 } } }\nnodes:\n"
                + IntStream.range(0, nodes)
                        .mapToObj(i -> "  - { <<: *common, name: n%d%s } # %s\n"
                                .formatted(i, i == 0 ? "" : ", launch: [ssh, n" + i + ".example]", "-".repeat(1000)))
                        .collect(Collectors.joining());
        assertThat(yaml.length()).isGreaterThan(4_000_000);

        Fabric fabric = FabricReader.read("fleet.yaml", yaml);

        assertThat(fabric.nodes())
                .hasSize(nodes)
                .allMatch(node -> node.onRail("rail0").rail().device().equals("mlx5_0"));
    }

    @Test
    void mergesWhatAliasesName() {
        Fabric fabric = FabricReader.read("lab.yaml", """
                fabric: rails
                x-common: &common
                  java: /usr/lib/jvm/jdk-25/bin/java
                  rails: &rails
                    rail0: { device: rocep1s0f0 }
                    rail1: { device: rocep2s0f0 }
                x-tools: &tools { java: /opt/java, environment: { LD_LIBRARY_PATH: /opt/lib } }
                nodes:
                  - name: a
                    rails: *rails
                  - name: b
                    <<: *common
                    launch: [ssh, b]
                  - name: c
                    java: java-25
                    launch: [ssh, c]
                    <<: [*tools, *common]
                """);
        assertThat(fabric.nodes())
                .allSatisfy(node -> assertThat(node.railNames()).containsExactly("rail0", "rail1"));
        assertThat(fabric.nodes())
                .extracting(Node::java)
                .containsExactly("java", "/usr/lib/jvm/jdk-25/bin/java", "java-25");
        assertThat(fabric.nodeNamed("c").environment()).containsOnlyKeys("LD_LIBRARY_PATH");
    }

    @Test
    void refusesMergesOfWhatIsNoMapping() {
        assertThatThrownBy(() -> FabricReader.read("f.yaml", "fabric: x\nnodes: [{ name: a, <<: [3] }]\n"))
                .isInstanceOf(FabricException.class)
                .hasMessage("f.yaml:2:25: << merges mappings, such as <<: *name, not '3'");
        assertThatThrownBy(() -> FabricReader.read("f.yaml", "fabric: x\nnodes: [&a { name: a, <<: *a }]\n"))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("an alias stands within what it names");
    }

    /** What a scope names is known on the node alone. */
    @Test
    void readsLinkLocalAddressesWithTheirInterface() {
        Fabric fabric = FabricReader.read("lab.yaml", """
                fabric: unnumbered
                nodes:
                  - name: a
                    rails:
                      rail0: { device: mlx5_0, address: "fe80::1%2" }
                      rail1: { device: mlx5_1, address: "fe80::1%3" }
                  - name: b
                    launch: [ssh, b]
                    rails:
                      rail0: { device: mlx5_0, address: "FE90::2%no-such-here" }
                      rail1: { device: mlx5_1, address: "fe80::2" }
                """);
        assertThat(fabric.nodes().getLast().rails()).extracting(Rail::scope).containsExactly("no-such-here", "");
        Rail second = fabric.local().onRail("rail1").rail();
        assertThat(second.address()).isEqualTo(InetAddress.ofLiteral("fe80::1"));
        assertThat(second.scope()).isEqualTo("3");
        assertThat(second.addressText()).isEqualTo("fe80:0:0:0:0:0:0:1%3");
    }

    @Test
    void aNodeMayHaveTheWholeNameOfItsHost() {
        String longest = "n".repeat(63) + "." + "o".repeat(63) + "." + "d".repeat(63) + "." + "e".repeat(61);
        assertThat(FabricReader.read("f.yaml", "fabric: x\nnodes: [{ name: " + longest + " }]\n")
                        .local()
                        .name())
                .hasSize(253);
        assertThatThrownBy(() -> FabricReader.read("f.yaml", "fabric: x\nnodes: [{ name: " + longest + "x }]\n"))
                .hasMessageContaining("is not a name: 1 to 253 letters");
    }

    @Test
    void readsPromises() {
        Fabric fabric = FabricReader.read("lab.yaml", """
                fabric: lab
                nodes:
                  - name: a
                    device: mlx5_0
                    promises: { capabilities: [atomics, on-demand-paging], rate: 100, mtu: 4096 }
                  - { name: b, promises: { rate: 2.5 } }
                  - { name: c }
                """);
        assertThat(fabric.nodes())
                .extracting(node -> node.port().rail().promises())
                .containsExactly(
                        new Promises(Set.of(DeviceCapability.ATOMICS, DeviceCapability.ON_DEMAND_PAGING), 100, 4096),
                        new Promises(Set.of(), 2.5, 0),
                        Promises.NONE);
        // What was promised of one device says nothing of another.
        assertThat(fabric.withDevice("rxe0").local().port().rail().promises()).isEqualTo(Promises.NONE);
        assertThat(fabric.withDevice("mlx5_0/2").local().port().rail().promises())
                .isEqualTo(fabric.local().port().rail().promises());
    }

    @Test
    void readsWhatAFabricSaysAsAWhole() {
        Fabric fabric = FabricReader.read("lab.yaml", """
                fabric: lab
                faults: allowed
                microvm: 2
                thresholds:
                  round-trip: { p50: 12.5us, p99: 1 ms, p99.9: 2ms, max: 1s }
                  throughput: 90
                  bandwidth: 92.5 %
                nodes: [{ name: a }]
                """);
        assertThat(fabric.faultsAllowed()).isTrue();
        assertThat(fabric.microvms()).isEqualTo(2);
        assertThat(fabric.thresholds())
                .isEqualTo(new Thresholds(
                        Map.of(
                                Thresholds.Percentile.P50,
                                Duration.ofNanos(12_500),
                                Thresholds.Percentile.P99,
                                Duration.ofMillis(1),
                                Thresholds.Percentile.P99_9,
                                Duration.ofMillis(2),
                                Thresholds.Percentile.MAX,
                                Duration.ofSeconds(1)),
                        Rate.ofGigabitsPerSecond(90),
                        0.925));
        // With another device in the place of the local one, the fabric's terms are the same.
        assertThat(fabric.withDevice("rxe0").thresholds()).isEqualTo(fabric.thresholds());
        assertThat(fabric.withDevice("rxe0").faultsAllowed()).isTrue();

        Fabric silent = FabricReader.read("lab.yaml", "fabric: lab\nnodes: [{ name: a }]\n");
        assertThat(silent.faultsAllowed()).isFalse();
        assertThat(silent.microvms()).isZero();
        assertThat(silent.thresholds()).isEqualTo(Thresholds.NONE);
        assertThat(silent.rails()).isEmpty();
    }

    /** A bare number is Gb/s, as it always was. */
    @Test
    void aRateMayHaveAUnit() {
        for (String rate : List.of("90", "90.0", "90 Gb/s", "90Gb/s", "'90 Gb/s'", "90000 Mb/s", "0.09 Tb/s")) {
            Fabric fabric = FabricReader.read(
                    "lab.yaml",
                    "fabric: lab\nthresholds: { throughput: %s }\npromises: { rate: %s }\nnodes: [{ name: a }]\n"
                            .formatted(rate, rate));
            assertThat(fabric.thresholds().throughput()).as(rate).isEqualTo(Rate.ofGigabitsPerSecond(90));
            assertThat(fabric.nodes().getFirst().port().rail().promises().rate())
                    .as(rate)
                    .isEqualTo(90);
        }
    }

    @Test
    void whatTheFabricPromisesEachNodeAndRailDoesUnlessItSaysOtherwise() {
        Fabric fabric = FabricReader.read("lab.yaml", """
                fabric: lab
                nodes:
                  - name: a
                  - name: b
                    promises: { rate: 25, lossless: false, capabilities: [xrc] }
                  - name: c
                    device: mlx5_2
                    promises: { gid-type: RoCEv1 }
                promises: { rate: 100, mtu: 4096, gid-type: RoCEv2, lossless: true, capabilities: [atomics] }
                """);
        Set<DeviceCapability> atomics = Set.of(DeviceCapability.ATOMICS);
        assertThat(fabric.nodes())
                .extracting(node -> node.port().rail().promises())
                .containsExactly(
                        new Promises(atomics, 100, 4096, GidSelector.Type.ROCE_V2, true),
                        new Promises(
                                Set.of(DeviceCapability.ATOMICS, DeviceCapability.XRC),
                                25,
                                4096,
                                GidSelector.Type.ROCE_V2,
                                false),
                        new Promises(atomics, 100, 4096, GidSelector.Type.ROCE_V1, true));
    }

    @Test
    void readsRailsByName() {
        Fabric fabric = FabricReader.read("lab.yaml", """
                fabric: lab
                promises: { rate: 100 }
                nodes:
                  - name: a
                    rails:
                      storage: { device: mlx5_0, port: 2, address: 192.0.2.1, promises: { rate: 25 } }
                      compute: { device: mlx5_1, gid: { index: 3 } }
                  - name: b
                    launch: [srun, -w, b]
                    java: /opt/jdk-25/bin/java
                    environment: { LD_LIBRARY_PATH: /opt/rdma/lib, MLX5_SINGLE_THREADED: 1 }
                    rails:
                      compute: { device: mlx5_1 }
                      storage: { device: mlx5_0 }
                """);
        assertThat(fabric.rails()).containsExactly("storage", "compute");
        Node a = fabric.node("a").orElseThrow();
        assertThat(a.port().rail().device()).isEqualTo("mlx5_0");
        assertThat(a.port().rail().port()).isEqualTo(2);
        assertThat(a.port().rail().promises().rate()).isEqualTo(25);
        Rail compute = a.onRail("compute").rail();
        assertThat(compute.device()).isEqualTo("mlx5_1");
        assertThat(compute.gid()).isEqualTo(GidSelector.ofIndex(3));
        assertThat(compute.address()).isNull();
        assertThat(compute.promises().rate()).isEqualTo(100);
        assertThatThrownBy(() -> a.onRail("comptue"))
                .isInstanceOf(FabricException.class)
                .hasMessage("node a of fabric lab has no rail 'comptue'; allowed: storage, compute");
        Node b = fabric.node("b").orElseThrow();
        assertThat(b.java()).isEqualTo("/opt/jdk-25/bin/java");
        assertThat(b.environment())
                .containsExactly(Map.entry("LD_LIBRARY_PATH", "/opt/rdma/lib"), Map.entry("MLX5_SINGLE_THREADED", "1"));
        assertThat(fabric.node("c")).isEmpty();
        // Another device has no rails of its own.
        assertThat(fabric.localOn("rxe0").railNames()).isEmpty();
    }

    @Test
    void theJavaOfThisHostIsNamedByItsPath() {
        Fabric fabric = FabricReader.read(
                "lab.yaml", "fabric: lab\nnodes: [{ name: a }, { name: b, launch: [on-node, b], java: same }]\n");
        assertThat(Path.of(fabric.node("b").orElseThrow().java()))
                .isExecutable()
                .isAbsolute();
        assertThat(fabric.local().java()).isEqualTo(Node.DEFAULT_JAVA);
    }

    static Stream<Arguments> brokenFiles() {
        return Stream.of(
                broken("", "f.yaml:1:1: the file is empty; a fabric has the keys fabric and nodes"),
                broken(
                        "just text",
                        "f.yaml:1:1: a fabric must be a mapping with the keys " + FABRIC_KEYS + ", not 'just text'"),
                broken("- a", "f.yaml:1:1: a fabric must be a mapping with the keys " + FABRIC_KEYS + ", not a list"),
                broken("fabric: x", "f.yaml:1:1: key 'nodes' is missing in a fabric; it needs fabric, nodes"),
                broken("nodes: [{name: a}]", "f.yaml:1:1: key 'fabric' is missing in a fabric; it needs fabric, nodes"),
                broken(
                        "fabric: x\nnodes: []",
                        "f.yaml:2:8: nodes must be a list of at least one node, not an empty list"),
                broken(
                        "fabric: x\nnodes: {a: 1}",
                        "f.yaml:2:8: nodes must be a list of at least one node, not a mapping"),
                broken(
                        "fabric: x\nnodes:\n  - a\n",
                        "f.yaml:3:5: a node must be a mapping with the keys " + NODE_KEYS + ", not 'a'"),
                broken(
                        "fabric: x y\nnodes: [{name: a}]",
                        "f.yaml:1:9: fabric 'x y' is not a name: 1 to 63 letters, digits, '.', '_', '-', beginning with a"
                                + " letter or digit"),
                broken(
                        "fabric:\nnodes: [{name: a}]",
                        "f.yaml:1:8: fabric nothing is not a name: 1 to 63 letters, digits, '.', '_', '-', beginning with"
                                + " a letter or digit"),
                node(
                        "devcie: mlx5_0",
                        "f.yaml:4:5: unknown key 'devcie' in a node; allowed: " + NODE_KEYS
                                + " (did you mean 'device'?)"),
                node("name: b", "f.yaml:4:5: key 'name' appears twice in a node"),
                node("device: [a]", "f.yaml:4:13: device a list is neither 'auto' nor a device name such as mlx5_0"),
                node(
                        "device: mlx5 0",
                        "f.yaml:4:13: device 'mlx5 0' is neither 'auto' nor a device name such as mlx5_0"),
                node("port: 0", "f.yaml:4:11: port '0' is out of range; allowed: 1 … 255 or auto"),
                node("port: 256", "f.yaml:4:11: port '256' is out of range; allowed: 1 … 255 or auto"),
                node("port: one", "f.yaml:4:11: port 'one' is out of range; allowed: 1 … 255 or auto"),
                node(
                        "port: 99999999999999999999",
                        "f.yaml:4:11: port '99999999999999999999' is out of range; allowed: 1 … 255 or auto"),
                node(
                        "promises: yes",
                        "f.yaml:4:15: promises must be a mapping with the keys capabilities, rate, mtu, gid-type, lossless,"
                                + " not 'yes'"),
                node(
                        "promises: {}",
                        "f.yaml:4:15: promises promises nothing; give at least one of capabilities, rate, mtu, gid-type,"
                                + " lossless, or leave it out"),
                node(
                        "promises: { speed: 100 }",
                        "f.yaml:4:17: unknown key 'speed' in promises; allowed: capabilities, rate, mtu, gid-type, lossless"),
                node(
                        "promises: { capabilities: atomics }",
                        "f.yaml:4:31: capabilities must be a list such as [atomics, multicast], not 'atomics'"),
                node(
                        "promises: { capabilities: [atomic] }",
                        "f.yaml:4:32: capability 'atomic' is unknown; allowed: " + ALL_CAPABILITIES
                                + " (did you mean 'atomics'?)"),
                node("promises: { capabilities: [xrc, xrc] }", "f.yaml:4:37: capability 'xrc' is promised twice"),
                node(
                        "promises: { rate: fast }",
                        "f.yaml:4:23: rate 'fast' is out of range; allowed: Gb/s, more than 0 and at most 10000"
                                + ", or a number with b/s, kb/s, Mb/s, Gb/s or Tb/s"),
                node(
                        "promises: { rate: 0 }",
                        "f.yaml:4:23: rate '0' is out of range; allowed: Gb/s, more than 0 and at most 10000"
                                + ", or a number with b/s, kb/s, Mb/s, Gb/s or Tb/s"),
                node(
                        "promises: { mtu: 1500 }",
                        "f.yaml:4:22: mtu '1500' is unknown; allowed: 256, 512, 1024, 2048, 4096"),
                node("gid: 3", "f.yaml:4:10: gid must be a mapping with the keys type, family, index, not '3'"),
                node("gid: {}", "f.yaml:4:10: gid selects nothing; give type and family, or index, or write gid: auto"),
                node(
                        "gid: { type: RoCEv3 }",
                        "f.yaml:4:18: gid type 'RoCEv3' is unknown; allowed: IB, RoCEv1, RoCEv2 (did you mean 'RoCEv1'?)"),
                node("gid: { family: inet }", "f.yaml:4:20: gid family 'inet' is unknown; allowed: ipv4, ipv6"),
                node("gid: { index: 256 }", "f.yaml:4:19: gid index '256' is out of range; allowed: 0 … 255"),
                node("gid: { index: -1 }", "f.yaml:4:19: gid index '-1' is out of range; allowed: 0 … 255"),
                node(
                        "gid: { index: 1, type: RoCEv2 }",
                        "f.yaml:4:19: gid has index and also type; an index stands alone"),
                node("gid: { idx: 1 }", "f.yaml:4:12: unknown key 'idx' in gid; allowed: type, family, index"),
                node(
                        "address: a.example",
                        "f.yaml:4:14: address 'a.example' is not an IP address; allowed: auto, IPv4 such as 192.0.2.11,"
                                + " IPv6 such as 2001:db8::11"),
                node(
                        "launch: ssh b",
                        "f.yaml:4:13: launch must be a list of a command and its arguments, such as [ssh,"
                                + " root@b.example], not 'ssh b'"),
                node("launch: [ssh, [b]]", "f.yaml:4:19: launch has a list where a word of the command is expected"),
                node("launch: ['', b]", "f.yaml:4:14: launch begins with an empty word; the first one is the command"),
                broken(
                        "fabric: x\nnodes:\n  - name: a\n    launch: [ssh, a]\n",
                        "f.yaml:3:3: every node has launch; one node must be this host, that is, have none"),
                broken(
                        "fabric: x\nnodes:\n  - name: a\n  - name: a\n",
                        "f.yaml:4:11: name 'a' is taken by the node in line 3; names are unique in a fabric"),
                broken(
                        "fabric: x\nnodes:\n  - device: rxe0\n",
                        "f.yaml:3:5: key 'name' is missing in a node; it needs name"));
    }

    private static Arguments broken(String text, String... problems) {
        return Arguments.of(text, List.of(problems));
    }

    private static Arguments node(String line, String... problems) {
        return broken("fabric: x\nnodes:\n  - name: a\n    " + line + "\n", problems);
    }

    @ParameterizedTest
    @MethodSource("brokenFiles")
    void saysWhatIsWrongAndWhere(String text, List<String> problems) {
        assertThatThrownBy(() -> FabricReader.read("f.yaml", text))
                .isInstanceOfSatisfying(
                        FabricException.class, e -> assertThat(e.problems()).containsExactlyElementsOf(problems));
    }

    @ParameterizedTest
    @MethodSource("notYaml")
    void saysWhereTheYamlEnds(String text, String begin) {
        assertThatThrownBy(() -> FabricReader.read("f.yaml", text))
                .isInstanceOf(FabricException.class)
                .hasMessageStartingWith(begin)
                .hasMessageMatching(".+");
    }

    static Stream<Arguments> notYaml() {
        return Stream.of(
                Arguments.of("fabric: x\nnodes: [", "f.yaml:2:9: not YAML: "),
                Arguments.of("fabric: x\n\tnodes: 1", "f.yaml:2:1: not YAML: "),
                Arguments.of("fabric: *nothing", "f.yaml:1:9: not YAML: "),
                Arguments.of("a: 1\n---\nb: 2", "f.yaml:2:1: not YAML: "));
    }

    @Test
    void collectsAllProblemsOfAFileInItsOrder() {
        assertThatThrownBy(() -> FabricReader.read("f.yaml", """
                fabrik: x
                nodes:
                  - name: a
                    port: 900
                    gid: { type: v2, family: 4 }
                  - name: a
                    address: nowhere
                """))
                .isInstanceOfSatisfying(
                        FabricException.class,
                        e -> assertThat(e.problems())
                                .extracting(problem -> problem.substring(0, problem.indexOf(": ")))
                                .containsExactly(
                                        "f.yaml:1:1",
                                        "f.yaml:1:1",
                                        "f.yaml:4:11",
                                        "f.yaml:5:18",
                                        "f.yaml:5:30",
                                        "f.yaml:6:11",
                                        "f.yaml:7:14"));
    }
}
