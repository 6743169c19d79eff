package io.rdmatest.scenarios.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.udaddy.UdaddyOptions;
import java.net.InetAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OptionsTests {

    @Test
    void moreOptionsLeaveTheOriginalAsItIs() {
        UcmatoseOptions original = UcmatoseOptions.parse("-C 3");

        UcmatoseOptions changed = original.and("-p 1 -c", 2);

        assertThat(original).isEqualTo(UcmatoseOptions.parse("-C 3"));
        assertThat(changed.port()).isEqualTo(1);
        assertThat(changed.connections()).isEqualTo(2);
        assertThat(changed.messages()).isEqualTo(3);
        assertThat(changed.and("-C 4").messages()).as("the last one wins").isEqualTo(4);
    }

    @Test
    void optionsAreEqualIfTheirLinesAre() {
        UcmatoseOptions options = UcmatoseOptions.parse("-p 1 -C", 3);

        assertThat(options)
                .isEqualTo(UcmatoseOptions.parse("-p", 1, " -C  3 "))
                .hasSameHashCodeAs(UcmatoseOptions.parse("-p 1").and("-C 3"))
                .hasToString("UcmatoseOptions[-p 1 -C 3]")
                .isNotEqualTo(options.and("-p 2"));
        assertThat((Object) UcmatoseOptions.parse()).isNotEqualTo(UdaddyOptions.parse());
    }

    @Test
    void valuesAreWrittenAsALineHasThem() {
        UcmatoseOptions options = UcmatoseOptions.parse(
                "-b",
                InetAddress.ofLiteral("192.0.2.7"),
                "",
                "--timeout",
                Duration.ofMillis(1500),
                "--fault",
                Fault.FLIP_PAYLOAD_BYTE);

        assertThat(options.line())
                .containsExactly("-b", "192.0.2.7", "--timeout", "1500ms", "--fault", "flip-payload-byte");
        assertThat(options.bindAddress()).isEqualTo("192.0.2.7");
        assertThat(options.timeout()).isEqualTo(Duration.ofMillis(1500));
        assertThat(options.fault()).isEqualTo(Fault.FLIP_PAYLOAD_BYTE);
        assertThat(Options.read(UcmatoseOptions.class, options.line())).isEqualTo(options);
    }

    @ParameterizedTest
    @CsvSource({
        "PT0S, 0s",
        "PT0.000001S, 1us",
        "PT0.0000011S, 2us",
        "PT0.25S, 250ms",
        "PT1.0000001S, 1001ms",
        "PT90S, 90s",
        "PT24H, 86400s"
    })
    void aDurationIsWrittenAsItIsRead(Duration duration, String text) {
        assertThat(DurationText.of(duration)).isEqualTo(text);
    }

    @Test
    void theFirstWaitIsTheTimeoutThatWasGiven() {
        assertThat(UdaddyOptions.parse().firstWait()).isEqualTo(Options.NO_LIMIT);
        assertThat(UdaddyOptions.parse().timeout()).isEqualTo(Duration.ofSeconds(10));
        assertThat(UdaddyOptions.parse("--timeout 3s").firstWait()).isEqualTo(Duration.ofSeconds(3));
        assertThat(UdaddyOptions.parse("--timeout 3s --first-wait 1min").firstWait())
                .isEqualTo(Duration.ofMinutes(1));
    }

    @Test
    void aWrongLineIsNamed() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UdaddyOptions.parse("-S 8").and("-c", 100_001))
                .withMessage(
                        "\"-S 8 -c 100001\": The number of communication paths is 100001: allowed are 1 to 100000");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> UdaddyOptions.parse("--timeout", Duration.ZERO))
                .withMessageContaining("'0s' is out of range");
    }
}
