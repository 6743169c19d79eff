package io.rdmatest.scenarios.cli;

import io.rdmatest.scenarios.engine.AddressOptions;
import io.rdmatest.scenarios.engine.BringUp;
import io.rdmatest.scenarios.rping.RpingOptions;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of rping(1). Its {@code -t}, which the program accepts and then refuses, is none of them. */
public final class RpingArguments implements Arguments<RpingOptions> {

    /** Which side to run. */
    enum Side {
        SERVER,
        CLIENT
    }

    private @Nullable Side side;

    @Option(
            names = {"-a", "--address"},
            paramLabel = "<address>",
            description = "Server: the address to bind to, ::0 for any of IPv6 (default: any of IPv4)."
                    + " Client: the server's address.")
    private @Nullable String address;

    @Option(
            names = {"-I", "--source"},
            paramLabel = "<address>",
            description = "Client: the address to send from (default: as the routes say).")
    private @Nullable String source;

    @Option(
            names = {"-p", "--port"},
            paramLabel = "<port>",
            description = "The server's port, 1 to 65535 (default: ${DEFAULT-VALUE}); a server chooses one for 0.")
    private int port = RpingOptions.DEFAULT_PORT;

    @Option(
            names = {"-v", "--verbose"},
            description = "Print every ping.")
    private boolean verbose;

    @Option(
            names = {"-V", "--validate"},
            description = "Client: compare every byte that comes back; the server always compares.")
    private boolean validate;

    @Option(
            names = {"-d", "--debug"},
            description = "Print events and states of the connection on standard error.")
    private boolean debug;

    @Option(
            names = {"-C", "--count"},
            paramLabel = "<pings>",
            description = "How many pings over each connection, 0 for no end (default: 0). At a server: a client that"
                    + " leaves earlier is lost.")
    private int count;

    @Option(
            names = {"-S", "--size"},
            paramLabel = "<bytes>",
            description =
                    "The size of a ping, of the largest at a server, 23 to 1073741824 (default: ${DEFAULT-VALUE});"
                            + " the C program takes up to 65535.")
    private int size = RpingOptions.DEFAULT_SIZE;

    @Option(
            names = {"-P", "--persistent"},
            description =
                    "Server: serve any number of clients, several at once, until interrupted. If one failed, its status is"
                            + " the server's; otherwise that is 130.")
    private boolean persistent;

    @Option(
            names = {"-q", "--external-qp"},
            description = "Create the queue pair and move it through its states here instead of in librdmacm.")
    private boolean externalQueuePair;

    @Option(
            names = "--clients",
            paramLabel = "<n>",
            description = "Persistent server: how many clients at once, more are rejected (default: 256).")
    private @Nullable Integer clients;

    /** Creates the options with nothing given; picocli fills them in. */
    public RpingArguments() {}

    @Option(
            names = {"-s", "--server"},
            description = "Run the server. Of -s and -c the last one counts.")
    private void server(boolean given) {
        if (given) {
            side = Side.SERVER;
        }
    }

    @Option(
            names = {"-c", "--client"},
            description = "Run the client.")
    private void client(boolean given) {
        if (given) {
            side = Side.CLIENT;
        }
    }

    /** Whether the number of clients at once was given. */
    boolean limitsClients() {
        return clients != null;
    }

    @Nullable
    Side side() {
        return side;
    }

    @Override
    public RpingOptions toOptions(CommonOptions common) {
        RpingOptions options = RpingOptions.defaults()
                .withAddress(AddressOptions.resolve("-a", address))
                .withSource(AddressOptions.resolve("-I", source))
                .withPort(port)
                .withCount(count)
                .withSize(size)
                .withClientLimit(clients == null ? RpingOptions.defaults().clientLimit() : clients)
                .withTimeout(common.timeout())
                .withFault(common.fault());
        if (verbose) {
            options = options.withVerbose();
        }
        if (validate) {
            options = options.withValidation();
        }
        if (debug) {
            options = options.withDebug();
        }
        if (persistent) {
            options = options.withPersistence();
        }
        if (externalQueuePair) {
            options = options.by(BringUp.EXTERNAL_QP);
        }
        return common.givenTimeout().isPresent() ? options : options.withUnlimitedListening();
    }
}
