package io.rdmatest.scenarios.role;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.scenarios.role.PairFlow.Plan;
import io.rdmatest.scenarios.role.PairFlow.Result;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The flow between a pair. Both sides are on one device, whose counters both read. */
@Timeout(120)
@ExclusiveDevice
class PairFlowIT {

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
    void bandwidthAndRateAreMeasuredAndTheLastMessagesCompared() {
        LocalRoles.Pair<Result, Result> results = run(plan(3, 65_536, 64), Fault.NONE);

        assertThat(results.client().bandwidth()).isPositive();
        assertThat(results.client().messageRate()).isPositive();
        assertThat(results.client().messages())
                .isPositive()
                .isEqualTo(results.server().messages());
        assertThat(results.server().bytesVerified()).isEqualTo(3 * (65_536 + 64));
        assertThat(results.client().lineRate()).as("made up by the driver").isZero();
        assertThat(results.client().unread()).isNull();
        assertThat(results.client().increased()).containsKey("sent_pkts");
    }

    @Test
    void bandwidthAlone() {
        LocalRoles.Pair<Result, Result> results = run(plan(1, 4096, 0), Fault.NONE);

        assertThat(results.client().bandwidth()).isPositive();
        assertThat(results.client().messageRate()).isZero();
        assertThat(results.server().bytesVerified()).isEqualTo(4096);
    }

    @Test
    void aFlippedByteIsFound() {
        assertThatThrownBy(() -> run(plan(2, 65_536, 64), Fault.FLIP_PAYLOAD_BYTE))
                .isInstanceOf(PayloadMismatchError.class)
                .hasMessageContaining("last RDMA WRITE of queue pair 1 at the server");
    }

    @Test
    void anAbsentPeerEndsTheFlow() {
        // The server connects fewer queue pairs than the client wants, and goes.
        assertThatThrownBy(() -> LocalRoles.runPair(
                        device,
                        new PairFlow.Server(plan(1, 4096, 0), true),
                        new PairFlow.Client(plan(2, 4096, 0), true, Fault.NONE),
                        Duration.ofSeconds(90)))
                .isInstanceOfAny(RuntimeException.class, AssertionError.class);
    }

    private static Plan plan(int queuePairs, int size, int smallSize) {
        return new Plan(queuePairs, size, smallSize, Duration.ofMillis(300), STEP);
    }

    private LocalRoles.Pair<Result, Result> run(Plan plan, Fault fault) {
        return LocalRoles.runPair(
                device,
                new PairFlow.Server(plan, true),
                new PairFlow.Client(plan, true, fault),
                Duration.ofSeconds(90));
    }
}
