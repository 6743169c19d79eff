package io.rdmatest.summary;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Prints two lists at the end of a run: the skipped tests, if {@code rdma.skips} is {@code list} or {@code fail}, and
 * the known deviations that passed.
 *
 * <p>Every launcher of the JUnit Platform finds it. It reads the entries that the extension publishes. It sees all
 * tests of the plan, including those that {@code @Disabled} or another project's condition skips, which an extension
 * does not see.
 */
public final class RunSummary implements TestExecutionListener {

    // Neither this jar nor the extension's module can depend on the other: the extension's tests compare the constants.
    private static final String SKIPS = "rdma.skips";
    private static final String DEVIATION_OUTCOME = "rdma.deviation.outcome";
    private static final String DEVIATION_REASON = "rdma.deviation.reason";
    private static final String DEVIATION_SOURCE = "rdma.deviation.source";
    private static final String PASSED_UNEXPECTEDLY = "passed unexpectedly";
    private static final String NO_CLASS = "without a class of reason";
    private static final List<String> CLASSES = List.of(
            "unsupported by the device",
            "unsupported by the kernel",
            "not permitted",
            "peer absent",
            "not selected",
            "known deviation");

    private final PrintStream out;
    private final Map<String, List<String>> skipped = new TreeMap<>();
    private final List<String> stale = new ArrayList<>();

    /** The tests that have started or were skipped. The other tests belong to a class that was aborted. */
    private final Set<String> begun = new HashSet<>();

    private @Nullable TestPlan plan;

    /** Creates a listener that prints on the error stream. */
    public RunSummary() {
        this(System.err);
    }

    /**
     * Creates a listener.
     *
     * @param out where it prints
     */
    public RunSummary(PrintStream out) {
        this.out = out;
    }

    @Override
    public synchronized void testPlanExecutionStarted(TestPlan testPlan) {
        plan = testPlan;
        skipped.clear();
        stale.clear();
        begun.clear();
    }

    @Override
    public synchronized void executionSkipped(TestIdentifier identifier, String reason) {
        TestPlan tests = plan;
        if (tests == null) {
            return;
        }
        addWithTests(tests, identifier, reason);
    }

    @Override
    public synchronized void executionStarted(TestIdentifier identifier) {
        begun.add(identifier.getUniqueId());
    }

    @Override
    public synchronized void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
        TestPlan tests = plan;
        if (tests != null && result.getStatus() == TestExecutionResult.Status.ABORTED) {
            addWithTests(
                    tests,
                    identifier,
                    result.getThrowable().map(Throwable::getMessage).orElse(""));
        }
    }

    @Override
    public synchronized void reportingEntryPublished(TestIdentifier identifier, ReportEntry entry) {
        Map<String, String> facts = entry.getKeyValuePairs();
        TestPlan tests = plan;
        if (tests != null && PASSED_UNEXPECTEDLY.equals(facts.get(DEVIATION_OUTCOME))) {
            stale.add(where(tests, identifier) + ": " + facts.get(DEVIATION_SOURCE) + " says "
                    + facts.get(DEVIATION_REASON));
        }
    }

    @Override
    public synchronized void testPlanExecutionFinished(TestPlan testPlan) {
        String mode = testPlan.getConfigurationParameters()
                .get(SKIPS)
                .orElse("allow")
                .strip()
                .toLowerCase(Locale.ROOT);
        StringBuilder text = new StringBuilder();
        int count = skipped.values().stream().mapToInt(List::size).sum();
        if (mode.equals("list") || mode.equals("fail") && count > 0) {
            text.append(SKIPS)
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

    /** Adds a skipped or aborted class with all its tests: JUnit reports only the class. */
    private void addWithTests(TestPlan tests, TestIdentifier identifier, @Nullable String message) {
        begun.add(identifier.getUniqueId());
        List<TestIdentifier> below = tests.getDescendants(identifier).stream()
                .filter(descendant ->
                        descendant.isTest() || descendant.getSource().orElse(null) instanceof MethodSource)
                .filter(descendant -> begun.add(descendant.getUniqueId()))
                .toList();
        for (TestIdentifier test : below.isEmpty() ? List.of(identifier) : below) {
            add(tests, test, message);
        }
    }

    private void add(TestPlan tests, TestIdentifier test, @Nullable String message) {
        String said = stripped(message == null ? "" : message);
        String reason = CLASSES.stream()
                .filter(text -> said.startsWith(text + ": "))
                .findFirst()
                .orElse(NO_CLASS);
        String detail = reason.equals(NO_CLASS) ? said : said.substring(reason.length() + 2);
        skipped.computeIfAbsent(reason, key -> new ArrayList<>())
                .add(where(tests, test) + ": " + detail.lines().findFirst().orElse(""));
    }

    /** Removes the texts that JUnit puts before the message of an assumption and the reason of an annotation. */
    private static String stripped(String message) {
        int arrow = message.lastIndexOf(" ==> ");
        String text = arrow < 0 ? message : message.substring(arrow + " ==> ".length());
        return text.startsWith("Assumption failed: ") ? text.substring("Assumption failed: ".length()) : text;
    }

    private static String where(TestPlan plan, TestIdentifier test) {
        return plan.getParent(test)
                        .filter(parent -> parent.getParentIdObject().isPresent())
                        .map(parent -> where(plan, parent) + " > ")
                        .orElse("")
                + test.getDisplayName();
    }
}
