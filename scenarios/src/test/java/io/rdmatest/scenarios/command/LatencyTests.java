package io.rdmatest.scenarios.command;

import static org.assertj.core.api.Assertions.assertThat;

import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class LatencyTests {

    private static Histogram micros(int count) {
        Histogram nanos = new Histogram(3);
        for (int i = 1; i <= count; i++) {
            nanos.recordValue(1000L * i);
        }
        return nanos;
    }

    @Test
    void onlyPercentilesThatTheSamplesSupportAreShown() {
        assertThat(Latency.json(micros(50)))
                .containsOnlyKeys("minUs", "meanUs", "p50Us", "p90Us", "maxUs")
                .containsEntry("maxUs", 50.015);
        assertThat(Latency.text(micros(50))).isEqualTo("p50 25.0 us, max 50.0 us");
        assertThat(Latency.text(micros(100))).startsWith("p50 50.0 us, p99 99.0 us, max ");
        assertThat(Latency.json(micros(1))).containsOnlyKeys("minUs", "meanUs", "maxUs");
        assertThat(Latency.text(micros(1))).isEqualTo("max 1.0 us");
        assertThat(Latency.json(micros(10_000))).containsKeys("p999Us", "p9999Us");
    }
}
