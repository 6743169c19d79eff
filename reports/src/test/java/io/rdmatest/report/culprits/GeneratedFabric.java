package io.rdmatest.report.culprits;

import io.rdmatest.report.culprits.PairLine.Outcome;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;

/**
 * A fabric as it may be measured, with causes that were put into it. It is made in the order of nature: what a port, a trunk
 * between leaves, a cable and the noise do to packets; nothing of how culprits are found is used.
 *
 * <p>It is fair: what is put in can be seen. A path lies on no other cause. Not more is bad than good. A cause that is weaker than
 * the noise of what can be seen of it is not made.
 */
final class GeneratedFabric {

    /** How values scatter. */
    enum Noise {
        NORMAL,
        /** Double exponential. */
        LAPLACE,
        /** Student's t with 5 degrees of freedom. */
        STUDENT,
        /** What is lost is log-normal: most cells are near the best, and a long tail is worse. */
        SKEWED,
        /** Normal, and all that is measured gets slowly better or worse, or both in turns, by up to 12 %. */
        DRIFT,
        /** Normal, and one cell in a thousand is slower by 10 to 35 %. */
        OUTLIERS,
        /** Normal, and nodes differ from each other by some percent for good. */
        UNEQUAL_NODES
    }

    /** How a cause shows. */
    enum Symptom {
        /** All that depends on the rate of the link. */
        SLOW,
        MESSAGE_RATE,
        LATENCY,
        TAIL,
        /** Lost packets: counters, a lower rate, a longer tail. */
        LOSS,
        FAILS,
        /** Wrong data in every cell. */
        WRONG_DATA
    }

    private record Effect(String name, Symptom symptom, double strength) {}

    final long seed;
    final int nodes;
    final int rails;
    final int leafSize;
    final Noise noise;
    final double sigma;
    final double measuredShare;
    private final Random random;
    private final boolean bottleneck;
    private final boolean slowPorts;
    private final boolean onlyBandwidth;
    private final boolean onlyLatency;
    private final boolean noLineRate;
    private final double notMeasured;
    private final Set<String> expected = new TreeSet<>();
    private final Map<Integer, List<Effect>> sending = new HashMap<>();
    private final Map<Integer, List<Effect>> receiving = new HashMap<>();
    private final Map<Long, List<Effect>> blocks = new HashMap<>();
    private final Map<Long, List<Effect>> paths = new HashMap<>();
    private final double[] nodeFactor;
    private final double[] lineRates;
    private final boolean byRows;
    private final double drift;
    private final double driftPeriods;

    /**
     * Draws a fabric.
     *
     * @param seed what it is drawn from
     * @param nodes how many nodes
     * @param most how many causes of each kind there are at most; 0 for a clean one
     */
    GeneratedFabric(long seed, int nodes, int most) {
        this.seed = seed;
        this.nodes = nodes;
        random = new Random(seed * 7919 + nodes * 31L + most);
        rails = nodes > 300 ? 1 : 1 + (random.nextBoolean() ? 0 : random.nextInt(nodes > 100 ? 3 : 8));
        int[] sizes = {0, 4, 8, 16, 32};
        int size = sizes[random.nextInt(sizes.length)];
        leafSize = nodes / Math.max(size, 1) >= 3 ? size : 0;
        noise = Noise.values()[random.nextInt(Noise.values().length)];
        double[] sigmas = {0.01, 0.02, 0.03, 0.05, 0.08, 0.15};
        sigma = noise == Noise.UNEQUAL_NODES
                ? 0.03
                : sigmas[random.nextInt(nodes < 12 || (noise == Noise.SKEWED && most > 0) ? 4 : sigmas.length)];
        measuredShare = nodes > 60 && random.nextInt(5) == 0 ? 0.3 : 1;
        bottleneck = random.nextBoolean();
        slowPorts = random.nextInt(4) == 0;
        int only = random.nextInt(8);
        onlyBandwidth = only == 0;
        onlyLatency = only == 1;
        noLineRate = !slowPorts && random.nextInt(4) == 0;
        notMeasured = random.nextInt(3) == 0 ? 0.02 : 0;
        nodeFactor = new double[nodes * rails];
        lineRates = new double[nodes * rails];
        for (int port = 0; port < nodes * rails; port++) {
            nodeFactor[port] = noise == Noise.UNEQUAL_NODES ? Math.exp(0.02 * random.nextGaussian()) : 1;
            lineRates[port] = slowPorts && port % nodes % 7 == 3 ? 100e9 : 400e9;
        }
        byRows = random.nextInt(3) == 0;
        drift = noise == Noise.DRIFT ? 0.02 + 0.04 * random.nextDouble() : 0;
        driftPeriods = (random.nextBoolean() ? 1 : -1) * (0.3 + 1.7 * random.nextDouble());
        if (most > 0) {
            inject(most);
        }
    }

