package io.rdmatest.scenarios.ucmatose;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.AddressInfo.Format;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.scenarios.options.Options;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class UcmatoseOptionsTests {

    @Test
    void theDefaultsAreThoseOfTheManPage() {
        UcmatoseOptions options = UcmatoseOptions.parse("");

        assertThat(options.serverAddress()).isNull();
        assertThat(options.addressFormat()).isEqualTo(Format.NAME);
        assertThat(options.portSpace()).isEqualTo(PortSpace.TCP);
        assertThat(options.port()).isEqualTo(7471);
        assertThat(options.connections()).isEqualTo(1);
        assertThat(options.messages()).isEqualTo(10);
        assertThat(options.sizeBytes()).isEqualTo(100);
        assertThat(options.typeOfService()).isNull();
        assertThat(options.ackTimeoutExponent()).isNull();
        assertThat(options.migrate()).isFalse();
        assertThat(options.firstWait()).isEqualTo(Options.NO_LIMIT);
    }

    @Test
    void everyLetterOfTheManPageIsRead() {
        UcmatoseOptions options = UcmatoseOptions.parse(
                "-s 10.1.2.3 -b 10.1.2.4 -f ip -P ib -c 3 -C 20 -S 4096 -t 0x20 -p 7000 -a 17 -m --timeout 3s");

        assertThat(options.serverAddress()).isEqualTo("10.1.2.3");
        assertThat(options.bindAddress()).isEqualTo("10.1.2.4");
        assertThat(options.addressFormat()).isEqualTo(Format.IP);
        assertThat(options.portSpace()).isEqualTo(PortSpace.IB);
        assertThat(options.connections()).isEqualTo(3);
        assertThat(options.messages()).isEqualTo(20);
        assertThat(options.sizeBytes()).isEqualTo(4096);
        assertThat(options.typeOfService()).isEqualTo(32);
        assertThat(options.port()).isEqualTo(7000);
        assertThat(options.ackTimeoutExponent()).isEqualTo(17);
        assertThat(options.migrate()).isTrue();
        assertThat(options.timeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(options.firstWait()).isEqualTo(Duration.ofSeconds(3));
    }

    @Test
    void queuePairsAreTheLibrarysUnlessTheFlagIsGiven() {
        assertThat(UcmatoseOptions.parse("").bringUp()).isEqualTo(ConnectionMode.RDMA_CM);
        assertThat(UcmatoseOptions.parse("--external-qp").bringUp()).isEqualTo(ConnectionMode.EXTERNAL_QP);
    }

    @Test
    void lettersAndValuesMayBeWrittenTogetherAndTheLastOneWins() {
        UcmatoseOptions options = UcmatoseOptions.parse("-mc5 -S64 -S 65");

        assertThat(options.migrate()).isTrue();
        assertThat(options.connections()).isEqualTo(5);
        assertThat(options.sizeBytes()).isEqualTo(65);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-c 0",
                "-C -1",
                "-S -1",
                "-S 1073741825",
                "-t 256",
                "-a 32",
                "-p 65536",
                "-P udp",
                "-P ipoib",
                "-t many",
                "-f ip -s localhost",
                "-f gid -s 10.0.0.1.2",
                "-x"
            })
    void whatIsOutOfRangeIsRefused(String line) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UcmatoseOptions.parse(line))
                .withMessageContaining(line);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-c 0 | The number of connections is 0: allowed are 1 to 1000000",
                "-P udp | The port space is UDP: allowed are TCP and IB"
            })
    void aRefusalNamesTheValueAndWhatIsAllowed(String line, String message) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UcmatoseOptions.parse(line))
                .withMessage("\"" + line + "\": " + message);
    }
}
