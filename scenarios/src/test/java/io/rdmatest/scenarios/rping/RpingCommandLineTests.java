package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.ConnectionMode;
import io.rdmatest.ExitStatus;
import io.rdmatest.scenarios.cli.Rdmatest;
import io.rdmatest.scenarios.role.Fault;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RpingCommandLineTests {

    private static RpingOptions parse(String line) {
        return RpingOptions.parse(line);
    }

    @Test
    void lettersMeanWhatTheManPageSays() throws Exception {
        RpingOptions options = parse("-s -a fd77::1 -I 192.0.2.7 -p 4711 -v -V -d -C 100 -S 4096 -P -q --clients 3");

        assertThat(options.side()).isEqualTo(RpingOptions.Side.SERVER);
        assertThat(options.address()).isEqualTo(InetAddress.getByName("fd77::1"));
        assertThat(options.source()).isEqualTo(InetAddress.getByName("192.0.2.7"));
        assertThat(options.port()).isEqualTo(4711);
        assertThat(options.verbose() && options.validate() && options.debug() && options.persistent())
                .isTrue();
        assertThat(options.count()).isEqualTo(100);
        assertThat(options.sizeBytes()).isEqualTo(4096);
        assertThat(options.bringUp()).isEqualTo(ConnectionMode.EXTERNAL_QP);
        assertThat(options.clientLimit()).isEqualTo(3);
    }

    private static void assertSame(String line, String other) {
        assertThat(parse(line))
                .usingRecursiveComparison()
                .ignoringFields("line")
                .isEqualTo(parse(other));
    }

    @Test
    void longNamesMeanTheSame() {
        assertSame(
                "--server --address ::0 --source 192.0.2.7 --port 4711 --verbose --validate --debug --count 100"
                        + " --size 4096 --persistent --external-qp",
                "-s -a ::0 -I 192.0.2.7 -p 4711 -v -V -d -C 100 -S 4096 -P -q");
    }

    @Test
    void lettersGoTogetherWithTheirValues() {
        assertSame("-cvVC10 -S100 -p7", "-c -v -V -C 10 -S 100 -p 7");
    }

    @Test
    void theCommonOptionsArriveInTheRole() {
        RpingOptions options = parse("--timeout 3s --fault flip-payload-byte");
        assertThat(options.timeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(options.firstWait()).isEqualTo(Duration.ofSeconds(3));
        assertThat(options.fault()).isEqualTo(Fault.FLIP_PAYLOAD_BYTE);
    }

    @ParameterizedTest
    @CsvSource({"-s -c, CLIENT", "-c -s, SERVER", "-sc, CLIENT", "-c -s -c, CLIENT"})
    void theLastOfServerAndClientCounts(String line, RpingOptions.Side side) {
        assertThat(parse(line).side()).isEqualTo(side);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-S 22", "-S -64", "-p 65536", "-C -1", "-S x", "-t 1", "-a 300.1.1.1"})
    void wrongValuesAreNamed(String line) {
        String option = line.substring(0, 2);
        assertThatThrownBy(() -> parse(line))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(option);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-C 10 | Either -s",
                "-c | needs the server's address (-a)",
                "-c -a 192.0.2.1 --clients 5 | --clients applies to servers only",
                "-c -a 192.0.2.1 -p 0 | needs the server's port",
                "-c -a 192.0.2.1 -S 22 | 23 to 1073741824"
            })
    void whatACommandLineNeedsIsWrongUsageWithoutIt(String line, String message) {
        StringWriter err = new StringWriter();
        int status = Rdmatest.execute(
                new PrintWriter(new StringWriter()), new PrintWriter(err), ("rping " + line).split(" ", -1));

        assertThat(status).isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains(message);
    }
}