    /** Returns the causes that are in it, each as a line. */
    Set<String> expected() {
        return expected;
    }

    private Symptom symptom() {
        if (onlyBandwidth) {
            return random.nextInt(3) == 0 ? Symptom.FAILS : Symptom.SLOW;
        }
        if (onlyLatency) {
            return new Symptom[] {Symptom.LATENCY, Symptom.TAIL, Symptom.FAILS}[random.nextInt(3)];
        }
        return Symptom.values()[random.nextInt(Symptom.values().length)];
    }

    /** Draws how strong a cause of many cells is: a factor. */
    private double strength(Symptom symptom) {
        // What is seen of it are the few cells that a port of a small fabric has.
        double mild = Math.max(
                0.17,
                5.5 * sigma / Math.sqrt(Math.max(1, Math.min(nodes, 60) * 0.7 * measuredShare))
                        + (noise == Noise.UNEQUAL_NODES ? 0.12 : 0)
                        + 4 * drift);
        return switch (symptom) {
            case SLOW, MESSAGE_RATE -> Math.exp(-mild - random.nextDouble() * 1.2);
            case LATENCY -> Math.exp(1.3 * mild + random.nextDouble() * 1.2);
            case TAIL -> Math.exp(3 * mild + 0.3 + random.nextDouble() * 2);
            default -> 1;
        };
    }

    private double strengthOfPath(Symptom symptom) {
        // With few cells only gross differences are to be told.
        double far = Math.max(nodes > 16 ? 0.7 : 1.2, 10 * sigma);
        double tail = switch (noise) {
            case LAPLACE -> 20 * sigma;
            case STUDENT -> 50 * sigma;
            case SKEWED -> 100 * sigma;
            case DRIFT -> 2 * drift;
            case OUTLIERS -> 0.5;
            default -> 0;
        };
        return switch (symptom) {
            case SLOW, MESSAGE_RATE -> Math.exp(-far - tail - random.nextDouble());
            case LATENCY -> Math.exp(far + 0.2 + tail + random.nextDouble());
            case TAIL -> Math.exp((nodes > 16 ? 1.9 : 2.8) + 2 * tail + 16 * sigma + random.nextDouble());
            default -> 1;
        };
    }

    private void inject(int most) {
        int ports = Math.max(1, Math.min(most, nodes / 6));
        Set<Integer> taken = new HashSet<>();
        String[] directions = {"out", "in", "both"};
        int ofNodes = random.nextInt(ports + 1);
        for (int i = 0; i < ofNodes; i++) {
            int node = random.nextInt(nodes);
            if (taken.add(node)) {
                String direction = directions[random.nextInt(3)];
                Symptom symptom = symptom();
                for (int rail = 0; rail < rails; rail++) {
                    port(node, rail, direction, symptom);
                }
                expected.add(
                        rails == 1
                                ? "port " + node(node) + " " + rail(0) + " " + direction
                                : "node " + node(node) + " " + direction);
            }
        }
        int ofPorts = rails == 1 ? random.nextInt(ports + 1 - Math.min(ports, ofNodes)) : random.nextInt(ports + 1);
        for (int i = 0; i < ofPorts; i++) {
            int node = random.nextInt(nodes);
            if (taken.size() < Math.max(2, nodes / 4) && taken.add(node)) {
                int rail = random.nextInt(rails);
                String direction = directions[random.nextInt(3)];
                port(node, rail, direction, symptom());
                expected.add("port " + node(node) + " " + rail(rail) + " " + direction);
            }
        }
        int leaves = leaves();
        if (leaves >= 3) {
            int ofBlocks = random.nextInt(Math.min(most, leaves) + 1);
            for (int i = 0; i < ofBlocks; i++) {
                int from = random.nextInt(leaves);
                int to = random.nextInt(leaves);
                int rail = random.nextInt(rails);
                long block = ((long) rail * leaves + from) * leaves + to;
                if (membersOf(from) * membersOf(to) * measuredShare >= 6 && !blocks.containsKey(block)) {
                    Symptom symptom = symptom();
                    blocks.put(block, List.of(new Effect("block", symptom, strength(symptom))));
                    expected.add("block leaf" + from + " leaf" + to + " " + rail(rail));
                }
            }
        }
        int ofPaths = random.nextInt(Math.min(most, Math.max(1, nodes / 8)) + 1);
        Set<Integer> ends = new HashSet<>();
        for (int i = 0; i < ofPaths; i++) {
            int from = random.nextInt(nodes);
            int to = random.nextInt(nodes);
            int rail = random.nextInt(rails);
            long block = leaves == 0 ? -1 : ((long) rail * leaves + leaf(from)) * leaves + leaf(to);
            boolean free = from != to
                    && !sending.containsKey(rail * nodes + from)
                    && !receiving.containsKey(rail * nodes + to)
                    && !blocks.containsKey(block)
                    && (nodes > 12 || (ends.add(from) && ends.add(to)));
            if (free) {
                Symptom symptom = symptom();
                if (symptom == Symptom.TAIL && sigma > 0.06) {
                    symptom = Symptom.FAILS;
                }
                paths.put(
                        ((long) rail * nodes + from) * nodes + to,
                        List.of(new Effect("path", symptom, strengthOfPath(symptom))));
                expected.add("path " + node(from) + " " + node(to) + " " + rail(rail));
            }
        }
    }

