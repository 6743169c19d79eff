package io.rdmatest.scenarios.rping;

import io.rdmatest.ConnectionMode;
import io.rdmatest.scenarios.engine.Fault;
import io.rdmatest.verbs.GidEntry;
import java.net.InetAddress;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of both sides of rping(1), and what that program has no option for. Each is made from {@link #defaults()} by
 * the {@code with} methods.
 *
 * @param address where the server binds, or which server the client connects to (-a); null for the address of the device
 * @param source the address that the client sends from (-I); null leaves it to the routes
 * @param port the server's port (-p), 0 to 65535; with 0 the kernel chooses one, which the server tells the client
 * @param sizeBytes the size of a ping at the client, of the largest one at the server (-S),
 *     {@value RpingPattern#MIN_SIZE} to {@value RpingPattern#LARGEST_SIZE} bytes; the C program takes up to
 *     {@value RpingPattern#MAX_SIZE}
 * @param count how many pings (-C), 0 for no end; to a server it says how many every client is to make at least
 * @param verbose whether every ping is printed (-v)
 * @param validate whether the client compares every byte that comes back (-V); the server always compares
 * @param debug whether events and states of the connection are printed (-d)
 * @param persistent whether the server serves any number of clients, several at once, until it is cancelled (-P)
 * @param bringUp how the connection is made; {@link ConnectionMode#EXTERNAL_QP} is -q
 * @param gid the GID of a connection by {@link ConnectionMode#RAW}; null for that of the device
 * @param clientLimit how many clients a persistent server serves at once, 1 to {@value #MOST_CLIENTS}; more are rejected
 * @param timeout how long any one wait may take
 * @param unlimitedListening whether a server waits for its first client without limit
 * @param fault what this side does wrong on purpose
 */
public record RpingOptions(
        @Nullable InetAddress address,
        @Nullable InetAddress source,
        int port,
        int sizeBytes,
        int count,
        boolean verbose,
        boolean validate,
        boolean debug,
        boolean persistent,
        ConnectionMode bringUp,
        @Nullable GidEntry gid,
        int clientLimit,
        Duration timeout,
        boolean unlimitedListening,
        Fault fault) {

    /** The port of the C program. */
    public static final int DEFAULT_PORT = 7174;

    /** The size of a ping of the C program in bytes; its man page says 100. */
    public static final int DEFAULT_SIZE = 64;

    /** The most clients at once: each has a thread. */
    public static final int MOST_CLIENTS = 4096;

    private static final int DEFAULT_CLIENTS = 256;

    private static final RpingOptions DEFAULTS = new RpingOptions(
            null,
            null,
            DEFAULT_PORT,
            DEFAULT_SIZE,
            0,
            false,
            false,
            false,
            false,
            ConnectionMode.RDMA_CM,
            null,
            DEFAULT_CLIENTS,
            Duration.ofSeconds(10),
            false,
            Fault.NONE);

    /** Checks the ranges. */
    public RpingOptions {
        if (port < 0 || port > 65535) {
            throw new IllegalArgumentException("The port (-p) is 0 to 65535, not " + port);
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
        if (timeout.isNegative() || timeout.isZero()) {
            throw new IllegalArgumentException("The timeout is above zero, not " + timeout);
        }
        if (persistent && bringUp == ConnectionMode.RAW) {
            throw new IllegalArgumentException(
                    "A persistent server (-P) needs rdma_cm to hear of its clients; choose another bring-up than RAW");
        }
        Objects.requireNonNull(bringUp, "bringUp");
        Objects.requireNonNull(fault, "fault");
    }

    /** Returns what the C program does without options: port 7174, 64 bytes, no end. Any one wait takes 10 s at most. */
    public static RpingOptions defaults() {
        return DEFAULTS;
    }

    /** Returns these options with another address (-a); null for that of the device. */
    public RpingOptions withAddress(@Nullable InetAddress value) {
        return copy(with -> with.address = value);
    }

    /** Returns these options with another address to send from (-I); null leaves it to the routes. */
    public RpingOptions withSource(@Nullable InetAddress value) {
        return copy(with -> with.source = value);
    }

    /** Returns these options with another port (-p), 0 to 65535; 0 for one that the server tells. */
    public RpingOptions withPort(int value) {
        return copy(with -> with.port = value);
    }

    /** Returns these options with another size (-S) in bytes. */
    public RpingOptions withSize(int value) {
        return copy(with -> with.sizeBytes = value);
    }

    /** Returns these options with another number of pings (-C), 0 for no end. */
    public RpingOptions withCount(int value) {
        return copy(with -> with.count = value);
    }

    /** Returns these options with every ping printed (-v). */
    public RpingOptions withVerbose() {
        return copy(with -> with.verbose = true);
    }

    /** Returns these options with every byte that comes back compared by the client (-V). */
    public RpingOptions withValidation() {
        return copy(with -> with.validate = true);
    }

    /** Returns these options with events and states printed (-d). */
    public RpingOptions withDebug() {
        return copy(with -> with.debug = true);
    }

    /** Returns these options for a persistent server (-P). */
    public RpingOptions withPersistence() {
        return copy(with -> with.persistent = true);
    }

    /** Returns these options with another limit of clients at once. */
    public RpingOptions withClientLimit(int value) {
        return copy(with -> with.clientLimit = value);
    }

    /**
     * Returns these options over another kind of connection.
     *
     * @param value how it is made
     * @param entry the GID of a raw connection; null for that of the device
     */
    public RpingOptions by(ConnectionMode value, @Nullable GidEntry entry) {
        return copy(with -> {
            with.bringUp = value;
            with.gid = entry;
        });
    }

    /** Returns these options over another kind of connection, from the GID of the device. */
    public RpingOptions by(ConnectionMode value) {
        return by(value, null);
    }

    /** Returns these options with another limit of any one wait. */
    public RpingOptions withTimeout(Duration value) {
        return copy(with -> with.timeout = value);
    }

    /** Returns these options for a server that waits for its first client without limit. */
    public RpingOptions withUnlimitedListening() {
        return copy(with -> with.unlimitedListening = true);
    }

    /** Returns these options with something done wrong on purpose. */
    public RpingOptions withFault(Fault value) {
        return copy(with -> with.fault = value);
    }

    private RpingOptions copy(Consumer<Values> change) {
        Values values = new Values(this);
        change.accept(values);
        return values.options();
    }

    /** The components while some of them change. */
    private static final class Values {

        private @Nullable InetAddress address;
        private @Nullable InetAddress source;
        private int port;
        private int sizeBytes;
        private int count;
        private boolean verbose;
        private boolean validate;
        private boolean debug;
        private boolean persistent;
        private ConnectionMode bringUp;
        private @Nullable GidEntry gid;
        private int clientLimit;
        private Duration timeout;
        private boolean unlimitedListening;
        private Fault fault;

        private Values(RpingOptions from) {
            address = from.address;
            source = from.source;
            port = from.port;
            sizeBytes = from.sizeBytes;
            count = from.count;
            verbose = from.verbose;
            validate = from.validate;
            debug = from.debug;
            persistent = from.persistent;
            bringUp = from.bringUp;
            gid = from.gid;
            clientLimit = from.clientLimit;
            timeout = from.timeout;
            unlimitedListening = from.unlimitedListening;
            fault = from.fault;
        }

        private RpingOptions options() {
            return new RpingOptions(
                    address,
                    source,
                    port,
                    sizeBytes,
                    count,
                    verbose,
                    validate,
                    debug,
                    persistent,
                    bringUp,
                    gid,
                    clientLimit,
                    timeout,
                    unlimitedListening,
                    fault);
        }
    }
}
