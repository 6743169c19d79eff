package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import io.rdmatest.fabric.vm.Scripts.Result;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An image of the machine is in the cache when it is complete, or not at all, whatever goes wrong while it is made. */
@EnabledIf(
        value = "hasPrograms",
        disabledReason = "this host lacks dpkg-deb, busybox, rdma or depmod, which make an image")
class ImageHostIT {

    @TempDir
    private Path work;

    private Host host;

    static boolean hasPrograms() {
        return List.of("dpkg-deb", "busybox", "rdma", "depmod").stream().allMatch(ImageHostIT::isThere);
    }

    private static boolean isThere(String program) {
        return List.of("/usr/bin", "/bin", "/usr/sbin", "/sbin").stream()
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }

    @BeforeEach
    void makeAHost() throws IOException {
        host = new Host(work);
    }

    @AfterEach
    void removeIt() throws IOException {
        host.close();
    }

    private Result makeFrom(Path... packages) throws Exception {
        String names =
                String.join(":", List.of(packages).stream().map(Path::toString).toList());
        return host.with("RDMA_VM_KERNEL_PACKAGE", names).call("ready_image");
    }

    private void assertNothingIsMade(Result result) throws IOException {
        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err().lines().filter(line -> !line.startsWith("rdma-vm: preparing ")))
                .as(result.err())
                .hasSize(1)
                .allMatch(line -> line.startsWith("rdma-vm: "));
        assertThat(host.cached("images")).isEmpty();
        assertThat(host.cached("")).noneMatch(name -> name.startsWith("current-"));
    }

    // --- what a kernel is packed with
    // ---------------------------------------------------------------------------------

    @Test
    void kernelThatNoProgramHereDecompressesNamesTheProgramAndThePackage() throws Exception {
        Path deb = host.wholeDeb(host.bootImage());
        host.without("zstd");

        Result result = makeFrom(deb);

        assertNothingIsMade(result);
        assertThat(result.err())
                .contains(
                        "is compressed with zstd, and Debian GNU/Linux 13 (trixie) has no program 'zstd'",
                        "run as root: apt-get update && apt-get install -y --no-install-recommends zstd");
        // Nothing has to be removed by hand.
        host.install("zstd");
        assumeThat(isThere("zstd")).isTrue();
        assertThat(Host.image(makeFrom(deb)).resolve("vmlinux"))
                .content(StandardCharsets.ISO_8859_1)
                .startsWith("\177ELF");
    }

    @ParameterizedTest
    @ValueSource(strings = {"gzip -c", "xz -c --check=crc32", "zstd -c", "lz4 -l -c", "xz -c --format=lzma"})
    void kernelIsUnpackedHoweverItIsCompressed(String packer) throws Exception {
        String[] words = packer.split(" ");
        assumeThat(isThere(words[0])).as("a program " + words[0]).isTrue();

        Path image = Host.image(makeFrom(host.wholeDeb(host.bootImage(words))));

        assertThat(image.resolve("vmlinux"))
                .content(StandardCharsets.ISO_8859_1)
                .isEqualTo("\177ELF and what else a kernel is made of");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "xz --check=crc32", "zstd -q --rm", "gzip"})
    void modulesAreUnpackedHoweverTheyAreCompressed(String packer) throws Exception {
        String[] words = packer.split(" ");
        assumeThat(isThere("gcc")).as("a program gcc").isTrue();
        assumeThat(packer.isEmpty() || isThere(words[0]))
                .as("a program " + words[0])
                .isTrue();
        Path content = Files.createDirectories(work.resolve("content"));
        Host.boot(content, "1.0", host.bootImage("gzip", "-c"));
        Path folder =
                Files.createDirectories(Host.modules(content, "1.0", "rdma_rxe").resolve("kernel"));
        Path source = Files.writeString(
                work.resolve("rxe.c"),
                "__attribute__((section(\".modinfo\"))) const char info[] = \"name=rdma_rxe\"; int made = 1;");
        run("gcc", "-c", "-o", folder.resolve("rdma_rxe.ko").toString(), source.toString());
        if (!packer.isEmpty()) {
            run("sh", "-c", packer + " '" + folder.resolve("rdma_rxe.ko") + "'");
        }

        Path image = Host.image(makeFrom(host.deb(content, "linux-image-1.0")));

        Path unpacked = Files.createDirectories(work.resolve("unpacked"));
        run("sh", "-c", "cd '" + unpacked + "' && cpio -i --quiet <'" + image.resolve("initramfs") + "'");
        assertThat(unpacked.resolve("modules/list")).hasContent("rdma_rxe.ko");
        assertThat(unpacked.resolve("modules/rdma_rxe.ko"))
                .content(StandardCharsets.ISO_8859_1)
                .startsWith("\177ELF");
    }

    private static void run(String... command) throws Exception {
        Process process = new ProcessBuilder(command).inheritIO().start();
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(String.join(" ", command)).isZero();
    }

    // --- what is incomplete
    // -------------------------------------------------------------------------------------------

    @Test
    void packageThatIsCutShortIsNamed() throws Exception {
        Path deb = host.wholeDeb(host.bootImage("gzip", "-c"));
        byte[] whole = Files.readAllBytes(deb);
        Files.write(deb, Arrays.copyOf(whole, whole.length * 2 / 3));

        Result result = makeFrom(deb);

        assertNothingIsMade(result);
        assertThat(result.err()).contains("the kernel package " + deb + " is damaged or cut short; get it again");
    }

    @Test
    void packageInTheCacheThatIsCutShortIsNotUsed() throws Exception {
        Path deb = host.wholeDeb(host.bootImage("gzip", "-c"));
        Path cached = Files.createDirectories(host.cache.resolve("packages")).resolve("linux-image-1.0.deb");
        byte[] whole = Files.readAllBytes(deb);
        Files.write(cached, Arrays.copyOf(whole, whole.length / 2));
        run("sh", "-c", "sha256sum <'" + deb + "' | cut -d' ' -f1 >'" + cached + ".sha256'");
        host.program("apt-cache", "exit 100");

        Result result = host.call("ready_image");

        assertThat(result.status()).isEqualTo(75);
        assertThat(result.err())
                .startsWith("rdma-vm: Debian GNU/Linux 13 (trixie) has no kernel for the virtual machine: ")
                .endsWith("and no kernel is installed on this host. Run as root: apt-get update\n");
        assertThat(host.cached("images")).isEmpty();
    }

    @Test
    void kernelWithoutAModuleThatTheMachineNeedsIsRefused() throws Exception {
        Path content = Files.createDirectories(work.resolve("content"));
        Host.boot(content, "1.0", host.bootImage("gzip", "-c"));
        Host.modules(content, "1.0", "rdma_rxe", "9p");

        Result result = makeFrom(host.deb(content, "linux-image-1.0"));

        assertNothingIsMade(result);
        assertThat(result.err()).contains("has no module 9p rdma_rxe, which the virtual machine needs");
    }

    /** Also under a folder that the first version of the manifest, without a format, called whole. */
    @Test
    void imageWithoutAKernelInTheCacheOfAnEarlierVersionIsMadeAnew() throws Exception {
        Path deb = host.wholeDeb(host.bootImage("gzip", "-c"));
        Path image = Host.image(makeFrom(deb));
        Files.write(image.resolve("vmlinux"), new byte[0]);
        run(
                "sh",
                "-c",
                "cd '" + image + "' && sha256sum vmlinux initramfs >manifest"
                        + " && stat -c '%n %s %Y' vmlinux initramfs manifest >stat");

        Result again = makeFrom(deb);

        assertThat(again.err()).contains("the image in the cache is damaged or incomplete; making it anew");
        assertThat(Host.image(again).resolve("vmlinux"))
                .content(StandardCharsets.ISO_8859_1)
                .startsWith("\177ELF");
    }

    /** It is whole in itself, and may lack what this version looks for. */
    @Test
    void imageOfAnEarlierFormatIsMadeAnew() throws Exception {
        Path deb = host.wholeDeb(host.bootImage("gzip", "-c"));
        Path image = Host.image(makeFrom(deb));
        String format = Files.readAllLines(image.resolve("manifest")).getFirst();
        run(
                "sh",
                "-c",
                "cd '" + image + "' && sed -i '1s/.*/# rdmatest image 1/' manifest"
                        + " && stat -c '%n %s %Y' vmlinux initramfs manifest >stat");

        Result again = makeFrom(deb);

        assertThat(again.err().lines())
                .filteredOn(line -> !line.startsWith("rdma-vm: preparing "))
                .containsExactly("rdma-vm: the image in the cache is damaged or incomplete; making it anew");
        assertThat(Files.readAllLines(Host.image(again).resolve("manifest"))).startsWith(format);
        assertThat(host.cached("images")).containsExactly(image.getFileName().toString());
    }

    @Test
    void machineIsNotStartedFromAnImageWithoutAKernel() throws Exception {
        Path image = Host.image(makeFrom(host.wholeDeb(host.bootImage("gzip", "-c"))));
        Files.write(image.resolve("vmlinux"), new byte[0]);

        Result result =
                host.run(List.of("perl", Scripts.HOME.resolve("lib/vm.pl").toString(), image.toString(), "1", "true"));

        assertThat(result.status()).isEqualTo(125);
        assertThat(result.err()).isEqualTo("rdma-vm: the image " + image + " is incomplete; remove it and try again\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "KILL"})
    void nothingHalfMadeIsFoundAfterADeathInTheMiddle(String signal) throws Exception {
        Path deb = host.wholeDeb(host.bootImage("gzip", "-c"));
        Path reached = work.resolve("reached");
        host.program("depmod", "touch '" + reached + "'", "exec sleep 300");
        host.with("RDMA_VM_KERNEL_PACKAGE", deb);
        // A child of a JVM leads no group, so it becomes the leader of its own.
        List<String> command = new ArrayList<>(List.of("setsid"));
        command.addAll(host.command("ready_image"));

        Process process = host.start(command, work.resolve("out"), work.resolve("err"));
        await().atMost(Duration.ofSeconds(30)).until(() -> Files.exists(reached));
        run("kill", "-" + signal, "--", "-" + process.pid());

        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        if (signal.equals("TERM")) {
            await().atMost(Duration.ofSeconds(30)).until(() -> host.cached("images"), List::isEmpty);
        }
        assertThat(host.cached("images")).allMatch(name -> name.startsWith(".making"));
        host.without("depmod").install("depmod");
        Path image = Host.image(makeFrom(deb));
        assertThat(host.cached("images")).containsExactly(image.getFileName().toString());
    }

    /** The disk is a file system of 2 MB, in a mount namespace; df says that there is room. */
    @Test
    void diskThatBecomesFullIsNamed() throws Exception {
        List<String> namespace = List.of("unshare", "--map-root-user", "--mount");
        boolean allowed = new ProcessBuilder(List.of(
                                "unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "x", work.toString()))
                        .start()
                        .waitFor()
                == 0;
        assumeThat(allowed)
                .as("user " + System.getProperty("user.name") + " may mount a file system")
                .isTrue();
        Path content = Files.createDirectories(work.resolve("content"));
        Host.boot(content, "1.0", host.bootImage("gzip", "-c"));
        byte[] much = new byte[4 << 20];
        new Random(1).nextBytes(much);
        Files.write(Host.modules(content, "1.0").resolve("much"), much);
        Path deb = host.deb(content, "linux-image-1.0");
        Path disk = Files.createDirectories(host.cache);
        host.program("df", "echo header", "echo 'tmpfs 2 1 500 1% " + disk + "'");
        host.with("RDMA_VM_KERNEL_PACKAGE", deb);
        List<String> command = new ArrayList<>(namespace);
        command.addAll(List.of(
                "bash",
                "-c",
                "mount -t tmpfs -o size=2m tmpfs \"$1\" && . \"$0/lib/common.sh\" && . \"$0/lib/image.sh\" || exit 99\n"
                        + "(ready_image); status=$?; find \"$1\" -mindepth 2; exit $status",
                Scripts.HOME.toString(),
                disk.toString()));

        Result result = host.run(command);

        assertThat(result.status()).as(result.err()).isEqualTo(125);
        assertThat(result.text()).isEmpty();
        assertThat(result.err()
                        .lines()
                        .filter(line -> !line.startsWith("rdma-vm: preparing "))
                        .toList())
                .containsExactly(
                        "rdma-vm: the disk of the cache became full while the image was made: 400 MB are needed; in "
                                + disk
                                + " 500 MB are free; free some, or set RDMA_VM_CACHE to a folder on another disk");
    }

    // --- which kernel
    // -------------------------------------------------------------------------------------------------

    /** Ubuntu has the boot image in one package and the modules in others. */
    @Test
    void severalPackagesMakeOneKernel() throws Exception {
        Path boot = Files.createDirectories(work.resolve("boot"));
        Host.boot(boot, "1.0", host.bootImage("gzip", "-c"));
        Path modules = Files.createDirectories(work.resolve("modules"));
        Host.modules(modules, "1.0");
        Path image = host.deb(boot, "linux-image-1.0");
        Path extra = host.deb(modules, "linux-modules-1.0");

        assertNothingIsMade(makeFrom(image));
        assertNothingIsMade(makeFrom(extra));
        assertThat(Host.image(makeFrom(image, extra))).exists();
    }

    /** From 7.2 on Debian's package of a kernel is empty, and depends on those that hold it. */
    private List<Path> splitKernel() throws Exception {
        Path boot = Files.createDirectories(work.resolve("split-binary"));
        Host.boot(boot, "1.0-amd64", host.bootImage("gzip", "-c"));
        Path modules = Files.createDirectories(work.resolve("split-modules"));
        Host.modules(modules, "1.0-amd64");
        Path empty = Files.createDirectories(work.resolve("split-image"));
        Path base = Files.createDirectories(work.resolve("split-base"));
        String dependsOnBase = "kmod, linux-base-1.0-amd64 (= 1-1)";
        return List.of(
                host.deb(
                        empty,
                        "linux-image-1.0-amd64",
                        "1-1",
                        "dracut | initramfs-tools (>= 0.120), linux-base, linux-binary-1.0-amd64:any (= 1-1),"
                                + " linux-modules-1.0-amd64 (= 1-1), linux-image-0.9"),
                host.deb(boot, "linux-binary-1.0-amd64", "1-1", dependsOnBase),
                host.deb(modules, "linux-modules-1.0-amd64", "1-1", dependsOnBase),
                host.deb(base, "linux-base-1.0-amd64", "1-1", "linux-image-1.0-amd64"));
    }

    @Test
    void packagesThatTheNamedOneDependsOnAreTakenFromBesideIt() throws Exception {
        Path image = splitKernel().getFirst();
        Files.createFile(work.resolve("linux-modules-1.0-amd64_2-1_all.deb"));

        Path made = Host.image(makeFrom(image));

        assertThat(made.resolve("manifest")).content().contains("# kernel 1.0-amd64\n");
        assertThat(made.getFileName().toString()).startsWith("linux-image-1.0-amd64_1-1_all-");
    }

    @Test
    void packageThatTheNamedOneDependsOnIsToldWhereItIsMissing() throws Exception {
        List<Path> packages = splitKernel();
        Files.delete(packages.getLast());
        host.without("apt-cache");

        Result result = makeFrom(packages.getFirst());

        assertNothingIsMade(result);
        assertThat(result.err())
                .isEqualTo("rdma-vm: RDMA_VM_KERNEL_PACKAGE=" + packages.getFirst() + " is not a whole kernel:"
                        + " linux-binary-1.0-amd64 depends on linux-base-1.0-amd64 (1-1): the package lists do not offer"
                        + " linux-base-1.0-amd64: they are missing or old, or this is not Debian. Put the file of that"
                        + " package beside it, or name it as well, separated by ':'\n");
    }

    @Test
    void packagesThatTheNewestKernelDependsOnAreFetchedOnce() throws Exception {
        Path offered = Files.createDirectories(work.resolve("offered"));
        for (Path deb : splitKernel()) {
            Files.move(deb, offered.resolve(deb.getFileName()));
        }
        Path fetched = work.resolve("fetched");
        host.program(
                "apt-cache",
                "case $1 in",
                "    depends) echo linux-image-amd64; echo '  Depends: linux-image-1.0-amd64' ;;",
                "    show)",
                "        for name; do :; done",
                "        file=$(echo '" + offered + "'/${name%%=*}_*)",
                "        echo Version: 1-1; echo SHA256: $(sha256sum <$file | cut -d' ' -f1) ;;",
                "esac");
        host.program(
                "apt-get",
                "for name; do :; done",
                "echo $name >>'" + fetched + "'",
                "cp '" + offered + "'/${name%%=*}_* .");

        Path made = Host.image(host.call("ready_image"));

        assertThat(made.getFileName().toString()).startsWith("linux-image-1.0-amd64_1-1_amd64");
        assertThat(fetched)
                .hasContent("linux-image-1.0-amd64=1-1\n"
                        + "linux-binary-1.0-amd64=1-1\n"
                        + "linux-modules-1.0-amd64=1-1\n"
                        + "linux-base-1.0-amd64=1-1");
        // Later, without a network and without lists, and with an older version of the recipe's image gone.
        host.program("apt-cache", "exit 100").program("apt-get", "exit 100");
        run("sh", "-c", "rm -r '" + host.cache + "'/images '" + host.cache + "'/current-*");
        assertThat(Host.image(host.call("ready_image")).getFileName()).isEqualTo(made.getFileName());
        // Part of a kernel is none.
        run(
                "sh",
                "-c",
                "cd '" + host.cache
                        + "' && rm -r images current-* && echo >>packages/linux-base-1.0-amd64_1-1_amd64.deb");
        Result result = host.call("ready_image");
        assertThat(result.status()).isEqualTo(75);
        assertThat(result.err()).contains("linux-base-1.0-amd64");
    }

    @Test
    void changedPackageOfTheSameNameIsUsed() throws Exception {
        Path first = Host.image(makeFrom(host.wholeDeb(host.bootImage("gzip", "-c"))));
        byte[] other = host.bootImage("gzip", "-c", "-1");
        Path changed = host.wholeDeb(Arrays.copyOf(other, other.length + 700));

        Path second = Host.image(makeFrom(changed));

        assertThat(second).isNotEqualTo(first);
    }

    @ParameterizedTest
    @ValueSource(strings = {"boot/vmlinuz-5.0", "lib/modules/5.0/vmlinuz"})
    void kernelOfAHostWithoutPackagesIsUsed(String place) throws Exception {
        host.without("apt-get", "apt-cache", "dpkg-deb", "dpkg-query", "dpkg");
        Host.modules(host.root, "5.0");
        Host.depmod(host.root, "5.0");
        // A newer one without soft-RoCE.
        Host.modules(host.root, "6.0", "rdma_rxe");
        Host.depmod(host.root, "6.0");
        Path image = host.root.resolve(place);
        Files.createDirectories(image.getParent());
        Files.write(image, host.bootImage("gzip", "-c"));

        Path made = Host.image(host.call("ready_image"));

        assertThat(made.getFileName().toString()).startsWith("host-5.0-");
        assertThat(made.resolve("manifest")).content().contains("# kernel 5.0\n");
    }

    @Test
    void hostThatHasNoKernelNamesItsSystemAndTheCommand() throws Exception {
        host.without("apt-get", "apt-cache", "dpkg-deb")
                .program("dnf")
                .system("Fedora Linux 42 (Server Edition)", "fedora", "42");
        Host.modules(host.root, "6.14.0", "rdma_rxe");

        Result result = host.call("ready_image");

        assertThat(result.status()).isNotZero();
        assertThat(result.err())
                .isEqualTo("rdma-vm: Fedora Linux 42 (Server Edition) has no kernel for the virtual machine:"
                        + " no kernel package is fetched here: there is no apt-get,"
                        + " and the modules of 6.14.0 in /lib/modules have no soft-RoCE (rdma_rxe)."
                        + " Run as root: dnf install -y kernel kernel-modules-extra\n");
    }

    /** A kernel that is installed, and that no list offers any more, has no checksum to fetch it by. */
    @Test
    void installedKernelIsUsedWhereThePackageListsAreMissing() throws Exception {
        host.program(
                "apt-cache",
                "case $1 in",
                "    depends) echo linux-image-amd64; echo '  Depends: linux-image-6.12.9+deb13-amd64' ;;",
                "    show) echo 'Package: x'; echo 'Version: 6.12.9-1' ;;",
                "esac");
        Host.modules(host.root, "6.12.9+deb13-amd64");
        Host.depmod(host.root, "6.12.9+deb13-amd64");
        Host.boot(host.root, "6.12.9+deb13-amd64", host.bootImage("gzip", "-c"));

        assertThat(Host.image(host.call("ready_image")).getFileName().toString())
                .startsWith("host-6.12.9+deb13-amd64-");
    }

    /** Else each of two users makes an image that the other does not use. */
    @Test
    void recipeDoesNotDependOnTheFoldersOfAdministrators() throws Exception {
        host.with("RDMA_VM_ROOT", "");
        String usual =
                host.with("PATH", "/usr/local/bin:/usr/bin:/bin").call("recipe").text();

        assertThat(host.with("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
                        .call("recipe")
                        .text())
                .isEqualTo(usual);
    }
}
