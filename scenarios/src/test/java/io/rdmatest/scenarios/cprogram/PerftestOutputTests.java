package io.rdmatest.scenarios.cprogram;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the programs of perftest 6.06 printed on a soft-RoCE device, word for word in the resources. */
class PerftestOutputTests {

    static List<String> recorded(String name) throws IOException {
        try (InputStream stream = PerftestOutputTests.class.getResourceAsStream(name + ".txt")) {
            assertThat(stream).as(name).isNotNull();
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .toList();
        }
    }

    private static List<String> changed(List<String> lines, String from, String to) {
        String text = String.join("\n", lines);
        assertThat(text).contains(from);
        return text.replace(from, to).lines().toList();
    }

    private static void assertRefused(Function<List<String>, ?> parser, List<String> lines, String quoted) {
        assertThatThrownBy(() -> parser.apply(lines))
                .isInstanceOf(ProgramOutputException.class)
                .hasMessageContaining(quoted);
    }

    @Test
    void latency() throws IOException {
        PerftestOutput output = PerftestOutput.latency(recorded("ib_send_lat"));
        assertThat(output.latency())
                .isEqualTo(new PerftestOutput.Latency(10.80, 7379.73, 11.15, 82.75, 502.29, 3261.84, 7379.73));
        assertThat(output.bandwidth()).isNull();
        assertThat(output.parameters()).isEqualTo(new PerftestOutput.Parameters(64, 1000, 1, 512, 1, 4096, 0, 0));
    }

    @Test
    void latencyOfReadsSaysHowManyMayBeInFlight() throws IOException {
        PerftestOutput output = PerftestOutput.latency(recorded("ib_read_lat"));
        assertThat(output.latency())
                .isEqualTo(new PerftestOutput.Latency(26.92, 6503.39, 27.84, 71.15, 418.67, 2164.51, 6503.39));
        assertThat(output.parameters()).isEqualTo(new PerftestOutput.Parameters(64, 1000, 1, 512, 1, 4096, 0, 128));
    }

    @Test
    void bandwidthAndMessageRate() throws IOException {
        PerftestOutput output = PerftestOutput.bandwidth(recorded("ib_send_bw_defaults"));
        assertThat(output.bandwidth()).isEqualTo(new PerftestOutput.Bandwidth(2.78, 0.93, 0.015279));
        assertThat(output.parameters()).isEqualTo(new PerftestOutput.Parameters(64, 1000, 128, 512, 100, 4096, 0, 0));
        assertThat(PerftestOutput.bandwidth(recorded("ib_read_bw")).parameters())
                .isEqualTo(new PerftestOutput.Parameters(65_536, 500, 128, 512, 1, 4096, 0, 128));
    }

    @Test
    void aQueueThatIsDeeperThanTheTestIsLongIsShorter() throws IOException {
        PerftestOutput output = PerftestOutput.bandwidth(recorded("ib_write_bw_1m"));
        assertThat(output.bandwidth()).isEqualTo(new PerftestOutput.Bandwidth(43.01, 43.01, 0.000043));
        assertThat(output.parameters().txDepth()).isEqualTo(50);
    }

    @Test
    void newerVersionsWriteMiB() throws IOException {
        List<String> newer = changed(recorded("ib_write_bw_1m"), "[MB/sec]", "[MiB/sec]");
        assertThat(PerftestOutput.bandwidth(newer)).isEqualTo(PerftestOutput.bandwidth(recorded("ib_write_bw_1m")));
    }

    @ParameterizedTest
    @CsvSource({
        "t_typical[usec], t_median[usec], t_median[usec]",
        "11.15, n/a, n/a",
        "TX depth        : 1, TX depth        : one, TX depth        : one",
        "4096[B], 4096, Mtu             : 4096",
        "'Mtu             : 4096[B]', '', Mtu"
    })
    void aLatencyInAnotherFormatIsQuoted(String from, String to, String quoted) throws IOException {
        assertRefused(PerftestOutput::latency, changed(recorded("ib_send_lat"), from, to), quoted);
    }

    @ParameterizedTest
    @CsvSource({
        "BW peak[MB/sec], BW peak[Gb/sec], BW peak[Gb/sec]",
        "0.015279, '', 2.78",
        "CQ Moderation   : 100, CQ Moderation   : on, on"
    })
    void aBandwidthInAnotherFormatIsQuoted(String from, String to, String quoted) throws IOException {
        assertRefused(PerftestOutput::bandwidth, changed(recorded("ib_send_bw_defaults"), from, to), quoted);
    }

    /** perftest 25.01 printed it where one of 1,000 took half a second. */
    @Test
    void aDeviationThatIsNoNumberCostsNothingElse() throws IOException {
        PerftestOutput output = PerftestOutput.latency(changed(recorded("ib_send_lat"), "502.29", "-nan"));
        assertThat(output.latency())
                .isEqualTo(new PerftestOutput.Latency(10.80, 7379.73, 11.15, 82.75, Double.NaN, 3261.84, 7379.73));
        assertRefused(PerftestOutput::latency, changed(recorded("ib_send_lat"), "82.75", "-nan"), "-nan");
    }

    @Test
    void aTableWithoutItsRowIsQuoted() throws IOException {
        List<String> lines = recorded("ib_send_lat");
        int heading = 0;
        while (!lines.get(heading).contains("#bytes")) {
            heading++;
        }
        assertRefused(PerftestOutput::latency, lines.subList(0, heading + 1), "[its output ends]");
    }

    /** For a time instead of a number of messages: the program prints no peak then. */
    @Test
    void bandwidthOfATimeOverTwoQueuePairs() throws IOException {
        PerftestOutput output = PerftestOutput.bandwidth(recorded("ib_write_bw_2s"));
        assertThat(output.bandwidth()).isEqualTo(new PerftestOutput.Bandwidth(0, 46.09, 0.000737));
        assertThat(output.parameters().iterations()).isEqualTo(1499);
    }

    @Test
    void noTableIsNoNumber() {
        List<String> refused = List.of(" Couldn't connect to 10.77.0.1:18515", "Unable to open file descriptor");
        assertRefused(PerftestOutput::latency, refused, "Unable to open file descriptor");
        assertRefused(PerftestOutput::bandwidth, List.of(), "no table");
    }
}
