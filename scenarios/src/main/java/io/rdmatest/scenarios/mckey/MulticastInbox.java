package io.rdmatest.scenarios.mckey;

import io.rdmatest.Cause;
import io.rdmatest.scenarios.engine.PayloadMismatchError;
import io.rdmatest.scenarios.mckey.MulticastMessage.Form;
import io.rdmatest.scenarios.mckey.MulticastMessage.Kind;
import io.rdmatest.scenarios.role.Delivery;
import io.rdmatest.scenarios.role.Delivery.Proof;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.Gid;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Verifies every message of one receiving queue pair, and counts them by sender.
 *
 * <p>Taking a message allocates nothing, except for a sender's first message and for wrong ones.
 */
final class MulticastInbox {

    /** The bytes before the payload of every datagram (ibv_poll_cq(3)). */
    static final int GRH = 40;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    // RoCE v2 over IPv4: the last 20 bytes have the IPv4 header; the bytes before are undefined.
    private static final int IPV4_VERSION = 20;
    private static final int IPV4_SOURCE = 32;
    private static final int IPV4_DESTINATION = 36;

    // All others: the global route header, or the IPv6 header with the same layout.
    private static final int GRH_SOURCE = 8;
    private static final int GRH_DESTINATION = 24;

    private final int receiver;
    private final int receiverQp;
    private final int size;
    private final int messages;
    private final int senders;
    private final boolean ipv4;
    private final Gid group;
    private final int groupIpv4;
    private final long groupHigh;
    private final long groupLow;
    private final MulticastMessage reader;

    private final List<Source> sources = new ArrayList<>();
    private int first;
    private long arrived;
    private long unannounced;
    private boolean complete;
    private @Nullable String problem;

    /**
     * @param receiver the index of the queue pair among those of its program, from 0
     * @param receiverQp the queue pair's number
     * @param options the options
     * @param group the group's MGID
     * @param ipv4 whether datagrams come with an IPv4 header instead of a global route header
     */
    MulticastInbox(int receiver, int receiverQp, MckeyOptions options, Gid group, boolean ipv4) {
        this.receiver = receiver;
        this.receiverQp = receiverQp;
        this.size = options.sizeBytes();
        this.messages = options.messages();
        this.senders = options.senders();
        this.group = group;
        this.ipv4 = ipv4;
        MemorySegment bytes = MemorySegment.ofArray(group.bytes());
        this.groupHigh = bytes.get(LONG, 0);
        this.groupLow = bytes.get(LONG, 8);
        this.groupIpv4 = bytes.get(INT, 12);
        this.reader = new MulticastMessage(size);
        begin(0);
    }

    /** Begins a new round: expects each sender's messages from this sequence number on. */
    void begin(int firstSequence) {
        first = firstSequence;
        sources.clear();
        arrived = 0;
        unannounced = 0;
        problem = null;
        complete = messages == 0;
    }

    /** Returns whether all expected messages arrived. */
    boolean isComplete() {
        return complete;
    }

    /** Returns how many messages arrived, right or wrong. */
    long arrived() {
        return arrived;
    }

    /** Returns the first problem; null if there is none. */
    @Nullable
    String problem() {
        return problem;
    }

    /**
     * Takes a message.
     *
     * @param senderQp the sender's queue pair number of the completion
     * @param hasImmediate whether it has immediate data
     * @param immediate the immediate data
     * @param hasGrh whether the buffer begins with a global route header
     * @param byteLength the completion's length, which includes the first 40 bytes
     * @param slot the buffer
     * @param message the part after the first 40 bytes
     * @param body the part after the message's header
     */
    void take(
            int senderQp,
            boolean hasImmediate,
            int immediate,
            boolean hasGrh,
            int byteLength,
            MemorySegment slot,
            MemorySegment message,
            MemorySegment body) {
        arrived++;
        boolean rightRoute = hasGrh && isToGroup(slot);
        Source source = source(senderQp, rightRoute ? origin(slot) : 0);
        if (!rightRoute) {
            source.violations++;
            note(
                    source,
                    hasGrh ? "its global route header is not addressed to " + group : "it has no global route header");
        }
        if (!hasImmediate || immediate != senderQp) {
            source.violations++;
            note(
                    source,
                    hasImmediate
                            ? "its immediate data is %d, not the sender's queue pair number".formatted(immediate)
                            : "it has no immediate data");
        }
        if (byteLength - GRH != size) {
            source.mismatches++;
            note(
                    source,
                    "it has %d bytes instead of %d: give both sides the same -S".formatted(byteLength - GRH, size));
        } else {
            examine(source, message, body);
        }
    }

