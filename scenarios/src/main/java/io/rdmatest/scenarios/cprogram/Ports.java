package io.rdmatest.scenarios.cprogram;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/** Hands out ports for listeners: each once, above the C programs' own and the usual services, below the ephemeral range. */
public final class Ports {

    private static final int FIRST = 20_100;
    private static final int LAST = 31_999;

    /** Two runs at once on one host hardly begin at the same port. */
    private static final AtomicInteger NEXT =
            new AtomicInteger(ThreadLocalRandom.current().nextInt(FIRST, LAST));

    private Ports() {}

    /** Returns a port that this JVM has not handed out before. */
    public static int next() {
        return NEXT.getAndUpdate(port -> port == LAST ? FIRST : port + 1);
    }
}
