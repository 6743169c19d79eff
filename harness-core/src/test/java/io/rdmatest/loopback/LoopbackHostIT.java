package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.fail;
import static org.junit.jupiter.api.Assumptions.abort;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What hardware answers and soft-RoCE never does, from a library in the place of libibverbs.
 *
 * <p>Each class of test cases has a JVM of its own: a JVM that has loaded one libibverbs can't load another.
 */
@Timeout(180)
class LoopbackHostIT {

    @TempDir
    static Path libraries;

    @TempDir
    Path folder;

    @BeforeAll
    static void compile() throws Exception {
        LoopbackLibrary.compileInto(libraries);
    }

    @TestFactory
    Stream<DynamicTest> messagesAreLoopedBack() throws Exception {
        return run(DataPathTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> aResetReleasesEverything() throws Exception {
        return run(ResetTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> errorsOfTheDataPathAreToldAsTheyAre() throws Exception {
        return run(DataPathErrorsTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> portsAndDevicesOfOtherKinds() throws Exception {
        return run(PortsTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> threadsOnOneChannelDoNotDelayEachOther() throws Exception {
        return run(CompletionChannelTestCase.class);
    }

    @TestFactory
    Stream<DynamicTest> noMessageCostsAByteOfTheHeap() throws Exception {
        // The last compiler alone, which is waited for: the errno of a call costs the others an object.
        return run(AllocationTestCase.class, "-XX:-TieredCompilation", "-XX:-BackgroundCompilation");
    }

    private Stream<DynamicTest> run(Class<?> cases) throws IOException, InterruptedException {
        return run(cases, "-XX:TieredStopAtLevel=1");
    }

    private Stream<DynamicTest> run(Class<?> cases, String... options) throws IOException, InterruptedException {
        Path results = folder.resolve("results");
        Path output = folder.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xshare:auto",
                        "--enable-native-access=ALL-UNNAMED",
                        "-XX:ErrorFile=target/hs_err_pid%p.log",
                        "-cp",
                        System.getProperty("java.class.path"),
                        LoopbackRun.class.getName(),
                        results.toString(),
                        cases.getName())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile());
        builder.command().addAll(1, List.of(options));
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
        builder.environment().put("LD_LIBRARY_PATH", libraries.toString());
        Process process = builder.start();
        String end;
        try {
            end = process.waitFor(120, TimeUnit.SECONDS)
                    ? "the JVM ended with " + process.exitValue()
                    : "the JVM did not end within 120 s";
        } finally {
            process.destroyForcibly().waitFor();
        }
        String said = Files.readString(output, StandardCharsets.UTF_8);
        assertThat(results).as(end + ": " + said).exists();
        Map<String, JsonNode> byTest = new LinkedHashMap<>();
        for (String line : Files.readAllLines(results, StandardCharsets.UTF_8)) {
            JsonNode result = new ObjectMapper().readTree(line);
            byTest.put(result.path("id").asText(), result);
        }
        Files.delete(results);
        assertThat(byTest).as(end + ": " + said).isNotEmpty();
        return byTest.values().stream()
                .map(result -> DynamicTest.dynamicTest(
                        result.path("name").asText(),
                        () -> judge(
                                result.path("outcome").asText(),
                                result.path("text").asText(),
                                end + ": " + said)));
    }

    private static void judge(String outcome, String text, String end) {
        switch (outcome) {
            case "passed" -> {}
            case "aborted" -> abort(text);
            case "failed" -> fail(text);
            default -> fail("the test began and did not end: " + end);
        }
    }
}
