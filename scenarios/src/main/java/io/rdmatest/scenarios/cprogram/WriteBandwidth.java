package io.rdmatest.scenarios.cprogram;

import io.rdmatest.Deadline;
import io.rdmatest.scenarios.node.NodeFacts;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Measures a pair of nodes with ib_write_bw(1) of perftest, for an independent measurement of the fabric. A failure of this
 * program is no verdict on the fabric.
 */
public final class WriteBandwidth {

    /** The name of the program. */
    public static final String PROGRAM = "ib_write_bw";

    /** MiB/s, as the program prints them, in bit/s. */
    private static final double MIB = 8.0 * (1 << 20);

    /** What the program prints when it waits for a client. */
    private static final String READY = "Waiting for client to connect";

    /** What the client prints if the server is not there yet. */
    private static final String TOO_EARLY = "Couldn't connect to";

    /** How much of its output a reason quotes. */
    private static final int MOST_LINES = 3;

    private static final int MOST_CHARACTERS = 300;

    private final Side from;
    private final Side to;
    private final String address;
    private final Duration limit;
    private final long deadline;

    private WriteBandwidth(Side from, Side to, String address, Duration limit) {
        this.from = from;
        this.to = to;
        this.address = address;
        this.limit = limit;
        this.deadline = Deadline.end(limit);
    }

    /**
     * Where the program runs.
     *
     * @param name the node
     * @param launch the command that runs another one on it; empty for this host
     * @param options of the program there
     */
    record Side(String name, List<String> launch, List<Object> options) {}

    /**
     * What is measured.
     *
     * @param sizeBytes bytes of a message, 1 or more
     * @param queuePairs how many queue pairs, 1 or more
     * @param depth how many messages each of them has in flight at most, 1 or more
     * @param seconds how long data flows, 1 or more
     * @param limit how long all of it may take, with the start of the program on both nodes
     */
    public record Plan(int sizeBytes, int queuePairs, int depth, int seconds, Duration limit) {}

    /**
     * The result of a measurement.
     *
     * @param bandwidth payload in bit/s; NaN if it was not measured
     * @param messageRate messages per second; NaN if it was not measured
     * @param reason why it was not measured, as a clause; null if it was
     * @param missingOn the node on which the program is not installed; null if it is
     */
    public record Result(
            double bandwidth,
            double messageRate,
            @Nullable String reason,
            @Nullable String missingOn) {

        /**
         * Creates the result of a measurement that could not be made.
         *
         * @param why the reason
         */
        public static Result failed(Throwable why) {
            return failed(PROGRAM + ": " + firstLine(why));
        }

        private static Result failed(String reason) {
            return new Result(Double.NaN, Double.NaN, reason, null);
        }

        private static Result missing(Side side) {
            return new Result(
                    Double.NaN,
                    Double.NaN,
                    PROGRAM + " is not installed on " + side.name() + " (package perftest)",
                    side.name());
        }

        /** Returns whether there are values. */
        public boolean isMeasured() {
            return reason == null;
        }
    }

    /**
     * Measures a pair. When this returns, the program no longer runs on either node.
     *
     * @param from where the data comes from
     * @param to where it goes
     * @param plan what is measured
     * @throws InterruptedException if the caller is to end; the program was ended on both nodes
     */
    public static Result measure(Place from, Place to, Plan plan) throws InterruptedException {
        try {
            InetAddress address = to.address();
            return measure(side(from, address, plan), side(to, address, plan), address.getHostAddress(), plan.limit());
        } catch (RuntimeException e) {
            return failed(from.name(), to.name(), e);
        }
    }

    /** Measures, with the address at which the one side reaches the other. */
    static Result measure(Side from, Side to, String address, Duration limit) throws InterruptedException {
        try {
            return new WriteBandwidth(from, to, address, limit).measure();
        } catch (IOException | RuntimeException | AssertionError e) {
            return failed(from.name(), to.name(), e);
        }
    }

    private static Result failed(String from, String to, Throwable why) {
        return Result.failed(PROGRAM + " from " + from + " to " + to + ": " + firstLine(why));
    }

    /** Returns the first line of what a failure says; what a program printed comes behind it. */
    private static String firstLine(Throwable why) {
        String message = why.getMessage();
        return message == null
                ? why.toString()
                : message.lines().findFirst().orElse(why.toString()).replaceFirst(" printed:$", "");
    }

