package io.rdmatest;

import static org.assertj.core.api.Assumptions.assumeThat;

import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.LinkLayer;
import io.rdmatest.verbs.PortAttributes;
import io.rdmatest.verbs.PortState;
import io.rdmatest.verbs.RdmaDevice;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The port that the tests of this module use: that of {@code rdma.device}, NAME or NAME/PORT as for all tests, else the first active
 * one. Its addresses are those of its network interface; {@code rdma.test.ip4}, {@code rdma.test.ip6} and {@code rdma.test.nobody}
 * replace them.
 *
 * <p>{@link #driver()} tells what its driver does in a way of its own.
 */
public final class DeviceUnderTest {

    /** What tests expect by driver. */
    public enum Driver {
        /** Soft-RoCE. Its statuses and errors are known one by one, and expected as they are. */
        RXE,
        /** Any other one. What IBTA leaves open may be so or so. */
        OTHER
    }

    private static final String SELECTED = "rdma.device";

    private final RdmaDevice device;
    private final int number;
    private final PortAttributes attributes;
    private final List<GidEntry> gids;
    private final List<InterfaceAddress> addresses;

    private static final class Holder {
        static final DeviceUnderTest INSTANCE = new DeviceUnderTest();
    }

    private DeviceUnderTest() {
        String selected = System.getProperty(SELECTED, "auto");
        String[] words = selected.split("/", 2);
        List<String> looked = new ArrayList<>();
        for (RdmaDevice each : RdmaDevice.list()) {
            if (!words[0].equals("auto") && !words[0].equals(each.name())) {
                looked.add(each.name());
                continue;
            }
            try (DeviceContext context = each.open()) {
                int first = words.length > 1 ? Integer.parseInt(words[1]) : 1;
                int last = words.length > 1 ? first : context.attributes().physicalPorts();
                for (int port = first; port <= last; port++) {
                    PortAttributes its = context.port(port);
                    looked.add(each.name() + "/" + port + " (" + its.state() + ")");
                    if (its.state() == PortState.ACTIVE) {
                        device = each;
                        number = port;
                        attributes = its;
                        gids = context.gidTable(port);
                        addresses = each.networkInterfaces(port, gids).stream()
                                .flatMap(DeviceUnderTest::addressesOf)
                                .toList();
                        return;
                    }
                }
            }
        }
        throw new IllegalStateException("no active port for " + SELECTED + "=" + selected + " among " + looked
                + ": run this in the soft-RoCE machine, or name another device");
    }

    private static Stream<InterfaceAddress> addressesOf(String name) {
        try {
            NetworkInterface found = NetworkInterface.getByName(name);
            return found == null ? Stream.empty() : found.getInterfaceAddresses().stream();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static DeviceUnderTest get() {
        return Holder.INSTANCE;
    }

    /** Returns the device. */
    public static RdmaDevice device() {
        return get().device;
    }

    /** Returns the port, from 1. */
    public static int port() {
        return get().number;
    }

    /** Returns whether the port is of InfiniBand. */
    public static boolean isInfiniband() {
        return get().attributes.linkLayer() == LinkLayer.INFINIBAND;
    }

    /** Returns what to expect of the driver. */
    public static Driver driver() {
        return device().driver().equals("rdma_rxe") ? Driver.RXE : Driver.OTHER;
    }

    /** Skips a test on other drivers than soft-RoCE. */
    public static void assumeRxe(String why) {
        assumeThat(device().driver()).as(why).isEqualTo("rdma_rxe");
    }

    /** Skips a test on InfiniBand. */
    public static void assumeRoce(String why) {
        assumeThat(isInfiniband()).as(why).isFalse();
    }

    /**
     * Returns an entry of a context's GID table as it is now: on RoCE one of an IP address of a family, on InfiniBand the first. The
     * test is skipped if the port has no address of the family.
     */
    public static GidEntry gid(DeviceContext context, boolean ipv4) {
        return gid(context.gidTable(port()), ipv4);
    }

    /** The same from a table that was read before. */
    public static GidEntry gid(List<GidEntry> table, boolean ipv4) {
        if (isInfiniband()) {
            return table.getFirst();
        }
        Predicate<GidEntry> wanted = entry -> entry.type() == GidType.ROCE_V2
                && entry.gid().isIpv4Mapped() == ipv4
                && (ipv4 || !entry.gid().isLinkLocal());
        assumeThat(table)
                .as("%s/%d has a GID of RoCE v2 with an IPv%d address", device(), port(), ipv4 ? 4 : 6)
                .anyMatch(wanted);
        return table.stream().filter(wanted).findFirst().orElseThrow();
    }

    /** Returns an index of the GID table that is not in use. */
    public static int unusedGidIndex() {
        List<Integer> used = get().gids.stream().map(GidEntry::index).toList();
        return IntStream.iterate(get().attributes.gidTableLength() - 1, index -> index - 1)
                .filter(index -> !used.contains(index))
                .findFirst()
                .orElseThrow();
    }

    /** Returns an IPv4 address of the port. */
    public static InetAddress ip4() {
        return address("rdma.test.ip4", address -> address instanceof Inet4Address);
    }

    /** Returns an IPv6 address of the port that holds beyond its link, if it has one. */
    public static Optional<InetAddress> ip6() {
        Optional<InetAddress> own = own(address -> !(address instanceof Inet4Address) && !address.isLinkLocalAddress());
        return own.isEmpty() && System.getProperty("rdma.test.ip6") == null
                ? Optional.empty()
                : Optional.of(address("rdma.test.ip6", own.orElse(null)));
    }

    /** Returns an IPv4 address on the port's network that nobody has: the last but one, or the one before that. */
    public static InetAddress nobody() {
        InetAddress own = ip4();
        int prefix = get().addresses.stream()
                .filter(each -> each.getAddress().equals(own))
                .mapToInt(InterfaceAddress::getNetworkPrefixLength)
                .findFirst()
                .orElse(24);
        BigInteger hosts = BigInteger.ONE.shiftLeft(32 - prefix).subtract(BigInteger.ONE);
        BigInteger last = new BigInteger(1, own.getAddress()).or(hosts).subtract(BigInteger.TWO);
        InetAddress found = ofNumber(last);
        return address("rdma.test.nobody", found.equals(own) ? ofNumber(last.subtract(BigInteger.ONE)) : found);
    }

    private static InetAddress ofNumber(BigInteger number) {
        byte[] bytes = new byte[4];
        for (int i = 0; i < 4; i++) {
            bytes[i] = number.shiftRight(24 - 8 * i).byteValue();
        }
        try {
            return InetAddress.getByAddress(bytes);
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    private static InetAddress address(String property, Predicate<InetAddress> wanted) {
        Optional<InetAddress> found = own(wanted);
        if (found.isEmpty() && System.getProperty(property) == null) {
            throw new IllegalStateException("the network interface of " + device() + "/" + port()
                    + " has the addresses " + get().addresses + " and no other: give one with -D" + property);
        }
        return address(property, found.orElse(null));
    }

    private static Optional<InetAddress> own(Predicate<InetAddress> wanted) {
        return get().addresses.stream()
                .map(InterfaceAddress::getAddress)
                .filter(wanted)
                .findFirst()
                .map(DeviceUnderTest::withoutScope);
    }

    /** Java names the interface of every IPv6 address, and librdmacm takes that for a part of a name. */
    private static InetAddress withoutScope(InetAddress address) {
        try {
            return InetAddress.getByAddress(address.getAddress());
        } catch (UnknownHostException e) {
            throw new IllegalStateException(e);
        }
    }

    private static InetAddress address(String property, @Nullable InetAddress byDefault) {
        String given = System.getProperty(property);
        try {
            return given == null ? Objects.requireNonNull(byDefault) : InetAddress.getByName(given);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(property, e);
        }
    }
}
