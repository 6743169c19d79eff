package io.rdmatest.scenarios.engine;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.AddressInfo.Hints;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.engine.ScenarioException.Reason;
import io.rdmatest.verbs.Gid;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Addresses as they stand on a command line, read as {@code -f} says. */
public final class AddressTexts {

    /** For figures nobody is asked: this only bounds what a busy host takes to load the libraries. */
    private static final Duration FIGURES = Duration.ofMinutes(1);

    /** fe80::/10. */
    private static final Pattern LINK_LOCAL = Pattern.compile("[fF][eE][89abAB][0-9a-fA-F]:");

    private AddressTexts() {}

    /**
     * Checks a text as far as that is possible without asking anybody.
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
                    "%s %s is not %s"
                            .formatted(what, address, format == Format.GID ? "a GID" : "an IP address in figures"),
                    e);
        }
    }

    /** Looks up what to listen on. */
    public static AddressInfo passive(Format format, PortSpace portSpace, String address, int port, Duration timeout) {
        return find(address, port, Hints.passive(figures(format), portSpace), timeout);
    }

    /** Looks up whom to connect to, and from where. */
    public static AddressInfo active(
            Format format, PortSpace portSpace, String address, int port, @Nullable String source, Duration timeout) {
        String from = source == null ? null : withoutScope(source);
        AddressInfo found =
                find(address, port, Hints.active(figures(format), portSpace).withSource(from), timeout);
        if (source != null && found.source().isPresent() && found.destination().isPresent()) {
            requireOneFamily(
                    source,
                    found.source().get().getAddress(),
                    address,
                    found.destination().get().getAddress());
        }
        return found;
    }

    /** Requires both addresses to be of one family, which may show only when names are looked up. */
    public static void requireOneFamily(String own, InetAddress from, String peer, InetAddress to) {
        if (from instanceof Inet4Address != to instanceof Inet4Address) {
            throw new ScenarioException(
                    Reason.NO_ROUTE,
                    "The local address %s is of %s and the peer's, %s, of %s: give two of one family"
                            .formatted(own, family(from), peer, family(to)));
        }
    }

    private static String family(InetAddress address) {
        return address instanceof Inet4Address ? "IPv4" : "IPv6";
    }

    /** The C programs take -f ipv6 for -f ip: figures of either family. */
    private static Format figures(Format format) {
        return format == Format.IPV6 ? Format.IP : format;
    }

    private static AddressInfo find(String text, int port, Hints hints, Duration timeout) {
        String address = withoutScope(text);
        try {
            return AddressInfo.lookup(
                            address, Integer.toString(port), hints, areFigures(address, hints) ? FIGURES : timeout)
                    .getFirst();
        } catch (RdmaException e) {
            throw new ScenarioException(
                    Reason.NO_ROUTE,
                    "The address " + address + " is not known: check the name, or give a numeric address",
                    e);
        } catch (RdmaTimeoutException e) {
            throw new ScenarioException(
                    Reason.NO_ROUTE,
                    "The address " + address
                            + " can't be looked up, for the name service does not answer: give a numeric"
                            + " address with -f ip",
                    e);
        }
    }

    /** Java writes the interface behind every IPv6 address of this host; the library takes it behind link-local ones. */
    static String withoutScope(String address) {
        int scope = address.indexOf('%');
        return scope < 0 || LINK_LOCAL.matcher(address).lookingAt() ? address : address.substring(0, scope);
    }

    private static boolean areFigures(String address, Hints hints) {
        return hints.format() != Format.NAME || address.matches("[0-9.]+") || address.contains(":");
    }

    /** Says why a native address leads nowhere. */
    public static ScenarioException unsupported(String address, @Nullable Throwable cause) {
        return new ScenarioException(
                Reason.UNSUPPORTED,
                "The GID " + address
                        + " can't be addressed natively (AF_IB): the kernel does that on InfiniBand ports only; on"
                        + " RoCE and iWARP give the IP address and leave -f away",
                cause);
    }
}
