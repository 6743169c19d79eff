package io.rdmatest.acceptance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The command {@code acceptance/outcomes}: repeats {@code ./qualify} and counts how its runs ended. */
@Command(
        name = "acceptance/outcomes",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Runs ./qualify several times in a row, beside processes that keep processors busy.",
            "Prints how often each outcome came, and each failure with the runs that had it."
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "0:every run left a result, ended with its status, and none was not qualified",
            "1:a run was not qualified, or left no result, or ended with another status than its result says",
            "2:wrong usage",
            "130, 143:SIGINT or SIGTERM came"
        })
final class Outcomes implements Callable<Integer> {

    private static final String NOT_QUALIFIED = "not qualified";

    private static final JsonMapper JSON = new JsonMapper();

    @Option(
            names = {"-n", "--runs"},
            paramLabel = "NUMBER",
            defaultValue = "20",
            description = "How many runs, 1 to 1000 (default: ${DEFAULT-VALUE}).")
    private int runs;

    @Option(
            names = "--busy",
            paramLabel = "NUMBER",
            defaultValue = "2",
            description = "How many busy processes, 0 to 64 (default: ${DEFAULT-VALUE}).")
    private int busy;

    @Option(
            names = "--limit",
            paramLabel = "MINUTES",
            defaultValue = "60",
            description = "After so many minutes a run is ended, 1 to 1440 (default: ${DEFAULT-VALUE}).")
    private int limit;

    @Option(
            names = "--output",
            paramLabel = "DIR",
            description = "Where each run has a folder with its results and console.txt"
                    + " (default: a new folder in acceptance/target/outcomes).")
    private Optional<Path> output = Optional.empty();

    @Parameters(arity = "0..*", paramLabel = "OPTION", description = "Options of ./qualify, after --.")
    private List<String> options = new ArrayList<>();

    private final Path project;
    private final PrintStream out;
    private final List<Process> children = new ArrayList<>();

    /** How often the runs ended in each way. */
    private final Map<String, Integer> ends = new TreeMap<>();

    /** The runs that had each failure. */
    private final Map<String, List<Integer>> failures = new TreeMap<>();

    /**
     * @param project the folder of {@code ./qualify}
     * @param out for what is printed
     */
    Outcomes(Path project, PrintStream out) {
        this.project = project;
        this.out = out;
    }

