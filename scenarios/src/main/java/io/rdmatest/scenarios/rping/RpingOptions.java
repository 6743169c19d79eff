package io.rdmatest.scenarios.rping;

import io.rdmatest.ConnectionMode;
import io.rdmatest.scenarios.options.HostAddress;
import io.rdmatest.scenarios.options.Options;
import java.net.InetAddress;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options of both sides of rping(1), and what that program has no option for. Its {@code -t}, which the program accepts and
 * then refuses, is none of them.
 */
public final class RpingOptions extends Options<RpingOptions> {

    /** The port of the C program. */
    public static final int DEFAULT_PORT = 7174;

    /** The size of a ping of the C program in bytes; its man page says 100. */
    public static final int DEFAULT_SIZE = 64;

    /** The most clients at once: each has a thread. */
    public static final int MOST_CLIENTS = 4096;

    private static final int DEFAULT_CLIENTS = 256;
    private static final int MOST_PORT = 65_535;

    /** Which side a command line asks for; a role knows by itself. */
    public enum Side {
        /** {@code -s}. */
        SERVER,
        /** {@code -c}. */
        CLIENT
    }

    private @Nullable Side side;

    @Option(
            names = {"-a", "--address"},
            paramLabel = "<address>",
            converter = HostAddress.class,
            description = "Server: the address to bind to, ::0 for any of IPv6 (default: any of IPv4)."
                    + " Client: the server's address.")
    private @Nullable InetAddress address;

    @Option(
            names = {"-I", "--source"},
            paramLabel = "<address>",
            converter = HostAddress.class,
            description = "Client: the address to send from (default: as the routes say).")
    private @Nullable InetAddress source;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "<port>",
            description = "The server's port, 1 to 65535 (default: ${DEFAULT-VALUE}); a server chooses one for 0.")
    private int port = DEFAULT_PORT;

    @Option(
            names = {"-v", "--verbose"},
            description = "Print every ping.")
    private boolean verbose;

    @Option(
            names = {"-V", "--validate"},
            description = "Client: compare every byte that comes back; the server always compares.")
    private boolean validate;

    @Option(
            names = {"-d", "--debug"},
            description = "Print events and states of the connection on standard error.")
    private boolean debug;

    @Option(
            names = {"-C", "--count"},
            paramLabel = "<pings>",
            description =
                    "How many pings over each connection, 0 for no end (default: ${DEFAULT-VALUE}). At a server: a"
                            + " client that leaves earlier is lost.")
    private int count;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes>",
            description =
                    "The size of a ping, of the largest at a server, 23 to 1073741824 (default: ${DEFAULT-VALUE});"
                            + " the C program takes up to 65535.")
    private int sizeBytes = DEFAULT_SIZE;

    @Option(
            names = {"-P", "--persistent"},
            description =
                    "Server: serve any number of clients, several at once, until interrupted. If one failed, its status is"
                            + " the server's; otherwise that is 130.")
    private boolean persistent;

    @Option(
            names = "--clients",
            paramLabel = "<n>",
            description = "Persistent server: how many clients at once, more are rejected (default: ${DEFAULT-VALUE}).")
    private int clientLimit = DEFAULT_CLIENTS;

    private ConnectionMode bringUp = ConnectionMode.RDMA_CM;

    /** Creates the options with their defaults; picocli fills them in. */
    RpingOptions() {}

    /**
     * Reads options from a line, such as {@code -C 100 -S 64 -V}.
     *
     * @param words parts of the line, as for {@link Options#parse}
     * @throws IllegalArgumentException if the line is wrong; the message has the line, and names the option
     */
    public static RpingOptions parse(Object... words) {
        return parse(RpingOptions.class, words);
    }

    @Option(
            names = {"-q", "--external-qp"},
            description = "Create the queue pair and move it through its states here instead of in librdmacm.")
    private void setExternalQueuePair(boolean external) {
        bringUp = external ? ConnectionMode.EXTERNAL_QP : ConnectionMode.RDMA_CM;
    }

    @Option(
            names = {"-s", "--server"},
            description = "Run the server. Of -s and -c the last one counts.")
    private void setServer(boolean given) {
        if (given) {
            side = Side.SERVER;
        }
    }

    @Option(
            names = {"-c", "--client"},
            description = "Run the client.")
    private void setClient(boolean given) {
        if (given) {
            side = Side.CLIENT;
        }
    }

    @Override
    protected void check() {
        if (port < 0 || port > MOST_PORT) {
            throw new IllegalArgumentException("The port (-p) is 0 to " + MOST_PORT + ", not " + port);
        }
        if (sizeBytes < RpingPattern.MIN_SIZE || sizeBytes > RpingPattern.LARGEST_SIZE) {
            throw new IllegalArgumentException("The size of a ping (-S) is %d to %d bytes, not %d"
                    .formatted(RpingPattern.MIN_SIZE, RpingPattern.LARGEST_SIZE, sizeBytes));
        }
        if (count < 0) {
            throw new IllegalArgumentException("The number of pings (-C) is 0, for no end, or more, not " + count);
        }
        if (clientLimit < 1 || clientLimit > MOST_CLIENTS) {
            throw new IllegalArgumentException(
                    "The number of clients at once is 1 to %d, not %d".formatted(MOST_CLIENTS, clientLimit));
        }
    }

    /** Returns which side a command line asks for, the last one of {@code -s} and {@code -c}; null if none. */
    public @Nullable Side side() {
        return side;
    }

    /**
     * Returns where the server binds, or which server the client connects to (-a); null for the address of the device, or at a
     * server that may use any device for any address.
     */
    public @Nullable InetAddress address() {
        return address;
    }

    /** Returns the address that the client sends from (-I); null leaves it to the routes. */
    public @Nullable InetAddress source() {
        return source;
    }

    /** Returns the server's port (-p), 0 to 65535; with 0 the kernel chooses one, which the server tells the client. */
    public int port() {
        return port;
    }

    /** Tells whether every ping is printed (-v). */
    public boolean verbose() {
        return verbose;
    }

    /** Tells whether the client compares every byte that comes back (-V); the server always compares. */
    public boolean validate() {
        return validate;
    }

    /** Tells whether events and states of the connection are printed (-d). */
    public boolean debug() {
        return debug;
    }

    /** Returns how many pings (-C), 0 for no end; to a server it says how many every client is to make at least. */
    public int count() {
        return count;
    }

    /**
     * Returns the size of a ping at the client, of the largest one at the server (-S), {@value RpingPattern#MIN_SIZE} to
     * {@value RpingPattern#LARGEST_SIZE} bytes; the C program takes up to {@value RpingPattern#MAX_SIZE}.
     */
    public int sizeBytes() {
        return sizeBytes;
    }

    /** Tells whether the server serves any number of clients, several at once, until it is cancelled (-P). */
    public boolean persistent() {
        return persistent;
    }

    /** Returns how many clients a persistent server serves at once, 1 to {@value #MOST_CLIENTS}; more are rejected. */
    public int clientLimit() {
        return clientLimit;
    }

    /** Returns how the connection is made; {@link ConnectionMode#EXTERNAL_QP} is -q. */
    public ConnectionMode bringUp() {
        return bringUp;
    }
}
