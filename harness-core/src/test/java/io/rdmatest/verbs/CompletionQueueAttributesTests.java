package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class CompletionQueueAttributesTests {

    @Test
    void refusesWhatIsOutOfRange() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CompletionQueueAttributes.of(0))
                .withMessage("a completion queue has at least 1 entry, not 0");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CompletionQueueAttributes.of(1).withVector(-1))
                .withMessage("a completion vector is at least 0, not -1");
    }

    @Test
    void keepsOneWhileTheOtherChanges() {
        CompletionQueueAttributes attributes =
                CompletionQueueAttributes.of(7).withVector(3).withChannel(null);
        assertThat(attributes.vector()).isEqualTo(3);
        assertThat(attributes).hasToString("7 entries, completion vector 3");
    }
}
