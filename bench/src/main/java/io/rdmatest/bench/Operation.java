package io.rdmatest.bench;

import java.util.Locale;

/** What a perftest program posts. */
enum Operation {
    SEND,
    WRITE,
    READ;

    /** Returns the name of the program that measures its latency. */
    String latencyProgram() {
        return "ib_" + lower() + "_lat";
    }

    /** Returns the name of the program that measures its bandwidth. */
    String bandwidthProgram() {
        return "ib_" + lower() + "_bw";
    }

    /** Returns the name in lower case. */
    String lower() {
        return name().toLowerCase(Locale.ROOT);
    }
}
