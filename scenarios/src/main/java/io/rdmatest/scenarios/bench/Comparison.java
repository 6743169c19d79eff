package io.rdmatest.scenarios.bench;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The results of an earlier bench, to hold those of another one against. Its pairs are judged by the targets of today: what has
 * changed is then the speed, and not what is asked of it.
 */
public final class Comparison {

    private final Path file;
    /** As the file has it; empty where it does not say. */
    private final String measured;

    private final Map<String, RowResult> earlier;

    private Comparison(Path file, String measured, Map<String, RowResult> earlier) {
        this.file = file;
        this.measured = measured;
        this.earlier = earlier;
    }

    /**
     * Reads what {@link BenchReport#write} wrote. Rows that there are no more are passed over.
     *
     * @throws IOException if it can't be read, or is not such a file; the message says so
     */
    public static Comparison read(Path file) throws IOException {
        Map<String, RowResult> earlier = new LinkedHashMap<>();
        String measured;
        try {
            JsonNode bench = new ObjectMapper().readTree(file.toFile());
            measured = bench.path("measured").asText();
            JsonNode rows = bench.path("rows");
            if (!rows.isArray()) {
                throw new IOException(file + " is not the JSON of a bench: it has no rows");
            }
            Map<String, BenchRow> known = new LinkedHashMap<>();
            BenchRows.all().forEach(row -> known.put(row.name(), row));
            for (JsonNode json : rows) {
                BenchRow row = known.get(json.path("name").asText());
                if (row != null) {
                    earlier.put(row.name(), RowResult.of(row, json));
                }
            }
        } catch (JsonProcessingException | IllegalArgumentException e) {
            String reason = e instanceof JsonProcessingException syntax ? syntax.getOriginalMessage() : e.getMessage();
            throw new IOException(file + " is not the JSON of a bench: " + reason, e);
        }
        return new Comparison(file, measured, earlier);
    }

    /** Tells how often the verdict on a row is the opposite of what it was. */
    public long contradictions(List<RowResult> results) {
        return results.stream().filter(this::isContradicted).count();
    }

    private boolean isContradicted(RowResult now) {
        RowResult then = earlier.get(now.row().name());
        return then != null && then.verdict().contradicts(now.verdict());
    }

    /** Returns a heading, a line for each row that was measured now, and how many verdicts are contradicted. */
    public List<String> lines(List<RowResult> results) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(Locale.ROOT, "%-18s %-8s %7s %-12s %7s %-12s", "row", "target", "then", "", "now", ""));
        for (RowResult now : results) {
            RowResult then = earlier.get(now.row().name());
            lines.add(String.format(
                            Locale.ROOT,
                            "%-18s %-8s %7s %-12s %7s %-12s %s",
                            now.row().name(),
                            now.row().target(),
                            ratio(then),
                            then == null ? "not there" : then.verdict(),
                            ratio(now),
                            now.verdict(),
                            isContradicted(now) ? "the opposite" : "")
                    .stripTrailing());
        }
        lines.add("%d of %d verdicts are the opposite of those in %s%s"
                .formatted(
                        contradictions(results),
                        results.size(),
                        file,
                        measured.isEmpty() ? "" : ", measured " + measured));
        return lines;
    }

    private static String ratio(@Nullable RowResult result) {
        return result == null || !result.isMeasured()
                ? ""
                : String.format(Locale.ROOT, "%.3f", result.ratios().median());
    }
}
