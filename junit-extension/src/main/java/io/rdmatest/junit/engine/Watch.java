package io.rdmatest.junit.engine;

import io.rdmatest.KernelLog;
import io.rdmatest.junit.FabricError;
import java.nio.file.Files;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.MediaType;
import org.junit.jupiter.api.extension.ExtensionContext;

/** What was when a test, or a class, began, and what a failure says about it. */
public final class Watch {

    /** Carries the lines that matter where the failure's own message has to stay as it is. */
    private static final class Note extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Note(String message) {
            super(message, null, false, false);
        }

        @Override
        public String toString() {
            return "diagnosis: " + getMessage();
        }
    }

    private static final String FILE = "diagnosis.txt";

    private final ExtensionContext context;
    private final Life life;
    private final @Nullable Counters counters;
    private final long kernelLog = KernelLog.mark();
    private volatile Diagnosis.@Nullable Report atTimeout;

    private Watch(ExtensionContext context, Life life) {
        this.context = context;
        this.life = life;
        RunDevice device = RunDevice.of(context);
        this.counters = device.failure().isEmpty() ? Counters.begin(device.require()) : null;
    }

    /** Returns the watch over exactly this context, begun now unless it has begun. */
    static Watch over(ExtensionContext context) {
        Life life = Life.of(context);
        return life.provide(Watch.class, Watch.class, () -> new Watch(context, life));
    }

    /** Looks at a test whose time has run out, and returns what belongs in its message, the likely cause first. */
    String expired(String what) {
        Diagnosis.Report report = Diagnosis.of(what, null, life.inSight(), counters, kernelLog);
        atTimeout = report;
        return Stream.concat(Stream.of(report.cause()), report.lines().stream())
                .collect(Collectors.joining(System.lineSeparator()));
    }

    /**
     * Publishes what there is to know of a failure.
     *
     * @return what has to be thrown
     */
    Throwable failed(String what, Throwable thrown) {
        Diagnosis.Report seen = atTimeout;
        Throwable cause = Verdict.cause(thrown);
        Diagnosis.Report report = seen == null ? Diagnosis.of(what, cause, life.inSight(), counters, kernelLog) : seen;
        if (report.worthwhile()) {
            publish(report.text());
        }
        String lines = report.lines().stream()
                .map(line -> System.lineSeparator() + line)
                .collect(Collectors.joining());
        Throwable verdict = Verdict.of(
                thrown, message -> message + (report.cause().isEmpty() ? "" : ": " + report.cause()) + lines);
        if (seen == null && verdict == cause && !report.lines().isEmpty()) {
            verdict.addSuppressed(new Note(String.join(System.lineSeparator(), report.lines())));
        }
        return verdict;
    }

    private void publish(String text) {
        try {
            context.publishFile(FILE, MediaType.TEXT_PLAIN_UTF_8, path -> Files.writeString(path, text));
        } catch (RuntimeException e) {
            // The failure must not be lost because the disk is full.
            System.err.println(FILE + " could not be written: " + e.getMessage());
        }
    }

    /**
     * Publishes which counters grew, and fails if one of them must not have.
     *
     * @throws FabricError if an error counter grew while no other test ran, and the test was not told to ignore it
     */
    void judgeCounters() {
        if (counters != null && !Configuration.of(context).countersOff()) {
            counters.judge(context);
        }
    }
}
