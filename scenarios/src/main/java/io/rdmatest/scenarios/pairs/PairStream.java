package io.rdmatest.scenarios.pairs;

import io.rdmatest.Cause;
import io.rdmatest.ConnectionMode;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.scenarios.engine.Payload;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.engine.RoleContext;
import io.rdmatest.scenarios.engine.ScenarioException;
import io.rdmatest.scenarios.engine.Waiting;
import io.rdmatest.scenarios.pairs.PairRoles.Moved;
import io.rdmatest.scenarios.pairs.PairRoles.Operation;
import io.rdmatest.scenarios.pairs.PairRoles.Plan;
import io.rdmatest.scenarios.rping.RpingMessage;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One side of a stream from a client to a server over several reliable connections at once. Messages go round a ring of slots, each
 * with data of its own. Of an RDMA WRITE the client posts the requests, and of an RDMA READ the server.
 *
 * <p>The data of the time that is measured differs from that of the warm-up. So the slots, which the server compares byte for byte,
 * hold what was moved in that time. A SEND follows the last WRITE on each connection: when it is received, the data is placed (IBTA
 * volume 1, section 9.5).
 */
final class PairStream implements AutoCloseable {

    /** A ring is posted in so many lists, of which the last request is signalled. */
    private static final int LISTS = 4;

    /** The largest and the smallest ring, in messages. */
    private static final int MOST_SLOTS = 64;

    private static final int LEAST_SLOTS = LISTS;

    /** More than most paths hold, and little enough for a slow one to take it within a second. */
    private static final int IN_FLIGHT = 256 << 10;

    /** Messages that load classes and fill caches, for so long, are not measured. */
    private static final Duration WARM_UP = Duration.ofMillis(100);

    private static final int SPINS = 32;
    private static final int LOOK = 256;
    private static final int RECEIVES = 2;
    private static final int READS = 4;
    private static final SendFlag[] NOT_SIGNALED = {};

    private final RoleContext context;
    private final Plan plan;
    private final boolean server;
    private final List<Lane> lanes = new ArrayList<>();
    private RcLink.@Nullable Listener listener;
    private long bytesVerified;

    /** What a test does to the memory before the server looks at it. */
    Consumer<MemorySegment> beforeVerification = memory -> {};

    private PairStream(RoleContext context, Plan plan, boolean server) {
        this.context = context;
        this.plan = plan;
        this.server = server;
    }

    /** Waits for all connections of a client. */
    static PairStream accept(RoleContext context, Plan plan) {
        PairStream stream = new PairStream(context, plan, true);
        try {
            RcLink.Listener listener = RcLink.Listener.open(context, null, 0, plan.queuePairs());
            stream.listener = listener;
            context.tell(Integer.toString(listener.id().localPort()));
            for (int i = 0; i < plan.queuePairs(); i++) {
                Lane lane = stream.new Lane(i);
                lane.link = RcLink.accept(context, stream.spec(), listener.awaitRequest(plan.timeout()), lane::prepare);
                stream.lanes.add(lane);
            }
            return stream;
        } catch (RuntimeException | Error e) {
            throw stream.abandon(e);
        }
    }

    /** Makes all connections to a server. */
    static PairStream connect(RoleContext context, Plan plan) {
        int port = Integer.parseInt(context.hear("port of the stream's server", plan.timeout()));
        InetSocketAddress target = new InetSocketAddress(context.peerAddress(), port);
        PairStream stream = new PairStream(context, plan, false);
        try {
            for (int i = 0; i < plan.queuePairs(); i++) {
                Lane lane = stream.new Lane(i);
                lane.link = RcLink.connect(context, stream.spec(), null, target, lane::prepare);
                stream.lanes.add(lane);
            }
            return stream;
        } catch (RuntimeException | Error e) {
            throw stream.abandon(e);
        }
    }

    /** A side that waits for the other one's stream waits for all of it. */
    private RcLink.Spec spec() {
        Duration timeout = plan.timeout().plus(WARM_UP).plus(plan.time().multipliedBy(2));
        return new RcLink.Spec(
                ConnectionMode.RDMA_CM,
                MOST_SLOTS + 1,
                RECEIVES,
                0,
                plan.operation() == Operation.READ ? READS : 1,
                Waiting.POLLING,
                false,
                timeout);
    }

    /** Returns how many messages of a size a ring has. */
    static int slots(int size) {
        int slots = Math.clamp(IN_FLIGHT / size, LEAST_SLOTS, MOST_SLOTS);
        return slots / LISTS * LISTS;
    }

