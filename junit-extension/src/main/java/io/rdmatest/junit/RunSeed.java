package io.rdmatest.junit;

import java.util.concurrent.ThreadLocalRandom;

/**
 * What the random choices of a run are drawn from where nobody set a seed for them.
 *
 * <p>A run can take several JVMs: {@code ./qualify} starts another one for the scenarios that are left when one died. They
 * must all choose alike, so that the tests of the second are those that the first did not come to.
 */
public final class RunSeed {

    /** System property: a whole number, the same in all JVMs of a run; each JVM draws its own unless it is set. */
    public static final String PROPERTY = "rdma.run.seed";

    private static final long DRAWN = draw();

    private RunSeed() {}

    /**
     * Returns the seed of this JVM's run.
     *
     * @throws IllegalArgumentException if {@value #PROPERTY} is no whole number
     */
    public static long get() {
        String text = System.getProperty(PROPERTY, "").strip();
        try {
            return text.isEmpty() ? DRAWN : Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(PROPERTY + "=" + text + ": not a whole number", e);
        }
    }

    /** Draws a seed for a run, 1 to 999,999: short enough to be typed. */
    public static long draw() {
        return ThreadLocalRandom.current().nextInt(1, 1_000_000);
    }
}
