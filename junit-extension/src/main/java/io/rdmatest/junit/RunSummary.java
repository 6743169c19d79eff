package io.rdmatest.junit;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Tells at the end of a run what a reader of green numbers would miss: what was skipped, where
 * {@link RdmaConfiguration#SKIPS} is {@code list} or {@code fail}, and which known deviations passed.
 *
 * <p>Found by every launcher of the JUnit Platform. It sees all tests of the plan, and so also those that JUnit's
 * {@code @Disabled} or another project's condition skips, of which an extension hears nothing.
 */
public final class RunSummary implements TestExecutionListener {

    private final PrintStream out;
    private final Map<String, List<String>> skipped = new TreeMap<>();
    private final List<String> stale = new ArrayList<>();
    private @Nullable TestPlan plan;

    /** Creates a listener that prints on the error stream. */
    public RunSummary() {
        this(System.err);
    }

    RunSummary(PrintStream out) {
        this.out = out;
    }

    @Override
    public synchronized void testPlanExecutionStarted(TestPlan testPlan) {
        plan = testPlan;
        skipped.clear();
        stale.clear();
    }

    @Override
    public synchronized void executionSkipped(TestIdentifier identifier, String reason) {
        TestPlan tests = plan;
        if (tests == null) {
            return;
        }
        // A class that is skipped takes its tests with it, and JUnit reports only the class.
        List<TestIdentifier> below = tests.getDescendants(identifier).stream()
                .filter(descendant ->
                        descendant.isTest() || descendant.getSource().orElse(null) instanceof MethodSource)
                .toList();
        for (TestIdentifier test : below.isEmpty() ? List.of(identifier) : below) {
            add(tests, test, reason);
        }
    }

    @Override
    public synchronized void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
        TestPlan tests = plan;
        if (tests != null && result.getStatus() == TestExecutionResult.Status.ABORTED) {
            add(
                    tests,
                    identifier,
                    result.getThrowable().map(Throwable::getMessage).orElse(""));
        }
    }

    @Override
    public synchronized void reportingEntryPublished(TestIdentifier identifier, ReportEntry entry) {
        Map<String, String> facts = entry.getKeyValuePairs();
        TestPlan tests = plan;
        if (tests != null && ReportKeys.PASSED_UNEXPECTEDLY.equals(facts.get(ReportKeys.DEVIATION_OUTCOME))) {
            stale.add(where(tests, identifier) + ": " + facts.get(ReportKeys.DEVIATION_SOURCE) + " says "
                    + facts.get(ReportKeys.DEVIATION_REASON));
        }
    }

    @Override
    public synchronized void testPlanExecutionFinished(TestPlan testPlan) {
        String mode = testPlan.getConfigurationParameters()
                .get(RdmaConfiguration.SKIPS)
                .orElse("allow")
                .strip()
                .toLowerCase(Locale.ROOT);
        StringBuilder text = new StringBuilder();
        int count = skipped.values().stream().mapToInt(List::size).sum();
        if (mode.equals("list") || mode.equals("fail") && count > 0) {
            text.append(RdmaConfiguration.SKIPS)
                    .append('=')
                    .append(mode)
                    .append(": ")
                    .append(count)
                    .append(count == 1 ? " test was skipped" : " tests were skipped")
                    .append(mode.equals("fail") ? " that are out of the extension's reach" : "")
                    .append(System.lineSeparator());
            skipped.forEach((reason, tests) -> {
                text.append("  ")
                        .append(reason)
                        .append(": ")
                        .append(tests.size())
                        .append(System.lineSeparator());
                tests.forEach(test -> text.append("    ").append(test).append(System.lineSeparator()));
            });
        }
        if (!stale.isEmpty()) {
            text.append(stale.size())
                    .append(stale.size() == 1 ? " test passed" : " tests passed")
                    .append(" although a deviations file knows that it fails; narrow or remove the entry:")
                    .append(System.lineSeparator());
            stale.forEach(test -> text.append("    ").append(test).append(System.lineSeparator()));
        }
        if (!text.isEmpty()) {
            out.print(text);
            out.flush();
        }
        plan = null;
    }

    private void add(TestPlan tests, TestIdentifier test, @Nullable String message) {
        String said = message == null ? "" : message;
        skipped.computeIfAbsent(SkipReason.classOf(said), key -> new ArrayList<>())
                .add(where(tests, test) + ": "
                        + SkipReason.detailOf(said).lines().findFirst().orElse(""));
    }

    private static String where(TestPlan plan, TestIdentifier test) {
        return plan.getParent(test)
                        .filter(parent -> parent.getParentIdObject().isPresent())
                        .map(parent -> where(plan, parent) + " > ")
                        .orElse("")
                + test.getDisplayName();
    }
}
