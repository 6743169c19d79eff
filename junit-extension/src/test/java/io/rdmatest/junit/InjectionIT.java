package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ConnectionMode;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.ReportKeys;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SharedReceiveQueue;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

@ExclusiveDevice
class InjectionIT {

    private static final Duration PATIENCE = Duration.ofSeconds(5);

    private static void assertPasses(Class<?> fixture, int tests) {
        List<NativeResource> before = Ledger.live();
        Run run = Run.of(fixture);
        run.results().allEvents().failed().stream().findFirst().ifPresent(event -> {
            throw new AssertionError(event.toString());
        });
        assertThat(run.succeeded()).hasSize(tests);
        assertThat(Ledger.live()).isEqualTo(before);
    }

    @RdmaTest
    static class EveryTypeTestCase {
        @RdmaTest
        void everything(
                FabricDevice device,
                DeviceContext context,
                ProtectionDomain domain,
                CompletionChannel channel,
                CompletionQueue plain,
                MemoryRegion small,
                @Registered(size = "1MiB", access = Access.LOCAL_WRITE) MemoryRegion large,
                EventChannel events,
                CmId id,
                SharedReceiveQueue receives,
                Fabric fabric,
                RdmaResources resources) {
            CompletionQueue withEvents = resources.completionQueue(128, true);
            QueuePair datagrams = resources.queuePair(QueuePairOptions.of(QpType.UD));
            assertThat(fabric).isSameAs(resources.fabric());
            assertThat(fabric.nodes()).contains(device.node());
            assertThat(device.device().name()).isEqualTo(context.deviceName());
            assertThat(domain.context()).isSameAs(context);
            assertThat(plain.channel()).isNull();
            assertThat(withEvents.channel()).isSameAs(channel);
            assertThat(withEvents.entries()).isGreaterThanOrEqualTo(128);
            assertThat(datagrams.type()).isEqualTo(QpType.UD);
            assertThat(datagrams.state()).isEqualTo(QpState.RESET);
            assertThat(datagrams.protectionDomain()).isSameAs(domain);
            assertThat(small.size()).isEqualTo(4096);
            assertThat(small.access()).contains(Access.REMOTE_READ, Access.REMOTE_WRITE);
            assertThat(large.size()).isEqualTo(1 << 20);
            assertThat(large.access()).containsExactly(Access.LOCAL_WRITE);
            assertThat(id.channel()).isSameAs(events);
            assertThat(id.portSpace()).isEqualTo(PortSpace.TCP);
            assertThat(resources.id(PortSpace.UDP).portSpace()).isEqualTo(PortSpace.UDP);
            assertThat(receives.protectionDomain()).isSameAs(domain);
        }
    }

    @Test
    void providesEveryType() {
        assertPasses(EveryTypeTestCase.class, 1);
    }

    @RdmaTest
    static class ConnectionTestCase {
        @ParameterizedTest
        @EnumSource(ConnectionMode.class)
        void opens(ConnectionMode mode, FabricDevice device, RdmaReport report) {
            try (Connection connection =
                    Connection.open(device, ConnectionOptions.defaults().mode(mode))) {
                ProtectionDomain domain = connection.client().protectionDomain();
                try (MemoryRegion source = domain.registerMemory(4096, Access.LOCAL_WRITE);
                        MemoryRegion target = domain.registerMemory(4096, Access.LOCAL_WRITE)) {
                    exchange(connection, source, target);
                    report.bytesVerified(4096);
                }
            }
        }

        @RdmaTest
        void injected(Connection connection, MemoryRegion source, MemoryRegion target) {
            assertThat(connection.mode()).isEqualTo(ConnectionMode.RDMA_CM);
            exchange(connection, source, target);
        }

        @RdmaTest
        @ConnectionSpec(mode = ConnectionMode.RAW)
        void pair(QueuePair client, QueuePair server, Connection connection) {
            assertThat(connection.mode()).isEqualTo(ConnectionMode.RAW);
            assertThat(connection.client().queuePair()).isSameAs(client);
            assertThat(connection.server().queuePair()).isSameAs(server);
            assertThat(client.state()).isEqualTo(QpState.RTS);
            assertThat(server.state()).isEqualTo(QpState.RTS);
        }

        @RdmaTest
        void theFirstIsTheClientWhateverItsName(QueuePair server, QueuePair client, Connection connection) {
            assertThat(connection.client().queuePair()).isSameAs(server);
            assertThat(connection.server().queuePair()).isSameAs(client);
        }

        @ParameterizedTest
        @ValueSource(ints = {1, 4096})
        void withParameter(
                int size,
                @ConnectionSpec(mode = ConnectionMode.EXTERNAL_QP) Connection connection,
                @Registered(size = "8KiB") MemoryRegion region) {
            assertThat(connection.mode()).isEqualTo(ConnectionMode.EXTERNAL_QP);
            exchange(connection, region, region, size);
        }
    }

