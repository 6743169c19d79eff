package io.rdmatest.junit.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.rdmatest.ConnectionMode;
import io.rdmatest.ReportKeys;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.fault.ActiveFault;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.fabric.fault.NetworkFault;
import io.rdmatest.junit.Command;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionOptions;
import io.rdmatest.junit.ConnectionSpec;
import io.rdmatest.junit.DeviationKey;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.OnDevice;
import io.rdmatest.junit.PastTheLedger;
import io.rdmatest.junit.QueuePairOptions;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.RdmaExtension;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Run;
import io.rdmatest.junit.SecondDevice;
import io.rdmatest.junit.condition.NotOnDevice;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.junit.fabric.Fault;
import io.rdmatest.junit.params.EachConnectionMode;
import io.rdmatest.junit.params.EachDevice;
import io.rdmatest.junit.params.EachGid;
import io.rdmatest.junit.params.EachMtu;
import io.rdmatest.junit.params.RdmaParameterizedTest;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.KernelResource;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.RdmaDevice;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;

/** Tests on a device of their choice, where the machine has two. */
@ExclusiveDevice
@Execution(ExecutionMode.SAME_THREAD)
@Tag("slow")
class DevicesIT {

    private static final List<String> SEEN = new ArrayList<>();
    private static SecondDevice second;

    @BeforeAll
    static void makeADevice() throws Exception {
        assumeThat(RdmaDevice.list())
                .as("annotations below name the device of the virtual machine")
                .extracting(RdmaDevice::name)
                .contains("rxe0");
        second = new SecondDevice();
    }

    @AfterAll
    static void removeIt() throws Exception {
        if (second != null) {
            second.close();
        }
    }

    /** With two active devices, the run's own has to be named. */
    private static Run onFirst(Class<?> fixture) {
        return Run.of(fixture, FabricConfiguration.DEVICE, "rxe0");
    }

    @RdmaTest
    static class TwoDevicesTestCase {
        @RdmaTest
        void parameters(
                FabricDevice one,
                @OnDevice("rxe1") FabricDevice two,
                @OnDevice("rxe1") ProtectionDomain domain,
                @OnDevice("rxe1") MemoryRegion region,
                MemoryRegion elsewhere,
                @OnDevice("rxe1") CompletionQueue queue,
                @OnDevice("rxe1") RdmaResources resources,
                @OnDevice("rxe1") Connection connection,
                Connection other) {
            QueuePair queuePair = resources.queuePair(QueuePairOptions.of(QpType.RC));
            assertThat(one.device().name()).isEqualTo("rxe0");
            assertThat(two.device().name()).isEqualTo("rxe1");
            assertThat(two.address().getHostAddress()).isEqualTo(SecondDevice.ADDRESS);
            assertThat(region.protectionDomain()).isSameAs(domain);
            assertThat(domain.context().deviceName()).isEqualTo("rxe1");
            assertThat(queue.describe()).contains("rxe1");
            assertThat(queuePair.protectionDomain()).isSameAs(domain);
            assertThat(elsewhere.protectionDomain().context().deviceName()).isEqualTo("rxe0");
            assertThat(connection.client().protectionDomain()).isSameAs(domain);
            assertThat(other.client().protectionDomain()).isSameAs(elsewhere.protectionDomain());
        }

        @RdmaTest
        @OnDevice("rxe1")
        void method(DeviceContext context, RdmaResources resources, @OnDevice("rxe0") MemoryRegion other) {
            assertThat(context.deviceName()).isEqualTo("rxe1");
            assertThat(resources.context()).isSameAs(context);
            assertThat(resources.onDevice("rxe0").protectionDomain()).isSameAs(other.protectionDomain());
        }

        @RdmaTest
        void missing(MemoryRegion fine, @OnDevice("rxe9") MemoryRegion region) {}

        @RdmaTest
        @OnDevice("rxe9")
        void missingForTheMethod() {}

        @RdmaTest
        void noSuchNode(@OnDevice(node = "z") MemoryRegion region) {}

