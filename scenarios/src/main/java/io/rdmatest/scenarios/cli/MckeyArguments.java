package io.rdmatest.scenarios.cli;

import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.engine.AddressOptions;
import io.rdmatest.scenarios.engine.DatagramPortSpace;
import io.rdmatest.scenarios.mckey.MckeyOptions;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;

/** The options of mckey(1), and two that it does not have. */
public class MckeyArguments implements Arguments<MckeyOptions> {

    private static final MckeyOptions DEFAULTS = MckeyOptions.defaults();

    @Option(
            names = {"-m", "--group"},
            paramLabel = "<address>",
            description = "The multicast address to join, IPv4 or IPv6; 0.0.0.0 lets the subnet administrator choose"
                    + " (InfiniBand).")
    private @Nullable String group;

    @Option(
            names = {"-M", "--mgid"},
            paramLabel = "<mgid>",
            description =
                    "The MGID to join as it is, without address resolution; 0 lets the subnet administrator choose"
                            + " (InfiniBand). Needs -b.")
    private @Nullable String mgid;

    @Option(
            names = {"-s", "--sender"},
            description = "Send; otherwise receive.")
    private boolean sender;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "<address>",
            description = "The local address (default: that of the device).")
    private @Nullable String bind;

    @Option(
            names = {"-c", "--connections"},
            paramLabel = "<n>",
            description = "How many queue pairs join the group, 1 to 65535 (default: ${DEFAULT-VALUE}).")
    private int queuePairs = DEFAULTS.queuePairs();

    @Option(
            names = {"-C", "--count"},
            paramLabel = "<messages>",
            description = "How many messages each queue pair sends, and each that receives takes of each sender; 0 only"
                    + " joins and leaves (default: ${DEFAULT-VALUE}).")
    private int messages = DEFAULTS.messages();

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes>",
            description = "The size of a message, at most the active MTU (default: ${DEFAULT-VALUE}). From 28 bytes on,"
                    + " messages say how many there are and which one each is; below they say only which.")
    private int size = DEFAULTS.sizeBytes();

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
    private int senders = DEFAULTS.senders();

    @Option(
            names = "--settle",
            paramLabel = "<duration>",
            converter = SettleConverter.class,
            description = "Sender: how long to wait between joining and sending, for the subnet manager to program the"
                    + " switches and for receivers that were started at the same time; 0 for not at all (default: 3s).")
    private Duration settle = DEFAULTS.settle();

    /** Creates the options with nothing given; picocli fills them in. */
    public MckeyArguments() {}

    /** Whether this side sends. */
    final boolean isSender() {
        return sender;
    }

    /** Refuses what a command line must have, and an option line of a test need not. */
    final void check() {
        if (group == null && mgid == null) {
            throw new IllegalArgumentException("A group must be given: its address (-m) or its MGID (-M)");
        }
        if (mgid != null && bind == null) {
            throw new IllegalArgumentException("-M needs the local address, too (-b), for an MGID leads to no device");
        }
        AddressOptions.requireOneFamily("-b", bind, "-m", group);
        if (sendOnly && !sender && messages > 0) {
            throw new IllegalArgumentException(
                    "A send-only member (-o) receives nothing: send (-s), or only join and leave (-C 0)");
        }
    }

    @Override
    public MckeyOptions toOptions(CommonOptions common) {
        return new MckeyOptions(
                AddressOptions.resolve("-m", group),
                mgid == null ? null : MckeyOptions.mgid(mgid),
                AddressOptions.resolve("-b", bind),
                queuePairs,
                messages,
                size,
                portSpace,
                sendOnly,
                blockLoopback,
                senders,
                settle,
                common.timeout(),
                common.givenTimeout().orElse(null),
                common.fault());
    }

    /** A duration that may be zero. */
    static final class SettleConverter implements ITypeConverter<Duration> {

        @Override
        public Duration convert(String text) {
            return text.strip().matches("0+(us|ms|s|m|min|h|)")
                    ? Duration.ZERO
                    : new CommonOptions.DurationConverter().convert(text);
        }
    }
}
