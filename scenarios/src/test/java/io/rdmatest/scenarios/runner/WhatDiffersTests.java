package io.rdmatest.scenarios.runner;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricCheck.Kind;
import io.rdmatest.fabric.FabricCheck.Place;
import io.rdmatest.fabric.FabricCheck.Problem;
import io.rdmatest.fabric.FabricCheck.Result;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.GidSelector;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.Rail;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidType;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

public class WhatDiffersTests {

    @TempDir
    private Path folder;

    /** Nodes n1, n2, … with one device of this firmware each; without one, the node did not answer. */
    public static List<Result> results(String... firmware) {
        List<Result> results = new ArrayList<>();
        for (int i = 0; i < firmware.length; i++) {
            String name = "n" + (i + 1);
            results.add(new Result(
                    new Node("lab", name, Rail.AUTO, 0, GidSelector.AUTO, null, List.of("ssh", name)),
                    firmware[i].isEmpty() ? Map.of() : Map.of("host", name, "kernel", "Linux 6.1"),
                    firmware[i].isEmpty() ? List.of() : List.of(place(firmware[i], Map.of())),
                    firmware[i].isEmpty()
                            ? List.of(new Problem(Kind.UNREACHABLE, "its launch command ended with status 255"))
                            : List.of(),
                    List.of()));
        }
        return results;
    }

    private static Place place(String firmware, Map<String, String> settings) {
        InetAddress address = InetAddress.ofLiteral("192.0.2.1");
        return new Place(
                "",
                "mlx5_0",
                1,
                3,
                Gid.of(address),
                GidType.ROCE_V2,
                address,
                100,
                4096,
                "mlx5_core",
                firmware,
                settings);
    }

    private static JsonNode json(List<Result> results) {
        return new ObjectMapper().valueToTree(WhatDiffers.json(results));
    }

    @Test
    void theOddOnesOutAreNamedInOneLine() {
        JsonNode json = json(results("20.1", "22.3", "20.1", "20.1"));

        assertThat(json.path("message").asText()).isEqualTo("Nodes differ: firmware (n2).");
        assertThat(json.path("alike").asBoolean()).isFalse();
        JsonNode difference = json.path("differences").path(0);
        assertThat(difference.path("message").asText()).contains("20.1 on 3 nodes, but 22.3 on n2");
        assertThat(difference.path("odd").asText()).isEqualTo("n2");
        assertThat(difference.path("show").asText()).isEqualTo("cat /sys/class/infiniband/mlx5_0/fw_ver");
        assertThat(difference.path("cure").asText()).startsWith("flash 20.1 with");
    }

    private static Result local(Result result) {
        Node here = new Node("lab", "here", Rail.AUTO, 0, GidSelector.AUTO, null, List.of());
        return new Result(here, result.host(), result.places(), result.problems(), result.notes());
    }

    private static Result duplicate(Result result) {
        return new Result(
                result.node(),
                result.host(),
                result.places(),
                List.of(new Problem(Kind.DUPLICATE, "it is the same machine as node n2")),
                List.of());
    }

    @Test
    void aNodeThatARunNeedsAndDoesNotReachEndsItOnce() {
        WhatDiffers.requireUsable(results("1", "1"), false);
        assertThatThrownBy(() -> WhatDiffers.requireUsable(results("1", ""), false))
                .isInstanceOf(FabricException.class)
                .hasMessage("node n2: its launch command ended with status 255");
    }

    /** A night over many nodes is not lost by a dead one, but pairs are measured from this host. */
    @Test
    void pairsNeedThisHostAndOneOther() {
        List<Result> results = new ArrayList<>(results("1", "1", ""));
        results.set(0, local(results.get(0)));
        WhatDiffers.requireUsable(results, true);

        results.set(1, results("", "").get(1));
        assertThatThrownBy(() -> WhatDiffers.requireUsable(results, true))
                .hasMessageContainingAll("node n2: ", "node n3: ");

        List<Result> second = new ArrayList<>(results("1", "1", ""));
        second.set(0, local(second.get(0)));
        second.set(2, local(second.get(2)));
        WhatDiffers.requireUsable(second, true);

        List<Result> without = new ArrayList<>(results("", "1", "1"));
        without.set(0, local(without.get(0)));
        assertThatThrownBy(() -> WhatDiffers.requireUsable(without, true)).hasMessageStartingWith("node here: ");
    }

    @Test
    void pairsOfNodesThatAreOneMachineAreNotMeasured() {
        List<Result> results = new ArrayList<>(results("1", "1", "1", "1"));
        results.set(2, duplicate(results.get(2)));
        assertThatThrownBy(() -> WhatDiffers.requireUsable(results, true))
                .hasMessage("node n3: it is the same machine as node n2");
    }

