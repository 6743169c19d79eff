package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.vm.Scripts.Result;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a host has is found by what it provides, and what it lacks is named with the command of its own distribution. */
class SetupTests {

    private static final List<String> LIBRARIES = List.of("librdmacm.so.1", "libibverbs.so.1");
    private static final String[] PROGRAMS = {"rping", "ibv_devinfo", "ib_send_bw"};

    @TempDir
    private Path work;

    private Host host;

    /** An ordinary user's host with an active device, which has all that a build takes. */
    @BeforeEach
    void makeAHost() throws IOException {
        host = new Host(work).with("RDMA_VM", "never");
        for (String program :
                new String[] {"ip", "tc", "rdma", "gcc", "shellcheck", "rping", "ibv_devinfo", "ib_send_bw"}) {
            host.program(program);
        }
        host.program("id", "echo 1000").program("apt-cache");
        libraries(LIBRARIES);
        for (String header : new String[] {"infiniband/verbs.h", "rdma/rdma_cma.h", "stdio.h"}) {
            Path file = host.root.resolve("usr/include").resolve(header);
            Files.createDirectories(file.getParent());
            Files.createFile(file);
        }
    }

    @AfterEach
    void removeIt() throws IOException {
        host.close();
    }

    /** What the loader knows, and the provider of soft-RoCE beside it. */
    private void libraries(List<String> names) throws IOException {
        Path folder = host.root.resolve("usr/lib/x86_64-linux-gnu");
        Files.createDirectories(folder.resolve("libibverbs"));
        if (Files.notExists(folder.resolve("libibverbs/librxe-rdmav34.so"))) {
            Files.createFile(folder.resolve("libibverbs/librxe-rdmav34.so"));
        }
        List<String> lines = new ArrayList<>();
        for (String name : names) {
            lines.add("printf '\\t%s (libc6,x86-64) => %s\\n' " + name + " '" + folder.resolve(name) + "'");
        }
        host.program("ldconfig", lines.toArray(String[]::new));
    }

    private Result setup(String... options) throws Exception {
        List<String> command =
                new ArrayList<>(List.of(Scripts.HOME.resolve("bin/setup").toString()));
        command.addAll(List.of(options));
        return host.run(command);
    }

    @ParameterizedTest
    @ValueSource(strings = {"--check", "--run"})
    void hostThatHasAllNeedsNoPackage(String option) throws Exception {
        assertThat(setup(option)).returns("", Result::err).returns(0, Result::status);
        assertThat(setup()).returns("", Result::err).returns(0, Result::status);
    }

    @Test
    void rootInstallsNothingWhereNothingIsMissing() throws Exception {
        host.program("id", "echo 0").program("apt-get", "touch '" + work.resolve("called") + "'");

        assertThat(setup()).returns("", Result::err).returns(0, Result::status);

        assertThat(work.resolve("called")).doesNotExist();
    }

    @Test
    void rootInstallsWhatIsMissingAfterItReadTheLists() throws Exception {
        host.without("rping", "ib_send_bw").program("id", "echo 0");
        host.program(
                "apt-get",
                "echo \"$*\" >>'" + work.resolve("called") + "'",
                "[ \"$2\" = update ] || {",
                "  for name in rping ib_send_bw; do ln -s /bin/true '" + work.resolve("bin") + "'/$name; done; }");

        Result result = setup();

        assertThat(result.status()).as(result.err()).isZero();
        assertThat(result.err()).isEqualTo("rdma-vm: installing rdmacm-utils perftest\n");
        assertThat(work.resolve("called"))
                .hasContent("-q update\n"
                        + "-q install -y --no-install-recommends -o DPkg::Lock::Timeout=300 rdmacm-utils"
                        + " perftest");
    }

    /** Root may have no network either. */
    @Test
    void whatIsOnlyUsefulIsNoReasonForARunToInstall() throws Exception {
        host.without("ib_send_bw").program("id", "echo 0");
        host.program("apt-get", "touch '" + work.resolve("called") + "'; echo 'E: no network'; exit 100");

        assertThat(setup("--run"))
                .returns(0, Result::status)
                .returns(
                        "rdma-vm: scenarios that want perftest are skipped; to run them, run as root: apt-get update &&"
                                + " apt-get install -y --no-install-recommends perftest\n",
                        Result::err);
        assertThat(work.resolve("called")).doesNotExist();
    }

