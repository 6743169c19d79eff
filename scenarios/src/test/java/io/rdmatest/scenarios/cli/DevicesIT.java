package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.SkipReason;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.verbs.RdmaDevice;
import java.io.File;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ./rdmatest devices} against what ibv_devinfo(1) says of the same device. */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "300 s")
class DevicesIT {

    private static final Pattern GID = Pattern.compile("GID\\[ *(\\d+)]:\\s*([0-9a-f:.]+), (.*)");

    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        return Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    @Test
    void saysWhatIbvDevinfoSays() throws Exception {
        String name = RdmaDevice.list().getFirst().name();
        assertThat(run("devices", "--json")).as(err.toString()).isZero();
        JsonNode device =
                new ObjectMapper().readTree(out.toString()).get("devices").get(0);
        JsonNode port = device.get("ports").get(0);
        JsonNode limits = device.get("limits");

        List<String> lines = ibvDevinfo(name);
        Map<String, String> facts = new HashMap<>();
        List<String> gids = new ArrayList<>();
        for (String line : lines) {
            Matcher gid = GID.matcher(line.strip());
            if (gid.matches()) {
                gids.add(gid.group(1) + " " + gid.group(2) + " " + gid.group(3));
            } else if (line.contains(":")) {
                facts.putIfAbsent(
                        line.substring(0, line.indexOf(':')).strip(),
                        line.substring(line.indexOf(':') + 1).strip());
            }
        }

        assertThat(device.get("name").asText()).isEqualTo(facts.get("hca_id"));
        assertThat(device.get("nodeGuid").asText()).isEqualTo(facts.get("node_guid"));
        assertThat(device.get("vendorId").asText()).isEqualTo(facts.get("vendor_id"));
        assertThat(limits.get("queuePairs").asText()).isEqualTo(facts.get("max_qp"));
        assertThat(limits.get("workRequestsPerQueue").asText()).isEqualTo(facts.get("max_qp_wr"));
        assertThat(limits.get("sgePerWorkRequest").asText()).isEqualTo(facts.get("max_sge"));
        assertThat(limits.get("readsAsTarget").asText()).isEqualTo(facts.get("max_qp_rd_atom"));
        assertThat(limits.get("readsAsInitiator").asText()).isEqualTo(facts.get("max_qp_init_rd_atom"));
        assertThat(facts.get("atomic_cap"))
                .startsWith("ATOMIC_" + limits.get("atomics").asText());
        assertThat(limits.get("completionQueues").asText()).isEqualTo(facts.get("max_cq"));
        assertThat(limits.get("completionQueueEntries").asText()).isEqualTo(facts.get("max_cqe"));
        assertThat(limits.get("memoryRegions").asText()).isEqualTo(facts.get("max_mr"));
        assertThat("0x"
                        + Long.toHexString(Long.parseUnsignedLong(
                                limits.get("memoryRegionBytes").asText())))
                .isEqualTo(facts.get("max_mr_size"));
        assertThat(limits.get("protectionDomains").asText()).isEqualTo(facts.get("max_pd"));
        assertThat(limits.get("addressHandles").asText()).isEqualTo(facts.get("max_ah"));
        assertThat(limits.get("sharedReceiveQueues").asText()).isEqualTo(facts.get("max_srq"));
        assertThat(limits.get("sharedReceiveQueueWorkRequests").asText()).isEqualTo(facts.get("max_srq_wr"));
        assertThat(limits.get("sharedReceiveQueueSge").asText()).isEqualTo(facts.get("max_srq_sge"));
        assertThat(limits.get("multicastGroups").asText()).isEqualTo(facts.get("max_mcast_grp"));
        assertThat(limits.get("queuePairsPerMulticastGroup").asText()).isEqualTo(facts.get("max_mcast_qp_attach"));

        assertThat(facts.get("state")).startsWith("PORT_" + port.get("state").asText());
        assertThat(facts.get("phys_state")).startsWith(port.get("physicalState").asText());
        assertThat(facts.get("link_layer"))
                .isEqualToIgnoringCase(port.get("linkLayer").asText());
        assertThat(facts.get("active_mtu"))
                .startsWith(port.get("activeMtuBytes").asText() + " ");
        assertThat(facts.get("max_mtu")).startsWith(port.get("maxMtuBytes").asText() + " ");
        assertThat(facts.get("active_width")).startsWith(port.get("width").asText() + "X");
        assertThat(facts.get("active_speed")).startsWith(port.get("laneGbps").asText());
        assertThat("0x" + Long.toHexString(port.get("maxMessageBytes").asLong()))
                .isEqualTo(facts.get("max_msg_sz"));
        assertThat(port.get("rateGbps").asDouble())
                .isEqualTo(port.get("width").asInt() * port.get("laneGbps").asDouble());

        List<String> ours = new ArrayList<>();
        for (JsonNode gid : port.get("gids")) {
            ours.add(gid.get("index").asText() + " " + gid.get("gid").asText() + " "
                    + gid.get("type").asText());
            assertThat(gid.get("netdev").asText()).isEqualTo(port.get("netdev").asText());
        }
        assertThat(ours).isNotEmpty().isEqualTo(gids);
    }

