package io.rdmatest.scenarios.bench;

import java.util.function.LongSupplier;

/** A stopwatch beside a run of ours: how long the JVM's compilers had a processor meanwhile. */
final class CompilerWatch {

    private final LongSupplier compilerMillis;
    private final long millisBefore;
    private final long begin;

    /**
     * What the compilers took of a run.
     *
     * @param millis for how long they had a processor
     * @param share of the run's time; more than 1 if several threads compiled
     */
    record Taken(long millis, double share) {}

    /**
     * Begins.
     *
     * @param compilerMillis says how long they have had a processor in all
     */
    CompilerWatch(LongSupplier compilerMillis) {
        this.compilerMillis = compilerMillis;
        this.millisBefore = compilerMillis.getAsLong();
        this.begin = System.nanoTime();
    }

    /** Ends. */
    Taken stop() {
        long nanos = Math.max(1, System.nanoTime() - begin);
        long millis = compilerMillis.getAsLong() - millisBefore;
        return new Taken(millis, millis * 1e6 / nanos);
    }
}
