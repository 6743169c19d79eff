package io.rdmatest.scenarios.mckey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.rdmatest.cm.PortSpace;
import io.rdmatest.verbs.Gid;
import java.net.InetAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MckeyOptionsTests {

    private static final MckeyOptions DEFAULTS = MckeyOptions.defaults();

    @Test
    void theDefaultsAreThoseOfTheProgram() {
        assertThat(DEFAULTS.queuePairs()).isEqualTo(1);
        assertThat(DEFAULTS.messages()).isEqualTo(10);
        assertThat(DEFAULTS.sizeBytes()).isEqualTo(100);
        assertThat(DEFAULTS.portSpace()).isEqualTo(PortSpace.UDP);
        assertThat(DEFAULTS.settle()).isEqualTo(Duration.ofSeconds(3));
        assertThat(DEFAULTS.sendOnly()).isFalse();
        assertThat(DEFAULTS.blockLoopback()).isFalse();
        assertThat(DEFAULTS.senderTimeout()).isNull();
    }

    @Test
    void readsZeroAsTheGroupThatTheSubnetChooses() {
        assertThat(MckeyOptions.mgid("0").isZero()).isTrue();
        assertThat(DEFAULTS.withUnmappedGroup(MckeyOptions.mgid("0")).isChosenBySubnet())
                .isTrue();
        assertThat(DEFAULTS.withGroup(InetAddress.ofLiteral("0.0.0.0")).isChosenBySubnet())
                .isTrue();
        assertThat(DEFAULTS.withGroup(InetAddress.ofLiteral("239.1.1.1")).isChosenBySubnet())
                .isFalse();
    }

    @Test
    void oneKindOfGroupTakesThePlaceOfTheOther() {
        MckeyOptions mapped =
                DEFAULTS.withUnmappedGroup(Gid.parse("ff12::1")).withGroup(InetAddress.ofLiteral("ff0e::1"));
        assertThat(mapped.unmappedGroup()).isNull();
        MckeyOptions unmapped = mapped.withUnmappedGroup(Gid.parse("ff12::1"));
        assertThat(unmapped.group()).isNull();
        assertThat(unmapped.groupText()).isEqualTo("ff12::1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"10.77.0.1", "fe80::1", "255.255.255.255", "127.0.0.1"})
    void refusesAnAddressThatIsNoGroup(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.withGroup(InetAddress.ofLiteral(text)))
                .withMessageContaining("-m " + InetAddress.ofLiteral(text).getHostAddress())
                .withMessageContaining("is not a multicast address");
    }

    @ParameterizedTest
    @ValueSource(strings = {"fe80::1", "::ffff:10.77.0.1"})
    void refusesAGidThatIsNoGroup(String text) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.withUnmappedGroup(Gid.parse(text)))
                .withMessageContaining("is not a multicast GID");
    }

    @Test
    void refusesValuesOutOfTheirRanges() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.withQueuePairs(0))
                .withMessage("-c, the number of queue pairs, must be 1 to 65535, not 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.withMessages(-1))
                .withMessageContaining("-C");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.withSizeBytes(-1))
                .withMessageContaining("-S");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.withSenders(0))
                .withMessageContaining("--senders");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.withPortSpace(PortSpace.TCP))
                .withMessageContaining("-p");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.withSettle(Duration.ofMillis(-1)))
                .withMessageContaining("--settle");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.withTimeout(Duration.ZERO))
                .withMessageContaining("--timeout");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> DEFAULTS.withSenderTimeout(Duration.ZERO))
                .withMessageContaining("first message");
    }
}
