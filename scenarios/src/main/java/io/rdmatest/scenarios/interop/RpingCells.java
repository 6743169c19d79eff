package io.rdmatest.scenarios.interop;

import io.rdmatest.ConnectionMode;
import io.rdmatest.SkipReason;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingPattern;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.Transport;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.opentest4j.TestAbortedException;

/** The cells of rping(1). */
final class RpingCells implements CellSource {

    @Override
    public String program() {
        return "rping";
    }

    @Override
    public List<Cell> cells(SplittableRandom random, int count) {
        List<Cell> cells = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Drawn client = Drawn.draw(random, i);
            cells.add(new Cell(
                    program(),
                    OurRole.CLIENT,
                    client.asServer(),
                    // The program sends back what it got, and our side compares it.
                    client.validate(),
                    (context, fault) -> client(context, fault, client)));
            Drawn server = Drawn.draw(random, i);
            cells.add(new Cell(
                    program(),
                    OurRole.SERVER,
                    server.asClient(),
                    // The program compares what our side sends back.
                    server.validate(),
                    (context, fault) -> server(context, fault, server)));
        }
        return cells;
    }

    /**
     * The varied options of a cell.
     *
     * @param size bytes of a ping
     * @param spare how much larger the server's buffer is
     * @param pings how many
     * @param verbose whether the program prints every ping
     * @param validate whether the client compares
     * @param debug whether the program traces
     * @param theirs how the program makes its queue pair
     * @param ours how our side does
     * @param persistent whether the program's server is to serve more than one client
     * @param source whether the client binds to its source address
     * @param ipv6 whether over IPv6
     */
    private record Drawn(
            int size,
            int spare,
            int pings,
            boolean verbose,
            boolean validate,
            boolean debug,
            ConnectionMode theirs,
            ConnectionMode ours,
            boolean persistent,
            boolean source,
            boolean ipv6) {

        private static final int MOST_PINGS = 30;

        /**
         * Draws the options of a cell. The first cells have the extreme sizes, and always compare. Everything else is
         * random.
         */
        private static Drawn draw(SplittableRandom random, int number) {
            int size = switch (number) {
                case 0 -> random.nextInt(RpingPattern.MIN_SIZE, 5000);
                case 1 -> RpingPattern.MIN_SIZE;
                case 2 -> RpingPattern.MAX_SIZE;
                default -> {
                    // As many small ones as large ones.
                    int most = 1 << random.nextInt(5, 17);
                    yield random.nextInt(RpingPattern.MIN_SIZE, Math.min(most, RpingPattern.MAX_SIZE + 1));
                }
            };
            return new Drawn(
                    size,
                    random.nextBoolean() ? 0 : random.nextInt(0, RpingPattern.MAX_SIZE - size + 1),
                    random.nextInt(1, MOST_PINGS + 1),
                    random.nextBoolean(),
                    random.nextInt(4) > 0 || number == 0,
                    random.nextInt(4) == 0,
                    bringUp(random),
                    bringUp(random),
                    random.nextInt(3) == 0,
                    random.nextInt(3) == 0,
                    random.nextInt(3) == 0);
        }

        private static ConnectionMode bringUp(SplittableRandom random) {
            return random.nextInt(3) == 0 ? ConnectionMode.EXTERNAL_QP : ConnectionMode.RDMA_CM;
        }

        private String server() {
            return "-s -S " + (size + spare) + (persistent ? " -P" : "") + common();
        }

        private String client() {
            return "-c -C " + pings + " -S " + size + (validate ? " -V" : "") + common();
        }

        private String common() {
            return (verbose ? " -v" : "") + (debug ? " -d" : "") + external(theirs);
        }

        private String ourClient() {
            return "-C " + pings + " -S " + size + (validate ? " -V" : "") + external(ours);
        }

        private String ourServer() {
            return "-S " + (size + spare) + external(ours);
        }

        private static String external(ConnectionMode mode) {
            return mode == ConnectionMode.EXTERNAL_QP ? " -q" : "";
        }

        private String asServer() {
            return server() + overIpv6() + ", our client " + ourClient() + (source ? " -I" : "");
        }

        private String asClient() {
            return client() + (source ? " -I" : "") + overIpv6() + ", our server " + ourServer();
        }

        private String overIpv6() {
            return ipv6 ? " over IPv6" : "";
        }
    }

    private static RpingOptions parse(CellContext context, Fault fault, String line) {
        return RpingOptions.parse(line, "--timeout", context.step(), "--fault", fault);
    }

    private static CProgram start(CellContext context, String line, Object... addressed) throws IOException {
        List<Object> words = new ArrayList<>(List.of(line.split(" ")));
        words.addAll(List.of(addressed));
        return context.start("rping", words.toArray());
    }

    private static long client(CellContext context, Fault fault, Drawn drawn) throws Exception {
        int port = context.port();
        InetAddress address = context.theirs(!drawn.ipv6());
        CProgram server = start(context, drawn.server(), "-a", address.getHostAddress(), "-p", port);
        RpingOptions options = parse(context, fault, drawn.ourClient()).and("-a", address, "-p", port);
        RpingRoles.ClientResult result = context.connect(
                server,
                new RpingRoles.Client(drawn.source() ? options.and("-I", context.ours(!drawn.ipv6())) : options));
        if (result.pings() != drawn.pings()) {
            throw new AssertionError(result.pings() + " pings came back instead of " + drawn.pings());
        }
        if (drawn.persistent()) {
            // The server serves until it is killed. Its output comes right after our last ping.
            requireLast(server, drawn);
        } else {
            int ignored = server.awaitEnd();
            requireLast(server, drawn);
        }
        return result.bytesReturned();
    }

    private static long server(CellContext context, Fault fault, Drawn drawn) throws Exception {
        RdmaDevice device = context.device().device();
        if (drawn.theirs() == ConnectionMode.EXTERNAL_QP && device.transport() == Transport.IWARP) {
            // The program calls rdma_establish(3) for a connection that is already established, and gives up at EINVAL.
            throw new TestAbortedException(SkipReason.UNSUPPORTED_BY_DEVICE.because(
                    device.name() + " is an iWARP device, where rping -c -q does not connect"));
        }
        InetAddress address = context.ours(!drawn.ipv6());
        RpingOptions options = parse(context, fault, drawn.ourServer()).and("-p 0 -C", drawn.pings(), "-a", address);
        Running<RpingRoles.ServerResult> server =
                context.roles().start("server", context.device(), new RpingRoles.Server(options));
        String port = server.hear("port", context.step());
        String line = drawn.client()
                + (drawn.source() ? " -I " + context.theirs(!drawn.ipv6()).getHostAddress() : "");
        CProgram client = start(context, line, "-a", address.getHostAddress(), "-p", port);
        RpingRoles.ServerResult result;
        try {
            result = server.join(context.step().multipliedBy(2));
        } catch (ScenarioException e) {
            int ignored = client.awaitEnd();
            throw new AssertionError("The program gave up: " + client.describe(), e);
        }
        int ignored = client.awaitEnd();
        requireLast(client, drawn);
        if (client.output().contains("mismatch")) {
            throw new AssertionError("The program found wrong data: " + client.describe());
        }
        if (result.pings() != drawn.pings()) {
            throw new AssertionError(result.pings() + " pings were answered instead of " + drawn.pings());
        }
        return result.bytesVerified();
    }

    /** The program prints every ping under -v, the last one shows that it saw all of them. */
    private static void requireLast(CProgram program, Drawn drawn) throws Exception {
        if (drawn.verbose()) {
            program.awaitOutput("rdma-ping-" + (drawn.pings() - 1) + ": ");
        }
    }
}
