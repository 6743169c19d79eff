package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * All shell scripts of the project are clean by shellcheck(1). Its check {@code set-e-suppressed} finds functions that rely on
 * {@code set -e} and are called where it does not hold: in a condition, or before {@code ||} and {@code &&}.
 */
@EnabledIf(value = "isThere", disabledReason = "there is no program shellcheck on the PATH")
class ShellcheckHostIT {

    private static final Path PROJECT = Scripts.HOME.getParent().getParent();

    private static final Set<String> NOT_OURS = Set.of("target", ".git", ".mvn", ".idea", "node_modules");

    @TempDir
    private Path work;

    static boolean isThere() {
        return List.of(System.getenv("PATH").split(":")).stream()
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, "shellcheck")));
    }

    /** Files that end in .sh, and those whose first line names a shell. */
    static List<Path> scripts() throws IOException {
        List<Path> scripts = new ArrayList<>();
        Files.walkFileTree(PROJECT, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
                return NOT_OURS.contains(folder.getFileName().toString())
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                String name = file.getFileName().toString();
                if (name.endsWith(".sh") || (!name.contains(".") && attributes.isRegularFile() && isShell(file))) {
                    scripts.add(PROJECT.relativize(file));
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return scripts;
    }

    private static boolean isShell(Path file) throws IOException {
        byte[] start = new byte[64];
        try (var in = Files.newInputStream(file)) {
            int length = in.readNBytes(start, 0, start.length);
            String line = new String(start, 0, length, StandardCharsets.ISO_8859_1)
                    .lines()
                    .findFirst()
                    .orElse("");
            return line.matches("#!.*[/ ](ba)?sh\\b.*");
        }
    }

    @Test
    void allKindsOfScriptsAreFound() throws Exception {
        assertThat(scripts().stream().map(Path::toString))
                .contains(
                        "qualify",
                        "rdmatest",
                        ".ci/run",
                        "lib/launch.sh",
                        "fabric-config/rdma-jdk/bin/setup",
                        "fabric-config/rdma-jdk/lib/make-image.sh",
                        "fabric-config/rdma-jdk/lib/guest/init",
                        "fabric-config/src/main/resources/io/rdmatest/fabric/probe.sh",
                        "harness-core/src/main/resources/io/rdmatest/peer/bootstrap.sh");
    }

    @ParameterizedTest
    @MethodSource("scripts")
    void scriptIsClean(Path script) throws Exception {
        Path file = PROJECT.resolve(script);
        String text = Files.readString(file);
        // What a node's shell reads has numbers where the file has places for them.
        if (text.contains("@VERSION@")) {
            Path filled = work.resolve(file.getFileName());
            Files.writeString(filled, text.replaceAll("@[A-Z0-9]+@", "25"));
            assertThat(check(filled)).isEmpty();
        } else {
            assertThat(check(file)).isEmpty();
        }
    }

    /** This test would be worth nothing if shellcheck did not see it. */
    @Test
    void functionThatReliesOnSetEInAConditionIsFound() throws Exception {
        Path script = Files.writeString(
                work.resolve("script.sh"), "#!/bin/bash\nset -e\nmake() { false; echo made; }\nmake || exit 1\n");

        assertThat(check(script)).contains("SC2310");
    }

    private String check(Path script) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                "shellcheck",
                "--external-sources",
                "--source-path=SCRIPTDIR",
                "--enable=check-set-e-suppressed",
                "--severity=style",
                "--format=gcc"));
        if (script.endsWith("guest/init")) {
            // Busybox has the shell that Debian calls dash.
            command.add("--shell=dash");
        }
        command.add(script.toString());
        Path said = work.resolve("said");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        return Files.readString(said);
    }
}
