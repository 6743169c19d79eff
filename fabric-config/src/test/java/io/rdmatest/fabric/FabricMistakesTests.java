package io.rdmatest.fabric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.InputFormat;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SchemaValidatorsConfig;
import com.networknt.schema.SpecVersion;
import com.networknt.schema.ValidationMessage;
import io.rdmatest.verbs.DeviceCapability;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/** The mistakes that people make in fabric files, and that reader and schema agree on what a mistake is. */
class FabricMistakesTests {

    private static final Path FABRICS = Path.of("fabrics");

    /** A correct file of two hosts, as most are; {@link Mistake} changes a line of it. */
    private static final String CORRECT = """
            fabric: lab
            faults: forbidden
            promises:
              rate: 100
              lossless: true
            nodes:
              - name: a
                device: mlx5_0
                port: 1
                gid: { type: RoCEv2, family: ipv4 }
                address: 192.0.2.11
              - name: b
                launch: [ssh, root@b.example]
                java: /opt/jdk-25/bin/java
                environment: { LD_LIBRARY_PATH: /opt/rdma/lib }
                address: 192.0.2.12
            """;

    /** What only the reader knows: what one node says against what another one does, names in a range, times, YAML itself. */
    private static final boolean READER_ONLY = false;

    /**
     * A mistake.
     *
     * @param name what somebody did
     * @param correct the text that was right
     * @param wrong what stands there instead
     * @param message what the reader says, all of it
     * @param inSchema whether a JSON schema can say so, too
     */
    record Mistake(String name, String correct, String wrong, String message, boolean inSchema) {

        Mistake(String name, String correct, String wrong, String message) {
            this(name, correct, wrong, message, true);
        }

