package io.rdmatest.scenarios.qualify;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.junit.RdmaConfiguration;
import io.rdmatest.peer.PreparedClasses;
import io.rdmatest.report.nights.QualificationComparison.Shift;
import io.rdmatest.report.output.Baseline;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.report.run.Journal;
import io.rdmatest.report.run.JournalEvent;
import io.rdmatest.report.run.JournalEvent.Kind;
import io.rdmatest.report.run.ReportConfiguration;
import io.rdmatest.report.run.Run;
import io.rdmatest.report.run.RunAbout;
import io.rdmatest.scenarios.PairSettings;
import io.rdmatest.scenarios.runner.EarlierJvms;
import io.rdmatest.scenarios.runner.MarkedProcesses;
import io.rdmatest.scenarios.runner.ScenarioRunner;
import io.rdmatest.scenarios.runner.WhatDiffers;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs the scenarios in a JVM of their own. If the JVM dies, another one runs the remaining scenarios. When the time is up or
 * when this object is closed, it ends the JVM and the processes that the JVMs left behind.
 */
final class ScenarioJvms {

    /**
     * Bounds of a run.
     *
     * @param timeoutSeconds how long all JVMs may take together
     * @param restarts how often another JVM goes on after one died
     * @param again how often all scenarios run again when something is worse than before
     */
    record Limits(int timeoutSeconds, int restarts, int again) {}

    /**
     * Where the scenarios run.
     *
     * @param machines the number of virtual machines that the fabric consists of; 0 for none
     * @param real whether the fabric has other hosts, or a device that no machine has, so that none may take their place
     * @param device the device that was asked for by name; null for none
     * @param seen the sign of RDMA hardware that an earlier run is; null for none
     */
    record Place(
            int machines,
            boolean real,
            @Nullable String device,
            @Nullable String seen) {}

    /** {@code bin/setup} prints this word if the run is to be in a virtual machine. */
    private static final String IN_MACHINE = "machine";

    /** Lines that are shown of a run that was cut off: two machines end with up to 20 lines of their consoles each. */
    static final int LAST_WORDS = 50;

    /** The number of lines that are shown of a JVM in which no scenario began. Its last lines have the reason. */
    static final int ONLY_WORDS = 15;

    static final String RESULTS_SETTING = "allure.results.directory";

    private static final Duration END_OF_CHILD = Duration.ofSeconds(10);

    /** Exit statuses of a JVM that was asked to end: SIGINT, as of Ctrl-C, and SIGTERM. */
    private static final Set<Integer> ASKED_TO_END = Set.of(128 + 2, 128 + 15);

    private static final Map<String, String> STRICT =
            Map.of(RdmaConfiguration.AUDIT, "kernel", RdmaConfiguration.COUNTERS, "fail");

    private final Path project;
    private final Path target;
    private final Map<String, String> settings;
    private final List<String> scenarios;
    private final QualifyConsole console;
    private final Limits limits;
    private final Place place;

    /** What RDMA_VM is to be for the JVMs; null as long as the environment decides. */
    private @Nullable String machine;

    private final MarkedProcesses marked = new MarkedProcesses();

    private volatile @Nullable String trouble;

    /** Why the run could not be followed to its end; null if it could. This host is then at fault, not a scenario. */
    private volatile @Nullable String lost;

    private volatile @Nullable Process child;
    private volatile boolean timedOut;
    private volatile boolean closed;
    private volatile boolean interrupted;

    /** Whether the run is at its end, and the scenarios are only repeated. Events of a repetition do not belong to the run. */
    private volatile boolean repeating;

    /** How often the JVM of the scenarios died. */
    private volatile int deaths;

    private volatile boolean lastOneDied;

    /**
     * @param target where a virtual machine may write
     * @param settings of the scenarios
     * @param scenarios patterns of those that run; empty for all
     */
    ScenarioJvms(
            Path project,
            Path target,
            Map<String, String> settings,
            List<String> scenarios,
            QualifyConsole console,
            Limits limits,
            Place place) {
        this.project = project;
        this.target = target;
        this.settings = settings;
        this.scenarios = scenarios;
        this.console = console;
        this.limits = limits;
        this.place = place;
    }

    /** Returns why no scenario could run; null if any could, or if that happened in a repetition. */
    @Nullable
    String trouble() {
        return repeating ? null : trouble;
    }

    /** Returns why the run could not be followed to its end; null if it could. */
    @Nullable
    String lost() {
        return lost;
    }

    /** Tells whether the time was up, in the run or in a repetition. */
    boolean isTimedOut() {
        return timedOut;
    }

    /** Tells whether the time was up before the run was at its end. */
    boolean isCutOff() {
        return timedOut && !repeating;
    }

    boolean anyDied() {
        return deaths > 0;
    }

    boolean lastOneDied() {
        return lastOneDied;
    }

