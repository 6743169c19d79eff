package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.wire.WireJudge;
import io.rdmatest.wire.WireReport;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Where nothing was seen, nothing is clean. */
class WireWatchTests {

    private static WireReport ofPackets(long packets, long judged) {
        return new WireReport(
                packets,
                judged,
                new TreeMap<>(Map.of()),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                List.of(),
                Map.of(),
                WireReport.Congestion.NONE);
    }

    @Test
    void oneOfTheSidesIsOnTheNodeThatIsWatched() {
        assertThatCode(() -> WireWatch.requireInSight("a", "b", "a")).doesNotThrowAnyException();
        assertThatCode(() -> WireWatch.requireInSight("a", "a", "c")).doesNotThrowAnyException();
        assertThatThrownBy(() -> WireWatch.requireInSight("a", "b", "c"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("The wire between the server on node b and the client on node c can't be watched:"
                        + " packets are captured on node a");
    }

    @Test
    void twoNodesThatExchangedNoPacketWereNotWatched() {
        assertThatThrownBy(() -> WireWatch.requireSeen(new WireJudge().finish(), "eth0", "b", "a"))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage(
                        "Not one RoCE packet was captured on eth0 between the server on node b and the client on node a:"
                                + " nothing was judged");
        assertThatCode(() -> WireWatch.requireSeen(ofPackets(1, 1), "eth0", "b", "a"))
                .doesNotThrowAnyException();
    }

    @Test
    void twoNodesOfWhichOnlyAnArpWasSeenWereNotWatched() {
        assertThatThrownBy(() -> WireWatch.requireSeen(ofPackets(2, 0), "eth0", "b", "a"))
                .hasMessageContaining("Not one RoCE packet was captured");
    }

    @Test
    void whatADeviceSendsToItselfIsOnNoWire() {
        assertThatCode(() -> WireWatch.requireSeen(ofPackets(0, 0), "eth0", "a", "a"))
                .doesNotThrowAnyException();
    }
}
