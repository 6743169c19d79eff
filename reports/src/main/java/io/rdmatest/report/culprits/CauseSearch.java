package io.rdmatest.report.culprits;

import io.rdmatest.report.culprits.Candidate.Shape;
import io.rdmatest.report.culprits.Significance.Score;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import org.hipparchus.distribution.discrete.BinomialDistribution;
import org.jspecify.annotations.Nullable;

/**
 * Selects the fewest rows, columns and blocks that explain the bad cells of a rail.
 *
 * <p>The candidate with the most evidence becomes the first cause. The cells that it explains then count neither for nor against
 * another candidate. What is usual is estimated again without these cells. All this is repeated until nothing changes.
 *
 * <p>A flaky port, or one of several links between leaves, makes only a part of its cells bad. Such a candidate becomes a cause
 * under two conditions. A share of at least {@value #PART} of its cells, and at least {@value #PART_CELLS} cells, are bad. And
 * the binomial probability of so many bad cells, given the share of bad cells elsewhere, is below the bound for whole candidates.
 */
final class CauseSearch {

    private record Ranked(Candidate candidate, double gain) {}

    static final double PART = 0.3;

    static final int PART_CELLS = 4;

    private static final int ROUNDS = 4;

    private final RailCells cells;
    private final Usual usual;
    private final Significance significance;
    private final Map<Candidate, Score> found = new LinkedHashMap<>();
    private final Set<Candidate> parts = new HashSet<>();

    CauseSearch(RailCells cells, Usual usual) {
        this.cells = cells;
        this.usual = usual;
        significance = new Significance(cells, usual);
    }

    List<Candidate> found() {
        return List.copyOf(found.keySet());
    }

    boolean isFound(Candidate candidate) {
        return found.containsKey(candidate);
    }

    /** Returns the score of a cause that was found. */
    Score score(Candidate cause) {
        return found.getOrDefault(cause, Score.NOTHING);
    }

    /** Returns whether a cause was found because only a part of its cells is bad. */
    boolean isPart(Candidate cause) {
        return parts.contains(cause);
    }

