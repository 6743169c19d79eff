package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.condition.Privilege;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.junit.condition.RequiresPrivilege;
import io.rdmatest.junit.fabric.Fault;
import io.rdmatest.junit.params.EachDevice;
import io.rdmatest.junit.params.RdmaParameterizedTest;
import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Faults of the network for the time of a test, on soft-RoCE. */
@RdmaTest
@ExclusiveDevice
@RequiresDevice(name = "rxe0")
@RequiresPrivilege(Privilege.ROOT)
class FaultIT {

    private static String disciplines() throws IOException, InterruptedException {
        return Command.run("tc", "qdisc", "show");
    }

    @RdmaTest
    @Fault(loss = 1, delay = "5ms")
    static class FaultyTestCase {

        @BeforeEach
        void isThereBefore() throws IOException, InterruptedException {
            assertThat(disciplines()).contains("netem 4792:");
        }

        @AfterEach
        void isThereAfter() throws IOException, InterruptedException {
            assertThat(disciplines()).contains("netem 4792:");
        }

        @RdmaTest
        void ofTheClass() throws IOException, InterruptedException {
            assertThat(disciplines()).contains("delay 5ms").contains("loss 1%");
        }

        @RdmaTest
        @Fault(corrupt = 3, duplicate = 4, nodes = "a")
        void ofTheMethod() throws IOException, InterruptedException {
            assertThat(disciplines())
                    .contains("corrupt 3%")
                    .contains("duplicate 4%")
                    .doesNotContain("loss");
        }

        @RdmaTest
        void fails() {
            throw new AssertionError("on purpose");
        }
    }

    @RdmaTest
    void lastsAsLongAsTheTestAlsoIfThatFails(FabricDevice device) throws IOException, InterruptedException {
        Run run = Run.of(FaultyTestCase.class, "rdma.fabric", "microvm");

        assertThat(run.succeeded()).containsExactly("ofTheClass()", "ofTheMethod()");
        assertThat(run.failure("fails()")).hasMessageContaining("on purpose");
        assertThat(disciplines()).doesNotContain("netem");
        assertThat(run.entries())
                .contains(
                        Map.of("rdma.parameter", "fault on a", "rdma.value", "delay 5000us loss 1%"),
                        Map.of("rdma.parameter", "fault on a", "rdma.value", "duplicate 4% corrupt 3%"));
        assertThat(run.files("fault-statistics.txt"))
                .hasSize(3)
                .allSatisfy(file -> assertThat(file).contains("node a: ", "qdisc netem 4792:", " pkt (dropped "));
    }

    @RdmaTest
    static class WrongTestCase {
        @RdmaTest
        @Fault
        void nothing() {}

        @RdmaTest
        @Fault(loss = 101)
        void tooMuch() {}

        @RdmaTest
        @Fault(loss = 1, nodes = "z")
        void elsewhere() {}
    }

    @RdmaTest
    void whatMakesNoSenseFailsAndSaysWhy(FabricDevice device) {
        Run run = Run.of(WrongTestCase.class, "rdma.fabric", "microvm");

        assertThat(run.failure("nothing()"))
                .hasMessageContaining("@Fault on method WrongTestCase.nothing: it does nothing; give loss, delay");
        assertThat(run.failure("tooMuch()")).hasMessageContaining("loss is 101.0 %: allowed are 0 to 100");
        assertThat(run.failure("elsewhere()"))
                .hasMessageContaining("@Fault(nodes) on method WrongTestCase.elsewhere: fabric microvm")
                .hasMessageContaining("has no node 'z'; allowed: a");
    }

    @RdmaTest
    static class ForbiddenTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA =
                RdmaExtension.builder().fabric("loopback").build();

        @RdmaParameterizedTest
        void before(@EachDevice FabricDevice device) {
            assertThat(device.node().fabric()).isEqualTo("loopback");
        }
    }

    @RdmaTest
    static class AllowedTestCase {
        @RegisterExtension
        static final RdmaExtension RDMA =
                RdmaExtension.builder().fabric("microvm").build();

        @RdmaParameterizedTest
        @Fault(loss = 1)
        void afterwards(@EachDevice FabricDevice device) throws IOException, InterruptedException {
            assertThat(device.node().fabric()).isEqualTo("microvm");
            assertThat(disciplines()).contains("loss 1%");
        }
    }

    @RdmaTest
    void aChosenDeviceIsOfTheFabricOfItsClass(FabricDevice device) {
        Run.ofAll(ForbiddenTestCase.class, AllowedTestCase.class).allSucceeded(2);
    }

    @RdmaTest
    void isSkippedWhereFaultsAreForbidden(FabricDevice device) {
        Run run = Run.of(FaultyTestCase.class, "rdma.fabric", "loopback");

        assertThat(run.skipReason("FaultIT$FaultyTestCase"))
                .startsWith("not permitted: fabric loopback")
                .contains("does not allow faults");
    }
}
