package io.rdmatest.bench;

import io.rdmatest.bench.RowResult.Verdict;
import io.rdmatest.fabric.DeviceName;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.role.RoleCancelledException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** {@code bench/bench}: ours against the C programs, as ratios. */
@Command(
        name = "bench/bench",
        sortOptions = false,
        description = {
            "Measures ours and the C programs of rdma-core and perftest on this host, in turns, and reports the median of the"
                    + " ratios of each row, and whether its target holds.",
            "Both sides of each program run on this host, or in a virtual machine on a host without RDMA hardware."
        },
        exitCodeListHeading = "%nExit status:%n",
        exitCodeList = {
            "0:no row misses its target",
            "1:at least one row misses its target",
            "2:the options are wrong",
            "3:a row could not be measured; it says why",
            "130:interrupted"
        })
public final class BenchCommand implements Callable<Integer> {

    /** At least one row misses its target. */
    static final int MISSED = 1;

    /** Wrong options. */
    static final int USAGE = 2;

    /** At least one row could not be measured. */
    static final int NOT_MEASURED = 3;

    /** What {@code -Drdmatest.check=true} ends with when there is something to measure and the options are right. */
    static final int OPTIONS_ARE_RIGHT = 100;

    /** SIGINT or SIGTERM. */
    static final int INTERRUPTED = 130;

    /** Only look at the options: the script asks for this before it boots a machine. */
    private static final String CHECK = "rdmatest.check";

    /** How long any one run of either side may take. */
    private static final Duration STEP = Duration.ofMinutes(2);

    /** How long an interrupted bench may take to end its programs and release what it holds. */
    private static final long GRACE_SECONDS = 15;

    private static final int MOST_PAIRS = 1000;

    private final BooleanSupplier cancelled;
    private final boolean checkOnly;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Show this text.")
    private boolean help;

    @Option(
            names = "--rows",
            paramLabel = "<glob>",
            description = "Only the rows whose names match, for example 'send-*' or '{rping*,mckey}' (default: all).")
    private String rows = "*";

    @Option(names = "--list", description = "List the rows with their targets and programs, and measure nothing.")
    private boolean list;

    @Option(
            names = "--pairs",
            paramLabel = "<n[..m]>",
            converter = PairsConverter.class,
            description =
                    "How often each side is measured, 1 to 1000; with a second number as long as the ratios lie on both sides of"
                            + " the target, so often at most (default: 5..15). Fewer than 5 decide nothing.")
    private Bench.Pairs pairs = Bench.Pairs.DEFAULT;

    @Option(
            names = "--scale",
            paramLabel = "<x>",
            description =
                    "By what the repetitions of a run are multiplied, more than 0 to 1000 (default: 1, one to five seconds on"
                            + " soft-RoCE in emulation).")
    private double scale = 1;

    @Option(
            names = "--json",
            paramLabel = "<file>",
            description = "Write {\"measured\", \"rows\": [...]} to this file, anew after each row.")
    private @Nullable Path file;

    @Option(
            names = "--device",
            paramLabel = "<name[/port]>",
            description = "The RDMA device of both sides (default: the first active port).")
    private @Nullable String device;

    /**
     * Creates the command.
     *
     * @param cancelled tells whether the measurement is to end
     * @param checkOnly whether only the options are looked at
     */
    BenchCommand(BooleanSupplier cancelled, boolean checkOnly) {
        this.cancelled = cancelled;
        this.checkOnly = checkOnly;
    }

    /**
     * Runs the bench and ends the JVM with its status.
     *
     * @param arguments see {@code --help}
     */
    public static void main(String[] arguments) {
        AtomicBoolean interrupted = new AtomicBoolean();
        CountDownLatch done = new CountDownLatch(1);
        Thread onSignal = new Thread(() -> endInterrupted(interrupted, done), "rdmatest-bench-interrupted");
        Runtime.getRuntime().addShutdownHook(onSignal);
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
        int status = NOT_MEASURED;
        try {
            status = execute(new BenchCommand(interrupted::get, Boolean.getBoolean(CHECK)), out, err, arguments);
        } catch (Error e) {
            // Otherwise the JVM would end with 1, as if a row missed its target.
            e.printStackTrace(err);
        } finally {
            done.countDown();
        }
        System.exit(status);
    }

