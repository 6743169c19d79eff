package io.rdmatest.scenarios.mckey;

import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.engine.Fault;
import io.rdmatest.verbs.Gid;
import java.net.InetAddress;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of mckey(1), for both of its sides.
 *
 * @param group the multicast address to join, IPv4 or IPv6; all zero lets the subnet administrator choose, on
 *     InfiniBand only ({@code -m}); null if there is an unmapped group
 * @param unmappedGroup the MGID to join unchanged, without address resolution; all zero as above ({@code -M}); null if
 *     there is an address
 * @param bind the local address ({@code -b}); null for that of the context's device in the family of the group
 * @param queuePairs how many queue pairs join the group, 1 to 65535 ({@code -c})
 * @param messages how many messages each queue pair sends, and how many a receiving queue pair expects from each
 *     sending one, 0 to 100000000; 0 only joins and leaves ({@code -C})
 * @param sizeBytes bytes of a message, 0 to 65536 and at most the port's active MTU ({@code -S})
 * @param portSpace UDP or IPOIB ({@code -p})
 * @param sendOnly whether to join as a send-only full member: such a queue pair receives nothing ({@code -o})
 * @param blockLoopback whether receivers on this host get no messages ({@code -l})
 * @param senders how many sending programs a receiver waits for, 1 to 1000; the C program has no such option and counts
 *     the messages of all senders
 * @param settle how long a sender waits after joining, so that a subnet manager can program the switches and receivers
 *     can start, 0 to one day; the C program waits 3 s
 * @param timeout the limit of each wait, above 0 to one day
 * @param senderTimeout the limit of a receiver's wait for the first message, above 0 to one day; null for no limit, as
 *     in the C program
 * @param fault the fault that the sender injects
 */
