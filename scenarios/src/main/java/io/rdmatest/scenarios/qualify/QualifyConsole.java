package io.rdmatest.scenarios.qualify;

import io.rdmatest.ReportKeys;
import io.rdmatest.report.run.JournalEvent;
import io.rdmatest.report.run.JournalEvent.Kind;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.Units;
import io.rdmatest.report.run.Verdict;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Shows the progress of a run on the console. It may be called by any thread: those that read a JVM's output, and the clock. */
final class QualifyConsole {

    /** The beginning of the head of a rehearsal. */
    static final String REHEARSAL = "Rehearsal: ";

    /** The number of lines that are shown of a dead JVM when another JVM continues the run. */
    private static final int WORDS_IN_BETWEEN = 20;

    /** A narrower terminal shows nothing of use, and is taken for one of this width. */
    private static final int LEAST_COLUMNS = 20;

    private final boolean unicode =
            String.valueOf(System.getProperty("stdout.encoding")).startsWith("UTF-8");
    private final boolean terminal;
    private final PrintStream out;
    private final boolean verbose;

    /** The width of the terminal; 0 if there is none. */
    private final int columns;

    private final long begun = System.nanoTime();

    /** How long the run will take; null if that is not known. */
    private @Nullable Duration expected;

    /** What the JVM that runs now has said. */
    private final List<String> said = new ArrayList<>();

    private int ended;

    /** How many scenarios there are; null as long as some unfold only during the run. */
    private @Nullable Integer total;

    private @Nullable String running;
    private long runningSince = System.nanoTime();

    /** The number of scenarios in JVMs that died, whether these ended or not. */
    private int endedBefore;

    private boolean announcing = true;
    private boolean headed;
    private boolean closed;

    /**
     * Makes the console of a run.
     *
     * @param verbose whether all that a JVM says is shown
     * @param columns the width of the terminal that {@code out} is; 0 if it is none
     */
    QualifyConsole(PrintStream out, boolean verbose, int columns) {
        this.out = out;
        this.verbose = verbose;
        this.columns = columns;
        this.terminal = columns > 0;
    }

    /** Returns the width of the terminal; 0 if there is none. */
    int columns() {
        return columns;
    }

    /** Returns whether the scenarios that passed are listed at the end, too: a terminal showed them as they ran. */
    boolean listsAll() {
        return verbose || !terminal;
    }

    /** Returns a line that fits into the terminal. */
    String cut(String line) {
        return terminal ? RunTable.cut(line, Math.max(columns - 1, LEAST_COLUMNS)) : line;
    }

    /** Takes the time that the last run of the same kind took, of which the time that is left is an estimate. */
    synchronized void expect(Duration time) {
        expected = time;
        if (!terminal) {
            print("The last run took %s.".formatted(Units.seconds(time.toMillis())));
        }
    }

    /** Takes a line that a JVM said. */
    synchronized void said(String line) {
        said.add(line);
        if (verbose) {
            print("    " + line);
        }
    }

    /** Returns the end of what the JVM that runs now has said. */
    synchronized String lastWords(int most) {
        return String.join(System.lineSeparator(), said.subList(Math.max(0, said.size() - most), said.size()));
    }

    /** Shows, once, where the run is. */
    synchronized void head(String line) {
        if (!headed) {
            headed = true;
            print(line);
        }
    }

    /** Returns the line that says where a run is: fabric, host, device, driver, firmware and rate. */
    static String head(Map<String, String> environment) {
        String rehearsal = Run.rehearsal(environment);
        if (rehearsal != null) {
            return REHEARSAL + rehearsal;
        }
        return Run.where(environment);
    }

