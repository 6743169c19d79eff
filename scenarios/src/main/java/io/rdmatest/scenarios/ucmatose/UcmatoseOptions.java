package io.rdmatest.scenarios.ucmatose;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.options.ConnectionOptions;
import io.rdmatest.scenarios.options.WholeNumber;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of ucmatose(1): 1 to 1,000,000 connections, messages of up to 1 GiB. */
public final class UcmatoseOptions extends ConnectionOptions<UcmatoseOptions> {

    /** The port that the C program takes. */
    public static final int DEFAULT_PORT = 7471;

    private static final int MOST_CONNECTIONS = 1_000_000;
    private static final int MOST_BYTES = 1 << 30;
    private static final int MOST_EXPONENT = 31;

    @Option(
            names = {"-P", "--port-space"},
            paramLabel = "<space>",
            description = "The port space: tcp or ib (default: tcp).")
    private PortSpace portSpace = PortSpace.TCP;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "<port>",
            description = "The server's port (default: ${DEFAULT-VALUE}); a server chooses one for 0.")
    private int port = DEFAULT_PORT;

    @Option(
            names = {"-a", "--ack-timeout"},
            paramLabel = "<exponent>",
            converter = WholeNumber.class,
            description = "The ACK timeout is 4.096 us times 2 to this power, 0 to 31 (default: that of librdmacm).")
    private @Nullable Integer ackTimeoutExponent;

    @Option(
            names = {"-m", "--migrate"},
            description = "Move all ids to another event channel before they disconnect.")
    private boolean migrate;

    private ConnectionMode bringUp = ConnectionMode.RDMA_CM;

    /** Creates the options with their defaults; picocli fills them in. */
    UcmatoseOptions() {}

    /**
     * Reads options from a line, such as {@code -c 2 -C 100 -S 64}.
     *
     * @param words parts of the line, as for {@link io.rdmatest.scenarios.options.Options#parse}
     * @throws IllegalArgumentException if the line is wrong; the message has the line, and names the option
     */
    public static UcmatoseOptions parse(Object... words) {
        return parse(UcmatoseOptions.class, words);
    }

    @Option(
            names = "--external-qp",
            description = "Create the queue pairs and move them through their states here instead of in librdmacm.")
    private void setExternalQueuePair(boolean external) {
        bringUp = external ? ConnectionMode.EXTERNAL_QP : ConnectionMode.RDMA_CM;
    }

    @Override
    protected void check() {
        check("connections", MOST_CONNECTIONS, MOST_BYTES, port);
        if (portSpace != PortSpace.TCP && portSpace != PortSpace.IB) {
            throw new IllegalArgumentException("The port space is " + portSpace + ": allowed are TCP and IB");
        }
        if (ackTimeoutExponent != null && (ackTimeoutExponent < 0 || ackTimeoutExponent > MOST_EXPONENT)) {
            throw new IllegalArgumentException(
                    "The exponent of the ACK timeout is " + ackTimeoutExponent + ": allowed are 0 to " + MOST_EXPONENT);
        }
    }

    @Override
    public int port() {
        return port;
    }

    /** Returns TCP or IB (-P). */
    @Override
    public PortSpace portSpace() {
        return portSpace;
    }

    /** Returns the exponent of the ACK timeout (-a), 0 to 31; null to leave it. */
    public @Nullable Integer ackTimeoutExponent() {
        return ackTimeoutExponent;
    }

    /** Tells whether ids, and the listener, move to another event channel before they disconnect (-m). */
    public boolean migrate() {
        return migrate;
    }

    /** Returns how the connections come up. */
    public ConnectionMode bringUp() {
        return bringUp;
    }
}
