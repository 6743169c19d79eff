package io.rdmatest.report.output;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmatest.report.nights.Archive;
import io.rdmatest.report.nights.Folders;
import io.rdmatest.report.page.Changes;
import io.rdmatest.report.page.Page;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.report.run.Journal;
import io.rdmatest.report.run.JsonFile;
import io.rdmatest.report.run.Run;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Makes the page, the Allure report and {@code qualification.json} of a run from its journals and Allure results. */
@Command(
        name = "generate",
        mixinStandardHelpOptions = true,
        description = "Makes the page, the report and qualification.json from journals and Allure results.")
public final class ReportGenerator implements Callable<Integer> {

    public static final String SUMMARY = "qualification.json";

    /** The file that {@code --baseline} writes beside the summary. */
    static final String COMPARISON = "comparison.json";

    /** The same for people. */
    static final String COMPARISON_PAGE = "comparison.html";

    private static final String SCHEMA = "qualification.schema.json";

    @Option(names = "--journal", required = true, description = "Directory of the journals.")
    private Path journal = Path.of("");

    @Option(names = "--results", required = true, description = "Directory of the Allure results.")
    private Path results = Path.of("");

    @Option(names = "--commandline", required = true, description = "Unpacked allure-commandline.")
    private Path commandline = Path.of("");

    @Option(
            names = "--output",
            required = true,
            description = "Where index.html, allure-report/ and qualification.json go.")
    private Path output = Path.of("");

    @Option(
            names = "--baseline",
            split = ",",
            paramLabel = "FILE",
            description = "The qualification.json of earlier runs, in order, or folders of such files; what changed is"
                    + " printed and written to comparison.html and comparison.json.")
    private List<Path> earlier = List.of();

    @Option(
            names = "--last",
            paramLabel = "NUMBER",
            defaultValue = "14",
            description = "How many of the --baseline's runs, the latest ones, say what is usual, 1 to 1000.")
    private int last;

    @Option(
            names = "--tolerance",
            paramLabel = "PERCENT",
            defaultValue = "20",
            description =
                    "Allowed loss of a median or a rate against the usual value of --baseline, in percent, 0 to 1000.")
    private double tolerance;

    @Option(names = "--allow-empty", description = "Say so and succeed if nothing was run.")
    private boolean allowEmpty;

    private @Nullable Baseline baseline;

    private @Nullable RunPairs pairs;
    private Supplier<@Nullable JsonNode> differing = () -> null;
    private @Nullable JsonNode differs;
    private @Nullable String pageTrouble;

    /** Creates a generator that takes its configuration from the command line. */
    public ReportGenerator() {}

    public ReportGenerator(Path journal, Path results, Path commandline, Path output) {
        this.journal = journal;
        this.results = results;
        this.commandline = commandline;
        this.output = output;
    }

    /**
     * Sets where the differences between the nodes come from, for nodes.json, the page and {@link #differs}. It is asked when the
     * data of the run are written, and returns null if there are none.
     */
    public void nodesDiffer(Supplier<@Nullable JsonNode> differences) {
        differing = differences;
    }

    /** Returns a line with the differences between the nodes, or that there are none; null if the run has one node. */
    @Nullable
    public String differs() {
        JsonNode read = differs;
        return read == null ? null : read.path("message").asText();
    }

    /** Sets the earlier runs that the next report is compared with, if there are any. */
    public void compareWith(@Nullable Baseline baseline) {
        this.baseline = baseline;
    }

    /**
     * Prints the changes, if there are earlier runs and a report.
     *
     * @param out takes each line
     * @return the exit status that this asks for: 0 if nothing is worse, or there is nothing to compare with
     */
    public int tellChanges(Consumer<String> out) {
        return baseline == null ? 0 : baseline.tell(out);
    }

