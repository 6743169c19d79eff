package io.rdmatest.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.NodePair;
import io.rdmatest.junit.Measurement;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.junit.RunSeed;
import io.rdmatest.peer.PreparedClasses;
import io.rdmatest.report.JournalEvent.Kind;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.scenarios.PairScenarios;
import io.rdmatest.scenarios.PairSettings;
import io.rdmatest.scenarios.cli.ExitStatus;
import io.rdmatest.scenarios.qualification.Archive;
import io.rdmatest.scenarios.qualification.QualificationComparison.Shift;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command {@code ./qualify}: runs the scenarios and shows how they are getting on. */
@Command(
        name = "./qualify",
        mixinStandardHelpOptions = true,
        version = "rdmatest 0.1.0",
        sortOptions = false,
        description = {
            "Qualifies an RDMA fabric: runs the scenarios and writes an Allure report and qualification.json.",
            "Without an active RDMA device, they run on soft-RoCE in a virtual machine."
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "0:qualified: every scenario that was judged passed; what was not judged is printed",
            "1:not qualified: the fabric failed a scenario",
            "2:wrong usage",
            "3:nothing could be run on this host, or not all that was run could be recorded or reported",
            "4:inconclusive: no scenario failed, but one is broken or was not run, or none was judged",
            "14:as 0, and something is worse than in the --baseline",
            "15:as 0, and nothing could be compared with the --baseline",
            "130, 143:SIGINT or SIGTERM came; the report is of what was run until then"
        })
public final class Qualify implements Callable<Integer> {

    /** Lines that are shown of a run that was cut off: two machines end with up to 20 lines of their consoles each. */
    private static final int LAST_WORDS = 50;

    /** Lines that are shown of a JVM that died when another one goes on. */
    private static final int WORDS_IN_BETWEEN = 20;

    /** Lines that are shown of a run in which no scenario began: why not is said last. */
    private static final int ONLY_WORDS = 15;

    /** Lines of each reason that are repeated at the end. */
    private static final int REASON_LINES = 3;

    private static final String PAIRS = "PairScenarios.allPairs";

    static final String PAIRS_SETTING = "rdma.pairs";
    private static final Map<String, String> STRICT =
            Map.of(RdmaConfiguration.AUDIT, "kernel", RdmaConfiguration.COUNTERS, "fail");

    private static final String WIRE_SETTING = "rdma.wire";
    private static final String RESULTS_SETTING = "allure.results.directory";
    static final String SERVER_SETTING = "rdma.scenario.server";
    static final String CLIENT_SETTING = "rdma.scenario.client";

    /** What a comparison ends with that is not as good as it could be. */
    private static final Set<Integer> COMPARED = Set.of(ExitStatus.WORSE.code(), ExitStatus.NOTHING_COMPARED.code());

    /** Settings by which this program and the scenarios' JVM find each other. */
    private static final Set<String> OWN_SETTINGS = Set.of(
            ReportConfiguration.DIRECTORY,
            ReportConfiguration.PROGRESS,
            PairSettings.FILE,
            WhatDiffers.FILE,
            ScenarioRunner.GO_ON,
            ScenarioRunner.HELD,
            RESULTS_SETTING);

    private static final Duration END_OF_CHILD = Duration.ofSeconds(10);

    /** Exit statuses of a JVM that was asked to end: SIGINT, as of Ctrl-C, and SIGTERM. */
    private static final Set<Integer> ASKED_TO_END = Set.of(128 + 2, 128 + 15);

    @Option(names = "--fabric", paramLabel = "NAME|PATH", description = "The fabric to qualify (default: auto).")
    private @Nullable String fabric;

    @Option(
            names = "--server",
            paramLabel = "NODE",
            description = "The node of the fabric that servers and receivers run on"
                    + " (default: the first other than the client's).")
    private @Nullable String server;

    @Option(
            names = "--client",
            paramLabel = "NODE",
            description = "The node of the fabric that clients and senders run on (default: this host).")
    private @Nullable String client;

    @Option(
            names = "--pairs",
            arity = "0..1",
            fallbackValue = "",
            paramLabel = "latency,bandwidth,rate",
            description =
                    "Measure latency, bandwidth and message rate between all pairs of the fabric's nodes, or those"
                            + " of the three that are named; no other scenarios unless --scenario names them. pairs.jsonl has a"
                            + " line for each pair.")
    private @Nullable String pairs;

    @Option(
            names = "--pairs-qps",
            paramLabel = "NUMBER",
            description = "Queue pairs of each stream of --pairs, 1 to 64 (default: 4, where a device is software 2).")
    private @Nullable String pairsQps;

    @Option(
            names = "--pairs-size",
            paramLabel = "BYTES",
            description = "Bytes of a message where --pairs measures the bandwidth, 1 to 16777216 (default: 65536).")
    private @Nullable String pairsSize;

    @Option(
            names = "--pairs-time",
            paramLabel = "SECONDS",
            description =
                    "How long --pairs measures the bandwidth, and how long the message rate, of each pair, 0.01 to"
                            + " 60 (default: 0.5).")
    private @Nullable String pairsTime;

    @Option(
            names = "--pairs-operation",
            paramLabel = "write|read|send",
            description = "How --pairs moves data (default: write).")
    private @Nullable String pairsOperation;

