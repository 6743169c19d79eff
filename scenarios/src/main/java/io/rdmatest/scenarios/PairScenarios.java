package io.rdmatest.scenarios;

import io.rdmatest.Cause;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.Thresholds.Percentile;
import io.rdmatest.junit.FabricError;
import io.rdmatest.junit.Measurement;
import io.rdmatest.junit.Measurement.Better;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.SkipReason;
import io.rdmatest.scenarios.pairs.AllPairs;
import io.rdmatest.scenarios.pairs.Cell;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import io.rdmatest.scenarios.pairs.Pair;
import io.rdmatest.scenarios.pairs.Sample;
import io.rdmatest.scenarios.pairs.Tournament;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.NodeRoles;
import io.rdmatest.scenarios.role.PairPing;
import io.rdmatest.scenarios.role.PingPongRoles;
import io.rdmatest.scenarios.role.PingPongRoles.Pace;
import io.rdmatest.scenarios.role.PingPongRoles.Plan;
import io.rdmatest.scenarios.role.Place;
import io.rdmatest.scenarios.role.ScenarioException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** All ordered pairs of the fabric's nodes, over each of its rails. */
@RdmaTest(timeout = "24 h")
@ExtendWith(ScenarioSettingsExtension.class)
@Tag(Phase.PERFORMANCE_TAG)
@DisplayName("All pairs")
public class PairScenarios {

    private static final int SIZE = 64;

    /** Round trips of each pair that load classes and are not measured. */
    private static final int UNMEASURED = 10;

    /**
     * How long a pair is measured. Soft-RoCE sends again what is on its way when its timer runs out, which is 1.07 s after the
     * first request and not after the last: a measurement of half of that repeats what was lost and nothing else.
     */
    private static final Duration PINGS = Duration.ofMillis(500);

    /** How many pairs a failure's message names. */
    private static final int MOST_NAMED = 10;

    /** What a run of any size may take beside its rounds: nodes to be started, others to be given up. */
    private static final Duration LIMIT = Duration.ofMinutes(20);

    /** What a round may take on average. */
    private static final Duration LIMIT_OF_ROUND = Duration.ofSeconds(5);

    /** Longer limits than this are those of the test's method. */
    private static final Duration LONGEST_LIMIT = Duration.ofHours(23);

    /** How long a host may take to start a side of a pair. */
    private static final Duration SLOW_HOST = Duration.ofMinutes(1);

    /** How often a run that takes longer reports what it has measured. */
    private static final Duration NEWS = Duration.ofMinutes(1);

    @Test
    @DisplayName("round trips between all nodes")
    void roundTrips(Nodes nodes, CountersThere counters, RdmaReport report, ScenarioSettings settings)
            throws InterruptedException {
        if (!settings.allPairs()) {
            throw SkipReason.NOT_SELECTED.skip(ScenarioSettings.PAIRS + " is false");
        }
        if (nodes.size() < 2) {
            throw SkipReason.PEER_ABSENT.skip("the fabric " + nodes.fabric() + " has one node");
        }
        Duration demanded = nodes.thresholds().roundTrip().get(Percentile.P50);
        AllPairs.Rules rules = new AllPairs.Rules(
                settings.pairsOutlier(),
                demanded == null ? Double.POSITIVE_INFINITY : demanded.toNanos() / 1e3,
                counters.areJudged());
        Duration limit = LIMIT.plus(limitOfRounds(nodes));
        if (limit.compareTo(LONGEST_LIMIT) > 0) {
            limit = LONGEST_LIMIT;
        }
        String words = limit.toMinutes() + " min";
        long deadline = System.nanoTime() + limit.toNanos();
        Findings findings = new Findings();
        for (String rail : nodes.rails()) {
            List<String> names = nodes.on(rail);
            if (names.size() < 2) {
                findings.unknown.add("rail " + rail + " connects no two nodes");
                continue;
            }
            Rail measured = new Rail(nodes, rail, names, counters, report, settings, rules);
            try {
                report.step(
                        "%d nodes%s".formatted(names.size(), rail.isEmpty() ? "" : " on rail " + rail),
                        () -> measured.run(deadline, words));
            } finally {
                // Also of a run that was interrupted.
                measured.report(findings);
            }
        }
        findings.judge();
    }

    /**
     * Returns how long the rounds of all pairs of a fabric may take, over all of its rails: it grows with the number of rounds.
     *
     * @param fabric the fabric, on one rail if that is chosen
     * @return 5 s for each round, which is several times what a round takes on a good fabric
     */
    public static Duration limitOfRounds(Fabric fabric) {
        return limitOfRounds(new Nodes(fabric));
    }

