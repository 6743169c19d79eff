package io.rdmatest.scenarios.culprits;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;
import org.hipparchus.distribution.continuous.NormalDistribution;
import org.hipparchus.distribution.discrete.BinomialDistribution;
import org.hipparchus.util.ArithmeticUtils;
import org.jspecify.annotations.Nullable;

/**
 * Explains the cells of one rail by the fewest causes.
 *
 * <p><b>The scale.</b> Each metric is a logarithm that grows as the cell gets better: of the share of the line rate, of the
 * message rate, of the inverse latencies, of the inverse of one more than the errors that both ports counted. A cell's residual
 * is its distance from what is usual, which differs for pairs within one leaf and between leaves. The noise is the median
 * absolute deviation of the residuals after the medians of rows and columns were taken off.
 *
 * <p><b>Rows, columns and blocks.</b> A candidate is all that a port sends, all that it receives, or all that flows from a leaf
 * to a leaf. Its effect is the median of its cells. It is a cause only if this is
 * <ul>
 *   <li>large in practice: at least {@link Metric#least};
 *   <li>large beside what rows, columns or blocks differ by anyway: {@value #SPREADS} times their robust spread;
 *   <li>significant: the logarithm of the likelihood ratio, summed over its cells, exceeds that of {@value #FALSE_ALARMS} divided
 *       by the number of candidates and metrics. A cell counts at most {@value #CELL} for a cause and {@value #CELL_AGAINST}
 *       against it, so that neither one outlier makes a cause, nor a cause is named that a quarter of its cells contradicts.
 * </ul>
 * The one with the largest sum is taken first. Its cells are explained then, and neither speak for nor against another one. Usual
 * values and noise are estimated again without them, and all is done again, until nothing changes.
 *
 * <p><b>Parts of them.</b> A flaky port or one of several links between leaves makes a part of the cells bad. It is named if at
 * least {@value #PART} of its cells are bad, {@value #PART_CELLS} or more, and the binomial probability of so many is below
 * the same bound, with the share of bad cells elsewhere.
 *
 * <p><b>Paths.</b> A single cell must be far off: it failed, or it is beyond {@link Metric#path} and beyond the noise with a
 * probability below {@value #FALSE_ALARMS} divided by the number of cells, and beyond the tail that other lone outliers show.
 */
final class RailAnalysis {

    /** What a cell is judged by. */
    enum Metric {
        /** Share of the line rate; a share that is lower by 10 % matters. */
        BANDWIDTH("bandwidth", Math.log(1 / 0.9), Math.log(1 / 0.58), 0.01),
        /** Messages per second. */
        MESSAGE_RATE("messageRate", Math.log(1 / 0.9), Math.log(1 / 0.58), 0.01),
        /** The median latency. */
        LATENCY_P50("latencyP50", Math.log(1.15), Math.log(2), 0.01),
        /** The 99th percentile of the latency, which scatters more. */
        LATENCY_P99("latencyP99", Math.log(1.3), Math.log(5), 0.02),
        /** Errors that the counters of both ports show. */
        COUNTERS("counters", Math.log(4), Math.log(31), 0.5);

        /** The member of a cell, as evidence calls it. */
        final String member;

        /** The smallest effect of a row, column or block that matters, as a logarithm. */
        final double least;

        /** The smallest effect of a path. */
        final double path;

        /** The least noise that is assumed. */
        final double noise;

        Metric(String member, double least, double path, double noise) {
            this.member = member;
            this.least = least;
            this.path = path;
            this.noise = noise;
        }
    }

    /** What a candidate is. */
    enum Shape {
        ROW,
        COLUMN,
        BLOCK
    }

    /**
     * A row, column or block that is bad.
     *
     * @param shape what it is
     * @param a the node, by its number on this rail, or the leaf of the senders
     * @param b the leaf of the receivers, or 0
     */
    record Line(Shape shape, int a, int b) {}

    /**
     * A path that is bad.
     *
     * @param from the sender, by its number on this rail
     * @param to the receiver
     * @param metric what shows it; null if it failed
     */
    record BadPath(int from, int to, @Nullable Metric metric) {}

    /**
     * What a candidate has for it.
     *
     * @param gain the logarithm of the likelihood ratio
     * @param metric the metric that it is of; null if it is the failures
     * @param effect the median residual
     */
    private record Score(double gain, @Nullable Metric metric, double effect) {}

    private record Candidate(Line line, double gain) {}

    /** How many false causes a clean matrix has on average, if its noise is as the model assumes. */
    static final double FALSE_ALARMS = 1e-6;

    static final double SPREADS = 4.5;
    static final double CELL = 10;
    static final double CELL_AGAINST = 30;
    static final double PART = 0.3;
    static final int PART_CELLS = 4;

    /** So many cells tell what is usual, and how it scatters. */
    private static final int ENOUGH_CELLS = 200_000;

    /** So many cells tell the median of a row or column, where not each counts. */
    private static final int ENOUGH_OF_LINE = 250;

    /** The tail of the noise is followed to where one good cell in so many rails lies. */
    private static final double RAILS = 1e5;

    /** Fewer cells don't tell the noise well. */
    private static final int FEW = 30;

    private static final int ROUNDS = 4;
    private static final Metric[] METRICS = Metric.values();

    /** A fabric in which so much is bad that the good level is not the median is looked through only up to this size. */
    private static final int SMALL = 200;

    private final PairMatrix.Rail rail;
    private final int size;
    private final int[] nodes;
    private final int[] leaf;
    private final int leaves;
    private final int[][] leafMembers;
    private final int[] leafNumbers;

    /** The cell's line, by sender and receiver; -1 if there is none that tells something. */
    private final int[] index;

    /** Logarithms, as they were measured. */
    private final float[][] raw = new float[METRICS.length][];

    /** The same, less what is usual. */
    private final float[][] residual = new float[METRICS.length][];

    private final short[] covers;
    private final int[] failedOfRow;
    private final int[] failedOfColumn;
    private final int[] failedOfBlock;
    private final boolean[] has = new boolean[METRICS.length];
    private final double[] noise = new double[METRICS.length];
    private final double[][] usual = new double[METRICS.length][2];
    private final double[][] spread = new double[METRICS.length][Shape.values().length];
    private final boolean byShare;
    private final int cells;
    private int failures;
    private int aboveLineRate;

