package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryPlacementTests {

    @ParameterizedTest
    @ValueSource(longs = {3, -1, (1L << 30) + 1, 1L << 31, Long.MIN_VALUE})
    void refusesWhatIsNoPowerOfTwoInRange(long alignment) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemoryPlacement.ANYWHERE.alignedTo(alignment))
                .withMessage("an alignment is a power of two from 1 to 1073741824 bytes, not " + alignment);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 64, 1L << 30})
    void takesPowersOfTwo(long alignment) {
        assertThat(MemoryPlacement.ANYWHERE.alignedTo(alignment).alignment()).isEqualTo(alignment);
    }

    @Test
    void keepsOneWhileTheOtherChanges() {
        MemoryPlacement placement = MemoryPlacement.ANYWHERE.onNumaNode(1).alignedTo(64);
        assertThat(placement.numaNode()).isEqualTo(OptionalInt.of(1));
        assertThat(placement).hasToString("alignment 64 B, NUMA node 1");
        assertThatIllegalArgumentException().isThrownBy(() -> MemoryPlacement.ANYWHERE.onNumaNode(-1));
    }

    @Test
    void takesHugePagesOfAPowerOfTwo() {
        MemoryPlacement placement = MemoryPlacement.ANYWHERE.onHugePages(1 << 21);
        assertThat(placement.alignedTo(64).onNumaNode(0).hugePage()).isEqualTo(1 << 21);
        assertThat(placement).hasToString("alignment of a page, huge pages of 2097152 B");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> MemoryPlacement.ANYWHERE.onHugePages(3 << 20))
                .withMessage("a huge page has a power of two of bytes, not 3145728");
    }
}
