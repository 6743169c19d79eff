package io.rdmatest.report.culprits;

import io.rdmatest.report.culprits.PairLine.Outcome;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A matrix of 3 to 8 nodes with one rail and no line rate, as emulated machines have it, with one {@link Fault} of the last node.
 * All values of a cell scatter independently. {@link GeneratedFabric} draws larger fabrics with many causes at once.
 */
record FewNodes(int nodes, double noise, Fault fault, long seed) {

    /** What is wrong with the last node, called {@code b}, or with the path from the first node to it. */
    enum Fault {
        NONE("nothing"),
        NONE_COUNTING("nothing, but half of the pairs count 1 to 35 errors"),
        COUNTED("loss, errors counted only"),
        COUNTED_BOTH("loss both ways, errors counted only"),
        LOSS("a third of the rates, and errors"),
        RATE("a quarter of the bandwidth, sending"),
        RATES("a tenth of both rates, sending"),
        DELAY("ten times the latency, both ways"),
        DEAD("all fails, both ways"),
        MUTE("all fails, sending"),
        PATH_SLOW("path: a tenth of the bandwidth"),
        PATH_LOSS("path: errors counted only"),
        PATH_FAILS("path: fails");

        private final String words;

        Fault(String words) {
            this.words = words;
        }

        boolean isNone() {
            return name().startsWith("NONE");
        }

        boolean isOfPath() {
            return name().startsWith("PATH");
        }
    }

    /** What became of some matrices with one fault. */
    record Tally(int named, int others, int unexplained) {}

    List<PairLine> cells() {
        Random random = new Random(seed * 7919 + nodes * 31L + (long) (noise * 1000) + fault.ordinal() * 104_729L);
        List<PairLine> cells = new ArrayList<>();
        for (int from = 0; from < nodes; from++) {
            for (int to = 0; to < nodes; to++) {
                if (from != to) {
                    cells.add(cell(random, from, to));
                }
            }
        }
        return cells;
    }

    private PairLine cell(Random random, int from, int to) {
        boolean out = from == nodes - 1;
        boolean any = out || to == nodes - 1;
        boolean path = from == 0 && to == nodes - 1;
        double bandwidth = 0.2e9;
        double rate = 8e3;
        double latency = 900e-6;
        long errors = 0;
        boolean failed = false;
        switch (fault) {
            case NONE -> {}
            case NONE_COUNTING -> errors = random.nextBoolean() ? 1 + random.nextInt(35) : 0;
            case COUNTED -> errors = out ? 140 + random.nextInt(60) : any ? 10 + random.nextInt(30) : 0;
            case COUNTED_BOTH -> errors = any ? 140 + random.nextInt(60) : 0;
            case LOSS -> {
                bandwidth /= out ? 3 : 1;
                rate /= out ? 3 : 1;
                errors = out ? 140 + random.nextInt(60) : 0;
            }
            case RATE -> bandwidth /= out ? 4 : 1;
            case RATES -> {
                bandwidth /= out ? 10 : 1;
                rate /= out ? 10 : 1;
            }
            case DELAY -> latency *= any ? 10 : 1;
            case DEAD -> failed = any;
            case MUTE -> failed = out;
            case PATH_SLOW -> bandwidth /= path ? 10 : 1;
            case PATH_LOSS -> errors = path ? 60 + random.nextInt(40) : 0;
            case PATH_FAILS -> failed = path;
        }
        double p50 = latency * scatter(random);
        return new PairLine(
                PairLine.ONLY_RAIL,
                name(from),
                name(to),
                null,
                null,
                failed ? 2 : 1,
                failed ? Outcome.FAILED : Outcome.MEASURED,
                failed ? "RETRY_EXCEEDED" : null,
                Double.NaN,
                failed ? Double.NaN : bandwidth * scatter(random),
                failed ? Double.NaN : rate * scatter(random),
                failed ? Double.NaN : p50,
                failed ? Double.NaN : p50 * 1.5 * Math.exp(Math.abs(2 * noise * random.nextGaussian())),
                failed ? 0 : 100,
                failed ? 0 : 65_536,
                1,
                false,
                null,
                null,
                new PairLine.Counters(Map.of(), errors == 0 ? Map.of() : Map.of("rcvd_seq_err", errors)));
    }

    private double scatter(Random random) {
        return Math.exp(noise * random.nextGaussian());
    }

    private String name(int node) {
        return node == nodes - 1 ? "b" : "a" + node;
    }

    /** Returns whether a cause is the fault that was put in: its port, which way ever it is named, or its path. */
    private boolean isRight(Culprit cause) {
        return fault.isOfPath()
                ? cause instanceof Culprit.Path path
                        && path.from().equals("a0")
                        && path.to().equals("b")
                : cause instanceof Culprit.Port port && port.node().equals("b") && !fault.isNone();
    }

    /** Explains {@code matrices} of them, with seeds from 1. */
    static Tally tally(int nodes, double noise, Fault fault, int matrices) {
        List<int[]> each = IntStream.rangeClosed(1, matrices)
                .parallel()
                .mapToObj(seed -> {
                    FewNodes matrix = new FewNodes(nodes, noise, fault, seed);
                    Culprits culprits = Culprits.of(matrix.cells());
                    boolean others = !culprits.causes().stream().allMatch(matrix::isRight);
                    return new int[] {
                        !others && !culprits.causes().isEmpty() ? 1 : 0,
                        others ? 1 : 0,
                        culprits.unexplained().isEmpty() ? 0 : 1
                    };
                })
                .toList();
        return new Tally(sum(each, 0), sum(each, 1), sum(each, 2));
    }

    private static int sum(List<int[]> each, int at) {
        return each.stream().mapToInt(one -> one[at]).sum();
    }

    /**
     * Prints a table of matrices of 3, 4, 5, 6 and 8 nodes: how many named the fault and nothing else, how many named something
     * else, and how many had an unexplained pair.
     *
     * @param arguments how many matrices of each kind, 100 if it is absent, and names of faults with commas between them, all if
     *     they are absent
     */
    public static void main(String... arguments) {
        int matrices = arguments.length == 0 ? 100 : Integer.parseInt(arguments[0]);
        List<Fault> some = arguments.length < 2
                ? List.of(Fault.values())
                : Arrays.stream(arguments[1].split(",")).map(Fault::valueOf).toList();
        System.out.println("| fault | noise | 3 nodes | 4 | 5 | 6 | 8 |\n|---|---|---|---|---|---|---|");
        for (Fault fault : some) {
            for (double noise : new double[] {0.02, 0.1, 0.3}) {
                System.out.println(IntStream.of(3, 4, 5, 6, 8)
                        .mapToObj(nodes -> tally(nodes, noise, fault, matrices))
                        .map(tally -> "%d, %d, %d".formatted(tally.named(), tally.others(), tally.unexplained()))
                        .collect(Collectors.joining(
                                " | ", "| %s | %.0f %% | ".formatted(fault.words, 100 * noise), " |")));
            }
        }
    }
}