    private final Map<Line, Score> found = new LinkedHashMap<>();
    private final Set<Line> parts = new HashSet<>();
    private final List<BadPath> paths = new ArrayList<>();
    private final List<int[]> unexplained = new ArrayList<>();
    private final double[] buffer;

    /** Every so many cells are enough to learn what is usual. */
    private final int step;

    /** Medians of rows and columns as they were estimated, by metric and port. */
    private final double[][] rowMedians = new double[METRICS.length][];

    private final double[][] columnMedians = new double[METRICS.length][];

    /** The same of blocks. */
    private final double[][] blockMedians = new double[METRICS.length][];

    RailAnalysis(PairMatrix.Rail rail, int nodeCount) {
        this.rail = rail;
        int[] numbers = new int[nodeCount];
        int ports = 0;
        int[] global = new int[nodeCount];
        for (int node = 0; node < nodeCount; node++) {
            numbers[node] = -1;
            if (rail.has(node)) {
                global[ports] = node;
                numbers[node] = ports++;
            }
        }
        size = ports;
        nodes = Arrays.copyOf(global, ports);
        leaf = new int[ports];
        Map<Integer, Integer> known = new TreeMap<>();
        for (int port = 0; port < ports; port++) {
            int itsLeaf = rail.leaf[nodes[port]];
            leaf[port] = itsLeaf < 0 ? -1 : known.computeIfAbsent(itsLeaf, l -> known.size());
        }
        leaves = known.size();
        leafNumbers = new int[leaves];
        known.forEach((name, number) -> leafNumbers[number] = name);
        leafMembers = new int[leaves][];
        for (int l = 0; l < leaves; l++) {
            int[] members = new int[ports];
            int count = 0;
            for (int port = 0; port < ports; port++) {
                if (leaf[port] == l) {
                    members[count++] = port;
                }
            }
            leafMembers[l] = Arrays.copyOf(members, count);
        }
        index = new int[size * size];
        Arrays.fill(index, -1);
        boolean shares = true;
        for (int at = 0; at < rail.count; at++) {
            int cell = numbers[rail.from[at]] * size + numbers[rail.to[at]];
            index[cell] = rail.state[at] == PairMatrix.NOT_MEASURED ? -1 : at;
        }
        int count = 0;
        for (int at : index) {
            if (at >= 0) {
                count++;
                shares &= rail.state[at] == PairMatrix.FAILED
                        || !Float.isNaN(rail.lineRate[at])
                        || Float.isNaN(rail.values[0][at]);
            }
        }
        cells = count;
        byShare = shares;
        covers = new short[size * size];
        failedOfRow = new int[size];
        failedOfColumn = new int[size];
        failedOfBlock = new int[leaves * leaves];
        buffer = new double[Math.max(size * size, 1)];
        step = step();
        load();
    }

    /** All columns and rows are to have their turn. */
    private int step() {
        int every = Math.max(1, index.length / ENOUGH_CELLS);
        while (every > 1 && ArithmeticUtils.gcd(every, size) != 1) {
            every++;
        }
        return every;
    }

    // ---- what the cells are ----

    private void load() {
        for (int m = 0; m < METRICS.length; m++) {
            raw[m] = new float[size * size];
            residual[m] = new float[size * size];
            Arrays.fill(raw[m], Float.NaN);
        }
        for (int cell = 0; cell < index.length; cell++) {
            int at = index[cell];
            if (at < 0) {
                continue;
            }
            if (rail.state[at] == PairMatrix.FAILED) {
                failures++;
                failedOfRow[cell / size]++;
                failedOfColumn[cell % size]++;
                if (leaf[cell / size] >= 0 && leaf[cell % size] >= 0) {
                    failedOfBlock[leaf[cell / size] * leaves + leaf[cell % size]]++;
                }
                continue;
            }
            double bandwidth = rail.values[0][at];
            double lineRate = rail.lineRate[at];
            if (bandwidth > lineRate) {
                aboveLineRate++;
            }
            raw[0][cell] = logarithm(byShare ? bandwidth / lineRate : bandwidth / 1e9);
            raw[1][cell] = logarithm(rail.values[1][at]);
            raw[2][cell] = -timeLogarithm(rail.values[2][at]);
            raw[3][cell] = -timeLogarithm(rail.values[3][at]);
            raw[4][cell] = (float) -Math.log1p(rail.values[4][at]);
            for (int m = 0; m < METRICS.length; m++) {
                has[m] |= !Float.isNaN(raw[m][cell]);
            }
        }
        forgiveSlowPorts();
    }

    /** Nothing that was expected to flow did: as bad as can be, and still a number. */
    private static float logarithm(double value) {
        return value == 0 ? -30 : (float) Math.log(value);
    }

    private static float timeLogarithm(double seconds) {
        return seconds == 0 ? Float.NaN : (float) Math.log(seconds);
    }

    /**
     * A port of a lower line rate may have a lower message rate by design, at most in proportion to the line rate, and latencies
     * that are higher by half. What the good cells of its class differ by from those of the fastest class is taken off.
     */
    private void forgiveSlowPorts() {
        Map<Float, Integer> rates = new TreeMap<>();
        for (int at : index) {
            if (at >= 0 && !Float.isNaN(rail.lineRate[at])) {
                rates.merge(rail.lineRate[at], 1, Integer::sum);
            }
        }
        if (rates.size() < 2 || rates.size() > 8) {
            return;
        }
        int all = rates.values().stream().mapToInt(Integer::intValue).sum();
        float fast = rates.keySet().stream()
                .filter(rate -> rates.get(rate) >= Math.max(4, all / 50))
                .max(Comparator.naturalOrder())
                .orElse(0f);
        for (Metric metric : List.of(Metric.MESSAGE_RATE, Metric.LATENCY_P50, Metric.LATENCY_P99)) {
            float[] values = raw[metric.ordinal()];
            double goodOfFast = goodOfRate(values, fast);
            for (float rate : rates.keySet()) {
                double difference = goodOfRate(values, rate) - goodOfFast;
                double most = metric == Metric.MESSAGE_RATE ? rate / fast : Math.max(rate / fast, 1 / 1.5);
                double forgiven = Math.max(difference, Math.log(most));
                if (rate < fast && forgiven < 0) {
                    for (int cell = 0; cell < index.length; cell++) {
                        if (index[cell] >= 0 && rail.lineRate[index[cell]] == rate) {
                            values[cell] -= (float) forgiven;
                        }
                    }
                }
            }
        }
    }