    // ---- the route ----

    private boolean isToGroup(MemorySegment slot) {
        if (ipv4) {
            return version(slot, IPV4_VERSION) == 4 && slot.get(INT, IPV4_DESTINATION) == groupIpv4;
        }
        return version(slot, 0) == 6
                && slot.get(LONG, GRH_DESTINATION) == groupHigh
                && slot.get(LONG, GRH_DESTINATION + 8) == groupLow;
    }

    private static int version(MemorySegment slot, long offset) {
        return (slot.get(ValueLayout.JAVA_BYTE, offset) & 0xf0) >> 4;
    }

    /** Returns a number of the sending host, to distinguish equal queue pair numbers of several hosts; never 0. */
    private long origin(MemorySegment slot) {
        long address =
                ipv4 ? slot.get(INT, IPV4_SOURCE) : slot.get(LONG, GRH_SOURCE) * 31 + slot.get(LONG, GRH_SOURCE + 8);
        return address == 0 ? 1 : address;
    }

    // ---- the senders ----

    /** A sending queue pair. */
    private static final class Source {

        private final int queuePair;
        private final long origin;
        private final SequenceAccount account;

        /** Null until a message decides it. */
        private @Nullable Proof proof;

        private int program;
        private int index;
        private int count;
        private long end;
        private long counted;
        private long stale;
        private long mismatches;
        private long violations;
        private long bytesVerified;

        private Source(int queuePair, long origin, int messages) {
            this.queuePair = queuePair;
            this.origin = origin;
            this.account = new SequenceAccount(messages);
        }

        private boolean isComplete(int messages) {
            return proof == Proof.COUNTED ? counted >= messages : account.isComplete();
        }

        private long gaps() {
            return account.next() - account.received();
        }
    }

    private Source source(int queuePair, long origin) {
        for (int i = 0; i < sources.size(); i++) {
            Source source = sources.get(i);
            if (source.queuePair == queuePair && (origin == 0 || source.origin == origin)) {
                return source;
            }
        }
        Source source = new Source(queuePair, origin, messages);
        sources.add(source);
        return source;
    }

    private void note(Source source, String what) {
        if (problem == null) {
            problem = "message %d at QP %d, of QP %d: %s".formatted(arrived, receiverQp, source.queuePair, what);
        }
    }

    private void examine(Source source, MemorySegment message, MemorySegment body) {
        Kind kind = reader.read(message, first + source.account.next());
        if (source.proof == null && kind != Kind.DAMAGED) {
            identify(source, kind, body);
        }
        if (source.proof == Proof.COUNTED && kind == Kind.OURS && reader.form() != Form.BARE) {
            // The earlier message was not of the C program, but one of ours with a damaged header.
            source.mismatches += source.counted;
            unannounced -= source.counted;
            source.counted = 0;
            note(source, "earlier messages of the same sender have a damaged header");
            identify(source, kind, body);
        }
        if (source.proof == Proof.COUNTED) {
            source.counted++;
            unannounced++;
            settle(source);
            return;
        }
        if (kind != Kind.OURS || !isOf(source)) {
            source.mismatches++;
            note(source, "its header is damaged");
            return;
        }
        verify(source, body);
    }

    private void identify(Source source, Kind kind, MemorySegment body) {
        boolean ours = kind == Kind.OURS;
        if (reader.form() == Form.BARE) {
            // Such a small message has no mark; one of the C program could have the same content.
            ours = reader.sequence() == first && matches(body);
        }
        if (!ours) {
            source.proof = Proof.COUNTED;
        } else if (reader.form() == Form.FULL) {
            source.proof = Proof.FULL;
            source.program = reader.program();
            source.index = reader.index();
            source.count = reader.count();
            source.end = reader.end();
        } else {
            source.proof = Proof.COMPACT;
        }
    }

    private boolean matches(MemorySegment body) {
        try {
            reader.verify(body, "");
            return true;
        } catch (PayloadMismatchError e) {
            return false;
        }
    }

    private boolean isOf(Source source) {
        return source.proof != Proof.FULL
                || (reader.program() == source.program
                        && reader.index() == source.index
                        && reader.queuePair() == source.queuePair);
    }

