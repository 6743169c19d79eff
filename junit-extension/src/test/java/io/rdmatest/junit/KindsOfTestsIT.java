package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.ReportKeys;
import io.rdmatest.junit.params.EachSize;
import io.rdmatest.junit.params.RdmaParameterizedTest;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QueuePair;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Resources reach every kind of test that JUnit knows, by every way, and live as long as they should. */
@ExclusiveDevice
class KindsOfTestsIT {

    /** What fixtures saw, in order; looked at when they are over. */
    private static final List<NativeResource> SEEN = new ArrayList<>();

    private static Run passes(Class<?> fixture, int tests) {
        SEEN.clear();
        List<NativeResource> before = Ledger.live();
        Run run = Run.of(fixture).allSucceeded(tests);
        assertThat(Ledger.live()).isEqualTo(before);
        assertThat(SEEN).isNotEmpty().allMatch(NativeResource::isClosed);
        return run;
    }

    private static void sees(NativeResource... resources) {
        for (NativeResource resource : resources) {
            assertThat(resource.isClosed()).isFalse();
            SEEN.add(resource);
        }
    }

    private static void seesNew(NativeResource resource) {
        assertThat(SEEN).doesNotContain(resource);
        sees(resource);
    }

    @RdmaTest
    static class EveryKindTestCase {
        @Test
        void plain(MemoryRegion region) {
            seesNew(region);
        }

        @RdmaTest
        void annotated(MemoryRegion region) {
            seesNew(region);
        }

        @ParameterizedTest
        @ValueSource(ints = {1, 2})
        void parameterised(int number, MemoryRegion region) {
            seesNew(region);
        }

        @RepeatedTest(2)
        void repeated(MemoryRegion region) {
            seesNew(region);
        }

        @RdmaParameterizedTest
        @EachSize(values = {"1B", "2B"})
        void ofSources(MemoryRegion region, long size) {
            seesNew(region);
        }

        @Nested
        class Inner {
            private final ProtectionDomain ofConstructor;

            Inner(ProtectionDomain domain) {
                ofConstructor = domain;
            }

            @RdmaTest
            void nested(MemoryRegion region) {
                assertThat(region.protectionDomain()).isSameAs(ofConstructor);
                seesNew(region);
            }
        }
    }

    @Test
    void everyKind() {
        passes(EveryKindTestCase.class, 9);
    }

    @RdmaTest
    static class FactoryTestCase {
        @TestFactory
        Stream<DynamicTest> factory(MemoryRegion region, RdmaResources resources) {
            sees(region);
            return Stream.of(1, 2, 3)
                    .map(number -> DynamicTest.dynamicTest("dynamic " + number, () -> {
                        assertThat(region.isClosed()).isFalse();
                        region.fill((byte) number.intValue());
                        // Of the factory, not of the dynamic test: the next one still has it.
                        seesNew(resources.memory(64));
                        assertThat(SEEN).noneMatch(NativeResource::isClosed);
                    }));
        }
    }

    @Test
    void resourcesOfAFactoryLiveUntilItsLastTest() {
        passes(FactoryTestCase.class, 3);
        assertThat(SEEN).hasSize(4);
    }

    @RdmaTest
    static class LeakingFactoryTestCase {
        @TestFactory
        Stream<DynamicTest> factory(ProtectionDomain domain) {
            return Stream.of(
                    DynamicTest.dynamicTest("leaks", () -> domain.registerMemory(64)),
                    DynamicTest.dynamicTest(
                            "does not", () -> domain.registerMemory(64).close()));
        }
    }

    @Test
    void leaksOfADynamicTestAreItsOwn() {
        Run run = Run.of(LeakingFactoryTestCase.class);
        assertThat(run.failure("leaks")).hasMessageContaining("left 1 native object behind");
        assertThat(run.succeeded()).containsExactly("does not");
    }

    @RdmaTest
    @ParameterizedClass
    @ValueSource(ints = {1, 2})
    static class ClassTestCase {
        private final int number;
        private final MemoryRegion ofConstructor;

        ClassTestCase(int number, MemoryRegion region) {
            this.number = number;
            ofConstructor = region;
        }

        @RdmaTest
        void one(ProtectionDomain domain) {
            assertThat(number).isBetween(1, 2);
            assertThat(ofConstructor.protectionDomain()).isSameAs(domain);
            seesNew(ofConstructor);
        }

        @ParameterizedTest
        @EachSize(values = {"1B", "2B"})
        void two(long size, ProtectionDomain domain) {
            assertThat(size).isBetween(1L, 2L);
            assertThat(ofConstructor.protectionDomain()).isSameAs(domain);
            seesNew(ofConstructor);
        }
    }

