package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Compiles the libraries that take the place of libibverbs and librdmacm. */
public final class LoopbackLibrary {

    private static final Path SOURCES = Path.of("src/test/native");
    static final String PACKAGES =
            " (Debian, Ubuntu: apt-get install gcc libc6-dev libibverbs-dev librdmacm-dev; Fedora, RHEL: dnf install gcc"
                    + " rdma-core-devel)";

    private LoopbackLibrary() {}

    /**
     * Returns the names of all classes of test cases on the libraries, in an order in which one JVM can run them: those that count
     * objects come before those that leave some behind.
     */
    public static List<String> testCases() {
        return Stream.of(
                        DataPathTestCase.class,
                        ResetTestCase.class,
                        DataPathErrorsTestCase.class,
                        PortsTestCase.class,
                        InfinibandTestCase.class,
                        CompletionChannelTestCase.class,
                        MemoryKindsTestCase.class,
                        MemoryWindowTestCase.class,
                        ExtendedQueueTestCase.class,
                        XrcTestCase.class)
                .map(Class::getName)
                .toList();
    }

    /**
     * Compiles both libraries. Where that can't be, the test is skipped.
     *
     * @param compiler the C compiler and its options
     * @param folder where they are put, under the names that the JVM loads
     */
    public static void compileInto(List<String> compiler, Path folder) throws IOException, InterruptedException {
        Path verbs = folder.resolve("libibverbs.so.1");
        compile(
                compiler,
                verbs,
                List.of(
                        SOURCES.resolve("loopback_verbs.c").toString(),
                        SOURCES.resolve("loopback_record.c").toString(),
                        "-lpthread"));
        compile(
                compiler,
                folder.resolve("librdmacm.so.1"),
                List.of(SOURCES.resolve("loopback_cm.c").toString(), verbs.toString()));
    }

    /**
     * Compiles a library. Where that can't be, the test is skipped.
     *
     * @param compiler the C compiler and its options
     * @param library its file, the name of which it has for the loader too
     * @param inputs its sources, and what it is linked with
     */
    public static void compile(List<String> compiler, Path library, List<String> inputs)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(compiler);
        command.addAll(List.of(
                "-std=gnu11",
                "-O2",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-fPIC",
                "-fvisibility=hidden",
                "-shared",
                "-Wl,-soname," + library.getFileName(),
                "-o",
                library.toString()));
        command.addAll(inputs);
        Path said = library.resolveSibling(library.getFileName() + ".said");
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(said.toFile())
                    .start();
            try {
                assertThat(process.waitFor(60, TimeUnit.SECONDS))
                        .as("%s ends", command)
                        .isTrue();
            } finally {
                process.destroyForcibly();
            }
            String text = Files.readString(said, StandardCharsets.UTF_8);
            if (text.contains("No such file or directory")) {
                abort("unsupported by the host: headers are missing" + PACKAGES + ": "
                        + text.lines().findFirst().orElse(""));
            }
            assertThat(process.exitValue()).as(text).isZero();
        } catch (IOException e) {
            abort("unsupported by the host: there is no C compiler" + PACKAGES + ": " + e.getMessage());
        }
    }
}
