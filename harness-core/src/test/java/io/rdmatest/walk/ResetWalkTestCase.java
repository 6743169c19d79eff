package io.rdmatest.walk;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;

/** The random walk over the interposer, which resets the device in the middle of each round. */
@Timeout(value = 20, unit = TimeUnit.MINUTES)
class ResetWalkTestCase {

    @Test
    void whateverTheWalkHasMadeIsReleasedWithTheDevice(TestReporter reporter) throws Exception {
        RandomWalkIT.walk(
                Long.getLong("rdma.walk.seed"),
                Long.getLong("rdma.walk.operations"),
                Path.of(System.getProperty("rdma.walk.folder")),
                true,
                reporter);
    }
}
