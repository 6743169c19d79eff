package io.rdmatest.scenarios;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.Promises;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.DeviationKey;
import io.rdmatest.junit.DeviceTransport;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Registered;
import io.rdmatest.junit.condition.NotOnDevice;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;

/** What the InfiniBand specification and the fabric file say of a device, held against the device. */
@RdmaTest
@Tag(Phase.CONFORMANCE_TAG)
@DisplayName("Conformance")
public class ConformanceScenarios {

    private static final Duration PATIENCE = Duration.ofSeconds(15);

    @RdmaTest
    @DisplayName("the device keeps what the fabric file promises")
    void promises(FabricDevice device, DeviceContext context, RdmaReport report) {
        Promises promises = device.rail().promises();
        report.parameter("promises", promises.equals(Promises.NONE) ? "none" : promises);
        assertEquals(
                List.of(),
                promises.brokenBy(
                        context.capabilities(),
                        context.port(device.port()),
                        device.gid().type()));
    }

    /** IBTA volume 1, section 10.10.2: the receiver of a message that does not fit has a local length error. */
    @RdmaTest
    @DeviationKey("rc-short-receive")
    @DisplayName("a receive that is too short ends in IBV_WC_LOC_LEN_ERR")
    void shortReceive(Connection connection, @Registered(size = "4KiB") MemoryRegion memory) {
        assertEquals(
                WorkCompletion.Status.LOC_LEN_ERR, tooLong(connection, memory).receiver());
    }

    /** IBTA volume 1, section 10.10.2: the sender learns that its request was invalid. */
    @RdmaTest
    @DeviationKey("rc-short-receive-sender")
    @NotOnDevice(
            transport = DeviceTransport.IWARP,
            because = "there a send is done when TCP has it, whatever becomes of it at the peer")
    @DisplayName("a send that is too long for the receive ends in IBV_WC_REM_INV_REQ_ERR")
    void shortReceiveSender(Connection connection, @Registered(size = "4KiB") MemoryRegion memory) {
        assertEquals(
                WorkCompletion.Status.REM_INV_REQ_ERR,
                tooLong(connection, memory).sender());
    }

    private record Statuses(WorkCompletion.Status receiver, WorkCompletion.Status sender) {}

    private static Statuses tooLong(Connection connection, MemoryRegion memory) {
        connection.server().queuePair().postReceive(1, memory, 0, 32);
        connection.client().queuePair().postSend(2, memory, 64, 64, SendFlag.SIGNALED);
        return new Statuses(
                connection
                        .server()
                        .receiveQueue()
                        .awaitAny(1, PATIENCE)
                        .getFirst()
                        .status(),
                connection.client().sendQueue().awaitAny(1, PATIENCE).getFirst().status());
    }
}
