package io.rdmatest.loopback;

import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/** Runs test classes on this host's device, with the interposer in the place of libibverbs (src/test/native/interposer.c). */
public final class Interposer {

    private static final Path SCRIPT = Path.of("src/test/native/interposer.sh");

    private Interposer() {}

    /** Compiles the interposer. Where that can't be, the test is skipped. */
    public static void compileInto(Path folder) throws IOException, InterruptedException {
        Path said = folder.resolve("said");
        Process process = new ProcessBuilder("sh", SCRIPT.toString(), folder.toString())
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        boolean ended;
        try {
            ended = process.waitFor(120, TimeUnit.SECONDS);
        } finally {
            process.destroyForcibly().waitFor();
        }
        String text = Files.readString(said, StandardCharsets.UTF_8);
        if (text.contains("No such file or directory") || text.contains("cc: not found")) {
            abort("unsupported by the host: there is no C compiler, or headers are missing" + LoopbackLibrary.PACKAGES
                    + ": " + text.lines().findFirst().orElse(""));
        }
        if (!ended || process.exitValue() != 0) {
            fail(SCRIPT + (ended ? " ends with " + process.exitValue() : " does not end") + ": " + text);
        }
    }

    /** Resets the device of this JVM, which runs with the interposer: from now on each call that goes to the kernel ends with EIO. */
    public static void reset() {
        Standin.reset();
    }

    /** Lets the device be there again, for objects that are made from now on. */
    public static void recover() {
        Standin.setUsual();
    }

    /**
     * Runs test classes in a JVM of their own.
     *
     * @param libraries the folder of the interposer
     * @param folder for the JVM's files
     * @param seconds how long it may take
     * @param properties system properties of the JVM, as options
     * @param cases the classes
     * @return a test for each test of theirs
     */
    public static Stream<DynamicTest> run(
            Path libraries, Path folder, int seconds, List<String> properties, Class<?>... cases)
            throws IOException, InterruptedException {
        List<String> java = new ArrayList<>();
        java.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        // In the virtual machine those that its emulated processor needs.
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> option.startsWith("-XX:") && !option.startsWith("-XX:ErrorFile"))
                .forEach(java::add);
        java.addAll(properties);
        return TestProcess.run(
                folder,
                java,
                libraries,
                seconds,
                Stream.of(cases).map(Class::getName).toList());
    }
}
