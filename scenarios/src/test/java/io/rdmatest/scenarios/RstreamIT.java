package io.rdmatest.scenarios;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmatest.Cause;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.cli.Rdmatest;
import io.rdmatest.scenarios.cprogram.CProgram;
import io.rdmatest.scenarios.engine.PayloadMismatchError;
import io.rdmatest.scenarios.options.Addresses;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.rstream.RstreamOptions;
import io.rdmatest.scenarios.rstream.StreamRoles;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.opentest4j.TestAbortedException;

/** What can go wrong with rstream, and that each case ends by itself, says so, and leaves nothing. */
@ExclusiveDevice
@IgnoreCounters
@RdmaTest(timeout = "120 s")
class RstreamIT {

    private static final Duration STEP = Duration.ofSeconds(15);
    private static final Duration SCENARIO = Duration.ofSeconds(40);

    /** How long a side waits that is let down. */
    private static final String IMPATIENT = " --timeout 3s";

    /** Below the ephemeral range, and none that another test uses. */
    private static final int PORT = 20_070;

    private FabricDevice device;

    @BeforeEach
    void resolve(FabricDevice found) {
        device = found;
    }

    /** Options of a side that finds the other through the roles' messages. */
    private static RstreamOptions options(String line) {
        RstreamOptions options = RstreamOptions.parse("--timeout 30s", line);
        return options.and("-p 0 --on-device");
    }

    private LocalRoles.Pair<StreamRoles.Result, StreamRoles.Result> run(RstreamOptions server, RstreamOptions client) {
        // The first roles of a JVM take their time to begin, however impatient they are then.
        return LocalRoles.runPair(
                device,
                new StreamRoles.Server(server.and("--first-wait", SCENARIO)),
                new StreamRoles.Client(client.and("--first-wait", SCENARIO)),
                SCENARIO.plus(STEP));
    }