    private static Duration limitOfRounds(Nodes nodes) {
        long rounds = nodes.rails().stream()
                .mapToInt(rail -> nodes.on(rail).size())
                .filter(number -> number > 1)
                .mapToLong(number -> new Tournament(number).rounds())
                .sum();
        return LIMIT_OF_ROUND.multipliedBy(rounds);
    }

    /** What speaks against the fabric, and what is not known of it; of all rails. */
    private static final class Findings {

        private final List<String> givenUp = new ArrayList<>();
        private final List<String> bad = new ArrayList<>();
        private final List<String> unknown = new ArrayList<>();

        /** The cause of the first bad pair. */
        private Cause first = Cause.ASSERTION;

        void judge() {
            String nodes = givenUp.isEmpty()
                    ? ""
                    : some(givenUp.size() == 1 ? "node given up" : "nodes given up", givenUp) + "; ";
            if (!bad.isEmpty()) {
                throw new FabricError(first, nodes + some(bad.size() == 1 ? "bad pair" : "bad pairs", bad));
            }
            if (!unknown.isEmpty()) {
                throw new ScenarioException(
                        ScenarioException.Reason.HOST_NOT_READY, nodes + some("not measured", unknown));
            }
        }

        /** A fabric of many nodes has thousands of pairs; the attachment has all of them. */
        private static String some(String what, List<String> all) {
            int rest = all.size() - MOST_NAMED;
            return all.size() + " " + what + ": "
                    + String.join("; ", all.subList(0, Math.min(all.size(), MOST_NAMED)))
                    + (rest > 0 ? "; and " + rest + " more, see the report" : "");
        }
    }

    /** All pairs of the nodes that one rail connects. */
    private static final class Rail {

        private final Nodes nodes;
        private final String rail;
        private final List<String> names;
        private final CountersThere counters;
        private final RdmaReport report;
        private final ScenarioSettings settings;
        private final AllPairs all;
        private final AtomicLong verified = new AtomicLong();
        private final Map<String, String> unread = new ConcurrentHashMap<>();
        private final Set<Pair> told = new HashSet<>();
        private long lastNews = System.nanoTime();
        private int parts;

        Rail(
                Nodes nodes,
                String rail,
                List<String> names,
                CountersThere counters,
                RdmaReport report,
                ScenarioSettings settings,
                AllPairs.Rules rules) {
            this.nodes = nodes;
            this.rail = rail;
            this.names = names;
            this.counters = counters;
            this.report = report;
            this.settings = settings;
            this.all = new AllPairs(names.size(), rules, this::measure);
        }

        void run(long deadline, String limit) throws InterruptedException {
            Map<String, Throwable> missing = nodes.start(names, rail);
            missing.forEach(
                    (name, why) -> all.giveUp(names.indexOf(name), "it could not be started: " + AllPairs.text(why)));
            List<Place> places = new ArrayList<>();
            for (String name : names) {
                if (!missing.containsKey(name)) {
                    places.add(nodes.place(name, rail));
                }
            }
            counters.begin(places);
            all.run(deadline, limit, this::tellNews);
        }

        /**
         * Measures a pair. A path that is dead costs half of the time of a step: the client alone decides when it has waited for
         * long enough, and the server is ended then. A host that is slow to start a side costs what it takes: that is no fault
         * of the fabric.
         */
        private Sample measure(Pair pair) {
            Duration step = settings.stepTimeout();
            int iterations = settings.pingPongIterations();
            Plan serverPlan = Plan.of(PingPongRoles.Operation.SEND, SIZE, iterations, SLOW_HOST.plus(step));
            Plan clientPlan = Plan.of(PingPongRoles.Operation.SEND, SIZE, iterations, step.dividedBy(2));
            Pace pace = new Pace(UNMEASURED, PINGS);
            Place serverPlace = nodes.place(names.get(pair.server()), rail);
            Place clientPlace = nodes.place(names.get(pair.client()), rail);
            boolean counted = counters.areWanted();
            LocalRoles.Pair<PairPing.Result, PairPing.Result> results = NodeRoles.runPair(
                    serverPlace,
                    new PairPing.Server(serverPlan, pace, counted),
                    clientPlace,
                    new PairPing.Client(clientPlan, pace, counted),
                    SLOW_HOST.multipliedBy(2).plus(step.multipliedBy(3)));
            PairPing.Result server = results.server();
            PairPing.Result client = results.client();
            verified.addAndGet(server.bytesVerified() + client.bytesVerified());
            if (server.iterations() != client.iterations()) {
                throw new AssertionError("the server answered %d round trips, and the client had %d answers"
                        .formatted(server.iterations(), client.iterations()));
            }
            return new Sample(
                    client.p50() / 1e3,
                    client.p99() / 1e3,
                    client.max() / 1e3,
                    client.count(),
                    losses(server, serverPlace),
                    losses(client, clientPlace));
        }

