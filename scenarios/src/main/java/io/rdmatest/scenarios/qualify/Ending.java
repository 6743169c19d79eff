package io.rdmatest.scenarios.qualify;

import io.rdmatest.ExitStatus;
import io.rdmatest.report.culprits.PairMatrix;
import io.rdmatest.report.output.ReportGenerator;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.report.run.Journal;
import io.rdmatest.report.run.Outcome;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.RunAbout;
import io.rdmatest.scenarios.runner.EarlierJvms;
import io.rdmatest.scenarios.runner.Selection;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Writes and prints the results of a run, and decides the exit status of {@code ./qualify}. */
public final class Ending {

    /**
     * What a run leaves, and where.
     *
     * @param measuredPairs where the scenarios wrote what they measured between two nodes
     * @param archive where the results are kept; null for nowhere
     * @param accept whether this run is the new normal of the archive
     * @param again the command that runs again what failed
     */
    record Plan(Path journal, Path measuredPairs, @Nullable Path archive, boolean accept, String again) {}

    /** The exit statuses of a comparison that found something worse, or compared nothing. */
    private static final Set<Integer> COMPARED = Set.of(ExitStatus.WORSE.code(), ExitStatus.NOTHING_COMPARED.code());

    private final ScenarioJvms jvms;
    private final QualifyConsole console;
    private final PrintStream out;
    private final ReportGenerator generator;
    private final Selection selection;
    private final RunAbout about;
    private final Plan plan;
    private int status = ExitStatus.HOST_NOT_READY.code();

    Ending(
            ScenarioJvms jvms,
            QualifyConsole console,
            PrintStream out,
            ReportGenerator generator,
            Selection selection,
            RunAbout about,
            Plan plan) {
        this.jvms = jvms;
        this.console = console;
        this.out = out;
        this.generator = generator;
        this.selection = selection;
        this.about = about;
        this.plan = plan;
    }

    /** Returns the exit status; after {@link #finish}. */
    public synchronized int status() {
        return status;
    }

    /**
     * Decides the exit status of a run whose results were written.
     *
     * @param whole whether the whole run was followed, recorded and reported
     * @param compared the exit status of the comparison with earlier runs
     * @param accept whether this run is the new normal, so that nothing is worse
     */
    public static int status(Outcome outcome, boolean whole, int compared, boolean accept) {
        if (!whole) {
            return ExitStatus.HOST_NOT_READY.code();
        }
        if (outcome.status() != 0) {
            return outcome.status();
        }
        return accept && COMPARED.contains(compared) ? 0 : compared;
    }

