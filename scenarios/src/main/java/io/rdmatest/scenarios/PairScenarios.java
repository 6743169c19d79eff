package io.rdmatest.scenarios;

import io.rdmatest.fabric.Thresholds.Percentile;
import io.rdmatest.junit.Measurement;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.SkipReason;
import io.rdmatest.scenarios.pairs.AllPairs;
import io.rdmatest.scenarios.pairs.Cell;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import io.rdmatest.scenarios.pairs.Pair;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.NodeRoles;
import io.rdmatest.scenarios.role.PingPongRoles;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** All ordered pairs of the fabric's nodes, over each of its rails. */
@RdmaTest(timeout = "1 h")
@ExtendWith(ScenarioSettingsExtension.class)
@DisplayName("All pairs")
public class PairScenarios {

    private static final int SIZE = 64;

    /** How many pairs a failure's message names. */
    private static final int MOST_NAMED = 10;

    @Test
    @DisplayName("round trips between all nodes")
    void roundTrips(Nodes nodes, RdmaReport report, ScenarioSettings settings) throws InterruptedException {
        if (!settings.allPairs()) {
            throw SkipReason.NOT_SELECTED.skip(ScenarioSettings.PAIRS + " is false");
        }
        if (nodes.size() < 2) {
            throw SkipReason.PEER_ABSENT.skip("the fabric " + nodes.fabric() + " has one node");
        }
        PingPongRoles.Plan plan = PingPongRoles.Plan.of(
                PingPongRoles.Operation.SEND, SIZE, settings.pingPongIterations(), settings.stepTimeout());
        // Connecting and parting take steps of their own.
        Duration limit = settings.stepTimeout().multipliedBy(3);
        Duration demanded = nodes.thresholds().roundTrip().get(Percentile.P50);
        double most = demanded == null ? Double.POSITIVE_INFINITY : demanded.toNanos() / 1e3;
        List<String> bad = new ArrayList<>();
        List<String> unknown = new ArrayList<>();
        for (String rail : nodes.rails()) {
            List<String> names = nodes.on(rail);
            if (names.size() < 2) {
                unknown.add("rail " + rail + " connects no two nodes");
                continue;
            }
            AtomicLong verified = new AtomicLong();
            Map<Pair, Cell> cells = report.step(
                    "%d nodes%s".formatted(names.size(), rail.isEmpty() ? "" : " on rail " + rail),
                    () -> AllPairs.run(names.size(), settings.pairsOutlier(), most, pair -> {
                        LocalRoles.Pair<PingPongRoles.Result, PingPongRoles.Result> results = NodeRoles.runPair(
                                nodes.place(names.get(pair.server()), rail),
                                new PingPongRoles.Server(plan),
                                nodes.place(names.get(pair.client()), rail),
                                new PingPongRoles.Client(plan),
                                limit);
                        verified.addAndGet(results.server().bytesVerified()
                                + results.client().bytesVerified());
                        return results.client().latencies().getValueAtPercentile(50) / 1e3;
                    }));
            report.bytesVerified(verified.get());
            describe(report, rail, names, cells, bad, unknown);
        }
        if (!bad.isEmpty()) {
            throw new AssertionError(some("bad pairs", bad));
        }
        if (!unknown.isEmpty()) {
            throw new IllegalStateException(some("not measured", unknown));
        }
    }

    /** A fabric of many nodes has thousands of pairs; the attachment has all of them. */
    private static String some(String what, List<String> pairs) {
        int rest = pairs.size() - MOST_NAMED;
        return pairs.size() + " " + what + ": "
                + String.join("; ", pairs.subList(0, Math.min(pairs.size(), MOST_NAMED)))
                + (rest > 0 ? "; and " + rest + " more, see the report" : "");
    }

    private static void describe(
            RdmaReport report,
            String rail,
            List<String> names,
            Map<Pair, Cell> cells,
            List<String> bad,
            List<String> unknown) {
        String prefix = rail.isEmpty() ? "" : rail + " ";
        StringBuilder text =
                new StringBuilder(AllPairs.matrix(names, cells, "median round trip of " + SIZE + " bytes in us"));
        for (Cell cell : cells.values()) {
            String line = "%sserver %s, client %s: %s"
                    .formatted(
                            prefix,
                            names.get(cell.pair().server()),
                            names.get(cell.pair().client()),
                            cell.why());
            if (cell.verdict() != Verdict.GOOD) {
                (cell.verdict() == Verdict.BAD ? bad : unknown).add(line);
                text.append(System.lineSeparator()).append(line);
            }
        }
        report.attachment("pairs" + (rail.isEmpty() ? "" : " of " + rail), "text/plain", text.toString());
        report.measurement(Measurement.count(prefix + "pairs", cells.size(), "count", Measurement.Better.NEITHER));
        for (Verdict verdict : Verdict.values()) {
            long count = cells.values().stream()
                    .filter(cell -> cell.verdict() == verdict)
                    .count();
            report.measurement(Measurement.count(
                    prefix + verdict.name().toLowerCase(Locale.ROOT).replace('_', ' '),
                    count,
                    "count",
                    verdict == Verdict.GOOD ? Measurement.Better.HIGHER : Measurement.Better.LOWER));
        }
    }
}
