package io.rdmatest.wire;

import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.Arrays;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/**
 * A capture file in the pcap format, pcap-savefile(5), as libpcap, wireshark and tshark use it. Reading also supports
 * pcapng.
 *
 * <p>Closing flushes the file. For one thread.
 */
public final class PcapFile implements AutoCloseable {

    private static final int NANOSECONDS = 0xa1b23c4d;
    private static final int MICROSECONDS = 0xa1b2c3d4;
    private static final int ETHERNET = 1;
    private static final int GZIP = 0x1f8b;
    private static final int ZSTD = 0x28b5_2ffd;
    private static final int LZ4 = 0x0422_4d18;
    private static final int XZ = 0xfd37_7a58;
    private static final int BZIP2 = 0x425a_68;
    private static final int SLL_OUTGOING = 4;
    private static final int SLL2_HEADER = 20;
    private static final int SLL2_INTERFACE = 4;

    /** The bits above are flags, and the length of the frame check sequence behind each packet. */
    private static final int LINK_TYPE_MASK = 0x03ff_ffff;

    private static final int VERSION = 2 | 4 << 16;
    private static final int FILE_HEADER = 24;
    private static final int PACKET_HEADER = 16;
    private static final int LARGEST = 1 << 18;
    private static final int BUFFER = 1 << 16;
    private static final int THOUSAND = 1000;

