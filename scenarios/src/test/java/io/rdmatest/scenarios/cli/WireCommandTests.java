package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.wire.Frame;
import io.rdmatest.wire.PcapFile;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class WireCommandTests {

    /** A request to read 10,000 bytes, as soft-RoCE sent it. */
    private static final byte[] READ = HexFormat.of()
            .parseHex("5254007700025254007700010800" + "4500003cc38640004011628e0a4d00010a4d0002"
                    + "e0d312b700280000" + "0c00ffff0000001780d0b9ed" + "00007f028401500000000f6e00002710"
                    + "e81c4620");

    @TempDir
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int wire(Object... arguments) {
        String[] all = new String[arguments.length + 1];
        all[0] = "wire";
        for (int i = 0; i < arguments.length; i++) {
            all[i + 1] = arguments[i].toString();
        }
        return Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), all);
    }

    private Path capture(String name, byte[]... packets) throws IOException {
        Path file = folder.resolve(name);
        try (PcapFile pcap = PcapFile.create(file, 4096)) {
            for (byte[] packet : packets) {
                pcap.write(new Frame(Instant.ofEpochSecond(1_700_000_000), packet.length, ByteBuffer.wrap(packet)));
            }
        }
        return file;
    }

    private Path clean() throws IOException {
        return capture("clean.pcap", READ);
    }

    /** One bit of the second packet changed on the way. */
    private Path violated() throws IOException {
        byte[] damaged = READ.clone();
        damaged[60] ^= 1;
        return capture("violated.pcap", READ, damaged);
    }

    /** A request and an answer of ARP have no RoCE in them. */
    private Path nothing() throws IOException {
        byte[] arp = Arrays.copyOf(READ, 60);
        arp[12] = 0x08;
        arp[13] = 0x06;
        return capture("nothing.pcap", arp, arp);
    }

    private Path unreadable() throws IOException {
        return Files.writeString(folder.resolve("notes.txt"), "these are no packets");
    }

    @Test
    void aCleanCapture() throws IOException {
        Path file = clean();
        assertThat(wire(file)).as(err.toString()).isZero();
        assertThat(err.toString()).isEmpty();
        assertThat(out.toString())
                .contains(
                        file + ": verified",
                        "1 packets, 0 violations, 1 packets judged",
                        "not judged: 1 request packets whose answers' direction is not in the capture",
                        "1 × RC RDMA_READ_REQUEST");
    }

    /** As a shell's {@code <(…)} gives it. */
    private Process pipe(Path pipe, Path content) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        return new ProcessBuilder("cp", content.toString(), pipe.toString()).start();
    }

    @Test
    void aPipeIsJudged() throws Exception {
        Path pipe = folder.resolve("pipe");
        Process writer = pipe(pipe, clean());
        try {
            assertThat(wire(pipe)).as(err.toString()).isZero();
            assertThat(out.toString()).contains(pipe + ": verified", "1 packets judged");
        } finally {
            writer.destroy();
        }
    }

    @Test
    void aPipeThatIsNoCaptureIsNamed() throws Exception {
        Path pipe = folder.resolve("pipe");
        Process writer = pipe(pipe, unreadable());
        try {
            assertThat(wire(pipe)).isEqualTo(2);
            assertThat(err.toString()).contains(pipe + " is not a pcap or pcapng file: it begins with 0x74686573");
        } finally {
            writer.destroy();
        }
    }

    @Test
    void aViolatedCapture() throws IOException {
        assertThat(wire(violated())).isEqualTo(1);
        assertThat(out.toString()).contains("violation: RC RDMA_READ_REQUEST");
        assertThat(err.toString())
                .contains("violated.pcap break the rules: RC RDMA_READ_REQUEST")
                .hasLineCount(1);
    }

    @Test
    void aCaptureOfNothingThatCanBeJudged() throws IOException {
        assertThat(wire(nothing())).isEqualTo(16);
        assertThat(out.toString()).contains("nothing was judged");
        assertThat(err.toString())
                .contains("nothing judged: ", "nothing.pcap has no RoCE packet that can be judged, among 2 packets")
                .hasLineCount(1);
    }

    @Test
    void aFileThatIsNoCapture() throws IOException {
        assertThat(wire(unreadable())).isEqualTo(2);
        assertThat(err.toString())
                .contains("notes.txt is not a pcap or pcapng file: it begins with 0x74686573")
                .hasLineCount(1);
    }

    @Test
    void aFileThatIsNotThere() {
        assertThat(wire(folder.resolve("gone.pcap"))).isEqualTo(2);
        assertThat(err.toString())
                .contains("gone.pcap can't be read: java.nio.file.NoSuchFileException")
                .hasLineCount(1);
    }

    @Test
    void aFolder() {
        assertThat(wire(folder)).isEqualTo(2);
        assertThat(err.toString()).contains(folder.toString()).hasLineCount(1);
    }

    @Test
    void noFile() {
        assertThat(wire()).isEqualTo(2);
        assertThat(err.toString()).contains("<file>");
    }

    @Test
    void eachOfSeveralFilesIsJudgedAndTheWorstIsTold() throws IOException {
        assertThat(wire(clean(), nothing())).isEqualTo(16);
        assertThat(wire(clean(), nothing(), unreadable())).isEqualTo(2);
        assertThat(wire(unreadable(), nothing(), violated(), clean(), "--json")).isEqualTo(1);
        String text = out.toString();
        JsonNode json = new ObjectMapper().readTree(text.substring(text.indexOf("\n{") + 1));
        assertThat(json.path("exit").asInt()).isEqualTo(1);
        assertThat(json.path("message").asText()).startsWith("1 of 4 files: packets of");
        assertThat(json.path("files").findValuesAsText("verdict"))
                .containsExactly("unreadable", "nothing judged", "violated", "clean");
        JsonNode clean = json.path("files").path(3);
        assertThat(clean.path("judged").asLong()).isEqualTo(1);
        assertThat(clean.path("notJudged").path("ONE_SIDED").asLong()).isEqualTo(1);
        assertThat(clean.path("congestion").path("marked").asLong(-1)).isZero();
        assertThat(clean.path("flows").path(0).path("destinationQp").asInt()).isEqualTo(0x17);
        assertThat(json.path("files").path(2).path("violations")).hasSize(1);
    }

    /** Whoever knows that nothing is missing may say so: then an answer that is missing was never sent. */
    @Test
    void aWholeCaptureMustHaveEveryAnswer() throws IOException {
        assertThat(wire("--whole", clean())).isEqualTo(1);
        assertThat(out.toString())
                .contains("violation: 10.77.0.1→10.77.0.2 QP 0x000017: ", "PSNs were not acknowledged");
    }
}
