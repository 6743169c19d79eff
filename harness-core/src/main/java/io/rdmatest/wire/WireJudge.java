package io.rdmatest.wire;

import io.rdmatest.wire.Opcode.Transport;
import io.rdmatest.wire.RequestFlow.Key;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Judges the packets of a fabric, in the order of their capture.
 *
 * <p>There are two kinds of captures. A whole capture, such as one of {@link WireCapture}, has every packet of its
 * exchanges. A packet that it lacks was never on the wire. A capture from the field, see {@link #judge(Path)}, may
 * begin and end anywhere, have one direction only, and lack packets. There, a violation must hold whatever the missing
 * packets were. {@link WireReport#notJudged()} counts the other cases by reason.
 *
 * <p>The rules are those of the specification: defined operations; packet sequence numbers that start as agreed and
 * have no lasting gap; messages of consecutive packets; one answer to each request, and no other answers; invariant
 * checksums; the exchanges of the communication manager; the Ethernet addresses of multicast groups. A broken rule is a
 * <em>violation</em>. Events that a lossy fabric may have, such as retransmissions, are <em>observations</em>.
 *
 * <p>The messages of the communication manager identify connections. Without them, the sequence numbers of the first
 * answers match the two directions of a connection. Two kinds of requests may stay without an answer: those of the last
 * second before a disconnect, and those after a fatal negative acknowledgement.
 *
 * <p>For one thread.
 */
public final class WireJudge {

    /** The most findings of a kind that are kept. */
    private static final int MOST_FINDINGS = 100;

    /** Two captures of one packet on two interfaces, or of a packet and its copy, are at most this far apart. */
    private static final Duration DUPLICATE = Duration.ofMillis(10);

    private static final int MOST_RECENT = 4096;
    private static final int MANUFACTURER = 0xc0;
    private static final int SERVICE_SHIFT = 5;
    private static final int RELIABLE_DATAGRAM = 2;

    private record Id(InetAddress host, int number, boolean datagram) {}

    /** The fields that two captures of one packet have in common. */
    private record Fingerprint(
            InetAddress source,
            InetAddress destination,
            int sourcePort,
            int code,
            int queuePair,
            int psn,
            int length,
            ByteBuffer payload) {}

    private record Sighting(long interfaceId, Instant time, int identification) {}

    private record Direction(InetAddress source, InetAddress destination) {}

    /** An exchange of the communication manager. */
    private static final class Exchange {

        final InetAddress client;
        final InetAddress server;
        final CmMessage request;
        final List<CmMessage> messages = new ArrayList<>();

        @Nullable
        Key toServer;

        @Nullable
        Key toClient;

        Exchange(InetAddress client, InetAddress server, CmMessage request) {
            this.client = client;
            this.server = server;
            this.request = request;
        }

        boolean has(CmMessage.Type type) {
            return messages.stream().anyMatch(message -> message.type() == type);
        }

        WireReport.Handshake report() {
            return new WireReport.Handshake(client, server, messages);
        }

        @Override
        public String toString() {
            return client.getHostAddress() + "→" + server.getHostAddress() + ": " + request.text();
        }
    }

    private static final class Group {

        long packets;
        final Set<InetAddress> members = new LinkedHashSet<>();
    }

    private static final class Findings implements Consumer<String> {

        private final List<String> kept = new ArrayList<>();
        private int more;

        @Override
        public void accept(String finding) {
            if (kept.size() < MOST_FINDINGS) {
                kept.add(finding);
            } else {
                more++;
            }
        }

        List<String> list() {
            List<String> all = new ArrayList<>(kept);
            if (more > 0) {
                all.add("and " + more + " more");
            }
            return all;
        }
    }

    private final Findings violations = new Findings();
    private final Findings observations = new Findings();
    private final SortedMap<String, Long> opcodes = new TreeMap<>();
    private final Map<Key, RequestFlow> flows = new LinkedHashMap<>();
    private final List<RequestFlow> ended = new ArrayList<>();
    private final Map<Key, Key> opposites = new HashMap<>();
    private final Map<Key, Long> strayAnswers = new LinkedHashMap<>();
    private final Map<Id, Exchange> byId = new HashMap<>();
    private final List<Exchange> exchanges = new ArrayList<>();
    private final Map<InetAddress, Group> groups = new LinkedHashMap<>();
    private final Map<NotJudged, Long> notJudged = new EnumMap<>(NotJudged.class);
    private final Set<Direction> directions = new HashSet<>();

    /** Only for captures from the field: the senders with right invariant checksums, and the latest packets. */
    private final Set<InetAddress> checksumming = new HashSet<>();

    private final LinkedHashMap<Fingerprint, Sighting> recent = new LinkedHashMap<>();

    /** The latest IP identification of each sender, and the senders whose packets have different ones. */
    private final Map<InetAddress, Integer> identifications = new HashMap<>();

    private final Set<InetAddress> identifying = new HashSet<>();

    /** How many copies the network made of packets in a direction. */
    private final Map<Direction, Long> doubled = new LinkedHashMap<>();

    /** Whether packets may be missing at any place of the capture. */
    private final boolean fromField;

    private @Nullable String doubt;
    private long judged;
    private long marked;
    private long notifications;
    private long pauses;
    private long priorityPauses;
    private boolean membersRequired;
    private long packets;

    /** Creates a judge of whole captures; {@link #incomplete(String)} makes exceptions. */
    public WireJudge() {
        this(false);
    }

    private WireJudge(boolean fromField) {
        this.fromField = fromField;
    }

    /**
     * Judges a capture.
     *
     * @param capture the capture; if it is incomplete, missing packets are not violations
     * @throws IOException if its file can't be read
     */
    public static WireReport judge(WireCapture.Result capture) throws IOException {
        WireJudge judge = new WireJudge();
        if (!capture.isComplete()) {
            judge.incomplete("the kernel dropped %d packets, and %d did not fit into the file"
                    .formatted(capture.dropped(), capture.leftOut()));
        }
        return judge.read(capture.file());
    }

    /**
     * Judges a file that has every packet of its exchanges, from begin to end and in both directions. A missing packet
     * is a violation.
     *
     * @param capture a pcap or pcapng file, or a pipe with the content of one
     * @throws IOException if it can't be read
     */
    public static WireReport judgeWhole(Path capture) throws IOException {
        return new WireJudge().read(capture);
    }

    /**
     * Judges a file from the field, which may begin and end anywhere and lack packets. Missing packets are not
     * violations.
     *
     * @param capture a pcap or pcapng file, of tcpdump, dumpcap or wireshark, or a pipe with the content of one
     * @throws IOException if it can't be read
     */
    public static WireReport judge(Path capture) throws IOException {
        if (!Files.exists(capture) || Files.isRegularFile(capture) || Files.isDirectory(capture)) {
            return judgeTwice(capture);
        }
        // A pipe can be read once only.
        Path copy = Files.createTempFile("rdmatest-wire", ".pcap");
        try {
            try (InputStream pipe = Files.newInputStream(capture)) {
                long ignored = Files.copy(pipe, copy, StandardCopyOption.REPLACE_EXISTING);
            } catch (IOException e) {
                throw new IOException(capture + " can't be copied to " + copy + ": " + e, e);
            }
            try {
                return judgeTwice(copy);
            } catch (IOException e) {
                throw new IOException(String.valueOf(e.getMessage()).replace(copy.toString(), capture.toString()), e);
            }
        } finally {
            Files.delete(copy);
        }
    }

    private static WireReport judgeTwice(Path capture) throws IOException {
        WireJudge judge = new WireJudge(true);
        Object ignored = PcapFile.read(capture, frame -> judge.learn(WirePacket.of(frame)));
        return judge.read(capture);
    }

    private WireReport read(Path capture) throws IOException {
        PcapFile.Contents contents = PcapFile.read(capture, this::accept);
        if (contents.cutShort() != null) {
            incomplete(contents.cutShort());
        }
        if (contents.dropped() > 0) {
            incomplete(
                    "the capturing program dropped %d packets because it was too slow".formatted(contents.dropped()));
        }
        count(NotJudged.OTHER_LINK, contents.otherLink());
        return finish();
    }

    /** Notes the senders with right checksums before the judging: an adapter may compute them after the capture. */
    private void learn(WirePacket packet) {
        if (packet instanceof RocePacket roce && Boolean.TRUE.equals(roce.checksum())) {
            checksumming.add(roce.source());
        }
    }

    /**
     * Notes that the capture lacks packets. Apparent losses and missing answers are then observations.
     *
     * @param reason why packets are missing
     */
    public void incomplete(String reason) {
        doubt = doubt == null ? reason : doubt + "; " + reason;
    }

    /**
     * Requires a membership report for each group that packets are sent to. Switches would not forward them without.
     */
    public void requireMembers() {
        membersRequired = true;
    }

    private void accept(Frame frame) {
        WirePacket packet = WirePacket.of(frame);
        if (packet instanceof RocePacket roce && isDuplicate(roce, frame.interfaceId())) {
            packets++;
        } else {
            accept(packet);
        }
    }

    /**
     * Counts a packet that was already captured: on another interface, as with a bond, a bridge or a VLAN, or as a copy that the
     * network made. Senders that number their IP packets give a retransmission another number.
     */
    private boolean isDuplicate(RocePacket packet, long interfaceId) {
        int identification = packet.identification();
        Integer latest = identifications.put(packet.source(), identification);
        if (latest != null && latest != identification) {
            identifying.add(packet.source());
        }
        if (interfaceId < 0 && identification <= 0) {
            // Nothing tells a copy from a retransmission.
            return false;
        }
        Fingerprint fingerprint = new Fingerprint(
                packet.source(),
                packet.destination(),
                packet.sourcePort(),
                packet.opcode().code(),
                packet.destinationQp(),
                packet.psn(),
                packet.payloadLength(),
                packet.payload());
        Sighting before = recent.get(fingerprint);
        if (before != null
                && Duration.between(before.time(), packet.time()).abs().compareTo(DUPLICATE) <= 0) {
            if (interfaceId >= 0 && before.interfaceId() != interfaceId) {
                count(NotJudged.DUPLICATE, 1);
                return true;
            }
            if (identification > 0
                    && before.identification() == identification
                    && identifying.contains(packet.source())
                    && !Boolean.FALSE.equals(packet.checksum())) {
                doubled.merge(new Direction(packet.source(), packet.destination()), 1L, Long::sum);
                return true;
            }
        }
        recent.put(fingerprint, new Sighting(interfaceId, packet.time(), identification));
        if (recent.size() > MOST_RECENT) {
            Object ignored = recent.pollFirstEntry();
        }
        return false;
    }

    /**
     * Judges a packet.
     *
     * @param packet the next one
     */
    public void accept(WirePacket packet) {
        packets++;
        switch (packet) {
            case RocePacket roce -> roce(roce);
            case MembershipReport report ->
                report.joined().forEach(group -> group(group).members.add(report.sender()));
            case PauseFrame pause -> {
                if (pause.isOfPriorities()) {
                    priorityPauses += pause.resumes() ? 0 : 1;
                } else {
                    pauses += pause.resumes() ? 0 : 1;
                }
            }
            case OtherPacket other -> other(other);
        }
    }

    private void other(OtherPacket packet) {
        if (packet.notJudged() != null) {
            count(packet.notJudged(), 1);
        } else if (packet.malformed()) {
            if (isTrusted(packet.source())) {
                violations.accept("a packet at " + packet.time() + " is malformed: " + packet.what());
            } else {
                count(NotJudged.NOT_ROCE, 1);
            }
        }
    }

    /**
     * In the field, UDP to RoCE's port may be other traffic. A right invariant checksum proves that its sender sends
     * RoCE.
     */
    private boolean isTrusted(@Nullable InetAddress source) {
        return !fromField || source != null && checksumming.contains(source);
    }

    private void count(NotJudged reason, long times) {
        if (times > 0) {
            notJudged.merge(reason, times, Long::sum);
        }
    }

    private Group group(InetAddress address) {
        return groups.computeIfAbsent(address, key -> new Group());
    }

    // ---- RoCE ----

    private void roce(RocePacket packet) {
        opcodes.merge(packet.opcode().name(), 1L, Long::sum);
        marked += packet.isCongestionMarked() ? 1 : 0;
        if (!judgeIntegrity(packet)) {
            return;
        }
        judged++;
        judgeGroup(packet);
        if (packet.opcode().is(Transport.UD)) {
            packet.cm().ifPresent(message -> manage(packet, message));
        } else if (packet.opcode().is(Transport.CNP)) {
            notifications++;
        } else if (packet.opcode().isRequest()) {
            directions.add(new Direction(packet.source(), packet.destination()));
            request(packet);
        } else if (packet.opcode().isResponse()) {
            directions.add(new Direction(packet.source(), packet.destination()));
            answer(packet);
        }
    }

    /** Judges the base transport header and the checksum; returns whether the rest can be judged, too. */
    private boolean judgeIntegrity(RocePacket packet) {
        if (packet.unchecked() != null && packet.checksum() == null) {
            count(packet.unchecked(), 1);
        }
        if (Boolean.FALSE.equals(packet.checksum())) {
            if (fromField && (packet.unchecked() != null || !checksumming.contains(packet.source()))) {
                count(NotJudged.NO_CHECKSUM, 1);
            } else {
                judged++;
                // Any of its fields may be damaged.
                violate(packet, "its invariant checksum is wrong: it was damaged in transit");
                return false;
            }
        }
        int code = packet.opcode().code();
        if (code >= MANUFACTURER || code >> SERVICE_SHIFT == RELIABLE_DATAGRAM) {
            count(NotJudged.OTHER_OPERATION, 1);
            return false;
        }
        boolean defined = packet.opcode().isDefined();
        if ((!defined || packet.headerVersion() != 0) && !isTrusted(packet.source())) {
            count(NotJudged.NOT_ROCE, 1);
            return false;
        }
        if (!defined) {
            judged++;
            violate(packet, "its operation code is not defined");
            return false;
        }
        if (packet.headerVersion() != 0) {
            violate(packet, "its transport header has version " + packet.headerVersion() + ", not 0");
        }
        return true;
    }

    private void request(RocePacket packet) {
        Key key = new Key(packet.source(), packet.destination(), packet.destinationQp());
        RequestFlow flow = flow(key);
        if (flow.isOver(packet)) {
            count(NotJudged.RESTARTED, 1);
            forgetOpposite(key);
            flow.close(packet.time());
            ended.add(flow);
            flow = new RequestFlow(key, violations, fromField);
            flows.put(key, flow);
        }
        flow.request(packet);
    }

    private RequestFlow flow(Key key) {
        return flows.computeIfAbsent(key, each -> new RequestFlow(each, violations, fromField));
    }

    /** Forgets the opposite direction: the queue pair number may now belong to another connection. */
    private void forgetOpposite(Key key) {
        Key other = opposites.remove(key);
        if (other != null && key.equals(opposites.get(other))) {
            opposites.remove(other);
        }
    }

    private void violate(RocePacket packet, String what) {
        violations.accept(packet.text() + ": " + what);
    }

    private void judgeGroup(RocePacket packet) {
        InetAddress to = packet.destination();
        Mac mac = packet.destinationMac();
        if (!to.isMulticastAddress()) {
            if (mac != null && mac.isGroup()) {
                violate(packet, "goes to the group Ethernet address " + mac + ", but to a unicast IP address");
            }
            return;
        }
        group(to).packets++;
        Mac right = Mac.ofGroup(to);
        if (mac == null) {
            count(NotJudged.NO_ETHERNET_ADDRESS, 1);
        } else if (!mac.equals(right)) {
            violate(packet, "goes to the Ethernet address " + mac + "; the group's address is " + right);
        }
        if (packet.destinationQp() != RocePacket.MULTICAST_QP) {
            violate(packet, "goes to a group, whose queue pair number must be 0xffffff");
        }
        if (!packet.opcode().is(Transport.UD)) {
            violate(packet, "goes to a group, which only datagrams may");
        }
    }

    /** Judges a response. It has only the PSN of its request, and the requester's queue pair. */
    private void answer(RocePacket packet) {
        judgeSyndrome(packet);
        Key key = new Key(packet.source(), packet.destination(), packet.destinationQp());
        Key asked = opposites.get(key);
        if (asked != null) {
            flow(asked).response(packet);
            return;
        }
        List<RequestFlow> candidates = flows.values().stream()
                .filter(flow -> flow.key().source().equals(packet.destination())
                        && flow.key().destination().equals(packet.source())
                        && !opposites.containsValue(flow.key())
                        && flow.covers(packet.psn()))
                .toList();
        if (candidates.size() == 1) {
            RequestFlow flow = candidates.getFirst();
            opposites.put(key, flow.key());
            opposites.put(flow.key(), key);
            flow.response(packet);
        } else {
            candidates.forEach(RequestFlow::doubt);
            strayAnswers.merge(key, 1L, Long::sum);
        }
    }

    private void judgeSyndrome(RocePacket packet) {
        Aeth aeth = packet.acknowledgement();
        if (aeth == null || aeth.type() == Aeth.Type.ACK) {
            return;
        }
        if (packet.opcode().is(Opcode.Kind.READ_RESPONSE)) {
            violate(packet, "has data, but is a negative acknowledgement");
        }
        if (aeth.type() == Aeth.Type.RESERVED) {
            violate(packet, "has a reserved syndrome");
        }
    }

    // ---- the communication manager ----

    private void manage(RocePacket packet, CmMessage message) {
        switch (message.type()) {
            case REQ, SIDR_REQ -> begin(packet, message);
            case REP -> reply(packet, message);
            case SIDR_REP -> {
                Exchange exchange = byId.get(new Id(packet.destination(), message.localId(), true));
                if (require(packet, exchange, message, "answers a request that was not sent")) {
                    exchange.messages.add(message);
                }
            }
            default -> goOn(packet, message);
        }
    }

    private void begin(RocePacket packet, CmMessage message) {
        Id id = new Id(packet.source(), message.localId(), message.type() == CmMessage.Type.SIDR_REQ);
        Exchange known = byId.get(id);
        if (known == null || known.request.transaction() != message.transaction()) {
            known = new Exchange(packet.source(), packet.destination(), message);
            byId.put(id, known);
            exchanges.add(known);
        }
        known.messages.add(message);
    }

    private void reply(RocePacket packet, CmMessage message) {
        Exchange exchange = byId.get(new Id(packet.destination(), message.remoteId(), false));
        if (!require(packet, exchange, message, "answers a request that was not sent")) {
            return;
        }
        if (fromField && exchange.request.transaction() != message.transaction()) {
            // Another exchange reuses the communication ID.
            count(NotJudged.PARTIAL_HANDSHAKE, 1);
            byId.remove(new Id(packet.destination(), message.remoteId(), false));
            return;
        }
        exchange.messages.add(message);
        if (exchange.toServer == null) {
            byId.put(new Id(packet.source(), message.localId(), false), exchange);
            Key toServer = new Key(exchange.client, exchange.server, message.queuePair());
            Key toClient = new Key(exchange.server, exchange.client, exchange.request.queuePair());
            exchange.toServer = toServer;
            exchange.toClient = toClient;
            // Each side chooses the starting PSN of the other one.
            open(toServer, message.startingPsn(), exchange.request, packet.time());
            open(toClient, exchange.request.startingPsn(), exchange.request, packet.time());
            forgetOpposite(toServer);
            forgetOpposite(toClient);
            opposites.put(toServer, toClient);
            opposites.put(toClient, toServer);
        }
    }

    /** Begins a connection, possibly on a reused queue pair number. */
    private void open(Key key, int startingPsn, CmMessage agreement, Instant time) {
        RequestFlow flow = new RequestFlow(key, violations, fromField);
        flow.agree(startingPsn, agreement, time);
        RequestFlow before = flows.put(key, flow);
        if (before != null) {
            before.close(time);
            ended.add(before);
        }
    }

    private void goOn(RocePacket packet, CmMessage message) {
        Exchange exchange = byId.get(new Id(packet.destination(), message.remoteId(), false));
        if (exchange == null) {
            // Without an answer a side does not know the other side's ID.
            exchange = byId.get(new Id(packet.source(), message.localId(), false));
        }
        if (message.type() == CmMessage.Type.RTU) {
            if (!require(packet, exchange, message, "confirms a connection that was not requested")) {
                return;
            }
            if (!exchange.has(CmMessage.Type.REP)) {
                if (fromField) {
                    count(NotJudged.PARTIAL_HANDSHAKE, 1);
                } else {
                    violate(packet, message.text() + " precedes the reply");
                }
                return;
            }
        } else if (exchange == null) {
            count(NotJudged.PARTIAL_HANDSHAKE, 1);
            observations.accept(message.text() + " belongs to a connection that was established before the capture");
            return;
        }
        exchange.messages.add(message);
        switch (message.type()) {
            case DREQ -> {
                Key to = packet.source().equals(exchange.client) ? exchange.toServer : exchange.toClient;
                if (to != null && to.destinationQp() != message.queuePair()) {
                    violate(
                            packet,
                            message.text()
                                    + " names another queue pair than the connection's 0x%06x"
                                            .formatted(to.destinationQp()));
                }
                close(exchange, packet.time());
            }
            case REJ -> close(exchange, packet.time());
            case DREP -> {
                if (!exchange.has(CmMessage.Type.DREQ)) {
                    violateIfWhole(packet, message.text() + " answers a request that was not sent");
                }
            }
            default -> {}
        }
    }

    private boolean require(RocePacket packet, @Nullable Exchange exchange, CmMessage message, String otherwise) {
        if (exchange == null) {
            violateIfWhole(packet, message.text() + " " + otherwise);
        }
        return exchange != null;
    }

    /** Reports a violation, unless a packet outside of the capture may explain it. */
    private void violateIfWhole(RocePacket packet, String what) {
        absent(NotJudged.PARTIAL_HANDSHAKE, packet.text() + ": " + what);
    }

    private void absent(NotJudged reason, String what) {
        if (fromField) {
            count(reason, 1);
        }
        (fromField || doubt != null ? observations : violations).accept(what);
    }

    private void close(Exchange exchange, Instant time) {
        for (Key key : new @Nullable Key[] {exchange.toServer, exchange.toClient}) {
            RequestFlow flow = key == null ? null : flows.get(key);
            if (flow != null) {
                flow.close(time);
            }
        }
    }

    // ---- the end ----

    /**
     * Judges what only the end shows, such as requests without an answer, and returns the report.
     *
     * @return the report; the judge can't be used any more
     */
    public WireReport finish() {
        if (doubt != null) {
            observations.accept("the capture is not complete: " + doubt);
        }
        List<RequestFlow> all = new ArrayList<>(ended);
        all.addAll(flows.values());
        // A connection without traffic has none.
        all.removeIf(flow -> flow.report().requests() == 0);
        all.forEach(flow -> {
            Key key = flow.key();
            boolean answersSeen = !fromField || directions.contains(new Direction(key.destination(), key.source()));
            flow.finish(doubt, answersSeen, observations, this::count);
        });
        flows.values().stream()
                .filter(flow -> flow.report().requests() == 0)
                .forEach(flow -> flow.countStray(this::count));
        strayAnswers.forEach((key, count) -> {
            count(NotJudged.UNKNOWN_REQUEST, count);
            observations.accept("%s: %d answers to unknown requests".formatted(key, count));
        });
        doubled.forEach((direction, count) ->
                observations.accept("%s→%s: %d packets came twice with one IP identification: the network doubled them"
                        .formatted(
                                direction.source().getHostAddress(),
                                direction.destination().getHostAddress(),
                                count)));
        exchanges.forEach(this::finish);
        groups.forEach((address, group) -> {
            if (group.packets > 0 && group.members.isEmpty()) {
                (membersRequired && doubt == null && !fromField ? violations : observations)
                        .accept("no host reported membership of the group " + address.getHostAddress() + ", but "
                                + group.packets + " packets were sent to it");
            }
        });
        return new WireReport(
                packets,
                judged,
                opcodes,
                all.stream().map(RequestFlow::report).toList(),
                exchanges.stream().map(Exchange::report).toList(),
                groups.entrySet().stream()
                        .map(each -> new WireReport.Group(
                                each.getKey(), each.getValue().packets, List.copyOf(each.getValue().members)))
                        .toList(),
                violations.list(),
                observations.list(),
                notJudged,
                new WireReport.Congestion(marked, notifications, pauses, priorityPauses));
    }

    private void finish(Exchange exchange) {
        boolean rejected = exchange.has(CmMessage.Type.REJ);
        if (exchange.request.type() == CmMessage.Type.SIDR_REQ) {
            if (!exchange.has(CmMessage.Type.SIDR_REP)) {
                absent(NotJudged.PARTIAL_HANDSHAKE, exchange + " was never answered");
            }
        } else if (!exchange.has(CmMessage.Type.REP) && !rejected) {
            absent(NotJudged.PARTIAL_HANDSHAKE, exchange + " was never answered");
        } else if (!rejected && !exchange.has(CmMessage.Type.RTU) && !exchange.has(CmMessage.Type.DREQ)) {
            absent(NotJudged.PARTIAL_HANDSHAKE, exchange + " was answered, but the reply was not confirmed (no RTU)");
        }
        if (exchange.has(CmMessage.Type.DREQ) && !exchange.has(CmMessage.Type.DREP)) {
            observations.accept(exchange + " was disconnected without a confirmation (no DREP)");
        }
        Map<CmMessage.Type, Integer> times = new TreeMap<>();
        exchange.messages.forEach(message -> times.merge(message.type(), 1, Integer::sum));
        times.forEach((type, count) -> {
            if (count > 1) {
                observations.accept("%s: %d × %s".formatted(exchange, count, type));
            }
        });
    }
}