    @Option(
            names = "--pairs-directions",
            paramLabel = "one|both",
            description = "Whether data flows back at the same time where --pairs measures bandwidth and message rate"
                    + " (default: one).")
    private @Nullable String pairsDirections;

    @Option(
            names = "--wire",
            description = "Capture what passes between the fabric's nodes, and fail scenarios whose packets break the"
                    + " rules.")
    private boolean wire;

    @Option(
            names = "--rail",
            paramLabel = "NAME",
            description = "The rail of the fabric to qualify (default: of each node the first one in the file).")
    private @Nullable String rail;

    @Option(names = "--device", paramLabel = "NAME", description = "The RDMA device, as name or name/port.")
    private @Nullable String device;

    @Option(
            names = "--scenario",
            paramLabel = "PATTERN",
            description =
                    "Run only scenarios whose name, as a run prints it, or Class.method contains PATTERN; * stands"
                            + " for anything. Can be repeated.")
    private List<String> scenarios = new ArrayList<>();

    @Option(
            names = "--last-failed",
            description =
                    "Run only what failed or was broken in the last run, with the settings of that run. Options and"
                            + " -D change them.")
    private boolean lastFailed;

    @Option(
            names = "-D",
            paramLabel = "KEY=VALUE",
            description = "Set what the scenarios are configured by, as in -Drdma.interop.cells=7. Can be repeated.")
    private Map<String, String> settings = new LinkedHashMap<>();

    @Option(
            names = "--baseline",
            arity = "1..*",
            paramLabel = "FILE",
            description = "The qualification.json of an earlier run, or of several in order, or a folder of such files"
                    + " or an --archive, which are read in the order of their names. What changed is printed and written to"
                    + " comparison.html and comparison.json. The run ends with 14 if anything is worse.")
    private List<Path> baseline = new ArrayList<>();

    @Option(
            names = "--archive",
            paramLabel = "DIR",
            description =
                    "Keep the results of this run, good or bad, in a folder of its own in DIR: qualification.json,"
                            + " nodes.json, pairs.jsonl, junit.xml, rdmatest.prom and the comparison. --baseline DIR reads it.")
    private @Nullable Path archive;

    @Option(
            names = "--accept",
            description =
                    "This run is the new normal: later runs are compared with this one and those after it only, if they"
                            + " read the --archive. This run ends with 0 instead of 14 or 15.")
    private boolean accept;

    @Option(
            names = "--tolerance",
            paramLabel = "PERCENT",
            defaultValue = "20",
            description =
                    "By how many percent a median or a rate may be worse than is usual in the --baseline, 0 to 1000"
                            + " (default: ${DEFAULT-VALUE}); other percentiles may differ by five times as much.")
    private double tolerance;

    @Option(
            names = "--last",
            paramLabel = "NUMBER",
            defaultValue = "14",
            description = "How many of the --baseline's runs, the latest ones, say what is usual, 1 to 1000"
                    + " (default: ${DEFAULT-VALUE}). A drift shows in up to four times as many.")
    private int last;

    @Option(
            names = "--again",
            paramLabel = "NUMBER",
            defaultValue = "1",
            description = "When a measurement is worse than in the --baseline, run the scenarios again, at most so many"
                    + " times. It counts as worse only if every repetition confirms it (default:"
                    + " ${DEFAULT-VALUE}).")
    private int again;

    @Option(names = "--list", description = "List the scenarios and end.")
    private boolean list;

    @Option(
            names = "--timeout",
            paramLabel = "SECONDS",
            description = "End the run after so many seconds (default: 1800, and with --pairs 7 more for each round, or"
                    + " more if --pairs-time is longer).")
    private @Nullable Integer timeout;

    private int timeoutSeconds = 1800;

    @Option(
            names = "--restarts",
            paramLabel = "NUMBER",
            defaultValue = "3",
            description =
                    "When the JVM of the scenarios or its virtual machine dies, go on in another one with those that"
                            + " are left, at most so many times (default: ${DEFAULT-VALUE}).")
    private int restarts;

    @Option(names = "--output", paramLabel = "DIR", description = "Where the report goes (default: reports/target).")
    private @Nullable Path output;

    @Option(
            names = {"-v", "--verbose"},
            description = "Show what the scenarios print.")
    private boolean verbose;

    private final Path project = Path.of(System.getProperty("rdma.project", "")).toAbsolutePath();
    private final Path target = project.resolve("reports").resolve("target");
    private final boolean unicode =
            String.valueOf(System.getProperty("stdout.encoding")).startsWith("UTF-8");
    private final boolean terminal =
            System.console() != null && System.console().isTerminal();
    private final PrintStream out = System.out;
    private final Leftovers leftovers = new Leftovers();
    private final List<String> childSaid = new ArrayList<>();
    private final Object display = new Object();
    private int ended;

    /** How many scenarios there are; null as long as some unfold only during the run. */
    private @Nullable Integer total;

    private Selection selection = Selection.ALL;

    private @Nullable String running;
    private long runningSince = System.nanoTime();
    private @Nullable String trouble;

    /** Why the run could not be followed to its end, if it could not: that is this host's fault, and no scenario's. */
    private @Nullable String lost;

    private volatile @Nullable Process child;
    private volatile boolean timedOut;
    private volatile boolean interrupted;

    /** Whether the run is at its end, and the scenarios are only run again: nothing that happens then is the run's. */
    private volatile boolean repeating;

