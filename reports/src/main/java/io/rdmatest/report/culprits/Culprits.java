package io.rdmatest.report.culprits;

import io.rdmatest.report.culprits.Candidate.Shape;
import io.rdmatest.report.culprits.Culprit.Confirmation;
import io.rdmatest.report.culprits.Culprit.Direction;
import io.rdmatest.report.culprits.Culprit.Evidence;
import io.rdmatest.report.culprits.PairMatrix.Rail;
import io.rdmatest.report.culprits.PathSearch.BadPath;
import io.rdmatest.report.culprits.RailAnalysis.Collected;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Explains a matrix of measured pairs by the fewest causes: nodes, ports, blocks of pairs between leaves, and single paths.
 *
 * <p>A cause is named only if there is enough evidence. It must be significant against chance, with all candidates counted, and
 * large enough to matter: 10 % of bandwidth or message rate, 15 % of the median latency, 30 % of its 99th percentile for ports
 * and blocks; 42 % of bandwidth or message rate, twice the median latency, or a failure for a single path. Cells that were not
 * measured are no evidence.
 *
 * @param causes the causes that were found: nodes first, then ports, blocks and paths
 * @param unexplained bad cells that no cause explains
 * @param notes what limits the result, as sentences
 * @param cells how many cells were measured or failed
 */
public record Culprits(List<Culprit> causes, List<PairLine> unexplained, List<String> notes, int cells) {

    /** The value of the member {@code schema}. */
    public static final String SCHEMA = "culprits/1";

    /** Copies the lists. */
    public Culprits {
        causes = List.copyOf(causes);
        unexplained = List.copyOf(unexplained);
        notes = List.copyOf(notes);
    }

    /**
     * Explains cells.
     *
     * @param cells in the order in which they were measured; if several have the same rail, sender and receiver, the last one
     *     counts. Confirmations are no cells: they show which causes are confirmed
     */
    public static Culprits of(List<PairLine> cells) {
        PairMatrix matrix = new PairMatrix(reference -> cells.get((int) reference));
        for (int i = 0; i < cells.size(); i++) {
            int ignored = matrix.add(cells.get(i), i);
        }
        try {
            return of(matrix);
        } catch (IOException e) {
            throw new IllegalStateException("No file is read", e);
        }
    }

    /**
     * Explains the cells of a matrix.
     *
     * @throws IOException if the line of an unexplained cell can't be read again
     */
    public static Culprits of(PairMatrix matrix) throws IOException {
        return new Explanation(matrix).explain();
    }