        private SortedMap<String, Long> losses(PairPing.Result side, Place place) {
            if (side.unread() != null) {
                unread.put(place.name(), side.unread());
            }
            return side.increased().isEmpty()
                    ? new TreeMap<>()
                    : new TreeMap<>(CountersThere.losses(side.increased(), place));
        }

        /** Reports what was measured since the last time, so that little is lost when the run is killed. */
        private void tellNews() {
            if (System.nanoTime() - lastNews < NEWS.toNanos()) {
                return;
            }
            lastNews = System.nanoTime();
            List<String> lines = new ArrayList<>();
            for (Cell cell : all.cells()) {
                if (cell.attempts() > 0 && told.add(cell.pair())) {
                    lines.add(line(cell));
                }
            }
            if (!lines.isEmpty()) {
                parts++;
                report.attachment(
                        title() + " so far, part " + parts, "text/plain", String.join(System.lineSeparator(), lines));
            }
        }

        private String title() {
            return "pairs" + (rail.isEmpty() ? "" : " of " + rail);
        }

        private String line(Cell cell) {
            String prefix = "%sserver %s, client %s: "
                    .formatted(
                            prefix(),
                            names.get(cell.pair().server()),
                            names.get(cell.pair().client()));
            Sample sample = cell.sample();
            String values = sample == null
                    ? ""
                    : "median %.4g us, 99th percentile %.4g us, longest %.4g us of %d"
                            .formatted(sample.p50(), sample.p99(), sample.max(), sample.count());
            String reason = reason(cell);
            return prefix + values + (reason.isEmpty() || values.isEmpty() ? "" : "; ") + reason;
        }

        private static String reason(Cell cell) {
            if (cell.reason() == null) {
                return cell.firstReason() == null ? "" : "good at the second attempt; the first: " + cell.firstReason();
            }
            return cell.reason()
                    + (cell.attempts() < 2 ? "" : " (second attempt; the first: " + cell.firstReason() + ")");
        }

        private String prefix() {
            return rail.isEmpty() ? "" : rail + " ";
        }

        void report(Findings findings) {
            List<Cell> cells = all.cells();
            StringBuilder text =
                    new StringBuilder(AllPairs.matrix(names, cells, "median round trip of " + SIZE + " bytes in us"));
            all.givenUp().forEach((node, why) -> {
                findings.givenUp.add(prefix() + "node " + names.get(node) + ": " + why);
                text.append(System.lineSeparator())
                        .append("node given up: ")
                        .append(names.get(node))
                        .append(": ")
                        .append(why);
            });
            unread.forEach((node, why) -> text.append(System.lineSeparator())
                    .append("counters not read: node ")
                    .append(node)
                    .append(": ")
                    .append(why));
            for (Cell cell : cells) {
                if (cell.reason() == null && cell.firstReason() == null) {
                    continue;
                }
                String line = line(cell);
                text.append(System.lineSeparator()).append(line);
                if (cell.verdict() == Verdict.BAD) {
                    if (findings.bad.isEmpty() && cell.cause() != null) {
                        findings.first = cell.cause();
                    }
                    findings.bad.add(line);
                } else if (cell.verdict() == Verdict.NOT_MEASURED) {
                    findings.unknown.add(line);
                }
            }
            report.bytesVerified(verified.get());
            report.attachment(title(), "text/plain", text.toString());
            count("pairs", cells.size(), Better.NEITHER);
            for (Verdict verdict : Verdict.values()) {
                count(
                        verdict.name().toLowerCase(Locale.ROOT).replace('_', ' '),
                        cells.stream().filter(cell -> cell.verdict() == verdict).count(),
                        verdict == Verdict.GOOD ? Better.HIGHER : Better.LOWER);
            }
            count("nodes given up", all.givenUp().size(), Better.LOWER);
        }

        private void count(String what, long value, Better better) {
            report.measurement(Measurement.count(prefix() + what, value, "count", better));
        }
    }
}
