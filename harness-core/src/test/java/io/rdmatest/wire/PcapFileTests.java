package io.rdmatest.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PcapFileTests {

    @TempDir
    private Path folder;

    @Test
    void whatWasWrittenIsRead() throws IOException {
        Path file = folder.resolve("a.pcap");
        List<Frame> frames = new ArrayList<>();
        // More than fits in the buffer at once, and one that is larger than it.
        for (int i = 0; i < 300; i++) {
            byte[] bytes = new byte[i == 100 ? 100_000 : i * 3];
            Arrays.fill(bytes, (byte) i);
            frames.add(new Frame(
                    Instant.ofEpochSecond(4_000_000_000L + i, 999_999_999 - i),
                    bytes.length + i,
                    ByteBuffer.wrap(bytes)));
        }
        try (PcapFile pcap = PcapFile.create(file, 1 << 17)) {
            for (Frame frame : frames) {
                pcap.write(frame);
            }
        }

        List<Frame> read = new ArrayList<>();
        assertThat(PcapFile.read(file, read::add)).isEqualTo(300);
        assertThat(read).isEqualTo(frames);
        assertThat(read.get(1).isWhole()).isFalse();
        // What file(1) and libpcap tell it by.
        assertThat(Files.readAllBytes(file)).startsWith(0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0);
    }

    @Test
    void theOtherByteOrderAndMicrosecondsAreRead() throws IOException {
        Path file = folder.resolve("b.pcap");
        Files.write(
                file,
                ByteBuffer.allocate(24 + 16 + 2)
                        .order(ByteOrder.BIG_ENDIAN)
                        .putInt(0xa1b2c3d4)
                        .putShort((short) 2)
                        .putShort((short) 4)
                        .putLong(0)
                        .putInt(65535)
                        .putInt(1)
                        .putInt(5)
                        .putInt(7)
                        .putInt(2)
                        .putInt(60)
                        .putShort((short) 0x0102)
                        .array());

        List<Frame> read = new ArrayList<>();
        assertThat(PcapFile.read(file, read::add)).isEqualTo(1);
        assertThat(read)
                .containsExactly(new Frame(Instant.ofEpochSecond(5, 7000), 60, ByteBuffer.wrap(new byte[] {1, 2})));
    }

    @Test
    void anotherFormatIsNamed() throws IOException {
        Path file = folder.resolve("c.pcapng");
        Files.write(file, ByteBuffer.allocate(100).putInt(0x0a0d0d0a).array());

        assertThatThrownBy(() -> PcapFile.read(file, frame -> {}))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("is not a pcap file: it begins with 0x0a0d0d0a")
                .hasMessageContaining("tshark -r");
        Files.write(file, new byte[3]);
        assertThatThrownBy(() -> PcapFile.read(file, frame -> {})).hasMessageContaining("it has 3 bytes");
    }

    @Test
    void aFileThatEndsWithinAPacketIsNamed() throws IOException {
        Path file = folder.resolve("d.pcap");
        try (PcapFile pcap = PcapFile.create(file, 100)) {
            pcap.write(Packets.roce(0x04).frame());
            pcap.write(Packets.roce(0x04).frame());
        }
        byte[] bytes = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(bytes, bytes.length - 1));

        assertThatThrownBy(() -> PcapFile.read(file, frame -> {})).hasMessageContaining("packet 2 is not whole");
    }
}
