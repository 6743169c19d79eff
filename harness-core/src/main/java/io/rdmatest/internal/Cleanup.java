package io.rdmatest.internal;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** Closes its resources in reverse order, each even if another one fails. {@link #keep} cancels that. */
public final class Cleanup implements AutoCloseable {

    /** A cleanup action without checked exceptions. */
    public interface Action extends AutoCloseable {
        @Override
        void close();
    }

    private final Deque<AutoCloseable> made = new ArrayDeque<>();

    /** Creates an empty cleanup. */
    public Cleanup() {}

    /** Adds a resource, and returns it. */
    public <T extends AutoCloseable> T add(T resource) {
        made.push(resource);
        return resource;
    }

    /** Adds an action. */
    public void add(Action action) {
        made.push(action);
    }

    /** Keeps all resources open: the caller now owns them. */
    public void keep() {
        made.clear();
    }

    @Override
    public void close() {
        RuntimeException first = null;
        while (!made.isEmpty()) {
            try {
                made.pop().close();
            } catch (Exception e) {
                first = join(first, e);
            }
        }
        if (first != null) {
            throw first;
        }
    }

    private static RuntimeException join(@Nullable RuntimeException first, Exception next) {
        if (first != null) {
            first.addSuppressed(next);
            return first;
        }
        return next instanceof RuntimeException unchecked ? unchecked : new IllegalStateException(next);
    }
}
