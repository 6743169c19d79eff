package io.rdmatest.scenarios.cli;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of ucmatose(1). */
public final class UcmatoseArguments implements Arguments<UcmatoseOptions> {

    @Option(
            names = {"-s", "--server"},
            paramLabel = "<address>",
            description = "The server to connect to; without this option this side is the server.")
    private @Nullable String server;

    @Option(
            names = {"-b", "--bind"},
            paramLabel = "<address>",
            description = "The local address, ::0 for any of IPv6 (default at the server: any of IPv4).")
    private @Nullable String bind;

    @Option(
            names = {"-f", "--address-format"},
            paramLabel = "<format>",
            description = "What the addresses are: name, ip, ipv6 or gid (default: name).")
    private Format format = Format.NAME;

    @Option(
            names = {"-P", "--port-space"},
            paramLabel = "<space>",
            description = "The port space: tcp or ib (default: tcp).")
    private PortSpace portSpace = PortSpace.TCP;

    @Option(
            names = {"-c", "--connections"},
            paramLabel = "<n>",
            description = "How many connections, the same at both sides (default: ${DEFAULT-VALUE}).")
    private int connections = 1;

    @Option(
            names = {"-C", "--messages"},
            paramLabel = "<n>",
            description = "Messages on each of them and in each direction, the same at both sides; 0 for none"
                    + " (default: ${DEFAULT-VALUE}).")
    private int messages = 10;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes>",
            description = "The size of a message; 0 for no messages (default: ${DEFAULT-VALUE}).")
    private int size = 100;

    @Option(
            names = {"-t", "--tos"},
            paramLabel = "<tos>",
            converter = WholeNumber.class,
            description = "The client's type of service, 0 to 255; 0x for hexadecimal.")
    private @Nullable Integer typeOfService;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "<port>",
            description = "The server's port (default: ${DEFAULT-VALUE}); a server chooses one for 0.")
    private int port = UcmatoseOptions.DEFAULT_PORT;

    @Option(
            names = {"-a", "--ack-timeout"},
            paramLabel = "<exponent>",
            converter = WholeNumber.class,
            description = "The ACK timeout is 4.096 us times 2 to this power, 0 to 31 (default: that of librdmacm).")
    private @Nullable Integer ackTimeout;

    @Option(
            names = {"-m", "--migrate"},
            description = "Move all ids to another event channel before they disconnect.")
    private boolean migrate;

    @Option(
            names = "--external-qp",
            description = "Create the queue pairs and move them through their states here instead of in librdmacm.")
    private boolean externalQueuePair;

    /** Creates the options with nothing given; picocli fills them in. */
    public UcmatoseArguments() {}

    /** Whether this side is the client. */
    boolean isClient() {
        return server != null;
    }

    @Override
    public UcmatoseOptions toOptions(CommonOptions common) {
        AddressOptions.requireOneFamily("-b", bind, "-s", server);
        return UcmatoseOptions.defaults()
                .withServerAddress(server)
                .withBindAddress(bind)
                .withAddressFormat(format)
                .withPortSpace(portSpace)
                .withPort(port)
                .withConnections(connections)
                .withMessages(messages)
                .withSizeBytes(size)
                .withTypeOfService(typeOfService)
                .withAckTimeoutExponent(ackTimeout)
                .withMigrate(migrate)
                .withBringUp(externalQueuePair ? ConnectionMode.EXTERNAL_QP : ConnectionMode.RDMA_CM)
                .withTimeout(common.timeout())
                .withFirstClientTimeout(common.givenTimeout().orElse(null))
                .withFault(common.fault());
    }
}
