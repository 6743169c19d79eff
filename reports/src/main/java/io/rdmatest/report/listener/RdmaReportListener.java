package io.rdmatest.report.listener;

import io.rdmatest.Cause;
import io.rdmatest.ReportKeys;
import io.rdmatest.report.run.Journal;
import io.rdmatest.report.run.JournalEvent;
import io.rdmatest.report.run.JournalEvent.Kind;
import io.rdmatest.report.run.LeftOut;
import io.rdmatest.report.run.ReportConfiguration;
import io.rdmatest.report.run.ScenarioNames;
import io.rdmatest.report.run.Verdict;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.reporting.FileEntry;
import org.junit.platform.engine.reporting.ReportEntry;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/**
 * Writes the journal of a run and forwards what tests publish to Allure.
 *
 * <p>Every JUnit Platform launcher with this artifact on its class path finds it. Its own failures never change the
 * outcome of a test. The first failure is logged, and reporting continues as far as it can.
 */
public final class RdmaReportListener implements TestExecutionListener {

    private static final Logger LOGGER = Logger.getLogger(RdmaReportListener.class.getName());

    static final String SET_UP = "Set-up of the run";
    public static final String CLEAN_UP = "Clean-up of the run";

    /** Readers of JSON refuse longer keys and texts; the matrix of a thousand nodes has 12 million characters. */
    private static final int LONGEST_KEY = 1000;

    private static final int LONGEST_TEXT = 16_000_000;

    private interface Work {
        void run() throws IOException;
    }

    private final Path directory;
    private final boolean progress;
    private final AtomicBoolean warned = new AtomicBoolean();
    private final AtomicInteger expected = new AtomicInteger();
    private final AtomicInteger open = new AtomicInteger();

    /** The first cause that each open test, or container of tests, has published. */
    private final Map<String, Cause> causes = new ConcurrentHashMap<>();

    private @Nullable Journal journal;
    private @Nullable TestPlan plan;

    /**
     * Whether anything of the plan has started. A failure outside of the plan after that is a failure of the clean-up.
     */
    private volatile boolean begun;

    /** Creates a listener with the configuration of {@link ReportConfiguration}. */
    public RdmaReportListener() {
        this(ReportConfiguration.directory(), ReportConfiguration.progress());
    }

    RdmaReportListener(Path directory, boolean progress) {
        this.directory = directory;
        this.progress = progress;
    }

    @Override
    public void testPlanExecutionStarted(TestPlan testPlan) {
        guarded(() -> {
            plan = testPlan;
            journal = new Journal(directory, progress);
            expected.set(0);
            open.set(0);
            begun = false;
            testPlan.getRoots().forEach(root -> testPlan.getDescendants(root).forEach(this::count));
            write(JournalEvent.of(Kind.RUN_STARTED).withExpected(expected.get(), open.get()));
            for (TestIdentifier root : testPlan.getRoots()) {
                for (TestIdentifier descendant : testPlan.getDescendants(root)) {
                    if (descendant.isTest() || isTemplate(descendant)) {
                        write(event(Kind.PLANNED, descendant));
                    }
                }
            }
        });
    }

    @Override
    public void testPlanExecutionFinished(TestPlan testPlan) {
        guarded(() -> {
            write(JournalEvent.of(Kind.RUN_FINISHED));
            if (journal != null) {
                journal.close();
                journal = null;
            }
        });
    }

    @Override
    public void dynamicTestRegistered(TestIdentifier identifier) {
        guarded(() -> count(identifier));
    }

    @Override
    public void executionStarted(TestIdentifier identifier) {
        guarded(() -> {
            if (identifier.getSource().isPresent()) {
                begun = true;
                write(event(Kind.STARTED, identifier));
            }
        });
    }

    @Override
    public void executionFinished(TestIdentifier identifier, TestExecutionResult result) {
        guarded(() -> {
            if (isTemplate(identifier)) {
                open.decrementAndGet();
            }
            Optional<Throwable> failure = result.getThrowable();
            Cause cause = cause(causes.remove(identifier.getUniqueId()), result);
            if (identifier.getSource().isPresent()) {
                write(event(Kind.FINISHED, identifier)
                        .withOutcome(
                                Verdict.of(result, cause),
                                failure.map(RdmaReportListener::message).orElse(null),
                                failure.map(RdmaReportListener::trace).orElse(null))
                        .withCause(cause));
            } else if (result.getStatus() != TestExecutionResult.Status.SUCCESSFUL) {
                // This is the engine itself. It fails if a resource of the whole run can't be released.
                write(event(Kind.FINISHED, identifier)
                        .withOutcome(
                                Verdict.of(result, cause),
                                failure.map(RdmaReportListener::messages).orElse(null),
                                failure.map(RdmaReportListener::trace).orElse(null))
                        .withCause(cause));
            }
        });
    }

