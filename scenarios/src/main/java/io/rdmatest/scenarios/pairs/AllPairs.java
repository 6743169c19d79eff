package io.rdmatest.scenarios.pairs;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.scenarios.pairs.Cell.Verdict;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Measures all ordered pairs of nodes, in rounds in which every node is in at most one pair. Distinguishes bad pairs from pairs
 * of which nothing is known.
 *
 * <p>Wrong data and a refused request make a pair bad at once. Whatever a host that stalls shows as well gets a second attempt: a
 * slow pair, one that repeats packets, one whose peer, address or route is not found in time, one whose peer no longer answers. Such
 * a pair is bad if two attempts show the same; a third one decides between two that differ. If the host was busy each time, or each
 * attempt shows something else, the pair is not measured. A node that fails with one partner after the other is given up: the rest of
 * its pairs are not measured.
 */
public final class AllPairs {

    /** The measurement between two nodes. */
    @FunctionalInterface
    public interface Measurement {

        /**
         * Measures.
         *
         * @param pair which nodes
         * @return the values
         * @throws Exception a failure; its {@link Cause} decides whether the fabric is at fault. A {@link FailedAttemptException}
         *     says what was measured before
         */
        Sample measure(Pair pair) throws Exception;
    }

    /**
     * How pairs are judged.
     *
     * @param outlier the factor, above 1, that makes a median an outlier: relative to the median of all pairs, or with 2 to 4
     *     nodes to the lower quartile
     * @param most the largest median of a good pair, in microseconds, whatever the other pairs are like; infinite for none
     * @param leastShare the smallest good bandwidth as a share of the line rate, where 1 is the whole line rate; 0 for none
     * @param errorsAreBad whether a pair is bad if counters of lost, repeated or damaged packets increase during its measurement
     */
    public record Rules(double outlier, double most, double leastShare, boolean errorsAreBad) {

        /**
         * Checks the numbers.
         *
         * @throws IllegalArgumentException if the factor is not above 1, or the share not from 0 to 1
         */
        public Rules {
            if (!(outlier > 1)) {
                throw new IllegalArgumentException(
                        "An outlier is above the others by a factor above 1, not " + outlier);
            }
            if (!(leastShare >= 0 && leastShare <= 1)) {
                throw new IllegalArgumentException("A share of the line rate is from 0 to 1, not " + leastShare);
            }
        }

        /** Creates rules that demand no bandwidth. */
        public Rules(double outlier, double most, boolean errorsAreBad) {
            this(outlier, most, 0, errorsAreBad);
        }
    }

    /** From this number of nodes on, one node is in less than half of the pairs. */
    private static final int ENOUGH = 5;

    /** A bandwidth is an outlier if it is below the usual bandwidth by this factor. */
    static final double LOW_BANDWIDTH = 2;

    /** A tail is an outlier if it is above the median by this factor. */
    static final double LONG_TAIL = 20;

    /** A node that never worked is given up when it failed with so many others in a row. */
    static final int GIVE_UP = 3;

    /** A node that worked before is given up when it failed with so many others in a row. */
    static final int GIVE_UP_LATER = 6;

    private static final int MOST_ATTEMPTS = 3;

    /** From so many pairs of a node on that show the same twice, the node's other pairs with that finding are not tried again. */
    static final int SPEAK_FOR_OTHERS = 5;

    /** Up to this many nodes, all second attempts take a minute at most. */
    private static final int FEW_NODES = 32;

    /** What an attempt shows. Two that show the same make a pair bad. */
    private enum Symptom {
        /** A peer, an address or a route that was not found, or a peer that no longer answers. */
        NO_ANSWER,
        /** Some packets pass, and others never do. */
        PATTERN,
        COUNTERS,
        LATENCY,
        BANDWIDTH,
        TAIL,
        /** Any other. */
        OTHER
    }

