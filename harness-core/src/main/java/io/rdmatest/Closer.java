package io.rdmatest;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Owns resources, and closes them in the reverse order of their creation: a queue pair before the memory that its peer can write
 * to, an id before its channel. Each is closed even if another one fails. The first failure is thrown at the end, with the later
 * ones suppressed. {@link #keep} gives the resources to the caller.
 */
public final class Closer implements AutoCloseable {

    private final Deque<AutoCloseable> owned = new ArrayDeque<>();
    private @Nullable Throwable first;

    /** Creates an owner of nothing. */
    public Closer() {}

    /**
     * Adds a resource or an action, which is closed before all earlier ones.
     *
     * @return the resource
     */
    public <T extends AutoCloseable> T own(T resource) {
        owned.push(resource);
        return resource;
    }

    /**
     * Adds a resource, which is closed after all others.
     *
     * @return the resource
     */
    public <T extends AutoCloseable> T ownLongest(T resource) {
        owned.addLast(resource);
        return resource;
    }

    /** Keeps all resources open: the caller now owns them. */
    public void keep() {
        owned.clear();
    }

    /**
     * Carries out an action now. {@link #close} throws its failure.
     *
     * @param action an action that must not prevent the next ones
     */
    public void run(AutoCloseable action) {
        try {
            action.close();
        } catch (Throwable e) {
            if (first == null) {
                first = e;
            } else if (first != e) {
                first.addSuppressed(e);
            }
        }
    }

    /**
     * Closes everything after a failure.
     *
     * @param failure the failure; one of closing is suppressed in it
     * @return the failure, to be thrown; one that is checked is the cause of an {@link IllegalStateException}
     * @throws Error the failure, if it is an error
     */
    public RuntimeException closeAfter(Throwable failure) {
        try {
            close();
        } catch (RuntimeException | Error e) {
            if (e != failure) {
                failure.addSuppressed(e);
            }
        }
        return unchecked(failure);
    }

    /** Closes every resource, even if one fails; then throws the first failure, with the later ones suppressed. */
    @Override
    public void close() {
        while (!owned.isEmpty()) {
            run(owned.pop());
        }
        Throwable failure = first;
        first = null;
        if (failure != null) {
            throw unchecked(failure);
        }
    }

    private static RuntimeException unchecked(Throwable failure) {
        if (failure instanceof Error error) {
            throw error;
        }
        return failure instanceof RuntimeException unchecked ? unchecked : new IllegalStateException(failure);
    }
}
