package io.rdmatest.scenarios.interop;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.engine.Fault;
import io.rdmatest.scenarios.engine.LocalRoles.Running;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/** The cells of ucmatose(1). The program looks at no payload, so nobody can notice a damaged byte. */
final class UcmatoseCells implements CellSource {

    @Override
    public String program() {
        return "ucmatose";
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
     * @param size -S
     * @param portSpace -P
     * @param bind whether the program is given a local address
     * @param migrate whether the program moves its ids
     * @param acknowledge whether the program sets the ACK timeout
     * @param tos whether the client sets a type of service
     * @param figures whether the program gets the option that addresses are figures
     * @param ipv6 whether over IPv6
     * @param weMigrate whether our side moves its ids
     * @param ours how our side brings its queue pairs up
     */
    private record Drawn(
            int connections,
            int messages,
            int size,
            PortSpace portSpace,
            boolean bind,
            boolean migrate,
            boolean acknowledge,
            boolean tos,
            boolean figures,
            boolean ipv6,
            boolean weMigrate,
            ConnectionMode ours) {

        private static Drawn draw(SplittableRandom random) {
            return new Drawn(
                    random.nextInt(1, 9),
                    random.nextInt(0, 31),
                    // As many small ones as large ones.
                    random.nextInt(0, (1 << random.nextInt(1, 13)) + 1),
                    random.nextInt(4) == 0 ? PortSpace.IB : PortSpace.TCP,
                    random.nextBoolean(),
                    random.nextInt(3) == 0,
                    random.nextInt(3) == 0,
                    random.nextInt(3) == 0,
                    random.nextInt(3) == 0,
                    random.nextInt(3) == 0,
                    random.nextInt(3) == 0,
                    random.nextInt(3) == 0 ? ConnectionMode.EXTERNAL_QP : ConnectionMode.RDMA_CM);
        }

        private List<Object> common() {
            List<Object> words = new ArrayList<>(List.of("-c", connections, "-C", messages, "-S", size));
            if (portSpace == PortSpace.IB) {
                words.addAll(List.of("-P", portSpace.name().toLowerCase(Locale.ROOT)));
            }
            if (figures) {
                words.addAll(List.of("-f", ipv6 ? "ipv6" : "ip"));
            }
            if (migrate) {
                words.add("-m");
            }
            if (acknowledge) {
                words.addAll(List.of("-a", 16));
            }
            return words;
        }

        private String describe() {
            return String.join(" ", common().stream().map(Object::toString).toList())
                    + (bind ? " -b" : "")
                    + (ipv6 ? " over IPv6" : "")
                    + (weMigrate ? ", our side -m" : "")
                    + (ours == ConnectionMode.EXTERNAL_QP ? ", our side with external QPs" : "");
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

        private UcmatoseOptions options(CellContext context, Fault fault) {
            return UcmatoseOptions.defaults()
                    .withAddressFormat(Format.IP)
                    .withConnections(connections)
                    .withMessages(messages)
                    .withSizeBytes(size)
                    .withPortSpace(portSpace)
                    .withMigrate(weMigrate)
                    .withBringUp(ours)
                    .withTimeout(context.step())
                    .withFault(fault);
        }
    }

    private static long client(CellContext context, Fault fault, Drawn drawn) throws Exception {
        int port = context.port();
        String address = drawn.theirs(context);
        List<Object> words = drawn.common();
        words.addAll(List.of("-p", port));
        if (drawn.bind() || drawn.ipv6()) {
            words.addAll(List.of("-b", address));
        }
        CProgram server = context.start("ucmatose", words.toArray());
        UcmatoseOptions options = drawn.options(context, fault)
                .withServerAddress(address)
                .withPort(port)
                .withTypeOfService(drawn.tos() ? 32 : null)
                .withAckTimeoutExponent(drawn.acknowledge() ? 17 : null)
                .withBindAddress(drawn.bind() ? drawn.ours(context) : null);
        UcmatoseRoles.Result result = context.connect(server, new UcmatoseRoles.Client(options));
        return agree(drawn, result, server);
    }

    private static long server(CellContext context, Fault fault, Drawn drawn) throws Exception {
        String address = drawn.ours(context);
        UcmatoseOptions options = drawn.options(context, fault)
                .withBindAddress(address)
                .withPort(0)
                .withAckTimeoutExponent(drawn.acknowledge() ? 17 : null);
        Running<UcmatoseRoles.Result> server =
                context.roles().start("server", context.device(), new UcmatoseRoles.Server(options));
        List<Object> words = drawn.common();
        words.addAll(List.of("-s", address, "-p", server.hear("port", context.step())));
        if (drawn.bind()) {
            words.addAll(List.of("-b", drawn.theirs(context)));
        }
        if (drawn.tos()) {
            words.addAll(List.of("-t", 32));
        }
        CProgram client = context.start("ucmatose", words.toArray());
        return agree(drawn, server.join(context.step().multipliedBy(2)), client);
    }

    private static long agree(Drawn drawn, UcmatoseRoles.Result result, CProgram program) throws Exception {
        long messages = drawn.size() == 0 ? 0 : (long) drawn.connections() * drawn.messages();
        if (result.messagesReceived() != messages || result.bytesReceived() != messages * drawn.size()) {
            throw new AssertionError("%d messages of together %d bytes came from the program instead of %d of %d each"
                    .formatted(result.messagesReceived(), result.bytesReceived(), messages, drawn.size()));
        }
        if (result.times().size() != drawn.connections()) {
            throw new AssertionError(result.times().size() + " connections came up instead of " + drawn.connections());
        }
        program.awaitSuccess();
        return result.bytesReceived();
    }
}
