package io.rdmatest.scenarios;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.Measurement;
import io.rdmatest.Measurement.Better;
import io.rdmatest.ReportKeys;
import io.rdmatest.SkipReason;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.Thresholds;
import io.rdmatest.fabric.Thresholds.Percentile;
import io.rdmatest.junit.FabricError;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.report.culprits.Culprit;
import io.rdmatest.report.culprits.Culprits;
import io.rdmatest.report.culprits.Metric;
import io.rdmatest.report.culprits.PairLine;
import io.rdmatest.report.culprits.PairsFile;
import io.rdmatest.report.culprits.Quantiles;
import io.rdmatest.scenarios.cprogram.WriteBandwidth;
import io.rdmatest.scenarios.node.NodeRoles;
import io.rdmatest.scenarios.node.Place;
import io.rdmatest.scenarios.pairs.AllPairs;
import io.rdmatest.scenarios.pairs.Cell;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import io.rdmatest.scenarios.pairs.FailedAttemptException;
import io.rdmatest.scenarios.pairs.HostStall;
import io.rdmatest.scenarios.pairs.Pair;
import io.rdmatest.scenarios.pairs.PairRoles;
import io.rdmatest.scenarios.pairs.Rates;
import io.rdmatest.scenarios.pairs.Sample;
import io.rdmatest.scenarios.pairs.Tournament;
import io.rdmatest.scenarios.pairs.Unfinished;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Pace;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Plan;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.DriverQuirks;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
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
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.opentest4j.TestAbortedException;

/** All ordered pairs of the fabric's nodes, over each of its rails. Data flows from the client to the server of a pair. */
@RdmaTest(timeout = "24 h")
@Tag(Phase.PERFORMANCE_TAG)
@DisplayName("All pairs")
public class PairScenarios {

    /** Bytes of a message of round trips, and where the message rate is measured. */
    private static final int SIZE = 64;

    private static final int QPS_OF_SOFTWARE = 2;
    private static final int QPS_OF_HARDWARE = 4;

    /** Round trips of each pair that load classes and are not measured. */
    private static final int UNMEASURED = 10;

    /**
     * How long a pair is measured. Soft-RoCE sends again what is on its way when its timer runs out, which is 1.07 s after the
     * first request and not after the last: a measurement of half of that repeats what was lost and nothing else.
     */
    private static final Duration PINGS = Duration.ofMillis(500);

    /** Counters of soft-RoCE that a timer moves which runs out though nothing was lost. */
    private static final Set<String> OF_STALLS = Set.of("completer_retry_err", "duplicate_request");

    /** The ACK timeout of soft-RoCE's connections. */
    private static final Duration REPEATED = Duration.ofMillis(1073);

    /** How many pairs a failure's message names. */
    private static final int MOST_NAMED = 10;

    /** What a run of any size may take beside its rounds: nodes to be started, others to be given up. */
    private static final Duration LIMIT = Duration.ofMinutes(20);

    /** Larger rails have no matrices and no line for each pair in the report: a browser does not open a million of them. */
    static final int MOST_LISTED_NODES = 32;

    /** Longer limits than this are those of the test's method. */
    private static final Duration LONGEST_LIMIT = Duration.ofHours(23);

    /** Messages of this many bytes and more fill packets of any MTU above the least. */
    private static final int FULL = 1024;

    private static final String SMALL_PASS =
            SIZE + " bytes pass, full packets don't: check the MTU of the switches on this path";

    /** How long a node may take to tell what it knows of a failure. */
    private static final Duration ANSWER = Duration.ofSeconds(5);

    /** How long a host may take to start a side of a pair. */
    private static final Duration SLOW_HOST = Duration.ofMinutes(1);

    /** How long ib_write_bw sends data, and how long all of it may take: an emulated processor logs in for seconds. */
    private static final int OPINION_SECONDS = 2;

    private static final Duration OPINION = Duration.ofSeconds(45);

    /** How often a run that takes longer reports what it has measured. */
    private static final Duration NEWS = Duration.ofMinutes(1);

