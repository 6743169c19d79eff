package io.rdmatest.junit.engine;

import io.rdmatest.ReportKeys;
import io.rdmatest.SkipReason;
import io.rdmatest.junit.RdmaConfiguration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * What becomes of a test after the run's opinion of skips and the known deviations of its device: the one place where these
 * are applied.
 */
public final class Outcome {

    private Outcome() {}

    /** Returns why a test is not run because of a deviation; empty if it is. */
    static Optional<ConditionEvaluationResult> condition(ExtensionContext context) {
        if (context.getTestMethod().isEmpty() || Choice.isOfInvocations(context)) {
            return Optional.empty();
        }
        Optional<Deviation> found =
                Deviation.of(context).stream().filter(Deviation::isSkip).findFirst();
        if (found.isEmpty() || Configuration.of(context).skips() == Skips.FAIL) {
            return Optional.empty();
        }
        // Listeners expect entries of tests that have started; this one does not.
        context.getParent().orElse(context).publishReportEntry(found.get().entry(ReportKeys.NOT_RUN));
        return Optional.of(
                SkipLog.disabled(SkipReason.KNOWN_DEVIATION, found.get().words(), context));
    }

    /** Fails a test that was not to be run where nothing may be skipped. */
    static void beforeEach(ExtensionContext context) {
        if (Configuration.of(context).skips() == Skips.FAIL) {
            Deviation.of(context).stream().filter(Deviation::isSkip).findFirst().ifPresent(deviation -> {
                throw new AssertionFailedError(
                        RdmaConfiguration.SKIPS + "=fail: " + SkipReason.KNOWN_DEVIATION.because(deviation.words()));
            });
        }
    }

    /**
     * Looks at a test that passed.
     *
     * @throws AssertionFailedError if a deviation says that it fails and the run wants to hear of that
     */
    static void passed(ExtensionContext context) {
        List<Deviation> expected = Deviation.of(context).stream()
                .filter(deviation -> !deviation.isSkip())
                .toList();
        for (Deviation deviation : expected) {
            context.publishReportEntry(deviation.entry(ReportKeys.PASSED_UNEXPECTEDLY));
            if (Configuration.of(context).failOnStaleDeviations()) {
                throw new AssertionFailedError(RdmaConfiguration.STALE_DEVIATIONS + "=fail: the test passes, but "
                        + deviation.source() + " knows that it fails on "
                        + RunDevice.of(context).driver() + ": " + deviation.words()
                        + "; narrow that entry, or remove it");
            }
        }
    }

    /** Returns what a failed test has to throw: the failure, or that it is known and counts as skipped. */
    static Throwable failed(Throwable failure, ExtensionContext context) {
        if (failure instanceof TestAbortedException aborted) {
            return aborted(aborted, context);
        }
        Optional<Deviation> known = Deviation.of(context).stream()
                .filter(deviation -> deviation.explains(failure))
                .findFirst();
        if (known.isEmpty()) {
            return failure;
        }
        context.publishReportEntry(known.get().entry(ReportKeys.FAILED_AS_KNOWN));
        return aborted(
                new TestAbortedException(
                        SkipReason.KNOWN_DEVIATION.because(
                                known.get().words() + "; it failed with: " + firstLine(failure)),
                        failure),
                context);
    }

    private static String firstLine(Throwable failure) {
        return String.valueOf(failure.getMessage())
                .lines()
                .filter(line -> !line.isBlank())
                .findFirst()
                .orElse("");
    }

    /** Returns what a test that gave up has to throw. */
    static Throwable aborted(TestAbortedException aborted, ExtensionContext context) {
        String message = String.valueOf(aborted.getMessage());
        if (Configuration.of(context).skips() == Skips.FAIL) {
            return new AssertionFailedError(RdmaConfiguration.SKIPS + "=fail: " + message, aborted);
        }
        SkipLog.note(message, context);
        return aborted;
    }
}
