package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.acceptance.Machines.Ended;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A cache that a JVM refuses is not missed by anybody: commands only start more slowly. */
class PreparedClassesTests {

    private static final Path CACHE = Machines.PROJECT.resolve("scenarios/target/rdmatest.aot");

    @TempDir
    private Path folder;

    @Test
    void theFirstCommandPreparesWhatAJvmAccepts() throws Exception {
        assumeTrue(Machines.prepared(), "the commands are not packaged, or no machine can be started here");
        Ended version = run(Machines.PROJECT.resolve("rdmatest").toString(), "--version");
        assertThat(version.output()).startsWith("rdmatest ");
        assertThat(CACHE).isNotEmptyFile();
        assertThat(Path.of(CACHE + ".log"))
                .content()
                // The rehearsal came to its end: the tests that find no device.
                .contains("0 of 5 tests passed")
                .doesNotContain("Exception in thread", "is left out");

        // In this mode a JVM that cannot use the cache does not start.
        List<String> java = new ArrayList<>(Machines.java());
        java.addAll(List.of("-XX:AOTMode=on", "-XX:AOTCache=" + CACHE, "-cp", classPath()));
        java.addAll(List.of("io.rdmatest.scenarios.cli.Rdmatest", "--version"));
        Ended strict = run(java.toArray(String[]::new));
        assertThat(strict.status()).as(strict.output()).isZero();
        assertThat(strict.output()).isEqualTo(version.output());
    }

    private static String classPath() throws Exception {
        Path target = CACHE.getParent();
        List<Path> jars;
        try (var files = Files.newDirectoryStream(target, "scenarios-*.jar")) {
            jars = new ArrayList<>();
            files.forEach(jars::add);
        }
        // A whole build has these beside it.
        jars.removeIf(jar -> jar.toString().matches(".*-(sources|javadoc)\\.jar"));
        assertThat(jars).hasSize(1);
        return jars.getFirst() + ":"
                + Files.readString(target.resolve("rdmatest.classpath")).strip();
    }

    private Ended run(String... command) throws Exception {
        return Machines.run(List.of(command), folder.resolve("said"), Duration.ofMinutes(2), Map.of());
    }
}
