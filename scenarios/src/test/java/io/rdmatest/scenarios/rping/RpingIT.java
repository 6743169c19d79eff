package io.rdmatest.scenarios.rping;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmatest.Cause;
import io.rdmatest.ConnectionMode;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.UnexpectedCmEventException;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.EachOptionLine;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.engine.PayloadMismatchError;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.rping.RpingRoles.ClientResult;
import io.rdmatest.scenarios.rping.RpingRoles.ServerResult;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.WorkCompletionException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Both sides of rping where something is out of the ordinary, against each other and against the C program. */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "120 s")
class RpingIT {

    private static final Duration STEP = Duration.ofSeconds(30);
    private static final Duration SCENARIO = Duration.ofSeconds(60);
    private static final int MANY = 1_000_000_000;

    private FabricDevice device;

    @BeforeEach
    void resolve(FabricDevice found) {
        device = found;
    }

    private static RpingOptions options() {
        return RpingOptions.parse("-p 0 -C 5 -V --timeout", STEP);
    }

    private LocalRoles.Pair<ServerResult, ClientResult> run(RpingOptions server, RpingOptions client) {
        return LocalRoles.runPair(device, new RpingRoles.Server(server), new RpingRoles.Client(client), SCENARIO);
    }

    // ---- options ----

    @ParameterizedTest
    @EachOptionLine({
        "-C 7",
        "-C 7 -V",
        "-C 3 -S 23 -V",
        "-C 3 -S 65535 -V",
        "-C 3 -q -V",
        "-qVC3 -S4096",
        "-v -d -V -C 2 -S 100 --timeout 15s"
    })
    void everyOptionLineDoesWhatItSays(RpingOptions options) {
        List<String> printed = new ArrayList<>();
        List<String> traced = new ArrayList<>();
        var results = LocalRoles.runPair(
                device,
                new RpingRoles.Server(options.and("-p 0")),
                new RpingRoles.Client(options.and("-p 0"), printed::add, traced::add),
                SCENARIO);

        assertThat(results.client().pings()).isEqualTo(options.count());
        assertThat(results.server().pings()).isEqualTo(options.count());
        assertThat(results.client().latencies().getTotalCount()).isEqualTo(options.count());
        assertThat(results.server().bytesVerified()).isEqualTo((long) options.count() * options.sizeBytes());
        assertThat(results.client().bytesVerified())
                .isEqualTo(options.validate() ? (long) options.count() * options.sizeBytes() : 0);
        assertThat(printed).hasSize(options.verbose() ? options.count() : 0);
        if (options.verbose()) {
            assertThat(printed.getLast())
                    .startsWith("ping data: rdma-ping-1: BCDEF")
                    .hasSize(11 + 99);
        }
        assertThat(traced.stream().anyMatch(line -> line.contains("RDMA_CM_EVENT_ESTABLISHED")))
                .isEqualTo(options.debug());
    }

    @Test
    void pingsOfTwoOfOursAreLargerThanTheProgramsAndThanAMessage() {
        int size = 1 << 20;
        RpingOptions two = options().and("-S", size, "-C 2");
        var results = run(two, two);
        assertThat(results.client().bytesVerified()).isEqualTo(2L * size);

        long most = device.portAttributes().maxMessageSize();
        if (most < 32 << 20) {
            // In pieces, for no message is that large.
            int larger = (int) most + 4321;
            RpingOptions one = options().and("-S", larger, "-C 1");
            var pieces = run(one, one);
            assertThat(pieces.client().bytesVerified()).isEqualTo(larger);
            assertThat(pieces.server().bytesVerified()).isEqualTo(larger);
        }
    }

    @Test
    void theServerListensOnAnyIpv6AddressAndTheClientBindsItsOwn() throws Exception {
        InetAddress own = Addresses.find(device, false).orElseThrow();
        var results = run(options().and("-a ::0"), options().and("-a", own, "-I", own));

        assertThat(results.client().pings()).isEqualTo(5);
    }

