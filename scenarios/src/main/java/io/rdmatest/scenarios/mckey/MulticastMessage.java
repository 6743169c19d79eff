package io.rdmatest.scenarios.mckey;

import io.rdmatest.scenarios.engine.Payload;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The format of our multicast messages, by which a receiver identifies sender and message.
 *
 * <p>The layout, in network order:
 *
 * <table>
 * <caption>By the size of a message</caption>
 * <tr><th>Bytes</th><th>Content</th></tr>
 * <tr><td>0</td><td>empty: such messages can only be counted</td></tr>
 * <tr><td>1 to 7</td><td>the lowest bytes of the sequence number, at most 4, each XOR 0xA5; then the pattern</td></tr>
 * <tr><td>8 to 27</td><td>{@code rdms}, the sequence number (4); then the pattern</td></tr>
 * <tr><td>from 28</td><td>{@code rdmc}, a number of the sending program (4), the queue pair's number (4), its index (2) of so
 * many (2), the sequence number (4), how many messages there are (4), a checksum (4); then the pattern</td></tr>
 * </table>
 *
 * <p>The pattern is that of {@link Payload}. Writing and reading allocate nothing. One object is for one thread.
 */
final class MulticastMessage {

    /** The smallest message with a full header, in bytes. */
    static final int FULL_HEADER = 28;

    private static final int SHORT_HEADER = 8;
    private static final int BARE_HEADER = 4;

    private static final int FULL_MAGIC = 0x72646d63;
    private static final int SHORT_MAGIC = 0x72646d73;
    private static final int BARE_MASK = 0xa5;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfShort SHORT = ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    /** The kinds of headers. */
    enum Form {
        EMPTY,
        BARE,
        SHORT,
        FULL
    }

    /** The kinds of received messages. */
    enum Kind {
        /** One of ours. */
        OURS,
        /** One of ours whose header is damaged. */
        DAMAGED,
        /** Probably not one of ours. */
        FOREIGN
    }

    private final int size;
    private final Form form;

    // The fields of the last message that was read.
    private int program;
    private int queuePair;
    private int index;
    private int count;
    private long sequence;
    private long end;

    MulticastMessage(int size) {
        this.size = size;
        this.form =
                size == 0 ? Form.EMPTY : size < SHORT_HEADER ? Form.BARE : size < FULL_HEADER ? Form.SHORT : Form.FULL;
    }

    /** Returns a random number of 32 bits for a sending program. */
    static int newProgram() {
        return ThreadLocalRandom.current().nextInt();
    }

    Form form() {
        return form;
    }

    /** Returns the number of bytes before the pattern. */
    int header() {
        return switch (form) {
            case EMPTY -> 0;
            case BARE -> Math.min(size, BARE_HEADER);
            case SHORT -> SHORT_HEADER;
            case FULL -> FULL_HEADER;
        };
    }

    // ---- writing ----

    /**
     * Writes a message.
     *
     * @param message the buffer, of the size of a message
     * @param body the part of it after the header
     * @param index the number of the queue pair in the program, from 0
     * @param count how many queue pairs the program has
     * @param sequence the number of the message of the queue pair, from 0
     * @param end the sequence number after the last message
     */
    void write(
            MemorySegment message,
            MemorySegment body,
            int program,
            int queuePair,
            int index,
            int count,
            int sequence,
            int end) {
        switch (form) {
            case EMPTY -> {
                return;
            }
            case BARE -> {
                for (int i = 0; i < header(); i++) {
                    message.set(ValueLayout.JAVA_BYTE, i, (byte) ((sequence >>> (8 * i)) ^ BARE_MASK));
                }
            }
            case SHORT -> {
                message.set(INT, 0, SHORT_MAGIC);
                message.set(INT, 4, sequence);
            }
            case FULL -> {
                message.set(INT, 0, FULL_MAGIC);
                message.set(INT, 4, program);
                message.set(INT, 8, queuePair);
                message.set(SHORT, 12, (short) index);
                message.set(SHORT, 14, (short) count);
                message.set(INT, 16, sequence);
                message.set(INT, 20, end);
                message.set(INT, 24, checksum(message));
            }
        }
        Payload.fill(body, pattern(form == Form.FULL ? program : 0, form == Form.FULL ? index : 0, sequence));
    }

    private static long pattern(int program, int index, long sequence) {
        return (program & 0xffff_ffffL) * 31 + index * 1_000_003L + sequence;
    }

    private static int checksum(MemorySegment message) {
        int sum = 1;
        for (int at = 0; at < FULL_HEADER - 4; at += 4) {
            sum = 31 * Integer.rotateLeft(sum, 7) + message.get(INT, at);
        }
        return sum;
    }

    // ---- reading ----

    /**
     * Reads a header; the accessors then return its fields.
     *
     * @param message the received bytes, of the size of a message
     * @param near the most likely sequence number, for messages that have only a part of it
     */
    Kind read(MemorySegment message, int near) {
        switch (form) {
            case EMPTY -> {
                return Kind.FOREIGN;
            }
            case BARE -> {
                int known = header();
                long bits = 0;
                for (int i = 0; i < known; i++) {
                    bits |= ((message.get(ValueLayout.JAVA_BYTE, i) ^ BARE_MASK) & 0xffL) << (8 * i);
                }
                sequence = expand(bits, 8 * known, near);
                return Kind.OURS;
            }
            case SHORT -> {
                sequence = message.get(INT, 4) & 0xffff_ffffL;
                return message.get(INT, 0) == SHORT_MAGIC ? Kind.OURS : Kind.FOREIGN;
            }
            case FULL -> {
                if (message.get(INT, 0) != FULL_MAGIC) {
                    return Kind.FOREIGN;
                }
                program = message.get(INT, 4);
                queuePair = message.get(INT, 8);
                index = message.get(SHORT, 12) & 0xffff;
                count = message.get(SHORT, 14) & 0xffff;
                sequence = message.get(INT, 16) & 0xffff_ffffL;
                end = message.get(INT, 20) & 0xffff_ffffL;
                return message.get(INT, 24) == checksum(message) ? Kind.OURS : Kind.DAMAGED;
            }
        }
        throw new AssertionError(form);
    }

    /** Finds the number with these lowest bits that is nearest to another. */
    static long expand(long bits, int width, int near) {
        long period = 1L << width;
        long candidate = (near & ~(period - 1)) | bits;
        if (candidate - near > period / 2 && candidate >= period) {
            return candidate - period;
        }
        return near - candidate > period / 2 ? candidate + period : candidate;
    }

    /**
     * Verifies the pattern after the header that was read last.
     *
     * @param body the bytes after the header
     * @param where the side, for the message of a failure
     * @throws io.rdmatest.scenarios.engine.PayloadMismatchError at the first wrong byte, counted from the end of the header
     */
    void verify(MemorySegment body, String where) {
        Payload.verify(
                body,
                pattern(form == Form.FULL ? program : 0, form == Form.FULL ? index : 0, sequence),
                sequence,
                where);
    }

    int program() {
        return program;
    }

    int queuePair() {
        return queuePair;
    }

    int index() {
        return index;
    }

    int count() {
        return count;
    }

    long sequence() {
        return sequence;
    }

    /** Returns the sequence number after the last message. */
    long end() {
        return end;
    }
}
