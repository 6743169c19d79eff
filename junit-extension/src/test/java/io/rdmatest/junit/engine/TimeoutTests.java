package io.rdmatest.junit.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.rdmatest.Cause;
import io.rdmatest.NativeResource;
import io.rdmatest.ReportKeys;
import io.rdmatest.junit.Quantity;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Run;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TimeoutTests {

    @RdmaTest(timeout = "200 ms")
    static class HangingTestCase {
        @RdmaTest
        void waits() throws InterruptedException {
            new CountDownLatch(1).await();
        }

        @RdmaTest(timeout = "100 ms")
        void waitsLess() throws InterruptedException {
            new CountDownLatch(1).await();
        }

        @ParameterizedTest
        @ValueSource(ints = 1)
        void waitsWith(int parameter) throws InterruptedException {
            new CountDownLatch(parameter).await();
        }

        @TestFactory
        Stream<DynamicTest> dynamic() {
            return Stream.of(DynamicTest.dynamicTest("dynamic wait", () -> new CountDownLatch(1).await()));
        }

        @RdmaTest
        void swallows() {
            try (Fake ignored = new Fake("qp fake/17")) {
                new CountDownLatch(1).await();
            } catch (InterruptedException e) {
                assertThat(e).isNotNull();
            }
        }

        @RdmaTest(timeout = "30 s")
        void isQuick() {
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
        }
    }

    private static final class Fake extends NativeResource {
        private final String name;

        Fake(String name) {
            super("qp");
            this.name = name;
        }

        @Override
        protected void release() {}

        @Override
        public String describe() {
            return name;
        }
    }

    @Test
    void boundsEveryKindOfTest() {
        Run run = Run.withoutDevice(HangingTestCase.class);
        assertThat(run.succeeded()).containsExactly("isQuick()");
        assertThat(run.failure("waits"))
                .isInstanceOf(TestFaultError.class)
                .hasMessageContaining(
                        "test HangingTestCase.waits did not finish within 200 ms (@RdmaTest(timeout)); it was in")
                .hasMessageContaining("CountDownLatch.await")
                .hasMessageContaining("TimeoutTests.java");
        assertThat(run.failure("waitsLess")).hasMessageContaining("within 100 ms");
        assertThat(run.failure("dynamic wait")).hasMessageContaining("within 200 ms");
        assertThat(run.failed()).hasSize(5);
    }

    @Test
    void tellsWhatWasThereWhenTimeRanOut() {
        Run run = Run.withoutDevice(HangingTestCase.class);
        assertThat(run.failure("swallows"))
                .hasMessageContaining("did not finish within 200 ms")
                .hasMessageContaining("CountDownLatch.await")
                .hasMessageContaining("diagnosis.txt");
        assertThat(run.files("diagnosis.txt")).singleElement().asString().contains("qp fake/17");
    }

    /** What hangs is the test's own code: nothing was learnt about the fabric. */
    @Test
    void isAFaultOfTheTest() {
        Run run = Run.withoutDevice(HangingTestCase.class);
        assertThat(Cause.of(run.failure("waits"))).isEqualTo(Cause.TIME_LIMIT);
        assertThat(run.entries()).contains(Map.of(ReportKeys.CAUSE, "TIME_LIMIT"));
    }

    /** A device that hangs may hang whoever looks at it, which must not cost the other tests their limits. */
    @Test
    void aLookThatHangsDelaysNoOtherTest() throws Exception {
        CountDownLatch never = new CountDownLatch(1);
        try (TimeLimit limit = new TimeLimit(Duration.ofSeconds(60));
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            CountDownLatch looking = new CountDownLatch(1);
            Future<Throwable> one = threads.submit(() -> catchThrowable(() -> limit.bound(
                    () -> never.await(20, TimeUnit.SECONDS),
                    "one",
                    LIMIT,
                    () -> {
                        looking.countDown();
                        return await(never);
                    },
                    () -> {})));
            assertThat(looking.await(20, TimeUnit.SECONDS)).isTrue();
            long began = System.nanoTime();
            Throwable other = catchThrowable(
                    () -> limit.bound(() -> never.await(20, TimeUnit.SECONDS), "other", LIMIT, () -> "", () -> {}));
            assertThat(other).hasMessageStartingWith("other did not finish within 50 ms (a test)");
            assertThat(System.nanoTime() - began)
                    .isLessThan(Duration.ofSeconds(10).toNanos());
            never.countDown();
            assertThat(one.get(20, TimeUnit.SECONDS)).hasMessageStartingWith("one did not finish");
        }
    }

    @Test
    void aLookThatHangsIsGivenUp() {
        CountDownLatch never = new CountDownLatch(1);
        try (TimeLimit limit = new TimeLimit(Duration.ofMillis(100))) {
            assertThat(catchThrowable(() -> limit.bound(
                            () -> never.await(20, TimeUnit.SECONDS), "one", LIMIT, () -> await(never), () -> {})))
                    .isInstanceOf(TestFaultError.class)
                    .hasMessageContaining("the state could not be read: no answer");
        } finally {
            never.countDown();
        }
    }

    private static final TimeLimit.Limit LIMIT = new TimeLimit.Limit(Duration.ofMillis(50), "a test");

    /** As a native call does, it heeds no interrupt. */
    private static String await(CountDownLatch latch) {
        boolean interrupted = false;
        while (true) {
            try {
                boolean ignored = latch.await(60, TimeUnit.SECONDS);
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return "";
    }

    @Test
    void jUnitCanSwitchLimitsOff() {
        Run run = Run.withoutDevice(
                BriefTestCase.class,
                "junit.jupiter.execution.timeout.mode",
                "disabled",
                RdmaConfiguration.TIMEOUT,
                "1 ms");
        assertThat(run.succeeded()).containsExactly("takesLonger()");
        assertThat(Run.withoutDevice(BriefTestCase.class, RdmaConfiguration.TIMEOUT, "1 ms")
                        .failure("takesLonger"))
                .hasMessageContaining("within 1 ms (rdma.timeout)");
    }

    @RdmaTest
    static class BriefTestCase {
        @RdmaTest
        void takesLonger() throws InterruptedException {
            boolean ignored = new CountDownLatch(1).await(300, TimeUnit.MILLISECONDS);
        }
    }

    @Test
    void knowsADebugger() {
        assertThat(TimeLimit.isDebugged(List.of("-Xmx1g", "-agentlib:jdwp=transport=dt_socket,server=y")))
                .isTrue();
        assertThat(TimeLimit.isDebugged(List.of("-Xmx1g", "-agentlib:hprof"))).isFalse();
    }

    @RdmaTest
    static class SetUpTestCase {
        @BeforeEach
        void hangs() throws InterruptedException {
            new CountDownLatch(1).await();
        }

        @RdmaTest
        void neverReached() {}
    }

    @Test
    void boundsLifecycleMethodsByTheConfiguration() {
        assertThat(Run.withoutDevice(SetUpTestCase.class, RdmaConfiguration.TIMEOUT, "150ms")
                        .failure("neverReached"))
                .hasMessageContaining("@BeforeEach SetUpTestCase.hangs did not finish within 150 ms (rdma.timeout)");
    }

    @RdmaTest(timeout = "150 ms")
    @ParameterizedClass
    @ValueSource(ints = 1)
    static class ArgumentSetTestCase {
        @Parameter
        int set;

        @BeforeParameterizedClassInvocation
        static void hangs() throws InterruptedException {
            new CountDownLatch(1).await();
        }

        @RdmaTest
        void neverReached() {}
    }

    /** What the method throws when it is interrupted comes first, and can't be replaced. */
    @Test
    void boundsTheSetUpOfAnArgumentSet() {
        Run run = Run.withoutDevice(ArgumentSetTestCase.class);
        Throwable failure = run.failure("[1] set=1");
        assertThat(failure).isInstanceOf(InterruptedException.class);
        assertThat(failure.getSuppressed())
                .singleElement()
                .satisfies(late -> assertThat(late)
                        .hasMessageContaining("set-up of [1]")
                        .hasMessageContaining("did not finish within 150 ms (@RdmaTest(timeout))"));
        assertThat(run.entries()).anySatisfy(entry -> assertThat(entry).containsEntry(ReportKeys.CAUSE, "TIME_LIMIT"));
        assertThat(run.succeeded()).isEmpty();
    }

    @Test
    void namesTheKeyOfABadTimeout() {
        assertThat(Run.withoutDevice(SetUpTestCase.class, RdmaConfiguration.TIMEOUT, "soon")
                        .failure("neverReached"))
                .hasMessageContaining("rdma.timeout: \"soon\" is no duration");
    }

    @RdmaTest(timeout = "5 fortnights")
    static class BadTimeoutTestCase {
        @RdmaTest
        void neverReached() {}
    }

    @Test
    void namesTheAnnotationOfABadTimeout() {
        assertThat(Run.withoutDevice(BadTimeoutTestCase.class).failure("neverReached"))
                .hasMessageContaining("@RdmaTest(timeout) on")
                .hasMessageContaining("BadTimeoutTestCase")
                .hasMessageContaining("\"5 fortnights\" is no duration");
    }

    @Test
    void refusesNonsenseEarly() {
        assertThatIllegalArgumentException().isThrownBy(() -> Quantity.duration("5 fortnights"));
    }
}
