package io.rdmatest.walk;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.DeviceUnderTest;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.WholeLedger;
import io.rdmatest.loopback.Interposer;
import io.rdmatest.verbs.DeviceCapabilities;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.QpType;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Walks at random over the public API, with valid and invalid calls on several threads, and holds a model against the
 * device. The walk is the same for the same seed as far as the threads' order allows.
 *
 * <p>{@code rdma.walk.seed}, {@code rdma.walk.operations} and {@code rdma.walk.threads} change it. The journal of the
 * last operations survives a crash of the JVM.
 */
@Tag("soak")
@Timeout(value = 20, unit = TimeUnit.MINUTES)
@WholeLedger
class RandomWalkIT {

    private static final int PORT = DeviceUnderTest.port();
    private static final int ROUNDS = 8;
    /** After each reset, threads wait for streams and connections until their deadlines. */
    private static final int ROUNDS_WITH_RESET = 3;

    private static final long PATIENCE_SECONDS = 300;

    static List<Long> seeds() {
        return Arrays.stream(System.getProperty("rdma.walk.seed", "1").split(","))
                .map(Long::valueOf)
                .toList();
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void noSequenceOfCallsCrashesOrDivergesFromTheModel(long seed, TestReporter reporter) throws Exception {
        walk(seed, Long.getLong("rdma.walk.operations", 210_000), Path.of("target"), false, reporter);
    }

    /**
     * Walks, and compares what is left.
     *
     * @param folder where the journal is put
     * @param reset whether the device is reset in the middle of each round, by the interposer
     */
    static void walk(long seed, long operations, Path folder, boolean reset, TestReporter reporter) throws Exception {
        int threads = Integer.getInteger("rdma.walk.threads", 4);
        Path file = folder.resolve("random-walk-" + seed + ".journal");
        try (Journal journal = Journal.create(file)) {
            System.out.println("random walk: seed " + seed + ", " + operations + " operations, " + threads
                    + " threads, journal " + journal.file());
            Walk walk = new Walk(seed, journal);
            assertThat(Ledger.live()).isEmpty();
            KernelObjects before = KernelObjects.now();
            long begin = System.nanoTime();
            int rounds = reset ? ROUNDS_WITH_RESET : ROUNDS;
            for (int round = 0; round < rounds; round++) {
                long until = operations * (round + 1) / rounds;
                long middle = reset ? until - operations / rounds / 2 : Long.MAX_VALUE;
                round(walk, round, middle, until, threads);
            }
            long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin);
            System.out.println(walk.summary());
            System.out.println("random walk: " + walk.operations() + " operations in " + seconds + " s, seed " + seed);
            reporter.publishEntry("rdma.walk.operations", Long.toString(walk.operations()));
            reporter.publishEntry("rdma.walk.seed", Long.toString(seed));
            // A reset ends a round early.
            assertThat(walk.operations()).isGreaterThanOrEqualTo(reset ? operations / 2 : operations);
            assertThat(Ledger.live()).as(Ledger.describeLive()).isEmpty();
            assertThat(KernelObjects.now()).isEqualTo(before);
        } finally {
            closeWhatADivergenceLeft();
        }
    }

