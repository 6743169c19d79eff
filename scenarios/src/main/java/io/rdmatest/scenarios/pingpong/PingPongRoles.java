package io.rdmatest.scenarios.pingpong;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.scenarios.engine.Payload;
import io.rdmatest.scenarios.engine.Progress;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.engine.Waiting;
import io.rdmatest.scenarios.options.Options;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.rping.RpingMessage;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.RemoteMemory;
import io.rdmatest.verbs.SendFlag;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * A ping-pong with one operation. The receiving side compares every byte.
 *
 * <p>Messages alternate between two halves of each receive area. The next message may arrive while one is verified, so
 * the measured time does not include the verification.
 */
public final class PingPongRoles {

    private static final SendFlag[] SIGNALED = {SendFlag.SIGNALED};
    private static final SendFlag[] SIGNALED_INLINE = {SendFlag.SIGNALED, SendFlag.INLINE};
    private static final byte FIRST_MARK = 1;
    private static final int DEPTH = 1;

    /** Longer latencies count as this: a growing histogram would allocate during the measurement. */
    private static final long LONGEST_NANOS = TimeUnit.HOURS.toNanos(1);

    private PingPongRoles() {}

    /** The operation under test. */
    public enum Operation {
        /** SEND into a posted receive. */
        SEND,
        /** SEND with immediate data. */
        SEND_WITH_IMMEDIATE,
        /** RDMA WRITE; the peer polls the last byte of its memory, and then waits until all bytes are placed. */
        WRITE,
        /** RDMA WRITE with immediate data, which completes a receive at the peer. */
        WRITE_WITH_IMMEDIATE,
        /** RDMA READ from the peer's memory; the peer is passive. */
        READ,
        /** Atomic fetch and add on 8 bytes of the peer. */
        FETCH_AND_ADD,
        /** Atomic compare and swap on 8 bytes of the peer. */
        COMPARE_AND_SWAP;

        /** Returns whether only the client is active, on the server's memory. */
        public boolean isOneSided() {
            return compareTo(READ) >= 0;
        }

        /** Returns whether it needs a device with atomic operations. */
        boolean isAtomic() {
            return compareTo(FETCH_AND_ADD) >= 0;
        }
    }

    /** The options that both sides must share. */
    public static final class Plan extends Options<Plan> {

        @Option(
                names = "--connection",
                paramLabel = "<mode>",
                description = "How the connection is established: rdma_cm, external_qp or raw (default: rdma_cm).")
        private ConnectionMode bringUp = ConnectionMode.RDMA_CM;

        @Option(
                names = "--operation",
                paramLabel = "<operation>",
                description =
                        "The operation: send, send_with_immediate, write, write_with_immediate, read, fetch_and_add or"
                                + " compare_and_swap (default: send).")
        private Operation operation = Operation.SEND;

        @Option(
                names = {"-S", "--size"},
                paramLabel = "<bytes>",
                description = "The size of a message, 8 for atomic operations (default: ${DEFAULT-VALUE}).")
        private int size = 64;

        @Option(
                names = {"-C", "--count"},
                paramLabel = "<n>",
                description = "How many round trips or operations are measured (default: ${DEFAULT-VALUE}).")
        private int iterations = 100;

        @Option(names = "--inline", description = "Copy the data into the work request.")
        private boolean inline;

        @Option(names = "--shared-receives", description = "Post receives to a shared receive queue.")
        private boolean sharedReceives;

        @Option(names = "--events", description = "Sleep on the completion channel instead of polling.")
        private boolean events;

        private Plan() {}

        /**
         * Reads a plan from a line, such as {@code --operation write -S 4096 -C 10}.
         *
         * @param words parts of the line, as for {@link Options#parse}
         * @throws IllegalArgumentException if the line is wrong; the message has the line, and names the option
         */
        public static Plan parse(Object... words) {
            return parse(Plan.class, words);
        }

        @Override
        protected void check() {
            if (size < 1 || iterations < 1) {
                throw new IllegalArgumentException(
                        "Size and iterations must be positive, not %d and %d".formatted(size, iterations));
            }
            if (operation.isAtomic() && size != Long.BYTES) {
                throw new IllegalArgumentException("An atomic operation has 8 bytes, not " + size);
            }
            if (fault() != Fault.NONE) {
                throw new IllegalArgumentException("A ping-pong injects no fault (--fault)");
            }
        }