    @Test
    void parameterisedClasses() {
        passes(ClassTestCase.class, 6);
    }

    @RdmaTest
    static class PerMethodTestCase {
        private static CompletionQueue ofClass;
        private final ProtectionDomain ofConstructor;
        private ProtectionDomain ofSetUp;

        PerMethodTestCase(ProtectionDomain domain) {
            ofConstructor = domain;
        }

        @BeforeAll
        static void beforeAll(CompletionQueue queue) {
            ofClass = queue;
            sees(queue);
        }

        @BeforeEach
        void setUp(ProtectionDomain domain) {
            ofSetUp = domain;
            seesNew(domain);
        }

        @RdmaTest
        void one(ProtectionDomain own) {
            check(own);
        }

        @RdmaTest
        void two(ProtectionDomain own) {
            check(own);
        }

        private void check(ProtectionDomain own) {
            assertThat(own).isSameAs(ofConstructor).isSameAs(ofSetUp);
            assertThat(ofClass.isClosed()).isFalse();
        }

        @AfterEach
        void tearDown(ProtectionDomain domain) {
            check(domain);
        }

        @AfterAll
        static void afterAll(ProtectionDomain ofItsOwn) {
            assertThat(ofClass.isClosed()).isFalse();
            seesNew(ofItsOwn);
        }
    }

    @Test
    void oneInstancePerMethod() {
        passes(PerMethodTestCase.class, 2);
    }

    @RdmaTest
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    static class PerClassTestCase {
        private final MemoryRegion ofConstructor;

        @Provided
        private MemoryRegion ofTest;

        PerClassTestCase(MemoryRegion region) {
            ofConstructor = region;
            sees(region);
        }

        @BeforeAll
        void beforeAll(ProtectionDomain domain) {
            assertThat(domain).isSameAs(ofConstructor.protectionDomain());
        }

        @RdmaTest
        void one(ProtectionDomain own) {
            check(own);
        }

        @RdmaTest
        void two(ProtectionDomain own) {
            check(own);
        }

        private void check(ProtectionDomain own) {
            assertThat(own).isNotSameAs(ofConstructor.protectionDomain()).isSameAs(ofTest.protectionDomain());
            assertThat(ofConstructor.isClosed()).isFalse();
            seesNew(ofTest);
        }
    }

    @Test
    void oneInstancePerClass() {
        passes(PerClassTestCase.class, 2);
    }

    @RdmaTest
    static class FieldsTestCase {
        @Provided
        private static CompletionQueue shared;

        @Provided
        @Registered(size = "8KiB", alignment = "64KiB")
        private MemoryRegion own;

        @Provided
        private QueuePair server;

        @Provided
        private QueuePair client;

        @Provided
        private RdmaReport report;

        @BeforeAll
        static void staticsAreThere() {
            sees(shared);
        }

        @BeforeEach
        void instancesAreThere() {
            seesNew(own);
        }

        @RdmaTest
        void one(MemoryRegion region) {
            check(region);
        }

        @RdmaTest
        void two(MemoryRegion region) {
            check(region);
        }

        private void check(MemoryRegion region) {
            report.bytesVerified(1);
            assertThat(SEEN.getFirst()).isSameAs(shared);
            assertThat(own.size()).isEqualTo(8192);
            assertThat(own.address() % (64 << 10)).isZero();
            assertThat(region.protectionDomain()).isSameAs(own.protectionDomain());
            assertThat(client.state()).isEqualTo(QpState.RTS);
            assertThat(client.query().destinationQp()).isEqualTo(server.number());
        }

        @Nested
        class Inner {
            @Provided
            private MemoryRegion inner;

            @RdmaTest
            void fillsBoth() {
                assertThat(inner.protectionDomain()).isSameAs(own.protectionDomain());
                seesNew(inner);
            }
        }
    }

    @Test
    void fields() {
        Run run = passes(FieldsTestCase.class, 3);
        assertThat(run.entries()).anySatisfy(entry -> assertThat(entry).containsKey(ReportKeys.BYTES_VERIFIED));
    }

    static class PlainClassTestCase {
        @Provided
        private static CompletionQueue shared;

        @Provided
        private MemoryRegion own;

        @RdmaTest
        void annotated() {
            sees(shared, own);
        }
    }

    @Test
    void fieldsOfAPlainClass() {
        passes(PlainClassTestCase.class, 1);
    }
}