    /** How often the JVM of the scenarios died. */
    private int deaths;

    private boolean lastOneDied;

    /** Scenarios that ended, or did not, in JVMs that died. */
    private int endedBefore;

    private int machines;
    private boolean closed;
    private int status = 1;

    /** What is known of the run beside its journals, from its start on. */
    private @Nullable RunAbout about;

    /** Creates the command; picocli fills in its options. */
    public Qualify() {}

    /**
     * Runs the command.
     *
     * @param args see {@code --help}
     */
    public static void main(String[] args) {
        System.exit(new CommandLine(new Qualify())
                .setParameterExceptionHandler((e, ignored) -> {
                    System.err.println("./qualify: " + e.getMessage());
                    System.err.println("./qualify --help shows the options.");
                    return 2;
                })
                .setExecutionExceptionHandler((e, line, parsed) -> {
                    System.err.println("./qualify: " + e.getMessage());
                    return 3;
                })
                .execute(args));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (timeout != null) {
            if (timeout <= 0) {
                return usage("--timeout " + timeout + " is not a number of seconds above 0");
            }
            timeoutSeconds = timeout;
        }
        if (restarts < 0) {
            return usage("--restarts " + restarts + " is not a number of restarts, 0 or more");
        }
        if (again < 0) {
            return usage("--again " + again + " is not a number of times, 0 or more");
        }
        if (accept && archive == null) {
            return usage("--accept marks this run in an archive: name the folder with --archive");
        }
        for (String key : settings.keySet()) {
            if (OWN_SETTINGS.contains(key)) {
                return usage("-D" + key + " is set by ./qualify itself; --output says where report and summary go");
            }
        }
        Path reports = output == null ? target : output.toAbsolutePath();
        if (lastFailed) {
            Integer ended = selectLastFailed(reports);
            if (ended != null) {
                return ended;
            }
        } else if (pairs != null) {
            scenarios.add(PAIRS);
        }
        selection = ScenarioRunner.select(scenarios);
        if (!selection.unmatched().isEmpty()) {
            String gone = selection.unmatched().stream()
                    .map(each -> each.replaceFirst("^(" + Selection.ID + "|" + Selection.NAME + ")", ""))
                    .collect(Collectors.joining(", "));
            if (!lastFailed || selection.unmatched().size() == scenarios.size()) {
                return usage("no scenario matches " + gone + "; ./qualify --list shows all");
            }
            out.println("Not there any more: " + gone);
            scenarios.removeAll(selection.unmatched());
        }
        if (list) {
            ScenarioRunner.list(selection).forEach(out::println);
            return 0;
        }
        // What an option and a setting say is the same, and the option wins.
        String fabric = setting(FabricConfiguration.FABRIC, this.fabric);
        String rail = setting(FabricConfiguration.RAIL, this.rail);
        setting(FabricConfiguration.DEVICE, device);
        setting(PAIRS_SETTING, pairs != null ? "true" : null);
        setting(PairSettings.MEASURE, pairs == null || pairs.isEmpty() ? null : pairs);
        setting(PairSettings.QPS, pairsQps);
        setting(PairSettings.SIZE, pairsSize);
        setting(PairSettings.TIME, pairsTime);
        setting(PairSettings.OPERATION, pairsOperation);
        setting(PairSettings.DIRECTIONS, pairsDirections);
        PairSettings pairSettings;
        try {
            pairSettings = PairSettings.read(key -> Optional.ofNullable(settings.get(key)));
        } catch (IllegalArgumentException e) {
            return usage(e.getMessage());
        }
        setting(WIRE_SETTING, wire ? "true" : null);
        // In the project folder even with --output: that is always shared with the virtual machine.
        Path journal = target.resolve("qualify-journal");
        Path results = target.resolve("qualify-results");
        ReportGenerator generator =
                new ReportGenerator(journal, results, target.resolve("allure-commandline"), reports);
        Baseline earlier = null;
        if (archive != null) {
            try {
                // Before a baseline is read: in the first night it is the same folder.
                Archive.prepare(archive);
            } catch (IOException e) {
                return usage("--archive " + e.getMessage());
            }
        }
        if (!baseline.isEmpty()) {
            try {
                // Now: the last run's own summary makes room for that of this one.
                earlier = Baseline.read(baseline, last, tolerance, !scenarios.isEmpty(), out::println);
                generator.compareWith(earlier);
            } catch (IOException | IllegalArgumentException e) {
                return usage(e.getMessage());
            }
        }
        // The message on a wrong file comes before anything is installed or booted.
        Fabric read;
        try {
            read = fabric == null ? null : Fabric.load(fabric, rail, null);
        } catch (FabricException e) {
            generator.discard();
            throw e;
        }
        String wrong = wrongNodes(read, setting(SERVER_SETTING, server), setting(CLIENT_SETTING, client));
        if (wrong != null) {
            return usage(wrong);
        }
        // Also where the last run, or a setting, asks for pairs.
        if ("true".equals(settings.get(PAIRS_SETTING)) && read != null && timeout == null) {
            timeoutSeconds += Math.toIntExact(
                    PairScenarios.limitOfRounds(read, pairSettings).toSeconds());
        }
        machines = read == null ? 0 : read.microvms();
        try {
            Files.createDirectories(reports);
        } catch (IOException e) {
            return usage("--output " + reports + " cannot be written to: " + e);
        }
        // Before anything can fail: whoever collects the summary must not take an earlier run's for this one's.
        LastRun.keep(reports);
        generator.discard();
        ReportGenerator.deleteRecursively(journal);
        ReportGenerator.deleteRecursively(results);
        ReportGenerator.deleteRecursively(repeated());
        Files.deleteIfExists(measuredPairs());
        Files.deleteIfExists(differing());
        generator.nodesDifferAsIn(differing());
        if (setUp() != 0) {
            return 3;
        }
        // One seed for all JVMs of the run: they have to draw alike.
        settings.putIfAbsent(RunSeed.PROPERTY, Long.toString(RunSeed.draw()));
        about = RunAbout.of(
                read == null ? Fabric.load(FabricConfiguration.DEFAULT_FABRIC, null, null) : read, rail, settings);
        List<String> command = command(journal, results);
        // Ctrl-C ends this JVM through its shutdown hooks; the report of what was run is still to be written.
        Thread onInterrupt = new Thread(() -> finish(journal, generator, true), "qualify-interrupted");
        Process started = start(command);
        Runtime.getRuntime().addShutdownHook(onInterrupt);
        try (ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(work -> {
            Thread thread = new Thread(work, "qualify-clock");
            thread.setDaemon(true);
            return thread;
        })) {
            try {
                clock.schedule(
                        () -> {
                            timedOut = true;
                            endChild();
                        },
                        timeoutSeconds,
                        TimeUnit.SECONDS);
                clock.scheduleAtFixedRate(this::showLive, 250, 250, TimeUnit.MILLISECONDS);
                command.add(command.indexOf("-cp"), "-D" + ScenarioRunner.GO_ON + "=true");
                for (Process process = started; process != null; process = another(command, process, journal)) {
                    await(process);
                    noteEnd(process, journal);
                }
                if (earlier != null && trouble == null && !lastOneDied && !isOver()) {
                    tryAgain(earlier, journal);
                }
            } catch (IOException | RuntimeException e) {
                // A full disk, for example. What was recorded until then is reported all the same.
                lost = e.getMessage() == null ? e.toString() : e.getMessage();
            } finally {
                // Whatever ended the run: closing a clock waits for what it is still to do, until --timeout.
                clock.shutdownNow();
            }
        }
        finish(journal, generator, false);
        return status;
    }