    /** One attempt: it measured, or it failed for a cause. */
    private record Attempt(
            @Nullable Sample sample,
            @Nullable Cause cause,
            @Nullable String reason,
            Symptom symptom) {

        Attempt(@Nullable Sample sample, @Nullable Cause cause, @Nullable String reason) {
            this(sample, cause, reason, Symptom.OTHER);
        }

        /** Returns the attempt with what a measured value shows, which counts only if the host was not busy. */
        Attempt showing(Symptom shown, Cause why, String text) {
            Sample measured = Objects.requireNonNull(sample);
            boolean isHosts = shown == Symptom.TAIL ? measured.hasTailOfABusyHost() : measured.isOfABusyHost();
            return isHosts
                    ? new Attempt(measured, Cause.HOST_BUSY, measured.delayed() + "; " + text, shown)
                    : new Attempt(measured, why, text, shown);
        }

        /** Returns an attempt that ended with a failure. */
        static Attempt failed(Throwable thrown) {
            FailedAttemptException known = thrown instanceof FailedAttemptException failed ? failed : null;
            Throwable failure = known == null ? thrown : known.failure();
            Cause cause = Cause.of(failure);
            if (cause.verdict() != Cause.Verdict.FAILED || !cause.mayBeRetried()) {
                return new Attempt(null, cause, text(failure));
            }
            String pattern = known == null ? null : known.pattern();
            Symptom symptom = pattern == null ? Symptom.NO_ANSWER : Symptom.PATTERN;
            String reason = (pattern == null ? "" : pattern + "; ") + text(failure);
            Sample until = known == null || known.until().count() == 0 ? null : known.until();
            return known != null && known.until().isSilenceOfABusyHost()
                    ? new Attempt(until, Cause.HOST_BUSY, known.until().delayed() + "; " + reason, symptom)
                    : new Attempt(until, cause, reason, symptom);
        }

        /** Returns whether the measurement ended before all values were there. */
        boolean isFailed() {
            return cause != null
                    && (symptom == Symptom.NO_ANSWER || symptom == Symptom.PATTERN || symptom == Symptom.OTHER);
        }

        boolean isHosts() {
            return cause == Cause.HOST_BUSY;
        }

        boolean mayBeRetried() {
            return cause != null && (cause.mayBeRetried() || cause == Cause.THRESHOLD_MISSED);
        }

        /** Returns whether both attempts show the same of the fabric. */
        boolean isLike(Attempt other) {
            return symptom == other.symptom
                    && isHosts() == other.isHosts()
                    && (symptom != Symptom.OTHER || cause == other.cause);
        }
    }

    /**
     * The values that a good pair is expected to reach; NaN if nothing was measured.
     *
     * @param p50 the median in microseconds
     * @param bandwidth in bit/s, or the share of the line rate
     * @param isShare whether the bandwidth is a share of the line rate: then a slow port on a rail with several rates is no
     *     outlier
     */
    private record Usual(double p50, double bandwidth, boolean isShare) {

        static final Usual UNKNOWN = new Usual(Double.NaN, Double.NaN, false);

        double bandwidthOf(Rates rates) {
            return isShare ? rates.share() : rates.bandwidth();
        }
    }

    /** A node in one direction of its pairs, and what they show. */
    private record Side(int node, boolean server, Symptom symptom) {}

    /** How many second attempts showed the same as the first one, and how many did not. */
    private static final class Repeats {
        private int same;
        private int different;
    }

    private final Tournament tournament;
    private final Rules rules;
    private final Measurement measurement;
    private final Consumer<Cell> told;

    // These fields are guarded by this object, because measurements end on threads of their own.
    private final Map<Pair, List<Attempt>> attempts = new HashMap<>();
    private final SortedMap<Integer, String> givenUp = new TreeMap<>();
    private final Map<Side, Repeats> repeats = new HashMap<>();

    /** How many rounds were begun. */
    private int begun;

    /** Why no further round is wanted; null if all are. */
    private @Nullable String leftOut;

    /** The nodes that were given up because their pairs failed. */
    private final Set<Integer> failing = new HashSet<>();

    private String untried = "its turn has not come";
    private boolean interrupted;
    private Usual usualOfAll = Usual.UNKNOWN;

    // These fields are used only by the thread that runs the rounds.
    private final Set<Integer> working = new HashSet<>();
    private final Map<Integer, Set<Integer>> failedWith = new HashMap<>();

    /**
     * Prepares the measurement of all pairs.
     *
     * @param nodes how many nodes there are, at least 2
     * @param rules how pairs are judged
     * @param measurement what is measured; called by several threads at once, for pairs that have no node in common
     */
    public AllPairs(int nodes, Rules rules, Measurement measurement) {
        this(nodes, rules, measurement, cell -> {});
    }

