package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.report.culprits.Metric;
import io.rdmatest.scenarios.pairs.PairRoles.Operation;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PairSettingsTests {

    private static PairSettings read(Map<String, String> values) {
        return PairSettings.read(key -> Optional.ofNullable(values.get(key)));
    }

    @Test
    void allIsMeasuredUnlessSet() {
        assertThat(read(Map.of()))
                .isEqualTo(new PairSettings(
                        Set.copyOf(Metric.ofCells()),
                        0,
                        65536,
                        Duration.ofMillis(500),
                        Operation.WRITE,
                        false,
                        Integer.MAX_VALUE,
                        null,
                        null));
    }

    @Test
    void everyKeyIsRead() {
        assertThat(read(Map.of(
                        "rdma.pairs.measure", "rate, latency",
                        "rdma.pairs.qps", "7",
                        "rdma.pairs.size", "4096",
                        "rdma.pairs.time", "0.25",
                        "rdma.pairs.operation", "read",
                        "rdma.pairs.directions", "both",
                        "rdma.pairs.rounds", "64",
                        "rdma.pairs.budget", "30m",
                        "rdma.pairs.file", "x/pairs.jsonl")))
                .isEqualTo(new PairSettings(
                        Set.of(Metric.MESSAGE_RATE, Metric.LATENCY_P50, Metric.LATENCY_P99),
                        7,
                        4096,
                        Duration.ofMillis(250),
                        Operation.READ,
                        true,
                        64,
                        Duration.ofMinutes(30),
                        Path.of("x/pairs.jsonl")));
    }

    @ParameterizedTest
    @CsvSource({
        "rdma.pairs.measure, speed, 'rdma.pairs.measure=speed: ''speed'' is not measured of pairs; allowed: bandwidth, rate, latency'",
        "rdma.pairs.measure, 'rate,', 'rdma.pairs.measure=rate,: '''' is not measured of pairs'",
        "rdma.pairs.qps, 0, rdma.pairs.qps=0: allowed are 1.0 to 64.0",
        "rdma.pairs.qps, 1.5, rdma.pairs.qps=1.5: not a whole number",
        "rdma.pairs.rounds, 15, rdma.pairs.rounds=15: allowed are 16.0 to",
        "rdma.pairs.budget, soon, 'rdma.pairs.budget=soon: \"soon\" is no duration'",
        "rdma.pairs.budget, 0s, 'rdma.pairs.budget=0s: \"0s\" is out of range'",
        "rdma.pairs.size, 16777217, rdma.pairs.size=16777217: allowed are 1.0 to",
        "rdma.pairs.time, 61, rdma.pairs.time=61: allowed are 0.01 to 60.0",
        "rdma.pairs.time, NaN, rdma.pairs.time=NaN: allowed are",
        "rdma.pairs.operation, atomic, 'rdma.pairs.operation=atomic: allowed are [write, read, send]'",
        "rdma.pairs.directions, 2, 'rdma.pairs.directions=2: allowed are [one, both]'"
    })
    void aWrongValueIsRefusedByTheNameOfItsKey(String key, String value, String message) {
        assertThatThrownBy(() -> read(Map.of(key, value)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(message);
    }

    @Test
    void sixteenRoundsAreNeverLeftOut() {
        PairSettings settings = read(Map.of("rdma.pairs.rounds", "64", "rdma.pairs.budget", "90m"));
        long over = System.nanoTime();
        long later = over + Duration.ofDays(1).toNanos();

        assertThat(settings.leavesOut(15, over)).isNull();
        assertThat(settings.leavesOut(16, over)).isEqualTo("--budget 1h30m");
        assertThat(settings.leavesOut(63, later)).isNull();
        assertThat(settings.leavesOut(64, later)).isEqualTo("--pairs-rounds 64");
        assertThat(read(Map.of()).leavesOut(1_000_000, over)).isNull();
    }

    @Test
    void aRoundMayTakeLongerIfMoreIsMeasured() {
        assertThat(read(Map.of()).limitOfRound()).isEqualTo(Duration.ofSeconds(7));
        assertThat(read(Map.of("rdma.pairs.measure", "latency")).limitOfRound()).isEqualTo(Duration.ofSeconds(5));
        assertThat(read(Map.of("rdma.pairs.measure", "latency,rate", "rdma.pairs.time", "10"))
                        .limitOfRound())
                .isEqualTo(Duration.ofSeconds(25));
    }
}
