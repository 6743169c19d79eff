package io.rdmatest.report;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** What stands beside {@code qualification.json} for other machines: nodes.json, JUnit XML and metrics. */
final class ResultFiles {

    static final String NODES = "nodes.json";
    static final String XML = "qualification.xml";
    static final String METRICS = "qualification.prom";

    /** The cells of measured pairs, where a run has left some. */
    static final String PAIRS = "pairs.jsonl";

    private static final String NODES_SCHEMA = "nodes.schema.json";

    private ResultFiles() {}

    /**
     * Writes them. Readers see an old file or a new one, never half of one.
     * Without {@code io.rdmatest:scenarios} on the class path, only JUnit XML is written.
     *
     * @param run the run
     * @param output the folder of its summary
     * @throws IOException if one can't be written, or {@value #PAIRS} can't be read
     */
    static void write(Run run, Path output) throws IOException {
        write(output.resolve(XML), JUnitXml.of(run));
        if (areScenariosThere()) {
            writeOfFabric(run, output);
        }
    }

    /** Projects that take the report for tests of their own have no pairs of nodes, and not the classes that explain these. */
    private static boolean areScenariosThere() {
        return ResultFiles.class.getResource("/io/rdmatest/scenarios/culprits/Culprits.class") != null;
    }

    private static void writeOfFabric(Run run, Path output) throws IOException {
        Ports ports = Ports.read(output.resolve(PAIRS));
        NodeStates nodes = new NodeStates(run, ports);
        ReportGenerator.write(output.resolve(NODES), nodes.json());
        try (InputStream schema = ResultFiles.class.getResourceAsStream(NODES_SCHEMA)) {
            if (schema == null) {
                throw new IllegalStateException(NODES_SCHEMA + " is missing beside " + ResultFiles.class);
            }
            long ignored = Files.copy(schema, output.resolve(NODES_SCHEMA), StandardCopyOption.REPLACE_EXISTING);
        }
        write(output.resolve(METRICS), Metrics.of(run, ports, nodes));
    }

    private static void write(Path file, String text) throws IOException {
        // A name that neither node_exporter nor a CI server takes for the file.
        Path part = file.resolveSibling(file.getFileName() + ".part");
        Path ignored = Files.writeString(part, text, StandardCharsets.UTF_8);
        Files.move(part, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    /** Deletes those of an earlier run. */
    static void discard(Path output) throws IOException {
        for (String name : new String[] {NODES, XML, METRICS}) {
            boolean ignored = Files.deleteIfExists(output.resolve(name));
        }
    }
}
