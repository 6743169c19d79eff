package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** The packaged project, and the virtual machines in which the acceptance tests run it. */
final class Machines {

    static final Path PROJECT = Path.of("..").toAbsolutePath().normalize();

    /** What a node gets that does not see this host's files. */
    static final Path AGENT = PROJECT.resolve("scenarios/target/rdmatest-agent.jar");

    /** A function of the scripts: {@code await COMMAND} runs a command until it succeeds, but not for longer than 60 s. */
    static final String AWAIT = """
            await() {
                tries=0
                until "$@"; do
                    tries=$((tries + 1))
                    [ $tries -lt 300 ] || { echo "in vain: $*" >&2; exit 99; }
                    sleep 0.2
                done
            }
            """;

    /** Why tests that boot machines are skipped on a host with a device: the set-up installs QEMU only where none is active. */
    static final String NO_QEMU = "not selected: this host has an active RDMA device and no QEMU";

    private static final Path SCRIPTS = PROJECT.resolve("fabric-config/rdma-jdk/bin");

    /** How a program ended, and what it wrote, standard error included. */
    record Ended(int status, String output) {}

    private Machines() {}

    /** Whether machines can be booted here. A host without device and without QEMU is not skipped: the set-up provides QEMU there. */
    static boolean wanted() {
        boolean qemu = Stream.of(System.getenv("PATH").split(":"))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, "qemu-system-x86_64")));
        return qemu || !Files.isDirectory(Path.of("/sys/class/infiniband"));
    }

    /** A JVM with the options of one in a machine, as the words of a command. */
    static List<String> java() {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "--enable-native-access=ALL-UNNAMED");
    }

    /** The class path of these tests. */
    static String classPath() {
        // The fork's own class path may be a jar that names the others.
        return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
    }

    /** What {@code ./qualify} executes when it has built the project; during the tests, the build is not through. */
    static List<String> qualify() {
        List<String> command = new ArrayList<>(java());
        command.addAll(
                List.of("-Drdma.project=" + PROJECT, "-cp", classPath(), "io.rdmatest.scenarios.qualify.Qualify"));
        return command;
    }

    /**
     * Runs a shell script in the project's folder on node a of a machine, or of two.
     *
     * @param nodes how many machines: 1 or 2
     * @param said the file for what it writes
     * @param limit how long it may take, with the machines' boot
     * @param environment variables for the script
     * @param script the script
     */
    static Ended inVm(int nodes, Path said, Duration limit, Map<String, String> environment, String script)
            throws Exception {
        List<String> command = new ArrayList<>(List.of(SCRIPTS.resolve("in-vm").toString()));
        if (nodes > 1) {
            command.addAll(List.of("--nodes", Integer.toString(nodes)));
        }
        command.addAll(List.of("--", "sh", "-c", script));
        return run(command, said, limit, environment);
    }

    /** Runs a command in the project's folder, which starts its machines itself. */
    static Ended run(List<String> command, Path said, Duration limit, Map<String, String> environment)
            throws Exception {
        return run(PROJECT, command, said, limit, environment);
    }

    /** Runs a command in a folder. */
    static Ended run(Path folder, List<String> command, Path said, Duration limit, Map<String, String> environment)
            throws Exception {
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(said.toFile());
        builder.environment().putAll(environment);
        // Also where there is a device: what is shown here is two hosts.
        builder.environment().put("RDMA_VM", "always");
        builder.environment().put("RDMA_VM_DEVICE", "rxe0");
        Process process = builder.start();
        boolean ended;
        try {
            ended = process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS);
        } finally {
            process.destroy();
        }
        String output = read(said);
        assertThat(ended).as("ended within %d s: %s", limit.toSeconds(), output).isTrue();
        return new Ended(process.exitValue(), output);
    }

    private static String read(Path file) throws IOException {
        // What was written when the time was up may end within a character.
        return new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
    }
}
