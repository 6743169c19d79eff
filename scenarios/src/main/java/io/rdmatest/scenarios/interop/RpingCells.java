package io.rdmatest.scenarios.interop;

import io.rdmatest.scenarios.role.BringUp;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.RpingPattern;
import io.rdmatest.scenarios.role.RpingRoles;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** The cells of rping(1). */
final class RpingCells implements CellSource {

    private static final int MOST_PINGS = 30;

    @Override
    public String program() {
        return "rping";
    }

    @Override
    public List<Cell> cells(SplittableRandom random, int count) {
        List<Cell> cells = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int size = random.nextInt(RpingPattern.MIN_SIZE, RpingPattern.MAX_SIZE + 1);
            int pings = random.nextInt(1, MOST_PINGS + 1);
            BringUp bringUp = random.nextBoolean() ? BringUp.RDMA_CM : BringUp.EXTERNAL_QP;
            String options = "-C " + pings + " -S " + size;
            cells.add(new Cell(
                    program(),
                    OurRole.CLIENT,
                    options,
                    false,
                    (context, fault) -> client(context, fault, pings, size, bringUp)));
            cells.add(new Cell(
                    program(),
                    OurRole.SERVER,
                    options + " -V",
                    false,
                    (context, fault) -> server(context, fault, pings, size, bringUp)));
        }
        return cells;
    }

    private static long client(CellContext context, Fault fault, int pings, int size, BringUp bringUp)
            throws Exception {
        int port = context.port();
        CProgram server =
                context.start("rping", "-s", "-v", "-a", context.address().getHostAddress(), "-p", port, "-S", size);
        RpingRoles.ClientResult result =
                context.connect(server, new RpingRoles.Client(null, port, bringUp, size, pings, context.step()));
        int ignored = server.awaitEnd();
        require(server, pings);
        if (result.pings() != pings) {
            throw new AssertionError(result.pings() + " pings came back instead of " + pings);
        }
        return result.bytesVerified();
    }

    private static long server(CellContext context, Fault fault, int pings, int size, BringUp bringUp)
            throws Exception {
        Running<RpingRoles.ServerResult> server = context.roles()
                .start("server", context.device(), new RpingRoles.Server(null, 0, bringUp, size, context.step()));
        String port = server.hear("port", context.step());
        CProgram client = context.start(
                "rping",
                "-c",
                "-v",
                "-V",
                "-a",
                context.address().getHostAddress(),
                "-p",
                port,
                "-C",
                pings,
                "-S",
                size);
        RpingRoles.ServerResult result = server.join(context.step().multipliedBy(2));
        int ignored = client.awaitEnd();
        require(client, pings);
        if (result.pings() != pings) {
            throw new AssertionError(result.pings() + " pings were answered instead of " + pings);
        }
        return result.bytesVerified();
    }

    /** The program prints every ping under -v, the last one shows that it saw all of them. */
    private static void require(CProgram program, int pings) throws Exception {
        if (!program.output().contains("rdma-ping-" + (pings - 1) + ": ")
                || program.output().contains("mismatch")) {
            throw new AssertionError("The program does not agree that there were " + pings + " good pings");
        }
    }
}
