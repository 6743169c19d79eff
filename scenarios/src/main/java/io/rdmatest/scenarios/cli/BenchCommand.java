package io.rdmatest.scenarios.cli;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.scenarios.bench.Bench;
import io.rdmatest.scenarios.bench.BenchContext;
import io.rdmatest.scenarios.bench.BenchJvms;
import io.rdmatest.scenarios.bench.BenchReport;
import io.rdmatest.scenarios.bench.BenchRow;
import io.rdmatest.scenarios.bench.BenchRows;
import io.rdmatest.scenarios.bench.Comparison;
import io.rdmatest.scenarios.bench.Growth;
import io.rdmatest.scenarios.bench.GrowthResult;
import io.rdmatest.scenarios.bench.GrowthRow;
import io.rdmatest.scenarios.bench.GrowthRows;
import io.rdmatest.scenarios.bench.Processors;
import io.rdmatest.scenarios.bench.RowResult;
import io.rdmatest.scenarios.bench.Verdict;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.TypeConversionException;

/** {@code ./rdmatest bench}: ours against the C programs, as ratios. */
@Command(
        name = "bench",
        sortOptions = false,
        description = {
            "Measures ours and the C programs of rdma-core and perftest on this host, in turns and with the same parameters, and"
                    + " reports the ratio of each pair, its median and spread, and whether its target holds.",
            "The rows growth-* show what a connection, a message or a test of ours costs when there are more of them.",
            "Both sides of each program run on this host. Where a program is missing or fails, its rows say so."
        })
final class BenchCommand extends ReportingCommand {

