package io.rdmatest.scenarios.bench;

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
import org.junit.jupiter.params.provider.ValueSource;

/** What the programs of perftest 6.06 and rdma-core 44 printed on a soft-RoCE device, word for word in the resources. */
class OutputTests {

    private static List<String> recorded(String name) throws IOException {
        try (InputStream stream = OutputTests.class.getResourceAsStream(name + ".txt")) {
            assertThat(stream).as(name).isNotNull();
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
        }
    }

    private static List<String> changed(List<String> lines, String from, String to) {
        String text = String.join("\n", lines);
        assertThat(text).contains(from);
        return text.replace(from, to).lines().toList();
    }

    private static void assertRefused(Function<List<String>, ?> parser, List<String> lines, String quoted) {
        assertThatThrownBy(() -> parser.apply(lines))
                .isInstanceOf(NotMeasuredException.class)
                .hasMessageContaining(quoted);
    }

    @Test
    void noTableIsNoNumber() {
        List<String> refused = List.of(" Couldn't connect to 10.77.0.1:18515", "Unable to open file descriptor");
        assertRefused(PerftestOutput::latency, refused, "Unable to open file descriptor");
        assertRefused(PerftestOutput::bandwidth, List.of(), "no table");
        assertRefused(RstreamOutput::of, List.of("rsend: Connection reset by peer"), "Connection reset");
        assertRefused(CmtimeOutput::of, List.of("event: RDMA_CM_EVENT_REJECTED, error: 8"), "RDMA_CM_EVENT_REJECTED");
    }
}