    /** Takes what failed in the last run for what is asked for. Returns the exit status if there is nothing to be run. */
    private @Nullable Integer selectLastFailed(Path reports) {
        if (!scenarios.isEmpty()) {
            return usage("--last-failed says which scenarios to run: leave out --scenario");
        }
        LastRun lastRun;
        try {
            lastRun = LastRun.read(reports);
        } catch (IOException e) {
            return usage("--last-failed: " + e.getMessage());
        }
        if (lastRun.failed().isEmpty()) {
            out.println("Nothing to run again: no scenario failed or was broken in the last run, %s%s."
                    .formatted(lastRun.file(), lastRun.outcome().isEmpty() ? "" : " (" + lastRun.outcome() + ")"));
            return lastRun.statusIfNothingFailed();
        }
        scenarios.addAll(lastRun.failed());
        lastRun.settings().forEach((key, value) -> {
            if (!OWN_SETTINGS.contains(key) && settings.putIfAbsent(key, value) == null) {
                out.println("As in the last run: -D" + key + "=" + value);
            }
        });
        return null;
    }

    /** Shows what a JVM says until it ended, and ends what it leaves behind: that could hold its output open for ever. */
    private void await(Process process) throws InterruptedException {
        Thread errors = Thread.ofPlatform().daemon().start(() -> read(process.errorReader(StandardCharsets.UTF_8)));
        Thread says = Thread.ofPlatform().daemon().start(() -> read(process.inputReader(StandardCharsets.UTF_8)));
        // The clock ends it long before, unless it is stuck in the kernel.
        process.waitFor(timeoutSeconds + 3 * END_OF_CHILD.toSeconds(), TimeUnit.SECONDS);
        leftovers.end();
        says.join(END_OF_CHILD);
        errors.join(END_OF_CHILD);
    }

    /** Where the scenarios write what they measure between two nodes. */
    private Path measuredPairs() {
        return target.resolve(RunPairs.FILE);
    }

    /** Where the scenarios' JVM writes what differs between the nodes. */
    private Path differing() {
        return target.resolve(WhatDiffers.NAME);
    }

    /** Where runs that are made again leave their journals. */
    private Path repeated() {
        return target.resolve("qualify-again");
    }

    private void tryAgain(Baseline earlier, Path journal) throws InterruptedException {
        repeating = true;
        try {
            measureAgain(earlier, journal);
        } catch (IOException | RuntimeException e) {
            trouble = e.getMessage() == null ? e.toString() : e.getMessage();
        }
        if (trouble != null) {
            synchronized (display) {
                print("That could not be run again: " + trouble);
            }
        }
    }

