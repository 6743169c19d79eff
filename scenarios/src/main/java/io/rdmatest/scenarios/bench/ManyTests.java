package io.rdmatest.scenarios.bench;

import io.rdmatest.junit.QueuePairOptions;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** As many tests in one run as are asked for, each with a queue pair that the extension provides, looks after and closes. */
final class ManyTests {

    private static volatile long wanted;
    private static volatile BooleanSupplier cancelled = () -> false;

    private ManyTests() {}

    /** The test. */
    @RdmaTest
    static final class Each {

        static LongStream numbers() {
            return LongStream.range(0, wanted).takeWhile(number -> !cancelled.getAsBoolean());
        }

        @ParameterizedTest
        @MethodSource("numbers")
        void itsQueuePairIsItsOwn(long number, RdmaResources resources) {
            QueuePair queuePair = resources.queuePair(QueuePairOptions.of(QpType.RC));
            if (queuePair.number() <= 0) {
                throw new AssertionError("Test " + number + " has no queue pair but " + queuePair);
            }
        }
    }

    /**
     * Runs so many tests.
     *
     * @param cancelled whether no more are to begin
     * @throws CancellationException if not all began
     */
    static Effort run(long count, BooleanSupplier cancelled) {
        wanted = count;
        ManyTests.cancelled = cancelled;
        return Effort.of(count, () -> {
            long begin = System.nanoTime();
            TestCounter counter = TestCounter.run(Each.class);
            long nanos = System.nanoTime() - begin;
            if (cancelled.getAsBoolean()) {
                throw new CancellationException("the bench was ended before all tests of this row were run");
            }
            counter.require(count);
            return nanos;
        });
    }
}