    private RuntimeException abandon(Throwable failure) {
        try {
            close();
        } catch (RuntimeException e) {
            failure.addSuppressed(e);
        }
        if (failure instanceof Error error) {
            throw error;
        }
        return (RuntimeException) failure;
    }

    /** One of the connections. */
    private final class Lane {

        private final int index;
        private @Nullable RcLink link;
        private @Nullable MemoryRegion area;
        private @Nullable MemoryRegion control;
        private @Nullable SendRequests ring;
        private long lists;
        private long base;

        Lane(int index) {
            this.index = index;
        }

        byte[] prepare(RcLink made) {
            long size = Math.max(areaOf(plan.bandwidthSize()), areaOf(plan.rateSize()));
            MemoryRegion data = made.register(size, Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ);
            MemoryRegion words = made.register(Long.BYTES, Access.LOCAL_WRITE);
            area = data;
            control = words;
            for (int i = 0; i < RECEIVES; i++) {
                made.postReceive(i, words, 0, Long.BYTES);
            }
            return new RpingMessage(data.address(), data.rkey(), Math.toIntExact(size)).toBytes();
        }

        RcLink link() {
            return present(link);
        }

        MemorySegment slot(int size, int slot) {
            return present(area).bytes().asSlice((long) slot * size, size);
        }

        void fill(int stream, boolean measured, int size) {
            for (int slot = 0; slot < slots(size); slot++) {
                Payload.fill(slot(size, slot), number(stream, measured, slot));
            }
        }

        void verify(int stream, int size) {
            beforeVerification.accept(present(area).bytes());
            for (int slot = 0; slot < slots(size); slot++) {
                Payload.verify(
                        slot(size, slot),
                        number(stream, true, slot),
                        slot,
                        "%s of %d bytes on connection %d, at the server".formatted(plan.operation(), size, index));
                bytesVerified += size;
            }
        }

        private long number(int stream, boolean measured, int slot) {
            long round = 2L * stream + (measured ? 1 : 0);
            return (round * PairRoles.MOST_QUEUE_PAIRS + index) * MOST_SLOTS + slot;
        }

        void openRing(int size) {
            RpingMessage peer = RpingMessage.readFrom(MemorySegment.ofArray(link().peerData()));
            int slots = slots(size);
            SendRequests requests = SendRequests.allocate(slots);
            ring = requests;
            for (int i = 0; i < slots; i++) {
                SendFlag[] flags = (i + 1) % (slots / LISTS) == 0 ? new SendFlag[] {SendFlag.SIGNALED} : NOT_SIGNALED;
                long offset = (long) i * size;
                SendRequests ignored = plan.operation() == Operation.WRITE
                        ? requests.write(i, i, present(area), offset, size, peer.address() + offset, peer.rkey(), flags)
                        : requests.read(i, i, present(area), offset, size, peer.address() + offset, peer.rkey(), flags);
            }
        }

        void closeRing() {
            SendRequests open = ring;
            ring = null;
            if (open != null) {
                open.close();
            }
        }

        void begin() {
            lists = 0;
            base = link().progress().sends();
        }

        long onTheWay() {
            return lists - (link().progress().sends() - base);
        }

        /** Posts the next list of the ring; returns how many messages that are. */
        int post() {
            SendRequests requests = present(ring);
            int length = requests.capacity() / LISTS;
            link().queuePair().post(requests, (int) (lists % LISTS) * length, length);
            lists++;
            return length;
        }

        /** A client that hears the last word ends the connection at once, which may swallow its acknowledgement. */
        void tell() {
            link().queuePair().postSend(0, present(control), 0, Long.BYTES, SendFlag.SIGNALED);
            long told = link().progress().sends() + 1;
            if (server) {
                boolean ignored = link().progress().awaitSendsOrEnd(told);
            } else {
                link().progress().awaitSends(told);
            }
        }

        void hear(String what) {
            link().progress().awaitReceive(what + " on connection " + index);
        }
    }

    private static long areaOf(int size) {
        return size == 0 ? 0 : (long) slots(size) * size;
    }

    /** Returns the bytes that were compared at this side so far. */
    long bytesVerified() {
        return bytesVerified;
    }