    private void verify(Source source, MemorySegment body) {
        long sequence = reader.sequence() - first;
        try {
            reader.verify(body, "multicast payload");
            source.bytesVerified += size;
        } catch (PayloadMismatchError e) {
            source.mismatches++;
            note(source, e.getMessage());
            if (source.proof == Proof.COMPACT) {
                // Its sequence number is unreliable, too.
                return;
            }
        }
        if (sequence < 0) {
            source.stale++;
            note(source, "it is message %d, which is before the first expected one".formatted(reader.sequence()));
            return;
        }
        int before = source.account.received();
        source.account.accept(sequence);
        if (source.account.received() == before) {
            return;
        }
        if (source.proof == Proof.COMPACT) {
            unannounced++;
        } else if (source.end - first < messages && source.account.received() == source.end - first) {
            throw new ScenarioException(
                    Cause.PEER_LOST,
                    "The sender, QP %d, sends %d messages, but this receiver expects %d: give both sides the same -C"
                            .formatted(source.queuePair, source.end - first, messages));
        }
        settle(source);
    }

    /** Checks whether this was the last missing message. */
    private void settle(Source source) {
        if (!complete && (source.isComplete(messages) || unannounced >= messages)) {
            complete = isAllHere();
        }
    }

    private boolean isAllHere() {
        int programs = 0;
        boolean anyAnnounced = false;
        for (int i = 0; i < sources.size(); i++) {
            Source source = sources.get(i);
            if (source.proof != Proof.FULL) {
                programs += source.proof != null && source.isComplete(messages) ? 1 : 0;
                continue;
            }
            anyAnnounced = true;
            // Each program counts once, by its first queue pair.
            programs += source.index == 0 && isProgramComplete(source) ? 1 : 0;
        }
        // The C program counts the messages of all senders, and does not announce its number of queue pairs.
        return programs >= senders || (senders == 1 && !anyAnnounced && unannounced >= messages);
    }

    private boolean isProgramComplete(Source of) {
        int whole = 0;
        for (int i = 0; i < sources.size(); i++) {
            Source source = sources.get(i);
            if (source.proof == Proof.FULL && source.program == of.program && source.isComplete(messages)) {
                whole++;
            }
        }
        return whole == of.count;
    }

    // ---- results ----

    /** Returns the deliveries by sender, including missing senders. */
    List<Delivery> deliveries() {
        List<Delivery> deliveries = new ArrayList<>();
        long short0 = complete ? 0 : Math.max(0, messages - unannounced);
        boolean announced = false;
        Set<Integer> programs = new HashSet<>();
        for (Source source : sources) {
            Proof proof = source.proof == null ? Proof.COUNTED : source.proof;
            long lost;
            if (proof == Proof.FULL) {
                announced = true;
                boolean wanted = !complete || isProgramComplete(source);
                lost = wanted ? source.account.lost() : source.gaps();
                if (wanted && programs.add(source.program)) {
                    addUnheard(deliveries, source);
                }
            } else {
                lost = proof == Proof.COMPACT ? source.gaps() : 0;
            }
            deliveries.add(new Delivery(
                    receiver,
                    receiverQp,
                    source.queuePair,
                    proof,
                    proof == Proof.COUNTED ? source.counted : source.account.received(),
                    lost,
                    source.account.duplicates() + source.stale,
                    source.account.reordered(),
                    source.mismatches,
                    source.violations,
                    source.bytesVerified));
        }
        long known = deliveries.stream().mapToLong(Delivery::lost).sum();
        if (!announced && short0 > known) {
            deliveries.add(missing(short0 - known));
        }
        return deliveries;
    }

    /** Adds the queue pairs of a program of which no message arrived. */
    private void addUnheard(List<Delivery> deliveries, Source of) {
        long heard = sources.stream()
                .filter(source -> source.proof == Proof.FULL && source.program == of.program)
                .count();
        for (long i = heard; i < of.count; i++) {
            deliveries.add(missing(messages));
        }
    }

    private Delivery missing(long lost) {
        return new Delivery(receiver, receiverQp, 0, Proof.COUNTED, 0, lost, 0, 0, 0, 0, 0);
    }

    /** Describes the missing sequence numbers of the first sender with a loss; empty if there is none. */
    String missing() {
        for (Source source : sources) {
            if (source.proof == Proof.FULL && source.account.lost() > 0) {
                return "QP %d lacks %s of QP %d".formatted(receiverQp, source.account.missing(), source.queuePair);
            }
        }
        return "";
    }
}
