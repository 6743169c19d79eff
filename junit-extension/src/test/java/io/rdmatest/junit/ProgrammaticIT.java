package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.DynamicContainer.dynamicContainer;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import io.rdmatest.ConnectionMode;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicNode;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;

@ExclusiveDevice
class ProgrammaticIT {

    private static final List<NativeResource> SEEN = new ArrayList<>();

    private static Run passes(Class<?> fixture, int tests, String... keysAndValues) {
        SEEN.clear();
        List<NativeResource> before = Ledger.live();
        Run run = Run.of(fixture, keysAndValues).allSucceeded(tests);
        assertThat(Ledger.live()).isEqualTo(before);
        assertThat(SEEN).allMatch(NativeResource::isClosed);
        return run;
    }

    static class StaticFieldTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA = RdmaExtension.builder()
                .connections(ConnectionOptions.defaults().mode(ConnectionMode.RAW))
                .build();

        private static MemoryRegion ofClass;
        private MemoryRegion ofSetUp;

        @BeforeAll
        static void beforeAll() {
            ofClass = RDMA.memory(4096);
        }

        @BeforeEach
        void setUp() {
            ofSetUp = RDMA.memory(4096);
            SEEN.add(ofSetUp);
        }

        @Test
        void everything() throws Exception {
            assertThat(ofClass.isClosed()).isFalse();
            Connection connection = RDMA.connection();
            assertThat(connection.mode()).isEqualTo(ConnectionMode.RAW);
            assertThat(connection.client().protectionDomain())
                    .isSameAs(ofSetUp.protectionDomain())
                    .isSameAs(RDMA.protectionDomain());
            assertThat(RDMA.connection(ConnectionOptions.defaults().mode(ConnectionMode.RDMA_CM))
                            .mode())
                    .isEqualTo(ConnectionMode.RDMA_CM);
            QueuePair queuePair = RDMA.queuePair(QueuePairOptions.of(QpType.UD).depth(32, 32));
            SEEN.add(queuePair);
            SEEN.add(RDMA.resources().completionQueue(16, true));
            SEEN.add(RDMA.resources().sharedReceiveQueue(16, 1));
            SEEN.add(RDMA.resources().id(PortSpace.TCP));
            MemoryRegion aligned = RDMA.memory(100, MemoryPlacement.ANYWHERE.alignedTo(1 << 16));
            assertThat(aligned.address() % (1 << 16)).isZero();
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> RDMA.resources().completionQueue(0, false))
                    .withMessage("entries is 0, and must be at least 1");
            RdmaResources resources = RDMA.resources();
            MemoryRegion elsewhere =
                    CompletableFuture.supplyAsync(() -> resources.memory(64)).get(15, TimeUnit.SECONDS);
            SEEN.add(elsewhere);
            assertThat(elsewhere.protectionDomain()).isSameAs(ofSetUp.protectionDomain());
        }

        @Test
        void parameters(MemoryRegion region, Connection connection, RdmaReport report) {
            assertThat(connection.mode()).isEqualTo(ConnectionMode.RAW);
            assertThat(region.protectionDomain()).isSameAs(ofSetUp.protectionDomain());
        }

        @Test
        @ConnectionSpec(mode = ConnectionMode.EXTERNAL_QP)
        void annotationBeforeBuilder(Connection connection) {
            assertThat(connection.mode()).isEqualTo(ConnectionMode.EXTERNAL_QP);
            assertThat(RDMA.connection().mode()).isEqualTo(ConnectionMode.EXTERNAL_QP);
        }

        @AfterEach
        void tearDown() {
            assertThat(ofSetUp.isClosed()).isFalse();
            assertThat(RDMA.memory(64).protectionDomain()).isSameAs(ofSetUp.protectionDomain());
        }

        @Nested
        class Inner {
            @Test
            void servesNestedClasses() {
                assertThat(RDMA.memory(64).protectionDomain()).isSameAs(ofSetUp.protectionDomain());
            }
        }
    }

    @Test
    void aStaticFieldDoesWithoutAnnotations() {
        passes(StaticFieldTestCase.class, 4);
    }

    static class InstanceFieldTestCase {
        @RegisterExtension
        final RdmaExtension rdma =
                RdmaExtension.builder().timeout(Duration.ofMillis(300)).build();

        @Test
        void hands(MemoryRegion parameter) {
            assertThat(rdma.memory(64).protectionDomain()).isSameAs(parameter.protectionDomain());
        }

        @Test
        void outlivesTheBuildersLimit() throws InterruptedException {
            new CountDownLatch(1).await(30, TimeUnit.SECONDS);
        }
    }

    @Test
    void anInstanceFieldServesEachTest() {
        Run run = Run.of(InstanceFieldTestCase.class, RdmaConfiguration.TIMEOUT, "20 s");
        assertThat(run.failure("outlivesTheBuildersLimit")).hasMessageContaining("did not finish within 300 ms");
    }

    @RdmaTest
    static class BothTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA =
                RdmaExtension.builder().timeout(Duration.ofMillis(300)).build();

        // On a busy host the injection alone may take as long as the builder allows.
        @RdmaTest(timeout = "15 s")
        void oneOfTheTwoWorks(MemoryRegion region) {
            assertThat(RDMA.memory(64).protectionDomain()).isSameAs(region.protectionDomain());
            SEEN.add(region);
        }

        @RdmaTest(timeout = "15 s")
        void annotationBeforeBuilder() throws InterruptedException {
            // Longer than the builder allows, shorter than the annotation does.
            assertThat(new CountDownLatch(1).await(600, TimeUnit.MILLISECONDS)).isFalse();
        }
    }

    @Test
    void aFieldBesideTheAnnotation() {
        passes(BothTestCase.class, 2, RdmaConfiguration.TIMEOUT, "20 s");
    }

    static class FactoryTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA = RdmaExtension.builder().build();

        @TestFactory
        Stream<DynamicNode> made() {
            return Stream.of(
                    dynamicTest("first", this::look),
                    dynamicContainer("inside", Stream.of(dynamicTest("second", this::look))));
        }

        @Test
        void plain() {
            look();
        }

        private void look() {
            ProtectionDomain ofClass = RDMA.in(ResourceScope.CLASS).protectionDomain();
            assertThat(ofClass.isClosed()).isFalse();
            assertThat(ofClass).isNotSameAs(RDMA.protectionDomain());
            SEEN.add(ofClass);
        }
    }

    @Test
    void theClassOfADynamicTestIsThatOfItsFactory() {
        passes(FactoryTestCase.class, 3);
        assertThat(SEEN).hasSize(3).containsOnly(SEEN.getFirst());
    }

    static class AuditedTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA = RdmaExtension.builder().build();

        @Test
        void leaks() {
            RDMA.protectionDomain().registerMemory(64);
        }
    }

    static class UnauditedTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA = RdmaExtension.builder().audit("off").build();

        @Test
        void leaks() {
            SEEN.add(EventChannel.create());
        }
    }

    @Test
    void theBuilderChoosesTheAudit() {
        assertThat(Run.of(AuditedTestCase.class).failure("leaks")).hasMessageContaining("left 1 native object behind");
        SEEN.clear();
        Run.of(UnauditedTestCase.class).allSucceeded(1);
        SEEN.forEach(NativeResource::close);
    }
}
