package io.rdmatest.scenarios.options;

import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.PortSpace;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options that ucmatose(1) and udaddy(1) have in common: both make several connections, or look up several communication
 * paths, and send messages both ways on each.
 *
 * @param <O> the class of the program's options
 */
public abstract class ConnectionOptions<O extends ConnectionOptions<O>> extends Options<O> {

    private static final int MOST_MESSAGES = 1_000_000;
    private static final int MOST_PORT = 65_535;
    private static final int MOST_TYPE_OF_SERVICE = 255;

    @Option(
            names = {"-s", "--server"},
            paramLabel = "<address>",
            description = "The server's address; without this option this side is the server.")
    private @Nullable String serverAddress;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "<address>",
            description = "The local address, ::0 for any of IPv6 (default at the server: any of IPv4).")
    private @Nullable String bindAddress;

    @Option(
            names = {"-f", "--address-format"},
            paramLabel = "<format>",
            description = "What the addresses are: name, ip, ipv6 or gid (default: name).")
    private Format addressFormat = Format.NAME;

    @Option(
            names = {"-c", "--connections"},
            paramLabel = "<n>",
            description =
                    "How many connections, or communication paths, the same at both sides (default: ${DEFAULT-VALUE}).")
    private int connections = 1;

    @Option(
            names = {"-C", "--messages"},
            paramLabel = "<n>",
            description = "Messages on each of them and in each direction, the same at both sides; 0 for none"
                    + " (default: ${DEFAULT-VALUE}).")
    private int messages = 10;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes>",
            description = "The size of a message, of a datagram at most the active MTU; 0 for no messages"
                    + " (default: ${DEFAULT-VALUE}).")
    private int sizeBytes = 100;

    @Option(
            names = {"-t", "--tos"},
            paramLabel = "<tos>",
            converter = WholeNumber.class,
            description = "The client's type of service, 0 to 255; 0x for hexadecimal.")
    private @Nullable Integer typeOfService;

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
        range("The port", port, 0, MOST_PORT);
        range("The number of " + what, connections, 1, mostConnections);
        range("The number of messages", messages, 0, MOST_MESSAGES);
        range("The size of a message in bytes", sizeBytes, 0, mostBytes);
        if (typeOfService != null) {
            range("The type of service", typeOfService, 0, MOST_TYPE_OF_SERVICE);
        }
        AddressOptions.requireOneFamily("-b", bindAddress, "-s", serverAddress);
    }

    private static void range(String what, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("%s is %d: allowed are %d to %d".formatted(what, value, least, most));
        }
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

    /** Returns the local address (-b); null at a server for its device's own if it stays on the device, else for any. */
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

    /** Returns whether there are any messages. With 0 messages, and with messages of 0 bytes, only the connections are tested. */
    public boolean hasMessages() {
        return messages > 0 && sizeBytes > 0;
    }
}
