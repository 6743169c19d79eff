package io.rdmatest.report.page;

/**
 * One direction of a port: of a node, on a rail, what it sent or what it received.
 *
 * @param node the node
 * @param rail the rail
 * @param sending whether it is what the port sent
 * @param measured how many pairs were measured
 * @param failed how many pairs failed
 * @param notMeasured how many pairs were not measured
 * @param bandwidth the median over the measured pairs in bit/s; NaN if there is none, as for the others
 * @param messageRate the median in messages per second
 * @param latencyP50 the median of the median latencies in seconds
 * @param latencyP99 the median of the 99th percentiles in seconds
 */
public record PortFigures(
        String node,
        String rail,
        boolean sending,
        int measured,
        int failed,
        int notMeasured,
        double bandwidth,
        double messageRate,
        double latencyP50,
        double latencyP99) {}