    @Test
    void whatIsOnlyUsefulComesWithWhatIsNeededOrNotAtAll() throws Exception {
        host.without("ib_send_bw", "tc").program("id", "echo 0");
        host.program(
                "apt-get",
                "case \"$*\" in",
                "  *perftest) echo 'E: no such package'; exit 100 ;;",
                "  *iproute2) ln -s /bin/true '" + work.resolve("bin") + "/tc' ;;",
                "esac");

        assertThat(setup("--run"))
                .returns(0, Result::status)
                .satisfies(result -> assertThat(result.err())
                        .startsWith("rdma-vm: installing iproute2\nrdma-vm: installing perftest\nE: no such package\n")
                        .contains("scenarios that want perftest are skipped"));
    }

    /** The full build's tests make other systems; no other build and no run does. */
    @Test
    void rootGetsWhatMakesOtherSystemsWhereItIsAskedFor() throws Exception {
        host.program("id", "echo 0");
        host.program(
                "apt-get",
                "echo \"$*\" >>'" + work.resolve("called") + "'",
                "[ \"$2\" = update ] || ln -s /bin/true '" + work.resolve("bin") + "/debootstrap'");

        assertThat(setup()).returns("", Result::err).returns(0, Result::status);
        assertThat(setup("--systems"))
                .returns("rdma-vm: installing debootstrap\n", Result::err)
                .returns(0, Result::status);
        assertThat(setup("--systems")).returns("", Result::err).returns(0, Result::status);
    }

    @Test
    void whatMakesOtherSystemsMayBeMissing() throws Exception {
        // Nobody but root can make any.
        assertThat(setup("--systems")).returns("", Result::err).returns(0, Result::status);

        host.program("id", "echo 0").program("apt-get", "echo 'E: no network'; exit 100");
        assertThat(setup("--systems"))
                .returns(0, Result::status)
                .returns(
                        "E: no network\nrdma-vm: cannot install debootstrap; apt-get update says why above\n"
                                + "rdma-vm: tests that make other systems are skipped\n",
                        Result::err);
    }

    /** The full build's tests run code for 64-bit Arm; no other build and no run does. */
    @Test
    void rootGetsWhatRunsCodeForArmWhereItIsAskedFor() throws Exception {
        Path keys = host.root.resolve("usr/share/keyrings/debian-archive-keyring.gpg");
        host.without("qemu-aarch64-static", "aarch64-linux-gnu-gcc").program("id", "echo 0");
        String bin = work.resolve("bin").toString();
        host.program(
                "apt-get",
                "case \"$*\" in",
                "  *indextargets*) echo http://mirror.example/debian ;;",
                "  *arm64*) echo 'E: no network'; exit 100 ;;",
                "  *update) ;;",
                "  *) for name in qemu-aarch64-static aarch64-linux-gnu-gcc; do ln -s /bin/true '" + bin
                        + "'/$name; done ;;",
                "esac");

        assertThat(setup()).returns("", Result::err).returns(0, Result::status);
        Result result = setup("--arm64");
        assertThat(result.status()).as(result.err()).isZero();
        assertThat(result.err())
                .isEqualTo("rdma-vm: installing qemu-user-static gcc-aarch64-linux-gnu\nrdma-vm: " + keys
                        + " is missing; run as root: apt-get update && apt-get install -y --no-install-recommends"
                        + " debian-archive-keyring\nrdma-vm: tests of 64-bit Arm are skipped\n");

        Files.createDirectories(keys.getParent());
        Files.createFile(keys);
        assertThat(setup("--arm64"))
                .returns(0, Result::status)
                .returns(
                        "rdma-vm: fetching Debian's JDK and libraries for arm64\n"
                                + "rdma-vm: cannot fetch Debian's package lists for arm64; check the network (E: no network)\n"
                                + "rdma-vm: tests of 64-bit Arm are skipped\n",
                        Result::err);
        assertThat(host.cached("arm64")).as("no half of anything").containsExactly("lock");
    }

    @Test
    void whatRunsCodeForArmMayBeMissing() throws Exception {
        host.without("qemu-aarch64-static", "aarch64-linux-gnu-gcc");
        Result result = setup("--arm64");
        assertThat(result.status()).as(result.err()).isZero();
        assertThat(result.err())
                .contains(
                        "Debian GNU/Linux 13 (trixie) lacks qemu-user-static gcc-aarch64-linux-gnu; run as root: apt-get update && apt-get install -y")
                .endsWith("rdma-vm: tests of 64-bit Arm are skipped\n");
    }

