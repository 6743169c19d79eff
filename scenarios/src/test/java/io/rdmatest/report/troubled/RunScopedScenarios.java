package io.rdmatest.report.troubled;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.RegisterExtension;

class RunScopedScenarios {

    /** What lives as long as the run, like a device that all classes share. */
    @RegisterExtension
    static final BeforeAllCallback DEVICE =
            context -> context.getRoot().getStore(Namespace.GLOBAL).put(RunScopedScenarios.class, (AutoCloseable)
                    () -> {
                        throw new IllegalStateException("ibv_close_device failed: EBUSY");
                    });

    @Test
    void passes() {}
}
