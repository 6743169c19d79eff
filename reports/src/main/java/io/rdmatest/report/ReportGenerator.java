package io.rdmatest.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmatest.report.page.Page;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.scenarios.qualification.Archive;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Pattern;
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

    private static final ObjectMapper MAPPER = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    private static final Duration GENERATOR_TIMEOUT = Duration.ofMinutes(3);

    static final String SUMMARY = "qualification.json";

    /** What {@code --baseline} leaves beside the summary. */
    static final String COMPARISON = "comparison.json";

    /** The same for people. */
    static final String COMPARISON_PAGE = "comparison.html";

    private static final String SCHEMA = "qualification.schema.json";

    /** Reasons of skips that are none of the run's. */
    private static final Set<String> LEFT_OUT = Set.of(BegunCondition.REASON, SelectedCondition.REASON);

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
                    "By how many percent a median or a rate may be worse than is usual in the --baseline, 0 to 1000.")
    private double tolerance;

    @Option(names = "--allow-empty", description = "Say so and succeed if nothing was run.")
    private boolean allowEmpty;

    /** Its class needs the scenarios, which not every class path of this one has: nothing here may touch it unasked. */
    private @Nullable Baseline baseline;

    private @Nullable RunPairs pairs;
    private @Nullable Path differing;
    private @Nullable JsonNode differs;
    private @Nullable String pageTrouble;

    /** Creates a generator that takes its configuration from the command line. */
    public ReportGenerator() {}

    ReportGenerator(Path journal, Path results, Path commandline, Path output) {
        this.journal = journal;
        this.results = results;
        this.commandline = commandline;
        this.output = output;
    }

    /** Has nodes.json, the page and {@link #differs} say what differs between the nodes, once a file says it. */
    void nodesDifferAsIn(Path file) {
        differing = file;
    }

    /** Returns in a line what differs between the nodes, or that nothing does; null if the run has one node. */
    @Nullable
    String differs() {
        JsonNode read = differs;
        return read == null ? null : read.path("message").asText();
    }

    /** Has the next report say what changed since earlier runs, if there are any. */
    void compareWith(@Nullable Baseline baseline) {
        this.baseline = baseline;
    }

    /**
     * Tells what changed, if there is something to compare with and a report.
     *
     * @param out takes each line
     * @return the exit status that this asks for: 0 if nothing is worse, or there is nothing to compare with
     */
    int tellChanges(Consumer<String> out) {
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
        // Of the build, which reports what differs and fails nothing.
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

    /** Reads what is to be compared with; returns why it can't be, or null: what was run is reported all the same. */
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
        } catch (NoClassDefFoundError e) {
            return "--baseline needs io.rdmatest:scenarios on the class path";
        }
    }

    /** Returns the page that says what came of the run. */
    Path page() {
        return output.resolve(Page.FILE);
    }

    /** Returns why there is no page; null if there is one. */
    @Nullable
    String pageTrouble() {
        return pageTrouble;
    }

    /** Returns the file that says what the run says of each node. */
    Path nodes() {
        return output.resolve(ResultFiles.NODES);
    }

    /** Returns the run as JUnit XML. */
    Path junit() {
        return output.resolve(ResultFiles.JUNIT);
    }

    /** Returns the run as metrics. */
    Path metrics() {
        return output.resolve(ResultFiles.METRICS);
    }

    /** Returns Allure's report, which has the details of the tests. */
    Path report() {
        return output.resolve("allure-report").resolve("index.html");
    }

    Path summary() {
        return output.resolve(SUMMARY);
    }

    /**
     * Keeps the results of a run in an archive.
     *
     * @param accept whether the run is the new normal
     * @return the folder of the run
     */
    Path archive(Path archive, Run run, boolean accept) throws IOException {
        List<Path> files = Stream.concat(
                        Stream.of(SUMMARY, RunPairs.FILE, COMPARISON, COMPARISON_PAGE), ResultFiles.ALL.stream())
                .map(output::resolve)
                .toList();
        return Archive.keep(archive, files, run.start(), run.about().runId(), accept);
    }

    /** Deletes the report and the summary of an earlier run, so that nobody takes them for this one's. */
    void discard() throws IOException {
        Files.deleteIfExists(summary());
        Files.deleteIfExists(page());
        Files.deleteIfExists(output.resolve(RunPairs.FILE));
        ResultFiles.discard(output);
        discardComparison();
        deleteRecursively(report().getParent());
    }

    private void discardComparison() throws IOException {
        Files.deleteIfExists(output.resolve(COMPARISON));
        Files.deleteIfExists(output.resolve(COMPARISON_PAGE));
    }

    /** Writes the report, and the comparison with earlier runs if there are any, of a run whose summary is written. */
    void writeReport(Run run) throws IOException, InterruptedException {
        Files.createDirectories(results);
        // One that is left is of an earlier run.
        discardComparison();
        MAPPER.writeValue(results.resolve("categories.json").toFile(), Categories.all());
        writeExecutor(run);
        dropResults();
        Set<String> named = nameResults(run);
        // As many results as the summary has scenarios: Allure has none of a test that did not start, or did not end.
        for (Run.Scenario scenario : run.scenarios()) {
            if (scenario.isUnfinished() || scenario.notRun || !named.contains(scenario.id)) {
                writeSyntheticResult(scenario);
            }
        }
        writeMatrices(run);
        writeEnvironment(run, baseline == null ? null : baseline.compare(output, pairs(run)));
        writePage(run);
        Path history = output.resolve("allure-history");
        copyDirectory(history, results.resolve("history"));
        // The single file keeps its data to itself, so the history for the next run's trend comes from a second form.
        Path scratch = Files.createTempDirectory("rdmatest-allure");
        try {
            allure(scratch, false);
            copyDirectory(scratch.resolve("history"), history);
            allure(report().getParent(), true);
        } finally {
            deleteRecursively(scratch);
        }
    }

    /** Writes the page from the files that are written by now. Trouble with that costs the run nothing else. */
    private void writePage(Run run) throws IOException {
        // One that is left is of an earlier run.
        Files.deleteIfExists(page());
        try {
            Page.write(output, pairs(run));
        } catch (IOException | RuntimeException e) {
            pageTrouble = e.getMessage() == null ? e.toString() : e.getMessage();
        }
    }

    /**
     * Deletes what Allure has written about tests that were left out, because they were not asked for or an earlier JVM of the run had begun them, and what
     * it could not write as a whole, because of what the test had published for example. The journal has these tests as well.
     */
    private void dropResults() throws IOException {
        for (Path file : resultFiles()) {
            try {
                if (LEFT_OUT.contains(MAPPER.readTree(file.toFile())
                        .at("/statusDetails/message")
                        .asText())) {
                    Files.delete(file);
                }
            } catch (JsonProcessingException e) {
                System.err.println("rdmatest: the report takes a scenario from the journal, because "
                        + file.getFileName() + " is unreadable: " + e.getOriginalMessage());
                Files.delete(file);
            }
        }
    }

    private static List<String> uniqueIds(JsonNode result) {
        List<String> ids = new ArrayList<>();
        for (JsonNode label : result.path("labels")) {
            if (label.path("name").asText().equals("junit.platform.uniqueid")) {
                ids.add(label.path("value").asText());
            }
        }
        return ids;
    }

    /** How objects of the harness show themselves: by class and hash, as a record, or as device, port and GID. */
    private static final Pattern INJECTED =
            Pattern.compile("^[a-z]\\w*(\\.\\w+)+@[0-9a-f]+$|^[A-Z]\\w*\\[.*]$|^\\S+/\\d+ GID \\d+ ");

    /**
     * Gives Allure's results the scenarios' names: JUnit's own name a method by the types of its parameters. What Allure has
     * written about a class instead of its tests is deleted where the run has the tests.
     *
     * @return the ids of the scenarios that have a result
     */
    private Set<String> nameResults(Run run) throws IOException {
        Set<String> named = new HashSet<>();
        Map<String, String> names = new LinkedHashMap<>();
        Map<String, Run.Scenario> scenarios = new HashMap<>();
        run.scenarios().forEach(scenario -> names.put(scenario.id, nameInClass(scenario)));
        run.scenarios().forEach(scenario -> scenarios.put(scenario.id, scenario));
        for (Path file : resultFiles()) {
            JsonNode result = MAPPER.readTree(file.toFile());
            for (String id : uniqueIds(result)) {
                String name = names.get(id);
                if (name == null && names.keySet().stream().anyMatch(test -> RunReader.isWithin(test, id))) {
                    Files.delete(file);
                    break;
                }
                if (name != null && result instanceof ObjectNode written) {
                    named.add(id);
                    // What the extension injects is no parameter of the
                    // scenario, and neither is what only repeats its name.
                    for (Iterator<JsonNode> it = written.withArray("parameters").elements(); it.hasNext(); ) {
                        String value = it.next().path("value").asText();
                        if (INJECTED.matcher(value).find() || value.equals(name)) {
                            it.remove();
                        }
                    }
                    judge(written, scenarios.get(id));
                    MAPPER.writeValue(file.toFile(), written.put("name", name));
                }
            }
        }
        return named;
    }

    /** Allure tells failed from broken by the type of the exception; the run knows the cause. */
    private static void judge(ObjectNode result, Run.Scenario scenario) {
        if (scenario.cause != null) {
            result.put("status", scenario.verdict.toString());
            Categories.mark(result, scenario.cause);
        }
    }

    private static String nameInClass(Run.Scenario scenario) {
        return ScenarioNames.nameInClass(scenario.name);
    }

    /** Readers see the old file or the new one, never half of one. */
    static void write(Path file, Object content) throws IOException {
        // Not a temporary file of Java, which nobody else may read: others on this host collect the summary.
        Path part = file.resolveSibling(file.getFileName() + ".part");
        MAPPER.writeValue(part.toFile(), content);
        Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Writes the summary and its schema. It comes first: it has to be there even if Allure's generator fails. */
    void writeSummary(Run run) throws IOException {
        Files.createDirectories(output);
        write(summary(), run);
        ResultFiles.copySchema(SCHEMA, output);
    }

    /**
     * Writes what other programs read of a run, beside its summary and its pairs. Trouble with that costs the run nothing else.
     *
     * @return why not all of it is there; null if it is
     */
    @Nullable
    String writeData(Run run) {
        try {
            Path file = differing;
            differs = file == null ? null : WhatDiffers.read(file);
            ResultFiles.write(run, pairs(run), differs, output);
            return null;
        } catch (IOException | RuntimeException e) {
            return e.getMessage() == null ? e.toString() : e.getMessage();
        }
    }

    /** Returns the pairs that the run measured; reading and explaining those of many nodes takes seconds. */
    RunPairs pairs(Run run) {
        RunPairs read = pairs;
        if (read == null) {
            read = RunPairs.read(output, run.started());
            pairs = read;
        }
        return read;
    }

    private void writeEnvironment(Run run, @Nullable String changes) throws IOException {
        Properties properties = new Properties();
        properties.putAll(run.environment());
        properties.put("scenarios", run.scenarios().size() + ": " + run.counts());
        properties.put(
                "bytes verified",
                Units.bytes(run.scenarios().stream()
                        .mapToLong(Run.Scenario::getBytesVerified)
                        .sum()));
        List<String> warned = run.scenarios().stream()
                .filter(scenario -> !scenario.getWarnings().isEmpty())
                .map(scenario -> scenario.name)
                .toList();
        if (!warned.isEmpty()) {
            properties.put("warnings", "scenarios with entries that are unreadable: " + String.join(", ", warned));
        }
        if (changes != null) {
            properties.put("compared with earlier runs", changes);
        }
        try (Writer writer =
                Files.newBufferedWriter(results.resolve("environment.properties"), StandardCharsets.UTF_8)) {
            properties.store(writer, null);
        }
    }

    private void writeExecutor(Run run) throws IOException {
        long order = Instant.now().getEpochSecond();
        MAPPER.writeValue(
                results.resolve("executor.json").toFile(),
                Map.of(
                        "name",
                        "rdmatest on " + run.environment().getOrDefault("device", "no device"),
                        "type",
                        "rdmatest",
                        "buildName",
                        run.counts(),
                        "buildOrder",
                        order,
                        "reportName",
                        title(run)));
    }

    private static String title(Run run) {
        return "rdmatest: " + run.environment().getOrDefault("device", "no device") + ", " + run.counts();
    }

    private void writeSyntheticResult(Run.Scenario scenario) throws IOException {
        String name = nameInClass(scenario);
        String simpleName = ScenarioNames.simpleName(scenario.className);
        ObjectNode result = MAPPER.createObjectNode();
        String uuid = AllureContainer.uuid(scenario.id);
        result.put("uuid", uuid);
        result.put("historyId", uuid);
        result.put("name", name);
        String test = scenario.method == null ? name : scenario.method;
        result.put("fullName", scenario.className.isEmpty() ? test : scenario.className + "." + test);
        result.put("status", scenario.verdict.toString());
        result.put("stage", "finished");
        ObjectNode details = result.putObject("statusDetails").put("message", scenario.reason);
        if (scenario.lastWords != null) {
            details.put("trace", scenario.lastWords);
        }
        if (!scenario.getWarnings().isEmpty()) {
            result.put("description", "warnings: " + String.join("\n\n", scenario.getWarnings()));
        }
        judge(result, scenario);
        result.put("start", scenario.startMillis);
        result.put("stop", scenario.startMillis + scenario.durationMillis);
        ArrayNode labels = result.putArray("labels");
        Map<String, String> pairs = new LinkedHashMap<>();
        pairs.put("suite", simpleName.isEmpty() ? name : simpleName);
        if (!scenario.className.isEmpty()) {
            pairs.put("testClass", scenario.className);
            pairs.put("package", scenario.className);
        }
        pairs.put("framework", "junit-platform");
        pairs.putAll(scenario.labels);
        pairs.forEach((key, value) -> labels.addObject().put("name", key).put("value", value));
        ArrayNode parameters = result.putArray("parameters");
        scenario.parameters.forEach(
                (key, value) -> parameters.addObject().put("name", key).put("value", value));
        MAPPER.writeValue(results.resolve(uuid + "-result.json").toFile(), result);
    }

    /** Attaches each matrix to all of its tests: Allure shows what belongs to many under their tear-down. */
    private void writeMatrices(Run run) throws IOException {
        for (Matrix matrix : Matrix.of(run)) {
            AllureContainer.write(
                    results, matrix.name(), uuids(matrix), matrix.name() + ", the matrix", matrix.toHtml());
        }
    }

    /** Returns Allure's ids of the results of a matrix. */
    private List<String> uuids(Matrix matrix) throws IOException {
        List<String> uuids = new ArrayList<>();
        for (Path file : resultFiles()) {
            JsonNode result = MAPPER.readTree(file.toFile());
            for (JsonNode label : result.path("labels")) {
                if (label.path("name").asText().equals("parentSuite")
                        && label.path("value").asText().equals(matrix.name())) {
                    uuids.add(result.path("uuid").asText());
                }
            }
        }
        return uuids;
    }

    private List<Path> resultFiles() throws IOException {
        try (Stream<Path> all = Files.list(results)) {
            return all.filter(file -> file.toString().endsWith("-result.json")).toList();
        }
    }

    private void allure(Path directory, boolean singleFile) throws IOException, InterruptedException {
        Path home = home();
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xshare:auto",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                home.resolve("lib") + "/*:" + home.resolve("lib").resolve("config"),
                "io.qameta.allure.CommandLine",
                "generate",
                "--quiet",
                "--clean",
                "--name",
                "rdmatest"));
        if (singleFile) {
            command.add("--single-file");
        }
        command.addAll(List.of("--output", directory.toString(), results.toString()));
        Path log = Files.createTempFile("rdmatest-allure", ".log");
        try {
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
            // Without it, the finished page calls home when it is opened.
            builder.environment().put("ALLURE_NO_ANALYTICS", "true");
            builder.environment().put("APP_HOME", home.toString());
            Process process = builder.start();
            if (!process.waitFor(GENERATOR_TIMEOUT.toSeconds(), TimeUnit.SECONDS)) {
                process.destroyForcibly();
                throw new IOException("Allure's generator did not end within " + GENERATOR_TIMEOUT);
            }
            if (process.exitValue() != 0) {
                throw new IOException("Allure's generator ended with %d: %s"
                        .formatted(process.exitValue(), Files.readString(log).strip()));
            }
        } finally {
            Files.deleteIfExists(log);
        }
    }

    /** The distribution lies in a folder that carries its version. */
    private Path home() throws IOException {
        if (Files.isDirectory(commandline)) {
            try (Stream<Path> entries = Files.list(commandline)) {
                for (Path entry : entries.toList()) {
                    if (Files.isDirectory(entry.resolve("lib"))) {
                        return entry.toAbsolutePath();
                    }
                }
            }
        }
        throw new IOException("no Allure command line in " + commandline + "; build the reports module first");
    }

    private static void copyDirectory(Path from, Path to) throws IOException {
        if (!Files.isDirectory(from)) {
            return;
        }
        Files.createDirectories(to);
        try (Stream<Path> files = Files.list(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
            }
        }
    }

    static void deleteRecursively(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        try (Stream<Path> paths = Files.walk(directory)) {
            paths.sorted((a, b) -> b.compareTo(a)).forEach(path -> {
                try {
                    Files.delete(path);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        }
    }
}
