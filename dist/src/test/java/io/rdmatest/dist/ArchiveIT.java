package io.rdmatest.dist;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The archive in another folder than it was made in, without a JDK or Maven on the PATH and without anything in the home folder. Its
 * folder is read-only. Root, who may write there all the same, runs the commands as another user.
 */
class ArchiveIT {

    private static final Path ARCHIVE = Path.of(System.getProperty("rdma.test.archive", "none"));

    private static final long LIMIT_SECONDS = 900;

    @TempDir
    private static Path folder;

    private static final boolean ROOT = "root".equals(System.getProperty("user.name"));

    /** The number of nobody in Debian; no file of this test is that user's but the home folder. */
    private static final String ANOTHER = "65534";

    private static Path unpacked = Path.of("");

    /** What the unpacked folder had before any command ran. */
    private static Map<String, String> asUnpacked = Map.of();

    @TempDir
    private Path home;

    private record Ended(int status, String output) {}

    @BeforeAll
    static void unpack() throws Exception {
        Path moved = Files.createDirectories(folder.resolve("a folder, with spaces"));
        Ended ended = run(new ProcessBuilder("tar", "-xzf", ARCHIVE.toString(), "-C", moved.toString()));
        assertThat(ended.status()).as(ended.output()).isZero();
        try (Stream<Path> top = Files.list(moved)) {
            unpacked = top.toList().getFirst();
        }
        // The programs of this host, but for those that the archive must do without.
        Path programs = Files.createDirectories(folder.resolve("bin"));
        for (Path all : List.of(Path.of("/bin"), Path.of("/usr/bin"))) {
            try (Stream<Path> files = Files.list(all)) {
                for (Path file : files.toList()) {
                    Path link = programs.resolve(file.getFileName());
                    if (!List.of("java", "javac", "mvn", "git")
                                    .contains(file.getFileName().toString())
                            && !Files.exists(link, LinkOption.NOFOLLOW_LINKS)) {
                        Files.createSymbolicLink(link, file);
                    }
                }
            }
        }
        chmod("a+rX", folder);
        chmod("a-w", unpacked);
        asUnpacked = listing();
    }

    /** The folder can be deleted again; JUnit would tell of each link. */
    @AfterAll
    static void makeWritable() throws Exception {
        chmod("u+w", unpacked);
        run(new ProcessBuilder("rm", "-r", folder.resolve("bin").toString()));
    }

    private static void chmod(String mode, Path tree) throws Exception {
        Ended changed = run(new ProcessBuilder("chmod", "-R", mode, tree.toString()));
        assertThat(changed.status()).as(changed.output()).isZero();
    }

    @BeforeEach
    void giveTheHomeAway() throws Exception {
        if (ROOT) {
            Ended given = run(new ProcessBuilder("chown", ANOTHER + ":" + ANOTHER, home.toString()));
            assertThat(given.status()).as(given.output()).isZero();
        }
    }

    @AfterEach
    void nothingIsWrittenThere() throws IOException {
        assertThat(listing()).isEqualTo(asUnpacked);
    }

    /** Path, size and time of each file. */
    private static Map<String, String> listing() throws IOException {
        Map<String, String> listing = new TreeMap<>();
        try (Stream<Path> files = Files.walk(unpacked)) {
            for (Path file : files.toList()) {
                listing.put(file.toString(), Files.size(file) + " " + Files.getLastModifiedTime(file));
            }
        }
        return listing;
    }