    @Test
    void aSourceThatIsNoAddressOfThisHostIsRefused() throws Exception {
        InetAddress foreign = InetAddress.getByName("192.0.2.1");
        RdmaException refused = catchThrowableOfType(
                RdmaException.class, () -> run(options(), options().and("-I", foreign)));

        assertThat(refused.errnoName()).isIn("EADDRNOTAVAIL", "ENODEV", "EINVAL");
        assertThat(refused).hasMessageContaining("192.0.2.1");
    }

    // ---- the end ----

    @Test
    void anEndlessClientGoesOnUntilItIsCancelledAndThenSaysHowFarItCame() throws Exception {
        BlockingQueue<String> printed = new LinkedBlockingQueue<>();
        LocalRoles clients = new LocalRoles();
        try (LocalRoles servers = new LocalRoles()) {
            Running<ServerResult> server = servers.start(
                    "server", device, new RpingRoles.Server(options().and("-C 0")));
            RpingOptions endless = options().and("-C 0 -v -p", Integer.parseInt(server.hear("port", STEP)));
            Running<ClientResult> client =
                    clients.start("client", device, new RpingRoles.Client(endless, printed::add, line -> {}));
            awaitPing(printed);
            awaitPing(printed);
            clients.close();

            ClientResult result = client.join(STEP);
            assertThat(result.pings()).isGreaterThanOrEqualTo(2);
            assertThat(result.bytesVerified()).isEqualTo(result.pings() * 64);
            assertThat(server.join(SCENARIO).pings()).isBetween(result.pings(), result.pings() + 1);
        } finally {
            clients.close();
        }
    }

    private static void awaitPing(BlockingQueue<String> printed) throws InterruptedException {
        assertThat(printed.poll(STEP.toSeconds(), TimeUnit.SECONDS)).contains("ping data: rdma-ping-");
    }

    @Test
    void aServerIsToldThatItsClientIsGoneBeforeItWasDone() {
        ScenarioException lost = catchThrowableOfType(
                ScenarioException.class,
                () -> run(options().and("-C 6"), options().and("-C 3")));

        assertThat(lost.rdmaCause()).isEqualTo(Cause.PEER_LOST);
        assertThat(lost).hasMessage("The rping client left after 3 of 6 pings; its own output says why");
    }

    @Test
    void aProgramThatIsKilledInMidTransferIsLostToOurClient() throws Exception {
        BlockingQueue<String> printed = new LinkedBlockingQueue<>();
        try (CProgram program = CProgram.start(STEP, "rping", "-s", "-a", host(), "-p", 20_071)) {
            ScenarioException lost = catchThrowableOfType(ScenarioException.class, () -> {
                try (LocalRoles roles = new LocalRoles()) {
                    Running<ClientResult> client =
                            startWhenListening(roles, options().and("-C", MANY, "-v -p 20071"), printed);
                    awaitPing(printed);
                    program.kill();
                    client.join(SCENARIO);
                }
            });

            assertThat(lost.rdmaCause()).isEqualTo(Cause.PEER_LOST);
            assertThat(lost).hasMessageContaining("The rping server");
        }
    }

    /** Nothing but its answer shows that a program listens. */
    private Running<ClientResult> startWhenListening(
            LocalRoles roles, RpingOptions options, BlockingQueue<String> printed) {
        return roles.start("client", device, context -> {
            long deadline = Deadline.end(STEP);
            while (true) {
                try {
                    return new RpingRoles.Client(options, printed::add, line -> {}).run(context);
                } catch (UnexpectedCmEventException e) {
                    if (!e.got().equals("RDMA_CM_EVENT_REJECTED") || Deadline.isOver(deadline)) {
                        throw e;
                    }
                }
            }
        });
    }