        @RdmaTest
        void sidesApart(QueuePair client, @OnDevice("rxe1") QueuePair server) {}
    }

    @Test
    void resourcesAreOfTheDeviceThatWasAskedFor() {
        Run run = onFirst(TwoDevicesTestCase.class);
        assertThat(run.failure("missing"))
                .hasMessageContaining("@OnDevice(\"rxe9\") on parameter region of TwoDevicesTestCase.missing")
                .hasMessageContaining("is not on this host")
                .hasMessageContaining("rxe0/1")
                .hasMessageContaining("rxe1/1");
        assertThat(run.failure("missingForTheMethod"))
                .hasMessageContaining("@OnDevice(\"rxe9\") for missingForTheMethod")
                .hasMessageContaining("rxe1/1");
        assertThat(run.failure("noSuchNode"))
                .hasMessageContaining("@OnDevice(node = \"z\") on parameter region")
                .hasMessageContaining("has no node 'z'; allowed: ");
        assertThat(run.failure("sidesApart")).hasMessageContaining("can't be on different devices");
        assertThat(run.results().testEvents().failed().count()).isEqualTo(4);
    }

    @RdmaTest
    static class EachTestCase {
        @RdmaParameterizedTest
        @EachDevice
        void device(Connection connection, DeviceContext context) {
            assertThat(connection.client().protectionDomain().context()).isSameAs(context);
            SEEN.add(context.deviceName());
        }

        @ParameterizedTest
        @EachDevice
        void arguments(FabricDevice device, DeviceContext context) {
            assertThat(context.deviceName()).isEqualTo(device.device().name());
            SEEN.add("junit " + context.deviceName());
        }

        @RdmaParameterizedTest
        void gids(
                @EachDevice FabricDevice device,
                @EachGid GidEntry gid,
                @EachConnectionMode(ConnectionMode.RAW) ConnectionMode mode,
                Connection connection,
                RdmaResources resources) {
            assertThat(connection.mode()).isEqualTo(mode);
            assertThat(resources.device().gid()).isEqualTo(gid);
            assertThat(resources.device().device()).isEqualTo(device.device());
            assertThat(connection.client().queuePair().query().addressVector().gidIndex())
                    .isEqualTo(gid.index());
            SEEN.add("gid of " + device.device().name());
        }

        @ParameterizedTest
        @EachGid
        void gidsByRdmaCm(GidEntry gid, Connection connection) {
            assertThat(connection.client().id().orElseThrow().localGid()).isEqualTo(gid.gid());
            SEEN.add("cm");
        }
    }

    @Test
    void sourcesGoOverDevicesAndTheirGids() {
        SEEN.clear();
        Run run = onFirst(EachTestCase.class);
        assertThat(run.results().allEvents().failed().stream().map(Object::toString))
                .isEmpty();
        assertThat(SEEN).contains("rxe0", "rxe1", "junit rxe0", "junit rxe1", "gid of rxe0", "gid of rxe1", "cm");
        assertThat(run.succeeded()).hasSize(SEEN.size());
    }

    @RdmaTest
    @NotOnDevice(name = "rxe2", because = "the class has a condition as well")
    static class ConditionsTestCase {
        @RdmaParameterizedTest
        @RequiresDevice(name = "rxe1")
        void second(@EachDevice({"rxe0", "rxe1"}) FabricDevice device) {
            SEEN.add("second " + device.device().name());
        }

        @ParameterizedTest
        @RequiresDevice(name = "rxe1")
        @EachDevice
        void secondByJUnit(FabricDevice device) {
            SEEN.add("junit " + device.device().name());
        }

        @RdmaParameterizedTest
        @NotOnDevice(name = "rxe0", because = "it is the run's own")
        @EachDevice
        void notFirst(DeviceContext context) {
            SEEN.add("not first " + context.deviceName());
        }

        @RdmaParameterizedTest
        @RequiresDevice(gidType = GidType.ROCE_V2)
        @EachGid
        void version2(GidEntry gid) {
            assertThat(gid.type()).isEqualTo(GidType.ROCE_V2);
            SEEN.add("version 2");
        }

