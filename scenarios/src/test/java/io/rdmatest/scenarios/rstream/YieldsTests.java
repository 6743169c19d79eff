package io.rdmatest.scenarios.rstream;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class YieldsTests {

    private long now = -5;
    private long lasts;

    private final Yields yields = new Yields(() -> now += lasts, () -> now);

    private void giveWay(long nanos) {
        lasts = nanos;
        yields.giveWay();
    }

    @Test
    void areFewAtFirst() {
        assertThat(yields.tries()).isEqualTo(Yields.MOST_TRIES);
    }

    @Test
    void becomeManyWhenTheProcessorIsShared() {
        giveWay(Yields.SHARED_NANOS + 1);
        assertThat(yields.tries()).isEqualTo(Yields.FEWEST_TRIES);
    }

    @Test
    void becomeFewAgainWhenItIsNot() {
        giveWay(Yields.SHARED_NANOS + 1);
        giveWay(Yields.SHARED_NANOS);
        assertThat(yields.tries()).isEqualTo(2 * Yields.FEWEST_TRIES);
        for (int i = 0; i < 20; i++) {
            giveWay(0);
        }
        assertThat(yields.tries()).isEqualTo(Yields.MOST_TRIES);
    }
}
