package io.rdmatest.scenarios.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CompilerThreadsTests {

    @TempDir
    private Path process;

    private Path thread(int id, String name) throws IOException {
        Path task = Files.createDirectories(process.resolve("task/" + id));
        return Files.writeString(task.resolve("comm"), name + "\n");
    }

    private void thread(int id, String name, long millis) throws IOException {
        Path comm = thread(id, name);
        Path ignored = Files.writeString(comm.resolveSibling("schedstat"), millis * 1_000_000 + " 70 9\n");
    }

    @Test
    void theTimeOfAllCompilersIsCountedAndOfNoOtherThread() throws IOException {
        thread(1, "java", 500_000);
        thread(2, "C2 CompilerThre", 300_000);
        thread(3, "C1 CompilerThre", 40_000);
        // One that has just begun, or just ended.
        Path ignored = thread(4, "C2 CompilerThre");
        assertThat(new CompilerThreads(process).millis()).isEqualTo(340_000);
    }

    @Test
    void theTimeOfAThreadThatHasEndedStays() throws IOException {
        thread(2, "C2 CompilerThre", 300_000);
        thread(3, "C2 CompilerThre", 40_000);
        CompilerThreads threads = new CompilerThreads(process);
        assertThat(threads.millis()).isEqualTo(340_000);

        Path gone = process.resolve("task/3");
        Files.delete(gone.resolve("comm"));
        Files.delete(gone.resolve("schedstat"));
        Files.delete(gone);
        thread(2, "C2 CompilerThre", 300_005);
        assertThat(threads.millis()).isEqualTo(340_005);
    }

    @Test
    void theJvmIsAskedWhereTheKernelDoesNotCount() throws IOException {
        CompilerThreads threads = new CompilerThreads(process);
        assertAsTheJvmSays(threads);
        thread(1, "java", 500_000);
        assertAsTheJvmSays(threads);
        Path ignored = thread(2, "C2 CompilerThre");
        assertAsTheJvmSays(threads);
    }

    private static void assertAsTheJvmSays(CompilerThreads threads) {
        long before = ManagementFactory.getCompilationMXBean().getTotalCompilationTime();
        long millis = threads.millis();
        assertThat(millis)
                .isBetween(before, ManagementFactory.getCompilationMXBean().getTotalCompilationTime());
    }

    @Test
    void thisJvmHasCompiledSomething() {
        assertThat(CompilerThreads.OWN.millis()).isPositive();
    }
}
