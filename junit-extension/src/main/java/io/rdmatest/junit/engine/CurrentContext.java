package io.rdmatest.junit.engine;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The test or lifecycle method that the calling thread is in. */
public final class CurrentContext implements AutoCloseable {

    private static final ThreadLocal<@Nullable ExtensionContext> CURRENT = new ThreadLocal<>();

    private final @Nullable ExtensionContext before;

    private CurrentContext(@Nullable ExtensionContext before) {
        this.before = before;
    }

    static CurrentContext enter(ExtensionContext context) {
        CurrentContext entered = new CurrentContext(CURRENT.get());
        CURRENT.set(context);
        return entered;
    }

    static ExtensionContext require() {
        ExtensionContext context = CURRENT.get();
        if (context == null) {
            throw new IllegalStateException(
                    "an RdmaExtension hands out resources on the thread of a test, constructor or"
                            + " lifecycle method of the class that registers it; other threads use what resources() returned there");
        }
        return context;
    }

    @Override
    public void close() {
        if (before == null) {
            CURRENT.remove();
        } else {
            CURRENT.set(before);
        }
    }
}
