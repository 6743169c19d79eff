package io.rdmatest.wire;

import io.rdmatest.wire.Opcode.Kind;
import io.rdmatest.wire.Opcode.Position;
import io.rdmatest.wire.Opcode.Transport;
import java.net.InetAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The requests of one side of a connection, and their responses: sections 9.7.2 (packet sequence numbers), 9.7.4 and
 * 9.7.5 (the responder and its acknowledgements).
 *
 * <p>Packet sequence numbers wrap after 24 bits. Positions count them from the first one, without a wrap.
 */
final class RequestFlow {

    /** The direction of the requests. */
    record Key(InetAddress source, InetAddress destination, int destinationQp) {

        @Override
        public String toString() {
            return "%s→%s QP 0x%06x".formatted(source.getHostAddress(), destination.getHostAddress(), destinationQp);
        }
    }

    private enum Message {
        NONE,
        SEND,
        WRITE,
        /** After a gap. */
        UNKNOWN
    }

    /** An unacknowledged request: the position after it, and its time. */
    private record Pending(long end, Instant time) {}

    /** A packet this long after the one before it may belong to another connection. */
    private static final Duration LONG_SILENCE = Duration.ofSeconds(1);

    /** A larger jump of the sequence numbers means another connection. */
    private static final int FAR = 1 << 16;

    private static final int PSNS = 1 << 24;
    private static final int HALF = 1 << 23;
    private static final int LEAST_MTU = 256;
    private static final int MOST_MTU = 4096;

    private final Key key;
    private final Consumer<String> violations;

    /** The packet sequence number of position 0; -1 until it is known. */
    private int base = -1;

    /**
     * The next position, and its highest possible value: without an MTU the number of a read's responses is unknown.
     */
    private long next;

    private long nextAtMost;

    /** Positions before this are acknowledged. */
    private long acknowledged;

    /** The position of the latest response to a read; -1 if no read is in progress. */
    private long reading = -1;

    /** The position of a read's last response; -1 if the latest response was not the last one. */
    private long readUntil = -1;

    /** Skipped positions: from the first to the one after the last. */
    private final TreeMap<Long, Long> missing = new TreeMap<>();

    /** Positions before the first packet, which the capture did not begin with. */
    private final Set<Long> early = new HashSet<>();

    private final Deque<Pending> pending = new ArrayDeque<>();

    /**
     * The last positions of unanswered reads and atomics: an acknowledgement of later requests does not answer them.
     */
    private final TreeSet<Long> unanswered = new TreeSet<>();

    private final Map<String, Long> naks = new TreeMap<>();
    private Message message = Message.NONE;

    /**
     * The position of the latest retransmission, and its message; -1 if the latest request was not a retransmission.
     */
    private long resent = -1;

    private Message resentMessage = Message.UNKNOWN;

    /** The previous packet, and the time at which the connection was agreed on. */
    private @Nullable RocePacket last;

    private @Nullable Instant agreedAt;
    private int mtu;

    /** The size of the latest read response that is not the last of its read. */
    private int readMtu;

    private boolean agreed;
    private boolean reliable = true;
    private boolean closed;
    private boolean overdue;

    /** How long a request may stay unanswered, by all its retransmissions; zero if unknown. */
    private Duration retrying = Duration.ZERO;

    private boolean failed;
    private boolean ambiguous;
    private long requests;
    private long retransmissions;
    private long late;
    private long gaps;
    private long responses;
    private long stray;

    /** Whether the capture may lack packets anywhere. */
    private final boolean partial;

    RequestFlow(Key key, Consumer<String> violations, boolean partial) {
        this.key = key;
        this.violations = violations;
        this.partial = partial;
    }

    /** Starts at the packet sequence number that both sides agreed on, with what the request for the connection says. */
    void agree(int startingPsn, CmMessage agreement, Instant time) {
        base = startingPsn;
        mtu = agreement.mtu();
        retrying = agreement.retrying();
        agreed = true;
        agreedAt = time;
    }

