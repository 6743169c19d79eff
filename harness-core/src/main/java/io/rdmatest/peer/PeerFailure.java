package io.rdmatest.peer;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A failure as it goes over the channel.
 *
 * @param type the class of the throwable by name; only shown, never loaded
 * @param known the registered type that it is rebuilt as; null if none fits
 * @param message its message; null if it has none
 * @param rdmaCause the name of the {@link io.rdmatest.Cause} that it has there
 * @param details what the registered type keeps: errno, status, reason
 * @param stack its stack trace as text
 * @param cause its cause; null if it has none
 */
record PeerFailure(
        String type,
        @Nullable String known,
        @Nullable String message,
        String rdmaCause,
        Map<String, String> details,
        String stack,
        @Nullable PeerFailure cause) {

    PeerFailure {
        Objects.requireNonNull(type, "type");
        Objects.requireNonNull(rdmaCause, "rdmaCause");
        details = Map.copyOf(details);
    }
}
