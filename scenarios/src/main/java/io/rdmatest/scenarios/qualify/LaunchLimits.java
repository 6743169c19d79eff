package io.rdmatest.scenarios.qualify;

import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.Rail;
import io.rdmatest.scenarios.PairSettings;
import io.rdmatest.scenarios.pairs.Tournament;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the launching host needs for the agents of all pairs, and what its limits leave. Without this check, a limit shows as nodes
 * that can't be started.
 *
 * @param agents how many nodes are launched
 * @param pairs how many ordered pairs are measured, over all rails
 * @param proc the folder of {@code proc(5)}
 * @param cgroups the folder of {@code cgroups(7)}
 */
record LaunchLimits(long agents, long pairs, Path proc, Path cgroups) {

    /** Threads of an agent's channel, the launch command, and the thread that awaits its end; and one role in each round. */
    private static final long THREADS_OF_AGENT = 7;

    /** The pipes of a launch command. */
    private static final long FILES_OF_AGENT = 3;

    /** The threads and files of two JVMs. */
    private static final long OTHERS = 150;

    /** Buffers and stacks of an agent, and its launch command. */
    private static final long BYTES_OF_AGENT = 2_500_000;

    private static final long BYTES_OF_PAIR = 700;

    static LaunchLimits of(Fabric fabric, PairSettings settings) {
        Map<String, Long> rails = fabric.nodes().stream()
                .flatMap(node -> node.rails().stream())
                .collect(Collectors.groupingBy(Rail::name, Collectors.counting()));
        long pairs = rails.values().stream()
                .mapToLong(Long::longValue)
                .filter(nodes -> nodes > 1)
                .map(nodes -> {
                    Tournament all = new Tournament(Math.toIntExact(nodes));
                    return Math.min(settings.rounds(), all.rounds()) * (nodes / 2);
                })
                .sum();
        long agents = fabric.nodes().stream().filter(node -> !node.isLocal()).count();
        return new LaunchLimits(agents, pairs, Path.of("/proc"), Path.of("/sys/fs/cgroup"));
    }

    /** Returns what this host lacks, as a sentence with the cure; null if nothing that is known. */
    @Nullable
    String lacking() {
        long threads = agents * THREADS_OF_AGENT + OTHERS;
        long free = freeThreads();
        if (threads > free) {
            return told(
                    "%d processes and threads".formatted(threads),
                    Long.toString(free),
                    "raise the limit (ulimit -u, LimitNPROC, pids.max)");
        }
        long files = agents * FILES_OF_AGENT + OTHERS;
        long most = limit("Max open files");
        if (files > most) {
            return told(
                    "%d open files".formatted(files), Long.toString(most), "raise the limit (ulimit -n, LimitNOFILE)");
        }
        long megabytes = (agents * BYTES_OF_AGENT + pairs * BYTES_OF_PAIR) / 1_000_000;
        long available = availableMegabytes();
        if (megabytes > available) {
            return told(
                    "%d MB of memory".formatted(megabytes),
                    available + " MB",
                    "run on a host with more, or measure less (--rail, --pairs-rounds)");
        }
        return null;
    }

    private String told(String need, String free, String cure) {
        return "this host can't hold the agents of %d nodes: they need about %s, and %s are free; %s"
                .formatted(agents, need, free, cure);
    }

    private long freeThreads() {
        long free = number(text(proc.resolve("sys/kernel/threads-max")));
        String user = field(text(proc.resolve("self/status")), "Uid:");
        // The limit of a user does not hold for root.
        if (!user.equals("0")) {
            free = Math.min(free, limit("Max processes") - threadsOf(user));
        }
        for (Path group = ownGroup(); group != null && group.startsWith(cgroups); group = group.getParent()) {
            long most = number(text(group.resolve("pids.max")));
            if (most < Long.MAX_VALUE) {
                free = Math.min(free, most - number(text(group.resolve("pids.current"))));
            }
        }
        return Math.max(0, free);
    }

    /** Returns the folder of this process in the unified hierarchy; null if it is in none. */
    private @Nullable Path ownGroup() {
        return text(proc.resolve("self/cgroup"))
                .lines()
                .filter(line -> line.startsWith("0::/"))
                .map(line -> cgroups.resolve(line.substring("0::/".length())))
                .findFirst()
                .orElse(null);
    }

    private long threadsOf(String user) {
        long threads = 0;
        try (DirectoryStream<Path> processes = Files.newDirectoryStream(proc, "[0-9]*")) {
            for (Path process : processes) {
                String status = text(process.resolve("status"));
                if (field(status, "Uid:").equals(user)) {
                    threads += number(field(status, "Threads:"));
                }
            }
        } catch (IOException | DirectoryIteratorException e) {
            // Without the list the limit counts as free, as far as nothing of it is known to be used.
            return threads;
        }
        return threads;
    }

    private long limit(String name) {
        return number(field(text(proc.resolve("self/limits")), name));
    }

    private long availableMegabytes() {
        long kilobytes = number(field(text(proc.resolve("meminfo")), "MemAvailable:"));
        return kilobytes == Long.MAX_VALUE ? kilobytes : kilobytes * 1024 / 1_000_000;
    }

    /** Returns the first word after a name at the beginning of a line; empty if there is none. */
    private static String field(String lines, String name) {
        return lines.lines()
                .filter(line -> line.startsWith(name))
                .map(line -> line.substring(name.length()).strip().split("\\s+")[0])
                .findFirst()
                .orElse("");
    }

    /** Returns a number; no limit for a word, such as unlimited or max, and for what the kernel does not tell. */
    private static long number(String word) {
        String stripped = word.strip();
        return stripped.matches("\\d{1,18}") ? Long.parseLong(stripped) : Long.MAX_VALUE;
    }

    /**
     * Reads a file in one piece. The kernel ends a number below /proc/sys after the first read, and {@code Files.readString} begins
     * with one byte.
     */
    private static String text(Path file) {
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            return lines.lines().collect(Collectors.joining("\n"));
        } catch (IOException | UncheckedIOException e) {
            return "";
        }
    }
}
