package io.rdmatest.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.StringJoiner;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;

/**
 * The last bench beside the scenarios: a result for each row, all rows as one table, and charts of the cost of work that grows.
 *
 * @param rows what {@code ./rdmatest bench --json} wrote
 * @param growth what it wrote about work that grows; empty if it did not
 * @param measured when the bench began, which may be long before the run
 */
record BenchPage(JsonNode rows, JsonNode growth, Instant measured) {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static final String SVG = "image/svg+xml";

    /** What the message of a row begins with that misses its target. */
    static final String MISS = "misses its target: ";

    private static final String SUITE = "Bench: ours beside the C programs";

    /**
     * Reads a file of results.
     *
     * @throws IOException if it can't be read or is not such a file
     */
    static BenchPage read(Path file) throws IOException {
        JsonNode bench;
        try {
            bench = MAPPER.readTree(file.toFile());
        } catch (JsonProcessingException e) {
            throw new IOException(file + " is not the JSON of a bench: " + e.getOriginalMessage(), e);
        }
        JsonNode rows = bench.path("rows");
        if (!rows.isArray()) {
            throw new IOException(file + " is not the JSON of a bench: it has no rows");
        }
        return new BenchPage(rows, bench.path("growth"), measured(bench, file));
    }

    /** What the bench says itself; files of before it did were written when the last row was measured. */
    private static Instant measured(JsonNode bench, Path file) throws IOException {
        JsonNode said = bench.path("measured");
        if (said.isMissingNode()) {
            return Files.getLastModifiedTime(file).toInstant().truncatedTo(ChronoUnit.SECONDS);
        }
        try {
            return Instant.parse(said.asText());
        } catch (DateTimeParseException e) {
            throw new IOException(
                    file + " is not the JSON of a bench: \"measured\" is a time like 2026-01-31T23:59:59Z, not " + said,
                    e);
        }
    }

    /** Adds the rows and their table to a directory of Allure results. */
    void addTo(Path results) throws IOException {
        List<String> children = new ArrayList<>();
        for (JsonNode row : rows) {
            children.add(addRow(row, results));
        }
        for (JsonNode row : growth) {
            children.add(addGrowth(row, results));
        }
        AllureContainer.write(results, SUITE, children, "the table of the bench", toHtml());
    }

    private String addRow(JsonNode row, Path results) throws IOException {
        AllureResult result = result(row, verdict(row))
                .parameter("ratio, ours to theirs", ratio(row))
                .parameter("target", target(row))
                .parameter("ours", value(row, "ours"))
                .parameter("theirs", value(row, "theirs"))
                .parameter("pairs", Integer.toString(row.path("pairs").size()));
        int cold = row.path("coldPairs").size();
        if (cold > 0) {
            result.parameter("pairs measured again, because the JVM compiled", Integer.toString(cold));
        }
        result.parameter("measured", measured.toString());
        row.path("parameters")
                .properties()
                .forEach(entry ->
                        result.parameter(entry.getKey(), entry.getValue().asText()));
        String pauses = pauses(row);
        if (!pauses.isEmpty()) {
            result.attach(results, "pauses", "safepoints and garbage collections", "text/plain", pauses);
        }
        result.write(results);
        return result.uuid();
    }

    /** When the JVM paused in each run of ours; empty if no run says so. */
    private static String pauses(JsonNode row) {
        StringBuilder text = new StringBuilder();
        int number = 0;
        for (JsonNode pair : row.path("pairs")) {
            number++;
            JsonNode details = pair.path("ourDetails");
            if (details.has("pauses")) {
                text.append("pair %d: safepoints: %d, collections: %d, %s ms in all\n"
                        .formatted(
                                number,
                                details.path("safepoints").asLong(),
                                details.path("collections").asLong(),
                                number(details.path("pausedMillis").asDouble())));
                details.path("pauses")
                        .forEach(line ->
                                text.append("    at ").append(line.asText()).append('\n'));
            }
        }
        return text.toString();
    }