    private static void round(Walk walk, int round, long middle, long until, int threads) throws InterruptedException {
        AtomicBoolean reset = new AtomicBoolean();
        Walker main = new Walker(walk, "main", walk.seed * 31 + round);
        DeviceContext context =
                main.made("open()", () -> DeviceUnderTest.device().open());
        List<GidEntry> table = main.ok("gidTable(" + PORT + ")", () -> context.gidTable(PORT));
        GidEntry gid = DeviceUnderTest.gid(table, true);
        // They make queue pairs of their own to find out: once is enough.
        DeviceCapabilities abilities = main.ok("capabilities()", () -> context.capabilities());
        assertThat(main.ok("lack(ATOMICS)", () -> abilities.lack(DeviceCapability.ATOMICS))
                        .isEmpty())
                .isEqualTo(abilities.has(DeviceCapability.ATOMICS));
        assertThat(main.ok("probeMaxInline(RC)", () -> context.probeMaxInline(QpType.RC)))
                .isPositive();
        Commons commons = new Commons(context, gid);
        CountDownLatch walked = new CountDownLatch(threads);
        CountDownLatch compared = new CountDownLatch(1);
        List<Thread> running = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Walker walker = new Walker(walk, "t" + i, (walk.seed * 1000 + round) * 100 + i);
            running.add(Thread.ofPlatform().name("walker-" + i).start(() -> {
                try {
                    Island island = new Island(walker, context, gid);
                    Connections connections = new Connections(walker, gid);
                    Sockets sockets = new Sockets(walker, gid);
                    Streams streams = new Streams(walker, context, gid);
                    while (walk.operations() < until && !walk.stopped()) {
                        if (walk.operations() >= middle && reset.compareAndSet(false, true)) {
                            walk.reset();
                            Interposer.reset();
                        }
                        if (walker.chance(4000)) {
                            walk.connecting(
                                    switch (walker.below(8)) {
                                        // rsockets do not notice the reset, and rclose(3) waits over a minute for a
                                        // peer.
                                        case 0 -> middle == Long.MAX_VALUE ? sockets::step : streams::step;
                                        case 1 -> streams::step;
                                        default -> connections::step;
                                    });
                        } else if (walker.chance(20)) {
                            commons.step(walker);
                        } else {
                            island.step();
                        }
                    }
                    if (!walk.stopped()) {
                        island.settle();
                    }
                    walked.countDown();
                    boolean ignored = compared.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
                    if (!walk.stopped()) {
                        island.close();
                    }
                } catch (Divergence e) {
                    // Noted already, or brought about by the reset.
                } catch (Throwable e) {
                    Divergence ignored = walk.diverged("the walker itself failed: " + e, e);
                } finally {
                    walked.countDown();
                }
            }));
        }
        boolean all = walked.await(PATIENCE_SECONDS, TimeUnit.SECONDS);
        if (!all) {
            throw walk.diverged("a call does not return: " + stacks(running), null);
        }
        try {
            walk.requireNoDivergence();
            if (!reset.get()) {
                walk.requireLedgerAsModelled("round " + round);
            }
        } finally {
            compared.countDown();
            for (Thread thread : running) {
                thread.join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
            }
        }
        walk.requireNoDivergence();
        if (reset.get()) {
            closeAfterReset(walk);
            Interposer.recover();
            walk.recovered();
        } else {
            commons.close(main);
            main.close(context);
        }
        walk.requireLedgerAsModelled("end of round " + round);
        assertThat(Ledger.live()).as(Ledger.describeLive()).isEmpty();
    }

    /** Each object is closed at the first attempt, once nothing is built on it any more. */
    private static void closeAfterReset(Walk walk) {
        System.out.println("random walk: closing " + Ledger.live().size() + " objects after the reset");
        for (List<NativeResource> live = Ledger.live(); !live.isEmpty(); live = Ledger.live()) {
            List<NativeResource> leaves = live.reversed().stream()
                    .filter(resource -> resource.children().isEmpty())
                    .toList();
            assertThat(leaves).as(Ledger.describeLive()).isNotEmpty();
            leaves.forEach(NativeResource::close);
        }
        walk.forgetWhatIsClosed();
    }

    /** So that the tests after this one do not fail for it. */
    private static void closeWhatADivergenceLeft() {
        for (int turn = 0; turn < 3; turn++) {
            for (NativeResource resource : Ledger.live().reversed()) {
                try {
                    resource.close();
                } catch (RuntimeException e) {
                    System.out.println("after the walk " + resource + " could not be closed: " + e);
                }
            }
        }
    }

    private static String stacks(List<Thread> threads) {
        StringBuilder text = new StringBuilder();
        for (Thread thread : threads) {
            text.append(System.lineSeparator()).append(thread.getName());
            for (StackTraceElement frame : thread.getStackTrace()) {
                text.append(System.lineSeparator()).append("    at ").append(frame);
            }
        }
        return text.toString();
    }
}