    @Test
    @DisplayName("latency, bandwidth and message rate between all nodes")
    void allPairs(Nodes nodes, CountersThere counters, RdmaReport report, ScenarioSettings settings)
            throws InterruptedException {
        if (!settings.allPairs()) {
            throw new TestAbortedException(SkipReason.NOT_SELECTED.because(ScenarioSettings.PAIRS + " is false"));
        }
        if (nodes.size() < 2) {
            throw new TestAbortedException(
                    SkipReason.PEER_ABSENT.because("the fabric " + nodes.fabric() + " has one node"));
        }
        Duration demanded = nodes.thresholds().roundTrip().get(Percentile.P50);
        AllPairs.Rules rules = new AllPairs.Rules(
                settings.pairsOutlier(),
                demanded == null ? Double.POSITIVE_INFINITY : demanded.toNanos() / 1e3,
                nodes.thresholds().bandwidth(),
                counters.areJudged());
        Duration limit = LIMIT.plus(limitOfRounds(nodes, settings.pairs()));
        if (limit.compareTo(LONGEST_LIMIT) > 0) {
            limit = LONGEST_LIMIT;
        }
        String words = limit.toMinutes() + " min";
        long deadline = Deadline.end(limit);
        Duration budget = settings.pairs().budget();
        long budgetEnd = Deadline.end(budget == null ? limit : budget);
        int railsLeft = nodes.rails().size();
        Findings findings = new Findings();
        PairsFile file = PairsFile.begin(settings.pairs().file());
        Path written = file.path();
        List<Rail> measuredRails = new ArrayList<>();
        try (file) {
            for (String rail : nodes.rails()) {
                // What a rail leaves of its share is the next ones'.
                long share = Deadline.end(Duration.ofNanos(Deadline.nanos(budgetEnd) / railsLeft--));
                List<String> names = nodes.on(rail);
                if (names.size() < 2) {
                    findings.unknown.add("rail " + rail + " connects no two nodes");
                    continue;
                }
                Rail measured = new Rail(nodes, rail, names, counters, report, settings, rules, file);
                measuredRails.add(measured);
                try {
                    report.step(
                            "%d nodes%s".formatted(names.size(), rail.isEmpty() ? "" : " on rail " + rail),
                            () -> measured.run(deadline, words, share));
                } finally {
                    // Also of a run that was interrupted.
                    measured.report(findings);
                }
            }
            if (written != null && file.failure() == null) {
                findings.measureAgain(file, measuredRails, deadline);
            }
        }
        if (file.failure() != null) {
            findings.unknown.add(file.failure());
        } else if (written != null) {
            findings.explain(file);
        }
        findings.requireDemands(nodes.thresholds());
        findings.judge();
    }

    /**
     * Returns how long the rounds of all pairs of a fabric may take, over all of its rails: it grows with the number of rounds.
     *
     * @param fabric the fabric, on one rail if that is chosen
     * @param settings what is measured in a round
     * @return the sum of {@link PairSettings#limitOfRound()} of all rounds
     */
    public static Duration limitOfRounds(Fabric fabric, PairSettings settings) {
        return limitOfRounds(new Nodes(fabric), settings);
    }

    private static Duration limitOfRounds(Nodes nodes, PairSettings settings) {
        long rounds = nodes.rails().stream()
                .mapToInt(rail -> nodes.on(rail).size())
                .filter(number -> number > 1)
                .mapToLong(number -> Math.min(settings.rounds(), new Tournament(number).rounds()))
                .sum();
        return settings.limitOfRound().multipliedBy(rounds);
    }

    /** What speaks against the fabric, and what is not known of it; of all rails. */
    static final class Findings {

        private final List<String> givenUp = new ArrayList<>();
        private final List<String> bad = new ArrayList<>();
        private final List<String> unknown = new ArrayList<>();
        private final List<String> culprits = new ArrayList<>();
        private final Confirmations confirmations = new Confirmations();

        /** The cause of the first bad pair. */
        private Cause first = Cause.OUTLIER;

        /** What explains the pairs; null if that was not read, or the file has more lines since. */
        private @Nullable Culprits explanation;

        /** Why pairs are not measured: what a busy host explains counts first. */
        private Cause why = Cause.HOST_NOT_READY;

        private boolean knowsTimes;
        private boolean knowsShares;

