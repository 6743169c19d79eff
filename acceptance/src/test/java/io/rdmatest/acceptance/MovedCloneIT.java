package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.acceptance.Machines.Ended;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The built project works wherever it is, and for whomever, without Maven and its repository. */
class MovedCloneIT {

    private static final List<String> MODULES =
            List.of("harness-core", "fabric-config", "run-summary", "junit-extension", "reports", "scenarios");

    @TempDir
    private Path folder;

    private Path clone = Path.of("");

    /** Without the times of its files, which is how most people copy. */
    @BeforeEach
    void copyTheBuiltProject() throws Exception {
        clone = Files.createDirectories(folder.resolve("a copy"));
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        List<String> parts =
                new ArrayList<>(List.of("qualify", "rdmatest", "lib", "pom.xml", "fabric-config/rdma-jdk"));
        for (String module : MODULES) {
            parts.addAll(List.of(module + "/pom.xml", module + "/src/main"));
        }
        parts.addAll(List.of("fabric-config/fabrics", "reports/target/allure-commandline"));
        String command = "scenarios/target/rdmatest";
        parts.addAll(List.of(command + ".stamp", command + ".classpath", "scenarios/target/lib"));
        try (Stream<Path> jars = Files.list(Machines.PROJECT.resolve("scenarios/target"))) {
            jars.filter(file -> file.toString().endsWith(".jar"))
                    .forEach(file -> parts.add(Machines.PROJECT.relativize(file).toString()));
        }
        List<String> copy = new ArrayList<>(List.of("cp", "-r", "--parents"));
        copy.addAll(parts);
        copy.add(clone.toString());
        Ended copied = Machines.run(copy, folder.resolve("said"), Duration.ofMinutes(1), Map.of());
        assertThat(copied.status()).as(copied.output()).isZero();
        // Nothing is to be built.
        Path maven =
                Files.writeString(Files.createDirectories(folder.resolve("bin")).resolve("mvn"), "#!/bin/sh\nexit 9\n");
        Files.setPosixFilePermissions(maven, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private Ended run(Map<String, String> environment, String... command) throws Exception {
        Map<String, String> all = new HashMap<>(environment);
        all.put("PATH", folder.resolve("bin") + ":" + System.getenv("PATH"));
        all.putIfAbsent("HOME", "/nonexistent");
        return Machines.run(folder, List.of(command), folder.resolve("said"), Duration.ofMinutes(5), all);
    }

    private String[] asNobody(String... command) {
        Assumptions.assumeTrue("root".equals(System.getProperty("user.name")), "not root: nobody else can be tried");
        List<String> words =
                new ArrayList<>(List.of("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"));
        words.addAll(Arrays.asList(command));
        return words.toArray(String[]::new);
    }

    @Test
    void aCopyRunsItsOwnClasses() throws Exception {
        Map<String, String> loads =
                Map.of("JDK_JAVA_OPTIONS", "-Xlog:class+load=info:file=" + folder.resolve("loaded"));
        Ended version = run(loads, clone.resolve("rdmatest").toString(), "--version");
        assertThat(version.status()).as(version.output()).isZero();
        Ended list = run(Map.of(), clone.resolve("qualify").toString(), "--list");
        assertThat(list.status()).as(list.output()).isZero();
        assertThat(list.output()).contains("noListener").doesNotContain("Building");
        assertThat(Files.readString(folder.resolve("loaded")))
                .contains("source: file:" + folder.toUri().getPath() + "a%20copy/scenarios/target/")
                .doesNotContain(Machines.PROJECT + "/", "/.m2/");
    }

    /** Also for a clone of somebody else's, who may not let others write to it. */
    @Test
    void anotherUserRunsIt() throws Exception {
        Path home = Files.createDirectories(folder.resolve("home"));
        Files.setPosixFilePermissions(home, PosixFilePermissions.fromString("rwxrwxrwx"));
        Map<String, String> environment = Map.of("HOME", home.toString());
        Ended help = run(environment, asNobody(clone.resolve("rdmatest").toString(), "wire", "--help"));
        assertThat(help.status()).as(help.output()).isZero();
        Ended list = run(environment, asNobody(clone.resolve("qualify").toString(), "--list"));
        assertThat(list.status()).as(list.output()).isZero();

        Ended run = run(environment, asNobody(clone.resolve("qualify").toString(), "--scenario", "noListener"));
        assertThat(run.status()).as(run.output()).isZero();
        assertThat(run.output()).contains("Page     " + home.resolve(".local/state/rdmatest/a copy-"));
        Ended wrong = run(
                environment,
                asNobody(clone.resolve("qualify").toString(), "--output", home + "/results", "--fabric", "nope"));
        assertThat(wrong.output()).contains("nope").doesNotContain("cannot write", "Building");
    }

    /** A JVM that does not come to main ends with 1, too; a fabric that failed is told from it. */
    @Test
    void preparedClassesMoveWithTheCloneAndAFailureStaysOne() throws Exception {
        StringBuilder pairs = new StringBuilder();
        for (int from = 0; from < 6; from++) {
            for (int to = 0; to < 6; to++) {
                if (from != to) {
                    pairs.append("""
                            {"schema": "pairs/1", "rail": "rail0", "from": "n%d", "to": "n%d", "attempts": 1, \
                            "outcome": "measured", "lineRate": 100e9, "bandwidth": %de9}
                            """.formatted(from, to, from == 3 ? 40 : 95));
                }
            }
        }
        String file = Files.writeString(folder.resolve("pairs.jsonl"), pairs).toString();
        Ended prepared = run(Map.of(), clone.resolve("rdmatest").toString(), "culprits", file);
        assertThat(prepared.status()).as(prepared.output()).isEqualTo(1);
        assertThat(prepared.output()).contains("Preparing the classes", "1 culprit in 30 cells");
        Path moved = Files.move(clone, folder.resolve("moved"));

        // In this mode a JVM that cannot use the cache does not start.
        Ended strict = run(
                Map.of("JDK_JAVA_OPTIONS", "-XX:AOTMode=on"),
                moved.resolve("rdmatest").toString(),
                "culprits",
                file);

        assertThat(strict.status()).as(strict.output()).isEqualTo(1);
        assertThat(strict.output())
                .contains("-XX:AOTMode=on", "1 culprit in 30 cells")
                .doesNotContain("Preparing");
        assertThat(moved.resolve("scenarios/target/rdmatest.aot")).isNotEmptyFile();
    }

    @Test
    void onlyWhatRunsIsOnTheClassPath() throws Exception {
        List<String> jars = List.of(Files.readString(Machines.PROJECT.resolve("scenarios/target/rdmatest.classpath"))
                .strip()
                .split(":"));
        assertThat(jars)
                .hasSizeGreaterThan(10)
                .allMatch(jar -> jar.matches("lib/[^/]+\\.jar"))
                .noneMatch(jar -> jar.matches(
                        ".*/(archunit|assertj|awaitility|byte-buddy|hamcrest|itu|jackson-dataformat-yaml|json-schema"
                                + "|junit-platform-testkit|snakeyaml-\\d).*"));
        // What runs the scenarios is no dependency of their code.
        assertThat(jars).anyMatch(jar -> jar.startsWith("lib/junit-jupiter-engine-"));
    }
}
