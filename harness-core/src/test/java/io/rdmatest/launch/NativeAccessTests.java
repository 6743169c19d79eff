package io.rdmatest.launch;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.verbs.RdmaDevice;
import java.io.File;
import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a JVM says about native access, on the class path and on the module path. */
@Timeout(60)
class NativeAccessTests {

    private static final String CLASS_PATH = "class path";

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"class path, ALL-UNNAMED", "module path, io.rdmatest.core"})
    void aMissingOptionIsNamedOnce(String path, String module) throws Exception {
        Said said = run(path);
        assertThat(said.error())
                .containsOnlyOnce("--enable-native-access=")
                .containsOnlyOnce("--enable-native-access=" + module + " ");
        assertThat(said.output()).hasSize(2).doesNotContain("denied");
    }

    @ParameterizedTest
    @CsvSource({"class path, ALL-UNNAMED", "module path, io.rdmatest.core"})
    void nothingIsSaidWhereTheOptionIsGiven(String path, String module) throws Exception {
        Said said = run(path, "--enable-native-access=" + module, "--illegal-native-access=deny");
        assertThat(said.error()).isEmpty();
        assertThat(said.output()).hasSize(2).noneMatch(line -> line.startsWith("denied"));
    }

    @ParameterizedTest
    @CsvSource({"class path, ALL-UNNAMED", "module path, io.rdmatest.core"})
    void whereItIsDeniedEachCallNamesTheOption(String path, String module) throws Exception {
        Said said = run(path, "--illegal-native-access=deny");
        assertThat(said.output())
                .hasSize(2)
                .allMatch(line -> line.startsWith(
                        "denied: the JVM denies calls to librdmacm and libibverbs: start it with --enable-native-access="
                                + module + " "));
        assertThat(said.error()).isEmpty();
    }

    @Test
    void theModuleExportsItsPublicPackagesOnly() {
        ModuleLayer layer = ModuleLayer.boot()
                .defineModulesWithOneLoader(
                        ModuleLayer.boot()
                                .configuration()
                                .resolve(
                                        ModuleFinder.of(modulePath().toArray(Path[]::new)),
                                        ModuleFinder.of(),
                                        List.of("io.rdmatest.core")),
                        null);
        assertThat(layer.findModule("io.rdmatest.core")
                        .orElseThrow()
                        .getDescriptor()
                        .exports())
                .noneMatch(ModuleDescriptor.Exports::isQualified)
                .extracting(ModuleDescriptor.Exports::source)
                .containsExactlyInAnyOrder(
                        "io.rdmatest",
                        "io.rdmatest.cm",
                        "io.rdmatest.connect",
                        "io.rdmatest.peer",
                        "io.rdmatest.rsocket",
                        "io.rdmatest.stream",
                        "io.rdmatest.verbs",
                        "io.rdmatest.wire");
    }

    private record Said(List<String> output, String error) {}

    private Said run(String path, String... options) throws IOException, InterruptedException {
        String core = placeOf(RdmaDevice.class).toString();
        String program = placeOf(AskForDevices.class).toString();
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of("-Xshare:auto", "-XX:TieredStopAtLevel=1"));
        command.addAll(List.of(options));
        if (path.equals(CLASS_PATH)) {
            command.addAll(List.of("-cp", core + ":" + program));
        } else {
            command.addAll(List.of(
                    "-p",
                    modulePath().map(Path::toString).collect(Collectors.joining(File.pathSeparator)),
                    "--add-modules",
                    "io.rdmatest.core",
                    "-cp",
                    program));
        }
        command.add(AskForDevices.class.getName());
        Path output = folder.resolve("output");
        Path error = folder.resolve("error");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectOutput(output.toFile()).redirectError(error.toFile());
        // Options from the environment are announced on standard error.
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
        Process process = builder.start();
        try {
            assertThat(process.waitFor(30, TimeUnit.SECONDS))
                    .as("the JVM ended")
                    .isTrue();
        } finally {
            process.destroyForcibly().waitFor();
        }
        assertThat(process.exitValue())
                .as(Files.readString(output, UTF_8) + Files.readString(error, UTF_8))
                .isZero();
        return new Said(Files.readAllLines(output, UTF_8), Files.readString(error, UTF_8));
    }

    /** The module, and those that it requires. */
    private static Stream<Path> modulePath() {
        return Stream.of(RdmaDevice.class, ObjectMapper.class, JsonFactory.class, JsonProperty.class)
                .map(NativeAccessTests::placeOf);
    }

    private static Path placeOf(Class<?> type) {
        try {
            return Path.of(
                    type.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new AssertionError(e);
        }
    }
}
