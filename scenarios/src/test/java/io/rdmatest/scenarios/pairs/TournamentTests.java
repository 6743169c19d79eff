package io.rdmatest.scenarios.pairs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.BitSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class TournamentTests {

    static IntStream sizes() {
        return IntStream.concat(IntStream.rangeClosed(2, 40), IntStream.of(63, 64, 101, 999, 1000));
    }

    @ParameterizedTest
    @MethodSource("sizes")
    void everyOrderedPairMeetsOnce(int nodes) {
        Tournament tournament = new Tournament(nodes);
        BitSet met = new BitSet(nodes * nodes);
        long count = 0;
        for (int round = 0; round < tournament.rounds(); round++) {
            for (Pair pair : tournament.round(round)) {
                assertThat(pair.server()).isNotEqualTo(pair.client()).isBetween(0, nodes - 1);
                assertThat(pair.client()).isBetween(0, nodes - 1);
                met.set(pair.server() * nodes + pair.client());
                count++;
            }
        }
        assertThat(count).isEqualTo(tournament.pairs()).isEqualTo((long) nodes * (nodes - 1));
        assertThat(met.cardinality()).isEqualTo((int) count);
    }

    @ParameterizedTest
    @MethodSource("sizes")
    void inARoundEveryNodeIsBusyAtMostOnceAndNoMoreThanOnePauses(int nodes) {
        Tournament tournament = new Tournament(nodes);
        for (int round = 0; round < tournament.rounds(); round++) {
            List<Pair> pairs = tournament.round(round);
            BitSet busy = new BitSet(nodes);
            for (Pair pair : pairs) {
                assertThat(busy.get(pair.server()) || busy.get(pair.client())).isFalse();
                busy.set(pair.server());
                busy.set(pair.client());
            }
            assertThat(nodes - busy.cardinality()).isEqualTo(nodes % 2);
        }
        // Fewer rounds are not possible: so many pairs, and so many at once at most.
        assertThat(tournament.rounds()).isEqualTo((int) (tournament.pairs() / (nodes / 2)));
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 0, 1})
    void pairsNeedTwoNodes(int nodes) {
        assertThatThrownBy(() -> new Tournament(nodes)).hasMessage("Pairs need at least 2 nodes, not " + nodes);
    }

    @Test
    void thereAreNoOtherRounds() {
        assertThatThrownBy(() -> new Tournament(4).round(6)).hasMessage("Round 6 of 6");
        assertThatThrownBy(() -> new Tournament(4).round(-1)).isInstanceOf(IndexOutOfBoundsException.class);
    }
}
