package io.rdmatest.fabric.fault;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NetworkFaultTests {

    @Test
    void saysWhatNetemUnderstands() {
        NetworkFault all = NetworkFault.loss(2)
                .withDelay(Duration.ofMillis(5), Duration.ofNanos(500_999))
                .withDuplicate(0.1)
                .withReorder(25)
                .withCorrupt(0.00001);

        assertThat(all.netem()).isEqualTo("delay 5000us 500us loss 2% duplicate 0.1% reorder 25% corrupt 0.00001%");
        assertThat(NetworkFault.delay(Duration.ofMinutes(1))).hasToString("delay 60000000us");
        assertThat(NetworkFault.duplicate(100)).hasToString("duplicate 100%");
        assertThat(NetworkFault.corrupt(0.5)).hasToString("corrupt 0.5%");
    }

    @Test
    void knowsThatItDoesNothing() {
        assertThat(NetworkFault.loss(0).isAny()).isFalse();
        assertThat(NetworkFault.loss(0).netem()).isEmpty();
        assertThat(NetworkFault.loss(0.1).isAny()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"-0.1", "100.1", "NaN", "Infinity"})
    void refusesWhatIsNoPercentage(double percent) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NetworkFault.loss(percent))
                .withMessage("loss is " + percent + " %: allowed are 0 to 100");
        assertThatIllegalArgumentException().isThrownBy(() -> NetworkFault.corrupt(percent));
        assertThatIllegalArgumentException().isThrownBy(() -> NetworkFault.duplicate(percent));
    }

    @Test
    void refusesImpossibleTimes() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NetworkFault.delay(Duration.ofSeconds(61)))
                .withMessage("delay is 61000 ms: allowed are 0 and 1 us to 60000 ms");
        assertThatIllegalArgumentException().isThrownBy(() -> NetworkFault.delay(Duration.ofNanos(999)));
        assertThatIllegalArgumentException().isThrownBy(() -> NetworkFault.delay(Duration.ofMillis(-1)));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NetworkFault.loss(1).withDelay(Duration.ofMillis(5), Duration.ofMillis(6)))
                .withMessage("jitter is 6 ms: allowed are 0 and 1 us to 5 ms");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> NetworkFault.loss(1).withReorder(10))
                .withMessage("reorder is 10 %, and there is no delay: packets overtake only delayed ones");
    }
}
