package io.rdmatest.wire;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.function.Consumer;

/**
 * A capture in the pcap format, as libpcap, wireshark and tshark read and write it: pcap-savefile(5).
 *
 * <p>Closing it writes what is left. For one thread.
 */
public final class PcapFile implements AutoCloseable {

    private static final int NANOSECONDS = 0xa1b23c4d;
    private static final int MICROSECONDS = 0xa1b2c3d4;
    private static final int ETHERNET = 1;
    private static final int LINK_TYPE_MASK = 0x0fff_ffff;
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
     * Begins a file with times in nanoseconds, and packets that begin with their Ethernet header.
     *
     * @param file replaced if it is there
     * @param snapLength how many bytes of a packet are kept at most
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

    /** Adds a packet; takes what remains of its bytes. */
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
     * Reads a capture packet by packet, of either byte order and with times in micro- or nanoseconds.
     *
     * @param file a file of this class, of tcpdump or of {@code tshark -F pcap}
     * @param taker takes each packet, in order
     * @return how many packets it has
     * @throws IOException if it can't be read, is of another format, or ends within a packet
     */
    public static long read(Path file, Consumer<Frame> taker) throws IOException {
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file), BUFFER)) {
            ByteBuffer header = ByteBuffer.wrap(in.readNBytes(FILE_HEADER)).order(ByteOrder.LITTLE_ENDIAN);
            if (header.remaining() < FILE_HEADER) {
                throw new IOException(file + " is not a pcap file: it has " + header.remaining() + " bytes");
            }
            int magic = header.getInt(0);
            ByteOrder order = ByteOrder.LITTLE_ENDIAN;
            if (magic != NANOSECONDS && magic != MICROSECONDS) {
                order = ByteOrder.BIG_ENDIAN;
                magic = Integer.reverseBytes(magic);
            }
            if (magic != NANOSECONDS && magic != MICROSECONDS) {
                throw new IOException(file
                        + " is not a pcap file: it begins with 0x%08x; one of another format is"
                                .formatted(header.order(ByteOrder.BIG_ENDIAN).getInt(0))
                        + " converted by 'tshark -r IN -F pcap -w OUT'");
            }
            int link = header.order(order).getInt(20) & LINK_TYPE_MASK;
            if (link != ETHERNET) {
                throw new IOException(file + " has packets of link type " + link + ", not of Ethernet (1)");
            }
            return packets(file, in, order, magic == NANOSECONDS ? 1 : THOUSAND, taker);
        }
    }

    private static long packets(Path file, InputStream in, ByteOrder order, int unit, Consumer<Frame> taker)
            throws IOException {
        for (long count = 0; ; count++) {
            ByteBuffer header = ByteBuffer.wrap(in.readNBytes(PACKET_HEADER)).order(order);
            if (!header.hasRemaining()) {
                return count;
            }
            int captured = header.remaining() < PACKET_HEADER ? -1 : header.getInt(8);
            if (captured < 0 || captured > LARGEST) {
                throw cutShort(file, count);
            }
            byte[] bytes = in.readNBytes(captured);
            if (bytes.length < captured) {
                throw cutShort(file, count);
            }
            Instant time =
                    Instant.ofEpochSecond(Integer.toUnsignedLong(header.getInt(0)), (long) header.getInt(4) * unit);
            taker.accept(new Frame(time, Math.max(header.getInt(12), captured), ByteBuffer.wrap(bytes)));
        }
    }

    private static IOException cutShort(Path file, long count) {
        return new IOException(file + " is damaged, or its writer was killed: packet " + (count + 1) + " is not whole");
    }
}
