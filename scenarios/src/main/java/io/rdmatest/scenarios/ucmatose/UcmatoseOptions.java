package io.rdmatest.scenarios.ucmatose;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.engine.AddressTexts;
import io.rdmatest.scenarios.engine.Fault;
import io.rdmatest.scenarios.engine.OptionRanges;
import io.rdmatest.verbs.GidEntry;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of ucmatose(1).
 *
 * @param serverAddress whom to connect to (-s); null for the device's own address
 * @param bindAddress the local address (-b); null for the device's own at the server, for any at the client
 * @param addressFormat what the two addresses are (-f)
 * @param portSpace TCP or IB (-P)
 * @param port the service, 0 to 65535 (-p); 0 at the server for a free port, which the other side learns, and at the client to
 *     be told
 * @param connections how many connections (-c), 1 to 1,000,000; both sides must agree
 * @param messages messages on each connection in each direction (-C), 0 to 1,000,000; 0 for none; both sides must agree
 * @param sizeBytes the size of a message (-S), 0 to 1 GiB; 0 for no messages. A C program as the peer sends no larger ones
 * @param typeOfService the client's type of service (-t), 0 to 255; null to leave it
 * @param ackTimeoutExponent the ACK timeout is 4.096 us times 2 to this power (-a), 0 to 31; null to leave it
 * @param migrate whether ids, and the listener, move to another event channel before they disconnect (-m)
 * @param bringUp how the connections come up
 * @param gid the entry of the GID table that a {@link ConnectionMode#RAW} connection uses; null for that of the device
 * @param timeout how long any one wait may take, more than 0
 * @param firstClientTimeout how long the server waits for its first client; null for no limit
 * @param fault what this side does wrong on purpose
 */
public record UcmatoseOptions(
        @Nullable String serverAddress,
        @Nullable String bindAddress,
        Format addressFormat,
        PortSpace portSpace,
        int port,
        int connections,
        int messages,
        int sizeBytes,
        @Nullable Integer typeOfService,
        @Nullable Integer ackTimeoutExponent,
        boolean migrate,
        ConnectionMode bringUp,
        @Nullable GidEntry gid,
        Duration timeout,
        @Nullable Duration firstClientTimeout,
        Fault fault) {

    /** The port that the C program takes. */
    public static final int DEFAULT_PORT = 7471;

    private static final int MOST = 1_000_000;
    private static final int LARGEST = 1 << 30;
    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);

    /** Checks the ranges. */
    public UcmatoseOptions {
        if (serverAddress != null) {
            AddressTexts.check("The server address (-s)", addressFormat, serverAddress);
        }
        if (bindAddress != null) {
            AddressTexts.check("The bind address (-b)", addressFormat, bindAddress);
        }
        if (portSpace != PortSpace.TCP && portSpace != PortSpace.IB) {
            throw new IllegalArgumentException("The port space is " + portSpace + ": allowed are TCP and IB");
        }
        OptionRanges.check("The port", port, 0, 65_535);
        OptionRanges.check("The number of connections", connections, 1, MOST);
        OptionRanges.check("The number of messages", messages, 0, MOST);
        OptionRanges.check("The size of a message in bytes", sizeBytes, 0, LARGEST);
        if (typeOfService != null) {
            OptionRanges.check("The type of service", typeOfService, 0, 255);
        }
        if (ackTimeoutExponent != null) {
            OptionRanges.check("The exponent of the ACK timeout", ackTimeoutExponent, 0, 31);
        }
        OptionRanges.checkTimeout("The timeout", timeout);
        if (firstClientTimeout != null) {
            OptionRanges.checkTimeout("The timeout for the first client", firstClientTimeout);
        }
        if (bringUp == ConnectionMode.RAW && (addressFormat == Format.GID || migrate || typeOfService != null)) {
            throw new IllegalArgumentException(
                    "Connections without rdma_cm have no native address, no type of service and"
                            + " nothing to migrate");
        }
    }

    /** Returns the defaults of the C program: port 7471, one connection, 10 messages of 100 bytes each way. */
    public static UcmatoseOptions defaults() {
        return new UcmatoseOptions(
                null,
                null,
                Format.NAME,
                PortSpace.TCP,
                DEFAULT_PORT,
                1,
                10,
                100,
                null,
                null,
                false,
                ConnectionMode.RDMA_CM,
                null,
                DEFAULT_TIMEOUT,
                null,
                Fault.NONE);
    }

    /** Tells whether there are messages at all; C = 0 and S = 0 both test connections only. */
    boolean hasMessages() {
        return messages > 0 && sizeBytes > 0;
    }

    /**
     * Returns these options with another value.
     *
     * @param value whom to connect to (-s); null for the device's own address
     */
    public UcmatoseOptions withServerAddress(@Nullable String value) {
        return copy(with -> with.serverAddress = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the local address (-b); null for the device's own at the server, for any at the client
     */
    public UcmatoseOptions withBindAddress(@Nullable String value) {
        return copy(with -> with.bindAddress = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value what the two addresses are (-f)
     */
    public UcmatoseOptions withAddressFormat(Format value) {
        return copy(with -> with.addressFormat = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value TCP or IB (-P)
     */
    public UcmatoseOptions withPortSpace(PortSpace value) {
        return copy(with -> with.portSpace = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the service, 0 to 65535 (-p); 0 at the server for a free port, which the other side learns, and at the client to
     *     be told
     */
    public UcmatoseOptions withPort(int value) {
        return copy(with -> with.port = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how many connections (-c), 1 to 1,000,000; both sides must agree
     */
    public UcmatoseOptions withConnections(int value) {
        return copy(with -> with.connections = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value messages on each connection in each direction (-C), 0 to 1,000,000; 0 for none; both sides must agree
     */
    public UcmatoseOptions withMessages(int value) {
        return copy(with -> with.messages = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the size of a message (-S), 0 to 1 GiB; 0 for no messages. A C program as the peer sends no larger ones
     */
    public UcmatoseOptions withSizeBytes(int value) {
        return copy(with -> with.sizeBytes = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the client's type of service (-t), 0 to 255; null to leave it
     */
    public UcmatoseOptions withTypeOfService(@Nullable Integer value) {
        return copy(with -> with.typeOfService = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the ACK timeout is 4.096 us times 2 to this power (-a), 0 to 31; null to leave it
     */
    public UcmatoseOptions withAckTimeoutExponent(@Nullable Integer value) {
        return copy(with -> with.ackTimeoutExponent = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value whether ids, and the listener, move to another event channel before they disconnect (-m)
     */
    public UcmatoseOptions withMigrate(boolean value) {
        return copy(with -> with.migrate = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how the connections come up
     */
    public UcmatoseOptions withBringUp(ConnectionMode value) {
        return copy(with -> with.bringUp = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the entry of the GID table that a {@link ConnectionMode#RAW} connection uses; null for that of the device
     */
    public UcmatoseOptions withGid(@Nullable GidEntry value) {
        return copy(with -> with.gid = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how long any one wait may take, more than 0
     */
    public UcmatoseOptions withTimeout(Duration value) {
        return copy(with -> with.timeout = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how long the server waits for its first client; null for no limit
     */
    public UcmatoseOptions withFirstClientTimeout(@Nullable Duration value) {
        return copy(with -> with.firstClientTimeout = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value what this side does wrong on purpose
     */
    public UcmatoseOptions withFault(Fault value) {
        return copy(with -> with.fault = value);
    }

    private UcmatoseOptions copy(Consumer<Values> change) {
        Values values = new Values(this);
        change.accept(values);
        return values.options();
    }

    /** The components while some of them change. */
    private static final class Values {

        private @Nullable String serverAddress;
        private @Nullable String bindAddress;
        private Format addressFormat;
        private PortSpace portSpace;
        private int port;
        private int connections;
        private int messages;
        private int sizeBytes;
        private @Nullable Integer typeOfService;
        private @Nullable Integer ackTimeoutExponent;
        private boolean migrate;
        private ConnectionMode bringUp;
        private @Nullable GidEntry gid;
        private Duration timeout;
        private @Nullable Duration firstClientTimeout;
        private Fault fault;

        private Values(UcmatoseOptions from) {
            serverAddress = from.serverAddress;
            bindAddress = from.bindAddress;
            addressFormat = from.addressFormat;
            portSpace = from.portSpace;
            port = from.port;
            connections = from.connections;
            messages = from.messages;
            sizeBytes = from.sizeBytes;
            typeOfService = from.typeOfService;
            ackTimeoutExponent = from.ackTimeoutExponent;
            migrate = from.migrate;
            bringUp = from.bringUp;
            gid = from.gid;
            timeout = from.timeout;
            firstClientTimeout = from.firstClientTimeout;
            fault = from.fault;
        }

        private UcmatoseOptions options() {
            return new UcmatoseOptions(
                    serverAddress,
                    bindAddress,
                    addressFormat,
                    portSpace,
                    port,
                    connections,
                    messages,
                    sizeBytes,
                    typeOfService,
                    ackTimeoutExponent,
                    migrate,
                    bringUp,
                    gid,
                    timeout,
                    firstClientTimeout,
                    fault);
        }
    }
}
