package io.rdmatest.internal;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** Closes what was added, the last first, and each of them even if another fails; unless it is to be kept. */
public final class Cleanup implements AutoCloseable {

    /** Something to close that throws nothing checked. */
    public interface Action extends AutoCloseable {
        @Override
        void close();
    }

    private final Deque<AutoCloseable> made = new ArrayDeque<>();

    /** Makes one with nothing to close. */
    public Cleanup() {}

    /** Adds what is to be closed, and returns it. */
    public <T extends AutoCloseable> T add(T resource) {
        made.push(resource);
        return resource;
    }

    /** Adds what is to be done. */
    public void add(Action action) {
        made.push(action);
    }

    /** Leaves all that was added to somebody else. */
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
