package io.rdmatest.scenarios.pairs;

import java.util.Map;
import java.util.SortedMap;
import java.util.StringJoiner;
import java.util.TreeMap;

/**
 * What was measured between two nodes. Less is better, in all times.
 *
 * @param p50 the median in microseconds; NaN if no time was measured
 * @param p99 the 99th percentile in microseconds; NaN if no time was measured
 * @param max the longest time in microseconds; NaN if no time was measured
 * @param count how many times were measured
 * @param rates bandwidth and message rate
 * @param serverErrors which counters of lost, repeated or damaged packets increased at the server's port meanwhile, and by how much
 * @param clientErrors the same of the client's port
 */
public record Sample(
        double p50,
        double p99,
        double max,
        long count,
        Rates rates,
        SortedMap<String, Long> serverErrors,
        SortedMap<String, Long> clientErrors) {

    /** The number of values that support a 99th percentile. */
    static final int SUPPORTS_P99 = 100;

    /** Copies the counters. */
    public Sample {
        serverErrors = new TreeMap<>(serverErrors);
        clientErrors = new TreeMap<>(clientErrors);
    }

    /** Creates a sample of times alone. */
    Sample(
            double p50,
            double p99,
            double max,
            long count,
            SortedMap<String, Long> serverErrors,
            SortedMap<String, Long> clientErrors) {
        this(p50, p99, max, count, Rates.NONE, serverErrors, clientErrors);
    }

    /** Returns the tail: the 99th percentile of {@value #SUPPORTS_P99} values or more, otherwise the longest time. */
    public double tail() {
        return count >= SUPPORTS_P99 ? p99 : max;
    }

    String tailName() {
        return count >= SUPPORTS_P99 ? "99th percentile" : "longest of " + count;
    }

    /** Returns the counters that increased, as a report shows them; empty if none did. */
    String errors() {
        StringJoiner text = new StringJoiner(", ");
        list(text, "server", serverErrors);
        list(text, "client", clientErrors);
        return text.toString();
    }

    private static void list(StringJoiner text, String side, Map<String, Long> errors) {
        errors.forEach((counter, by) -> text.add("%s +%d at the %s".formatted(counter, by, side)));
    }
}
