package io.rdmatest.report.culprits;

import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A figure of a pair: what is measured, compared, and judged. */
public enum Metric {
    /** The payload per second of large messages; as a share of the line rate, 10 % less matters. */
    BANDWIDTH("bandwidth", "bandwidth", "bandwidth", "Gb/s", 1e-9, Math.log(1 / 0.9), Math.log(1 / 0.58), 0.01),
    /** Small messages per second. */
    MESSAGE_RATE("messageRate", "message rate", "rate", "Mmsg/s", 1e-6, Math.log(1 / 0.9), Math.log(1 / 0.58), 0.01),
    /** The median latency. */
    LATENCY_P50("latencyP50", "median latency", "latency", "us", 1e6, Math.log(1.15), Math.log(2), 0.01),
    /** The 99th percentile of the latency, which scatters more. */
    LATENCY_P99("latencyP99", "99th percentile of latency", "latency", "us", 1e6, Math.log(1.3), Math.log(5), 0.02),
    /** Errors that the counters of both ports show. */
    COUNTERS("counters", "errors counted", null, "", 1, Math.log(4), Math.log(31), 0.5);

    /** All metrics, by their ordinals. */
    static final Metric[] ALL = values();

    /** An effect is gross if its logarithm is more than this many times the smallest effect of a path. */
    static final double GROSS = 1.6;

    /** The member of a cell, which is also the name in evidence. */
    final String member;

    /** The smallest effect of a row, column or block that matters, as a logarithm. */
    final double least;

    /** The smallest effect of a path. */
    final double path;

    /** The least noise that is assumed. */
    final double noise;

    private final String words;
    private final @Nullable String setting;
    private final String unit;
    private final double scale;

    Metric(
            String member,
            String words,
            @Nullable String setting,
            String unit,
            double scale,
            double least,
            double path,
            double noise) {
        this.member = member;
        this.words = words;
        this.setting = setting;
        this.unit = unit;
        this.scale = scale;
        this.least = least;
        this.path = path;
        this.noise = noise;
    }

    /**
     * Returns whether another program that measures bandwidth, such as ib_write_bw(1), judges a cause. It measures no latency. If
     * bandwidth is measured, it sends large messages, which do not show the rate of small ones.
     *
     * @param member what shows the cause most, as its evidence has it
     * @param withBandwidth whether rdmatest measures the bandwidth of the rail
     */
    public static boolean isJudgedByAnother(String member, boolean withBandwidth) {
        return !member.equals(LATENCY_P50.member)
                && !member.equals(LATENCY_P99.member)
                && !(withBandwidth && member.equals(MESSAGE_RATE.member));
    }

    /** Returns the metrics that are numbers of a cell: all but {@link #COUNTERS}, by their ordinals. */
    public static List<Metric> ofCells() {
        return List.of(BANDWIDTH, MESSAGE_RATE, LATENCY_P50, LATENCY_P99);
    }

    /** Returns the metric of a cell with this member; nothing if there is none. */
    public static Optional<Metric> ofMember(String member) {
        return ofCells().stream().filter(metric -> metric.member.equals(member)).findFirst();
    }

    /**
     * Reads the metrics to measure.
     *
     * @param names {@code latency}, {@code bandwidth} and {@code rate}, separated by commas
     * @return the metrics, at least one; {@code latency} stands for both its median and its 99th percentile
     * @throws IllegalArgumentException if a name is unknown; the message lists the names
     */
    public static Set<Metric> parse(String names) {
        Set<Metric> metrics = EnumSet.noneOf(Metric.class);
        for (String name : names.split(",", -1)) {
            List<Metric> named = Arrays.stream(ALL)
                    .filter(metric -> name.strip().equals(metric.setting))
                    .toList();
            if (named.isEmpty()) {
                throw new IllegalArgumentException("'%s' is not measured of pairs; allowed: %s"
                        .formatted(
                                name.strip(),
                                Arrays.stream(ALL)
                                        .map(metric -> metric.setting)
                                        .filter(Objects::nonNull)
                                        .distinct()
                                        .collect(Collectors.joining(", "))));
            }
            metrics.addAll(named);
        }
        return Collections.unmodifiableSet(metrics);
    }

    /**
     * Returns the metric from which a measurement of all pairs is computed.
     *
     * @param measurement its name, for example {@code rail1 bandwidth median}
     * @return the metric; empty if the measurement is not computed from a single metric, such as a number of pairs
     */
    public static Optional<Metric> ofMeasurement(String measurement) {
        return ofCells().stream()
                .filter(metric ->
                        Pattern.matches("(?:.* )?" + metric.quantity() + " (?:minimum|median|maximum)", measurement))
                .findFirst();
    }

    /**
     * Returns the first part of the names of a rail's measurements of this metric, before {@code minimum}, {@code median} or
     * {@code maximum}.
     */
    public String quantity() {
        return switch (this) {
            case LATENCY_P50 -> "p50";
            case LATENCY_P99 -> "p99";
            default -> words;
        };
    }

    /** Returns the member of a cell that has it. */
    public String member() {
        return member;
    }

    /** Returns the name in sentences. */
    public String words() {
        return words;
    }

    /** Returns the unit for people; empty for a plain number. */
    public String unit() {
        return unit;
    }

    /** Returns the factor that converts a value in SI units to that unit. */
    public double scale() {
        return scale;
    }

    /** Returns whether the metric is measured by a stream of messages. More is then better. */
    public boolean isRate() {
        return this == BANDWIDTH || this == MESSAGE_RATE;
    }

    /** Returns whether the metric is computed from round trips. */
    boolean isLatency() {
        return this == LATENCY_P50 || this == LATENCY_P99;
    }

    /** Returns the value of a line, in SI units; NaN if it has none. */
    public double of(PairLine line) {
        return switch (this) {
            case BANDWIDTH -> line.bandwidth();
            case MESSAGE_RATE -> line.messageRate();
            case LATENCY_P50 -> line.latencyP50();
            case LATENCY_P99 -> line.latencyP99();
            case COUNTERS -> PairMatrix.errorsOf(line);
        };
    }

    /**
     * Returns the smallest effect that is gross: few cells are then enough evidence. Errors are gross where they make a path: none
     * is usual, so that their number does not scatter.
     */
    double gross() {
        return this == COUNTERS ? path : GROSS * path;
    }
}