    /**
     * The kernel takes a killed program's memory before its queue pair. A request of the server that comes in between is refused,
     * which is what the server then reports.
     */
    @Test
    void aProgramThatIsKilledInMidTransferIsLostToOurServer() {
        BlockingQueue<String> printed = new LinkedBlockingQueue<>();
        Throwable lost = catchThrowable(() -> {
            try (LocalRoles roles = new LocalRoles()) {
                Running<ServerResult> server = roles.start(
                        "server",
                        device,
                        new RpingRoles.Server(options().and("-C", MANY, "-v"), printed::add, line -> {}));
                try (CProgram program =
                        CProgram.start(STEP, "rping", "-c", "-a", host(), "-p", server.hear("port", STEP))) {
                    awaitPing(printed);
                    program.kill();
                    server.join(SCENARIO);
                }
            }
        });

        assertThat(Cause.of(lost)).as("%s", lost).isIn(Cause.PEER_LOST, Cause.REMOTE_ACCESS);
        if (Cause.of(lost) == Cause.PEER_LOST) {
            assertThat(lost).hasMessageContaining("The rping client");
        }
    }

    @Test
    void aPortThatNobodyListensOnIsRefusedAtOnce() {
        UnexpectedCmEventException refused = catchThrowableOfType(UnexpectedCmEventException.class, () -> {
            try (LocalRoles roles = new LocalRoles()) {
                roles.start("client", device, new RpingRoles.Client(options().and("-p 20072")))
                        .join(SCENARIO);
            }
        });

        assertThat(refused.got()).isEqualTo("RDMA_CM_EVENT_REJECTED");
        assertThat(refused.status()).isEqualTo(8);
    }

    // ---- sizes ----

    @Test
    void aServerOfOursSaysWhichSizeItTakes() {
        try (LocalRoles servers = new LocalRoles()) {
            Running<ServerResult> server = servers.start(
                    "server", device, new RpingRoles.Server(options().and("-S 500")));
            int port = Integer.parseInt(server.hear("port", STEP));
            ScenarioException refused = catchThrowableOfType(ScenarioException.class, () -> {
                try (LocalRoles clients = new LocalRoles()) {
                    clients.start(
                                    "client",
                                    device,
                                    new RpingRoles.Client(options().and("-p", port, "-S 1000")))
                            .join(SCENARIO);
                }
            });
            ScenarioException refusing = catchThrowableOfType(ScenarioException.class, () -> server.join(SCENARIO));

            assertThat(refused.rdmaCause()).isEqualTo(Cause.SIZE_REFUSED);
            assertThat(refused).hasMessageContaining("at most 500 bytes, not 1000");
            assertThat(refusing.rdmaCause()).isEqualTo(Cause.SIZE_REFUSED);
        }
    }

    @Test
    void aProgramThatTakesLessCutsUsOffAtTheFirstPing() throws Exception {
        try (CProgram program = CProgram.start(STEP, "rping", "-s", "-a", host(), "-p", 20_073, "-S", 100)) {
            ScenarioException refused = catchThrowableOfType(ScenarioException.class, () -> {
                try (LocalRoles roles = new LocalRoles()) {
                    startWhenListening(roles, options().and("-p 20073 -S 4096"), new LinkedBlockingQueue<>())
                            .join(SCENARIO);
                }
            });

            assertThat(refused.rdmaCause()).as(program.describe()).isEqualTo(Cause.SIZE_REFUSED);
            assertThat(refused).hasMessageContaining("-S 4096");
        }
    }

    @Test
    void aProgramThatWantsMoreIsCutOffAtItsFirstPing() {
        ScenarioException refused = catchThrowableOfType(ScenarioException.class, () -> {
            try (LocalRoles roles = new LocalRoles()) {
                Running<ServerResult> server = roles.start(
                        "server", device, new RpingRoles.Server(options().and("-S 100")));
                try (CProgram program = CProgram.start(
                        STEP, "rping", "-c", "-a", host(), "-p", server.hear("port", STEP), "-S", 4096)) {
                    server.join(SCENARIO);
                }
            }
        });

        assertThat(refused.rdmaCause()).isEqualTo(Cause.SIZE_REFUSED);
        assertThat(refused).hasMessageContaining("4096").hasMessageContaining("100");
    }

