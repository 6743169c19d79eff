package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmatest.Cause;
import io.rdmatest.ConnectionMode;
import io.rdmatest.Ledger;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.engine.PayloadMismatchError;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QueuePair;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Both sides of ucmatose with many connections, and everything that can be wrong between them. */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "180 s")
class UcmatoseIT {

    private static final Duration STEP = Duration.ofSeconds(15);

    /** For a side that is known to wait in vain. */
    private static final Duration SHORT = Duration.ofSeconds(5);

    private static final Duration SCENARIO = Duration.ofSeconds(150);
    private static final Duration PATIENCE = Duration.ofSeconds(2);

    private FabricDevice device;

    @BeforeEach
    void resolve(FabricDevice found) {
        device = found;
    }

    private static UcmatoseOptions options() {
        return UcmatoseOptions.parse("-p 0 --timeout", STEP);
    }

    // ---- many ----

    @ParameterizedTest
    @Tag("slow")
    @CsvSource({"1000, 0, 0", "1000, 4, 64"})
    void aThousandConnectionsComeUpWorkAndGoTogether(int connections, int messages, int size) {
        UcmatoseOptions options = options().and("-c", connections, "-C", messages, "-S", size);

        var results = LocalRoles.runPair(
                device, new UcmatoseRoles.Server(options), new UcmatoseRoles.Client(options), SCENARIO);

        for (UcmatoseRoles.Result result : new UcmatoseRoles.Result[] {results.server(), results.client()}) {
            assertThat(result.times()).hasSize(connections).allMatch(times -> times.connect() > 0);
            assertThat(result.messagesReceived()).isEqualTo((long) connections * messages);
            assertThat(result.bytesVerified()).isEqualTo((long) connections * messages * size);
        }
        assertThat(results.server().times()).allMatch(times -> times.disconnect() > 0);
    }

    /** The call that sets an option may succeed and change nothing. */
    @ParameterizedTest
    @EnumSource(names = {"RDMA_CM", "EXTERNAL_QP"})
    void optionsOfAConnectionAreSeenAtItsQueuePair(ConnectionMode bringUp) {
        UcmatoseOptions options = options()
                .and("-c 2 -C 1", bringUp == ConnectionMode.EXTERNAL_QP ? "--external-qp" : "", "-t", 0x48, "-a 19");

        var results = LocalRoles.runPair(
                device, new UcmatoseRoles.Server(options), new UcmatoseRoles.Client(options), SCENARIO);

        assertThat(results.client().attributes()).hasSize(2).allSatisfy(attributes -> {
            assertThat(attributes.ackTimeout()).isEqualTo(19);
            assertThat(attributes.trafficClass()).isEqualTo(0x48);
        });
        assertThat(results.server().attributes()).hasSize(2).allMatch(attributes -> attributes.ackTimeout() == 19);
        // rdma_cm resolves the same path for both connections.
        assertThat(results.client().paths())
                .hasSize(1)
                .allMatch(path -> path.contains(", SL ") && path.contains(", MTU "));
    }

    @Test
    void twoHundredConnectionsComeUpWithTheProgramAsTheServer() throws Exception {
        UcmatoseOptions options = options().and("-c 200 -C 2 -p", freePort(), "-b", address());
        try (CProgram server = CProgram.start(
                STEP, "ucmatose", "-b", address(), "-p", options.port(), "-c", 200, "-C", 2, "-S", 100)) {
            UcmatoseRoles.Result result = connect(server, options);

            assertThat(result.messagesReceived()).isEqualTo(400);
            assertThat(result.unverified()).isEqualTo("the peer is the C program");
            server.awaitSuccess();
        }
    }

    @Test
    void twoHundredConnectionsComeUpWithTheProgramAsTheClient() throws Exception {
        try (LocalRoles roles = new LocalRoles()) {
            Running<UcmatoseRoles.Result> server = roles.start(
                    "server", device, new UcmatoseRoles.Server(options().and("-c 200 -C 2")));
            try (CProgram client = CProgram.start(
                    STEP, "ucmatose", "-s", address(), "-p", server.hear("port", STEP), "-c", 200, "-C", 2)) {
                assertThat(server.join(SCENARIO).messagesReceived()).isEqualTo(400);
                client.awaitSuccess();
            }
        }
    }

    @Test
    void moreMessagesThanSlotsAreSentInTurns() {
        // 64 MiB are what is kept to send from.
        UcmatoseOptions options = options().and("-C 40 -S", 4 << 20, "-c 1");

        var results = LocalRoles.runPair(
                device, new UcmatoseRoles.Server(options), new UcmatoseRoles.Client(options), SCENARIO);

        assertThat(results.client().bytesVerified()).isEqualTo(40L * (4 << 20));
    }

