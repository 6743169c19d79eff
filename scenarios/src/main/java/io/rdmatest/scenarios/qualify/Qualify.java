package io.rdmatest.scenarios.qualify;

import io.rdmatest.ExitStatus;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricConfiguration;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.Node;
import io.rdmatest.fabric.NodePair;
import io.rdmatest.fabric.Rail;
import io.rdmatest.junit.RunSeed;
import io.rdmatest.report.nights.Archive;
import io.rdmatest.report.nights.Folders;
import io.rdmatest.report.nights.Qualification;
import io.rdmatest.report.output.Baseline;
import io.rdmatest.report.output.ReportGenerator;
import io.rdmatest.report.run.ReportConfiguration;
import io.rdmatest.report.run.RunAbout;
import io.rdmatest.scenarios.PairScenarios;
import io.rdmatest.scenarios.PairSettings;
import io.rdmatest.scenarios.ScenarioSettings;
import io.rdmatest.scenarios.Stage;
import io.rdmatest.scenarios.runner.ScenarioRunner;
import io.rdmatest.scenarios.runner.Selection;
import io.rdmatest.scenarios.runner.WhatDiffers;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
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
            "On a host without RDMA hardware this is a rehearsal, on soft-RoCE in a virtual machine."
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "0:qualified: every scenario that was judged passed. rehearsed: the same on a software device, which says nothing about"
                    + " a fabric. partial: the same of selected scenarios, which qualifies nothing",
            "1:not qualified: the fabric failed a scenario",
            "2:wrong usage",
            "3:no RDMA port is active, nothing could be run on this host, or not all that was run could be recorded or reported",
            "4:inconclusive: no scenario failed, but one is broken or was not run, or none was judged",
            "14:as 0, and something is worse than in the --baseline",
            "15:as 0, and nothing could be compared with the --baseline",
            "130, 143:SIGINT or SIGTERM came; the report is of what was run until then"
        })
public final class Qualify implements Callable<Integer> {

    private static final int DEFAULT_TIMEOUT_SECONDS = 1800;

    private static final String PAIRS = "PairScenarios.allPairs";

    /** Settings by which this program and the scenarios' JVM find each other. */
    private static final Set<String> OWN_SETTINGS = Set.of(
            ReportConfiguration.DIRECTORY,
            ReportConfiguration.PROGRESS,
            PairSettings.FILE,
            WhatDiffers.FILE,
            ScenarioRunner.GO_ON,
            ScenarioRunner.HELD,
            ScenarioJvms.RESULTS_SETTING);

    @Option(names = "--fabric", paramLabel = "NAME|PATH", description = "The fabric to qualify (default: auto).")
    private @Nullable String fabric;

    @Option(
            names = "--hosts",
            paramLabel = "LIST",
            description =
                    "Qualify the fabric of these hosts, such as n[01-16], without a fabric file: ssh reaches them, and each"
                            + " is measured on its first active port. One of them is this host.")
    private @Nullable String hosts;