    private AllureResult result(JsonNode row, String verdict) {
        String name = row.path("name").asText();
        return new AllureResult("bench/" + name, name, "bench." + name, status(row), verdict, measured.toEpochMilli())
                .description(row.path("what").asText())
                .label("parentSuite", SUITE)
                .label("suite", group(name))
                .label("framework", "rdmatest bench");
    }

    /** Work that grows: what a unit of it costs, as two charts. */
    private String addGrowth(JsonNode row, Path results) throws IOException {
        String unit = row.path("unit").asText();
        String verdict = isMeasured(row)
                ? "the time of a %s grows %s times and its memory %s times, %s"
                        .formatted(
                                unit,
                                number(row.path("timeGrowth").asDouble()),
                                number(row.path("memoryGrowth").asDouble()),
                                flat(row))
                : reason(row);
        AllureResult result = result(row, verdict(row, verdict))
                .parameter("verdict", verdict)
                .parameter("judged from", row.path("judgedFrom").asText())
                .parameter("measured", measured.toString());
        if (row.has("rounds")) {
            result.parameter(
                    "rounds", growthOfRounds(row).mapToObj(BenchPage::number).collect(Collectors.joining(", ")));
        }
        SortedMap<Long, Double> micros = new TreeMap<>();
        SortedMap<Long, Double> allocated = new TreeMap<>();
        SortedMap<Long, Double> resident = new TreeMap<>();
        for (JsonNode point : row.path("points")) {
            long work = point.path("work").asLong();
            micros.put(work, point.path("nanosPerUnit").asDouble() / 1e3);
            allocated.put(work, point.path("allocatedBytesPerUnit").asDouble());
            resident.put(work, point.path("residentBytesPerUnit").asDouble());
        }
        if (!micros.isEmpty()) {
            String what = row.path("what").asText();
            result.attach(
                    results,
                    "time",
                    "time of each " + unit,
                    SVG,
                    Charts.growth(what, "µs for each " + unit, Map.of("time", micros)));
            Map<String, SortedMap<Long, Double>> memory = new LinkedHashMap<>();
            memory.put("allocated on the heap", allocated);
            memory.put("resident", resident);
            result.attach(
                    results,
                    "memory",
                    "memory of each " + unit,
                    SVG,
                    Charts.growth(what, "bytes for each " + unit, memory));
        }
        result.write(results);
        return result.uuid();
    }

    /** How many times what grows more, time or memory, grew in each round; none in the file of an earlier bench. */
    private static DoubleStream growthOfRounds(JsonNode row) {
        return row.path("rounds")
                .valueStream()
                .mapToDouble(round -> Math.max(
                        round.path("timeGrowth").asDouble(),
                        round.path("memoryGrowth").asDouble()));
    }

    /** What is asked of work that grows, and how far its rounds lie from each other. */
    private static String flat(JsonNode row) {
        String most = "at most " + number(row.path("most").asDouble()) + " is flat";
        DoubleSummaryStatistics rounds = growthOfRounds(row).summaryStatistics();
        return rounds.getCount() == 0
                ? most
                : "%s to %s in %d rounds, %s"
                        .formatted(number(rounds.getMin()), number(rounds.getMax()), rounds.getCount(), most);
    }

    /**
     * What a target is missed by is a finding; what is too near the target says nothing for sure, and what was not measured
     * nothing at all. The file of an earlier bench does not say of work that grows whether it was decided: what it says holds.
     */
    private static String status(JsonNode row) {
        if (!isMeasured(row)) {
            return "broken";
        }
        if (!row.path("decided").asBoolean(true)) {
            return "unknown";
        }
        return row.path("holds").asBoolean() ? "passed" : "failed";
    }

    private static boolean isMeasured(JsonNode row) {
        return row.path("notMeasured").isMissingNode();
    }

