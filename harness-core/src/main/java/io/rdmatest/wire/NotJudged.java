package io.rdmatest.wire;

/**
 * Why a rule could not be applied to something in a capture. The names are stable: {@code ./rdmatest wire --json} prints them.
 */
public enum NotJudged {
    /** A packet of which not every byte was captured: its invariant checksum is not checked. */
    CUT_PACKET("packets were captured in part: their invariant checksums were not checked"),
    /** A packet of which so few bytes were captured that its headers are not all there. */
    CUT_HEADERS("packets were captured without all of their headers"),
    /** An IP fragment: the bytes of the packet are spread over several of them. */
    FRAGMENT("IP fragments: their invariant checksums, and what later fragments hold, were not checked"),
    /** An invariant checksum that the sender does not compute, or that is captured before the adapter computes it. */
    NO_CHECKSUM("packets of senders that never have a right invariant checksum: captured before it was computed"),
    /** The invariant checksum of RoCE v1. */
    ROCE_V1("packets of RoCE v1: their invariant checksums were not checked"),
    /** UDP to port 4791 of a sender of which nothing proves that it sends RoCE. */
    NOT_ROCE("UDP packets to port 4791 that are probably not RoCE"),
    /** A manufacturer's own operation, or one of the reliable datagram service. */
    OTHER_OPERATION("packets of a manufacturer's own operations, or of reliable datagrams"),
    /** A packet that was captured on another interface before. */
    DUPLICATE("packets were captured on several interfaces: each was judged once"),
    /** A packet of a link type that can't be read. */
    OTHER_LINK("packets of interfaces that are neither Ethernet nor IP"),
    /** The Ethernet address of a group's packet in a capture that keeps none. */
    NO_ETHERNET_ADDRESS("packets to groups, captured without their Ethernet addresses"),
    /** Requests of which no answer can be in the capture, as it has nothing of the other direction. */
    ONE_SIDED("request packets whose answers' direction is not in the capture"),
    /** Answers whose request is not in the capture. */
    UNKNOWN_REQUEST("answers whose requests are not in the capture"),
    /** Packet sequence numbers that the capture lacks. */
    MISSING("packet sequence numbers that are not in the capture: lost, or not captured"),
    /** Packet sequence numbers that nobody acknowledged within the capture. */
    UNANSWERED("packet sequence numbers, or reads, without an answer in the capture"),
    /** Requests to a queue pair number that another connection uses again, or that jump over a part that was not captured. */
    RESTARTED(
            "times the packet sequence numbers of a queue pair began anew: another connection, or a part not captured"),
    /** An exchange of the communication manager that begins before the capture or ends behind it. */
    PARTIAL_HANDSHAKE(
            "messages of the communication manager whose exchange is not in the capture from its begin to its end");

    private final String words;

    NotJudged(String words) {
        this.words = words;
    }

    /** Returns what stands behind the number, such as {@code packets were captured in part}. */
    public String words() {
        return words;
    }
}