    @Option(
            names = "--slurm",
            description =
                    "Qualify the fabric of the hosts of this allocation of Slurm, without a fabric file: srun reaches"
                            + " them. One of them is this host.")
    private boolean slurm;

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
            names = "--pairs-rounds",
            paramLabel = "NUMBER",
            description =
                    "Measure the first rounds of --pairs only, 16 or more of each rail (default: all). 16 name nodes"
                            + " and ports, 64 blocks of leaves; single paths need all.")
    private @Nullable String pairsRounds;

    @Option(
            names = "--budget",
            paramLabel = "TIME",
            description =
                    "Begin no round of --pairs after this time, such as 30m; each rail has its share, and 16 rounds at"
                            + " least. Further attempts of what was measured follow.")
    private @Nullable String budget;

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
                    "Allowed loss of a median or a rate against the usual value of --baseline, in percent, 0 to 1000"
                            + " (default: ${DEFAULT-VALUE}); of other percentiles, five times as much.")
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

    @Option(
            names = "--restarts",
            paramLabel = "NUMBER",
            defaultValue = "3",
            description =
                    "When the JVM of the scenarios or its virtual machine dies, go on in another one with those that"
                            + " are left, at most so many times (default: ${DEFAULT-VALUE}).")
    private int restarts;

    @Option(
            names = "--output",
            paramLabel = "DIR",
            description = "Where the report goes (default: reports/target of a clone that you may write to; otherwise"
                    + " rdmatest/reports in $$XDG_STATE_HOME).")
    private @Nullable Path output;

    @Option(
            names = {"-v", "--verbose"},
            description = "Show what the scenarios print.")
    private boolean verbose;

    private final Path project = Path.of(System.getProperty("rdma.project", "")).toAbsolutePath();
    private final Path target = project.resolve("reports").resolve("target");

    /** Where the scenarios leave what the report is made from; a folder of the user's own where the project is not writable. */
    private final Path work =
            Path.of(System.getProperty("rdma.work", target.toString())).toAbsolutePath();

    private final PrintStream out = System.out;

    /** Creates the command; picocli fills in its options. */
    public Qualify() {}

    /**
     * Runs the command.
     *
     * @param args see {@code --help}
     */
    public static void main(String[] args) {
        System.exit(ExitStatus.ofJvm(new CommandLine(new Qualify())
                .setParameterExceptionHandler((e, ignored) -> {
                    System.err.println("./qualify: " + e.getMessage());
                    System.err.println("./qualify --help shows the options.");
                    return 2;
                })
                .setExecutionExceptionHandler((e, line, parsed) -> {
                    System.err.println("./qualify: " + e.getMessage());
                    return 3;
                })
                .execute(args)));
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (timeout != null && timeout <= 0) {
            return usage("--timeout " + timeout + " is not a number of seconds above 0");
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
        Path whole = output == null ? work : output.toAbsolutePath();
        if (lastFailed) {
            Integer ended = selectLastFailed(whole);
            if (ended != null) {
                return ended;
            }
        }
        // All pairs are a whole of their own kind.
        boolean onlyPairs = pairs != null && scenarios.isEmpty();
        if (pairs != null && !lastFailed) {
            scenarios.add(PAIRS);
        }
        Selection selection = ScenarioRunner.select(scenarios);
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
        boolean part = selection.leavesOut() && !onlyPairs;
        if (part && accept) {
            return usage("--accept makes a whole run the new normal: leave out --scenario and --last-failed");
        }
        Path reports = part ? LastRun.partial(whole) : whole;
        // An option and a setting may have the same meaning. The option takes precedence.
        String mistake = nameHosts();
        if (mistake != null) {
            return usage(mistake);
        }
        String fabric = setting(FabricConfiguration.FABRIC, this.fabric);
        String rail = setting(FabricConfiguration.RAIL, this.rail);
        String device = setting(FabricConfiguration.DEVICE, this.device);
        setting(ScenarioSettings.PAIRS, pairs != null ? "true" : null);
        setting(PairSettings.MEASURE, pairs == null || pairs.isEmpty() ? null : pairs);
        setting(PairSettings.QPS, pairsQps);
        setting(PairSettings.SIZE, pairsSize);
        setting(PairSettings.TIME, pairsTime);
        setting(PairSettings.OPERATION, pairsOperation);
        setting(PairSettings.DIRECTIONS, pairsDirections);
        setting(PairSettings.ROUNDS, pairsRounds);
        setting(PairSettings.BUDGET, budget);
        PairSettings pairSettings;
        try {
            pairSettings = PairSettings.read(key -> Optional.ofNullable(settings.get(key)));
        } catch (IllegalArgumentException e) {
            return usage(e.getMessage());
        }
        setting(ScenarioSettings.WIRE, wire ? "true" : null);
        // Not in --output: the work folder is always shared with the virtual machine.
        Path journal = work.resolve("qualify-journal");
        Path results = work.resolve("qualify-results");
        ReportGenerator generator =
                new ReportGenerator(journal, results, target.resolve("allure-commandline"), reports);
        Baseline earlier = null;
        if (archive != null) {
            try {
                // The archive is created before a baseline is read, because on the first night both are the same
                // folder.
                Archive.prepare(archive);
            } catch (IOException e) {
                return usage("--archive " + e.getMessage());
            }
        }
        if (!baseline.isEmpty()) {
            try {
                // The baseline is read now, because the last run's own summary will be replaced by that of this run.
                earlier = Baseline.read(baseline, last, tolerance, !scenarios.isEmpty(), out::println);
                generator.compareWith(earlier);
            } catch (IOException | IllegalArgumentException e) {
                return usage(e.getMessage());
            }
        }
        // The message on a wrong file comes before anything is installed or booted.
        Fabric read;
        try {
            read = fabric == null
                    ? Fabric.load(FabricConfiguration.DEFAULT_FABRIC, null, device)
                    : Fabric.load(fabric, rail, device);
        } catch (FabricException e) {
            return usage(e.getMessage());
        }
        String wrong =
                wrongNodes(fabric == null ? null : read, setting(Stage.SERVER, server), setting(Stage.CLIENT, client));
        if (wrong != null) {
            return usage(wrong);
        }
        if ("true".equals(settings.get(ScenarioSettings.PAIRS))) {
            String lacks = LaunchLimits.of(read, pairSettings).lacking();
            if (lacks != null) {
                System.err.println("./qualify: " + lacks);
                return ExitStatus.HOST_NOT_READY.code();
            }
        }
        int timeoutSeconds = timeout == null ? DEFAULT_TIMEOUT_SECONDS : timeout;
        // The last run, or a setting, may also ask for pairs.
        if ("true".equals(settings.get(ScenarioSettings.PAIRS)) && fabric != null && timeout == null) {
            timeoutSeconds += Math.toIntExact(
                    PairScenarios.limitOfRounds(read, pairSettings).toSeconds());
        }
        try {
            Files.createDirectories(reports);
        } catch (IOException e) {
            return unwritable(whole, ": " + e);
        }
        if (!Files.isWritable(reports)) {
            return unwritable(reports, "");
        }
        Path stuck = generator.cannotReplace();
        if (stuck != null) {
            System.err.println("./qualify: the last report cannot be replaced: " + stuck
                    + " is not yours or is read-only. Delete it as its owner, or name another folder with --output");
            return ExitStatus.HOST_NOT_READY.code();
        }
        // The results of the last run stay until this one has something to put in their place.
        Folders.delete(journal);
        Folders.delete(results);
        Folders.delete(ScenarioJvms.repeated(work));
        Path measuredPairs = ScenarioJvms.measuredPairs(journal);
        Files.deleteIfExists(measuredPairs);
        Files.deleteIfExists(WhatDiffers.in(work));
        generator.nodesDiffer(() -> WhatDiffers.read(WhatDiffers.in(work)));
        QualifyConsole console = new QualifyConsole(out, verbose, Integer.getInteger("rdma.columns", 0));
        ScenarioJvms jvms = new ScenarioJvms(
                project,
                work,
                settings,
                scenarios,
                console,
                new ScenarioJvms.Limits(timeoutSeconds, restarts, again),
                new ScenarioJvms.Place(
                        read.microvms(),
                        isReal(read),
                        read.local().port().rail().device().equals(Rail.AUTO)
                                ? null
                                : read.local().port().rail().device(),
                        hardwareSeen(whole)));
        if (jvms.setUp() != 0) {
            return ExitStatus.HOST_NOT_READY.code();
        }
        // All JVMs of the run get the same seed, because they must draw the same cells.
        settings.putIfAbsent(RunSeed.PROPERTY, Long.toString(RunSeed.draw()));
        LastRun same = last(whole, read);
        if (!part
                && same != null
                && same.took() != null
                && Objects.equals(same.settings().get(ScenarioSettings.PAIRS), settings.get(ScenarioSettings.PAIRS))) {
            console.expect(same.took());
        }
        RunAbout about = RunAbout.of(
                new RunAbout.FabricName(read.name(), read.source(), rail),
                read.nodes().stream()
                        .map(node -> new RunAbout.NodeName(node.name(), node.railNames()))
                        .toList(),
                settings,
                part ? new RunAbout.Selected(scenarios, same == null ? null : (Integer) same.scenarios()) : null);
        Ending ending = new Ending(
                jvms,
                console,
                out,
                generator,
                selection,
                about,
                new Ending.Plan(
                        journal,
                        measuredPairs,
                        archive,
                        accept,
                        "./qualify --last-failed" + (output == null ? "" : " --output " + output)));
        // Ctrl-C ends this JVM through its shutdown hooks; the report of what was run is still to be written.
        jvms.run(journal, results, earlier, about, new Thread(() -> ending.finish(true), "qualify-interrupted"));
        ending.finish(false);
        return ending.status();
    }

    /**
     * Writes the fabric file of --hosts or --slurm, which becomes the fabric. Returns the mistake in the options; null if there is
     * none.
     */
    private @Nullable String nameHosts() throws IOException {
        if (hosts == null && !slurm) {
            return null;
        }
        if (fabric != null || hosts != null && slurm) {
            return "--fabric, --hosts and --slurm each name the nodes: leave out all but one";
        }
        String list = slurm ? System.getenv("SLURM_JOB_NODELIST") : hosts;
        if (list == null) {
            return "--slurm runs within an allocation: SLURM_JOB_NODELIST is not set; run it by sbatch or salloc, or name the"
                    + " hosts with --hosts";
        }
        Path file = work.resolve(slurm ? "slurm.yaml" : "hosts.yaml");
        Files.createDirectories(work);
        Files.writeString(file, """
                fabric: %s
                nodes:
                  - name: '%s'
                    launch: [%s, '{name}']
                """.formatted(
                        slurm ? "slurm" : "hosts",
                        list.replace("'", "''"),
                        slurm ? "srun, --overlap, -N1, -n1, -w" : "ssh, -o, BatchMode=yes"));
        fabric = file.toString();
        return null;
    }

    private int unwritable(Path folder, String why) {
        if (output != null) {
            return usage("--output " + folder + " cannot be written to" + why);
        }
        System.err.println("./qualify: the results cannot be written to " + folder
                + ", which is not yours or is read-only: name another folder with --output");
        return ExitStatus.HOST_NOT_READY.code();
    }

    /** Returns whether a fabric has other hosts, or a device that the project's virtual machine has not. */
    private static boolean isReal(Fabric fabric) {
        String ofMachine = Objects.requireNonNullElse(System.getenv("RDMA_VM_DEVICE"), "rxe0");
        return fabric.microvms() == 0
                && (fabric.nodes().size() > 1
                        || !Set.of(Rail.AUTO, ofMachine)
                                .contains(fabric.local().port().rail().device()));
    }

    /** Returns the last whole run on a fabric; null if there was none. */
    private static @Nullable LastRun last(Path whole, Fabric fabric) {
        LastRun last = LastRun.whole(whole);
        return last == null || !fabric.name().equals(last.fabric()) ? null : last;
    }

    /** Returns the earlier run on RDMA hardware that is in this run's output, archive or baseline, in words; null for none. */
    private @Nullable String hardwareSeen(Path whole) {
        List<Path> places = new ArrayList<>(baseline);
        if (archive != null) {
            places.add(archive);
        }
        places.add(LastRun.partial(whole).resolve(ReportGenerator.SUMMARY));
        places.add(whole.resolve(ReportGenerator.SUMMARY));
        for (Path place : places.reversed()) {
            try {
                for (Qualification run : Qualification.readAll(List.of(place), last, ignored -> {})
                        .reversed()) {
                    if (run.isOnHardware()) {
                        return "an earlier run was on %s, see %s"
                                .formatted(run.environment().get("device"), run.file());
                    }
                }
            } catch (IOException e) {
                // No run there can be read, so there is no sign of hardware.
            }
        }
        return null;
    }

    /** Selects the scenarios that failed in the last run. Returns the exit status if there is nothing to run. */
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

    /** Returns the value of a key for the scenarios, from its option or else from -D; null if there is none. */
    private @Nullable String setting(String key, @Nullable String option) {
        if (option != null) {
            settings.put(key, option);
        }
        return settings.get(key);
    }

    /**
     * Returns the mistake in the options that name nodes or a rail, or that need several nodes; null if there is none.
     */
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
        return "true".equals(settings.get(ScenarioSettings.WIRE))
                        && read.nodes().size() > 1
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

    /** Prints the mistake in the command line, and returns its exit status. */
    static int usage(String message) {
        System.err.println("./qualify: " + message);
        return ExitStatus.USAGE.code();
    }
}
