package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ConnectionMode;
import io.rdmatest.NativeResource;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairModification;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What qualifiers ask for is what the device gives, and it lives as long as its scope. */
@ExclusiveDevice
class ProvisionIT {

    private static final List<NativeResource> SEEN = new ArrayList<>();

    @RdmaTest
    static class QualifiersTestCase {
        /** The device that the tests of this class use. The host may have more. */
        private static volatile String used;

        @RdmaTest
        void queuePair(RdmaResources resources, FabricDevice device) {
            used = device.device().name();
            QueuePair datagrams = resources.queuePair(
                    QueuePairOptions.of(QpType.UD).depth(33, 65).maxSge(3).maxInline(64));
            assertThat(datagrams.type()).isEqualTo(QpType.UD);
            assertThat(datagrams.maxSendWr()).isGreaterThanOrEqualTo(33);
            assertThat(datagrams.maxReceiveWr()).isGreaterThanOrEqualTo(65);
            assertThat(datagrams.maxInline()).isGreaterThanOrEqualTo(64);
        }

        @RdmaTest
        void memory(
                @Registered(size = "100B", alignment = "1MiB") MemoryRegion aligned,
                @Registered(size = "10000", numaNode = 0, alignment = "64KiB", access = Access.LOCAL_WRITE)
                        MemoryRegion onNode)
                throws IOException {
            assertThat(aligned.size()).isEqualTo(100);
            assertThat(aligned.address() % (1 << 20)).isZero();
            assertThat(onNode.size()).isEqualTo(10_000);
            assertThat(onNode.address() % (64 << 10)).isZero();
            assertThat(onNode.bytes().toArray(ValueLayout.JAVA_BYTE)).containsOnly(0);
            onNode.fill((byte) 1);
            // numa_maps(5): address, policy, …
            assertThat(Files.readAllLines(Path.of("/proc/self/numa_maps")))
                    .anySatisfy(line -> assertThat(line).contains(" bind:0 ").contains(" N0="));
        }

        @RdmaTest
        void externalMtu(
                @ConnectionSpec(mode = ConnectionMode.EXTERNAL_QP, mtu = Mtu.MTU_512, ackTimeout = 17)
                        Connection connection) {
            QueuePairModification attributes = connection.client().queuePair().query();
            assertThat(attributes.pathMtu()).isEqualTo(Mtu.MTU_512);
            assertThat(attributes.timeout()).isEqualTo(17);
            assertThat(connection.server().queuePair().query().pathMtu()).isEqualTo(Mtu.MTU_512);
        }

        @RdmaTest
        @ConnectionSpec(mode = ConnectionMode.RAW, mtu = Mtu.MTU_256, retryCount = 3, rnrRetryCount = 2, ackTimeout = 9)
        void rawMtu(QueuePair client, QueuePair server) {
            QueuePairModification attributes = client.query();
            assertThat(attributes.pathMtu()).isEqualTo(Mtu.MTU_256);
            assertThat(attributes.retryCount()).isEqualTo(3);
            assertThat(attributes.rnrRetry()).isEqualTo(2);
            assertThat(attributes.timeout()).isEqualTo(9);
        }

        @RdmaTest
        void byRdmaCm(
                @ConnectionSpec(
                                maxSendWr = 100,
                                maxReceiveWr = 200,
                                maxSge = 2,
                                maxInline = 32,
                                events = true,
                                retryCount = 5,
                                ackTimeout = 18)
                        Connection connection,
                Connection usual) {
            QueuePair queuePair = connection.client().queuePair();
            assertThat(queuePair.maxSendWr()).isGreaterThanOrEqualTo(100);
            assertThat(queuePair.maxReceiveWr()).isGreaterThanOrEqualTo(200);
            assertThat(queuePair.maxInline()).isGreaterThanOrEqualTo(32);
            assertThat(queuePair.query().retryCount()).isEqualTo(5);
            assertThat(queuePair.query().timeout()).isEqualTo(18);
            assertThat(queuePair.sendQueue().channel()).isNotNull();
            assertThat(usual).isNotSameAs(connection);
            assertThat(usual.client().queuePair().sendQueue().channel()).isNull();
        }

        @RdmaTest
        void beyondTheDevice(@ConnectionSpec(maxSendWr = 2_000_000_000) Connection connection) {}

        @RdmaTest
        void beyondTheDevicesDepth(RdmaResources resources) {
            resources.queuePair(QueuePairOptions.of(QpType.RC).depth(2_000_000_000, 1));
        }

        @RdmaTest
        void beyondTheDevicesQueue(RdmaResources resources) {
            resources.completionQueue(2_000_000_000, false);
        }

        @RdmaTest
        void beyondTheDevicesReceives(RdmaResources resources) {
            resources.sharedReceiveQueue(64, 2_000_000_000);
        }

        @RdmaTest
        void noReceives(RdmaResources resources) {
            resources.sharedReceiveQueue(-1, 1);
        }
    }

