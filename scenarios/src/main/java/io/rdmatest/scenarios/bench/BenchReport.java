package io.rdmatest.scenarios.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * The results of a bench, for people and for machines.
 *
 * @param measured when the bench began, in whole seconds
 * @param results one for each row, in order
 * @param growth one for each kind of work that grows, in order
 */
public record BenchReport(Instant measured, List<RowResult> results, List<GrowthResult> growth) {

    /** Copies the lists. */
    public BenchReport {
        measured = measured.truncatedTo(ChronoUnit.SECONDS);
        results = List.copyOf(results);
        growth = List.copyOf(growth);
    }

    /** Returns the table: a heading, and a line for each row. */
    public List<String> lines() {
        List<String> lines = new ArrayList<>();
        if (!results.isEmpty()) {
            lines.add(RowResult.heading());
        }
        results.forEach(result -> lines.add(result.line()));
        growth.forEach(result -> lines.add(result.line()));
        return lines;
    }

    /** Returns how many rows there are. */
    public long rows() {
        return results.size() + growth.size();
    }

    /** Returns on how many rows this is the verdict. */
    public long count(Verdict verdict) {
        return Stream.concat(
                        results.stream().map(RowResult::verdict),
                        growth.stream().map(GrowthResult::verdict))
                .filter(each -> each == verdict)
                .count();
    }

    /**
     * Returns {@code {"measured", "rows": [{"name", "ratio", "target", "holds", "pairs", ...} ...], "growth": [{"name", "holds",
     * "points", ...} ...]}}; the last only if it was measured.
     */
    public Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("measured", measured.toString());
        json.put("rows", results.stream().map(RowResult::json).toList());
        if (!growth.isEmpty()) {
            json.put("growth", growth.stream().map(GrowthResult::json).toList());
        }
        return json;
    }

    /**
     * Writes the JSON as a file that is either there as a whole or not at all.
     *
     * @throws IOException if it cannot be written
     */
    public void write(Path file) throws IOException {
        Path whole = file.toAbsolutePath();
        Path part = whole.resolveSibling(whole.getFileName() + ".part");
        try {
            Files.writeString(
                    part,
                    new ObjectMapper()
                                    .enable(SerializationFeature.INDENT_OUTPUT)
                                    .writeValueAsString(json())
                            + "\n");
            Path ignored = Files.move(part, whole, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            boolean ignored = Files.deleteIfExists(part);
        }
    }
}