    /** Writes all results, but only once, whether the run ended by itself or was interrupted. */
    synchronized void finish(boolean byUser) {
        if (!jvms.close(byUser)) {
            return;
        }
        Run written = null;
        try {
            if (byUser) {
                jvms.noteEnd(plan.journal(), "interrupted");
            }
            Run run = Run.of(Journal.read(plan.journal())).with(about);
            boolean cutOff = jvms.isCutOff();
            String trouble = jvms.trouble();
            String lost = jvms.lost();
            if (lost != null) {
                System.err.println("./qualify: the run could not be followed to its end: " + lost);
            }
            List<String> without = selection.without(run.scenarios());
            if (run.scenarios().isEmpty()
                    && !without.isEmpty()
                    && trouble == null
                    && !byUser
                    && !cutOff
                    && EarlierJvms.of(Journal.read(plan.journal())).isEnded()) {
                status = Qualify.usage("no scenario matches " + String.join(", ", without)
                        + "; names are as a run prints them, ./qualify --list shows the methods");
                return;
            }
            if (trouble != null && !jvms.anyDied() || run.scenarios().isEmpty()) {
                status = ExitStatus.HOST_NOT_READY.code();
                if (byUser) {
                    System.err.println("./qualify: interrupted before the first scenario");
                    return;
                }
                String said = console.lastWords(ScenarioJvms.ONLY_WORDS);
                System.err.println("./qualify: "
                        + (trouble != null
                                ? trouble
                                : cutOff
                                        ? "no scenario started within " + jvms.timeoutSeconds() + " s"
                                        : said.isEmpty() ? "no scenario was run" : said));
                return;
            }
            if (cutOff || trouble != null || jvms.lastOneDied()) {
                run = run.thatEndedEarly();
            }
            run = run.with(
                    run.about().withExitStatus(byUser ? null : run.outcome().status()));
            // Only now is there anything in the place of the last run's results. The summary takes that place first, so
            // that there is one even if a later step fails.
            generator.writeSummary(run);
            written = run;
            generator.discardOthers();
            Path pairsFile = keepPairs();
            String noData = generator.writeData(run);
            new RunTable(out, console).print(run, generator.differs(), plan.again());
            without.forEach(each -> out.println("No scenario matches " + each));
            if (pairsFile != null) {
                tellPairs(generator.pairs(run));
            }
            if (byUser) {
                out.println("Interrupted; the report shows what was run until then.");
            } else if (cutOff) {
                out.println("Ended after " + jvms.timeoutSeconds() + " s (--timeout).");
            } else if (jvms.isTimedOut()) {
                out.println("Not run again to the end, which came after " + jvms.timeoutSeconds() + " s (--timeout).");
            } else if (trouble != null) {
                out.println("After the JVM of the scenarios had died, another one could not go on: " + trouble);
            } else if (jvms.lastOneDied()) {
                // A virtual machine that ended reports that, and then its last output.
                out.println("The run ended early. Last output:");
                out.println(console.lastWords(ScenarioJvms.LAST_WORDS).indent(4).stripTrailing());
            }
            generator.writeReport(run);
            int compared = generator.tellChanges(out::println);
            String noPage = generator.pageTrouble();
            if (noPage == null) {
                out.println("Page     " + generator.page());
            } else {
                System.err.println("./qualify: no page: " + noPage);
            }
            out.println("Report   " + generator.report());
            out.println("Summary  " + generator.summary());
            if (pairsFile != null) {
                out.println("Pairs    " + pairsFile);
            }
            if (noData == null) {
                out.println("Nodes    " + generator.nodes());
                out.println("JUnit    " + generator.junit());
                out.println("Metrics  " + generator.metrics());
            } else {
                System.err.println("./qualify: nodes.json, junit.xml and rdmatest.prom are not all written: " + noData);
            }
            boolean whole = lost == null && noPage == null && noData == null;
            status = status(run.outcome(), whole, compared, isAccepted(run));
        } catch (IOException | RuntimeException e) {
            status = ExitStatus.HOST_NOT_READY.code();
            System.err.println("./qualify: no report: " + (e.getMessage() == null ? e : e.getMessage()));
            if (Files.exists(generator.summary())) {
                System.err.println("./qualify: the summary is there: " + generator.summary());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (written != null) {
            conclude(written, byUser);
        }
    }

    /** Adds the end of the run to summary and metrics, and keeps the results in the archive. */
    private void conclude(Run run, boolean byUser) {
        Path kept = plan.archive();
        try {
            if (!Objects.equals(run.about().exitStatus(), byUser ? null : (Integer) status)) {
                writeStatus(run, byUser);
            }
            if (kept != null) {
                boolean accepted = isAccepted(run) && !byUser && run.outcome() != Outcome.INCONCLUSIVE;
                out.println("Archive  " + generator.archive(kept, run, accepted));
                if (accepted) {
                    out.println("Accepted: later runs are compared with this one and those after it only.");
                } else if (plan.accept() && run.isRehearsal()) {
                    out.println("Not accepted: a rehearsal says nothing about what is normal of a fabric.");
                } else if (plan.accept()) {
                    out.println("Not accepted: the run is inconclusive. Run ./qualify --accept again.");
                }
            }
        } catch (IOException | RuntimeException e) {
            status = ExitStatus.HOST_NOT_READY.code();
            System.err.println(
                    "./qualify: the results are not all kept: " + (e.getMessage() == null ? e : e.getMessage()));
            try {
                writeStatus(run, byUser);
            } catch (IOException | RuntimeException again) {
                System.err.println("./qualify: the exit status in " + generator.summary() + " is not that of this run: "
                        + (again.getMessage() == null ? again : again.getMessage()));
            }
        }
    }

    private void writeStatus(Run run, boolean byUser) throws IOException {
        Run concluded = run.with(run.about().withExitStatus(byUser ? null : (Integer) status));
        generator.writeSummary(concluded);
        String noData = generator.writeData(concluded);
        if (noData != null) {
            throw new IOException(noData);
        }
    }

    /** Returns whether a run may become the new normal, and is to. */
    private boolean isAccepted(Run run) {
        return plan.accept() && !run.isRehearsal();
    }

    /** Puts the measured pairs beside the summary; null if there are none. */
    private @Nullable Path keepPairs() throws IOException {
        Path there = plan.measuredPairs();
        if (!Files.exists(there)) {
            return null;
        }
        Path here = generator.summary().resolveSibling(RunPairs.FILE);
        return Files.copy(there, here, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Prints the measured pairs and the causes of bad ones. A failure here affects nothing else of the run. */
    private void tellPairs(RunPairs pairs) {
        PairMatrix matrix = pairs.matrix();
        if (matrix == null) {
            if (pairs.trouble() != null) {
                System.err.println("./qualify: the measured pairs can't be shown: " + pairs.trouble());
            }
            return;
        }
        PairTables.print(matrix, out::println);
        out.println();
        pairs.lines().forEach(out::println);
        out.println();
    }
}
