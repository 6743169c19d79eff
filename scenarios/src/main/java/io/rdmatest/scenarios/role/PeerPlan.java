package io.rdmatest.scenarios.role;

import io.rdmatest.Cause;
import io.rdmatest.scenarios.engine.Payload;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * The options that one side of ucmatose or udaddy sends in its private data. Two of our sides can then verify each
 * other's payload, and detect different options at once. The C programs send no private data and ignore ours.
 *
 * @param program the program, which reveals a wrong port
 * @param connections -c
 * @param messages -C
 * @param sizeBytes -S
 * @param number the number of the client's connection, from 0; -1 in a rejection
 */
public record PeerPlan(Program program, int connections, int messages, int sizeBytes, int number) {

    /** The encoded length in bytes; a request over IP addresses can have 56. */
    static final int LENGTH = 28;

    private static final byte[] MAGIC = "rdmatest".getBytes(StandardCharsets.US_ASCII);
    private static final byte VERSION = 1;

    /** The sending program. */
    public enum Program {
        UCMATOSE,
        UDADDY
    }

    /** Returns the plan as private data for the peer. */
    public byte[] encode() {
        return ByteBuffer.allocate(LENGTH)
                .put(MAGIC)
                .put(VERSION)
                .put((byte) program.ordinal())
                .putShort((short) 0)
                .putInt(connections)
                .putInt(messages)
                .putInt(sizeBytes)
                .putInt(number)
                .array();
    }

    /** Decodes a peer's private data, which is padded with zeros; empty if the peer is not one of ours. */
    public static Optional<PeerPlan> decode(byte[] data) {
        if (data.length < LENGTH || !Arrays.equals(data, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
            return Optional.empty();
        }
        ByteBuffer in = ByteBuffer.wrap(data).position(MAGIC.length);
        byte version = in.get();
        int program = in.get();
        in.getShort();
        if (version != VERSION || program < 0 || program >= Program.values().length) {
            return Optional.empty();
        }
        return Optional.of(new PeerPlan(Program.values()[program], in.getInt(), in.getInt(), in.getInt(), in.getInt()));
    }

    /**
     * Compares both sides.
     *
     * @param peer the other side's plan
     * @return the difference; empty if there is none
     */
    public Optional<ScenarioException> disagreement(PeerPlan peer) {
        if (peer.program != program) {
            return Optional.of(rejected("The peer runs another program: start the same program on both sides"));
        }
        if (peer.connections != connections || peer.messages != messages) {
            return Optional.of(
                    rejected("This side has -c %d -C %d, the peer -c %d -C %d: start both sides with the same"
                            .formatted(connections, messages, peer.connections, peer.messages)));
        }
        if (peer.sizeBytes != sizeBytes && messages > 0) {
            return Optional.of(new ScenarioException(
                    Cause.SIZE_REFUSED,
                    "This side has messages of %d bytes, the peer has %d: start both sides with the same -S"
                            .formatted(sizeBytes, peer.sizeBytes)));
        }
        return Optional.empty();
    }

    private static ScenarioException rejected(String message) {
        return new ScenarioException(Cause.REJECTED, message);
    }

    /** Returns the {@link Payload} number of a message, which is unique in a run. */
    public static long payload(int connection, int messages, int message, boolean fromServer) {
        return ((long) connection * messages + message) * 2 + (fromServer ? 1 : 0);
    }
}