        /** Returns how the connection is established. */
        public ConnectionMode bringUp() {
            return bringUp;
        }

        /** Returns the operation. */
        public Operation operation() {
            return operation;
        }

        /** Returns the size of a message in bytes; 8 for atomics. */
        public int size() {
            return size;
        }

        /** Returns how many round trips or operations are measured. */
        public int iterations() {
            return iterations;
        }

        /** Tells whether the data is copied into the work request. */
        public boolean inline() {
            return inline;
        }

        /** Tells whether receives are posted to a shared receive queue. */
        public boolean sharedReceives() {
            return sharedReceives;
        }

        /** Tells whether to sleep on the completion channel instead of polling. */
        public boolean events() {
            return events;
        }

        private RcLink.Spec spec() {
            // Such a plan tests events, so every wait must use one.
            Waiting waiting = events ? Waiting.EVENTS : Waiting.POLLING;
            return new RcLink.Spec(bringUp, 8, 4, inline ? size : 0, DEPTH, waiting, sharedReceives, timeout());
        }
    }

    /**
     * The warm-up and the time limit of a ping-pong. Only for two-sided operations that complete a receive.
     *
     * @param unmeasured round trips before the measured ones, at least 0: they load classes and fill caches. They end
     *     early after half of the time
     * @param least so many round trips are measured in any case, if the timeout of a step allows it
     * @param atMost the time after which no more round trips begin, once {@code least} were measured; null for no limit
     */
    public record Pace(int unmeasured, int least, @Nullable Duration atMost) {

        /** No warm-up and no time limit. */
        public static final Pace PLAIN = new Pace(0, 1, null);

        /** Checks the number. */
        public Pace {
            if (unmeasured < 0) {
                throw new IllegalArgumentException(
                        "The round trips before the measured ones must not be negative: " + unmeasured);
            }
        }
    }

    /**
     * The results of one side.
     *
     * @param iterations round trips or operations, including unmeasured ones
     * @param bytesVerified the received bytes that were compared
     * @param latencies round trips (for one-sided operations: each operation) in nanoseconds; empty at the server
     */
    public record Result(int iterations, long bytesVerified, Histogram latencies) {}

    /**
     * The side that answers.
     *
     * @param plan what to do
     * @param pace the warm-up and the time limit
     * @param gid the GID of this side's raw connection; null for that of the fabric
     */
    public record Server(Plan plan, Pace pace, @Nullable GidEntry gid) implements Role<Result> {

        /** Does all round trips and measures each. */
        public Server(Plan plan) {
            this(plan, Pace.PLAIN, null);
        }

        @Override
        public Result run(RoleContext context) {
            Exchange exchange = new Exchange(plan, pace, "server");
            if (plan.bringUp() == ConnectionMode.RAW) {
                try (RcLink link = RcLink.raw(context, plan.spec(), gid, exchange::prepare)) {
                    Result result = exchange.serve(link);
                    link.awaitDisconnect();
                    return result;
                }
            }
            try (RcLink.Listener listener = RcLink.Listener.open(context, null, 0, 1)) {
                context.tell(Integer.toString(listener.id().localPort()));
                CmEvent request = listener.awaitRequest(plan.timeout());
                try (RcLink link = RcLink.accept(context, plan.spec(), request, exchange::prepare)) {
                    Result result = exchange.serve(link);
                    link.awaitDisconnect();
                    return result;
                }
            }
        }
    }

    /**
     * The side that sends first and measures.
     *
     * @param plan what to do
     * @param pace the warm-up and the time limit
     * @param gid the GID of this side's raw connection; null for that of the fabric
     */
    public record Client(Plan plan, Pace pace, @Nullable GidEntry gid) implements Role<Result> {

        /** Does all round trips and measures each. */
        public Client(Plan plan) {
            this(plan, Pace.PLAIN, null);
        }

