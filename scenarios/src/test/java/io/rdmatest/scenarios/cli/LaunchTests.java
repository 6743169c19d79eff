package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the script {@code ./rdmatest} does before there is a JVM, in a project whose Maven and JDK only say how they are called. */
class LaunchTests {

    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();

    @TempDir
    private Path folder;

    private Path project = Path.of("");
    private Path stamp = Path.of("");

    private record Run(int status, String output, String errors) {}

    @BeforeEach
    void makeAProject() throws IOException {
        project = Files.createDirectories(folder.resolve("project"));
        Files.copy(ROOT.resolve("rdmatest"), project.resolve("rdmatest"));
        copy("lib");
        copy("fabric-config/rdma-jdk");
        Files.writeString(project.resolve("pom.xml"), "<project/>");
        for (String module : new String[] {"harness-core", "junit-extension", "scenarios"}) {
            Files.createDirectories(project.resolve(module).resolve("src/main"));
            Files.writeString(project.resolve(module).resolve("pom.xml"), "<project/>");
        }
        Path target = Files.createDirectories(project.resolve("scenarios/target"));
        stamp = target.resolve("rdmatest.stamp");
        script(
                "bin/mvn",
                "echo \"$@\" >>" + folder.resolve("maven-calls"),
                "[ -z \"$MAVEN_FAILS\" ] || { echo 'cannot find symbol'; exit 1; }",
                "echo '[INFO] Building rdmatest: harness-core 0.1.0-SNAPSHOT                 [2/6]'",
                "mkdir -p " + target.resolve("lib") + "; touch " + target.resolve("lib/a.jar"),
                "echo lib/a.jar >" + target.resolve("rdmatest.classpath"),
                "touch " + stamp);
        script(
                "jdk/bin/java",
                "echo \"$*\" >>" + folder.resolve("java-calls"),
                "case $* in",
                // Where no training is asked for, the classes cannot be prepared.
                "*AOTCacheOutput=*) [ -z \"$TRAINING\" ] || echo classes >\"${1#*=}\"; echo trained; exit 1 ;;",
                "*rdmatest.check=true*) echo 'checked' >&2; exit \"$CHECK\" ;;",
                "*) for last; do :; done; echo \"ran $last\"; exit 6 ;;",
                "esac");
        Files.writeString(folder.resolve("jdk/release"), "JAVA_VERSION=\"25.0.3\"\n");
    }