    private static String reason(JsonNode row) {
        return "not measured: " + row.path("notMeasured").asText();
    }

    private static String verdict(JsonNode row) {
        return verdict(row, "the median ratio is " + ratio(row) + ", the target " + target(row));
    }

    private static String verdict(JsonNode row, String miss) {
        return switch (status(row)) {
            case "broken" -> reason(row);
            case "passed" -> "holds";
            case "unknown" -> "undecided: " + miss;
            default -> MISS + miss;
        };
    }

    private static String group(String name) {
        int dash = name.indexOf('-');
        return dash < 0 ? name : name.substring(0, dash);
    }

    private static String ratio(JsonNode row) {
        return row.path("ratio").isNull() ? "" : number(row.path("ratio").asDouble());
    }

    private static String target(JsonNode row) {
        return row.path("targetIs").asText() + " " + number(row.path("target").asDouble());
    }

    private static String value(JsonNode row, String side) {
        JsonNode median = row.path(side).path("median");
        return median.isMissingNode()
                ? ""
                : number(median.asDouble()) + " " + row.path("unit").asText();
    }

    private static String spread(JsonNode row) {
        JsonNode spread = row.path("spread");
        return spread.isMissingNode()
                ? ""
                : number(spread.path("min").asDouble()) + " to "
                        + number(spread.path("max").asDouble());
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, Math.abs(value) < 100 ? "%.3f" : "%.1f", value);
    }

    /** Returns a page of its own. */
    private String toHtml() {
        StringBuilder html = Html.begin(SUITE, """
                td.number { text-align: right; font-variant-numeric: tabular-nums; }
                .passed { background: #eaf6ec; }
                .failed { background: #fdeceb; }
                .broken { background: #fdf6df; }
                .unknown { background: #f0ecf8; }
                """);
        html.append("""
                <p>Measured %s, in turns and with the same parameters; the ratio is ours divided by theirs, pair by pair.</p>
                <table><tr><th>row</th><th>ours</th><th>theirs</th><th>ratio, median</th><th>smallest to largest</th>\
                <th>target</th><th>verdict</th></tr>
                """.formatted(measured));
        for (JsonNode row : rows) {
            html.append("<tr class='%s'><td title='%s'>%s</td>"
                    .formatted(
                            status(row),
                            Html.escaped(row.path("what").asText()),
                            Html.escaped(row.path("name").asText())));
            for (String number : new String[] {value(row, "ours"), value(row, "theirs"), ratio(row), spread(row)}) {
                html.append("<td class='number'>").append(Html.escaped(number)).append("</td>");
            }
            html.append(
                    "<td>%s</td><td>%s</td></tr>\n".formatted(Html.escaped(target(row)), Html.escaped(verdict(row))));
        }
        html.append("</table>\n");
        if (!growth.isEmpty()) {
            html.append("<h3>Cost as work grows</h3>\n<table><tr><th>row</th><th>work: microseconds for each unit</th>"
                    + "<th>time grows</th><th>memory grows</th><th>verdict</th></tr>\n");
            for (JsonNode row : growth) {
                StringJoiner points = new StringJoiner(", ");
                for (JsonNode point : row.path("points")) {
                    points.add(point.path("work").asText() + ": "
                            + number(point.path("nanosPerUnit").asDouble() / 1e3));
                }
                html.append("<tr class='%s'><td title='%s'>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n"
                        .formatted(
                                status(row),
                                Html.escaped(row.path("what").asText()),
                                Html.escaped(row.path("name").asText()),
                                Html.escaped(points.toString()),
                                times(row, "timeGrowth"),
                                times(row, "memoryGrowth"),
                                Html.escaped(verdict(row, flat(row)))));
            }
            html.append("</table>\n");
        }
        return Html.end(html);
    }

    private static String times(JsonNode row, String field) {
        return row.path(field).isMissingNode() ? "" : number(row.path(field).asDouble());
    }
}
