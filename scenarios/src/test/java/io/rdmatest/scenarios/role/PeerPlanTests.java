package io.rdmatest.scenarios.role;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Cause;
import io.rdmatest.scenarios.role.PeerPlan.Program;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class PeerPlanTests {

    private static final PeerPlan PLAN = new PeerPlan(Program.UCMATOSE, 3, 10, 100, 2);

    @Test
    void whatIsWrittenIsReadThoughTheNetworkFillsItUp() {
        assertThat(PLAN.encode()).hasSize(PeerPlan.LENGTH);
        assertThat(PeerPlan.decode(Arrays.copyOf(PLAN.encode(), 196))).contains(PLAN);
    }

    @Test
    void theProgramsOfOthersSayNothing() {
        byte[] wrong = PLAN.encode();
        wrong[0] ^= 1;
        byte[] later = PLAN.encode();
        later[8]++;

        assertThat(PeerPlan.decode(new byte[56])).isEmpty();
        assertThat(PeerPlan.decode(new byte[0])).isEmpty();
        assertThat(PeerPlan.decode(wrong)).isEmpty();
        assertThat(PeerPlan.decode(later)).isEmpty();
    }

    @Test
    void theNumberOfAConnectionIsNoDisagreement() {
        assertThat(PLAN.disagreement(new PeerPlan(Program.UCMATOSE, 3, 10, 100, 0)))
                .isEmpty();
    }

    @Test
    void otherCountsAreRejectedAndOtherSizesRefused() {
        assertReason(new PeerPlan(Program.UCMATOSE, 4, 10, 100, 0), Cause.REJECTED, "-c 4 -C 10");
        assertReason(new PeerPlan(Program.UCMATOSE, 3, 11, 100, 0), Cause.REJECTED, "-c 3 -C 11");
        assertReason(new PeerPlan(Program.UCMATOSE, 3, 10, 99, 0), Cause.SIZE_REFUSED, "the peer has 99");
        assertReason(new PeerPlan(Program.UDADDY, 3, 10, 100, 0), Cause.REJECTED, "another program");
    }

    private static void assertReason(PeerPlan peer, Cause reason, String text) {
        assertThat(PLAN.disagreement(peer)).hasValueSatisfying(failure -> {
            assertThat(failure.rdmaCause()).isEqualTo(reason);
            assertThat(failure).hasMessageContaining(text);
        });
    }
}
