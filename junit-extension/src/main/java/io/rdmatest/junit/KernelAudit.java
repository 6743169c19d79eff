package io.rdmatest.junit;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/**
 * Compares what the kernel lists as this process's RDMA objects after a class with what it listed before, as
 * {@code rdma resource show} (rdma-resource(8)) tells it. It finds what the harness does not know of. Once per class and
 * only on demand: each look starts a process, which is slow under emulation.
 */
final class KernelAudit {

    private static final List<String> KINDS = List.of("qp", "cq", "mr", "pd", "cm_id", "srq");
    private static final long PATIENCE_SECONDS = 20;

    private final Map<String, Integer> before;

    private KernelAudit(Map<String, Integer> before) {
        this.before = before;
    }

    static KernelAudit begin() {
        return new KernelAudit(count());
    }

    /** Fails if the process has more objects of a kind than before. */
    void end(String name) {
        Map<String, Integer> after = count();
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

    private static Map<String, Integer> count() {
        Pattern own = Pattern.compile("\\bpid " + ProcessHandle.current().pid() + "\\b");
        Map<String, Integer> counts = new TreeMap<>();
        try {
            Path batch = Files.createTempFile("rdma-audit", ".batch");
            Path output = Files.createTempFile("rdma-audit", ".out");
            try {
                List<String> lines =
                        KINDS.stream().map(kind -> "resource show " + kind).toList();
                Files.write(batch, lines);
                Process process = new ProcessBuilder("rdma", "-force", "-batch", batch.toString())
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
                if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                    throw new IllegalStateException(
                            "rdma resource show did not answer within " + PATIENCE_SECONDS + " s");
                }
                for (String line : Files.readAllLines(output, StandardCharsets.UTF_8)) {
                    for (String kind : KINDS) {
                        if (own.matcher(line).find() && line.contains(kind + "n ")) {
                            counts.merge(kind, 1, Integer::sum);
                        }
                    }
                }
                return counts;
            } finally {
                Files.deleteIfExists(batch);
                Files.deleteIfExists(output);
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
