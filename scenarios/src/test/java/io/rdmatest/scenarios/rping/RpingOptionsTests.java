package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.ConnectionMode;
import io.rdmatest.scenarios.role.Fault;
import java.net.InetAddress;
import java.time.Duration;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class RpingOptionsTests {

    private static final RpingOptions DEFAULTS = RpingOptions.defaults();

    @Test
    void defaultsAreThoseOfTheProgram() {
        assertThat(DEFAULTS.port()).isEqualTo(7174);
        assertThat(DEFAULTS.sizeBytes()).isEqualTo(64);
        assertThat(DEFAULTS.count()).isZero();
        assertThat(DEFAULTS.bringUp()).isEqualTo(ConnectionMode.RDMA_CM);
        assertThat(DEFAULTS.address()).isNull();
        assertThat(DEFAULTS.source()).isNull();
        assertThat(DEFAULTS.verbose() || DEFAULTS.validate() || DEFAULTS.debug() || DEFAULTS.persistent())
                .isFalse();
        assertThat(DEFAULTS.fault()).isEqualTo(Fault.NONE);
    }

    @Test
    void eachChangeChangesOneThing() throws Exception {
        InetAddress address = InetAddress.getByName("192.0.2.1");
        InetAddress source = InetAddress.getByName("192.0.2.2");
        RpingOptions all = DEFAULTS.withAddress(address)
                .withSource(source)
                .withPort(1)
                .withSize(23)
                .withCount(2)
                .withVerbose()
                .withValidation()
                .withDebug()
                .withPersistence()
                .withClientLimit(3)
                .by(ConnectionMode.EXTERNAL_QP)
                .withTimeout(Duration.ofSeconds(4))
                .withUnlimitedListening()
                .withFault(Fault.FLIP_PAYLOAD_BYTE);

        assertThat(all.address()).isEqualTo(address);
        assertThat(all.source()).isEqualTo(source);
        assertThat(all.port()).isEqualTo(1);
        assertThat(all.sizeBytes()).isEqualTo(23);
        assertThat(all.count()).isEqualTo(2);
        assertThat(all.verbose() && all.validate() && all.debug() && all.persistent() && all.unlimitedListening())
                .isTrue();
        assertThat(all.clientLimit()).isEqualTo(3);
        assertThat(all.bringUp()).isEqualTo(ConnectionMode.EXTERNAL_QP);
        assertThat(all.timeout()).isEqualTo(Duration.ofSeconds(4));
        assertThat(all.fault()).isEqualTo(Fault.FLIP_PAYLOAD_BYTE);
        assertThat(DEFAULTS).isEqualTo(RpingOptions.defaults());
    }

    static Stream<Arguments> wrong() {
        return Stream.of(
                wrong("-p) is 0 to 65535, not 65536", o -> o.withPort(65536)),
                wrong("-p) is 0 to 65535, not -1", o -> o.withPort(-1)),
                wrong("-S) is 23 to 1073741824 bytes, not 22", o -> o.withSize(22)),
                wrong("-S) is 23 to 1073741824 bytes, not -64", o -> o.withSize(-64)),
                wrong("-S) is 23 to 1073741824 bytes, not 1073741825", o -> o.withSize((1 << 30) + 1)),
                wrong("-C) is 0, for no end, or more, not -1", o -> o.withCount(-1)),
                wrong("1 to 4096, not 0", o -> o.withClientLimit(0)),
                wrong("above zero", o -> o.withTimeout(Duration.ZERO)),
                wrong("rping connects by rdma_cm", o -> o.by(ConnectionMode.RAW)));
    }

    private static Arguments wrong(String message, UnaryOperator<RpingOptions> change) {
        return Arguments.of(message, change);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("wrong")
    void valuesOutOfRangeAreNamed(String message, UnaryOperator<RpingOptions> change) {
        assertThatThrownBy(() -> change.apply(DEFAULTS))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }
}
