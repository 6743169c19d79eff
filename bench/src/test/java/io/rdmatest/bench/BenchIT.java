package io.rdmatest.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.Ledger;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.scenarios.pairs.PairRoles;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The bench on a device: both sides of a latency and of a bandwidth row move what they say. How fast is not judged here. */
@Tag("soak")
@ExclusiveDevice
class BenchIT {

    private static final int LATENCY_SIZE = 64;
    private static final int BANDWIDTH_SIZE = 65_536;

    @TempDir
    private Path folder;

    @Test
    @Timeout(value = 900, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void bothSidesOfALatencyMoveWhatTheySay() throws Exception {
        JsonNode row = measured("send-lat-64");

        String device = Fabric.load().local().resolve().device().name();
        assertThat(row.at("/parameters/processors").asText())
                .isEqualTo(Processors.near(device).toString());
        JsonNode latency = onlyPair(row);
        int iterations = latency.at("/theirDetails/iterations").asInt();
        assertThat(iterations).isEqualTo(5000);
        assertThat(latency.at("/theirDetails/bytes").asInt()).isEqualTo(LATENCY_SIZE);
        assertThat(latency.at("/ourDetails/messagesOfClient").asInt()).isEqualTo(iterations);
        assertThat(latency.at("/ourDetails/messagesOfServer").asInt()).isEqualTo(iterations);
        assertThat(latency.at("/ourDetails/bytesMoved").asLong()).isEqualTo(2L * iterations * LATENCY_SIZE);
        assertThat(latency.at("/ourDetails/bytesVerified").asLong()).isEqualTo(2L * iterations * LATENCY_SIZE);
        assertThat(Ledger.live()).as(Ledger.describeLive()).isEmpty();
    }

    @Test
    @Timeout(value = 900, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void bothSidesOfABandwidthMoveWhatTheySay() throws Exception {
        JsonNode bandwidth = onlyPair(measured("send-bw-64k"));

        assertThat(bandwidth.at("/theirDetails/iterations").asInt()).isEqualTo(200);
        assertThat(bandwidth.at("/theirDetails/bytes").asInt()).isEqualTo(BANDWIDTH_SIZE);
        long messages = bandwidth.at("/ourDetails/messagesCompleted").asLong();
        int ring = PairRoles.messagesInFlight(BANDWIDTH_SIZE);
        assertThat(messages).isGreaterThanOrEqualTo(ring);
        assertThat(bandwidth.at("/ourDetails/bytesMoved").asLong()).isEqualTo(messages * BANDWIDTH_SIZE);
        assertThat(bandwidth.at("/ourDetails/bytesVerified").asLong()).isEqualTo((long) ring * BANDWIDTH_SIZE);
        assertThat(Ledger.live()).as(Ledger.describeLive()).isEmpty();
    }

    /** Measures one pair of a row, and returns what the file says of it. */
    private JsonNode measured(String row) throws Exception {
        Path file = folder.resolve("bench.json");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        List<String> words = List.of("--rows", row, "--pairs", "1", "--scale", "0.1", "--json", file.toString());

        int status = BenchCommand.execute(
                new BenchCommand(() -> false, false),
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                words.toArray(String[]::new));

        assertThat(status).as("%s\n%s", out, err).isZero();
        assertThat(out.toString()).as("one pair decides nothing").contains("1 undecided");
        JsonNode rows = new ObjectMapper().readTree(file.toFile()).get("rows");
        assertThat(rows.size()).isEqualTo(1);
        assertThat(rows.get(0).get("name").asText()).isEqualTo(row);
        return rows.get(0);
    }

    private static JsonNode onlyPair(JsonNode row) {
        assertThat(row.get("pairs").size()).isEqualTo(1);
        JsonNode pair = row.get("pairs").get(0);
        double ratio = pair.get("ours").asDouble() / pair.get("theirs").asDouble();
        assertThat(pair.get("ratio").asDouble()).isEqualTo(ratio);
        assertThat(row.get("ratio").asDouble()).isEqualTo(ratio);
        return pair;
    }
}
