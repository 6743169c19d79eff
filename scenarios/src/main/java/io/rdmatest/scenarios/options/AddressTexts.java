package io.rdmatest.scenarios.options;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.AddressInfo.Hints;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.Gid;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Addresses of a command line, in the format of {@code -f}. */
public final class AddressTexts {

    /** The limit for numeric addresses: no name service is asked, but a busy host may load the libraries slowly. */
    private static final Duration NUMERIC_LIMIT = Duration.ofMinutes(1);

    /** fe80::/10. */
    private static final Pattern LINK_LOCAL = Pattern.compile("[fF][eE][89abAB][0-9a-fA-F]:");

    private AddressTexts() {}

    /**
     * Checks the format of an address, without a name service.
     *
     * @param what the option, for the message
     * @throws IllegalArgumentException if the text is not of this format
     */
    public static void check(String what, Format format, String address) {
        if (address.isBlank()) {
            throw new IllegalArgumentException(
                    what + " is empty: give a host name, an IP address or, with -f gid, a GID");
        }
        try {
            if (format == Format.GID) {
                Gid ignored = Gid.parse(address);
            } else if (format != Format.NAME) {
                InetAddress ignored = InetAddress.ofLiteral(address);
            }
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "%s %s is not %s".formatted(what, address, format == Format.GID ? "a GID" : "a numeric IP address"),
                    e);
        }
    }

    /** Looks up an address to listen on. */
    public static AddressInfo passive(Format format, PortSpace portSpace, String address, int port, Duration timeout) {
        return find(address, port, Hints.passive(numeric(format), portSpace), timeout);
    }

    /** Looks up the peer's address and the local address of a connection. */
    public static AddressInfo active(
            Format format, PortSpace portSpace, String address, int port, @Nullable String source, Duration timeout) {
        String from = source == null ? null : withoutScope(source);
        AddressInfo found =
                find(address, port, Hints.active(numeric(format), portSpace).withSource(from), timeout);
        if (source != null && found.source().isPresent() && found.destination().isPresent()) {
            requireOneFamily(
                    source,
                    found.source().get().getAddress(),
                    address,
                    found.destination().get().getAddress());
        }
        return found;
    }

    /** Requires one address family for both addresses. Names show their family only after the look-up. */
    public static void requireOneFamily(String own, InetAddress from, String peer, InetAddress to) {
        if (from instanceof Inet4Address != to instanceof Inet4Address) {
            throw new ScenarioException(
                    Cause.NO_ROUTE,
                    "The local address %s is %s, but the peer's address %s is %s: give two addresses of one family"
                            .formatted(own, family(from), peer, family(to)));
        }
    }

    private static String family(InetAddress address) {
        return address instanceof Inet4Address ? "IPv4" : "IPv6";
    }

    /** The C programs treat -f ipv6 like -f ip: numeric addresses of both families. */
    private static Format numeric(Format format) {
        return format == Format.IPV6 ? Format.IP : format;
    }

    private static AddressInfo find(String text, int port, Hints hints, Duration timeout) {
        String address = withoutScope(text);
        try {
            return AddressInfo.lookup(
                            address, Integer.toString(port), hints, isNumeric(address, hints) ? NUMERIC_LIMIT : timeout)
                    .getFirst();
        } catch (RdmaException e) {
            throw new ScenarioException(
                    Cause.NO_ROUTE,
                    "The address " + address + " is unknown: check the name, or give a numeric address",
                    e);
        } catch (RdmaTimeoutException e) {
            throw new ScenarioException(
                    Cause.NO_ROUTE,
                    "The address " + address
                            + " can't be looked up, because the name service does not answer: give a numeric address"
                            + " with -f ip",
                    e);
        }
    }

    /**
     * Java appends the interface to every IPv6 address of this host; the library accepts it only for link-local
     * addresses.
     */
    static String withoutScope(String address) {
        int scope = address.indexOf('%');
        return scope < 0 || LINK_LOCAL.matcher(address).lookingAt() ? address : address.substring(0, scope);
    }

    private static boolean isNumeric(String address, Hints hints) {
        return hints.format() != Format.NAME || address.matches("[0-9.]+") || address.contains(":");
    }

    /** Explains why a native address can't be used. */
    public static ScenarioException unsupported(String address, @Nullable Throwable cause) {
        return new ScenarioException(
                Cause.UNSUPPORTED,
                "The GID " + address
                        + " can't be used as a native address (AF_IB): the kernel supports that on InfiniBand ports"
                        + " only; on RoCE and iWARP give the IP address and leave out -f",
                cause);
    }
}
