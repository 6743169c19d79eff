package io.rdmatest.scenarios.role;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.scenarios.role.PingPongRoles.Operation;
import io.rdmatest.scenarios.role.PingPongRoles.Pace;
import io.rdmatest.scenarios.role.PingPongRoles.Plan;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The measurement of a pair. Both sides are on one device, whose counters both read. */
@Timeout(120)
@ExclusiveDevice
class PairPingIT {

    private static final Duration STEP = Duration.ofSeconds(30);

    private List<NativeResource> before = List.of();
    private FabricDevice device;

    @BeforeEach
    void resolve() {
        device = Fabric.load("auto").local().resolve();
        before = Ledger.live();
    }

    @AfterEach
    void nothingIsLeft() {
        assertThat(Ledger.live()).as(Ledger.describeLive()).isEqualTo(before);
    }

    @Test
    void theFirstRoundTripsAreNotMeasuredAndCountersAreRead() {
        LocalRoles.Pair<PairPing.Result, PairPing.Result> results = run(20, new Pace(5, STEP), true);

        assertThat(results.client().iterations()).isEqualTo(25);
        assertThat(results.server().iterations()).isEqualTo(25);
        assertThat(results.client().bytesVerified()).isEqualTo(25 * 64);
        assertThat(results.client().count()).isEqualTo(20);
        assertThat(results.client().p50())
                .isPositive()
                .isLessThanOrEqualTo(results.client().p99());
        assertThat(results.client().p99()).isLessThanOrEqualTo(results.client().max());
        assertThat(results.client().unread()).isNull();
        assertThat(results.client().increased()).containsKey("sent_pkts");
        assertThat(results.server().increased()).containsKey("sent_pkts");
    }

    @Test
    void aPairThatRunsOutOfTimeEndsWithWhatItHasOnBothSides() {
        LocalRoles.Pair<PairPing.Result, PairPing.Result> results =
                run(10_000_000, new Pace(1, Duration.ofMillis(50)), false);

        assertThat(results.client().count()).isBetween(1L, 9_999_999L);
        assertThat(results.client().iterations())
                .isEqualTo((int) results.client().count() + 1);
        assertThat(results.server().iterations()).isEqualTo(results.client().iterations());
        assertThat(results.client().increased()).isEmpty();
    }

    private LocalRoles.Pair<PairPing.Result, PairPing.Result> run(int iterations, Pace pace, boolean counters) {
        Plan plan = Plan.of(Operation.SEND, 64, iterations, STEP);
        return LocalRoles.runPair(
                device,
                new PairPing.Server(plan, pace, counters),
                new PairPing.Client(plan, pace, counters),
                Duration.ofSeconds(90));
    }
}
