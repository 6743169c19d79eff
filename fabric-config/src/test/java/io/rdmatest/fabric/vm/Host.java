package io.rdmatest.fabric.vm;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.vm.Scripts.Result;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * Another host for the scripts: this one's programs except those that are taken away, and folders, a kernel and a cache of its
 * own.
 */
final class Host implements AutoCloseable {

    private static final String PROGRAMS =
            "awk basename bash busybox cat chmod cp cpio cut date depmod df dirname dpkg-deb env find flock grep gzip"
                    + " head id kmod ldconfig ldd ln locale ls lz4 mkdir mktemp modprobe mount mv perl printf rdma"
                    + " readlink rm rmdir sed setsid sh sha256sum sleep sort stat strip sync tail tar timeout touch tr"
                    + " true type uname uniq unshare xz zstd";

    /** What the machine needs of a kernel. These kernels have it built in. */
    private static final List<String> MODULES = List.of(
            "virtio_pci",
            "virtio_net",
            "virtio_console",
            "virtio-rng",
            "9p",
            "9pnet_virtio",
            "overlay",
            "ib_uverbs",
            "rdma_cm",
            "rdma_ucm",
            "rdma_rxe");

    private static final byte[] ELF = "\177ELF and what else a kernel is made of".getBytes(StandardCharsets.ISO_8859_1);

    final Path root;
    final Path cache;
    private final Path work;
    private final Path bin;
    private final Map<String, String> environment = new HashMap<>();

    Host(Path work) throws IOException {
        this.work = work;
        root = Files.createDirectories(work.resolve("root"));
        cache = work.resolve("cache");
        bin = Files.createDirectories(work.resolve("bin"));
        for (String name : PROGRAMS.split("\\s+")) {
            install(name);
        }
        // Nothing is installed here, whoever runs this.
        program("apt-get", "exit 100");
        system("Debian GNU/Linux 13 (trixie)", "debian", "13");
    }

    /** Says what /etc/os-release says. */
    Host system(String name, String id, String version) throws IOException {
        Files.createDirectories(root.resolve("etc"));
        Files.writeString(
                root.resolve("etc/os-release"),
                "PRETTY_NAME=\"%s\"\nID=%s\nVERSION_ID=\"%s\"\n".formatted(name, id, version));
        return this;
    }

    Host without(String... programs) throws IOException {
        for (String program : programs) {
            Files.deleteIfExists(bin.resolve(program));
        }
        return this;
    }

    /** Gives this host a program; its lines are of a shell. */
    Host program(String name, String... lines) throws IOException {
        Path file = bin.resolve(name);
        Files.deleteIfExists(file);
        Files.writeString(file, "#!/bin/bash\n" + String.join("\n", lines) + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        return this;
    }

    /** Gives this host a program that the real one has. */
    void install(String name) throws IOException {
        for (String folder : List.of("/usr/bin", "/usr/sbin")) {
            if (Files.isExecutable(Path.of(folder, name))) {
                Files.deleteIfExists(bin.resolve(name));
                Files.createSymbolicLink(bin.resolve(name), Path.of(folder, name));
                return;
            }
        }
    }

    Host with(String name, Object value) {
        environment.put(name, value.toString());
        return this;
    }

    /** Calls a function of the scripts' library. */
    Result call(String function) throws Exception {
        return run(command(function));
    }

    List<String> command(String function) {
        return List.of(
                "bash",
                "-c",
                "set -u; . \"$0/lib/common.sh\"; . \"$0/lib/image.sh\"; " + function,
                Scripts.HOME.toString());
    }

    Result run(List<String> command) throws Exception {
        Path out = Files.createTempFile(work, "out", "");
        Path err = Files.createTempFile(work, "err", "");
        Process process = start(command, out, err);
        if (!process.waitFor(2, TimeUnit.MINUTES)) {
            process.destroyForcibly();
            throw new AssertionError("did not end: " + command + "\n" + Files.readString(err));
        }
        return new Result(process.exitValue(), Files.readAllBytes(out), Files.readAllBytes(err));
    }

    Process start(List<String> command, Path out, Path err) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(work.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        Map<String, String> all = builder.environment();
        all.keySet().removeIf(name -> name.startsWith("RDMA_") || name.equals("JAVA_HOME"));
        all.put("PATH", bin.toString());
        all.put("RDMA_VM", "always");
        all.put("RDMA_VM_CACHE", cache.toString());
        all.put("RDMA_VM_ROOT", root.toString());
        all.putAll(environment);
        return builder.start();
    }

    /** Removes the programs, most of which are links that lead out of the folder. */
    @Override
    public void close() throws IOException {
        try (Stream<Path> programs = Files.list(bin)) {
            for (Path program : programs.toList()) {
                Files.delete(program);
            }
        }
    }

    /** The names in a folder of the cache. */
    List<String> cached(String folder) throws IOException {
        Path path = cache.resolve(folder);
        if (!Files.exists(path)) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(path)) {
            return List.copyOf(new TreeSet<>(
                    files.map(file -> file.getFileName().toString()).toList()));
        }
    }

