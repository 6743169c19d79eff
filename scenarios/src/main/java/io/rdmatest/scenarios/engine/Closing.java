package io.rdmatest.scenarios.engine;

import org.jspecify.annotations.Nullable;

/** Closes several resources in turn, even if one fails, and throws the first failure at the end. */
public final class Closing {

    private @Nullable RuntimeException first;

    /** Closes a resource, if it is not null, and keeps its failure for {@link #finish}. */
    public void close(@Nullable AutoCloseable resource) {
        if (resource == null) {
            return;
        }
        try {
            resource.close();
        } catch (Exception e) {
            RuntimeException failure = e instanceof RuntimeException r ? r : new IllegalStateException(e);
            if (first == null) {
                first = failure;
            } else {
                first.addSuppressed(failure);
            }
        }
    }

    /** Throws the first failure with the later ones suppressed; does nothing if there was none. */
    public void finish() {
        if (first != null) {
            throw first;
        }
    }
}
