package io.rdmatest.scenarios.engine;

/**
 * The pace of a polling loop. At first it polls without a pause, then it yields. From time to time it checks events, the deadline
 * and the scenario.
 */
public final class Spin {

    private static final int SPINS = 32;

    /** The number of polls between looks. */
    public static final int LOOK = 256;

    private Spin() {}

    /**
     * Paces a loop. A software device needs the processor that spins. The loop has no PAUSE instruction before that: a poll takes
     * long enough, and each PAUSE costs an emulated processor an exit.
     *
     * @param idle the number of polls without a result so far, from 1
     * @return whether it is time to look at events, the deadline and the end of the scenario
     */
    public static boolean isTimeToLook(int idle) {
        if (idle < SPINS) {
            return false;
        }
        Thread.yield();
        return idle % LOOK == 0;
    }
}
