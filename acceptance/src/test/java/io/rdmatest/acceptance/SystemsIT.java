package io.rdmatest.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * {@code ./qualify} on machines that nobody prepared: minimal systems of Debian with a JDK and Maven, made by debootstrap(8) in
 * a folder. Each takes its packages from the mirror that this host's apt uses.
 *
 * <p>Each test makes the system that it needs, if no test before it did, so each can be run, and repeated, alone. The project is
 * built in the first system, as on a user's machine. The others get it from there.
 */
@Tag("systems")
@ExtendWith(SystemsIT.CanBeMade.class)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SystemsIT {

    private static final Path FOLDER = Path.of("target/systems").toAbsolutePath();
    private static final Path SCRIPT = FOLDER.resolve("system.sh");

    /** Eight scenarios of rping: by rdma_cm and with an external queue pair, in four sizes. */
    private static final String QUALIFY = "cd /srv/rdmatest && ./qualify --scenario rping";

    private static final String ALL_PASSED = "8 scenarios: 8 passed, 0 failed, 0 broken, 0 skipped";

    /** How root's first run ended in each system that was made. */
    private static final Map<Debian, Ended> AS_ROOT = new EnumMap<>(Debian.class);

    private enum Debian {
        BOOKWORM,
        TRIXIE,
        SID;

        String suite() {
            return name().toLowerCase(Locale.ROOT);
        }

        Path folder() {
            return FOLDER.resolve(suite());
        }
    }

    /** Looks for what makes a system before any test does. */
    static final class CanBeMade implements ExecutionCondition {

        private static final long NEEDED_GIGABYTES = 8;

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            // Of the class; a test of it is asked for, too.
            if (context.getTestMethod().isPresent()) {
                return ConditionEvaluationResult.enabled("the class is");
            }
            try {
                String missing = missing();
                return missing.isEmpty()
                        ? ConditionEvaluationResult.enabled("systems can be made here")
                        : ConditionEvaluationResult.disabled("no other systems can be made here: " + missing);
            } catch (Exception e) {
                throw new IllegalStateException("cannot find out whether systems can be made here", e);
            }
        }

        private static String missing() throws Exception {
            if (!"root".equals(System.getProperty("user.name"))) {
                return "user " + System.getProperty("user.name") + " is not root";
            }
            if (Files.notExists(Path.of("/etc/debian_version"))) {
                return "this host is not Debian";
            }
            if (!Files.isExecutable(Path.of("/usr/sbin/debootstrap"))) {
                return "debootstrap is not installed";
            }
            makeTheFolder();
            long gigabytes = FOLDER.toFile().getUsableSpace() >> 30;
            if (gigabytes < NEEDED_GIGABYTES) {
                remove();
                return NEEDED_GIGABYTES + " GB are needed, and " + gigabytes + " are free in " + FOLDER;
            }
            Ended ended = run(60, "bash", SCRIPT.toString(), "check", FOLDER.toString());
            if (ended.status() != 0) {
                remove();
                return "root may not mount or make devices (" + ended.output().strip() + ")";
            }
            return "";
        }
    }

    private static void makeTheFolder() throws Exception {
        remove();
        AS_ROOT.clear();
        Files.createDirectories(FOLDER);
        try (InputStream script = Objects.requireNonNull(SystemsIT.class.getResourceAsStream("system.sh"))) {
            Files.copy(script, SCRIPT);
        }
    }

    /** All mounts were in namespaces of processes that are gone. */
    @AfterAll
    static void remove() throws Exception {
        remove(FOLDER);
    }

    private static void remove(Path folder) throws Exception {
        Ended ended = run(300, "rm", "-rf", "--one-file-system", folder.toString());
        assertThat(ended.status()).as(ended.output()).isZero();
    }

    @Test
    @Order(1)
    void debian13BuildsAndQualifiesAsRootWithNothingInstalled() throws Exception {
        Ended ended = qualifiedAsRoot(Debian.TRIXIE);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output())
                .contains("Building ", "rdma-vm: installing librdmacm1t64 ", "image from linux-image-6.", ALL_PASSED);
        assertNothingIsInstalledAgain(Debian.TRIXIE);
    }

    /** Whoever wants the kernel of backports names one package of it: the others come with it. */
    @Test
    @Order(2)
    @Tag("more-systems")
    void debian13RunsOnTheKernelOfBackports() throws Exception {
        qualifiedAsRoot(Debian.TRIXIE);
        Ended named = in(
                Debian.TRIXIE,
                "root",
                "sed 's/ trixie / trixie-backports /' /etc/apt/sources.list >/etc/apt/sources.list.d/backports.list &&"
                        + " apt-get -q update && cd /srv && name=$(apt-cache depends --important"
                        + " linux-image-amd64/trixie-backports | sed -n 's/^ *Depends: \\(linux-image-.*\\)$/\\1/p') &&"
                        + " apt-get -q download \"$name\" && export RDMA_VM_KERNEL_PACKAGE=$(echo"
                        + " /srv/\"$name\"_*.deb) && " + QUALIFY);

        assertThat(named.status()).as(named.output()).isZero();
        assertThat(named.output()).contains("fetching linux-modules-", ALL_PASSED);
        Ended removed = in(Debian.TRIXIE, "root", "rm /etc/apt/sources.list.d/backports.list && apt-get -q update");
        assertThat(removed.status()).as(removed.output()).isZero();
    }

    @Test
    @Order(3)
    void debian13QualifiesAsAnotherUserWithAnEmptyCache() throws Exception {
        assertQualifiesAsTheUser(Debian.TRIXIE, "linux-image-6.");
    }

    /** Where apt knows of no package, the kernel that is installed is the machine's, too. */
    @Test
    @Order(4)
    @Tag("more-systems")
    void debian13WithoutPackageListsRunsOnItsOwnKernel() throws Exception {
        qualifiedAsRoot(Debian.TRIXIE);
        Ended installed = in(
                Debian.TRIXIE,
                "root",
                "DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends linux-image-amd64"
                        + " && rm -rf /var/lib/apt/lists/*");
        assertThat(installed.status()).as(installed.output()).isZero();

        assertQualifiesAsTheUser(Debian.TRIXIE, "host-6.");
    }

    /** Debian 12 has no package of JDK 25: its users unpack one, or take another publisher's package. */
    @Test
    @Order(5)
    void debian12QualifiesAsRootWithNothingInstalled() throws Exception {
        Ended ended = qualifiedAsRoot(Debian.BOOKWORM);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output())
                .contains("rdma-vm: installing librdmacm1 ", "image from linux-image-6.1.", ALL_PASSED);
        assertNothingIsInstalledAgain(Debian.BOOKWORM);
    }

    @Test
    @Order(6)
    @Tag("more-systems")
    void debian12QualifiesAsAnotherUserWithAnEmptyCache() throws Exception {
        assertQualifiesAsTheUser(Debian.BOOKWORM, "linux-image-6.1.");
    }

    /**
     * The newest kernel, which is split into several packages. Any day may bring a package that breaks this, so only the full
     * list of systems has it.
     */
    @Test
    @Order(7)
    @Tag("more-systems")
    void debianSidQualifiesAsRootWithNothingInstalled() throws Exception {
        Ended ended = qualifiedAsRoot(Debian.SID);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains("image from linux-image-", "fetching linux-modules-", ALL_PASSED);
        assertNothingIsInstalledAgain(Debian.SID);
    }

    /** Debian's own packages of the JDK and of Maven, instead of this host's. */
    @Test
    @Order(8)
    @Tag("more-systems")
    void debianSidQualifiesWithItsNewestJdk() throws Exception {
        qualifiedAsRoot(Debian.SID);
        Ended installed = in(
                Debian.SID,
                "root",
                "DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends openjdk-28-jdk-headless"
                        + " && rm -r /usr/lib/jvm/jdk");
        assertThat(installed.status()).as(installed.output()).isZero();

        Ended ended = in(Debian.SID, "root", QUALIFY);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).contains(ALL_PASSED);
    }

    /** Makes the system, if there is none, and runs {@code ./qualify} as its root, who installs what is missing. */
    private static Ended qualifiedAsRoot(Debian debian) throws Exception {
        Ended earlier = AS_ROOT.get(debian);
        if (earlier != null) {
            return earlier;
        }
        // What a test left that did not come to its end.
        remove(debian.folder());
        make(debian);
        Optional<Debian> builder = AS_ROOT.entrySet().stream()
                .filter(entry -> entry.getValue().status() == 0)
                .map(Map.Entry::getKey)
                .findFirst();
        if (builder.isPresent()) {
            copy(builder.get().folder().resolve("srv/rdmatest"), debian);
        } else {
            // As a clone is.
            copy(Machines.PROJECT, debian, "--exclude=.git", "--exclude=target");
        }
        Ended ended = in(debian, "root", QUALIFY);
        AS_ROOT.put(debian, ended);
        return ended;
    }

    private static void assertQualifiesAsTheUser(Debian debian, String kernel) throws Exception {
        Ended root = qualifiedAsRoot(debian);
        assertThat(root.status()).as(root.output()).isZero();
        // The user's own folder, as a clone is, and what a run of root left there.
        Ended given = in(debian, "root", "chown -R tester:tester /srv/rdmatest && rm -rf /home/tester/.cache");
        assertThat(given.status()).as(given.output()).isZero();

        Ended ended = in(debian, "tester", QUALIFY);

        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output())
                .contains("image from " + kernel, ALL_PASSED)
                .doesNotContain("run as root", "lacks packages", "Building ");
    }

    private static void make(Debian debian) throws Exception {
        Ended ended =
                run(600, "bash", SCRIPT.toString(), "make", debian.folder().toString(), debian.suite());
        assertThat(ended.status()).as(ended.output()).isZero();
    }

    /** Copies the project with its times, which say that it is built, and makes it root's. */
    private static void copy(Path project, Debian debian, String... options) throws Exception {
        Path target = Files.createDirectories(debian.folder().resolve("srv/rdmatest"));
        List<String> command = new ArrayList<>(List.of(
                "bash",
                "-c",
                "set -o pipefail; from=$1 to=$2; shift 2; tar -c --format=posix --owner=0 --group=0 -C \"$from\""
                        + " \"$@\" . | tar -x -C \"$to\"",
                "bash",
                project.toString(),
                target.toString()));
        command.addAll(List.of(options));
        Ended ended = run(120, command.toArray(String[]::new));
        assertThat(ended.status()).as(ended.output()).isZero();
    }

    private static void assertNothingIsInstalledAgain(Debian debian) throws Exception {
        Ended ended = in(debian, "root", "/srv/rdmatest/fabric-config/rdma-jdk/bin/setup --run");
        assertThat(ended.status()).as(ended.output()).isZero();
        assertThat(ended.output()).isEmpty();
    }

    private static Ended in(Debian debian, String user, String script) throws Exception {
        return run(1200, "bash", SCRIPT.toString(), "run", debian.folder().toString(), user, "bash", "-c", script);
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
