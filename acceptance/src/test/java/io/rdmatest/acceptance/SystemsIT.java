package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * {@code ./qualify} on machines that nobody prepared: minimal systems of Debian with a JDK and Maven, made by debootstrap(8) in
 * a folder. Each takes its packages from the mirror that this host's apt uses.
 */
@Tag("systems")
@EnabledIf(value = "canBeMade", disabledReason = "only root on a Debian host with debootstrap makes other systems")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SystemsIT {

    private static final Path FOLDER = Path.of("target/systems").toAbsolutePath();
    private static final Path SCRIPT = FOLDER.resolve("system.sh");
    private static final Path DEBIAN_13 = FOLDER.resolve("debian-13");

    /** Twelve scenarios of rping: by rdma_cm, with an external queue pair and raw, in four sizes. */
    private static final String QUALIFY = "cd /srv/rdmatest && ./qualify --scenario rping";

    private static final String ALL_PASSED = "12 scenarios: 12 passed, 0 failed, 0 broken, 0 skipped";

    static boolean canBeMade() {
        return "root".equals(System.getProperty("user.name"))
                && Files.exists(Path.of("/etc/debian_version"))
                && Files.isExecutable(Path.of("/usr/sbin/debootstrap"));
    }

    @BeforeAll
    static void makeAFolder() throws Exception {
        remove();
        Files.createDirectories(FOLDER);
        try (InputStream script = Objects.requireNonNull(SystemsIT.class.getResourceAsStream("system.sh"))) {
            Files.copy(script, SCRIPT, StandardCopyOption.REPLACE_EXISTING);
        }
    }

    /** All mounts were in namespaces of processes that are gone. */
    @AfterAll
    static void remove() throws Exception {
        Ended ended = run(120, "rm", "-rf", "--one-file-system", FOLDER.toString());
        assertThat(ended.status()).as(ended.output()).isZero();
    }

    @Test
    @Order(1)
    void debian13BuildsAndQualifiesAsRootWithNothingInstalled() throws Exception {
        make(DEBIAN_13, "trixie");
        // A clean copy of the project: the only one that is built there.
        copy(Machines.PROJECT, DEBIAN_13, "--exclude=.git", "--exclude=target");

        Ended ended = in(DEBIAN_13, "root", QUALIFY);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output())
                .contains("rdma-vm: installing librdmacm1t64 ", "image from linux-image-6.", ALL_PASSED);
        assertNothingIsInstalledAgain(DEBIAN_13);
    }

    @Test
    @Order(2)
    void debian13QualifiesAsAnotherUserWithAnEmptyCache() throws Exception {
        giveToTheUser(DEBIAN_13);

        Ended ended = in(DEBIAN_13, "tester", QUALIFY);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output())
                .contains("image from linux-image-6.", ALL_PASSED)
                .doesNotContain("run as root", "lacks packages");
    }

    /** Where apt knows of no package, the kernel that is installed is the machine's, too. */
    @Test
    @Order(3)
    void debian13WithoutPackageListsRunsOnItsOwnKernel() throws Exception {
        Ended installed = in(
                DEBIAN_13,
                "root",
                "DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends linux-image-amd64"
                        + " && rm -rf /var/lib/apt/lists/* /home/tester/.cache");
        assertThat(installed.status()).as(installed.output()).isZero();

        Ended ended = in(DEBIAN_13, "tester", QUALIFY);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("image from host-6.", ALL_PASSED);
    }

    private static void make(Path system, String suite) throws Exception {
        Ended ended = run(600, "bash", SCRIPT.toString(), "make", system.toString(), suite);
        assertThat(ended.status()).as(ended.output()).isZero();
    }

    private static void copy(Path project, Path system, String... options) throws Exception {
        Path target = Files.createDirectories(system.resolve("srv/rdmatest"));
        List<String> command = new ArrayList<>(List.of(
                "bash",
                "-c",
                "set -o pipefail; from=$1 to=$2; shift 2; tar -c -C \"$from\" \"$@\" . | tar -x -C \"$to\"",
                "bash",
                project.toString(),
                target.toString()));
        command.addAll(List.of(options));
        Ended ended = run(120, command.toArray(String[]::new));
        assertThat(ended.status()).as(ended.output()).isZero();
    }

    /** The user's own folder, as a clone is, and what a run of root left there. */
    private static void giveToTheUser(Path system) throws Exception {
        Ended ended = in(system, "root", "chown -R tester:tester /srv/rdmatest");
        assertThat(ended.status()).as(ended.output()).isZero();
    }

    private static void assertNothingIsInstalledAgain(Path system) throws Exception {
        Ended ended = in(system, "root", "/srv/rdmatest/fabric-config/rdma-jdk/bin/setup --run");
        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).isEmpty();
    }

    private static Ended in(Path system, String user, String script) throws Exception {
        return run(1800, "bash", SCRIPT.toString(), "run", system.toString(), user, "bash", "-c", script);
    }

    private record Ended(int status, String output) {}

    private static Ended run(int seconds, String... command) throws Exception {
        Path said = Files.createTempFile("system", ".log");
        try {
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile());
            builder.environment()
                    .putAll(Map.of(
                            "JDK",
                            System.getProperty("java.home"),
                            "MAVEN",
                            maven().toString(),
                            "REPOSITORY",
                            System.getProperty(
                                    "localRepository",
                                    Path.of(System.getProperty("user.home"), ".m2/repository")
                                            .toString())));
            Process process = builder.start();
            // The namespace's processes end with this one.
            if (!process.waitFor(seconds, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
                throw new AssertionError(
                        List.of(command) + " did not end within " + seconds + " s:\n" + Files.readString(said));
            }
            return new Ended(process.exitValue(), Files.readString(said));
        } finally {
            Files.delete(said);
        }
    }

    /** The folder of the Maven that is on the PATH. */
    private static Path maven() throws IOException {
        for (String folder : System.getenv("PATH").split(":")) {
            Path program = Path.of(folder, "mvn");
            if (Files.isExecutable(program)) {
                return program.toRealPath().getParent().getParent();
            }
        }
        throw new IOException("there is no mvn on the PATH");
    }
}