    /** Lets the row that is being measured end its programs. At a normal end there is nothing left to wait for. */
    private static void endInterrupted(AtomicBoolean interrupted, CountDownLatch done) {
        interrupted.set(true);
        try {
            if (!done.await(GRACE_SECONDS, TimeUnit.SECONDS)) {
                System.err.println("bench/bench: the row did not stop within " + GRACE_SECONDS + " s of the signal");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Runs the bench within this JVM.
     *
     * @param out takes the table
     * @param err takes errors, and a line about each pair
     * @param arguments the options
     * @return the exit status
     */
    static int execute(BenchCommand command, PrintWriter out, PrintWriter err, String... arguments) {
        return new CommandLine(command)
                .setOut(out)
                .setErr(err)
                .setExpandAtFiles(false)
                .setParameterExceptionHandler((e, words) -> {
                    err.println("bench/bench: " + e.getMessage() + "; bench/bench --help lists the options");
                    return USAGE;
                })
                .setExecutionExceptionHandler((e, line, parsed) -> {
                    if (e instanceof CancellationException || e instanceof RoleCancelledException) {
                        err.println("bench/bench: interrupted");
                        return INTERRUPTED;
                    }
                    err.println("bench/bench: " + NotMeasuredException.sentence(e));
                    return NOT_MEASURED;
                })
                .execute(arguments);
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        List<BenchRow> selected = selected();
        checkDevice();
        checkFile();
        if (!(scale > 0) || scale > 1000) {
            throw wrong("--scale is more than 0 and at most 1000, not " + scale);
        }
        if (list) {
            selected.forEach(row -> spec.commandLine().getOut().println(line(row)));
            return 0;
        }
        return checkOnly ? OPTIONS_ARE_RIGHT : measure(selected);
    }

    private int measure(List<BenchRow> selected) throws IOException, InterruptedException {
        Fabric fabric = Fabric.load();
        FabricDevice found =
                (device == null ? fabric : fabric.withDevice(device)).local().resolve();
        Processors processors = Processors.near(found.device().name());
        PrintWriter err = spec.commandLine().getErr();
        Bench bench = new Bench(new Contest.Context(found, STEP, scale, processors, cancelled), pairs, err::println);
        Instant began = Instant.now();
        List<RowResult> results = new ArrayList<>();
        BenchReport report = new BenchReport(began, results);
        for (BenchRow row : selected) {
            results.add(bench.measure(row));
            report = new BenchReport(began, results);
            if (file != null) {
                // What was measured until now is there also when the rest is not waited for.
                report.write(file);
            }
        }
        report.lines().forEach(spec.commandLine().getOut()::println);
        if (report.count(Verdict.NOT_MEASURED) > 0) {
            return NOT_MEASURED;
        }
        return report.count(Verdict.MISSES) > 0 ? MISSED : 0;
    }

    private List<BenchRow> selected() {
        PathMatcher glob;
        try {
            glob = FileSystems.getDefault().getPathMatcher("glob:" + rows);
        } catch (PatternSyntaxException e) {
            throw new ParameterException(
                    spec.commandLine(), "--rows " + rows + " is not a glob: " + e.getDescription(), e);
        }
        List<BenchRow> selected = BenchRow.all().stream()
                .filter(row -> glob.matches(Path.of(row.name())))
                .toList();
        if (selected.isEmpty()) {
            throw wrong("--rows " + rows + " matches no row; --list shows their names");
        }
        return selected;
    }

    private void checkDevice() {
        if (device != null) {
            try {
                DeviceName ignored = DeviceName.parse(device);
            } catch (IllegalArgumentException e) {
                throw wrong("--device: " + e.getMessage());
            }
        }
    }

    private void checkFile() {
        Path target = file;
        if (target != null) {
            Path folder = target.toAbsolutePath().getParent();
            if (folder == null || !Files.isDirectory(folder) || Files.isDirectory(target)) {
                throw wrong("--json " + target + " cannot be written: its folder does not exist, or it is a folder");
            }
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec.commandLine(), message);
    }

    private static String line(BenchRow row) {
        return String.format(
                Locale.ROOT,
                "%-22s %-8s %-13s %s",
                row.name(),
                row.target(),
                String.join(", ", row.programs()),
                row.what());
    }

    /** Reads {@code 5} or {@code 5..15}. */
    static final class PairsConverter implements ITypeConverter<Bench.Pairs> {

        @Override
        public Bench.Pairs convert(String text) {
            String[] numbers = text.split("\\.\\.", 2);
            try {
                Bench.Pairs pairs =
                        new Bench.Pairs(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[numbers.length - 1]));
                if (pairs.most() <= MOST_PAIRS) {
                    return pairs;
                }
            } catch (IllegalArgumentException e) {
                // No numbers, or none that go together: said below, as numbers that are too large.
            }
            throw new TypeConversionException(
                    "'" + text + "' is not a number of pairs, 1 to " + MOST_PAIRS + ", or two of them such as 5..15");
        }
    }
}
