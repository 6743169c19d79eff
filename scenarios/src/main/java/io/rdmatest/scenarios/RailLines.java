package io.rdmatest.scenarios;

import io.rdmatest.Cause;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsFile;
import io.rdmatest.scenarios.cprogram.WriteBandwidth;
import io.rdmatest.scenarios.pairs.Cell;
import io.rdmatest.scenarios.pairs.Pair;
import io.rdmatest.scenarios.pairs.Rates;
import io.rdmatest.scenarios.pairs.Sample;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The lines of one rail's pairs in the file of results. Several threads may write, for pairs that have no node in common. */
final class RailLines {

    /**
     * The part of a pair's result that goes to the file of results only.
     *
     * @param bytesVerified how many bytes of payload were compared, 0 or more
     * @param fromCounters by how much counters of the sender's port grew
     * @param toCounters by how much counters of the receiver's port grew
     */
    record Details(long bytesVerified, Map<String, Long> fromCounters, Map<String, Long> toCounters) {

        static final Details NONE = new Details(0, Map.of(), Map.of());

        /** Copies the counters. */
        Details {
            fromCounters = Map.copyOf(fromCounters);
            toCounters = Map.copyOf(toCounters);
        }
    }

    private final PairsFile file;
    private final String rail;
    private final List<String> names;
    private final Function<String, @Nullable String> leaf;
    private final int directions;

    /** Of the last attempt of each pair: its line may be written again when its cause has changed. */
    private final Map<Pair, Details> details = new ConcurrentHashMap<>();

    /** The cause in the last line of each pair that has one in the file. */
    private final Map<Pair, Cause> causes = new ConcurrentHashMap<>();

    /**
     * Begins.
     *
     * @param file where the lines go
     * @param rail its name in the file
     * @param names the nodes, by the numbers that pairs have
     * @param leaf returns the leaf switch of a node; null if it is not known
     * @param directions in how many directions data flows at once, 1 or 2
     */
    RailLines(
            PairsFile file, String rail, List<String> names, Function<String, @Nullable String> leaf, int directions) {
        this.file = file;
        this.rail = rail;
        this.names = List.copyOf(names);
        this.leaf = leaf;
        this.directions = directions;
    }

    /** Begins an attempt of a pair: what the one before it found is not told of this one. */
    void begin(Pair pair) {
        details.remove(pair);
    }

    /** Takes what the current attempt of a pair found. */
    void found(Pair pair, Details found) {
        details.put(pair, found);
    }

    /** Writes a pair, as it is by now, with the details of its last attempt. */
    void write(Cell cell) {
        if (cell.cause() == null) {
            causes.remove(cell.pair());
        } else {
            causes.put(cell.pair(), cell.cause());
        }
        write(
                cell.pair(),
                cell.attempts(),
                PairLine.Outcome.valueOf(cell.outcome().name()),
                cell.cause(),
                cell.sample(),
                false);
    }

    /** Returns whether a pair was tried, and its last line has its cause. */
    boolean isUpToDate(Cell cell) {
        return cell.attempts() > 0 && cell.cause() == causes.get(cell.pair());
    }

    /** Writes what came of a pair that was measured again because of a culprit: no cell of the matrix. */
    void confirm(Pair pair, PairLine.Outcome outcome, @Nullable Cause cause, @Nullable Sample sample) {
        write(pair, 1, outcome, cause, sample, true);
    }

    /**
     * Writes what another program measured of a pair: no cell of the matrix.
     *
     * @param pair which
     * @param lineRate the active rate of the slower of both ports in bit/s; NaN if it is not known
     * @param result what came of it
     */
    void confirm(Pair pair, double lineRate, WriteBandwidth.Result result) {
        String from = names.get(pair.client());
        String to = names.get(pair.server());
        file.write(new PairLine(
                rail,
                from,
                to,
                leaf.apply(from),
                leaf.apply(to),
                1,
                result.isMeasured() ? PairLine.Outcome.MEASURED : PairLine.Outcome.NOT_MEASURED,
                null,
                lineRate,
                result.bandwidth(),
                result.messageRate(),
                Double.NaN,
                Double.NaN,
                0,
                0,
                1,
                true,
                WriteBandwidth.PROGRAM,
                result.reason(),
                PairLine.Counters.NONE));
    }

    private void write(
            Pair pair,
            int attempts,
            PairLine.Outcome outcome,
            @Nullable Cause cause,
            @Nullable Sample sample,
            boolean confirmation) {
        Details known = details.getOrDefault(pair, Details.NONE);
        Rates rates = sample == null ? Rates.NONE : sample.rates();
        String from = names.get(pair.client());
        String to = names.get(pair.server());
        file.write(new PairLine(
                rail,
                from,
                to,
                leaf.apply(from),
                leaf.apply(to),
                attempts,
                outcome,
                cause == null ? null : cause.name(),
                rates.lineRate(),
                rates.bandwidth(),
                rates.messageRate(),
                sample == null ? Double.NaN : sample.p50() / 1e6,
                sample == null ? Double.NaN : sample.p99() / 1e6,
                sample == null ? 0 : sample.count(),
                known.bytesVerified(),
                directions,
                confirmation,
                null,
                null,
                new PairLine.Counters(known.fromCounters(), known.toCounters())));
    }
}
