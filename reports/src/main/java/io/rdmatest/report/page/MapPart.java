package io.rdmatest.report.page;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.rdmatest.report.culprits.Metric;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The part of the page for one rail's matrix.
 *
 * @param json names, medians and blocks, which the first picture is made from; safe inside a script element
 * @param arrays the cells by the name of the array, see {@link Packed}
 * @param notes what was left out or rounded, as sentences
 */
record MapPart(String json, Map<String, String> arrays, List<String> notes) {

    /** The steps of rounding. Finer steps would show differences that are not reproducible. */
    private static final double[] STEPS = {0.001, 0.003, 0.01, 0.03};

    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final MathContext DIGITS = new MathContext(4);
    private static final int MOST_LINE_RATES = 255;

    /**
     * Packs a matrix.
     *
     * @param budget how many characters the values may have; values are rounded more, and then left out, until they fit
     */
    static MapPart of(RailMatrix matrix, long budget) {
        List<String> notes = new ArrayList<>();
        Map<Metric, Packed> values = values(matrix, budget, notes);
        Map<String, String> arrays = new LinkedHashMap<>();
        ObjectNode json = MAPPER.createObjectNode();
        json.put("rail", matrix.rail);
        matrix.nodes.forEach(json.putArray("nodes")::add);
        matrix.leaves.forEach(json.putArray("leaves")::add);
        matrix.causes.forEach(json.putArray("causes")::add);
        ObjectNode metrics = json.putObject("metrics");
        for (Metric metric : Metric.ofCells()) {
            ObjectNode its = metrics.putObject(metric.name());
            number(its, "median", matrix.median(metric));
            numbers(its.putArray("rows"), matrix, metric, true);
            numbers(its.putArray("columns"), matrix, metric, false);
            Packed packed = values.get(metric);
            if (packed != null) {
                its.put("least", packed.least()).put("step", packed.step()).put("zero", packed.zero());
                arrays.put(metric.name(), packed.base64());
            }
        }
        blocks(json, matrix);
        arrays.put("STATE", Packed.base64(matrix.state));
        lineRates(json, matrix, arrays);
        arrays.put("DETAILS", Packed.base64(json(MAPPER.valueToTree(matrix.details))));
        return new MapPart(json(json), arrays, notes);
    }

    private static Map<Metric, Packed> values(RailMatrix matrix, long budget, List<String> notes) {
        Map<Metric, Packed> values = new LinkedHashMap<>();
        for (double step : STEPS) {
            for (Metric metric : Metric.ofCells()) {
                // A metric without any measurement takes no space, and the page does not offer it.
                if (!Double.isNaN(matrix.median(metric))) {
                    values.put(metric, Packed.of(matrix.values[metric.ordinal()], step));
                }
            }
            if (length(values) <= budget) {
                double rounded =
                        values.values().stream().mapToDouble(Packed::step).max().orElse(0);
                if (rounded > 1.5 * STEPS[0]) {
                    notes.add(String.format(
                            Locale.ROOT,
                            "The map of %s has values in steps of %.1f %%. pairs.jsonl has them in full precision.",
                            matrix.rail,
                            rounded * 100));
                }
                return values;
            }
        }
        for (Metric metric : List.of(Metric.LATENCY_P99, Metric.MESSAGE_RATE, Metric.LATENCY_P50, Metric.BANDWIDTH)) {
            if (length(values) > budget && values.remove(metric) != null) {
                notes.add("The map of " + matrix.rail + " has no single cells of " + Page.label(metric)
                        + ", for which the page is too small. pairs.jsonl has them.");
            }
        }
        return values;
    }

    private static long length(Map<Metric, Packed> values) {
        return values.values().stream()
                .mapToLong(packed -> packed.base64().length())
                .sum();
    }

    private static void numbers(ArrayNode array, RailMatrix matrix, Metric metric, boolean rows) {
        for (int node = 0; node < matrix.size(); node++) {
            add(array, rows ? matrix.rowMedian(metric, node) : matrix.columnMedian(metric, node));
        }
    }

    private static void blocks(ObjectNode json, RailMatrix matrix) {
        List<RailMatrix.Group> groups = matrix.groups();
        ArrayNode names = json.putArray("groups");
        groups.forEach(group -> names.addObject()
                .put("name", group.name())
                .put("begin", group.begin())
                .put("end", group.end()));
        ArrayNode blocks = json.putArray("blocks");
        for (RailMatrix.Group from : groups) {
            for (RailMatrix.Group to : groups) {
                RailMatrix.Block block = matrix.block(from, to);
                ArrayNode its = blocks.addArray()
                        .add(block.measured())
                        .add(block.failed())
                        .add(block.notMeasured());
                for (int metric = 0; metric < block.median().length; metric++) {
                    add(its, block.median()[metric]);
                    add(its, block.worst()[metric]);
                    its.add(block.worstNode()[metric]);
                }
            }
        }
    }

    /** Adds the line rates. There are few different rates. If there were more than fit in a byte, the rest would be unknown. */
    private static void lineRates(ObjectNode json, RailMatrix matrix, Map<String, String> arrays) {
        List<Float> rates = new ArrayList<>();
        byte[] which = new byte[matrix.lineRate.length];
        for (int cell = 0; cell < which.length; cell++) {
            float rate = matrix.lineRate[cell];
            if (!Float.isNaN(rate)) {
                int known = rates.indexOf(rate);
                if (known < 0 && rates.size() < MOST_LINE_RATES) {
                    rates.add(rate);
                    known = rates.size() - 1;
                }
                which[cell] = (byte) (known + 1);
            }
        }
        ArrayNode lineRates = json.putArray("lineRates");
        rates.forEach(rate -> add(lineRates, rate));
        number(json, "lineRate", matrix.medianLineRate());
        arrays.put("LINE_RATE", Packed.base64(which));
    }

    private static void add(ArrayNode array, double value) {
        if (Double.isNaN(value)) {
            array.addNull();
        } else {
            array.add(rounded(value));
        }
    }

    private static void number(ObjectNode object, String name, double value) {
        if (Double.isNaN(value)) {
            object.putNull(name);
        } else {
            object.put(name, rounded(value));
        }
    }

    private static double rounded(double value) {
        return new BigDecimal(value).round(DIGITS).doubleValue();
    }

    /**
     * Returns JSON that neither ends a script element nor begins a comment in it: the escaped character occurs only in strings.
     */
    static String json(JsonNode json) {
        try {
            return MAPPER.writeValueAsString(json).replace("<", "\\u003c");
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("A tree can't be written", e);
        }
    }
}
