package io.rdmatest.scenarios.interop;

import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.engine.Fault;
import io.rdmatest.scenarios.engine.LocalRoles.Running;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import io.rdmatest.scenarios.udaddy.UdaddyRoles;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The cells of udaddy(1). The program looks at no payload, so nobody can notice a damaged byte. Its port is fixed: the cells
 * run one after the other, and each waits for the end of its program, with which the port is free.
 */
final class UdaddyCells implements CellSource {

    @Override
    public String program() {
        return "udaddy";
    }

    @Override
    public List<Cell> cells(SplittableRandom random, int count) {
        List<Cell> cells = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Drawn client = Drawn.draw(random);
            cells.add(new Cell(
                    program(),
                    OurRole.CLIENT,
                    client.describe(),
                    false,
                    (context, fault) -> client(context, fault, client)));
            Drawn server = Drawn.draw(random);
            cells.add(new Cell(
                    program(),
                    OurRole.SERVER,
                    server.describe() + (server.tos() ? " -t 32" : ""),
                    false,
                    (context, fault) -> server(context, fault, server)));
        }
        return cells;
    }

    /**
     * What is varied.
     *
     * @param connections -c
     * @param messages -C
     * @param size -S, at most the MTU of every Ethernet
     * @param udp whether the port space is named
     * @param bind whether the program is given a local address
     * @param tos whether the client sets a type of service
     * @param ipv6 whether over IPv6
     */
    private record Drawn(
            int connections, int messages, int size, boolean udp, boolean bind, boolean tos, boolean ipv6) {

        private static Drawn draw(SplittableRandom random) {
            return new Drawn(
                    random.nextInt(1, 9),
                    random.nextInt(0, 31),
                    // As many small ones as large ones.
                    random.nextInt(0, (1 << random.nextInt(1, 11)) + 1),
                    random.nextInt(3) == 0,
                    random.nextBoolean(),
                    random.nextInt(3) == 0,
                    random.nextInt(3) == 0);
        }

        private List<Object> common() {
            List<Object> words = new ArrayList<>(List.of("-c", connections, "-C", messages, "-S", size));
            if (udp) {
                // The program's -p takes a number only.
                words.addAll(List.of("-P", "udp"));
            }
            return words;
        }

        private String describe() {
            return String.join(" ", common().stream().map(Object::toString).toList())
                    + (bind ? " -b" : "")
                    + (ipv6 ? " over IPv6" : "");
        }

        private String ours(CellContext context) {
            return withoutInterface(context.ours(!ipv6));
        }

        private String theirs(CellContext context) {
            return withoutInterface(context.theirs(!ipv6));
        }

        /** Java writes the interface behind it, which the program does not take. */
        private static String withoutInterface(InetAddress address) {
            return address.getHostAddress().replaceFirst("%.*", "");
        }

        private UdaddyOptions options(CellContext context, Fault fault) {
            return UdaddyOptions.defaults()
                    .withAddressFormat(Format.IP)
                    .withConnections(connections)
                    .withMessages(messages)
                    .withSizeBytes(size)
                    .withTimeout(context.step())
                    .withFault(fault);
        }
    }

    private static long client(CellContext context, Fault fault, Drawn drawn) throws Exception {
        String address = drawn.theirs(context);
        List<Object> words = drawn.common();
        if (drawn.bind() || drawn.ipv6()) {
            words.addAll(List.of("-b", address));
        }
        CProgram server = context.start("udaddy", words.toArray());
        UdaddyOptions options = drawn.options(context, fault)
                .withServerAddress(address)
                .withTypeOfService(drawn.tos() ? 32 : null)
                .withBindAddress(drawn.bind() ? drawn.ours(context) : null);
        return agree(drawn, context.connect(server, new UdaddyRoles.Client(options)), server);
    }

    private static long server(CellContext context, Fault fault, Drawn drawn) throws Exception {
        String address = drawn.ours(context);
        Running<UdaddyRoles.Result> server = context.roles()
                .start(
                        "server",
                        context.device(),
                        new UdaddyRoles.Server(drawn.options(context, fault).withBindAddress(address)));
        String listening = server.hear("listening", context.step());
        context.note("our server", listening);
        List<Object> words = drawn.common();
        words.addAll(List.of("-s", address));
        if (drawn.bind()) {
            words.addAll(List.of("-b", drawn.theirs(context)));
        }
        if (drawn.tos()) {
            words.addAll(List.of("-t", 32));
        }
        CProgram client = context.start("udaddy", words.toArray());
        return agree(drawn, server.join(context.step().multipliedBy(2)), client);
    }

    private static long agree(Drawn drawn, UdaddyRoles.Result result, CProgram program) throws Exception {
        long messages = drawn.size() == 0 ? 0 : (long) drawn.connections() * drawn.messages();
        if (result.messagesReceived() != messages || result.bytesReceived() != messages * drawn.size()) {
            throw new AssertionError("%d messages of together %d bytes came from the program instead of %d of %d each"
                    .formatted(result.messagesReceived(), result.bytesReceived(), messages, drawn.size()));
        }
        program.awaitSuccess();
        return result.bytesReceived();
    }
}
