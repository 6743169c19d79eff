package io.rdmatest.report.culprits;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One line of {@code pairs.jsonl}: the measurement of one pair of ports in one direction. Data flows from {@code from} to {@code
 * to}. All values are in SI units. A number that was not measured is {@link Double#NaN}, and null in the file.
 *
 * @param rail the rail, not empty
 * @param from the node that sends, not empty
 * @param to the node that receives, another one, not empty
 * @param fromLeaf the leaf switch of the sender's port; null if it is not known
 * @param toLeaf the leaf switch of the receiver's port; null if it is not known
 * @param attempts how often the cell was measured or tried, 0 or more
 * @param outcome how far it got
 * @param cause the cause of a problem, usually the name of an {@link io.rdmatest.Cause}; null if there was no problem
 * @param lineRate the active rate of the slower of both ports, in bit/s, more than 0, or NaN
 * @param bandwidth payload in bit/s, 0 or more, or NaN
 * @param messageRate messages per second, 0 or more, or NaN
 * @param latencyP50 the median latency in seconds, 0 or more, or NaN
 * @param latencyP99 the 99th percentile of the latency in seconds, 0 or more, or NaN
 * @param samples how many latencies were measured, 0 or more
 * @param bytesVerified how many bytes of payload were compared with what was sent, 0 or more
 * @param directions in how many directions data flowed while bandwidth and message rate were measured, 1 or 2
 * @param confirmation whether this line measured a cause again; then it is no cell of the matrix
 * @param fromCounters by how much counters of the sender's port grew meanwhile
 * @param toCounters by how much counters of the receiver's port grew meanwhile
 * @param instrument the other program that measured this line; the line is then a confirmation. Null for rdmatest
 */
public record PairLine(
        String rail,
        String from,
        String to,
        @Nullable String fromLeaf,
        @Nullable String toLeaf,
        int attempts,
        Outcome outcome,
        @Nullable String cause,
        double lineRate,
        double bandwidth,
        double messageRate,
        double latencyP50,
        double latencyP99,
        long samples,
        long bytesVerified,
        int directions,
        boolean confirmation,
        Map<String, Long> fromCounters,
        Map<String, Long> toCounters,
        @Nullable Instrument instrument) {

    /** The value of the member {@code schema}. */
    public static final String SCHEMA = "pairs/1";

    /** The rail of a fabric that has no names for its rails. */
    public static final String ONLY_RAIL = "rail0";

    /**
     * A program other than rdmatest that measured a pair, or failed to.
     *
     * @param program its name, not empty
     * @param reason why it measured nothing, as a clause, which is no evidence about the fabric; null if it measured
     */
    public record Instrument(String program, @Nullable String reason) {

        /**
         * Checks the name.
         *
         * @throws IllegalArgumentException if it is empty
         */
        public Instrument {
            name("instrument", program);
        }
    }

    /** How far a cell got. */
    public enum Outcome {
        /** There are values, good or bad ones. */
        MEASURED("measured"),
        /** The fabric broke a promise; {@link PairLine#cause()} says which. */
        FAILED("failed"),
        /** The host or the harness was at fault. Nothing is known about the fabric. */
        NOT_MEASURED("not measured");

        private final String word;

        Outcome(String word) {
            this.word = word;
        }

        /** Returns the name in the file. */
        @Override
        public String toString() {
            return word;
        }

        /**
         * Returns the outcome that a word stands for.
         *
         * @throws IllegalArgumentException if the word stands for no outcome
         */
        static Outcome of(String word) {
            for (Outcome outcome : values()) {
                if (outcome.word.equals(word)) {
                    return outcome;
                }
            }
            throw new IllegalArgumentException(
                    "\"outcome\" is \"" + word + "\", and not one of \"measured\", \"failed\", \"not measured\"");
        }
    }

    /**
     * Copies the counters.
     *
     * @throws IllegalArgumentException if a value is out of its range; the message names the member of the file
     */
    public PairLine {
        name("rail", rail);
        name("from", from);
        name("to", to);
        if (from.equals(to)) {
            throw new IllegalArgumentException("\"from\" and \"to\" are both \"" + from + "\"");
        }
        count("attempts", attempts);
        quantity("lineRate", lineRate);
        if (lineRate == 0) {
            throw new IllegalArgumentException("\"lineRate\" is 0: it must be more, or null");
        }
        quantity("bandwidth", bandwidth);
        quantity("messageRate", messageRate);
        quantity("latencyP50", latencyP50);
        quantity("latencyP99", latencyP99);
        count("samples", samples);
        count("bytesVerified", bytesVerified);
        if (directions < 1 || directions > 2) {
            throw new IllegalArgumentException("\"directions\" is " + directions + ": it must be 1 or 2");
        }
        if (instrument != null && !confirmation) {
            throw new IllegalArgumentException(
                    "\"instrument\" is \"" + instrument.program() + "\", and \"confirmation\" is not true");
        }
        fromCounters = copy(fromCounters);
        toCounters = copy(toCounters);
    }

    /** Creates a line of the matrix, during whose measurement data flowed in its own direction alone. */
    public PairLine(
            String rail,
            String from,
            String to,
            @Nullable String fromLeaf,
            @Nullable String toLeaf,
            int attempts,
            Outcome outcome,
            @Nullable String cause,
            double lineRate,
            double bandwidth,
            double messageRate,
            double latencyP50,
            double latencyP99,
            long samples,
            long bytesVerified,
            Map<String, Long> fromCounters,
            Map<String, Long> toCounters) {
        this(
                rail,
                from,
                to,
                fromLeaf,
                toLeaf,
                attempts,
                outcome,
                cause,
                lineRate,
                bandwidth,
                messageRate,
                latencyP50,
                latencyP99,
                samples,
                bytesVerified,
                1,
                false,
                fromCounters,
                toCounters);
    }

    /** Creates a line that rdmatest measured. */
    public PairLine(
            String rail,
            String from,
            String to,
            @Nullable String fromLeaf,
            @Nullable String toLeaf,
            int attempts,
            Outcome outcome,
            @Nullable String cause,
            double lineRate,
            double bandwidth,
            double messageRate,
            double latencyP50,
            double latencyP99,
            long samples,
            long bytesVerified,
            int directions,
            boolean confirmation,
            Map<String, Long> fromCounters,
            Map<String, Long> toCounters) {
        this(
                rail,
                from,
                to,
                fromLeaf,
                toLeaf,
                attempts,
                outcome,
                cause,
                lineRate,
                bandwidth,
                messageRate,
                latencyP50,
                latencyP99,
                samples,
                bytesVerified,
                directions,
                confirmation,
                fromCounters,
                toCounters,
                null);
    }

    private static void name(String member, String value) {
        if (value.isEmpty()) {
            throw new IllegalArgumentException("\"" + member + "\" is empty");
        }
    }

    private static void count(String member, long value) {
        if (value < 0) {
            throw new IllegalArgumentException("\"" + member + "\" is " + value + ": it must be 0 or more");
        }
    }

    private static void quantity(String member, double value) {
        if (value < 0 || Double.isInfinite(value)) {
            throw new IllegalArgumentException("\"" + member + "\" is " + value + ": it must be 0 or more, or null");
        }
    }

    private static Map<String, Long> copy(Map<String, Long> counters) {
        return counters.isEmpty() ? Map.of() : Collections.unmodifiableMap(new TreeMap<>(counters));
    }
}
