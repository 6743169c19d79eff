package io.rdmatest.fabric;

import java.time.Duration;
import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The performance thresholds of a fabric file.
 *
 * @param roundTrip the upper limits of a round trip's percentiles; may be empty
 * @param throughput the lower limit of a stream's throughput; null for none
 * @param bandwidth the lower limit of the bandwidth between two nodes, as a share of the line rate from 0 to 1; 0 for
 *     none
 */
public record Thresholds(
        Map<Percentile, Duration> roundTrip, @Nullable Rate throughput, double bandwidth) {

    /** No thresholds. */
    public static final Thresholds NONE = new Thresholds(Map.of(), null, 0);

    /** A percentile of a distribution; {@link #toString()} is its name in fabric files and reports. */
    public enum Percentile {
        /** The median. */
        P50("p50"),
        /** 99 of 100 are at most this. */
        P99("p99"),
        /** 999 of 1000 are at most this. */
        P99_9("p99.9"),
        /** All are at most this. */
        MAX("max");

        private final String text;

        Percentile(String text) {
            this.text = text;
        }

        /** Returns the name that fabric files and reports use. */
        @Override
        public String toString() {
            return text;
        }
    }

    /**
     * Copies the percentiles.
     *
     * @throws IllegalArgumentException if the share is not from 0 to 1
     */
    public Thresholds {
        if (!(bandwidth >= 0 && bandwidth <= 1)) {
            throw new IllegalArgumentException("A share of the line rate is from 0 to 1, not " + bandwidth);
        }
        EnumMap<Percentile, Duration> copy = new EnumMap<>(Percentile.class);
        copy.putAll(roundTrip);
        roundTrip = Collections.unmodifiableMap(copy);
    }
}
