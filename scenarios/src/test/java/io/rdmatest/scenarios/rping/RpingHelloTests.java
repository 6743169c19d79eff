package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class RpingHelloTests {

    private static final RpingHello HELLO = new RpingHello(RpingHello.Kind.REQUEST, 1 << 20, 100);

    @Test
    void goesInNetworkByteOrder() {
        assertThat(HexFormat.of().formatHex(HELLO.toBytes()))
                .isEqualTo("72647067" + "01" + "00" + "0000" + "0000000000100000" + "00000064");
    }

    @ParameterizedTest
    @EnumSource
    void isReadOutOfAPaddedArea(RpingHello.Kind kind) {
        RpingHello hello = new RpingHello(kind, 65536, 0);
        assertThat(RpingHello.read(Arrays.copyOf(hello.toBytes(), 196))).contains(hello);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 16, 19, 56})
    void zerosAreNone(int length) {
        assertThat(RpingHello.read(new byte[length])).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 3, 4, 5})
    void otherMagicVersionOrKindIsNone(int offset) {
        byte[] bytes = HELLO.toBytes();
        bytes[offset] = (byte) 0x80;
        assertThat(RpingHello.read(bytes)).isEmpty();
    }
}
