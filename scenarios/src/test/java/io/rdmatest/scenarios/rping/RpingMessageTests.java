package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

class RpingMessageTests {

    @Test
    void fieldsAreInNetworkByteOrder() {
        RpingMessage message = new RpingMessage(0x0102030405060708L, 0xa0b0c0d0, 0xffff);
        assertThat(HexFormat.of().formatHex(message.toBytes())).isEqualTo("0102030405060708a0b0c0d00000ffff");
    }

    @Test
    void readingIsTheReverseOfWriting() {
        RpingMessage message = new RpingMessage(-1L, Integer.MIN_VALUE, 64);
        assertThat(RpingMessage.readFrom(MemorySegment.ofArray(message.toBytes())))
                .isEqualTo(message);
    }
}
