package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Who answers for what when tests run at the same time. */
@Isolated("it looks at objects that nobody is known to have made, which are a test's if it is alone")
class ParallelTests {

    private static final String[] PARALLEL = {
        "junit.jupiter.execution.parallel.enabled", "true",
        "junit.jupiter.execution.parallel.mode.default", "concurrent",
        "junit.jupiter.execution.parallel.config.strategy", "fixed",
        "junit.jupiter.execution.parallel.config.fixed.parallelism", "4",
    };

    /** An entry of the ledger without a native object behind it. */
    private static final class Entry extends NativeResource {
        private final String name;

        Entry(String name, @Nullable NativeResource... parents) {
            super("pd", parents);
            this.name = name;
        }

        @Override
        protected void release() {}

        @Override
        public String describe() {
            return name;
        }
    }

    @RdmaTest
    static class TogetherTestCase {
        /** Breaks in both tests unless they overlap, before and after each makes its object. */
        private static final CyclicBarrier BARRIER = new CyclicBarrier(3);

        private static void meet() throws InterruptedException, BrokenBarrierException, TimeoutException {
            int ignored = BARRIER.await(15, TimeUnit.SECONDS);
        }

        @RdmaTest
        void leaksOne() throws Exception {
            meet();
            new Entry("pd one/1");
            meet();
        }

        @RdmaTest
        void leaksFromItsThread() throws Exception {
            meet();
            Thread thread = Thread.ofPlatform().start(() -> new Entry("pd two/2"));
            thread.join();
            meet();
        }

        @RdmaTest
        void leaksNothing() throws Exception {
            meet();
            try (Entry entry = new Entry("pd three/3")) {
                meet();
                assertThat(entry.isClosed()).isFalse();
            }
        }
    }

    @Test
    void blamesEachTestForItsOwnLeakWhileTheyOverlap() {
        Run run = Run.withoutDevice(TogetherTestCase.class, PARALLEL);
        assertThat(run.succeeded()).containsExactly("leaksNothing()");
        assertThat(run.failure("leaksOne"))
                .hasMessageContaining("leaksOne() left 1 native object behind")
                .hasMessageContaining("pd one/1");
        assertThat(run.failure("leaksFromItsThread"))
                .hasMessageContaining("leaksFromItsThread() left 1 native object behind")
                .hasMessageContaining("pd two/2");
    }

    @RdmaTest
    static class AloneTestCase {
        private static final AtomicInteger RUNNING = new AtomicInteger();

        private static void run() {
            assertThat(RUNNING.incrementAndGet()).isEqualTo(1);
            // Time for the others to come, if nothing keeps them.
            for (int i = 0; i < 200; i++) {
                Thread.yield();
            }
            assertThat(RUNNING.getAndDecrement()).isEqualTo(1);
        }

        @RdmaTest
        @ExclusiveDevice
        void first() {
            run();
        }

        @RdmaTest
        @ExclusiveDevice
        void second() {
            run();
        }

        @RdmaTest
        void third() {
            run();
        }
    }

    @Test
    void keepsAwayOthersFromATestThatNeedsTheDeviceForItself() {
        assertThat(Run.withoutDevice(AloneTestCase.class, PARALLEL).succeeded())
                .containsExactly("first()", "second()", "third()");
    }

    @RdmaTest
    @TestMethodOrder(MethodOrderer.MethodName.class)
    static class SharedPoolTestCase {
        private static @Nullable ExecutorService pool;

        @BeforeAll
        static void start() {
            pool = Executors.newSingleThreadExecutor();
        }

        @AfterAll
        static void stop() {
            pool().close();
        }

        private static ExecutorService pool() {
            if (pool == null) {
                throw new IllegalStateException("the pool is not there yet");
            }
            return pool;
        }

        @RdmaTest
        void aStartsTheThreadOfThePool() throws InterruptedException, ExecutionException {
            pool().submit(() -> new Entry("pd pool/1").close()).get();
        }

        @RdmaTest
        void bUsesItAgain() throws InterruptedException, ExecutionException {
            Entry ignored = pool().submit(() -> new Entry("pd pool/2")).get();
        }
    }

    @Test
    void blamesTheClassForWhatAThreadMadeThatOutlivedItsTest() {
        Run run = Run.withoutDevice(SharedPoolTestCase.class);
        assertThat(run.succeeded()).containsExactly("aStartsTheThreadOfThePool()", "bUsesItAgain()");
        assertThat(run.failure("ParallelTests$SharedPoolTestCase"))
                .hasMessageContaining("left 1 native object behind")
                .hasMessageContaining("pd pool/2");
    }

    @RdmaTest
    @TestMethodOrder(MethodOrderer.MethodName.class)
    static class CommonPoolTestCase {
        @RdmaTest
        void aLeaksOnItsOwnObject() {
            Entry parent = new Entry("pd common/1");
            Entry ignored = ForkJoinPool.commonPool()
                    .submit(() -> new Entry("mr common/2", parent))
                    .join();
        }

        @RdmaTest
        void bLeaksOnNothing() {
            Entry ignored = ForkJoinPool.commonPool()
                    .submit(() -> new Entry("pd common/3"))
                    .join();
        }
    }

    @Test
    void blamesTheTestForWhatTheCommonPoolMadeForIt() {
        Run run = Run.withoutDevice(CommonPoolTestCase.class);
        assertThat(run.failure("aLeaksOnItsOwnObject"))
                .hasMessageContaining("left 2 native objects behind")
                .hasMessageContaining("mr common/2");
        assertThat(run.failure("bLeaksOnNothing")).hasMessageContaining("pd common/3");
    }

    static class Opening implements BeforeEachCallback {
        @Override
        public void beforeEach(ExtensionContext context) {
            new Entry("pd extension/1");
        }
    }

    @RdmaTest
    @ExtendWith(Opening.class)
    static class ConstructorTestCase {
        ConstructorTestCase() {
            new Entry("pd constructor/1");
        }

        @RdmaTest
        void first() {}
    }

    @Test
    void blamesTheTestForWhatItsConstructorAndOtherExtensionsLeft() {
        assertThat(Run.withoutDevice(ConstructorTestCase.class, PARALLEL).failure("first"))
                .hasMessageContaining("left 2 native objects behind")
                .hasMessageContaining("pd constructor/1")
                .hasMessageContaining("pd extension/1");
    }

    static class OpeningForAll implements BeforeAllCallback {
        @Override
        public void beforeAll(ExtensionContext context) {
            new Entry("pd class/1");
        }
    }

    @RdmaTest
    @ExtendWith(OpeningForAll.class)
    static class ProvidingTestCase {
        static Stream<String> values() {
            return Stream.of(new Entry("pd provider/1").describe());
        }

        @ParameterizedTest
        @MethodSource("values")
        void takes(String value) {
            assertThat(value).isNotEmpty();
        }
    }

    /** JUnit's pool starts threads when a test waits, among other times: they inherit that test, and then run others. */
    @Test
    void blamesNoOtherTestForWhatAThreadMakesThatItStarted() {
        Ledger.Owner starter = Ledger.Owner.of("the test that started the thread", null);
        Run run;
        try (Ledger.Acting ignored = Ledger.actFor(starter)) {
            run = Run.withoutDevice(ProvidingTestCase.class);
        }
        assertThat(Ledger.live(starter)).isEmpty();
        assertThat(run.failure("takes"))
                .hasMessageContaining("left 1 native object behind")
                .hasMessageContaining("pd provider/1");
        assertThat(run.failure("ParallelTests$ProvidingTestCase"))
                .hasMessageContaining("left 1 native object behind")
                .hasMessageContaining("pd class/1");
    }
}
