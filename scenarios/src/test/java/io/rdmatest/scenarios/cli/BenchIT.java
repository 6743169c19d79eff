package io.rdmatest.scenarios.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.rdmatest.Ledger;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.scenarios.bench.Processors;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The bench on a device: both sides of a latency and of a bandwidth row move what they say. How fast is not judged here. */
@ExclusiveDevice
class BenchIT {

    private static final int LATENCY_SIZE = 64;
    private static final int BANDWIDTH_SIZE = 65_536;

    @Test
    @Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void bothSidesMoveWhatTheySay(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("bench.json");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = Rdmatest.execute(
                new PrintWriter(out, true),
                new PrintWriter(err, true),
                "bench",
                "--rows",
                "{send-lat-64,send-bw-64k}",
                "--pairs",
                "1",
                "--scale",
                "0.1",
                "--json",
                file.toString());
        assertThat(status).as("%s\n%s", out, err).isIn(ExitStatus.VERIFIED.code(), ExitStatus.TARGET_MISSED.code());
        Map<String, JsonNode> rows = new HashMap<>();
        new ObjectMapper()
                .readTree(file.toFile())
                .get("rows")
                .forEach(row -> rows.put(row.get("name").asText(), row));
        assertThat(rows).containsOnlyKeys("send-lat-64", "send-bw-64k");

        String device = Fabric.load().local().resolve().device().name();
        assertThat(rows.get("send-lat-64").at("/parameters/processors").asText())
                .isEqualTo(Processors.near(device).toString());
        JsonNode latency = onlyPair(rows.get("send-lat-64"));
        int iterations = latency.at("/theirDetails/iterations").asInt();
        assertThat(iterations).isEqualTo(1000);
        assertThat(latency.at("/theirDetails/bytes").asInt()).isEqualTo(LATENCY_SIZE);
        assertThat(latency.at("/ourDetails/messagesOfClient").asInt()).isEqualTo(iterations);
        assertThat(latency.at("/ourDetails/messagesOfServer").asInt()).isEqualTo(iterations);
        assertThat(latency.at("/ourDetails/bytesMoved").asLong()).isEqualTo(2L * iterations * LATENCY_SIZE);
        assertThat(latency.at("/ourDetails/latencyUs/p9999").asDouble())
                .isGreaterThanOrEqualTo(latency.at("/ourDetails/latencyUs/p50").asDouble())
                .isLessThanOrEqualTo(latency.at("/ourDetails/latencyUs/max").asDouble());

        JsonNode bandwidth = onlyPair(rows.get("send-bw-64k"));
        int messages = bandwidth.at("/theirDetails/iterations").asInt();
        assertThat(messages).isEqualTo(100);
        assertThat(bandwidth.at("/theirDetails/bytes").asInt()).isEqualTo(BANDWIDTH_SIZE);
        assertThat(bandwidth.at("/ourDetails/messagesReceived").asInt()).isEqualTo(messages);
        assertThat(bandwidth.at("/ourDetails/bytesMoved").asLong()).isEqualTo((long) messages * BANDWIDTH_SIZE);

        assertThat(Ledger.live()).as(Ledger.describeLive()).isEmpty();
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