    private double goodOfRate(float[] values, float rate) {
        int count = 0;
        for (int cell = 0; cell < index.length; cell++) {
            if (index[cell] >= 0 && rail.lineRate[index[cell]] == rate && !Float.isNaN(values[cell])) {
                buffer[count++] = values[cell];
            }
        }
        return Quantiles.of(buffer, count, 0.75);
    }

    private boolean isFailed(int cell) {
        return index[cell] >= 0 && rail.state[index[cell]] == PairMatrix.FAILED;
    }

    private boolean isKnown(int cell) {
        return index[cell] >= 0;
    }

    private boolean withinLeaf(int cell) {
        int from = leaf[cell / size];
        return from >= 0 && from == leaf[cell % size];
    }

    // ---- what is usual ----

    private void estimate() {
        for (int m = 0; m < METRICS.length; m++) {
            estimateUsual(m);
            float[] values = raw[m];
            float[] less = residual[m];
            for (int cell = 0; cell < values.length; cell++) {
                less[cell] = (float) (values[cell] - usual[m][withinLeaf(cell) ? 1 : 0]);
            }
            noise[m] = Math.max(estimateNoise(m), METRICS[m].noise);
        }
        for (int m = 0; m < METRICS.length; m++) {
            for (Shape shape : Shape.values()) {
                spread[m][shape.ordinal()] = estimateSpread(m, shape);
            }
        }
    }

    private void estimateUsual(int m) {
        double[] medians = new double[2];
        double[] highs = new double[2];
        int[] counts = new int[2];
        for (int within = 0; within < 2; within++) {
            int count = 0;
            for (int cell = 0; cell < index.length; cell += step) {
                if (covers[cell] == 0 && !Float.isNaN(raw[m][cell]) && withinLeaf(cell) == (within == 1)) {
                    buffer[count++] = raw[m][cell];
                }
            }
            counts[within] = count;
            if (count > 0) {
                medians[within] = level(count, 0.5);
                highs[within] = size > SMALL || METRICS[m] == Metric.COUNTERS ? medians[within] : level(count, 0.85);
            }
        }
        for (int within = 0; within < 2; within++) {
            // Few cells don't say what is usual, unless these are all.
            if (counts[within] < 6 && counts[1 - within] > counts[within]) {
                medians[within] = within == 1 ? medians[0] : Math.min(medians[0], medians[1]);
                highs[within] = within == 1 ? highs[0] : Math.min(highs[0], highs[1]);
            }
        }
        boolean high = highs[0] - medians[0] > 0.12 || highs[1] - medians[1] > 0.12;
        usual[m] = high && (size == 2 || linesExplain(m, medians, highs)) ? highs : medians;
    }

    /** Returns the median of the values near a quantile of the buffer's first ones. */
    private double level(int count, double share) {
        double center = Quantiles.of(buffer, count, share);
        double[] near = new double[count];
        int nearCount = 0;
        for (int i = 0; i < count; i++) {
            if (Math.abs(buffer[i] - center) <= 0.3) {
                near[nearCount++] = buffer[i];
            }
        }
        return nearCount == 0 ? center : Quantiles.median(near, nearCount);
    }

    /**
     * Tells whether most cells are bad and whole rows, columns and blocks explain them. Else the better level is one that some
     * pairs have by design.
     */
    private boolean linesExplain(int m, double[] medians, double[] highs) {
        boolean[] open = new boolean[index.length];
        boolean[] bad = new boolean[index.length];
        int left = 0;
        int badLeft = 0;
        for (int cell = 0; cell < index.length; cell++) {
            if (isKnown(cell) && covers[cell] == 0) {
                int within = withinLeaf(cell) ? 1 : 0;
                double least = Math.min(0.3, Math.max(0.06, (highs[within] - medians[within]) / 2));
                open[cell] = isFailed(cell) || !Float.isNaN(raw[m][cell]);
                bad[cell] = open[cell] && (isFailed(cell) || raw[m][cell] < highs[within] - least);
                left += open[cell] ? 1 : 0;
                badLeft += bad[cell] ? 1 : 0;
            }
        }
        int all = left;
        List<Line> lines = lines();
        while (true) {
            Line best = null;
            int most = 1;
            int mostOpen = 0;
            for (Line line : lines) {
                int lineBad = 0;
                int lineOpen = 0;
                for (int a : senders(line)) {
                    for (int b : receivers(line)) {
                        int cell = a * size + b;
                        lineOpen += open[cell] ? 1 : 0;
                        lineBad += bad[cell] && open[cell] ? 1 : 0;
                    }
                }
                if (lineBad > most && lineBad >= 0.9 * lineOpen) {
                    best = line;
                    most = lineBad;
                    mostOpen = lineOpen;
                }
            }
            if (best == null) {
                return badLeft <= 0.1 * left && left >= Math.max(2, all / 10);
            }
            for (int a : senders(best)) {
                for (int b : receivers(best)) {
                    open[a * size + b] = false;
                }
            }
            left -= mostOpen;
            badLeft -= most;
        }
    }

