package io.rdmatest.report.run;

import io.rdmatest.Measurement;
import io.rdmatest.Measurement.Better;
import io.rdmatest.Measurement.Kind;
import io.rdmatest.ReportKeys;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The numbers that one test published.
 *
 * <p>Any test can publish anything under these keys. An unreadable entry becomes a warning, and has no other effect.
 */
public final class Measurements {

    /** The percentiles that charts, tables and summaries show, by name. */
    public static final Map<String, Double> PERCENTILES = percentiles();

    /** A decimal number with a point. Java's own parser takes {@code NaN}, {@code 0x1p3} and {@code 1f} as well. */
    private static final Pattern DECIMAL = Pattern.compile("-?\\d{1,400}(\\.\\d{1,400})?([eE][+-]?\\d{1,4})?");

    private static final int LONGEST_NAME = 500;
    private static final int LONGEST_QUOTE = 60;
    private static final int MOST_WARNINGS = 20;

    private final Map<String, Measurement> values = new LinkedHashMap<>();
    private final Map<String, SortedMap<Long, Double>> throughput = new LinkedHashMap<>();
    private final List<String> warnings = new ArrayList<>();
    private int moreWarnings;
    private long bytesVerified;

    /** Adds the numbers of an entry, or a warning if they can't be read. */
    public void add(Map<String, String> entry) {
        guarded(entry, ReportKeys.MEASUREMENT, name -> put(measurement(name, entry)));
        guarded(entry, ReportKeys.THROUGHPUT, series -> addThroughput(series, entry));
        guarded(entry, ReportKeys.HISTOGRAM, name -> addHistogram(name, entry));
        guarded(entry, ReportKeys.BYTES_VERIFIED, bytes -> {
            bytesVerified = Math.addExact(bytesVerified, whole(ReportKeys.BYTES_VERIFIED, bytes));
        });
    }

    @FunctionalInterface
    private interface Reading {
        void of(String text);
    }

    private void guarded(Map<String, String> entry, String key, Reading reading) {
        String text = entry.get(key);
        if (text == null) {
            return;
        }
        try {
            reading.of(text);
        } catch (IllegalArgumentException | ArithmeticException e) {
            warn("unreadable entry %s %s: %s".formatted(key, quote(text), e.getMessage()));
        }
    }

    void warn(String warning) {
        if (warnings.size() < MOST_WARNINGS) {
            warnings.add(warning);
        } else {
            moreWarnings++;
        }
    }

    private void put(Measurement measurement) {
        values.put(checked(measurement.name()), measurement);
    }

    private static String checked(String name) {
        if (name.length() > LONGEST_NAME) {
            throw new IllegalArgumentException(
                    "its name has %d characters, at most %d".formatted(name.length(), LONGEST_NAME));
        }
        if (name.chars().anyMatch(Character::isISOControl)) {
            throw new IllegalArgumentException("its name has control characters");
        }
        return name;
    }

    private static Measurement measurement(String name, Map<String, String> entry) {
        String percentile = entry.get(ReportKeys.PERCENTILE);
        String samples = entry.get(ReportKeys.SAMPLES);
        return new Measurement(
                name,
                oneOf(Kind.values(), Kind.OTHER, ReportKeys.KIND, entry),
                decimal(ReportKeys.VALUE, entry.get(ReportKeys.VALUE)),
                checked(entry.getOrDefault(ReportKeys.UNIT, "")),
                oneOf(Better.values(), Better.NEITHER, ReportKeys.BETTER, entry),
                percentile == null ? null : (Double) decimal(ReportKeys.PERCENTILE, percentile),
                samples == null ? 0 : whole(ReportKeys.SAMPLES, samples));
    }

    private void addThroughput(String series, Map<String, String> entry) {
        long size = whole(ReportKeys.SIZE, entry.get(ReportKeys.SIZE));
        double rate = decimal(ReportKeys.VALUE, entry.get(ReportKeys.VALUE));
        if (rate < 0) {
            throw new IllegalArgumentException("the rate " + rate + " is less than 0");
        }
        put(Measurement.rate(series + ", " + Units.bytes(size), rate, "Gb/s"));
        throughput.computeIfAbsent(series, ignored -> new TreeMap<>()).put(size, rate);
    }

    private void addHistogram(String name, Map<String, String> entry) {
        Histogram histogram = histogram(entry);
        boolean nanos = entry.getOrDefault(ReportKeys.UNIT, "").equals("ns");
        String unit = nanos ? "us" : entry.getOrDefault(ReportKeys.UNIT, "");
        Better better = oneOf(Better.values(), Better.NEITHER, ReportKeys.BETTER, entry);
        long samples = histogram.getTotalCount();
        Map<String, Double> all = new LinkedHashMap<>();
        all.put("min", 0.0);
        all.putAll(PERCENTILES);
        all.forEach((label, percentile) -> {
            if (Measurement.supports(samples, percentile)) {
                long value = percentile == 0 ? histogram.getMinValue() : histogram.getValueAtPercentile(percentile);
                Measurement derived = new Measurement(
                        name + " " + label,
                        Kind.PERCENTILE,
                        nanos ? value / 1e3 : value,
                        checked(unit),
                        better,
                        percentile,
                        samples);
                // A value that the test itself published takes precedence.
                Measurement ignored = values.putIfAbsent(checked(derived.name()), derived);
            }
        });
    }

