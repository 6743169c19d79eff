package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ConnectionMode;
import io.rdmatest.Ledger;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionOptions;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCompletions;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.verbs.KernelResource;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import java.time.Duration;

/** The code on the pages about audit, counters and diagnosis. */
@RdmaTest(timeout = "60 s")
class DiagnosisDocsIT {

    // begin ignore
    @RdmaTest
    @IgnoreCounters("retry_*")
    void noticesThatThePeerIsGone(FabricDevice device, MemoryRegion source) {
        ConnectionOptions impatient = ConnectionOptions.defaults()
                .mode(ConnectionMode.RAW)
                .protectionDomain(source.protectionDomain())
                .retries(1, 0);
        try (Connection connection = Connection.open(device, impatient)) {
            connection.server().queuePair().toError();
            connection.client().queuePair().postSend(1, source, 0, 64, SendFlag.SIGNALED);
            WorkCompletion completion = connection
                    .client()
                    .sendQueue()
                    .awaitAny(1, Duration.ofSeconds(15))
                    .getFirst();
            assertThat(completion.status()).isEqualTo(WorkCompletion.Status.RETRY_EXC_ERR);
        }
    }
    // end ignore

    // begin ignore-completions
    @RdmaTest
    @IgnoreCompletions
    void leavesAFailedWrite(Connection connection, MemoryRegion source, MemoryRegion target) {
        connection
                .client()
                .queuePair()
                .postWrite(1, source, 0, 64, target.address(), target.rkey() ^ 0x5500, SendFlag.SIGNALED);
    }
    // end ignore-completions

    // begin exclusive
    @RdmaTest
    @ExclusiveDevice
    void countsItsOwnPackets(FabricDevice device, Connection connection, MemoryRegion source, MemoryRegion target) {
        long before = device.device().hardwareCounters(device.port()).getOrDefault("sent_pkts", 0L);
        connection.client().queuePair().postWrite(1, source, 0, 64, target.address(), target.rkey(), SendFlag.SIGNALED);
        connection.client().sendQueue().awaitSuccess(Duration.ofSeconds(15));
        long after = device.device().hardwareCounters(device.port()).getOrDefault("sent_pkts", 2L);
        assertThat(after - before).isBetween(2L, 100L);
    }
    // end exclusive

    // begin audit
    @RdmaTest
    void releasesWhatItMakes(Connection connection) {
        try (MemoryRegion own = connection.client().protectionDomain().registerMemory(4096)) {
            assertThat(Ledger.live()).contains(own);
            assertThat(KernelResource.list(KernelResource.Kind.MEMORY_REGION))
                    .anyMatch(KernelResource::isOfThisProcess);
        }
    }
    // end audit
}