    @Test
    void theTextNamesEveryGidAndWhatIsUsed() {
        String name = RdmaDevice.list().getFirst().name();
        assertThat(run("devices", "--device", name)).as(err.toString()).isZero();
        assertThat(out.toString())
                .startsWith(name + ": ")
                .contains("  port 1: ACTIVE, LINK_UP, ", "GID   0  ", "(default)")
                .contains("The other commands use " + name + "/1, GID index ");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void aDeviceThatIsNotHereIsNamed() {
        assertThat(run("devices", "--device", "mlx5_77")).isEqualTo(3);
        assertThat(err.toString())
                .contains(
                        "host not ready",
                        "mlx5_77",
                        "this host has " + RdmaDevice.list().getFirst().name());
    }

    /** libibverbs says ENOENT of a file that the user may not open. Root may open each, unless it lacks the capability. */
    @Test
    void aFileThatMayNotBeOpenedIsNamed() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/setpriv")), "setpriv(1) of util-linux is not installed");
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can drop capabilities");
        String name = RdmaDevice.list().getFirst().name();
        Path file = uverbs(name);
        Set<PosixFilePermission> before = Files.getPosixFilePermissions(file);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
        try {
            Ended ended = inProcess(
                    List.of("/usr/bin/setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"),
                    "devices",
                    "--device",
                    name);
            assertThat(ended.status()).as(ended.said()).isEqualTo(3);
            assertThat(ended.said()).contains("this user may not open " + file);
        } finally {
            Files.setPosixFilePermissions(file, before);
        }
    }

    /** Network namespaces share devices. The addresses under a device belong to one of them. */
    @Test
    void aDeviceWhoseInterfaceIsInAnotherNamespaceIsNotPromised() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/unshare")), "unshare(1) of util-linux is not installed");
        assumeTrue(System.getProperty("user.name").equals("root"), "only root can make network namespaces");
        String name = RdmaDevice.list().getFirst().name();
        Ended ended = inProcess(List.of("/usr/bin/unshare", "-n"), "devices");
        assertThat(ended.said())
                .contains(name + ": ", "not in this network namespace")
                .doesNotContain("The other commands use");
        Ended role = inProcess(
                List.of("/usr/bin/unshare", "-n"), "rping", "-s", "-a", "0.0.0.0", "--device", name, "--timeout", "5s");
        assertThat(role.status()).as(role.said()).isEqualTo(3);
        assertThat(role.said()).contains("not in this network namespace");
    }

    /** How a program ended, and what it wrote, standard error included. */
    private record Ended(int status, String said) {}

    /** Runs our command behind another one, which changes what it may do. */
    private Ended inProcess(List<String> prefix, String... args) throws Exception {
        List<String> command = new ArrayList<>(prefix);
        command.addAll(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Rdmatest.class.getName()));
        command.addAll(List.of(args));
        File output = folder.resolve("said").toFile();
        Process program = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output)
                .start();
        try {
            assertThat(program.waitFor(180, TimeUnit.SECONDS)).isTrue();
        } finally {
            program.destroyForcibly();
        }
        return new Ended(program.exitValue(), Files.readString(output.toPath()));
    }

    private static Path uverbs(String device) throws java.io.IOException {
        try (Stream<Path> found = Files.list(Path.of("/sys/class/infiniband_verbs"))) {
            for (Path entry :
                    found.filter(each -> Files.exists(each.resolve("ibdev"))).toList()) {
                if (Files.readString(entry.resolve("ibdev")).strip().equals(device)) {
                    return Path.of("/dev/infiniband", entry.getFileName().toString());
                }
            }
        }
        throw new AssertionError("no file of " + device);
    }

    private List<String> ibvDevinfo(String device) throws Exception {
        File output = folder.resolve("ibv_devinfo").toFile();
        Process program;
        try {
            program = new ProcessBuilder("ibv_devinfo", "-v", "-d", device)
                    .redirectErrorStream(true)
                    .redirectOutput(output)
                    .start();
        } catch (java.io.IOException e) {
            assumeTrue(false, SkipReason.PEER_ABSENT.because("ibv_devinfo is not installed"));
            throw e;
        }
        assertThat(program.waitFor(30, TimeUnit.SECONDS)).isTrue();
        return Files.readAllLines(output.toPath(), StandardCharsets.UTF_8);
    }
}