        @Override
        public Result run(RoleContext context) {
            Exchange exchange = new Exchange(plan, pace, "client");
            if (plan.bringUp() == ConnectionMode.RAW) {
                try (RcLink link = RcLink.raw(context, plan.spec(), gid, exchange::prepare)) {
                    Result result = exchange.drive(link);
                    link.disconnect();
                    return result;
                }
            }
            int port = Integer.parseInt(context.hear("port of the ping-pong server", plan.timeout()));
            InetSocketAddress target = new InetSocketAddress(context.peerAddress(), port);
            try (RcLink link = RcLink.connect(context, plan.spec(), null, target, exchange::prepare)) {
                Result result = exchange.drive(link);
                link.disconnect();
                return result;
            }
        }
    }

    /** The memory of one side: two halves to send from, two halves to receive into, and a word for each side's end. */
    private static final class Exchange {

        private final Plan plan;
        private final Pace pace;
        private final String side;
        private final Histogram latencies = new Histogram(LONGEST_NANOS, 3);
        private @Nullable MemoryRegion out;
        private @Nullable MemoryRegion in;
        private @Nullable MemoryRegion control;
        private final String what;
        private long requests;
        private long bytesVerified;

        private Exchange(Plan plan, Pace pace, String side) {
            if (!pace.equals(Pace.PLAIN) && (plan.operation().isOneSided() || plan.operation() == Operation.WRITE)) {
                throw new IllegalArgumentException(plan.operation() + " supports no warm-up and no time limit");
            }
            this.plan = plan;
            this.pace = pace;
            this.side = side;
            this.what = plan.operation() + " at the " + side;
        }

        private byte[] prepare(RcLink link) {
            // Some devices lack remote atomic access.
            Access[] access = plan.operation().isAtomic()
                    ? new Access[] {Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ, Access.REMOTE_ATOMIC}
                    : link.domain().context().allAccess();
            // One byte more: the mark at the end of a polled RDMA WRITE, which is not part of the payload.
            int slot = plan.size() + 1;
            long area = (2L * slot + 7) / 8 * 8;
            MemoryRegion source = link.register(area, access);
            MemoryRegion sink = link.register(area, access);
            out = source;
            in = sink;
            sink.fill((byte) 0);
            if (plan.operation().isOneSided()) {
                Payload.fill(sink.bytes().asSlice(0, plan.size()), 0);
                if (plan.operation() != Operation.READ) {
                    sink.bytes().set(ValueLayout.JAVA_LONG, 0, 0L);
                }
            }
            if (plan.operation().isOneSided()) {
                // The client's final message must not overwrite the memory under test.
                MemoryRegion last = link.register(Long.BYTES, Access.LOCAL_WRITE);
                control = last;
                link.postReceive(0, last, 0, Long.BYTES);
            } else {
                link.postReceive(0, sink, 0, slot);
                link.postReceive(1, sink, slot, slot);
            }
            return new RpingMessage(sink.address(), sink.rkey(), Math.toIntExact(area)).toBytes();
        }

        private long number(int iteration, boolean toServer) {
            return 2L * iteration + (toServer ? 0 : 1);
        }

        private Result drive(RcLink link) {
            if (plan.operation().isOneSided()) {
                return driveOneSided(link);
            }
            Duration atMost = pace.atMost();
            long begin = System.nanoTime();
            int i = 0;
            for (; i < iterations(); i++) {
                long spent = System.nanoTime() - begin;
                long measured = latencies.getTotalCount();
                if (atMost != null
                        && measured > 0
                        && spent >= (measured < pace.least() ? plan.timeout() : atMost).toNanos()) {
                    break;
                }
                fill(i, number(i, true));
                long start = System.nanoTime();
                post(link, i);
                await(link, i);
                if (i >= pace.unmeasured() || atMost != null && spent >= atMost.toNanos() / 2) {
                    latencies.recordValue(Math.min(System.nanoTime() - start, LONGEST_NANOS));
                }
                awaitPlacement(link, i, number(i, false));
                verify(i, number(i, false));
                repost(link, i);
                link.progress().awaitSends(requests);
            }
            return new Result(i, bytesVerified, latencies);
        }

        private Result serve(RcLink link) {
            if (plan.operation().isOneSided()) {
                return serveOneSided(link);
            }
            int i = 0;
            for (; i < iterations(); i++) {
                fill(i, number(i, false));
                if (!awaitUnlessOver(link, i)) {
                    break;
                }
                post(link, i);
                awaitPlacement(link, i, number(i, true));
                verify(i, number(i, true));
                repost(link, i);
                // A client disconnects right after its last answer. The next wait shows whether it had finished.
                boolean ignored = link.progress().awaitSendsOrEnd(requests);
            }
            return new Result(i, bytesVerified, latencies);
        }