    /**
     * Returns whether a request probably belongs to another connection that reuses the queue pair number. Only for
     * captures that may lack the connection manager's messages.
     */
    boolean isOver(RocePacket packet) {
        if (!partial || base < 0) {
            return false;
        }
        long position = position(packet.psn(), next);
        if (position >= next && position <= nextAtMost) {
            return false;
        }
        if (position > nextAtMost + FAR || position < next - FAR) {
            return true;
        }
        RocePacket before = last;
        if (before == null) {
            // Shortly after the agreement the number can't belong to another connection.
            return agreedAt != null && agreedAt.plus(LONG_SILENCE).isBefore(packet.time());
        }
        boolean acknowledgedBefore = position < Math.max(acknowledged, 0);
        if (closed) {
            return acknowledgedBefore || position > nextAtMost;
        }
        return acknowledgedBefore
                && (before.sourcePort() != packet.sourcePort()
                        || before.time().plus(LONG_SILENCE).isBefore(packet.time()));
    }

    /** Notes a disconnect: requests that may still be repeated may stay without an answer. */
    void close(Instant time) {
        if (!closed) {
            closed = true;
            overdue = !pending.isEmpty()
                    && !retrying.isZero()
                    && pending.getFirst().time().plus(retrying).isBefore(time);
        }
    }

    /** Notes responses that may belong to this flow or to another. */
    void doubt() {
        ambiguous = true;
    }

    Key key() {
        return key;
    }

    private void violate(RocePacket packet, String what) {
        violations.accept(packet.text() + ": " + what);
    }

    // ---- requests ----

    void request(RocePacket packet) {
        requests++;
        last = packet;
        reliable = !packet.opcode().is(Transport.UC);
        if (base < 0) {
            base = packet.psn();
            message = packet.opcode().position().filter(RequestFlow::isStart).isPresent()
                    ? Message.NONE
                    : Message.UNKNOWN;
        }
        long position = position(packet.psn(), next);
        if (position >= next && resent >= 0) {
            // The retransmission may have belonged to another message than assumed.
            message = resent == position ? resentMessage : Message.UNKNOWN;
            resent = -1;
        }
        if (position >= next && position <= nextAtMost) {
            fresh(packet, position);
        } else if (position > nextAtMost) {
            gaps++;
            missing.put(nextAtMost, position);
            message = Message.UNKNOWN;
            fresh(packet, position);
        } else if (agreed && position < 0) {
            violate(packet, "is before the agreed starting PSN of " + base);
        } else if (remember(position, span(packet, true))) {
            late++;
        } else if (position >= 0 || !early.add(position)) {
            retransmissions++;
            resent = position + span(packet, true);
            resentMessage = after(packet);
        }
    }

    /** Returns the message that is in progress after a packet. */
    private static Message after(RocePacket packet) {
        Position position = packet.opcode().position().orElse(Position.ONLY);
        return position == Position.FIRST || position == Position.MIDDLE ? kind(packet) : Message.NONE;
    }

    private static Message kind(RocePacket packet) {
        return switch (packet.opcode().kind().orElse(Kind.READ)) {
            case SEND -> Message.SEND;
            case WRITE -> Message.WRITE;
            default -> Message.NONE;
        };
    }

    private static boolean isStart(Position position) {
        return position == Position.FIRST || position == Position.ONLY;
    }

    /** Returns the position of a number that is nearest to another position, which resolves the wrap. */
    private long position(int psn, long near) {
        int difference = psn - (int) ((base + near) % PSNS);
        if (difference > HALF) {
            difference -= PSNS;
        } else if (difference <= -HALF) {
            difference += PSNS;
        }
        return near + difference;
    }

    private void fresh(RocePacket packet, long position) {
        // In this order: the message before this packet decides whether its size is known.
        judgeLength(packet);
        judgeSequence(packet);
        next = position + span(packet, true);
        nextAtMost = position + span(packet, false);
        if (reliable) {
            pending.addLast(new Pending(next, packet.time()));
            if (next == nextAtMost
                    && packet.opcode().kind().filter(RequestFlow::isAnswered).isPresent()) {
                unanswered.add(next - 1);
            }
        }
    }

    private static boolean isAnswered(Kind kind) {
        return kind == Kind.READ || kind == Kind.ATOMIC || kind == Kind.FLUSH;
    }

