package io.rdmatest.wire;

import java.util.Map;
import java.util.Optional;

/**
 * The operation code of a packet, section 9.2.1: the transport service in the upper three bits, the operation in the others.
 *
 * @param code the value, 0 to 255; undefined values are allowed
 */
public record Opcode(int code) {

    /** The transport service. */
    public enum Transport {
        /** Reliable connection. */
        RC,
        /** Unreliable connection. */
        UC,
        /** Unreliable datagram. */
        UD,
        /** Extended reliable connection. */
        XRC,
        /** Congestion notification, without a service. */
        CNP
    }

    /** The position of a packet in its message. */
    public enum Position {
        /** The first of several. */
        FIRST,
        /** Neither the first nor the last. */
        MIDDLE,
        /** The last of several. */
        LAST,
        /** The whole message. */
        ONLY
    }

    /** The kinds of operation. */
    public enum Kind {
        /** A part of a send. */
        SEND,
        /** A part of an RDMA write. */
        WRITE,
        /** The request of an RDMA read. */
        READ,
        /** An atomic operation, or an atomic write. */
        ATOMIC,
        /** A flush of written memory. */
        FLUSH,
        /** A part of the response to an RDMA read, an atomic write or a flush. */
        READ_RESPONSE,
        /** A positive or negative acknowledgement, see {@link Aeth}. */
        ACKNOWLEDGE,
        /** The response to an atomic operation. */
        ATOMIC_ACKNOWLEDGE,
        /** A congestion notification. */
        CONGESTION
    }

    private record Meaning(String name, Kind kind, Position position) {}

    private static final int SERVICE_BITS = 5;
    private static final int OPERATION_MASK = 0x1f;
    private static final int CONGESTION = 0x81;

    private static final Map<Integer, Meaning> OPERATIONS = Map.ofEntries(
            Map.entry(0x00, new Meaning("SEND_FIRST", Kind.SEND, Position.FIRST)),
            Map.entry(0x01, new Meaning("SEND_MIDDLE", Kind.SEND, Position.MIDDLE)),
            Map.entry(0x02, new Meaning("SEND_LAST", Kind.SEND, Position.LAST)),
            Map.entry(0x03, new Meaning("SEND_LAST_WITH_IMMEDIATE", Kind.SEND, Position.LAST)),
            Map.entry(0x04, new Meaning("SEND_ONLY", Kind.SEND, Position.ONLY)),
            Map.entry(0x05, new Meaning("SEND_ONLY_WITH_IMMEDIATE", Kind.SEND, Position.ONLY)),
            Map.entry(0x06, new Meaning("RDMA_WRITE_FIRST", Kind.WRITE, Position.FIRST)),
            Map.entry(0x07, new Meaning("RDMA_WRITE_MIDDLE", Kind.WRITE, Position.MIDDLE)),
            Map.entry(0x08, new Meaning("RDMA_WRITE_LAST", Kind.WRITE, Position.LAST)),
            Map.entry(0x09, new Meaning("RDMA_WRITE_LAST_WITH_IMMEDIATE", Kind.WRITE, Position.LAST)),
            Map.entry(0x0a, new Meaning("RDMA_WRITE_ONLY", Kind.WRITE, Position.ONLY)),
            Map.entry(0x0b, new Meaning("RDMA_WRITE_ONLY_WITH_IMMEDIATE", Kind.WRITE, Position.ONLY)),
            Map.entry(0x0c, new Meaning("RDMA_READ_REQUEST", Kind.READ, Position.ONLY)),
            Map.entry(0x0d, new Meaning("RDMA_READ_RESPONSE_FIRST", Kind.READ_RESPONSE, Position.FIRST)),
            Map.entry(0x0e, new Meaning("RDMA_READ_RESPONSE_MIDDLE", Kind.READ_RESPONSE, Position.MIDDLE)),
            Map.entry(0x0f, new Meaning("RDMA_READ_RESPONSE_LAST", Kind.READ_RESPONSE, Position.LAST)),
            Map.entry(0x10, new Meaning("RDMA_READ_RESPONSE_ONLY", Kind.READ_RESPONSE, Position.ONLY)),
            Map.entry(0x11, new Meaning("ACKNOWLEDGE", Kind.ACKNOWLEDGE, Position.ONLY)),
            Map.entry(0x12, new Meaning("ATOMIC_ACKNOWLEDGE", Kind.ATOMIC_ACKNOWLEDGE, Position.ONLY)),
            Map.entry(0x13, new Meaning("COMPARE_SWAP", Kind.ATOMIC, Position.ONLY)),
            Map.entry(0x14, new Meaning("FETCH_ADD", Kind.ATOMIC, Position.ONLY)),
            Map.entry(0x16, new Meaning("SEND_LAST_WITH_INVALIDATE", Kind.SEND, Position.LAST)),
            Map.entry(0x17, new Meaning("SEND_ONLY_WITH_INVALIDATE", Kind.SEND, Position.ONLY)),
            Map.entry(0x1c, new Meaning("FLUSH", Kind.FLUSH, Position.ONLY)),
            Map.entry(0x1d, new Meaning("ATOMIC_WRITE", Kind.ATOMIC, Position.ONLY)));

