package io.rdmatest.scenarios.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SpreadTests {

    @Test
    void anOddNumberOfValuesHasOneInTheMiddle() {
        assertThat(Spread.of(List.of(5.0, 1.0, 4.0, 2.0, 3.0))).isEqualTo(new Spread(1, 2, 3, 4, 5));
    }

    @Test
    void quartilesBetweenTwoValuesAreInterpolated() {
        assertThat(Spread.of(List.of(4.0, 1.0, 3.0, 2.0))).isEqualTo(new Spread(1, 1.75, 2.5, 3.25, 4));
    }

    @Test
    void oneValueIsItsOwnSpread() {
        assertThat(Spread.of(List.of(7.0))).isEqualTo(new Spread(7, 7, 7, 7, 7));
    }

    @Test
    void nothingAndWhatIsNoNumberHaveNone() {
        assertThatIllegalArgumentException().isThrownBy(() -> Spread.of(List.of()));
        assertThatIllegalArgumentException().isThrownBy(() -> Spread.of(List.of(1.0, Double.NaN)));
    }

    @ParameterizedTest
    @CsvSource({
        "AT_MOST, 1.05, 1.05, true",
        "AT_MOST, 1.05, 1.06, false",
        "AT_LEAST, 1.2, 1.2, true",
        "AT_LEAST, 1.2, 1.19, false"
    })
    void aTargetHoldsOnItsOwnSide(Target.Bound bound, double value, double ratio, boolean holds) {
        assertThat(new Target(bound, value).holds(ratio)).isEqualTo(holds);
    }

    @Test
    void aWarmUpEndsWhenTheLastRoundsAreClose() {
        WarmUp warmUp = new WarmUp(3, 0.1, 10);
        for (double cold : new double[] {50, 80, 95, 99}) {
            assertThat(warmUp.add(cold, false)).as("after " + cold).isFalse();
        }
        assertThat(warmUp.add(101, false)).isTrue();
        assertThat(warmUp.isSettled()).isTrue();
        assertThat(warmUp.rounds()).isEqualTo(5);
    }

    @Test
    void aWarmUpDoesNotEndWhileSomethingIsCompiled() {
        WarmUp warmUp = new WarmUp(2, 0.1, 10);
        assertThat(warmUp.add(100, false)).isFalse();
        assertThat(warmUp.add(100, true)).isFalse();
        assertThat(warmUp.add(100, false)).as("one round is quiet").isFalse();
        assertThat(warmUp.add(100, false)).isTrue();
    }

    @Test
    void aWarmUpThatNeverSettlesEndsAllTheSame() {
        WarmUp warmUp = new WarmUp(2, 0.1, 4);
        assertThat(warmUp.add(1, false)).isFalse();
        assertThat(warmUp.add(2, false)).isFalse();
        assertThat(warmUp.add(1, false)).isFalse();
        assertThat(warmUp.add(2, false)).isTrue();
        assertThat(warmUp.isSettled()).isFalse();
    }
}
