package io.rdmatest.scenarios.pairs;

import io.rdmatest.fabric.FabricException;
import io.rdmatest.peer.PeerLostException;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import io.rdmatest.scenarios.role.ScenarioException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Measures all ordered pairs of nodes, in rounds in which every node is busy at most once, and tells the bad ones from those of
 * which nothing is known. A pair that fails, or that is an outlier, gets a second try before anything is said of it.
 */
public final class AllPairs {

    /** What is measured between two nodes; less is better. */
    @FunctionalInterface
    public interface Measurement {

        /**
         * Measures.
         *
         * @param pair which nodes
         * @return the finite value
         * @throws FabricException or {@link PeerLostException} if a node can't be reached
         * @throws Exception any other failure is the fabric's
         */
        double measure(Pair pair) throws Exception;
    }

    /** Of so many nodes, one has less than half of the pairs. */
    private static final int ENOUGH = 5;

    private final Tournament tournament;
    private final double outlier;
    private final double most;
    private final Map<Pair, Cell> cells = new LinkedHashMap<>();

    private AllPairs(Tournament tournament, double outlier, double most) {
        this.tournament = tournament;
        this.outlier = outlier;
        this.most = most;
    }

    /**
     * Measures all pairs.
     *
     * @param nodes how many nodes there are, at least 2
     * @param outlier by which factor a value has to be above the median of all to be an outlier, with 2 to 4 nodes above the
     *     lower quartile; above 1
     * @param most above which value a pair is bad, whatever the others are like; infinite for none
     * @param measurement what is measured; called by several threads at once, for pairs that have no node in common
     * @return the results, by pair
     * @throws InterruptedException if the caller is to end; measurements under way were interrupted, and have ended
     */
    public static Map<Pair, Cell> run(int nodes, double outlier, double most, Measurement measurement)
            throws InterruptedException {
        if (!(outlier > 1)) {
            throw new IllegalArgumentException("An outlier is above the others by a factor above 1, not " + outlier);
        }
        AllPairs all = new AllPairs(new Tournament(nodes), outlier, most);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            try {
                for (int round = 0; round < all.tournament.rounds(); round++) {
                    all.measure(threads, all.tournament.round(round), measurement, 1);
                }
                for (List<Pair> round : disjoint(all.suspects())) {
                    all.measure(threads, round, measurement, 2);
                }
            } catch (InterruptedException e) {
                threads.shutdownNow();
                throw e;
            }
        }
        all.judge();
        return all.cells;
    }

    private void measure(ExecutorService threads, List<Pair> round, Measurement measurement, int attempt)
            throws InterruptedException {
        Map<Pair, Future<Double>> running = new LinkedHashMap<>();
        for (Pair pair : round) {
            Callable<Double> work = () -> measurement.measure(pair);
            running.put(pair, threads.submit(work));
        }
        for (Map.Entry<Pair, Future<Double>> each : running.entrySet()) {
            Pair pair = each.getKey();
            try {
                cells.put(pair, new Cell(pair, Verdict.GOOD, each.getValue().get(), attempt, null));
            } catch (ExecutionException e) {
                Throwable why = e.getCause() == null ? e : e.getCause();
                cells.put(pair, new Cell(pair, verdict(why), Double.NaN, attempt, text(why)));
            }
        }
    }

    /** Whoever did not get as far as to use the fabric says nothing about it. */
    private static Verdict verdict(Throwable why) {
        boolean unknown = why instanceof PeerLostException
                || why instanceof FabricException
                || why instanceof ScenarioException scenario
                        && scenario.reason() == ScenarioException.Reason.HOST_NOT_READY;
        return unknown ? Verdict.NOT_MEASURED : Verdict.BAD;
    }

    private static String text(Throwable why) {
        String message = why.getMessage();
        return message == null || message.isBlank()
                ? why.getClass().getName()
                : message.lines().findFirst().orElse("");
    }

    private List<Pair> suspects() {
        double limit = limit(usual());
        return cells.values().stream()
                .filter(cell -> cell.verdict() != Verdict.GOOD || cell.value() > limit)
                .map(Cell::pair)
                .toList();
    }

    private void judge() {
        double usual = usual();
        double limit = limit(usual);
        cells.replaceAll((pair, cell) -> {
            if (cell.verdict() != Verdict.GOOD || !(cell.value() > limit)) {
                return cell;
            }
            String why = cell.value() > most
                    ? "%.4g, at most %.4g".formatted(cell.value(), most)
                    : "%.3g times the %s of all pairs".formatted(cell.value() / usual, nameOfUsual());
            return new Cell(pair, Verdict.BAD, cell.value(), cell.attempts(), why);
        });
    }

    private double limit(double usual) {
        return Math.min(outlier * usual, most);
    }

    /**
     * What a pair that is well may be taken to need. One node has a part in 2 of n pairs, so that among fewer than
     * {@value #ENOUGH} nodes a slow one has half of them or more, and the median with it.
     */
    private double usual() {
        double[] values = cells.values().stream()
                .mapToDouble(Cell::value)
                .filter(Double::isFinite)
                .sorted()
                .toArray();
        if (values.length == 0) {
            return Double.NaN;
        }
        if (tournament.nodes() < ENOUGH) {
            return values[values.length / 4];
        }
        int middle = values.length / 2;
        return values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    }

    private String nameOfUsual() {
        return tournament.nodes() < ENOUGH ? "lower quartile" : "median";
    }

    /** Puts pairs into rounds in which no node is busy twice. */
    static List<List<Pair>> disjoint(List<Pair> pairs) {
        List<List<Pair>> rounds = new ArrayList<>();
        List<Set<Integer>> busy = new ArrayList<>();
        for (Pair pair : pairs) {
            int round = 0;
            while (round < rounds.size()
                    && (busy.get(round).contains(pair.server())
                            || busy.get(round).contains(pair.client()))) {
                round++;
            }
            if (round == rounds.size()) {
                rounds.add(new ArrayList<>());
                busy.add(new HashSet<>());
            }
            rounds.get(round).add(pair);
            busy.get(round).add(pair.server());
            busy.get(round).add(pair.client());
        }
        return rounds;
    }

    /**
     * Writes the results as a matrix: a row for each client, a column for each server.
     *
     * @param names the nodes, by their numbers
     * @param cells what {@link #run} returned
     * @param unit of the values
     */
    public static String matrix(List<String> names, Map<Pair, Cell> cells, String unit) {
        int width =
                Math.max(12, 2 + names.stream().mapToInt(String::length).max().orElse(0));
        StringBuilder text = new StringBuilder("client \\ server, " + unit + System.lineSeparator());
        text.append(" ".repeat(width));
        names.forEach(name -> text.append(("%" + width + "s").formatted(name)));
        for (int client = 0; client < names.size(); client++) {
            text.append(System.lineSeparator()).append(("%-" + width + "s").formatted(names.get(client)));
            for (int server = 0; server < names.size(); server++) {
                text.append(("%" + width + "s").formatted(entry(cells.get(new Pair(server, client)))));
            }
        }
        return text.append(System.lineSeparator()).toString();
    }

    private static String entry(@Nullable Cell cell) {
        if (cell == null) {
            return "-";
        }
        String value = Double.isNaN(cell.value()) ? "" : "%.4g".formatted(cell.value());
        return switch (cell.verdict()) {
            case GOOD -> value;
            case BAD -> ("BAD " + value).strip();
            case NOT_MEASURED -> "unknown";
        };
    }
}