    private static <E extends Enum<E>> E oneOf(E[] all, E otherwise, String key, Map<String, String> entry) {
        String text = entry.get(key);
        if (text == null) {
            return otherwise;
        }
        for (E each : all) {
            if (each.toString().equals(text)) {
                return each;
            }
        }
        throw new IllegalArgumentException("%s %s is none of %s".formatted(key, quote(text), List.of(all)));
    }

    private static double decimal(String key, @Nullable String text) {
        if (text == null || !DECIMAL.matcher(text).matches()) {
            throw new IllegalArgumentException(
                    "%s %s is not a decimal number with a point".formatted(key, quote(text)));
        }
        double value = Double.parseDouble(text);
        if (!Double.isFinite(value)) {
            throw new IllegalArgumentException("%s %s is out of range".formatted(key, quote(text)));
        }
        return value;
    }

    private static long whole(String key, @Nullable String text) {
        if (text == null || !text.matches("\\d{1,18}")) {
            throw new IllegalArgumentException(
                    "%s %s is not a whole number of at most 18 digits".formatted(key, quote(text)));
        }
        return Long.parseLong(text);
    }

    /** Returns a text as a warning can show it: short, on one line and without control characters. */
    private static String quote(@Nullable String text) {
        if (text == null) {
            return "(missing)";
        }
        String start = text.length() > LONGEST_QUOTE ? text.substring(0, LONGEST_QUOTE) + "…" : text;
        return "\"" + start.replaceAll("\\p{Cntrl}", "?") + "\"";
    }

    public Map<String, Measurement> values() {
        return values;
    }

    public Map<String, SortedMap<Long, Double>> throughput() {
        return throughput;
    }

    long bytesVerified() {
        return bytesVerified;
    }

    /** Returns what could not be read, in a sentence each. */
    public List<String> warnings() {
        if (moreWarnings == 0) {
            return List.copyOf(warnings);
        }
        List<String> all = new ArrayList<>(warnings);
        all.add("and " + moreWarnings + " more");
        return all;
    }

    public boolean isEmpty() {
        return values.isEmpty();
    }

    public String toCsv() {
        StringBuilder csv = new StringBuilder("measurement,value,unit,kind,better,samples\n");
        values.forEach((name, value) -> csv.append(csv(name))
                .append(',')
                .append(value.value())
                .append(',')
                .append(csv(value.unit()))
                .append(',')
                .append(value.kind())
                .append(',')
                .append(value.better())
                .append(',')
                .append(value.samples() == 0 ? "" : value.samples())
                .append('\n'));
        return csv.toString();
    }

    /** Returns the measurements by name, in the form that they have in {@code qualification.json}. */
    Map<String, Object> json() {
        Map<String, Object> json = new LinkedHashMap<>();
        values.forEach((name, value) -> {
            Map<String, Object> members = new LinkedHashMap<>();
            members.put("value", value.value());
            members.put("unit", value.unit());
            members.put("kind", value.kind().toString());
            members.put("better", value.better().toString());
            if (value.percentile() != null) {
                members.put("percentile", value.percentile());
            }
            if (value.samples() > 0) {
                members.put("samples", value.samples());
            }
            json.put(name, members);
        });
        return json;
    }

    /**
     * Decodes a histogram.
     *
     * @throws IllegalArgumentException if the entry holds none
     */
    public static Histogram histogram(Map<String, String> entry) {
        try {
            byte[] data = Base64.getDecoder().decode(entry.getOrDefault(ReportKeys.HISTOGRAM_DATA, ""));
            return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(data), 0);
        } catch (DataFormatException | RuntimeException | OutOfMemoryError e) {
            // This includes OutOfMemoryError, because lengths in the data decide how much the decoder allocates at
            // once.
            throw new IllegalArgumentException(
                    "%s is not in HdrHistogram's compressed form".formatted(ReportKeys.HISTOGRAM_DATA), e);
        }
    }

    private static Map<String, Double> percentiles() {
        Map<String, Double> percentiles = new LinkedHashMap<>();
        percentiles.put("p50", 50.0);
        percentiles.put("p90", 90.0);
        percentiles.put("p99", 99.0);
        percentiles.put("p99.9", 99.9);
        percentiles.put("p99.99", 99.99);
        percentiles.put("max", 100.0);
        return percentiles;
    }

    /** Returns a cell as CSV has it: in quotes where it must be (RFC 4180). */
    public static String csv(String cell) {
        return cell.matches("(?s).*[,\"\n\r].*") ? '"' + cell.replace("\"", "\"\"") + '"' : cell;
    }
}
