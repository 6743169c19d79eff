package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.QueuePair;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class NoDeviceTests {

    @BeforeEach
    void onlyWhereThereIsNoDevice() {
        assumeTrue(!Files.exists(Path.of("/sys/class/infiniband")), "not selected: this host has an RDMA device");
    }

    @RdmaTest
    static class PlainTestCase {
        @RdmaTest
        void one() {}

        @RdmaTest
        @RequiresDevice(capabilities = DeviceCapability.ATOMICS)
        void two() {}
    }

    @Test
    void failsEachTestWithTheCure() {
        Run run = Run.of(PlainTestCase.class);
        assertThat(run.failed()).hasSize(2);
        assertThat(run.failure("one")).hasMessageContaining("rdma.skip-without-device=true");
    }

    @Test
    void skipsOnDemandWithAReason() {
        Run run = Run.of(PlainTestCase.class, RdmaConfiguration.SKIP_WITHOUT_DEVICE, "true");
        assertThat(run.failed()).isEmpty();
        assertThat(run.skipReason("NoDeviceTests$PlainTestCase"))
                .startsWith("not selected: rdma.skip-without-device=true and ");
    }

    @RdmaTest
    static class BadParametersTestCase {
        @RdmaTest
        void badUnit(@Registered(size = "1XiB") MemoryRegion region) {}

        @RdmaTest
        void misplaced(@Registered String text) {}

        @RdmaTest
        void single(QueuePair queuePair) {}

        @RdmaTest
        void tooFew(@ConnectionSpec(maxSendWr = 0) QueuePair client, QueuePair server) {}
    }

    @Test
    void saysWhatIsWrongWithAParameter() {
        Run run = Run.withoutDevice(BadParametersTestCase.class);
        assertThat(run.failure("badUnit"))
                .hasMessageContaining("@Registered(size) on parameter region of BadParametersTestCase.badUnit")
                .hasMessageContaining("\"1XiB\" is no size");
        assertThat(run.failure("misplaced"))
                .hasMessageContaining("@Registered belongs on a MemoryRegion parameter")
                .hasMessageContaining("is a String");
        assertThat(run.failure("single")).hasMessageContaining("call queuePair(QueuePairOptions)");
        assertThat(run.failure("tooFew"))
                .hasMessageContaining("@ConnectionSpec(maxSendWr)")
                .hasMessageContaining("is 0");
    }

    @RdmaTest
    static class FabricTestCase {
        @RdmaTest
        void any(Fabric fabric, RdmaResources resources) {
            assertThat(fabric.nodes()).isNotEmpty();
            assertThat(resources.fabric()).isSameAs(fabric);
        }
    }

    @Test
    void theFabricIsThereWithoutADevice() {
        Run.withoutDevice(FabricTestCase.class).allSucceeded(1);
    }
}
