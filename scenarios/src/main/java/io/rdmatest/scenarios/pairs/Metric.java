package io.rdmatest.scenarios.pairs;

import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What is measured of each pair; {@link #toString()} is its name in settings. */
public enum Metric {
    /** Round trips of small messages. */
    LATENCY("p50"),
    /** The payload per second of large messages. */
    BANDWIDTH("bandwidth"),
    /** How many small messages go per second. */
    RATE("message rate");

    private final String quantity;

    Metric(String quantity) {
        this.quantity = quantity;
    }

    /** Returns what the measurements of a rail are called that come of it, before {@code minimum}, {@code median} or {@code maximum}. */
    public String quantity() {
        return quantity;
    }

    /**
     * Returns what a measurement of all pairs comes of.
     *
     * @param measurement its name, for example {@code rail1 bandwidth median}
     * @return nothing if it comes of none alone, as a number of pairs does
     */
    public static Optional<Metric> ofMeasurement(String measurement) {
        return Arrays.stream(values())
                .filter(metric ->
                        Pattern.matches("(?:.* )?" + metric.quantity + " (?:minimum|median|maximum)", measurement))
                .findFirst();
    }

    /** Returns the name in lower case. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Reads names that commas separate.
     *
     * @param names for example {@code latency,bandwidth}
     * @return what they name, at least one
     * @throws IllegalArgumentException if one is no metric's; says which there are
     */
    public static Set<Metric> parse(String names) {
        Set<Metric> metrics = EnumSet.noneOf(Metric.class);
        for (String name : List.of(names.split(",", -1))) {
            metrics.add(Arrays.stream(values())
                    .filter(metric -> metric.toString().equals(name.strip()))
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException("'%s' is not measured of pairs; allowed: %s"
                            .formatted(
                                    name.strip(),
                                    Arrays.stream(values())
                                            .map(Metric::toString)
                                            .collect(Collectors.joining(", "))))));
        }
        return Collections.unmodifiableSet(metrics);
    }
}
