package io.rdmatest.wire;

import java.io.IOException;
import java.io.InputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Reads the pcapng format: the IETF's draft-ietf-opsawg-pcapng. A file has sections, each with its own interfaces. */
final class PcapngReader {

    /** The type of the block that begins a section; the same in either byte order. */
    static final int SECTION = 0x0a0d_0d0a;

    private static final int INTERFACE = 1;
    private static final int OLD_PACKET = 2;
    private static final int SIMPLE_PACKET = 3;
    private static final int STATISTICS = 5;
    private static final int PACKET = 6;
    private static final int BYTE_ORDER_MAGIC = 0x1a2b_3c4d;
    private static final int BLOCK_HEADER = 8;
    private static final int LEAST_BLOCK = 12;
    private static final int LARGEST_BLOCK = 1 << 24;
    private static final int SECONDS_EXPONENT = 9;
    private static final int TIME_OFFSET = 14;
    private static final int DROPPED_BY_INTERFACE = 5;
    private static final int DROPPED_BY_SYSTEM = 7;
    private static final int BINARY = 0x80;
    private static final double BILLION = 1e9;

    /**
     * An interface of the section: its link type, null if unsupported; its time units per second, and seconds to add.
     */
    private record Interface(@Nullable LinkType link, int code, int snapLength, long units, long offset, int id) {

        Instant time(long value) {
            // Units may be finer than nanoseconds; 2 to the power of 32 seconds fit in a long.
            long seconds = Long.divideUnsigned(value, units);
            long rest = Long.remainderUnsigned(value, units);
            return Instant.ofEpochSecond(seconds + offset, (long) (rest * (BILLION / units)));
        }
    }

    private final Path file;
    private final InputStream in;
    private final Consumer<Frame> taker;
    private final List<Interface> interfaces = new ArrayList<>();

    /** The latest drop count of each interface, since the begin of the capture. */
    private final Map<Integer, Long> dropped = new HashMap<>();

    private ByteOrder order = ByteOrder.LITTLE_ENDIAN;
    private int interfacesBefore;
    private Instant latest = Instant.EPOCH;
    private long packets;
    private long otherLink;
    private int otherCode = -1;

    /** Creates a reader that begins after the first four bytes. */
    PcapngReader(Path file, InputStream in, Consumer<Frame> taker) {
        this.file = file;
        this.in = in;
        this.taker = taker;
    }

    PcapFile.Contents read() throws IOException {
        boolean cut = !section();
        while (!cut) {
            byte[] header = in.readNBytes(BLOCK_HEADER);
            if (header.length == 0) {
                break;
            }
            cut = header.length < BLOCK_HEADER || !block(header);
        }
        if (packets == 0 && otherLink > 0) {
            throw PcapFile.otherLink(file, otherCode);
        }
        long sum = dropped.values().stream().mapToLong(Long::longValue).sum();
        return new PcapFile.Contents(
                packets, cut ? PcapFile.cutShort(packets + otherLink) : null, dropped.isEmpty() ? -1 : sum, otherLink);
    }

    /** Reads a block; returns whether it is complete. */
    private boolean block(byte[] header) throws IOException {
        if (ByteBuffer.wrap(header).getInt() == SECTION) {
            byte[] length = Arrays.copyOfRange(header, 4, BLOCK_HEADER);
            return section(length);
        }
        ByteBuffer start = ByteBuffer.wrap(header).order(order);
        ByteBuffer body = body(start.getInt(4), BLOCK_HEADER);
        if (body == null) {
            return false;
        }
        Frame frame;
        try {
            frame = read(start.getInt(0), body);
        } catch (BufferUnderflowException | IndexOutOfBoundsException | ArithmeticException | DateTimeException e) {
            throw new IOException(
                    "%s is damaged: the block of type %d after packet %d is too short, or has an invalid time: %s"
                            .formatted(file, start.getInt(0), packets + otherLink, e.getMessage()),
                    e);
        }
        if (frame != null) {
            taker.accept(frame);
            packets++;
        }
        return true;
    }

    private boolean section() throws IOException {
        byte[] length = in.readNBytes(4);
        return length.length == 4 && section(length);
    }

    /** Begins a section. Its byte order also applies to the given length. */
    private boolean section(byte[] length) throws IOException {
        byte[] magic = in.readNBytes(4);
        if (magic.length < 4) {
            return false;
        }
        List<ByteOrder> right = Stream.of(ByteOrder.LITTLE_ENDIAN, ByteOrder.BIG_ENDIAN)
                .filter(each -> ByteBuffer.wrap(magic).order(each).getInt() == BYTE_ORDER_MAGIC)
                .toList();
        if (right.isEmpty()) {
            throw new IOException(file + " is damaged: a section has no byte order");
        }
        order = right.getFirst();
        interfacesBefore += interfaces.size();
        interfaces.clear();
        return body(ByteBuffer.wrap(length).order(order).getInt(), LEAST_BLOCK) != null;
    }

