package io.rdmatest.loopback;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What hardware answers and soft-RoCE never does, from a library in the place of libibverbs.
 *
 * <p>Each class of test cases has a JVM of its own: a JVM that has loaded one libibverbs can't load another.
 */
@Timeout(180)
class LoopbackHostIT {

    @TempDir
    static Path libraries;

    @TempDir
    Path folder;

    @BeforeAll
    static void compile() throws Exception {
        LoopbackLibrary.compileInto(List.of("cc"), libraries);
    }

    @TestFactory
    Stream<DynamicTest> messagesAreLoopedBack() throws Exception {
        return run(DataPathTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> aResetReleasesEverything() throws Exception {
        return run(ResetTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> errorsOfTheDataPathAreToldAsTheyAre() throws Exception {
        return run(DataPathErrorsTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> portsAndDevicesOfOtherKinds() throws Exception {
        return run(PortsTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> pathsOfInfiniband() throws Exception {
        return run(InfinibandTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> memoryOfOtherKinds() throws Exception {
        return run(MemoryKindsTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> memoryWindows() throws Exception {
        return run(MemoryWindowTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> extendedCompletionQueues() throws Exception {
        return run(ExtendedQueueTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> extendedReliableConnections() throws Exception {
        return run(XrcTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> threadsOnOneChannelDoNotDelayEachOther() throws Exception {
        return run(CompletionChannelTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> noMessageCostsAByteOfTheHeap() throws Exception {
        // The last compiler alone, which is waited for: the errno of a call costs the others an object.
        return run(AllocationTestCase.class, "-XX:-TieredCompilation", "-XX:-BackgroundCompilation");
    }

    private Stream<DynamicTest> run(Class<?> cases) throws IOException, InterruptedException {
        return run(cases, "-XX:TieredStopAtLevel=1");
    }

    private Stream<DynamicTest> run(Class<?> cases, String... options) throws IOException, InterruptedException {
        List<String> java = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        java.addAll(List.of(options));
        return TestProcess.run(folder, java, libraries, 120, List.of(cases.getName()));
    }
}