    private Result measure() throws IOException, InterruptedException {
        for (Side side : List.of(from, to)) {
            if (side.launch().isEmpty() && CProgram.find(PROGRAM).isEmpty()) {
                return Result.missing(side);
            }
        }
        List<Object> port = List.of("-p", Ports.next());
        try (CProgram server = start(to, port)) {
            while (!server.output().contains(READY)) {
                if (server.awaitEnd(deadline)) {
                    return server.isMissing() ? Result.missing(to) : Result.failed(said(server, to));
                }
            }
            List<Object> target = new ArrayList<>(port);
            target.add(address);
            Deadline early = Deadline.after(limit.dividedBy(4));
            while (true) {
                try (CProgram client = start(from, target)) {
                    boolean ended = false;
                    while (!ended) {
                        ended = client.awaitEnd(deadline);
                    }
                    if (client.isMissing()) {
                        return Result.missing(from);
                    }
                    if (client.awaitEnd() == 0) {
                        return result(client.output().lines().toList());
                    }
                    // A server that can't be reached for so long is not late, but unreachable.
                    if (!client.output().contains(TOO_EARLY) || early.isOver()) {
                        return Result.failed(said(client, from));
                    }
                }
                if (server.awaitEnd(deadline)) {
                    return Result.failed(said(server, to));
                }
            }
        }
    }

    private CProgram start(Side side, List<Object> more) throws IOException {
        List<Object> words = new ArrayList<>(side.options());
        words.addAll(more);
        return CProgram.start(side.launch(), limit, PROGRAM, words.toArray());
    }

    /** Returns the options, the same on both sides but for the device. */
    private static Side side(Place place, InetAddress address, Plan plan) {
        NodeFacts facts = place.facts();
        GidEntry gid = facts.gid();
        List<Object> words = new ArrayList<>(List.of(
                "-d",
                facts.environment().getOrDefault("device", ""),
                "-i",
                gid.port(),
                // Without it the program refuses to measure where the processor's frequency may change.
                "-F",
                "-s",
                plan.sizeBytes(),
                "-q",
                plan.queuePairs(),
                "-t",
                plan.depth(),
                "-D",
                plan.seconds()));
        if (gid.type() == GidType.ROCE_V1 || gid.type() == GidType.ROCE_V2) {
            words.addAll(List.of("-x", gid.index()));
        }
        if (address instanceof Inet6Address) {
            words.add("--ipv6-addr");
        }
        return new Side(place.name(), place.launch(), words);
    }

    /** Reads what the client printed. */
    private static Result result(List<String> lines) {
        PerftestOutput.Bandwidth row = PerftestOutput.bandwidth(lines).bandwidth();
        if (row == null) {
            throw new IllegalStateException("The output of a bandwidth test has no bandwidth");
        }
        return new Result(row.averageMiB() * MIB, row.millionMessages() * 1e6, null, null);
    }

    /** How getopt_long(3) of glibc and of musl refuse an option. */
    private static final Pattern UNKNOWN_OPTION = Pattern.compile("unrecognized option:? '?(-*[\\w-]+)");

    /** Returns the reason that a failed program gives. */
    private static String said(CProgram program, Side side) throws InterruptedException {
        List<String> told = program.output()
                .lines()
                .map(String::strip)
                .filter(line -> !line.isEmpty() && !line.startsWith("---") && !line.startsWith("***"))
                .toList();
        // The whole usage follows, whose last lines say nothing.
        Matcher unknown = UNKNOWN_OPTION.matcher(program.output());
        if (unknown.find()) {
            return "%s on %s has no option %s, which perftest 25.01 has: install a newer perftest there"
                    .formatted(PROGRAM, side.name(), unknown.group(1));
        }
        String last = told.subList(Math.max(0, told.size() - MOST_LINES), told.size()).stream()
                .collect(Collectors.joining("; "));
        return "%s on %s ended with %d%s"
                .formatted(
                        PROGRAM,
                        side.name(),
                        program.awaitEnd(),
                        last.isEmpty() ? "" : ": " + last.substring(0, Math.min(MOST_CHARACTERS, last.length())));
    }
}
