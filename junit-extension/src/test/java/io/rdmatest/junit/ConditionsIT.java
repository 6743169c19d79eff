package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.condition.NotOnDevice;
import io.rdmatest.junit.condition.Privilege;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.junit.condition.RequiresKernel;
import io.rdmatest.junit.condition.RequiresNodes;
import io.rdmatest.junit.condition.RequiresPrivilege;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.LinkLayer;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The conditions both ways, on soft-RoCE: what it has is run, what it lacks is skipped, with the exact reason. */
@ExclusiveDevice
@RequiresDevice(driver = "rdma_rxe")
class ConditionsIT {

    private static final String DEVICE;
    private static final String PORT;

    static {
        FabricDevice used = Fabric.load().local().resolve();
        DEVICE = used.device().name();
        PORT = DEVICE + "/" + used.port();
    }

    @RequiresDevice(capabilities = DeviceCapability.TAG_MATCHING)
    @Retention(RetentionPolicy.RUNTIME)
    @interface NeedsTags {}

    @RequiresDevice(capabilities = DeviceCapability.DEVICE_MEMORY)
    @Retention(RetentionPolicy.RUNTIME)
    @interface NeedsDeviceMemory {}

    @RdmaTest
    static class LackingTestCase {
        @RdmaTest
        @RequiresDevice(transport = DeviceTransport.INFINIBAND)
        void transport() {}

        @RdmaTest
        @RequiresDevice(transport = {DeviceTransport.IWARP, DeviceTransport.ROCE_V1})
        void transports() {}

        @RdmaTest
        @RequiresDevice(linkLayer = LinkLayer.INFINIBAND)
        void linkLayer() {}

        @RdmaTest
        @RequiresDevice(gidType = GidType.IB)
        void gidType() {}

        @RdmaTest
        @RequiresDevice(name = "none.*")
        void name() {}

        @RdmaTest
        @RequiresDevice(driver = {"mlx5.*", "bnxt_re"})
        void driver() {}

        @RdmaTest
        @NotOnDevice(driver = "rdma_rxe", because = "it measures the hardware's clock")
        void notHere() {}

        @RdmaTest
        @RequiresDevice(capabilities = DeviceCapability.TAG_MATCHING)
        void capability() {}

        @RdmaTest
        @RequiresDevice(minInline = 65536)
        void inline() {}

        @RdmaTest
        @RequiresDevice(minSge = 1_000_000)
        void sge() {}

        @RdmaTest
        @RequiresDevice(capabilities = DeviceCapability.SHARED_RECEIVE_QUEUES)
        @NeedsTags
        @NeedsDeviceMemory
        void composed() {}

        @RdmaTest
        @RequiresDevice(minRate = 9999)
        void rate() {}

        @RdmaTest
        @RequiresDevice(minPorts = 200)
        void ports() {}

        @RdmaTest
        @RequiresNodes(2)
        void nodes() {}

        @RdmaTest
        @RequiresKernel(max = "3.10")
        void oldKernel() {}
    }

    @RdmaTest
    @RequiresDevice(capabilities = DeviceCapability.DEVICE_MEMORY)
    static class LackingClassTestCase {
        @RdmaTest
        void one() {}
    }

    static class InheritingTestCase extends LackingClassTestCase {}

