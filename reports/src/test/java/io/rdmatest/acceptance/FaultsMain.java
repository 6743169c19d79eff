package io.rdmatest.acceptance;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.fabric.fault.NetworkFault;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.reporting.FileEntry;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherConfig;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** Runs {@link FaultsOnTwoNodes} in the machine that is node a, one line for what became of each test. */
final class FaultsMain {

    private FaultsMain() {}

    /**
     * Runs the tests, or holds a fault until it is killed.
     *
     * @param arguments none, names of tests, or {@code hold}
     */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        if (arguments.length > 0 && arguments[0].equals("hold")) {
            hold();
        }
        LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                .selectors(
                        arguments.length == 0
                                ? List.of(selectClass(FaultsOnTwoNodes.class))
                                : Stream.of(FaultsOnTwoNodes.class.getDeclaredMethods())
                                        .filter(method -> List.of(arguments).contains(method.getName()))
                                        .map(method -> selectMethod(FaultsOnTwoNodes.class, method))
                                        .toList())
                .configurationParameter("rdma.fabric", "microvm-2")
                .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "false")
                .configurationParameter(
                        "junit.platform.reporting.output.dir",
                        Files.createTempDirectory("faults").toString())
                .build();
        // Nothing but what is printed leaves the machine: no report, no journal.
        LauncherConfig config = LauncherConfig.builder()
                .enableTestExecutionListenerAutoRegistration(false)
                .build();
        LauncherFactory.create(config).execute(request, new Printer());
    }

    private static void hold() throws InterruptedException {
        Fabric fabric = Fabric.load("microvm-2");
        for (Node node : fabric.nodes()) {
            Faults.on(fabric).network(node, NetworkFault.loss(1), Duration.ofMinutes(30));
        }
        System.out.println("holding");
        // Killed long before.
        boolean ignored = new CountDownLatch(1).await(2, TimeUnit.MINUTES);
    }

    /** Says what becomes of each test. */
    static final class Printer implements TestExecutionListener {

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
