package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.fault.ActiveFault;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.fabric.fault.NetworkFault;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.condition.Privilege;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.junit.condition.RequiresPrivilege;
import io.rdmatest.junit.fabric.Fault;
import java.time.Duration;
import org.junit.platform.testkit.engine.EngineTestKit;

/** What the pages about faults show. Of one machine's loopback nothing is lost: what it shows of the network is in another test. */
@RdmaTest
@ExclusiveDevice
@RequiresDevice(name = "rxe0")
@RequiresPrivilege(Privilege.ROOT)
class FaultsDocsIT {

    @RdmaTest
    static class BadNetworkTestCase {

        // begin annotation
        @RdmaTest
        @Fault(loss = 1, delay = "5ms", jitter = "1ms", nodes = "a")
        void worksOnABadNetwork(FabricDevice device) {
            assertThat(device.node().name()).isEqualTo("a");
        }
        // end annotation
    }

    @RdmaTest
    void theAnnotatedTestRuns(FabricDevice device) {
        EngineTestKit.engine("junit-jupiter")
                .configurationParameter("rdma.fabric", "microvm")
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                .selectors(selectClass(BadNetworkTestCase.class))
                .execute()
                .testEvents()
                .assertStatistics(statistics -> statistics.started(1).succeeded(1));
    }

    @RdmaTest
    void faultsAreInjectedByCode(FabricDevice device) {
        // begin code
        Fabric fabric = Fabric.load("microvm");
        Node node = fabric.node("a").orElseThrow();
        ActiveFault fault = Faults.on(fabric).network(node.port(), NetworkFault.loss(20), Duration.ofMinutes(5));
        try (fault) {
            assertThat(fault.awaitApplied()).contains("netem", "loss 20%");
        }
        assertThat(fault.statistics()).anySatisfy(line -> assertThat(line).contains("dropped"));
        // end code
    }
}
