package io.rdmatest.junit.engine;

import io.rdmatest.ReportKeys;
import io.rdmatest.SkipReason;
import io.rdmatest.junit.RdmaConfiguration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * What was skipped in a run, told at its end as one report entry of the run where {@link RdmaConfiguration#SKIPS} is
 * {@code list}. The console's list comes from the artifact run-summary, which sees JUnit's own skips, too.
 */
public final class SkipLog implements AutoCloseable {

    private final ExtensionContext run;
    private final Map<String, List<String>> byReason = new TreeMap<>();

    private SkipLog(ExtensionContext run) {
        this.run = run;
    }

    /** Makes a condition's answer that skips, and notes it. */
    static ConditionEvaluationResult disabled(SkipReason reason, String detail, ExtensionContext context) {
        note(reason.because(detail), context);
        return ConditionEvaluationResult.disabled(reason.because(detail));
    }

    /** Notes that something is skipped. */
    static void note(String message, ExtensionContext context) {
        if (Configuration.of(context).skips() != Skips.LIST) {
            return;
        }
        ExtensionContext root = context.getRoot();
        SkipLog log = Life.of(root).provide(SkipLog.class, SkipLog.class, () -> new SkipLog(root));
        log.add(message, where(context));
    }

    /** Says where in the tree of tests a context is. */
    static String where(ExtensionContext context) {
        String parent = context.getParent()
                .filter(above -> above.getParent().isPresent())
                .map(above -> where(above) + " > ")
                .orElse("");
        return parent + context.getDisplayName();
    }

    private synchronized void add(String message, String where) {
        byReason.computeIfAbsent(SkipReason.classOf(message), key -> new ArrayList<>())
                .add(where + ": " + SkipReason.detailOf(message));
    }

    @Override
    public synchronized void close() {
        Map<String, String> entry = new LinkedHashMap<>();
        entry.put(
                ReportKeys.SKIPPED,
                Integer.toString(byReason.values().stream().mapToInt(List::size).sum()));
        byReason.forEach((reason, skipped) ->
                entry.put(ReportKeys.SKIPPED + "." + reason, skipped.size() + ": " + String.join("; ", skipped)));
        run.publishReportEntry(entry);
    }
}
