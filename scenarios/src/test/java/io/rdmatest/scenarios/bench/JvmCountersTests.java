package io.rdmatest.scenarios.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JvmCountersTests {

    private static Path thread(Path process, int id, String name) throws IOException {
        Path task = Files.createDirectories(process.resolve("task/" + id));
        return Files.writeString(task.resolve("comm"), name + "\n");
    }

    private static void thread(Path process, int id, String name, String schedstat) throws IOException {
        Path comm = thread(process, id, name);
        Path ignored = Files.writeString(comm.resolveSibling("schedstat"), schedstat);
    }

    @Test
    void theTimeOfAllCompilersIsCountedAndOfNoOtherThread(@TempDir Path process) throws IOException {
        thread(process, 1, "java", "5000000 1 1\n");
        thread(process, 2, "C2 CompilerThre", "3000000 70 9\n");
        thread(process, 3, "C1 CompilerThre", "400000 80 9\n");
        // One that has just begun, or just ended.
        Path ignored = thread(process, 4, "C2 CompilerThre");
        assertThat(JvmCounters.compilerNanos(process)).hasValue(3_400_000);
    }

    @Test
    void nothingIsKnownWithoutSuchThreadsOrWhatTheKernelCounts(@TempDir Path process) throws IOException {
        assertThat(JvmCounters.compilerNanos(process)).isEmpty();
        thread(process, 1, "java", "5000000 1 1\n");
        assertThat(JvmCounters.compilerNanos(process)).isEmpty();
        Path ignored = thread(process, 2, "C2 CompilerThre");
        assertThat(JvmCounters.compilerNanos(process)).isEmpty();
    }

    @Test
    void thisJvmHasCompiledSomething() {
        assertThat(JvmCounters.compilerMillis()).isPositive();
    }
}
