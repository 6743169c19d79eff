package io.rdmatest.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import io.rdmatest.junit.ReportKeys;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/** The numbers that one test published. */
final class Measurements {

    /**
     * A number and its unit.
     *
     * @param value the number
     * @param unit its unit, such as {@code us} or {@code Gb/s}
     */
    record Value(BigDecimal value, String unit) {
        @JsonIgnore
        @Override
        public String toString() {
            return value.toPlainString() + " " + unit;
        }
    }

    /** The percentiles that charts, tables and summaries show, by name. */
    static final Map<String, Double> PERCENTILES = percentiles();

    private final Map<String, Value> values = new LinkedHashMap<>();
    private final Map<String, SortedMap<Long, Double>> throughput = new LinkedHashMap<>();

    void add(Map<String, String> entry) {
        String unit = entry.getOrDefault(ReportKeys.UNIT, "");
        String measurement = entry.get(ReportKeys.MEASUREMENT);
        if (measurement != null) {
            values.put(
                    measurement, new Value(rounded(new BigDecimal(entry.getOrDefault(ReportKeys.VALUE, "0"))), unit));
        }
        String series = entry.get(ReportKeys.THROUGHPUT);
        if (series != null) {
            long size = Long.parseLong(entry.getOrDefault(ReportKeys.SIZE, "0"));
            double rate = Double.parseDouble(entry.getOrDefault(ReportKeys.VALUE, "0"));
            throughput.computeIfAbsent(series, ignored -> new TreeMap<>()).put(size, rate);
            values.put(series + ", " + Units.bytes(size), new Value(rounded(BigDecimal.valueOf(rate)), "Gb/s"));
        }
        String name = entry.get(ReportKeys.HISTOGRAM);
        if (name != null) {
            Histogram histogram = histogram(entry);
            PERCENTILES.forEach((label, percentile) -> values.putIfAbsent(
                    name + " " + label, inReadableUnit(histogram.getValueAtPercentile(percentile), unit)));
        }
    }

    Map<String, Value> values() {
        return values;
    }

    Map<String, SortedMap<Long, Double>> throughput() {
        return throughput;
    }

    boolean isEmpty() {
        return values.isEmpty();
    }

    String toCsv() {
        StringBuilder csv = new StringBuilder("measurement,value,unit\n");
        values.forEach((name, value) -> csv.append(Charts.csv(name))
                .append(',')
                .append(value.value().toPlainString())
                .append(',')
                .append(Charts.csv(value.unit()))
                .append('\n'));
        return csv.toString();
    }

    static Histogram histogram(Map<String, String> entry) {
        byte[] data = Base64.getDecoder().decode(entry.getOrDefault(ReportKeys.HISTOGRAM_DATA, ""));
        try {
            return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(data), 0);
        } catch (DataFormatException e) {
            throw new IllegalArgumentException(
                    "histogram " + entry.get(ReportKeys.HISTOGRAM) + " is not in HdrHistogram's compressed form", e);
        }
    }

    private static Value inReadableUnit(long value, String unit) {
        return unit.equals("ns")
                ? new Value(rounded(BigDecimal.valueOf(value, 3)), "us")
                : new Value(BigDecimal.valueOf(value), unit);
    }

    private static BigDecimal rounded(BigDecimal value) {
        return value.setScale(Math.min(Math.max(value.scale(), 0), 3), RoundingMode.HALF_UP);
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
}