    @Test
    void skipsWhatTheDeviceLacksWithTheExactReason() {
        Run run = Run.of(LackingTestCase.class);
        assertThat(run.succeeded()).isEmpty();
        assertThat(run.failed()).isEmpty();
        assertThat(run.skipReason("transport"))
                .isEqualTo("unsupported by the device: " + PORT
                        + ": its transport is RoCE v2, and the test wants InfiniBand");
        assertThat(run.skipReason("transports"))
                .isEqualTo("unsupported by the device: " + PORT
                        + ": its transport is RoCE v2, and the test wants iWARP or RoCE v1");
        assertThat(run.skipReason("linkLayer"))
                .startsWith("unsupported by the device: " + PORT + ": its link layer is ETHERNET, and the test wants ");
        assertThat(run.skipReason("gidType"))
                .isEqualTo("unsupported by the device: " + PORT + ": its GID type is RoCE v2, and the test wants IB");
        assertThat(run.skipReason("name"))
                .isEqualTo("not selected: the run is on " + DEVICE + ", and the test on a device matching none.*");
        assertThat(run.skipReason("driver"))
                .isEqualTo(
                        "not selected: the driver of " + DEVICE + " is rdma_rxe, and the test is for mlx5.*, bnxt_re");
        assertThat(run.skipReason("notHere"))
                .isEqualTo("not selected: the test is not for " + DEVICE
                        + " (rdma_rxe, RoCE v2): it measures the hardware's clock");
        assertThat(run.skipReason("capability"))
                .isEqualTo(
                        "unsupported by the device: " + PORT + ": it has no tag-matching (tm_caps.max_num_tags is 0)");
        assertThat(run.skipReason("inline"))
                .matches("unsupported by the device: " + PORT
                        + ": its max_inline_data is \\d+, and the test wants 65536");
        assertThat(run.skipReason("sge"))
                .matches("unsupported by the device: " + PORT + ": its max_sge is \\d+, and the test wants 1000000");
        assertThat(run.skipReason("composed")).containsAnyOf("it has no tag-matching", "it has no device-memory");
        assertThat(run.skipReason("rate"))
                .matches("unsupported by the device: " + PORT
                        + ": its rate is [\\d.]+ Gb/s, and the test wants 9999 Gb/s");
        assertThat(run.skipReason("ports"))
                .isEqualTo("unsupported by the device: " + PORT + ": the device has 1 port, and the test wants 200");
        assertThat(run.skipReason("nodes"))
                .matches("peer absent: fabric auto .* has 1 node \\(a\\), and the test wants 2");
        assertThat(run.skipReason("oldKernel"))
                .startsWith("unsupported by the kernel: the kernel is ")
                .endsWith(", and the test wants 3.10 or older");
        assertThat(Run.of(InheritingTestCase.class).skipReason("ConditionsIT$InheritingTestCase"))
                .contains("max_dm_size is 0");
    }

    @Test
    void failsWhatItWouldSkipOnDemand() {
        Run run = Run.of(LackingTestCase.class, RdmaConfiguration.SKIPS, "fail");
        assertThat(run.failed()).hasSize(15);
        assertThat(run.failure("capability"))
                .isInstanceOf(AssertionError.class)
                .hasMessage("rdma.skips=fail: unsupported by the device: " + PORT + ": it has no tag-matching"
                        + " (tm_caps.max_num_tags is 0)");
        assertThat(run.failure("nodes")).hasMessageStartingWith("rdma.skips=fail: peer absent: ");
        assertThat(Run.of(LackingClassTestCase.class, RdmaConfiguration.SKIPS, "fail")
                        .failure("one"))
                .hasMessageContaining("max_dm_size is 0");
    }

    @RdmaTest
    static class PresentTestCase {
        @RdmaTest
        @RequiresDevice(
                name = ".*[0-9]",
                driver = "rdma_rxe",
                transport = DeviceTransport.ROCE,
                linkLayer = LinkLayer.ETHERNET,
                gidType = GidType.ROCE_V2,
                minMtu = 256)
        void device() {}

        @RdmaTest
        @NotOnDevice(name = ".*[0-9]", driver = "mlx.*", because = "only the two together are meant")
        void notOnAnother() {}

        @RdmaTest
        @RequiresDevice(
                capabilities = {
                    DeviceCapability.ATOMICS,
                    DeviceCapability.SHARED_RECEIVE_QUEUES,
                    DeviceCapability.UNRELIABLE_CONNECTIONS,
                    DeviceCapability.UNRELIABLE_DATAGRAMS,
                    DeviceCapability.MULTICAST,
                    DeviceCapability.MEMORY_WINDOWS
                },
                minInline = 64,
                minSge = 2,
                minQueueDepth = 64,
                minReadAtomic = 1)
        void capabilities() {}

        @RdmaTest
        @RequiresDevice(minRate = 1, minMtu = 1024, minPorts = 1)
        void port() {}

        @RdmaTest
        @RequiresNodes(1)
        void nodes() {}

        @RdmaTest
        @RequiresKernel(min = "3.10")
        void kernel() {}

        @RdmaTest
        @RequiresPrivilege(value = Privilege.ROOT, lockedMemory = "64KiB")
        void privilege() {}
    }

