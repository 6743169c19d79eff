package io.rdmatest.junit;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Compares what the kernel lists as this process's RDMA objects after a class with what it listed before, as
 * {@code rdma resource show} (rdma-resource(8)) tells it. It finds what the harness does not know of. Once per class and
 * only on demand: each look starts a process, which is slow under emulation.
 *
 * <p>Contexts are not looked at: librdmacm keeps the one that it opens for a device as long as the process lives.
 */
final class KernelAudit {

    private static final List<String> KINDS = List.of("qp", "cq", "mr", "pd", "cm_id", "srq");

    /** The name of an object's own number comes before those of the objects that it refers to. */
    private static final Map<String, String> KIND_OF_NUMBER =
            Map.of("lqpn", "qp", "cqn", "cq", "mrn", "mr", "pdn", "pd", "cm-idn", "cm_id", "srqn", "srq");

    private static final Pattern OBJECT = Pattern.compile("\\{[^{}]*}");
    private static final Pattern NUMBER = Pattern.compile("\"(lqpn|cqn|mrn|pdn|cm-idn|srqn)\":");
    private static final Pattern THREAD = Pattern.compile("\"pid\":\\s*(\\d+)");
    private static final long PATIENCE_SECONDS = 60;

    private final Map<String, Integer> before;

    private KernelAudit(Map<String, Integer> before) {
        this.before = before;
    }

    static KernelAudit begin() {
        return new KernelAudit(ask());
    }

    /** Fails if the process has more objects of a kind than before. */
    void end(String name) {
        Map<String, Integer> after = ask();
        List<String> grown = new ArrayList<>();
        after.forEach((kind, number) -> {
            int had = before.getOrDefault(kind, 0);
            if (number > had) {
                grown.add(kind + " " + had + " -> " + number);
            }
        });
        if (!grown.isEmpty()) {
            throw new AssertionError(name + " left objects in the kernel, by rdma resource show: " + grown);
        }
    }

    /**
     * Counts the objects of a process, by kind. What the kernel calls the pid is the id of the thread that made the object,
     * and is missing once that thread has ended; an object of the kernel itself has the name of its module instead. On a
     * host with other users of the device, an object of theirs whose thread has ended is taken for one of this process.
     *
     * @param json what {@code rdma -j resource show} printed, an array for each kind
     * @param threads the ids of the process's threads
     */
    static Map<String, Integer> count(String json, Set<Long> threads) {
        Map<String, Integer> counts = new TreeMap<>();
        Matcher objects = OBJECT.matcher(json);
        while (objects.find()) {
            String object = objects.group();
            Matcher number = NUMBER.matcher(object);
            Matcher thread = THREAD.matcher(object);
            boolean own =
                    thread.find() ? threads.contains(Long.valueOf(thread.group(1))) : !object.contains("\"comm\":");
            if (own && number.find()) {
                int ignored = counts.merge(KIND_OF_NUMBER.get(number.group(1)), 1, Integer::sum);
            }
        }
        return counts;
    }

    private static Set<Long> threads() {
        String[] names = Path.of("/proc/self/task").toFile().list();
        return names == null ? Set.of() : Stream.of(names).map(Long::valueOf).collect(Collectors.toSet());
    }

    private static Map<String, Integer> ask() {
        try {
            Path batch = Files.createTempFile("rdma-audit", ".batch");
            Path output = Files.createTempFile("rdma-audit", ".out");
            Path errors = Files.createTempFile("rdma-audit", ".err");
            try {
                Files.write(
                        batch,
                        KINDS.stream().map(kind -> "resource show " + kind).toList());
                // -f goes on after a kind that an older tool does not know.
                Set<Long> threads = new HashSet<>(threads());
                Process process = new ProcessBuilder("rdma", "-j", "-f", "-b", batch.toString())
                        .redirectError(errors.toFile())
                        .redirectOutput(output.toFile())
                        .start();
                if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                    throw new IllegalStateException(
                            "rdma resource show did not answer within " + PATIENCE_SECONDS + " s");
                }
                String json = Files.readString(output, StandardCharsets.UTF_8);
                if (!json.contains("[")) {
                    // Silence would pass for a process without objects.
                    throw new IllegalStateException(RdmaConfiguration.AUDIT
                            + "=kernel: rdma resource show ended with status " + process.exitValue()
                            + " and listed nothing: "
                            + Files.readString(errors, StandardCharsets.UTF_8).strip());
                }
                threads.addAll(threads());
                return count(json, threads);
            } finally {
                Files.deleteIfExists(batch);
                Files.deleteIfExists(output);
                Files.deleteIfExists(errors);
            }
        } catch (IOException e) {
            throw new IllegalStateException(
                    RdmaConfiguration.AUDIT + "=kernel needs the rdma tool (Debian: apt-get install iproute2): "
                            + e.getMessage(),
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while rdma resource show was running", e);
        }
    }
}
