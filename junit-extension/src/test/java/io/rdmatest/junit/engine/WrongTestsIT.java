package io.rdmatest.junit.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.junit.Connection;
import io.rdmatest.junit.DataPattern;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Run;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.SendFlag;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.opentest4j.AssertionFailedError;

/** Tests that are wrong on purpose fail, in time, with a message that names what went wrong. */
@ExclusiveDevice
class WrongTestsIT {

    private static final Duration PATIENCE = Duration.ofSeconds(2);

    @RdmaTest(timeout = "10 s")
    static class WrongTestCase {

        @RdmaTest
        void changesAByte(Connection connection, MemoryRegion source, MemoryRegion target) {
            DataPattern.of(5).fill(source.bytes());
            byte right = source.bytes().get(ValueLayout.JAVA_BYTE, 1234);
            source.bytes().set(ValueLayout.JAVA_BYTE, 1234, (byte) (right ^ 1));
            connection.server().queuePair().postReceive(1, target, 0, 4096);
            connection.client().queuePair().postSend(2, source, 0, 4096, SendFlag.SIGNALED);
            connection.server().receiveQueue().awaitSuccess(PATIENCE);
            DataPattern.of(5).verify(target.bytes());
        }

        @RdmaTest
        void breaksTheQueuePair(Connection connection, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 4096);
            connection.server().queuePair().toError();
            connection.server().receiveQueue().awaitSuccess(PATIENCE);
        }

        @RdmaTest
        void waitsForASilentPeer(Connection connection, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 4096);
            connection.server().receiveQueue().awaitSuccess(Duration.ofMillis(500));
        }

        @RdmaTest(timeout = "1 s")
        void outlivesItsLimit(Connection connection, MemoryRegion target) {
            connection.server().queuePair().postReceive(1, target, 0, 4096);
            connection.server().receiveQueue().awaitSuccess(Duration.ofMinutes(1));
        }

        @RdmaTest
        void leaks(ProtectionDomain domain) {
            domain.registerMemory(4096, Access.LOCAL_WRITE);
        }
    }

    @Test
    void failEachForItsOwnReason() {
        Run run = Run.of(WrongTestCase.class);
        assertThat(run.failure("changesAByte"))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("differs at offset 1234 of 4096 bytes: expected 0x")
                .hasMessageContaining("no other byte differs");
        assertThat(run.failure("breaksTheQueuePair"))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessageContaining("IBV_WC_WR_FLUSH_ERR");
        assertThat(run.failure("waitsForASilentPeer"))
                .isInstanceOf(AssertionFailedError.class)
                .hasMessageContaining("within 500 ms");
        assertThat(run.failure("outlivesItsLimit"))
                .isInstanceOf(TestFaultError.class)
                .hasMessageContaining("did not finish within 1 s (@RdmaTest(timeout))")
                .hasMessageContaining("is in RTS");
        assertThat(run.failure("leaks"))
                .isInstanceOf(TestFaultError.class)
                .hasMessageContaining("left 1 native object behind")
                .hasMessageContaining("WrongTestsIT.java:");
        assertThat(run.succeeded()).isEmpty();
    }
}
