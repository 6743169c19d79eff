package io.rdmatest.scenarios.options;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The checks of options that are addresses; each failure is one sentence that names the option. */
public final class AddressOptions {

    private AddressOptions() {}

    /**
     * Looks up an address or a host name.
     *
     * @param option the option, such as {@code -a}
     * @param text the value of the option; null if the option was not given
     * @return the address, or null for null
     * @throws IllegalArgumentException if the text is empty, which Java takes for the loopback address, or unknown
     */
    public static @Nullable InetAddress resolve(String option, @Nullable String text) {
        if (text == null) {
            return null;
        }
        if (text.isBlank()) {
            throw new IllegalArgumentException(option + " is empty: give a host name or an IP address");
        }
        try {
            return InetAddress.getByName(text);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(option + " " + text + " is neither an address nor a known host name", e);
        }
    }

    /**
     * Requires both addresses of a connection to be of one family. Otherwise the kernel would fail with EINVAL, which
     * does not explain the problem.
     *
     * @param ownOption the option of the local address
     * @param own the local address; null if it was not given
     * @param targetOption the option of the peer's or the group's address
     * @param target the peer's or the group's address; null if it was not given
     * @throws IllegalArgumentException if one is of IPv4 and the other of IPv6
     */
    public static void requireOneFamily(
            String ownOption, @Nullable InetAddress own, String targetOption, @Nullable InetAddress target) {
        if (own != null && target != null && own instanceof Inet4Address != target instanceof Inet4Address) {
            throw new IllegalArgumentException(
                    "%s %s and %s %s must be addresses of one family: both of IPv4, or both of IPv6"
                            .formatted(ownOption, own.getHostAddress(), targetOption, target.getHostAddress()));
        }
    }

    /** Requires the same for addresses that have not been looked up, as far as they are numeric. */
    public static void requireOneFamily(
            String ownOption, @Nullable String own, String targetOption, @Nullable String target) {
        requireOneFamily(
                ownOption,
                figures(own).orElse(null),
                targetOption,
                figures(target).orElse(null));
    }

    /** Returns an address that needs no look-up; empty for a name, and for null. */
    public static Optional<InetAddress> figures(@Nullable String text) {
        try {
            return text == null ? Optional.empty() : Optional.of(InetAddress.ofLiteral(text));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }
}
