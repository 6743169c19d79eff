package io.rdmatest.scenarios.interop;

import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import io.rdmatest.scenarios.rstream.StreamRow;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** The cells of rstream(1): custom tests in every mode. Both sides read the very same options. */
final class RstreamCells implements CellSource {

    /** The modes of waiting, addressing and connecting. The program takes one word with each -T. */
    private static final List<String> MODES = List.of(
            "", "-T n", "-T b", "-T a", "-T r", "-T s", "-T a -T b", "-T s -T a", "-T s -T b", "-T r -T a", "-f ip");

    /** Sizes around what rsockets treat differently: inline up to 64, first chunks of 2048, buffers of half a megabyte. */
    private static final int[] CORNERS = {1, 16, 63, 64, 65, 2047, 2048, 2049, 4096, 65535, 65536, 65537, 262145};

    /** Keeps a cell below a few seconds in emulation. */
    private static final int MOST_BYTES = 400_000;

    private static final int LARGEST = 100_000;

    @Override
    public String program() {
        return "rstream";
    }

    @Override
    public List<Cell> cells(SplittableRandom random, int count) {
        List<Cell> cells = new ArrayList<>();
        for (OurRole role : List.of(OurRole.CLIENT, OurRole.SERVER)) {
            List<String> modes = shuffled(random);
            for (int i = 0; i < count; i++) {
                // Where the program does not verify, our side still counts, and requires the end after the last byte.
                boolean verify = i % 4 != 3;
                String options = draw(random, modes.get(i % modes.size()), verify);
                cells.add(new Cell(
                        program(),
                        role,
                        options,
                        verify,
                        role == OurRole.CLIENT
                                ? (context, fault) -> client(context, fault, options)
                                : (context, fault) -> server(context, fault, options)));
            }
        }
        return cells;
    }

    private static List<String> shuffled(SplittableRandom random) {
        List<String> modes = new ArrayList<>(MODES);
        for (int i = modes.size() - 1; i > 0; i--) {
            int other = random.nextInt(i + 1);
            modes.set(other, modes.set(i, modes.get(other)));
        }
        return modes;
    }

    private static String draw(SplittableRandom random, String mode, boolean verify) {
        int size = random.nextBoolean() ? CORNERS[random.nextInt(CORNERS.length)] : random.nextInt(1, LARGEST);
        int transfers = random.nextInt(1, Math.clamp(MOST_BYTES / size, 2, 60));
        int iterations = random.nextInt(1, Math.clamp(MOST_BYTES / size / transfers, 2, 8));
        StringBuilder options = new StringBuilder("-S " + size + " -C " + transfers);
        // One iteration is the default of the program, whatever its manual says.
        if (iterations > 1 || random.nextBoolean()) {
            options.append(" -I ").append(iterations);
        }
        if (random.nextInt(3) == 0) {
            options.append(" -B ").append(random.nextInt(4096, 1 << 20));
        }
        if (random.nextInt(4) == 0) {
            options.append(" -i ").append(random.nextInt(0, 65));
        }
        if (random.nextInt(4) == 0) {
            options.append(" -k ").append(random.nextInt(1, 60));
        }
        if (!mode.isEmpty()) {
            options.append(' ').append(mode);
        }
        if (verify) {
            options.append(" -T v");
        }
        return options.toString();
    }

    private static long client(CellContext context, Fault fault, String line) throws Exception {
        int port = context.port();
        String address = context.theirs().getHostAddress();
        CProgram server = start(context, line, "-b", address, "-p", port);
        RstreamOptions options = options(context, fault, line).and("-s", address, "-p", port);
        StreamRoles.Result result = context.connect(server, new StreamRoles.Client(options));
        server.awaitSuccess();
        return require(server, options, result);
    }

    private static long server(CellContext context, Fault fault, String line) throws Exception {
        String address = context.ours().getHostAddress();
        RstreamOptions options = options(context, fault, line).and("-p 0 -b", address);
        Running<StreamRoles.Result> server =
                context.roles().start("server", context.device(), new StreamRoles.Server(options));
        String port = server.hear("port", context.step());
        CProgram client = start(context, line, "-s", address, "-p", port);
        StreamRoles.Result result = server.join(context.step().multipliedBy(2));
        client.awaitSuccess();
        return require(client, options, result);
    }

    private static CProgram start(CellContext context, String line, Object... addressed) throws IOException {
        List<Object> words = new ArrayList<>(List.of(addressed));
        words.addAll(List.of(line.split(" ")));
        return context.start("rstream", words.toArray());
    }

    private static RstreamOptions options(CellContext context, Fault fault, String line) {
        return RstreamOptions.parse(line, "--timeout", context.step(), "--fault", fault);
    }

    /** The program reports its first wrong byte. In most modes its exit status also shows it. */
    private static long require(CProgram program, RstreamOptions options, StreamRoles.Result result) {
        if (program.output().contains("verification failed")) {
            throw new AssertionError("The program received wrong data: " + program.describe());
        }
        if (!program.output().contains("\ncustom ")) {
            throw new AssertionError("The program did not come to the end of its test: " + program.describe());
        }
        StreamRow row = options.series().getFirst().getFirst();
        long expected = 16 + row.totalBytes() / 2;
        if (result.bytesReceived() != expected || options.verify() && result.bytesVerified() != expected) {
            throw new AssertionError("%d bytes received, %d of them verified, instead of %d"
                    .formatted(result.bytesReceived(), result.bytesVerified(), expected));
        }
        return result.bytesReceived();
    }
}
