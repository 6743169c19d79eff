package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.SkipReason;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code ./rdmatest fabric check} with launch commands that are processes of this host; their nodes need no device. */
class FabricCheckTests {

    /** Runs the words that follow it, as ssh does on another host. */
    private static final String ANY_SHELL = "[env, '--']";

    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    private int check(String nodes, String... more) throws IOException {
        List<String> args = new ArrayList<>(List.of("fabric", "check", write("lab", nodes)));
        args.addAll(List.of(more));
        return run(args.toArray(String[]::new));
    }

    private String write(String name, String nodes) throws IOException {
        return Files.writeString(folder.resolve(name + ".yaml"), "fabric: " + name + "\nnodes:\n" + nodes)
                .toString();
    }

    private JsonNode json() throws IOException {
        return new ObjectMapper().readTree(out.toString());
    }

    /** Two nodes: this host, whatever it has, and one that is reached by a command. */
    private JsonNode nodeB(String launch, String... more) throws IOException {
        check(
                "  - name: a\n  - name: b\n    launch: " + launch + "\n" + String.join("", more),
                "--json",
                "--timeout",
                "60s");
        return json().get("nodes").get(1);
    }

    private static List<String> problems(JsonNode node) {
        List<String> problems = new ArrayList<>();
        node.get("problems")
                .forEach(problem -> problems.add(problem.get("message").asText()));
        return problems;
    }