        private int iterations() {
            return Math.addExact(plan.iterations(), pace.unmeasured());
        }

        private int slot(int iteration) {
            return (iteration & 1) * (plan.size() + 1);
        }

        private static byte mark(int iteration) {
            // It differs from the mark of two iterations earlier, which the half still holds.
            return (byte) (FIRST_MARK + (iteration / 2) % 100);
        }

        private MemorySegment slice(@Nullable MemoryRegion region, int iteration) {
            return region(region).bytes().asSlice(slot(iteration), plan.size());
        }

        private void fill(int iteration, long number) {
            Payload.fill(slice(out, iteration), number);
            region(out).bytes().set(ValueLayout.JAVA_BYTE, slot(iteration) + plan.size(), mark(iteration));
        }

        private void post(RcLink link, int iteration) {
            MemoryRegion source = region(out);
            int slot = slot(iteration);
            SendFlag[] flags = plan.inline() ? SIGNALED_INLINE : SIGNALED;
            RemoteMemory remote = remote(link);
            switch (plan.operation()) {
                case SEND -> link.queuePair().postSend(iteration, source, slot, plan.size(), flags);
                case SEND_WITH_IMMEDIATE ->
                    link.queuePair().postSendWithImmediate(iteration, source, slot, plan.size(), ~iteration, flags);
                case WRITE ->
                    link.queuePair()
                            .postWrite(
                                    iteration,
                                    source,
                                    slot,
                                    plan.size() + 1,
                                    remote.address() + slot,
                                    remote.rkey(),
                                    flags);
                case WRITE_WITH_IMMEDIATE ->
                    link.queuePair()
                            .postWriteWithImmediate(
                                    iteration,
                                    source,
                                    slot,
                                    plan.size(),
                                    remote.address() + slot,
                                    remote.rkey(),
                                    ~iteration,
                                    flags);
                case READ, FETCH_AND_ADD, COMPARE_AND_SWAP -> throw new IllegalStateException("one-sided");
            }
            requests++;
        }

        private void await(RcLink link, int iteration) {
            Progress progress = link.progress();
            if (plan.operation() == Operation.WRITE) {
                progress.awaitByte(region(in).bytes(), slot(iteration) + plan.size(), mark(iteration), what);
                return;
            }
            progress.awaitReceive(what);
            check(progress, iteration);
        }

        /** Returns false if the client has ended the connection, for example at its time limit. */
        private boolean awaitUnlessOver(RcLink link, int iteration) {
            if (pace.atMost() == null) {
                await(link, iteration);
                return true;
            }
            if (!link.progress().awaitReceiveOrEnd(what)) {
                return false;
            }
            check(link.progress(), iteration);
            return true;
        }

        private void check(Progress progress, int iteration) {
            if (progress.byteLength() != plan.size()) {
                throw new AssertionError("%s number %d at the %s has %d bytes instead of %d"
                        .formatted(plan.operation(), iteration, side, progress.byteLength(), plan.size()));
            }
            boolean immediate = plan.operation() != Operation.SEND;
            if (progress.hasImmediate() != immediate || immediate && progress.immediate() != ~iteration) {
                throw new AssertionError("%s number %d at the %s: expected %s, got %s"
                        .formatted(
                                plan.operation(),
                                iteration,
                                side,
                                immediate ? "immediate data " + ~iteration : "no immediate data",
                                progress.hasImmediate() ? progress.immediate() : "none"));
            }
            if (progress.wrId() != (iteration & 1)) {
                throw new AssertionError("Receives at the %s completed out of order: %d before %d"
                        .formatted(side, progress.wrId(), iteration & 1));
            }
        }

        private void repost(RcLink link, int iteration) {
            if (plan.operation() != Operation.WRITE) {
                link.postReceive(iteration & 1, region(in), slot(iteration), plan.size() + 1);
            }
        }

        /**
         * Waits for all bytes: with several paths the mark at the end of an RDMA WRITE may be placed before earlier
         * bytes.
         */
        private void awaitPlacement(RcLink link, int iteration, long number) {
            if (plan.operation() == Operation.WRITE) {
                MemorySegment data = slice(in, iteration);
                // The verification then finds the wrong byte.
                boolean ignored = link.progress().awaitPlacement(() -> Payload.isIntact(data, number));
            }
        }

