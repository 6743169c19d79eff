package io.rdmatest.wire;

import java.net.InetAddress;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The findings of a {@link WireJudge} in a capture.
 *
 * @param packets the number of captured packets of any kind
 * @param judged how many RoCE packets were judged; if 0, the capture says nothing about the fabric
 * @param opcodes the number of RoCE packets by the name of their operation
 * @param flows the requests of each connection and direction, in the order of their first packet
 * @param handshakes the exchanges of the communication manager, in the order of their first message
 * @param groups the multicast groups with packets or membership reports
 * @param violations broken rules of the specification; empty if none
 * @param observations permitted events that are worth knowing, such as retransmissions and negative acknowledgements
 * @param notJudged how often a rule could not be applied, by reason
 * @param congestion the signs of congestion
 */
public record WireReport(
        long packets,
        long judged,
        SortedMap<String, Long> opcodes,
        List<Flow> flows,
        List<Handshake> handshakes,
        List<Group> groups,
        List<String> violations,
        List<String> observations,
        Map<NotJudged, Long> notJudged,
        Congestion congestion) {

    /**
     * Packets that signal congestion. They are not violations: a fabric avoids loss this way.
     *
     * @param marked RoCE packets that a switch marked (ECN CE)
     * @param notifications congestion notification packets (CNP), with which a receiver slows a sender down
     * @param pauses pause frames that stop all traffic
     * @param priorityPauses pause frames of priority flow control (PFC) that stop at least one priority
     */
    public record Congestion(long marked, long notifications, long pauses, long priorityPauses) {

        /** No sign of congestion. */
        public static final Congestion NONE = new Congestion(0, 0, 0, 0);
    }

    /** Copies the lists. */
    public WireReport {
        flows = List.copyOf(flows);
        handshakes = List.copyOf(handshakes);
        groups = List.copyOf(groups);
        violations = List.copyOf(violations);
        observations = List.copyOf(observations);
        notJudged = Collections.unmodifiableMap(new TreeMap<>(notJudged));
    }

    /**
     * The requests of one side of a connection.
     *
     * @param source the requester
     * @param destination the responder
     * @param destinationQp the responder's queue pair
     * @param requests the number of request packets, including retransmissions
     * @param retransmissions how many of them are retransmissions
     * @param responses the number of response packets
     * @param acknowledged how many of the captured packet sequence numbers were acknowledged
     * @param sent how many packet sequence numbers the requests used
     * @param lost how many of these are missing in the capture
     * @param naks the number of negative acknowledgements by their text
     */
    public record Flow(
            InetAddress source,
            InetAddress destination,
            int destinationQp,
            long requests,
            long retransmissions,
            long responses,
            long acknowledged,
            long sent,
            long lost,
            Map<String, Long> naks) {

        /** Copies the map. */
        public Flow {
            naks = Map.copyOf(naks);
        }
    }

    /**
     * One exchange of the communication manager, from the request on.
     *
     * @param client the side that sent the request
     * @param server the side that received the request
     * @param messages the messages in order, including retransmissions
     */
    public record Handshake(InetAddress client, InetAddress server, List<CmMessage> messages) {

        /** Copies the list. */
        public Handshake {
            messages = List.copyOf(messages);
        }

        /** Returns the distinct message types in order of their first message, such as {@code REQ REP RTU}. */
        public String sequence() {
            return messages.stream()
                    .map(message -> message.type().name())
                    .distinct()
                    .collect(Collectors.joining(" "));
        }

        /**
         * Returns the first message of a type.
         *
         * @throws IllegalStateException if there is none
         */
        public CmMessage first(CmMessage.Type type) {
            return messages.stream()
                    .filter(message -> message.type() == type)
                    .findFirst()
                    .orElseThrow(() -> new IllegalStateException("There is no " + type + " in "
                            + client.getHostAddress() + "→" + server.getHostAddress() + ": " + sequence()));
        }
    }

    /**
     * A multicast group.
     *
     * @param address the group
     * @param packets the number of packets to it
     * @param members the hosts that reported membership
     */
    public record Group(InetAddress address, long packets, List<InetAddress> members) {

        /** Copies the list. */
        public Group {
            members = List.copyOf(members);
        }
    }

    /** Returns whether there are no violations; also true if nothing was judged, see {@link #judged()}. */
    public boolean isClean() {
        return violations.isEmpty();
    }

    /** Returns how many request packets are retransmissions. */
    public long retransmissions() {
        return flows.stream().mapToLong(Flow::retransmissions).sum();
    }

    /**
     * Requires a report without violations.
     *
     * @throws WireViolationError if there are violations; it names each
     */
    public void requireClean() {
        if (!isClean()) {
            throw new WireViolationError(violations);
        }
    }

    /** Returns the whole report as lines of text. */
    public String text() {
        StringBuilder text = new StringBuilder();
        text.append("%d packets, %d violations, %d packets judged%n".formatted(packets, violations.size(), judged));
        if (judged == 0) {
            text.append("nothing was judged: the capture has no RoCE packet that can be judged\n");
        }
        lines(text, "violation", violations);
        lines(text, "observation", observations);
        notJudged.forEach((reason, count) -> text.append("not judged: %d %s%n".formatted(count, reason.words())));
        if (!congestion.equals(Congestion.NONE)) {
            text.append("congestion: %d packets marked (ECN CE), %d CNPs, %d pause frames, %d PFC frames%n"
                    .formatted(
                            congestion.marked(),
                            congestion.notifications(),
                            congestion.pauses(),
                            congestion.priorityPauses()));
        }
        for (Flow flow : flows) {
            text.append(
                    "%s→%s QP 0x%06x: %d request packets, %d of them retransmitted; %d of %d PSNs acknowledged by %d packets%s%s%n"
                            .formatted(
                                    flow.source().getHostAddress(),
                                    flow.destination().getHostAddress(),
                                    flow.destinationQp(),
                                    flow.requests(),
                                    flow.retransmissions(),
                                    flow.acknowledged(),
                                    flow.sent(),
                                    flow.responses(),
                                    flow.lost() == 0 ? "" : "; " + flow.lost() + " missing",
                                    flow.naks().isEmpty() ? "" : "; " + flow.naks()));
        }
        for (Handshake handshake : handshakes) {
            text.append("%s→%s %s%n"
                    .formatted(
                            handshake.client().getHostAddress(),
                            handshake.server().getHostAddress(),
                            handshake.sequence()));
            handshake
                    .messages()
                    .forEach(message ->
                            text.append("    ").append(message.text()).append('\n'));
        }
        for (Group group : groups) {
            text.append("group %s: %d packets, reported by %s%n"
                    .formatted(
                            group.address().getHostAddress(),
                            group.packets(),
                            group.members().isEmpty()
                                    ? "nobody"
                                    : group.members().stream()
                                            .map(InetAddress::getHostAddress)
                                            .collect(Collectors.joining(", "))));
        }
        opcodes.forEach(
                (name, count) -> text.append(count).append(" × ").append(name).append('\n'));
        return text.toString();
    }

    private static void lines(StringBuilder text, String what, List<String> lines) {
        lines.forEach(line -> text.append(what).append(": ").append(line).append('\n'));
    }
}
