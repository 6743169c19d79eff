package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.rsocket.RSocket;
import io.rdmatest.scenarios.engine.Payload;
import io.rdmatest.scenarios.engine.PayloadMismatchError;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Operation;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.rping.RpingMessage;
import io.rdmatest.scenarios.rping.RpingOptions;
import io.rdmatest.scenarios.rping.RpingRoles;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import io.rdmatest.scenarios.ucmatose.UcmatoseOptions;
import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.WorkCompletionException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Scenarios on a fabric that is made wrong: the roles themselves must notice, say what is wrong, and leave nothing.
 *
 * <p>The roles are those of the real scenarios. What is wrong is done to them from outside: the messages of a raw
 * connection pass through this test, which may change them, and the ledger gives it the native objects of a role.
 */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "60 s")
class WrongFabricIT {

    private static final Duration STEP = Duration.ofSeconds(15);
    private static final Duration SCENARIO = Duration.ofSeconds(25);

    /** How long the side waits that is let down. */
    private static final Duration PATIENCE = Duration.ofSeconds(3);

    /** More than any device gets through before the test has done its harm. */
    private static final int ENDLESS = 1_000_000_000;

    private static final HexFormat HEX = HexFormat.of();
    private static final int DATA = 6;

    private FabricDevice device;

    @BeforeEach
    void resolve(FabricDevice found) {
        device = found;
    }

    // ---- data ----

    @Test
    void aByteThatChangedInTheServersMemoryIsNamedByTheClientThatReadsIt() {
        int size = 5000;
        int offset = 4321;
        byte right = Payload.at(0, offset);
        PayloadMismatchError wrong = catchThrowableOfType(
                PayloadMismatchError.class,
                () -> runRaw(Operation.READ, size, 5, fromServer -> {
                    remoteMemory(fromServer).bytes().set(ValueLayout.JAVA_BYTE, offset, (byte) (right ^ 0x10));
                    return fromServer;
                }));

        assertThat(wrong)
                .hasMessage(
                        "RDMA READ at the client, message 0: wrong byte at offset %d: expected 0x%02x, actual 0x%02x"
                                .formatted(offset, right & 0xff, (right ^ 0x10) & 0xff));
        assertThat(wrong.offset()).isEqualTo(offset);
        assertThat(wrong.expected()).isEqualTo(right & 0xff);
        assertThat(wrong.actual()).isEqualTo((right ^ 0x10) & 0xff);
    }

    @Test
    void theSameReadWithoutTheChangeSucceeds() {
        assertThat(runRaw(Operation.READ, 5000, 5, fromServer -> fromServer).bytesVerified())
                .isEqualTo(25_000);
    }

    @Test
    void aByteThatChangedInAStreamIsNamedByItsPlaceInTheStream() {
        RstreamOptions options = RstreamOptions.parse("-p 0 -S 1000 -C 2 -T v --timeout", STEP);
        PayloadMismatchError wrong = catchThrowableOfType(
                PayloadMismatchError.class,
                () -> LocalRoles.runPair(device, changingEcho(16 + 1234), new StreamRoles.Client(options), SCENARIO));

        int right = (16 + 1234) & 0xff;
        assertThat(wrong)
                .hasMessage("stream at the client: wrong byte at offset 1250: expected 0x%02x, actual 0x%02x"
                        .formatted(right, right ^ 1));
    }

    /** Sends back what came in, sync and transfers, but for one bit at a place in the stream. */
    private static Role<Boolean> changingEcho(int place) {
        return context -> {
            try (RSocket listener = RSocket.stream();
                    Arena arena = Arena.ofConfined()) {
                listener.bind(new InetSocketAddress(context.device().address(), 0));
                listener.listen(1);
                context.tell(Integer.toString(listener.localAddress().getPort()));
                try (RSocket socket = listener.accept(STEP)) {
                    MemorySegment stream = arena.allocate(16 + 2000);
                    socket.receiveFully(stream.asSlice(0, 16), STEP);
                    socket.sendFully(stream.asSlice(0, 16), STEP);
                    socket.receiveFully(stream.asSlice(16), STEP);
                    byte right = stream.get(ValueLayout.JAVA_BYTE, place);
                    stream.set(ValueLayout.JAVA_BYTE, place, (byte) (right ^ 1));
                    socket.sendFully(stream.asSlice(16), STEP);
                    // Stay until the client has what was sent: its end comes as the end of the stream, or of the role.
                    return socket.receive(stream, STEP) <= 0;
                }
            }
        };
    }

