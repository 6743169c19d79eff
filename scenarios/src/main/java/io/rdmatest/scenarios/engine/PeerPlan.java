package io.rdmatest.scenarios.engine;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;

/**
 * What one side of ucmatose or udaddy says of itself in its private data, so that two of ours can verify each other's
 * payload and notice at once when their options differ. The C programs send none and do not look at ours.
 *
 * @param program the program, so that a client that called the wrong port learns that
 * @param connections -c
 * @param messages -C
 * @param sizeBytes -S
 * @param number which of the client's connections this is, from 0; -1 in a refusal
 */
public record PeerPlan(Program program, int connections, int messages, int sizeBytes, int number) {

    /** Bytes on the wire; less than the 56 that a request over IP addresses can carry. */
    static final int LENGTH = 28;

    private static final byte[] MAGIC = "rdmatest".getBytes(StandardCharsets.US_ASCII);
    private static final byte VERSION = 1;

    /** Who speaks. */
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

    /** Reads what a peer said; nothing if it is not one of ours. Private data is filled up with zeros on the way. */
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
     * @param peer what the other side said
     * @return why they can't work together; nothing if they can
     */
    public Optional<ScenarioException> disagreement(PeerPlan peer) {
        if (peer.program != program) {
            return Optional.of(rejected("The peer runs another program: start the same one at both sides"));
        }
        if (peer.connections != connections || peer.messages != messages) {
            return Optional.of(
                    rejected("This side has -c %d -C %d, the peer -c %d -C %d: start both sides with the same"
                            .formatted(connections, messages, peer.connections, peer.messages)));
        }
        if (peer.sizeBytes != sizeBytes && messages > 0) {
            return Optional.of(new ScenarioException(
                    ScenarioException.Reason.SIZE_REFUSED,
                    "This side has messages of %d bytes, the peer of %d: start both sides with the same -S"
                            .formatted(sizeBytes, peer.sizeBytes)));
        }
        return Optional.empty();
    }

    private static ScenarioException rejected(String message) {
        return new ScenarioException(ScenarioException.Reason.REJECTED, message);
    }

    /** Which datum of {@link Payload} a message carries: no two of a run are the same. */
    public static long payload(int connection, int messages, int message, boolean fromServer) {
        return ((long) connection * messages + message) * 2 + (fromServer ? 1 : 0);
    }
}
