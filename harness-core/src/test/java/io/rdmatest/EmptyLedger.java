package io.rdmatest;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Fails a test after which native objects are open, and closes them: the next test begins with none. */
public final class EmptyLedger implements AfterEachCallback {

    @Override
    public void afterEach(ExtensionContext context) {
        List<NativeResource> left = Ledger.live();
        String description = Ledger.describe(left);
        left.reversed().forEach(NativeResource::close);
        assertThat(left).as(description).isEmpty();
    }
}
