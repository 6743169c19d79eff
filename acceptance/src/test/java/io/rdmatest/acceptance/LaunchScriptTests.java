package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@code ./qualify} and {@code ./rdmatest} have in common, in a project whose Maven and JDK only say how they are called. */
class LaunchScriptTests {

    @TempDir
    private Path folder;

    private Path project = Path.of("");

    private record Run(int status, String output) {}

    @BeforeEach
    void makeAProject() throws IOException {
        project = Files.createDirectories(folder.resolve("project"));
        for (String script : new String[] {"qualify", "rdmatest"}) {
            Files.copy(Machines.PROJECT.resolve(script), project.resolve(script));
        }
        copy("lib");
        copy("fabric-config/rdma-jdk");
        Files.writeString(project.resolve("pom.xml"), "<project/>");
        for (String module :
                new String[] {"harness-core", "fabric-config", "run-summary", "junit-extension", "reports", "scenarios"
                }) {
            Files.createDirectories(project.resolve(module).resolve("src/main"));
            Files.writeString(project.resolve(module).resolve("pom.xml"), "<project/>");
        }
        // While it builds, nobody else may.
        script(
                "bin/mvn",
                "flock -n " + project.resolve("target/build.lock") + " true && echo alone || echo locked",
                "echo built >>" + folder.resolve("builds"),
                "target=scenarios/target",
                "mkdir -p $target/lib && touch $target/lib/a.jar $target/lib/b.jar",
                "printf 'lib/a.jar:lib/b.jar' >$target/rdmatest.classpath",
                "lib/stamp --leave $target/rdmatest.stamp \"$(date -u +%FT%TZ -d '5 seconds')\" harness-core fabric-config \\",
                "    run-summary junit-extension reports scenarios");
        script(
                "jdk/bin/java",
                "case $* in",
                "    *AOTCacheOutput=*) ;;",
                "    *) for word; do case $word in *.jar) echo \"classes=$word\" ;; -Drdma.work=*) echo \"$word\" ;; esac; done",
                "        echo \"LC_ALL=$LC_ALL\" ;;",
                "esac");
        Files.writeString(folder.resolve("jdk/release"), "JAVA_VERSION=\"25.0.3\"\n");
    }