    // ---- faults ----

    @ParameterizedTest
    @EnumSource(names = {"RDMA_CM", "EXTERNAL_QP"})
    void aByteThatOurClientDamagesIsFoundByOurServer(ConnectionMode bringUp) {
        PayloadMismatchError found = catchThrowableOfType(
                PayloadMismatchError.class,
                () -> run(
                        options().and(bringUp == ConnectionMode.EXTERNAL_QP ? "-q" : ""),
                        options().and(bringUp == ConnectionMode.EXTERNAL_QP ? "-q" : "", "--fault flip-payload-byte")));

        assertThat(found).hasMessageContaining("server after RDMA READ, ping 2: wrong byte at offset 32");
    }

    @ParameterizedTest
    @EnumSource(names = {"RDMA_CM", "EXTERNAL_QP"})
    void aByteThatOurServerDamagesIsFoundByOurClient(ConnectionMode bringUp) {
        PayloadMismatchError found = catchThrowableOfType(
                PayloadMismatchError.class,
                () -> run(
                        options().and(bringUp == ConnectionMode.EXTERNAL_QP ? "-q" : "", "--fault flip-payload-byte"),
                        options().and(bringUp == ConnectionMode.EXTERNAL_QP ? "-q" : "")));

        assertThat(found).hasMessageContaining("client after RDMA WRITE, ping 2: wrong byte at offset 32");
    }

    // ---- many clients ----

    @Test
    void aPersistentServerServesManyClientsAtOnceWhateverSomeOfThemDo() throws Exception {
        int good = 8;
        int pings = 30;
        LocalRoles servers = new LocalRoles();
        Running<ServerResult> server =
                servers.start("server", device, new RpingRoles.Server(options().and("-C 0 -P")));
        try {
            int port = Integer.parseInt(server.hear("port", STEP));
            try (LocalRoles clients = new LocalRoles()) {
                List<Running<ClientResult>> running = new ArrayList<>();
                for (int i = 0; i < good; i++) {
                    running.add(clients.start(
                            "client-" + i,
                            device,
                            new RpingRoles.Client(options().and("-p", port, "-C", pings))));
                }
                misbehave(port);
                for (Running<ClientResult> client : running) {
                    assertThat(client.join(SCENARIO).bytesVerified()).isEqualTo(pings * 64L);
                }
            }
            // And then it still serves.
            try (LocalRoles clients = new LocalRoles()) {
                ClientResult last = clients.start(
                                "client",
                                device,
                                new RpingRoles.Client(options().and("-p", port)))
                        .join(SCENARIO);
                assertThat(last.pings()).isEqualTo(5);
            }
        } finally {
            servers.close();
        }

        ServerResult result = server.join(STEP);
        assertThat(result.failures())
                .anyMatch(text -> text.contains("has 8 bytes instead of 16"))
                .anyMatch(text -> text.contains("wants pings of 65 bytes, this server's -S takes at most 64"))
                .anyMatch(text -> text.contains("advertised 22 bytes"))
                .anyMatch(text -> text.contains("IBV_WC_REM_ACCESS_ERR"))
                .anyMatch(text -> text.contains("left in the middle of ping 0"))
                .anyMatch(text -> text.contains("wrong byte at offset 32"))
                .anyMatch(text -> text.contains("wants pings of 1000 bytes"))
                // A client that is killed between two pings is one that has gone.
                .hasSizeBetween(7, 8);
        assertThat(result.failedClients()).isEqualTo(result.failures().size());
        assertThat(result.clients()).isEqualTo(good + 9);
        assertThat(result.pings()).isGreaterThanOrEqualTo((long) good * pings + 5);
    }