        String text() {
            assertThat(CORRECT).as(name).containsOnlyOnce(correct);
            return CORRECT.replace(correct, wrong);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Mistake> mistakes() {
        return Stream.of(
                new Mistake("a key of the file misspelt", "nodes:\n", "node:\n", """
                        lab.yaml:1:1: key 'nodes' is missing in a fabric; it needs fabric, nodes
                        lab.yaml:6:1: unknown key 'node' in a fabric; allowed: fabric, nodes, promises, thresholds, faults, microvm (did you mean 'nodes'?)"""),
                new Mistake(
                        "a key of a node misspelt",
                        "    adress: 192.0.2.11".replace("adress", "address"),
                        "    adress: 192.0.2.11",
                        "lab.yaml:11:5: unknown key 'adress' in a node; allowed: name, device, port, gid, address, leaf, rails, launch, java, environment, promises (did you mean 'address'?)"),
                new Mistake(
                        "a node without a name",
                        "  - name: a\n    device",
                        "  - device",
                        "lab.yaml:7:5: key 'name' is missing in a node; it needs name"),
                new Mistake(
                        "two nodes of one name",
                        "name: b",
                        "name: a",
                        "lab.yaml:12:11: name 'a' is taken by the node in line 7; names are unique in a fabric",
                        READER_ONLY),
                new Mistake(
                        "two nodes of one address",
                        "192.0.2.12",
                        "192.0.2.11",
                        "lab.yaml:16:14: address '192.0.2.11' is already in line 11; each node and rail has an address of its own",
                        READER_ONLY),
                new Mistake(
                        "the command as one string",
                        "[ssh, root@b.example]",
                        "ssh root@b.example",
                        "lab.yaml:13:13: launch must be a list of a command and its arguments, such as [ssh, root@b.example], not 'ssh root@b.example'"),
                new Mistake(
                        "the command as one word of a list",
                        "[ssh, root@b.example]",
                        "[ssh root@b.example]",
                        "lab.yaml:13:14: launch begins with 'ssh root@b.example', which is no command but several words; write each on its own: [ssh, root@b.example]"),
                new Mistake(
                        "no node is this host",
                        "    device: mlx5_0\n",
                        "    launch: [ssh, root@a.example]\n",
                        "lab.yaml:7:3: every node has launch; one node must be this host, that is, have none"),
                new Mistake(
                        "a host name for an address",
                        "192.0.2.12",
                        "b.example",
                        "lab.yaml:16:14: address 'b.example' is not an IP address; allowed: auto, IPv4 such as 192.0.2.11, IPv6 such as 2001:db8::11"),
                new Mistake(
                        "an address with its prefix length",
                        "192.0.2.11",
                        "192.0.2.11/24",
                        "lab.yaml:11:14: address '192.0.2.11/24' has a prefix length; write the address alone: 192.0.2.11"),
                new Mistake(
                        "an address with a number too few",
                        "192.0.2.11",
                        "192.0.11",
                        "lab.yaml:11:14: address '192.0.11' is not an IP address; allowed: auto, IPv4 such as 192.0.2.11, IPv6 such as 2001:db8::11"),
                new Mistake(
                        "an address with a leading zero",
                        "192.0.2.12",
                        "192.0.2.012",
                        "lab.yaml:16:14: address '192.0.2.012' has a number with a leading zero, which some programs read as octal; write 192.0.2.12 if the number is decimal"),
                new Mistake(
                        "a mapped address with a leading zero",
                        "192.0.2.12",
                        "::ffff:192.0.02.12",
                        "lab.yaml:16:14: address '::ffff:192.0.02.12' has a number with a leading zero, which some programs read as octal; write ::ffff:192.0.2.12 if the number is decimal",
                        READER_ONLY),
                new Mistake(
                        "a global address with a scope",
                        "192.0.2.12",
                        "2001:db8::12%eth0",
                        "lab.yaml:16:14: address '2001:db8::12%eth0' has a scope, and only link-local IPv6 addresses have one; write 2001:db8::12"),
                new Mistake(
                        "a scope that is no interface",
                        "192.0.2.12",
                        "fe80::12%a-very-long-name",
                        "lab.yaml:16:14: address 'fe80::12%a-very-long-name' has a scope that is not the name or the index of a network interface; write it as in fe80::11%eth0"),
                new Mistake(
                        "a multicast group for an address",
                        "192.0.2.11",
                        "239.0.0.1",
                        "lab.yaml:11:14: address '239.0.0.1' is a multicast group; a node has one that peers connect to, such as 192.0.2.11"),
                new Mistake(
                        "the port within the device",
                        "mlx5_0",
                        "mlx5_0/1",
                        "lab.yaml:8:13: device 'mlx5_0/1' has a port in it, which has a key of its own: device: mlx5_0 and port: 1"),
                new Mistake(
                        "ports counted from 0",
                        "port: 1",
                        "port: 0",
                        "lab.yaml:9:11: port '0' is out of range; allowed: 1 … 255 or auto"),
                new Mistake(
                        "a GID type in other letters",
                        "RoCEv2",
                        "RoCE v2",
                        "lab.yaml:10:18: gid type 'RoCE v2' is unknown; allowed: IB, RoCEv1, RoCEv2 (did you mean 'RoCEv2'?)"),
                new Mistake(
                        "an index and a type of a GID",
                        "{ type: RoCEv2, family: ipv4 }",
                        "{ type: RoCEv2, index: 3 }",
                        "lab.yaml:10:33: gid has index and also type; an index stands alone"),
                new Mistake(
                        "a rate in bytes",
                        "rate: 100",
                        "rate: 100 GB/s",
                        "lab.yaml:4:9: rate '100 GB/s' is out of range; allowed: Gb/s, more than 0 and at most 10000"
                                + ", or a number with b/s, kb/s, Mb/s, Gb/s or Tb/s"),
                new Mistake(
                        "the MTU of Ethernet",
                        "rate: 100",
                        "mtu: 9000",
                        "lab.yaml:4:8: mtu '9000' is unknown; allowed: 256, 512, 1024, 2048, 4096"),
                new Mistake(
                        "yes for true",
                        "lossless: true",
                        "lossless: yes",
                        "lab.yaml:5:13: lossless 'yes' is neither of the allowed: true, false"),
                new Mistake(
                        "true for allowed",
                        "faults: forbidden",
                        "faults: true",
                        "lab.yaml:2:9: faults 'true' is unknown; allowed: allowed, forbidden"),
                new Mistake(
                        "the home of the JDK for its java",
                        "java: /opt/jdk-25/bin/java",
                        "java: /opt/jdk-25/",
                        "lab.yaml:14:11: java '/opt/jdk-25/' is not a program; allowed: a command on the node's PATH such as java, an absolute path such as /usr/lib/jvm/jdk-25/bin/java, or same for the path that it has here"),
                new Mistake(
                        "variables as a list",
                        "environment: { LD_LIBRARY_PATH: /opt/rdma/lib }",
                        "environment: [LD_LIBRARY_PATH=/opt/rdma/lib]",
                        "lab.yaml:15:18: environment must be a mapping of variables to values, such as {LD_LIBRARY_PATH: /opt/rdma/lib}, not a list"),
                new Mistake("a JVM for this host", "    launch: [ssh, root@b.example]\n", "", """
                        lab.yaml:13:11: java is for nodes with launch; this node is this host, whose JVM is already running
                        lab.yaml:14:18: environment is for nodes with launch; this node is this host, whose JVM is already running"""),
                new Mistake("a device and rails", "    port: 1\n", "    rails: { r0: { device: mlx5_0 } }\n", """
                        lab.yaml:8:13: device stands beside rails; it belongs into one of the rails
                        lab.yaml:10:10: gid stands beside rails; it belongs into one of the rails
                        lab.yaml:11:14: address stands beside rails; it belongs into one of the rails"""),
                new Mistake(
                        "a rail that the other node calls otherwise",
                        CORRECT.substring(CORRECT.indexOf("  - name: a")),
                        """
                          - name: a
                            rails: { rail0: { device: mlx5_0 }, rail1: { device: mlx5_1 } }
                          - name: b
                            launch: [ssh, root@b.example]
                            rails: { rail0: { device: mlx5_0 }, rial1: { device: mlx5_1 } }
                        """,
                        """
                        lab.yaml:8:41: rail 'rail1' is on node 'a' only and connects nothing; the rails of the other nodes: rail0, rial1 (did you mean 'rial1'?)
                        lab.yaml:11:41: rail 'rial1' is on node 'b' only and connects nothing; the rails of the other nodes: rail0, rail1 (did you mean 'rail1'?)""",
                        READER_ONLY),
                new Mistake(
                        "a rail on a node that has none",
                        CORRECT.substring(CORRECT.indexOf("    device: mlx5_0"), CORRECT.indexOf("  - name: b")),
                        "    rails: { rail0: { device: mlx5_0 } }\n",
                        """
                        lab.yaml:8:14: rail 'rail0' is on node 'a' only and connects nothing; the rails of the other nodes: none
                        lab.yaml:9:5: node 'b' has no rails; where one node has them, every node has""",
                        READER_ONLY),
                new Mistake(
                        "two rails on one device",
                        CORRECT.substring(CORRECT.indexOf("    device: mlx5_0"), CORRECT.indexOf("  - name: b")),
                        "    rails: { rail0: { device: mlx5_0 }, rail1: { device: mlx5_0 } }\n",
                        "lab.yaml:8:58: rail 'rail1' has the device 'mlx5_0' of rail 'rail0'; each rail has a device of its own, or another port of it",
                        READER_ONLY),
                new Mistake(
                        "a time without its unit",
                        "faults: forbidden",
                        "thresholds: { round-trip: { p99: 20 } }",
                        "lab.yaml:2:34: round-trip p99 '20' is not a time; allowed: a number with ns, us, ms or s, from 1ns to 1000s, such as 12.5us"),
                new Mistake(
                        "a share of the line rate without its unit",
                        "faults: forbidden",
                        "thresholds: { bandwidth: 90 }",
                        "lab.yaml:2:26: bandwidth '90' is not a share of the line rate; allowed: more than 0 % and at most 100 %, such as 90 %"),
                new Mistake(
                        "a percentile that is not kept",
                        "faults: forbidden",
                        "thresholds: { round-trip: { p95: 20us } }",
                        "lab.yaml:2:29: unknown key 'p95' in round-trip; allowed: p50, p99, p99.9, max (did you mean 'p99'?)"),
                new Mistake(
                        "a capability misspelt",
                        "rate: 100",
                        "capabilities: [multi-cast]",
                        "lab.yaml:4:18: capability 'multi-cast' is unknown; allowed: "
                                + String.join(
                                        ", ",
                                        Stream.of(DeviceCapability.values())
                                                .map(DeviceCapability::toString)
                                                .toList())
                                + " (did you mean 'multicast'?)"),
                new Mistake(
                        "more virtual machines than there can be",
                        "faults: forbidden",
                        "microvm: 5",
                        "lab.yaml:2:10: microvm '5' is out of range; allowed: 1 … 4 virtual machines"),
                new Mistake(
                        "a tab",
                        "    port: 1",
                        "\tport: 1",
                        "lab.yaml:9:1: not YAML: there is a tab where only spaces may indent; replace it by spaces",
                        READER_ONLY));
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void eachMistakeHasItsMessage(Mistake mistake) {
        FabricException refused =
                catchThrowableOfType(FabricException.class, () -> FabricReader.read("lab.yaml", mistake.text()));
        assertThat(refused).as(mistake.text()).isNotNull();
        assertThat(String.join("\n", refused.problems())).isEqualTo(mistake.message());
    }

    @Test
    void bracketsWithoutAnEndAreRefusedWhereNoFileIsThatDeep() {
        String text = CORRECT.replace("port: 1", "port: " + "[".repeat(100_000));
        FabricException refused =
                catchThrowableOfType(FabricException.class, () -> FabricReader.read("lab.yaml", text));
        assertThat(refused.problems())
                .containsExactly("lab.yaml:9:72: lists and mappings are more than 64 levels deep;"
                        + " is a bracket not closed?");
    }

    @Test
    void noTwoMistakesHaveTheSameMessage() {
        List<String> messages = mistakes()
                .map(mistake -> mistake.message().replaceAll("lab\\.yaml:\\d+:\\d+: ", ""))
                .toList();
        assertThat(new HashSet<>(messages)).hasSameSizeAs(messages).hasSizeGreaterThanOrEqualTo(20);
    }

    @ParameterizedTest
    @MethodSource("mistakes")
    void theSchemaRefusesWhatASchemaCan(Mistake mistake) {
        if (mistake.inSchema()) {
            assertThat(refusals(mistake.text())).as(mistake.text()).isNotEmpty();
        } else {
            assertThat(refusedByYamlOrBySchema(mistake.text()))
                    .as("the schema could not say so, and does: the test's table is out of date")
                    .isEqualTo(mistake.name().equals("a tab"));
        }
    }

    private static boolean refusedByYamlOrBySchema(String text) {
        try {
            return !refusals(text).isEmpty();
        } catch (YamlEngineException e) {
            return true;
        }
    }

    static Stream<Path> shipped() throws IOException {
        try (Stream<Path> files = Files.list(FABRICS)) {
            return files.filter(file -> file.toString().endsWith(".yaml")).sorted().toList().stream();
        }
    }

    @ParameterizedTest
    @MethodSource("shipped")
    void everyShippedFileIsValidForBoth(Path file) throws IOException {
        String text = Files.readString(file);
        assertThat(FabricReader.read(file.toString(), text).name() + ".yaml")
                .isEqualTo(file.getFileName().toString());
        assertThat(refusals(text)).isEmpty();
    }

    /** The fabric files that the documentation shows. */
    static Stream<String> documented() throws IOException {
        List<String> shown = new ArrayList<>();
        for (String page : List.of("fabric-files.md", "promises.md")) {
            Pattern.compile("(?s)```yaml\\n(fabric: .*?)```")
                    .matcher(Files.readString(Path.of("../docs", page)))
                    .results()
                    .forEach(block -> shown.add(block.group(1)));
        }
        assertThat(shown).hasSizeGreaterThanOrEqualTo(3);
        return shown.stream();
    }

    @ParameterizedTest
    @MethodSource("documented")
    void everyDocumentedFileIsValidForBoth(String text) {
        // A page has a list of nodes, of which this one is the host.
        assertThat(FabricReader.read("docs", text, "gpu001").nodes()).isNotEmpty();
        assertThat(refusals(text)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "device: auto\n    port: auto\n    gid: auto\n    address: auto",
                "device: mlx5_bond_0\n    port: 255",
                "gid: { index: 0 }",
                "gid: { family: ipv6 }\n    address: 2001:db8::11",
                "address: ::ffff:192.0.2.1",
                "address: fe80::1",
                "address: fe80::1%eth0",
                "address: FE80::1%eth0",
                "address: fe90::1%2",
                "rails: { r0: { device: mlx5_0, address: fe80::1%2 }, r1: { device: mlx5_1, address: fe80::1%3 } }",
                "launch: [ssh, b]\n    address: fe80::1%rdma1\n  - name: gpu-node-000123.rack12.row3.pod7.fra1.prod.internal.cloud.example.com",
                "launch: [ssh, -p, 2222, b]\n  - name: c",
                "launch: [/opt/my tools/there, b]\n  - name: c",
                "launch: [kubectl, exec, -i, pod-0, --]\n    java: java\n    environment: { A: 1, b_2: true, C: '' }\n  - name: c",
                "launch: [on-node, b]\n    java: same\n  - name: c",
                "rails: { r0: { device: mlx5_0, port: 1 }, r1: { device: mlx5_0, port: 2, gid: { type: IB } } }",
                "promises: { rate: 2500 Mb/s }",
                "promises: { rate: 0.4Tb/s }",
                "promises: { mtu: 256, rate: 0.5, gid-type: IB, lossless: false, capabilities: [] }",
            })
    void bothAcceptEveryForm(String lines) {
        String text = "fabric: x\nthresholds: { throughput: 0.1, round-trip: { p99.9: 1.5 ms, max: 1000s } }\n"
                + "nodes:\n  - name: a\n    " + lines + "\n";
        assertThat(FabricReader.read("x.yaml", text).nodes()).isNotEmpty();
        assertThat(refusals(text)).as(text).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void bothKnowEveryCapability(DeviceCapability capability) {
        String text = CORRECT.replace("rate: 100", "capabilities: [" + capability + "]");
        assertThat(FabricReader.read("x.yaml", text)
                        .local()
                        .port()
                        .rail()
                        .promises()
                        .capabilities())
                .containsExactly(capability);
        assertThat(refusals(text)).isEmpty();
    }

    @Test
    void theSchemaIsAnApiAndOneItself() throws IOException {
        assertThat(Fabric.schema()).isEqualTo(Files.readString(FABRICS.resolve("fabric.schema.json")));
        JsonSchema ofSchemas = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                .getSchema(com.networknt.schema.SchemaLocation.of(com.networknt.schema.SchemaId.V202012));
        assertThat(ofSchemas.validate(Fabric.schema(), InputFormat.JSON)).isEmpty();
    }

    /** Returns what the schema has against a file. */
    static Set<ValidationMessage> refusals(String yaml) {
        Object loaded = new Load(LoadSettings.builder().build()).loadFromString(yaml);
        JsonSchema schema = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                .getSchema(Fabric.schema(), SchemaValidatorsConfig.builder().build());
        return schema.validate(new ObjectMapper().valueToTree(loaded));
    }
}
