package io.rdmatest.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RingTests {

    private static final long TEN_GIB = 10L << 30;

    @Test
    void aFullRingIsNotAnEmptyOne() {
        Ring ring = new Ring(16);
        assertThat(ring.produce(16)).isTrue();
        assertThat(ring.free()).isZero();
        assertThat(ring.used()).isEqualTo(16);
        assertThat(ring.contiguousFree()).isZero();
        assertThat(ring.produce(1)).isFalse();
        assertThat(ring.contiguousUsed()).isEqualTo(16);
        assertThat(ring.consume(16)).isTrue();
        assertThat(ring.consume(1)).isFalse();
        assertThat(ring.contiguousFree()).isEqualTo(16);
    }

    @Test
    void aPieceEndsWhereTheRingWraps() {
        Ring ring = new Ring(10);
        assertThat(ring.produce(7)).isTrue();
        assertThat(ring.consume(5)).isTrue();
        assertThat(ring.free()).isEqualTo(8);
        assertThat(ring.produceOffset()).isEqualTo(7);
        assertThat(ring.contiguousFree()).isEqualTo(3);
        assertThat(ring.produce(3)).isTrue();
        assertThat(ring.produceOffset()).isZero();
        assertThat(ring.contiguousFree()).isEqualTo(5);
        assertThat(ring.contiguousUsed()).isEqualTo(5);
    }

    @Test
    void goesOnlyWhereItCan() {
        Ring ring = new Ring(10);
        assertThat(ring.produce(6)).isTrue();
        ring.consumeTo(4);
        assertThat(ring.used()).isEqualTo(2);
        assertThatIllegalStateException().isThrownBy(() -> ring.consumeTo(3));
        assertThatIllegalStateException().isThrownBy(() -> ring.consumeTo(7));
        assertThat(ring.produce(-1)).isFalse();
        assertThat(ring.consume(-1)).isFalse();
        assertThatIllegalArgumentException().isThrownBy(() -> new Ring(0));
    }

    /** Beyond 2 GiB, 4 GiB and 10 GiB a counter of 32 bits would be wrong. */
    @ParameterizedTest
    @ValueSource(longs = {0, Integer.MAX_VALUE - 500L, (1L << 32) - 500, TEN_GIB, (1L << 61) - 100_000})
    void keepsEveryByteInOrderWhereverItsCountersAre(long passed) {
        SplittableRandom random = new SplittableRandom(20_261_121L ^ passed);
        for (int size : new int[] {1, 2, 3, 16, 17, 1000}) {
            Ring ring = new Ring(size, passed);
            byte[] memory = new byte[size];
            Deque<Byte> model = new ArrayDeque<>();
            for (int turn = 0; turn < 2000; turn++) {
                if (random.nextBoolean()) {
                    int piece = random.nextInt(ring.contiguousFree() + 1);
                    for (int i = 0; i < piece; i++) {
                        byte value = (byte) random.nextInt();
                        memory[ring.produceOffset() + i] = value;
                        model.addLast(value);
                    }
                    assertThat(ring.produce(piece)).isTrue();
                } else {
                    int piece = random.nextInt(ring.contiguousUsed() + 1);
                    for (int i = 0; i < piece; i++) {
                        assertThat(memory[ring.consumeOffset() + i]).isEqualTo(model.removeFirst());
                    }
                    assertThat(ring.consume(piece)).isTrue();
                }
                assertThat(ring.used()).isEqualTo(model.size());
                assertThat(ring.used() + ring.free()).isEqualTo(size);
                assertThat(ring.contiguousFree() > 0).isEqualTo(ring.free() > 0);
                assertThat(ring.contiguousUsed() > 0).isEqualTo(ring.used() > 0);
            }
            assertThat(ring.produced()).isGreaterThanOrEqualTo(passed);
        }
    }

    @Test
    void tenGibibytesGoThroughARingOf32Kibibytes() {
        SplittableRandom random = new SplittableRandom(10);
        Ring ring = new Ring(1 << 15);
        long total = 0;
        int expected = 0;
        while (total < TEN_GIB) {
            // Half a million times: without a library that makes an object each time.
            if (ring.produceOffset() != expected) {
                throw new AssertionError(
                        "offset %d instead of %d after %d".formatted(ring.produceOffset(), expected, total));
            }
            int piece = 1 + random.nextInt(ring.contiguousFree());
            if (!ring.produce(piece) || !ring.consume(piece)) {
                throw new AssertionError("no room for " + piece + " bytes after " + total);
            }
            total += piece;
            expected = (expected + piece) % (1 << 15);
        }
        assertThat(ring.consumed()).isEqualTo(total);
        assertThat(ring.used()).isZero();
    }
}