        /** Measures causes again, whose results are then told with them. */
        void measureAgain(PairsFile file, List<Rail> rails, long deadline) {
            try {
                Culprits before = file.culprits();
                explanation = confirmations.measure(before.causes(), rails, deadline) ? null : before;
            } catch (IOException e) {
                // The pairs are explained once more in the end, which fails then as well and tells why.
            }
        }

        /** Finds what explains the pairs: a port that is a little slow with all of its partners is bad with none alone. */
        void explain(PairsFile file) {
            try {
                Culprits last = explanation == null ? file.culprits() : explanation;
                last.causes().stream()
                        // A single pair is judged by the rules for pairs: of two nodes, noise alone can name one.
                        .filter(cause -> !(cause instanceof Culprit.Path))
                        .forEach(cause -> culprits.add(line(cause)));
            } catch (IOException e) {
                unknown.add("what explains the pairs: " + AllPairs.text(e));
            }
        }

        private String line(Culprit cause) {
            return cause.name() + ": " + cause.evidence().text() + confirmations.hindrance(cause);
        }

        /** Takes the cause of a pair that is not measured. */
        void note(@Nullable Cause cause) {
            if (cause == Cause.HOST_BUSY) {
                why = Cause.HOST_BUSY;
            } else if (cause == Cause.ATTEMPTS_DISAGREE && why == Cause.HOST_NOT_READY) {
                why = Cause.ATTEMPTS_DISAGREE;
            }
        }

        /** A demand that nothing was held against is not kept. */
        void requireDemands(Thresholds demanded) {
            if (demanded.bandwidth() > 0 && !knowsShares) {
                unknown.add(
                        "the bandwidth that the fabric file demands, %.4g %% of the line rate: no pair has both values"
                                .formatted(100 * demanded.bandwidth()));
            }
            if (demanded.roundTrip().containsKey(Percentile.P50) && !knowsTimes) {
                unknown.add("the p50 that the fabric file demands: no pair has round trips");
            }
        }