    /**
     * Runs the command and ends the JVM with its status.
     *
     * @param args see {@code --help}
     */
    public static void main(String[] args) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Path project = Path.of(System.getProperty("rdma.project", "")).toAbsolutePath();
        System.exit(new CommandLine(new Outcomes(project, out)).execute(args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (runs < 1 || runs > 1000 || busy < 0 || busy > 64 || limit < 1 || limit > 1440) {
            System.err.println(
                    "acceptance/outcomes: allowed are 1 to 1000 runs, 0 to 64 busy processes, and 1 to 1440 minutes");
            return 2;
        }
        if (options.stream().anyMatch(option -> option.equals("--output") || option.startsWith("--output="))) {
            System.err.println("acceptance/outcomes: each run has its own folder: give --output before --");
            return 2;
        }
        String now = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH-mm-ss").format(LocalDateTime.now());
        Path folder = output.orElse(
                        project.resolve("acceptance/target/outcomes").resolve(now))
                .toAbsolutePath();
        Thread end = new Thread(this::endChildren, "outcomes-interrupted");
        Runtime.getRuntime().addShutdownHook(end);
        boolean good = true;
        try {
            for (int i = 0; i < busy; i++) {
                // It ends by itself when this JVM is no more.
                start(new ProcessBuilder("sh", "-c", "while kill -0 $PPID 2>/dev/null; do :; done"));
            }
            for (int run = 1; run <= runs; run++) {
                good &= run(run, folder.resolve("run-%03d".formatted(run)));
            }
        } finally {
            endChildren();
            print(folder);
        }
        return good ? 0 : 1;
    }

    /** Runs {@code ./qualify} once. Returns whether its result and its status agree, and it did not say that the fabric failed. */
    private boolean run(int number, Path folder) throws IOException, InterruptedException {
        Files.createDirectories(folder);
        Path console = folder.resolve("console.txt");
        List<String> command =
                new ArrayList<>(List.of(project.resolve("qualify").toString()));
        command.addAll(List.of("--output", folder.toString()));
        command.addAll(options);
        long before = System.nanoTime();
        Process process = start(new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectInput(ProcessBuilder.Redirect.from(Path.of("/dev/null").toFile()))
                .redirectOutput(console.toFile()));
        boolean inTime = process.waitFor(limit, TimeUnit.MINUTES);
        if (!inTime) {
            process.destroy();
            if (!process.waitFor(1, TimeUnit.MINUTES)) {
                process.destroyForcibly().waitFor();
            }
        }
        Duration took = Duration.ofNanos(System.nanoTime() - before);
        int status = process.exitValue();
        Optional<JsonNode> result = inTime ? result(folder) : Optional.empty();
        String outcome = result.map(json -> json.path("outcome").asText())
                .orElse(inTime ? "no result" : "no end within " + limit + " min");
        boolean agree =
                result.map(json -> json.path("exitStatus").asInt(-1) == status).orElse(false);
        String ended = outcome + ", status " + status
                + (result.isPresent() && !agree
                        ? " where the result has " + result.get().path("exitStatus")
                        : "");
        ends.merge(ended, 1, Integer::sum);
        String reason = result.map(json -> json.path("outcomeReason").asText()).orElse(lastLine(console));
        out.printf("run %d of %d: %s, %d s: %s%n", number, runs, ended, took.toSeconds(), reason);
        if (result.isEmpty()) {
            failures.computeIfAbsent(ended + ": " + reason, ignored -> new ArrayList<>())
                    .add(number);
        }
        for (JsonNode scenario : result.map(json -> json.path("scenarios")).orElse(JSON.createArrayNode())) {
            String verdict = scenario.path("verdict").asText();
            if (verdict.equals("failed") || verdict.equals("broken")) {
                String failure = "%s %s %s: %s"
                        .formatted(
                                verdict,
                                scenario.path("cause").asText("without cause"),
                                scenario.path("name").asText(),
                                firstLine(scenario.path("reason").asText()));
                failures.computeIfAbsent(failure, ignored -> new ArrayList<>()).add(number);
            }
        }
        return agree && !outcome.equals(NOT_QUALIFIED);
    }

    /** Returns the summary that a run left in its folder, or in a folder of that: a part of the scenarios may have its own. */
    private static Optional<JsonNode> result(Path folder) throws IOException {
        try (Stream<Path> files = Files.find(folder, 2, (file, attributes) -> file.endsWith("qualification.json"))) {
            Optional<Path> latest =
                    files.max(Comparator.comparing(file -> file.toFile().lastModified()));
            return latest.isEmpty()
                    ? Optional.empty()
                    : Optional.of(JSON.readTree(latest.get().toFile()));
        }
    }

    private static String firstLine(String text) {
        return text.strip().lines().findFirst().orElse("");
    }

    private static String lastLine(Path console) throws IOException {
        String text = new String(Files.readAllBytes(console), StandardCharsets.UTF_8);
        return text.strip().lines().reduce((earlier, later) -> later).orElse("it printed nothing");
    }

    private synchronized Process start(ProcessBuilder builder) throws IOException {
        Process process = builder.start();
        children.add(process);
        return process;
    }

    private synchronized void endChildren() {
        children.forEach(Process::destroy);
    }

    private void print(Path folder) {
        out.printf(
                "%n%d runs of ./qualify %s beside %d busy processes; results are in %s%n",
                ends.values().stream().mapToInt(Integer::intValue).sum(), String.join(" ", options), busy, folder);
        ends.forEach((end, count) -> out.printf("%6d  %s%n", count, end));
        if (!failures.isEmpty()) {
            out.println("Failures, with the runs that had them:");
        }
        failures.forEach((failure, numbers) -> out.printf("%6d  %s %s%n", numbers.size(), failure, numbers));
    }
}
