package io.rdmatest.junit.engine;

import io.rdmatest.Cause;
import io.rdmatest.KernelLog;
import io.rdmatest.junit.FabricError;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.MediaType;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.opentest4j.TestAbortedException;

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
    private volatile boolean judged;

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
     * Publishes what there is to know of a failure that no interceptor has seen: another extension's callback threw it, as
     * those of soft assertions do. What is thrown can't be replaced.
     */
    void failedElsewhere(Throwable thrown) {
        if (!judged && !(thrown instanceof TestAbortedException)) {
            Throwable ignored = failed("test " + context.getDisplayName(), thrown);
            Verdict.publishCause(context, thrown);
        }
    }

    /**
     * Publishes what there is to know of a failure.
     *
     * @return what has to be thrown
     */
    Throwable failed(String what, Throwable thrown) {
        judged = true;
        Diagnosis.Report seen = atTimeout;
        Throwable cause = Verdict.cause(thrown);
        Diagnosis.Report report = seen == null ? Diagnosis.of(what, cause, life.inSight(), counters, kernelLog) : seen;
        String file = report.worthwhile() ? publish(report.text()) : FILE;
        List<String> lines =
                report.lines().stream().map(line -> line.replace(FILE, file)).toList();
        String evidence =
                lines.stream().map(line -> System.lineSeparator() + line).collect(Collectors.joining());
        UnaryOperator<String> explain =
                message -> message + (report.cause().isEmpty() ? "" : ": " + report.cause()) + evidence;
        if (report.isMistake() && Verdict.isFabricFailure(thrown) && !(cause instanceof AssertionError)) {
            return new TestFaultError(Cause.WRONG_USE, explain.apply(String.valueOf(cause.getMessage())), thrown);
        }
        Throwable verdict = Verdict.of(thrown, explain);
        // An assertion of the test keeps its message.
        if (seen == null && (verdict == cause || cause instanceof AssertionError) && !lines.isEmpty()) {
            cause.addSuppressed(new Note(String.join(System.lineSeparator(), lines)));
        }
        return verdict;
    }

    /** Returns where the file is, as a path from the working directory if it is below it. */
    private String publish(String text) {
        AtomicReference<String> where = new AtomicReference<>(FILE);
        try {
            context.publishFile(FILE, MediaType.TEXT_PLAIN_UTF_8, path -> {
                Files.writeString(path, text);
                Path here = Path.of("").toAbsolutePath();
                Path file = path.toAbsolutePath().normalize();
                where.set((file.startsWith(here) ? here.relativize(file) : file).toString());
            });
        } catch (RuntimeException e) {
            // The failure must not be lost because the disk is full.
            System.err.println(FILE + " could not be written: " + e.getMessage());
        }
        return where.get();
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
