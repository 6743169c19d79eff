package io.rdmatest.scenarios.cli;

import io.rdmatest.cm.AddressInfo;
import io.rdmatest.scenarios.engine.AddressOptions;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.RstreamOptions.Transport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The options of rstream(1). */
public final class RstreamArguments implements Arguments<RstreamOptions> {

    private static final Duration ENDLESS = Duration.ofDays(36_500);
    private static final int ALL = -1;

    @Option(
            names = {"-s", "--server"},
            paramLabel = "<address>",
            description = "Be the client, of the server at this host name or IP address. Without it, be the server.")
    private @Nullable String server;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "<address>",
            description = "The local address. As with the C program, a client is bound to the port of -p as well.")
    private @Nullable String bind;

    @Option(
            names = {"-f", "--address-format"},
            paramLabel = "<format>",
            converter = FormatConverter.class,
            description = "How addresses are written: name, ip, ipv6 or gid (default: name).")
    private AddressInfo.Format format = AddressInfo.Format.NAME;

    @Option(
            names = {"-B", "--buffer-size"},
            paramLabel = "<bytes>",
            description = "The size of the send and receive buffers; 0 means 524288 (default: 0).")
    private int buffer;

    @Option(
            names = {"-I", "--iterations"},
            paramLabel = "<n>",
            description =
                    "How often the transfers are exchanged. Selects one custom test (default: 1, as in the C program,"
                            + " whose manual says 1000).")
    private @Nullable Integer iterations;

    @Option(
            names = {"-C", "--transfers"},
            paramLabel = "<n>",
            description =
                    "Transfers to the server, and back, in each iteration. Selects one custom test (default: 1000).")
    private @Nullable Integer transfers;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes|all>",
            converter = SizeConverter.class,
            description =
                    "The size of a transfer. A number selects one custom test (default: 1000); 'all' the two series"
                            + " over 33 sizes up to 6 MiB instead of 4.")
    private @Nullable Integer size;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "<port>",
            description = "The server's port (default: 7471); on a server, 0 takes a free one.")
    private int port = RstreamOptions.DEFAULT_PORT;

    @Option(
            names = {"-i", "--inline-size"},
            paramLabel = "<bytes>",
            description =
                    "Up to which size rsockets send inline in the latency series, 0 to 65536 (default: 64); more than the"
                            + " device can ends with status 5 at the first connection.")
    private int inline = RstreamOptions.DEFAULT_INLINE;

    @Option(
            names = {"-k", "--keepalive"},
            paramLabel = "<seconds>",
            description = "Probe a connection that is idle for so long; 0 means never (default: 0).")
    private int keepalive;

    @Option(
            names = {"-T", "--test"},
            paramLabel = "<option>",
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
    private List<String> tests = new ArrayList<>();

    @Option(
            names = "--clients",
            paramLabel = "<n>",
            description =
                    "Server: serve so many clients at once, over TCP or rsockets (default: 1); 0 serves until interrupted,"
                            + " and ends with the status of one that failed, if any did. With the two series, needs -T v.")
    private @Nullable Integer clients;

    @Option(
            names = "--scale",
            paramLabel = "<share>",
            description =
                    "The share of the repetitions of the two series, above 0 and up to 1, for slow devices; the C program"
                            + " knows only 1 (default: 1).")
    private double scale = 1;

    /** Creates the options with nothing given; picocli fills them in. */
    public RstreamArguments() {}

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

    @Override
    public RstreamOptions toOptions(CommonOptions common) {
        AddressOptions.requireOneFamily("-b", bind, "-s", server);
        RstreamOptions options = RstreamOptions.defaults()
                .withServerAddress(server)
                .withBindAddress(bind)
                .withOnDevice(common.selectsDevice())
                .withAddressFormat(format)
                .withBufferBytes(buffer)
                .withPort(port)
                .withInlineBytes(inline)
                .withKeepAliveIdle(Duration.ofSeconds(keepalive))
                .withClients(clients == null ? 1 : clients)
                .withScale(scale)
                .withFirstWait(common.givenTimeout().orElse(ENDLESS))
                .withTimeout(common.timeout())
                .withFault(common.fault());
        if (server != null && port == 0) {
            throw new IllegalArgumentException("The port of the server (-p) is 1 to 65535, not 0");
        }
        Integer given = size;
        if (given != null && given == ALL) {
            options = options.withSuite(RstreamOptions.Suite.ALL_SIZES);
        } else if (given != null) {
            options = options.withSizeBytes(given);
        }
        if (iterations != null) {
            options = options.withIterations(iterations);
        }
        if (transfers != null) {
            options = options.withTransfers(transfers);
        }
        for (Test test : tests()) {
            options = switch (test) {
                case SOCKET -> options.withTransport(Transport.TCP);
                case ASYNC -> options.withAsync(true);
                case BLOCK -> options.withBlocking(true);
                case FORK -> options.withFork(true);
                case NONBLOCK -> options.withBlocking(false);
                case RESOLVE -> options.withResolve(true);
                case VERIFY -> options.withVerify(true);
            };
        }
        options.requireConsistent();
        return options;
    }

    /** Refuses what a command line must not have; an option line of a test is for both sides. */
    void check() {
        if (server != null && clients != null) {
            throw new IllegalArgumentException("--clients is for a server: a client (-s) is one");
        }
    }

    /** Here and not by picocli, which takes a lone comma for nothing. */
    private List<Test> tests() {
        return tests.stream()
                .flatMap(given -> Arrays.stream(given.split(",", -1)))
                .map(RstreamArguments::test)
                .toList();
    }

    /** Whether this is the client: it was given a server. */
    boolean isClient() {
        return server != null;
    }

    /** Reads a number of bytes, or {@code all}. */
    static final class SizeConverter implements ITypeConverter<Integer> {

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
                // Said below.
            }
            throw new TypeConversionException(
                    "'" + text + "' is not a size: allowed are 1 to 1073741824 bytes, or 'all'");
        }
    }

    /** Reads an address format as the C program does, by the beginning of its name. */
    static final class FormatConverter implements ITypeConverter<AddressInfo.Format> {

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

    /** Reads a test option as the C program does: a letter, or a word by its beginning. */
    private static Test test(String text) {
        for (Test test : Test.values()) {
            String letter = test.name().substring(0, 1).toLowerCase(Locale.ROOT);
            if (text.equals(letter) || text.toUpperCase(Locale.ROOT).startsWith(test.name())) {
                return test;
            }
        }
        throw new IllegalArgumentException("-T '" + text
                + "' is not a test option: allowed are socket, async, blocking, fork, nonblocking, resolve and verify, or"
                + " their first letters");
    }
}
