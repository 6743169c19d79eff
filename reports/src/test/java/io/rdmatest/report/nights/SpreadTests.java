package io.rdmatest.report.nights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.junit.jupiter.api.Test;

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
}