    /**
     * The cause that a test published takes precedence, because an exception does not carry all that the test knows.
     */
    private static @Nullable Cause cause(@Nullable Cause published, TestExecutionResult result) {
        if (result.getStatus() != TestExecutionResult.Status.FAILED) {
            return null;
        }
        return published != null
                ? published
                : result.getThrowable().map(Cause::of).orElse(Cause.DEFECT);
    }

    @Override
    public void executionSkipped(TestIdentifier identifier, String reason) {
        guarded(() -> {
            if (LeftOut.is(reason)) {
                expected.decrementAndGet();
                return;
            }
            // A class that is skipped takes its tests with it, and JUnit reports only the class.
            boolean listed = false;
            if (plan != null) {
                for (TestIdentifier descendant : plan.getDescendants(identifier)) {
                    if (descendant.isTest() || isTemplate(descendant)) {
                        listed = true;
                        skipped(descendant, reason);
                    }
                }
            }
            if (!listed) {
                skipped(identifier, reason);
            }
        });
    }

    @Override
    public void reportingEntryPublished(TestIdentifier identifier, ReportEntry entry) {
        Map<String, String> pairs = new LinkedHashMap<>();
        entry.getKeyValuePairs()
                .forEach((key, value) -> pairs.put(clean(key, LONGEST_KEY), clean(value, LONGEST_TEXT)));
        if (pairs.keySet().stream().anyMatch(key -> key.startsWith("allure"))) {
            return;
        }
        Cause cause = Cause.named(pairs.get(ReportKeys.CAUSE)).orElse(null);
        if (cause != null) {
            Cause ignored = causes.putIfAbsent(identifier.getUniqueId(), cause);
        }
        guarded(() -> write(event(Kind.ENTRY, identifier).withEntry(pairs)));
        guarded(() -> AllureForwarder.published(identifier.getUniqueId(), pairs));
    }

    @Override
    public void fileEntryPublished(TestIdentifier identifier, FileEntry file) {
        guarded(() -> AllureForwarder.published(identifier.getUniqueId(), file));
    }

    /** Returns a text that any JSON reader accepts: without halves of surrogate pairs, and not longer than allowed. */
    public static String clean(String text, int most) {
        String whole = new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
        return whole.length() <= most
                ? whole
                : whole.substring(0, most) + "… (cut: it has " + whole.length() + " characters)";
    }

    private void skipped(TestIdentifier identifier, String said) throws IOException {
        // JUnit's own conditions put the element that they evaluated before the annotation's reason.
        int arrow = said.lastIndexOf(" ==> ");
        String reason = arrow < 0 ? said : said.substring(arrow + " ==> ".length());
        if (isTemplate(identifier)) {
            open.decrementAndGet();
            expected.incrementAndGet();
        }
        write(event(Kind.SKIPPED, identifier).withOutcome(Verdict.SKIPPED, reason, null));
    }

    private void count(TestIdentifier identifier) {
        if (identifier.isTest()) {
            expected.incrementAndGet();
        } else if (isTemplate(identifier)) {
            open.incrementAndGet();
        }
    }

    private JournalEvent event(Kind kind, TestIdentifier identifier) {
        Optional<TestSource> source = identifier.getSource();
        String className = null;
        String method = null;
        if (source.orElse(null) instanceof MethodSource found) {
            className = found.getClassName();
            method = found.getMethodName();
        } else if (source.orElse(null) instanceof ClassSource found) {
            className = found.getClassName();
        }
        return JournalEvent.of(kind)
                .about(
                        identifier.getUniqueId(),
                        identifier.isTest(),
                        source.isEmpty() && identifier.getParentIdObject().isEmpty()
                                ? begun ? CLEAN_UP : SET_UP
                                : ScenarioNames.name(plan, identifier),
                        className,
                        method)
                .withExpected(expected.get(), open.get());
    }

    private void write(JournalEvent event) throws IOException {
        if (journal != null) {
            journal.write(event);
        }
    }

    private void guarded(Work work) {
        try {
            work.run();
        } catch (IOException | RuntimeException e) {
            if (warned.compareAndSet(false, true)) {
                LOGGER.log(Level.WARNING, "Reporting in " + directory + " is incomplete; the tests go on", e);
            }
        }
    }

    private static boolean isTemplate(TestIdentifier identifier) {
        return identifier.isContainer() && identifier.getSource().orElse(null) instanceof MethodSource;
    }

    private static String message(Throwable thrown) {
        // The engine's own sentence about a parameter is longer than a line, and has no reason.
        Throwable failure = thrown;
        while (failure instanceof ParameterResolutionException && failure.getCause() != null) {
            failure = failure.getCause();
        }
        String message = failure.getMessage();
        return message == null || message.isBlank() ? failure.getClass().getName() : message;
    }

    /**
     * Returns the messages of a failure with its causes. The engine's own message has only the place; the causes have
     * the reason.
     */
    private static String messages(Throwable failure) {
        String message = message(failure);
        Throwable cause = failure.getCause();
        if (cause == null) {
            return message;
        }
        String why = messages(cause);
        return message.contains(why) ? message : message + ": " + why;
    }

    private static String trace(Throwable failure) {
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text));
        return text.toString();
    }
}
