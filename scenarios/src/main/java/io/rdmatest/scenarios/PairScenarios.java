package io.rdmatest.scenarios;

import io.rdmatest.Cause;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.Thresholds.Percentile;
import io.rdmatest.junit.FabricError;
import io.rdmatest.junit.Measurement;
import io.rdmatest.junit.Measurement.Better;
import io.rdmatest.junit.Measurement.Kind;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.SkipReason;
import io.rdmatest.scenarios.ScenarioSettings.PairsMeasure;
import io.rdmatest.scenarios.culprits.Culprits;
import io.rdmatest.scenarios.culprits.PairLine;
import io.rdmatest.scenarios.culprits.PairsWriter;
import io.rdmatest.scenarios.pairs.AllPairs;
import io.rdmatest.scenarios.pairs.Cell;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import io.rdmatest.scenarios.pairs.Pair;
import io.rdmatest.scenarios.pairs.Sample;
import io.rdmatest.scenarios.pairs.Sample.Flow;
import io.rdmatest.scenarios.pairs.Tournament;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.NodeRoles;
import io.rdmatest.scenarios.role.PairFlow;
import io.rdmatest.scenarios.role.PairPing;
import io.rdmatest.scenarios.role.PingPongRoles;
import io.rdmatest.scenarios.role.PingPongRoles.Pace;
import io.rdmatest.scenarios.role.PingPongRoles.Plan;
import io.rdmatest.scenarios.role.Place;
import io.rdmatest.scenarios.role.ScenarioException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** All ordered pairs of the fabric's nodes, over each of its rails. */
@RdmaTest(timeout = "24 h")
@ExtendWith(ScenarioSettingsExtension.class)
@DisplayName("All pairs")
public class PairScenarios {

    private static final int SIZE = 64;

    /** Round trips of each pair that load classes and are not measured. */
    private static final int UNMEASURED = 10;

    /** How many pairs a failure's message names. */
    private static final int MOST_NAMED = 10;

    /** What a run of any size may take beside its rounds: nodes to be started, others to be given up. */
    private static final Duration LIMIT = Duration.ofMinutes(20);

    /** What a round may take on average. */
    private static final Duration LIMIT_OF_ROUND = Duration.ofSeconds(8);

    /** Longer limits than this are those of the test's method. */
    private static final Duration LONGEST_LIMIT = Duration.ofHours(23);

    /** How long a host may take to start a side of a pair. */
    private static final Duration SLOW_HOST = Duration.ofMinutes(1);

    /** How often a run that takes longer reports what it has measured. */
    private static final Duration NEWS = Duration.ofMinutes(1);

