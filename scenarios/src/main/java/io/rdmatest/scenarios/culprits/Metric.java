package io.rdmatest.scenarios.culprits;

/** What a cell is judged by. */
enum Metric {
    /** Share of the line rate; a share that is lower by 10 % matters. */
    BANDWIDTH("bandwidth", Math.log(1 / 0.9), Math.log(1 / 0.58), 0.01),
    /** Messages per second. */
    MESSAGE_RATE("messageRate", Math.log(1 / 0.9), Math.log(1 / 0.58), 0.01),
    /** The median latency. */
    LATENCY_P50("latencyP50", Math.log(1.15), Math.log(2), 0.01),
    /** The 99th percentile of the latency, which scatters more. */
    LATENCY_P99("latencyP99", Math.log(1.3), Math.log(5), 0.02),
    /** Errors that the counters of both ports show. */
    COUNTERS("counters", Math.log(4), Math.log(31), 0.5);

    /** All of them, by their ordinals. */
    static final Metric[] ALL = values();

    /** An effect is gross if it is more than this power of that of a path. */
    static final double GROSS = 1.6;

    /** The member of a cell, as evidence calls it. */
    final String member;

    /** The smallest effect of a row, column or block that matters, as a logarithm. */
    final double least;

    /** The smallest effect of a path. */
    final double path;

    /** The least noise that is assumed. */
    final double noise;

    Metric(String member, double least, double path, double noise) {
        this.member = member;
        this.least = least;
        this.path = path;
        this.noise = noise;
    }

    /** Returns the value of a line, in SI units; NaN if it has none. */
    double of(PairLine line) {
        return switch (this) {
            case BANDWIDTH -> line.bandwidth();
            case MESSAGE_RATE -> line.messageRate();
            case LATENCY_P50 -> line.latencyP50();
            case LATENCY_P99 -> line.latencyP99();
            case COUNTERS -> PairMatrix.errorsOf(line);
        };
    }

    /** Returns an effect that few cells are enough for. */
    double gross() {
        return GROSS * path;
    }
}