    private void copy(String tree) throws IOException {
        Files.createDirectories(project.resolve(tree).getParent());
        try (Stream<Path> files = Files.walk(Machines.PROJECT.resolve(tree))) {
            for (Path file : files.toList()) {
                Files.copy(
                        file,
                        project.resolve(Machines.PROJECT.relativize(file).toString()),
                        StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }

    private void script(String name, String... lines) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/bash\n" + String.join("\n", lines) + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private Run run(Map<String, String> environment, String... command) throws Exception {
        Path said = folder.resolve("said");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("RDMA_") || name.startsWith("LC_"));
        builder.environment()
                .put("PATH", folder.resolve("bin") + ":" + builder.environment().get("PATH"));
        builder.environment().put("RDMA_JAVA_HOME", folder.resolve("jdk").toString());
        builder.environment().put("RDMA_VM", "never");
        builder.environment().putAll(environment);
        Process process = builder.start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return new Run(process.exitValue(), Files.readString(said));
    }

    private Run launch(String script, Map<String, String> environment) throws Exception {
        return run(environment, "bash", project.resolve(script).toString(), "x");
    }

    private int builds() throws IOException {
        Path builds = folder.resolve("builds");
        return Files.exists(builds) ? Files.readAllLines(builds).size() : 0;
    }

    @ParameterizedTest
    @ValueSource(strings = {"qualify", "rdmatest"})
    void noTwoCommandsBuildAtOnce(String script) throws Exception {
        assertThat(launch(script, Map.of()).status()).isZero();

        assertThat(project.resolve("scenarios/target/build.log")).hasContent("locked");
    }

    @ParameterizedTest
    @CsvSource({
        "qualify, fabric-config/fabrics/lab.yaml",
        "qualify, run-summary/src/main/Changed.java",
        "rdmatest, fabric-config/fabrics/lab.yaml",
        "rdmatest, run-summary/src/main/Changed.java"
    })
    void whateverIsPackagedIsBuiltAgainWhenItChanged(String script, String changed) throws Exception {
        Path source = project.resolve(changed);
        Files.createDirectories(source.getParent());
        assertThat(launch(script, Map.of()).status()).isZero();
        Files.setLastModifiedTime(
                project.resolve("scenarios/target/rdmatest.stamp"),
                FileTime.from(Instant.now().plusSeconds(3600)));
        assertThat(launch(script, Map.of()).status()).isZero();
        assertThat(builds()).isEqualTo(1);

        Files.setLastModifiedTime(
                Files.writeString(source, ""), FileTime.from(Instant.now().plusSeconds(7200)));
        assertThat(launch(script, Map.of()).status()).isZero();
        assertThat(builds()).isEqualTo(2);
    }

    /** In the locale C a JVM does not find its own class path if that has a letter which ASCII has not. */
    @ParameterizedTest
    @ValueSource(strings = {"qualify", "rdmatest"})
    void theJvmKnowsMoreLettersThanAscii(String script) throws Exception {
        assertThat(launch(script, Map.of("LC_ALL", "C")).output()).endsWith("LC_ALL=C.UTF-8\n");
        assertThat(launch(script, Map.of("LANG", "C.UTF-8")).output()).endsWith("LC_ALL=\n");
    }

    /** A JVM that is asked to end exits, even with 0 if what it runs has ended; Ctrl-C reaches it and the script. */
    @ParameterizedTest
    @CsvSource({
        "qualify, exit 130, 130",
        "qualify, kill -INT $PPID; exit 0, 130",
        "rdmatest, exit 143, 143",
        "rdmatest, kill -INT $PPID; exit 1, 130"
    })
    void whoeverEndsTheTrainingEndsTheCommand(String script, String ends, int status) throws Exception {
        script(
                "jdk/bin/java",
                "for word; do",
                "    case $word in -XX:AOTCacheOutput=*) touch ${word#*=}.config; " + ends + " ;; esac",
                "done",
                "echo went on");

        // Who was started with SIGINT ignored, as by a build in the background, keeps it so.
        Run run = run(
                Map.of(),
                "env",
                "--default-signal=INT",
                "bash",
                project.resolve(script).toString(),
                "x");

        assertThat(run.status()).as(run.output()).isEqualTo(status);
        assertThat(run.output()).doesNotContain("went on");
        try (Stream<Path> files = Files.list(project.resolve("scenarios/target"))) {
            assertThat(files.map(file -> file.getFileName().toString()))
                    .filteredOn(name -> name.contains(".aot"))
                    .containsExactly(script + ".aot.log");
        }
    }

    @Test
    void whatIsOnlyAskedIsAnsweredDuringARun() throws Exception {
        Run built = launch("qualify", Map.of());
        assertThat(built.status()).as(built.output()).isZero();
        String qualify = project.resolve("qualify").toString();
        String lock = project.resolve("reports/target/qualify.lock").toString();
        // What is newer now is not built under the run.
        Files.setLastModifiedTime(
                project.resolve("pom.xml"), FileTime.from(Instant.now().plusSeconds(3600)));

        for (String question : new String[] {"--help", "-h", "--version", "-V", "--list"}) {
            Run run = run(Map.of(), "flock", lock, "bash", qualify, "--device", "rxe0", question);
            assertThat(run.status()).as(question + ": " + run.output()).isZero();
        }
        assertThat(builds()).isEqualTo(1);

        Run refused = run(Map.of(), "flock", lock, "bash", qualify);
        assertThat(refused.status()).isEqualTo(3);
        assertThat(refused.output()).contains("another run is going on");
        Files.delete(project.resolve("scenarios/target/rdmatest.stamp"));
        assertThat(run(Map.of(), "flock", lock, "bash", qualify, "--list").status())
                .isEqualTo(3);
    }

    @ParameterizedTest
    @ValueSource(strings = {"qualify", "rdmatest"})
    void whatIsOnlyAskedBuildsNothing(String script) throws Exception {
        String command = project.resolve(script).toString();
        for (String question : new String[] {"--help", "-h", "--version", "-V"}) {
            Run run = run(Map.of("RDMA_JAVA_HOME", "/nonexistent"), "bash", command, question);
            assertThat(run.status()).as(run.output()).isZero();
            assertThat(run.output())
                    .hasLineCount(1)
                    .contains(
                            "It is not built yet",
                            "the first run of ./" + script + " builds it, and so does: (cd " + project);
        }
        assertThat(builds()).isZero();
        assertThat(project.resolve("scenarios/target")).doesNotExist();
        assertThat(project.resolve("reports/target")).doesNotExist();

        assertThat(launch(script, Map.of()).status()).isZero();
        Files.setLastModifiedTime(
                Files.writeString(project.resolve("pom.xml"), "<project>changed</project>"),
                FileTime.from(Instant.now().plusSeconds(7200)));
        assertThat(run(Map.of(), "bash", command, "--help").output()).endsWith("LC_ALL=\n");
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void scenariosOfAnUnbuiltCloneCannotBeListed() throws Exception {
        Run run = run(Map.of(), "bash", project.resolve("qualify").toString(), "--list");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.output())
                .hasLineCount(1)
                .contains("it has no scenarios to list: the first run of ./qualify builds it");
        assertThat(builds()).isZero();
    }

    /** As cp -r leaves it: all times are new, in any order. */
    @ParameterizedTest
    @ValueSource(strings = {"qualify", "rdmatest"})
    void aCopyIsRunAsItWasBuilt(String script) throws Exception {
        assertThat(launch(script, Map.of()).status()).isZero();
        Path moved = folder.resolve("a copy & its clone");
        Files.move(project, moved);
        project = moved;
        Files.setLastModifiedTime(
                project.resolve("pom.xml"), FileTime.from(Instant.now().plusSeconds(3600)));

        Run run = launch(script, Map.of());

        assertThat(run.status()).as(run.output()).isZero();
        String target = project + "/scenarios/target";
        assertThat(run.output())
                .contains("classes=" + target + "/classes:" + target + "/lib/a.jar:" + target + "/lib/b.jar\n")
                .doesNotContain("Building");
        assertThat(builds()).isEqualTo(1);
    }

    /** Root may write everywhere, so the clone is root's and the user is not. */
    @ParameterizedTest
    @ValueSource(strings = {"qualify", "rdmatest"})
    void anothersCloneIsRunAndNotWrittenTo(String script) throws Exception {
        Assumptions.assumeTrue(
                "root".equals(System.getProperty("user.name")), "not root: nothing here is another user's");
        assertThat(launch(script, Map.of()).status()).isZero();
        Path state = Files.createDirectories(folder.resolve("state"));
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(state, PosixFilePermissions.fromString("rwxrwxrwx"));
        String command = project.resolve(script).toString();
        String[] nobody = {"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "bash", command, "x"};
        Map<String, String> environment =
                Map.of("XDG_STATE_HOME", state.toString(), "XDG_CACHE_HOME", state.toString(), "HOME", "/nonexistent");

        Run run = run(environment, nobody);
        assertThat(run.status()).as(run.output()).isZero();
        if (script.equals("qualify")) {
            assertThat(run.output()).contains("-Drdma.work=" + state + "/rdmatest/project-");
            Run homeless = run(Map.of("HOME", "/nonexistent"), nobody);
            assertThat(homeless.status()).isEqualTo(3);
            assertThat(homeless.output()).hasLineCount(1).contains("set XDG_STATE_HOME to a folder of yours");
        }

        // Nobody builds what is another's.
        Files.setLastModifiedTime(
                Files.writeString(project.resolve("pom.xml"), "<project>changed</project>"),
                FileTime.from(Instant.now().plusSeconds(7200)));
        assertThat(run(environment, nobody).output())
                .contains("sources are newer than the build, which is used nevertheless");
        Files.delete(project.resolve("scenarios/target/lib/a.jar"));
        Run incomplete = run(environment, nobody);
        assertThat(incomplete.status()).isEqualTo(3);
        assertThat(incomplete.output())
                .hasLineCount(1)
                .contains("you may not write to", "Its owner builds it by running ./" + script);
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void theKernelIsTakenOutOfItsImageIntoAnyFolder() throws Exception {
        byte[] kernel = "\177ELF and what else a kernel is made of".getBytes(StandardCharsets.ISO_8859_1);
        ByteArrayOutputStream packed = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(packed)) {
            gzip.write(kernel);
        }
        // See the kernel's Documentation/arch/x86/boot.rst: one sector of set-up, and where the payload is.
        ByteBuffer image = ByteBuffer.allocate(1024 + packed.size()).order(ByteOrder.LITTLE_ENDIAN);
        image.put(0x1f1, (byte) 1).put(0x202, "HdrS".getBytes(StandardCharsets.US_ASCII));
        image.putInt(0x248, 0).putInt(0x24c, packed.size()).put(1024, packed.toByteArray());
        Path boot = Files.write(folder.resolve("vmlinuz"), image.array());
        Path output = Files.createDirectories(folder.resolve("o'brien $HOME")).resolve("vmlinux");

        Run run = run(
                Map.of(),
                "perl",
                project.resolve("fabric-config/rdma-jdk/lib/vmlinux.pl").toString(),
                boot.toString(),
                output.toString());

        assertThat(run.status()).as(run.output()).isZero();
        assertThat(output).hasBinaryContent(kernel);
    }

    @Test
    void theRoomForASnapshotIsKnownOfAnyFolder() throws Exception {
        Path templates = Files.createDirectories(folder.resolve("o'brien $HOME"));

        Run run = run(
                Map.of(),
                "perl",
                "-I" + project.resolve("fabric-config/rdma-jdk/lib"),
                "-MRdmaVm::Machine",
                "-e",
                "print RdmaVm::Machine::free_megabytes(shift)",
                templates.toString());

        assertThat(run.status()).as(run.output()).isZero();
        assertThat(run.output()).matches("\\d+");
    }
}