    @Test
    void missingProgramIsNamedByItsPackage() throws Exception {
        host.without("rping");

        assertThat(setup("--check"))
                .returns("rdma-vm: missing: rdmacm-utils\n", Result::err)
                .returns(1, Result::status);
    }

    /** Nobody but root can install anything, and not everybody who measures compiles. */
    @Test
    void aRunTakesTheLibrariesAndABuildAllThatItsTestsTake() throws Exception {
        host.without(PROGRAMS).without("gcc", "shellcheck");

        Result run = setup("--run");
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.err())
                .isEqualTo("rdma-vm: scenarios that want rdmacm-utils ibverbs-utils perftest are skipped; to run them,"
                        + " run as root: apt-get update && apt-get install -y --no-install-recommends rdmacm-utils"
                        + " ibverbs-utils perftest\n");
        assertThat(setup())
                .returns(125, Result::status)
                .returns(
                        "rdma-vm: Debian GNU/Linux 13 (trixie) lacks packages; run as root: apt-get update && apt-get"
                                + " install -y --no-install-recommends rdmacm-utils ibverbs-utils perftest gcc"
                                + " shellcheck\n",
                        Result::err);

        libraries(List.of());
        assertThat(setup("--run"))
                .returns(125, Result::status)
                .satisfies(result -> assertThat(result.err())
                        .endsWith("install -y --no-install-recommends librdmacm1 libibverbs1 ibverbs-providers\n"));
    }

    /** Debian 13 and Ubuntu 24.04 have librdmacm1t64, which provides librdmacm1. */
    @Test
    void packageThatGotAnotherNameIsFoundByWhatItProvides() throws Exception {
        host.program(
                "apt-cache",
                "[ \"$*\" = 'showpkg librdmacm1' ] || exit 0",
                "echo 'Package: librdmacm1'; echo 'Versions: '; echo; echo 'Reverse Depends: '; echo ' "
                        + " perftest,librdmacm1'",
                "echo 'Dependencies: '; echo 'Provides: '; echo 'Reverse Provides: '; echo 'librdmacm1t64 56.1-1 (="
                        + " 56.1-1)'");
        libraries(List.of("libibverbs.so.1"));

        assertThat(setup("--check")).returns("rdma-vm: missing: librdmacm1t64\n", Result::err);
        // Whatever it is called, it is there.
        libraries(LIBRARIES);
        assertThat(setup("--check")).returns("", Result::err).returns(0, Result::status);
    }

    @ParameterizedTest
    @CsvSource({
        "dnf, 'dnf install -y librdmacm iproute-tc librdmacm-utils rdma-core-devel'",
        "zypper, 'zypper install -y librdmacm1 iproute2 librdmacm-utils rdma-core-devel'",
        "pacman, 'pacman -S --noconfirm rdma-core iproute2'"
    })
    void anotherDistributionIsToldItsOwnCommand(String manager, String command) throws Exception {
        host.without("apt-get", "apt-cache", "tc", "rping").program(manager).system("Another Linux 1", "another", "1");
        libraries(List.of("libibverbs.so.1"));
        Files.delete(host.root.resolve("usr/include/rdma/rdma_cma.h"));

        Result result = setup();

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).isEqualTo("rdma-vm: Another Linux 1 lacks packages; run as root: " + command + "\n");
    }

    // --- the JDK
    // ------------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @CsvSource({"24.0.2, 125", "25, 0", "25.0.3, 0", "26-ea, 0", "30.0.1, 0"})
    void aJdkIsGoodFromVersion25On(String version, int status) throws Exception {
        Path home = Files.createDirectories(host.root.resolve("usr/lib/jvm/one"));
        Files.writeString(home.resolve("release"), "JAVA_VERSION=\"" + version + "\"\n");
        Files.createDirectories(home.resolve("bin"));
        Files.createSymbolicLink(home.resolve("bin/java"), Path.of("/bin/true"));

        assertThat(host.call("real_java_home").status()).isEqualTo(status);

        Files.delete(home.resolve("bin/java"));
    }

    @ParameterizedTest
    @CsvSource({
        "apt-get, Debian GNU/Linux 13 (trixie), debian, 13, 'Run as root: apt-get update && apt-get install -y"
                + " --no-install-recommends openjdk-25-jdk-headless'",
        "apt-get, Debian GNU/Linux 12 (bookworm), debian, 12, 'Debian GNU/Linux 12 (bookworm) has no package of one:"
                + " install Temurin''s (temurin-25-jdk), or unpack a JDK as /opt/jdk-25'",
        "dnf, Fedora Linux 43, fedora, 43, 'Run as root: dnf install -y java-25-openjdk-devel'",
        "none, Another Linux 1, another, 1, 'Unpack a JDK as /opt/jdk-25'"
    })
    void hostWithoutAJdkIsToldHowToGetOne(String manager, String name, String id, String version, String advice)
            throws Exception {
        host.without("apt-get")
                .program(manager)
                .program("apt-cache", "exit 100")
                .system(name, id, version);

        Result result = host.call("real_java_home");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err())
                .isEqualTo("rdma-vm: no JDK 25 or later found: neither RDMA_JAVA_HOME nor JAVA_HOME names one,"
                        + " and none is in /usr/lib/jvm, in /opt or on the PATH. " + advice + "\n");
    }

    // --- QEMU
    // ---------------------------------------------------------------------------------------------------------

    /** Runs a command in a machine whose QEMU only says how it is called. */
    private Result inVm(Path from, String devices, String... command) throws Exception {
        host.install("rdma");
        host.program("qemu", "case $* in '-device help') echo '" + devices + "' ;; *) echo \"$*\" >&2; exit 1 ;; esac");
        Path deb = work.resolve("linux-image-1.0.deb");
        if (Files.notExists(deb)) {
            host.wholeDeb(host.bootImage("gzip", "-c"));
        }
        host.with("RDMA_VM", "always")
                .with("RDMA_VM_QEMU", "qemu")
                .with("RDMA_VM_ACCEL", "tcg")
                .with("RDMA_VM_SNAPSHOT", "0")
                .with("RDMA_VM_KERNEL_PACKAGE", deb)
                .with("HOME", work.resolve("home"));
        List<String> line = new ArrayList<>(List.of(
                "env", "-C", from.toString(), Scripts.HOME.resolve("bin/in-vm").toString(), "--"));
        line.addAll(List.of(command));
        return host.run(line);
    }

    @Test
    void qemuWithout9pIsNamed() throws Exception {
        Result result = inVm(work, "name \"virtio-net-pci\", bus PCI", "true");

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err())
                .endsWith("rdma-vm: the QEMU of this host, qemu, is built without the 9p file system (virtio-9p-pci),"
                        + " which the virtual machine needs. On Debian GNU/Linux 13 (trixie), install a QEMU that"
                        + " has it (qemu-system-x86), or name one in RDMA_VM_QEMU\n");
    }

    /** A pom.xml that somebody left at home makes nobody's home writable. */
    @Test
    void onlyTheProjectIsWritable() throws Exception {
        Path home = Files.createDirectories(work.resolve("home"));
        Path project = Files.createDirectories(home.resolve("project"));
        Path inner = Files.createDirectories(project.resolve("module/inner/target/work"));
        Path data = Files.createDirectories(home.resolve("data"));
        Files.writeString(home.resolve("pom.xml"), "<project><modules><module>project</module></modules></project>");
        Files.writeString(project.resolve("pom.xml"), "<modules><module>./module/</module></modules>");
        Files.writeString(project.resolve("module/pom.xml"), "<modules>\n<module> inner </module></modules>");
        Files.writeString(project.resolve("module/inner/pom.xml"), "<project/>");
        Path stranger = Files.createDirectories(project.resolve("module/target/stranger"));
        Files.writeString(stranger.resolve("pom.xml"), "<project/>");

        assertThat(writable(inner)).isEqualTo(project.toRealPath());
        assertThat(writable(project)).isEqualTo(project.toRealPath());
        assertThat(writable(stranger)).isEqualTo(stranger.toRealPath());
        assertThat(writable(data)).isEqualTo(data.toRealPath());
    }

    private Path writable(Path from) throws Exception {
        String said = inVm(from, "name \"virtio-9p-pci\", bus PCI", "true").err();
        assertThat(said).contains("local,id=share0,path=");
        return Path.of(said.replaceAll("(?s).*local,id=share0,path=([^,]*),.*", "$1"));
    }
}