    /**
     * Runs the generator.
     *
     * @param args see {@code --help}
     */
    public static void main(String[] args) {
        System.exit(new CommandLine(new ReportGenerator())
                .setExecutionExceptionHandler((e, line, parsed) -> {
                    line.getErr().println("rdmatest: no report: " + e.getMessage());
                    return 3;
                })
                .execute(args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        Run run = Run.of(Journal.read(journal));
        if (run.scenarios().isEmpty()) {
            discard();
            System.out.println("rdmatest: no report: no test has left a journal in " + journal);
            return allowEmpty ? 0 : 3;
        }
        String wrong = readBaseline();
        run = run.with(run.about().withExitStatus(run.outcome().status()));
        writeSummary(run);
        String noData = writeData(run);
        writeReport(run);
        // The build reports the changes, and does not fail because of them.
        int ignored = tellChanges(System.out::println);
        System.out.printf("rdmatest: %s: %s%n", Run.scenarios(run.scenarios().size()), run.counts());
        if (pageTrouble == null) {
            System.out.println("rdmatest: page    " + page());
        }
        System.out.println("rdmatest: report  " + report());
        System.out.println("rdmatest: summary " + summary());
        if (noData == null) {
            System.out.println("rdmatest: nodes   " + nodes());
            System.out.println("rdmatest: JUnit   " + junit());
            System.out.println("rdmatest: metrics " + metrics());
        } else {
            System.err.println("rdmatest: nodes.json, junit.xml and rdmatest.prom are not all written: " + noData);
            return 3;
        }
        if (pageTrouble != null) {
            System.err.println("rdmatest: no page: " + pageTrouble);
            return 3;
        }
        if (wrong != null) {
            System.err.println("rdmatest: not compared with earlier runs: " + wrong);
            return 3;
        }
        return 0;
    }

    /** Reads the earlier runs. Returns why they can't be read; null if they were read. The run is reported in both cases. */
    private @Nullable String readBaseline() {
        List<Path> files =
                earlier.stream().filter(file -> !file.toString().isEmpty()).toList();
        try {
            if (!files.isEmpty()) {
                compareWith(Baseline.read(files, last, tolerance, false, System.out::println));
            }
            return null;
        } catch (IOException | IllegalArgumentException e) {
            return e.getMessage();
        }
    }

    /** Returns the page that says what came of the run. */
    public Path page() {
        return output.resolve(Page.FILE);
    }

    /** Returns why there is no page; null if there is one. */
    @Nullable
    public String pageTrouble() {
        return pageTrouble;
    }

    /** Returns the file that says what the run says of each node. */
    public Path nodes() {
        return output.resolve(ResultFiles.NODES);
    }

    /** Returns the run as JUnit XML. */
    public Path junit() {
        return output.resolve(ResultFiles.JUNIT);
    }

    /** Returns the run as metrics. */
    public Path metrics() {
        return output.resolve(ResultFiles.METRICS);
    }

    /** Returns Allure's report, which has the details of the tests. */
    public Path report() {
        return allure().folder().resolve("index.html");
    }

    private AllureReport allure() {
        return new AllureReport(results, commandline, output);
    }

    public Path summary() {
        return output.resolve(SUMMARY);
    }

    /**
     * Keeps the results of a run in an archive.
     *
     * @param accept whether the run is the new normal
     * @return the folder of the run
     */
    public Path archive(Path archive, Run run, boolean accept) throws IOException {
        List<Path> files = Stream.concat(
                        Stream.of(SUMMARY, RunPairs.FILE, COMPARISON, COMPARISON_PAGE), ResultFiles.ALL.stream())
                .map(output::resolve)
                .toList();
        return Archive.keep(archive, files, run.start(), run.about().runId(), accept);
    }

    /** Returns the folder of an earlier report that this run could not replace; null if there is none. */
    @Nullable
    public Path cannotReplace() {
        return Stream.of(allure().folder(), allure().history())
                .filter(folder -> Files.exists(folder) && !Files.isWritable(folder))
                .findFirst()
                .orElse(null);
    }

    /** Deletes the report and the summary of an earlier run, so that nobody takes them for this one's. */
    public void discard() throws IOException {
        Files.deleteIfExists(summary());
        discardOthers();
    }

    /** Deletes all of an earlier run but the summary, in whose place this run's is already. */
    public void discardOthers() throws IOException {
        Files.deleteIfExists(page());
        Files.deleteIfExists(output.resolve(RunPairs.FILE));
        ResultFiles.discard(output);
        discardComparison();
        Folders.delete(allure().folder());
    }

    private void discardComparison() throws IOException {
        Files.deleteIfExists(output.resolve(COMPARISON));
        Files.deleteIfExists(output.resolve(COMPARISON_PAGE));
    }

    /** Writes the comparison with earlier runs if there are any, the page, and Allure's report, of a run whose summary is written. */
    public void writeReport(Run run) throws IOException, InterruptedException {
        // A remaining file belongs to an earlier run.
        discardComparison();
        String changes = baseline == null ? null : baseline.compare(run.qualification(summary()), pairs(run));
        writePage(run);
        allure().write(run, changes);
    }

    /** Writes the page. A failure here affects nothing else of the run. */
    private void writePage(Run run) throws IOException {
        // A remaining file belongs to an earlier run.
        Files.deleteIfExists(page());
        try {
            Page.write(
                    output,
                    run,
                    pairs(run),
                    new NodeStates(run, pairs(run)).needs(),
                    differs,
                    baseline == null ? null : Changes.of(baseline.compared(), baseline.cells()));
        } catch (IOException | RuntimeException e) {
            pageTrouble = e.getMessage() == null ? e.toString() : e.getMessage();
        }
    }

    /** Writes the summary and its schema. It comes first: it has to be there even if Allure's generator fails. */
    public void writeSummary(Run run) throws IOException {
        Files.createDirectories(output);
        JsonFile.write(summary(), run);
        ResultFiles.copySchema(SCHEMA, output);
    }

    /**
     * Writes the files for other programs, beside the summary and the pairs of a run. A failure here affects nothing else of the
     * run.
     *
     * @return why not all of it is there; null if it is
     */
    @Nullable
    public String writeData(Run run) {
        try {
            differs = differing.get();
            ResultFiles.write(run, pairs(run), differs, output);
            return null;
        } catch (IOException | RuntimeException e) {
            return e.getMessage() == null ? e.toString() : e.getMessage();
        }
    }

    /** Returns the pairs that the run measured; reading and explaining those of many nodes takes seconds. */
    public RunPairs pairs(Run run) {
        RunPairs read = pairs;
        if (read == null) {
            read = RunPairs.read(output, run.started());
            pairs = read;
        }
        return read;
    }
}