    /** Shows what a JVM says of its run. */
    synchronized void show(JournalEvent event) {
        if (event.event() == Kind.ENTRY && event.id() == null && event.entry() != null) {
            Map<String, String> environment = new HashMap<>();
            event.entry()
                    .forEach((key, value) ->
                            environment.put(key.substring(ReportKeys.ENVIRONMENT_PREFIX.length()), value));
            head(head(environment));
            return;
        }
        if (event.expected() != null) {
            total = event.open() != null && event.open() > 0 ? null : (Integer) (endedBefore + event.expected());
        }
        if (event.event() == Kind.RUN_STARTED && announcing) {
            print(
                    total == null
                            ? "Running the scenarios"
                            : "Running " + total + (total == 1 ? " scenario" : " scenarios"));
        } else if (event.event() == Kind.STARTED && event.isTest()) {
            running = event.name();
            runningSince = System.nanoTime();
            if (!terminal) {
                print(count(ended + 1) + (unicode ? "▶ " : "> ") + event.name());
            }
        } else if (event.event() == Kind.SKIPPED || event.event() == Kind.FINISHED && event.isTest()) {
            ended++;
            long millis = event.event() == Kind.SKIPPED ? 0 : (System.nanoTime() - runningSince) / 1_000_000;
            Verdict verdict = event.verdict() == null ? Verdict.BROKEN : event.verdict();
            print("%s%s %-7s %8s  %s"
                    .formatted(count(ended), mark(verdict), verdict, Units.seconds(millis), event.name()));
            if (verdict != Verdict.PASSED && event.reason() != null) {
                print("          " + RunTable.firstLine(event.reason()));
            }
            running = null;
        }
    }

    /** Shows that a JVM died after a number of scenarios, and that another one continues the run. */
    synchronized void died(int before, String how, int deaths, int restarts) {
        if (closed) {
            return;
        }
        if (running != null) {
            print("%s%s %-7s %8s  %s"
                    .formatted(
                            count(before),
                            mark(Verdict.BROKEN),
                            Verdict.BROKEN,
                            Units.seconds((System.nanoTime() - runningSince) / 1_000_000),
                            running));
        }
        print("The JVM of the scenarios, or its virtual machine, died %s (%s). Last output:"
                .formatted(running == null ? "outside a scenario" : "in it", how));
        print(lastWords(WORDS_IN_BETWEEN).indent(4).stripTrailing());
        print("Going on with what is left in another one, the %s of at most %d."
                .formatted(deaths == 1 ? "first" : deaths + ".", restarts));
        another(before);
        announcing = false;
    }

    /** Shows that all scenarios run once more. */
    synchronized void again(String why) {
        print("");
        print(why);
        total = null;
        another(0);
        announcing = true;
    }

    private void another(int before) {
        endedBefore = before;
        ended = before;
        running = null;
        runningSince = System.nanoTime();
        said.clear();
    }

    private String count(int number) {
        return total == null ? "[%3d] ".formatted(number) : "[%3d/%d] ".formatted(number, total);
    }

    String mark(Verdict verdict) {
        return switch (verdict) {
            case PASSED -> unicode ? "✔" : "+";
            case FAILED -> unicode ? "✘" : "X";
            case BROKEN -> unicode ? "✘" : "!";
            case SKIPPED -> unicode ? "○" : "-";
        };
    }

    synchronized void print(String line) {
        out.println((terminal ? "\r\033[K" : "") + line);
    }

    /** Shows how long the scenario that runs has been running, and about how long the run goes on, on a terminal. */
    synchronized void showLive() {
        if (terminal && !closed) {
            String now = running == null ? "starting" : running;
            String time = "  %.0f s%s".formatted((System.nanoTime() - runningSince) / 1e9, left());
            String text = count(ended + 1) + now;
            int most = Math.max(columns - 1, LEAST_COLUMNS);
            out.print("\r\033[K"
                    + RunTable.cut(RunTable.cut(text, Math.max(most - time.length(), LEAST_COLUMNS / 2)) + time, most));
            out.flush();
        }
    }

    /** Returns about how long the run goes on, as the last run took. */
    private String left() {
        if (expected == null) {
            return "";
        }
        long seconds = expected.toSeconds() - (System.nanoTime() - begun) / 1_000_000_000;
        return seconds <= 0
                ? ""
                : seconds < 90
                        ? ", about %d s left".formatted(seconds)
                        : ", about %d min left".formatted((seconds + 30) / 60);
    }

    /** Shows no more of the run. */
    synchronized void close() {
        closed = true;
        if (terminal) {
            out.print("\r\033[K");
        }
    }
}
