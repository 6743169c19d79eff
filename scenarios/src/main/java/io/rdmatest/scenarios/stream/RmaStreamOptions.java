package io.rdmatest.scenarios.stream;

import io.rdmatest.scenarios.options.HostAddress;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.stream.StreamMode;
import io.rdmatest.stream.StreamOptions;
import java.net.InetAddress;
import java.time.Duration;
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
    private transient @Nullable InetAddress server;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "<address>",
            converter = HostAddress.class,
            description = "As a server, listen on this address (default: that of the device).")
    private transient @Nullable InetAddress bind;

    private @Nullable InetAddress address;

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
    private transient @Nullable Integer bufferBytes;

    @Option(
            names = "--send-buffer",
            paramLabel = "<bytes>",
            description = "The send ring, 16 to 1048575 (default: -B).")
    private transient @Nullable Integer sendBufferBytes;

    @Option(
            names = "--receive-buffer",
            paramLabel = "<bytes>",
            description = "The receive ring, 16 to 1048575 (default: -B).")
    private transient @Nullable Integer receiveBufferBytes;

    @Option(
            names = "--queue-depth",
            paramLabel = "<messages>",
            description = "The send and the receive queue, 4 to 1023 (default: 384).")
    private transient @Nullable Integer queueDepth;

    @Option(
            names = "--mode",
            paramLabel = "<mode>",
            description =
                    "How data gets to the receiver, the same on both sides: immediate: written; iwarp: written, and a"
                            + " message after each write; split: as immediate, but half of what is large is read by the receiver,"
                            + " faster on soft-RoCE (default: immediate).")
    private transient @Nullable StreamMode mode;

    private StreamOptions stream = StreamOptions.defaults();

    @Option(names = "--both-at-once", description = "Both sides send at the same time.")
    private boolean bothAtOnce;

    private boolean together = true;

    @Option(names = "--verify", description = "Compare every byte; on both sides. The same as -T v.")
    private boolean verify;

    @Option(
            names = {"-T", "--test"},
            paramLabel = "<option>",
            description = "v or verify: compare every byte; on both sides.")
    private transient List<String> tests = new ArrayList<>();

    private Fault fault = Fault.NONE;
    private Duration timeout = Duration.ofSeconds(10);
    private @Nullable Duration acceptTimeout;

    private RmaStreamOptions() {}

    /**
     * Returns the defaults: those of rstream's custom test (port 7471, 1000 transfers of 1000 bytes, 1 iteration) with
     * the rings and queues of fi_rstream, small transfers together, a limit of 10 s for each wait, and no limit for the
     * first client.
     */
    public static RmaStreamOptions defaults() {
        return new RmaStreamOptions();
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
    public void check() {
        range("The port must be", port, 0, MOST_PORT);
        range("The size must be", sizeBytes, 1, MOST_BYTES);
        range("The number of transfers must be", transfers, 1, Integer.MAX_VALUE);
        range("The number of iterations must be", iterations, 1, Integer.MAX_VALUE);
        if (!timeout.isPositive()) {
            throw new IllegalArgumentException("The timeout must be positive, not " + timeout);
        }
    }

    @Override
    public RmaStreamOptions withCommon(Duration limit, @Nullable Duration givenTimeout, Fault wrong) {
        checkCommandLine();
        return with(copy -> {
            copy.address = server != null ? server : bind != null ? bind : address;
            copy.stream = given();
            copy.verify = verify || !tests.isEmpty();
            copy.timeout = limit;
            copy.acceptTimeout = givenTimeout;
            copy.fault = wrong;
        });
    }

    private void checkCommandLine() {
        for (String test : tests) {
            if (!test.equals("v") && !test.equals("verify")) {
                throw new IllegalArgumentException("-T takes v or verify, not '" + test
                        + "'; rstream's other tests are options of its sockets, see './rdmatest rstream --help'");
            }
        }
        if (server != null && bind != null) {
            throw new IllegalArgumentException("-s is for a client and -b for a server: give one of them");
        }
        if (server != null && port == 0) {
            throw new IllegalArgumentException("A client needs the server's port: -p is 1 to 65535, not 0");
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
    }

    private static void range(String name, @Nullable Integer value, int least, int most) {
        if (value != null && (value < least || value > most)) {
            throw new IllegalArgumentException("%s %d to %d, not %d".formatted(name, least, most, value));
        }
    }

    private StreamOptions given() {
        return new StreamOptions(
                first(sendBufferBytes, bufferBytes, stream.sendBufferBytes()),
                first(receiveBufferBytes, bufferBytes, stream.receiveBufferBytes()),
                first(queueDepth, null, stream.sendQueueDepth()),
                first(queueDepth, null, stream.receiveQueueDepth()),
                mode != null ? mode : stream.mode());
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
        return address;
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
        return stream;
    }

    /** Tells whether data has the counter pattern of rstream and is compared byte by byte. */
    public boolean verify() {
        return verify;
    }

    /** Returns the injected fault. */
    public Fault fault() {
        return fault;
    }

    /** Returns the limit of each wait. */
    public Duration timeout() {
        return timeout;
    }

    /** Returns the limit of a server's wait for its client; null for none. */
    public @Nullable Duration acceptTimeout() {
        return acceptTimeout;
    }

    /** Returns the number of bytes in each direction. */
    public long bytesEachWay() {
        return (long) sizeBytes * transfers * iterations;
    }

    /** Returns these options with another {@link #address}. */
    public RmaStreamOptions withAddress(@Nullable InetAddress value) {
        return with(copy -> copy.address = value);
    }

    /** Returns these options with another {@link #port}. */
    public RmaStreamOptions withPort(int value) {
        return with(copy -> copy.port = value);
    }

    /**
     * Returns these options with other counts.
     *
     * @param size bytes of a transfer
     * @param count transfers of an iteration in each direction
     * @param repeat iterations
     */
    public RmaStreamOptions withTransfers(int size, int count, int repeat) {
        return with(copy -> {
            copy.sizeBytes = size;
            copy.transfers = count;
            copy.iterations = repeat;
        });
    }

    /** Returns these options with both sides sending at the same time, or not. */
    public RmaStreamOptions withBothAtOnce(boolean value) {
        return with(copy -> copy.bothAtOnce = value);
    }

    /** Returns these options with consecutive transfers that may share a message, or not. */
    public RmaStreamOptions withTogether(boolean value) {
        return with(copy -> copy.together = value);
    }

    /** Returns these options with other rings and queues. */
    public RmaStreamOptions withStream(StreamOptions value) {
        return with(copy -> copy.stream = value);
    }

    /** Returns these options with another mode of the stream. */
    public RmaStreamOptions withMode(StreamMode value) {
        return withStream(stream.withMode(value));
    }

    /** Returns these options with verification, or without. */
    public RmaStreamOptions withVerify(boolean value) {
        return with(copy -> copy.verify = value);
    }

    /** Returns these options with another fault. */
    public RmaStreamOptions withFault(Fault value) {
        return with(copy -> copy.fault = value);
    }

    /**
     * Returns these options with other limits.
     *
     * @param any the limit of each wait
     * @param accept the limit of a server's wait for its client; null for none
     */
    public RmaStreamOptions withTimeout(Duration any, @Nullable Duration accept) {
        return with(copy -> {
            copy.timeout = any;
            copy.acceptTimeout = accept;
        });
    }
}
