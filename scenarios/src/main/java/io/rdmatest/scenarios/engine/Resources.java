package io.rdmatest.scenarios.engine;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Owns resources, and closes them in the reverse order of their creation: a queue pair before the memory that its peer can write
 * to, an id before its channel.
 */
public final class Resources implements AutoCloseable {

    private final Deque<AutoCloseable> owned = new ArrayDeque<>();

    /** Creates an owner of nothing. */
    public Resources() {}

    /** Adds a resource, which is closed before all earlier ones; returns it. */
    public <T extends AutoCloseable> T own(T resource) {
        owned.push(resource);
        return resource;
    }

    /** Adds a resource, which is closed after all others; returns it. */
    public <T extends AutoCloseable> T ownLongest(T resource) {
        owned.addLast(resource);
        return resource;
    }

    /**
     * Closes everything after a failure.
     *
     * @param failure the failure; one of closing is suppressed in it
     * @return the failure, to be thrown
     * @throws Error the failure, if it is an error
     */
    public RuntimeException closeAfter(Throwable failure) {
        try {
            close();
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
        if (failure instanceof Error error) {
            throw error;
        }
        return failure instanceof RuntimeException unchecked ? unchecked : new IllegalStateException(failure);
    }

    /** Closes every resource, even if one fails; then throws the first failure, with the later ones suppressed. */
    @Override
    public void close() {
        @Nullable RuntimeException first = null;
        while (!owned.isEmpty()) {
            try {
                owned.pop().close();
            } catch (Exception e) {
                RuntimeException failure = e instanceof RuntimeException r ? r : new IllegalStateException(e);
                if (first == null) {
                    first = failure;
                } else {
                    first.addSuppressed(failure);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