    /**
     * Returns the rest of a block without the length at its end; null if the file ends first.
     *
     * @param before the number of bytes already read
     */
    private @Nullable ByteBuffer body(int length, int before) throws IOException {
        if (length < LEAST_BLOCK || length > LARGEST_BLOCK || length < before + 4) {
            throw new IOException("%s is damaged: the block after packet %d has an invalid length of %d bytes"
                    .formatted(file, packets, Integer.toUnsignedLong(length)));
        }
        byte[] bytes = in.readNBytes(length - before);
        return bytes.length < length - before
                ? null
                : ByteBuffer.wrap(bytes, 0, bytes.length - 4).slice().order(order);
    }

    /** Reads a block; returns its packet, or null. */
    private @Nullable Frame read(int type, ByteBuffer body) throws IOException {
        return switch (type) {
            case INTERFACE -> {
                int code = Short.toUnsignedInt(body.getShort(0));
                int id = interfacesBefore + interfaces.size();
                interfaces.add(describe(code, id, body));
                yield null;
            }
            case PACKET -> packet(body, body.getInt(0), body.getInt(4), body.getInt(8), body.getInt(12));
            case OLD_PACKET ->
                packet(body, Short.toUnsignedInt(body.getShort(0)), body.getInt(4), body.getInt(8), body.getInt(12));
            case SIMPLE_PACKET -> {
                Interface at = at(0);
                int length = body.getInt(0);
                int captured = at.snapLength() == 0 ? length : Math.min(length, at.snapLength());
                // A simple packet block has no time.
                yield packet(body.slice(4, body.limit() - 4), at, latest, captured, length);
            }
            case STATISTICS -> {
                statistics(body);
                yield null;
            }
            default -> null;
        };
    }

    private static Interface describe(int code, int id, ByteBuffer body) {
        long units = 1_000_000;
        ByteBuffer resolution = option(body, 8, SECONDS_EXPONENT);
        if (resolution != null) {
            int exponent = resolution.get(0) & 0x7f;
            units = Math.powExact((resolution.get(0) & BINARY) != 0 ? 2L : 10L, exponent);
        }
        ByteBuffer offset = option(body, 8, TIME_OFFSET);
        return new Interface(
                LinkType.of(code).orElse(null),
                code,
                body.getInt(4),
                units,
                offset == null ? 0 : offset.getLong(0),
                id);
    }

    private Interface at(int index) throws IOException {
        if (index < 0 || index >= interfaces.size()) {
            throw new IOException("%s is damaged: packet %d has interface %d, which the file does not describe"
                    .formatted(file, packets + otherLink + 1, index));
        }
        return interfaces.get(index);
    }

    private @Nullable Frame packet(ByteBuffer body, int index, int high, int low, int captured) throws IOException {
        Interface at = at(index);
        Instant time = at.time((long) high << 32 | Integer.toUnsignedLong(low));
        // In both kinds of packet block the fixed part ends with the length on the wire.
        int length = body.getInt(16);
        return packet(body.slice(20, body.limit() - 20), at, time, captured, length);
    }

    private @Nullable Frame packet(ByteBuffer rest, Interface at, Instant time, int captured, int length)
            throws IOException {
        latest = time;
        LinkType link = at.link();
        if (link == null) {
            otherLink++;
            otherCode = at.code();
            return null;
        }
        if (captured < 0 || captured > rest.remaining()) {
            throw new IOException("%s is damaged: packet %d has an invalid length of %d bytes"
                    .formatted(file, packets + otherLink + 1, Integer.toUnsignedLong(captured)));
        }
        byte[] bytes = new byte[captured];
        rest.get(0, bytes);
        return PcapFile.frame(time, length, bytes, link, at.id());
    }

    private void statistics(ByteBuffer body) {
        ByteBuffer byInterface = option(body, 12, DROPPED_BY_INTERFACE);
        ByteBuffer bySystem = option(body, 12, DROPPED_BY_SYSTEM);
        if (byInterface != null || bySystem != null) {
            long sum =
                    (byInterface == null ? 0 : byInterface.getLong(0)) + (bySystem == null ? 0 : bySystem.getLong(0));
            dropped.put(interfacesBefore + body.getInt(0), sum);
        }
    }

    /** Returns the value of an option of a block; null if it has none. */
    private static @Nullable ByteBuffer option(ByteBuffer body, int from, int wanted) {
        int at = from;
        while (at + 4 <= body.limit()) {
            int code = Short.toUnsignedInt(body.getShort(at));
            int length = Short.toUnsignedInt(body.getShort(at + 2));
            if (code == 0) {
                return null;
            }
            if (code == wanted) {
                return body.slice(at + 4, length).order(body.order());
            }
            at += 4 + (length + 3 & ~3);
        }
        return null;
    }
}
