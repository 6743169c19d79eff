package io.rdmatest.scenarios.rstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StreamRowTests {

    @Test
    void allSizesAreThirtyThreeFrom64To6MiB() {
        assertThat(StreamRow.ALL_SIZES)
                .hasSize(33)
                .startsWith(64, 128, 192, 256, 384)
                .endsWith(4194304, 6291456)
                .containsAll(StreamRow.STANDARD_SIZES);
    }

    @ParameterizedTest
    @CsvSource({
        "64,100000",
        "1023,100000",
        "1024,10000",
        "4096,10000",
        "65535,10000",
        "65536,1000",
        "1048575,1000",
        "1048576,100",
        "6291456,100"
    })
    void repetitionsShrinkWithTheSize(int size, int repetitions) {
        assertThat(StreamRow.repetitions(size)).isEqualTo(repetitions);
    }

    @Test
    void latencyIteratesAndBandwidthTransfers() {
        assertThat(StreamRow.latency(64, 1.0))
                .isEqualTo(new StreamRow("64_lat", 64, 1, 100_000, StreamRow.Kind.LATENCY));
        assertThat(StreamRow.bandwidth(1048576, 1.0))
                .isEqualTo(new StreamRow("1m_bw", 1048576, 100, 1, StreamRow.Kind.BANDWIDTH));
        assertThat(StreamRow.latency(4096, 0.01).iterations()).isEqualTo(100);
        assertThat(StreamRow.bandwidth(1048576, 0.001).transfers()).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource({
        "1,1",
        "64,64",
        "192,192",
        "1000,1000",
        "1024,1k",
        "1536,1.5k",
        "4096,4k",
        "4097,4k",
        "5000,4.8k",
        "12000,11k",
        "65536,64k",
        "1048576,1m",
        "6291456,6m",
        "12800000,12m",
        "209715200,200m",
        "1610612736,1.5g"
    })
    void labelsAreThoseOfTheProgram(long size, String label) {
        assertThat(StreamRow.label(size)).isEqualTo(label);
    }

    @Test
    void figuresFollowTheProgramsFormulas() {
        StreamRow row = StreamRow.custom(1000, 10, 5);
        assertThat(row.totalBytes()).isEqualTo(100_000);
        assertThat(row.gigabitsPerSecond(1_000_000)).isCloseTo(0.8, within(1e-9));
        assertThat(row.microsPerTransfer(1_000_000)).isCloseTo(10.0, within(1e-9));
    }

    @ParameterizedTest
    @CsvSource({"1,1", "999,999", "1000,1k", "100000,100k", "1000000,1m", "1000000000,1b"})
    void countsAreShortenedByThousands(int count, String label) {
        assertThat(StreamRow.countLabel(count)).isEqualTo(label);
    }

    /** Lines that the program printed. */
    @Test
    void linesAreThoseOfTheProgram() {
        assertThat(StreamRow.heading())
                .isEqualTo("name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer");
        assertThat(StreamRow.latency(64, 1).line(14_000_000_000L).replaceAll(" +", " "))
                .isEqualTo("64_lat 64 1 100k 12m 14.00s 0.01 70.00");
        assertThat(StreamRow.custom(65536, 1000, 1).line(2_540_000_000L))
                .isEqualTo("custom    64k     1k      1       125m        2.54s      0.41    1270.00");
    }

    @Test
    void emptyRowsAreRefused() {
        assertThatThrownBy(() -> StreamRow.custom(0, 1, 1)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> StreamRow.latency(64, 0)).isInstanceOf(IllegalArgumentException.class);
    }
}
