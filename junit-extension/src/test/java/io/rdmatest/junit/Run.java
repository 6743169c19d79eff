package io.rdmatest.junit;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.testkit.engine.EngineExecutionResults;
import org.junit.platform.testkit.engine.EngineTestKit;
import org.junit.platform.testkit.engine.Event;

/** Runs fixtures and tells how they went. */
record Run(EngineExecutionResults results) {

    /** Runs fixtures that ask for no device, on a host that need not have one. */
    static Run withoutDevice(Class<?> fixture, String... keysAndValues) {
        return of(
                fixture,
                builder(fixture, keysAndValues).configurationParameter(RdmaConfiguration.REQUIRE_DEVICE, "false"));
    }

    static Run of(Class<?> fixture, String... keysAndValues) {
        return of(fixture, builder(fixture, keysAndValues));
    }

    private static Run of(Class<?> fixture, EngineTestKit.Builder builder) {
        return new Run(builder.selectors(selectClass(fixture)).execute());
    }

    private static EngineTestKit.Builder builder(Class<?> fixture, String... keysAndValues) {
        EngineTestKit.Builder builder = EngineTestKit.engine("junit-jupiter");
        for (int i = 0; i < keysAndValues.length; i += 2) {
            builder.configurationParameter(keysAndValues[i], keysAndValues[i + 1]);
        }
        return builder;
    }

    List<String> succeeded() {
        return results.testEvents().succeeded().stream()
                .map(event -> event.getTestDescriptor().getDisplayName())
                .sorted()
                .toList();
    }

    List<String> failed() {
        return results.testEvents().failed().stream()
                .map(event -> event.getTestDescriptor().getDisplayName())
                .sorted()
                .toList();
    }

    /** Returns the failure of the only test or container with this method name or display name. */
    Throwable failure(String name) {
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

    /** Returns why the test or container was skipped. */
    String skipReason(String name) {
        return results.allEvents().skipped().stream()
                .filter(e -> isNamed(e, name))
                .findFirst()
                .orElseThrow(() -> new AssertionError(name + " was not skipped"))
                .getRequiredPayload(String.class);
    }

    /** Returns the entries that tests and containers published, in order. */
    List<Map<String, String>> entries() {
        return results.allEvents().reportingEntryPublished().stream()
                .map(event -> event.getRequiredPayload(org.junit.platform.engine.reporting.ReportEntry.class)
                        .getKeyValuePairs())
                .toList();
    }

    private static boolean isNamed(Event event, String name) {
        String displayed = event.getTestDescriptor().getDisplayName();
        return displayed.equals(name) || displayed.equals(name + "()") || displayed.startsWith(name + "(");
    }
}
