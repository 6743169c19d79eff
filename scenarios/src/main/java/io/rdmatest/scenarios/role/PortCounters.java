package io.rdmatest.scenarios.role;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The counters of a port, as the kernel shows them (Documentation/ABI/stable/sysfs-class-infiniband). */
final class PortCounters {

    private final List<Path> folders;
    private final Map<String, Long> before;

    private PortCounters(List<Path> folders) {
        this.folders = folders;
        this.before = read();
    }

    static PortCounters of(String device, int port) {
        Path folder = Path.of("/sys/class/infiniband", device, "ports", Integer.toString(port));
        return new PortCounters(List.of(folder.resolve("counters"), folder.resolve("hw_counters")));
    }

    /** Returns what grew since then, a line each. */
    List<String> growth() {
        List<String> grown = new ArrayList<>();
        read().forEach((name, now) -> {
            long by = now - before.getOrDefault(name, 0L);
            if (by > 0) {
                grown.add(name + " +" + by);
            }
        });
        return grown;
    }

    private Map<String, Long> read() {
        Map<String, Long> values = new TreeMap<>();
        for (Path folder : folders) {
            try (Stream<Path> files = Files.list(folder)) {
                for (Path file : files.toList()) {
                    try {
                        values.put(
                                file.getFileName().toString(),
                                Long.parseLong(Files.readString(file).strip()));
                    } catch (IOException | NumberFormatException e) {
                        // Some counters of some devices can't be read, and some files are settings.
                        continue;
                    }
                }
            } catch (IOException e) {
                // A device need not have both kinds.
                continue;
            }
        }
        return values;
    }
}
