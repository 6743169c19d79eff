package io.rdmatest.scenarios.udaddy;

import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.engine.DatagramPortSpace;
import io.rdmatest.scenarios.options.ConnectionOptions;
import picocli.CommandLine.Option;

/**
 * The options of udaddy(1): 1 to 100,000 communication paths, which are its connections, and messages of up to 65,536 bytes and
 * at most the port's active MTU.
 */
public final class UdaddyOptions extends ConnectionOptions<UdaddyOptions> {

    /** The port of the C program. */
    public static final int DEFAULT_PORT = 7174;

    private static final int MOST_PATHS = 100_000;
    private static final int MOST_BYTES = 65_536;

    @Option(
            names = {"-p", "-P", "--port-space"},
            paramLabel = "<space>",
            converter = DatagramPortSpace.class,
            description = "The port space, not a port: 0x0111 or udp, 0x0002 or ipoib (default: 0x0111).")
    private PortSpace portSpace = PortSpace.UDP;

    @Option(
            names = {"--port"},
            paramLabel = "<port>",
            description =
                    "The server's port (default: ${DEFAULT-VALUE}, the only one of the C program); a server chooses one for 0.")
    private int port = DEFAULT_PORT;

    /** Creates the options with their defaults; picocli fills them in. */
    UdaddyOptions() {}

    /**
     * Reads options from a line, such as {@code -c 2 -C 100 -S 64}.
     *
     * @param words parts of the line, as for {@link io.rdmatest.scenarios.options.Options#parse}
     * @throws IllegalArgumentException if the line is wrong; the message has the line, and names the option
     */
    public static UdaddyOptions parse(Object... words) {
        return parse(UdaddyOptions.class, words);
    }

    @Override
    protected void check() {
        check("communication paths", MOST_PATHS, MOST_BYTES, port);
    }

    @Override
    public int port() {
        return port;
    }

    /** Returns UDP or IPOIB (-p); IPOIB is InfiniBand's only. */
    @Override
    public PortSpace portSpace() {
        return portSpace;
    }
}