    /**
     * Runs the scenarios again while something measured is worse than in earlier runs, each time: a bad moment of this host is
     * no finding. All of them, because what a scenario measures hangs on what its JVM has compiled in those before it.
     */
    private void measureAgain(Baseline earlier, Path journal) throws IOException, InterruptedException {
        Run run = Run.of(Journal.read(journal));
        if (about != null) {
            // Its settings say which earlier runs it is compared with.
            run = run.with(about);
        }
        for (int round = 1; round <= again; round++) {
            List<Shift> worse = earlier.worse(run);
            if (worse.isEmpty() || isOver()) {
                return;
            }
            synchronized (display) {
                print("");
                print(
                        "%d measurements of %d scenarios are worse than before. Running all scenarios again to confirm it, %d of at most %d:"
                                .formatted(
                                        worse.size(),
                                        worse.stream()
                                                .map(Shift::scenario)
                                                .distinct()
                                                .count(),
                                        round,
                                        again));
                total = null;
                showAnother(0);
            }
            Path folder = repeated().resolve(Integer.toString(round));
            Path own = folder.resolve("journal");
            // With the same seed: cells that were drawn are the same ones.
            Process process = start(command(own, folder.resolve("results")));
            await(process);
            if (isOver() || trouble != null || process.isAlive() || ASKED_TO_END.contains(process.exitValue())) {
                return;
            }
            Run repeated = Run.of(Journal.read(own));
            if (repeated.scenarios().isEmpty()) {
                trouble = lastWords(ONLY_WORDS);
                return;
            }
            earlier.again(repeated);
        }
    }

    private boolean isOver() {
        synchronized (display) {
            return closed || interrupted || timedOut;
        }
    }

    /** Writes into the journal how a JVM ended that did not come to the end of its plan. */
    private void noteEnd(Process process, Path journal) throws IOException {
        List<JournalEvent> events = Journal.read(journal);
        lastOneDied = trouble == null
                && !interrupted
                && !events.isEmpty()
                && !Begun.of(events).isEnded();
        if (lastOneDied) {
            deaths++;
            noteEnd(journal, timedOut ? "ended after --timeout " + timeoutSeconds + " s" : status(process));
        }
    }

    private void noteEnd(Path journal, String how) throws IOException {
        try (Journal own = new Journal(journal, false)) {
            own.write(JournalEvent.died(how, lastWords(LAST_WORDS)));
        }
    }

    private static String status(Process process) {
        return process.isAlive() ? "it does not end" : "exit status " + process.exitValue();
    }

    /** Starts another JVM for what is left if the last one died by itself; null if there is none to be started. */
    private @Nullable Process another(List<String> command, Process last, Path journal) throws IOException {
        if (!lastOneDied
                || timedOut
                || last.isAlive()
                || deaths > restarts
                || ASKED_TO_END.contains(last.exitValue())) {
            return null;
        }
        List<JournalEvent> events = Journal.read(journal);
        if (!Begun.of(events).canGoOn()) {
            return null;
        }
        synchronized (display) {
            if (closed) {
                return null;
            }
            // Not what the display counted: the last lines may have died with the JVM.
            int before = (int) Run.of(events).scenarios().stream()
                    .filter(scenario -> !scenario.notRun)
                    .count();
            if (running != null) {
                print("%s%s %-7s %8s  %s"
                        .formatted(
                                count(before),
                                mark(Verdict.BROKEN),
                                Verdict.BROKEN,
                                Units.seconds((System.nanoTime() - runningSince) / 1_000_000),
                                running));
            }
            print("The JVM of the scenarios, or its virtual machine, died %s (%s). What was said last:"
                    .formatted(running == null ? "outside a scenario" : "in it", status(last)));
            print(lastWords(WORDS_IN_BETWEEN).indent(4).stripTrailing());
            print("Going on with what is left in another one, the %s of at most %d."
                    .formatted(deaths == 1 ? "first" : deaths + ".", restarts));
            showAnother(before);
        }
        return start(command);
    }

    /** Makes the display that of another JVM, after so many scenarios. */
    private void showAnother(int before) {
        endedBefore = before;
        ended = before;
        running = null;
        runningSince = System.nanoTime();
        childSaid.clear();
    }

    /** Returns the value of a key for the scenarios, from its option or else from -D; null if there is none. */
    private @Nullable String setting(String key, @Nullable String option) {
        if (option != null) {
            settings.put(key, option);
        }
        return settings.get(key);
    }

    /** Returns what is wrong about the options that name nodes or a rail, or are about several; null if nothing is. */
    private @Nullable String wrongNodes(@Nullable Fabric read, @Nullable String server, @Nullable String client) {
        // As settings, these have no effect on one node.
        String across = pairs != null ? "--pairs" : wire ? "--wire" : null;
        if (read == null) {
            if (server != null || client != null) {
                return "--server and --client are nodes of a fabric: name it with --fabric";
            }
            if (settings.containsKey(FabricConfiguration.RAIL)) {
                return "--rail is one of a fabric's file: name it with --fabric";
            }
            return across == null ? null : across + " is about the nodes of a fabric: name it with --fabric";
        }
        for (String node : new String[] {server, client}) {
            if (node != null) {
                try {
                    read.nodeNamed(node);
                } catch (FabricException e) {
                    return e.getMessage();
                }
            }
        }
        if (across != null && read.nodes().size() < 2) {
            return across + " takes two nodes, and the fabric " + read + " has one";
        }
        return "true".equals(settings.get(WIRE_SETTING)) && read.nodes().size() > 1
                ? notOnTheWire(read, server, client)
                : null;
    }