    private static final Meaning CONGESTION_MEANING = new Meaning("CNP", Kind.CONGESTION, Position.ONLY);

    /** Returns the transport service; empty if the code is not defined. */
    public Optional<Transport> transport() {
        return meaning().isEmpty() ? Optional.empty() : service();
    }

    private Optional<Transport> service() {
        if (code == CONGESTION) {
            return Optional.of(Transport.CNP);
        }
        return switch (code >> SERVICE_BITS) {
            case 0 -> Optional.of(Transport.RC);
            case 1 -> Optional.of(Transport.UC);
            case 3 -> Optional.of(Transport.UD);
            case 5 -> Optional.of(Transport.XRC);
            default -> Optional.empty();
        };
    }

    private Optional<Meaning> meaning() {
        if (code == CONGESTION) {
            return Optional.of(CONGESTION_MEANING);
        }
        int operation = code & OPERATION_MASK;
        // Unreliable services have no responses; datagrams have one packet.
        int least = 0;
        int most = OPERATION_MASK;
        switch (service().orElse(Transport.CNP)) {
            case UC -> most = 0x0b;
            case UD -> {
                least = 0x04;
                most = 0x05;
            }
            case CNP -> most = -1;
            case RC, XRC -> {}
        }
        return operation < least || operation > most
                ? Optional.empty()
                : Optional.ofNullable(OPERATIONS.get(operation));
    }

    /** Returns the kind of operation; empty if the code is not defined. */
    public Optional<Kind> kind() {
        return meaning().map(Meaning::kind);
    }

    /** Returns the packet's position in its message; empty if the code is not defined. */
    public Optional<Position> position() {
        return meaning().map(Meaning::position);
    }

    boolean is(Transport transport) {
        return transport().filter(each -> each == transport).isPresent();
    }

    boolean is(Kind kind) {
        return kind().filter(each -> each == kind).isPresent();
    }

    boolean is(Position position) {
        return position().filter(each -> each == position).isPresent();
    }

    /** Returns whether the code is defined. */
    public boolean isDefined() {
        return meaning().isPresent();
    }

    /** Returns whether it is a response of a reliable service. */
    public boolean isResponse() {
        return is(Kind.READ_RESPONSE) || is(Kind.ACKNOWLEDGE) || is(Kind.ATOMIC_ACKNOWLEDGE);
    }

    /** Returns whether it is a request of a connected service. */
    public boolean isRequest() {
        return isDefined() && !isResponse() && !is(Transport.UD) && !is(Transport.CNP);
    }

    boolean hasImmediate() {
        return isDefined() && name().endsWith("WITH_IMMEDIATE");
    }

    boolean hasInvalidate() {
        return isDefined() && name().endsWith("WITH_INVALIDATE");
    }

    /** Returns whether an RDMA extended transport header follows. */
    boolean hasReth() {
        Meaning meaning = meaning().orElse(null);
        if (meaning == null) {
            return false;
        }
        return switch (meaning.kind()) {
            case READ, FLUSH -> true;
            case ATOMIC -> meaning.name().equals("ATOMIC_WRITE");
            case WRITE -> meaning.position() == Position.FIRST || meaning.position() == Position.ONLY;
            default -> false;
        };
    }

    boolean hasAtomicEth() {
        return is(Kind.ATOMIC) && !hasReth();
    }

    /** Returns whether an acknowledge extended transport header follows. */
    boolean hasAeth() {
        return isResponse() && !is(Position.MIDDLE);
    }

    /** Returns the service and the operation, such as {@code RC SEND_ONLY}; the number if the code is not defined. */
    public String name() {
        return meaning()
                .map(meaning -> code == CONGESTION ? meaning.name() : service().orElseThrow() + " " + meaning.name())
                .orElseGet(() -> "0x%02x".formatted(code));
    }

    @Override
    public String toString() {
        return name();
    }
}