    /** Returns the noise that is left when the medians of rows and columns are taken off. */
    private double estimateNoise(int m) {
        float[] values = residual[m];
        double[] rows = medians(m, Shape.ROW, null);
        double[] columns = medians(m, Shape.COLUMN, rows);
        int count = 0;
        for (int cell = 0; cell < index.length; cell += step) {
            if (usable(values, cell)) {
                buffer[count++] = Math.abs(values[cell] - rows[cell / size] - columns[cell % size]);
            }
        }
        double measured = (double) count * step;
        if (count == 0) {
            return 0;
        }
        double freedom = Math.max(measured - 2.0 * size + 1, 1);
        double sigma = Quantiles.MAD_TO_SIGMA * Quantiles.median(buffer, count) * Math.sqrt(measured / freedom);
        if (measured >= FEW) {
            return sigma;
        }
        // Few cells hardly say how much they scatter, and one of them moves the medians of its row and column.
        count = 0;
        for (int cell = 0; cell < index.length; cell++) {
            if (usable(values, cell)) {
                buffer[count++] = Math.abs(values[cell]);
            }
        }
        return Math.max(0.04, Math.min(sigma, Quantiles.MAD_TO_SIGMA * Quantiles.median(buffer, count)));
    }

    private boolean usable(float[] values, int cell) {
        return covers[cell] == 0 && !Float.isNaN(values[cell]);
    }

    /**
     * Returns the medians of rows or columns, by port; NaN of those without a cell that counts.
     *
     * @param less what is taken off each cell, by its row; null for nothing
     */
    private double[] medians(int m, Shape shape, double @Nullable [] less) {
        double[] medians = new double[size];
        int every = Math.max(1, size / ENOUGH_OF_LINE);
        for (int port = 0; port < size; port++) {
            int count = 0;
            for (int other = port % every; other < size; other += every) {
                int cell = shape == Shape.ROW ? port * size + other : other * size + port;
                if (usable(residual[m], cell)) {
                    buffer[count++] = residual[m][cell] - (less == null ? 0 : less[other]);
                }
            }
            medians[port] = Quantiles.median(buffer, count);
        }
        return medians;
    }

    /** Returns by how much lines of a shape differ, beyond what the noise of their cells explains. */
    private double estimateSpread(int m, Shape shape) {
        double[] medians;
        double of;
        if (shape == Shape.BLOCK) {
            medians = new double[leaves * leaves];
            blockMedians[m] = new double[leaves * leaves];
            int lines = 0;
            double inverse = 0;
            for (Line line : lines(shape)) {
                int count = 0;
                for (int a : senders(line)) {
                    for (int b : receivers(line)) {
                        if (usable(residual[m], a * size + b)) {
                            buffer[count++] = residual[m][a * size + b];
                        }
                    }
                }
                double median = Quantiles.median(buffer, count);
                blockMedians[m][line.a() * leaves + line.b()] = median;
                if (count > 0) {
                    medians[lines++] = median;
                    inverse += 1.0 / count;
                }
            }
            medians = Arrays.copyOf(medians, lines);
            of = lines / inverse;
        } else {
            medians = medians(m, shape, null);
            (shape == Shape.ROW ? rowMedians : columnMedians)[m] = medians;
            medians = Arrays.stream(medians).filter(each -> !Double.isNaN(each)).toArray();
            of = Math.min(size, ENOUGH_OF_LINE) * (double) cells / Math.max(1, size * (size - 1.0));
        }
        if (medians.length < 6) {
            return 0;
        }
        double all = Quantiles.spread(medians, medians.length);
        double byNoise = Math.PI / 2 * noise[m] * noise[m] / of;
        return Math.sqrt(Math.max(0, all * all - byNoise)) * (1 + 4.0 / medians.length);
    }

    // ---- candidates ----

    private List<Line> lines() {
        List<Line> all = new ArrayList<>();
        for (Shape shape : Shape.values()) {
            all.addAll(lines(shape));
        }
        return all;
    }

    private List<Line> lines(Shape shape) {
        List<Line> all = new ArrayList<>();
        if (shape == Shape.BLOCK) {
            // Where all nodes have the same leaf, a block is everything and differs from nothing.
            for (int a = 0; leaves > 1 && a < leaves; a++) {
                for (int b = 0; b < leaves; b++) {
                    all.add(new Line(shape, a, b));
                }
            }
        } else {
            for (int port = 0; size > 2 && port < size; port++) {
                all.add(new Line(shape, port, 0));
            }
        }
        return all;
    }

    private int[] everyone = new int[0];

    private int[] everyone() {
        if (everyone.length != size) {
            everyone = new int[size];
            Arrays.setAll(everyone, i -> i);
        }
        return everyone;
    }

    private int[] senders(Line line) {
        return switch (line.shape()) {
            case ROW -> new int[] {line.a()};
            case COLUMN -> everyone();
            case BLOCK -> leafMembers[line.a()];
        };
    }

    private int[] receivers(Line line) {
        return switch (line.shape()) {
            case ROW -> everyone();
            case COLUMN -> new int[] {line.a()};
            case BLOCK -> leafMembers[line.b()];
        };
    }

    private int[] cellsOf(Line line) {
        int[] senders = senders(line);
        int[] receivers = receivers(line);
        int[] all = new int[senders.length * receivers.length];
        int count = 0;
        for (int a : senders) {
            for (int b : receivers) {
                if (a != b && isKnown(a * size + b)) {
                    all[count++] = a * size + b;
                }
            }
        }
        return Arrays.copyOf(all, count);
    }

    /** Returns how significant a candidate must be, as a logarithm of a likelihood ratio. */
    private double bound() {
        return Math.log((2.0 * size + (leaves > 1 ? leaves * leaves : 0)) * METRICS.length / FALSE_ALARMS);
    }

    private static final Score NOTHING = new Score(Double.NEGATIVE_INFINITY, null, 0);

    /**
     * Scores a candidate by the cells that nothing explains yet.
     *
     * @param leniency 1, or less where other evidence speaks for it: how much of the smallest effect is enough
     */
    private Score score(Line line, int[] itsCells, double leniency) {
        int failed = 0;
        int measured = 0;
        for (int cell : itsCells) {
            if (covers[cell] == 0) {
                if (isFailed(cell)) {
                    failed++;
                } else {
                    measured++;
                }
            }
        }
        if (failed + measured < 2) {
            return NOTHING;
        }
        Score best = new Score(failed * CELL - measured * CELL_AGAINST, null, Double.NEGATIVE_INFINITY);
        if (failed == 0) {
            best = NOTHING;
        }
        for (Metric metric : METRICS) {
            Score score = score(metric, line, itsCells, failed, leniency);
            if (score.gain() > best.gain()) {
                best = score;
            }
        }
        return best;
    }