    private static Ended run(ProcessBuilder builder) throws Exception {
        Path output = Files.createTempFile(folder, "output", ".txt");
        Process process = builder.redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        process.getOutputStream().close();
        if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(
                    builder.command() + " did not end within " + LIMIT_SECONDS + " s: " + Files.readString(output));
        }
        return new Ended(process.exitValue(), Files.readString(output));
    }

    private ProcessBuilder without(List<String> command) {
        List<String> words = new ArrayList<>();
        if (ROOT) {
            words.addAll(List.of("setpriv", "--reuid", ANOTHER, "--regid", ANOTHER, "--clear-groups"));
        }
        words.addAll(command);
        return asThisUser(words);
    }

    private ProcessBuilder asThisUser(List<String> command) {
        ProcessBuilder builder = new ProcessBuilder(command).directory(home.toFile());
        Map<String, String> environment = builder.environment();
        environment.clear();
        environment.put("PATH", folder.resolve("bin").toString());
        environment.put("HOME", home.toString());
        environment.put("RDMA_VM", "never");
        // No JDK of this host is found there.
        environment.put("RDMA_VM_ROOT", home.toString());
        return builder;
    }

    private Ended rdmatest(String... words) throws Exception {
        List<String> command =
                new ArrayList<>(List.of(unpacked.resolve("bin/rdmatest").toString()));
        command.addAll(Arrays.asList(words));
        return run(without(command));
    }

    @Test
    void helpNamesTheCommands() throws Exception {
        Ended help = rdmatest("--help");

        assertThat(help.status()).as(help.output()).isZero();
        assertThat(help.output()).contains("Usage: rdmatest ", "qualify", "rping", "fabric");
        // The text comes from the build; this one from the program.
        Ended asked = rdmatest("help");
        assertThat(help.output())
                .isEqualTo(asked.output().replace("./rdmatest", "rdmatest").replace("./qualify", "rdmatest qualify"));
    }

    @Test
    void scenariosAreListed() throws Exception {
        Ended list = rdmatest("qualify", "--list");

        assertThat(list.status()).as(list.output()).isZero();
        assertThat(list.output()).contains("ConnectionScenarios", "PingPongScenarios");
    }

    @Test
    void commandsThatLookAtThisHostRun() throws Exception {
        assertThat(rdmatest("devices").status()).isIn(0, 3);

        Path fabric = Files.writeString(home.resolve("lab.yaml"), "fabric: lab\nnodes:\n  - nome: a\n");
        Ended check = rdmatest("fabric", "check", fabric.toString());

        assertThat(check.status()).as(check.output()).isEqualTo(2);
        assertThat(check.output()).contains("nome");
    }

    /** In this mode a JVM that cannot use its cache does not start. */
    @Test
    void cachesOfClassesAreUsedInAnotherFolder() throws Exception {
        for (List<String> words : List.of(List.of("help"), List.of("qualify", "--list"))) {
            List<String> command =
                    new ArrayList<>(List.of(unpacked.resolve("bin/rdmatest").toString()));
            command.addAll(words);
            ProcessBuilder builder = without(command);
            builder.environment().put("JDK_JAVA_OPTIONS", "-XX:AOTMode=on");
            Ended strict = run(builder);

            assertThat(strict.status()).as(strict.output()).isZero();
            assertThat(strict.output()).contains("Picked up JDK_JAVA_OPTIONS");
        }
        assertThat(home.resolve(".cache")).doesNotExist();
    }

    @Test
    void twoRunsAtOnceHaveFoldersOfTheirOwn() throws Exception {
        Path reports = home.resolve(".local/state/rdmatest/reports");
        Ended second = run(without(List.of(
                "bash",
                "-c",
                "mkdir -p \"$1\" && exec flock \"$1/qualify.lock\" \"$2\" qualify --scenario NoSuchScenarios",
                "bash",
                reports.toString(),
                unpacked.resolve("bin/rdmatest").toString())));

        assertThat(second.status()).as(second.output()).isEqualTo(2);
        assertThat(second.output()).contains("the results of this one go to " + reports + "-2", "NoSuchScenarios");
    }

    /** With the images of this user's cache, so that no kernel is fetched. */
    @Test
    void scenariosRunInTheVirtualMachine() throws Exception {
        ProcessBuilder builder = asThisUser(
                List.of(unpacked.resolve("bin/rdmatest").toString(), "qualify", "--scenario", "PingPongScenarios"));
        builder.environment().put("RDMA_VM", "always");
        builder.environment().put("RDMA_VM_CACHE", cache().toString());
        builder.environment().remove("RDMA_VM_ROOT");
        Ended run = run(builder);

        assertThat(run.status()).as(run.output()).isZero();
        assertThat(run.output()).containsPattern("\\d+ scenarios: \\d+ passed, 0 failed, 0 broken");
        Path page = home.resolve(".local/state/rdmatest/reports/partial/index.html");
        assertThat(page).isNotEmptyFile();
        assertThat(page.resolveSibling("allure-report/index.html")).isNotEmptyFile();
        assertThat(run.output()).contains(page.toString());
    }

    private static Path cache() {
        Map<String, String> environment = System.getenv();
        String given = environment.get("RDMA_VM_CACHE");
        if (given != null) {
            return Path.of(given);
        }
        String caches = environment.get("XDG_CACHE_HOME");
        return (caches != null ? Path.of(caches) : Path.of(System.getProperty("user.home"), ".cache"))
                .resolve("rdmatest");
    }

    @Test
    void shellAndManualKnowTheCommands() throws Exception {
        Path share = unpacked.resolve("share");

        assertThat(share.resolve("man/man1/rdmatest-qualify.1")).content().contains("\\-\\-baseline");
        assertThat(share.resolve("man/man1/rdmatest-fabric-check.1")).exists();
        Ended completed = run(new ProcessBuilder(
                "bash",
                "-c",
                ". \"$0\" && COMP_WORDS=(rdmatest qua) COMP_CWORD=1 && _complete_rdmatest && echo \"${COMPREPLY[@]}\"",
                share.resolve("bash-completion/completions/rdmatest").toString()));
        assertThat(completed.output()).isEqualToIgnoringWhitespace("qualify");
    }

    @Test
    void thePackageForDebianHasTheSameTree() throws Exception {
        Assumptions.assumeTrue(Files.isExecutable(Path.of("/usr/bin/dpkg-deb")), "this host has no dpkg-deb");
        assertRuns("deb", "dpkg-deb -x \"$1\" .");
    }

    @Test
    void theRpmHasTheSameTree() throws Exception {
        Assumptions.assumeTrue(Files.isExecutable(Path.of("/usr/bin/rpm2cpio")), "this host has no rpm2cpio");
        assertRuns("rpm", "set -o pipefail; rpm2cpio \"$1\" | cpio -idm --quiet --no-absolute-filenames");
    }

    private void assertRuns(String kind, String extract) throws Exception {
        Path file;
        try (Stream<Path> files = Files.list(ARCHIVE.getParent())) {
            file = files.filter(each -> each.toString().endsWith("." + kind))
                    .findFirst()
                    .orElseThrow();
        }
        Path root = Files.createDirectories(home.resolve("root"));
        Ended extracted =
                run(new ProcessBuilder("bash", "-c", extract, "bash", file.toString()).directory(root.toFile()));
        assertThat(extracted.status()).as(extracted.output()).isZero();

        assertThat(root.resolve("etc/rdmatest/fabrics/two-hosts.example.yaml")).exists();
        assertThat(root.resolve("usr/lib/systemd/system/rdmatest-night.timer")).exists();
        Ended version = run(without(List.of(root.resolve("usr/bin/rdmatest").toString(), "--version")));
        assertThat(version.status()).as(version.output()).isZero();
        Path tree = root.resolve("usr/lib/rdmatest");
        assertThat(tree.resolve("lib/scenarios/target/rdmatest.aot"))
                .hasSameBinaryContentAs(unpacked.resolve("lib/scenarios/target/rdmatest.aot"));
        assertThat(executables(tree)).containsAll(executables(unpacked));
    }

    private static Set<String> executables(Path tree) throws IOException {
        try (Stream<Path> files = Files.walk(tree)) {
            return files.filter(file -> Files.isRegularFile(file) && Files.isExecutable(file))
                    .filter(file -> !file.toString().endsWith(".bat"))
                    .map(file -> tree.relativize(file).toString())
                    .collect(Collectors.toCollection(TreeSet::new));
        }
    }

    @Test
    void checksumsAreOfWhatIsThere() throws Exception {
        Ended checked = run(new ProcessBuilder("sha256sum", "--check", "--strict", "SHA256SUMS")
                .directory(ARCHIVE.getParent().toFile()));

        assertThat(checked.status()).as(checked.output()).isZero();
        assertThat(checked.output()).contains(".tar.gz: OK", ".deb: OK", ".rpm: OK");
    }
}
