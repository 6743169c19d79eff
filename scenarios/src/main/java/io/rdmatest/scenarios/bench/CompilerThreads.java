package io.rdmatest.scenarios.bench;

import java.io.IOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;

/**
 * The threads in which a JVM compiles, as the kernel counts their time (proc(5)). The JVM's own count has only what they have
 * finished, and some methods take seconds.
 */
final class CompilerThreads {

    /** Those of this JVM. */
    static final CompilerThreads OWN = new CompilerThreads(Path.of("/proc/self"));

    /** HotSpot's "C2 CompilerThread0", of which the kernel keeps 15 characters. */
    private static final Pattern NAME = Pattern.compile("C[12] CompilerThre");

    private final Path process;

    /** Nanoseconds of each thread when it was last seen: HotSpot ends those that have nothing to do, and their time stays. */
    private final Map<Path, Long> nanos = new ConcurrentHashMap<>();

    /**
     * Looks at a process.
     *
     * @param process its directory in proc(5)
     */
    CompilerThreads(Path process) {
        this.process = process;
    }

    /**
     * Returns how long they have had a processor since the JVM began, all together; never less than before. Where the kernel
     * does not count (no CONFIG_SCHED_INFO) it is how long this JVM's own compilers took for what they have finished, and 0 if
     * that is not known either.
     */
    long millis() {
        look();
        if (!nanos.isEmpty()) {
            return nanos.values().stream().mapToLong(Long::longValue).sum() / 1_000_000;
        }
        CompilationMXBean compilers = ManagementFactory.getCompilationMXBean();
        return compilers != null && compilers.isCompilationTimeMonitoringSupported()
                ? compilers.getTotalCompilationTime()
                : 0;
    }

    private void look() {
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(process.resolve("task"))) {
            for (Path task : tasks) {
                look(task);
            }
        } catch (IOException | DirectoryIteratorException e) {
            // What was seen before stays.
            return;
        }
    }

    private void look(Path task) {
        try {
            if (NAME.matcher(Files.readString(task.resolve("comm"))).lookingAt()) {
                long now = Long.parseLong(
                        Files.readString(task.resolve("schedstat")).split(" ", 2)[0]);
                long ignored = nanos.merge(task, now, Math::max);
            }
        } catch (IOException | NumberFormatException e) {
            // A thread that has just ended; or a kernel that does not count.
            return;
        }
    }
}
