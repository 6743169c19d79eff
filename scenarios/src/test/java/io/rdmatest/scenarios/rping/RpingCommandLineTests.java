package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.ConnectionMode;
import io.rdmatest.ExitStatus;
import io.rdmatest.scenarios.cli.OptionLine;
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
        return OptionLine.parse(RpingOptions.class, line);
    }

    @Test
    void nothingGivenIsTheProgramsDefault() {
        assertThat(parse("")).isEqualTo(RpingOptions.defaults().withUnlimitedListening());
    }

    @Test
    void lettersMeanWhatTheManPageSays() throws Exception {
        assertThat(parse("-s -a fd77::1 -I 192.0.2.7 -p 4711 -v -V -d -C 100 -S 4096 -P -q"))
                .isEqualTo(RpingOptions.defaults()
                        .withAddress(InetAddress.getByName("fd77::1"))
                        .withSource(InetAddress.getByName("192.0.2.7"))
                        .withPort(4711)
                        .withVerbose()
                        .withValidation()
                        .withDebug()
                        .withCount(100)
                        .withSize(4096)
                        .withPersistence()
                        .by(ConnectionMode.EXTERNAL_QP)
                        .withUnlimitedListening());
    }

    @Test
    void longNamesMeanTheSame() {
        assertThat(parse(
                        "--server --address ::0 --source 192.0.2.7 --port 4711 --verbose --validate --debug --count 100"
                                + " --size 4096 --persistent --external-qp"))
                .isEqualTo(parse("-s -a ::0 -I 192.0.2.7 -p 4711 -v -V -d -C 100 -S 4096 -P -q"));
    }

    @Test
    void lettersGoTogetherWithTheirValues() {
        assertThat(parse("-cvVC10 -S100 -p7")).isEqualTo(parse("-c -v -V -C 10 -S 100 -p 7"));
    }

    @Test
    void theCommonOptionsArriveInTheRole() {
        RpingOptions options = parse("--timeout 3s --fault flip-payload-byte");
        assertThat(options.timeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(options.unlimitedListening()).isFalse();
        assertThat(options.fault()).isEqualTo(Fault.FLIP_PAYLOAD_BYTE);
    }

    @ParameterizedTest
    @CsvSource({"-s -c, CLIENT", "-c -s, SERVER", "-sc, CLIENT", "-c -s -c, CLIENT"})
    void theLastOfServerAndClientCounts(String line, RpingOptions.Side side) {
        RpingOptions options = parse(line);

        assertThat(options.side()).isEqualTo(side);
        assertThat(options).as("a role knows by itself").isEqualTo(parse(""));
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
