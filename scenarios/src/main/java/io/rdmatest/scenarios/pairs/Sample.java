package io.rdmatest.scenarios.pairs;

import java.util.Map;
import java.util.SortedMap;
import java.util.StringJoiner;
import java.util.TreeMap;

/**
 * What was measured between two nodes. Less is better, in all times. Data of {@link Flow} goes from the client to the server.
 *
 * @param p50 the median in microseconds; NaN if no times were measured
 * @param p99 the 99th percentile in microseconds; NaN if no times were measured
 * @param max the longest time in microseconds; NaN if no times were measured
 * @param count how many times were measured, 0 or more
 * @param serverErrors which counters of lost, repeated or damaged packets increased at the server's port meanwhile, and by how much
 * @param clientErrors the same of the client's port
 * @param flow bandwidth and message rate, and what both ports counted
 */
public record Sample(
        double p50,
        double p99,
        double max,
        long count,
        SortedMap<String, Long> serverErrors,
        SortedMap<String, Long> clientErrors,
        Flow flow) {

    /**
     * How much flows from the client to the server.
     *
     * @param bandwidth payload in bit/s; NaN if it was not measured
     * @param messageRate messages per second; NaN if it was not measured
     * @param lineRate the active rate of the slower of both ports in bit/s; NaN if it is not known
     * @param bytesVerified bytes that were compared with what was sent, those of the round trips as well
     * @param clientCounters by how much counters of the client's port increased meanwhile
     * @param serverCounters the same of the server's port
     */
    public record Flow(
            double bandwidth,
            double messageRate,
            double lineRate,
            long bytesVerified,
            Map<String, Long> clientCounters,
            Map<String, Long> serverCounters) {

        /** Nothing was measured. */
        public static final Flow NONE = new Flow(Double.NaN, Double.NaN, Double.NaN, 0, Map.of(), Map.of());

        /** Copies the counters. */
        public Flow {
            clientCounters = Map.copyOf(clientCounters);
            serverCounters = Map.copyOf(serverCounters);
        }

        /** Tells whether more flowed than the line carries: the measurement is wrong. */
        boolean isImpossible() {
            return bandwidth > lineRate;
        }
    }

    /** So many values support a 99th percentile. */
    static final int SUPPORTS_P99 = 100;

    /** Has no flow. */
    public Sample(
            double p50,
            double p99,
            double max,
            long count,
            SortedMap<String, Long> serverErrors,
            SortedMap<String, Long> clientErrors) {
        this(p50, p99, max, count, serverErrors, clientErrors, Flow.NONE);
    }

    /** Copies the counters. */
    public Sample {
        serverErrors = new TreeMap<>(serverErrors);
        clientErrors = new TreeMap<>(clientErrors);
    }

    /** Returns the time that the slowest took: the 99th percentile of {@value #SUPPORTS_P99} values or more, else the longest. */
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