    /**
     * Prepares the measurement of all pairs, whose results are passed on one by one.
     *
     * @param nodes how many nodes there are, at least 2
     * @param rules how pairs are judged
     * @param measurement what is measured; called by several threads at once, for pairs that have no node in common
     * @param told takes each pair as soon as it was tried; called by several threads at once. The first attempt of a pair is
     *     judged by itself, the second one also by the other pairs
     */
    public AllPairs(int nodes, Rules rules, Measurement measurement, Consumer<Cell> told) {
        this.told = told;
        this.tournament = new Tournament(nodes);
        this.rules = rules;
        this.measurement = measurement;
    }

    /**
     * Gives up a node: its remaining pairs will not be measured.
     *
     * @param node its number
     * @param reason why, as a clause
     */
    public synchronized void giveUp(int node, String reason) {
        givenUp.putIfAbsent(node, reason);
    }

    /** Returns the nodes that were given up, by their numbers, and why. */
    public synchronized SortedMap<Integer, String> givenUp() {
        return new TreeMap<>(givenUp);
    }

    /**
     * Measures all pairs. However this ends, {@link #cells} has the results until then.
     *
     * @param deadline the time after which no new round begins, on the scale of {@link System#nanoTime}
     * @param limit the time limit as text, for example {@code 30 min}, for the reason of pairs that are not measured
     * @param leaveOut says before each round, by its number, why this one and all later ones are not wanted; null if it is
     * @param afterRound called on this thread after each round
     * @throws InterruptedException if the caller is to end; measurements under way were interrupted, and have ended
     */
    public void run(long deadline, String limit, IntFunction<@Nullable String> leaveOut, Runnable afterRound)
            throws InterruptedException {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            try {
                for (int round = 0; round < tournament.rounds() && isTime(deadline, limit); round++) {
                    if (!begin(round, leaveOut.apply(round))) {
                        break;
                    }
                    measure(threads, tournament.round(round), false);
                    afterRound.run();
                }
                // Second attempts change what is usual, and that makes other pairs suspects. Each pair has two attempts
                // at most.
                List<Pair> suspects = suspects();
                while (!suspects.isEmpty() && isTime(deadline, limit)) {
                    for (List<Pair> round : disjoint(suspects)) {
                        if (!isTime(deadline, limit)) {
                            break;
                        }
                        List<Pair> open =
                                round.stream().filter(this::needsAttempt).toList();
                        if (open.isEmpty()) {
                            continue;
                        }
                        measure(threads, open, true);
                        afterRound.run();
                    }
                    suspects = suspects();
                }
            } catch (InterruptedException e) {
                synchronized (this) {
                    interrupted = true;
                    untried = "the run was interrupted before";
                }
                threads.shutdownNow();
                throw e;
            }
        }
    }

    private synchronized boolean begin(int round, @Nullable String reason) {
        leftOut = reason;
        begun = reason == null ? round + 1 : round;
        return reason == null;
    }

    /** Returns how many rounds are not wanted, and why; empty if all are. */
    public synchronized Optional<String> leftOut() {
        return Optional.ofNullable(leftOut)
                .map(reason ->
                        "%d of %d rounds (%s)".formatted(tournament.rounds() - begun, tournament.rounds(), reason));
    }

    private synchronized boolean isTime(long deadline, String limit) {
        if (!Deadline.isOver(deadline)) {
            return true;
        }
        untried = "the time limit of all pairs, " + limit + ", ended before";
        return false;
    }

    private void measure(ExecutorService threads, List<Pair> round, boolean again) throws InterruptedException {
        Map<Pair, Future<Attempt>> running = new LinkedHashMap<>();
        for (Pair pair : round) {
            if (reasonToLeaveOut(pair) == null) {
                running.put(pair, threads.submit(() -> attempt(pair)));
            }
        }
        for (Map.Entry<Pair, Future<Attempt>> each : running.entrySet()) {
            try {
                Attempt attempt = each.getValue().get();
                // Second attempts are of bad pairs only, so that nothing good comes between two failures of a node.
                if (!again) {
                    note(each.getKey(), attempt);
                }
            } catch (ExecutionException e) {
                throw new IllegalStateException(e);
            }
        }
        giveUpNodes();
    }

    /** Measures and keeps the result, also when nobody waits for it any more. */
    private Attempt attempt(Pair pair) {
        Attempt attempt;
        try {
            Sample sample = measurement.measure(pair);
            attempt = judgedByErrors(sample);
        } catch (Throwable e) {
            attempt = Attempt.failed(e);
        }
        Cell cell;
        synchronized (this) {
            if (interrupted && attempt.isFailed()) {
                attempt = new Attempt(null, Cause.INTERRUPTED, "the run was interrupted");
            }
            List<Attempt> made = attempts.computeIfAbsent(pair, key -> new ArrayList<>(MOST_ATTEMPTS));
            made.add(attempt);
            if (made.size() == 2) {
                countRepeat(pair, made);
            }
            cell = cell(pair, made, usualOfAll);
        }
        told.accept(cell);
        return attempt;
    }

    private Attempt judgedByErrors(Sample sample) {
        Rates rates = sample.rates();
        if (rates.share() > 1) {
            return new Attempt(
                    null,
                    Cause.DEFECT,
                    "the measurement is wrong: %s is above the line rate, %s"
                            .formatted(gigabits(rates.bandwidth()), gigabits(rates.lineRate())));
        }
        String errors = sample.errors();
        Attempt measured = new Attempt(sample, null, null);
        return rules.errorsAreBad() && !errors.isEmpty()
                ? measured.showing(Symptom.COUNTERS, Cause.COUNTERS, "error counters increased: " + errors)
                : measured;
    }

    private static String gigabits(double bitsPerSecond) {
        return "%.4g Gb/s".formatted(bitsPerSecond / 1e9);
    }

    /** Returns the first line of a failure's message, without a heading of lines that follow; its type if it has no message. */
    public static String text(Throwable why) {
        String message = why.getMessage();
        return message == null || message.isBlank()
                ? why.getClass().getName()
                : message.lines().findFirst().orElse("").replaceFirst("[,;]? its last log lines:$", "");
    }

    private synchronized @Nullable String reasonToLeaveOut(Pair pair) {
        String server = givenUp.get(pair.server());
        String reason = server != null ? server : givenUp.get(pair.client());
        return reason == null ? null : "node given up: " + reason;
    }

    /**
     * Records which nodes work, and the partners with which a node failed since it last worked. A failure that the host's delay
     * explains counts as well: a dead node costs as much time beside a busy host.
     */
    private void note(Pair pair, Attempt attempt) {
        if (!attempt.isFailed()) {
            working.add(pair.server());
            working.add(pair.client());
            failedWith.remove(pair.server());
            failedWith.remove(pair.client());
        } else if (attempt.isHosts() || isOfNode(attempt.cause())) {
            failedWith
                    .computeIfAbsent(pair.server(), key -> new LinkedHashSet<>())
                    .add(pair.client());
            failedWith
                    .computeIfAbsent(pair.client(), key -> new LinkedHashSet<>())
                    .add(pair.server());
        }
    }

    /**
     * Returns whether a cause counts against a node. A resource that this host lacks is missing for all nodes, and such pairs
     * fail at once.
     */
    private static boolean isOfNode(@Nullable Cause cause) {
        return cause != null && (cause.verdict() == Cause.Verdict.FAILED || cause == Cause.NODE_LOST);
    }

    /**
     * Gives up the nodes that failed with enough others in a row. A failure with a node that never worked counts only against
     * that node, unless no node works.
     */
    private void giveUpNodes() {
        failedWith.forEach((node, partners) -> {
            List<Integer> against = partners.stream()
                    .filter(partner -> working.isEmpty() || working.contains(partner))
                    .toList();
            int limit = working.isEmpty() ? GIVE_UP : Math.min(GIVE_UP, tournament.nodes() - 1);
            if (against.size() >= (working.contains(node) ? GIVE_UP_LATER : limit)) {
                if (isOfFabric(node, against)) {
                    synchronized (this) {
                        failing.add(node);
                    }
                }
                giveUp(
                        node,
                        "its pairs with %d different nodes failed one after the other, the last one because: %s"
                                .formatted(against.size(), lastReason(node, against.getLast())));
            }
        });
    }

    /** Returns whether a node failed with two partners or more where no delay of a host explains it. */
    private synchronized boolean isOfFabric(int node, List<Integer> partners) {
        return partners.stream()
                        .filter(partner ->
                                attemptsOf(node, partner).anyMatch(attempt -> attempt.isFailed() && !attempt.isHosts()))
                        .count()
                >= 2;
    }

    private Stream<Attempt> attemptsOf(int node, int partner) {
        Pair pair = new Pair(node, partner);
        return Stream.of(pair, pair.swapped()).flatMap(each -> attempts.getOrDefault(each, List.of()).stream());
    }

    private synchronized String lastReason(int node, int partner) {
        return attemptsOf(node, partner)
                .map(Attempt::reason)
                .filter(Objects::nonNull)
                .reduce((first, second) -> second)
                .orElse("unknown");
    }

    // ---- judging ----

    private synchronized List<Pair> suspects() {
        usualOfAll = usual();
        return cells().stream()
                .map(Cell::pair)
                .filter(this::needsAttempt)
                .filter(pair -> reasonToLeaveOut(pair) == null)
                .toList();
    }

    private synchronized boolean needsAttempt(Pair pair) {
        return isOpen(pair) && spokenFor(pair) == null;
    }

    /**
     * Returns the node that speaks for a pair with one attempt; null if there is none. It showed the same in that direction with
     * enough others when they were tried again, and hardly ever something else.
     */
    private @Nullable Integer spokenFor(Pair pair) {
        List<Attempt> made = attempts.getOrDefault(pair, List.of());
        if (made.size() != 1 || tournament.nodes() <= FEW_NODES) {
            return null;
        }
        Symptom symptom = judged(made.getFirst(), usualOfAll).symptom();
        return Stream.of(true, false)
                .filter(server -> {
                    Repeats its = repeats.get(new Side(server ? pair.server() : pair.client(), server, symptom));
                    return its != null && its.same >= SPEAK_FOR_OTHERS * (1 + its.different);
                })
                .map(server -> server ? pair.server() : pair.client())
                .findFirst()
                .orElse(null);
    }

    /** Counts a second attempt for both of its nodes. */
    private void countRepeat(Pair pair, List<Attempt> made) {
        Attempt first = judged(made.getFirst(), usualOfAll);
        boolean same = first.isLike(judged(made.getLast(), usualOfAll));
        for (boolean server : new boolean[] {true, false}) {
            Repeats its = repeats.computeIfAbsent(
                    new Side(server ? pair.server() : pair.client(), server, first.symptom()), key -> new Repeats());
            its.same += same ? 1 : 0;
            its.different += same ? 0 : 1;
        }
    }

    /** Returns whether a pair needs another attempt: after one that may be repeated, and after two that differ. */
    private boolean isOpen(Pair pair) {
        List<Attempt> made = attempts.getOrDefault(pair, List.of()).stream()
                .map(attempt -> judged(attempt, usualOfAll))
                .toList();
        return !made.isEmpty()
                && made.size() < MOST_ATTEMPTS
                && made.getLast().mayBeRetried()
                && (made.size() == 1 || !isDecided(made));
    }

    /** Returns whether the last attempt shows what an earlier one did. */
    private static boolean isDecided(List<Attempt> made) {
        return made.subList(0, made.size() - 1).stream().anyMatch(made.getLast()::isLike);
    }

    /**
     * Returns the results of all pairs, as they are by now; also while {@link #run} runs.
     *
     * @return a cell for each ordered pair, in the order of rounds; none for a pair of a round that is not wanted
     */
    public synchronized List<Cell> cells() {
        Usual usual = usual();
        List<Cell> cells = new ArrayList<>();
        for (int round = 0; round < (leftOut == null ? tournament.rounds() : begun); round++) {
            for (Pair pair : tournament.round(round)) {
                cells.add(cell(pair, attempts.getOrDefault(pair, List.of()), usual));
            }
        }
        return cells;
    }

    private Cell cell(Pair pair, List<Attempt> made, Usual usual) {
        if (made.isEmpty()) {
            String reason = reasonToLeaveOut(pair);
            Cause why = failing.contains(pair.server()) || failing.contains(pair.client()) ? Cause.GIVEN_UP : null;
            return new Cell(pair, Verdict.NOT_MEASURED, null, 0, why, null, reason == null ? untried : reason);
        }
        List<Attempt> judged =
                made.stream().map(attempt -> judged(attempt, usual)).toList();
        Attempt first = judged.getFirst();
        Attempt last = judged.getLast();
        Cause cause = last.cause();
        boolean ofFabric =
                last.mayBeRetried() && (last.isHosts() || (cause != null && cause.verdict() == Cause.Verdict.FAILED));
        if (ofFabric && made.size() > 1 && !isDecided(judged)) {
            return new Cell(
                    pair,
                    Verdict.NOT_MEASURED,
                    last.sample(),
                    made.size(),
                    judged.stream().anyMatch(Attempt::isHosts) ? Cause.HOST_BUSY : Cause.ATTEMPTS_DISAGREE,
                    first.reason(),
                    judged.stream()
                            .map(attempt -> attempt.reason() == null ? "good" : attempt.reason())
                            .collect(Collectors.joining(", then ", "the attempts disagree: first ", "")));
        }
        Verdict verdict = cause == null
                ? Verdict.GOOD
                : cause.verdict() == Cause.Verdict.FAILED ? Verdict.BAD : Verdict.NOT_MEASURED;
        // The pair has had only one attempt: the second is still to come, its node was given up, or the run ended.
        boolean once = made.size() == 1 && !last.isFailed() && last.mayBeRetried();
        return new Cell(
                pair,
                verdict,
                last.sample(),
                made.size(),
                cause,
                first.reason(),
                once ? last.reason() + " (tried once" + others(pair) + ")" : last.reason());
    }

    private String others(Pair pair) {
        Integer node = spokenFor(pair);
        return node == null
                ? ""
                : ": %d other pairs of this %s showed the same twice"
                        .formatted(SPEAK_FOR_OTHERS, node == pair.server() ? "server" : "client");
    }

    /** Returns an attempt with the result of comparing it with its own median, the thresholds, and all other pairs. */
    private Attempt judged(Attempt attempt, Usual usual) {
        Sample sample = attempt.sample();
        if (sample == null || attempt.cause() != null) {
            return attempt;
        }
        if (sample.p50() > rules.most()) {
            return attempt.showing(
                    Symptom.LATENCY,
                    Cause.THRESHOLD_MISSED,
                    "%.4g, at most %.4g".formatted(sample.p50(), rules.most()));
        }
        double bandwidth = sample.rates().bandwidth();
        if (sample.rates().share() < rules.leastShare()) {
            return attempt.showing(
                    Symptom.BANDWIDTH,
                    Cause.THRESHOLD_MISSED,
                    "%s, %.3g %% of the line rate, at least %.3g %%"
                            .formatted(gigabits(bandwidth), 100 * sample.rates().share(), 100 * rules.leastShare()));
        }
        if (sample.p50() > rules.outlier() * usual.p50()) {
            return attempt.showing(
                    Symptom.LATENCY,
                    Cause.OUTLIER,
                    "%.3g times the %s of all pairs".formatted(sample.p50() / usual.p50(), nameOfUsual("lower")));
        }
        double compared = usual.bandwidthOf(sample.rates());
        if (compared < usual.bandwidth() / LOW_BANDWIDTH) {
            return attempt.showing(
                    Symptom.BANDWIDTH,
                    Cause.OUTLIER,
                    "%s, %.3g times the %s of all pairs"
                            .formatted(gigabits(bandwidth), compared / usual.bandwidth(), nameOfUsual("upper")));
        }
        if (sample.tail() > LONG_TAIL * sample.p50()) {
            return attempt.showing(
                    Symptom.TAIL,
                    Cause.OUTLIER,
                    "its %s, %.4g, is %.3g times its median"
                            .formatted(sample.tailName(), sample.tail(), sample.tail() / sample.p50()));
        }
        return attempt;
    }

    /**
     * Returns the values that a good pair is expected to reach. One node is in a share of 2/n of the pairs. With fewer than
     * {@value #ENOUGH} nodes, a slow node is in half of the pairs or more, and affects the median.
     */
    private Usual usual() {
        List<Sample> samples = attempts.values().stream()
                .map(List::getLast)
                .map(Attempt::sample)
                .filter(Objects::nonNull)
                .toList();
        boolean isShare = samples.stream()
                .map(Sample::rates)
                .noneMatch(rates -> !Double.isNaN(rates.bandwidth()) && Double.isNaN(rates.share()));
        // For times, less is better. For rates, more is better.
        return new Usual(
                usual(samples.stream().mapToDouble(Sample::p50)),
                -usual(samples.stream()
                        .mapToDouble(sample -> isShare
                                ? -sample.rates().share()
                                : -sample.rates().bandwidth())),
                isShare);
    }

    private double usual(DoubleStream measured) {
        double[] values =
                measured.filter(value -> !Double.isNaN(value)).sorted().toArray();
        if (values.length == 0) {
            return Double.NaN;
        }
        if (tournament.nodes() < ENOUGH) {
            return values[values.length / 4];
        }
        int middle = values.length / 2;
        return values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    }

    private String nameOfUsual(String quarter) {
        return tournament.nodes() < ENOUGH ? quarter + " quartile" : "median";
    }

    /** Puts pairs into rounds in which no node is busy twice. */
    static List<List<Pair>> disjoint(List<Pair> pairs) {
        List<List<Pair>> rounds = new ArrayList<>();
        List<Set<Integer>> busy = new ArrayList<>();
        for (Pair pair : pairs) {
            int round = 0;
            while (round < rounds.size()
                    && (busy.get(round).contains(pair.server())
                            || busy.get(round).contains(pair.client()))) {
                round++;
            }
            if (round == rounds.size()) {
                rounds.add(new ArrayList<>());
                busy.add(new HashSet<>());
            }
            rounds.get(round).add(pair);
            busy.get(round).add(pair.server());
            busy.get(round).add(pair.client());
        }
        return rounds;
    }

    /**
     * Returns nodes whose pairs among each other are all good, as partners for measuring a bad node again. Nodes with the most
     * good pairs are added first. So a single bad pair excludes only one of its nodes.
     *
     * @param cells what {@link #cells} returned
     * @param bad the nodes to ignore, together with their pairs
     * @return the numbers of the nodes in order, without nodes of which no pair was measured
     */
    public static List<Integer> goodPartners(Collection<Cell> cells, Set<Integer> bad) {
        SortedMap<Integer, BitSet> good = new TreeMap<>();
        List<Pair> notGood = new ArrayList<>();
        for (Cell cell : cells) {
            int server = cell.pair().server();
            int client = cell.pair().client();
            if (bad.contains(server) || bad.contains(client)) {
                continue;
            }
            if (cell.verdict() == Verdict.GOOD) {
                good.computeIfAbsent(server, node -> new BitSet()).set(client);
                good.computeIfAbsent(client, node -> new BitSet()).set(server);
            } else {
                notGood.add(cell.pair());
            }
        }
        for (Pair pair : notGood) {
            good.getOrDefault(pair.server(), new BitSet()).clear(pair.client());
            good.getOrDefault(pair.client(), new BitSet()).clear(pair.server());
        }
        List<Integer> byPairs = new ArrayList<>(good.keySet());
        byPairs.sort(Comparator.comparingInt((Integer node) -> good.get(node).cardinality())
                .reversed());
        BitSet partners = new BitSet();
        for (int node : byPairs) {
            BitSet with = good.get(node);
            BitSet missing = (BitSet) partners.clone();
            missing.andNot(with);
            if (missing.isEmpty() && !with.isEmpty()) {
                partners.set(node);
            }
        }
        return partners.stream().boxed().toList();
    }

    // ---- the report ----

    /**
     * Writes the results as a matrix: a row for each client, a column for each server.
     *
     * @param names the nodes, by their numbers
     * @param cells what {@link #cells} returned
     * @param unit of the values
     * @param value takes the value of a pair from what was measured; NaN if it has none
     */
    public static String matrix(
            List<String> names, Collection<Cell> cells, String unit, ToDoubleFunction<Sample> value) {
        Map<Pair, Cell> byPair = new HashMap<>();
        cells.forEach(cell -> byPair.put(cell.pair(), cell));
        int width =
                Math.max(15, 2 + names.stream().mapToInt(String::length).max().orElse(0));
        StringBuilder text = new StringBuilder("client \\ server, " + unit + System.lineSeparator());
        text.append(" ".repeat(width));
        names.forEach(name -> text.append(("%" + width + "s").formatted(name)));
        for (int client = 0; client < names.size(); client++) {
            text.append(System.lineSeparator()).append(("%-" + width + "s").formatted(names.get(client)));
            for (int server = 0; server < names.size(); server++) {
                text.append(("%" + width + "s").formatted(entry(byPair.get(new Pair(server, client)), value)));
            }
        }
        return text.append(System.lineSeparator()).toString();
    }

    private static String entry(@Nullable Cell cell, ToDoubleFunction<Sample> of) {
        if (cell == null) {
            return "-";
        }
        double number = cell.sample() == null ? Double.NaN : of.applyAsDouble(cell.sample());
        String value = Double.isNaN(number) ? "" : "%.4g".formatted(number);
        return switch (cell.verdict()) {
            case GOOD -> value.isEmpty() ? "good" : value;
            case BAD -> ("BAD " + value).strip();
            case NOT_MEASURED -> "unknown";
        };
    }
}
