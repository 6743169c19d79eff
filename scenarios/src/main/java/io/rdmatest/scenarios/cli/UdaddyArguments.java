package io.rdmatest.scenarios.cli;

import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.scenarios.mckey.MckeyOptions;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of udaddy(1). */
public final class UdaddyArguments implements Arguments<UdaddyOptions> {

    @Option(
            names = {"-s", "--server"},
            paramLabel = "<address>",
            description = "The server to send to; without this option this side is the server.")
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
            names = {"-p", "-P", "--port-space"},
            paramLabel = "<space>",
            description = "The port space, not a port: 0x0111 or udp, 0x0002 or ipoib (default: 0x0111).")
    private String portSpace = "0x0111";

    @Option(
            names = {"-c", "--connections"},
            paramLabel = "<n>",
            description = "How many communication paths, the same at both sides (default: ${DEFAULT-VALUE}).")
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
            description =
                    "The size of a message, at most the active MTU; 0 for no messages (default: ${DEFAULT-VALUE}).")
    private int size = 100;

    @Option(
            names = {"-t", "--tos"},
            paramLabel = "<tos>",
            converter = WholeNumber.class,
            description = "The client's type of service, 0 to 255; 0x for hexadecimal.")
    private @Nullable Integer typeOfService;

    @Option(
            names = {"--port"},
            paramLabel = "<port>",
            description =
                    "The server's port (default: ${DEFAULT-VALUE}, the only one of the C program); a server chooses one for 0.")
    private int port = UdaddyOptions.DEFAULT_PORT;

    /** Creates the options with nothing given; picocli fills them in. */
    public UdaddyArguments() {}

    /** Whether this side is the client. */
    boolean isClient() {
        return server != null;
    }

    @Override
    public UdaddyOptions toOptions(CommonOptions common) {
        AddressOptions.requireOneFamily("-b", bind, "-s", server);
        return UdaddyOptions.defaults()
                .withServerAddress(server)
                .withBindAddress(bind)
                .withAddressFormat(format)
                .withPortSpace(MckeyOptions.portSpace(portSpace))
                .withPort(port)
                .withConnections(connections)
                .withMessages(messages)
                .withSizeBytes(size)
                .withTypeOfService(typeOfService)
                .withTimeout(common.timeout())
                .withFirstClientTimeout(common.givenTimeout().orElse(null))
                .withFault(common.fault());
    }
}
