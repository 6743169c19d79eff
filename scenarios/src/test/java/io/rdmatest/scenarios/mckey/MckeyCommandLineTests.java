package io.rdmatest.scenarios.mckey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.ExitStatus;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.cli.Rdmatest;
import io.rdmatest.scenarios.role.Fault;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MckeyCommandLineTests {

    @Test
    void readsEveryLetterOfTheManPage() {
        MckeyOptions options = parse("-m 239.1.1.1 -s -b 10.0.0.1 -c 3 -C 7 -S 500 -o -l -p 0x0002");
        assertThat(options.group()).isEqualTo(InetAddress.ofLiteral("239.1.1.1"));
        assertThat(options.bind()).isEqualTo(InetAddress.ofLiteral("10.0.0.1"));
        assertThat(options.queuePairs()).isEqualTo(3);
        assertThat(options.messages()).isEqualTo(7);
        assertThat(options.sizeBytes()).isEqualTo(500);
        assertThat(options.sendOnly() && options.blockLoopback()).isTrue();
        assertThat(options.portSpace()).isEqualTo(PortSpace.IPOIB);
        assertThat(parse("-M ff12:401b::1").groupText()).isEqualTo("ff12:401b::1");
        assertThat(parse("-M 0").isChosenBySubnet()).isTrue();
        assertThat(parse("-s").isSender()).isTrue();
        assertThat(parse("").isSender()).isFalse();
    }

    @Test
    void readsClustersAttachedValuesAndLongNames() {
        for (String line : List.of(
                "-solC7 -mff0e::1",
                "--sender --send-only --block-loopback --count 7 --group ff0e::1",
                "-C 1 -C 7 -s -o -l -m ff0e::1")) {
            assertThat(parse(line))
                    .usingRecursiveComparison()
                    .ignoringFields("line")
                    .isEqualTo(parse("-m ff0e::1 -C 7 -s -o -l"));
        }
    }

    @Test
    void readsWhatTheProgramDoesNotHave() {
        MckeyOptions options = parse("-m 239.1.1.1 --senders 2 --settle 0 --timeout 5s --fault flip-payload-byte");
        assertThat(options.senders()).isEqualTo(2);
        assertThat(options.settle()).isZero();
        assertThat(options.timeout()).isEqualTo(Duration.ofSeconds(5));
        assertThat(options.firstWait()).isEqualTo(Duration.ofSeconds(5));
        assertThat(options.fault()).isEqualTo(Fault.FLIP_PAYLOAD_BYTE);
        assertThat(parse("--settle 250ms").settle()).isEqualTo(Duration.ofMillis(250));
    }

    @Test
    void refusesAnAddressThatIsNone() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse("-m 239.1.1.1.1"))
                .withMessageContaining("'--group'")
                .withMessageContaining("239.1.1.1.1 is neither an address nor a known host name");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-C 10 | A group must be given",
                "-M ff12:g:1 -b 10.0.0.1 | '--mgid'",
                "-M ff12::1 | -M needs the local address",
                "-m 10.77.0.1 | is not a multicast address",
                "-m 239.1.1.1 -M ff12::1 -b 10.0.0.1 | not both",
                "-m 239.1.1.1 -o | A send-only member (-o) receives nothing",
                "-m 239.1.1.1 -p 7471 | is not a datagram port space",
                "-m 239.1.1.1 -c 0 | -c, the number of queue pairs, must be 1 to 65535",
                "-m 239.1.1.1 -S -1 | -S",
                "-m 239.1.1.1 -x | -x",
                "-m 239.1.1.1 --settle soon | is not a duration"
            })
    void theCommandRefusesWrongUsage(String line, String message) {
        StringWriter err = new StringWriter();
        String[] args = ("mckey " + line).split(" ");
        int status = Rdmatest.execute(new PrintWriter(new StringWriter()), new PrintWriter(err, true), args);
        assertThat(status).as(err.toString()).isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains(message);
    }

    private static MckeyOptions parse(String line) {
        return MckeyOptions.parse(line);
    }
}
