package io.rdmatest.arm64;

import io.rdmatest.internal.CLayouts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * What compiles and runs code for 64-bit Arm on this host: a compiler, QEMU's emulation of a processor, and a folder with Debian's
 * JDK and libraries.
 *
 * @param root the folder
 */
record Arm64(String root) {

    private static final Path SCRIPT = Path.of("../fabric-config/rdma-jdk/lib/arm64.sh");
    private static final String EMULATOR = "qemu-aarch64-static";

    /** What a script printed, and how it ended. */
    private record Answer(int status, String text) {}

    /** Skips the tests of a class where something is missing, and says how to get it. */
    static final class IsThere implements ExecutionCondition {

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            // Of the class; a test of it is asked for, too.
            if (context.getTestMethod().isPresent()) {
                return ConditionEvaluationResult.enabled("the class is");
            }
            Answer answer = ask();
            return answer.status() == 0
                    ? ConditionEvaluationResult.enabled("arm64 is in " + answer.text())
                    : ConditionEvaluationResult.disabled(
                            "no code for 64-bit Arm runs here: " + answer.text().replaceFirst("^rdma-vm: ", ""));
        }
    }

    /** Returns what {@link IsThere} found. */
    static Arm64 find() {
        return new Arm64(ask().text());
    }

    private static Answer ask() {
        try {
            Process process = new ProcessBuilder("bash", SCRIPT.toString(), "root")
                    .redirectErrorStream(true)
                    .start();
            try (var output = process.getInputStream()) {
                String text = new String(output.readAllBytes(), StandardCharsets.UTF_8).strip();
                if (!process.waitFor(20, TimeUnit.SECONDS)) {
                    throw new IllegalStateException(SCRIPT + " did not end: " + text);
                }
                return new Answer(process.exitValue(), text);
            } finally {
                process.destroyForcibly();
            }
        } catch (IOException e) {
            throw new IllegalStateException("cannot find out whether code for 64-bit Arm runs here", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    /** Returns what starts its JVM. To compile and to verify costs more here than it saves: together half of the time. */
    List<String> java() {
        return List.of(
                EMULATOR,
                "-L",
                root,
                root + "/usr/lib/jvm/java-25-openjdk-arm64/bin/java",
                "-XX:+UseSerialGC",
                "-Xint",
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:-BytecodeVerificationRemote");
    }

    CLayouts.Compiler compiler() {
        return new CLayouts.Compiler(
                List.of("aarch64-linux-gnu-gcc", "--sysroot=" + root), List.of(EMULATOR, "-L", root));
    }
}
