package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ConnectionMode;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionOptions;
import io.rdmatest.junit.QueuePairOptions;
import io.rdmatest.junit.RdmaExtension;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.ResourceScope;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;

/** The examples of the page about the programmatic API. */
@ResourceLock(value = RdmaTest.DEVICE_LOCK, mode = ResourceAccessMode.READ)
class ProgrammaticDocsIT {

    // begin field
    @RegisterExtension
    static final RdmaExtension RDMA = RdmaExtension.builder()
            .device("auto")
            .timeout(Duration.ofSeconds(60))
            .audit("ledger")
            .connections(ConnectionOptions.defaults().mode(ConnectionMode.RAW))
            .build();
    // end field

    // begin resources
    @Test
    void asksWhileItRuns() {
        Connection connection = RDMA.connection();
        MemoryRegion target = RDMA.memory(4096, MemoryPlacement.ANYWHERE.alignedTo(64));
        QueuePair datagrams = RDMA.queuePair(QueuePairOptions.of(QpType.UD).depth(64, 64));
        MemoryRegion ofTheClass = RDMA.in(ResourceScope.CLASS).memory(4096);

        assertThat(connection.mode()).isEqualTo(ConnectionMode.RAW);
        assertThat(target.protectionDomain()).isSameAs(datagrams.protectionDomain());
        assertThat(ofTheClass.protectionDomain()).isNotSameAs(target.protectionDomain());
    }
    // end resources

    // begin parameters
    @Test
    void parametersToo(Connection connection, MemoryRegion region) {
        assertThat(region.protectionDomain()).isSameAs(RDMA.protectionDomain());
    }
    // end parameters
}
