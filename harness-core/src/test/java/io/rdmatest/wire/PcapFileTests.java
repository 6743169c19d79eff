package io.rdmatest.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

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
        assertThat(PcapFile.read(file, read::add)).isEqualTo(new PcapFile.Contents(300, null, -1, 0));
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
        assertThat(PcapFile.read(file, read::add).packets()).isEqualTo(1);
        assertThat(read)
                .containsExactly(new Frame(Instant.ofEpochSecond(5, 7000), 60, ByteBuffer.wrap(new byte[] {1, 2})));
    }

    @ParameterizedTest
    @CsvSource({
        "0x28b52ffd, like a file of zstd; run zstd -d first",
        "0x04224d18, like a file of lz4; run lz4 -d first",
        "0x425a6839, like a file of bzip2; run bzip2 -d first",
        "0x25504446, it begins with 0x25504446"
    })
    void anotherFormatIsNamed(String magic, String said) throws IOException {
        Path file = folder.resolve("c");
        Files.write(file, ByteBuffer.allocate(100).putInt(Integer.decode(magic)).array());

        assertThatThrownBy(() -> PcapFile.read(file, frame -> {}))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("is not a pcap or pcapng file")
                .hasMessageContaining(said);
        Files.write(file, new byte[3]);
        assertThatThrownBy(() -> PcapFile.read(file, frame -> {})).hasMessageContaining("it has 3 bytes");
        Files.write(file, ByteBuffer.allocate(10).putInt(0xa1b2c3d4).array());
        assertThatThrownBy(() -> PcapFile.read(file, frame -> {})).hasMessageContaining("ends inside its header");
    }

    private static byte[] gzip(byte[] bytes) throws IOException {
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
            out.write(bytes);
        }
        return packed.toByteArray();
    }

    @Test
    void aCompressedFileIsRead() throws IOException {
        Path file = folder.resolve("night.pcap.gz");
        byte[] whole = gzip(
                Packets.pcap(1, Packets.roce(0x04).frame(), Packets.roce(0x04).frame()));
        Files.write(file, whole);

        List<Frame> read = new ArrayList<>();
        assertThat(PcapFile.read(file, read::add).packets()).isEqualTo(2);
        assertThat(read).hasSize(2);

        Files.write(file, Arrays.copyOf(whole, whole.length - 12));
        assertThatThrownBy(() -> PcapFile.read(file, frame -> {}))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith(file + " is a gzip file that ends early");
        whole[whole.length - 6] ^= 1;
        Files.write(file, whole);
        assertThatThrownBy(() -> PcapFile.read(file, frame -> {}))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith(file + " is a damaged gzip file");
    }

    /** pcap-savefile(5): bits above the link type say that each packet ends with a frame check sequence. */
    @Test
    void flagsAreNoPartOfTheLinkType() throws IOException {
        Path file = folder.resolve("fcs.pcap");
        Files.write(file, Packets.pcap(0x4400_0001, Packets.roce(0x04).frame()));

        List<Frame> read = new ArrayList<>();
        assertThat(PcapFile.read(file, read::add).packets()).isEqualTo(1);
        assertThat(read).extracting(Frame::link).containsExactly(LinkType.ETHERNET);
    }

    /** mergecap writes the packets of "any" and of one of its interfaces as interfaces 0 and 1 of one file. */
    @Test
    void aCookedDirectionIsNoInterfaceOfTheFile() throws IOException {
        ByteOrder order = ByteOrder.LITTLE_ENDIAN;
        Path file = folder.resolve("any-and-eth0.pcapng");
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.writeBytes(joined(section(order), microseconds(order, 113), microseconds(order, 1)));
        for (Packets.Roce each : List.of(
                Packets.roce(0x04).psn(7).payload(100),
                Packets.roce(0x11).between(Packets.B, Packets.A).qp(0x11).psn(7).aeth(0, 1))) {
            byte[] cooked = new byte[16];
            ByteBuffer.wrap(cooked).putShort(0, (short) 4).putShort(14, (short) 0x0800);
            byte[] any = joined(cooked, each.ip());
            byte[] ethernet = Packets.bytes(each.frame());
            all.writeBytes(packet(order, 0, 1, any.length, any));
            all.writeBytes(packet(order, 1, 1, ethernet.length, ethernet));
        }
        Files.write(file, all.toByteArray());

        WireReport report = WireJudge.judge(file);

        assertThat(report.retransmissions()).as(report.text()).isZero();
        assertThat(report.judged()).isEqualTo(2);
        assertThat(report.notJudged()).as(report.text()).containsExactly(Map.entry(NotJudged.DUPLICATE, 2L));
    }

    @Test
    void anotherLinkTypeIsNamed() throws IOException {
        Path file = folder.resolve("infiniband.pcap");
        Files.write(file, Packets.pcap(247));

        assertThatThrownBy(() -> PcapFile.read(file, frame -> {}))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("has packets of link type 247; supported link types: ETHERNET");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 20, 60})
    void aLastPacketThatIsNotWholeIsLeftOut(int missing) throws IOException {
        Path file = folder.resolve("d.pcap");
        try (PcapFile pcap = PcapFile.create(file, 100)) {
            pcap.write(Packets.roce(0x04).frame());
            pcap.write(Packets.roce(0x04).frame());
        }
        byte[] bytes = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(bytes, bytes.length - missing));

        PcapFile.Contents contents = PcapFile.read(file, frame -> {});
        assertThat(contents.packets()).isEqualTo(1);
        assertThat(contents.cutShort()).contains("the file ends inside packet 2: its writer was killed");
    }

    @Test
    void aLengthThatCanNotBeIsDamage() throws IOException {
        Path file = folder.resolve("e.pcap");
        try (PcapFile pcap = PcapFile.create(file, 100)) {
            pcap.write(Packets.roce(0x04).frame());
        }
        byte[] bytes = Files.readAllBytes(file);
        bytes[24 + 8 + 3] = 0x7f;
        Files.write(file, bytes);

        assertThatThrownBy(() -> PcapFile.read(file, frame -> {}))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("is damaged: packet 1 has an invalid length of 2130706");
    }

    // ---- pcapng ----

    private static ByteBuffer block(ByteOrder order, int type, int bodyLength) {
        int length = 12 + bodyLength;
        return ByteBuffer.allocate(length)
                .order(order)
                .putInt(type)
                .putInt(length)
                .putInt(length - 4, length);
    }

    private static byte[] section(ByteOrder order) {
        return block(order, 0x0a0d0d0a, 16)
                .putInt(0x1a2b3c4d)
                .putInt(1)
                .putLong(-1)
                .array();
    }

    /** An interface with times in units of 10 to the power of -9, and an offset of seconds. */
    private static byte[] nanoseconds(ByteOrder order, int link, long offset) {
        return block(order, 1, 8 + 8 + 12 + 4)
                .putShort((short) link)
                .putShort((short) 0)
                .putInt(0)
                .putShort((short) 9)
                .putShort((short) 1)
                .put(new byte[] {9, 0, 0, 0})
                .putShort((short) 14)
                .putShort((short) 8)
                .putLong(offset)
                .array();
    }

    private static byte[] microseconds(ByteOrder order, int link) {
        return block(order, 1, 8)
                .putShort((short) link)
                .putShort((short) 0)
                .putInt(0)
                .array();
    }

    private static byte[] packet(ByteOrder order, int at, long time, int length, byte[] bytes) {
        return block(order, 6, 20 + (bytes.length + 3 & ~3))
                .putInt(at)
                .putInt((int) (time >>> 32))
                .putInt((int) time)
                .putInt(bytes.length)
                .putInt(length)
                .put(bytes)
                .array();
    }

    private static byte[] dropped(ByteOrder order, int at, long count) {
        return block(order, 5, 12 + 12)
                .putInt(at)
                .putLong(0)
                .putShort((short) 5)
                .putShort((short) 8)
                .putLong(count)
                .array();
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    private static List<ByteOrder> orders() {
        return List.of(ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN);
    }

    @ParameterizedTest
    @MethodSource("orders")
    void pcapngIsRead(ByteOrder order) throws IOException {
        Path file = folder.resolve(order + ".pcapng");
        byte[] bytes = {1, 2, 3, 4, 5};
        Files.write(
                file,
                joined(
                        section(order),
                        microseconds(order, 1),
                        nanoseconds(order, 113, 1_700_000_000),
                        packet(order, 0, 1_700_000_000_000_007L, 60, bytes),
                        // A block of a type that nobody knows.
                        block(order, 0x0bad, 8).array(),
                        packet(order, 1, 5_000_000_009L, 5, bytes),
                        dropped(order, 0, 3),
                        dropped(order, 1, 4),
                        // The latest statistics count from the begin.
                        dropped(order, 0, 5),
                        section(order),
                        microseconds(order, 105),
                        microseconds(order, 276),
                        packet(order, 0, 1, 5, bytes),
                        packet(order, 1, 1, 5, bytes)));

        List<Frame> read = new ArrayList<>();
        assertThat(PcapFile.read(file, read::add)).isEqualTo(new PcapFile.Contents(3, null, 9, 1));
        assertThat(read)
                .containsExactly(
                        new Frame(
                                Instant.ofEpochSecond(1_700_000_000, 7000),
                                60,
                                ByteBuffer.wrap(bytes),
                                LinkType.ETHERNET,
                                0),
                        new Frame(
                                Instant.ofEpochSecond(1_700_000_005, 9),
                                5,
                                ByteBuffer.wrap(bytes),
                                LinkType.LINUX_SLL,
                                1 + (1L << 31)),
                        new Frame(Instant.ofEpochSecond(0, 1000), 5, ByteBuffer.wrap(bytes), LinkType.LINUX_SLL2, 3));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 30, 52})
    void pcapngThatEndsWithinABlockIsReadUpToThere(int missing) throws IOException {
        ByteOrder order = ByteOrder.LITTLE_ENDIAN;
        byte[] packet = packet(order, 0, 1, 24, new byte[24]);
        byte[] all = joined(section(order), microseconds(order, 1), packet, packet);
        Path file = folder.resolve("cut.pcapng");
        Files.write(file, Arrays.copyOf(all, all.length - missing));

        PcapFile.Contents contents = PcapFile.read(file, frame -> {});
        assertThat(contents.packets()).isEqualTo(1);
        assertThat(contents.cutShort()).contains("packet 2");
        assertThat(contents.dropped()).isEqualTo(-1);
    }

    @Test
    void damagedPcapngIsNamed() throws IOException {
        ByteOrder order = ByteOrder.LITTLE_ENDIAN;
        Path file = folder.resolve("damaged.pcapng");

        Files.write(file, joined(section(order), packet(order, 0, 1, 24, new byte[24])));
        assertThatThrownBy(() -> PcapFile.read(file, frame -> {}))
                .hasMessageContaining("packet 1 has interface 0, which the file does not describe");
        Files.write(file, joined(section(order), block(order, 1, 0).array()));
        assertThatThrownBy(() -> PcapFile.read(file, frame -> {})).hasMessageContaining("is too short, or");
        Files.write(file, joined(section(order), new byte[] {1, 0, 0, 0, 2, 0, 0, 0}));
        assertThatThrownBy(() -> PcapFile.read(file, frame -> {})).hasMessageContaining("length of 2 bytes");
        Files.write(file, joined(section(order), microseconds(order, 247), packet(order, 0, 1, 24, new byte[24])));
        assertThatThrownBy(() -> PcapFile.read(file, frame -> {})).hasMessageContaining("link type 247");
    }

    @Test
    void noBytesWhateverBreakTheReader() throws IOException {
        ByteOrder order = ByteOrder.LITTLE_ENDIAN;
        byte[] whole = joined(
                section(order),
                nanoseconds(order, 1, 0),
                packet(order, 0, 1, 24, new byte[24]),
                dropped(order, 0, 3),
                packet(order, 0, 1, 24, new byte[24]));
        Path file = folder.resolve("any.pcapng");
        Random random = new Random(1);
        for (int i = 0; i < 2000; i++) {
            byte[] bytes = whole.clone();
            for (int j = 0; j < 3; j++) {
                bytes[4 + random.nextInt(bytes.length - 4)] = (byte) random.nextInt();
            }
            Files.write(file, bytes);
            try {
                Object ignored = PcapFile.read(file, frame -> {});
            } catch (IOException e) {
                assertThat(e).hasMessageContaining(file.toString());
            }
        }
    }
}