    private Score score(Metric metric, Line line, int[] itsCells, int failed, double leniency) {
        int m = metric.ordinal();
        float[] values = residual[m];
        double[] some = new double[itsCells.length];
        int count = 0;
        for (int cell : itsCells) {
            if (usable(values, cell)) {
                some[count++] = values[cell];
            }
        }
        if (count == 0) {
            return NOTHING;
        }
        // Failed cells are worse than any measured one.
        double effect = Double.NEGATIVE_INFINITY;
        if (failed < count) {
            effect = Quantiles.of(some, count, Math.max(0, (count - failed) / 2.0 - 0.5) / Math.max(1, count - 1));
        }
        double least = leniency
                * Math.max(metric.least, SPREADS * spread[m][line.shape().ordinal()]);
        if (-effect < least) {
            return NOTHING;
        }
        double sigma = noise[m];
        // What is much worse than this is bad without a doubt, however bad the others are.
        double assumed = Math.max(effect, -Math.max(2 * metric.least, 5 * sigma));
        double gain = failed * CELL;
        for (int i = 0; i < count; i++) {
            double ratio = assumed * (some[i] - assumed / 2) / (sigma * sigma);
            gain += Math.max(-CELL_AGAINST, Math.min(CELL, ratio));
        }
        return new Score(gain, metric, effect);
    }

    private void cover(Line line, int by) {
        for (int cell : cellsOf(line)) {
            covers[cell] += (short) by;
        }
    }

    // ---- the search ----

    /** Does all of it. */
    void run() {
        if (isAllFailed()) {
            return;
        }
        Set<Line> before = new HashSet<>();
        for (int round = 0; round < ROUNDS; round++) {
            estimate();
            found.keySet().forEach(line -> cover(line, -1));
            found.clear();
            searchWhole();
            if (found.keySet().equals(before)) {
                break;
            }
            before = Set.copyOf(found.keySet());
        }
        searchParts();
        leavesForTheirNodes();
        dropNeedless();
    }

    /** Tells whether nothing is good, which would tell what is bad. With two nodes, each cell stands for itself. */
    boolean isAllFailed() {
        return size > 2 && failures == cells;
    }

    private void searchWhole() {
        PriorityQueue<Candidate> queue =
                new PriorityQueue<>(Comparator.comparingDouble(Candidate::gain).reversed());
        double bound = bound();
        for (Line line : lines()) {
            if (isUsual(line)) {
                continue;
            }
            Score score = score(line, cellsOf(line), 1);
            if (score.gain() > bound) {
                queue.add(new Candidate(line, score.gain()));
            }
        }
        while (!queue.isEmpty()) {
            Line line = queue.remove().line();
            Score score = score(line, cellsOf(line), 1);
            if (score.gain() <= bound) {
                continue;
            }
            Candidate next = queue.peek();
            if (next != null && next.gain() > score.gain()) {
                queue.add(new Candidate(line, score.gain()));
                continue;
            }
            found.put(line, score);
            cover(line, 1);
        }
    }

    /** Tells whether a row, column or block is so near to what is usual that its cells need not be looked at one by one. */
    private boolean isUsual(Line line) {
        if (size < 2 * ENOUGH_OF_LINE || failedOf(line) > 0) {
            return false;
        }
        for (Metric metric : METRICS) {
            double median = switch (line.shape()) {
                case ROW -> rowMedians[metric.ordinal()][line.a()];
                case COLUMN -> columnMedians[metric.ordinal()][line.a()];
                case BLOCK -> blockMedians[metric.ordinal()][line.a() * leaves + line.b()];
            };
            // All of its cells are explained, or its median is an estimate that may be wrong by some percent.
            if (Double.isNaN(median) ? has[metric.ordinal()] : median < -0.5 * metric.least) {
                return false;
            }
        }
        return true;
    }

    private int failedOf(Line line) {
        return switch (line.shape()) {
            case ROW -> failedOfRow[line.a()];
            case COLUMN -> failedOfColumn[line.a()];
            case BLOCK -> failedOfBlock[line.a() * leaves + line.b()];
        };
    }

    /** Returns by which metric a single cell is bad in a line of others: {@code failed} where there is none. */
    private boolean isBad(int cell) {
        if (isFailed(cell)) {
            return true;
        }
        for (Metric metric : METRICS) {
            int m = metric.ordinal();
            if (residual[m][cell] < -Math.max(1.5 * metric.least, 5 * noise[m])) {
                return true;
            }
        }
        return false;
    }

    private void searchParts() {
        boolean[] bad = new boolean[index.length];
        int all = 0;
        int allBad = 0;
        for (int cell = 0; cell < index.length; cell++) {
            if (isKnown(cell) && covers[cell] == 0) {
                bad[cell] = isBad(cell);
                all++;
                allBad += bad[cell] ? 1 : 0;
            }
        }
        double bound = Math.exp(-bound());
        while (allBad >= PART_CELLS) {
            Line best = null;
            double least = bound;
            int bestBad = 0;
            int bestOf = 0;
            for (Line line : lines()) {
                int of = 0;
                int lineBad = 0;
                for (int a : senders(line)) {
                    for (int b : receivers(line)) {
                        int cell = a * size + b;
                        if (isKnown(cell) && covers[cell] == 0) {
                            of++;
                            lineBad += bad[cell] ? 1 : 0;
                        }
                    }
                }
                if (lineBad < PART_CELLS || lineBad < PART * of) {
                    continue;
                }
                double elsewhere = Math.max(1, allBad - lineBad) / (double) Math.max(2, all - of);
                double probability = elsewhere >= 1
                        ? 1
                        : 1 - new BinomialDistribution(of, elsewhere).cumulativeProbability(lineBad - 1);
                if (probability < least || (probability <= least && lineBad > bestBad)) {
                    best = line;
                    least = probability;
                    bestBad = lineBad;
                    bestOf = of;
                }
            }
            if (best == null) {
                return;
            }
            found.put(best, new Score(bestBad * CELL, partMetric(best, bad), Double.NEGATIVE_INFINITY));
            parts.add(best);
            cover(best, 1);
            all -= bestOf;
            allBad -= bestBad;
        }
    }

