package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Ledger;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Begins each test with the usual answers of the library in the place of libibverbs, and fails one that leaves an object open. */
class UsualStandin implements BeforeEachCallback, AfterEachCallback {

    @Override
    public void beforeEach(ExtensionContext context) {
        Standin.setUsual();
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Standin.setUsual();
        assertThat(Ledger.describeLive()).isEmpty();
    }

    /** The same, for the library that loops back: it counts its objects, too. */
    static final class WithObjects extends UsualStandin {

        private static final ExtensionContext.Namespace HERE = ExtensionContext.Namespace.create(WithObjects.class);

        @Override
        public void beforeEach(ExtensionContext context) {
            super.beforeEach(context);
            context.getStore(HERE).put("before", Standin.get("live_objects"));
        }

        @Override
        public void afterEach(ExtensionContext context) {
            super.afterEach(context);
            assertThat(Standin.get("live_objects"))
                    .isEqualTo(context.getStore(HERE).get("before", Long.class));
        }
    }
}
