package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.wire.CmMessage;
import io.rdmatest.wire.Frame;
import io.rdmatest.wire.Mac;
import io.rdmatest.wire.PcapFile;
import io.rdmatest.wire.RocePacket;
import io.rdmatest.wire.WireJudge;
import io.rdmatest.wire.WirePacket;
import io.rdmatest.wire.WireReport;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What passes between two virtual machines, captured on node a and judged here. One pair of machines makes all captures; each is
 * judged in a test of its own.
 */
@Tag("machines")
@EnabledIf(value = "io.rdmatest.acceptance.Machines#wanted", disabledReason = Machines.NO_QEMU)
@Timeout(value = 8, unit = TimeUnit.MINUTES)
class WireIT {

    private static final InetAddress A = InetAddress.ofLiteral("10.77.0.1");
    private static final InetAddress B = InetAddress.ofLiteral("10.77.0.2");
    private static final Mac MAC_B = new Mac(0x5254_0077_0002L);

    /** What the machines write has to be in the project's folder. */
    private static final Path FOLDER = Machines.PROJECT.resolve("acceptance/target/wire");

    private static String said = "";

    @BeforeAll
    static void capture(@TempDir Path folder) throws Exception {
        Files.createDirectories(FOLDER);
        String script = "%s -cp \"$classes\" io.rdmatest.acceptance.AcrossWire %s %s; echo \"ended with $?\""
                .formatted(String.join(" ", Machines.java()), Machines.AGENT, FOLDER);
        said = Machines.inVm(
                        2,
                        folder.resolve("said"),
                        Duration.ofMinutes(6),
                        Map.of("classes", Machines.classPath()),
                        script)
                .output();
    }

    private static Path file(String name) {
        assertThat(said)
                .containsPattern(name + " on eth0: \\d+ packets, complete")
                .contains("ended with 0");
        return FOLDER.resolve(name + ".pcap");
    }

    private static WireReport judged(String name) throws IOException {
        WireReport report = WireJudge.judgeWhole(file(name));
        assertThat(report.violations()).as(report.text()).isEmpty();
        return report;
    }

    private static List<Frame> frames(String name) throws IOException {
        List<Frame> frames = new ArrayList<>();
        assertThat(PcapFile.read(file(name), frames::add).packets()).isPositive();
        return frames;
    }

    private static Stream<RocePacket> packets(String name) throws IOException {
        return frames(name).stream()
                .map(WirePacket::of)
                .filter(RocePacket.class::isInstance)
                .map(RocePacket.class::cast);
    }

    // ---- what is well ----

    @Test
    void aConnectionIsCleanFromItsRequestToItsEnd() throws IOException {
        WireReport report = judged("pings");

        assertThat(report.handshakes()).hasSize(1);
        WireReport.Handshake handshake = report.handshakes().getFirst();
        // A busy machine asks for patience in between.
        assertThat(handshake.sequence()).as(report.text()).matches("REQ (MRA )?REP (MRA )?RTU DREQ.*");
        assertThat(handshake.client()).isEqualTo(A);
        assertThat(handshake.server()).isEqualTo(B);
        assertThat(report.flows()).as(report.text()).hasSize(2).allSatisfy(flow -> {
            assertThat(flow.acknowledged()).isEqualTo(flow.sent());
            assertThat(flow.responses()).isPositive();
        });
        // The server reads and writes 20 times; both send, the client 2 messages for each ping.
        assertThat(report.opcodes())
                .as(report.text())
                .containsKeys(
                        "RC SEND_ONLY", "RC RDMA_READ_REQUEST", "RC RDMA_READ_RESPONSE_ONLY", "RC RDMA_WRITE_ONLY");
        assertThat(report.opcodes().get("RC RDMA_WRITE_ONLY")).isGreaterThanOrEqualTo(20);
        assertThat(packets("pings")).allSatisfy(packet -> {
            assertThat(packet.checksum()).isTrue();
            assertThat(MAC_B.equals(packet.destinationMac()))
                    .isEqualTo(packet.destination().equals(B));
        });
    }

    @Test
    void aConnectionOverVersionSixIsClean() throws IOException {
        WireReport report = judged("six");

        assertThat(report.handshakes()).hasSize(1);
        assertThat(report.handshakes().getFirst().server()).isEqualTo(InetAddress.ofLiteral("fd77::2"));
        assertThat(report.flows()).as(report.text()).hasSize(2);
        assertThat(packets("six"))
                .allSatisfy(packet -> assertThat(packet.checksum()).isTrue());
    }

    @Test
    void aConnectionWithoutRdmaCmIsJudgedByItsNumbers() throws IOException {
        WireReport report = judged("raw");

        assertThat(report.handshakes()).isEmpty();
        assertThat(report.flows())
                .as(report.text())
                .hasSize(2)
                .allSatisfy(flow -> assertThat(flow.acknowledged()).isEqualTo(flow.sent()));
    }