    // ---- disagreement ----

    @ParameterizedTest
    @CsvSource({
        "-c 2, REJECTED, This side has -c 2 -C 10",
        "-C 11, REJECTED, This side has -c 1 -C 11",
        "-S 101, SIZE_REFUSED, This side has messages of 101 bytes"
    })
    void optionsThatDifferAreNamedByBothSidesAtOnce(String line, Cause reason, String text) {
        UcmatoseOptions other = UcmatoseOptions.parse(line, "--timeout", STEP);
        ScenarioException[] failures = new ScenarioException[2];
        LocalRoles roles = new LocalRoles();
        try {
            Running<UcmatoseRoles.Result> server = roles.start("server", device, new UcmatoseRoles.Server(options()));
            int port = Integer.parseInt(server.hear("port", STEP));
            try (LocalRoles others = new LocalRoles()) {
                failures[0] = catchThrowableOfType(
                        ScenarioException.class,
                        () -> others.start("client", device, new UcmatoseRoles.Client(other.and("-p", port)))
                                .join(SCENARIO));
            }
            failures[1] = catchThrowableOfType(ScenarioException.class, () -> server.join(SCENARIO));
        } finally {
            roles.close();
        }

        assertThat(failures[0]).hasMessageStartingWith(text);
        assertThat(failures[0].rdmaCause()).isEqualTo(reason);
        assertThat(failures[1].rdmaCause()).isEqualTo(reason);
    }

    @Test
    void aProgramWithTooManyConnectionsIsRejected() throws Exception {
        try (LocalRoles roles = new LocalRoles()) {
            Running<UcmatoseRoles.Result> server = roles.start(
                    "server",
                    device,
                    new UcmatoseRoles.Server(options().and("--timeout", SHORT, "--first-wait", STEP)));
            try (CProgram client =
                    CProgram.start(STEP, "ucmatose", "-s", address(), "-p", server.hear("port", STEP), "-c", 2)) {
                ScenarioException failure = catchThrowableOfType(ScenarioException.class, () -> server.join(SCENARIO));

                // The program gives its first connection up as well.
                assertThat(failure.rdmaCause()).isEqualTo(Cause.PEER_LOST);
                client.awaitOutput("RDMA_CM_EVENT_REJECTED, error: 28");
            }
        }
    }

    // ---- who is not there, or leaves ----

    @Test
    void aPortThatNobodyListensOnIsAnAbsentPeer() {
        try (EventChannel channel = EventChannel.create();
                CmId bound = channel.createId(PortSpace.TCP)) {
            bound.bind(new InetSocketAddress(device.address(), 0));

            ScenarioException failure = failure(options -> options.and("-p", bound.localPort()));

            assertThat(failure.rdmaCause()).isEqualTo(Cause.PEER_ABSENT);
            assertThat(failure)
                    .hasMessageContaining("Nobody listens at ")
                    .hasMessageContaining("start the server first");
        }
    }

    @Test
    void anAddressWithoutRdmaHasNoRoute() {
        ScenarioException failure = failure(options -> options.and("-p 7471 -s 127.0.0.1"));

        assertThat(failure.rdmaCause()).isEqualTo(Cause.NO_ROUTE);
        assertThat(failure).hasMessageContaining("127.0.0.1");
    }

    @Test
    void anUnknownNameHasNoRoute() {
        ScenarioException failure = failure(options -> options.and("-p 7471 -s nobody.invalid"));

        assertThat(failure.rdmaCause()).isEqualTo(Cause.NO_ROUTE);
        assertThat(failure).hasMessageContaining("nobody.invalid");
    }

    @Test
    void aGidIsAddressedOnInfinibandOnly() {
        ScenarioException failure = failure(
                options -> options.and("-p 7471 -f gid -s", device.gid().gid().toString()));

        assertThat(failure.rdmaCause()).isEqualTo(Cause.UNSUPPORTED);
        assertThat(failure).hasMessageContaining("InfiniBand ports only");
    }

