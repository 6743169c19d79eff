package io.rdmatest.scenarios.bench;

import java.util.ArrayDeque;
import java.util.Deque;

/** What a measurement makes for itself, released together. */
final class Resources implements AutoCloseable {

    private final Deque<AutoCloseable> held = new ArrayDeque<>();

    /** Takes what is to be closed and returns it. */
    <T extends AutoCloseable> T own(T resource) {
        held.push(resource);
        return resource;
    }

    /** Releases everything after a failure, which is thrown on by the caller. */
    void closeAfter(Throwable failure) {
        try {
            close();
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
    }

    /** Releases everything, the youngest first; the first failure is thrown when all was tried. */
    @Override
    public void close() {
        RuntimeException failure = null;
        while (!held.isEmpty()) {
            try {
                held.pop().close();
            } catch (Exception e) {
                if (failure == null) {
                    failure = new IllegalStateException(
                            "What the measurement used cannot be released: " + e.getMessage(), e);
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}