    /** Fills a gap; returns whether there was one. */
    private boolean remember(long position, long count) {
        Map.Entry<Long, Long> gap = missing.floorEntry(position);
        if (gap == null || gap.getValue() <= position) {
            return false;
        }
        missing.remove(gap.getKey());
        if (gap.getKey() < position) {
            missing.put(gap.getKey(), position);
        }
        if (position + count < gap.getValue()) {
            missing.put(position + count, gap.getValue());
        }
        return true;
    }

    /** Returns how many sequence numbers a request uses: a read uses one for each response. */
    private long span(RocePacket packet, boolean least) {
        RocePacket.Reth memory = packet.remoteMemory();
        if (memory == null || !packet.opcode().is(Kind.READ)) {
            return 1;
        }
        int size = mtu != 0 ? mtu : least ? MOST_MTU : LEAST_MTU;
        return Math.max(1, (memory.length() + size - 1) / size);
    }

    private void judgeSequence(RocePacket packet) {
        Message kind = kind(packet);
        Position position = packet.opcode().position().orElse(Position.ONLY);
        boolean start = isStart(position);
        if (message != Message.UNKNOWN) {
            if (start && message != Message.NONE) {
                violate(packet, "begins before the last packet of the " + message + " message before it");
            } else if (!start && message != kind) {
                violate(packet, "continues a " + kind + " message that was not begun");
            }
        }
        message = after(packet);
    }

    private void judgeLength(RocePacket packet) {
        Position position = packet.opcode().position().orElse(Position.ONLY);
        int length = packet.payloadLength();
        // In a partial capture the MTU is only known for sure inside a message.
        boolean known = agreed || !partial || !isStart(position) && message == kind(packet);
        if (position == Position.FIRST || position == Position.MIDDLE) {
            if (mtu == 0 || !known) {
                mtu = length;
            }
            if (length != mtu || Integer.bitCount(length) != 1 || length < LEAST_MTU || length > MOST_MTU) {
                violate(
                        packet,
                        "has %d bytes and is not the last packet: it should have the path MTU of %d"
                                .formatted(length, mtu));
            }
        } else if (known && mtu != 0 && length > mtu) {
            violate(packet, "has %d bytes, more than the path MTU of %d".formatted(length, mtu));
        }
    }

    // ---- responses ----

    /** Returns whether a packet may answer a request of this flow. */
    boolean covers(int psn) {
        if (base < 0 || !reliable) {
            return false;
        }
        long position = position(psn, next);
        return position >= 0 && position < nextAtMost;
    }

    void response(RocePacket packet) {
        responses++;
        Aeth aeth = packet.acknowledgement();
        Opcode opcode = packet.opcode();
        if (base < 0 || position(packet.psn(), next) >= nextAtMost) {
            if (partial) {
                stray++;
            } else {
                violate(packet, "answers a request that was not sent");
            }
            return;
        }
        long position = position(packet.psn(), next);
        boolean read = opcode.is(Kind.READ_RESPONSE);
        if (read) {
            judgeReadResponse(packet, position);
        }
        if (aeth == null || aeth.type() == Aeth.Type.ACK) {
            if (!opcode.is(Kind.ACKNOWLEDGE) && (opcode.is(Position.LAST) || opcode.is(Position.ONLY))) {
                unanswered.remove(position);
            }
            acknowledge(position + 1);
            return;
        }
        naks.merge(aeth.text(), 1L, Long::sum);
        switch (aeth.type()) {
            // A reserved syndrome, which the judge reports.
            case RESERVED -> {}
            // A NAK acknowledges everything before it.
            case RNR_NAK -> acknowledge(position);
            default -> {
                acknowledge(position);
                failed |= !aeth.isSequenceError();
            }
        }
    }

    private void acknowledge(long end) {
        acknowledged = Math.max(acknowledged, end);
        while (!pending.isEmpty() && pending.getFirst().end() <= acknowledged) {
            pending.removeFirst();
        }
    }

