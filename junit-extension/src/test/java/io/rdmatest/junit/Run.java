package io.rdmatest.junit;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.OutputDirectoryCreator;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.reporting.FileEntry;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** Runs fixtures and tells how they went. */
public record Run(EngineExecutionResults results) {

    /** Runs fixtures that ask for no device, on a host that need not have one. */
    public static Run withoutDevice(Class<?> fixture, String... keysAndValues) {
        return of(
                fixture,
                builder(fixture, keysAndValues).configurationParameter(RdmaConfiguration.REQUIRE_DEVICE, "false"));
    }

    public static Run of(Class<?> fixture, String... keysAndValues) {
        return of(fixture, builder(fixture, keysAndValues));
    }

    /** Runs several fixtures in one run. */
    public static Run ofAll(Class<?>... fixtures) {
        return new Run(builder(fixtures[0])
                .selectors(
                        Stream.of(fixtures).map(DiscoverySelectors::selectClass).toArray(DiscoverySelector[]::new))
                .execute());
    }

    private static Run of(Class<?> fixture, EngineTestKit.Builder builder) {
        return new Run(builder.selectors(selectClass(fixture)).execute());
    }

    private static EngineTestKit.Builder builder(Class<?> fixture, String... keysAndValues) {
        // A fixture's tests run in turn, however those run that look at them.
        EngineTestKit.Builder builder = EngineTestKit.engine("junit-jupiter")
                .outputDirectoryCreator(new Folder())
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
                // As strict as this project's own builds; a stranger's project has less by default.
                .configurationParameter(RdmaConfiguration.AUDIT, "kernel")
                .configurationParameter(RdmaConfiguration.COUNTERS, "fail");
        for (int i = 0; i < keysAndValues.length; i += 2) {
            builder.configurationParameter(keysAndValues[i], keysAndValues[i + 1]);
        }
        return builder;
    }

    public List<String> succeeded() {
        return results.testEvents().succeeded().stream()
                .map(event -> event.getTestDescriptor().getDisplayName())
                .sorted()
                .toList();
    }

    /** Fails with what failed, if anything did. */
    public Run allSucceeded(int tests) {
        results.allEvents().failed().stream().findFirst().ifPresent(event -> {
            throw new AssertionError(
                    event.toString(),
                    event.getRequiredPayload(TestExecutionResult.class)
                            .getThrowable()
                            .orElse(null));
        });
        if (succeeded().size() != tests) {
            throw new AssertionError(tests + " tests were to succeed, and these did: " + succeeded());
        }
        return this;
    }

    public List<String> failed() {
        return results.testEvents().failed().stream()
                .map(event -> event.getTestDescriptor().getDisplayName())
                .sorted()
                .toList();
    }

    /** Returns the failures of all tests and containers. */
    public List<Throwable> failures() {
        return results.allEvents().failed().stream()
                .map(event -> event.getRequiredPayload(TestExecutionResult.class)
                        .getThrowable()
                        .orElseThrow())
                .toList();
    }

    /** Returns the failure of the only test or container with this method name or display name. */
    public Throwable failure(String name) {
        Event event = results.allEvents().finished().stream()
                .filter(e -> isNamed(e, name))
                .findFirst()
                .orElseThrow(() -> new AssertionError(name + " did not finish; there are "
                        + results.allEvents().finished().stream()
                                .map(e -> e.getTestDescriptor().getDisplayName())
                                .toList()));
        Optional<Throwable> failure =
                event.getRequiredPayload(TestExecutionResult.class).getThrowable();
        return failure.orElseThrow(() -> new AssertionError(name + " did not fail"));
    }

    /** Returns the first line of a failure's message, which is its title in reports; empty if it has none. */
    public static String firstLine(Throwable failure) {
        return String.valueOf(failure.getMessage()).lines().findFirst().orElse("");
    }

    /** Returns why the test or container was skipped. */
    public String skipReason(String name) {
        return results.allEvents().skipped().stream()
                .filter(e -> isNamed(e, name))
                .findFirst()
                .orElseThrow(() -> new AssertionError(name + " was not skipped"))
                .getRequiredPayload(String.class);
    }

    /** Returns the entries that tests and containers published, in order. */
    public List<Map<String, String>> entries() {
        return results.allEvents().reportingEntryPublished().stream()
                .map(event -> event.getRequiredPayload(org.junit.platform.engine.reporting.ReportEntry.class)
                        .getKeyValuePairs())
                .toList();
    }

    /** Returns the published files of this name, in order. */
    public List<String> files(String name) {
        return results.allEvents().fileEntryPublished().stream()
                .map(event -> event.getRequiredPayload(FileEntry.class).getPath())
                .filter(path -> path.endsWith(name))
                .map(path -> {
                    try {
                        return Files.readString(path);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                })
                .toList();
    }

    /** Where the published files of a run of fixtures go; made when there is one. */
    private static final class Folder implements OutputDirectoryCreator {
        private @Nullable Path root;

        @Override
        public synchronized Path getRootDirectory() {
            if (root == null) {
                try {
                    root = Files.createTempDirectory(
                            Path.of("target").toFile().isDirectory()
                                    ? Path.of("target")
                                    : Path.of(System.getProperty("java.io.tmpdir")),
                            "fixtures");
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
            return root;
        }

        @Override
        public Path createOutputDirectory(TestDescriptor test) throws IOException {
            return Files.createTempDirectory(getRootDirectory(), "test");
        }
    }

    private static boolean isNamed(Event event, String name) {
        String displayed = event.getTestDescriptor().getDisplayName();
        return displayed.equals(name) || displayed.equals(name + "()") || displayed.startsWith(name + "(");
    }
}