    @Test
    void theReplyOffersTheMemoryThatIsThenRead() throws IOException {
        WireReport report = judged("reads");

        ByteBuffer offered = ByteBuffer.wrap(
                report.handshakes().getFirst().first(CmMessage.Type.REP).userPrivateData());
        long address = offered.getLong();
        int key = offered.getInt();
        List<RocePacket> reads = packets("reads")
                .filter(packet -> packet.opcode().name().equals("RC RDMA_READ_REQUEST"))
                .toList();
        assertThat(reads)
                .hasSizeGreaterThanOrEqualTo(5)
                .allSatisfy(packet ->
                        assertThat(packet.remoteMemory()).isEqualTo(new RocePacket.Reth(address, key, 10_000)));
        assertThat(report.opcodes().get("RC RDMA_READ_RESPONSE_MIDDLE"))
                .as("answers of three packets")
                .isEqualTo(report.opcodes().get("RC RDMA_READ_RESPONSE_FIRST"))
                .isGreaterThanOrEqualTo(5L);
    }

    @Test
    void datagramsBeginWithTheResolutionOfTheirService() throws IOException {
        WireReport report = judged("datagrams");

        WireReport.Handshake handshake = report.handshakes().getFirst();
        assertThat(handshake.sequence()).isEqualTo("SIDR_REQ SIDR_REP");
        assertThat(handshake.server()).isEqualTo(B);
        int server = handshake.first(CmMessage.Type.SIDR_REP).queuePair();
        assertThat(packets("datagrams")
                        .filter(packet -> packet.destinationQp() == server)
                        .map(packet -> packet.opcode().name()))
                .isNotEmpty()
                .containsOnly("UD SEND_ONLY_WITH_IMMEDIATE");
    }

    @Test
    void aRequestThatIsRejectedHasItsPrivateData() throws IOException {
        WireReport report = judged("rejected");

        assertThat(said).contains("rejected: ");
        WireReport.Handshake handshake = report.handshakes().getFirst();
        assertThat(handshake.sequence()).isEqualTo("REQ REJ");
        CmMessage request = handshake.first(CmMessage.Type.REQ);
        assertThat(request.port()).isEqualTo(AcrossWire.CLOSED_PORT);
        assertThat(new String(request.userPrivateData(), StandardCharsets.US_ASCII)
                        .strip()
                        .replace("\0", ""))
                .isEqualTo(AcrossWire.HELLO);
        // Invalid service ID.
        assertThat(handshake.first(CmMessage.Type.REJ).reason()).isEqualTo(8);
    }

    @Test
    void multicastHasTheAddressOfItsGroupAndMembers() throws IOException {
        WireJudge judge = new WireJudge();
        judge.requireMembers();
        frames("multicast").forEach(frame -> judge.accept(WirePacket.of(frame)));
        WireReport report = judge.finish();
        assertThat(report.violations()).as(report.text()).isEmpty();

        InetAddress address = InetAddress.ofLiteral(AcrossWire.GROUP);
        WireReport.Group group = report.groups().stream()
                .filter(each -> each.address().equals(address))
                .findFirst()
                .orElseThrow();
        assertThat(said).contains("20 messages sent, 20 received");
        assertThat(group.packets()).isEqualTo(20);
        assertThat(group.members()).as(report.text()).containsExactlyInAnyOrder(A, B);
        assertThat(packets("multicast").filter(packet -> packet.destination().equals(address)))
                .allSatisfy(packet -> assertThat(packet.destinationMac()).hasToString("01:00:5e:4d:00:15"));
    }

    @Test
    void lossIsSeenAsRetransmissions() throws IOException {
        WireReport report = judged("loss");

        assertThat(said)
                .contains(
                        "10 pings, 10000 bytes verified",
                        "%d reads, %d bytes verified".formatted(AcrossWire.LOSSY_READS, 1000 * AcrossWire.LOSSY_READS));
        assertThat(report.retransmissions()).as(report.text()).isPositive();
        assertThat(report.observations()).anyMatch(each -> each.contains("were retransmitted"));
        // A machine that is busy sends some again, too.
        assertThat(report.retransmissions()).isGreaterThan(judged("pings").retransmissions());
    }

    // ---- a scenario that is watched ----

    @Test
    void aScenarioWhosePacketsBreakARuleFails() {
        assertThat(said)
                .contains("SUCCESSFUL keepsTheRules", "FAILED breaksARule", "FAILED failsByItself")
                .containsPattern(
                        "WireViolationError: The packets on the wire break the rules: 0x1f .* its invariant checksum is wrong");
    }

    @Test
    void thePacketsOfAScenarioThatFailsAreAttached() {
        assertThat(published("keepsTheRules")).containsExactly("wire.txt");
        assertThat(published("breaksARule")).containsExactly("wire.txt", "wire.pcap");
        assertThat(published("failsByItself")).contains("wire.txt", "wire.pcap");
        assertThat(said).contains("it fails by itself");
    }

