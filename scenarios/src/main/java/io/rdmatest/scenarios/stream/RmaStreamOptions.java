package io.rdmatest.scenarios.stream;

import io.rdmatest.scenarios.options.HostAddress;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.stream.StreamMode;
import io.rdmatest.stream.StreamOptions;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * The options of both sides of a stream over RDMA WRITE: the letters of rstream(1), and the sizes of fi_rstream(7).
 *
 * <p>Both sides need the same size, transfers, iterations, mode, verification and direction. Rings and queues may
 * differ.
 */
public final class RmaStreamOptions extends Options<RmaStreamOptions> {

    /** The most bytes of a transfer. */
    public static final int MOST_BYTES = 1 << 30;

    private static final int MOST_PORT = 65_535;

    @Option(
            names = {"-s", "--server"},
            paramLabel = "<address>",
            converter = HostAddress.class,
            description = "Connect to this server (default: be the server).")
    private @Nullable InetAddress server;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "<address>",
            converter = HostAddress.class,
            description = "As a server, listen on this address (default: that of the device).")
    private @Nullable InetAddress bind;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "<port>",
            description = "The port, 1 to 65535; a server also takes 0 (default: ${DEFAULT-VALUE}).")
    private int port = 7471;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes>",
            description = "Bytes of a transfer, 1 to 1073741824 (default: ${DEFAULT-VALUE}).")
    private int sizeBytes = 1000;

    @Option(
            names = {"-C", "--transfers"},
            paramLabel = "<count>",
            description = "Transfers of an iteration in each direction (default: ${DEFAULT-VALUE}).")
    private int transfers = 1000;

    @Option(
            names = {"-I", "--iterations"},
            paramLabel = "<count>",
            description = "How often the exchange is repeated (default: ${DEFAULT-VALUE}).")
    private int iterations = 1;

    @Option(
            names = {"-B", "--buffer"},
            paramLabel = "<bytes>",
            description = "Both rings, 16 to 1048575 (default: 32768).")
    private @Nullable Integer bufferBytes;

    @Option(
            names = "--send-buffer",
            paramLabel = "<bytes>",
            description = "The send ring, 16 to 1048575 (default: -B).")
    private @Nullable Integer sendBufferBytes;

    @Option(
            names = "--receive-buffer",
            paramLabel = "<bytes>",
            description = "The receive ring, 16 to 1048575 (default: -B).")
    private @Nullable Integer receiveBufferBytes;

    @Option(
            names = "--queue-depth",
            paramLabel = "<messages>",
            description = "The send and the receive queue, 4 to 1023 (default: 384).")
    private @Nullable Integer queueDepth;

    @Option(
            names = "--receive-depth",
            paramLabel = "<messages>",
            hidden = true,
            description = "The receive queue, 4 to 1023 (default: --queue-depth).")
    private @Nullable Integer receiveDepth;

    @Option(
            names = "--mode",
            paramLabel = "<mode>",
            description =
                    "How data gets to the receiver, the same on both sides: immediate: written; iwarp: written, and a"
                            + " message after each write; split: as immediate, but half of what is large is read by the receiver,"
                            + " faster on soft-RoCE (default: immediate).")
    private @Nullable StreamMode mode;

    @Option(names = "--both-at-once", description = "Both sides send at the same time.")
    private boolean bothAtOnce;

    private boolean together = true;

    @Option(names = "--verify", description = "Compare every byte; on both sides. The same as -T v.")
    private boolean verify;

    @Option(
            names = {"-T", "--test"},
            paramLabel = "<option>",
            description = "v or verify: compare every byte; on both sides.")
    private List<String> tests = new ArrayList<>();

    /** Creates the options with their defaults; picocli fills them in. */
    RmaStreamOptions() {}

    /**
     * Reads options from a line, such as {@code -S 1000 -C 50 --verify}.
     *
     * @param words parts of the line, as for {@link Options#parse}
     * @throws IllegalArgumentException if the line is wrong; the message has the line, and names the option
     */
    public static RmaStreamOptions parse(Object... words) {
        return parse(RmaStreamOptions.class, words);
    }

    @Option(
            names = "--one-by-one",
            description =
                    "Write each transfer by itself (default: small ones that follow each other at once may go in one"
                            + " message, FI_MORE).")
    private void setOneByOne(boolean given) {
        together = !given;
    }

    @Override
    protected void check() {
        range("The port must be", port, 0, MOST_PORT);
        range("The size must be", sizeBytes, 1, MOST_BYTES);
        range("The number of transfers must be", transfers, 1, Integer.MAX_VALUE);
        range("The number of iterations must be", iterations, 1, Integer.MAX_VALUE);
        for (String test : tests) {
            if (!test.equals("v") && !test.equals("verify")) {
                throw new IllegalArgumentException("-T takes v or verify, not '" + test
                        + "'; rstream's other tests are options of its sockets, see './rdmatest rstream --help'");
            }
        }
        if (server != null && bind != null) {
            throw new IllegalArgumentException("-s is for a client and -b for a server: give one of them");
        }
        // The stream names its own components.
        range("-B is", bufferBytes, StreamOptions.LEAST_BUFFER_BYTES, StreamOptions.MOST_BUFFER_BYTES);
        range("--send-buffer is", sendBufferBytes, StreamOptions.LEAST_BUFFER_BYTES, StreamOptions.MOST_BUFFER_BYTES);
        range(
                "--receive-buffer is",
                receiveBufferBytes,
                StreamOptions.LEAST_BUFFER_BYTES,
                StreamOptions.MOST_BUFFER_BYTES);
        // It is the depth of both queues, so the smaller limit counts.
        range("--queue-depth is", queueDepth, StreamOptions.LEAST_DEPTH, StreamOptions.MOST_RECEIVE_DEPTH);
        range("--receive-depth is", receiveDepth, StreamOptions.LEAST_DEPTH, StreamOptions.MOST_RECEIVE_DEPTH);
    }

    private static void range(String name, @Nullable Integer value, int least, int most) {
        if (value != null && (value < least || value > most)) {
            throw new IllegalArgumentException("%s %d to %d, not %d".formatted(name, least, most, value));
        }
    }

    private static int first(@Nullable Integer first, @Nullable Integer second, int otherwise) {
        return first != null ? first : second != null ? second : otherwise;
    }

    /** Tells whether a command line asks for the client (-s); a role knows by itself. */
    public boolean isClient() {
        return server != null;
    }

    /** Returns the server's address (-s), to which a server binds (-b); null for the device's address. */
    public @Nullable InetAddress address() {
        return server != null ? server : bind;
    }

    /** Returns the port (-p), 0 to 65535; with 0 the server chooses one and sends it to the client. */
    public int port() {
        return port;
    }

    /** Returns the bytes of a transfer (-S), 1 to 1 GiB. */
    public int sizeBytes() {
        return sizeBytes;
    }

    /** Returns the transfers of an iteration in each direction (-C), at least 1. */
    public int transfers() {
        return transfers;
    }

    /** Returns how often the exchange is repeated (-I), at least 1. */
    public int iterations() {
        return iterations;
    }

    /** Tells whether both sides send at the same time; otherwise the client sends first, then the server. */
    public boolean bothAtOnce() {
        return bothAtOnce;
    }

    /** Tells whether consecutive transfers may share a message (FI_MORE). */
    public boolean together() {
        return together;
    }

    /** Returns the rings, the queues and the mode. */
    public StreamOptions stream() {
        StreamOptions usual = StreamOptions.defaults();
        return new StreamOptions(
                first(sendBufferBytes, bufferBytes, usual.sendBufferBytes()),
                first(receiveBufferBytes, bufferBytes, usual.receiveBufferBytes()),
                first(queueDepth, null, usual.sendQueueDepth()),
                first(receiveDepth, queueDepth, usual.receiveQueueDepth()),
                mode != null ? mode : usual.mode());
    }

    /** Tells whether data has the counter pattern of rstream and is compared byte by byte. */
    public boolean verify() {
        return verify || !tests.isEmpty();
    }

    /** Returns the number of bytes in each direction. */
    public long bytesEachWay() {
        return (long) sizeBytes * transfers * iterations;
    }
}
