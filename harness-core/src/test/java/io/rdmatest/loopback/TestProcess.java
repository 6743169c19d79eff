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
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;

/** A JVM of its own for test classes: with other libraries, or of another architecture. */
public final class TestProcess {

    private TestProcess() {}

    /**
     * Runs test classes in a JVM of their own.
     *
     * @param folder for its files
     * @param java the program that starts the JVM, what comes before it, and options of the JVM
     * @param libraries the folder of libraries that take the place of the installed ones; null for these
     * @param seconds how long it may take
     * @param cases the names of the classes
     * @return a test for each test of theirs
     */
    public static Stream<DynamicTest> run(
            Path folder, List<String> java, @Nullable Path libraries, int seconds, List<String> cases)
            throws IOException, InterruptedException {
        Path results = folder.resolve("results");
        Path output = folder.resolve("output");
        List<String> command = new ArrayList<>(java);
        command.addAll(List.of(
                "-Xshare:auto",
                "--enable-native-access=ALL-UNNAMED",
                "-XX:ErrorFile=target/hs_err_pid%p.log",
                "-cp",
                System.getProperty("java.class.path"),
                LoopbackRun.class.getName(),
                results.toString()));
        command.addAll(cases);
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
        if (libraries != null) {
            builder.environment().put("LD_LIBRARY_PATH", libraries.toString());
        }
        Process process = builder.start();
        String end;
        try {
            end = process.waitFor(seconds, TimeUnit.SECONDS)
                    ? "the JVM ended with " + process.exitValue()
                    : "the JVM did not end within " + seconds + " s";
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
