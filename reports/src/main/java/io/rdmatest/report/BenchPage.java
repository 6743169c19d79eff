package io.rdmatest.report;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;

/**
 * The last bench beside the scenarios: a result for each row, and all rows as one table.
 *
 * @param rows what {@code ./rdmatest bench --json} wrote
 * @param measured when it was written, which may be long before the run
 */
record BenchPage(JsonNode rows, Instant measured) {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static final String SUITE = "Bench: ours beside the C programs";

    /**
     * Reads a file of results.
     *
     * @throws IOException if it can't be read or is not such a file
     */
    static BenchPage read(Path file) throws IOException {
        JsonNode rows;
        try {
            rows = MAPPER.readTree(file.toFile()).path("rows");
        } catch (JsonProcessingException e) {
            throw new IOException(file + " is not the JSON of a bench: " + e.getOriginalMessage(), e);
        }
        if (!rows.isArray()) {
            throw new IOException(file + " is not the JSON of a bench: it has no rows");
        }
        return new BenchPage(rows, Files.getLastModifiedTime(file).toInstant().truncatedTo(ChronoUnit.SECONDS));
    }

    /** Adds the rows and their table to a directory of Allure results. */
    void addTo(Path results) throws IOException {
        List<String> children = new ArrayList<>();
        for (JsonNode row : rows) {
            String uuid = uuid("bench/" + row.path("name").asText());
            children.add(uuid);
            MAPPER.writeValue(results.resolve(uuid + "-result.json").toFile(), result(row, uuid));
        }
        AllureContainer.write(results, SUITE, children, "the table of the bench", toHtml());
    }

    private ObjectNode result(JsonNode row, String uuid) {
        String name = row.path("name").asText();
        ObjectNode result = MAPPER.createObjectNode();
        result.put("uuid", uuid)
                .put("historyId", uuid)
                .put("name", name)
                .put("fullName", "bench." + name)
                .put("status", status(row))
                .put("stage", "finished")
                .put("start", measured.toEpochMilli())
                .put("stop", measured.toEpochMilli());
        if (!status(row).equals("passed")) {
            result.putObject("statusDetails").put("message", verdict(row));
        }
        result.put("description", row.path("what").asText());
        ArrayNode labels = result.putArray("labels");
        labels.addObject().put("name", "parentSuite").put("value", SUITE);
        labels.addObject().put("name", "suite").put("value", group(name));
        labels.addObject().put("name", "framework").put("value", "rdmatest bench");
        ArrayNode parameters = result.putArray("parameters");
        add(parameters, "ratio, ours to theirs", ratio(row));
        add(parameters, "target", target(row));
        add(parameters, "ours", value(row, "ours"));
        add(parameters, "theirs", value(row, "theirs"));
        add(parameters, "pairs", Integer.toString(row.path("pairs").size()));
        add(parameters, "measured", measured.toString());
        row.path("parameters")
                .properties()
                .forEach(entry ->
                        add(parameters, entry.getKey(), entry.getValue().asText()));
        return result;
    }

    private static void add(ArrayNode parameters, String name, String value) {
        parameters.addObject().put("name", name).put("value", value);
    }

    /** What a target is missed by is a finding; what was not measured says nothing about the speed. */
    private static String status(JsonNode row) {
        return row.path("ratio").isNull() ? "broken" : row.path("holds").asBoolean() ? "passed" : "failed";
    }

    private static String verdict(JsonNode row) {
        return switch (status(row)) {
            case "broken" -> "not measured: " + row.path("notMeasured").asText();
            case "passed" -> "holds";
            default -> "does not hold: the median ratio is " + ratio(row) + ", the target " + target(row);
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

    private static String uuid(String name) {
        return UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)).toString();
    }

    /** Returns a page of its own, without scripts and without anything from elsewhere. */
    private String toHtml() {
        StringBuilder html = new StringBuilder("""
                <!DOCTYPE html>
                <html lang="en"><head><meta charset="UTF-8"><title>%1$s</title><style>
                body { font: 14px sans-serif; margin: 12px; color: #222; background: #fff; }
                table { border-collapse: collapse; }
                th, td { border: 1px solid #ccc; padding: 4px 8px; text-align: left; }
                th { background: #f2f2f2; }
                td.number { text-align: right; font-variant-numeric: tabular-nums; }
                .passed { background: #eaf6ec; }
                .failed { background: #fdeceb; }
                .broken { background: #fdf6df; }
                </style></head><body>
                <h3>%1$s</h3>
                <p>Measured %2$s, in turns and with the same parameters; the ratio is ours divided by theirs, pair by pair.</p>
                <table><tr><th>row</th><th>ours</th><th>theirs</th><th>ratio, median</th><th>smallest to largest</th>\
                <th>target</th><th>verdict</th></tr>
                """.formatted(SUITE, measured));
        for (JsonNode row : rows) {
            html.append("<tr class='%s'><td title='%s'>%s</td>"
                    .formatted(
                            status(row),
                            Matrix.escaped(row.path("what").asText()),
                            Matrix.escaped(row.path("name").asText())));
            for (String number : new String[] {value(row, "ours"), value(row, "theirs"), ratio(row), spread(row)}) {
                html.append("<td class='number'>")
                        .append(Matrix.escaped(number))
                        .append("</td>");
            }
            html.append("<td>%s</td><td>%s</td></tr>\n"
                    .formatted(Matrix.escaped(target(row)), Matrix.escaped(verdict(row))));
        }
        return html.append("</table></body></html>\n").toString();
    }
}