        @RdmaTest
        @RequiresDevice(name = "rxe1")
        void ofTheRun() {}
    }

    @RdmaTest
    @NotOnDevice(name = "rxe1", because = "the class is for the first")
    static class ConditionOfClassTestCase {
        @RdmaParameterizedTest
        void first(@EachDevice({"rxe0", "rxe1"}) FabricDevice device) {
            SEEN.add("first " + device.device().name());
        }

        @RdmaTest
        @OnDevice("rxe1")
        void moved() {}
    }

    @ParameterizedClass
    @EachDevice
    @RdmaTest
    @RequiresDevice(name = "rxe1")
    record ConditionOfEachClassTestCase(FabricDevice device) {
        @RdmaTest
        void each() {
            SEEN.add("class " + device.device().name());
        }
    }

    @Test
    void aConditionIsAskedOfTheDeviceThatAnInvocationChooses() {
        SEEN.clear();
        Run run = onFirst(ConditionsTestCase.class);
        assertThat(SEEN).contains("version 2");
        SEEN.removeIf("version 2"::equals);
        assertThat(SEEN).containsExactlyInAnyOrder("second rxe1", "junit rxe1", "not first rxe1");
        assertThat(run.results().testEvents().failed().count()).isZero();
        assertThat(run.skipReason("[1] device = rxe0/1"))
                .isEqualTo("not selected: the run is on rxe0, and the test on a device matching rxe1");
        assertThat(run.skipReason("ofTheRun")).startsWith("not selected: the run is on rxe0");
    }

    @Test
    void aConditionOfAClassIsAskedOfTheDeviceThatATestChooses() {
        SEEN.clear();
        Run run = onFirst(ConditionOfClassTestCase.class);
        assertThat(SEEN).containsExactly("first rxe0");
        assertThat(run.skipReason("[2] device = rxe1/1"))
                .isEqualTo("not selected: the test is not for rxe1 (rdma_rxe, RoCE v2): the class is for the first");
        assertThat(run.skipReason("moved")).startsWith("not selected: the test is not for rxe1");
        Run failing = Run.of(
                ConditionOfClassTestCase.class, FabricConfiguration.DEVICE, "rxe0", RdmaConfiguration.SKIPS, "fail");
        assertThat(failing.failed()).containsExactly("[2] device = rxe1/1", "moved()");

        SEEN.clear();
        run = onFirst(ConditionOfEachClassTestCase.class);
        assertThat(run.results().allEvents().failed().count()).isZero();
        assertThat(SEEN).containsExactly("class rxe1");
    }

    @RdmaTest
    static class DeviatingTestCase {
        @RdmaParameterizedTest
        @DeviationKey("each")
        void each(@EachDevice({"rxe0", "rxe1"}) FabricDevice device) {
            SEEN.add(device.device().name());
        }
    }

