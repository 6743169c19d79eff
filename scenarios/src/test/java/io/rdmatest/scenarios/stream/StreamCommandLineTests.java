package io.rdmatest.scenarios.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.ExitStatus;
import io.rdmatest.scenarios.cli.Rdmatest;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.stream.StreamMode;
import io.rdmatest.stream.StreamOptions;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StreamCommandLineTests {

    private static RmaStreamOptions parse(String line) {
        return RmaStreamOptions.parse(line);
    }

    @Test
    void nothingGivenIsTheDefaults() {
        RmaStreamOptions options = parse("");
        assertThat(options.address()).isNull();
        assertThat(options.port()).isEqualTo(7471);
        assertThat(List.of(options.sizeBytes(), options.transfers(), options.iterations()))
                .containsExactly(1000, 1000, 1);
        assertThat(options.stream()).isEqualTo(StreamOptions.defaults());
        assertThat(options.together()).isTrue();
        assertThat(options.verify() || options.bothAtOnce()).isFalse();
        assertThat(options.firstWait()).isEqualTo(Options.NO_LIMIT);
    }

    @Test
    void everyOptionArrives() throws Exception {
        RmaStreamOptions options = parse(
                "-s 192.0.2.1 -p 99 -S 5 -C 6 -I 7 --send-buffer 100 --receive-buffer 200"
                        + " --queue-depth 8 --mode iwarp --both-at-once --one-by-one --verify --timeout 3s --fault flip-payload-byte");
        assertThat(options.address()).isEqualTo(InetAddress.getByName("192.0.2.1"));
        assertThat(options.port()).isEqualTo(99);
        assertThat(List.of(options.sizeBytes(), options.transfers(), options.iterations()))
                .containsExactly(5, 6, 7);
        assertThat(options.stream()).isEqualTo(new StreamOptions(100, 200, 8, 8, StreamMode.IWARP));
        assertThat(options.bothAtOnce() && options.verify()).isTrue();
        assertThat(options.together()).isFalse();
        assertThat(options.fault()).isEqualTo(Fault.FLIP_PAYLOAD_BYTE);
        assertThat(options.timeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(options.firstWait()).isEqualTo(Duration.ofSeconds(3));
        assertThat(parse("--queue-depth 16 --receive-depth 24").stream().receiveQueueDepth())
                .isEqualTo(24);
        assertThat(options.isClient()).isTrue();
        assertThat(parse("-b 192.0.2.1").isClient()).isFalse();
    }

    @Test
    void lettersAreThoseOfRstream() {
        RmaStreamOptions options = parse("-S64 -C 2 -I 3 -B 4096 -T v -b 127.0.0.1 -p0");
        assertThat(options.stream().sendBufferBytes()).isEqualTo(4096);
        assertThat(options.stream().receiveBufferBytes()).isEqualTo(4096);
        assertThat(options.verify()).isTrue();
        assertThat(options.port()).isZero();
        assertThat(options.address()).isEqualTo(InetAddress.getLoopbackAddress());
        assertThat(parse("-B 4096 --send-buffer 50").stream())
                .isEqualTo(new StreamOptions(50, 4096, 384, 384, StreamMode.IMMEDIATE));
    }

    @ParameterizedTest
    @CsvSource({
        "-S 0, size",
        "-C 0, transfers",
        "-I 0, iterations",
        "-p 65536, port",
        "-B 1048576, '-B is 16 to 1048575, not 1048576'",
        "-B 15, '-B is 16 to 1048575, not 15'",
        "-B -1, '-B is 16 to 1048575, not -1'",
        "--send-buffer 15, '--send-buffer is 16 to 1048575, not 15'",
        "--receive-buffer 1048576, '--receive-buffer is 16 to 1048575, not 1048576'",
        "--queue-depth 3, '--queue-depth is 4 to 1023, not 3'",
        "--queue-depth 1024, '--queue-depth is 4 to 1023, not 1024'",
        "--mode both, mode",
        "-T a, -T takes v",
        "-s 192.0.2.1 -b 192.0.2.2, give one"
    })
    void valuesOutOfRangeAreToldByName(String line, String text) {
        assertThatIllegalArgumentException().isThrownBy(() -> parse(line)).withMessageContaining(text);
    }

    @Test
    void aClientOnTheCommandLineNeedsAPort() {
        StringWriter err = new StringWriter();
        int status = Rdmatest.execute(
                new PrintWriter(new StringWriter()), new PrintWriter(err), "stream", "-s", "192.0.2.1", "-p", "0");

        assertThat(status).isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains("A client needs the server's port: -p is 1 to 65535, not 0");
    }
}
