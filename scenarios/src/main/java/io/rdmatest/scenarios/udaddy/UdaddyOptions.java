package io.rdmatest.scenarios.udaddy;

import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.engine.AddressTexts;
import io.rdmatest.scenarios.engine.Fault;
import io.rdmatest.scenarios.engine.OptionRanges;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The options of udaddy(1).
 *
 * @param serverAddress whom to send to (-s); null for the device's own address
 * @param bindAddress the local address (-b); null for the device's own at the server, for any at the client
 * @param addressFormat what the two addresses are (-f)
 * @param portSpace UDP or IPOIB (-p); IPOIB is InfiniBand's only
 * @param port the service, 0 to 65535; 7174 for the C program, which knows no other; 0 at the server for a free port, which is
 *     told to the other side, and at the client to be told
 * @param connections how many communication paths (-c), 1 to 100,000; both sides must agree
 * @param messages messages on each path in each direction (-C), 0 to 1,000,000; 0 for none; both sides must agree
 * @param sizeBytes the size of a message (-S), 0 to 65,536 and at most the port's active MTU; 0 for no messages
 * @param typeOfService the client's type of service (-t), 0 to 255; null to leave it
 * @param timeout how long any one wait may take, more than 0
 * @param firstClientTimeout how long the server waits for its first client; null for no limit
 * @param fault what this side does wrong on purpose
 */
public record UdaddyOptions(
        @Nullable String serverAddress,
        @Nullable String bindAddress,
        Format addressFormat,
        PortSpace portSpace,
        int port,
        int connections,
        int messages,
        int sizeBytes,
        @Nullable Integer typeOfService,
        Duration timeout,
        @Nullable Duration firstClientTimeout,
        Fault fault) {

    /** The port of the C program. */
    public static final int DEFAULT_PORT = 7174;

    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);

    /** Checks the ranges. */
    public UdaddyOptions {
        if (serverAddress != null) {
            AddressTexts.check("The server address (-s)", addressFormat, serverAddress);
        }
        if (bindAddress != null) {
            AddressTexts.check("The bind address (-b)", addressFormat, bindAddress);
        }
        if (!portSpace.isDatagram()) {
            throw new IllegalArgumentException("The port space is " + portSpace + ": allowed are UDP and IPOIB");
        }
        OptionRanges.check("The port", port, 0, 65_535);
        OptionRanges.check("The number of communication paths", connections, 1, 100_000);
        OptionRanges.check("The number of messages", messages, 0, 1_000_000);
        OptionRanges.check("The size of a message in bytes", sizeBytes, 0, 65_536);
        if (typeOfService != null) {
            OptionRanges.check("The type of service", typeOfService, 0, 255);
        }
        OptionRanges.checkTimeout("The timeout", timeout);
        if (firstClientTimeout != null) {
            OptionRanges.checkTimeout("The timeout for the first client", firstClientTimeout);
        }
    }

    /** Returns the defaults of the C program: UDP port space, one path, 10 messages of 100 bytes each way. */
    public static UdaddyOptions defaults() {
        return new UdaddyOptions(
                null,
                null,
                Format.NAME,
                PortSpace.UDP,
                DEFAULT_PORT,
                1,
                10,
                100,
                null,
                DEFAULT_TIMEOUT,
                null,
                Fault.NONE);
    }

    /** Tells whether there are messages at all; C = 0 and S = 0 both test the paths only. */
    boolean hasMessages() {
        return messages > 0 && sizeBytes > 0;
    }

    /**
     * Returns these options with another value.
     *
     * @param value whom to send to (-s); null for the device's own address
     */
    public UdaddyOptions withServerAddress(@Nullable String value) {
        return copy(with -> with.serverAddress = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the local address (-b); null for the device's own at the server, for any at the client
     */
    public UdaddyOptions withBindAddress(@Nullable String value) {
        return copy(with -> with.bindAddress = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value what the two addresses are (-f)
     */
    public UdaddyOptions withAddressFormat(Format value) {
        return copy(with -> with.addressFormat = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value UDP or IPOIB (-p); IPOIB is InfiniBand's only
     */
    public UdaddyOptions withPortSpace(PortSpace value) {
        return copy(with -> with.portSpace = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the service, 0 to 65535; 7174 for the C program, which knows no other; 0 at the server for a free port, which is
     *     told to the other side, and at the client to be told
     */
    public UdaddyOptions withPort(int value) {
        return copy(with -> with.port = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how many communication paths (-c), 1 to 100,000; both sides must agree
     */
    public UdaddyOptions withConnections(int value) {
        return copy(with -> with.connections = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value messages on each path in each direction (-C), 0 to 1,000,000; 0 for none; both sides must agree
     */
    public UdaddyOptions withMessages(int value) {
        return copy(with -> with.messages = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the size of a message (-S), 0 to 65,536 and at most the port's active MTU; 0 for no messages
     */
    public UdaddyOptions withSizeBytes(int value) {
        return copy(with -> with.sizeBytes = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value the client's type of service (-t), 0 to 255; null to leave it
     */
    public UdaddyOptions withTypeOfService(@Nullable Integer value) {
        return copy(with -> with.typeOfService = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how long any one wait may take, more than 0
     */
    public UdaddyOptions withTimeout(Duration value) {
        return copy(with -> with.timeout = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value how long the server waits for its first client; null for no limit
     */
    public UdaddyOptions withFirstClientTimeout(@Nullable Duration value) {
        return copy(with -> with.firstClientTimeout = value);
    }

    /**
     * Returns these options with another value.
     *
     * @param value what this side does wrong on purpose
     */
    public UdaddyOptions withFault(Fault value) {
        return copy(with -> with.fault = value);
    }

    private UdaddyOptions copy(Consumer<Values> change) {
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
        private Duration timeout;
        private @Nullable Duration firstClientTimeout;
        private Fault fault;

        private Values(UdaddyOptions from) {
            serverAddress = from.serverAddress;
            bindAddress = from.bindAddress;
            addressFormat = from.addressFormat;
            portSpace = from.portSpace;
            port = from.port;
            connections = from.connections;
            messages = from.messages;
            sizeBytes = from.sizeBytes;
            typeOfService = from.typeOfService;
            timeout = from.timeout;
            firstClientTimeout = from.firstClientTimeout;
            fault = from.fault;
        }

        private UdaddyOptions options() {
            return new UdaddyOptions(
                    serverAddress,
                    bindAddress,
                    addressFormat,
                    portSpace,
                    port,
                    connections,
                    messages,
                    sizeBytes,
                    typeOfService,
                    timeout,
                    firstClientTimeout,
                    fault);
        }
    }
}
