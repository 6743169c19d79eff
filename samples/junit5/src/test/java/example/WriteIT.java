package example;

import io.rdmatest.junit.Connection;
import io.rdmatest.junit.DataPattern;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.Registered;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import java.nio.file.Files;
import java.time.Duration;
import org.junit.jupiter.api.MediaType;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@RdmaTest
class WriteIT {

    @ParameterizedTest
    @ValueSource(ints = {1, 4096, 65536})
    void arrives(
            int size,
            Connection connection,
            @Registered(size = "64KiB") MemoryRegion source,
            @Registered(size = "64KiB") MemoryRegion target) {
        DataPattern pattern = DataPattern.of(size);
        pattern.fill(source.bytes().asSlice(0, size));
        connection
                .client()
                .queuePair()
                .postWrite(1, source, target.remote().slice(0, size), SendFlag.SIGNALED);
        connection.client().sendQueue().awaitSuccess(Duration.ofSeconds(15));
        pattern.verify(target.bytes().asSlice(0, size));
    }

    @RdmaTest
    void publishesAFile(Connection connection, TestReporter reporter) {
        reporter.publishFile(
                "connection.txt", MediaType.TEXT_PLAIN_UTF_8, file -> Files.writeString(file, connection.toString()));
    }
}
