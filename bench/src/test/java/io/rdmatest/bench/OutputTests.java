package io.rdmatest.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What programs of rdma-core 44 printed on a soft-RoCE device, word for word in the resources. */
class OutputTests {

    private static List<String> recorded(String name) throws IOException {
        try (InputStream stream = OutputTests.class.getResourceAsStream(name + ".txt")) {
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
                .isInstanceOf(NotMeasuredException.class)
                .hasMessageContaining(quoted);
    }

    @Test
    void rstream() throws IOException {
        assertThat(StreamContest.microsPerTransfer(recorded("rstream"))).isEqualTo(2577.51);
        assertRefused(
                StreamContest::microsPerTransfer, changed(recorded("rstream"), "usec/xfer", "ns/xfer"), "ns/xfer");
        assertRefused(
                StreamContest::microsPerTransfer,
                changed(recorded("rstream"), "2577.51", "verification failed"),
                "verification failed");
    }

    @Test
    void cmtime() throws IOException {
        Map<String, Double> millis = ConnectionContest.stepMillis(recorded("cmtime"));
        assertThat(millis)
                .containsEntry("connect", 2148.10)
                .containsEntry("disconnect", 1310.46)
                .containsEntry("destroy", 4.29);
        assertThat(millis.keySet())
                .containsExactly(
                        "create id", "resolve addr", "resolve route", "create qp", "connect", "disconnect", "destroy");
        assertThat(ConnectionContest.setUpMillis(millis)).isEqualTo(1.27 + 18.28 + 3.99 + 67.12 + 2148.10);
    }

    @ParameterizedTest
    @ValueSource(strings = {"us / conn", "2148.10", "create qp    :"})
    void aTimeOfConnectionsInAnotherFormatIsRefused(String part) throws IOException {
        assertRefused(ConnectionContest::stepMillis, changed(recorded("cmtime"), part, "?"), "cmtime printed");
    }

    @Test
    void noTableIsNoNumber() {
        assertRefused(StreamContest::microsPerTransfer, List.of("rsend: Connection reset by peer"), "Connection reset");
        assertRefused(
                ConnectionContest::stepMillis,
                List.of("event: RDMA_CM_EVENT_REJECTED, error: 8"),
                "RDMA_CM_EVENT_REJECTED");
    }
}
