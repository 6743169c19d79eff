package io.rdmatest.scenarios.role;

import org.jspecify.annotations.Nullable;

/** Closes one thing after the other, whatever becomes of each, and throws the first failure at the end. */
final class Closing {

    private @Nullable RuntimeException first;

    void close(@Nullable AutoCloseable resource) {
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

    void finish() {
        if (first != null) {
            throw first;
        }
    }
}
