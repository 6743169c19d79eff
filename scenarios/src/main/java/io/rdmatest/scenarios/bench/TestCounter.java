package io.rdmatest.scenarios.bench;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

/** Counts the tests that passed: what was not done is not fast. */
final class TestCounter implements TestExecutionListener {

    private final AtomicInteger passed = new AtomicInteger();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    private final BiConsumer<TestIdentifier, Long> times;
    private volatile long since;

    /**
     * Begins with none.
     *
     * @param times takes the nanoseconds from the start of a test to its end; the tests run one after the other
     */
    TestCounter(BiConsumer<TestIdentifier, Long> times) {
        this.times = times;
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        since = System.nanoTime();
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        result.getThrowable().ifPresent(thrown -> failure.compareAndSet(null, thrown));
        if (test.isTest()) {
            times.accept(test, System.nanoTime() - since);
            if (result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
                int ignored = passed.incrementAndGet();
            }
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
