package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ConnectionMode;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionSpec;
import io.rdmatest.junit.OnDevice;
import io.rdmatest.junit.Provided;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Registered;
import io.rdmatest.junit.ResourceScope;
import io.rdmatest.junit.Scoped;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import org.junit.jupiter.api.BeforeEach;

/** The examples of the pages about injection. */
@RdmaTest
class InjectionDocsIT {

    // begin provided
    @Provided
    private static CompletionQueue ofTheClass;

    @Provided
    @Registered(size = "64KiB")
    private MemoryRegion ofEachTest;

    @BeforeEach
    void prepare() {
        ofEachTest.fill((byte) 7);
    }
    // end provided

    @RdmaTest
    void fields() {
        assertThat(ofTheClass.isClosed()).isFalse();
        assertThat(ofEachTest.size()).isEqualTo(65536);
    }

    // begin registered
    @RdmaTest
    void placed(
            @Registered(size = "1MiB", alignment = "2MiB") MemoryRegion aligned,
            @Registered(size = "64KiB", numaNode = 0, access = Access.LOCAL_WRITE) MemoryRegion near) {
        assertThat(aligned.address() % (2 << 20)).isZero();
        assertThat(near.access()).containsExactly(Access.LOCAL_WRITE);
    }
    // end registered

    // begin connection-spec
    @RdmaTest
    void narrowPath(
            @ConnectionSpec(mode = ConnectionMode.RAW, mtu = Mtu.MTU_256, maxSendWr = 8, retryCount = 3)
                    Connection connection) {
        assertThat(connection.client().queuePair().query().pathMtu()).isEqualTo(Mtu.MTU_256);
    }
    // end connection-spec

    // begin scoped
    @RdmaTest
    void sharedByTheRun(
            @Scoped(ResourceScope.RUN) @Registered(size = "1MiB") MemoryRegion large, Connection connection) {
        // The connection is this test's own, on the protection domain of the run.
        assertThat(connection.client().protectionDomain()).isSameAs(large.protectionDomain());
    }
    // end scoped

    @RequiresDevice(name = "rxe0")
    // begin on-device
    @RdmaTest
    void ofTwoDevices(MemoryRegion here, @OnDevice("rxe0") MemoryRegion there) {
        assertThat(there.protectionDomain().context().deviceName()).isEqualTo("rxe0");
    }
    // end on-device

    @RequiresDevice(name = "rxe0")
    // begin on-node
    @RdmaTest
    void ofANode(@OnDevice(node = "a") FabricDevice device) {
        assertThat(device.node().name()).isEqualTo("a");
    }
    // end on-node
}
