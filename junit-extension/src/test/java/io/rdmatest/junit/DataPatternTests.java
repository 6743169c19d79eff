package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DataPatternTests {

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 4096, 65_521, 65_522, 1_000_000})
    void verifiesWhatItFilled(long size) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = arena.allocate(size);
            DataPattern.of(7).fill(data);
            DataPattern.of(7).verify(data);
            assertThat(DataPattern.of(7).mismatch(data, 0)).isEqualTo(-1);
        }
    }

    @Test
    void namesTheOnlyByteThatDiffers() {
        MemorySegment data = MemorySegment.ofArray(new byte[100_000]);
        DataPattern pattern = DataPattern.of(3);
        pattern.fill(data);
        byte right = data.get(ValueLayout.JAVA_BYTE, 70_001);
        byte wrong = (byte) (right ^ 0x10);
        data.set(ValueLayout.JAVA_BYTE, 70_001, wrong);
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(() -> pattern.verify(data))
                .withMessageContaining("differs at offset 70001 of 100000 bytes")
                .withMessageContaining(String.format("expected 0x%02x, actual 0x%02x", right, wrong))
                .withMessageContaining("no other byte differs");
    }

    @Test
    void countsTheBytesThatDiffer() {
        MemorySegment data = MemorySegment.ofArray(new byte[4096]);
        DataPattern pattern = DataPattern.of(3);
        pattern.fill(data);
        for (int offset : new int[] {0, 17, 4095}) {
            data.set(ValueLayout.JAVA_BYTE, offset, (byte) ~data.get(ValueLayout.JAVA_BYTE, offset));
        }
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(() -> pattern.verify(data))
                .withMessageContaining("offset 0 of")
                .withMessageContaining("3 bytes differ, the last at offset 4095");
    }

    @Test
    void continuesWhereItIsTold() {
        MemorySegment whole = MemorySegment.ofArray(new byte[200_000]);
        DataPattern pattern = DataPattern.of(-1);
        pattern.fill(whole);
        pattern.verify(whole.asSlice(123_457), 123_457);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 512, 4096, 65_536, 1 << 20})
    void differsFromItselfDisplaced(long displacement) {
        MemorySegment data = MemorySegment.ofArray(new byte[64]);
        DataPattern pattern = DataPattern.of(1);
        pattern.fill(data, displacement);
        assertThat(pattern.mismatch(data, 0)).isNotNegative();
    }

    @Test
    void dependsOnTheSeed() {
        MemorySegment data = MemorySegment.ofArray(new byte[64]);
        DataPattern.of(1).fill(data);
        assertThat(DataPattern.of(2).mismatch(data, 0)).isNotNegative();
    }
}
