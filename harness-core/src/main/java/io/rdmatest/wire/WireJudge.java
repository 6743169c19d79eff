package io.rdmatest.wire;

import io.rdmatest.wire.Opcode.Transport;
import io.rdmatest.wire.RequestFlow.Key;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
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
 * Judges the packets of a fabric, in the order in which they passed.
 *
 * <p>There are two sorts of captures. One that has every packet from before an exchange to behind its end, such as one of
 * {@link WireCapture}: what is missing in it was never on the wire. And one from the field, see {@link #judge(Path)}: it may begin
 * and end anywhere, show one direction only, and lack packets. There, a violation is only what no packet outside of the capture
 * can excuse; what is missing is counted by its reason in {@link WireReport#notJudged()}.
 *
 * <p>It holds them against the specification: defined operations; packet sequence numbers that start as agreed and have no
 * gap that stays; messages whose packets follow each other; answers only to what was asked, and one for everything that
 * was; invariant checksums; the exchanges of the communication manager; the Ethernet addresses of multicast groups. What
 * breaks a rule is a <em>violation</em>. What a lossy fabric may do, such as packets that are sent again, is an
 * <em>observation</em>, as is what could not be judged.
 *
 * <p>Connections are known by the messages of the communication manager. Of one that was made otherwise, or before the
 * capture, the two directions are found by the sequence numbers of the first answers. Requests of the last second before a
 * connection is taken down, and those after a negative acknowledgement that ends it, may stay without an answer.
 *
 * <p>For one thread.
 */
public final class WireJudge {

    /** More of a kind say no more. */
    private static final int MOST_FINDINGS = 100;

    /** A packet that is captured on two interfaces is so within this time. */
    private static final Duration DUPLICATE = Duration.ofMillis(10);

    private static final int MOST_RECENT = 4096;
    private static final int MANUFACTURER = 0xc0;
    private static final int SERVICE_SHIFT = 5;
    private static final int RELIABLE_DATAGRAM = 2;

    private record Id(InetAddress host, int number, boolean datagram) {}

    /** What two captures of one packet have in common. */
    private record Fingerprint(
            InetAddress source,
            InetAddress destination,
            int sourcePort,
            int code,
            int queuePair,
            int psn,
            int length,
            ByteBuffer payload) {}

    private record Sighting(int interfaceId, Instant time) {}

    private record Direction(InetAddress source, InetAddress destination) {}

    /** An exchange of the communication manager as it goes on. */
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

    /** Only of a capture from the field: who computes invariant checksums, and what passed lately. */
    private final Set<InetAddress> checksumming = new HashSet<>();

    private final LinkedHashMap<Fingerprint, Sighting> recent = new LinkedHashMap<>();

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

    /** Creates a judge that has seen nothing, for packets of which none is missing unless {@link #incomplete(String)} says so. */
    public WireJudge() {
        this(false);
    }

    private WireJudge(boolean fromField) {
        this.fromField = fromField;
    }

    /**
     * Judges a capture.
     *
     * @param capture what was captured; if that is not all, missing packets are no violations
     * @throws IOException if its file can't be read
     */
    public static WireReport judge(WireCapture.Result capture) throws IOException {
        WireJudge judge = new WireJudge();
        if (!capture.isComplete()) {
            judge.incomplete("the kernel dropped %d packets, and %d found no room in the file"
                    .formatted(capture.dropped(), capture.leftOut()));
        }
        return judge.read(capture.file());
    }

    /**
     * Judges a file that has every packet of its exchanges, from their begin to their end and of both directions. What is missing
     * in it is a violation.
     *
     * @param capture a pcap or pcapng file
     * @throws IOException if it can't be read
     */
    public static WireReport judgeWhole(Path capture) throws IOException {
        return new WireJudge().read(capture);
    }

    /**
     * Judges a file from the field, which may have been cut anywhere and lack packets. Only what is in it can be a violation.
     *
     * @param capture a pcap or pcapng file, of tcpdump, dumpcap or wireshark
     * @throws IOException if it can't be read
     */
    public static WireReport judge(Path capture) throws IOException {
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
            incomplete("the capturing program could not keep up, and %d packets were dropped"
                    .formatted(contents.dropped()));
        }
        count(NotJudged.OTHER_LINK, contents.otherLink());
        return finish();
    }

    /** Notes who computes checksums, before anything is judged: an adapter may do so behind the place of the capture. */
    private void learn(WirePacket packet) {
        if (packet instanceof RocePacket roce && Boolean.TRUE.equals(roce.checksum())) {
            checksumming.add(roce.source());
        }
    }

    /**
     * Says that packets are missing in what is judged: what seems lost or unanswered is then an observation.
     *
     * @param reason how that comes
     */
    public void incomplete(String reason) {
        doubt = doubt == null ? reason : doubt + "; " + reason;
    }

    /** Demands that somebody reported to be a member of each group that is sent to: nobody else would get the packets. */
    public void requireMembers() {
        membersRequired = true;
    }

    private void accept(Frame frame) {
        WirePacket packet = WirePacket.of(frame);
        if (packet instanceof RocePacket roce && isDuplicate(roce, frame.interfaceId())) {
            packets++;
            count(NotJudged.DUPLICATE, 1);
        } else {
            accept(packet);
        }
    }

    /** A capture on several interfaces has a packet of a bond, a bridge or a VLAN more than once. */
    private boolean isDuplicate(RocePacket packet, int interfaceId) {
        if (interfaceId < 0) {
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
                && before.interfaceId() != interfaceId
                && Duration.between(before.time(), packet.time()).abs().compareTo(DUPLICATE) <= 0) {
            return true;
        }
        recent.put(fingerprint, new Sighting(interfaceId, packet.time()));
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

    /** In the field, UDP to RoCE's port may be anything, unless its sender has shown by a right checksum that it sends RoCE. */
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

    /** Judges what every packet has; returns whether the rest can be judged, too. */
    private boolean judgeIntegrity(RocePacket packet) {
        if (packet.unchecked() != null && packet.checksum() == null) {
            count(packet.unchecked(), 1);
        }
        if (Boolean.FALSE.equals(packet.checksum())) {
            if (fromField && (packet.unchecked() != null || !checksumming.contains(packet.source()))) {
                count(NotJudged.NO_CHECKSUM, 1);
            } else {
                judged++;
                // Any other of its fields may be what is damaged.
                violate(packet, "its invariant checksum is wrong: it was damaged on the way");
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

    /** The queue pair number may be another's now, with another one at its other side. */
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
                violate(packet, "goes to the group's Ethernet address " + mac + ", but to one IP address");
            }
            return;
        }
        group(to).packets++;
        Mac right = Mac.ofGroup(to);
        if (mac == null) {
            count(NotJudged.NO_ETHERNET_ADDRESS, 1);
        } else if (!mac.equals(right)) {
            violate(packet, "goes to the Ethernet address " + mac + "; that of the group is " + right);
        }
        if (packet.destinationQp() != RocePacket.MULTICAST_QP) {
            violate(packet, "goes to a group; the queue pair of every group is 0xffffff");
        }
        if (!packet.opcode().is(Transport.UD)) {
            violate(packet, "goes to a group; only datagrams may");
        }
    }

    /** An answer has nothing of the request but its number, and the queue pair that asked. */
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
            violate(packet, "is no acknowledgement, but has data");
        }
        if (aeth.type() == Aeth.Type.RESERVED) {
            violate(packet, "has a syndrome without a meaning");
        }
    }

    // ---- the communication manager ----

    private void manage(RocePacket packet, CmMessage message) {
        switch (message.type()) {
            case REQ, SIDR_REQ -> begin(packet, message);
            case REP -> reply(packet, message);
            case SIDR_REP -> {
                Exchange exchange = byId.get(new Id(packet.destination(), message.localId(), true));
                if (require(packet, exchange, message, "answers a request that was never sent")) {
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
        if (!require(packet, exchange, message, "answers a request that was never sent")) {
            return;
        }
        if (fromField && exchange.request.transaction() != message.transaction()) {
            // It has the ID of an earlier exchange, whose number is used again.
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
            // Each side says where the other one is to start.
            open(toServer, message.startingPsn(), exchange.request.mtu(), packet.time());
            open(toClient, exchange.request.startingPsn(), exchange.request.mtu(), packet.time());
            forgetOpposite(toServer);
            forgetOpposite(toClient);
            opposites.put(toServer, toClient);
            opposites.put(toClient, toServer);
        }
    }

    /** A connection begins, perhaps on a queue pair number that another one had. */
    private void open(Key key, int startingPsn, int mtu, Instant time) {
        RequestFlow flow = new RequestFlow(key, violations, fromField);
        flow.agree(startingPsn, mtu, time);
        RequestFlow before = flows.put(key, flow);
        if (before != null) {
            before.close(time);
            ended.add(before);
        }
    }

    private void goOn(RocePacket packet, CmMessage message) {
        Exchange exchange = byId.get(new Id(packet.destination(), message.remoteId(), false));
        if (exchange == null) {
            // A side that was never answered has no ID of the other to name.
            exchange = byId.get(new Id(packet.source(), message.localId(), false));
        }
        if (message.type() == CmMessage.Type.RTU) {
            if (!require(packet, exchange, message, "says that a connection is in use that was never made")) {
                return;
            }
            if (!exchange.has(CmMessage.Type.REP)) {
                if (fromField) {
                    count(NotJudged.PARTIAL_HANDSHAKE, 1);
                } else {
                    violate(packet, message.text() + " comes before the reply");
                }
                return;
            }
        } else if (exchange == null) {
            count(NotJudged.PARTIAL_HANDSHAKE, 1);
            observations.accept(message.text() + " is of a connection that was made before the capture");
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
                    violateIfWhole(packet, message.text() + " answers a request that was never sent");
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

    /** A violation, unless a packet that is not in the capture makes it right. */
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
     * Judges what only the end shows, such as requests without an answer, and returns the whole.
     *
     * @return the report; the judge is of no more use
     */
    public WireReport finish() {
        if (doubt != null) {
            observations.accept("the capture is not complete: " + doubt);
        }
        List<RequestFlow> all = new ArrayList<>(ended);
        all.addAll(flows.values());
        // A connection that was made and not used has none.
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
            observations.accept("%s: %d answers, whose requests are not known".formatted(key, count));
        });
        exchanges.forEach(this::finish);
        groups.forEach((address, group) -> {
            if (group.packets > 0 && group.members.isEmpty()) {
                (membersRequired && doubt == null && !fromField ? violations : observations)
                        .accept("nobody reported to be a member of the group " + address.getHostAddress()
                                + ", to which " + group.packets + " packets went");
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
            absent(
                    NotJudged.PARTIAL_HANDSHAKE,
                    exchange + " was answered, but the connection was never said to be in use");
        }
        if (exchange.has(CmMessage.Type.DREQ) && !exchange.has(CmMessage.Type.DREP)) {
            observations.accept(exchange + " was disconnected, but nobody confirmed it");
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
