package io.rdmatest.scenarios.rstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.ExitStatus;
import io.rdmatest.cm.AddressInfo;
import io.rdmatest.scenarios.cli.Rdmatest;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.rstream.RstreamOptions.Suite;
import io.rdmatest.scenarios.rstream.RstreamOptions.Transport;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RstreamOptionsTests {

    private static RstreamOptions parse(String line) {
        return RstreamOptions.parse(line);
    }

    @Test
    void theDefaultsAreThoseOfTheProgramAndNotOfItsManual() {
        RstreamOptions options = parse("");
        assertThat(options.suite()).isEqualTo(Suite.STANDARD);
        assertThat(options.iterations()).isEqualTo(1);
        assertThat(options.transfers()).isEqualTo(1000);
        assertThat(options.sizeBytes()).isEqualTo(1000);
        assertThat(options.port()).isEqualTo(7471);
        assertThat(options.inlineBytes()).isEqualTo(64);
        assertThat(options.effectiveBufferBytes()).isEqualTo(512 * 1024);
        assertThat(options.keepAliveIdle()).isZero();
        assertThat(options.transport()).isEqualTo(Transport.RSOCKET);
        assertThat(options.async() || options.blocking() || options.fork() || options.resolve() || options.verify())
                .isFalse();
        assertThat(options.firstWait()).isEqualTo(Options.NO_LIMIT);
    }

    @Test
    void everyOptionIsRead() {
        RstreamOptions options = parse(
                "-s host -b 10.0.0.1 -f ip -B 8192 -I 3 -C 4 -S 5 -p 6 -i 7 -k 8 -T a -T b -T r -T v --clients 1 --timeout 3s");
        assertThat(options.serverAddress()).isEqualTo("host");
        assertThat(options.bindAddress()).isEqualTo("10.0.0.1");
        assertThat(options.addressFormat()).isEqualTo(AddressInfo.Format.IP);
        assertThat(options.bufferBytes()).isEqualTo(8192);
        assertThat(options.effectiveBufferBytes()).isEqualTo(8192);
        assertThat(options.iterations()).isEqualTo(3);
        assertThat(options.transfers()).isEqualTo(4);
        assertThat(options.sizeBytes()).isEqualTo(5);
        assertThat(options.port()).isEqualTo(6);
        assertThat(options.inlineBytes()).isEqualTo(7);
        assertThat(options.keepAliveIdle()).isEqualTo(Duration.ofSeconds(8));
        assertThat(options.async() && options.blocking() && options.resolve() && options.verify())
                .isTrue();
        assertThat(options.timeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(options.firstWait()).isEqualTo(Duration.ofSeconds(3));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-I 2", "-C 1000", "-S 1000", "-S all -I 2", "-I 1"})
    void aNumberSelectsTheCustomTest(String line) {
        assertThat(parse(line).suite()).isEqualTo(Suite.CUSTOM);
        assertThat(parse(line).series()).hasSize(1);
    }

    @Test
    void theSeriesAreTwoOverFourSizesOrThirtyThree() {
        assertThat(parse("").series())
                .hasSize(2)
                .allSatisfy(rows -> assertThat(rows).hasSize(4));
        assertThat(parse("-S all").series())
                .hasSize(2)
                .allSatisfy(rows -> assertThat(rows).hasSize(33));
        List<StreamRow> latency = parse("--scale 0.001").series().getFirst();
        assertThat(latency.getFirst()).isEqualTo(StreamRow.latency(64, 0.001));
        assertThat(latency.getFirst().iterations()).isEqualTo(100);
    }

    @ParameterizedTest
    @CsvSource({
        "-T s, TCP, false, false, false",
        "-T sockets, TCP, false, false, false",
        "-T f, TCP, false, false, true",
        "-T fork, TCP, false, false, true",
        "-T a, RSOCKET, true, false, false",
        "-T ASYNC, RSOCKET, true, false, false",
        "-T blocking, RSOCKET, false, true, false",
        "-T b -T n, RSOCKET, false, false, false",
        "-T nonblocking -T block, RSOCKET, false, true, false",
        "'-T s,a,b', TCP, true, true, false",
        "-Ts -Ta, TCP, true, false, false"
    })
    void testOptionsAreLettersOrWords(String line, Transport transport, boolean async, boolean blocking, boolean fork) {
        RstreamOptions options = parse(line);
        assertThat(options.transport()).isEqualTo(transport);
        assertThat(options.async()).isEqualTo(async);
        assertThat(options.blocking()).isEqualTo(blocking);
        assertThat(options.fork()).isEqualTo(fork);
    }

    @ParameterizedTest
    @CsvSource({"name, NAME", "ip, IP", "ipv4, IP", "ipv6, IPV6", "gid, GID"})
    void addressFormatsAreReadByTheirBeginning(String word, AddressInfo.Format format) {
        assertThat(parse("-f " + word).addressFormat()).isEqualTo(format);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-S 0 | 1 to 1073741824",
                "-S 1073741825 | 1 to 1073741824",
                "-S some | 'all'",
                "-I 0 | 1 to 1000000000",
                "-C -1 | 1 to 1000000000",
                "-p 65536 | 0 to 65535",
                "-B -1 | 0 to 1073741824",
                "-i -1 | 0 to 65536",
                "-k -1 | 0 to 32767 whole seconds, not -1",
                "-k 32768 | 0 to 32767 whole seconds, not 32768",
                "-T x | socket, async",
                "-T , | socket, async",
                "-T v, | socket, async",
                "-f mac | name, ip, ipv6 and gid",
                "--scale 0 | above 0",
                "--clients 2 | -T v",
                "--clients 0 | any number of",
                "--clients -1 | positive, or 0",
                "-T s -f gid | needs RDMA"
            })
    void whatIsOutOfRangeIsRefusedWithWhatIsAllowed(String line, String allowed) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> parse(line))
                .withMessageContaining(allowed)
                .withMessageContaining(line);
    }

    @Test
    void aClientOnTheCommandLineNeedsAPort() {
        StringWriter err = new StringWriter();
        int status = Rdmatest.execute(
                new PrintWriter(new StringWriter()), new PrintWriter(err), "rstream", "-s", "192.0.2.1", "-p", "0");

        assertThat(status).isEqualTo(ExitStatus.USAGE.code());
        assertThat(err.toString()).contains("The port of the server (-p) is 1 to 65535, not 0");
    }

    @Test
    void aSideIsBoundToTheDeviceThatWasAskedFor() {
        assertThat(parse("").onDevice()).isFalse();
        assertThat(parse("--device rxe0").onDevice()).isTrue();
        assertThat(parse("--on-device").onDevice()).isTrue();
        assertThat(parse("--on-device --on-device=false").onDevice()).isFalse();
    }
}