    private void judgeReadResponse(RocePacket packet, long position) {
        Position at = packet.opcode().position().orElse(Position.ONLY);
        boolean start = isStart(at);
        if (!start && readUntil >= 0 && position == readUntil + 1) {
            violate(packet, "continues the response to a read after its last packet");
        } else if (!start && reading >= 0 && position > reading + 1) {
            // A response was lost: the requester repeats the request.
            gaps++;
        }
        boolean more = at == Position.FIRST || at == Position.MIDDLE;
        if (more) {
            boolean known = agreed || !partial || !start && reading >= 0 && position == reading + 1;
            int expected = !known ? packet.payloadLength() : agreed || !partial ? mtu : readMtu;
            if (expected == 0) {
                expected = packet.payloadLength();
                mtu = expected;
            }
            readMtu = packet.payloadLength();
            if (packet.payloadLength() != expected) {
                violate(
                        packet,
                        "has %d bytes and is not the last packet: it should have the path MTU of %d"
                                .formatted(packet.payloadLength(), expected));
            }
        }
        reading = more ? position : -1;
        readUntil = more ? -1 : position;
    }

    // ---- the end ----

    /**
     * Judges what only the end of the capture shows.
     *
     * @param doubt why packets may be missing in the capture; null if none are
     * @param answersSeen whether the capture has anything of the other direction
     * @param observations takes permitted events
     * @param notJudged takes the reason and the number of cases that could not be judged
     */
    void finish(
            @Nullable String doubt,
            boolean answersSeen,
            Consumer<String> observations,
            ObjLongConsumer<NotJudged> notJudged) {
        countStray(notJudged);
        notJudged.accept(NotJudged.BEFORE_FIRST, early.size());
        if (retransmissions > 0) {
            observations.accept(
                    "%s: %d of %d request packets were retransmitted".formatted(key, retransmissions, requests));
        }
        if (gaps > 0) {
            observations.accept(
                    "%s: %d gaps in the packet sequence; %d packets arrived late".formatted(key, gaps, late));
        }
        naks.forEach((what, count) -> observations.accept("%s: %d × %s".formatted(key, count, what)));
        boolean excused = closed && !overdue || failed || doubt != null || partial;
        if (partial && reliable) {
            notJudged.accept(NotJudged.MISSING, lost());
        }
        if (lost() > 0) {
            Map.Entry<Long, Long> first = missing.firstEntry();
            String what = "%s: PSN %d%s is missing"
                    .formatted(
                            key, (base + first.getKey()) % PSNS, (lost() == 1 ? "" : " and " + (lost() - 1) + " more"));
            (excused || !reliable ? observations : violations).accept(what);
        }
        if (!answersSeen && reliable) {
            notJudged.accept(NotJudged.ONE_SIDED, requests);
            return;
        }
        if (reliable && requests > 0 && acknowledged < next) {
            countUnanswered(next - acknowledged, notJudged);
            String what = "%s: %d of %d PSNs were not acknowledged, from PSN %d on"
                    .formatted(key, next - acknowledged, next, (base + acknowledged) % PSNS);
            (excused || ambiguous ? observations : violations).accept(what);
        } else if (!unanswered.isEmpty()) {
            countUnanswered(unanswered.size(), notJudged);
            String what = "%s: %d reads or atomics were not answered, the first up to PSN %d"
                    .formatted(key, unanswered.size(), (base + unanswered.getFirst()) % PSNS);
            (excused || ambiguous ? observations : violations).accept(what);
        }
    }

    private void countUnanswered(long count, ObjLongConsumer<NotJudged> notJudged) {
        if (partial) {
            notJudged.accept(NotJudged.UNANSWERED, count);
        }
    }

    /** Counts the responses to requests that are not in the capture. */
    void countStray(ObjLongConsumer<NotJudged> notJudged) {
        notJudged.accept(NotJudged.UNKNOWN_REQUEST, stray);
    }

    private long lost() {
        return missing.entrySet().stream()
                .mapToLong(gap -> gap.getValue() - gap.getKey())
                .sum();
    }

    WireReport.Flow report() {
        return new WireReport.Flow(
                key.source(),
                key.destination(),
                key.destinationQp(),
                requests,
                retransmissions,
                responses,
                reliable ? Math.min(acknowledged, next) : 0,
                next,
                lost(),
                naks);
    }
}
