package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

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
                    throw new RdmaTimeoutException("completion", Duration.ofMillis(5), "");
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
