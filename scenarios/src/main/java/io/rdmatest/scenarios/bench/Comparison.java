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
import java.util.function.DoubleSupplier;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The results of an earlier bench, to hold those of another one against. They are judged by the targets of today: what has
 * changed is then the speed, and not what is asked of it.
 */
public final class Comparison {

    private final Path file;
    /** As the file has it; empty where it does not say. */
    private final String measured;

    private final Map<String, Entry> earlier;

    /** The words about a row, of pairs or of work that grows. */
    private record Entry(String name, Target target, String number, Verdict verdict) {

        static Entry of(RowResult result) {
            return new Entry(
                    result.row().name(),
                    result.row().target(),
                    number(result.isMeasured(), () -> result.ratios().median()),
                    result.verdict());
        }

        static Entry of(GrowthResult result) {
            return new Entry(
                    result.row().name(),
                    GrowthResult.TARGET,
                    number(result.isMeasured(), () -> result.growth().greater()),
                    result.verdict());
        }

        private static String number(boolean measured, DoubleSupplier number) {
            return measured ? String.format(Locale.ROOT, "%.3f", number.getAsDouble()) : "";
        }
    }

    private Comparison(Path file, String measured, Map<String, Entry> earlier) {
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
        Map<String, Entry> earlier = new LinkedHashMap<>();
        String measured;
        try {
            JsonNode bench = new ObjectMapper().readTree(file.toFile());
            measured = bench.path("measured").asText();
            JsonNode rows = bench.path("rows");
            if (!rows.isArray()) {
                throw new IOException(file + " is not the JSON of a bench: it has no rows");
            }
            Map<String, BenchRow> known = byName(BenchRows.all(), BenchRow::name);
            for (JsonNode json : rows) {
                BenchRow row = known.get(json.path("name").asText());
                if (row != null) {
                    earlier.put(row.name(), Entry.of(RowResult.of(row, json)));
                }
            }
            Map<String, GrowthRow> growing = byName(GrowthRows.all(), GrowthRow::name);
            for (JsonNode json : bench.path("growth")) {
                GrowthRow row = growing.get(json.path("name").asText());
                if (row != null) {
                    earlier.put(row.name(), Entry.of(GrowthResult.of(row, json)));
                }
            }
        } catch (JsonProcessingException | IllegalArgumentException e) {
            String reason = e instanceof JsonProcessingException syntax ? syntax.getOriginalMessage() : e.getMessage();
            throw new IOException(file + " is not the JSON of a bench: " + reason, e);
        }
        return new Comparison(file, measured, earlier);
    }

    private static <R> Map<String, R> byName(List<R> rows, Function<R, String> name) {
        return rows.stream().collect(Collectors.toMap(name, Function.identity()));
    }

    /** Tells how often the verdict on a row is the opposite of what it was. */
    public long contradictions(BenchReport report) {
        return entries(report).filter(this::isContradicted).count();
    }

    private static Stream<Entry> entries(BenchReport report) {
        return Stream.concat(
                report.results().stream().map(Entry::of),
                report.growth().stream().map(Entry::of));
    }

    private boolean isContradicted(Entry now) {
        Entry then = earlier.get(now.name());
        return then != null && then.verdict().contradicts(now.verdict());
    }

    /** Returns a heading, a line for each row that was measured now, and how many verdicts are contradicted. */
    public List<String> lines(BenchReport report) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(Locale.ROOT, "%-18s %-8s %7s %-12s %7s %-12s", "row", "target", "then", "", "now", ""));
        entries(report).forEach(now -> {
            Entry then = earlier.get(now.name());
            lines.add(String.format(
                            Locale.ROOT,
                            "%-18s %-8s %7s %-12s %7s %-12s %s",
                            now.name(),
                            now.target(),
                            then == null ? "" : then.number(),
                            then == null ? "not there" : then.verdict(),
                            now.number(),
                            now.verdict(),
                            isContradicted(now) ? "the opposite" : "")
                    .stripTrailing());
        });
        lines.add("%d of %d verdicts are the opposite of those in %s%s"
                .formatted(
                        contradictions(report),
                        report.rows(),
                        file,
                        measured.isEmpty() ? "" : ", measured " + measured));
        return lines;
    }
}
