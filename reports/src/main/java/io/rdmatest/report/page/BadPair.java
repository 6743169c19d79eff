package io.rdmatest.report.page;

/**
 * A pair that failed, or that the run judged bad, and that no culprit explains.
 *
 * @param rail the rail
 * @param from the node that sends
 * @param to the node that receives
 * @param cause the name of the cause; {@code failed} if it is not known
 */
public record BadPair(String rail, String from, String to, String cause) {}