        void judge() {
            String nodes = givenUp.isEmpty()
                    ? ""
                    : some(givenUp.size() == 1 ? "node given up" : "nodes given up", givenUp) + "; ";
            List<String> found = new ArrayList<>();
            if (!bad.isEmpty()) {
                found.add(some(bad.size() == 1 ? "bad pair" : "bad pairs", bad));
            }
            if (!culprits.isEmpty()) {
                found.add(some(culprits.size() == 1 ? "culprit" : "culprits", culprits));
            }
            if (!found.isEmpty()) {
                found.addAll(confirmations.notes());
            }
            if (!found.isEmpty()) {
                throw new FabricError(first, nodes + String.join("; ", found));
            }
            if (!unknown.isEmpty()) {
                throw new ScenarioException(why, nodes + some("not measured", unknown));
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
    static final class Rail implements Confirmations.Rail {

        private final Nodes nodes;
        private final String rail;
        private final List<String> names;
        private final CountersThere counters;
        private final RdmaReport report;
        private final ScenarioSettings settings;
        private final Plan toServe;
        private final Plan toDrive;
        private final RailLines lines;
        private final AllPairs all;
        private final AtomicLong verified = new AtomicLong();
        private final Map<String, String> unread = new ConcurrentHashMap<>();
        private final Set<Pair> told = new HashSet<>();
        private final boolean listed;

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
                PairsFile file) {
            this.nodes = nodes;
            this.rail = rail;
            this.names = names;
            this.counters = counters;
            this.report = report;
            this.settings = settings;
            // Read once: there may be a million pairs.
            Plan pings = Plan.parse("-S", SIZE, "-C", settings.pingPongIterations());
            this.toServe = pings.and("--timeout", SLOW_HOST.plus(settings.stepTimeout()));
            this.toDrive = pings.and("--timeout", settings.stepTimeout().dividedBy(2));
            this.lines = new RailLines(
                    file,
                    name(),
                    names,
                    node -> nodes.leaf(node, rail),
                    settings.pairs().bothWays() ? 2 : 1);
            this.listed = names.size() <= MOST_LISTED_NODES || file.path() == null;
            this.all = new AllPairs(names.size(), rules, this::measure, lines::write);
        }

        void run(long deadline, String limit, long budget) throws InterruptedException {
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
            all.run(deadline, limit, round -> settings.pairs().leavesOut(round, budget), this::tellNews);
        }

        /**
         * Measures a pair. A path that is dead costs half of the time of a step: the client alone decides when it has waited for
         * long enough, and the server is ended then. A host that is slow to start a side costs what it takes: that is no fault
         * of the fabric.
         */
        private Sample measure(Pair pair) {
            lines.begin(pair);
            Place serverPlace = nodes.place(names.get(pair.server()), rail);
            Place clientPlace = nodes.place(names.get(pair.client()), rail);
            int queuePairs = queuePairs(serverPlace, clientPlace);
            LocalRoles.Pair<PairRoles.Result, PairRoles.Result> results;
            try (HostStall stall = HostStall.begin()) {
                try {
                    results = NodeRoles.runPair(
                            serverPlace,
                            new PairRoles.Server(plan(queuePairs, toServe)),
                            clientPlace,
                            new PairRoles.Client(plan(queuePairs, toDrive)),
                            SLOW_HOST
                                    .multipliedBy(2)
                                    .plus(settings.stepTimeout().multipliedBy(5))
                                    .plus(settings.pairs().streams().multipliedBy(2)));
                } catch (RuntimeException | Error e) {
                    throw failed(e, serverPlace, clientPlace, stall.end());
                }
            }
            PairRoles.Result server = results.server();
            PairRoles.Result client = results.client();
            long bytes = server.bytesVerified() + client.bytesVerified();
            verified.addAndGet(bytes);
            lines.found(pair, new RailLines.Details(bytes, client.increased(), server.increased()));
            if (server.iterations() != client.iterations()) {
                throw new AssertionError("the server answered %d round trips, and the client had %d answers"
                        .formatted(server.iterations(), client.iterations()));
            }
            boolean timed = isTimed(client.count());
            return new Sample(
                    timed ? client.p50() / 1e3 : Double.NaN,
                    timed ? client.p99() / 1e3 : Double.NaN,
                    timed ? client.max() / 1e3 : Double.NaN,
                    client.count(),
                    rates(server, client),
                    losses(server, serverPlace),
                    losses(client, clientPlace),
                    server.delay().worse(client.delay()));
        }

        /** The median of a few round trips is one of them. */
        private boolean isTimed(long count) {
            return count >= Math.min(Sample.LEAST, settings.pingPongIterations());
        }

        /** Asks both sides what they knew when they failed. This host's own delay counts as well: it runs the machines, or asks. */
        private FailedAttemptException failed(
                Throwable failure, Place serverPlace, Place clientPlace, HostStall.Delay delay) {
            Cause cause = Cause.of(failure);
            boolean isAsked = cause.verdict() == Cause.Verdict.FAILED && cause.mayBeRetried();
            Unfinished server = isAsked ? unfinished(serverPlace, true) : Unfinished.UNKNOWN;
            Unfinished client = isAsked ? unfinished(clientPlace, false) : Unfinished.UNKNOWN;
            PairSettings pairs = settings.pairs();
            Unfinished posted = PairRoles.poster(pairs.operation(), server, client);
            boolean timed = isTimed(client.count());
            return new FailedAttemptException(
                    failure,
                    new Sample(
                            timed ? client.p50() / 1e3 : Double.NaN,
                            timed ? client.p99() / 1e3 : Double.NaN,
                            timed ? client.max() / 1e3 : Double.NaN,
                            client.count(),
                            Rates.NONE,
                            new TreeMap<>(),
                            new TreeMap<>(),
                            delay.worse(server.delay()).worse(client.delay())),
                    timed && posted.inBandwidth() && !posted.hasMoved() && pairs.size() >= FULL ? SMALL_PASS : null);
        }

        /** Asks a node that may be dead; it has a few seconds to answer. */
        private static Unfinished unfinished(Place place, boolean atServer) {
            try (NodeRoles roles = new NodeRoles()) {
                return roles.start("unfinished", place, new Unfinished.Read(atServer))
                        .join(ANSWER);
            } catch (RuntimeException e) {
                // Nothing is known of it then; the failure of the pair is told.
                return Unfinished.UNKNOWN;
            }
        }

        private PairRoles.Plan plan(int queuePairs, Plan pings) {
            PairSettings pairs = settings.pairs();
            Set<Metric> measure = pairs.measure();
            return new PairRoles.Plan(
                    measure.contains(Metric.LATENCY_P50) ? pings : null,
                    new Pace(UNMEASURED, Sample.LEAST, PINGS),
                    pairs.operation(),
                    pairs.bothWays(),
                    queuePairs,
                    measure.contains(Metric.BANDWIDTH) ? pairs.size() : 0,
                    measure.contains(Metric.MESSAGE_RATE) ? SIZE : 0,
                    pairs.time(),
                    pings.timeout(),
                    counters.areWanted());
        }

        private int queuePairs(Place... places) {
            if (settings.pairs().queuePairs() > 0) {
                return settings.pairs().queuePairs();
            }
            boolean software = Stream.of(places)
                    .map(place -> place.facts().environment().getOrDefault("driver", ""))
                    .anyMatch(DriverQuirks::isSoftware);
            return software ? QPS_OF_SOFTWARE : QPS_OF_HARDWARE;
        }

        /** Of a stream, the side has the times that posted its requests. */
        private Rates rates(PairRoles.Result server, PairRoles.Result client) {
            long slower = Math.min(server.lineRate(), client.lineRate());
            PairRoles.Result posted = PairRoles.poster(settings.pairs().operation(), server, client);
            return new Rates(
                    posted.bandwidth().bitsPerSecond(),
                    posted.rate().messagesPerSecond(),
                    slower > 0 ? slower : Double.NaN);
        }

        @Override
        public String name() {
            return rail.isEmpty() ? PairLine.ONLY_RAIL : rail;
        }

        @Override
        public List<String> names() {
            return names;
        }

        @Override
        public List<Cell> cells() {
            return all.cells();
        }

        /** Measures a pair again. The result goes to the file of results. */
        @Override
        public void measureAgain(String from, String to) {
            Pair pair = new Pair(names.indexOf(to), names.indexOf(from));
            Sample sample = null;
            Cause cause = null;
            try {
                sample = measure(pair);
            } catch (RuntimeException | Error e) {
                cause = Cause.of(e);
            }
            PairLine.Outcome outcome = sample != null
                    ? PairLine.Outcome.MEASURED
                    : cause != null && cause.verdict() == Cause.Verdict.FAILED
                            ? PairLine.Outcome.FAILED
                            : PairLine.Outcome.NOT_MEASURED;
            lines.confirm(pair, outcome, cause, sample);
        }

        /** Measures a bad pair with ib_write_bw: its bandwidth, or its message rate if only that was measured. */
        @Override
        public Confirmations.Answer askOther(String from, String to) {
            PairSettings pairs = settings.pairs();
            if (pairs.bothWays() || pairs.operation() != PairRoles.Operation.WRITE) {
                return new Confirmations.Answer(
                        false,
                        WriteBandwidth.PROGRAM + " is asked about WRITE in one direction only ("
                                + PairSettings.OPERATION + ", " + PairSettings.DIRECTIONS + ")");
            }
            Pair pair = new Pair(names.indexOf(to), names.indexOf(from));
            try {
                Place fromPlace = nodes.place(from, rail);
                Place toPlace = nodes.place(to, rail);
                int size = pairs.measure().contains(Metric.BANDWIDTH) ? pairs.size() : SIZE;
                WriteBandwidth.Result result = WriteBandwidth.measure(
                        fromPlace,
                        toPlace,
                        new WriteBandwidth.Plan(
                                size,
                                queuePairs(fromPlace, toPlace),
                                // More would be lost on a slow path, and counters would tell of it.
                                PairRoles.messagesInFlight(size),
                                OPINION_SECONDS,
                                OPINION));
                if (result.missingOn() != null) {
                    return new Confirmations.Answer(false, result.reason());
                }
                lines.confirm(pair, lineRate(pair), result);
                return result.isMeasured() ? Confirmations.Answer.MEASURED : Confirmations.Answer.FAILED;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return Confirmations.Answer.FAILED;
            } catch (RuntimeException e) {
                // A node that is lost: its pairs told it, and no second opinion changes a verdict.
                lines.confirm(pair, lineRate(pair), WriteBandwidth.Result.failed(e));
                return Confirmations.Answer.FAILED;
            }
        }

        @Override
        public boolean measuresBandwidth() {
            return settings.pairs().measure().contains(Metric.BANDWIDTH);
        }

        private double lineRate(Pair pair) {
            return all.cells().stream()
                    .filter(cell -> cell.pair().equals(pair))
                    .map(Cell::sample)
                    .filter(Objects::nonNull)
                    .mapToDouble(sample -> sample.rates().lineRate())
                    .findFirst()
                    .orElse(Double.NaN);
        }

        private SortedMap<String, Long> losses(PairRoles.Result side, Place place) {
            if (side.unread() != null) {
                unread.put(place.name(), side.unread());
            }
            return side.increased().isEmpty()
                    ? new TreeMap<>()
                    : withoutStalls(new TreeMap<>(CountersThere.losses(side.increased(), place)), place, side);
        }

        /**
         * Takes away repetitions of soft-RoCE that lost packets don't explain: its timer runs out 1.07 s after the first of some
         * requests, however the later ones fare. Packets that are missing show in other counters as well.
         */
        private static SortedMap<String, Long> withoutStalls(
                SortedMap<String, Long> losses, Place place, PairRoles.Result side) {
            long timers = 1 + side.delay().elapsed() / REPEATED.toNanos();
            if (DriverQuirks.repeatsOnASlowHost(place.facts().environment().getOrDefault("driver", ""))
                    && OF_STALLS.containsAll(losses.keySet())
                    && losses.values().stream().allMatch(each -> each <= timers)) {
                losses.clear();
            }
            return losses;
        }

        /** Reports what was measured since the last time, so that little is lost when the run is killed. */
        private void tellNews() {
            if (!listed || System.nanoTime() - lastNews < NEWS.toNanos()) {
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
            Rates rates = sample.rates();
            if (!Double.isNaN(rates.bandwidth())) {
                values.add("%.4g Gb/s".formatted(rates.bandwidth() / 1e9)
                        + (Double.isNaN(rates.share())
                                ? ""
                                : " (%.3g %% of the line rate)".formatted(100 * rates.share())));
            }
            if (!Double.isNaN(rates.messageRate())) {
                values.add("%.4g Mmsg/s".formatted(rates.messageRate() / 1e6));
            }
            return String.join(", ", values);
        }

        private static String reason(Cell cell) {
            if (cell.reason() == null) {
                return cell.firstReason() == null
                        ? ""
                        : "good at attempt %d; the first: %s".formatted(cell.attempts(), cell.firstReason());
            }
            String first = cell.firstReason();
            String before = first == null || cell.reason().contains(first) ? "" : "; the first: " + first;
            return cell.reason() + (cell.attempts() < 2 ? "" : " (attempt %d%s)".formatted(cell.attempts(), before));
        }

        private String prefix() {
            return rail.isEmpty() ? "" : rail + " ";
        }

        void report(Findings findings) {
            List<Cell> cells = all.cells();
            // Also those that only the others show to be slow, and whose second attempt did not come.
            cells.stream().filter(cell -> !lines.isUpToDate(cell)).forEach(lines::write);
            StringBuilder text = listed
                    ? matrices(cells)
                    : new StringBuilder("%d nodes: the pairs are in %s beside the report, one in a line"
                            .formatted(
                                    names.size(),
                                    Objects.requireNonNull(settings.pairs().file())
                                            .getFileName()));
            all.leftOut().ifPresent(what -> {
                String words = what + ": each node and each port was measured, single paths need all rounds";
                report.parameter((prefix() + ReportKeys.LEFT_OUT_BY_REQUEST).strip(), words);
                text.append(System.lineSeparator()).append("left out: ").append(words);
            });
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
                if (listed) {
                    text.append(System.lineSeparator()).append(line);
                }
                if (cell.verdict() == Verdict.BAD) {
                    if (findings.bad.isEmpty() && cell.cause() != null) {
                        findings.first = cell.cause();
                    }
                    findings.bad.add(line);
                } else if (cell.verdict() == Verdict.NOT_MEASURED) {
                    findings.unknown.add(line);
                    findings.note(cell.cause());
                }
            }
            report.bytesVerified(verified.get());
            report.attachment(title(), "text/plain", text.toString());
            measurements(cells, findings);
            count("pairs", cells.size(), Better.NEITHER);
            for (Verdict verdict : Verdict.values()) {
                count(
                        verdict.name().toLowerCase(Locale.ROOT).replace('_', ' '),
                        cells.stream().filter(cell -> cell.verdict() == verdict).count(),
                        verdict == Verdict.GOOD ? Better.HIGHER : Better.LOWER);
            }
            count("nodes given up", all.givenUp().size(), Better.LOWER);
        }

        private StringBuilder matrices(List<Cell> cells) {
            StringBuilder text = new StringBuilder();
            for (Metric metric : settings.pairs().measure()) {
                String what = switch (metric) {
                    case LATENCY_P50 -> "median round trip of " + SIZE + " bytes in ";
                    case BANDWIDTH -> "bandwidth to the server in ";
                    case MESSAGE_RATE -> "rate of messages of " + SIZE + " bytes to the server in ";
                    case LATENCY_P99, COUNTERS -> "";
                };
                if (what.isEmpty()) {
                    continue;
                }
                text.append(AllPairs.matrix(
                                names,
                                cells,
                                what + metric.unit() + (metric.isRate() ? direction() : ""),
                                sample -> shown(metric, sample)))
                        .append(System.lineSeparator());
            }
            return text;
        }

        private static double shown(Metric metric, Sample sample) {
            return switch (metric) {
                case BANDWIDTH -> sample.rates().bandwidth() * metric.scale();
                case MESSAGE_RATE -> sample.rates().messageRate() * metric.scale();
                // In microseconds already.
                case LATENCY_P50 -> sample.p50();
                case LATENCY_P99 -> sample.p99();
                case COUNTERS -> Double.NaN;
            };
        }

        private String direction() {
            return settings.pairs().bothWays() ? ", with as much traffic back" : "";
        }

        /** Measures the rail by its pairs: what the worst one reaches, and the one in the middle. */
        private void measurements(List<Cell> cells, Findings findings) {
            List<Sample> samples =
                    cells.stream().map(Cell::sample).filter(Objects::nonNull).toList();
            findings.knowsTimes |= samples.stream().anyMatch(sample -> sample.count() > 0);
            findings.knowsShares |= samples.stream()
                    .anyMatch(sample -> !Double.isNaN(sample.rates().share()));
            for (Metric metric : List.of(Metric.BANDWIDTH, Metric.MESSAGE_RATE)) {
                double[] rates = sorted(samples, sample -> shown(metric, sample));
                if (rates.length > 0) {
                    rate(metric, "median", Quantiles.median(rates), rates.length);
                    rate(metric, "minimum", rates[0], rates.length);
                }
            }
            double[] medians = sorted(samples, Sample::p50);
            if (medians.length > 0) {
                time("minimum", medians[0], medians.length);
                time("median", Quantiles.median(medians), medians.length);
                time("maximum", medians[medians.length - 1], medians.length);
            }
        }

        private static double[] sorted(List<Sample> samples, ToDoubleFunction<Sample> value) {
            return samples.stream()
                    .mapToDouble(value)
                    .filter(each -> !Double.isNaN(each))
                    .sorted()
                    .toArray();
        }

        private void rate(Metric metric, String which, double value, int pairs) {
            report.measurement(Measurement.rate(prefix() + metric.quantity() + " " + which, value, metric.unit())
                    .of(pairs));
        }

        private void time(String which, double micros, int pairs) {
            String what = prefix() + Metric.LATENCY_P50.quantity() + " " + which;
            report.measurement(
                    new Measurement(what, Measurement.Kind.DURATION, micros, "us", Better.LOWER, null, pairs));
        }

        private void count(String what, long value, Better better) {
            report.measurement(Measurement.count(prefix() + what, value, "count", better));
        }
    }
}