    private final FileChannel channel;
    private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER).order(ByteOrder.LITTLE_ENDIAN);
    private long written;

    private PcapFile(FileChannel channel) {
        this.channel = channel;
    }

    /**
     * Creates a file with times in nanoseconds, for packets that begin with their Ethernet header.
     *
     * @param file the file; replaced if it exists
     * @param snapLength the most captured bytes of a packet
     * @throws IOException if it can't be written
     */
    public static PcapFile create(Path file, int snapLength) throws IOException {
        PcapFile created = new PcapFile(FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE));
        created.buffer
                .putInt(NANOSECONDS)
                .putInt(VERSION)
                .putInt(0)
                .putInt(0)
                .putInt(snapLength)
                .putInt(ETHERNET);
        return created;
    }

    /**
     * Adds a packet.
     *
     * @throws IOException if it can't be written
     */
    public void write(Frame frame) throws IOException {
        write(
                frame.time().getEpochSecond(),
                frame.time().getNano(),
                frame.length(),
                frame.bytes().duplicate());
    }

    /** Adds a packet: the remaining bytes of the buffer. */
    void write(long seconds, int nanos, int length, ByteBuffer bytes) throws IOException {
        require(PACKET_HEADER);
        written += PACKET_HEADER + bytes.remaining();
        buffer.putInt((int) seconds).putInt(nanos).putInt(bytes.remaining()).putInt(length);
        while (bytes.hasRemaining()) {
            require(1);
            int part = Math.min(bytes.remaining(), buffer.remaining());
            buffer.put(buffer.position(), bytes, bytes.position(), part);
            buffer.position(buffer.position() + part);
            bytes.position(bytes.position() + part);
        }
    }

    private void require(int room) throws IOException {
        if (buffer.remaining() < room) {
            flush();
        }
    }

    private void flush() throws IOException {
        buffer.flip();
        while (buffer.hasRemaining()) {
            int ignored = channel.write(buffer);
        }
        buffer.clear();
    }

    /** Returns how many bytes of packets were added. */
    long written() {
        return written;
    }

    @Override
    public void close() throws IOException {
        if (!channel.isOpen()) {
            return;
        }
        try {
            flush();
        } finally {
            channel.close();
        }
    }

    /**
     * The totals of a file that was read to its end.
     *
     * @param packets the number of packets that were read
     * @param cutShort why packets may be missing at its end, in words; null if it ends after a whole packet
     * @param dropped how many packets the capture dropped according to the file; -1 if unknown, as always in pcap
     * @param otherLink how many packets have a link type that is not one of {@link LinkType}
     */
    public record Contents(long packets, @Nullable String cutShort, long dropped, long otherLink) {}

    /**
     * Reads a capture packet by packet: pcap of either byte order with times in micro- or nanoseconds, and pcapng. An
     * incomplete last packet is skipped: the writer was killed, or its disk was full. A file that gzip compressed is
     * decompressed.
     *
     * @param file a file of this class, of tcpdump, dumpcap or wireshark
     * @param taker takes each packet, in order
     * @return the totals
     * @throws IOException if it can't be read, is of another format, or has another link type throughout
     */
    public static Contents read(Path file, Consumer<Frame> taker) throws IOException {
        try (BufferedInputStream in = new BufferedInputStream(Files.newInputStream(file), BUFFER)) {
            in.mark(2);
            byte[] start = in.readNBytes(2);
            in.reset();
            if (start.length < 2 || ByteBuffer.wrap(start).getShort() != (short) GZIP) {
                return read(file, in, taker);
            }
            try (InputStream plain = new BufferedInputStream(new GZIPInputStream(in, BUFFER), BUFFER)) {
                return read(file, plain, taker);
            } catch (EOFException e) {
                throw new IOException(
                        file
                                + " is a gzip file that ends early: its writer was killed, or its disk was full. Write what"
                                + " is there to a file with zcat, and judge that.",
                        e);
            } catch (ZipException e) {
                throw new IOException(file + " is a damaged gzip file: " + e.getMessage() + ". Copy it again.", e);
            }
        }
    }

    private static Contents read(Path file, InputStream in, Consumer<Frame> taker) throws IOException {
        byte[] start = in.readNBytes(4);
        if (start.length < 4) {
            throw new IOException(file + " is not a capture: it has " + start.length + " bytes");
        }
        int magic = ByteBuffer.wrap(start).getInt();
        if (magic == PcapngReader.SECTION) {
            return new PcapngReader(file, in, taker).read();
        }
        for (ByteOrder order : new ByteOrder[] {ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN}) {
            int read = ByteBuffer.wrap(start).order(order).getInt();
            if (read == NANOSECONDS || read == MICROSECONDS) {
                return packets(file, in, order, read == NANOSECONDS ? 1 : THOUSAND, taker);
            }
        }
        String program = magic == ZSTD
                ? "zstd"
                : magic == LZ4 ? "lz4" : magic == XZ ? "xz" : magic >>> 8 == BZIP2 ? "bzip2" : null;
        throw new IOException(file
                + " is not a pcap or pcapng file: it begins with 0x%08x%s"
                        .formatted(
                                magic,
                                program == null
                                        ? ""
                                        : ", like a file of " + program + "; run " + program + " -d first"));
    }

    private static Contents packets(Path file, InputStream in, ByteOrder order, int unit, Consumer<Frame> taker)
            throws IOException {
        ByteBuffer header = ByteBuffer.wrap(in.readNBytes(FILE_HEADER - 4)).order(order);
        if (header.remaining() < FILE_HEADER - 4) {
            throw new IOException(file + " is not a capture: it ends inside its header");
        }
        int code = header.getInt(16) & LINK_TYPE_MASK;
        LinkType link = LinkType.of(code).orElseThrow(() -> otherLink(file, code));
        for (long count = 0; ; count++) {
            header = ByteBuffer.wrap(in.readNBytes(PACKET_HEADER)).order(order);
            if (!header.hasRemaining()) {
                return new Contents(count, null, -1, 0);
            }
            if (header.remaining() < PACKET_HEADER) {
                return new Contents(count, cutShort(count), -1, 0);
            }
            byte[] bytes = bytes(file, in, count, header.getInt(8));
            if (bytes.length < header.getInt(8)) {
                return new Contents(count, cutShort(count), -1, 0);
            }
            Instant time =
                    Instant.ofEpochSecond(Integer.toUnsignedLong(header.getInt(0)), (long) header.getInt(4) * unit);
            taker.accept(frame(time, header.getInt(12), bytes, link, -1));
        }
    }

    static IOException otherLink(Path file, int code) {
        return new IOException(file + " has packets of link type " + code + "; supported link types: "
                + Arrays.stream(LinkType.values()).map(LinkType::name).collect(Collectors.joining(", ")));
    }

    /** Reads the captured bytes of a packet; fewer at the end of the file. */
    static byte[] bytes(Path file, InputStream in, long packetsBefore, int captured) throws IOException {
        if (captured < 0 || captured > LARGEST) {
            throw new IOException("%s is damaged: packet %d has an invalid length of %d bytes"
                    .formatted(file, packetsBefore + 1, Integer.toUnsignedLong(captured)));
        }
        return in.readNBytes(captured);
    }

    static String cutShort(long packetsBefore) {
        return "the file ends inside packet " + (packetsBefore + 1) + ": its writer was killed, or its disk was full";
    }

    /** Makes a packet. A cooked header supplies the interface, or at least the direction. */
    static Frame frame(Instant time, int length, byte[] captured, LinkType link, int interfaceId) {
        ByteBuffer bytes = ByteBuffer.wrap(captured);
        long id = interfaceId;
        if (link == LinkType.LINUX_SLL2 && captured.length >= SLL2_HEADER) {
            id = within(interfaceId, bytes.getInt(SLL2_INTERFACE));
        } else if (link == LinkType.LINUX_SLL && captured.length >= 2) {
            id = within(interfaceId, bytes.getShort(0) == SLL_OUTGOING ? 1 : 0);
        }
        return new Frame(time, Math.max(length, captured.length), bytes, link, id);
    }

    /** Returns an identity of what a cooked header names. The file's own interfaces have numbers below 2^31. */
    private static long within(int interfaceId, int named) {
        return (Integer.toUnsignedLong(named) + 1) * (1L << Integer.SIZE - 1) + Math.max(interfaceId, 0);
    }
}