    private static final int MOST_PAIRS = 1000;

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
                    "By what the repetitions of a run are multiplied, more than 0 to 1000 (default: 1, about a second on"
                            + " soft-RoCE in emulation).")
    private double scale = 1;

    @Option(
            names = "--json",
            paramLabel = "<file>",
            description = "Write {\"measured\", \"rows\": [...], \"growth\": [...]} to this file, anew after each row.")
    private @Nullable Path file;

    @Option(
            names = "--compare",
            paramLabel = "<file>",
            description =
                    "The JSON of an earlier bench: tell which of its verdicts are the opposite now, and end with status 13 if any"
                            + " is.")
    private @Nullable Path earlier;

    @Option(
            names = "--step",
            paramLabel = "<duration>",
            converter = CommonOptions.DurationConverter.class,
            description = "How long any one run of either side may take (default: 2min).")
    private Duration step = Duration.ofMinutes(2);

    @Option(
            names = "--device",
            paramLabel = "<name[/port]>",
            converter = CommonOptions.DeviceConverter.class,
            description = "The RDMA device of both sides (default: the first active port).")
    private @Nullable String device;

    @Option(
            names = "--processors",
            paramLabel = "<server,client|any>",
            converter = ProcessorsConverter.class,
            description =
                    "What the two ends of rows that poll without pause are bound to, the program's and ours: two processors, or any"
                            + " to leave it to the scheduler (default: two near the device).")
    private @Nullable Processors processors;

    @Option(
            names = "--in-this-jvm",
            description =
                    "Measure all rows in this JVM, for example to profile it; else each row, and each first number of pairs of"
                            + " it, has a JVM of its own.")
    private boolean inThisJvm;

    @Option(
            names = "--part",
            hidden = true,
            description = "Measure in this JVM for another one, which tells the result.")
    private boolean part;

    private List<BenchRow> selected = List.of();
    private List<GrowthRow> selectedGrowth = List.of();
    private @Nullable Comparison comparison;

    @Override
    boolean json() {
        return false;
    }

    @Override
    boolean needsDevice() {
        return !list;
    }

    @Override
    void check() {
        if (!(scale > 0) || scale > 1000) {
            throw wrong("--scale is more than 0 and at most 1000, not " + scale);
        }
        PathMatcher glob = glob();
        selected = BenchRows.all().stream()
                .filter(row -> glob.matches(Path.of(row.name())))
                .toList();
        selectedGrowth = GrowthRows.all().stream()
                .filter(row -> glob.matches(Path.of(row.name())))
                .toList();
        if (selected.isEmpty() && selectedGrowth.isEmpty()) {
            throw wrong("--rows " + rows + " matches no row; --list shows their names");
        }
        Path target = file;
        if (target != null) {
            Path folder = target.toAbsolutePath().getParent();
            if (folder == null || !Files.isDirectory(folder) || Files.isDirectory(target)) {
                throw wrong("--json " + target + " cannot be written: its folder is not there, or it is one itself");
            }
        }
        // Now, and not after an hour; and before --json may replace it.
        comparison = comparison();
    }

    private @Nullable Comparison comparison() {
        Path before = earlier;
        if (before == null) {
            return null;
        }
        try {
            return Comparison.read(before);
        } catch (IOException e) {
            throw new ParameterException(spec().commandLine(), "--compare: " + e.getMessage(), e);
        }
    }

    private ParameterException wrong(String message) {
        return new ParameterException(spec().commandLine(), message);
    }

    private PathMatcher glob() {
        try {
            return FileSystems.getDefault().getPathMatcher("glob:" + rows);
        } catch (PatternSyntaxException e) {
            throw new ParameterException(
                    spec().commandLine(), "--rows " + rows + " is not a glob: " + e.getDescription(), e);
        }
    }

    @Override
    Outcome execute() throws IOException, InterruptedException {
        if (list) {
            return new Outcome(list(), Map.of());
        }
        Fabric fabric = Fabric.load();
        FabricDevice found =
                (device == null ? fabric : fabric.withDevice(device)).local().resolve();
        BenchContext context = new BenchContext(found, step, scale, processors(found), cancelled());
        Bench bench = new Bench(context, pairs, this::tell);
        Growth work = new Growth(context, this::tell);
        BenchJvms jvms = new BenchJvms(this::command, pairs, step, cancelled(), this::tell);
        boolean here = inThisJvm || part;
        Instant began = Instant.now();
        List<RowResult> results = new ArrayList<>();
        List<GrowthResult> growth = new ArrayList<>();
        for (BenchRow row : selected) {
            results.add(here ? bench.measure(row) : jvms.measure(row));
            // What was measured until now is there also when the rest is not waited for.
            write(new BenchReport(began, results, growth));
        }
        for (GrowthRow row : selectedGrowth) {
            growth.add(here ? work.measure(row) : jvms.measure(row));
            write(new BenchReport(began, results, growth));
        }
        return part ? new Outcome(List.of(), Map.of()) : outcome(new BenchReport(began, results, growth), comparison);
    }

    /** Returns this command for a part of a row, in a JVM like this one. */
    private List<String> command(String row, int count, Path json) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(BenchJvms.options(json));
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Rdmatest.class.getName()));
        command.addAll(List.of("bench", "--part", "--rows", row, "--pairs", Integer.toString(count)));
        command.addAll(List.of("--scale", Double.toString(scale), "--json", json.toString()));
        command.addAll(List.of("--step", Math.max(1, step.toMillis()) + "ms"));
        if (device != null) {
            command.addAll(List.of("--device", device));
        }
        Processors chosen = processors;
        if (chosen != null) {
            command.addAll(List.of(
                    "--processors", chosen.equals(Processors.ANY) ? "any" : chosen.server() + "," + chosen.client()));
        }
        return command;
    }

    private Processors processors(FabricDevice found) {
        Processors chosen = processors;
        if (chosen == null) {
            return Processors.near(found.device().name());
        }
        String hindrance = chosen.hindrance();
        if (hindrance != null) {
            throw wrong("--processors " + chosen.server() + "," + chosen.client() + ": " + hindrance);
        }
        return chosen;
    }

    private List<String> list() {
        List<String> lines = new ArrayList<>();
        for (BenchRow row : selected) {
            lines.add(line(row.name(), row.target().toString(), String.join(", ", row.programs()), row.what()));
        }
        for (GrowthRow row : selectedGrowth) {
            lines.add(line(row.name(), "flat", "", "cost of each " + row.unit() + "; what grows: " + row.what()));
        }
        return lines;
    }

    private static String line(String name, String target, String programs, String what) {
        return String.format(Locale.ROOT, "%-22s %-8s %-13s %s", name, target, programs, what);
    }

    private void tell(String line) {
        err().println(line);
        err().flush();
    }

    private void write(BenchReport report) throws IOException {
        Path target = file;
        if (target != null) {
            report.write(target);
        }
    }

    private static Outcome outcome(BenchReport report, @Nullable Comparison comparison) {
        String message = "%d rows: %d hold, %d miss their target, %d undecided, %d not measured"
                .formatted(
                        report.rows(),
                        report.count(Verdict.HOLDS),
                        report.count(Verdict.MISSES),
                        report.count(Verdict.UNDECIDED),
                        report.count(Verdict.NOT_MEASURED));
        List<String> lines = new ArrayList<>(report.lines());
        lines.add(message);
        long contradictions = 0;
        if (comparison != null) {
            lines.add("");
            lines.addAll(comparison.lines(report));
            contradictions = comparison.contradictions(report);
        }
        return new Outcome(status(report, contradictions), message, lines, report.json());
    }

    /** What was not measured weighs most: it may be anything. Then what was asked for, if it was. */
    private static ExitStatus status(BenchReport report, long contradictions) {
        if (report.count(Verdict.NOT_MEASURED) > 0) {
            return ExitStatus.NOT_MEASURED;
        }
        if (contradictions > 0) {
            return ExitStatus.CONTRADICTED;
        }
        if (report.count(Verdict.MISSES) > 0) {
            return ExitStatus.TARGET_MISSED;
        }
        return report.count(Verdict.UNDECIDED) > 0 ? ExitStatus.UNDECIDED : ExitStatus.VERIFIED;
    }

    /** Reads {@code 0,1} or {@code any}. */
    static final class ProcessorsConverter implements ITypeConverter<Processors> {

        @Override
        public Processors convert(String text) {
            if (text.equals("any")) {
                return Processors.ANY;
            }
            if (text.matches("\\d{1,4},\\d{1,4}")) {
                String[] numbers = text.split(",", 2);
                try {
                    return new Processors(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]));
                } catch (IllegalArgumentException e) {
                    // Too large, or both the same: said below.
                }
            }
            throw new TypeConversionException("'" + text + "' is neither two different processors such as 0,1 nor any");
        }
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