    private void port(int node, int rail, String direction, Symptom symptom) {
        if (!direction.equals("in")) {
            sending.put(rail * nodes + node, List.of(new Effect("port", symptom, strength(symptom))));
        }
        if (!direction.equals("out")) {
            receiving.put(rail * nodes + node, List.of(new Effect("port", symptom, strength(symptom))));
        }
    }

    private int leaves() {
        return leafSize == 0 ? 0 : (nodes + leafSize - 1) / leafSize;
    }

    private int leaf(int node) {
        return node / leafSize;
    }

    private int membersOf(int leaf) {
        return Math.min(nodes, (leaf + 1) * leafSize) - leaf * leafSize;
    }

    private static String node(int number) {
        return String.format(Locale.ROOT, "n%03d", number);
    }

    private static String rail(int number) {
        return "rail" + number;
    }

    private double scatter(double factor) {
        double s = sigma * factor;
        double value = switch (noise) {
            case LAPLACE -> {
                double u = random.nextDouble() - 0.5;
                yield -Math.signum(u) * Math.log(1 - 2 * Math.abs(u)) / Math.sqrt(2);
            }
            case STUDENT -> {
                double chi = 0;
                for (int i = 0; i < 5; i++) {
                    double g = random.nextGaussian();
                    chi += g * g;
                }
                yield random.nextGaussian() / Math.sqrt(chi / 5) / Math.sqrt(5.0 / 3);
            }
            case SKEWED -> (1 - Math.exp(0.8 * random.nextGaussian() - 0.32)) / 0.95;
            default -> random.nextGaussian();
        };
        return Math.exp(s * value);
    }

    /** Makes all cells, in an order as they may be measured: in rounds of disjoint pairs, or sender by sender. */
    void cells(Consumer<PairLine> sink) {
        String[] names = new String[nodes];
        String[] leafNames = new String[nodes];
        for (int node = 0; node < nodes; node++) {
            names[node] = node(node);
            leafNames[node] = leafSize == 0 ? null : "leaf" + leaf(node);
        }
        for (int rail = 0; rail < rails; rail++) {
            String name = rail(rail);
            for (int outer = 0; outer < nodes; outer++) {
                double now = Math.exp(drift * Math.sin(2 * Math.PI * driftPeriods * outer / nodes));
                for (int inner = 0; inner < nodes; inner++) {
                    int from = byRows ? outer : inner;
                    int to = byRows ? inner : (inner + outer) % nodes;
                    if (from != to
                            && (measuredShare == 1
                                    || random.nextDouble() < measuredShare
                                    || paths.containsKey(((long) rail * nodes + from) * nodes + to))) {
                        sink.accept(cell(rail, name, from, to, now, names, leafNames));
                    }
                }
            }
        }
    }

    /** Returns all cells. */
    List<PairLine> cells() {
        List<PairLine> all = new ArrayList<>();
        cells(all::add);
        return all;
    }

