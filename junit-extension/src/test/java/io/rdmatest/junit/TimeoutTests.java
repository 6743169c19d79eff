package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.NativeResource;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.opentest4j.AssertionFailedError;

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
                .isInstanceOf(AssertionFailedError.class)
                .hasMessageContaining("test HangingTestCase.waits did not finish within 200 ms; it was in")
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
                .hasMessageContaining("@BeforeEach SetUpTestCase.hangs did not finish within 150 ms");
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
