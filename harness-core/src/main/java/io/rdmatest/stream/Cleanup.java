package io.rdmatest.stream;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** Closes what was added, the last first, and each of them even if another fails; unless it is to be kept. */
final class Cleanup implements AutoCloseable {

    /** Something to close that throws nothing checked. */
    interface Action extends AutoCloseable {
        @Override
        void close();
    }

    private final Deque<AutoCloseable> made = new ArrayDeque<>();

    <T extends AutoCloseable> T add(T resource) {
        made.push(resource);
        return resource;
    }

    void add(Action action) {
        made.push(action);
    }

    void keep() {
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
