package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionSpec;
import io.rdmatest.junit.DataPattern;
import io.rdmatest.junit.DeviceTransport;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.QueuePairOptions;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Registered;
import io.rdmatest.junit.ResourceScope;
import io.rdmatest.junit.Scoped;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.time.Duration;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the pages about the annotations show. */
@RdmaTest
class AnnotationsDocsIT {

    // begin rdma-test
    @RdmaTest(timeout = "20 s")
    void bytesArrive(Connection connection, @Registered MemoryRegion source, @Registered MemoryRegion target) {
        DataPattern pattern = DataPattern.of(42);
        pattern.fill(source.bytes());
        connection.client().queuePair().postWrite(1, source, target.remote(), SendFlag.SIGNALED);
        connection.client().sendQueue().awaitSuccess(Duration.ofSeconds(10));
        pattern.verify(target.bytes());
    }
    // end rdma-test

    // begin parameterized
    @ParameterizedTest
    @ValueSource(ints = {1, 4096})
    void bytesArriveInSize(int size, Connection connection, MemoryRegion source, MemoryRegion target) {
        DataPattern pattern = DataPattern.of(size);
        pattern.fill(source.bytes().asSlice(0, size));
        connection.client().queuePair().postWrite(1, source, target.remote().slice(0, size), SendFlag.SIGNALED);
        connection.client().sendQueue().awaitSuccess(Duration.ofSeconds(10));
        pattern.verify(target.bytes().asSlice(0, size));
    }
    // end parameterized

    // begin registered
    @RdmaTest
    void buffersOfTwoKinds(
            @Registered(size = "1MiB") MemoryRegion forAnyAccess,
            @Registered(size = "512", access = Access.LOCAL_WRITE) MemoryRegion forReceives) {
        assertThat(forAnyAccess.size()).isEqualTo(1024 * 1024);
        assertThat(forReceives.size()).isEqualTo(512);
    }
    // end registered

    // begin resources
    @RdmaTest
    void madeOnDemand(RdmaResources resources, CompletionChannel channel) {
        QueuePair datagrams = resources.queuePair(QueuePairOptions.of(QpType.UD).depth(32, 8));
        assertThat(datagrams.state()).isEqualTo(QpState.RESET);

        CompletionQueue queue = resources.completionQueue(256, true);
        assertThat(queue.channel()).isSameAs(channel);

        CmId id = resources.id(PortSpace.UDP);
        assertThat(id.isClosed()).isFalse();
    }
    // end resources

    // begin shared-receive-queue
    @RdmaTest
    @RequiresDevice(capabilities = DeviceCapability.SHARED_RECEIVE_QUEUES)
    void manyReceivers(RdmaResources resources) {
        SharedReceiveQueue receives = resources.sharedReceiveQueue(32, 2);
        assertThat(receives.attributes().maxWr()).isGreaterThanOrEqualTo(32);
    }
    // end shared-receive-queue

    // begin connection-mode
    @RdmaTest
    @ConnectionSpec(mode = ConnectionMode.RAW)
    void withoutRdmaCm(QueuePair client, QueuePair server, Connection connection) {
        assertThat(connection.client().queuePair()).isSameAs(client);
        assertThat(connection.client().id()).isEmpty();
        assertThat(server.state()).isEqualTo(QpState.RTS);
    }
    // end connection-mode

    // begin requires-device
    @RdmaTest
    @RequiresDevice(
            transport = {DeviceTransport.ROCE, DeviceTransport.INFINIBAND},
            capabilities = DeviceCapability.MULTICAST,
            minMtu = 1024)
    void joinsGroups(RdmaResources resources) {
        QueuePair queuePair = resources.queuePair(QueuePairOptions.of(QpType.UD));
        assertThat(queuePair.type()).isEqualTo(QpType.UD);
    }
    // end requires-device

    @Nested
    // begin exclusive-device
    @RdmaTest
    @ExclusiveDevice
    class LatencyIT {

        @RdmaTest
        void nobodyElseSends(Connection connection) {
            assertThat(connection.server().queuePair().state()).isEqualTo(QpState.RTS);
        }
    }
    // end exclusive-device

    @Nested
    // begin scoped
    @RdmaTest
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    class OneBufferForAllIT {

        private MemoryRegion large;

        @BeforeAll
        void register(ProtectionDomain ofTheClass, @Registered(size = "4MiB") MemoryRegion buffer) {
            assertThat(buffer.protectionDomain()).isSameAs(ofTheClass);
            large = buffer;
        }

        @RdmaTest
        void usesIt(@Scoped(ResourceScope.CLASS) ProtectionDomain domain) {
            assertThat(large.protectionDomain()).isSameAs(domain);
        }
    }
    // end scoped
}
