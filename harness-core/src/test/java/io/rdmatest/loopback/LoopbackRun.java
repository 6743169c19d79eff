package io.rdmatest.loopback;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherConstants;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs test classes in this JVM for {@link TestProcess}, and writes a line of JSON to a file for each test that began or ended. */
final class LoopbackRun implements TestExecutionListener {

    private static final ObjectMapper JSON = new ObjectMapper();

    private final Path results;

    private LoopbackRun(Path results) {
        this.results = results;
    }

    /** Takes the file, and the names of the classes. */
    public static void main(String[] arguments) {
        DiscoverySelector[] classes =
                Arrays.stream(arguments).skip(1).map(name -> selectClass(name)).toArray(DiscoverySelector[]::new);
        LauncherFactory.create()
                .execute(
                        LauncherDiscoveryRequestBuilder.request()
                                .selectors(classes)
                                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                                .configurationParameter(LauncherConstants.CAPTURE_STDOUT_PROPERTY_NAME, "false")
                                .build(),
                        new LoopbackRun(Path.of(arguments[0])));
        // Threads that a failed test left behind do not keep this JVM.
        System.exit(0);
    }

    @Override
    public void executionStarted(TestIdentifier test) {
        if (test.isTest()) {
            write(line(test, "began"));
        }
    }

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        write(line(test, "aborted").put("text", reason));
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        if (!test.isTest() && result.getStatus() == TestExecutionResult.Status.SUCCESSFUL) {
            return;
        }
        StringWriter text = new StringWriter();
        result.getThrowable().ifPresent(thrown -> thrown.printStackTrace(new PrintWriter(text)));
        String ofOurs = text.toString()
                .lines()
                .filter(line -> !line.startsWith("\tat java.") && !line.startsWith("\tat org.junit."))
                .collect(Collectors.joining("\n"));
        String outcome = switch (result.getStatus()) {
            case SUCCESSFUL -> "passed";
            case ABORTED -> "aborted";
            case FAILED -> "failed";
        };
        write(line(test, outcome).put("text", ofOurs));
    }

    private static ObjectNode line(TestIdentifier test, String outcome) {
        return JSON.createObjectNode()
                .put("id", test.getUniqueId())
                .put("name", test.getLegacyReportingName())
                .put("outcome", outcome);
    }

    private void write(ObjectNode line) {
        try {
            Files.writeString(
                    results,
                    JSON.writeValueAsString(line) + "\n",
                    StandardOpenOption.CREATE,
                    StandardOpenOption.APPEND,
                    StandardOpenOption.DSYNC);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
