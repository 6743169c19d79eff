package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Measurement;
import io.rdmatest.Measurement.Better;
import io.rdmatest.RdmaTimeoutException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class RdmaReportTests {

    private final List<Map<String, String>> entries = new ArrayList<>();
    private final RdmaReport report = new RdmaReport(entries::add);

    @Test
    void reportsStepsInTheirNesting() {
        int value = report.step("outer", () -> {
            report.step("inner", () -> report.parameter("size", 64));
            return 5;
        });
        assertThat(value).isEqualTo(5);
        assertThat(entries)
                .containsExactly(
                        Map.of("rdma.step", "outer", "rdma.step.event", "start"),
                        Map.of("rdma.step", "inner", "rdma.step.event", "start"),
                        Map.of("rdma.parameter", "size", "rdma.value", "64"),
                        Map.of("rdma.step", "inner", "rdma.step.event", "passed"),
                        Map.of("rdma.step", "outer", "rdma.step.event", "passed"));
    }

    @Test
    void tellsAStepThatFailedFromOneThatBroke() {
        assertThatThrownBy(() -> report.step("wait", () -> {
                    throw RdmaTimeoutException.reported(
                            io.rdmatest.Cause.TIMEOUT, "completion", Duration.ofMillis(5), "");
                }))
                .isInstanceOf(RdmaTimeoutException.class);
        assertThatThrownBy(() -> report.step("read", () -> {
                    throw new IOException();
                }))
                .isInstanceOf(IOException.class);
        assertThat(entries)
                .contains(
                        Map.of(
                                "rdma.step",
                                "wait",
                                "rdma.step.event",
                                "failed",
                                "rdma.step.message",
                                "no completion within 5 ms"),
                        Map.of(
                                "rdma.step",
                                "read",
                                "rdma.step.event",
                                "broken",
                                "rdma.step.message",
                                "java.io.IOException"));
    }

    @Test
    void writesNumbersWithAPointAndWithoutExponent() {
        report.measurement("rate", 1.5e9, "Gb/s");
        report.measurement("latency", 0.0001, "us");
        report.throughput("write", 4096, 12.25);
        report.bytesVerified(1L << 33);
        assertThat(entries)
                .containsExactly(
                        Map.of("rdma.measurement", "rate", "rdma.value", "1500000000", "rdma.unit", "Gb/s"),
                        Map.of("rdma.measurement", "latency", "rdma.value", "0.00010", "rdma.unit", "us"),
                        Map.of("rdma.throughput", "write", "rdma.size", "4096", "rdma.value", "12.25"),
                        Map.of("rdma.bytesVerified", "8589934592"));
    }

    @Test
    void aMeasurementCarriesItsKindItsDirectionAndItsSamples() {
        report.measurement(Measurement.percentile("ping p99.9", 99.9, 0.123456789, "us", 1000));
        report.measurement(Measurement.duration("connect", Duration.ofNanos(1500)));
        report.measurement(Measurement.rate("throughput", 0.00004, "Gb/s"));
        report.measurement(Measurement.count("out of order", 3, "messages", Better.LOWER));
        assertThat(entries.get(0))
                .isEqualTo(Map.of(
                        "rdma.measurement", "ping p99.9",
                        "rdma.value", "0.123456789",
                        "rdma.unit", "us",
                        "rdma.kind", "percentile",
                        "rdma.better", "lower",
                        "rdma.percentile", "99.9",
                        "rdma.samples", "1000"));
        assertThat(entries.get(1))
                .containsEntry("rdma.kind", "duration")
                .containsEntry("rdma.value", "1.5")
                .containsEntry("rdma.samples", "1");
        assertThat(entries.get(2))
                .containsEntry("rdma.value", "0.000040")
                .containsEntry("rdma.better", "higher")
                .doesNotContainKey("rdma.samples");
        assertThat(entries.get(3)).containsEntry("rdma.kind", "count").containsEntry("rdma.better", "lower");
    }

    @Test
    void aPercentileTakesASampleBeyondIt() {
        assertThat(Measurement.supports(50, 99.99)).isFalse();
        assertThat(Measurement.supports(50, 99)).isFalse();
        assertThat(Measurement.supports(50, 90)).isTrue();
        assertThat(Measurement.supports(99, 99)).isFalse();
        assertThat(Measurement.supports(100, 99)).isTrue();
        assertThat(Measurement.supports(1000, 99.9)).isTrue();
        assertThat(Measurement.supports(9999, 99.99)).isFalse();
        assertThat(Measurement.supports(10_000, 99.99)).isTrue();
        assertThat(Measurement.supports(1, 50)).isFalse();
        assertThat(Measurement.supports(1, 100)).isTrue();
        assertThat(Measurement.supports(0, 100)).isFalse();
    }

    @Test
    void refusesAMeasurementThatIsNone() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Measurement.rate("rate", Double.POSITIVE_INFINITY, "Gb/s"))
                .withMessageContaining("rate: Infinity is not a finite number");
        assertThatIllegalArgumentException().isThrownBy(() -> Measurement.rate(" ", 1, "Gb/s"));
        assertThatIllegalArgumentException().isThrownBy(() -> Measurement.percentile("p", 101, 1, "us", 1));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Measurement.rate("rate", 1, "Gb/s").of(-1));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Measurement("p", Measurement.Kind.RATE, 1, "us", Better.LOWER, 50.0, 1));
    }

    @Test
    void aLatencyImprovesDownwardsAndAnotherHistogramInNoDirection() {
        report.latency("round trip", new Histogram(3));
        report.histogram("queue depth", "count", new Histogram(3));
        assertThat(entries.get(0)).containsEntry("rdma.unit", "ns").containsEntry("rdma.better", "lower");
        assertThat(entries.get(1)).containsEntry("rdma.unit", "count").containsEntry("rdma.better", "neither");
    }

    @Test
    void refusesNumbersThatAreNone() {
        assertThatIllegalArgumentException().isThrownBy(() -> report.measurement("rate", Double.NaN, "Gb/s"));
        assertThatIllegalArgumentException().isThrownBy(() -> report.bytesVerified(-1));
    }

    @Test
    void carriesAHistogramWhole() throws Exception {
        Histogram histogram = new Histogram(3);
        histogram.recordValue(1500);
        histogram.recordValue(99_000);
        report.histogram("latency", "ns", histogram);
        byte[] data = Base64.getDecoder().decode(entries.getFirst().get("rdma.histogram.data"));
        assertThat(Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(data), 0))
                .isEqualTo(histogram);
    }

    @Test
    void publishesEmptyTextsAsSuch() {
        report.parameter("private data", "");
        assertThat(entries).containsExactly(Map.of("rdma.parameter", "private data", "rdma.value", "(empty)"));
    }
}