    @Test
    void runsWhatTheDeviceHas() {
        Run run = Run.of(PresentTestCase.class);
        assertThat(run.failed()).isEmpty();
        assertThat(run.succeeded()).hasSize(7);
    }

    @RdmaTest
    static class WrongTestCase {
        @RdmaTest
        @RequiresDevice(name = "rxe(")
        void expression() {}

        @RdmaTest
        @RequiresDevice(minMtu = 1500)
        void deviceMtu() {}

        @RdmaTest
        @RequiresDevice(minMtu = 9000)
        void mtu() {}

        @RdmaTest
        @RequiresDevice(minRate = -1)
        void rate() {}

        @RdmaTest
        @RequiresDevice(minPorts = 256)
        void ports() {}

        @RdmaTest
        @RequiresDevice(minInline = -5)
        void inline() {}

        @RdmaTest
        @RequiresNodes(0)
        void nodes() {}

        @RdmaTest
        @NotOnDevice(because = "anything")
        void nothing() {}

        @RdmaTest
        @NotOnDevice(name = "none", because = " ")
        void noReason() {}
    }

    @Test
    void saysWhichMemberOfWhichAnnotationIsWrong() {
        Run run = Run.of(WrongTestCase.class);
        assertThat(run.succeeded()).isEmpty();
        assertThat(wrong(run, "expression"))
                .contains(
                        "@RequiresDevice(name) on method WrongTestCase.expression: \"rxe(\" is no regular expression");
        assertThat(wrong(run, "deviceMtu"))
                .contains(
                        "@RequiresDevice(minMtu) on method WrongTestCase.deviceMtu: 1500 is no MTU; allowed: 256, 512,"
                                + " 1024, 2048, 4096, and 0 for any");
        assertThat(wrong(run, "mtu")).contains("@RequiresDevice(minMtu) on method WrongTestCase.mtu: 9000 is no MTU");
        assertThat(wrong(run, "rate"))
                .contains("@RequiresDevice(minRate) on method WrongTestCase.rate: -1.0 is no rate");
        assertThat(wrong(run, "ports"))
                .contains(
                        "@RequiresDevice(minPorts) on method WrongTestCase.ports: 256 is out of range; allowed: 0 … 255");
        assertThat(wrong(run, "inline"))
                .contains("@RequiresDevice(minInline) on method WrongTestCase.inline: -5 is out of range; allowed:"
                        + " 0 … 65536");
        assertThat(wrong(run, "nodes"))
                .contains("@RequiresNodes(value) on method WrongTestCase.nodes: 0 is out of range");
        assertThat(wrong(run, "nothing"))
                .contains("@NotOnDevice on method WrongTestCase.nothing: it names no device; give name, driver or"
                        + " transport");
        assertThat(wrong(run, "noReason"))
                .contains("@NotOnDevice(because) on method WrongTestCase.noReason: the reason is empty");
    }

    private static String wrong(Run run, String method) {
        StringBuilder all = new StringBuilder();
        for (Throwable t = run.failure(method); t != null; t = t.getCause()) {
            all.append(t.getMessage()).append('\n');
        }
        return all.toString();
    }

    @Test
    void failsWhatTheFabricPromises(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("lab.yaml"), """
                fabric: lab
                nodes:
                  - name: a
                    promises: { capabilities: [tag-matching], rate: 9999, gid-type: IB }
                """);
        Run run = Run.of(LackingTestCase.class, FabricConfiguration.FABRIC, file.toString());
        assertThat(run.failed()).containsExactly("capability()", "composed()", "gidType()", "rate()");
        assertThat(run.failure("capability"))
                .isInstanceOf(AssertionError.class)
                .hasMessageMatching("lab \\(.*lab.yaml\\) breaks its promise: " + PORT + ": it has no tag-matching"
                        + " \\(tm_caps.max_num_tags is 0\\)");
        assertThat(run.failure("rate")).hasMessageContaining(" breaks its promise: " + PORT + ": its rate is ");
        assertThat(run.failure("gidType")).hasMessageContaining(" breaks its promise: " + PORT + ": its GID type is ");
        assertThat(run.skipReason("ports")).contains("the test wants 200");
    }
}