    /** Returns why the wire between the sides can't be watched from this host; null if it can. */
    private static @Nullable String notOnTheWire(Fabric read, @Nullable String server, @Nullable String client) {
        Node here = read.local();
        NodePair pair = read.pair(server, client);
        if (pair.server().equals(pair.client())) {
            return "--wire is about what passes between two nodes, and servers and clients are both to be on "
                    + pair.client().name();
        }
        return pair.client().equals(here) || pair.server().equals(here)
                ? null
                : "--wire captures on this host, node %s: the server is to be on %s and the client on %s"
                        .formatted(
                                here.name(), pair.server().name(), pair.client().name());
    }

    /** Installs and prepares what is missing; says itself what it does and what it can't do. */
    private int setUp() throws IOException, InterruptedException {
        if (System.getProperty("rdma.java") != null) {
            return 0;
        }
        Path setup = project.resolve("fabric-config/rdma-jdk/bin/setup");
        return inMachines(new ProcessBuilder(setup.toString(), "--run"))
                .inheritIO()
                .start()
                .waitFor();
    }

    /** Lets the drop-in java start the machines that the fabric is made of, also where there is a device. */
    private ProcessBuilder inMachines(ProcessBuilder builder) {
        Map<String, String> environment = builder.environment();
        if (machines > 0 && !"never".equals(environment.get("RDMA_VM")) && !environment.containsKey("RDMA_NODE")) {
            environment.put("RDMA_VM", "always");
            environment.put("RDMA_VM_NODES", Integer.toString(machines));
        }
        return builder;
    }

    /** Starts the JVM of the scenarios; null if the run was interrupted before. */
    private synchronized @Nullable Process start(List<String> command) throws IOException {
        if (closed) {
            return null;
        }
        // Its standard input is open as long as this JVM lives, however that ends, and it lives as long as that.
        ProcessBuilder builder = inMachines(new ProcessBuilder(command));
        leftovers.mark(builder.environment());
        // The machine may write to the project only if it is started from there, and the journal has to get out of it.
        builder.environment()
                .merge("RDMA_VM_RW", target.toString(), (given, own) -> given.isBlank() ? own : given + ":" + own);
        Process started = builder.start();
        child = started;
        if (timedOut) {
            // The clock may have struck before there was this child to be ended.
            endChild();
        }
        return started;
    }