    /**
     * Runs the next stream, at the same time as the other side.
     *
     * @param stream its number: 0, then 1
     * @param size bytes of a message
     * @return what was moved in the time that is measured, at the side that posted the requests; else nothing
     */
    Moved run(int stream, int size) {
        return server ? serve(stream, size) : drive(stream, size);
    }

    private Moved drive(int stream, int size) {
        Moved moved = Moved.NOTHING;
        if (plan.operation() == Operation.WRITE) {
            moved = measure(stream, size);
            lanes.forEach(Lane::tell);
        } else {
            lanes.forEach(lane -> lane.fill(stream, true, size));
            lanes.getFirst().tell();
        }
        lanes.getFirst().hear("word that the data was compared");
        return moved;
    }

    private Moved serve(int stream, int size) {
        Moved moved = Moved.NOTHING;
        if (plan.operation() == Operation.WRITE) {
            lanes.forEach(lane -> lane.hear("word that all is written"));
        } else {
            lanes.getFirst().hear("word that all is there to be read");
            moved = measure(stream, size);
        }
        lanes.forEach(lane -> lane.verify(stream, size));
        lanes.getFirst().tell();
        return moved;
    }

    /** Makes the data of the time that is measured another one than that of the warm-up. */
    private void prepare(int stream, boolean measured, int size) {
        for (Lane lane : lanes) {
            if (plan.operation() == Operation.WRITE) {
                lane.fill(stream, measured, size);
            } else {
                present(lane.area).fill((byte) 0);
            }
        }
    }

    private Moved measure(int stream, int size) {
        try {
            lanes.forEach(lane -> lane.openRing(size));
            prepare(stream, false, size);
            Moved ignored = pump(WARM_UP, size);
            prepare(stream, true, size);
            return pump(plan.time(), size);
        } finally {
            lanes.forEach(Lane::closeRing);
        }
    }

    /** Posts for a time, at least the whole ring, and waits for the last completion, which ends the time of what was moved. */
    private Moved pump(Duration time, int size) {
        lanes.forEach(Lane::begin);
        long messages = 0;
        long start = System.nanoTime();
        long stop = start + time.toNanos();
        long last = start;
        long outstanding = 0;
        for (int idle = 1; ; idle++) {
            long now = System.nanoTime();
            long before = outstanding;
            boolean posted = false;
            boolean over = true;
            outstanding = 0;
            for (Lane lane : lanes) {
                lane.link().progress().poll();
                boolean more = now - stop < 0 || lane.lists < LISTS;
                if (more && lane.onTheWay() < LISTS) {
                    messages += lane.post();
                    posted = true;
                }
                outstanding += lane.onTheWay();
                over &= !more;
            }
            if (over && outstanding == 0) {
                return new Moved(messages, messages * size, System.nanoTime() - start);
            }
            if (posted || outstanding < before) {
                idle = 0;
                last = now;
            } else {
                rest(idle, last, outstanding);
            }
        }
    }

    private void rest(int idle, long last, long outstanding) {
        if (idle < SPINS) {
            return;
        }
        // Where the device is software, the processor that spins is the one it needs.
        Thread.yield();
        if (idle % LOOK != 0) {
            return;
        }
        context.checkCancelled();
        for (Lane lane : lanes) {
            if (lane.link().isDisconnected()) {
                throw new ScenarioException(
                        ScenarioException.Reason.PEER_LOST,
                        "The peer ended connection " + lane.index + " in the middle of the stream");
            }
        }
        if (System.nanoTime() - last >= plan.timeout().toNanos()) {
            throw new RdmaTimeoutException(
                    Cause.TIMEOUT,
                    "completion of a request of the stream",
                    plan.timeout(),
                    outstanding + " lists of requests are on their way");
        }
    }

    /** Ends all connections; the client begins. */
    void finish() {
        for (Lane lane : lanes) {
            if (server) {
                lane.link().awaitDisconnect();
            } else {
                lane.link().disconnect();
            }
        }
    }

    private static <T> T present(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("The connection is not prepared yet");
        }
        return value;
    }

    @Override
    public void close() {
        RuntimeException first = null;
        List<AutoCloseable> all = new ArrayList<>();
        lanes.reversed().forEach(lane -> all.add(lane.link()));
        if (listener != null) {
            all.add(listener);
        }
        for (AutoCloseable each : all) {
            try {
                each.close();
            } catch (Exception e) {
                RuntimeException failure = e instanceof RuntimeException r ? r : new IllegalStateException(e);
                if (first == null) {
                    first = failure;
                } else {
                    first.addSuppressed(failure);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