    // ---- queue pairs ----

    @ParameterizedTest
    @EnumSource(names = {"SEND", "WRITE_WITH_IMMEDIATE", "WRITE"})
    void aQueuePairThatBreaksInMidRunIsNamedWithTheFlushedRequest(Operation operation) {
        PingPongRoles.Plan plan = raw(operation, 1000, ENDLESS);
        WorkCompletionException wrong = catchThrowableOfType(WorkCompletionException.class, () -> {
            try (LocalRoles roles = new LocalRoles()) {
                Running<PingPongRoles.Result> server = roles.start("server", device, new PingPongRoles.Server(plan));
                Running<PingPongRoles.Result> client = roles.start("client", device, new PingPongRoles.Client(plan));
                String fromClient = relay(server, client, fromServer -> fromServer);
                queuePair(fromClient).toError();
                client.join(SCENARIO);
            }
        });

        assertThat(wrong).hasMessageContaining("IBV_WC_WR_FLUSH_ERR");
    }

    // ---- silence ----

    @Test
    void anRpingServerThatNeverAnswersEndsTheClientWithinItsTimeout() {
        requireTimeoutAgainstSilence(
                "go-ahead of the rping server after RDMA READ",
                port -> new RpingRoles.Client(rping().and("-p", port, "-C 3")));
    }

    @Test
    void aUcmatoseServerThatNeverSendsEndsTheClientWithinItsTimeout() {
        UcmatoseOptions options = UcmatoseOptions.parse("-C 3 --timeout", PATIENCE);
        requireTimeoutAgainstSilence(
                "message of the ucmatose peer", port -> new UcmatoseRoles.Client(options.and("-p", port)));
    }

    @Test
    void aServerThatNobodyCallsEndsWithinItsTimeout() {
        requireTimeout("connection request", () -> {
            try (LocalRoles roles = new LocalRoles()) {
                roles.start("server", device, new RpingRoles.Server(rping())).join(SCENARIO);
            }
        });
    }

    private static RpingOptions rping() {
        return RpingOptions.parse("-p 0 --timeout", PATIENCE);
    }

    private void requireTimeoutAgainstSilence(String awaited, IntFunction<Role<?>> client) {
        try (LocalRoles roles = new LocalRoles()) {
            // The first server of a JVM takes its time to listen: that is not the silence meant here.
            Running<Boolean> server = roles.start("server", device, new UcmatoseRoles.SilentServer(SCENARIO));
            int port = Integer.parseInt(server.hear("port", STEP));
            requireTimeout(
                    awaited,
                    () -> roles.start("client", device, client.apply(port)).join(SCENARIO));
        }
    }

    private static void requireTimeout(String awaited, Runnable scenario) {
        long start = System.nanoTime();
        Throwable failure = catchThrowable(scenario::run);
        Duration taken = Duration.ofNanos(System.nanoTime() - start);

        assertThat(failure).isInstanceOf(RdmaTimeoutException.class);
        RdmaTimeoutException timeout = (RdmaTimeoutException) failure;
        assertThat(timeout.awaited()).isEqualTo(awaited);
        assertThat(timeout.waited()).isEqualTo(PATIENCE);
        // The timeout is that of one step; connecting comes before it, and taking the connection down after it.
        assertThat(taken).isBetween(PATIENCE, PATIENCE.plus(STEP));
    }

    // ---- keys ----