    @Test
    @DisplayName("latency, bandwidth and message rate between all nodes")
    void allPairs(Nodes nodes, CountersThere counters, RdmaReport report, ScenarioSettings settings)
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
        try (Lines lines = Lines.open(settings.pairsFile())) {
            measure(nodes, counters, report, settings, rules, deadline, words, findings, lines);
        } catch (IOException e) {
            throw new ScenarioException(
                    ScenarioException.Reason.HOST_NOT_READY,
                    "The lines of the pairs can't be written to " + settings.pairsFile() + ": " + e.getMessage(),
                    e);
        }
        findings.judge();
    }

    private static void measure(
            Nodes nodes,
            CountersThere counters,
            RdmaReport report,
            ScenarioSettings settings,
            AllPairs.Rules rules,
            long deadline,
            String words,
            Findings findings,
            Lines lines)
            throws InterruptedException, IOException {
        for (String rail : nodes.rails()) {
            List<String> names = nodes.on(rail);
            if (names.size() < 2) {
                findings.unknown.add("rail " + rail + " connects no two nodes");
                continue;
            }
            Rail measured = new Rail(nodes, rail, names, counters, report, settings, rules, lines);
            try {
                report.step(
                        "%d nodes%s".formatted(names.size(), rail.isEmpty() ? "" : " on rail " + rail),
                        () -> measured.run(deadline, words));
            } finally {
                // Also of a run that was interrupted.
                measured.report(findings);
            }
        }
        Culprits culprits = Culprits.of(lines.last());
        findings.culprits = culprits.causes().stream()
                .map(cause -> cause.name() + ": " + cause.evidence().text())
                .toList();
        report.attachment("culprits", "text/plain", String.join(System.lineSeparator(), culprits.lines()));
        report.measurement(Measurement.count("culprits", culprits.causes().size(), "count", Better.LOWER));
    }

    /** The lines of all pairs: in the file, and the last one of each pair in memory. */
    private static final class Lines implements AutoCloseable {

        private final @Nullable PairsWriter file;
        private final Map<List<String>, PairLine> last = new LinkedHashMap<>();

        private Lines(@Nullable PairsWriter file) {
            this.file = file;
        }

        static Lines open(String path) throws IOException {
            return new Lines(path.isEmpty() ? null : PairsWriter.create(Path.of(path)));
        }

        synchronized void add(PairLine line) {
            PairLine before = last.put(List.of(line.rail(), line.from(), line.to()), line);
            if (file != null && !line.equals(before)) {
                try {
                    file.write(line);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }

        synchronized List<PairLine> last() {
            return List.copyOf(last.values());
        }

        @Override
        public void close() throws IOException {
            if (file != null) {
                file.close();
            }
        }
    }

    /**
     * Returns how long the rounds of all pairs of a fabric may take, over all of its rails: it grows with the number of rounds.
     *
     * @param fabric the fabric, on one rail if that is chosen
     * @return 8 s for each round, which is several times what a round takes on a good fabric
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
        private List<String> culprits = List.of();

        /** The cause of the first bad pair. */
        private Cause first = Cause.ASSERTION;

        void judge() {
            String who = culprits.isEmpty() ? "" : some(culprits.size() == 1 ? "culprit" : "culprits", culprits) + "; ";
            String nodes = givenUp.isEmpty()
                    ? who
                    : who + some(givenUp.size() == 1 ? "node given up" : "nodes given up", givenUp) + "; ";
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
        private final Lines lines;
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
                AllPairs.Rules rules,
                Lines lines) {
            this.nodes = nodes;
            this.rail = rail;
            this.names = names;
            this.counters = counters;
            this.report = report;
            this.settings = settings;
            this.lines = lines;
            this.all = new AllPairs(names.size(), rules, this::measure, cell -> lines.add(pairLine(cell)));
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
         *
         * <p>Soft-RoCE sends again what is on its way when its timer runs out, which is 1.07 s after the first request and not
         * after the last: a measurement of half a second repeats what was lost and nothing else.
         */
        private Sample measure(Pair pair) {
            Place server = nodes.place(names.get(pair.server()), rail);
            Place client = nodes.place(names.get(pair.client()), rail);
            PairPing.@Nullable Result[] pings = {null, null};
            if (settings.pairsMeasure().contains(PairsMeasure.LATENCY)) {
                ping(server, client, pings);
            }
            PairFlow.@Nullable Result[] flows = {null, null};
            boolean bandwidth = settings.pairsMeasure().contains(PairsMeasure.BANDWIDTH);
            boolean rate = settings.pairsMeasure().contains(PairsMeasure.RATE);
            if (bandwidth || rate) {
                flow(server, client, bandwidth ? settings.pairsSize() : 0, rate ? SIZE : 0, flows);
            }
            Map<String, Long> atServer = new TreeMap<>();
            Map<String, Long> atClient = new TreeMap<>();
            long bytes = 0;
            for (int i = 0; i < 2; i++) {
                Map<String, Long> increased = i == 0 ? atServer : atClient;
                if (pings[i] != null) {
                    pings[i].increased().forEach((name, by) -> increased.merge(name, by, Long::sum));
                    note(i == 0 ? server : client, pings[i].unread());
                    bytes += pings[i].bytesVerified();
                }
                if (flows[i] != null) {
                    flows[i].increased().forEach((name, by) -> increased.merge(name, by, Long::sum));
                    note(i == 0 ? server : client, flows[i].unread());
                    bytes += flows[i].bytesVerified();
                }
            }
            verified.addAndGet(bytes);
            PairPing.Result times = pings[1];
            return new Sample(
                    times == null ? Double.NaN : times.p50() / 1e3,
                    times == null ? Double.NaN : times.p99() / 1e3,
                    times == null ? Double.NaN : times.max() / 1e3,
                    times == null ? 0 : times.count(),
                    losses(atServer, server),
                    losses(atClient, client),
                    flow(flows, bytes, atClient, atServer));
        }

        private void ping(Place server, Place client, PairPing.@Nullable Result[] results) {
            Duration step = settings.stepTimeout();
            int iterations = settings.pingPongIterations();
            Plan serverPlan = Plan.of(PingPongRoles.Operation.SEND, SIZE, iterations, SLOW_HOST.plus(step));
            Plan clientPlan = Plan.of(PingPongRoles.Operation.SEND, SIZE, iterations, step.dividedBy(2));
            Pace pace = new Pace(UNMEASURED, settings.pairsTime());
            boolean counted = counters.areWanted();
            LocalRoles.Pair<PairPing.Result, PairPing.Result> both = NodeRoles.runPair(
                    server,
                    new PairPing.Server(serverPlan, pace, counted),
                    client,
                    new PairPing.Client(clientPlan, pace, counted),
                    SLOW_HOST.multipliedBy(2).plus(step.multipliedBy(3)));
            if (both.server().iterations() != both.client().iterations()) {
                throw new AssertionError("the server answered %d round trips, and the client had %d answers"
                        .formatted(both.server().iterations(), both.client().iterations()));
            }
            results[0] = both.server();
            results[1] = both.client();
        }

        private void flow(Place server, Place client, int size, int smallSize, PairFlow.@Nullable Result[] results) {
            Duration step = settings.stepTimeout();
            int queuePairs = settings.pairsQueuePairs();
            Duration time = settings.pairsTime();
            boolean counted = counters.areWanted();
            LocalRoles.Pair<PairFlow.Result, PairFlow.Result> both = NodeRoles.runPair(
                    server,
                    new PairFlow.Server(
                            new PairFlow.Plan(
                                    queuePairs,
                                    size,
                                    smallSize,
                                    time,
                                    SLOW_HOST.plus(step).plus(time)),
                            counted),
                    client,
                    new PairFlow.Client(
                            new PairFlow.Plan(
                                    queuePairs,
                                    size,
                                    smallSize,
                                    time,
                                    step.dividedBy(2).plus(time)),
                            counted,
                            Fault.NONE),
                    SLOW_HOST.multipliedBy(2).plus(step.multipliedBy(4)).plus(time.multipliedBy(4)));
            if (both.server().messages() != both.client().messages()) {
                throw new AssertionError("the server was told of %d messages, and the client sent %d"
                        .formatted(both.server().messages(), both.client().messages()));
            }
            results[0] = both.server();
            results[1] = both.client();
        }

        private static Flow flow(
                PairFlow.@Nullable Result[] sides, long bytes, Map<String, Long> client, Map<String, Long> server) {
            PairFlow.Result there = sides[0];
            PairFlow.Result here = sides[1];
            if (there == null || here == null) {
                return new Flow(Double.NaN, Double.NaN, Double.NaN, bytes, client, server);
            }
            return new Flow(
                    known(here.bandwidth()),
                    known(here.messageRate()),
                    known(Math.min(here.lineRate(), there.lineRate())),
                    bytes,
                    client,
                    server);
        }

        private static double known(double value) {
            return value > 0 ? value : Double.NaN;
        }

        private void note(Place place, @Nullable String why) {
            if (why != null) {
                unread.put(place.name(), why);
            }
        }

        /** Data flows from the client to the server. */
        private PairLine pairLine(Cell cell) {
            Sample sample = cell.sample();
            Flow flow = sample == null ? Flow.NONE : sample.flow();
            return new PairLine(
                    rail.isEmpty() ? "rail0" : rail,
                    names.get(cell.pair().client()),
                    names.get(cell.pair().server()),
                    null,
                    null,
                    cell.attempts(),
                    switch (cell.outcome()) {
                        case MEASURED -> PairLine.Outcome.MEASURED;
                        case FAILED -> PairLine.Outcome.FAILED;
                        case NOT_MEASURED -> PairLine.Outcome.NOT_MEASURED;
                    },
                    cell.cause() == null ? null : cell.cause().name(),
                    flow.lineRate(),
                    flow.bandwidth(),
                    flow.messageRate(),
                    sample == null ? Double.NaN : sample.p50() / 1e6,
                    sample == null ? Double.NaN : sample.p99() / 1e6,
                    sample == null ? 0 : sample.count(),
                    flow.bytesVerified(),
                    flow.clientCounters(),
                    flow.serverCounters());
        }

        private static SortedMap<String, Long> losses(Map<String, Long> increased, Place place) {
            return increased.isEmpty() ? new TreeMap<>() : new TreeMap<>(CountersThere.losses(increased, place));
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
            String values = sample == null ? "" : values(sample);
            String reason = reason(cell);
            return prefix + values + (reason.isEmpty() || values.isEmpty() ? "" : "; ") + reason;
        }

        private static String values(Sample sample) {
            List<String> values = new ArrayList<>();
            if (sample.count() > 0) {
                values.add("median %.4g us, 99th percentile %.4g us, longest %.4g us of %d"
                        .formatted(sample.p50(), sample.p99(), sample.max(), sample.count()));
            }
            Flow flow = sample.flow();
            if (flow.bandwidth() > 0) {
                values.add("%.4g Gb/s".formatted(flow.bandwidth() / 1e9)
                        + (flow.lineRate() > 0
                                ? ", %.3g %% of the line rate".formatted(100 * flow.bandwidth() / flow.lineRate())
                                : ""));
            }
            if (flow.messageRate() > 0) {
                values.add("%.4g messages per second".formatted(flow.messageRate()));
            }
            return String.join(", ", values);
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
            cells.forEach(cell -> lines.add(pairLine(cell)));
            StringBuilder text = new StringBuilder();
            if (settings.pairsMeasure().contains(PairsMeasure.LATENCY)) {
                text.append(AllPairs.matrix(names, cells, "median round trip of " + SIZE + " bytes in us"));
            }
            if (settings.pairsMeasure().contains(PairsMeasure.BANDWIDTH)) {
                text.append(AllPairs.matrix(
                        names,
                        cells,
                        "bandwidth from client to server in Gb/s, messages of " + settings.pairsSize() + " bytes",
                        sample -> sample.flow().bandwidth() / 1e9));
            }
            if (settings.pairsMeasure().contains(PairsMeasure.RATE)) {
                text.append(AllPairs.matrix(
                        names,
                        cells,
                        "messages of " + SIZE + " bytes per second from client to server",
                        sample -> sample.flow().messageRate()));
            }
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
            figures(cells, "latency p50", "us", Kind.OTHER, Better.LOWER, Sample::p50);
            figures(
                    cells,
                    "bandwidth",
                    "Gb/s",
                    Kind.RATE,
                    Better.HIGHER,
                    sample -> sample.flow().bandwidth() / 1e9);
            figures(
                    cells,
                    "message rate",
                    "messages/s",
                    Kind.RATE,
                    Better.HIGHER,
                    sample -> sample.flow().messageRate());
        }

        /** Publishes the median of all pairs and the worst of them. */
        private void figures(
                List<Cell> cells, String what, String unit, Kind kind, Better better, ToDoubleFunction<Sample> value) {
            double[] values = cells.stream()
                    .map(Cell::sample)
                    .filter(Objects::nonNull)
                    .mapToDouble(value)
                    .filter(each -> !Double.isNaN(each))
                    .sorted()
                    .toArray();
            if (values.length == 0) {
                return;
            }
            double worst = better == Better.LOWER ? values[values.length - 1] : values[0];
            report.measurement(new Measurement(
                    prefix() + what + ", median pair",
                    kind,
                    values[values.length / 2],
                    unit,
                    better,
                    null,
                    values.length));
            report.measurement(
                    new Measurement(prefix() + what + ", worst pair", kind, worst, unit, better, null, values.length));
        }

        private void count(String what, long value, Better better) {
            report.measurement(Measurement.count(prefix() + what, value, "count", better));
        }
    }
}
