package io.rdmatest.report;

import io.rdmatest.scenarios.culprits.Culprits;
import io.rdmatest.scenarios.culprits.PairLine;
import io.rdmatest.scenarios.culprits.PairsReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What measured pairs say of each port: of a node, on a rail, sending or receiving.
 *
 * @param ports by node, rail and direction, sorted
 * @param culprits the causes that explain the pairs
 */
record Ports(Map<Port, Figures> ports, Culprits culprits) {

    /** Nothing was measured. */
    static final Ports NONE = new Ports(Map.of(), Culprits.of(List.of()));

    /** One direction of a port. */
    record Port(String node, String rail, String direction) implements Comparable<Port> {

        static final String OUT = "out";
        static final String IN = "in";

        private static final Comparator<Port> ORDER =
                Comparator.comparing(Port::node).thenComparing(Port::rail).thenComparing(Port::direction);

        @Override
        public int compareTo(Port other) {
            return ORDER.compare(this, other);
        }
    }

    /** The cells of one direction of a port; of each pair the last one counts. */
    static final class Figures {
        private final Map<String, PairLine> cells = new TreeMap<>();

        private void add(String peer, PairLine cell) {
            PairLine ignored = cells.put(peer, cell);
        }

        /** Returns how many cells came how far. */
        Map<PairLine.Outcome, Integer> outcomes() {
            Map<PairLine.Outcome, Integer> outcomes = new EnumMap<>(PairLine.Outcome.class);
            for (PairLine.Outcome outcome : PairLine.Outcome.values()) {
                outcomes.put(outcome, 0);
            }
            cells.values().forEach(cell -> outcomes.merge(cell.outcome(), 1, Integer::sum));
            return outcomes;
        }

        /** Returns the median bandwidth in bit/s; NaN if none was measured. */
        double bandwidth() {
            return median(cells.values().stream().mapToDouble(PairLine::bandwidth).toArray());
        }

        /** Returns the median of messages per second; NaN if none was measured. */
        double messageRate() {
            return median(cells.values().stream().mapToDouble(PairLine::messageRate).toArray());
        }

        /** Returns the median of the median latencies in seconds; NaN if none was measured. */
        double latency() {
            return median(cells.values().stream().mapToDouble(PairLine::latencyP50).toArray());
        }

        private static double median(double[] values) {
            double[] sorted = Arrays.stream(values)
                    .filter(Double::isFinite)
                    .sorted()
                    .toArray();
            int half = sorted.length / 2;
            if (sorted.length == 0) {
                return Double.NaN;
            }
            return sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
        }
    }

    /**
     * Reads the cells of a run.
     *
     * @param file {@code pairs.jsonl}; need not exist
     * @throws IOException if it can't be read, or a line of it is no cell; the message names file and line
     */
    static Ports read(Path file) throws IOException {
        if (!Files.exists(file)) {
            return NONE;
        }
        Map<Port, Figures> ports = new TreeMap<>();
        new PairsReader().read(file, (cell, position) -> {
            ports.computeIfAbsent(new Port(cell.from(), cell.rail(), Port.OUT), ignored -> new Figures())
                    .add(cell.to(), cell);
            ports.computeIfAbsent(new Port(cell.to(), cell.rail(), Port.IN), ignored -> new Figures())
                    .add(cell.from(), cell);
        });
        return new Ports(ports, Culprits.ofFiles(List.of(file)));
    }

    /** Returns how many cells of a node came how far, over its rails and directions. */
    Map<PairLine.Outcome, Integer> outcomes(String node) {
        Map<PairLine.Outcome, Integer> all = new EnumMap<>(PairLine.Outcome.class);
        ports.forEach((port, figures) -> {
            if (port.node().equals(node)) {
                figures.outcomes().forEach((outcome, count) -> all.merge(outcome, count, Integer::sum));
            }
        });
        return all;
    }

    /** Returns the nodes that have cells, sorted. */
    List<String> nodes() {
        return new ArrayList<>(
                ports.keySet().stream().map(Port::node).distinct().toList());
    }
}