    @Test
    void whereNoValueIsUsualAllNodesAreNamed() {
        assertThat(json(results("20.1", "22.3")).path("message").asText())
                .isEqualTo("Nodes differ: firmware (n1, n2).");
    }

    @Test
    void manyOddNodesAreCounted() {
        assertThat(json(results("1", "1", "1", "1", "1", "1", "2", "2", "3", "4", "5"))
                        .path("message")
                        .asText())
                .isEqualTo("Nodes differ: firmware (n7, n8, n9 and 2 more).");
    }

    @Test
    void nodesThatAreAlikeAreSaidToBe() {
        JsonNode json = json(results("20.1", "20.1", "20.1", ""));

        assertThat(json.path("alike").asBoolean()).isTrue();
        assertThat(json.path("message").asText())
                .isEqualTo("3 nodes are alike in host, device and settings. Not compared: n4.");
        assertThat(json.at("/notCompared/0/reason").asText()).contains("status 255");
    }

    @Test
    void aDeviceBelowItsCapabilityIsNamedThoughAllAreAlike() {
        List<Result> results = results("20.1", "20.1").stream()
                .map(result -> new Result(
                        result.node(),
                        result.host(),
                        List.of(place("20.1", Map.of("pcieWidth", "8", "pcieMaxWidth", "16"))),
                        List.of(),
                        List.of()))
                .toList();

        JsonNode json = json(results);

        assertThat(json.path("alike").asBoolean()).isFalse();
        assertThat(json.path("message").asText())
                .isEqualTo("Nodes differ: below the capability of the device (n1, n2).");
        assertThat(json.at("/belowCapability/1/message").asText()).startsWith("PCIe width is x8");
    }

    @Test
    void oneNodeThatAnswersIsComparedWithNone() {
        JsonNode json = json(results("20.1", ""));

        assertThat(json.path("alike").isNull()).isTrue();
        assertThat(json.path("message").asText()).startsWith("The nodes were not compared: 1 of 2 nodes reported");
    }

    /** The time is over for n3 only: by then n1 and n2 have given their answers and ended. */
    @Test
    void whenTheTimeIsOverTheNodesThatAnsweredAreCompared() throws Exception {
        String answer = """
                begin
                host there
                kernel Linux 6.12
                java /usr/bin/java
                java-says openjdk version "25" 2025-09-16
                library librdmacm.so.1
                library libibverbs.so.1
                device siw0 siw 4
                port siw0 1 Ethernet 4: ACTIVE
                rate siw0 1 2.5 Gb/sec (1X SDR)
                interface siw0 1 eth0
                gid siw0 1 0 5254:0077:0001:0000:0000:0000:0000:0000 - IB/RoCE v1
                address eth0 192.0.2.1
                end
                """.lines().map(line -> "rdmatest-probe " + line + "\n").collect(Collectors.joining());
        Path text = Files.writeString(folder.resolve("answer"), answer);
        List<String> lines = new ArrayList<>(List.of("fabric: lab", "nodes:", "  - name: n0"));
        List<Path> pids = new ArrayList<>();
        for (String node : List.of("n1", "n2")) {
            Path pid = folder.resolve(node + ".pid");
            pids.add(pid);
            lines.add("  - name: " + node);
            lines.add("    launch: [sh, -c, \"echo $$ >'%1$s.new'; mv '%1$s.new' '%1$s'; cat '%2$s'\"]"
                    .formatted(pid, text));
        }
        lines.add("  - name: n3");
        lines.add("    launch: [sh, -c, 'exec sleep 600']");
        Path file = Files.writeString(folder.resolve("lab.yaml"), String.join("\n", lines) + "\n");
        Fabric fabric = Fabric.load(file.toString());
        Map<Thread, Integer> turns = new ConcurrentHashMap<>();

        JsonNode json = new ObjectMapper()
                .valueToTree(WhatDiffers.json(
                        fabric,
                        fabric.nodes().subList(1, 4),
                        // Whoever waits for a process that has ended asks once more at most.
                        () -> pids.stream().allMatch(WhatDiffersTests::hasEnded)
                                && turns.merge(Thread.currentThread(), 1, Integer::sum) > 1));

        assertThat(json.path("message").asText())
                .isEqualTo("2 nodes are alike in host, device and settings. Not compared: n3.");
        assertThat(json.at("/notCompared/0/reason").asText()).endsWith("was given up");
    }

    private static boolean hasEnded(Path pid) {
        try {
            return Files.exists(pid)
                    && ProcessHandle.of(Long.parseLong(Files.readString(pid).strip()))
                            .isEmpty();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void aFileThatCannotBeReadIsSaidToBe() throws Exception {
        Path file = folder.resolve("differs.json");
        assertThat(WhatDiffers.read(file)).isNull();

        Path ignored = Files.writeString(file, "{");

        assertThat(WhatDiffers.read(file).path("message").asText())
                .startsWith("The nodes were not compared: " + file + " can't be read");
    }
}
