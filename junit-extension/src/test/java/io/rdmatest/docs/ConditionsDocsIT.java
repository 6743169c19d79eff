package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.cm.CmId;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.DeviationKey;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Registered;
import io.rdmatest.junit.condition.NotOnDevice;
import io.rdmatest.junit.condition.Privilege;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.junit.condition.RequiresKernel;
import io.rdmatest.junit.condition.RequiresNodes;
import io.rdmatest.junit.condition.RequiresPrivilege;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SharedReceiveQueue;
import io.rdmatest.verbs.WorkCompletion;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;

/** What the pages about conditions and deviations show. */
@RdmaTest
class ConditionsDocsIT {

    // begin requires-capabilities
    @RdmaTest
    @RequiresDevice(
            capabilities = {DeviceCapability.ATOMICS, DeviceCapability.SHARED_RECEIVE_QUEUES},
            minInline = 64)
    void countsRequests(SharedReceiveQueue requests, DeviceContext context) {
        assertThat(requests.protectionDomain().context()).isSameAs(context);
    }
    // end requires-capabilities

    // begin composed
    @RequiresDevice(capabilities = DeviceCapability.UNRELIABLE_DATAGRAMS, minMtu = 1024)
    @RequiresNodes(1)
    @Retention(RetentionPolicy.RUNTIME)
    @interface NeedsDatagrams {}

    @RdmaTest
    @NeedsDatagrams
    void sendsDatagrams(DeviceContext context) {
        assertThat(context.capabilities().has(DeviceCapability.UNRELIABLE_DATAGRAMS))
                .isTrue();
    }
    // end composed

    // begin requires-port
    @RdmaTest
    @RequiresDevice(minRate = 2.5, minMtu = 1024)
    void fillsTheLink(FabricDevice device) {
        assertThat(device.portAttributes().rateGbps()).isGreaterThanOrEqualTo(2.5);
    }
    // end requires-port

    // begin not-on-device
    @RdmaTest
    @NotOnDevice(driver = "siw", because = "its connections have no path to query")
    void knowsItsPath(CmId id) {
        assertThat(id.isClosed()).isFalse();
    }
    // end not-on-device

    // begin requires-kernel
    @RdmaTest
    @RequiresKernel(min = "5.10")
    void runsOnThisKernel(FabricDevice device) {
        assertThat(device.environment().get("kernel")).isNotEqualTo("unknown");
    }
    // end requires-kernel

    // begin requires-privilege
    @RdmaTest
    @RequiresPrivilege(value = Privilege.CAP_NET_RAW, lockedMemory = "1MiB")
    void locksMemory(@Registered(size = "1MiB") MemoryRegion region) {
        assertThat(region.size()).isEqualTo(1 << 20);
    }
    // end requires-privilege

    // begin requires-nodes
    @RdmaTest
    @RequiresNodes(1)
    void runsAlone(FabricDevice device) {
        assertThat(device.node().isLocal()).isTrue();
    }
    // end requires-nodes

    // begin deviation-key
    @RdmaTest
    @DeviationKey("rc-short-receive")
    void tellsALongMessage(Connection connection, @Registered MemoryRegion memory) {
        connection.server().queuePair().postReceive(1, memory, 0, 32);
        connection.client().queuePair().postSend(2, memory, 64, 64);
        WorkCompletion completion = connection
                .server()
                .receiveQueue()
                .awaitAny(1, Duration.ofSeconds(15))
                .getFirst();
        assertThat(completion.status()).isEqualTo(WorkCompletion.Status.LOC_LEN_ERR);
    }
    // end deviation-key
}
