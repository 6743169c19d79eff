package io.rdmatest.junit;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.FabricDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Six thousand connections with a reset of the device in the middle leave nothing behind, and the audit takes nothing for a leak.
 * The reset is made by a library in the place of libibverbs (harness-core/src/test/native/interposer.c), in a JVM of its own.
 */
@Tag("soak")
@ExclusiveDevice
class ResetCyclesIT {

    private static final Path SCRIPT = Path.of("../harness-core/src/test/native/interposer.sh");
    private static final int SECONDS = 1200;
    private static final String PER_STAGE = "rdma.cycles.stage";

    @Test
    @Timeout(value = SECONDS + 120, unit = TimeUnit.SECONDS)
    void leaveNothingBehind(@TempDir Path folder) throws Exception {
        String ignored = Command.run("sh", SCRIPT.toString(), folder.toString());
        Path said = folder.resolve("said");
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> option.startsWith("-XX:") && !option.startsWith("-XX:ErrorFile"))
                .forEach(command::add);
        command.addAll(List.of(
                "--enable-native-access=ALL-UNNAMED",
                "-D" + PER_STAGE + "=" + System.getProperty(PER_STAGE, "500"),
                "-cp",
                System.getProperty("java.class.path"),
                InAnotherJvm.class.getName()));
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile());
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
        builder.environment().put("LD_LIBRARY_PATH", folder.toString());
        Process process = builder.start();
        try {
            boolean ended = process.waitFor(SECONDS, TimeUnit.SECONDS);
            String text = Files.readString(said);
            System.out.println(text);
            assertThat(ended).as("it ends: " + text).isTrue();
            assertThat(process.exitValue()).as(text).isZero();
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    /** The JVM with the interposer. */
    static final class InAnotherJvm {
        private InAnotherJvm() {}

        /** Ends with 0 if the fixture succeeded, under the strictest audit. */
        public static void main(String[] arguments) {
            int status = 1;
            try {
                Run run = Run.of(Fixture.class).allSucceeded(1);
                run.entries().forEach(System.out::println);
                run.files("growth.txt").forEach(System.out::println);
                status = 0;
            } catch (AssertionError e) {
                e.printStackTrace();
            }
            System.exit(status);
        }
    }

    /** Run by that JVM. */
    static final class Fixture {
        private static final MethodHandle SET = Linker.nativeLinker()
                .downcallHandle(
                        SymbolLookup.libraryLookup("libibverbs.so.1", Arena.global())
                                .findOrThrow("interposer_set"),
                        FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));

        @ExclusiveDevice
        @RdmaTest(timeout = "20 min")
        void throughAReset(FabricDevice device, RdmaReport report) throws Exception {
            // To make the first call takes so long that a whole stage would end meanwhile.
            set("call_error", 0);
            new LastingCycles(device.address(), Integer.getInteger(PER_STAGE))
                    .runThroughReset(
                            report,
                            () -> {
                                set("destroy_error", 5);
                                set("call_error", 5);
                            },
                            () -> {
                                set("destroy_error", 0);
                                set("call_error", 0);
                            });
        }

        private static void set(String setting, long value) {
            try (Arena arena = Arena.ofConfined()) {
                int result = (int) SET.invokeExact(arena.allocateFrom(setting), value);
                assertThat(result).isZero();
            } catch (RuntimeException | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
