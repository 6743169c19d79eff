package io.rdmatest.stream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class PiecesTests {

    @Test
    void keepsPositionsBeyondWhatAnIntHolds() {
        Pieces pieces = new Pieces(2);
        assertThat(pieces.isEmpty()).isTrue();
        pieces.add(1L << 40, 20_000);
        assertThat(pieces.start(0)).isEqualTo(1L << 40);
        assertThat(pieces.length(0)).isEqualTo(20_000);
        assertThat(pieces.remove()).isEqualTo(20_000);
        assertThat(pieces.isEmpty()).isTrue();
    }

    @Test
    void holdsAsManyAsWasSaidAndTellsOfMore() {
        Pieces pieces = new Pieces(2);
        pieces.add(0, 1);
        assertThat(pieces.isFull()).isFalse();
        pieces.add(1, 2);
        assertThat(pieces.isFull()).isTrue();
        assertThatIllegalStateException()
                .isThrownBy(() -> pieces.add(3, 1))
                .withMessageContaining("the queue of 2 pieces is full");
        assertThat(pieces.count()).isEqualTo(2);
    }

    @Test
    void thereIsNoPieceBehindTheLast() {
        Pieces pieces = new Pieces(2);
        pieces.add(5, 1);
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> pieces.start(1));
        assertThat(pieces.remove()).isEqualTo(1);
        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(pieces::remove);
    }

    @Test
    void isAQueue() {
        SplittableRandom random = new SplittableRandom(7);
        Pieces pieces = new Pieces(5);
        Deque<long[]> expected = new ArrayDeque<>();
        long position = 0;
        for (int i = 0; i < 10_000; i++) {
            if (random.nextBoolean() && expected.size() < 5) {
                int length = random.nextInt(1, 1000);
                pieces.add(position, length);
                expected.add(new long[] {position, length});
                position += length + random.nextInt(100);
            } else if (!expected.isEmpty()) {
                assertThat(pieces.remove()).isEqualTo((int) expected.remove()[1]);
            }
            assertThat(pieces.count()).isEqualTo(expected.size());
            int at = 0;
            for (long[] piece : expected) {
                assertThat(pieces.start(at)).isEqualTo(piece[0]);
                assertThat(pieces.length(at++)).isEqualTo((int) piece[1]);
            }
        }
    }
}