    private Path script(String name, String... lines) throws IOException {
        Path file = Files.writeString(folder.resolve(name), "#!/bin/sh\n" + String.join("\n", lines) + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    @Test
    void everyMistakeOfAFileIsPrintedAndNoNodeIsTried() throws Exception {
        Path touched = folder.resolve("touched");
        String file = write(
                "lab",
                "  - name: a\n    prot: 1\n  - name: b\n    port: 0\n    launch: [touch, " + touched
                        + "]\n  - name: b\n");
        assertThat(run("fabric", "check", file)).isEqualTo(2);
        assertThat(out.toString().lines())
                .containsExactly(
                        file + ":4:5: unknown key 'prot' in a node; allowed: name, device, port, gid, address, leaf,"
                                + " rails, launch, java, environment, promises (did you mean 'port'?)",
                        file + ":6:11: port '0' is out of range; allowed: 1 … 255 or auto",
                        file + ":8:11: name 'b' is taken by the node in line 5; names are unique in a fabric");
        assertThat(err.toString())
                .isEqualTo("./rdmatest fabric check: usage: 3 mistakes; no node was tried" + System.lineSeparator());
        assertThat(touched).doesNotExist();
    }

    @Test
    void mistakesAreObjectsWithLineAndColumnToo() throws Exception {
        String file = write("lab", "  - name: a\n    port: 0\n");
        assertThat(run("fabric", "check", file, "--json")).isEqualTo(2);
        assertThat(json().get("program").asText()).isEqualTo("fabric check");
        assertThat(json().get("status").asText()).isEqualTo("usage");
        JsonNode mistake = json().get("mistakes").get(0);
        assertThat(mistake.get("file").asText()).isEqualTo(file);
        assertThat(mistake.get("line").asInt()).isEqualTo(4);
        assertThat(mistake.get("column").asInt()).isEqualTo(11);
        assertThat(mistake.get("message").asText()).isEqualTo("port '0' is out of range; allowed: 1 … 255 or auto");
    }

    @Test
    void aFabricThatIsNotThereIsAnsweredWithThoseThatAre() {
        assertThat(run("fabric", "check", "lab-rack-43")).isEqualTo(2);
        assertThat(out.toString())
                .contains("no fabric named 'lab-rack-43'; available: auto, loopback, microvm, microvm-2");
    }

    @Test
    void wrongUsageNamesTheWholeCommand() {
        assertThat(run("fabric", "check")).isEqualTo(2);
        assertThat(run("fabric", "chekc", "auto")).isEqualTo(2);
        assertThat(run("fabric")).isEqualTo(2);
        assertThat(run("fabric", "check", "auto", "--timeout", "0s")).isEqualTo(2);
        assertThat(err.toString().lines())
                .hasSize(4)
                .allMatch(line -> line.endsWith(
                        line.contains("there is no command 'chekc'")
                                ? "--help lists the commands"
                                : "--help lists the options"))
                .anyMatch(line -> line.endsWith("commands"))
                .anyMatch(
                        line -> line.startsWith("./rdmatest fabric check: usage: Missing required parameter: 'FILE'"));
    }

    @Test
    void helpSaysWhatIsTriedAndWhatTheStatusMeans() {
        assertThat(run("fabric", "check", "--help")).isZero();
        assertThat(out.toString()).contains("Runs no test", "Exit status:", "peer absent");
    }

    @ParameterizedTest
    @CsvSource({
        "auto,100",
        "loopback,100",
        "rxe-ipv6,100",
        "adapter,101",
        "two-hosts.example,101",
        "microvm,102",
        "microvm-2,103",
        "no-such-fabric,101"
    })
    void aFabricSaysWhereItIsToBeTried(String fabric, int status) throws IOException {
        String adapter = write("adapter", "  - name: a\n    device: mlx5_0\n");
        assertThat(Rdmatest.execute(
                        new PrintWriter(out, true),
                        new PrintWriter(err, true),
                        () -> false,
                        true,
                        "fabric",
                        "check",
                        fabric.equals("adapter") ? adapter : fabric))
                .isEqualTo(status);
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void aNodeTellsItsHostAndItsJava() throws Exception {
        JsonNode node = nodeB(ANY_SHELL, "    java: same\n    environment: { IGNORED: \"it's\" }\n");
        assertThat(node.get("host").get("host").asText())
                .isEqualTo(
                        Files.readString(Path.of("/proc/sys/kernel/hostname")).strip());
        assertThat(node.get("host").get("java").asText())
                .startsWith(Integer.toString(Runtime.version().feature()));
        assertThat(problems(node)).noneMatch(problem -> problem.contains("Java") || problem.contains("launch command"));
    }

    /** As the launch does, which does not need one on the PATH either. */
    @Test
    void aJavaIsFoundThatIsNotOnThePath() throws Exception {
        JsonNode node = nodeB("[env, PATH=" + path("uname", "sh", "sed", "readlink", "dirname") + "]");
        assertThat(node.get("host").get("java").asText())
                .startsWith(Integer.toString(Runtime.version().feature()));
        assertThat(problems(node)).noneMatch(problem -> problem.contains("java"));
    }

    @Test
    void theEnvironmentOfTheNodeIsThatOfTheFile() throws Exception {
        Path java = script("java-of-node", "echo \"openjdk version \\\"25.$TWENTY_FIVE\\\"\" >&2");
        JsonNode node = nodeB(ANY_SHELL, "    java: " + java + "\n    environment: { TWENTY_FIVE: \"1'2\" }\n");
        assertThat(node.get("host").get("java").asText()).isEqualTo("25.1'2");
    }

    @Test
    void aBannerOfTheShellThereDoesNoHarm() throws Exception {
        JsonNode node = nodeB("[sh, -c, 'echo Welcome; echo Mail >&2; exec \"$@\"', sh]", "    java: same\n");
        assertThat(problems(node)).noneMatch(problem -> problem.contains("launch command"));
        assertThat(node.get("host").get("kernel").asText()).startsWith("Linux ");
    }

    @Test
    void aGreetingWithoutTheEndOfALineDoesNoHarm() throws Exception {
        JsonNode node = nodeB("[sh, -c, 'printf \"Welcome \"; exec \"$@\"', x]", "    java: same\n");
        assertThat(problems(node)).noneMatch(problem -> problem.contains("launch command"));
        assertThat(node.get("host").get("kernel").asText()).startsWith("Linux ");
    }

    @Test
    void whatTheNodesDifferInIsTold() throws Exception {
        script("uname", "[ \"$1\" = -n ] && echo there || echo Linux 9.9");
        String other = "[env, \"PATH=" + folder + ":" + System.getenv("PATH") + "\"]";
        check(
                "  - name: a\n  - name: b\n    launch: " + ANY_SHELL + "\n  - name: c\n    launch: " + other
                        + "\n  - name: d\n    launch: " + other + "\n",
                "--json",
                "--timeout",
                "60s");
        JsonNode difference = json().get("differences").get(0);
        assertThat(difference.get("what").asText()).isEqualTo("kernel");
        assertThat(difference.get("separates").asBoolean()).isFalse();
        assertThat(difference.get("message").asText()).matches("kernel is Linux 9\\.9 on 2 nodes, but Linux .* on b");
        assertThat(difference.get("values").get("Linux 9.9")).hasToString("[\"c\",\"d\"]");
    }

    private static void file(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text + "\n");
    }

    /** The launch command of a node whose sysfs shows one adapter with what is given. */
    private String withCard(String name, String firmware, String width) throws IOException {
        Path sys = folder.resolve("sys-" + name);
        Path device = sys.resolve("class/infiniband/mlx5_0");
        file(device.resolve("node_type"), "1: CA");
        file(device.resolve("board_id"), "MT_0000000223");
        if (!firmware.isEmpty()) {
            file(device.resolve("fw_ver"), firmware);
        }
        file(device.resolve("device/current_link_width"), width);
        file(device.resolve("device/max_link_width"), "16");
        Path port = device.resolve("ports/1");
        file(port.resolve("link_layer"), "Ethernet");
        file(port.resolve("state"), "4: ACTIVE");
        file(port.resolve("rate"), "100 Gb/sec (4X EDR)");
        file(
                port.resolve("gids/3"),
                "0000:0000:0000:0000:0000:ffff:c000:02" + HexFormat.of().toHexDigits((byte) name.charAt(0)));
        file(sys.resolve("proc/sys/kernel/random/boot_id"), "boot-of-" + name);
        Files.createDirectories(sys.resolve("proc/self/ns"));
        Files.createSymbolicLink(sys.resolve("proc/self/ns/net"), Path.of("net:[4026531840]"));
        file(port.resolve("gid_attrs/types/3"), "RoCE v2");
        Path bin = Files.createDirectories(folder.resolve("no-ip"));
        if (Files.notExists(bin.resolve("ip"))) {
            script("no-ip/ip", "exit 0");
        }
        return "[env, RDMATEST_SYSFS=" + sys + ", RDMATEST_PROC=" + sys.resolve("proc") + ", \"PATH=" + bin + ":"
                + System.getenv("PATH") + "\"]";
    }

    private String threeCards() throws IOException {
        return "  - name: a\n  - name: b\n    launch: " + withCard("b", "22.36", "16") + "\n  - name: c\n    launch: "
                + withCard("c", "22.36", "16") + "\n  - name: d\n    launch: " + withCard("d", "20.1", "8")
                + "\n  - name: e\n    launch: " + withCard("e", "", "16") + "\n";
    }

    @Test
    void theOddOnesAreNamedWithTheCommandThatShowsItAndTheCure() throws Exception {
        check(threeCards(), "--timeout", "60s");
        assertThat(out.toString().lines())
                .containsSequence(
                        "differs: firmware is 22.36 on 2 nodes, but 20.1 on d",
                        "  shown on d by: cat /sys/class/infiniband/mlx5_0/fw_ver",
                        "  to do there: flash 22.36 with the vendor's tool (NVIDIA: mlxfwmanager or flint), and reset the card")
                .contains("differs: PCIe width is x16 on 3 nodes, but x8 on d", "unknown: e does not report firmware")
                .anyMatch(line ->
                        line.startsWith("    below its capability: PCIe width is x8, and the device supports x16; "));
    }

    @Test
    void nodesThatAreOneMachineAreNamedAndAreNotReady() throws Exception {
        String card = withCard("b", "22.36", "16");
        check(
                "  - name: a\n  - name: b\n    launch: " + card + "\n  - name: c\n    launch: " + card + "\n",
                "--json",
                "--timeout",
                "60s");
        assertThat(problems(json().get("nodes").get(1))).noneMatch(problem -> problem.contains("same machine"));
        assertThat(problems(json().get("nodes").get(2)))
                .anyMatch(problem -> problem.startsWith("it is the same machine as node b, ")
                        && problem.contains(" with the same mlx5_0/1: a pair of them measures one device; to do: "));
        assertThat(json().get("nodes").get(2).get("ready").asBoolean()).isFalse();
    }

    @Test
    void aContainerWithoutTheFileOfTheConnectionManagerIsNotReady() throws Exception {
        Path devices = Files.createDirectories(folder.resolve("dev/infiniband")).getParent();
        Path sys = Files.createDirectories(folder.resolve("sys/class/misc/rdma_cm"))
                .resolve("../../..")
                .normalize();
        String launch = "[env, RDMATEST_SYSFS=" + sys + ", RDMATEST_DEV=" + devices + "]";
        assertThat(problems(nodeB(launch)))
                .contains(
                        "the container there lacks /dev/infiniband/rdma_cm, which connections need: start it with --device"
                                + " /dev/infiniband/rdma_cm");

        Files.delete(sys.resolve("class/misc/rdma_cm"));
        out.getBuffer().setLength(0);
        JsonNode fresh = nodeB(launch);
        assertThat(problems(fresh)).noneMatch(problem -> problem.contains("rdma_cm"));
        assertThat(fresh.get("notLookedAt").get(0).asText())
                .startsWith(
                        "the connection manager: /dev/infiniband/rdma_cm is missing there, and Linux makes it at the"
                                + " first connection; if that fails, load the kernel module ('modprobe rdma_ucm' as root");

        Files.createFile(devices.resolve("infiniband/rdma_cm"));
        out.getBuffer().setLength(0);
        assertThat(problems(nodeB(launch))).noneMatch(problem -> problem.contains("rdma_cm"));
    }

    @Test
    void whatDiffersIsInTheJsonToo() throws Exception {
        check(threeCards(), "--json", "--timeout", "60s");
        JsonNode device = json().get("nodes").get(3).get("devices").get(0);
        assertThat(device.get("settings").get("board").asText()).isEqualTo("MT_0000000223");
        assertThat(device.get("settings").get("pcieMaxWidth").asText()).isEqualTo("16");
        assertThat(device.get("belowCapability")).hasSize(1);
        JsonNode difference = json().get("differences").get(0);
        assertThat(difference.get("what").asText()).isEqualTo("firmware");
        assertThat(difference.get("kind").asText()).isEmpty();
        assertThat(difference.get("odd").asText()).isEqualTo("d");
        assertThat(difference.get("show").asText()).isEqualTo("cat /sys/class/infiniband/mlx5_0/fw_ver");
        assertThat(difference.get("cure").asText()).startsWith("flash 22.36 ");
        assertThat(json().get("unknown").get(0).get("nodes")).hasToString("[\"e\"]");
        assertThat(json().get("unknown").get(0).get("what")).hasToString("[\"firmware\"]");
        assertThat(json().has("pin")).isFalse();
    }

    @Test
    void whatMostNodesHaveIsPinnedInAFileThatCanBeChecked() throws Exception {
        Path pinned = folder.resolve("pinned.yaml");
        check(threeCards(), "--json", "--timeout", "60s", "--pin", pinned.toString());
        assertThat(json().get("pin").get("written").asBoolean()).isTrue();
        assertThat(Files.readString(pinned))
                .contains("rate: 100 Gb/s", "gid-type: RoCEv2", "#   firmware: 22.36\n", "#   PCIe width: x16\n");

        out.getBuffer().setLength(0);
        run("fabric", "check", pinned.toString(), "--json", "--timeout", "60s");
        assertThat(json().get("mistakes")).isEmpty();
        assertThat(problems(json().get("nodes").get(3))).noneMatch(problem -> problem.contains("promised"));
    }

    @Test
    void aPathThatCanNotBePinnedEndsTheCheckBeforeANodeIsTried() throws Exception {
        Path touched = folder.resolve("touched");
        String file = write("lab", "  - name: a\n  - name: b\n    launch: [touch, " + touched + "]\n");
        for (String[] each : new String[][] {
            {folder + "/none/pinned.yaml", " can't be written: its folder does not exist"},
            {folder.toString(), " can't be written: it is a folder"},
            {file, " is the file that is checked; give another one"}
        }) {
            err.getBuffer().setLength(0);
            assertThat(run("fabric", "check", file, "--pin", each[0])).isEqualTo(2);
            assertThat(err.toString().lines())
                    .singleElement()
                    .asString()
                    .startsWith("./rdmatest fabric check: usage: --pin " + each[0] + each[1]);
        }
        assertThat(touched).doesNotExist();
        assertThat(out.toString()).isEmpty();
    }

    /** The file is found above the working directory: its name and its path are others than that of the option. */
    @Test
    void theFileThatANameStandsForIsNotReplaced() throws Exception {
        Path target = Path.of("../fabric-config/fabrics/microvm-2.yaml");
        String before = Files.readString(target);
        for (String[] each : new String[][] {
            {"microvm-2", " is the file that is checked, by its name microvm-2; give another one"},
            {"fabric-config/fabrics/microvm-2.yaml", " is the file that is checked; give another one"}
        }) {
            err.getBuffer().setLength(0);
            assertThat(run("fabric", "check", each[0], "--pin", target.toString()))
                    .isEqualTo(2);
            assertThat(err.toString()).startsWith("./rdmatest fabric check: usage: --pin " + target + each[1]);
        }
        assertThat(target).hasContent(before);
        assertThat(out.toString()).isEmpty();
    }

    /** The file system of processes makes no files, not even for root. */
    @Test
    void aFileThatCanNotBeMadeIsOneSentence() throws Exception {
        check(threeCards(), "--json", "--timeout", "60s", "--pin", "/proc/pinned.yaml");
        assertThat(json().get("pin").get("written").asBoolean()).isFalse();
        assertThat(json().get("pin").get("message").asText())
                .isEqualTo("--pin /proc/pinned.yaml can't be written: no file can be created in its folder");
    }

    @Test
    void withoutAnyDeviceNothingIsPinned() throws Exception {
        Path pinned = folder.resolve("pinned.yaml");
        assertThat(check(
                        "  - name: a\n    device: mlx9_7\n  - name: b\n    device: mlx9_7\n    launch: " + ANY_SHELL
                                + "\n",
                        "--timeout",
                        "60s",
                        "--pin",
                        pinned.toString()))
                .isEqualTo(3);
        assertThat(out.toString()).contains("--pin " + pinned + " was not written: no device of any node was found");
        assertThat(pinned).doesNotExist();
    }

    @Test
    void aJavaThatIsTooOldIsNamedWithItsVersion() throws Exception {
        Path java = script(
                "java-17",
                "echo 'Picked up JAVA_TOOL_OPTIONS: -Dx'",
                "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2");
        assertThat(problems(nodeB(ANY_SHELL, "    java: " + java + "\n")))
                .contains(
                        java + " is Java 17.0.15 there, and 25 is needed; to do: install a JDK 25, or name its java in"
                                + " the node's key java");
    }

    @Test
    void aNodeWithoutJavaIsToldSo() throws Exception {
        assertThat(problems(nodeB(ANY_SHELL, "    java: /opt/none/bin/java\n")))
                .contains("there is no program '/opt/none/bin/java' there; to do: install a JDK 25, or name its java in"
                        + " the node's key java");
        out.getBuffer().setLength(0);
        assertThat(problems(nodeB("[env, RDMATEST_JAVA=/nowhere/java]")))
                .contains(
                        "there is no java there, looked at /nowhere/java; to do: install a JDK 25, or name its java in"
                                + " the node's key java");
        out.getBuffer().setLength(0);
        Path old = script("old-java", "echo 'openjdk version \"17.0.15\" 2025-04-15' >&2");
        assertThat(problems(nodeB("[env, RDMATEST_JAVA=" + old + "]")))
                .contains("a java of version 25 or later is needed there, seen: " + old
                        + " (17); to do: install a JDK 25," + " or name its java in the node's key java");
        out.getBuffer().setLength(0);
        assertThat(problems(nodeB(ANY_SHELL, "    java: " + folder + "\n")))
                .contains(
                        "'" + folder + "' is there, but is no program that may be executed; to do: install a JDK 25, or"
                                + " name its java in the node's key java");
        out.getBuffer().setLength(0);
        Path broken = script("broken-java", "echo 'Error: could not find libjvm.so' >&2", "exit 1");
        assertThat(problems(nodeB(ANY_SHELL, "    java: " + broken + "\n")))
                .contains(
                        "'" + broken + " -version' tells no version there, and wrote: Error: could not find libjvm.so;"
                                + " to do: install a JDK 25, or name its java in the node's key java");
    }

    /** A folder with some programs of this host only. */
    private Path path(String... programs) throws IOException {
        Path bin = Files.createDirectories(folder.resolve("bin"));
        for (String program : programs) {
            script("bin/" + program, "exec /bin/" + program + " \"$@\"");
        }
        return bin;
    }

    @Test
    void aLaunchCommandThatIsNotThere() throws Exception {
        JsonNode node = nodeB("[no-such-ssh, b]");
        assertThat(problems(node))
                .containsExactly("its launch command 'no-such-ssh b': there is no program 'no-such-ssh' on this host's"
                        + " PATH; to do: install it, or correct its name");
        assertThat(node.get("problems").get(0).get("status").asText()).isEqualTo("peer absent");
        assertThat(node.get("ready").asBoolean()).isFalse();
    }

    @Test
    void aLaunchCommandThatMayNotBeExecuted() throws Exception {
        Path file = Files.writeString(folder.resolve("not-executable"), "");
        assertThat(problems(nodeB("[" + file + "]")))
                .containsExactly("its launch command '" + file + "': '" + file
                        + "' may not be executed; to do: chmod +x, or correct its name");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "255|root@b: Permission denied (publickey).|let this host's user log in there: ssh-copy-id, or another user or key (-i) in launch",
                "255|Host key verification failed.|the key of that host is not known here, or another one than before: log in once by hand and check it",
                "255|ssh: Could not resolve hostname b: Name or service not known|the host's name is not known here: check its spelling, DNS and /etc/hosts",
                "255|ssh: connect to host b port 22: Connection refused|nobody listens there: start sshd, or give its port in launch (-p)",
                "255|ssh: connect to host b port 22: No route to host|the host is off, or its address or a firewall is in the way: check it by ping",
                "125|on-node: node b does not answer (No route); was it started with --nodes?|start the machines by in-vm --nodes N",
                "127|sh: 1: srnu: not found|a command is not there: install it, or correct its name",
                "126|sh: 1: /srun: Permission denied|a command may not be executed: chmod +x, or correct its name",
                "1|no such pod|the launch command must run its arguments (here: sh) on the node and pass on standard input and output",
            })
    void whatTheCommandSaysIsToldWithTheCure(int status, String says, String cure) throws Exception {
        Path ssh = script("ssh", "echo '" + says.replace("'", "'\\''") + "' >&2", "exit " + status);
        assertThat(problems(nodeB("[" + ssh + ", b]")))
                .containsExactly("its launch command '" + ssh + " b' ended with status " + status + ", and wrote: "
                        + says + "; to do: " + cure);
    }

    @Test
    void aCommandThatRunsNothing() throws Exception {
        assertThat(problems(nodeB("['true']")))
                .containsExactly(
                        "its launch command 'true' ended with status 0, and wrote nothing; to do: the launch"
                                + " command must run its arguments (here: sh) on the node and pass on standard input and output");
    }

    @Test
    void aConnectionThatBreaksInMidAnswer() throws Exception {
        Path cut = script(
                "cut", "echo 'rdmatest-probe begin'", "echo 'Connection to b closed by remote host.' >&2", "exit 255");
        assertThat(problems(nodeB("[" + cut + "]")))
                .singleElement()
                .asString()
                .startsWith("its launch command '" + cut + "' ended with status 255 in the middle of the answer, and"
                        + " wrote: Connection to b closed by remote host.");
    }

    @Test
    void aCommandThatHangsIsKilledWithAllThatItStarted() throws Exception {
        Path pids = folder.resolve("pids");
        Path hanging = script("hanging", "echo $$ >>" + pids, "sleep 600 &", "echo $! >>" + pids, "wait");
        assertThat(check("  - name: a\n  - name: b\n    launch: [" + hanging + "]\n", "--json", "--timeout", "2s"))
                .isNotZero();
        assertThat(problems(json().get("nodes").get(1)))
                .containsExactly(
                        "its launch command '" + hanging + "' gave no answer within 2.0 s, and wrote nothing; to"
                                + " do: check that the host is up, and that the command asks for nothing, such as a password (ssh"
                                + " -o BatchMode=yes says at once what is missing)");
        List<String> started = Files.readAllLines(pids);
        assertThat(started).hasSize(2);
        for (String pid : started) {
            assertGone(Long.parseLong(pid));
        }
    }

    private static void assertGone(long pid) throws InterruptedException, ExecutionException {
        Optional<ProcessHandle> process = ProcessHandle.of(pid);
        if (process.isPresent()) {
            assertThat(process.get()
                            .onExit()
                            .orTimeout(15, TimeUnit.SECONDS)
                            .get()
                            .isAlive())
                    .isFalse();
        }
    }

    @Test
    void aCommandThatWritesWithoutEndIsKilled() throws Exception {
        assertThat(problems(nodeB("[sh, -c, 'yes']")))
                .containsExactly("its launch command 'sh -c yes' writes without end, and wrote: y / y / y; to do: the"
                        + " launch command must run its arguments (here: sh) and write nothing of its own");
    }

    @Test
    void ctrlCEndsTheCheckAndTheCommand() throws Exception {
        Path pid = folder.resolve("pid");
        Path hanging = script("hanging", "echo $$ >" + pid + ".new", "mv " + pid + ".new " + pid, "sleep 600");
        String file = write("lab", "  - name: a\n  - name: b\n    launch: [" + hanging + "]\n");
        AtomicBoolean interrupted = new AtomicBoolean();
        CountDownLatch asked = new CountDownLatch(1);
        int status = Rdmatest.execute(
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                () -> {
                    asked.countDown();
                    interrupted.compareAndSet(false, Files.exists(pid));
                    return interrupted.get();
                },
                false,
                "fabric",
                "check",
                file,
                "--timeout",
                Duration.ofMinutes(5).toSeconds() + "s");
        assertThat(status).isEqualTo(130);
        assertThat(asked.getCount()).isZero();
        assertGone(Long.parseLong(Files.readString(pid).strip()));
    }

    @Test
    void aFabricOfMachinesIsNotTriedOutsideOfThem() throws Exception {
        assumeTrue(
                System.getenv("RDMA_NODE") == null,
                SkipReason.NOT_SELECTED.because("this is one of the project's virtual machines"));
        assertThat(run("fabric", "check", "microvm-2", "--json")).isEqualTo(3);
        for (JsonNode node : json().get("nodes")) {
            assertThat(problems(node))
                    .containsExactly(
                            "the fabric is made of the project's virtual machines, and this JVM does not run in"
                                    + " one: ./rdmatest and ./qualify start them unless RDMA_VM=never; other programs are started"
                                    + " by fabric-config/rdma-jdk/bin/in-vm --nodes 2");
        }
    }
}
