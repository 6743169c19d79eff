package io.rdmatest.scenarios.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

class CounterPatternTests {

    @Test
    void counterStartsAtZeroAndWraps() {
        byte[] bytes = new byte[600];
        new CounterPattern().fill(MemorySegment.ofArray(bytes));
        for (int i = 0; i < bytes.length; i++) {
            assertThat(bytes[i]).isEqualTo((byte) i);
        }
    }

    @Test
    void counterContinuesAcrossPieces() {
        CounterPattern sent = new CounterPattern();
        CounterPattern received = new CounterPattern();
        int[] sizes = {16, 1, 63, 1000, 4097, 65537, 131073, 7};
        long total = 0;
        for (int size : sizes) {
            byte[] bytes = new byte[size];
            sent.fill(MemorySegment.ofArray(bytes));
            assertThat(bytes[0]).isEqualTo((byte) total);
            received.verify(MemorySegment.ofArray(bytes), "server");
            total += size;
        }
        assertThat(received.position()).isEqualTo(total).isEqualTo(sent.position());
    }

    @Test
    void wrongByteIsNamedByItsOffsetInTheStream() {
        CounterPattern sent = new CounterPattern();
        CounterPattern received = new CounterPattern();
        byte[] first = new byte[70_000];
        sent.fill(MemorySegment.ofArray(first));
        received.verify(MemorySegment.ofArray(first), "server");
        byte[] second = new byte[70_000];
        sent.fill(MemorySegment.ofArray(second));
        second[66_000] ^= 1;
        assertThatThrownBy(() -> received.verify(MemorySegment.ofArray(second), "server"))
                .asInstanceOf(InstanceOfAssertFactories.type(PayloadMismatchError.class))
                .satisfies(error -> {
                    assertThat(error.offset()).isEqualTo(136_000);
                    assertThat(error.expected()).isEqualTo(136_000 % 256);
                    assertThat(error.actual()).isEqualTo((136_000 % 256) ^ 1);
                });
    }

    @Test
    void canBeginWithinAStream() {
        byte[] whole = new byte[700];
        new CounterPattern().fill(MemorySegment.ofArray(whole));
        byte[] rest = new byte[100];
        CounterPattern later = new CounterPattern(600);
        later.fill(MemorySegment.ofArray(rest));
        assertThat(rest).isEqualTo(java.util.Arrays.copyOfRange(whole, 600, 700));
        assertThat(later.position()).isEqualTo(700);
        assertThatThrownBy(() -> new CounterPattern(-1)).isInstanceOf(IllegalArgumentException.class);
    }
}
