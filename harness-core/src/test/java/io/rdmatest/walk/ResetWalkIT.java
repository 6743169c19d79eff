package io.rdmatest.walk;

import io.rdmatest.WholeLedger;
import io.rdmatest.loopback.Interposer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Whatever sequence of calls came before, a reset of the device leaves nothing behind: each object is closed at the first attempt,
 * and neither the ledger nor the kernel has any. {@code rdma.walk.reset.operations} says how long the walk is.
 */
@Tag("soak")
@WholeLedger
class ResetWalkIT {

    private static final int SECONDS = 1200;

    @TestFactory
    @Timeout(value = SECONDS + 120, unit = TimeUnit.SECONDS)
    Stream<DynamicTest> aResetReleasesWhateverTheWalkHasMade(@TempDir Path libraries, @TempDir Path folder)
            throws Exception {
        Interposer.compileInto(libraries);
        return Interposer.run(
                libraries,
                folder,
                SECONDS,
                List.of(
                        "-Drdma.walk.seed=" + RandomWalkIT.seeds().getFirst(),
                        "-Drdma.walk.operations=" + Long.getLong("rdma.walk.reset.operations", 16_000),
                        "-Drdma.walk.folder=" + Path.of("target").toAbsolutePath()),
                ResetWalkTestCase.class);
    }
}
