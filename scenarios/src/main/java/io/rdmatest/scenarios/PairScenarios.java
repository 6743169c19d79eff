package io.rdmatest.scenarios;

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
                    () -> AllPairs.run(names.size(), settings.pairsOutlier(), pair -> {
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
            throw new AssertionError(bad.size() + " bad pairs: " + String.join("; ", bad));
        }
        if (!unknown.isEmpty()) {
            throw new IllegalStateException(unknown.size() + " not measured: " + String.join("; ", unknown));
        }
    }

    private static void describe(
            RdmaReport report,
            String rail,
            List<String> names,
            Map<Pair, Cell> cells,
            List<String> bad,
            List<String> unknown) {
        String prefix = rail.isEmpty() ? "" : rail + " ";
        for (Cell cell : cells.values()) {
            String line = "%sserver %s, client %s: %s"
                    .formatted(
                            prefix,
                            names.get(cell.pair().server()),
                            names.get(cell.pair().client()),
                            cell.why());
            if (cell.verdict() == Verdict.BAD) {
                bad.add(line);
            } else if (cell.verdict() == Verdict.NOT_MEASURED) {
                unknown.add(line);
            }
        }
        report.attachment(
                "pairs" + (rail.isEmpty() ? "" : " of " + rail),
                "text/plain",
                AllPairs.matrix(names, cells, "median round trip of " + SIZE + " bytes in us"));
        report.measurement(prefix + "pairs", cells.size(), "count");
        for (Verdict verdict : Verdict.values()) {
            long count = cells.values().stream()
                    .filter(cell -> cell.verdict() == verdict)
                    .count();
            report.measurement(
                    prefix + verdict.name().toLowerCase(java.util.Locale.ROOT).replace('_', ' '), count, "count");
        }
    }
}
