package io.rdmatest.wire;

import io.rdmatest.wire.Opcode.Transport;
import io.rdmatest.wire.RequestFlow.Key;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
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

    private record Id(InetAddress host, int number, boolean datagram) {}

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
    private @Nullable String doubt;
    private boolean membersRequired;
    private long packets;

    /** Creates a judge that has seen nothing. */
    public WireJudge() {}

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
     * Judges a file.
     *
     * @param pcap a capture
     * @throws IOException if it can't be read
     */
    public static WireReport judge(Path pcap) throws IOException {
        return new WireJudge().read(pcap);
    }

    private WireReport read(Path pcap) throws IOException {
        long ignored = PcapFile.read(pcap, frame -> accept(WirePacket.of(frame)));
        return finish();
    }

    /**
     * Says that packets are missing in what is judged: what seems lost or unanswered is then an observation.
     *
     * @param reason how that comes
     */
    public void incomplete(String reason) {
        doubt = reason;
    }

    /** Demands that somebody reported to be a member of each group that is sent to: nobody else would get the packets. */
    public void requireMembers() {
        membersRequired = true;
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
            case OtherPacket other -> {
                if (other.malformed()) {
                    violations.accept("a packet at " + other.time() + " is malformed: " + other.what());
                }
            }
        }
    }

    private Group group(InetAddress address) {
        return groups.computeIfAbsent(address, key -> new Group());
    }

    // ---- RoCE ----

    private void roce(RocePacket packet) {
        opcodes.merge(packet.opcode().name(), 1L, Long::sum);
        if (Boolean.FALSE.equals(packet.checksum())) {
            // Any other of its fields may be what is damaged.
            violate(packet, "its invariant checksum is wrong: it was damaged on the way");
            return;
        }
        if (!packet.opcode().isDefined()) {
            violate(packet, "its operation code is not defined");
            return;
        }
        if (packet.headerVersion() != 0) {
            violate(packet, "its transport header has version " + packet.headerVersion() + ", not 0");
        }
        judgeGroup(packet);
        if (packet.opcode().is(Transport.UD)) {
            packet.cm().ifPresent(message -> manage(packet, message));
        } else if (packet.opcode().isRequest()) {
            RequestFlow flow = flows.computeIfAbsent(
                    new Key(packet.source(), packet.destination(), packet.destinationQp()),
                    key -> new RequestFlow(key, violations));
            flow.request(packet);
        } else if (packet.opcode().isResponse()) {
            answer(packet);
        }
    }

    private void violate(RocePacket packet, String what) {
        violations.accept(packet.text() + ": " + what);
    }

    private void judgeGroup(RocePacket packet) {
        InetAddress to = packet.destination();
        if (!to.isMulticastAddress()) {
            if (packet.destinationMac().isGroup()) {
                violate(
                        packet,
                        "goes to the group's Ethernet address " + packet.destinationMac() + ", but to one IP address");
            }
            return;
        }
        group(to).packets++;
        Mac right = Mac.ofGroup(to);
        if (!packet.destinationMac().equals(right)) {
            violate(
                    packet,
                    "goes to the Ethernet address " + packet.destinationMac() + "; that of the group is " + right);
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
        Key key = new Key(packet.source(), packet.destination(), packet.destinationQp());
        Key asked = opposites.get(key);
        if (asked != null) {
            flows.computeIfAbsent(asked, each -> new RequestFlow(each, violations))
                    .response(packet);
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
            opposites.put(toServer, toClient);
            opposites.put(toClient, toServer);
        }
    }

    /** A connection begins, perhaps on a queue pair number that another one had. */
    private void open(Key key, int startingPsn, int mtu, Instant time) {
        RequestFlow flow = new RequestFlow(key, violations);
        flow.agree(startingPsn, mtu);
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
                violate(packet, message.text() + " comes before the reply");
                return;
            }
        } else if (exchange == null) {
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
                    violate(packet, message.text() + " answers a request that was never sent");
                }
            }
            default -> {}
        }
    }

    private boolean require(RocePacket packet, @Nullable Exchange exchange, CmMessage message, String otherwise) {
        if (exchange == null) {
            (doubt == null ? violations : observations).accept(packet.text() + ": " + message.text() + " " + otherwise);
        }
        return exchange != null;
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
        all.forEach(flow -> flow.finish(doubt, observations));
        strayAnswers.forEach((key, count) ->
                observations.accept("%s: %d answers, whose requests are not known".formatted(key, count)));
        exchanges.forEach(this::finish);
        groups.forEach((address, group) -> {
            if (group.packets > 0 && group.members.isEmpty()) {
                (membersRequired && doubt == null ? violations : observations)
                        .accept("nobody reported to be a member of the group " + address.getHostAddress()
                                + ", to which " + group.packets + " packets went");
            }
        });
        return new WireReport(
                packets,
                opcodes,
                all.stream().map(RequestFlow::report).toList(),
                exchanges.stream().map(Exchange::report).toList(),
                groups.entrySet().stream()
                        .map(each -> new WireReport.Group(
                                each.getKey(), each.getValue().packets, List.copyOf(each.getValue().members)))
                        .toList(),
                violations.list(),
                observations.list());
    }

    private void finish(Exchange exchange) {
        Findings unanswered = doubt == null ? violations : observations;
        boolean rejected = exchange.has(CmMessage.Type.REJ);
        if (exchange.request.type() == CmMessage.Type.SIDR_REQ) {
            if (!exchange.has(CmMessage.Type.SIDR_REP)) {
                unanswered.accept(exchange + " was never answered");
            }
        } else if (!exchange.has(CmMessage.Type.REP) && !rejected) {
            unanswered.accept(exchange + " was never answered");
        } else if (!rejected && !exchange.has(CmMessage.Type.RTU) && !exchange.has(CmMessage.Type.DREQ)) {
            unanswered.accept(exchange + " was answered, but the connection was never said to be in use");
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