    @Test
    void qualifiersReachTheDevice() {
        Run run = Run.of(QualifiersTestCase.class);
        String device = QualifiersTestCase.used;
        assertThat(run.failure("beyondTheDevice"))
                .hasMessageContaining("@ConnectionSpec(maxSendWr) on parameter connection of")
                .hasMessageContaining("is 2000000000, and must be at most ")
                .hasMessageContaining("max_qp_wr of " + device);
        assertThat(run.failure("beyondTheDevicesDepth"))
                .hasMessageContaining("maxSendWr is 2000000000, and must be at most ")
                .hasMessageContaining("max_qp_wr of " + device);
        assertThat(run.failure("beyondTheDevicesQueue"))
                .hasMessageContaining("entries is 2000000000, and must be at most ")
                .hasMessageContaining("max_cqe of " + device);
        assertThat(run.failure("beyondTheDevicesReceives"))
                .hasMessageContaining("maxSge is 2000000000, and must be at most ")
                .hasMessageContaining("max_srq_sge of " + device);
        assertThat(run.failure("noReceives")).hasMessage("maxWr is -1, and must be at least 1");
        assertThat(run.failed()).hasSize(5);
        assertThat(run.succeeded()).hasSize(5);
    }

    @RdmaTest
    @ConnectionSpec(mode = ConnectionMode.EXTERNAL_QP, maxSendWr = 128, retryCount = 4, ackTimeout = 16)
    static class MembersTestCase {
        @RdmaTest
        @ConnectionSpec(mtu = Mtu.MTU_512, retryCount = 5)
        void nearestFirst(@ConnectionSpec(ackTimeout = 17) Connection connection, RdmaResources resources) {
            QueuePairModification attributes = connection.client().queuePair().query();
            assertThat(connection.mode()).isEqualTo(ConnectionMode.EXTERNAL_QP);
            assertThat(connection.client().queuePair().maxSendWr()).isGreaterThanOrEqualTo(128);
            assertThat(attributes.pathMtu()).isEqualTo(Mtu.MTU_512);
            assertThat(attributes.retryCount()).isEqualTo(5);
            assertThat(attributes.timeout()).isEqualTo(17);
            assertThat(resources.connection().client().queuePair().query().timeout())
                    .isEqualTo(16);
        }
    }

    @Test
    void eachMemberOfAConnectionCountsWhereItIsSetNearest() {
        Run.of(MembersTestCase.class).allSucceeded(1);
    }

    private static final Set<NativeResource> OF_RUN = new HashSet<>();
    private static final Set<NativeResource> OF_CLASS = new HashSet<>();

    @RdmaTest
    static class FirstTestCase {
        @Provided
        @Scoped(ResourceScope.RUN)
        @Registered(size = "16KiB")
        private static MemoryRegion field;

        @BeforeEach
        void setUp(@Scoped(ResourceScope.CLASS) @Registered(size = "8KiB") MemoryRegion ofClass) {
            OF_CLASS.add(ofClass);
        }

        @RdmaTest
        void one(
                @Scoped(ResourceScope.RUN) @Registered(size = "16KiB") MemoryRegion ofRun,
                @Scoped(ResourceScope.CLASS) @Registered(size = "8KiB") MemoryRegion ofClass) {
            assertThat(ofRun).isSameAs(field);
            see(ofRun, ofClass);
        }

        @RdmaTest
        void two(
                @Scoped(ResourceScope.CLASS) @Registered(size = "8KiB") MemoryRegion ofClass,
                @Scoped(ResourceScope.CLASS) @Registered(size = "8KiB") MemoryRegion another,
                @Scoped(value = ResourceScope.RUN, name = "mine") @Registered(size = "16KiB") MemoryRegion named,
                @Scoped(ResourceScope.RUN) @Registered(size = "16KiB") MemoryRegion ofRun) {
            assertThat(another).isNotSameAs(ofClass);
            assertThat(named).isNotSameAs(ofRun);
            see(ofRun, ofClass);
            SEEN.add(named);
        }
    }

    @RdmaTest
    static class SecondTestCase {
        @RdmaTest
        void three(
                @Scoped(ResourceScope.RUN) @Registered(size = "16KiB") MemoryRegion ofRun,
                @Scoped(ResourceScope.CLASS) @Registered(size = "8KiB") MemoryRegion ofClass,
                Connection connection,
                ProtectionDomain domain,
                RdmaResources resources) {
            see(ofRun, ofClass);
            // Whatever is of this test alone works with the run's memory.
            assertThat(connection.client().protectionDomain())
                    .isSameAs(ofRun.protectionDomain())
                    .isSameAs(domain);
            assertThat(resources.in(ResourceScope.RUN).protectionDomain()).isSameAs(ofRun.protectionDomain());
            SEEN.add(resources.in(ResourceScope.RUN).memory(64));
        }
    }

    private static void see(NativeResource ofRun, NativeResource ofClass) {
        assertThat(ofRun.isClosed()).isFalse();
        assertThat(ofClass.isClosed()).isFalse();
        OF_RUN.add(ofRun);
        OF_CLASS.add(ofClass);
    }

    @Test
    void resourcesOfTheRunAreSharedByItsClasses() {
        OF_RUN.clear();
        OF_CLASS.clear();
        SEEN.clear();
        Run.ofAll(FirstTestCase.class, SecondTestCase.class).allSucceeded(3);
        assertThat(OF_RUN).hasSize(1);
        assertThat(OF_CLASS).hasSize(2);
        SEEN.addAll(OF_RUN);
        SEEN.addAll(OF_CLASS);
        assertThat(SEEN).allMatch(NativeResource::isClosed);
    }
}
