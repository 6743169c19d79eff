package io.rdmatest.junit;

/** What a run thinks of tests that are skipped; see {@link RdmaConfiguration#SKIPS}. */
enum Skips {
    ALLOW,
    FAIL,
    LIST
}