    /** The image that was made. */
    static Path image(Result made) {
        assertThat(made.status()).as(made.err()).isZero();
        return Path.of(made.text().strip());
    }

    // --- kernels ---------------------------------------------------------------------------------------------------

    /** A kernel that is packed by a program; without one, as a zstd frame that holds it as it is. */
    byte[] bootImage(String... packer) throws Exception {
        byte[] packed = packer.length == 0 ? zstdFrame() : pack(ELF, packer);
        // Where the set-up code ends, and the payload's place and length: the kernel's Documentation/arch/x86/boot.rst.
        int size = packed.length + (packer.length > 0 && packer[0].equals("gzip") ? 0 : 4);
        ByteBuffer image = ByteBuffer.allocate(1024 + size).order(ByteOrder.LITTLE_ENDIAN);
        image.put(0x1f1, (byte) 1).put(0x202, "HdrS".getBytes(StandardCharsets.US_ASCII));
        image.putInt(0x248, 0).putInt(0x24c, size).put(1024, packed);
        return image.array();
    }

    /** RFC 8878: one segment, whose size has one byte, and one block that is not compressed. */
    private static byte[] zstdFrame() {
        ByteBuffer frame = ByteBuffer.allocate(6 + 3 + ELF.length)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putInt(0xFD2FB528);
        int block = ELF.length << 3 | 1;
        frame.put((byte) 0x20).put((byte) ELF.length);
        frame.put((byte) block)
                .put((byte) (block >> 8))
                .put((byte) (block >> 16))
                .put(ELF);
        return frame.array();
    }

    private byte[] pack(byte[] bytes, String... packer) throws Exception {
        Path in = Files.write(Files.createTempFile(work, "plain", ""), bytes);
        Path out = Files.createTempFile(work, "packed", "");
        Process process = new ProcessBuilder(packer)
                .redirectInput(in.toFile())
                .redirectOutput(out.toFile())
                .start();
        assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as(Arrays.toString(packer)).isZero();
        return Files.readAllBytes(out);
    }

    /** Puts a boot image under a folder, as a package or a host has it. */
    static void boot(Path folder, String version, byte[] image) throws IOException {
        Files.createDirectories(folder.resolve("boot"));
        Files.write(folder.resolve("boot/vmlinuz-" + version), image);
    }

    /** Puts the folder of a kernel's modules under a folder; all that the machine needs is built in, except those. */
    static Path modules(Path folder, String version, String... except) throws IOException {
        Path modules = Files.createDirectories(folder.resolve("lib/modules/" + version));
        List<String> builtIn = MODULES.stream()
                .filter(module -> !List.of(except).contains(module))
                .map(module -> "kernel/drivers/" + module + ".ko")
                .toList();
        Files.write(modules.resolve("modules.builtin"), builtIn);
        Files.write(modules.resolve("modules.order"), List.of());
        return modules;
    }

    /** Makes the lists of modules that modprobe reads, as the installation of a kernel does. */
    static void depmod(Path folder, String version) throws Exception {
        assertThat(new ProcessBuilder(
                                "env", "PATH=/usr/bin:/usr/sbin:/bin:/sbin", "depmod", "-b", folder.toString(), version)
                        .start()
                        .waitFor())
                .isZero();
    }

    /** Makes a kernel package of what is in a folder. */
    Path deb(Path content, String name) throws Exception {
        return deb(content, name, work.resolve(name + ".deb"), "Version: 1\n");
    }

    /** Makes a package that depends on others, under the name that apt gives it. */
    Path deb(Path content, String name, String version, String depends) throws Exception {
        return deb(
                content,
                name,
                work.resolve(name + "_" + version + "_all.deb"),
                "Version: " + version + "\nDepends: " + depends + "\n");
    }

    private static Path deb(Path content, String name, Path file, String fields) throws Exception {
        Path control = Files.createDirectories(content.resolve("DEBIAN")).resolve("control");
        Files.writeString(
                control,
                "Package: " + name + "\n" + fields + "Architecture: all\nMaintainer: a test <test@example.org>\n"
                        + "Description: a kernel for a test\n");
        Process process = new ProcessBuilder(
                        "dpkg-deb", "--root-owner-group", "-Znone", "-b", content.toString(), file.toString())
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        return file;
    }

    /** A package that has a kernel and all modules. */
    Path wholeDeb(byte[] image) throws Exception {
        Path content = Files.createTempDirectory(work, "package");
        boot(content, "1.0", image);
        modules(content, "1.0");
        return deb(content, "linux-image-1.0");
    }
}
