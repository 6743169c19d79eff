package example.modular;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmatest.ConnectionMode;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionSpec;
import io.rdmatest.junit.DataPattern;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import java.time.Duration;
import org.junit.jupiter.api.Test;

@RdmaTest
class ModularWriteIT {

    @RdmaTest
    void arrives(Connection connection, MemoryRegion source, MemoryRegion target) {
        write(connection, source, target);
    }

    @RdmaTest
    @ConnectionSpec(mode = ConnectionMode.RAW)
    void arrivesWithoutRdmaCm(Connection connection, MemoryRegion source, MemoryRegion target) {
        write(connection, source, target);
    }

    @Test
    void everythingIsAModule() {
        assertEquals("io.rdmatest.core", MemoryRegion.class.getModule().getName());
        assertEquals("io.rdmatest.junit", RdmaTest.class.getModule().getName());
        assertEquals("example.modular", getClass().getModule().getName());
        assertTrue(MemoryRegion.class.getModule().isNativeAccessEnabled());
        assertTrue(Test.class.getModule().getDescriptor().toNameAndVersion().endsWith("@6.1.3"));
    }

    private static void write(Connection connection, MemoryRegion source, MemoryRegion target) {
        DataPattern pattern = DataPattern.of(6);
        pattern.fill(source.bytes());
        connection.client().queuePair().postWrite(1, source, target.remote(), SendFlag.SIGNALED);
        connection.client().sendQueue().awaitSuccess(Duration.ofSeconds(15));
        pattern.verify(target.bytes());
    }
}