    int timeoutSeconds() {
        return limits.timeoutSeconds();
    }

    /**
     * Decides whether the run is in a virtual machine, and installs and prepares missing parts. {@code bin/setup} prints its steps
     * and failures itself. The JVMs keep to its decision, whatever becomes of this host's ports after it.
     */
    int setUp() throws IOException, InterruptedException {
        if (System.getProperty("rdma.java") != null) {
            return 0;
        }
        List<String> command = new ArrayList<>(
                List.of(project.resolve("fabric-config/rdma-jdk/bin/setup").toString(), "--run"));
        if (place.device() != null) {
            command.addAll(List.of("--device", place.device()));
        }
        if (place.seen() != null) {
            command.addAll(List.of("--seen", place.seen()));
        }
        Process setup = inMachines(new ProcessBuilder(command))
                .redirectInput(ProcessBuilder.Redirect.INHERIT)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader lines = setup.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                boolean inMachine = line.equals(IN_MACHINE);
                machine = inMachine ? "always" : "never";
                if (inMachine) {
                    console.head(QualifyConsole.REHEARSAL + Run.IN_MACHINE);
                }
            }
        }
        return setup.waitFor();
    }

    /**
     * Runs the scenarios, until all of them ran, the time is up, or this is closed.
     *
     * @param earlier the runs that the run is compared with: the scenarios run again if it is worse; null for none
     * @param onInterrupt the thread to run when this JVM is asked to end
     */
    void run(Path journal, Path results, @Nullable Baseline earlier, RunAbout about, Thread onInterrupt)
            throws IOException, InterruptedException {
        List<String> command = command(journal, results);
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
                        limits.timeoutSeconds(),
                        TimeUnit.SECONDS);
                clock.scheduleAtFixedRate(console::showLive, 250, 250, TimeUnit.MILLISECONDS);
                command.add(command.indexOf("-cp"), "-D" + ScenarioRunner.GO_ON + "=true");
                for (Process process = started; process != null; process = another(command, process, journal)) {
                    await(process);
                    noteEnd(process, journal);
                }
                if (earlier != null && trouble == null && !lastOneDied && !isOver()) {
                    tryAgain(earlier, about, journal);
                }
            } catch (IOException | RuntimeException e) {
                // The disk may be full, for example. The part that was recorded until then is reported all the same.
                lost = e.getMessage() == null ? e.toString() : e.getMessage();
            } finally {
                // This is needed however the run ended: closing the clock would wait for its pending tasks, until
                // --timeout.
                clock.shutdownNow();
            }
        }
    }

    /**
     * Ends the running JVM, and prevents the start of another one.
     *
     * @return false if this is closed already
     */
    synchronized boolean close(boolean byUser) {
        if (closed) {
            return false;
        }
        interrupted = byUser;
        endChild();
        closed = true;
        console.close();
        return true;
    }

    /**
     * Shows the output of a JVM until it ends. Then ends the processes that it leaves behind, because they could hold its output
     * open forever.
     */
    private void await(Process process) throws InterruptedException {
        Thread errors = Thread.ofPlatform().daemon().start(() -> read(process.errorReader(StandardCharsets.UTF_8)));
        Thread says = Thread.ofPlatform().daemon().start(() -> read(process.inputReader(StandardCharsets.UTF_8)));
        // The clock ends the process long before this limit, unless the process is stuck in the kernel.
        process.waitFor(limits.timeoutSeconds() + 3 * END_OF_CHILD.toSeconds(), TimeUnit.SECONDS);
        marked.end();
        says.join(END_OF_CHILD);
        errors.join(END_OF_CHILD);
    }

    private void tryAgain(Baseline earlier, RunAbout about, Path journal) throws InterruptedException {
        repeating = true;
        try {
            measureAgain(earlier, about, journal);
        } catch (IOException | RuntimeException e) {
            trouble = e.getMessage() == null ? e.toString() : e.getMessage();
        }
        if (trouble != null) {
            console.print("That could not be run again: " + trouble);
        }
    }

    /**
     * Runs all scenarios again as long as a measurement is worse than in earlier runs every time: a bad moment of this host is no
     * finding. All scenarios run, because measurements depend on the code that the JVM has compiled in earlier scenarios.
     */
    private void measureAgain(Baseline earlier, RunAbout about, Path journal) throws IOException, InterruptedException {
        // Its settings say which earlier runs it is compared with.
        Run run = Run.of(Journal.read(journal)).with(about);
        for (int round = 1; round <= limits.again(); round++) {
            List<Shift> worse = earlier.worse(run);
            if (worse.isEmpty() || isOver()) {
                return;
            }
            console.again(
                    "%d measurements of %d scenarios are worse than before. Running all scenarios again to confirm it, %d of at most %d:"
                            .formatted(
                                    worse.size(),
                                    worse.stream()
                                            .map(Shift::scenario)
                                            .distinct()
                                            .count(),
                                    round,
                                    limits.again()));
            Path folder = repeated(target).resolve(Integer.toString(round));
            Path own = folder.resolve("journal");
            // The seed is the same, so the same cells are drawn.
            Process process = start(command(own, folder.resolve("results")));
            if (process == null) {
                return;
            }
            await(process);
            if (isOver() || trouble != null || process.isAlive() || ASKED_TO_END.contains(process.exitValue())) {
                return;
            }
            Run repeated = Run.of(Journal.read(own));
            if (repeated.scenarios().isEmpty()) {
                trouble = console.lastWords(ONLY_WORDS);
                return;
            }
            earlier.again(repeated);
        }
    }

    /** Where the scenarios of a journal write what they measure between nodes: not where the last run's results are. */
    static Path measuredPairs(Path journal) {
        return journal.resolveSibling(journal.getFileName() + "-" + RunPairs.FILE);
    }

    /** Where runs that are made again leave their journals. */
    static Path repeated(Path target) {
        return target.resolve("qualify-again");
    }

    private boolean isOver() {
        return closed || interrupted || timedOut;
    }

    /** Writes into the journal how a JVM ended, if it did not reach the end of its plan. */
    private void noteEnd(Process process, Path journal) throws IOException {
        List<JournalEvent> events = Journal.read(journal);
        lastOneDied = trouble == null
                && !interrupted
                && !events.isEmpty()
                && !EarlierJvms.of(events).isEnded();
        if (lastOneDied) {
            deaths++;
            noteEnd(journal, timedOut ? "ended after --timeout " + limits.timeoutSeconds() + " s" : status(process));
        }
    }

    /** Writes into the journal how a JVM ended, with what it said last. */
    void noteEnd(Path journal, String how) throws IOException {
        try (Journal own = new Journal(journal, false)) {
            own.write(JournalEvent.died(how, console.lastWords(LAST_WORDS)));
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
                || deaths > limits.restarts()
                || ASKED_TO_END.contains(last.exitValue())) {
            return null;
        }
        List<JournalEvent> events = Journal.read(journal);
        if (!EarlierJvms.of(events).canGoOn()) {
            return null;
        }
        if (closed) {
            return null;
        }
        // The count of the display is not used, because the JVM may have died before its last lines were read.
        int before = (int) Run.of(events).scenarios().stream()
                .filter(scenario -> !scenario.notRun)
                .count();
        console.died(before, status(last), deaths, limits.restarts());
        return start(command);
    }

    /**
     * Lets the drop-in java start the machines that the fabric consists of, even on a host with a device, and none in the place of
     * real hosts and devices. Whoever sets RDMA_VM decides.
     */
    private ProcessBuilder inMachines(ProcessBuilder builder) {
        Map<String, String> environment = builder.environment();
        String asked = environment.getOrDefault("RDMA_VM", "auto");
        if (Fabric.machine().isPresent()) {
            return builder;
        }
        if (place.machines() > 0 && !asked.equals("never")) {
            environment.put("RDMA_VM", "always");
            environment.put("RDMA_VM_NODES", Integer.toString(place.machines()));
        } else if (asked.equals("auto") && place.real()) {
            environment.put("RDMA_VM", "never");
        } else if (machine != null) {
            environment.put("RDMA_VM", machine);
        }
        return builder;
    }

    /** Starts the JVM of the scenarios; null if the run was interrupted before. */
    private synchronized @Nullable Process start(List<String> command) throws IOException {
        if (closed) {
            return null;
        }
        // Its standard input stays open as long as this JVM lives, however this JVM ends. The child ends when its input
        // ends.
        ProcessBuilder builder = inMachines(new ProcessBuilder(command));
        marked.mark(builder.environment());
        // The machine may write to the project only if it is started there. The journal has to be written to this
        // folder.
        builder.environment()
                .merge("RDMA_VM_RW", target.toString(), (given, own) -> given.isBlank() ? own : given + ":" + own);
        Process started = builder.start();
        child = started;
        if (timedOut) {
            // The time may have been up before this child existed.
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
                "-D" + PairSettings.FILE + "=" + measuredPairs(journal),
                "-D" + WhatDiffers.FILE + "=" + WhatDiffers.in(target)));
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
                if (event == null) {
                    console.said(line);
                } else if (event.event() == Kind.TROUBLE) {
                    trouble = event.reason();
                } else {
                    console.show(event);
                }
            }
        } catch (IOException e) {
            // The pipe breaks when the child is killed; the journal says how far it got.
            console.said("output ended: " + e.getMessage());
        }
    }

    /** Returns the event in a line of output; null if the line is ordinary output, or mixed with ordinary output. */
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
        marked.end();
    }
}
