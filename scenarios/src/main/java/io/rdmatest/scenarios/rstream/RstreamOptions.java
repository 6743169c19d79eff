package io.rdmatest.scenarios.rstream;

import io.rdmatest.cm.AddressInfo;
import io.rdmatest.scenarios.options.AddressOptions;
import io.rdmatest.scenarios.options.AddressTexts;
import io.rdmatest.scenarios.options.Options;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/**
 * The options of both sides of rstream(1), and what that program has no option for. Nothing is negotiated: both sides need the
 * same suite, counts, sizes and verification.
 *
 * <p>The defaults are those of the program. Where its manual says otherwise (it promises 1000 iterations, the program does
 * 1), the program decides, because that is what the other side runs.
 */
public final class RstreamOptions extends Options<RstreamOptions> {

    /** The program's port. */
    public static final int DEFAULT_PORT = 7471;

    /** The largest transfer in bytes, 1 GiB. */
    public static final int LARGEST_TRANSFER = 1 << 30;

    /** The default socket buffers in bytes, 512 KiB. */
    public static final int DEFAULT_BUFFER = 1 << 19;

    /** The default inline size of the latency series in bytes. */
    public static final int DEFAULT_INLINE = 64;

    /** The largest inline size in bytes; a device allows far less. */
    public static final int LARGEST_INLINE = 1 << 16;

    private static final int LARGEST_COUNT = 1_000_000_000;

    /** The size that stands for all sizes. */
    private static final int ALL = -1;

    /** The suites of rows. */
    public enum Suite {
        /** The latency series and the bandwidth series over the 4 standard sizes, on two consecutive connections. */
        STANDARD,
        /** The same over all 33 sizes. */
        ALL_SIZES,
        /** One row on one connection. */
        CUSTOM
    }

    /** The transports. */
    public enum Transport {
        /** A stream socket over RDMA, rsocket(7). */
        RSOCKET,
        /** A plain TCP socket. */
        TCP
    }

