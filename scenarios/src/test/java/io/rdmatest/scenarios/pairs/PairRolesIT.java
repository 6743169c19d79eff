package io.rdmatest.scenarios.pairs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Cause;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.engine.NearDevice;
import io.rdmatest.scenarios.engine.PayloadMismatchError;
import io.rdmatest.scenarios.pairs.PairRoles.Moved;
import io.rdmatest.scenarios.pairs.PairRoles.Operation;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Pace;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.verbs.DriverQuirks;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The measurement of a pair. Both sides are on one device, whose counters both read. */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "120 s")
class PairRolesIT {

    private static final Duration STEP = Duration.ofSeconds(30);
    private static final Duration TIME = Duration.ofMillis(100);
    private static final Duration BOTH = Duration.ofSeconds(90);

    private FabricDevice device;

    @BeforeEach
    void resolve(FabricDevice found) {
        device = found;
    }

    // ---- round trips ----

    @Test
    void theFirstRoundTripsAreNotMeasuredAndCountersAreRead() {
        LocalRoles.Pair<PairRoles.Result, PairRoles.Result> results = ping(20, new Pace(5, 1, STEP), true);

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
        assertThat(results.client().bandwidth()).isEqualTo(Moved.NOTHING);
        assertThat(results.client().rate()).isEqualTo(Moved.NOTHING);
    }

    @Test
    void aPairThatRunsOutOfTimeEndsWithWhatItHasOnBothSides() {
        LocalRoles.Pair<PairRoles.Result, PairRoles.Result> results =
                ping(10_000_000, new Pace(1, 1, Duration.ofMillis(50)), false);

        assertThat(results.client().count()).isBetween(1L, 9_999_999L);
        assertThat(results.client().iterations())
                .isEqualTo((int) results.client().count() + 1);
        assertThat(results.server().iterations()).isEqualTo(results.client().iterations());
        assertThat(results.client().increased()).isEmpty();
    }

    private LocalRoles.Pair<PairRoles.Result, PairRoles.Result> ping(int iterations, Pace pace, boolean counters) {
        return run(new PairRoles.Plan(
                PingPongRoles.Plan.parse("-S 64 -C", iterations, "--timeout", STEP),
                pace,
                Operation.WRITE,
                false,
                1,
                0,
                0,
                TIME,
                STEP,
                counters));
    }

    private LocalRoles.Pair<PairRoles.Result, PairRoles.Result> run(PairRoles.Plan plan) {
        return LocalRoles.runPair(device, new PairRoles.Server(plan), new PairRoles.Client(plan), BOTH);
    }

    // ---- streams ----

    private static PairRoles.Plan streams(Operation operation, int queuePairs, int bandwidthSize, int rateSize) {
        return streams(operation, false, queuePairs, bandwidthSize, rateSize);
    }

    private static PairRoles.Plan streams(
            Operation operation, boolean bothWays, int queuePairs, int bandwidthSize, int rateSize) {
        return new PairRoles.Plan(
                null, Pace.PLAIN, operation, bothWays, queuePairs, bandwidthSize, rateSize, TIME, STEP, true);
    }