    private PairLine cell(int rail, String name, int from, int to, double now, String[] names, String[] leafNames) {
        int fromPort = rail * nodes + from;
        int toPort = rail * nodes + to;
        int leaves = leaves();
        List<Effect> all = new ArrayList<>();
        all.addAll(sending.getOrDefault(fromPort, List.of()));
        all.addAll(receiving.getOrDefault(toPort, List.of()));
        if (leaves > 0) {
            all.addAll(blocks.getOrDefault(((long) rail * leaves + leaf(from)) * leaves + leaf(to), List.of()));
        }
        List<Effect> path = paths.getOrDefault(((long) rail * nodes + from) * nodes + to, List.of());
        all.addAll(path);
        double lineRate = Math.min(lineRates[fromPort], lineRates[toPort]);
        if (path.isEmpty() && random.nextDouble() < notMeasured) {
            return line(name, from, to, names, leafNames, lineRate, Outcome.NOT_MEASURED, "HOST_NOT_READY", null, 0, 0);
        }
        double slow = 1;
        double rate = 1;
        double latency = 1;
        double tail = 1;
        double loss = 0;
        for (Effect effect : all) {
            switch (effect.symptom()) {
                case FAILS -> {
                    String cause = random.nextInt(4) == 0 ? "RESPONSE_TIMEOUT" : "RETRY_EXCEEDED";
                    return line(name, from, to, names, leafNames, lineRate, Outcome.FAILED, cause, null, 0, 0);
                }
                case WRONG_DATA -> {
                    return line(name, from, to, names, leafNames, lineRate, Outcome.FAILED, "WRONG_DATA", null, 0, 0);
                }
                case SLOW -> slow = bottleneck ? Math.min(slow, effect.strength()) : slow * effect.strength();
                case MESSAGE_RATE -> rate = bottleneck ? Math.min(rate, effect.strength()) : rate * effect.strength();
                case LATENCY ->
                    latency = bottleneck ? Math.max(latency, effect.strength()) : latency * effect.strength();
                case TAIL -> tail = bottleneck ? Math.max(tail, effect.strength()) : tail * effect.strength();
                case LOSS -> {
                    loss += 0.01;
                    slow *= effect.name().equals("path") ? 0.55 : 0.85;
                    tail *= 4;
                }
            }
        }
        double lone = noise == Noise.OUTLIERS && random.nextInt(1000) == 0 ? 0.65 + 0.25 * random.nextDouble() : 1;
        double equal = now * Math.min(nodeFactor[fromPort], nodeFactor[toPort]);
        double bandwidth = lineRate * 0.93 * slow * lone * equal * scatter(1);
        double messages = 4e6 * Math.pow(lineRate / 400e9, 0.3) * rate * Math.min(1, slow * 1.1) * scatter(1);
        boolean near = leafSize > 0 && leaf(from) == leaf(to);
        double p50 = (near ? 1.9e-6 : 3.2e-6) * latency / equal / scatter(0.8);
        double p99 = p50 * (1.6 / scatter(1.5)) * tail;
        long lost = loss > 0 ? 40 + random.nextInt(400) : random.nextInt(300) == 0 ? 1 + random.nextInt(3) : 0;
        return line(
                name,
                from,
                to,
                names,
                leafNames,
                lineRate,
                Outcome.MEASURED,
                null,
                new double[] {bandwidth, messages, p50, p99},
                lost,
                random.nextInt(10) == 0 ? random.nextInt(5000) : 0);
    }

    private PairLine line(
            String rail,
            int from,
            int to,
            String[] names,
            String[] leafNames,
            double lineRate,
            Outcome outcome,
            String cause,
            double[] values,
            long lost,
            long congestion) {
        boolean some = values != null;
        Map<String, Long> fromCounters = new HashMap<>();
        if (lost > 0) {
            fromCounters.put("packet_seq_err", lost);
        }
        if (congestion > 0) {
            fromCounters.put("rp_cnp_handled", congestion);
        }
        return new PairLine(
                rail,
                names[from],
                names[to],
                leafNames[from],
                leafNames[to],
                1,
                outcome,
                cause,
                noLineRate ? Double.NaN : lineRate,
                some && !onlyLatency ? values[0] : Double.NaN,
                some && !onlyLatency && !onlyBandwidth ? values[1] : Double.NaN,
                some && !onlyBandwidth ? values[2] : Double.NaN,
                some && !onlyBandwidth ? values[3] : Double.NaN,
                some ? 1000 : 0,
                some ? 65536 : 0,
                1,
                false,
                null,
                null,
                new PairLine.Counters(fromCounters, lost > 0 ? Map.of("out_of_sequence", lost) : Map.of()));
    }

    /** Returns a cause as {@link #expected()} has it. */
    static String text(Culprit cause) {
        return switch (cause) {
            case Culprit.Node node -> "node " + node.node() + " " + node.direction();
            case Culprit.Port port -> "port " + port.node() + " " + port.rail() + " " + port.direction();
            case Culprit.Block block -> "block " + block.fromLeaf() + " " + block.toLeaf() + " " + block.rail();
            case Culprit.Path path -> "path " + path.from() + " " + path.to() + " " + path.rail();
        };
    }

    @Override
    public String toString() {
        return "seed %d, %d nodes, %d rails, leaves of %d, %s noise %.2f, share %.1f%s%s%s%s%s"
                .formatted(
                        seed,
                        nodes,
                        rails,
                        leafSize,
                        noise,
                        sigma,
                        measuredShare,
                        bottleneck ? ", bottleneck" : "",
                        slowPorts ? ", slow ports" : "",
                        onlyBandwidth ? ", only bandwidth" : "",
                        onlyLatency ? ", only latency" : "",
                        noLineRate ? ", no line rate" : "");
    }
}