    /** Returns the members of the result in JSON, in their order. */
    public Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("schema", SCHEMA);
        json.put("cells", cells);
        json.put("causes", causes.stream().map(Culprit::json).toList());
        json.put(
                "unexplained",
                unexplained.stream()
                        .map(cell -> PairJson.MAPPER.convertValue(cell, Map.class))
                        .toList());
        json.put("notes", notes);
        return json;
    }

    /** Returns the result as lines of text. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        causes.forEach(cause -> {
            lines.add(cause.name());
            lines.add("  " + cause.evidence().text());
        });
        if (!unexplained.isEmpty()) {
            lines.add("unexplained: " + unexplained.size() + (unexplained.size() == 1 ? " bad cell" : " bad cells"));
            unexplained.stream().limit(10).forEach(cell -> lines.add("  " + Explanation.text(cell)));
            if (unexplained.size() > 10) {
                lines.add("  and " + (unexplained.size() - 10) + " more; --json lists them");
            }
        }
        notes.forEach(note -> lines.add("note: " + note));
        return lines;
    }

    /** Combines the causes of all rails. */
    static final class Explanation {

        private final PairMatrix matrix;
        private final List<PairLine> confirmations;

        /** The lines that other programs measured. */
        private final List<PairLine> others;

        private final List<RailAnalysis> rails;

        Explanation(PairMatrix matrix) {
            this.matrix = matrix;
            this.confirmations = matrix.confirmations().stream()
                    .filter(line -> line.instrument() == null)
                    .toList();
            this.others = matrix.confirmations().stream()
                    .filter(line -> line.instrument() != null)
                    .toList();
            List<Rail> all = new ArrayList<>(matrix.rails());
            all.sort(Comparator.comparing(rail -> rail.name));
            rails = all.stream()
                    .map(rail -> new RailAnalysis(rail, matrix.nodeCount()))
                    .toList();
        }

        Culprits explain() throws IOException {
            rails.parallelStream().forEach(rail -> rail.causes().run());
            complete();
            rails.parallelStream().forEach(rail -> rail.paths().run());
            List<Culprit> causes = new ArrayList<>();
            for (int node = 0; node < matrix.nodeCount(); node++) {
                causesOf(node, causes);
            }
            causes.sort(Comparator.comparing(cause -> cause instanceof Culprit.Node ? 0 : 1));
            rails.forEach(rail -> blocks(rail, causes));
            rails.forEach(rail -> paths(rail, causes));
            List<PairLine> unexplained = new ArrayList<>();
            for (RailAnalysis rail : rails) {
                for (long reference : rail.unexplained()) {
                    unexplained.add(matrix.line(reference));
                }
            }
            List<String> notes = new ArrayList<>(matrix.notes());
            notes.addAll(notes());
            return new Culprits(
                    causes,
                    unexplained,
                    notes,
                    rails.stream().mapToInt(rail -> rail.cells().known).sum());
        }

        private List<RailAnalysis> railsOf(int node) {
            return rails.stream().filter(rail -> rail.cells().port(node) >= 0).toList();
        }

        /**
         * Adds a cause on the remaining rails of a node if it was found on half of the node's rails or more. On the remaining
         * rails, less evidence is then enough.
         */
        private void complete() {
            for (int node = 0; node < matrix.nodeCount(); node++) {
                List<RailAnalysis> its = railsOf(node);
                for (Shape shape : List.of(Shape.ROW, Shape.COLUMN)) {
                    int port = node;
                    List<RailAnalysis> missing =
                            its.stream().filter(rail -> !is(rail, shape, port)).toList();
                    // The cause was found on half of the rails or more.
                    if (missing.size() < its.size()
                            && 2 * missing.size() <= its.size()
                            && missing.stream()
                                    .allMatch(rail -> rail.causes()
                                            .isProbable(new Candidate(
                                                    shape, rail.cells().port(port), 0)))) {
                        missing.forEach(rail -> rail.causes()
                                .add(new Candidate(shape, rail.cells().port(port), 0)));
                    }
                }
            }
        }

        // ---- nodes and ports ----

        private void causesOf(int node, List<Culprit> causes) {
            List<RailAnalysis> its = railsOf(node);
            boolean out = its.size() > 1 && its.stream().allMatch(rail -> is(rail, Shape.ROW, node));
            boolean in = its.size() > 1 && its.stream().allMatch(rail -> is(rail, Shape.COLUMN, node));
            if (out || in) {
                Direction direction = out && in ? Direction.BOTH : out ? Direction.OUT : Direction.IN;
                causes.add(new Culprit.Node(matrix.node(node), direction, evidence(its, node, direction, "")));
            }
            for (RailAnalysis rail : its) {
                boolean railOut = !out && is(rail, Shape.ROW, node);
                boolean railIn = !in && is(rail, Shape.COLUMN, node);
                if (railOut || railIn) {
                    Direction direction = railOut && railIn ? Direction.BOTH : railOut ? Direction.OUT : Direction.IN;
                    causes.add(new Culprit.Port(
                            matrix.node(node),
                            rail.name(),
                            direction,
                            evidence(List.of(rail), node, direction, " on " + rail.name())));
                }
            }
        }

        private static boolean is(RailAnalysis rail, Shape shape, int node) {
            return rail.causes().isFound(new Candidate(shape, rail.cells().port(node), 0));
        }

        private Evidence evidence(List<RailAnalysis> its, int node, Direction direction, String where) {
            List<Collected> sending = new ArrayList<>();
            List<Collected> receiving = new ArrayList<>();
            Map<@Nullable Metric, Integer> metrics = new LinkedHashMap<>();
            for (RailAnalysis rail : its) {
                Candidate row = new Candidate(Shape.ROW, rail.cells().port(node), 0);
                Candidate column = new Candidate(Shape.COLUMN, rail.cells().port(node), 0);
                if (direction != Direction.IN) {
                    sending.add(rail.collect(row));
                    metrics.merge(rail.metric(row), 1, Integer::sum);
                } else {
                    sending.add(rail.collectOther(column));
                }
                if (direction != Direction.OUT) {
                    receiving.add(rail.collect(column));
                    metrics.merge(rail.metric(column), 1, Integer::sum);
                } else {
                    receiving.add(rail.collectOther(row));
                }
            }
            List<Collected> culprit = new ArrayList<>();
            if (direction != Direction.IN) {
                culprit.addAll(sending);
            }
            if (direction != Direction.OUT) {
                culprit.addAll(receiving);
            }
            String name = matrix.node(node);
            String out = count(sending) + " pairs from " + name;
            String in = count(receiving) + " pairs to " + name;
            String pairs = direction == Direction.IN
                    ? in + where + " are bad, " + count(sending) + " from it"
                    : direction == Direction.OUT
                            ? out + where + " are bad, " + count(receiving) + " to it"
                            : out + where + " are bad, and " + in;
            Evidence judged = new Retrial(matrix, node, its, direction)
                    .judge(evidence(its, culprit, most(metrics), pairs), confirmations);
            return withOpinion(
                    its,
                    judged,
                    (rail, line) -> (direction != Direction.IN
                                    && line.from().equals(name)
                                    && !isGood(rail, Shape.ROW, node, line))
                            || (direction != Direction.OUT
                                    && line.to().equals(name)
                                    && !isGood(rail, Shape.COLUMN, node, line)),
                    (rail, metric) -> rail.limit(
                            new Candidate(
                                    direction == Direction.IN ? Shape.COLUMN : Shape.ROW,
                                    rail.cells().port(node),
                                    0),
                            metric));
        }

        private boolean isGood(RailAnalysis rail, Shape shape, int node, PairLine line) {
            return rail.isGoodInSpiteOf(
                    new Candidate(shape, rail.cells().port(node), 0), port(rail, line.from()), port(rail, line.to()));
        }

        private static @Nullable Metric most(Map<@Nullable Metric, Integer> metrics) {
            return metrics.entrySet().stream()
                    .max(Map.Entry.comparingByValue())
                    .orElseThrow()
                    .getKey();
        }

        private static String count(List<Collected> some) {
            return some.stream().mapToInt(each -> each.bad).sum() + " of "
                    + some.stream().mapToInt(each -> each.of).sum();
        }

        // ---- blocks and paths ----

        private void blocks(RailAnalysis rail, List<Culprit> causes) {
            for (Candidate line : rail.causes().found()) {
                if (line.shape() == Shape.BLOCK) {
                    String from = matrix.leaf(rail.cells().leafNumber(line.a()));
                    String to = matrix.leaf(rail.cells().leafNumber(line.b()));
                    List<Collected> its = List.of(rail.collect(line));
                    String pairs = count(its) + " pairs from " + from + " to " + to + " on " + rail.name() + " are bad";
                    causes.add(new Culprit.Block(
                            from, to, rail.name(), evidence(List.of(rail), its, rail.metric(line), pairs)));
                }
            }
        }

        private void paths(RailAnalysis rail, List<Culprit> causes) {
            for (BadPath path : rail.paths().paths()) {
                String from = matrix.node(rail.cells().node(path.from()));
                String to = matrix.node(rail.cells().node(path.to()));
                String pairs = rail.cells().size == 2
                        ? "this pair is bad; with two nodes, the path, " + from + "'s sending and " + to
                                + "'s receiving can't be told apart"
                        : rail.paths().isBadBeside(path)
                                ? "this pair is bad, as are others of " + from + " or " + to + " in some way"
                                : "this pair is bad, and others of " + from + " and " + to + " are not for this reason";
                Evidence evidence = evidence(List.of(rail), List.of(rail.collect(path)), path.metric(), pairs);
                causes.add(new Culprit.Path(
                        from,
                        to,
                        rail.name(),
                        withOpinion(
                                List.of(rail),
                                evidence,
                                (same, line) ->
                                        line.from().equals(from) && line.to().equals(to),
                                (same, metric) -> metric == path.metric()
                                        ? Math.log(evidence.median() / evidence.others()) / 2
                                        : Double.NaN)));
            }
        }

        // ---- what other programs say ----

        /**
         * Returns the residual of a metric below which a cell of a rail is nearer to a cause than to what is usual; NaN if
         * another metric shows the cause.
         */
        @FunctionalInterface
        private interface Limit {
            double of(RailAnalysis rail, Metric metric);
        }

        private Evidence withOpinion(
                List<RailAnalysis> its, Evidence evidence, BiPredicate<RailAnalysis, PairLine> isBad, Limit limit) {
            Metric metric = SecondOpinion.metric(evidence);
            for (RailAnalysis rail : its) {
                if (!Metric.isJudgedByAnother(evidence.metric(), rail.cells().has[Metric.BANDWIDTH.ordinal()])) {
                    continue;
                }
                List<PairLine> lines = others.stream()
                        .filter(line -> line.rail().equals(rail.name()))
                        .filter(line -> port(rail, line.from()) >= 0 && port(rail, line.to()) >= 0)
                        .toList();
                if (lines.stream().anyMatch(line -> isBad.test(rail, line))) {
                    double nearer = limit.of(rail, metric);
                    return SecondOpinion.judge(
                            evidence,
                            lines,
                            line -> isBad.test(rail, line),
                            line -> rail.isUnsuspected(port(rail, line.from()), port(rail, line.to())),
                            line -> rail.share(metric, line),
                            Double.isFinite(nearer) ? nearer : -metric.least);
                }
            }
            return evidence;
        }

        private int port(RailAnalysis rail, String node) {
            return rail.cells().port(matrix.node(node));
        }

        // ---- evidence ----

        private static Evidence evidence(
                List<RailAnalysis> its, List<Collected> culprit, @Nullable Metric metric, String pairs) {
            int bad = culprit.stream().mapToInt(each -> each.bad).sum();
            int of = culprit.stream().mapToInt(each -> each.of).sum();
            int failed = culprit.stream().mapToInt(each -> each.failed).sum();
            StringBuilder text = new StringBuilder(pairs);
            double median = Double.NaN;
            double others = Double.NaN;
            if (metric != null) {
                int m = metric.ordinal();
                double[] values = culprit.stream()
                        .flatMapToDouble(each -> Arrays.stream(each.values(m)))
                        .toArray();
                median = Quantiles.median(values);
                double[] medians = its.stream()
                        .mapToDouble(rail -> rail.medianOfOthers(m))
                        .filter(value -> !Double.isNaN(value))
                        .toArray();
                others = Quantiles.median(medians);
                if (!Double.isNaN(median)) {
                    text.append("; ").append(metric.words()).append(' ').append(text(metric, median));
                    if (!Double.isNaN(others)) {
                        text.append(", others ").append(text(metric, others));
                    }
                }
            }
            if (failed > 0) {
                Map<String, Integer> causes = new TreeMap<>();
                culprit.forEach(
                        each -> each.failures.forEach((cause, times) -> causes.merge(cause, times, Integer::sum)));
                text.append("; ").append(failed).append(" failed: ");
                text.append(String.join(
                        ", ",
                        causes.entrySet().stream()
                                .map(each -> each.getKey() + " " + each.getValue())
                                .toList()));
            }
            return new Evidence(
                    Math.max(bad, 1),
                    of,
                    metric == null ? "failed" : metric.member,
                    median,
                    others,
                    Confirmation.NONE,
                    text.toString());
        }

        static String text(Metric metric, double value) {
            return (figure(value * metric.scale()) + " " + metric.unit()).strip();
        }

        private static String figure(double value) {
            return new BigDecimal(value)
                    .round(new MathContext(3))
                    .stripTrailingZeros()
                    .toPlainString();
        }

        static String text(PairLine cell) {
            StringBuilder text = new StringBuilder(cell.from() + " to " + cell.to() + " on " + cell.rail() + ": ");
            if (cell.cause() != null) {
                return text.append(cell.outcome())
                        .append(", ")
                        .append(cell.cause())
                        .toString();
            }
            text.append(cell.outcome());
            for (Metric metric : Metric.ofCells()) {
                double value = metric.of(cell);
                if (!Double.isNaN(value)) {
                    text.append(", ").append(text(metric, value));
                }
            }
            return text.toString();
        }

        // ---- what limits the result ----

        private List<String> notes() {
            List<String> notes = new ArrayList<>();
            for (RailAnalysis rail : rails) {
                if (rail.cells().aboveLineRate() > 0) {
                    notes.add(
                            "%s: %d cells have more bandwidth than the line rate, which is a defect of the measurement"
                                    .formatted(rail.name(), rail.cells().aboveLineRate()));
                }
                if (rail.cells().size == 2 && rail.cells().known > 0) {
                    notes.add(rail.name() + " has two nodes: a port can't be told from a path");
                }
                if (rail.cells().known > 0 && rail.cells().isAllFailed()) {
                    notes.add(rail.name() + ": every cell failed, so that nothing tells good parts from bad ones");
                }
            }
            return notes;
        }
    }
}
