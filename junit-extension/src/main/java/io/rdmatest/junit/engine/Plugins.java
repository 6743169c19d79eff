package io.rdmatest.junit.engine;

import io.rdmatest.junit.RdmaTestPlugin;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The plug-ins on the class or module path, in the order in which they are found. */
public final class Plugins {

    private static final List<RdmaTestPlugin> ALL =
            ServiceLoader.load(RdmaTestPlugin.class, RdmaTestPlugin.class.getClassLoader()).stream()
                    .map(ServiceLoader.Provider::get)
                    .toList();

    private Plugins() {}

    /** One of the callbacks. */
    @FunctionalInterface
    interface Callback {
        void call(RdmaTestPlugin plugin, ExtensionContext context) throws Exception;
    }

    public static Optional<RdmaTestPlugin> of(Class<?> type) {
        return ALL.stream().filter(plugin -> plugin.supports(type)).findFirst();
    }

    /** Calls them until one fails. */
    static void before(ExtensionContext context, Callback callback) throws Exception {
        for (RdmaTestPlugin plugin : ALL) {
            callback.call(plugin, context);
        }
    }

    /** Calls all, the last first; the first failure has those of the others with it. */
    static void after(ExtensionContext context, Callback callback) throws Exception {
        @Nullable Throwable first = null;
        for (RdmaTestPlugin plugin : ALL.reversed()) {
            try {
                callback.call(plugin, context);
            } catch (Exception | AssertionError e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first instanceof Exception exception) {
            throw exception;
        }
        if (first instanceof AssertionError error) {
            throw error;
        }
    }
}
