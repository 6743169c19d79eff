package io.rdmatest.scenarios.stream;

import io.rdmatest.scenarios.engine.Fault;
import io.rdmatest.stream.StreamMode;
import io.rdmatest.stream.StreamOptions;
import java.net.InetAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of a side of a stream over RDMA WRITE; the option letters are those of rstream(1).
 *
 * <p>Both sides need the same size, transfers, iterations, mode, verification and direction. Rings and queues may
 * differ.
 *
 * @param address the server's address, to which a server binds; null for the device's address
 * @param port the port, 0 to 65535; with 0 the server chooses one and sends it to the client
 * @param sizeBytes bytes of a transfer, 1 to 1 GiB
 * @param transfers transfers of an iteration in each direction, at least 1
 * @param iterations how often the exchange is repeated, at least 1
 * @param bothAtOnce whether both sides send at the same time; otherwise the client sends first, then the server
 * @param together whether consecutive transfers may share a message (FI_MORE)
 * @param stream the rings, the queues and the mode
 * @param verify whether data has the counter pattern of rstream and is compared byte by byte
 * @param fault the injected fault
 * @param timeout the limit of each wait
 * @param acceptTimeout the limit of a server's wait for its client; null for none
 */
public record RmaStreamOptions(
        @Nullable InetAddress address,
        int port,
        int sizeBytes,
        int transfers,
        int iterations,
        boolean bothAtOnce,
        boolean together,
        StreamOptions stream,
        boolean verify,
        Fault fault,
        Duration timeout,
        @Nullable Duration acceptTimeout) {

    /** The most bytes of a transfer. */
    public static final int MOST_BYTES = 1 << 30;

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException if a value is out of its range
     */
    public RmaStreamOptions {
        range("port", port, 0, 65_535);
        range("size", sizeBytes, 1, MOST_BYTES);
        range("number of transfers", transfers, 1, Integer.MAX_VALUE);
        range("number of iterations", iterations, 1, Integer.MAX_VALUE);
        Objects.requireNonNull(stream, "stream");
        Objects.requireNonNull(fault, "fault");
        if (!timeout.isPositive()) {
            throw new IllegalArgumentException("The timeout must be positive, not " + timeout);
        }
    }

    private static void range(String name, int value, int least, int most) {
        if (value < least || value > most) {
            throw new IllegalArgumentException("The %s must be %d to %d, not %d".formatted(name, least, most, value));
        }
    }

    /**
     * Returns the defaults: those of rstream's custom test (port 7471, 1000 transfers of 1000 bytes, 1 iteration) with
     * the rings and queues of fi_rstream, small transfers together, a limit of 10 s for each wait, and no limit for the
     * first client.
     */
    public static RmaStreamOptions defaults() {
        return new RmaStreamOptions(
                null,
                7471,
                1000,
                1000,
                1,
                false,
                true,
                StreamOptions.defaults(),
                false,
                Fault.NONE,
                Duration.ofSeconds(10),
                null);
    }

    /** Returns a copy with another address; null for that of the device. */
    public RmaStreamOptions withAddress(@Nullable InetAddress value) {
        return copy(with -> with.address = value);
    }

    /** Returns a copy with another port; with 0 the server chooses one. */
    public RmaStreamOptions withPort(int value) {
        return copy(with -> with.port = value);
    }

    /**
     * Returns a copy with other counts.
     *
     * @param size bytes of a transfer
     * @param count transfers of an iteration in each direction
     * @param repeat iterations
     */
    public RmaStreamOptions withTransfers(int size, int count, int repeat) {
        return copy(with -> {
            with.sizeBytes = size;
            with.transfers = count;
            with.iterations = repeat;
        });
    }

    /** Returns a copy in which both sides send at the same time, or not. */
    public RmaStreamOptions withBothAtOnce(boolean value) {
        return copy(with -> with.bothAtOnce = value);
    }

    /** Returns a copy in which consecutive transfers may share a message, or not. */
    public RmaStreamOptions withTogether(boolean value) {
        return copy(with -> with.together = value);
    }

    /** Returns a copy with other rings and queues. */
    public RmaStreamOptions withStream(StreamOptions value) {
        return copy(with -> with.stream = value);
    }

    /** Returns a copy with another mode of the stream. */
    public RmaStreamOptions withMode(StreamMode value) {
        return withStream(stream.withMode(value));
    }

    /** Returns a copy that verifies data, or not. */
    public RmaStreamOptions withVerify(boolean value) {
        return copy(with -> with.verify = value);
    }

    /** Returns a copy with another fault. */
    public RmaStreamOptions withFault(Fault value) {
        return copy(with -> with.fault = value);
    }

    /**
     * Returns a copy with other limits.
     *
     * @param any the limit of each wait
     * @param accept the limit of a server's wait for its client; null for none
     */
    public RmaStreamOptions withTimeout(Duration any, @Nullable Duration accept) {
        return copy(with -> {
            with.timeout = any;
            with.acceptTimeout = accept;
        });
    }

    /** Returns the number of bytes in each direction. */
    public long bytesEachWay() {
        return (long) sizeBytes * transfers * iterations;
    }

    private RmaStreamOptions copy(Consumer<Values> change) {
        Values values = new Values(this);
        change.accept(values);
        return values.options();
    }

    /** The components while some of them change. */
    private static final class Values {

        private @Nullable InetAddress address;
        private int port;
        private int sizeBytes;
        private int transfers;
        private int iterations;
        private boolean bothAtOnce;
        private boolean together;
        private StreamOptions stream;
        private boolean verify;
        private Fault fault;
        private Duration timeout;
        private @Nullable Duration acceptTimeout;

        private Values(RmaStreamOptions from) {
            address = from.address;
            port = from.port;
            sizeBytes = from.sizeBytes;
            transfers = from.transfers;
            iterations = from.iterations;
            bothAtOnce = from.bothAtOnce;
            together = from.together;
            stream = from.stream;
            verify = from.verify;
            fault = from.fault;
            timeout = from.timeout;
            acceptTimeout = from.acceptTimeout;
        }

        private RmaStreamOptions options() {
            return new RmaStreamOptions(
                    address,
                    port,
                    sizeBytes,
                    transfers,
                    iterations,
                    bothAtOnce,
                    together,
                    stream,
                    verify,
                    fault,
                    timeout,
                    acceptTimeout);
        }
    }
}