    @Option(
            names = {"-s", "--server"},
            paramLabel = "<address>",
            description = "Be the client, of the server at this host name or IP address. Without it, be the server.")
    private @Nullable String serverAddress;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "<address>",
            description = "The local address. As with the C program, a client is bound to the port of -p as well.")
    private @Nullable String bindAddress;

    @Option(
            names = "--on-device",
            hidden = true,
            description =
                    "Bind a side without -b to the address of its device, a client to any port (default: with --device"
                            + " or --gid-index).")
    private boolean onDevice;

    @Option(
            names = {"-f", "--address-format"},
            paramLabel = "<format>",
            converter = FormatText.class,
            description = "How addresses are written: name, ip, ipv6 or gid (default: name).")
    private AddressInfo.Format addressFormat = AddressInfo.Format.NAME;

    @Option(
            names = {"-B", "--buffer-size"},
            paramLabel = "<bytes>",
            description = "The size of the send and receive buffers; 0 means 524288 (default: 0).")
    private int bufferBytes;

    private Suite suite = Suite.STANDARD;
    private int iterations = 1;
    private int transfers = 1000;
    private int sizeBytes = 1000;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "<port>",
            description = "The server's port (default: 7471); on a server, 0 takes a free one.")
    private int port = DEFAULT_PORT;

    @Option(
            names = {"-i", "--inline-size"},
            paramLabel = "<bytes>",
            description =
                    "Up to which size rsockets send inline in the latency series, 0 to 65536 (default: 64); more than the"
                            + " device can ends with status 5 at the first connection.")
    private int inlineBytes = DEFAULT_INLINE;

    @Option(
            names = {"-k", "--keepalive"},
            paramLabel = "<seconds>",
            converter = SecondsText.class,
            description = "Probe a connection that is idle for so long; 0 means never (default: 0).")
    private Duration keepAliveIdle = Duration.ZERO;

    private Transport transport = Transport.RSOCKET;
    private boolean async;
    private boolean blocking;
    private boolean fork;
    private boolean resolve;
    private boolean verify;

    @Option(
            names = "--clients",
            paramLabel = "<n>",
            description =
                    "Server: serve so many clients at once, over TCP or rsockets (default: 1); 0 serves until interrupted,"
                            + " and ends with the status of one that failed, if any did. With the two series, needs -T v.")
    private int clients = 1;

    @Option(
            names = "--scale",
            paramLabel = "<share>",
            description =
                    "The share of the repetitions of the two series, above 0 and up to 1, for slow devices; the C program"
                            + " knows only 1 (default: 1).")
    private double scale = 1;

    /** Creates the options with their defaults; picocli fills them in. */
    RstreamOptions() {}

    /**
     * Reads options from a line, such as {@code -T v -S 1000 -C 50}.
     *
     * @param words parts of the line, as for {@link Options#parse}
     * @throws IllegalArgumentException if the line is wrong; the message has the line, and names the option
     */
    public static RstreamOptions parse(Object... words) {
        return parse(RstreamOptions.class, words);
    }

    // ---- what a command line sets in another way than by a field ----

    @Option(
            names = {"-I", "--iterations"},
            paramLabel = "<n>",
            description =
                    "How often the transfers are exchanged. Selects one custom test (default: 1, as in the C program,"
                            + " whose manual says 1000).")
    private void setIterations(int given) {
        suite = Suite.CUSTOM;
        iterations = given;
    }

    @Option(
            names = {"-C", "--transfers"},
            paramLabel = "<n>",
            description =
                    "Transfers to the server, and back, in each iteration. Selects one custom test (default: 1000).")
    private void setTransfers(int given) {
        suite = Suite.CUSTOM;
        transfers = given;
    }

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes|all>",
            converter = SizeText.class,
            description =
                    "The size of a transfer. A number selects one custom test (default: 1000); 'all' the two series"
                            + " over 33 sizes up to 6 MiB instead of 4.")
    private void setSize(int given) {
        if (given != ALL) {
            suite = Suite.CUSTOM;
            sizeBytes = given;
        } else if (suite != Suite.CUSTOM) {
            suite = Suite.ALL_SIZES;
        }
    }

    @Option(
            names = {"-T", "--test"},
            paramLabel = "<option>",
            converter = TestsText.class,
            description = {
                "May be repeated, or several joined by commas:",
                "s, sockets: plain TCP sockets instead of rsockets",
                "a, async: poll before each send and receive",
                "b, blocking: sleep where a call would block",
                "f, fork: a worker for each connection; implies s",
                "n, nonblocking: try again where a call would block, before sleeping (default)",
                "r, resolve: let librdmacm resolve the addresses",
                "v, verify: verify the data"
            })
    private void setTests(Tests given) {
        for (Test test : given.tests()) {
            switch (test) {
                case SOCKET -> transport = Transport.TCP;
                case ASYNC -> async = true;
                case BLOCK -> blocking = true;
                case FORK -> {
                    transport = Transport.TCP;
                    fork = true;
                }
                case NONBLOCK -> blocking = false;
                case RESOLVE -> resolve = true;
                case VERIFY -> verify = true;
            }
        }
    }

    /** What -T selects; the C program's long words need only begin as here. */
    private enum Test {
        SOCKET,
        ASYNC,
        BLOCK,
        FORK,
        NONBLOCK,
        RESOLVE,
        VERIFY
    }

    private record Tests(List<Test> tests) {}

    /** Reads test options as the C program does, each a letter or a word by its beginning, and several with commas between. */
    private static final class TestsText implements ITypeConverter<Tests> {

        @Override
        public Tests convert(String text) {
            // Here and not by picocli, which takes a lone comma for nothing.
            return new Tests(
                    Arrays.stream(text.split(",", -1)).map(TestsText::test).toList());
        }

        private static Test test(String text) {
            for (Test test : Test.values()) {
                String letter = test.name().substring(0, 1).toLowerCase(Locale.ROOT);
                if (text.equals(letter) || text.toUpperCase(Locale.ROOT).startsWith(test.name())) {
                    return test;
                }
            }
            throw new TypeConversionException("-T '" + text
                    + "' is not a test option: allowed are socket, async, blocking, fork, nonblocking, resolve and verify, or"
                    + " their first letters");
        }
    }

    /** Reads a number of bytes, or {@code all}. */
    private static final class SizeText implements ITypeConverter<Integer> {

        @Override
        public Integer convert(String text) {
            if (text.toLowerCase(Locale.ROOT).startsWith("all")) {
                return ALL;
            }
            try {
                int bytes = Integer.parseInt(text);
                if (bytes > 0) {
                    return bytes;
                }
            } catch (NumberFormatException e) {
                // Reported below.
            }
            throw new TypeConversionException(
                    "'" + text + "' is not a size: allowed are 1 to 1073741824 bytes, or 'all'");
        }
    }

    /** Reads a whole number of seconds. */
    private static final class SecondsText implements ITypeConverter<Duration> {

        @Override
        public Duration convert(String text) {
            try {
                return Duration.ofSeconds(Integer.parseInt(text));
            } catch (NumberFormatException e) {
                throw new TypeConversionException("'" + text + "' is not a whole number of seconds");
            }
        }
    }

    /** Reads an address format as the C program does, by the beginning of its name. */
    private static final class FormatText implements ITypeConverter<AddressInfo.Format> {

        @Override
        public AddressInfo.Format convert(String text) {
            String word = text.toLowerCase(Locale.ROOT);
            if (word.startsWith("ipv6")) {
                return AddressInfo.Format.IPV6;
            }
            if (word.startsWith("ip")) {
                return AddressInfo.Format.IP;
            }
            if (word.startsWith("gid")) {
                return AddressInfo.Format.GID;
            }
            if (word.equals("name")) {
                return AddressInfo.Format.NAME;
            }
            throw new TypeConversionException(
                    "'" + text + "' is not an address format: allowed are name, ip, ipv6 and gid");
        }
    }

    // ---- checks ----

    @Override
    protected void check() {
        // Other formats are checked when the addresses are resolved; for a GID the library would accept any number.
        AddressInfo.Format checked =
                addressFormat == AddressInfo.Format.GID ? AddressInfo.Format.GID : AddressInfo.Format.NAME;
        if (serverAddress != null) {
            AddressTexts.check("The server address (-s)", checked, serverAddress);
        }
        if (bindAddress != null) {
            AddressTexts.check("The local address (-b)", checked, bindAddress);
        }
        require(port >= 0 && port <= 65535, "The port (-p) must be 0 to 65535, not %s", port);
        require(
                iterations >= 1 && iterations <= LARGEST_COUNT,
                "The iterations (-I) must be 1 to 1000000000, not %s",
                iterations);
        require(
                transfers >= 1 && transfers <= LARGEST_COUNT,
                "The transfers (-C) must be 1 to 1000000000, not %s",
                transfers);
        require(
                sizeBytes >= 1 && sizeBytes <= LARGEST_TRANSFER,
                "The size of a transfer (-S) must be 1 to 1073741824 bytes, or 'all', not %s",
                sizeBytes);
        require(scale > 0 && scale <= 1, "The scale of the repetitions must be above 0 and at most 1, not %s", scale);
        require(
                bufferBytes >= 0 && bufferBytes <= LARGEST_TRANSFER,
                "The socket buffers (-B) must have 0 to 1073741824 bytes, not %s",
                bufferBytes);
        require(
                inlineBytes >= 0 && inlineBytes <= LARGEST_INLINE,
                "The inline size (-i) must be 0 to 65536 bytes, not %s",
                inlineBytes);
        require(
                !keepAliveIdle.isNegative() && keepAliveIdle.toSeconds() <= 32767,
                "The idle time before a keepalive probe (-k) must be 0 to 32767 whole seconds, not %s",
                keepAliveIdle.toSeconds());
        require(clients >= 0, "The number of clients must be positive, or 0 for no limit, not %s", clients);
        AddressOptions.requireOneFamily("-b", bindAddress, "-s", serverAddress);
        require(
                addressFormat != AddressInfo.Format.GID || transport == Transport.RSOCKET,
                "A %s as address needs RDMA: leave out -T s and -T f",
                addressFormat);
        require(
                clients == 1 || suite == Suite.CUSTOM || verify,
                "Serving %s clients at once in the default suite needs verification (-T v): "
                        + "only the data distinguishes a client's second connection from another client's first one",
                clients == 0 ? "any number of" : clients);
    }

    private static void require(boolean met, String sentence, Object value) {
        if (!met) {
            throw new IllegalArgumentException(sentence.formatted(value));
        }
    }

    /** Returns the server's host name, IP address or GID (-s); null for the device's address. For the client only. */
    public @Nullable String serverAddress() {
        return serverAddress;
    }

    /** Returns the local address (-b); null for any. It also binds a client to {@link #port}, as in the program. */
    public @Nullable String bindAddress() {
        return bindAddress;
    }

    /** Tells whether a side without {@link #bindAddress} is bound to the address of its device, a client to any port. */
    public boolean onDevice() {
        return onDevice || selectsDevice();
    }

    /** Returns the format of the addresses (-f). */
    public AddressInfo.Format addressFormat() {
        return addressFormat;
    }

    /** Returns the server's port (-p), 0 to 65535; with 0 the server chooses one and sends it to the client. */
    public int port() {
        return port;
    }

    /**
     * Returns the rows to run. {@code -I}, {@code -C} and a number with {@code -S} choose {@link Suite#CUSTOM}, as in the program.
     */
    public Suite suite() {
        return suite;
    }

    /** Returns how often the exchange of a custom row is repeated (-I), at least 1. */
    public int iterations() {
        return iterations;
    }

    /** Returns the transfers per direction and iteration of a custom row (-C), at least 1. */
    public int transfers() {
        return transfers;
    }

    /** Returns the size of a transfer of a custom row (-S), 1 to {@value #LARGEST_TRANSFER} bytes. */
    public int sizeBytes() {
        return sizeBytes;
    }

    /** Returns the share of the program's repetitions in the other suites, above 0 and at most 1; the program always has 1. */
    public double scale() {
        return scale;
    }

    /** Returns the size of the socket's send and receive buffers (-B), 0 for {@value #DEFAULT_BUFFER} bytes. */
    public int bufferBytes() {
        return bufferBytes;
    }

    /** Returns the largest size that an rsocket sends inline in the latency series (-i), 0 to {@value #LARGEST_INLINE}. */
    public int inlineBytes() {
        return inlineBytes;
    }

    /** Returns the time without traffic after which the connection is probed (-k), in whole seconds; zero for never. */
    public Duration keepAliveIdle() {
        return keepAliveIdle;
    }

    /** Returns the transport (-T s). */
    public Transport transport() {
        return transport;
    }

    /** Tells whether to poll before each send and receive (-T a). */
    public boolean async() {
        return async;
    }

    /** Tells whether to wait in the kernel when a call would block (-T b), instead of retrying (-T n). */
    public boolean blocking() {
        return blocking;
    }

    /** Tells whether each connection gets its own worker (-T f). */
    public boolean fork() {
        return fork;
    }

    /** Tells whether librdmacm resolves the addresses (-T r). */
    public boolean resolve() {
        return resolve;
    }

    /** Tells whether the data has the running counter and is compared byte by byte (-T v). */
    public boolean verify() {
        return verify;
    }

    /** Returns how many clients a server serves at once; 0 serves until it is ended. */
    public int clients() {
        return clients;
    }

    /**
     * Returns the rows of each connection, in order.
     *
     * @return two series, or one with the custom row
     */
    public List<List<StreamRow>> series() {
        if (suite == Suite.CUSTOM) {
            return List.of(List.of(StreamRow.custom(sizeBytes, transfers, iterations)));
        }
        List<Integer> sizes = suite == Suite.ALL_SIZES ? StreamRow.ALL_SIZES : StreamRow.STANDARD_SIZES;
        return List.of(
                sizes.stream().map(size -> StreamRow.latency(size, scale)).toList(),
                sizes.stream().map(size -> StreamRow.bandwidth(size, scale)).toList());
    }

    /** Returns the bytes of each of the socket's buffers. */
    int effectiveBufferBytes() {
        return bufferBytes == 0 ? DEFAULT_BUFFER : bufferBytes;
    }
}