    /** Returns what most bad cells of a line show. */
    private @Nullable Metric partMetric(Line line, boolean[] bad) {
        int[] counts = new int[METRICS.length];
        int failed = 0;
        for (int cell : cellsOf(line)) {
            if (bad[cell] && isFailed(cell)) {
                failed++;
            } else if (bad[cell]) {
                for (int m = 0; m < METRICS.length; m++) {
                    counts[m] += residual[m][cell] < -Math.max(1.5 * METRICS[m].least, 5 * noise[m]) ? 1 : 0;
                }
            }
        }
        Metric most = METRICS[0];
        for (Metric metric : METRICS) {
            if (counts[metric.ordinal()] > counts[most.ordinal()]) {
                most = metric;
            }
        }
        return failed > counts[most.ordinal()] ? null : most;
    }

    /** Where all of six or more nodes of a leaf seem to be bad, their leaf is. */
    private void leavesForTheirNodes() {
        for (int l = 0; l < leaves; l++) {
            int its = l;
            if (leafMembers[l].length < 6 || leafMembers[l].length > size / 2) {
                continue;
            }
            for (Shape shape : List.of(Shape.ROW, Shape.COLUMN)) {
                List<Line> members = Arrays.stream(leafMembers[l])
                        .mapToObj(port -> new Line(shape, port, 0))
                        .toList();
                if (!found.keySet().containsAll(members)) {
                    continue;
                }
                members.forEach(line -> {
                    found.remove(line);
                    cover(line, -1);
                });
                for (int other = 0; other < leaves; other++) {
                    Line block =
                            shape == Shape.ROW ? new Line(Shape.BLOCK, its, other) : new Line(Shape.BLOCK, other, its);
                    Score score = score(block, cellsOf(block), 1);
                    if (score.gain() > bound()) {
                        found.put(block, score);
                        cover(block, 1);
                    }
                }
            }
        }
    }

    private void dropNeedless() {
        List<Line> weakestFirst = new ArrayList<>(found.keySet());
        weakestFirst.sort(Comparator.comparingDouble(
                line -> found.getOrDefault(line, NOTHING).gain()));
        for (Line line : weakestFirst) {
            if (parts.contains(line)) {
                continue;
            }
            cover(line, -1);
            if (score(line, cellsOf(line), 0.9).gain() > bound() * 0.9) {
                cover(line, 1);
            } else {
                found.remove(line);
            }
        }
    }

    /**
     * Tells whether a row or column, which was not significant by itself, has the effect that it must have if the node is bad
     * on its other rails.
     */
    boolean isProbable(Line line) {
        return found.containsKey(line) || score(line, cellsOf(line), 0.75).gain() > 5;
    }

    /** Adds a cause for reasons outside of this rail. */
    void add(Line line) {
        if (!found.containsKey(line)) {
            found.put(line, score(line, cellsOf(line), 0.75));
            cover(line, 1);
        }
    }

    // ---- single cells ----

    /** Two kinds of values that are both off, as a share of what each alone would have to be, make a path together. */
    private static final double TOGETHER = 0.8;

    /** How much worse than expected cells are, in one metric, or in two at once as a share of the least that matters. */
    private final class Sign {

        private final Metric metric;
        private final @Nullable Metric with;
        private final float[] off;
        private final float[] offWith;

        /** What a good cell may be off by. */
        private double limit;

        Sign(Metric metric, float[] off) {
            this.metric = metric;
            this.with = null;
            this.off = off;
            this.offWith = off;
            limit = metric.path;
        }

        Sign(Sign one, Sign other) {
            metric = one.metric;
            with = other.metric;
            off = one.off;
            offWith = other.off;
            limit = TOGETHER;
        }

        double worse(int cell) {
            return with == null ? off[cell] : Math.min(off[cell] / metric.path, offWith[cell] / with.path);
        }

        double better(int cell) {
            return with == null ? -off[cell] : -Math.max(off[cell] / metric.path, offWith[cell] / with.path);
        }

        /** Returns the standard deviation that it has if noise is normal, and of each metric by itself. */
        double sigma() {
            double one = noise[metric.ordinal()];
            return with == null ? one : Math.max(one / metric.path, noise[with.ordinal()] / with.path) / Math.sqrt(2);
        }

        boolean shows(int cell) {
            return worse(cell) > limit;
        }

        double times(int cell) {
            return worse(cell) / limit;
        }

        /** Returns what shows most. */
        Metric shown(int cell) {
            return with == null || off[cell] / metric.path >= offWith[cell] / with.path ? metric : with;
        }

        boolean showsAny() {
            for (int cell = 0; cell < index.length; cell++) {
                if (shows(cell)) {
                    return true;
                }
            }
            return false;
        }
    }

    /** Finds paths, and what stays unexplained. Comes last. */
    void searchPaths() {
        double far = -new NormalDistribution().inverseCumulativeProbability(FALSE_ALARMS / Math.max(cells, 1));
        List<Sign> signs = signs(far);
        boolean[] suspect = new boolean[index.length];
        for (Sign sign : signs) {
            for (int cell = 0; cell < suspect.length; cell++) {
                suspect[cell] |= sign.shows(cell);
            }
        }
        signs.forEach(sign -> sign.limit = beyondLoneOutliers(sign, far, suspect));
        int[] ofRow = new int[size];
        int[] ofColumn = new int[size];
        for (int cell = 0; cell < index.length; cell++) {
            if (isKnown(cell)) {
                ofRow[cell / size]++;
                ofColumn[cell % size]++;
            }
        }
        for (int cell = 0; cell < index.length; cell++) {
            if (!isKnown(cell)) {
                continue;
            }
            int a = cell / size;
            int b = cell % size;
            boolean separable = size == 2 || (!isAllFailed() && ofRow[a] > 1 && ofColumn[b] > 1);
            if (isFailed(cell)) {
                if (separable && (covers[cell] == 0 || !failureIsCovered(a, b))) {
                    paths.add(new BadPath(a, b, null));
                } else if (covers[cell] == 0) {
                    unexplained.add(new int[] {a, b});
                }
                continue;
            }
            Sign best = null;
            for (Sign sign : signs) {
                if (sign.shows(cell) && (best == null || sign.times(cell) > best.times(cell))) {
                    best = sign;
                }
            }
            if (best != null && separable) {
                paths.add(new BadPath(a, b, best.shown(cell)));
            } else if (best != null || (suspect[cell] && covers[cell] == 0)) {
                unexplained.add(new int[] {a, b});
            }
        }
    }

