package io.rdmatest.report.run;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.rdmatest.Measurement;
import io.rdmatest.ReportKeys;
import io.rdmatest.junit.RdmaReport;
import io.rdmatest.report.listener.RdmaReportListener;
import io.rdmatest.report.nights.Qualification;
import io.rdmatest.report.output.ResultFiles;
import io.rdmatest.report.run.JournalEvent.Kind;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MeasurementsTests {

    private static final ObjectMapper MAPPER = new ObjectMapper();

    private static final List<String> KEYS = List.of(
            ReportKeys.MEASUREMENT,
            ReportKeys.VALUE,
            ReportKeys.UNIT,
            ReportKeys.KIND,
            ReportKeys.BETTER,
            ReportKeys.PERCENTILE,
            ReportKeys.SAMPLES,
            ReportKeys.THROUGHPUT,
            ReportKeys.SIZE,
            ReportKeys.HISTOGRAM,
            ReportKeys.HISTOGRAM_DATA,
            ReportKeys.BYTES_VERIFIED,
            ReportKeys.PARAMETER,
            ReportKeys.LABEL,
            ReportKeys.DEVICE,
            ReportKeys.ENVIRONMENT_PREFIX + "mtu",
            ReportKeys.ENVIRONMENT_PREFIX);

    private static final List<String> TEXTS = List.of(
            "1,5",
            "NaN",
            "Infinity",
            "-1",
            "0",
            "1e999999999",
            "-1.5e-300",
            "0x1p3",
            "1f",
            " 1",
            "١",
            "9223372036854775807",
            "99999999999999999999",
            "(empty)",
            "percentile",
            "rate",
            "lower",
            "\u0000",
            "\ud800",
            "\u202e<script>&'\"",
            "a\nb",
            "ns",
            "99.9",
            "101",
            "7".repeat(5000),
            "x".repeat(70_000),
            Base64.getEncoder().encodeToString(new byte[40]),
            "HISTFAAAACB42pNpmSzMwMAgyQABTFCaEUoz2X+AsKwCSlkB");

    private static Run run(List<Map<String, String>> entries) throws Exception {
        List<JournalEvent> events = new ArrayList<>();
        events.add(JournalEvent.of(Kind.RUN_STARTED));
        events.add(JournalEvent.of(Kind.STARTED).about("[test:1]", true, "x", "X", "x"));
        entries.forEach(entry -> events.add(JournalEvent.of(Kind.ENTRY)
                .about("[test:1]", true, "x", "X", "x")
                .withEntry(entry)));
        events.add(JournalEvent.of(Kind.FINISHED)
                .about("[test:1]", true, "x", "X", "x")
                .withOutcome(Verdict.PASSED, null, null));
        events.add(JournalEvent.of(Kind.RUN_FINISHED));
        List<JournalEvent> read = new ArrayList<>();
        for (JournalEvent event : events) {
            read.add(JournalEvent.parse(event.toLine()));
        }
        return Run.of(read);
    }

    private static JsonNode summary(Run run) throws Exception {
        JsonNode summary = MAPPER.readTree(MAPPER.writeValueAsBytes(run));
        try (InputStream schema = ResultFiles.class.getResourceAsStream("qualification.schema.json")) {
            JsonSchema known = JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
                    .getSchema(schema);
            assertThat(known.validate(summary)).isEmpty();
        }
        return summary;
    }

    @Test
    void aRunOnAStandInIsNoEvidence() throws Exception {
        String driver = ReportKeys.ENVIRONMENT_PREFIX + "driver";
        assertThat(summary(run(List.of(Map.of(driver, "stand-in"))))
                        .at("/environment/evidence")
                        .asText())
                .startsWith("none: another library is in the place of libibverbs");
        assertThat(summary(run(List.of(Map.of(driver, "mlx5_core"))))
                        .at("/environment")
                        .has("evidence"))
                .isFalse();
    }

    @Test
    void nothingThatIsPublishedLosesTheRun() throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int round = 0; round < 200; round++) {
            List<Map<String, String>> entries = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                Map<String, String> entry = new LinkedHashMap<>();
                for (int keys = random.nextInt(6); keys >= 0; keys--) {
                    entry.put(
                            KEYS.get(random.nextInt(KEYS.size())),
                            // As the listener hands it on.
                            RdmaReportListener.clean(TEXTS.get(random.nextInt(TEXTS.size())), 1_000_000));
                }
                entries.add(entry);
            }
            new RdmaReport(entries::add).measurement(Measurement.rate("last", round, "Gb/s"));

            JsonNode summary = summary(run(entries));

            assertThat(summary.at("/scenarios/0/measurements/last/value").asDouble(-1))
                    .as("seed " + seed + ": " + entries)
                    .isEqualTo(round);
            assertThat(Qualification.of(Path.of("x"), summary).scenarios()).containsKey("x");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"1,5", "NaN", "Infinity", "1e999999999", "0x1p3", "1f", " 1", "", "-", "1.", "٣"})
    void aNumberThatIsNoneIsAWarning(String text) throws Exception {
        Run run = run(List.of(
                Map.of(ReportKeys.MEASUREMENT, "rate", ReportKeys.VALUE, text, ReportKeys.UNIT, "Gb/s"),
                Map.of(ReportKeys.MEASUREMENT, "other", ReportKeys.VALUE, "1.5", ReportKeys.UNIT, "Gb/s")));

        assertThat(run.scenarios().getFirst().getWarnings())
                .singleElement()
                .asString()
                .startsWith("unreadable entry rdma.measurement \"rate\": rdma.value \"" + text + "\"");
        assertThat(run.scenarios().getFirst().getMeasurements()).containsOnlyKeys("other");
    }

    @Test
    void warningsAreCountedAndNotHeaped() throws Exception {
        List<Map<String, String>> entries = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            entries.add(Map.of(ReportKeys.BYTES_VERIFIED, "none"));
        }
        entries.add(Map.of(ReportKeys.BYTES_VERIFIED, "17"));
        Run.Scenario scenario = run(entries).scenarios().getFirst();
        assertThat(scenario.getWarnings()).hasSize(21).endsWith("and 980 more");
        assertThat(scenario.getBytesVerified()).isEqualTo(17);
    }

    @Test
    void aHistogramBecomesThePercentilesThatItsSamplesSupport() throws Exception {
        Histogram fifty = new Histogram(3);
        for (int i = 1; i <= 50; i++) {
            fifty.recordValue(1000L * i);
        }
        List<Map<String, String>> entries = new ArrayList<>();
        new RdmaReport(entries::add).latency("ping", fifty);

        JsonNode measurements = summary(run(entries)).at("/scenarios/0/measurements");

        assertThat(measurements.properties())
                .extracting(Map.Entry::getKey)
                .containsExactly("ping min", "ping p50", "ping p90", "ping max");
        assertThat(measurements.path("ping p90"))
                .isEqualTo(MAPPER.readTree(
                        "{\"value\": 45.023, \"unit\": \"us\", \"kind\": \"percentile\", \"better\": \"lower\","
                                + " \"percentile\": 90.0, \"samples\": 50}"));
    }

    @Test
    void valuesKeepTheirPrecision() throws Exception {
        List<Map<String, String>> entries = new ArrayList<>();
        new RdmaReport(entries::add).measurement(Measurement.rate("throughput", 0.000012345678, "Gb/s"));

        assertThat(summary(run(entries))
                        .at("/scenarios/0/measurements/throughput/value")
                        .asDouble())
                .isEqualTo(0.000012345678);
    }

    @ParameterizedTest
    @CsvSource({
        "0.000012345678, Gb/s, 12.3 kb/s",
        "92.1, Gb/s, 92.1 Gb/s",
        "1200, Gb/s, 1200 Gb/s",
        "0, Gb/s, 0 Gb/s",
        "305457.314, us, 305 ms",
        "2781870.255, us, 2.78 s",
        "999.7, us, 1.00 ms",
        "0.25, us, 250 ns",
        "-3, us, -3.00 us",
        "0.0037, Mmsg/s, 3.70 kmsg/s",
        "2304, messages, 2304 messages",
        "1234567, messages, 1234567 messages",
        "12.345, %, 12.3 %"
    })
    void peopleReadThreeDigitsAndAPrefix(double value, String unit, String text) {
        assertThat(Units.text(value, unit)).isEqualTo(text);
    }

    /** The length in it asks the decoder for two gigabytes. */
    @Test
    void aHistogramThatAsksForAllMemoryIsAWarning() throws Exception {
        ByteBuffer data = ByteBuffer.allocate(40);
        data.putInt(0x1c849304).putInt(Integer.MAX_VALUE);
        Run run = run(List.of(Map.of(
                ReportKeys.HISTOGRAM,
                "x",
                ReportKeys.HISTOGRAM_DATA,
                Base64.getEncoder().encodeToString(data.array()))));

        assertThat(run.scenarios().getFirst().getWarnings()).hasSize(1);
    }
}