    @Test
    void aServerThatIsKilledInMidTransferIsALostPeer() throws Exception {
        UcmatoseOptions options = options().and("-c 2 -C 10 -p", freePort(), "-b", address());
        // It expects three connections and waits for the last one, so that nothing flows before it is killed.
        try (CProgram server = CProgram.start(STEP, "ucmatose", "-b", address(), "-p", options.port(), "-c", 3);
                LocalRoles roles = new LocalRoles()) {
            Running<UcmatoseRoles.Result> client = roles.start("client", device, context -> {
                try {
                    return connect(server, options);
                } catch (RuntimeException e) {
                    throw e;
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            awaitEstablished(2);
            server.kill();
            ScenarioException failure = catchThrowableOfType(ScenarioException.class, () -> client.join(SCENARIO));

            assertThat(failure.rdmaCause()).isEqualTo(Cause.PEER_LOST);
            assertThat(failure).hasMessageContaining("in mid-transfer");
        }
    }

    private static void awaitEstablished(long connections) {
        long deadline = System.nanoTime() + STEP.toNanos();
        while (readyToSend() < connections) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError(
                        "Not " + connections + " connections after " + STEP + ": " + Ledger.describeLive());
            }
            Thread.yield();
        }
    }

    private static long readyToSend() {
        return Ledger.live().stream()
                .filter(QueuePair.class::isInstance)
                .map(QueuePair.class::cast)
                .filter(UcmatoseIT::isReadyToSend)
                .count();
    }

    private static boolean isReadyToSend(QueuePair queuePair) {
        try {
            return queuePair.state() == QpState.RTS;
        } catch (IllegalStateException e) {
            // Closed in this moment.
            return false;
        }
    }

    @Test
    void aProgramThatExpectsMoreConnectionsEndsTheClientWithinItsTimeout() throws Exception {
        UcmatoseOptions options = options().and("-p", freePort(), "-b", address());
        try (CProgram server = CProgram.start(STEP, "ucmatose", "-b", address(), "-p", options.port(), "-c", 2)) {
            Throwable failure = catchThrowable(() -> connect(server, options.and("--timeout", PATIENCE)));

            assertThat(failure)
                    .isInstanceOf(RdmaTimeoutException.class)
                    .hasMessageContaining("message of the ucmatose peer");
        }
    }

    @Test
    void aProgramWithSmallerMessagesRefusesTheSize() throws Exception {
        UcmatoseOptions options = options().and("-S 200 -p", freePort(), "-b", address());
        try (CProgram server = CProgram.start(STEP, "ucmatose", "-b", address(), "-p", options.port(), "-S", 100)) {
            ScenarioException failure = catchThrowableOfType(ScenarioException.class, () -> connect(server, options));

            assertThat(failure.rdmaCause()).isEqualTo(Cause.SIZE_REFUSED);
            assertThat(failure).hasMessageContaining("same -S");
        }
    }

    @Test
    void aProgramThatTakesFewerConnectionsRejects() throws Exception {
        UcmatoseOptions options = options().and("-c 3 -p", freePort(), "-b", address());
        try (CProgram server = CProgram.start(STEP, "ucmatose", "-b", address(), "-p", options.port(), "-c", 2)) {
            ScenarioException failure = catchThrowableOfType(ScenarioException.class, () -> connect(server, options));

            assertThat(failure.rdmaCause()).isEqualTo(Cause.REJECTED);
            assertThat(failure).hasMessageContaining("same -c");
        }
    }

    // ---- wrong data ----

    @ParameterizedTest
    @CsvSource({"true, RDMA_CM", "false, RDMA_CM", "true, EXTERNAL_QP", "false, EXTERNAL_QP"})
    void aFlippedByteIsFound(boolean byServer, ConnectionMode bringUp) {
        UcmatoseOptions right = options().and("-c 2", bringUp == ConnectionMode.EXTERNAL_QP ? "--external-qp" : "");
        UcmatoseOptions wrong = right.and("--fault flip-payload-byte");

        PayloadMismatchError failure = catchThrowableOfType(
                PayloadMismatchError.class,
                () -> LocalRoles.runPair(
                        device,
                        new UcmatoseRoles.Server(byServer ? wrong : right),
                        new UcmatoseRoles.Client(byServer ? right : wrong),
                        SCENARIO));

        assertThat(failure)
                .hasMessageContaining("connection 1 at the " + (byServer ? "client" : "server"))
                .hasMessageContaining("offset 50");
    }

    // ---- machinery ----

    private String address() {
        return device.address().getHostAddress();
    }

    private int freePort() {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.bind(new InetSocketAddress(device.address(), 0));
            return id.localPort();
        }
    }

    private ScenarioException failure(UnaryOperator<UcmatoseOptions> change) {
        return catchThrowableOfType(ScenarioException.class, () -> {
            try (LocalRoles roles = new LocalRoles()) {
                roles.start("client", device, new UcmatoseRoles.Client(change.apply(options())))
                        .join(SCENARIO);
            }
        });
    }

    /** Not before the program listens: it counts every request that it gets. */
    private UcmatoseRoles.Result connect(CProgram server, UcmatoseOptions options) throws Exception {
        server.awaitListening();
        try (LocalRoles roles = new LocalRoles()) {
            return roles.start("client", device, new UcmatoseRoles.Client(options))
                    .join(SCENARIO);
        }
    }
}