    /** One after the other while the good ones ping. */
    private void misbehave(int port) throws Exception {
        misbehave(port, (link, data) -> link.link().queuePair().postSend(9, data, 0, 8, RpingLink.SIGNALED));
        misbehave(port, (link, data) -> advertise(link, data, data.rkey(), 65));
        misbehave(port, (link, data) -> advertise(link, data, data.rkey(), 22));
        misbehave(port, (link, data) -> advertise(link, data, data.rkey() ^ 0x5500, 64));
        misbehave(port, (link, data) -> {
            RpingPattern.fill(data.bytes().asSlice(0, 64), 0);
            advertise(link, data, data.rkey(), 64);
            link.awaitMessage("go-ahead of the rping server");
            link.link().leave();
        });
        expectFailure(options().and("-p", port, "-C 1 --fault flip-payload-byte"));
        expectFailure(options().and("-p", port, "-S 1000"));
        try (CProgram program = CProgram.start(STEP, "rping", "-c", "-v", "-a", host(), "-p", port)) {
            program.awaitOutput("rdma-ping-0: ");
            program.kill();
        }
    }

    private static void advertise(RpingLink link, MemoryRegion data, int rkey, int length) {
        RpingMessage.write(link.outgoing(), data.address(), rkey, length);
        link.postMessage();
    }

    private interface Misdeed {
        void commit(RpingLink link, MemoryRegion data);
    }

    /** Connects as the C program does, does something wrong, and stays until the server ends the connection. */
    private void misbehave(int port, Misdeed misdeed) {
        Role<Boolean> role = context -> {
            RpingLink[] messages = new RpingLink[1];
            MemoryRegion[] data = new MemoryRegion[1];
            try (RcLink link = RcLink.connect(
                    context,
                    RcLink.Spec.rping(ConnectionMode.RDMA_CM, STEP),
                    null,
                    new InetSocketAddress(context.device().address(), port),
                    prepared -> {
                        data[0] = RpingLink.data(prepared, 128);
                        messages[0] = new RpingLink(prepared, "client");
                        return new byte[0];
                    })) {
                misdeed.commit(messages[0], data[0]);
                try {
                    return !link.progress().awaitReceiveOrEnd("end of the connection");
                } catch (WorkCompletionException e) {
                    // A wrong key breaks the queue pair of the side that has the memory.
                    link.awaitDisconnected();
                    return true;
                }
            }
        };
        try (LocalRoles roles = new LocalRoles()) {
            assertThat(roles.start("bad-client", device, role).join(SCENARIO)).isTrue();
        }
    }

    private void expectFailure(RpingOptions options) {
        Throwable failure = catchThrowable(() -> {
            try (LocalRoles roles = new LocalRoles()) {
                roles.start("bad-client", device, new RpingRoles.Client(options))
                        .join(SCENARIO);
            }
        });
        assertThat(failure).isInstanceOf(ScenarioException.class);
    }

    @Test
    void moreClientsThanThePersistentServerMayServeAreRejectedWithTheReason() throws Exception {
        BlockingQueue<String> printed = new LinkedBlockingQueue<>();
        Consumer<String> nobody = line -> {};
        LocalRoles servers = new LocalRoles();
        Running<ServerResult> server =
                servers.start("server", device, new RpingRoles.Server(options().and("-C 0 -P --clients 1")));
        try {
            RpingOptions client = options().and("-p", Integer.parseInt(server.hear("port", STEP)));
            try (LocalRoles first = new LocalRoles()) {
                Running<ClientResult> ignored = first.start(
                        "first", device, new RpingRoles.Client(client.and("-C 0 -v"), printed::add, nobody));
                awaitPing(printed);
                ScenarioException rejected = catchThrowableOfType(ScenarioException.class, () -> {
                    try (LocalRoles second = new LocalRoles()) {
                        second.start("second", device, new RpingRoles.Client(client))
                                .join(SCENARIO);
                    }
                });
                assertThat(rejected.rdmaCause()).isEqualTo(Cause.REJECTED);
                assertThat(rejected).hasMessageContaining("as many clients as it may");
            }
        } finally {
            servers.close();
        }
        assertThat(server.join(STEP).failures()).singleElement().asString().contains("1 clients are being served");
    }

    private String host() {
        return device.address().getHostAddress();
    }
}
