package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.acceptance.Machines.Ended;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A cache that a JVM refuses is not missed by anybody: commands only start more slowly. */
@Tag("machines")
class PreparedClassesIT {

    private static final Path CACHE = Machines.PROJECT.resolve("scenarios/target/rdmatest.aot");

    @TempDir
    private Path folder;

    @Test
    void theFirstCommandPreparesWhatAJvmAccepts() throws Exception {
        // A question, such as --version, prepares nothing.
        Ended first = judgesNoFile(Map.of());
        assertThat(first.status()).as(first.output()).isEqualTo(2);
        assertThat(CACHE).isNotEmptyFile();
        assertThat(Path.of(CACHE + ".log"))
                .content()
                // The training came to its end: the command that finds no device.
                .contains("devices ends with 3")
                .doesNotContain("Exception in thread")
                // It listens to JUnit's launcher, which the commands do without.
                .satisfies(log -> assertThat(log.lines().filter(line -> line.contains("is left out")))
                        .allMatch(line -> line.startsWith("io.rdmatest.summary.RunSummary is left out: ")));

        // In this mode a JVM that cannot use the cache does not start.
        Ended ready = judgesNoFile(Map.of());
        Ended strict = judgesNoFile(Map.of("JDK_JAVA_OPTIONS", "-XX:AOTMode=on"));
        assertThat(strict.status()).as(strict.output()).isEqualTo(2);
        assertThat(strict.output()).contains("-XX:AOTMode=on").endsWith(ready.output());

        // Code would be this processor's, and the machine's processor may lack a part of it.
        Ended logging = judgesNoFile(Map.of("JDK_JAVA_OPTIONS", "-Xlog:aot+codecache+init=info"));
        assertThat(logging.output())
                .contains("AOT Code Cache is empty")
                .doesNotContain("AOT code entries")
                .endsWith(ready.output());
    }

    private Ended judgesNoFile(Map<String, String> environment) throws Exception {
        return Machines.run(
                List.of(Machines.PROJECT.resolve("rdmatest").toString(), "wire", "nothing.pcap"),
                folder.resolve("said"),
                Duration.ofMinutes(2),
                environment);
    }
}
