package io.rdmatest.scenarios.interop;

import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.engine.ConnectionResult;
import io.rdmatest.scenarios.options.ConnectionOptions;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.Role;
import java.io.IOException;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The cells of ucmatose(1) and udaddy(1). The programs don't look at payload, so neither side can notice a damaged byte.
 *
 * @param <O> the options of our roles
 * @param <R> what our roles report
 */
abstract class ConnectionCells<O extends ConnectionOptions<O>, R extends ConnectionResult> implements CellSource {

    private final String program;
    private final Class<O> options;
    private final boolean anyPort;

    /**
     * Creates the source.
     *
     * @param program the C program
     * @param options the options of our roles
     * @param anyPort whether the program has an option for its port
     */
    ConnectionCells(String program, Class<O> options, boolean anyPort) {
        this.program = program;
        this.options = options;
        this.anyPort = anyPort;
    }

    /**
     * The varied options of a cell.
     *
     * @param both the options of both sides
     * @param theirs more options of the program; each begins with a space
     * @param ours more options of our side; each begins with a space
     * @param bind whether the program gets a local address
     * @param tos whether the client sets a type of service
     * @param ipv6 whether over IPv6
     */
    record Drawn(String both, String theirs, String ours, boolean bind, boolean tos, boolean ipv6) {

        private String describe() {
            return both
                    + theirs
                    + (bind ? " -b" : "")
                    + (ipv6 ? " over IPv6" : "")
                    + (ours.isEmpty() ? "" : ", our side" + ours);
        }

        private String ours(CellContext context) {
            return withoutInterface(context.ours(!ipv6));
        }

        private String theirs(CellContext context) {
            return withoutInterface(context.theirs(!ipv6));
        }

        /** The program does not take the interface that Java appends. */
        private static String withoutInterface(InetAddress address) {
            return address.getHostAddress().replaceFirst("%.*", "");
        }
    }

    /** Draws the options of a cell. */
    abstract Drawn draw(SplittableRandom random);

    /** Returns our client. */
    abstract Role<R> client(O given);

    /** Returns our server. */
    abstract Role<R> server(O given);

    @Override
    public final String program() {
        return program;
    }

    @Override
    public final List<Cell> cells(SplittableRandom random, int count) {
        List<Cell> cells = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Drawn client = draw(random);
            cells.add(new Cell(
                    program,
                    OurRole.CLIENT,
                    client.describe(),
                    false,
                    (context, fault) -> client(context, fault, client)));
            Drawn server = draw(random);
            cells.add(new Cell(
                    program,
                    OurRole.SERVER,
                    server.describe() + tos(server),
                    false,
                    (context, fault) -> server(context, fault, server)));
        }
        return cells;
    }

    private static String tos(Drawn drawn) {
        return drawn.tos() ? " -t 32" : "";
    }

    private long client(CellContext context, Fault fault, Drawn drawn) throws Exception {
        String address = drawn.theirs(context);
        String port = anyPort ? " -p " + context.port() : "";
        CProgram server = start(context, drawn, port + (drawn.bind() || drawn.ipv6() ? " -b " + address : ""));
        O given = parse(
                context,
                fault,
                drawn,
                port + tos(drawn) + " -s " + address + (drawn.bind() ? " -b " + drawn.ours(context) : ""));
        return agree(given, context.connect(server, client(given)), server);
    }

    private long server(CellContext context, Fault fault, Drawn drawn) throws Exception {
        String address = drawn.ours(context);
        O given = parse(context, fault, drawn, (anyPort ? " -p 0" : "") + " -b " + address);
        Running<R> server = context.roles().start("server", context.device(), server(given));
        String port = server.hear("port", context.step());
        CProgram client = start(
                context,
                drawn,
                " -s " + address
                        + (anyPort ? " -p " + port : "")
                        + (drawn.bind() ? " -b " + drawn.theirs(context) : "")
                        + tos(drawn));
        return agree(given, server.join(context.step().multipliedBy(2)), client);
    }

    private CProgram start(CellContext context, Drawn drawn, String more) throws IOException {
        return context.start(program, (Object[]) (drawn.both() + drawn.theirs() + more).split(" "));
    }

    private O parse(CellContext context, Fault fault, Drawn drawn, String more) {
        return Options.parse(
                options, drawn.both() + drawn.ours() + " -f ip" + more, "--timeout", context.step(), "--fault", fault);
    }

    private static long agree(ConnectionOptions<?> given, ConnectionResult result, CProgram program) throws Exception {
        long messages = given.hasMessages() ? (long) given.connections() * given.messages() : 0;
        if (result.messagesReceived() != messages || result.bytesReceived() != messages * given.sizeBytes()) {
            throw new AssertionError(
                    "%d messages with %d bytes in total arrived from the program instead of %d of %d each"
                            .formatted(result.messagesReceived(), result.bytesReceived(), messages, given.sizeBytes()));
        }
        if (result.times().size() != given.connections()) {
            throw new AssertionError("%d connections were established instead of %d"
                    .formatted(result.times().size(), given.connections()));
        }
        program.awaitSuccess();
        return result.bytesReceived();
    }
}
