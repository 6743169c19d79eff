package io.rdmatest.report;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.scenarios.qualify.Qualify;
import io.rdmatest.scenarios.runner.ScenarioRunner;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** JVMs that tests of this package start, and what they leave behind. */
public final class Forked {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Forked() {}

    /** Lets a JVM of a few seconds do without what it never earns back: the second compiler, and threads that collect garbage. */
    private static final String BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

    private static final Path LAUNCHER = makeLauncher();

    private static Path makeLauncher() {
        try {
            Path file = Files.createTempFile("java", "");
            file.toFile().deleteOnExit();
            return executable(
                    file,
                    "exec '%s' %s \"$@\"".formatted(Path.of(System.getProperty("java.home"), "bin", "java"), BRIEF));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the JVM's launcher, with options for a JVM that lives briefly. */
    public static Path launcher() {
        return LAUNCHER;
    }

    /** Returns where Allure's generator was unpacked. */
    public static Path commandline() {
        return Path.of(System.getProperty("rdma.test.allure.commandline"));
    }

    /** Makes a program of the lines of a shell script. */
    public static Path executable(Path file, String... lines) throws IOException {
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.writeString(file, "#!/bin/sh\n" + String.join("\n", lines) + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwx------"));
    }

    /**
     * Makes a folder one that ./qualify takes for its project, with a stand-in for Allure's generator, and returns where that
     * writes to.
     */
    public static Path project(Path folder) throws IOException {
        Path home = folder.resolve("stand-in");
        Path config = Files.createDirectories(home.resolve("allure/lib/config"));
        String stub = io.qameta.allure.CommandLine.class.getName().replace('.', '/') + ".class";
        Path to = config.resolve(stub);
        Files.createDirectories(to.getParent());
        try (InputStream from = Forked.class.getClassLoader().getResourceAsStream(stub)) {
            Files.write(to, Objects.requireNonNull(from).readAllBytes());
        }
        return project(folder, home);
    }

    /** Does the same with the generator that is unpacked in a folder. */
    public static Path project(Path folder, Path generator) throws IOException {
        Path target = Files.createDirectories(folder.resolve("reports/target"));
        Files.createSymbolicLink(target.resolve("allure-commandline"), generator);
        return target;
    }

    /** Returns the options of a JVM in which {@link Qualify} runs the scenarios of a package, by this launcher of theirs. */
    public static List<String> qualifying(Path project, Path java, String scenarios) {
        return List.of(
                "-Drdma.project=" + project,
                "-Drdma.java=" + java,
                "-D" + ScenarioRunner.PACKAGE + "=" + scenarios,
                "-Dstdout.encoding=US-ASCII");
    }

    /**
     * Runs a main class of this class path to its end.
     *
     * @param said the file for all that it prints
     * @return its exit status
     */
    public static int java(Path said, List<String> options, String main, List<String> arguments)
            throws IOException, InterruptedException {
        return java(said, Map.of(), options, main, arguments);
    }

    /** Does the same with some variables in its environment. */
    public static int java(
            Path said, Map<String, String> environment, List<String> options, String main, List<String> arguments)
            throws IOException, InterruptedException {
        Process process = start(said, environment, options, main, arguments);
        boolean ended = process.waitFor(2, TimeUnit.MINUTES);
        process.destroyForcibly();
        assertThat(ended).isTrue();
        return process.exitValue();
    }

    /** Starts it, and does not wait. */
    public static Process start(
            Path said, Map<String, String> environment, List<String> options, String main, List<String> arguments)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(launcher().toString());
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main));
        command.addAll(arguments);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile());
        // What the build was told about machines is not what these commands are to do.
        builder.environment().keySet().removeIf(name -> name.startsWith("RDMA_"));
        builder.environment().putAll(environment);
        return builder.start();
    }

    /** Returns Allure's results in a folder. */
    public static List<JsonNode> results(Path folder) throws IOException {
        List<JsonNode> results = new ArrayList<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.filter(each -> each.toString().endsWith("-result.json"))
                    .toList()) {
                results.add(MAPPER.readTree(file.toFile()));
            }
        }
        return results;
    }
}