    private void copy(String tree) throws IOException {
        Files.createDirectories(project.resolve(tree).getParent());
        try (Stream<Path> files = Files.walk(ROOT.resolve(tree))) {
            for (Path file : files.toList()) {
                Files.copy(file, project.resolve(ROOT.relativize(file).toString()), StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }

    private void script(String name, String... lines) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/bash\n" + String.join("\n", lines) + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private Run run(Map<String, String> environment, String... arguments) throws Exception {
        ProcessBuilder builder =
                new ProcessBuilder("bash", project.resolve("rdmatest").toString());
        builder.command().addAll(List.of(arguments));
        builder.environment().keySet().removeIf(name -> name.startsWith("RDMA_"));
        builder.environment()
                .put("PATH", folder.resolve("bin") + ":" + builder.environment().get("PATH"));
        builder.environment().put("RDMA_JAVA_HOME", folder.resolve("jdk").toString());
        builder.environment().put("RDMA_VM", "never");
        builder.environment().put("CHECK", "100");
        builder.environment().putAll(environment);
        Path out = folder.resolve("out");
        Path err = folder.resolve("err");
        Process process =
                builder.redirectOutput(out.toFile()).redirectError(err.toFile()).start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return new Run(process.exitValue(), Files.readString(out), Files.readString(err));
    }

    private int builds() throws IOException {
        Path calls = folder.resolve("maven-calls");
        return Files.exists(calls) ? Files.readAllLines(calls).size() : 0;
    }

    private void built() throws IOException {
        Files.writeString(project.resolve("scenarios/target/rdmatest.classpath"), "lib/a.jar");
        Files.createFile(
                Files.createDirectories(project.resolve("scenarios/target/lib")).resolve("a.jar"));
        Files.createFile(stamp);
        Files.setLastModifiedTime(stamp, FileTime.from(Instant.now().plusSeconds(3600)));
    }

    @Test
    void buildsOnceAndEndsWithTheStatusOfTheCommand() throws Exception {
        Run first = run(Map.of(), "devices");
        assertThat(first.output()).isEqualTo("ran devices\n");
        assertThat(first.errors()).contains("Building", "Building 2 of 6: harness-core\n");
        assertThat(first.status()).isEqualTo(6);
        assertThat(Files.readString(folder.resolve("maven-calls")))
                .contains("-pl scenarios -am", "-DskipTests", "-Dmaven.test.skip", "package");
        Files.setLastModifiedTime(stamp, FileTime.from(Instant.now().plusSeconds(3600)));
        assertThat(run(Map.of(), "devices").errors()).isEmpty();
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void buildsAgainWhenASourceIsNewer() throws Exception {
        built();
        Path source = Files.writeString(project.resolve("harness-core/src/main/Changed.java"), "class Changed {}");
        Files.setLastModifiedTime(source, FileTime.from(Instant.now().plusSeconds(7200)));
        assertThat(run(Map.of(), "devices").status()).isEqualTo(6);
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void aBuildThatFailsShowsWhyAndRunsNothing() throws Exception {
        Run run = run(Map.of("MAVEN_FAILS", "yes"), "devices");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.output()).isEmpty();
        assertThat(run.errors()).contains("cannot find symbol", "the build failed; its log is");
    }

    @Test
    void inTheMachineNothingIsBuilt() throws Exception {
        Run run = run(Map.of("RDMA_NODE", "a"), "devices");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errors())
                .hasLineCount(1)
                .contains("not built", "on the host run: " + project.toRealPath() + "/rdmatest --help");
        assertThat(builds()).isZero();
    }

    @Test
    void inTheMachineTheDeviceIsThereWhateverTheEnvironmentSays() throws Exception {
        built();
        Run run = run(Map.of("RDMA_NODE", "a", "RDMA_VM", "always"), "devices");
        assertThat(run.output()).isEqualTo("ran devices\n");
        assertThat(run.errors()).isEmpty();
    }

    /** A machine would list a device that this host does not have. */
    @Test
    void theListOfDevicesIsAboutThisHost() throws Exception {
        built();
        Run run = run(Map.of("RDMA_VM", "always", "RDMA_VM_QEMU", "/nonexistent/qemu"), "devices", "--json");
        assertThat(run.output()).isEqualTo("ran --json\n");
        assertThat(run.errors()).doesNotContain("qemu", "machine");
    }

    @Test
    void wrongUsageStartsNoMachine() throws Exception {
        built();
        Map<String, String> machine =
                Map.of("RDMA_VM", "always", "CHECK", "2", "RDMA_VM_QEMU", "/nonexistent/qemu", "RDMA_VM_SNAPSHOT", "0");
        Run run = run(machine, "rping", "-Z");
        assertThat(run.status()).isEqualTo(2);
        assertThat(run.errors()).endsWith("...\nchecked\n");
    }

    @Test
    void aFabricOfOtherHostsIsTriedFromThisOne() throws Exception {
        built();
        Run run =
                run(Map.of("RDMA_VM", "always", "CHECK", "101", "RDMA_VM_QEMU", "/nonexistent/qemu"), "fabric", "lab");
        assertThat(run.output()).isEqualTo("ran lab\n");
        assertThat(run.status()).isEqualTo(6);
    }

    @Test
    void aFabricOfMachinesIsTriedInThem() throws Exception {
        built();
        script(
                "project/fabric-config/rdma-jdk/bin/java",
                "for last; do :; done",
                "echo \"RDMA_VM=$RDMA_VM RDMA_VM_NODES=$RDMA_VM_NODES $last\"");
        assertThat(run(Map.of("CHECK", "103", "RDMA_VM", "auto"), "fabric", "microvm-2")
                        .output())
                .isEqualTo("RDMA_VM=always RDMA_VM_NODES=2 microvm-2\n");
        assertThat(run(Map.of("CHECK", "105", "RDMA_VM", "auto"), "fabric", "microvm-4")
                        .output())
                .isEqualTo("RDMA_VM=always RDMA_VM_NODES=4 microvm-4\n");
        assertThat(run(Map.of("CHECK", "102", "RDMA_VM", "auto"), "fabric", "microvm")
                        .output())
                .isEqualTo("RDMA_VM=always RDMA_VM_NODES=1 microvm\n");
        // Whoever forbids machines gets none; the command says what that means for such a fabric.
        assertThat(run(Map.of("RDMA_VM", "never", "CHECK", "103"), "fabric", "microvm-2")
                        .output())
                .isEqualTo("RDMA_VM=never RDMA_VM_NODES= microvm-2\n");

        // A port that does not work concerns neither these machines nor what reads files.
        Path port = Files.createDirectories(folder.resolve("sys/class/infiniband/mlx5_0/ports/1"));
        Files.writeString(port.resolve("state"), "1: DOWN\n");
        Map<String, String> down =
                Map.of("RDMA_VM_SYSFS", folder.resolve("sys").toString(), "RDMA_VM", "auto", "CHECK", "103");
        assertThat(run(down, "fabric", "check", "microvm-2").output())
                .isEqualTo("RDMA_VM=always RDMA_VM_NODES=2 microvm-2\n");
        assertThat(run(down, "rping", "-s").errors()).contains("mlx5_0/1 is DOWN");
        for (String command : List.of("compare", "wire", "culprits", "fabric leaves")) {
            assertThat(run(down, command.split(" ")).errors()).doesNotContain("mlx5_0/1 is DOWN");
        }
    }

    @Test
    void whereNoMachineIsWantedTheOptionsAreReadOnce() throws Exception {
        built();
        assertThat(run(Map.of(), "devices").errors()).doesNotContain("checked");
    }

    private List<String> javaCalls() throws IOException {
        List<String> calls = Files.readAllLines(folder.resolve("java-calls"));
        Files.delete(folder.resolve("java-calls"));
        return calls;
    }

    @Test
    void classesArePreparedOnceAfterEachBuild() throws Exception {
        built();
        Path cache = project.toRealPath().resolve("scenarios/target/rdmatest.aot");
        Run run = run(Map.of("TRAINING", "yes"), "devices");
        assertThat(run.output()).isEqualTo("ran devices\n");
        assertThat(run.errors()).isEqualTo("Preparing the classes of the JVM (once after each build) ...\n");
        List<String> calls = javaCalls();
        assertThat(calls).hasSize(2);
        assertThat(calls.getFirst())
                .contains(project.toRealPath() + "/scenarios/target/lib/a.jar ", "AotTraining")
                .doesNotContain("-XX:AOTCache=");
        assertThat(calls.getLast()).contains("-XX:AOTCache=" + cache, "-Drdmatest.aot=" + cache);

        assertThat(run(Map.of("TRAINING", "yes"), "devices").errors()).isEmpty();
        assertThat(javaCalls()).hasSize(1).first().asString().contains("-XX:AOTCache=");

        // The JVM would refuse classes of another jar.
        Files.writeString(project.resolve("scenarios/target/lib/a.jar"), "another");
        assertThat(run(Map.of("TRAINING", "yes"), "devices").status()).isEqualTo(6);
        assertThat(javaCalls()).hasSize(2);
    }

    @Test
    void whereClassesCannotBePreparedTheJvmStartsWithoutThemAndItIsNotTriedAgain() throws Exception {
        built();
        assertThat(run(Map.of(), "devices").output()).isEqualTo("ran devices\n");
        assertThat(javaCalls()).hasSize(2).last().asString().doesNotContain("-XX:AOTCache");
        assertThat(run(Map.of(), "devices").errors()).isEmpty();
        assertThat(javaCalls()).hasSize(1).first().asString().doesNotContain("-XX:AOTCache");
    }

    @Test
    void inTheMachineNothingIsPrepared() throws Exception {
        built();
        assertThat(run(Map.of("RDMA_NODE", "a", "TRAINING", "yes"), "devices").status())
                .isEqualTo(6);
        assertThat(javaCalls()).hasSize(1).first().asString().doesNotContain("-XX:AOTCache");
    }

    /** A JVM that does not come to main ends with 1, which would say that the fabric failed. */
    @ParameterizedTest
    @CsvSource({
        "exit 1, 3, the JVM did not start",
        "kill -KILL $$, 3, the JVM was killed by SIGKILL",
        "kill -ABRT $$, 3, the JVM crashed with SIGABRT",
        "exit 127, 3, the JVM could not be started",
        "exit 90, 1, ''",
        "exit 8, 8, ''",
        "exit 143, 143, ''"
    })
    void aJvmThatDoesNotComeToMainIsTheHostsFault(String ends, int status, String message) throws Exception {
        built();
        script("jdk/bin/java", "case $* in *AOTCacheOutput=*) ;; *rdmatest.fabric-failed=90*) " + ends + " ;; esac");
        for (String fabric : new String[] {"never", "always"}) {
            // In the second one it is the JVM that only looks at the options.
            Run run = run(Map.of("RDMA_VM", fabric), "devices");
            assertThat(run.status()).as(run.errors()).isEqualTo(status);
            assertThat(run.errors()
                            .lines()
                            .filter(line -> line.startsWith("./rdmatest:"))
                            .toList())
                    .hasSize(message.isEmpty() ? 0 : 1)
                    .allSatisfy(line -> assertThat(line).contains(message));
        }
    }

    @Test
    void aJarThatIsGoneIsBuiltAgain() throws Exception {
        built();
        Files.delete(project.resolve("scenarios/target/lib/a.jar"));
        assertThat(run(Map.of(), "devices").status()).isEqualTo(6);
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void aFolderThatNoClassPathCanNameIsToldSo() throws Exception {
        built();
        Path moved = folder.resolve("a:b");
        Files.move(project, moved);
        project = moved;
        Run run = run(Map.of(), "devices");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errors()).hasLineCount(1).contains("cannot name a folder with ':'", "a:b: move the project");
    }

    @Test
    void aHostWithoutJdkIsToldSo() throws Exception {
        Run run = run(Map.of("RDMA_JAVA_HOME", "/nonexistent"), "devices");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.errors()).contains("/nonexistent is not the home of a JDK 25");
    }
}