    /** Returns by what cells show that they are bad, with limits that have no regard to lone outliers. */
    private List<Sign> signs(double far) {
        double[][] rowEffects = effects(Shape.ROW);
        double[][] columnEffects = effects(Shape.COLUMN);
        List<Sign> all = new ArrayList<>();
        for (Metric metric : METRICS) {
            int m = metric.ordinal();
            float[] off = new float[index.length];
            for (int cell = 0; cell < off.length; cell++) {
                off[cell] = (float) -excess(m, cell, rowEffects[m], columnEffects[m]);
            }
            all.add(new Sign(metric, off));
        }
        for (Metric metric : METRICS) {
            for (int with = metric.ordinal() + 1; with < METRICS.length; with++) {
                all.add(new Sign(all.get(metric.ordinal()), all.get(with)));
            }
        }
        List<Sign> some = all.stream().filter(Sign::showsAny).toList();
        some.forEach(sign ->
                sign.limit = Math.max(Math.max(sign.limit, far * sign.sigma()), tailOfBetterCells(sign, far)));
        return some;
    }

    /**
     * Returns from where on a cell is beyond the tail that lone outliers have which are too weak for a path.
     *
     * @param suspect cells that are no such outliers, as something else shows
     */
    private double beyondLoneOutliers(Sign sign, double far, boolean[] suspect) {
        double least = sign.with == null ? sign.metric.path : TOGETHER;
        double begin = Math.max(least * 0.3, 4 * sign.sigma());
        // An outlier that is not strong enough itself may have bad luck besides.
        double limit = Math.max(sign.limit, least + sign.sigma());
        if (begin >= limit) {
            return limit;
        }
        double[] outliers = new double[16];
        int count = 0;
        int weak = 0;
        double weakSum = 0;
        for (int cell = 0; cell < index.length; cell++) {
            double off = sign.worse(cell);
            if (covers[cell] > 0 || !(off > begin)) {
                continue;
            }
            if (count == outliers.length) {
                outliers = Arrays.copyOf(outliers, 2 * count);
            }
            outliers[count++] = off;
            if (!suspect[cell]) {
                weak++;
                weakSum += off - begin;
            }
        }
        if (weak == 0) {
            return limit;
        }
        // Two more make an estimate of one or two outliers.
        double exponential = begin + (weakSum + 2 * 0.24 * least) / (weak + 2) * Math.log(100.0 * weak);
        if (count <= 50) {
            return Math.max(limit, exponential);
        }
        double[] sorted = Arrays.copyOf(outliers, count);
        Arrays.sort(sorted);
        int kept = count - 10;
        double quarter = sorted[kept * 3 / 4];
        double sum = 0;
        for (int i = kept * 3 / 4; i < kept; i++) {
            sum += sorted[i] - quarter;
        }
        double gap = sorted[kept - 1] + sum / (kept - kept * 3 / 4) * Math.log(100);
        return Math.max(limit, Math.min(exponential, gap));
    }

    /** Tells whether a cause that the cell belongs to makes cells fail. */
    private boolean failureIsCovered(int a, int b) {
        for (Line line : covering(a, b)) {
            for (int cell : cellsOf(line)) {
                if (cell != a * size + b && isFailed(cell)) {
                    return true;
                }
            }
        }
        return false;
    }

    private List<Line> covering(int a, int b) {
        List<Line> all = new ArrayList<>();
        for (Line line : List.of(
                new Line(Shape.ROW, a, 0),
                new Line(Shape.COLUMN, b, 0),
                new Line(Shape.BLOCK, Math.max(0, leaf[a]), Math.max(0, leaf[b])))) {
            if (found.containsKey(line) && (line.shape() != Shape.BLOCK || (leaf[a] >= 0 && leaf[b] >= 0))) {
                all.add(line);
            }
        }
        return all;
    }

    /** Returns the medians of rows or columns, of the cells that nothing explains, at most 0. */
    private double[][] effects(Shape shape) {
        double[][] effects = new double[METRICS.length][];
        for (int m = 0; m < METRICS.length; m++) {
            effects[m] = medians(m, shape, null);
            for (int port = 0; port < size; port++) {
                // With few cells the cell in question decides the median.
                boolean few = size < 6 || countOf(shape, port, m) < 5;
                effects[m][port] = few || Double.isNaN(effects[m][port]) ? 0 : Math.min(0, effects[m][port]);
            }
        }
        return effects;
    }

    /** Returns how many cells of a row or column nothing explains, at most 5. */
    private int countOf(Shape shape, int port, int m) {
        int count = 0;
        for (int other = 0; other < size && count < 5; other++) {
            int cell = shape == Shape.ROW ? port * size + other : other * size + port;
            count += usable(residual[m], cell) ? 1 : 0;
        }
        return count;
    }

    /** Returns how much better than expected a cell is; of causes that explain it, all effects together are expected. */
    private double excess(int m, int cell, double[] rowEffects, double[] columnEffects) {
        int a = cell / size;
        int b = cell % size;
        double off = residual[m][cell] - rowEffects[a] - columnEffects[b];
        if (covers[cell] == 0 || Double.isNaN(off)) {
            return off;
        }
        double expected = 0;
        for (Line line : covering(a, b)) {
            expected += Math.min(0, typical(m, line));
        }
        // The worst cells of a cause are worse than its median.
        return off - expected + Math.log(2);
    }

    private final Map<Line, double[]> typicals = new HashMap<>();

