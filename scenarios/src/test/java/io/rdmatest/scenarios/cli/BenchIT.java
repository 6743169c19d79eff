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
import java.util.ArrayList;
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
    @Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void bothSidesOfALatencyMoveWhatTheySayInAJvmOfTheirOwn() throws Exception {
        JsonNode row = measured("send-lat-64");

        assertThat(row.get("jvms").size()).isEqualTo(1);
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
        assertThat(latency.at("/ourDetails/latencyUs/p9999").asDouble())
                .isGreaterThanOrEqualTo(latency.at("/ourDetails/latencyUs/p50").asDouble())
                .isLessThanOrEqualTo(latency.at("/ourDetails/latencyUs/max").asDouble());
        // Its JVM has a log of its pauses.
        assertThat(latency.at("/ourDetails/safepoints").asInt(-1)).isNotNegative();
        assertThat(latency.at("/ourDetails/pauses").isArray()).isTrue();
    }

    @Test
    @Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void bothSidesOfABandwidthMoveWhatTheySayInThisJvm() throws Exception {
        JsonNode bandwidth = onlyPair(measured("send-bw-64k", "--in-this-jvm"));

        int messages = bandwidth.at("/theirDetails/iterations").asInt();
        assertThat(messages).isEqualTo(200);
        assertThat(bandwidth.at("/theirDetails/bytes").asInt()).isEqualTo(BANDWIDTH_SIZE);
        assertThat(bandwidth.at("/ourDetails/messagesReceived").asInt()).isEqualTo(messages);
        assertThat(bandwidth.at("/ourDetails/bytesMoved").asLong()).isEqualTo((long) messages * BANDWIDTH_SIZE);
        assertThat(Ledger.live()).as(Ledger.describeLive()).isEmpty();
    }

    @Test
    @Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void workThatGrowsIsMeasuredInAJvmOfItsOwn() throws Exception {
        Path file = folder.resolve("growth.json");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        String[] words = {"bench", "--rows", "growth-qps", "--scale", "0.01", "--json", file.toString()};

        int status = Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), words);

        // Whether it is flat is not judged with so few messages.
        assertThat(status).as("%s\n%s", out, err).isIn(ExitStatus.VERIFIED.code(), ExitStatus.TARGET_MISSED.code());
        assertThat(err.toString())
                .as("what the other JVM tells on the terminal")
                .isEmpty();
        JsonNode row = new ObjectMapper().readTree(file.toFile()).at("/growth/0");
        assertThat(row.get("name").asText()).isEqualTo("growth-qps");
        assertThat(row.get("points")
                        .valueStream()
                        .map(point -> point.get("work").asInt()))
                .containsExactly(1, 4, 16, 64, 256, 1024);
        assertThat(row.get("points").valueStream())
                .allMatch(point -> point.get("nanosPerUnit").asDouble() > 0);
        assertThat(row.get("lostJvms").isInt()).isTrue();
        assertThat(out.toString()).contains("growth-qps", "us per message");
    }

    /** Measures one pair of a row, and returns what the file says of it. */
    private JsonNode measured(String row, String... options) throws Exception {
        Path file = folder.resolve("bench.json");
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        List<String> words = new ArrayList<>(List.of("bench", "--rows", row, "--pairs", "1", "--scale", "0.1"));
        words.addAll(List.of("--json", file.toString()));
        words.addAll(List.of(options));
        int status =
                Rdmatest.execute(new PrintWriter(out, true), new PrintWriter(err, true), words.toArray(String[]::new));
        // One pair decides nothing.
        assertThat(status).as("%s\n%s", out, err).isEqualTo(ExitStatus.UNDECIDED.code());
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