    /** Searches for causes. */
    void run() {
        if (cells.isAllFailed()) {
            return;
        }
        Set<Candidate> before = new HashSet<>();
        for (int round = 0; round < ROUNDS; round++) {
            usual.estimate();
            found.keySet().forEach(line -> cells.cover(line, -1));
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

    private void searchWhole() {
        PriorityQueue<Ranked> queue =
                new PriorityQueue<>(Comparator.comparingDouble(Ranked::gain).reversed());
        double bound = significance.bound();
        for (Candidate line : cells.candidates()) {
            if (usual.isUsual(line)) {
                continue;
            }
            Score score = significance.score(line, cells.cellsOf(line), 1);
            if (score.gain() > bound) {
                queue.add(new Ranked(line, score.gain()));
            }
        }
        if (queue.isEmpty()) {
            return;
        }
        boolean[] open = new boolean[cells.count()];
        Arrays.fill(open, true);
        for (Ranked each : queue) {
            for (int cell : cells.cellsOf(each.candidate())) {
                open[cell] = false;
            }
        }
        significance.learnFrom(open);
        while (!queue.isEmpty()) {
            Candidate line = queue.remove().candidate();
            int[] its = cells.cellsOf(line);
            Score score = significance.score(line, its, 1);
            if (score.gain() <= bound) {
                continue;
            }
            Ranked next = queue.peek();
            if (next != null && next.gain() > score.gain()) {
                queue.add(new Ranked(line, score.gain()));
                continue;
            }
            if (!significance.isRare(score, its)) {
                continue;
            }
            found.put(line, score);
            cells.cover(line, 1);
        }
    }

    private void searchParts() {
        boolean[] bad = new boolean[cells.count()];
        int all = 0;
        int allBad = 0;
        for (int cell = 0; cell < cells.count(); cell++) {
            if (cells.isKnown(cell) && cells.covers[cell] == 0) {
                bad[cell] = significance.isBad(cell);
                all++;
                allBad += bad[cell] ? 1 : 0;
            }
        }
        double bound = Math.exp(-significance.bound());
        while (allBad >= PART_CELLS) {
            Candidate best = null;
            double least = bound;
            int bestBad = 0;
            int bestOf = 0;
            for (Candidate line : cells.candidates()) {
                int of = 0;
                int lineBad = 0;
                for (int a : cells.senders(line)) {
                    for (int b : cells.receivers(line)) {
                        int cell = a * cells.size + b;
                        if (cells.isKnown(cell) && cells.covers[cell] == 0) {
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
            found.put(best, new Score(bestBad * Significance.CELL, partMetric(best, bad), Double.NEGATIVE_INFINITY));
            parts.add(best);
            cells.cover(best, 1);
            all -= bestOf;
            allBad -= bestBad;
        }
    }

    /** Returns the metric that most bad cells of a candidate show; null if most of them failed. */
    private @Nullable Metric partMetric(Candidate line, boolean[] bad) {
        int[] counts = new int[Metric.ALL.length];
        int failed = 0;
        for (int cell : cells.cellsOf(line)) {
            if (bad[cell] && cells.isFailed(cell)) {
                failed++;
            } else if (bad[cell]) {
                for (int m = 0; m < Metric.ALL.length; m++) {
                    counts[m] +=
                            usual.residual[m][cell] < -Math.max(1.5 * Metric.ALL[m].least, 5 * usual.noise[m]) ? 1 : 0;
                }
            }
        }
        Metric most = Metric.ALL[0];
        for (Metric metric : Metric.ALL) {
            if (counts[metric.ordinal()] > counts[most.ordinal()]) {
                most = metric;
            }
        }
        return failed > counts[most.ordinal()] ? null : most;
    }

    /** Replaces the nodes of a leaf by the blocks of the leaf, if the leaf has six nodes or more and all of them were found. */
    private void leavesForTheirNodes() {
        for (int l = 0; l < cells.leaves; l++) {
            int its = l;
            if (cells.leafMembers[l].length < 6 || cells.leafMembers[l].length > cells.size / 2) {
                continue;
            }
            for (Shape shape : List.of(Shape.ROW, Shape.COLUMN)) {
                List<Candidate> members = Arrays.stream(cells.leafMembers[l])
                        .mapToObj(port -> new Candidate(shape, port, 0))
                        .toList();
                if (!found.keySet().containsAll(members)) {
                    continue;
                }
                members.forEach(line -> {
                    found.remove(line);
                    cells.cover(line, -1);
                });
                for (int other = 0; other < cells.leaves; other++) {
                    Candidate block = shape == Shape.ROW
                            ? new Candidate(Shape.BLOCK, its, other)
                            : new Candidate(Shape.BLOCK, other, its);
                    Score score = significance.score(block, cells.cellsOf(block), 1);
                    if (score.gain() > significance.bound()) {
                        found.put(block, score);
                        cells.cover(block, 1);
                    }
                }
            }
        }
    }

    private void dropNeedless() {
        List<Candidate> weakestFirst = new ArrayList<>(found.keySet());
        weakestFirst.sort(Comparator.comparingDouble(
                line -> found.getOrDefault(line, Score.NOTHING).gain()));
        for (Candidate line : weakestFirst) {
            if (parts.contains(line)) {
                continue;
            }
            cells.cover(line, -1);
            if (significance.score(line, cells.cellsOf(line), 0.9).gain() > significance.bound() * 0.9) {
                cells.cover(line, 1);
            } else {
                found.remove(line);
            }
        }
    }

    /**
     * Returns whether a row or column is probably bad, given that its node is bad on other rails. It need not be significant by
     * itself. If everything failed, no row or column differs from the others.
     */
    boolean isProbable(Candidate line) {
        if (cells.isAllFailed()) {
            return false;
        }
        return found.containsKey(line)
                || significance.score(line, cells.cellsOf(line), 0.75).gain() > 5;
    }

    /** Adds a cause for which other rails are the reason. */
    void add(Candidate line) {
        if (!found.containsKey(line)) {
            found.put(line, significance.score(line, cells.cellsOf(line), 0.75));
            cells.cover(line, 1);
        }
    }
}