    private double typical(int m, Line line) {
        return typicals.computeIfAbsent(line, l -> {
            double[] lows = new double[METRICS.length];
            int[] its = cellsOf(l);
            double[] some = new double[its.length];
            for (int metric = 0; metric < METRICS.length; metric++) {
                int count = 0;
                for (int cell : its) {
                    if (!Float.isNaN(residual[metric][cell])) {
                        some[count++] = residual[metric][cell];
                    }
                }
                // A tenth of a cause's cells are worse than this. Where a part of it is bad, it is of that part.
                double low = Quantiles.of(some, count, 0.1);
                lows[metric] = Double.isNaN(low) ? 0 : low;
            }
            return lows;
        })[m];
    }

    /**
     * Returns how far off a good cell may be. Causes make cells worse only: the tail on the better side is the noise's alone. If it
     * is longer than a normal distribution's, it is extrapolated, as a power, to where one cell in {@link #RAILS} rails would be.
     *
     * @param far where it would be if it were normal, in standard deviations
     */
    private double tailOfBetterCells(Sign sign, double far) {
        int count = 0;
        for (int cell = 0; cell < index.length; cell++) {
            if (covers[cell] == 0 && sign.better(cell) > 0) {
                buffer[count++] = sign.better(cell);
            }
        }
        if (count < 20) {
            return 0;
        }
        int many = Math.max(5, Math.min(100, count / 10));
        double least = Quantiles.of(buffer, count, (count - many) / (count - 1.0));
        double[] better = Arrays.stream(buffer, 0, count)
                .filter(each -> each >= least)
                .sorted()
                .toArray();
        NormalDistribution normal = new NormalDistribution();
        double base = least / normal.inverseCumulativeProbability(1 - many / (2.0 * count));
        double tail = 0;
        for (int top = 1; top <= 2; top++) {
            double most = better[better.length - top];
            double expected = normal.inverseCumulativeProbability(1 - top / (2.0 * count));
            double longer = base > 0 ? Math.max(1, most / expected / base) : 1;
            double power = Math.min(2.5, Math.log(RAILS * top) / Math.log((double) many / top));
            tail = Math.max(tail, most * Math.pow(longer, power) * Math.max(1, far / expected));
        }
        return tail;
    }

    // ---- the result ----

    String name() {
        return rail.name;
    }

    int size() {
        return size;
    }

    int cells() {
        return cells;
    }

    int aboveLineRate() {
        return aboveLineRate;
    }

    List<Line> found() {
        return List.copyOf(found.keySet());
    }

    boolean isFound(Line line) {
        return found.containsKey(line);
    }

    List<BadPath> paths() {
        return List.copyOf(paths);
    }

    /** Returns the node of a port, by its number in the matrix. */
    int node(int port) {
        return nodes[port];
    }

    /** Returns the number of a node's port, or -1. */
    int port(int node) {
        return Math.max(-1, Arrays.binarySearch(nodes, node));
    }

    /** Returns the leaf's number in the matrix. */
    int leafNumber(int ownNumber) {
        return leafNumbers[ownNumber];
    }

    /** Returns the references of lines that nothing explains. */
    List<Long> unexplained() {
        List<Long> references = new ArrayList<>();
        for (int[] each : unexplained) {
            references.add(rail.reference[index[each[0] * size + each[1]]]);
        }
        return references;
    }

    /** The cells of a cause, or of the good ones, as they were measured. */
    final class Collected {

        int of;
        int bad;
        int failed;
        private final List<double[]> values = new ArrayList<>();

        /** Returns the values of a metric that were measured. */
        double[] values(int m) {
            return values.stream()
                    .mapToDouble(each -> each[m])
                    .filter(v -> !Double.isNaN(v))
                    .toArray();
        }

        Map<String, Integer> causes = new TreeMap<>();
    }

    /** Returns what shows a cause most; null if its cells failed. */
    @Nullable
    Metric metric(Line line) {
        return found.getOrDefault(line, NOTHING).metric();
    }

    private Collected collected(int[] some, @Nullable Metric metric, double effect) {
        Collected all = new Collected();
        for (int cell : some) {
            all.of++;
            if (isFailed(cell)) {
                all.failed++;
                all.bad++;
                all.causes.merge(rail.causes.getOrDefault(index[cell], "no cause given"), 1, Integer::sum);
                continue;
            }
            double[] values = new double[METRICS.length];
            for (int m = 0; m < METRICS.length; m++) {
                values[m] = rail.values[m][index[cell]];
            }
            all.values.add(values);
            if (metric != null && residual[metric.ordinal()][cell] < effect / 2) {
                all.bad++;
            }
        }
        return all;
    }

    /** Returns the cells of a cause. */
    Collected collect(Line line) {
        Score score = found.getOrDefault(line, NOTHING);
        double effect = score.effect();
        Metric metric = score.metric();
        if (Double.isInfinite(effect) && metric != null) {
            effect = -2 * metric.least;
        }
        return collected(cellsOf(line), metric, effect);
    }

    /** Returns the cells of the other direction of a row or column, less those that other causes explain. */
    Collected collectOther(Line line) {
        Line other = new Line(line.shape() == Shape.ROW ? Shape.COLUMN : Shape.ROW, line.a(), 0);
        Metric metric = metric(line);
        int[] open =
                Arrays.stream(cellsOf(other)).filter(cell -> covers[cell] == 0).toArray();
        return collected(open, metric, metric == null ? 0 : -3 * metric.least);
    }

    /** Returns the cell of a path. */
    Collected collect(BadPath path) {
        return collected(new int[] {path.from() * size + path.to()}, path.metric(), 0);
    }

    /** Returns the median of a metric over cells that nothing explains. */
    double medianOfOthers(int m) {
        int count = 0;
        for (int cell = 0; cell < index.length; cell++) {
            if (isKnown(cell) && covers[cell] == 0 && !isFailed(cell) && !Float.isNaN(rail.values[m][index[cell]])) {
                buffer[count++] = rail.values[m][index[cell]];
            }
        }
        return Quantiles.median(buffer, count);
    }
}
