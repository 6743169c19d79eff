package io.rdmatest.report.output;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmatest.report.nights.Folders;
import io.rdmatest.report.run.LeftOut;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.RunReader;
import io.rdmatest.report.run.ScenarioNames;
import io.rdmatest.report.run.Units;
import java.io.IOException;
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
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Allure's report of a run: makes the results of its tests agree with the run, and has Allure's generator write the page. */
final class AllureReport {

    private static final ObjectMapper MAPPER = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
    private static final Duration GENERATOR_TIMEOUT = Duration.ofMinutes(3);

    /** The text forms of objects of the harness: class and hash, a record, or device, port and GID. */
    private static final Pattern INJECTED =
            Pattern.compile("^[a-z]\\w*(\\.\\w+)+@[0-9a-f]+$|^[A-Z]\\w*\\[.*]$|^\\S+/\\d+ GID \\d+ ");

    private final Path results;
    private final Path commandline;
    private final Path output;

    /**
     * Describes a report.
     *
     * @param results the folder of Allure's results
     * @param commandline the unpacked allure-commandline
     * @param output where {@code allure-report} and the history of its trends are
     */
    AllureReport(Path results, Path commandline, Path output) {
        this.results = results;
        this.commandline = commandline;
        this.output = output;
    }

    /** Returns the folder of the report. */
    Path folder() {
        return output.resolve("allure-report");
    }

    /** Returns the folder of the history of its trends. */
    Path history() {
        return output.resolve("allure-history");
    }

    /**
     * Writes the report.
     *
     * @param changes what changed since earlier runs; null if there is nothing to compare with
     */
    void write(Run run, @Nullable String changes) throws IOException, InterruptedException {
        Files.createDirectories(results);
        MAPPER.writeValue(results.resolve("categories.json").toFile(), Categories.all());
        writeExecutor(run);
        dropResults();
        Set<String> named = nameResults(run);
        // The report gets as many results as the summary has scenarios. Allure itself has no result of a test that did
        // not start or did not end.
        for (Run.Scenario scenario : run.scenarios()) {
            if (scenario.isUnfinished() || scenario.notRun || !named.contains(scenario.id)) {
                writeSyntheticResult(scenario);
            }
        }
        writeMatrices(run);
        writeEnvironment(run, changes);
        Path history = history();
        copyDirectory(history, results.resolve("history"));
        // The data in the single file can't be read back. So the history for the next run's trend comes from a second
        // form of the report.
        Path scratch = Files.createTempDirectory("rdmatest-allure");
        try {
            generate(scratch, false);
            copyDirectory(scratch.resolve("history"), history);
            generate(folder(), true);
        } finally {
            Folders.delete(scratch);
        }
    }

    /**
     * Deletes two kinds of Allure's results. The first are results of tests that were left out, because they were not selected or
     * because an earlier JVM of the run had begun them. The second are results that Allure could not write completely, for
     * example because of an entry that the test published. The journal has the latter tests as well.
     */
    private void dropResults() throws IOException {
        for (Path file : resultFiles()) {
            try {
                if (LeftOut.is(MAPPER.readTree(file.toFile())
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

    /**
     * Gives Allure's results the names of the scenarios, because JUnit's own names contain the types of a method's parameters. A
     * result that Allure has written for a class instead of its tests is deleted if the run has the tests.
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
                    // An object that the extension injects is no parameter of the scenario. Neither is a value that
                    // only repeats its name.
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

    private void writeEnvironment(Run run, @Nullable String changes) throws IOException {
        Properties properties = new Properties();
        properties.putAll(run.environment());
        properties.put("outcome", run.outcome() + ": " + run.outcomeReason());
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

    /** Attaches each matrix to all of its tests. Allure shows an attachment of several tests under their tear-down. */
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

    private void generate(Path directory, boolean singleFile) throws IOException, InterruptedException {
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
            // Without this variable, the finished page contacts its vendor when it is opened.
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
}
