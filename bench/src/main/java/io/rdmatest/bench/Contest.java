package io.rdmatest.bench;

import java.io.IOException;
import java.util.Map;

/**
 * The two sides of a row, each of which can be run again and again. Whatever is kept between runs is released by
 * {@link #close}.
 */
interface Contest extends AutoCloseable {

    /**
     * Runs the C program once.
     *
     * @throws NotMeasuredException if it fails, or prints what is not known
     */
    Sample theirs() throws IOException, InterruptedException;

    /** Runs ours once, with the parameters of the last run of {@link #theirs}; it has run before. */
    Sample ours() throws IOException, InterruptedException;

    /**
     * Returns how often a run of ours makes the same call again: its lists of messages, its messages, or its connections.
     */
    int repetitions();

    /** Returns what both sides were given, by name; complete after both have run. */
    Map<String, Object> parameters();

    @Override
    default void close() {}
}
