package io.rdmatest.loopback;

import io.rdmatest.DeviceUnderTest;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What hardware answers and soft-RoCE never does, above a real device: kernel objects, traffic, and another JVM's audit. */
@Timeout(540)
class InterposerIT {

    @TempDir
    Path libraries;

    @TempDir
    Path folder;

    /** What it assumes, it assumes by itself: reports have no reason of a class that was skipped as a whole. */
    @TestFactory
    Stream<DynamicTest> answersOfHardwareAboveARealDevice() throws Exception {
        DeviceUnderTest.assumeRxe("the cases know the GIDs and the ports of soft-RoCE");
        Interposer.compileInto(libraries);
        return Interposer.run(libraries, folder, 480, List.of(), InterposedTestCase.class);
    }
}
