package io.rdmatest.nanoseconds;

import io.rdmatest.loopback.LoopbackLibrary;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/**
 * Runs the rows in turns, C and the harness after each other, each time in a JVM of its own, and prints the table.
 *
 * <p>Of each side it takes the fastest twentieth of many short iterations: on a host that has other work the rest tells of that.
 */
public final class Nanoseconds {

    private static final List<String> ROWS = List.of(
            "send",
            "operands",
            "list",
            "listSignaled",
            "inline",
            "write",
            "events",
            "awaitInPlace",
            "awaitSuccess",
            "queuePairs",
            "regions");

    private final Map<String, List<Double>> times = new TreeMap<>();
    private final Map<String, Double> bytes = new TreeMap<>();

    private Nanoseconds() {}

    /**
     * Takes the folder for the libraries, how often each side has its turn, and the rows; all of them if none is named.
     *
     * @param arguments the arguments
     * @throws Exception if a library can't be compiled or a row fails
     */
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]).toAbsolutePath();
        if (!folder.toString().equals(System.getenv("LD_LIBRARY_PATH"))) {
            System.exit(runWithLibraries(folder, arguments));
        }
        List<String> rows = arguments.length > 2 ? List.of(arguments).subList(2, arguments.length) : ROWS;
        new Nanoseconds().run(Integer.parseInt(arguments[1]), rows);
    }

    private static int runWithLibraries(Path folder, String[] arguments) throws Exception {
        Files.createDirectories(folder);
        LoopbackLibrary.compileInto(List.of("cc"), folder);
        LoopbackLibrary.compile(
                List.of("cc"),
                folder.resolve("libloop.so"),
                List.of(
                        "src/jmh/native/loop.c",
                        "-fvisibility=default",
                        folder.resolve("libibverbs.so.1").toString()));
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Nanoseconds.class.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
        builder.environment().put("LD_LIBRARY_PATH", folder.toString());
        // Else the C library gives memory back to the kernel and asks for it again, more often for one side than for
        // the other.
        builder.environment().put("MALLOC_ARENA_MAX", "1");
        builder.environment().put("MALLOC_TOP_PAD_", "67108864");
        builder.environment().put("MALLOC_TRIM_THRESHOLD_", "1073741824");
        return builder.start().waitFor();
    }

    private void run(int rounds, List<String> rows) throws Exception {
        for (int round = 0; round < rounds; round++) {
            for (String row : rows) {
                measure(row + "InC", row);
                measure(row, row);
            }
        }
        System.out.printf("%-14s %10s %10s %7s %12s%n", "row", "ours, ns", "C, ns", "ratio", "bytes per op");
        for (String row : rows) {
            double ours = fastest(row);
            double c = fastest(row + "InC");
            System.out.printf(
                    Locale.ROOT, "%-14s %10.1f %10.1f %7.2f %12.1f%n", row, ours, c, ours / c, bytes.get(row));
        }
    }

    private double fastest(String benchmark) {
        List<Double> sorted = times.get(benchmark).stream().sorted().toList();
        return sorted.get(sorted.size() / 20);
    }

    private void measure(String benchmark, String row) throws Exception {
        ChainedOptionsBuilder options = new OptionsBuilder()
                .include("\\." + Rows.class.getSimpleName() + "\\." + benchmark + "$")
                .forks(1)
                .jvmArgs(
                        "--enable-native-access=ALL-UNNAMED",
                        "--sun-misc-unsafe-memory-access=allow",
                        "-Xms512m",
                        "-Xmx512m",
                        "-XX:+UseSerialGC")
                .addProfiler(GCProfiler.class)
                .verbosity(VerboseMode.SILENT)
                .shouldFailOnError(true)
                .warmupIterations(20)
                .measurementIterations(400)
                .warmupTime(TimeValue.milliseconds(150))
                .measurementTime(TimeValue.milliseconds(2));
        for (RunResult result : new Runner(options.build()).run()) {
            List<Double> of = times.computeIfAbsent(benchmark, key -> new ArrayList<>());
            result.getBenchmarkResults()
                    .forEach(each -> each.getIterationResults().stream()
                            .map(IterationResult::getPrimaryResult)
                            .forEach(primary -> of.add(primary.getScore())));
            double allocated =
                    result.getSecondaryResults().get("gc.alloc.rate.norm").getScore();
            bytes.merge(benchmark, allocated, Math::min);
        }
    }
}