    // ---- wrong data ----

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-T v -S 1000 -C 7 -I 3",
                "-T v -S 1 -C 9",
                "-T v -T b -S 100000 -C 3",
                "-T v -T a -S 3000 -C 3",
                "-T v -T s -S 3000 -C 3",
                "-T v -T f -S 3000 -C 3",
                "-T v --scale 0.0002",
                "-T v -T s --scale 0.0002"
            })
    void aFlippedBitFailsTheRunInEveryModeAndSuite(String line) {
        RstreamOptions right = options(line);
        RstreamOptions wrong = right.and("--fault flip-payload-byte");

        assertThat(catchThrowable(() -> run(right, wrong)))
                .isInstanceOf(PayloadMismatchError.class)
                .hasMessageContaining("stream at the server: wrong byte");
        assertThat(catchThrowable(() -> run(wrong, right)))
                .isInstanceOf(PayloadMismatchError.class)
                .hasMessageContaining("stream at the client: wrong byte");
    }

    @Test
    void aPeerThatDoesNotVerifyIsNamedAtTheFirstByte() {
        Throwable failure =
                catchThrowable(() -> run(options("-T v -S 100 -C 2" + IMPATIENT), options("-S 100 -C 2" + IMPATIENT)));
        assertThat(failure)
                .isInstanceOf(PayloadMismatchError.class)
                .hasMessageContaining("wrong byte at offset 1:")
                .hasMessageContaining("-T v");
    }

    // ---- unequal plans ----

    @ParameterizedTest
    @ValueSource(strings = {"-T v -S 1000 -C 5|-T v -S 1000 -C 9", "-T s -S 1000 -C 5|-T s -S 1000 -C 9"})
    void aClientThatSendsMoreThanTheServersPlanIsNoticed(String lines) {
        int bar = lines.indexOf('|');
        Throwable failure = catchThrowable(
                () -> run(options(lines.substring(0, bar) + IMPATIENT), options(lines.substring(bar + 1) + IMPATIENT)));
        // Either the server finds bytes left over, or the client misses the rest of its answer first.
        if (failure instanceof ScenarioException lost) {
            assertThat(lost.rdmaCause()).isEqualTo(Cause.PEER_LOST);
        } else {
            assertThat(failure)
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("sent more than the expected 5016 bytes");
        }
    }

    @Test
    void aClientThatSendsLessThanTheServersPlanIsNoticed() {
        ScenarioException failure = catchThrowableOfType(
                ScenarioException.class,
                () -> run(options("-T v -S 1000 -C 9" + IMPATIENT), options("-T v -S 1000 -C 5")));
        assertThat(failure.rdmaCause()).isEqualTo(Cause.PEER_LOST);
        // The server's own, unless the client was faster to say that the server, which gave up, is gone.
        assertThat(Stream.concat(Stream.of(failure), Stream.of(failure.getSuppressed())))
                .anySatisfy(each -> assertThat(each)
                        .hasMessageContaining("-S, -C or -I")
                        .hasMessageContaining("sent nothing for 3000 ms"));
    }

    // ---- nobody there ----

    @ParameterizedTest
    @ValueSource(strings = {"", "-T s", "-T a"})
    void aServerThatNobodyCallsSaysSo(String line) {
        ScenarioException failure = catchThrowableOfType(ScenarioException.class, () -> {
            try (LocalRoles roles = new LocalRoles()) {
                roles.start("server", device, new StreamRoles.Server(options(line + IMPATIENT)))
                        .join(SCENARIO);
            }
        });
        assertThat(failure.rdmaCause()).isEqualTo(Cause.PEER_ABSENT);
        assertThat(failure).hasMessageContaining("within 3000 ms");
    }

    @Test
    void aPortWithoutListenerIsNamed() {
        String address = device.address().getHostAddress();
        Throwable rsocket = catchThrowable(
                () -> alone(new StreamRoles.Client(options("-C 1").and("-s", address, "-p", PORT))));
        assertThat(rsocket)
                .isInstanceOfSatisfying(
                        ScenarioException.class, e -> assertThat(e.rdmaCause()).isEqualTo(Cause.PEER_ABSENT));
        Throwable tcp = catchThrowable(
                () -> alone(new StreamRoles.Client(options("-C 1 -T s").and("-s", address, "-p", PORT))));
        assertThat(tcp)
                .isInstanceOfSatisfying(
                        ScenarioException.class, e -> assertThat(e.rdmaCause()).isEqualTo(Cause.PEER_ABSENT));
    }

    @Test
    void aNameThatIsNoneOrNoNumberIsNamed() {
        assertThat(catchThrowable(
                        () -> alone(new StreamRoles.Client(options("-C 1 -f ip").and("-s localhost -p", PORT)))))
                .isInstanceOf(ScenarioException.class)
                .hasMessageContaining("not a numeric IP address");
        assertThat(catchThrowable(() ->
                        alone(new StreamRoles.Client(options("-C 1 -f ipv6").and("-s 127.0.0.1 -p", PORT)))))
                .isInstanceOf(ScenarioException.class)
                .hasMessageContaining("not a numeric IPv6 address");
    }

    private <R> R alone(Role<R> role) {
        try (LocalRoles roles = new LocalRoles()) {
            return roles.start("alone", device, role).join(SCENARIO);
        }
    }

    // ---- death ----

    /** Counts how far a role has come, by how often it asks whether to go on. */
    private final class Watched implements RoleContext {

        private final CompletableFuture<String> port = new CompletableFuture<>();
        private final CountDownLatch looks = new CountDownLatch(300);
        private final AtomicBoolean cancelled = new AtomicBoolean();

        @Override
        public FabricDevice device() {
            return device;
        }

        @Override
        public void tell(String message) {
            boolean ignored = port.complete(message);
        }

        @Override
        public String hear(String what, Duration timeout) {
            throw new AssertionError(what);
        }

        @Override
        public boolean isCancelled() {
            looks.countDown();
            return cancelled.get();
        }

        String port() throws Exception {
            return port.get(STEP.toSeconds(), TimeUnit.SECONDS);
        }

        void awaitMidTransfer() throws InterruptedException {
            assertThat(looks.await(STEP.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }

        /** Runs a role on a thread of its own. */
        <R> CompletableFuture<R> start(Role<R> role) {
            CompletableFuture<R> result = new CompletableFuture<>();
            Thread.ofPlatform().daemon().name("rdma-role-watched").start(() -> {
                try {
                    boolean ignored = result.complete(role.run(this));
                } catch (Throwable e) {
                    boolean ignored = result.completeExceptionally(e);
                }
            });
            return result;
        }
    }

    private static Throwable failure(CompletableFuture<?> role) {
        Throwable wrapped = catchThrowable(() -> role.get(SCENARIO.toSeconds(), TimeUnit.SECONDS));
        return wrapped.getCause() == null ? wrapped : wrapped.getCause();
    }

    @ParameterizedTest
    @ValueSource(strings = {"-T v", "-T v -T b", "-T v -T a", "-T v -T s"})
    void aClientThatIsKilledInMidTransferIsLost(String mode) throws Exception {
        Watched context = new Watched();
        CompletableFuture<StreamRoles.Result> server =
                context.start(new StreamRoles.Server(options(mode + " -S 2000 -C 1000000")));
        String address = device.address().getHostAddress();
        try (CProgram client = CProgram.start(
                STEP, "rstream", words("-s " + address + " -p " + context.port() + " -S 2000 -C 1000000 " + mode))) {
            context.awaitMidTransfer();
            client.kill();
            assertThat(failure(server))
                    .isInstanceOfSatisfying(
                            ScenarioException.class,
                            e -> assertThat(e.rdmaCause()).isEqualTo(Cause.PEER_LOST));
        } finally {
            context.cancelled.set(true);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"-T v", "-T v -T a", "-T v -T s"})
    void aServerThatIsKilledInMidTransferIsLost(String mode) throws Exception {
        Watched context = new Watched();
        String address = device.address().getHostAddress();
        int port = PORT + 1 + mode.length();
        try (CProgram server = CProgram.start(
                STEP, "rstream", words("-b " + address + " -p " + port + " -S 2000 -C 1000000 " + mode))) {
            server.awaitListening();
            CompletableFuture<StreamRoles.Result> client = context.start(
                    new StreamRoles.Client(options(mode + " -S 2000 -C 1000000").and("-s", address, "-p", port)));
            context.awaitMidTransfer();
            server.kill();
            assertThat(failure(client))
                    .isInstanceOfSatisfying(
                            ScenarioException.class,
                            e -> assertThat(e.rdmaCause()).isEqualTo(Cause.PEER_LOST));
        } finally {
            context.cancelled.set(true);
        }
    }

    private static Object[] words(String line) {
        return line.split(" ");
    }

    // ---- many clients ----

    @Test
    void aBadClientDoesNotEndAServerOfManyNorItsOtherClients() throws Exception {
        Watched context = new Watched();
        RstreamOptions good = options("-T v -S 3000 -C 5");
        CompletableFuture<StreamRoles.Result> server = context.start(new StreamRoles.Server(good.and("--clients 0")));
        RstreamOptions client = good.and("-p", Integer.parseInt(context.port()));
        try (LocalRoles roles = new LocalRoles()) {
            Running<StreamRoles.Result> bad =
                    roles.start("bad", device, new StreamRoles.Client(client.and("--fault flip-payload-byte")));
            assertThat(catchThrowable(() -> bad.join(SCENARIO))).isInstanceOf(ScenarioException.class);
        }
        assertThat(alone(new StreamRoles.Client(client)).bytesVerified()).isEqualTo(15_016);
        context.cancelled.set(true);

        StreamRoles.Result result = server.get(SCENARIO.toSeconds(), TimeUnit.SECONDS);
        assertThat(result.connections()).isEqualTo(1);
        assertThat(result.bytesVerified()).isEqualTo(15_016);
        assertThat(result.failures()).singleElement().asString().contains("wrong byte");
    }

    @Test
    void aClientThatFailsFailsAServerOfACertainNumber() {
        RstreamOptions options = options("-T v -S 3000 -C 5");
        Throwable failure = catchThrowable(() -> {
            try (LocalRoles roles = new LocalRoles()) {
                Running<StreamRoles.Result> server =
                        roles.start("server", device, new StreamRoles.Server(options.and("--clients 2")));
                RstreamOptions client = options.and("-p", Integer.parseInt(server.hear("port", STEP)));
                Thread wrong = Thread.ofPlatform().daemon().start(() -> {
                    Throwable ignored = catchThrowable(
                            () -> alone(new StreamRoles.Client(client.and("--fault flip-payload-byte"))));
                });
                assertThat(alone(new StreamRoles.Client(client)).bytesVerified())
                        .isEqualTo(15_016);
                assertThat(wrong.join(SCENARIO)).isTrue();
                server.join(SCENARIO);
            }
        });
        assertThat(failure).isInstanceOf(PayloadMismatchError.class);
    }

    @Test
    void theProgramsForkingServerServesOurClient() throws Exception {
        String address = device.address().getHostAddress();
        int port = PORT + 40;
        try (CProgram server =
                CProgram.start(STEP, "rstream", words("-b " + address + " -p " + port + " -S 4000 -C 20 -T f -T v"))) {
            server.awaitListening();
            assertThat(alone(new StreamRoles.Client(
                                    options("-S 4000 -C 20 -T s -T v").and("-s", address, "-p", port)))
                            .bytesVerified())
                    .isEqualTo(80_016);
            assertThat(server.awaitEnd()).as(server.describe()).isZero();
        }
    }

    @Test
    void ourForkingServerServesThePrograms() throws Exception {
        try (LocalRoles roles = new LocalRoles()) {
            Running<StreamRoles.Result> server = roles.start(
                    "server", device, new StreamRoles.Server(options("-S 4000 -C 20 -T f -T v --clients 3")));
            String to = "-s " + device.address().getHostAddress() + " -p " + server.hear("port", STEP)
                    + " -S 4000 -C 20 -T s -T v";
            try (CProgram first = CProgram.start(STEP, "rstream", words(to));
                    CProgram second = CProgram.start(STEP, "rstream", words(to));
                    CProgram third = CProgram.start(STEP, "rstream", words(to))) {
                assertThat(server.join(SCENARIO).bytesVerified()).isEqualTo(3 * 80_016);
                first.awaitSuccess();
                second.awaitSuccess();
                third.awaitSuccess();
            }
        }
    }

    // ---- addresses ----

    @ParameterizedTest
    @ValueSource(
            strings = {"-f ipv6 -T v -S 100 -C 3", "-f ipv6 -T v -T r -S 100 -C 3", "-f ipv6 -T v -T s -S 100 -C 3"})
    void ipv6WorksInFigures(String line) {
        InetAddress address = Addresses.find(device, false)
                .orElseThrow(() -> new TestAbortedException(io.rdmatest.SkipReason.UNSUPPORTED_BY_DEVICE.because(
                        "its network interface has no routable IPv6 address")));
        String figures = address.getHostAddress().replaceFirst("%.*", "");
        RstreamOptions options = options(line).and("--on-device=false");
        assertThat(run(options.and("-b", figures), options.and("-s", figures))
                        .client()
                        .bytesVerified())
                .isEqualTo(316);
    }

    @Test
    void theLibraryResolvesAddresses() {
        RstreamOptions options = options("-T r -T v -S 100 -C 3");
        assertThat(run(options, options).client().bytesVerified()).isEqualTo(316);
    }

    // ---- the command ----

    @Test
    void theCommandPrintsTheProgramsColumns() throws Exception {
        String address = device.address().getHostAddress();
        String port = Integer.toString(PORT + 50);
        StringWriter printed = new StringWriter();
        StringWriter complaints = new StringWriter();
        try (CProgram server =
                CProgram.start(STEP, "rstream", words("-b " + address + " -p " + port + " -S 500 -C 4 -I 2 -T v"))) {
            server.awaitListening();
            int status = Rdmatest.execute(
                    new PrintWriter(printed, true),
                    new PrintWriter(complaints, true),
                    ("rstream -s " + address + " -p " + port + " -S 500 -C 4 -I 2 -T v --timeout 15s").split(" "));
            assertThat(status).as(complaints.toString()).isZero();
            assertThat(server.awaitEnd()).as(server.describe()).isZero();
        }
        assertThat(printed.toString())
                .startsWith("verified: 1 test over rsockets, 4016 bytes received, 4016 compared")
                .contains("name      bytes   xfers   iters   total       time     Gb/sec    usec/xfer")
                .contains("\ncustom    500     4       2       7.8k ");
    }

    @Test
    void theCommandTellsAnAbsentServer() {
        StringWriter complaints = new StringWriter();
        int status = Rdmatest.execute(
                new PrintWriter(new StringWriter()),
                new PrintWriter(complaints, true),
                "rstream",
                "-s",
                device.address().getHostAddress(),
                "-p",
                Integer.toString(PORT));
        assertThat(status).as(complaints.toString()).isEqualTo(4);
    }
}
