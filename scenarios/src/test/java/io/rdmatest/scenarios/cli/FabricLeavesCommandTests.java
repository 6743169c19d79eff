package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.fabric.Fabric;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FabricLeavesCommandTests {

    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();
    private Path fabric = Path.of("");
    private Path topology = Path.of("");

    @BeforeEach
    void writeFiles() throws IOException {
        fabric = Files.writeString(folder.resolve("lab.yaml"), """
                fabric: lab
                nodes:
                  - { name: n01, leaf: old }
                  - { name: n02, launch: [ssh, n02] }
                """);
        topology = Files.writeString(
                folder.resolve("topology.conf"), "SwitchName=leaf0 Nodes=n01\nSwitchName=leaf1 Nodes=n[02-09]\n");
    }

    private int leaves(Object... arguments) {
        String[] words = new String[arguments.length + 2];
        words[0] = "fabric";
        words[1] = "leaves";
        for (int i = 0; i < arguments.length; i++) {
            words[i + 2] = arguments[i].toString();
        }
        return Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), words);
    }

    @Test
    void leavesAreShownAndWritten() {
        Path written = folder.resolve("new.yaml");

        assertThat(leaves(fabric, "--from", topology, "--write", written)).isZero();

        assertThat(out.toString().lines())
                .containsExactly(
                        "lab (" + fabric + "): leaves from " + topology + " (Slurm's topology)",
                        "node n01: leaf0 (the file says old)",
                        "node n02: leaf1",
                        "written: " + written,
                        "every leaf is found");
        Fabric read = Fabric.load(written.toString());
        assertThat(read.nodeNamed("n01").port().rail().leaf()).isEqualTo("leaf0");
        assertThat(read.nodeNamed("n02").port().rail().leaf()).isEqualTo("leaf1");
    }

    @Test
    void aLeafThatIsNotFoundIsNoSuccess() throws IOException {
        Path other = Files.writeString(folder.resolve("other.conf"), "SwitchName=leaf0 Nodes=n01\n");

        assertThat(leaves(fabric, "--from", other, "--json")).isEqualTo(3);

        JsonNode json = new ObjectMapper().readTree(out.toString());
        assertThat(json.path("missing").asInt()).isEqualTo(1);
        assertThat(json.at("/leaves/0/leaf").asText()).isEqualTo("leaf0");
        assertThat(json.at("/leaves/1/why").asText()).startsWith("no host of its name is there");
        assertThat(json.path("message").asText()).isEqualTo("1 of 2 leaves are not found");
    }

    /** A node that lldpctl failed on must not cost the leaves of the others. */
    @Test
    void aFileWithoutALeafIsToldAndTheRestIsWritten() throws IOException {
        Path first = Files.writeString(folder.resolve("n01.keyvalue"), "lldp.eth2.chassis.name=leaf0\n");
        Path second = Files.writeString(folder.resolve("n02.keyvalue"), "");
        Path other = Files.writeString(folder.resolve("n99.keyvalue"), "");
        Path written = folder.resolve("new.yaml");

        assertThat(leaves(fabric, "--from", first, second, other, "--write", written))
                .isEqualTo(3);

        String why =
                " is empty: the program that wrote it failed; lldpctl -f keyvalue also prints nothing if there is no"
                        + " neighbour";
        assertThat(out.toString().lines())
                .containsExactly(
                        "lab (" + fabric + "): leaves from " + first + " (lldpctl -f keyvalue)",
                        "NOT READ: " + other + why,
                        "node n01: leaf0 (the file says old)",
                        "node n02: NOT FOUND: " + second + why,
                        "written: " + written);
        assertThat(Fabric.load(written.toString())
                        .nodeNamed("n01")
                        .port()
                        .rail()
                        .leaf())
                .isEqualTo("leaf0");
        out.getBuffer().setLength(0);
        assertThat(leaves(fabric, "--from", topology, other, "--json")).isZero();
        assertThat(new ObjectMapper().readTree(out.toString()).at("/problems/0").asText())
                .isEqualTo(other + why);
    }

    @Test
    void filesOfOneFormatAreCounted() throws IOException {
        Path first = Files.writeString(folder.resolve("n01.keyvalue"), "lldp.eth2.chassis.name=leaf0\n");
        Path second = Files.writeString(folder.resolve("n02.keyvalue"), "lldp.eth2.chassis.name=leaf0\n");

        assertThat(leaves(fabric, "--from", first, second)).isZero();

        assertThat(out.toString()).contains("leaves from " + first + " and 1 more (lldpctl -f keyvalue)");
    }

    @Test
    void helpTakesBothWordsOfTheCommand() {
        assertThat(leaves("--help")).isZero();
        String usage = out.toString();
        out.getBuffer().setLength(0);

        assertThat(Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), "help", "fabric", "leaves"))
                .isZero();

        assertThat(out.toString()).isEqualTo(usage).contains("./rdmatest fabric leaves", "--interface");
        assertThat(Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), "help", "nope"))
                .isEqualTo(2);
        assertThat(err.toString()).contains("nope");
    }

    /** A BMC behind the same port is no switch. */
    @Test
    void aNeighbourThatIsNoSwitchIsInDoubt() throws IOException {
        Path bmc = Files.writeString(
                folder.resolve("n01.keyvalue"),
                "lldp.eth2.chassis.name=bmc\nlldp.eth2.chassis.Bridge.enabled=off\nlldp.eth2.chassis.Station.enabled=on\n");

        assertThat(leaves(fabric, "--from", bmc)).isEqualTo(3);

        assertThat(out + "" + err)
                .contains(
                        "node n01: bmc (the file says old) IN DOUBT: the neighbour announces neither Bridge nor Router;"
                                + " check that it is a switch")
                .contains("1 of 2 leaves are not found, 1 in doubt");
    }

    @Test
    void aFileThatIsReadIsNotReplaced() throws IOException {
        String before = Files.readString(fabric);
        String topologyBefore = Files.readString(topology);
        Path link = Files.createSymbolicLink(folder.resolve("link.yaml"), fabric);

        for (Path target : List.of(fabric, link, topology)) {
            err.getBuffer().setLength(0);
            assertThat(leaves(fabric, "--from", topology, "--write", target)).isEqualTo(2);
            assertThat(err.toString()).contains("--write " + target + " is a file that is read; give another one");
        }
        // A name, and a path above the working directory, stand for a file as well.
        Path bundled = Path.of("../fabric-config/fabrics/microvm-2.yaml");
        String bundledBefore = Files.readString(bundled);
        for (Object known : new Object[] {"microvm-2", "fabric-config/fabrics/microvm-2.yaml"}) {
            assertThat(leaves(known, "--from", topology, "--write", bundled)).isEqualTo(2);
            assertThat(err.toString()).contains("--write " + bundled + " is a file that is read; give another one");
        }
        assertThat(bundled).hasContent(bundledBefore);
        assertThat(fabric).hasContent(before);
        assertThat(topology).hasContent(topologyBefore);
    }

    @Test
    void aFileThatCannotBeMovedLeavesNoPart() throws IOException {
        Path target = folder.resolve("new.yaml");
        Path part = folder.resolve("new.yaml.part");
        // No file takes the place of a folder with something in it.
        assertThatThrownBy(() -> TargetFile.write(
                        Files.createDirectories(target.resolve("full")).getParent(), "text"))
                .isInstanceOf(IOException.class);
        assertThat(part).doesNotExist();

        assertThat(leaves(fabric, "--from", topology, "--write", folder.resolve("none/new.yaml")))
                .isEqualTo(3);
        assertThat(err + "" + out).contains("can't be written: no file can be created in its folder");
    }

    @Test
    void wrongFilesAndRailsAreWrongUsage() throws IOException {
        Path other = Files.writeString(folder.resolve("other.txt"), "hello\n");

        assertThat(leaves(fabric, "--from", other)).isEqualTo(2);
        assertThat(leaves(fabric, "--from", topology, "--interface", "rail7=eth2"))
                .isEqualTo(2);
        assertThat(leaves(folder.resolve("none.yaml"), "--from", topology)).isEqualTo(2);
        assertThat(leaves(fabric, "--from", topology, "--write", folder)).isEqualTo(2);
        assertThat(err.toString())
                .contains(other + " is none of: the output of ibnetdiscover")
                .contains("--interface rail7=eth2: the fabric lab has no rail rail7")
                .contains("--write " + folder + " can't be written: it is a folder");
    }
}