public record MckeyOptions(
        @Nullable InetAddress group,
        @Nullable Gid unmappedGroup,
        @Nullable InetAddress bind,
        int queuePairs,
        int messages,
        int sizeBytes,
        PortSpace portSpace,
        boolean sendOnly,
        boolean blockLoopback,
        int senders,
        Duration settle,
        Duration timeout,
        @Nullable Duration senderTimeout,
        Fault fault) {

    private static final int MOST_QUEUE_PAIRS = 65_535;
    private static final int MOST_MESSAGES = 100_000_000;
    private static final int MOST_BYTES = 65_536;
    private static final int MOST_SENDERS = 1000;
    private static final Duration MOST_TIME = Duration.ofDays(1);

    /** Checks the ranges. */
    public MckeyOptions {
        if (group != null && unmappedGroup != null) {
            throw new IllegalArgumentException(
                    "Give one group: either an address (-m) or an unmapped MGID (-M), not both");
        }
        if (group != null && !group.isMulticastAddress() && !group.isAnyLocalAddress()) {
            throw new IllegalArgumentException(
                    "-m %s is not a multicast address: use one of 224.0.0.0 to 239.255.255.255, or of ff00::/8"
                            .formatted(group.getHostAddress()));
        }
        if (unmappedGroup != null && !isGroup(unmappedGroup)) {
            throw new IllegalArgumentException(
                    "-M %s is not a multicast GID: use one of ff00::/8, a mapped IPv4 group such as ::ffff:239.1.1.1, or 0"
                            .formatted(unmappedGroup));
        }
        range("-c, the number of queue pairs,", queuePairs, 1, MOST_QUEUE_PAIRS);
        range("-C, the number of messages,", messages, 0, MOST_MESSAGES);
        range("-S, the size in bytes,", sizeBytes, 0, MOST_BYTES);
        range("--senders", senders, 1, MOST_SENDERS);
        if (portSpace != PortSpace.UDP && portSpace != PortSpace.IPOIB) {
            throw new IllegalArgumentException(
                    "The port space (-p) must be UDP (0x0111) or IPoIB (0x0002), not " + portSpace);
        }
        duration("--settle", settle, true);
        duration("--timeout", timeout, false);
        if (senderTimeout != null) {
            duration("The time limit for the first message", senderTimeout, false);
        }
    }

    private static boolean isGroup(Gid gid) {
        return gid.isZero()
                || gid.isMulticast()
                || (gid.isIpv4Mapped() && gid.toInetAddress().isMulticastAddress());
    }

    private static void range(String name, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("%s must be %d to %d, not %d".formatted(name, least, most, value));
        }
    }

    private static void duration(String name, Duration value, boolean mayBeZero) {
        if (value.isNegative() || (value.isZero() && !mayBeZero) || value.compareTo(MOST_TIME) > 0) {
            throw new IllegalArgumentException(
                    "%s must be %s to 24 h, not %s".formatted(name, mayBeZero ? "0" : "more than 0", value));
        }
    }

    /**
     * Returns the defaults of the C program, which has none for the group: 10 messages of 100 bytes on one queue pair,
     * in the UDP port space, 3 s after joining. Each wait has a limit of 10 s, except a receiver's wait for the first
     * message.
     */
    public static MckeyOptions defaults() {
        return new MckeyOptions(
                null,
                null,
                null,
                1,
                10,
                100,
                PortSpace.UDP,
                false,
                false,
                1,
                Duration.ofSeconds(3),
                Duration.ofSeconds(10),
                null,
                Fault.NONE);
    }

    /**
     * Parses the MGID of {@code -M}.
     *
     * @param text in the notation of IPv6 addresses, or {@code 0} to let the subnet administrator choose
     * @throws IllegalArgumentException for anything else
     */
    public static Gid mgid(String text) {
        return text.strip().equals("0") ? Gid.of(new byte[Gid.LENGTH]) : Gid.parse(text.strip());
    }

    /** Returns whether the subnet administrator chooses the group. */
    public boolean isChosenBySubnet() {
        return (group != null && group.isAnyLocalAddress()) || (unmappedGroup != null && unmappedGroup.isZero());
    }

    /** Returns the group as text; {@code no group} if there is none. */
    public String groupText() {
        if (group != null) {
            return group.getHostAddress();
        }
        return unmappedGroup != null ? unmappedGroup.toString() : "no group";
    }

    /**
     * Returns these options with another value.
     *
     * @param value the group's address, {@code -m}; it also replaces an unmapped group
     */
    public MckeyOptions withGroup(@Nullable InetAddress value) {
        return copy(with -> {
            with.group = value;
            with.unmappedGroup = value == null ? with.unmappedGroup : null;
        });
    }

    /**
     * Returns these options with another value.
     *
     * @param value the group's MGID, {@code -M}; it also replaces an address
     */
    public MckeyOptions withUnmappedGroup(@Nullable Gid value) {
        return copy(with -> {
            with.group = value == null ? with.group : null;
            with.unmappedGroup = value;
        });
    }

    /**
     * Returns these options with another value.
     *
     * @param value the local address; null for that of the context's device in the family of the group
     */
    public MckeyOptions withBind(@Nullable InetAddress value) {
        return copy(with -> with.bind = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how many queue pairs join, 1 to 65535
     */
    public MckeyOptions withQueuePairs(int value) {
        return copy(with -> with.queuePairs = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value messages from each queue pair, 0 to 100000000
     */
    public MckeyOptions withMessages(int value) {
        return copy(with -> with.messages = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value bytes of a message, 0 to 65536
     */
    public MckeyOptions withSizeBytes(int value) {
        return copy(with -> with.sizeBytes = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value UDP or IPOIB
     */
    public MckeyOptions withPortSpace(PortSpace value) {
        return copy(with -> with.portSpace = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value whether to join as a send-only full member
     */
    public MckeyOptions withSendOnly(boolean value) {
        return copy(with -> with.sendOnly = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value whether receivers on this host get no messages
     */
    public MckeyOptions withBlockLoopback(boolean value) {
        return copy(with -> with.blockLoopback = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how many sending programs a receiver waits for, 1 to 1000
     */
    public MckeyOptions withSenders(int value) {
        return copy(with -> with.senders = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how long a sender waits between joining and sending, 0 to one day
     */
    public MckeyOptions withSettle(Duration value) {
        return copy(with -> with.settle = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the limit of each wait, above 0
     */
    public MckeyOptions withTimeout(Duration value) {
        return copy(with -> with.timeout = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how long a receiver waits for the first message, above 0; null for no limit
     */
    public MckeyOptions withSenderTimeout(@Nullable Duration value) {
        return copy(with -> with.senderTimeout = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the fault that the sender injects
     */
    public MckeyOptions withFault(Fault value) {
        return copy(with -> with.fault = value);
    }

    private MckeyOptions copy(Consumer<Values> change) {
        Values values = new Values(this);
        change.accept(values);
        return values.options();
    }

    /** The components while some of them change. */
    private static final class Values {

        private @Nullable InetAddress group;
        private @Nullable Gid unmappedGroup;
        private @Nullable InetAddress bind;
        private int queuePairs;
        private int messages;
        private int sizeBytes;
        private PortSpace portSpace;
        private boolean sendOnly;
        private boolean blockLoopback;
        private int senders;
        private Duration settle;
        private Duration timeout;
        private @Nullable Duration senderTimeout;
        private Fault fault;

        private Values(MckeyOptions from) {
            group = from.group;
            unmappedGroup = from.unmappedGroup;
            bind = from.bind;
            queuePairs = from.queuePairs;
            messages = from.messages;
            sizeBytes = from.sizeBytes;
            portSpace = from.portSpace;
            sendOnly = from.sendOnly;
            blockLoopback = from.blockLoopback;
            senders = from.senders;
            settle = from.settle;
            timeout = from.timeout;
            senderTimeout = from.senderTimeout;
            fault = from.fault;
        }

        private MckeyOptions options() {
            return new MckeyOptions(
                    group,
                    unmappedGroup,
                    bind,
                    queuePairs,
                    messages,
                    sizeBytes,
                    portSpace,
                    sendOnly,
                    blockLoopback,
                    senders,
                    settle,
                    timeout,
                    senderTimeout,
                    fault);
        }
    }
}
