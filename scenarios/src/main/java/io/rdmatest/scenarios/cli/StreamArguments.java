package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.engine.AddressOptions;
import io.rdmatest.scenarios.stream.RmaStreamOptions;
import io.rdmatest.stream.StreamMode;
import io.rdmatest.stream.StreamOptions;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of {@code ./rdmatest stream}: the letters of rstream(1), and the sizes of fi_rstream(7). */
public final class StreamArguments implements Arguments<RmaStreamOptions> {

    @Option(
            names = {"-s", "--server"},
            paramLabel = "<address>",
            description = "Connect to this server (default: be the server).")
    @Nullable
    String server;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "<address>",
            description = "As a server, listen on this address (default: that of the device).")
    private @Nullable String bind;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "<port>",
            description = "The port, 1 to 65535; a server also takes 0 (default: ${DEFAULT-VALUE}).")
    private int port = 7471;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes>",
            description = "Bytes of a transfer, 1 to 1073741824 (default: ${DEFAULT-VALUE}).")
    private int size = 1000;

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
    private @Nullable Integer buffer;

    @Option(
            names = "--send-buffer",
            paramLabel = "<bytes>",
            description = "The send ring, 16 to 1048575 (default: -B).")
    private @Nullable Integer sendBuffer;

    @Option(
            names = "--receive-buffer",
            paramLabel = "<bytes>",
            description = "The receive ring, 16 to 1048575 (default: -B).")
    private @Nullable Integer receiveBuffer;

    @Option(
            names = "--queue-depth",
            paramLabel = "<messages>",
            description = "The send and the receive queue, 4 to 1023 (default: ${DEFAULT-VALUE}).")
    private int queueDepth = 384;

    @Option(
            names = "--mode",
            paramLabel = "<mode>",
            description =
                    "How data gets to the receiver, the same on both sides: immediate: written; iwarp: written, and a"
                            + " message after each write; split: as immediate, but half of what is large is read by the receiver,"
                            + " faster on soft-RoCE (default: ${DEFAULT-VALUE}).")
    private StreamMode mode = StreamMode.IMMEDIATE;

    @Option(names = "--both-at-once", description = "Both sides send at the same time.")
    private boolean bothAtOnce;

    @Option(
            names = "--one-by-one",
            description =
                    "Write each transfer by itself (default: small ones that follow each other at once may go in one"
                            + " message, FI_MORE).")
    private boolean oneByOne;

    @Option(names = "--verify", description = "Compare every byte; on both sides. The same as -T v.")
    private boolean verify;

    @Option(
            names = {"-T", "--test"},
            paramLabel = "<option>",
            description = "v or verify: compare every byte; on both sides.")
    private List<String> tests = new ArrayList<>();

    @Override
    public RmaStreamOptions toOptions(CommonOptions common) {
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
        range("-B", buffer, StreamOptions.LEAST_BUFFER_BYTES, StreamOptions.MOST_BUFFER_BYTES);
        range("--send-buffer", sendBuffer, StreamOptions.LEAST_BUFFER_BYTES, StreamOptions.MOST_BUFFER_BYTES);
        range("--receive-buffer", receiveBuffer, StreamOptions.LEAST_BUFFER_BYTES, StreamOptions.MOST_BUFFER_BYTES);
        // Of both queues, so that the smaller one limits it.
        range("--queue-depth", queueDepth, StreamOptions.LEAST_DEPTH, StreamOptions.MOST_RECEIVE_DEPTH);
        int both = buffer != null ? buffer : StreamOptions.defaults().sendBufferBytes();
        StreamOptions stream = new StreamOptions(
                sendBuffer != null ? sendBuffer : both,
                receiveBuffer != null ? receiveBuffer : both,
                queueDepth,
                queueDepth,
                mode);
        return RmaStreamOptions.defaults()
                .withAddress(server != null ? AddressOptions.resolve("-s", server) : AddressOptions.resolve("-b", bind))
                .withPort(port)
                .withTransfers(size, transfers, iterations)
                .withBothAtOnce(bothAtOnce)
                .withTogether(!oneByOne)
                .withStream(stream)
                .withVerify(verify || !tests.isEmpty())
                .withFault(common.fault())
                .withTimeout(common.timeout(), common.givenTimeout().orElse(null));
    }

    /** The stream's own refusal names its record's components. */
    private static void range(String option, @Nullable Integer value, int least, int most) {
        if (value != null && (value < least || value > most)) {
            throw new IllegalArgumentException("%s is %d to %d, not %d".formatted(option, least, most, value));
        }
    }
}