    @ParameterizedTest
    @EnumSource(names = {"WRITE", "WRITE_WITH_IMMEDIATE", "READ", "FETCH_AND_ADD", "COMPARE_AND_SWAP"})
    void aWrongRemoteKeyIsNamedAsAnAccessError(Operation operation) {
        WorkCompletionException wrong = catchThrowableOfType(
                WorkCompletionException.class,
                () -> runRaw(operation, 8, 5, fromServer -> {
                    RpingMessage right = buffer(fromServer);
                    return with(fromServer, new RpingMessage(right.address(), right.rkey() ^ 0x5500, right.length()));
                }));

        assertThat(wrong).hasMessageContaining("IBV_WC_REM_ACCESS_ERR");
    }

    @Test
    void anAddressBehindTheRemoteMemoryIsNamedAsAnAccessError() {
        WorkCompletionException wrong = catchThrowableOfType(
                WorkCompletionException.class,
                () -> runRaw(Operation.READ, 4096, 5, fromServer -> {
                    RpingMessage right = buffer(fromServer);
                    return with(
                            fromServer,
                            new RpingMessage(right.address() + right.length() - 4095, right.rkey(), right.length()));
                }));

        assertThat(wrong).hasMessageContaining("IBV_WC_REM_ACCESS_ERR");
    }

    // ---- a raw connection through this test ----

    private static PingPongRoles.Plan raw(Operation operation, int size, int iterations) {
        return PingPongRoles.Plan.parse(
                "--operation", operation, "-S", size, "-C", iterations, "--timeout", STEP, "--connection raw");
    }

    /** Runs both sides, with what the server says of itself changed on its way; returns what the client says. */
    private PingPongRoles.Result runRaw(Operation operation, int size, int iterations, UnaryOperator<String> changed) {
        PingPongRoles.Plan plan = raw(operation, size, iterations);
        try (LocalRoles roles = new LocalRoles()) {
            Running<PingPongRoles.Result> server = roles.start("server", device, new PingPongRoles.Server(plan));
            Running<PingPongRoles.Result> client = roles.start("client", device, new PingPongRoles.Client(plan));
            relay(server, client, changed);
            client.tell(server.hear("end of the server", STEP));
            server.tell(client.hear("end of the client", STEP));
            PingPongRoles.Result result = client.join(SCENARIO);
            server.join(SCENARIO);
            return result;
        }
    }

    /** Passes on all that the sides tell each other until they are connected; returns the client's address. */
    private static String relay(Running<?> server, Running<?> client, UnaryOperator<String> changed) {
        String fromServer = server.hear("address of the server", STEP);
        String fromClient = client.hear("address of the client", STEP);
        client.tell(changed.apply(fromServer));
        server.tell(fromClient);
        client.tell(server.hear("readiness of the server", STEP));
        server.tell(client.hear("readiness of the client", STEP));
        return fromClient;
    }

    private static RpingMessage buffer(String address) {
        return RpingMessage.readFrom(MemorySegment.ofArray(HEX.parseHex(address.split(" ", -1)[DATA])));
    }

    private static String with(String address, RpingMessage buffer) {
        String[] fields = address.split(" ", -1);
        fields[DATA] = HEX.formatHex(buffer.toBytes());
        return String.join(" ", fields);
    }

    private static MemoryRegion remoteMemory(String address) {
        RpingMessage wanted = buffer(address);
        return live(MemoryRegion.class).stream()
                .filter(region -> region.address() == wanted.address())
                .findFirst()
                .orElseThrow(() -> new AssertionError("No memory is at " + wanted + ": " + Ledger.describeLive()));
    }

    private static QueuePair queuePair(String address) {
        int number = Integer.parseInt(address.split(" ", -1)[1]);
        return live(QueuePair.class).stream()
                .filter(queuePair -> queuePair.number() == number)
                .findFirst()
                .orElseThrow(() -> new AssertionError("No queue pair is " + number + ": " + Ledger.describeLive()));
    }

    private static <T extends NativeResource> List<T> live(Class<T> kind) {
        return Ledger.live().stream().filter(kind::isInstance).map(kind::cast).toList();
    }
}
