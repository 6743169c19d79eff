package io.rdmatest.report.culprits;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonTypeName;
import com.fasterxml.jackson.annotation.JsonValue;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.annotation.OptBoolean;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
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
 * @param instrument the name of another program that measured this line, or failed to; the line is then a confirmation. Null for
 *     rdmatest
 * @param reason why another program measured nothing, as a clause, which is no evidence about the fabric; null if it measured
 * @param counters by how much counters of both ports grew meanwhile
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "schema", requireTypeIdForSubtypes = OptBoolean.FALSE)
@JsonTypeName(PairLine.SCHEMA)
// Known to a record, this keeps Jackson from copying members of other tools first.
@JsonIgnoreProperties(ignoreUnknown = true)
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
        @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean confirmation,

        @JsonInclude(JsonInclude.Include.NON_NULL) @JsonDeserialize(using = PairJson.TextIfAny.class) @Nullable
        String instrument,

        @JsonInclude(JsonInclude.Include.NON_NULL) @JsonDeserialize(using = PairJson.TextIfAny.class) @Nullable
        String reason,

        Counters counters) {

    /** The value of the member {@code schema}. */
    public static final String SCHEMA = "pairs/1";

    /** The rail of a fabric that has no names for its rails. */
    public static final String ONLY_RAIL = "rail0";

    /**
     * By how much counters of the ports of a pair grew.
     *
     * @param from those of the sender's port, by their names
     * @param to those of the receiver's port
     */
    public record Counters(
            @JsonSetter(contentNulls = Nulls.SKIP) Map<String, Long> from,
            @JsonSetter(contentNulls = Nulls.SKIP) Map<String, Long> to) {

        /** No counter grew, or none was read. */
        public static final Counters NONE = new Counters(Map.of(), Map.of());

        /** Copies the maps, sorted; null stands for an empty one. */
        public Counters {
            from = copy(from);
            to = copy(to);
        }

        private static Map<String, Long> copy(@Nullable Map<String, Long> counters) {
            return counters == null || counters.isEmpty()
                    ? Map.of()
                    : Collections.unmodifiableMap(new TreeMap<>(counters));
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
        @JsonValue
        @Override
        public String toString() {
            return word;
        }

        /**
         * Returns the outcome that a word stands for.
         *
         * @throws IllegalArgumentException if the word stands for no outcome
         */
        @JsonCreator
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
     * Checks the values. Null stands for no counters.
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
        present("outcome", outcome);
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
        if (!confirmation) {
            // In the line of a cell, they belong to another tool.
            instrument = null;
        }
        if (instrument != null) {
            name("instrument", instrument);
        }
        reason = instrument == null ? null : reason;
        counters = counters == null ? Counters.NONE : counters;
    }

    private static void present(String member, @Nullable Object value) {
        if (value == null) {
            throw new IllegalArgumentException("it has no \"" + member + "\"");
        }
    }

    private static void name(String member, String value) {
        present(member, value);
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
}
