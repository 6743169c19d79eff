package io.rdmatest.peer;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A failure as it is sent over the channel.
 *
 * @param type the name of the throwable's class; only shown, never loaded
 * @param known the registered type as which it is rebuilt; null if none fits
 * @param message its message; null if it has none
 * @param rdmaCause the name of its {@link io.rdmatest.Cause}
 * @param details the values that the registered type keeps: errno, status, reason
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
