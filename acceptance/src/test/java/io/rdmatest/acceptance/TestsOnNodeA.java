package io.rdmatest.acceptance;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.reporting.FileEntry;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs tests in the machine that is node a of two, one line for what became of each. */
final class TestsOnNodeA {

    private TestsOnNodeA() {}

    /** Runs tests with keys of the configuration besides those that name the fabric. */
    static void run(List<? extends DiscoverySelector> tests, Map<String, String> keys) throws IOException {
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(tests)
                .configurationParameters(keys)
                .configurationParameter("rdma.fabric", "microvm-2")
                .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "false")
                .configurationParameter(
                        "junit.platform.reporting.output.dir",
                        Files.createTempDirectory("tests").toString())
                .build();
        // Nothing but what is printed leaves the machine: no report, no journal.
        LauncherConfig config = LauncherConfig.builder()
                .enableTestExecutionListenerAutoRegistration(false)
                .build();
        LauncherFactory.create(config).execute(request, new Printer());
    }

    /** Says what becomes of each test. */
    private static final class Printer implements TestExecutionListener {

        private final Map<TestIdentifier, Long> began = new ConcurrentHashMap<>();

        @Override
        public void executionStarted(TestIdentifier test) {
            if (test.isTest()) {
                System.out.println("begins " + name(test));
            }
            began.put(test, System.nanoTime());
        }

        @Override
        public void executionSkipped(TestIdentifier test, String reason) {
            System.out.println("SKIPPED " + name(test) + ": " + reason);
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            long millis = (System.nanoTime() - began.getOrDefault(test, System.nanoTime())) / 1_000_000;
            if (test.isTest() || result.getThrowable().isPresent()) {
                System.out.printf("%s %s (%d ms)%n", result.getStatus(), name(test), millis);
            }
            result.getThrowable().ifPresent(failure -> failure.printStackTrace(System.out));
        }

        @Override
        public void reportingEntryPublished(TestIdentifier test, ReportEntry entry) {
            if (String.valueOf(entry.getKeyValuePairs().get("rdma.parameter")).startsWith("fault on ")) {
                System.out.println("  published: " + entry.getKeyValuePairs());
            }
        }

        @Override
        public void fileEntryPublished(TestIdentifier test, FileEntry file) {
            System.out.println("  published: " + file.getPath().getFileName());
        }

        private static String name(TestIdentifier test) {
            return test.getDisplayName().replaceFirst("\\(.*", "");
        }
    }
}