    private static void exchange(Connection connection, MemoryRegion source, MemoryRegion target) {
        DataPattern.of(1).fill(source.bytes());
        connection.server().queuePair().postReceive(1, target, 0, 4096);
        connection.client().queuePair().postSend(2, source, 0, 4096, SendFlag.SIGNALED);
        assertThat(connection.client().sendQueue().awaitSuccess(PATIENCE).wrId())
                .isEqualTo(2);
        assertThat(connection.server().receiveQueue().awaitSuccess(PATIENCE).byteLength())
                .isEqualTo(4096);
        DataPattern.of(1).verify(target.bytes());
    }

    private static void exchange(Connection connection, MemoryRegion from, MemoryRegion to, int size) {
        DataPattern.of(1).fill(from.bytes().asSlice(0, size));
        connection.server().queuePair().postReceive(1, to, 4096, size);
        connection.client().queuePair().postSend(2, from, 0, size, SendFlag.SIGNALED);
        connection.client().sendQueue().awaitSuccess(PATIENCE);
        connection.server().receiveQueue().awaitSuccess(PATIENCE);
        DataPattern.of(1).verify(to.bytes().asSlice(4096, size));
    }

    @Test
    void connectsInEveryMode() {
        assertPasses(ConnectionTestCase.class, 8);
    }

    @RdmaTest
    static class ScopesTestCase {
        private static final Set<Object> SHARED = new HashSet<>();
        private static final Set<Object> OWN = new HashSet<>();
        private final ProtectionDomain ofConstructor;
        private ProtectionDomain ofSetUp;

        ScopesTestCase(ProtectionDomain domain) {
            ofConstructor = domain;
            ofSetUp = domain;
        }

        @BeforeEach
        void setUp(ProtectionDomain domain) {
            ofSetUp = domain;
        }

        @ParameterizedTest
        @ValueSource(ints = {1, 2})
        void scopes(
                int round,
                DeviceContext context,
                ProtectionDomain own,
                @Scoped(ResourceScope.CLASS) CompletionQueue queue,
                MemoryRegion region) {
            assertThat(ofConstructor).isSameAs(own);
            assertThat(ofSetUp).isSameAs(own);
            assertThat(region.protectionDomain()).isSameAs(own);
            SHARED.add(context);
            SHARED.add(queue);
            OWN.add(own);
            OWN.add(region);
            assertThat(SHARED).hasSize(2);
            assertThat(OWN).hasSize(2 * round);
        }
    }

    @Test
    void keepsResourcesForTheirScope() {
        assertPasses(ScopesTestCase.class, 2);
        assertThat(ScopesTestCase.OWN)
                .allSatisfy(resource ->
                        assertThat(((NativeResource) resource).isClosed()).isTrue());
    }

    /** Both ids are on the context that librdmacm opened; it is neither test's. */
    @RdmaTest
    @TestMethodOrder(MethodOrderer.MethodName.class)
    static class SharedContextTestCase {
        private static @Nullable CmId kept;

        @BeforeAll
        static void bind(@Scoped(ResourceScope.CLASS) EventChannel channel, FabricDevice device) {
            kept = channel.createId(PortSpace.TCP);
            kept.bind(new InetSocketAddress(device.address(), 0));
        }

        @AfterAll
        static void close() {
            kept().close();
        }

        private static CmId kept() {
            return Objects.requireNonNull(kept);
        }

        @RdmaTest
        void aAsksForItFirst(EventChannel channel, FabricDevice device) {
            try (CmId own = channel.createId(PortSpace.TCP)) {
                own.bind(new InetSocketAddress(device.address(), 0));
                assertThat(own.context()).isSameAs(kept().context());
                assertThat(own.context().isShared()).isTrue();
            }
        }

        @RdmaTest
        void bUsesItLater() {
            assertThat(kept().context().attributes().maxQp()).isPositive();
        }
    }

    @Test
    void leavesTheSharedContextToTheIdsOnIt() {
        assertPasses(SharedContextTestCase.class, 2);
    }

    @RdmaTest
    static class PublishingTestCase {
        @RdmaTest
        void one() {}

        @RdmaTest
        void two() {}
    }

    @Test
    void publishesTheEnvironmentOnceAndTheDevicePerTest() {
        Run run = Run.of(PublishingTestCase.class);
        assertThat(run.entries().stream().filter(e -> e.containsKey(ReportKeys.ENVIRONMENT_PREFIX + "device")))
                .hasSize(1);
        assertThat(run.entries().stream().filter(e -> e.containsKey(ReportKeys.DEVICE)))
                .hasSize(2);
    }
}
