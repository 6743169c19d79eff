package io.rdmatest.scenarios.rstream;

import io.rdmatest.cm.AddressInfo;
import io.rdmatest.scenarios.engine.AddressTexts;
import io.rdmatest.scenarios.engine.Fault;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of rstream(1). Nothing is negotiated: both sides need the same suite, counts, sizes and verification.
 *
 * <p>The defaults are those of the program. Where its manual says otherwise (it promises 1000 iterations, the program does
 * 1), the program decides, because that is what the other side runs.
 *
 * @param serverAddress the server's host name, IP address or GID (-s); null for the device's address. For the client
 *     only
 * @param bindAddress the local address (-b); null for any. It also binds a client to {@code port}, as in the program
 * @param onDevice whether a side without {@code bindAddress} is bound to the address of its device, a client to any port
 * @param addressFormat the format of the addresses (-f)
 * @param port the server's port (-p), 0 to 65535; with 0 the server chooses one and sends it to the client
 * @param suite the rows to run; {@link #withIterations}, {@link #withTransfers} and {@link #withSizeBytes} choose
 *     {@link Suite#CUSTOM}, as in the program
 * @param iterations how often the exchange of a custom row is repeated (-I), at least 1
 * @param transfers transfers per direction and iteration of a custom row (-C), at least 1
 * @param sizeBytes the size of a transfer of a custom row (-S), 1 to {@value #LARGEST_TRANSFER} bytes
 * @param scale the share of the program's repetitions in the other suites, above 0 and at most 1; the program always
 *     has 1
 * @param bufferBytes the size of the socket's send and receive buffers (-B), 0 for {@value #DEFAULT_BUFFER} bytes
 * @param inlineBytes the largest size that an rsocket sends inline in the latency series (-i), 0 to {@value
 *     #LARGEST_INLINE}
 * @param keepAliveIdle the time without traffic after which the connection is probed (-k), in whole seconds; zero for
 *     never
 * @param transport the transport (-T s)
 * @param async whether to poll before each send and receive (-T a)
 * @param blocking whether to wait in the kernel when a call would block (-T b), instead of retrying (-T n)
 * @param fork whether each connection gets its own worker (-T f)
 * @param resolve whether librdmacm resolves the addresses (-T r)
 * @param verify whether the data has the running counter and is compared byte by byte (-T v)
 * @param clients how many clients a server serves at once; 0 serves until it is ended
 * @param firstWait the limit of a server's wait for its first client, and of a client's wait for the server's port
 * @param timeout the limit of each other wait
 * @param fault the fault that this side injects
 */
public record RstreamOptions(
        @Nullable String serverAddress,
        @Nullable String bindAddress,
        boolean onDevice,
        AddressInfo.Format addressFormat,
        int port,
        Suite suite,
        int iterations,
        int transfers,
        int sizeBytes,
        double scale,
        int bufferBytes,
        int inlineBytes,
        Duration keepAliveIdle,
        Transport transport,
        boolean async,
        boolean blocking,
        boolean fork,
        boolean resolve,
        boolean verify,
        int clients,
        Duration firstWait,
        Duration timeout,
        Fault fault) {

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

    /** Checks the ranges. */
    public RstreamOptions {
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
                !keepAliveIdle.isNegative() && keepAliveIdle.getNano() == 0 && keepAliveIdle.toSeconds() <= 32767,
                "The idle time before a keepalive probe (-k) must be 0 to 32767 whole seconds, not %s",
                keepAliveIdle.getNano() == 0 ? keepAliveIdle.toSeconds() : keepAliveIdle);
        require(clients >= 0, "The number of clients must be positive, or 0 for no limit, not %s", clients);
        require(firstWait.isPositive(), "The wait for the first client must be positive, not %s", firstWait);
        require(timeout.isPositive(), "The timeout must be positive, not %s", timeout);
    }

    /**
     * Checks combinations of options. The constructors of the roles call it.
     *
     * @throws IllegalArgumentException if options exclude each other
     */
    public void requireConsistent() {
        require(
                !fork || transport == Transport.TCP,
                "A worker for each connection (-T f) needs plain TCP sockets, as in the program; to serve several"
                        + " clients over %s, give their number instead",
                transport);
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

    /** Returns the defaults of the C program, with a limit of 10 s for each wait and of a day for the first client. */
    public static RstreamOptions defaults() {
        return new RstreamOptions(
                null,
                null,
                false,
                AddressInfo.Format.NAME,
                DEFAULT_PORT,
                Suite.STANDARD,
                1,
                1000,
                1000,
                1.0,
                0,
                DEFAULT_INLINE,
                Duration.ZERO,
                Transport.RSOCKET,
                false,
                false,
                false,
                false,
                false,
                1,
                Duration.ofDays(1),
                Duration.ofSeconds(10),
                Fault.NONE);
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

    /** Returns these options with a server address, null for that of the device. */
    public RstreamOptions withServerAddress(@Nullable String serverAddress) {
        return copy(with -> with.serverAddress = serverAddress);
    }

    /** Returns these options with a local address, null for any. */
    public RstreamOptions withBindAddress(@Nullable String bindAddress) {
        return copy(with -> with.bindAddress = bindAddress);
    }

    /** Returns these options with sides bound to their device's address, or to none. */
    public RstreamOptions withOnDevice(boolean onDevice) {
        return copy(with -> with.onDevice = onDevice);
    }

    /** Returns these options with an address format. */
    public RstreamOptions withAddressFormat(AddressInfo.Format addressFormat) {
        return copy(with -> with.addressFormat = addressFormat);
    }

    /** Returns these options with a port. */
    public RstreamOptions withPort(int port) {
        return copy(with -> with.port = port);
    }

    /** Returns these options with a suite. */
    public RstreamOptions withSuite(Suite suite) {
        return copy(with -> with.suite = suite);
    }

    /** Returns these options with a custom row with a number of iterations. */
    public RstreamOptions withIterations(int iterations) {
        return copy(with -> {
            with.suite = Suite.CUSTOM;
            with.iterations = iterations;
        });
    }

    /** Returns these options with a custom row with a number of transfers per iteration. */
    public RstreamOptions withTransfers(int transfers) {
        return copy(with -> {
            with.suite = Suite.CUSTOM;
            with.transfers = transfers;
        });
    }

    /** Returns these options with a custom row with a transfer size in bytes. */
    public RstreamOptions withSizeBytes(int sizeBytes) {
        return copy(with -> {
            with.suite = Suite.CUSTOM;
            with.sizeBytes = sizeBytes;
        });
    }

    /** Returns these options with a share of the program's repetitions. */
    public RstreamOptions withScale(double scale) {
        return copy(with -> with.scale = scale);
    }

    /** Returns these options with a size of the socket buffers. */
    public RstreamOptions withBufferBytes(int bufferBytes) {
        return copy(with -> with.bufferBytes = bufferBytes);
    }

    /** Returns these options with an inline size. */
    public RstreamOptions withInlineBytes(int inlineBytes) {
        return copy(with -> with.inlineBytes = inlineBytes);
    }

    /** Returns these options with an idle time before a keepalive probe. */
    public RstreamOptions withKeepAliveIdle(Duration keepAliveIdle) {
        return copy(with -> with.keepAliveIdle = keepAliveIdle);
    }

    /** Returns these options with a transport. */
    public RstreamOptions withTransport(Transport transport) {
        return copy(with -> with.transport = transport);
    }

    /** Returns these options with polling before each send and receive, or without. */
    public RstreamOptions withAsync(boolean async) {
        return copy(with -> with.async = async);
    }

    /** Returns these options with waits in the kernel, or with retries. */
    public RstreamOptions withBlocking(boolean blocking) {
        return copy(with -> with.blocking = blocking);
    }

    /** Returns these options with a worker for each TCP connection, or without; with a worker, over TCP. */
    public RstreamOptions withFork(boolean fork) {
        return copy(with -> {
            with.transport = fork ? Transport.TCP : with.transport;
            with.fork = fork;
        });
    }

    /** Returns these options with addresses resolved by librdmacm, or not. */
    public RstreamOptions withResolve(boolean resolve) {
        return copy(with -> with.resolve = resolve);
    }

    /** Returns these options with verification, or without. */
    public RstreamOptions withVerify(boolean verify) {
        return copy(with -> with.verify = verify);
    }

    /** Returns these options with a number of clients. */
    public RstreamOptions withClients(int clients) {
        return copy(with -> with.clients = clients);
    }

    /** Returns these options with a limit of the wait for the first client. */
    public RstreamOptions withFirstWait(Duration firstWait) {
        return copy(with -> with.firstWait = firstWait);
    }

    /** Returns these options with a limit of any other wait. */
    public RstreamOptions withTimeout(Duration timeout) {
        return copy(with -> with.timeout = timeout);
    }

    /** Returns these options with an injected fault. */
    public RstreamOptions withFault(Fault fault) {
        return copy(with -> with.fault = fault);
    }

    private RstreamOptions copy(Consumer<Values> change) {
        Values values = new Values(this);
        change.accept(values);
        return values.options();
    }

    /** The components while some of them change. */
    private static final class Values {

        private @Nullable String serverAddress;
        private @Nullable String bindAddress;
        private boolean onDevice;
        private AddressInfo.Format addressFormat;
        private int port;
        private Suite suite;
        private int iterations;
        private int transfers;
        private int sizeBytes;
        private double scale;
        private int bufferBytes;
        private int inlineBytes;
        private Duration keepAliveIdle;
        private Transport transport;
        private boolean async;
        private boolean blocking;
        private boolean fork;
        private boolean resolve;
        private boolean verify;
        private int clients;
        private Duration firstWait;
        private Duration timeout;
        private Fault fault;

        private Values(RstreamOptions from) {
            serverAddress = from.serverAddress;
            bindAddress = from.bindAddress;
            onDevice = from.onDevice;
            addressFormat = from.addressFormat;
            port = from.port;
            suite = from.suite;
            iterations = from.iterations;
            transfers = from.transfers;
            sizeBytes = from.sizeBytes;
            scale = from.scale;
            bufferBytes = from.bufferBytes;
            inlineBytes = from.inlineBytes;
            keepAliveIdle = from.keepAliveIdle;
            transport = from.transport;
            async = from.async;
            blocking = from.blocking;
            fork = from.fork;
            resolve = from.resolve;
            verify = from.verify;
            clients = from.clients;
            firstWait = from.firstWait;
            timeout = from.timeout;
            fault = from.fault;
        }

        private RstreamOptions options() {
            return new RstreamOptions(
                    serverAddress,
                    bindAddress,
                    onDevice,
                    addressFormat,
                    port,
                    suite,
                    iterations,
                    transfers,
                    sizeBytes,
                    scale,
                    bufferBytes,
                    inlineBytes,
                    keepAliveIdle,
                    transport,
                    async,
                    blocking,
                    fork,
                    resolve,
                    verify,
                    clients,
                    firstWait,
                    timeout,
                    fault);
        }
    }
}
