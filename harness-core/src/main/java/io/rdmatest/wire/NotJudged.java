package io.rdmatest.wire;

/**
 * Why a rule could not be applied to something in a capture. The names are stable: {@code ./rdmatest wire --json} prints them.
 */
public enum NotJudged {
    /** A packet that was captured only in part: its invariant checksum is not checked. */
    CUT_PACKET("packets were captured in part: their invariant checksums were not checked"),
    /** A packet that was captured without all of its headers. */
    CUT_HEADERS("packets were captured without all of their headers"),
    /** A packet inside a tunnel that is not decoded. */
    TUNNEL(
            "packets inside a tunnel that is not decoded, such as IPsec: capture where it ends, or remove its headers with"
                    + " editcap -C OFFSET:LENGTH"),
    /** An IP fragment: the packet is split over several of them. */
    FRAGMENT("IP fragments: their invariant checksums and the content of later fragments were not checked"),
    /** An invariant checksum that the sender does not compute, or that is captured before the adapter computes it. */
    NO_CHECKSUM("packets of senders without any right invariant checksum: captured before the adapter computed it"),
    /** The invariant checksum of RoCE v1. */
    ROCE_V1("packets of RoCE v1: their invariant checksums were not checked"),
    /** UDP to port 4791 from a sender that is not known to send RoCE. */
    NOT_ROCE("UDP packets to port 4791 that are probably not RoCE"),
    /** A manufacturer's own operation, or one of the reliable datagram service. */
    OTHER_OPERATION("packets of a manufacturer's own operations, or of reliable datagrams"),
    /** A packet that was already captured on another interface. */
    DUPLICATE("packets were captured on several interfaces: each was judged once"),
    /** A packet of an unsupported link type. */
    OTHER_LINK("packets of interfaces that are neither Ethernet nor IP"),
    /** A packet to a group in a capture without Ethernet addresses. */
    NO_ETHERNET_ADDRESS("packets to groups, captured without their Ethernet addresses"),
    /** Requests in a capture that lacks the other direction, and so all answers. */
    ONE_SIDED("request packets whose answers' direction is not in the capture"),
    /** Requests with a number before that of the first one of their connection in the capture. */
    BEFORE_FIRST("request packets from before the first one of their connection in the capture: late, or sent again"),
    /** Answers whose request is not in the capture. */
    UNKNOWN_REQUEST("answers whose requests are not in the capture"),
    /** Packet sequence numbers that the capture lacks. */
    MISSING("packet sequence numbers that are not in the capture: lost, or not captured"),
    /** Packet sequence numbers without an acknowledgement in the capture. */
    UNANSWERED("packet sequence numbers, or reads, without an answer in the capture"),
    /** Requests to a queue pair number that another connection reuses, or that follow a gap in the capture. */
    RESTARTED(
            "times the packet sequence numbers of a queue pair restarted: another connection, or a gap in the capture"),
    /** An exchange of the communication manager that begins before the capture or ends after it. */
    PARTIAL_HANDSHAKE("messages of the communication manager whose exchange is only partly in the capture");

    private final String words;

    NotJudged(String words) {
        this.words = words;
    }

    /** Returns the text that follows the number in a report, such as {@code packets were captured in part}. */
    public String words() {
        return words;
    }
}
