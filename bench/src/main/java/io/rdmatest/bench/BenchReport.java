package io.rdmatest.bench;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import io.rdmatest.bench.RowResult.Verdict;
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

/**
 * The results of a bench, for people and for machines.
 *
 * @param measured when the bench began, in whole seconds
 * @param results one for each row, in order
 */
record BenchReport(Instant measured, List<RowResult> results) {

    /** Copies the list. */
    BenchReport {
        measured = measured.truncatedTo(ChronoUnit.SECONDS);
        results = List.copyOf(results);
    }

    /** Returns the table: a heading, a line for each row, and how often each verdict is given. */
    List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add(RowResult.heading());
        results.forEach(result -> lines.add(result.line()));
        lines.add("%d rows: %d hold, %d miss their target, %d undecided, %d not measured"
                .formatted(
                        results.size(),
                        count(Verdict.HOLDS),
                        count(Verdict.MISSES),
                        count(Verdict.UNDECIDED),
                        count(Verdict.NOT_MEASURED)));
        return lines;
    }

    /** Returns how many rows have this verdict. */
    long count(Verdict verdict) {
        return results.stream().filter(result -> result.verdict() == verdict).count();
    }

    /**
     * Writes {@code {"measured", "rows": [{"name", "ratio", "target", "verdict", "pairs", ...} ...]}} as a file that is either
     * there as a whole or not at all.
     *
     * @throws IOException if it cannot be written
     */
    void write(Path file) throws IOException {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("measured", measured.toString());
        json.put("rows", results.stream().map(RowResult::json).toList());
        Path whole = file.toAbsolutePath();
        Path part = whole.resolveSibling(whole.getFileName() + ".part");
        try {
            Files.writeString(
                    part,
                    new ObjectMapper()
                                    .enable(SerializationFeature.INDENT_OUTPUT)
                                    .writeValueAsString(json)
                            + "\n");
            Path ignored = Files.move(part, whole, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            boolean ignored = Files.deleteIfExists(part);
        }
    }
}