    @ParameterizedTest
    @CsvSource({"WRITE, 1", "WRITE, 3", "READ, 1", "READ, 3", "SEND, 1", "SEND, 3"})
    void theSideThatPostsHasTheTimesAndTheServerVerifies(Operation operation, int queuePairs) {
        var results = run(streams(operation, queuePairs, 1 << 16, 64));
        PairRoles.Result posted = operation == Operation.READ ? results.server() : results.client();
        PairRoles.Result other = operation == Operation.READ ? results.client() : results.server();

        assertThat(PairRoles.poster(operation, results.server(), results.client()))
                .isSameAs(posted);

        for (Moved moved : List.of(posted.bandwidth(), posted.rate())) {
            assertThat(moved.nanos()).isBetween(TIME.toNanos(), BOTH.toNanos());
            assertThat(moved.bitsPerSecond()).isEqualTo(moved.bytes() * 8e9 / moved.nanos());
        }
        // The whole ring of each queue pair, at least once.
        assertThat(posted.bandwidth().messages()).isGreaterThanOrEqualTo(4L * queuePairs);
        assertThat(posted.bandwidth().bytes()).isEqualTo(posted.bandwidth().messages() << 16);
        assertThat(posted.rate().messages()).isGreaterThanOrEqualTo(64L * queuePairs);
        assertThat(posted.rate().bytes()).isEqualTo(posted.rate().messages() * 64);
        assertThat(other.bandwidth()).isEqualTo(Moved.NOTHING);
        assertThat(other.rate()).isEqualTo(Moved.NOTHING);
        assertThat(results.server().bytesVerified()).isEqualTo(queuePairs * (4L * (1 << 16) + 64 * 64));
        assertThat(results.client().bytesVerified()).isZero();
        assertThat(results.client().count()).isZero();
        assertThat(results.server().increased()).containsKey("sent_pkts");
        if (DriverQuirks.isSoftware(device.environment().get("driver"))) {
            assertThat(results.client().lineRate()).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(Operation.class)
    void oneStreamAloneIsVerifiedToo(Operation operation) {
        var results = run(streams(operation, 2, 0, 1000));

        assertThat(results.server().bytesVerified()).isEqualTo(2 * 64 * 1000L);
        assertThat(results.client().bandwidth()).isEqualTo(Moved.NOTHING);
        assertThat(results.server().bandwidth()).isEqualTo(Moved.NOTHING);
    }

    /** The smallest message of data is none of the empty ones that end a stream of SENDs. */
    @Test
    void messagesOfOneByteAreData() {
        var results = run(streams(Operation.SEND, 2, 0, 1));

        assertThat(results.client().rate().messages()).isGreaterThanOrEqualTo(64L * 2);
        assertThat(results.server().bytesVerified()).isEqualTo(2 * 64);
    }

    /** Who is done first is the other side's load, but not for ever. */
    @Test
    void theLoadForASideThatDoesNotEndIsLimited() {
        Duration timeout = Duration.ofSeconds(5);
        PairRoles.Plan brief =
                new PairRoles.Plan(null, Pace.PLAIN, Operation.WRITE, true, 1, 1 << 16, 0, TIME, timeout, false);
        // Longer than the other side makes load and then waits for the word.
        PairRoles.Plan endless = new PairRoles.Plan(
                null, Pace.PLAIN, Operation.WRITE, true, 1, 1 << 16, 0, Duration.ofSeconds(20), STEP, false);

        assertThatThrownBy(() ->
                        LocalRoles.runPair(device, new PairRoles.Server(brief), new PairRoles.Client(endless), BOTH))
                .isInstanceOf(RdmaTimeoutException.class)
                .hasMessageContaining("word that the other side has measured");
    }

    @ParameterizedTest
    @CsvSource({"WRITE, 1", "READ, 2", "SEND, 1", "SEND, 2"})
    void inBothDirectionsAtOnceEachSideMeasuresAndVerifies(Operation operation, int queuePairs) {
        var results = run(streams(operation, true, queuePairs, 1 << 16, 64));

        for (PairRoles.Result side : List.of(results.server(), results.client())) {
            for (Moved moved : List.of(side.bandwidth(), side.rate())) {
                assertThat(moved.nanos()).isBetween(TIME.toNanos(), BOTH.toNanos());
            }
            assertThat(side.bandwidth().messages()).isGreaterThanOrEqualTo(4L * queuePairs);
            assertThat(side.rate().messages()).isGreaterThanOrEqualTo(64L * queuePairs);
            assertThat(side.bytesVerified()).isEqualTo(queuePairs * (4L * (1 << 16) + 64 * 64));
        }
        assertThat(results.client().bandwidth()).isNotEqualTo(results.server().bandwidth());
    }

    /** A receiver that is not ready costs time, and a counter of such would be held against the fabric. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void noReceiverIsNotReady(boolean bothWays) {
        var results = run(streams(Operation.SEND, bothWays, 3, 1 << 16, 64));

        assertThat(results.client().increased()).containsKey("sent_pkts");
        for (PairRoles.Result side : List.of(results.server(), results.client())) {
            assertThat(side.increased()).doesNotContainKeys("rcvd_rnr_err", "send_rnr_err", "rnr_nak_retry_err");
        }
    }

    /** Each slot of each connection is looked at, the last byte as well as the first. */
    @ParameterizedTest
    @CsvSource({"WRITE, 0", "WRITE, 262143", "READ, 131072", "SEND, 262143"})
    void aDamagedByteIsFound(Operation operation, long offset) {
        PairRoles.Plan plan = streams(operation, 2, 1 << 16, 64);
        Role<Boolean> damaged = context -> {
            try (NearDevice near = NearDevice.begin("none");
                    PairStream stream = PairStream.accept(context, plan, near)) {
                stream.beforeVerification = memory ->
                        memory.set(ValueLayout.JAVA_BYTE, offset, (byte) ~memory.get(ValueLayout.JAVA_BYTE, offset));
                return stream.run(0, plan.bandwidthSize()).nanos() > 0;
            }
        };

        assertThatThrownBy(() -> LocalRoles.runPair(device, damaged, new PairRoles.Client(plan), BOTH))
                .isInstanceOfSatisfying(PayloadMismatchError.class, wrong -> {
                    assertThat(wrong.offset()).isEqualTo(offset % (1 << 16));
                    assertThat(Cause.of(wrong)).isEqualTo(Cause.WRONG_DATA);
                })
                .hasMessageContaining(
                        operation + " of 65536 bytes on connection 0, at the server, message " + offset / (1 << 16));
    }

    @Test
    void aByteThatIsDamagedOnTheWayBackIsFoundAtTheClient() {
        PairRoles.Plan plan = streams(Operation.WRITE, true, 1, 1 << 16, 0);
        Role<Boolean> damaged = context -> {
            try (NearDevice near = NearDevice.begin("none");
                    PairStream stream = PairStream.connect(context, plan, near)) {
                stream.beforeVerification =
                        memory -> memory.set(ValueLayout.JAVA_BYTE, 9, (byte) ~memory.get(ValueLayout.JAVA_BYTE, 9));
                return stream.run(0, plan.bandwidthSize()).nanos() > 0;
            }
        };

        assertThatThrownBy(() -> LocalRoles.runPair(device, new PairRoles.Server(plan), damaged, BOTH))
                .isInstanceOf(PayloadMismatchError.class)
                .hasMessageContaining("WRITE of 65536 bytes on connection 1, at the client, message 0");
    }
}
