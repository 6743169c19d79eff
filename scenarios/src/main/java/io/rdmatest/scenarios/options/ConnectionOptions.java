package io.rdmatest.scenarios.options;

import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.role.Fault;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options that ucmatose(1) and udaddy(1) have in common: both make several connections, or look up several communication
 * paths, and send messages both ways on each.
 *
 * @param <O> the class of the program's options
 */
public abstract class ConnectionOptions<O extends ConnectionOptions<O>> extends Options<O> {

    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);
    private static final int MOST_MESSAGES = 1_000_000;
    private static final int MOST_PORT = 65_535;
    private static final int MOST_TYPE_OF_SERVICE = 255;

    @Option(
            names = {"-s", "--server"},
            paramLabel = "<address>",
            description = "The server's address; without this option this side is the server.")
    @Nullable
    String serverAddress;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "<address>",
            description = "The local address, ::0 for any of IPv6 (default at the server: any of IPv4).")
    @Nullable
    String bindAddress;

    @Option(
            names = {"-f", "--address-format"},
            paramLabel = "<format>",
            description = "What the addresses are: name, ip, ipv6 or gid (default: name).")
    Format addressFormat = Format.NAME;

    @Option(
            names = {"-c", "--connections"},
            paramLabel = "<n>",
            description =
                    "How many connections, or communication paths, the same at both sides (default: ${DEFAULT-VALUE}).")
    int connections = 1;

    @Option(
            names = {"-C", "--messages"},
            paramLabel = "<n>",
            description = "Messages on each of them and in each direction, the same at both sides; 0 for none"
                    + " (default: ${DEFAULT-VALUE}).")
    int messages = 10;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes>",
            description = "The size of a message, of a datagram at most the active MTU; 0 for no messages"
                    + " (default: ${DEFAULT-VALUE}).")
    int sizeBytes = 100;

    @Option(
            names = {"-t", "--tos"},
            paramLabel = "<tos>",
            converter = WholeNumber.class,
            description = "The client's type of service, 0 to 255; 0x for hexadecimal.")
    @Nullable
    Integer typeOfService;

    Duration timeout = DEFAULT_TIMEOUT;

    @Nullable
    Duration firstClientTimeout;

    Fault fault = Fault.NONE;

    /** Creates the options with their defaults. */
    protected ConnectionOptions() {}

    /**
     * Checks the options that the programs have in common.
     *
     * @param what the program's word for its connections or paths
     * @param mostConnections the largest number of them
     * @param mostBytes the largest message
     * @param port the server's port
     */
    protected final void check(String what, int mostConnections, int mostBytes, int port) {
        if (serverAddress != null) {
            AddressTexts.check("The server address (-s)", addressFormat, serverAddress);
        }
        if (bindAddress != null) {
            AddressTexts.check("The bind address (-b)", addressFormat, bindAddress);
        }
        OptionRanges.check("The port", port, 0, MOST_PORT);
        OptionRanges.check("The number of " + what, connections, 1, mostConnections);
        OptionRanges.check("The number of messages", messages, 0, MOST_MESSAGES);
        OptionRanges.check("The size of a message in bytes", sizeBytes, 0, mostBytes);
        if (typeOfService != null) {
            OptionRanges.check("The type of service", typeOfService, 0, MOST_TYPE_OF_SERVICE);
        }
        OptionRanges.checkTimeout("The timeout", timeout);
        if (firstClientTimeout != null) {
            OptionRanges.checkTimeout("The timeout for the first client", firstClientTimeout);
        }
    }

    @Override
    public O withCommon(Duration timeout, @Nullable Duration givenTimeout, Fault fault) {
        AddressOptions.requireOneFamily("-b", bindAddress, "-s", serverAddress);
        return with(copy -> {
            copy.timeout = timeout;
            copy.firstClientTimeout = givenTimeout;
            copy.fault = fault;
        });
    }

    /**
     * Returns the server's port. At the server, 0 means a free port, which the other side learns. At the client, 0 means that the
     * server sends it.
     */
    public abstract int port();

    /** Returns the port space. */
    public abstract PortSpace portSpace();

    /** Returns the server's address (-s); null for the device's own address. */
    public @Nullable String serverAddress() {
        return serverAddress;
    }

    /** Returns the local address (-b); null for the device's own at the server, for any at the client. */
    public @Nullable String bindAddress() {
        return bindAddress;
    }

    /** Returns the format of the two addresses (-f). */
    public Format addressFormat() {
        return addressFormat;
    }

    /** Returns how many connections, or communication paths (-c), at least 1; both sides must agree. */
    public int connections() {
        return connections;
    }

    /** Returns how many messages on each of them in each direction (-C), 0 to 1,000,000; both sides must agree. */
    public int messages() {
        return messages;
    }

    /** Returns the size of a message (-S) in bytes; 0 for no messages. A C program as the peer sends no larger ones. */
    public int sizeBytes() {
        return sizeBytes;
    }

    /** Returns the client's type of service (-t), 0 to 255; null to leave it. */
    public @Nullable Integer typeOfService() {
        return typeOfService;
    }

    /** Returns how long any one wait may take, more than 0. */
    public Duration timeout() {
        return timeout;
    }

    /** Returns how long the server waits for its first client; null for no limit. */
    public @Nullable Duration firstClientTimeout() {
        return firstClientTimeout;
    }

    /** Returns the fault that this side injects. */
    public Fault fault() {
        return fault;
    }

    /** Returns whether there are any messages. With 0 messages, and with messages of 0 bytes, only the connections are tested. */
    public boolean hasMessages() {
        return messages > 0 && sizeBytes > 0;
    }

    /** Returns these options with another {@link #serverAddress}. */
    public O withServerAddress(@Nullable String value) {
        return with(copy -> copy.serverAddress = value);
    }

    /** Returns these options with another {@link #bindAddress}. */
    public O withBindAddress(@Nullable String value) {
        return with(copy -> copy.bindAddress = value);
    }

    /** Returns these options with another {@link #addressFormat}. */
    public O withAddressFormat(Format value) {
        return with(copy -> copy.addressFormat = value);
    }

    /** Returns these options with another number of {@link #connections}. */
    public O withConnections(int value) {
        return with(copy -> copy.connections = value);
    }

    /** Returns these options with another number of {@link #messages}. */
    public O withMessages(int value) {
        return with(copy -> copy.messages = value);
    }

    /** Returns these options with another {@link #sizeBytes}. */
    public O withSizeBytes(int value) {
        return with(copy -> copy.sizeBytes = value);
    }

    /** Returns these options with another {@link #typeOfService}. */
    public O withTypeOfService(@Nullable Integer value) {
        return with(copy -> copy.typeOfService = value);
    }

    /** Returns these options with another {@link #timeout}. */
    public O withTimeout(Duration value) {
        return with(copy -> copy.timeout = value);
    }

    /** Returns these options with another {@link #firstClientTimeout}. */
    public O withFirstClientTimeout(@Nullable Duration value) {
        return with(copy -> copy.firstClientTimeout = value);
    }

    /** Returns these options with another {@link #fault}. */
    public O withFault(Fault value) {
        return with(copy -> copy.fault = value);
    }
}
