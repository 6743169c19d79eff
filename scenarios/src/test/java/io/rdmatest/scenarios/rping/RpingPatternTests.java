package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.scenarios.engine.PayloadMismatchError;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RpingPatternTests {

    private static final String UPPER_TO_LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz";

    private static byte[] filled(int size, int ping) {
        byte[] bytes = new byte[size];
        RpingPattern.fill(MemorySegment.ofArray(bytes), ping);
        return bytes;
    }

    private static String text(byte[] bytes) {
        assertThat(bytes[bytes.length - 1]).isZero();
        return new String(bytes, 0, bytes.length - 1, StandardCharsets.US_ASCII);
    }

    @Test
    void firstTwoPingsAreTheTestVectors() {
        assertThat(text(filled(64, 0))).isEqualTo("rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr");
        assertThat(text(filled(64, 1))).isEqualTo("rdma-ping-1: BCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrs");
    }

    @ParameterizedTest
    @CsvSource({"0,A", "1,B", "57,z", "58,A", "59,B", "115,z", "116,A"})
    void startMovesByOneWithAPeriodOf58(int ping, char first) {
        String header = "rdma-ping-" + ping + ": ";
        assertThat(text(filled(64, ping))).startsWith(header + first);
    }

    @Test
    void textWrapsAfterLowerCaseZ() {
        assertThat(text(filled(128, 0))).startsWith("rdma-ping-0: " + UPPER_TO_LOWER + "AB");
        assertThat(text(filled(64, 57))).startsWith("rdma-ping-57: zABC");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 9, 10, 99, 100, 999_999_999, Integer.MAX_VALUE})
    void smallestSizeHoldsEveryHeader(int ping) {
        assertThat(text(filled(23, ping)))
                .startsWith("rdma-ping-" + ping + ": ")
                .hasSize(22);
    }

    @ParameterizedTest
    @ValueSource(ints = {23, 64, 4096, 65535, 65536, 200_000})
    void theOnlyNulIsTheLastByte(int size) {
        byte[] bytes = filled(size, 3);
        assertThat(text(bytes)).doesNotContain("\0");
        RpingPattern.verify(MemorySegment.ofArray(bytes), 3, "client");
    }

    @Test
    void theTextGoesOnWhereverItIsCopiedInPieces() {
        String text = text(filled(200_000, 1234));
        assertThat(text).startsWith("rdma-ping-1234: ");
        for (int i = "rdma-ping-1234: ".length(); i < text.length(); i++) {
            assertThat(text.charAt(i)).isEqualTo((char) ('A' + (1234 + i - 16) % 58));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {59_000, 59_408, 65_535, 130_000, 199_998})
    void oneWrongByteIsNamedFarBehind(int offset) {
        byte[] bytes = filled(200_000, 7);
        bytes[offset] ^= 1;
        assertThatThrownBy(() -> RpingPattern.verify(MemorySegment.ofArray(bytes), 7, "server"))
                .asInstanceOf(InstanceOfAssertFactories.type(PayloadMismatchError.class))
                .satisfies(error -> assertThat(error.offset()).isEqualTo(offset));
    }

    @Test
    void pingsHaveNoNegativeNumber() {
        MemorySegment buffer = MemorySegment.ofArray(new byte[64]);
        assertThatThrownBy(() -> RpingPattern.fill(buffer, -1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("-1");
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 12, 13, 40, 62, 63})
    void oneWrongByteIsNamed(int offset) {
        byte[] bytes = filled(64, 7);
        byte expected = bytes[offset];
        bytes[offset] ^= 0x40;
        assertThatThrownBy(() -> RpingPattern.verify(MemorySegment.ofArray(bytes), 7, "client"))
                .asInstanceOf(InstanceOfAssertFactories.type(PayloadMismatchError.class))
                .satisfies(error -> {
                    assertThat(error.offset()).isEqualTo(offset);
                    assertThat(error.expected()).isEqualTo(expected & 0xff);
                    assertThat(error.actual()).isEqualTo((expected ^ 0x40) & 0xff);
                    assertThat(error).hasMessageContaining("client, ping 7").hasMessageContaining("offset " + offset);
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 22})
    void otherSizesAreRefused(int size) {
        MemorySegment buffer = MemorySegment.ofArray(new byte[size]);
        assertThatThrownBy(() -> RpingPattern.fill(buffer, 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("23 to 1073741824");
    }
}
