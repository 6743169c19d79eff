package io.rdmatest.scenarios.pairs;

/**
 * How much data went from the client to the server of a pair. More is better.
 *
 * @param bandwidth payload in bit/s; NaN if it was not measured
 * @param messageRate small messages per second; NaN if it was not measured
 * @param lineRate the active rate of the slower of both ports in bit/s; NaN if it is not known, as where a device is software
 */
public record Rates(double bandwidth, double messageRate, double lineRate) {

    /** Nothing was measured, and no rate is known. */
    public static final Rates NONE = new Rates(Double.NaN, Double.NaN, Double.NaN);

    /** Returns the bandwidth as a share of the line rate, 1 being all of it; NaN if one of both is not known. */
    public double share() {
        return bandwidth / lineRate;
    }
}
