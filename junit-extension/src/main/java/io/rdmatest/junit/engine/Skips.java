package io.rdmatest.junit.engine;

import io.rdmatest.junit.RdmaConfiguration;

/** What a run thinks of tests that are skipped; see {@link RdmaConfiguration#SKIPS}. */
public enum Skips {
    ALLOW,
    FAIL,
    LIST
}
