package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.vm.Scripts.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the scripts decide before any machine is started. */
class HostDecisionTests {

    @TempDir
    Path work;

    private Scripts scripts;

    @BeforeEach
    void createScripts() {
        scripts = new Scripts(work);
    }

    private Path sysfsWithDevice(String state) throws IOException {
        Path port = Files.createDirectories(work.resolve("sys/class/infiniband/fake0/ports/1"));
        Files.writeString(port.resolve("state"), state + "\n");
        return work.resolve("sys");
    }

    @Test
    void commandIsPlainlyExecutedWhereADeviceIsActive() throws Exception {
        scripts.with("RDMA_VM_SYSFS", sysfsWithDevice("4: ACTIVE").toString()).with("RDMA_VM_QEMU", "no-such-qemu");

        Result result = scripts.inVm("sh", "-c", "echo $RDMA_NODE here; exit 7");

        assertThat(result.status()).isEqualTo(7);
        assertThat(result.text()).isEqualTo("here\n");
        assertThat(result.err()).isEmpty();
    }

    @Test
    void javaIsPlainlyExecutedWhereADeviceIsActiveEvenIfJavaHomeIsTheDropInItself() throws Exception {
        scripts.with("RDMA_VM_SYSFS", sysfsWithDevice("4: ACTIVE").toString())
                .with("JAVA_HOME", Scripts.HOME.toString())
                .with("RDMA_JAVA_HOME", System.getProperty("java.home"));

        Result result = scripts.run("java", "-Xint", "-version");

        assertThat(result.status()).isZero();
        assertThat(result.err()).contains("25.");
    }

    @Test
    void secondNodeIsRefusedWhereADeviceIsActive() throws Exception {
        scripts.with("RDMA_VM_SYSFS", sysfsWithDevice("4: ACTIVE").toString());

        Result result = scripts.run("in-vm", "--nodes", "2", "--", "true");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).contains("--nodes 2").contains("fake0");
    }

    @Test
    void deviceThatIsDownDoesNotCount() throws Exception {
        scripts.with("RDMA_VM_SYSFS", sysfsWithDevice("1: DOWN").toString())
                .with("RDMA_VM_CACHE", "/proc/no-cache-here");

        Result result = scripts.inVm("true");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).contains("cannot write in the cache /proc/no-cache-here");
    }

    @Test
    void neverStartsNothing() throws Exception {
        Result result = scripts.with("RDMA_VM", "never").inVm("echo", "hi");

        assertThat(result.status()).isZero();
        assertThat(result.text()).isEqualTo("hi\n");
    }

    @Test
    void unknownOptionsAreNamed() throws Exception {
        assertThat(scripts.run("in-vm", "--wrong", "--", "true"))
                .returns(2, Result::status)
                .satisfies(r -> assertThat(r.err()).contains("--wrong"));
        assertThat(scripts.run("setup", "--wrong"))
                .returns(2, Result::status)
                .satisfies(r -> assertThat(r.err()).contains("--wrong"));
        assertThat(scripts.run("in-vm", "--nodes", "3", "--", "true"))
                .returns(2, Result::status)
                .satisfies(r -> assertThat(r.err()).contains("'3'"));
    }

    /** A host whose packages are such, as dpkg-query tells them, for a user who is not root and where a device is active. */
    private void packages(String... lines) throws IOException {
        Path bin = Files.createDirectories(work.resolve("bin"));
        executable(bin.resolve("dpkg-query"), "printf '%s\\n' '" + String.join("' '", lines) + "'");
        executable(bin.resolve("id"), "echo 1000");
        scripts.with("PATH", bin + ":" + System.getenv("PATH")).with("RDMA_VM", "never");
    }

    private static void executable(Path file, String line) throws IOException {
        Files.writeString(file, "#!/bin/sh\n" + line + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static final String[] LIBRARIES = {"ii  ibverbs-providers:amd64", "hi  librdmacm1:amd64", "ii  iproute2"};
    private static final String[] PROGRAMS = {"ii  rdmacm-utils", "hi  ibverbs-utils", "ii  perftest"};
    private static final String[] COMPILER = {
        "ii  libibverbs-dev:amd64", "ii  librdmacm-dev:amd64", "hi  gcc", "ii  libc6-dev:amd64"
    };

    private static String[] join(String[]... lists) {
        return Stream.of(lists).flatMap(Stream::of).toArray(String[]::new);
    }

    @Test
    void aPackageOnHoldIsThereAndOneOfWhichOnlyTheConfigurationIsLeftIsNot() throws Exception {
        packages(join(LIBRARIES, PROGRAMS, COMPILER));
        assertThat(scripts.run("setup", "--check")).returns("", Result::err).returns(0, Result::status);

        packages(join(LIBRARIES, new String[] {"rc  rdmacm-utils", "ii  ibverbs-utils", "ii  perftest"}, COMPILER));
        assertThat(scripts.run("setup", "--check"))
                .returns("rdma-vm: missing: rdmacm-utils\n", Result::err)
                .returns(1, Result::status);
    }

    /** Nobody but root can install anything, and not everybody who measures compiles. */
    @Test
    void aRunTakesTheLibrariesAndABuildAllThatItsTestsTake() throws Exception {
        packages(LIBRARIES);
        assertThat(scripts.run("setup", "--run"))
                .returns(0, Result::status)
                .satisfies(result -> assertThat(result.err())
                        .startsWith("rdma-vm: scenarios that want rdmacm-utils ibverbs-utils perftest will be skipped")
                        .doesNotContain("gcc"));
        assertThat(scripts.run("setup"))
                .returns(125, Result::status)
                .satisfies(result -> assertThat(result.err()).contains("packages are missing; run as root: ", "gcc"));

        packages(join(PROGRAMS, COMPILER));
        assertThat(scripts.run("setup", "--run"))
                .returns(125, Result::status)
                .satisfies(result -> assertThat(result.err())
                        .contains("install -y --no-install-recommends ibverbs-providers librdmacm1 iproute2\n"));
    }

    @Test
    void numbersOfMachinesThatThereCannotBeAreRefused() throws Exception {
        Result result = scripts.with("RDMA_VM_NODES", "3")
                .with("RDMA_JAVA_HOME", System.getProperty("java.home"))
                .run("java", "Main");

        assertThat(result.status()).isEqualTo(2);
        assertThat(result.err()).contains("RDMA_VM_NODES takes 1 or 2, not '3'");
    }

    @Test
    void wrongJavaHomeIsNamed() throws Exception {
        Result result = scripts.with("RDMA_JAVA_HOME", "/nowhere").run("java", "-version");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).contains("RDMA_JAVA_HOME=/nowhere");
    }
}
