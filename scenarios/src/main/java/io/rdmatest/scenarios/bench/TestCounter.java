package io.rdmatest.scenarios.bench;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Counts the tests that passed: what was not done is not fast. */
final class TestCounter implements TestExecutionListener {

    private final AtomicInteger passed = new AtomicInteger();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

    /** Runs the tests of a class, and tells also the other listeners. */
    static TestCounter run(Class<?> tests, TestExecutionListener... others) {
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(selectClass(tests))
                .build();
        LauncherConfig config = LauncherConfig.builder()
                .enableTestExecutionListenerAutoRegistration(false)
                .addTestExecutionListeners(others)
                .build();
        TestCounter counter = new TestCounter();
        LauncherFactory.create(config).execute(request, counter);
        return counter;
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        result.getThrowable().ifPresent(thrown -> failure.compareAndSet(null, thrown));
        if (test.isTest() && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
            int ignored = passed.incrementAndGet();
        }
    }

    /**
     * Requires that so many tests passed.
     *
     * @throws NotMeasuredException if it were more or fewer
     */
    void require(long count) {
        if (passed.get() != count) {
            Throwable first = failure.get();
            throw new NotMeasuredException(
                    "%d of %d tests passed%s".formatted(passed.get(), count, first == null ? "" : ": " + first), first);
        }
    }
}