    private List<String> command(Path journal, Path results) throws IOException {
        Path java = Path.of(System.getProperty(
                "rdma.java", project.resolve("fabric-config/rdma-jdk/bin/java").toString()));
        if (!Files.isExecutable(java)) {
            throw new IOException(java + " is not there or cannot be executed");
        }
        List<String> command = new ArrayList<>(List.of(
                java.toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-XX:ErrorFile=" + target + "/hs_err_pid%p.log",
                "-D" + ReportConfiguration.DIRECTORY + "=" + journal,
                "-D" + ReportConfiguration.PROGRESS + "=true",
                "-D" + ScenarioRunner.HELD + "=true",
                "-D" + RESULTS_SETTING + "=" + results,
                // Beside the journal, where the machine may write.
                "-D" + PairSettings.FILE + "=" + journal.resolveSibling(RunPairs.FILE),
                "-D" + WhatDiffers.FILE + "=" + differing()));
        for (Map.Entry<Object, Object> property : System.getProperties().entrySet()) {
            if (property.getKey().equals(ScenarioRunner.PACKAGE)) {
                command.add("-D" + property.getKey() + "=" + property.getValue());
            }
        }
        // Stricter than the defaults, which are for projects whose device others use too.
        STRICT.forEach((key, value) -> {
            if (!settings.containsKey(key)) {
                command.add("-D" + key + "=" + value);
            }
        });
        settings.forEach((key, value) -> command.add("-D" + key + "=" + value));
        command.addAll(PreparedClasses.options());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), ScenarioRunner.class.getName()));
        command.addAll(scenarios);
        return command;
    }

    private void read(BufferedReader lines) {
        try (lines) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JournalEvent event = progress(line);
                if (event != null) {
                    show(event);
                } else {
                    synchronized (display) {
                        childSaid.add(line);
                        if (verbose) {
                            print("    " + line);
                        }
                    }
                }
            }
        } catch (IOException e) {
            // The pipe breaks when the child is killed; the journal says how far it got.
            synchronized (display) {
                childSaid.add("output ended: " + e.getMessage());
            }
        }
    }

    /** Returns what a line tells of the run; null if it is ordinary output, or output that fell into such a line. */
    private static @Nullable JournalEvent progress(String line) {
        int at = line.indexOf(ReportConfiguration.PROGRESS_PREFIX);
        if (at < 0) {
            return null;
        }
        try {
            return JournalEvent.parse(line.substring(at + ReportConfiguration.PROGRESS_PREFIX.length()));
        } catch (JsonProcessingException e) {
            return null;
        }
    }

    private void show(JournalEvent event) {
        synchronized (display) {
            if (event.expected() != null) {
                total = event.open() != null && event.open() > 0 ? null : (Integer) (endedBefore + event.expected());
            }
            if (event.event() == Kind.TROUBLE) {
                trouble = event.reason();
            } else if (event.event() == Kind.RUN_STARTED && (deaths == 0 || repeating)) {
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
                    print("          " + firstLine(event.reason()));
                }
                running = null;
            }
        }
    }

    private String count(int number) {
        return total == null ? "[%3d] ".formatted(number) : "[%3d/%d] ".formatted(number, total);
    }

    private String mark(Verdict verdict) {
        return switch (verdict) {
            case PASSED -> unicode ? "✔" : "+";
            case FAILED -> unicode ? "✘" : "X";
            case BROKEN -> unicode ? "✘" : "!";
            case SKIPPED -> unicode ? "○" : "-";
        };
    }

    private void print(String line) {
        out.println((terminal ? "\r\033[K" : "") + line);
    }

    private void showLive() {
        synchronized (display) {
            if (terminal && !closed) {
                String what = running == null ? "starting" : running;
                String text =
                        "%s%s  %.0f s".formatted(count(ended + 1), what, (System.nanoTime() - runningSince) / 1e9);
                out.print("\r\033[K" + text.substring(0, Math.min(text.length(), 79)));
                out.flush();
            }
        }
    }

    private void endChild() {
        Process process = child;
        if (process == null) {
            return;
        }
        process.destroy();
        try {
            process.waitFor(END_OF_CHILD.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        process.destroyForcibly();
        leftovers.end();
    }

    /** Writes what is to be written; once, whether the run ended by itself or was interrupted. */
    private synchronized void finish(Path journal, ReportGenerator generator, boolean byUser) {
        if (closed) {
            return;
        }
        interrupted = byUser;
        endChild();
        synchronized (display) {
            closed = true;
            if (terminal) {
                out.print("\r\033[K");
            }
        }
        Run written = null;
        try {
            if (byUser) {
                noteEnd(journal, "interrupted");
            }
            Run run = Run.of(Journal.read(journal));
            if (about != null) {
                run = run.with(about);
            }
            boolean cutOff = timedOut && !repeating;
            String trouble = repeating ? null : this.trouble;
            if (lost != null) {
                System.err.println("./qualify: the run could not be followed to its end: " + lost);
            }
            List<String> without = selection.without(run.scenarios());
            if (run.scenarios().isEmpty()
                    && !without.isEmpty()
                    && trouble == null
                    && !byUser
                    && !cutOff
                    && Begun.of(Journal.read(journal)).isEnded()) {
                status = usage("no scenario matches " + String.join(", ", without)
                        + "; names are as a run prints them, ./qualify --list shows the methods");
                return;
            }
            if (trouble != null && deaths == 0 || run.scenarios().isEmpty()) {
                status = 3;
                if (byUser) {
                    System.err.println("./qualify: interrupted before the first scenario");
                    return;
                }
                String said = lastWords(ONLY_WORDS);
                System.err.println("./qualify: "
                        + (trouble != null
                                ? trouble
                                : cutOff
                                        ? "no scenario started within " + timeoutSeconds + " s"
                                        : said.isEmpty() ? "no scenario was run" : said));
                return;
            }
            if (cutOff || trouble != null || lastOneDied) {
                run = run.thatEndedEarly();
            }
            run = run.with(
                    run.about().withExitStatus(byUser ? null : run.outcome().status()));
            // First of all: whatever else goes wrong, it is there.
            generator.writeSummary(run);
            written = run;
            Path pairsFile = keepPairs(generator);
            String noData = generator.writeData(run);
            table(run, generator.differs());
            without.forEach(each -> out.println("No scenario matches " + each));
            if (pairsFile != null) {
                tellPairs(pairsFile, generator.pairs(run));
            }
            if (byUser) {
                out.println("Interrupted; the report shows what was run until then.");
            } else if (cutOff) {
                out.println("Ended after " + timeoutSeconds + " s (--timeout).");
            } else if (timedOut) {
                out.println("Not run again to the end, which came after " + timeoutSeconds + " s (--timeout).");
            } else if (trouble != null) {
                out.println("After the JVM of the scenarios had died, another one could not go on: " + trouble);
            } else if (lastOneDied) {
                // A machine that ended says so, and then what it wrote last.
                out.println("The run ended early. What was said last:");
                out.println(lastWords(LAST_WORDS).indent(4).stripTrailing());
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
            status = lost != null || noPage != null || noData != null
                    ? 3
                    : run.outcome() != Outcome.QUALIFIED
                            ? run.outcome().status()
                            : accept && COMPARED.contains(compared) ? 0 : compared;
        } catch (IOException | RuntimeException e) {
            status = 3;
            System.err.println("./qualify: no report: " + (e.getMessage() == null ? e : e.getMessage()));
            if (Files.exists(generator.summary())) {
                System.err.println("./qualify: the summary is there: " + generator.summary());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        if (written != null) {
            conclude(written, generator, byUser);
        }
    }

    /** Has summary and metrics say how the run ended, and keeps what came of it. */
    private void conclude(Run run, ReportGenerator generator, boolean byUser) {
        Integer ended = byUser ? null : (Integer) status;
        Path kept = archive;
        try {
            if (!Objects.equals(run.about().exitStatus(), ended)) {
                Run concluded = run.with(run.about().withExitStatus(ended));
                generator.writeSummary(concluded);
                String noData = generator.writeData(concluded);
                if (noData != null) {
                    throw new IOException(noData);
                }
            }
            if (kept != null) {
                boolean accepted = accept && !byUser && run.outcome() != Outcome.INCONCLUSIVE;
                out.println("Archive  " + generator.archive(kept, run, accepted));
                if (accepted) {
                    out.println("Accepted: later runs are compared with this one and those after it only.");
                } else if (accept) {
                    out.println("Not accepted: the run is inconclusive. Run ./qualify --accept again.");
                }
            }
        } catch (IOException | RuntimeException e) {
            status = 3;
            System.err.println(
                    "./qualify: the results are not all kept: " + (e.getMessage() == null ? e : e.getMessage()));
        }
    }

    /** Puts the measured pairs beside the summary; null if there are none. */
    private @Nullable Path keepPairs(ReportGenerator generator) throws IOException {
        Path there = measuredPairs();
        if (!Files.exists(there)) {
            return null;
        }
        Path here = generator.summary().resolveSibling(RunPairs.FILE);
        if (!here.equals(there)) {
            Files.copy(there, here, StandardCopyOption.REPLACE_EXISTING);
        }
        return here;
    }

    /** Shows what was measured of pairs, and what explains it. Trouble with that costs the run nothing else. */
    private void tellPairs(Path file, RunPairs pairs) {
        try {
            PairTables.print(file, out::println);
            out.println();
            pairs.lines().forEach(out::println);
            out.println();
        } catch (IOException e) {
            System.err.println("./qualify: the measured pairs can't be shown: " + e.getMessage());
        }
    }

    private String lastWords(int most) {
        synchronized (display) {
            return String.join(
                    System.lineSeparator(), childSaid.subList(Math.max(0, childSaid.size() - most), childSaid.size()));
        }
    }

    private void table(Run run, @Nullable String differs) {
        out.println();
        int width = run.scenarios().stream()
                .mapToInt(scenario -> scenario.name.length())
                .max()
                .orElse(8);
        int shown = Math.clamp(width, 8, 72);
        String row = "%-" + shown + "s  %-7s  %9s  %s";
        out.println(row.formatted("scenario", "verdict", "time", "measured"));
        for (Run.Scenario scenario : run.scenarios()) {
            String name =
                    scenario.name.length() > shown ? scenario.name.substring(0, shown - 3) + "..." : scenario.name;
            out.println(
                    row.formatted(name, scenario.verdict, Units.seconds(scenario.durationMillis), measured(scenario)));
        }
        for (Run.Scenario scenario : run.scenarios()) {
            List<String> warnings = scenario.getWarnings();
            if (!warnings.isEmpty()) {
                out.println("warning: %s: %s%s"
                        .formatted(
                                firstLine(scenario.name),
                                firstLine(warnings.getFirst()),
                                warnings.size() == 1
                                        ? ""
                                        : " (and " + (warnings.size() - 1) + " more, see the summary)"));
            }
        }
        out.println();
        for (Run.Scenario scenario : run.scenarios()) {
            if (scenario.verdict == Verdict.FAILED || scenario.verdict == Verdict.BROKEN) {
                out.println("%s %-7s %s".formatted(mark(scenario.verdict), scenario.verdict, scenario.name));
                if (scenario.reason != null) {
                    out.println(reason(scenario.reason).indent(10).stripTrailing());
                }
            }
        }
        if (run.count(Verdict.FAILED) + run.count(Verdict.BROKEN) > 0) {
            out.println("Run these again: ./qualify --last-failed" + (output == null ? "" : " --output " + output));
            out.println();
        }
        out.println("%s: %s".formatted(Run.scenarios(run.scenarios().size()), run.counts()));
        long notRun =
                run.scenarios().stream().filter(scenario -> scenario.notRun).count();
        if (notRun > 0) {
            out.println(notRun + (notRun == 1 ? " of them was" : " of them were") + " not run.");
        }
        run.notJudged().forEach(reason -> out.println("Not judged: " + firstLine(reason)));
        if (differs != null) {
            out.println(differs);
        }
        String outcome = run.outcome().toString();
        out.println(
                outcome.substring(0, 1).toUpperCase(Locale.ROOT) + outcome.substring(1) + ". " + run.outcomeReason());
    }

    private static String measured(Run.Scenario scenario) {
        if (scenario.verdict != Verdict.PASSED && scenario.reason != null) {
            return firstLine(scenario.reason);
        }
        Collection<Measurement> values = scenario.collected.values().values();
        String shown = Stream.concat(
                        values.stream().filter(value -> Objects.equals(value.percentile(), 50.0)), values.stream())
                .findFirst()
                .map(value -> value.name() + " " + Measurements.text(value))
                .orElse("");
        long verified = scenario.getBytesVerified();
        if (verified > 0) {
            return shown + (shown.isEmpty() ? "" : ", ") + Units.bytes(verified) + " verified";
        }
        return shown;
    }

    /** Returns the first lines of a reason, whole: no other place shows it. */
    private static String reason(String text) {
        List<String> lines = text.strip().lines().toList();
        String shown = String.join(System.lineSeparator(), lines.subList(0, Math.min(lines.size(), REASON_LINES)));
        return lines.size() > REASON_LINES ? shown + System.lineSeparator() + "..." : shown;
    }

    private static String firstLine(String text) {
        String line = text.strip().lines().findFirst().orElse("");
        return line.length() > 160 ? line.substring(0, 157) + "..." : line;
    }

    private static int usage(String message) {
        System.err.println("./qualify: " + message);
        return 2;
    }
}
