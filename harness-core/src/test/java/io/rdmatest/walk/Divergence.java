package io.rdmatest.walk;

import org.jspecify.annotations.Nullable;

/** The device or the library did what the model does not allow. */
final class Divergence extends AssertionError {

    private static final long serialVersionUID = 1L;

    Divergence(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
