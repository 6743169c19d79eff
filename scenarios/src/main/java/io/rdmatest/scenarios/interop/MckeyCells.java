package io.rdmatest.scenarios.interop;

import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.mckey.MckeyOptions;
import io.rdmatest.scenarios.mckey.MulticastRoles;
import io.rdmatest.scenarios.mckey.MulticastRoles.Received;
import io.rdmatest.scenarios.mckey.MulticastRoles.Sent;
import io.rdmatest.scenarios.role.Delivery.Proof;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The cells of mckey(1).
 *
 * <p>After joining, the C program pauses for 3 s. So its cells take longer than others. Its queue pairs also receive messages
 * that arrive in this time.
 */
final class MckeyCells implements CellSource {

    /** Together with the queue pairs of our side, this stays below the 56 queue pairs that soft-RoCE attaches to a group. */
    private static final int MOST_QUEUE_PAIRS = 8;

    private static final int MOST_MESSAGES = 60;
    private static final int MOST_BYTES = 1024;

    /** The smallest size of our messages with a full header. */
    private static final int FULL_BYTES = 28;

    private static final int MOST_PROGRAMS = 3;

    /** Printed for every queue pair. */
    private static final String JOINED = "joined dgid";

    @Override
    public String program() {
        return "mckey";
    }

    /**
     * The options of a cell.
     *
     * @param group an IPv4 group
     * @param queuePairs {@code -c}, for both sides
     * @param messages {@code -C} of the sending side
     * @param size {@code -S}
     * @param space {@code -p} of the C program; empty if it is not given
     * @param sendOnly whether the sender joins with {@code -o}
     * @param programs how many C programs receive at once
     */
    private record Draw(
            String group, int queuePairs, int messages, int size, String space, boolean sendOnly, int programs) {

        private static Draw from(SplittableRandom random) {
            return new Draw(
                    "239.%d.%d.%d".formatted(random.nextInt(1, 255), random.nextInt(256), random.nextInt(1, 255)),
                    random.nextInt(1, MOST_QUEUE_PAIRS + 1),
                    random.nextInt(1, MOST_MESSAGES + 1),
                    random.nextInt(4) == 0 ? random.nextInt(1, FULL_BYTES) : random.nextInt(FULL_BYTES, MOST_BYTES + 1),
                    List.of("", "0x0111", "273").get(random.nextInt(3)),
                    random.nextBoolean(),
                    random.nextInt(1, MOST_PROGRAMS + 1));
        }

        /** Returns the options of both sides. */
        private String both() {
            return "-m %s -c %d -C %d -S %d".formatted(group, queuePairs, messages, size)
                    + (space.isEmpty() ? "" : " -p " + space);
        }

        private String asSender() {
            return both() + " -s" + (sendOnly ? " -o" : "");
        }

        private MckeyOptions options(CellContext context) {
            // Our receiver is there first, and the C programs take several steps before a message comes.
            MckeyOptions options = MckeyOptions.parse(
                    both(),
                    "-b",
                    context.ours(),
                    "--timeout",
                    context.step(),
                    "--first-wait",
                    context.step().multipliedBy(3));
            // Between nodes, the switches need the time that the program gives them, too.
            return context.ours().equals(context.theirs()) ? options.and("--settle 0") : options;
        }
    }

    private static CProgram start(CellContext context, String line) throws IOException {
        String bound = line + " -b " + context.theirs().getHostAddress();
        return context.start("mckey", (Object[]) bound.split(" "));
    }

    @Override
    public List<Cell> cells(SplittableRandom random, int count) {
        List<Cell> cells = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Draw sending = Draw.from(random);
            String notOurs = sending.sendOnly() ? ", ours with -o" : "";
            cells.add(new Cell(
                    program(),
                    OurRole.SENDER,
                    sending.both() + ", " + sending.programs() + " receiving" + notOurs,
                    sending.size() >= FULL_BYTES,
                    (context, fault) -> send(context, fault, sending)));
            Draw receiving = Draw.from(random);
            cells.add(new Cell(
                    program(),
                    OurRole.RECEIVER,
                    receiving.asSender(),
                    false,
                    (context, fault) -> receive(context, receiving)));
        }
        return cells;
    }

    /** The C program only counts messages. A receiver of rdmatest in the same group verifies the data. */
    private static long send(CellContext context, Fault fault, Draw draw) throws Exception {
        MckeyOptions options = draw.options(context);
        Running<Received> witness =
                context.roles().start("witness", context.device(), new MulticastRoles.Receiver(options.and("-c 1")));
        String ignored = witness.hear("joining the group", context.step());
        List<CProgram> receivers = new ArrayList<>();
        for (int i = 0; i < draw.programs(); i++) {
            receivers.add(start(context, draw.both()));
        }
        for (CProgram receiver : receivers) {
            receiver.awaitOutput(JOINED, draw.queuePairs());
        }
        MckeyOptions sending = options.and(draw.sendOnly() ? "-o" : "", "--fault", fault);
        Sent sent = context.roles()
                .start("sender", context.device(), new MulticastRoles.Sender(sending))
                .join(context.step().multipliedBy(2));
        long expected = (long) draw.queuePairs() * draw.messages();
        if (sent.messages() != expected) {
            throw new AssertionError(sent.messages() + " messages were sent instead of " + expected);
        }
        Received seen = witness.join(context.step().multipliedBy(4));
        for (CProgram receiver : receivers) {
            // It ends only when each of its queue pairs has counted all its messages.
            int status = receiver.awaitEnd();
            if (status != 0 || !receiver.output().contains("data transfers complete")) {
                throw new AssertionError(
                        "A receiver ended with status %d without having got its messages".formatted(status));
            }
        }
        return seen.bytesVerified();
    }

    /** The C program destroys its queue pairs right after its last messages, so some of these may be lost. */
    private static long receive(CellContext context, Draw draw) throws Exception {
        int expected = Math.max(1, draw.messages() / 2);
        MckeyOptions options = draw.options(context).and("-C", expected);
        Running<Received> receiver =
                context.roles().start("receiver", context.device(), new MulticastRoles.Receiver(options));
        String ignored = receiver.hear("joining the group", context.step());
        CProgram sender = start(context, draw.asSender());
        Received received = receiver.join(context.step().multipliedBy(4));
        int status = sender.awaitEnd();
        if (status != 0) {
            throw new AssertionError("The sender ended with status " + status);
        }
        if (received.messages() < (long) expected * draw.queuePairs() || received.proof() != Proof.COUNTED) {
            throw new AssertionError("%d messages were received, %s".formatted(received.messages(), received.proof()));
        }
        return received.messages() * draw.size();
    }
}
