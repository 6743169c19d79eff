package io.rdmatest.report.output;

import com.fasterxml.jackson.databind.JsonNode;
import io.rdmatest.report.page.RunPairs;
import io.rdmatest.report.run.JsonFile;
import io.rdmatest.report.run.Run;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The files beside {@code qualification.json} that other programs read: nodes.json, JUnit XML and metrics. */
public final class ResultFiles {

    static final String NODES = "nodes.json";
    static final String JUNIT = "junit.xml";
    static final String METRICS = "rdmatest.prom";

    static final List<String> ALL = List.of(NODES, JUNIT, METRICS);

    private static final String NODES_SCHEMA = "nodes.schema.json";

    private ResultFiles() {}

    /**
     * Writes them. Readers see an old file or a new one, never half of one.
     *
     * @param run the run
     * @param pairs what it measured between nodes
     * @param differs what differs between its nodes, as {@code ./rdmatest fabric check} finds it; null if that is not known
     * @param output the folder of its summary
     * @throws IOException if one can't be written; the message names it
     */
    static void write(Run run, RunPairs pairs, @Nullable JsonNode differs, Path output) throws IOException {
        NodeStates nodes = new NodeStates(run, pairs);
        write(output.resolve(JUNIT), JUnitXml.of(run));
        Map<String, @Nullable Object> json = new LinkedHashMap<>(nodes.json());
        json.put("differs", differs);
        JsonFile.write(output.resolve(NODES), json);
        copySchema(NODES_SCHEMA, output);
        write(output.resolve(METRICS), Metrics.of(run, pairs, nodes));
    }

    /** Puts a schema beside the files that keep it. */
    static void copySchema(String name, Path output) throws IOException {
        try (InputStream schema = ResultFiles.class.getResourceAsStream(name)) {
            if (schema == null) {
                throw new IllegalStateException(name + " is missing beside " + ResultFiles.class);
            }
            long ignored = Files.copy(schema, output.resolve(name), StandardCopyOption.REPLACE_EXISTING);
        }
    }

    private static void write(Path file, String text) throws IOException {
        // node_exporter reads each file whose name ends with .prom.
        Path part = file.resolveSibling(file.getFileName() + ".part");
        Path written = Files.writeString(part, text, StandardCharsets.UTF_8);
        Path ignored = Files.move(written, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Deletes those of an earlier run. */
    static void discard(Path output) throws IOException {
        for (String name : ALL) {
            boolean ignored = Files.deleteIfExists(output.resolve(name));
        }
    }
}
