package io.rdmatest.scenarios.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PauseLogTests {

    private static final String LOG = """
            [100ns] Using Serial
            [5000000ns] GC(0) Pause Young (Allocation Failure) 101M->22M(365M) 2.000ms
            [5000100ns] Safepoint "SerialCollectForAllocation", Time since last: 7 ns, Reaching safepoint: 3757 ns, At safepoint: 9 ns, Leaving safepoint: 4 ns, Total: 2000000 ns, Threads: 0 runnable, 10 total
            [9000000ns] Safepoint "Cleanup", Time since last: 7 ns, Reaching safepoint: 1 ns, At safepoint: 9 ns, Leaving safepoint: 4 ns, Total: 500000 ns, Threads: 0 runnable, 10 total
            """;

    @TempDir
    private Path folder;

    private Map<String, Object> between(long begin, long end) throws IOException {
        Map<String, Object> details = new LinkedHashMap<>();
        new PauseLog(Files.writeString(folder.resolve("log"), LOG)).put(details, begin, end);
        return details;
    }

    @Test
    void countsWhatWasInTheTime() throws IOException {
        assertThat(between(4_000_000, 20_000_000))
                .containsEntry("safepoints", 2L)
                .containsEntry("collections", 1L)
                .containsEntry("pausedMillis", 2.5);
        assertThat(between(4_000_000, 6_000_000).get("pauses").toString())
                .contains("1.000 ms: GC(0) Pause Young", "1.000 ms: Safepoint \"SerialCollectForAllocation\"")
                .doesNotContain("Cleanup", "Using Serial");
    }

    /** The line is written at the end of a pause: one that ends later has begun in the time. */
    @Test
    void countsWhatWasInTheTimeInPart() throws IOException {
        assertThat(between(1, 3_100_000)).containsEntry("safepoints", 1L).containsEntry("collections", 0L);
        assertThat(between(8_900_000, 8_950_000)).containsEntry("safepoints", 1L);
        assertThat(between(5_000_200, 8_000_000))
                .containsEntry("safepoints", 0L)
                .containsEntry("pauses", List.of());
    }

    @Test
    void aJvmWithoutALogSaysNothing() throws IOException {
        Map<String, Object> details = new LinkedHashMap<>();
        new PauseLog(null).put(details, 0, 1);
        assertThat(details).isEmpty();
    }

    /** The format is the JVM's own: a collection of a real one is found. */
    @Test
    void readsTheLogOfAJvm() throws Exception {
        Path log = folder.resolve("jvm.log");
        Path program = Files.writeString(folder.resolve("Collects.java"), """
                void main() {
                    System.gc();
                    System.out.println(System.nanoTime());
                }
                """);
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(PauseLog.options(log));
        command.add(program.toString());
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        long end = Long.parseLong(said.strip());

        Map<String, Object> details = new LinkedHashMap<>();
        new PauseLog(log).put(details, end - TimeUnit.MINUTES.toNanos(5), end);
        assertThat((Long) details.get("safepoints")).isPositive();
        assertThat((Long) details.get("collections")).isPositive();
        assertThat((Double) details.get("pausedMillis")).isPositive();
        assertThat(details.get("pauses").toString()).contains("(System.gc())");
        new PauseLog(log).put(details, end + TimeUnit.MINUTES.toNanos(5), end + TimeUnit.MINUTES.toNanos(6));
        assertThat(details).containsEntry("safepoints", 0L);
    }
}
