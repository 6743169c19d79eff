package io.rdmatest.scenarios.engine;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.RejectReason;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.scenarios.role.ScenarioException;
import java.util.Optional;

/** Explains events and failed calls of the connection manager in one sentence. */
public final class CmFailures {

    private CmFailures() {}

    /**
     * Explains an event that ends a connection attempt or a connection.
     *
     * @param event the event
     * @param wanted the awaited event
     * @param peer the peer, readable for people, such as {@code 10.77.0.1 port 7471}
     * @param cure what to do if the peer's program rejects
     */
    public static RuntimeException of(CmEvent event, CmEvent.Type wanted, String peer, String cure) {
        UnexpectedCmEventException cause = new UnexpectedCmEventException(
                wanted.cName(), event.type().cName(), event.status(), event.statusText(), event.privateData());
        String because = event.statusText().isEmpty() ? "" : " (" + event.statusText() + ")";
        return switch (event.type()) {
            case REJECTED, UNREACHABLE -> {
                Optional<RejectReason> reason = event.rejectReason();
                if (reason.isEmpty()) {
                    yield new ScenarioException(Cause.PEER_ABSENT, peer + " did not answer" + because, cause);
                }
                if (reason.get().nobodyListens()) {
                    yield nobodyListens(peer, cause);
                }
                yield new ScenarioException(
                        Cause.REJECTED,
                        reason.get().byPeerProgram()
                                ? "The program at " + peer + " rejected the connection: " + cure
                                : "The connection to " + peer + " was rejected" + because,
                        cause);
            }
            case ADDR_ERROR ->
                event.errnoName().equals("ETIMEDOUT") ? noHost(peer, cause) : noRoute(peer + because, cause);
            case ROUTE_ERROR -> noRoute(peer + because, cause);
            case DEVICE_REMOVAL ->
                new ScenarioException(Cause.HOST_NOT_READY, "The RDMA device was removed while it was in use", cause);
            case DISCONNECTED ->
                new ScenarioException(Cause.PEER_LOST, peer + " ended the connection in mid-transfer", cause);
            case CONNECT_ERROR ->
                new ScenarioException(
                        Cause.PEER_LOST,
                        "The connection to " + peer + " failed while it was being established" + because,
                        cause);
            default -> cause;
        };
    }

    private static ScenarioException nobodyListens(String peer, Throwable cause) {
        return new ScenarioException(
                Cause.PEER_ABSENT,
                "Nobody listens at " + peer
                        + ": start the server first, and give both sides the same port and port space",
                cause);
    }

    /**
     * Explains a failed connection request. The kernel's software iWARP device (siw) connects TCP first, so its call
     * fails where other devices report REJECTED.
     *
     * @param failure the failure of connect
     * @param peer the peer, readable for people
     */
    public static RuntimeException ofConnect(RdmaException failure, String peer) {
        return failure.errnoName().equals("ECONNREFUSED") ? nobodyListens(peer, refusal(failure)) : failure;
    }

    /** Converts ECONNREFUSED to the equivalent event; returns any other failure unchanged. */
    static RuntimeException refusal(RdmaException failure) {
        return failure.errnoName().equals("ECONNREFUSED")
                ? new UnexpectedCmEventException(
                        CmEvent.Type.ESTABLISHED.cName(),
                        CmEvent.Type.REJECTED.cName(),
                        -failure.errno(),
                        failure.getMessage(),
                        new byte[0])
                : failure;
    }

    private static ScenarioException noRoute(String peer, Throwable cause) {
        return new ScenarioException(Cause.NO_ROUTE, "No RDMA route leads to " + peer, cause);
    }

    /**
     * Explains that the route is known, but neither the peer nor the gateway answers address resolution.
     *
     * @param peer the peer, readable for people
     */
    public static ScenarioException noHost(String peer, Throwable cause) {
        return new ScenarioException(
                Cause.PEER_ABSENT,
                peer + " did not answer (address resolution timed out): check the address, and that the host and the"
                        + " gateway are up",
                cause);
    }

    /**
     * Explains why an address can't be bound or resolved.
     *
     * @param failure the failure of bind, address or route resolution
     * @param address the address, readable for people
     */
    public static RuntimeException ofAddress(RdmaException failure, String address) {
        return switch (failure.errnoName()) {
            case "ENODEV", "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EADDRNOTAVAIL", "EAFNOSUPPORT" ->
                new ScenarioException(
                        Cause.NO_ROUTE,
                        "No RDMA device of this host leads to " + address + " (" + failure.errnoName()
                                + "): give an address on the network of an RDMA device, './rdmatest devices' lists them",
                        failure);
            case "EADDRINUSE" ->
                new ScenarioException(
                        Cause.HOST_NOT_READY,
                        "The port of " + address
                                + " is in use on this host: end the program that uses it, or give another port",
                        failure);
            default -> failure;
        };
    }
}
