package io.rdmatest.scenarios;

import org.jspecify.annotations.Nullable;

/**
 * What a test says of its own packets to {@value ScenarioSettings#WIRE}, which else takes it amiss that there were none; ask for
 * it as a parameter. Where the wire is not watched it has no effect.
 */
public final class Wire {

    private volatile @Nullable String silence;

    Wire() {}

    /**
     * Says that the sides may exchange no packet of RDMA at all. Those that they do exchange are judged as ever.
     *
     * @param why what they do instead, for the report
     */
    public void silent(String why) {
        silence = why;
    }

    /** Returns why there may be no packet; null if some have to come. */
    @Nullable
    String silence() {
        return silence;
    }
}