        private void verify(int iteration, long number) {
            verify(slice(in, iteration), number, what);
        }

        private void verify(MemorySegment data, long number, String where) {
            Payload.verify(data, number, where);
            bytesVerified += data.byteSize();
        }

        private Result driveOneSided(RcLink link) {
            MemoryRegion local = region(out);
            MemorySegment data = local.bytes().asSlice(0, plan.size());
            RemoteMemory remote = remote(link);
            long value = 0;
            for (int i = 0; i < plan.iterations(); i++) {
                local.fill((byte) 0x5a);
                long start = System.nanoTime();
                switch (plan.operation()) {
                    case READ ->
                        link.queuePair().postRead(i, local, 0, plan.size(), remote.address(), remote.rkey(), SIGNALED);
                    case FETCH_AND_ADD ->
                        link.queuePair()
                                .postFetchAndAdd(i, local, 0, remote.address(), remote.rkey(), i + 1L, SIGNALED);
                    case COMPARE_AND_SWAP ->
                        // Every fourth one compares with another value and must not change the word.
                        link.queuePair()
                                .postCompareAndSwap(
                                        i,
                                        local,
                                        0,
                                        remote.address(),
                                        remote.rkey(),
                                        misses(i) ? ~value : value,
                                        swapValue(i),
                                        SIGNALED);
                    default -> throw new IllegalStateException("not one-sided");
                }
                link.progress().awaitSends(++requests);
                latencies.recordValue(Math.min(System.nanoTime() - start, LONGEST_NANOS));
                if (plan.operation() == Operation.READ) {
                    verify(data, 0, "RDMA READ at the client");
                } else {
                    long before = data.get(ValueLayout.JAVA_LONG, 0);
                    if (before != value) {
                        throw new AssertionError("%s number %d returned 0x%x; the word was 0x%x"
                                .formatted(plan.operation(), i, before, value));
                    }
                    bytesVerified += Long.BYTES;
                    if (plan.operation() == Operation.FETCH_AND_ADD) {
                        value += i + 1L;
                    } else if (!misses(i)) {
                        value = swapValue(i);
                    }
                }
            }
            MemoryRegion last = region(control);
            last.bytes().set(ValueLayout.JAVA_LONG, 0, value);
            link.queuePair().postSend(1, last, 0, Long.BYTES, SIGNALED);
            link.progress().awaitSends(++requests);
            return new Result(plan.iterations(), bytesVerified, latencies);
        }

        private static boolean misses(int iteration) {
            return iteration % 4 == 3;
        }

        private static long swapValue(int iteration) {
            return (iteration + 1L) * 0x9e3779b97f4a7c15L;
        }

        /** Waits for the client's final message and verifies the memory under test. */
        private Result serveOneSided(RcLink link) {
            link.progress().awaitReceive("end of the client's operations");
            MemorySegment target = region(in).bytes().asSlice(0, plan.size());
            if (plan.operation() == Operation.READ) {
                verify(target, 0, "source of RDMA READ at the server");
            } else {
                long expected = region(control).bytes().get(ValueLayout.JAVA_LONG, 0);
                long actual = target.get(ValueLayout.JAVA_LONG, 0);
                if (actual != expected) {
                    throw new AssertionError("%s left 0x%x in the server's word; the client expects 0x%x"
                            .formatted(plan.operation(), actual, expected));
                }
                bytesVerified += Long.BYTES;
            }
            return new Result(plan.iterations(), bytesVerified, latencies);
        }

        private @Nullable RemoteMemory remoteMemory;

        private RemoteMemory remote(RcLink link) {
            RemoteMemory known = remoteMemory;
            if (known == null) {
                RpingMessage message = RpingMessage.readFrom(
                        MemorySegment.ofArray(link.peerData()).asSlice(0, RpingMessage.SIZE));
                known = new RemoteMemory(message.address(), message.rkey(), Integer.toUnsignedLong(message.length()));
                remoteMemory = known;
            }
            return known;
        }

        private static MemoryRegion region(@Nullable MemoryRegion region) {
            if (region == null) {
                throw new IllegalStateException("The memory is not registered yet");
            }
            return region;
        }
    }
}
