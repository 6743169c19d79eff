package io.rdmatest.bench;

import static io.rdmatest.bench.PerftestContest.lower;
import static io.rdmatest.bench.PerftestContest.program;

import io.rdmatest.bench.Contest.Context;
import io.rdmatest.bench.Contest.Repeated;
import io.rdmatest.bench.PerftestContest.Kind;
import io.rdmatest.scenarios.pairs.PairRoles.Operation;
import io.rdmatest.scenarios.rstream.StreamRow;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * One comparison. The repetitions of all are such that a run takes one to five seconds on soft-RoCE in emulation; a scale
 * multiplies them.
 *
 * @param name by which it is selected, such as {@code send-lat-64}
 * @param what what is compared, for people
 * @param unit of the values of both sides, such as {@code us} or {@code MiB/s}
 * @param target what the ratio of ours to theirs has to be
 * @param programs the C programs that it needs
 * @param contest makes its two sides
 */
record BenchRow(String name, String what, String unit, Target target, List<String> programs, ContestSource contest) {

    private static final int KIB = 1 << 10;
    private static final int MIB = 1 << 20;

    /** The program's own 1,000 messages are 50 ms, and where the device does its part of them is settled anew in each run. */
    private static final int RATE_RUNS = 5;

    /**
     * Messages of a latency row, for some seconds: in the emulator a message takes one of several times, 12 to 25 us, for tenths
     * of a second on end, and a shorter run is as good as the one it meets.
     */
    private static final int LATENCY_MESSAGES = 50_000;

    private static final int CONNECTIONS = 1000;

    private static final List<Operation> OPERATIONS = List.of(Operation.SEND, Operation.WRITE, Operation.READ);

    /** Repetitions of a stream's row by its size: iterations of the latency row, transfers of the bandwidth row. */
    private static final Map<Integer, int[]> STREAM_REPETITIONS = Map.of(
            64,
            new int[] {8000, 20_000},
            4 * KIB,
            new int[] {4000, 5000},
            64 * KIB,
            new int[] {1000, 1000},
            MIB,
            new int[] {100, 100});

    /** Makes the sides of a row. */
    @FunctionalInterface
    public interface ContestSource {

        /** Prepares a contest; nothing is started before it runs. */
        Contest open(Context context);
    }

    /** Copies the list. */
    public BenchRow {
        programs = List.copyOf(programs);
    }

    /** Returns all rows, in the order in which they are measured. */
    public static List<BenchRow> all() {
        List<BenchRow> rows = new ArrayList<>();
        for (Operation operation : OPERATIONS) {
            rows.add(new BenchRow(
                    lower(operation) + "-lat-64",
                    operation + " latency, 64 B, p50",
                    "us",
                    Target.atMost(1.05),
                    List.of(program(operation, Kind.LATENCY)),
                    context -> new PerftestContest(
                            context, operation, Kind.LATENCY, options(context, 64, LATENCY_MESSAGES))));
        }
        for (Operation operation : OPERATIONS) {
            rows.add(bandwidth(operation, 64 * KIB, 2000));
            rows.add(bandwidth(operation, MIB, 200));
        }
        rows.add(new BenchRow(
                "send-rate-64",
                "SEND message rate, 64 B, with the program's defaults",
                "msg/s",
                Target.atLeast(1.2),
                List.of(program(Operation.SEND, Kind.MESSAGE_RATE)),
                context -> new Repeated(
                        new PerftestContest(context, Operation.SEND, Kind.MESSAGE_RATE, List.of("-s", "64")),
                        RATE_RUNS,
                        context.cancelled())));
        rows.add(new BenchRow(
                "rping-verified",
                "verified ping-pong, round trips per second",
                "1/s",
                Target.atLeast(2),
                List.of("rping"),
                context -> new PingContest(context, context.scaled(3000))));
        for (boolean rma : new boolean[] {false, true}) {
            addStreams(rows, rma);
            addVerifiedStreams(rows, rma);
        }
        rows.add(new BenchRow(
                "ucmatose-1000",
                "connections per second, connected and disconnected",
                "1/s",
                Target.atLeast(1.5),
                List.of("ucmatose"),
                context -> new ConnectionContest(context, CONNECTIONS, false)));
        rows.add(new BenchRow(
                "cmtime-1000",
                "connections per second, connected",
                "1/s",
                Target.atLeast(1.5),
                List.of("cmtime"),
                context -> new ConnectionContest(context, CONNECTIONS, true)));
        rows.add(new BenchRow(
                "mckey",
                "multicast datagrams per second, delivered",
                "1/s",
                Target.atLeast(1),
                List.of("mckey"),
                context -> new MulticastContest(context, context.scaled(2000))));
        return List.copyOf(rows);
    }

    private static List<String> options(Context context, int size, int iterations) {
        return List.of("-s", Integer.toString(size), "-n", Integer.toString(context.scaled(iterations)));
    }

    private static BenchRow bandwidth(Operation operation, int size, int iterations) {
        return new BenchRow(
                lower(operation) + "-bw-" + label(size),
                operation + " bandwidth, " + label(size),
                "MiB/s",
                Target.atLeast(1),
                List.of(program(operation, Kind.BANDWIDTH)),
                context -> new PerftestContest(context, operation, Kind.BANDWIDTH, options(context, size, iterations)));
    }

    private static void addStreams(List<BenchRow> rows, boolean rma) {
        for (boolean latency : new boolean[] {true, false}) {
            for (int size : StreamRow.STANDARD_SIZES) {
                rows.add(new BenchRow(
                        prefix(rma) + label(size) + (latency ? "-lat" : "-bw"),
                        what(rma) + ", " + label(size)
                                + (latency ? ", one transfer at a time" : ", all transfers at once"),
                        "Gb/s",
                        Target.atLeast(rma ? 1.2 : 1),
                        List.of("rstream"),
                        context -> stream(context, size, latency, false, rma)));
            }
        }
    }

    private static void addVerifiedStreams(List<BenchRow> rows, boolean rma) {
        for (int size : new int[] {64 * KIB, MIB}) {
            rows.add(new BenchRow(
                    prefix(rma) + "verified-" + label(size),
                    what(rma) + " with every byte compared, " + label(size),
                    "Gb/s",
                    Target.atLeast(1.2),
                    List.of("rstream"),
                    context -> stream(context, size, false, true, rma)));
        }
    }

    private static String prefix(boolean rma) {
        return rma ? "rma-stream-" : "rstream-";
    }

    private static String what(boolean rma) {
        return rma ? "stream over RDMA WRITE" : "stream over rsockets";
    }

    private static Contest stream(Context context, int size, boolean latency, boolean verify, boolean rma) {
        int[] repetitions = STREAM_REPETITIONS.get(size);
        if (repetitions == null) {
            throw new IllegalArgumentException("No repetitions are known for transfers of " + size + " bytes");
        }
        return latency
                ? new StreamContest(context, size, 1, context.scaled(repetitions[0]), verify, rma)
                : new StreamContest(context, size, context.scaled(repetitions[1]), 1, verify, rma);
    }

    private static String label(int size) {
        return size >= MIB ? size / MIB + "m" : size >= KIB ? size / KIB + "k" : Integer.toString(size);
    }
}
