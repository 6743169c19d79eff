package io.rdmatest.scenarios.mckey;

import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.engine.DatagramPortSpace;
import io.rdmatest.scenarios.options.DurationText;
import io.rdmatest.scenarios.options.HostAddress;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.verbs.Gid;
import java.net.InetAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options of both sides of mckey(1), and what that program has no option for. */
public final class MckeyOptions extends Options<MckeyOptions> {

    private static final int MOST_QUEUE_PAIRS = 65_535;
    private static final int MOST_MESSAGES = 100_000_000;
    private static final int MOST_BYTES = 65_536;
    private static final int MOST_SENDERS = 1000;

    @Option(
            names = {"-m", "--group"},
            paramLabel = "<address>",
            converter = HostAddress.class,
            description = "The multicast address to join, IPv4 or IPv6; 0.0.0.0 lets the subnet administrator choose"
                    + " (InfiniBand).")
    private @Nullable InetAddress group;

    @Option(
            names = {"-M", "--mgid"},
            paramLabel = "<mgid>",
            converter = MgidText.class,
            description =
                    "The MGID to join as it is, without address resolution; 0 lets the subnet administrator choose"
                            + " (InfiniBand). Needs -b.")
    private @Nullable Gid unmappedGroup;

    @Option(
            names = {"-s", "--sender"},
            description = "Send; otherwise receive.")
    private boolean sender;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "<address>",
            converter = HostAddress.class,
            description = "The local address (default: that of the device).")
    private @Nullable InetAddress bind;

    @Option(
            names = {"-c", "--connections"},
            paramLabel = "<n>",
            description = "How many queue pairs join the group, 1 to 65535 (default: ${DEFAULT-VALUE}).")
    private int queuePairs = 1;

    @Option(
            names = {"-C", "--count"},
            paramLabel = "<messages>",
            description = "Messages per sender; each receiver expects as many from every sender. 0: join and leave only"
                    + " (default: ${DEFAULT-VALUE}).")
    private int messages = 10;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes>",
            description = "The size of a message, at most the active MTU (default: ${DEFAULT-VALUE}). From 28 bytes on,"
                    + " messages say how many there are and which one each is; below they say only which.")
    private int sizeBytes = 100;

    @Option(
            names = {"-o", "--send-only"},
            description = "Join as a send-only full member.")
    private boolean sendOnly;

    @Option(
            names = {"-l", "--block-loopback"},
            description = "Keep the messages from other receivers on this host.")
    private boolean blockLoopback;

    @Option(
            names = {"-p", "--port-space"},
            paramLabel = "<space>",
            converter = DatagramPortSpace.class,
            description = "The port space, not a port: 0x0111 or udp, 0x0002 or ipoib (default: 0x0111).")
    private PortSpace portSpace = PortSpace.UDP;

    @Option(
            names = "--senders",
            paramLabel = "<n>",
            description = "Receiver: how many sending programs to wait for, 1 to 1000 (default: ${DEFAULT-VALUE}).")
    private int senders = 1;

    @Option(
            names = "--settle",
            paramLabel = "<duration>",
            converter = DurationText.OrZero.class,
            description = "Sender: how long to wait between joining and sending, for the subnet manager to program the"
                    + " switches and for receivers that were started at the same time; 0 for not at all (default: 3s).")
    private Duration settle = Duration.ofSeconds(3);

    /** Creates the options with their defaults; picocli fills them in. */
    MckeyOptions() {}

    /**
     * Reads options from a line, such as {@code -m 239.77.0.1 -C 100}.
     *
     * @param words parts of the line, as for {@link Options#parse}
     * @throws IllegalArgumentException if the line is wrong; the message has the line, and names the option
     */
    public static MckeyOptions parse(Object... words) {
        return parse(MckeyOptions.class, words);
    }

    /** Reads an MGID in the notation of IPv6 addresses, or {@code 0} to let the subnet administrator choose. */
    private static final class MgidText implements ITypeConverter<Gid> {

        @Override
        public Gid convert(String text) {
            try {
                return text.strip().equals("0") ? Gid.of(new byte[Gid.LENGTH]) : Gid.parse(text.strip());
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(e.getMessage());
            }
        }
    }

    @Override
    protected void check() {
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

    /** Tells whether a command line asks for the sender (-s); a role knows by itself. */
    public boolean isSender() {
        return sender;
    }

    /**
     * Returns the multicast address to join (-m), IPv4 or IPv6; all zero lets the subnet administrator choose, on InfiniBand only;
     * null if there is an unmapped group.
     */
    public @Nullable InetAddress group() {
        return group;
    }

    /**
     * Returns the MGID to join unchanged (-M), without address resolution; all zero lets the subnet administrator choose; null if
     * there is an address.
     */
    public @Nullable Gid unmappedGroup() {
        return unmappedGroup;
    }

    /** Returns the local address (-b); null for that of the context's device in the family of the group. */
    public @Nullable InetAddress bind() {
        return bind;
    }

    /** Returns how many queue pairs join the group (-c), 1 to 65535. */
    public int queuePairs() {
        return queuePairs;
    }

    /**
     * Returns how many messages each queue pair sends, and how many a receiving queue pair expects from each sending one (-C), 0 to
     * 100000000; 0 only joins and leaves.
     */
    public int messages() {
        return messages;
    }

    /** Returns the bytes of a message (-S), 0 to 65536 and at most the port's active MTU. */
    public int sizeBytes() {
        return sizeBytes;
    }

    /** Returns UDP or IPOIB (-p). */
    public PortSpace portSpace() {
        return portSpace;
    }

    /** Tells whether to join as a send-only full member (-o): such a queue pair receives nothing. */
    public boolean sendOnly() {
        return sendOnly;
    }

    /** Tells whether receivers on this host get no messages (-l). */
    public boolean blockLoopback() {
        return blockLoopback;
    }

    /**
     * Returns how many sending programs a receiver waits for, 1 to 1000. The C program has no such option and counts the messages of
     * all senders.
     */
    public int senders() {
        return senders;
    }

    /**
     * Returns how long a sender waits after joining, so that a subnet manager can program the switches and receivers can start, 0 to
     * one day; the C program waits 3 s.
     */
    public Duration settle() {
        return settle;
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
}
