package io.rdmatest.scenarios.rstream;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.AddressInfo.Hints;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.engine.CmFailures;
import io.rdmatest.scenarios.options.AddressTexts;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The addresses of rstream(1) for listening and connecting, and the explanations of their failures. */
final class StreamAddresses {

    private static final byte[] ANY_IPV4 = new byte[4];
    private static final byte[] ANY_IPV6 = new byte[16];

    private final RoleContext context;
    private final RstreamOptions options;

    StreamAddresses(RoleContext context, RstreamOptions options) {
        this.context = context;
        this.options = options;
    }

    /** Returns whether librdmacm looks the addresses up: on demand, and for GIDs. */
    boolean fromLibrary() {
        return options.resolve() || options.addressFormat() == Format.GID;
    }

    InetSocketAddress toListenAt() {
        String bind = options.bindAddress();
        return new InetSocketAddress(
                bind != null
                        ? resolve(bind)
                        : options.onDevice() ? context.device().address() : any(),
                options.port());
    }

    /** Returns librdmacm's result for the address to listen at. */
    AddressInfo lookupToListenAt() {
        String bind = options.bindAddress();
        String node = bind != null ? bind : options.onDevice() ? ofDevice() : null;
        return lookup(node, options.port(), true);
    }

    InetSocketAddress toConnectTo(int port) {
        String server = options.serverAddress();
        return new InetSocketAddress(server == null ? context.peerAddress() : resolve(server), port);
    }

    /** Returns librdmacm's result for the server's address, with a route if ibacm(8) runs. */
    AddressInfo lookupToConnectTo(int port) {
        String server = options.serverAddress();
        return lookup(server == null ? context.peerAddress().getHostAddress() : server, port, false);
    }

    /** Returns the client's own address and port; null for any. */
    @Nullable
    InetSocketAddress toConnectFrom(InetSocketAddress target) {
        String bind = options.bindAddress();
        if (bind != null) {
            InetAddress own = resolve(bind);
            AddressTexts.requireOneFamily(bind, own, text(target), target.getAddress());
            return new InetSocketAddress(own, target.getPort());
        }
        return options.onDevice()
                ? new InetSocketAddress(Addresses.ofFamily(context.device(), target.getAddress()), 0)
                : null;
    }

    /** Returns librdmacm's result for the client's own address; null for any. */
    @Nullable
    AddressInfo lookupToConnectFrom(int port) {
        String bind = options.bindAddress();
        if (bind != null) {
            return lookup(bind, port, true);
        }
        return options.onDevice() && options.addressFormat() != Format.GID
                ? lookup(context.device().address().getHostAddress(), 0, true)
                : null;
    }

    private String ofDevice() {
        return options.addressFormat() == Format.GID
                ? context.device().gid().gid().toString()
                : context.device().address().getHostAddress();
    }

    private AddressInfo lookup(@Nullable String node, int port, boolean passive) {
        Hints hints = passive
                ? Hints.passive(options.addressFormat(), PortSpace.TCP)
                : Hints.active(options.addressFormat(), PortSpace.TCP);
        return AddressInfo.lookup(node, Integer.toString(port), hints, options.timeout())
                .getFirst();
    }

    private InetAddress any() {
        try {
            return InetAddress.getByAddress(options.addressFormat() == Format.IPV6 ? ANY_IPV6 : ANY_IPV4);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("An address of 4 or 16 bytes is invalid", e);
        }
    }

    private InetAddress resolve(String text) {
        if (options.addressFormat() == Format.NAME) {
            try {
                return InetAddress.getByName(text);
            } catch (UnknownHostException e) {
                throw new ScenarioException(
                        Cause.NO_ROUTE,
                        "The host '%s' is unknown: check its spelling, or give its numeric address".formatted(text),
                        e);
            }
        }
        try {
            InetAddress address = InetAddress.ofLiteral(text);
            if (options.addressFormat() == Format.IP || address instanceof Inet6Address) {
                return address;
            }
        } catch (IllegalArgumentException e) {
            // Reported below.
        }
        throw new ScenarioException(
                Cause.NO_ROUTE,
                "'%s' is not a numeric %s address, which -f requires: leave out -f to look names up"
                        .formatted(text, options.addressFormat() == Format.IPV6 ? "IPv6" : "IP"));
    }

    static String text(InetSocketAddress address) {
        String host = address.getAddress().getHostAddress();
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + address.getPort();
    }

    static ScenarioException noAnswer(String target, Duration timeout, Throwable cause) {
        return new ScenarioException(
                Cause.PEER_ABSENT,
                "%s did not answer within %d ms: start the rstream server there, or allow more time"
                        .formatted(target, timeout.toMillis()),
                cause);
    }

    static ScenarioException refused(InetSocketAddress target, Throwable cause) {
        return refused(text(target), cause);
    }

    private static ScenarioException refused(String target, Throwable cause) {
        return new ScenarioException(
                Cause.PEER_ABSENT,
                "Nobody listens at %s: start the rstream server there, with the same transport".formatted(target),
                cause);
    }

    /**
     * Explains a failure of rconnect. rconnect has only one errno for rejections, so a server that rejects looks
     * absent.
     *
     * @param ip whether the target is an IP address, which every link layer supports
     */
    static RuntimeException unreachable(String target, boolean ip, RdmaException failure) {
        if (failure.isUnsupported()) {
            // The answer has a version that rsockets does not support.
            return ip && failure.call().equals("rconnect")
                    ? new ScenarioException(
                            Cause.REJECTED,
                            "The listener at %s is not an rsockets server: start the rstream server there, or give its port"
                                    .formatted(target),
                            failure)
                    : failure;
        }
        return switch (failure.errnoName()) {
            case "ECONNREFUSED" -> refused(target, failure);
            // It concerns this side's own port, not the target's.
            case "EADDRINUSE" -> failure;
            default -> CmFailures.ofAddress(failure, target);
        };
    }

    /** Explains why a client can't bind to its own address. */
    static RuntimeException unbound(String own, RdmaException failure) {
        return switch (failure.errnoName()) {
            case "ENODEV", "EADDRNOTAVAIL" ->
                new ScenarioException(
                        Cause.NO_ROUTE,
                        "No RDMA device of this host has the local address %s (%s): give another address, './rdmatest devices' lists them"
                                .formatted(own, failure.errnoName()),
                        failure);
            case "EADDRINUSE" ->
                new ScenarioException(
                        Cause.HOST_NOT_READY,
                        "The local port of %s is in use on this host: as with the C program, -b binds a client to the port of -p; leave out -b, or use another port"
                                .formatted(own),
                        failure);
            default -> failure;
        };
    }

    static ScenarioException broken(String peer, Throwable cause) {
        return new ScenarioException(
                Cause.PEER_LOST,
                "The connection to %s broke in mid-transfer (%s): check that the peer still runs, and its messages"
                        .formatted(peer, cause.getMessage()),
                cause);
    }
}
