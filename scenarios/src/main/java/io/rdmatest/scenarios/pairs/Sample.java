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
 * @param delay for how long the hosts did not run the measurement; of the worse one
 */
public record Sample(
        double p50,
        double p99,
        double max,
        long count,
        Rates rates,
        SortedMap<String, Long> serverErrors,
        SortedMap<String, Long> clientErrors,
        HostStall.Delay delay) {

    /** The least number of round trips that have a median and a tail. */
    public static final int LEAST = 20;

    /** A host that ran for less than this share of a measurement makes it slow. */
    private static final double MOST_DELAY = 0.5;

    /**
     * A delay of this many nanoseconds explains repeated packets: the peer repeats them after 1.07 s, and timers of the host are
     * late.
     */
    private static final long LONG_DELAY = 500_000_000;

    /**
     * A delay of this many nanoseconds explains that a peer does not answer: it is the shortest time that rdma_cm programs give an
     * address or a route. Retries of packets take longer.
     */
    private static final long SILENT_DELAY = 2_000_000_000;

    /** The number of values that support a 99th percentile. */
    static final int SUPPORTS_P99 = 100;

    /** Copies the counters. */
    public Sample {
        serverErrors = new TreeMap<>(serverErrors);
        clientErrors = new TreeMap<>(clientErrors);
    }

    /** Creates a sample of times alone, of hosts that were never late. */
    Sample(
            double p50,
            double p99,
            double max,
            long count,
            SortedMap<String, Long> serverErrors,
            SortedMap<String, Long> clientErrors) {
        this(p50, p99, max, count, Rates.NONE, serverErrors, clientErrors, HostStall.Delay.NONE);
    }

    /** Returns the tail: the 99th percentile of {@value #SUPPORTS_P99} values or more, otherwise the longest time. */
    public double tail() {
        return count >= SUPPORTS_P99 ? p99 : max;
    }

    String tailName() {
        return count >= SUPPORTS_P99 ? "99th percentile" : "longest of " + count;
    }

    /** Returns whether a host that stalled explains that packets were repeated, or that the median or a rate is low. */
    boolean isOfABusyHost() {
        return isBusyFor(LONG_DELAY);
    }

    /** Returns whether a host that stalled explains that a peer did not answer in time. */
    boolean isSilenceOfABusyHost() {
        return isBusyFor(SILENT_DELAY);
    }

    private boolean isBusyFor(long longDelay) {
        return delay.longest() >= longDelay || delay.total() > MOST_DELAY * delay.elapsed();
    }

    /** Returns whether a host that stalled explains the tail. */
    boolean hasTailOfABusyHost() {
        return isOfABusyHost() || delay.longest() / 1e3 >= tail() / 2;
    }

    /** Returns the delay of the host, as a report shows it. */
    String delayed() {
        return "the host was busy: it ran the measurement up to %.0f ms late, and %.0f ms of %.0f ms in all"
                .formatted(delay.longest() / 1e6, delay.total() / 1e6, delay.elapsed() / 1e6);
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