    @Test
    void aDeviationIsLookedForWithTheDeviceThatAnInvocationChooses(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("lab.yaml"), """
                deviations:
                  - key: each
                    provider: rdma_rxe
                    expect: skip
                    reason: not there
                    link: https://example.org/1
                """);
        SEEN.clear();
        Run run = Run.of(
                DeviatingTestCase.class,
                FabricConfiguration.DEVICE,
                "rxe0",
                RdmaConfiguration.DEVIATIONS,
                file.toString());
        assertThat(SEEN).isEmpty();
        assertThat(run.skipReason("[1] device = rxe0/1")).startsWith("known deviation: not there");
        assertThat(run.skipReason("[2] device = rxe1/1")).startsWith("known deviation: not there");
    }

    @RdmaTest
    static class NodesTestCase {
        @RdmaTest
        void one(
                @OnDevice(node = "one") FabricDevice one,
                @OnDevice(node = "two") FabricDevice two,
                FabricDevice first) {
            assertThat(one.device().name()).isEqualTo("rxe0");
            assertThat(two.device().name()).isEqualTo("rxe1");
            assertThat(first.device().name()).isEqualTo("rxe0");
        }

        @RdmaTest
        void remote(@OnDevice(node = "far") FabricDevice far) {}
    }

    @Test
    void nodesAreThoseOfTheFabric(@TempDir Path folder) throws IOException {
        Path file = folder.resolve("two.yaml");
        Files.writeString(file, """
                fabric: two
                nodes:
                  - name: one
                    device: rxe0
                  - name: two
                    device: rxe1
                  - name: far
                    launch: [ssh, far.example]
                """);
        Run run = Run.of(NodesTestCase.class, FabricConfiguration.FABRIC, file.toString());
        assertThat(run.succeeded()).hasSize(1);
        assertThat(run.failure("remote"))
                .hasMessageContaining("@OnDevice(node = \"far\") on parameter far of NodesTestCase.remote")
                .hasMessageContaining("is another host, reached by 'ssh far.example'");
    }

    @RdmaTest
    static class RailsTestCase {
        @RdmaTest
        void each(@OnDevice("rxe0") FabricDevice first, @OnDevice("rxe1") FabricDevice second, FabricDevice ofTheRun) {
            assertThat(first.node().railNames()).containsExactly("one");
            assertThat(ofTheRun.device()).isEqualTo(first.device());
            assertThat(second.device().name()).isEqualTo("rxe1");
            assertThat(second.node().railNames()).isEmpty();
        }
    }

    @Test
    void aResourceMayBeOfADeviceBesideTheRails(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("rails.yaml"), """
                fabric: rails
                nodes:
                  - name: a
                    rails:
                      one: { device: rxe0 }
                """);
        Run.of(RailsTestCase.class, FabricConfiguration.FABRIC, file.toString()).allSucceeded(1);
    }

    @RdmaTest
    static class SecondRailTestCase {
        @RdmaTest
        void here(FabricDevice device, Connection connection) {
            SEEN.add(device.device().name() + " " + device.environment().get("rail"));
            assertThat(connection.client().protectionDomain().context().deviceName())
                    .isEqualTo(device.device().name());
        }
    }

    @Test
    void theRailSelectsTheDevice(@TempDir Path folder) throws IOException {
        String file = Files.writeString(folder.resolve("rails.yaml"), """
                        fabric: rails
                        nodes:
                          - name: a
                            rails:
                              one: { device: rxe0 }
                              two: { device: rxe1 }
                        """).toString();
        SEEN.clear();
        Run.of(SecondRailTestCase.class, FabricConfiguration.FABRIC, file).allSucceeded(1);
        Run.of(SecondRailTestCase.class, FabricConfiguration.FABRIC, file, FabricConfiguration.RAIL, "two")
                .allSucceeded(1);
        assertThat(SEEN).containsExactly("rxe0 one", "rxe1 two");

        Run wrong = Run.of(SecondRailTestCase.class, FabricConfiguration.FABRIC, file, FabricConfiguration.RAIL, "six");
        assertThat(wrong.failure("here"))
                .hasMessageContaining("rdma.rail=six: fabric rails (" + file + ") has no such rail; allowed: one, two");
    }

    @RdmaTest
    static class BuilderTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA = RdmaExtension.builder().device("rxe1").build();

        @RdmaTest
        void builderBeforeConfiguration(DeviceContext context) {
            assertThat(context.deviceName()).isEqualTo("rxe1");
            assertThat(RDMA.resources().device().device().name()).isEqualTo("rxe1");
            assertThat(RDMA.resources().onDevice("rxe0").context().deviceName()).isEqualTo("rxe0");
        }

        @RdmaTest
        @OnDevice("rxe0")
        void annotationBeforeBuilder(DeviceContext context) {
            assertThat(context.deviceName()).isEqualTo("rxe0");
            assertThat(RDMA.resources().device().device().name()).isEqualTo("rxe0");
        }
    }

    @Test
    void annotationBeforeBuilderBeforeConfiguration() {
        Run.of(BuilderTestCase.class, FabricConfiguration.DEVICE, "rxe0").allSucceeded(2);
    }

    @RdmaTest
    @OnDevice("rxe1")
    static class MtusTestCase {
        @RdmaParameterizedTest
        void each(@EachMtu Mtu mtu, RdmaResources resources) {
            Connection connection = resources.connection(
                    ConnectionOptions.defaults().mode(ConnectionMode.RAW).mtu(mtu));
            assertThat(connection.client().queuePair().query().pathMtu()).isEqualTo(mtu);
            SEEN.add(mtu.toString());
        }

        @RdmaParameterizedTest
        void listed(@EachMtu({Mtu.MTU_256, Mtu.MTU_4096}) int mtu) {
            SEEN.add("listed " + mtu);
        }

        @RdmaParameterizedTest
        void none(@EachMtu(Mtu.MTU_4096) Mtu mtu) {}

        @RdmaTest
        @ConnectionSpec(mode = ConnectionMode.RAW, mtu = Mtu.MTU_4096)
        void tooLarge(Connection connection) {}
    }

    @Test
    void mtusAreThoseOfThePort() {
        SEEN.clear();
        Run run = onFirst(MtusTestCase.class);
        // The interface's 1500 bytes leave 1024 for a packet's payload.
        assertThat(SEEN).containsExactlyInAnyOrder("MTU_256", "MTU_512", "MTU_1024", "listed 256");
        assertThat(run.entries())
                .anySatisfy(entry -> assertThat(entry)
                        .hasEntrySatisfying(
                                ReportKeys.LEFT_OUT,
                                text -> assertThat(text)
                                        .contains("@EachMtu on parameter mtu of MtusTestCase.listed: MTU_4096")
                                        .contains("is 1024")));
        assertThat(run.failure("none")).hasMessageContaining("has no value on this host");
        assertThat(run.failure("tooLarge"))
                .hasMessageContaining("@ConnectionSpec(mtu) on parameter connection of")
                .hasMessageContaining("must be at most MTU_1024, the active MTU of rxe1");
    }

    private static String disciplines(String networkInterface) throws IOException, InterruptedException {
        return Command.run("tc", "qdisc", "show", "dev", networkInterface);
    }

    /** Requires that packets of this device are lost, and those of the other are not. */
    private static void requireLossOn(FabricDevice device) throws IOException, InterruptedException {
        String hit = device.environment().get("netdev");
        String other = hit.equals(SecondDevice.INTERFACE) ? "eth0" : SecondDevice.INTERFACE;
        assertThat(disciplines(hit)).contains("loss 3%");
        assertThat(disciplines(other)).isNotEmpty().doesNotContain("netem");
    }

    @RdmaTest
    static class FaultsTestCase {
        @RdmaTest
        @OnDevice("rxe1")
        @Fault(loss = 3)
        void ofTheMethod(FabricDevice device) throws IOException, InterruptedException {
            assertThat(device.device().name()).isEqualTo("rxe1");
            requireLossOn(device);
        }

        @RdmaParameterizedTest
        @Fault(loss = 3)
        void each(@EachDevice({"rxe0", "rxe1"}) FabricDevice device) throws IOException, InterruptedException {
            requireLossOn(device);
            SEEN.add(device.device().name());
        }

        @RdmaTest
        @Fault(loss = 3)
        void ofTheRun(FabricDevice device) throws IOException, InterruptedException {
            assertThat(device.device().name()).isEqualTo("rxe0");
            requireLossOn(device);
        }
    }

    @Test
    void aFaultIsOnTheDeviceThatTheTestIsOn() throws IOException, InterruptedException {
        SEEN.clear();
        Run.of(FaultsTestCase.class, FabricConfiguration.FABRIC, "microvm").allSucceeded(4);
        assertThat(SEEN).containsExactlyInAnyOrder("rxe0", "rxe1");
        assertThat(disciplines(SecondDevice.INTERFACE)).isNotEmpty().doesNotContain("netem");
    }

    @Test
    void aFaultOfANodeIsOnTheDeviceThatTheNodeIsResolvedTo(@TempDir Path folder)
            throws IOException, InterruptedException {
        Fabric fabric = Fabric.load(Files.writeString(folder.resolve("open.yaml"), """
                fabric: open
                faults: allowed
                nodes:
                  - { name: a, address: %s }
                  - { name: b, launch: [env] }
                """.formatted(SecondDevice.ADDRESS))
                .toString());
        Faults faults = Faults.on(fabric);
        FabricDevice found = fabric.local().resolve();
        assertThat(found.device().name()).isEqualTo("rxe1");
        try (ActiveFault loss = faults.network(fabric.local().port(), NetworkFault.loss(3), Duration.ofMinutes(1))) {
            assertThat(loss.awaitApplied()).startsWith(SecondDevice.INTERFACE + ":");
            requireLossOn(found);
        }
        try (ActiveFault down = faults.linkDown(fabric.local().port(), Duration.ofMinutes(1))) {
            assertThat(down.awaitApplied()).isEqualTo(SecondDevice.INTERFACE + " is down");
            assertThat(NetworkInterface.getByName("eth0").isUp()).isTrue();
        }
        // What runs on another host chooses by what it sees there.
        assertThatThrownBy(
                        () -> faults.network(fabric.nodeNamed("b").port(), NetworkFault.loss(3), Duration.ofMinutes(1)))
                .isInstanceOf(FabricException.class)
                .hasMessage("fault 'loss 3%' on node b: the node's device, auto, may be each of rxe0/1, rxe1/1;"
                        + " name device and port in the fabric's file, or the rail of the node");
    }

    /** The first id on a device has librdmacm make a protection domain there; an id of another test keeps it. */
    @Test
    void theDomainThatAnotherTestKeepsIsNotOfTheTestThatHadItMade() throws Exception {
        InetSocketAddress address = new InetSocketAddress(SecondDevice.ADDRESS, 0);
        KernelAudit audit = KernelAudit.begin();
        assertThat(audit).isNotNull();
        try (EventChannel channel = EventChannel.create();
                ExecutorService other = Executors.newSingleThreadExecutor();
                CmId own = channel.createId(PortSpace.TCP);
                CmId kept = other.submit(() -> channel.createId(PortSpace.TCP)).get(20, TimeUnit.SECONDS)) {
            own.bind(address);
            List<KernelResource> domains = domainsOfThisThread();
            kept.bind(address);
            own.close();
            assertThat(domains).hasSize(1);
            assertThat(domainsOfThisThread()).isEqualTo(domains);
            assertThat(audit.unexplained(false)).isEmpty();

            try (PastTheLedger leaked = new PastTheLedger(SecondDevice.NAME)) {
                assertThat(audit.unexplained(false))
                        .as("%s", leaked)
                        .filteredOn(resource -> resource.kind() == KernelResource.Kind.PROTECTION_DOMAIN)
                        .isNotEmpty();
            }
        }
        assertThat(domainsOfThisThread()).isEmpty();
    }

    /** An id keeps a protection domain on its own device only. */
    @Test
    void aDomainOfNobodyIsToldAlsoWhileAnotherDeviceHasAnId() {
        KernelAudit audit = KernelAudit.begin();
        assertThat(audit).isNotNull();
        InetAddress address = Fabric.load().withDevice("rxe0").local().resolve().address();
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.bind(new InetSocketAddress(address, 0));
            try (PastTheLedger leaked = new PastTheLedger(SecondDevice.NAME)) {
                assertThat(audit.unexplained(false))
                        .as("%s", leaked)
                        .extracting(KernelResource::kind)
                        .containsExactly(KernelResource.Kind.CONTEXT, KernelResource.Kind.PROTECTION_DOMAIN);
            }
        }
    }

    private static List<KernelResource> domainsOfThisThread() {
        long thread = KernelAudit.nativeThreadId();
        return KernelResource.list(KernelResource.Kind.PROTECTION_DOMAIN).stream()
                .filter(domain -> domain.thread() == thread && domain.device().equals(SecondDevice.NAME))
                .toList();
    }
}