    private static List<String> published(String test) {
        List<String> names = new ArrayList<>();
        boolean within = false;
        for (String line : said.lines().toList()) {
            within = line.startsWith("begins ") ? line.equals("begins " + test) : within;
            if (within && line.startsWith("  published: wire")) {
                names.add(line.substring(line.indexOf(':') + 2));
            }
        }
        return names;
    }

    // ---- the same packets, spoilt ----

    private static WireReport spoilt(String name, Predicate<WirePacket> kept) throws IOException {
        WireJudge judge = new WireJudge();
        frames(name).stream().map(WirePacket::of).filter(kept).forEach(judge::accept);
        return judge.finish();
    }

    private static boolean is(WirePacket packet, String opcode) {
        return packet instanceof RocePacket roce && roce.opcode().name().equals(opcode);
    }

    private static boolean is(WirePacket packet, CmMessage.Type type) {
        return packet instanceof RocePacket roce
                && roce.cm().filter(message -> message.type() == type).isPresent();
    }

    @Test
    void whatIsMissingIsMissed() throws IOException {
        // Without the end of the connection, which would excuse the last ones.
        assertThat(spoilt(
                                "pings",
                                packet -> !is(packet, "RC ACKNOWLEDGE")
                                        && !is(packet, CmMessage.Type.DREQ)
                                        && !is(packet, CmMessage.Type.DREP))
                        .violations())
                .anyMatch(each -> each.contains("were not acknowledged"));
        assertThat(spoilt(
                                "pings",
                                packet -> !is(packet, CmMessage.Type.RTU)
                                        && !is(packet, CmMessage.Type.DREQ)
                                        && !is(packet, CmMessage.Type.DREP))
                        .violations())
                .anyMatch(each -> each.contains("not confirmed (no RTU)"));
        assertThat(spoilt("pings", packet -> !is(packet, CmMessage.Type.REQ)).violations())
                .anyMatch(each -> each.contains("answers a request that was not sent"));
        assertThat(spoilt("pings", packet -> !is(packet, "RC RDMA_READ_REQUEST"))
                        .violations())
                .anyMatch(each -> each.contains("answers a request that was not sent"));
        assertThat(spoilt(
                                "reads",
                                packet -> !is(packet, "RC RDMA_READ_RESPONSE_LAST")
                                        && !is(packet, CmMessage.Type.DREQ)
                                        && !is(packet, CmMessage.Type.DREP))
                        .violations())
                .anyMatch(each -> each.contains("were not answered") || each.contains("were not acknowledged"));
    }

    @Test
    void oneBitThatChangedIsNoticed() throws IOException {
        WireJudge judge = new WireJudge();
        for (Frame frame : frames("pings")) {
            byte[] bytes = new byte[frame.bytes().remaining()];
            frame.bytes().get(0, bytes);
            if (is(WirePacket.of(frame), "RC RDMA_WRITE_ONLY")) {
                bytes[bytes.length - 10] ^= 1;
            }
            judge.accept(WirePacket.of(new Frame(frame.time(), frame.length(), ByteBuffer.wrap(bytes))));
        }
        assertThat(judge.finish().violations())
                .filteredOn(each -> each.contains("invariant checksum is wrong"))
                .hasSizeGreaterThanOrEqualTo(20);
    }

    // ---- others read it, too ----

    static boolean isTsharkThere() {
        return Stream.of(System.getenv("PATH").split(":", -1))
                .anyMatch(each -> Files.isExecutable(Path.of(each, "tshark")));
    }

    @ParameterizedTest
    @ValueSource(strings = {"pings", "six", "raw", "reads", "datagrams", "rejected", "multicast", "loss"})
    @EnabledIf(value = "isTsharkThere", disabledReason = "tshark is not installed here")
    void tsharkReadsTheSame(String name) throws Exception {
        List<String> read =
                tshark(name, "-e", "frame.number", "-e", "infiniband.bth.opcode", "-e", "infiniband.bth.psn");
        List<WirePacket> own = frames(name).stream().map(WirePacket::of).toList();
        assertThat(read).hasSameSizeAs(own);
        for (int i = 0; i < own.size(); i++) {
            String expected = own.get(i) instanceof RocePacket packet
                    ? "%d\t%d\t%d".formatted(i + 1, packet.opcode().code(), packet.psn())
                    : "%d\t\t".formatted(i + 1);
            assertThat(read.get(i)).isEqualTo(expected);
        }
    }

    private static List<String> tshark(String name, String... options) throws Exception {
        List<String> command =
                new ArrayList<>(List.of("tshark", "-n", "-r", file(name).toString(), "-T", "fields"));
        command.addAll(List.of(options));
        Path output = FOLDER.resolve("tshark-" + name + ".txt");
        Process process = new ProcessBuilder(command)
                .redirectOutput(output.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
            assertThat(process.exitValue()).isZero();
        } finally {
            process.destroy();
        }
        return Files.readAllLines(output);
    }
}
