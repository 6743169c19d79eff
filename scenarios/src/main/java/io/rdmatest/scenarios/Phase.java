package io.rdmatest.scenarios;

import java.util.Arrays;
import java.util.Optional;

/**
 * The phases of a qualification, in the order in which {@code ./qualify} runs them.
 *
 * <p>A class of scenarios names its phase with a JUnit tag, such as {@code @Tag(Phase.CONNECT_TAG)}. Whatever a later phase says
 * means little where an earlier one failed.
 */
public enum Phase {
    /** Connections are made, refused and closed. */
    CONNECT(Phase.CONNECT_TAG),
    /** Devices keep the rules, and what the fabric file promises. */
    CONFORMANCE(Phase.CONFORMANCE_TAG),
    /** Data arrives whole and in order. */
    DATA(Phase.DATA_TAG),
    /** Latency and throughput are measured and judged. */
    PERFORMANCE(Phase.PERFORMANCE_TAG);

    /** The tag of {@link #CONNECT}. */
    public static final String CONNECT_TAG = "connect";

    /** The tag of {@link #CONFORMANCE}. */
    public static final String CONFORMANCE_TAG = "conformance";

    /** The tag of {@link #DATA}. */
    public static final String DATA_TAG = "data";

    /** The tag of {@link #PERFORMANCE}. */
    public static final String PERFORMANCE_TAG = "performance";

    private final String tag;

    Phase(String tag) {
        this.tag = tag;
    }

    /** Returns the tag that a class of this phase has. */
    public String tag() {
        return tag;
    }

    /**
     * Returns the phase of a tag.
     *
     * @param tag any tag
     * @return empty if it is the tag of no phase
     */
    public static Optional<Phase> of(String tag) {
        return Arrays.stream(values()).filter(phase -> phase.tag.equals(tag)).findFirst();
    }
}
