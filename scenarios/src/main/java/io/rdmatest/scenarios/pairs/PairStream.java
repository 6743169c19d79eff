package io.rdmatest.scenarios.pairs;

import static io.rdmatest.scenarios.pairs.PairRoles.LISTS;

import io.rdmatest.Cause;
import io.rdmatest.Closer;
import io.rdmatest.ConnectionMode;
import io.rdmatest.scenarios.engine.NearDevice;
import io.rdmatest.scenarios.engine.Payload;
import io.rdmatest.scenarios.engine.Progress;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.engine.Waiting;
import io.rdmatest.scenarios.pairs.PairRoles.Moved;
import io.rdmatest.scenarios.pairs.PairRoles.Operation;
import io.rdmatest.scenarios.pairs.PairRoles.Plan;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.rping.RpingMessage;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * One side of a stream from a client to a server over several reliable connections at once. If both directions are measured, a
 * second stream flows back at the same time, over as many connections of its own. Messages use the slots of a ring in turn. Each
 * slot has data of its own. The sender of the data posts RDMA WRITEs or SENDs; its receiver posts RDMA READs.
 *
 * <p>The data of the measured time differs from the data of the warm-up. The receiver compares the slots byte for byte, and so
 * verifies that they hold data of the measured time. A SEND follows the last WRITE on each connection: when it is received, the
 * data is placed (IBTA volume 1, section 9.5).
 *
 * <p>A SEND is posted only after the receiver has announced room for it. So no receiver is ever not ready (RNR). The receiver
 * announces each list of the ring that it posts again. At the end, empty messages consume the remaining receives. They have no
 * immediate data, because iWARP has none.
 *
 * <p>A further connection carries control messages, so that both sides begin and end a stream together.
 */
final class PairStream implements AutoCloseable {

    /** The largest and the smallest ring, in messages. */
    private static final int MOST_SLOTS = 64;

    private static final int LEAST_SLOTS = LISTS;

    /**
     * The number of bytes in flight: more than most paths can hold, but little enough for a slow path to transfer within a
     * second.
     */
    private static final int IN_FLIGHT = 256 << 10;

    /** The time of messages that load classes and fill caches. They are not measured. */
    private static final Duration WARM_UP = Duration.ofMillis(100);

    /** There are two streams at most, and one message follows the WRITEs of each. */
    private static final int ENDS = 2;

    /** Three words for each stream. */
    private static final int WORDS = 3 * ENDS;

    private static final int READS = 4;
    private static final SendFlag[] NOT_SIGNALED = {};

    private final RoleContext context;
    private final Plan plan;
    private final NearDevice near;
    private final boolean server;
    private final List<Lane> lanes = new ArrayList<>();
    private @Nullable RcLink control;
    private @Nullable MemoryRegion words;
    private RcLink.@Nullable Listener listener;
    private long bytesVerified;
    private long wordsHeard;
    private boolean hasMoved;

    /** What a test does to the memory before the receiver looks at it. */
    Consumer<MemorySegment> beforeVerification = memory -> {};

    private PairStream(RoleContext context, Plan plan, NearDevice near, boolean server) {
        this.context = context;
        this.plan = plan;
        this.near = near;
        this.server = server;
    }

    /** Waits for all connections of a client. */
    static PairStream accept(RoleContext context, Plan plan, NearDevice near) {
        PairStream stream = new PairStream(context, plan, near, true);
        try {
            RcLink.Listener listener = RcLink.Listener.open(context, null, 0, plan.connections() + 1);
            stream.listener = listener;
            context.tell(Integer.toString(listener.id().localPort()));
            stream.control = RcLink.accept(
                    context, stream.controlSpec(), listener.awaitRequest(plan.timeout()), stream::prepareControl);
            for (int i = 0; i < plan.connections(); i++) {
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
    static PairStream connect(RoleContext context, Plan plan, NearDevice near) {
        int port = Integer.parseInt(context.hear("port of the stream's server", plan.timeout()));
        InetSocketAddress target = new InetSocketAddress(context.peerAddress(), port);
        PairStream stream = new PairStream(context, plan, near, false);
        try {
            stream.control = RcLink.connect(context, stream.controlSpec(), null, target, stream::prepareControl);
            for (int i = 0; i < plan.connections(); i++) {
                Lane lane = stream.new Lane(i);
                lane.link = RcLink.connect(context, stream.spec(), null, target, lane::prepare);
                stream.lanes.add(lane);
            }
            return stream;
        } catch (RuntimeException | Error e) {
            throw stream.abandon(e);
        }
    }

    private RcLink.Spec spec() {
        boolean sends = plan.operation() == Operation.SEND;
        return new RcLink.Spec(
                ConnectionMode.RDMA_CM,
                MOST_SLOTS + 1,
                sends ? MOST_SLOTS : ENDS,
                0,
                plan.operation() == Operation.READ ? READS : 1,
                Waiting.POLLING,
                false,
                wholeStream());
    }

    private RcLink.Spec controlSpec() {
        return new RcLink.Spec(ConnectionMode.RDMA_CM, WORDS, WORDS, 0, 1, Waiting.POLLING, false, wholeStream());
    }

    /** Returns the limit for a whole stream. A side that waits for the other side's stream waits for all of it. */
    private Duration wholeStream() {
        return plan.timeout().plus(WARM_UP).plus(plan.time().multipliedBy(2));
    }

    private byte[] prepareControl(RcLink made) {
        MemoryRegion region = made.register(Long.BYTES, Access.LOCAL_WRITE);
        words = region;
        for (int i = 0; i < WORDS; i++) {
            made.postReceive(i, region, 0, Long.BYTES);
        }
        return new byte[0];
    }

    /** Returns how many messages of a size a ring has. */
    static int slots(int size) {
        int slots = Math.clamp(IN_FLIGHT / size, LEAST_SLOTS, MOST_SLOTS);
        return slots / LISTS * LISTS;
    }

    private RuntimeException abandon(Throwable failure) {
        Closer closer = new Closer();
        closer.own(this);
        return closer.closeAfter(failure);
    }

    /** One of the connections that data flows over, in one direction. */
    private final class Lane {

        private final int index;

        /** Whether this side sends the data. */
        private final boolean outgoing;

        /** Whether this side posts the requests that move it. */
        private final boolean posts;

        private @Nullable RcLink link;
        private @Nullable MemoryRegion area;
        private @Nullable MemoryRegion word;
        private @Nullable SendRequests ring;
        private @Nullable ReceiveRequests landings;

        /** The number of lists that were posted in this stream, and that number at the start of its current part. */
        private long lists;

        private long before;

        /** The number of lists for which the receiver of SENDs has announced room in this stream. */
        private long room;

        /** The number of data messages, and of empty messages after them, that this receiver of SENDs took in this stream. */
        private long arrived;

        private int empty;
        private boolean emptied;

        /** Signalled requests, and receives that were taken, since the connection was made. */
        private long signaled;

        private long taken;

        Lane(int index) {
            this.index = index;
            this.outgoing = server == index >= plan.queuePairs();
            this.posts = outgoing == (plan.operation() != Operation.READ);
        }

        boolean takesSends() {
            return !posts && plan.operation() == Operation.SEND;
        }

        byte[] prepare(RcLink made) {
            long size = Math.max(areaOf(plan.bandwidthSize()), areaOf(plan.rateSize()));
            MemoryRegion data = near.register(made, size, Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ);
            MemoryRegion small = made.register(Long.BYTES, Access.LOCAL_WRITE);
            area = data;
            word = small;
            int receives = plan.operation() == Operation.SEND ? (outgoing ? LISTS : 0) : ENDS;
            for (int i = 0; i < receives; i++) {
                made.postReceive(i, small, 0, Long.BYTES);
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
                        "%s of %d bytes on connection %d, at the %s"
                                .formatted(plan.operation(), size, index, server ? "server" : "client"));
                bytesVerified += size;
            }
        }

        private long number(int stream, boolean measured, int slot) {
            long round = 2L * stream + (measured ? 1 : 0);
            return (round * 2 * PairRoles.MOST_QUEUE_PAIRS + index) * MOST_SLOTS + slot;
        }

        void open(int size) {
            lists = 0;
            room = LISTS;
            arrived = 0;
            empty = 0;
            emptied = false;
            if (posts) {
                openRing(size);
            } else if (takesSends()) {
                openLandings(size);
            }
        }

        private void openRing(int size) {
            RpingMessage peer = RpingMessage.readFrom(MemorySegment.ofArray(link().peerData()));
            MemoryRegion data = present(area);
            int slots = slots(size);
            SendRequests requests = SendRequests.allocate(slots);
            ring = requests;
            for (int i = 0; i < slots; i++) {
                SendFlag[] flags = (i + 1) % (slots / LISTS) == 0 ? new SendFlag[] {SendFlag.SIGNALED} : NOT_SIGNALED;
                long offset = (long) i * size;
                long remote = peer.address() + offset;
                SendRequests ignored = switch (plan.operation()) {
                    case WRITE -> requests.write(i, i, data, offset, size, remote, peer.rkey(), flags);
                    case READ -> requests.read(i, i, data, offset, size, remote, peer.rkey(), flags);
                    case SEND -> requests.send(i, i, data, offset, size, flags);
                };
            }
        }

        private void openLandings(int size) {
            int slots = slots(size);
            ReceiveRequests requests = ReceiveRequests.allocate(slots);
            landings = requests;
            for (int i = 0; i < slots; i++) {
                ReceiveRequests ignored =
                        requests.receive(i, i | Progress.RECEIVE, present(area), (long) i * size, size);
            }
            link().queuePair().post(requests, 0, slots);
        }

        void closeRing() {
            SendRequests sends = ring;
            ReceiveRequests receives = landings;
            ring = null;
            landings = null;
            if (sends != null) {
                sends.close();
            }
            if (receives != null) {
                receives.close();
            }
        }

        long onTheWay() {
            return signaled - link().progress().sends();
        }

        /** Takes what completed; returns whether a message came. */
        boolean poll(int size) {
            Progress progress = link().progress();
            progress.poll();
            hasMoved |= posts && progress.sends() > 0;
            boolean came = progress.receives() > taken;
            while (progress.receives() > taken) {
                if (takesSends()) {
                    take(size);
                } else if (plan.operation() == Operation.SEND) {
                    takeRoom();
                } else {
                    return false;
                }
            }
            return came;
        }

        /**
         * Takes a message of the stream. When a list of messages is complete, posts its receives again and announces the room.
         */
        private void take(int size) {
            Progress progress = link().progress();
            progress.awaitReceive("message of the stream");
            taken++;
            // Data messages are never empty.
            if (progress.byteLength() == 0) {
                empty++;
                return;
            }
            if (progress.byteLength() != size) {
                throw new AssertionError("A message of %d bytes arrived with %d bytes on connection %d, at the %s"
                        .formatted(size, progress.byteLength(), index, server ? "server" : "client"));
            }
            arrived++;
            ReceiveRequests requests = present(landings);
            int length = requests.capacity() / LISTS;
            if (arrived % length == 0) {
                link().queuePair().post(requests, (int) ((arrived / length - 1) % LISTS) * length, length);
                signal();
            }
        }

        private void takeRoom() {
            link().progress().awaitReceive("word that there is room");
            taken++;
            room++;
            link().postReceive(0, present(word), 0, Long.BYTES);
        }

        private void signal() {
            link().queuePair().postSend(0, present(word), 0, Long.BYTES, SendFlag.SIGNALED);
            signaled++;
        }

        boolean mayPost() {
            return onTheWay() < LISTS && (plan.operation() != Operation.SEND || lists < room);
        }

        /** Posts the next list of the ring; returns how many messages that are. */
        int post() {
            SendRequests requests = present(ring);
            int length = requests.capacity() / LISTS;
            link().queuePair().post(requests, (int) (lists % LISTS) * length, length);
            lists++;
            signaled++;
            return length;
        }

        /** Tells the receiver that everything is written. */
        void tellEnd() {
            signal();
            link().progress().awaitSends(signaled);
        }

        void hearEnd() {
            link().progress().awaitReceive("word that all is written on connection " + index);
            taken++;
        }

        /**
         * Returns whether no SEND is in flight and the receiver has no receive left. Each call takes the next step to this state.
         */
        boolean isSettled(int size) {
            if (takesSends()) {
                return empty == slots(size) && onTheWay() == 0;
            }
            if (!emptied && room == lists + LISTS) {
                emptied = true;
                for (int left = slots(size); left > 0; left--) {
                    SendFlag[] flags = left == 1 ? new SendFlag[] {SendFlag.SIGNALED} : NOT_SIGNALED;
                    link().queuePair().postSend(0, present(word), 0, 0, flags);
                }
                signaled++;
            }
            return emptied && onTheWay() == 0;
        }
    }

    private static long areaOf(int size) {
        return size == 0 ? 0 : (long) slots(size) * size;
    }

    /** Returns the bytes that were compared at this side so far. */
    long bytesVerified() {
        return bytesVerified;
    }

    /** Returns whether requests of this side have completed; also after the stream was closed. */
    boolean hasMoved() {
        return hasMoved;
    }

    /**
     * Runs the next stream, at the same time as the other side.
     *
     * @param stream its number: 0, then 1
     * @param size bytes of a message
     * @return the data that requests of this side moved in the measured time; nothing if it posted none
     */
    Moved run(int stream, int size) {
        try {
            lanes.forEach(lane -> lane.open(size));
            lanes.stream().filter(lane -> lane.outgoing && !lane.posts).forEach(lane -> lane.fill(stream, true, size));
            meet("word that the other side is ready");
            Moved moved = lanes.stream().anyMatch(lane -> lane.posts) ? measure(stream, size) : Moved.NOTHING;
            end(size);
            lanes.stream().filter(lane -> !lane.outgoing).forEach(lane -> lane.verify(stream, size));
            meet("word that the data was compared");
            return moved;
        } finally {
            lanes.forEach(Lane::closeRing);
        }
    }

    /**
     * Waits until both sides are at this point. The client speaks first, as the initiator of an iWARP connection has to (RFC
     * 5044, section 7.1).
     */
    private void meet(String what) {
        if (server) {
            hear(what);
            tell();
        } else {
            tell();
            hear(what);
        }
    }

    /** Sends a control message. After the last one the client ends the connection at once, so its acknowledgement may be lost. */
    private void tell() {
        Progress progress = present(control).progress();
        present(control).queuePair().postSend(0, present(words), 0, Long.BYTES, SendFlag.SIGNALED);
        long told = progress.sends() + 1;
        if (server) {
            boolean ignored = progress.awaitSendsOrEnd(told);
        } else {
            progress.awaitSends(told);
        }
    }

    private void hear(String what) {
        present(control).progress().awaitReceive(what);
        wordsHeard++;
    }

    private boolean isWordThere() {
        Progress progress = present(control).progress();
        progress.poll();
        return progress.receives() > wordsHeard;
    }

    /** Fills the memory, with different data for the warm-up and for the measured time. */
    private void prepare(int stream, boolean measured, int size) {
        for (Lane lane : lanes) {
            if (lane.posts && lane.outgoing) {
                lane.fill(stream, measured, size);
            } else if (lane.posts) {
                present(lane.area).fill((byte) 0);
            }
        }
    }

    private Moved measure(int stream, int size) {
        prepare(stream, false, size);
        Moved ignored = pump(size, during(WARM_UP));
        prepare(stream, true, size);
        Moved moved = pump(size, during(plan.time()));
        if (plan.bothWays()) {
            // This side is the load as long as the other side measures. If its message does not come in time, the wait
            // fails with a timeout that names it.
            tell();
            LongPredicate inTime = during(wholeStream());
            Moved load = pump(size, elapsed -> inTime.test(elapsed) && !isWordThere());
            hear("word that the other side has measured");
        }
        return moved;
    }

    private static LongPredicate during(Duration time) {
        return elapsed -> elapsed < time.toNanos();
    }

    /**
     * Posts lists as long as {@code more} accepts the elapsed nanoseconds, and at least the whole ring. The measured time ends
     * with the last completion.
     */
    private Moved pump(int size, LongPredicate more) {
        lanes.forEach(lane -> lane.before = lane.lists);
        long messages = 0;
        long start = System.nanoTime();
        Patience patience = patience();
        long outstanding = 0;
        while (true) {
            boolean goesOn = more.test(System.nanoTime() - start);
            long before = outstanding;
            boolean worked = false;
            boolean over = true;
            outstanding = 0;
            for (Lane lane : lanes) {
                worked |= lane.poll(size);
                if (!lane.posts) {
                    continue;
                }
                boolean wants = goesOn || lane.lists - lane.before < LISTS;
                if (wants && lane.mayPost()) {
                    messages += lane.post();
                    worked = true;
                }
                outstanding += lane.onTheWay();
                over &= !wants;
            }
            if (over && outstanding == 0) {
                return new Moved(messages, messages * size, System.nanoTime() - start);
            }
            patience.after(worked || outstanding < before, outstanding);
        }
    }

    /** Waits until all data of this stream is placed, at both sides. */
    private void end(int size) {
        switch (plan.operation()) {
            case WRITE -> {
                lanes.stream().filter(lane -> lane.posts).forEach(Lane::tellEnd);
                lanes.stream().filter(lane -> !lane.posts).forEach(Lane::hearEnd);
            }
            case SEND -> {
                Patience patience = patience();
                for (boolean settled = false; !settled; ) {
                    boolean worked = false;
                    settled = true;
                    for (Lane lane : lanes) {
                        worked |= lane.poll(size);
                        settled &= lane.isSettled(size);
                    }
                    patience.after(worked, 0);
                }
            }
            // The last completion of a READ shows that its data is placed.
            case READ -> {}
        }
    }

    private Patience patience() {
        return new Patience(context, plan.timeout(), this::requireConnections);
    }

    private void requireConnections() {
        for (Lane lane : lanes) {
            if (lane.link().isDisconnected()) {
                throw new ScenarioException(
                        Cause.PEER_LOST, "The peer ended connection " + lane.index + " in the middle of the stream");
            }
        }
    }

    /** Ends all connections; the client begins. */
    void finish() {
        for (RcLink link : links()) {
            if (server) {
                link.awaitDisconnect();
            } else {
                link.disconnect();
            }
        }
    }

    private List<RcLink> links() {
        List<RcLink> links = new ArrayList<>();
        if (control != null) {
            links.add(control);
        }
        lanes.forEach(lane -> links.add(lane.link()));
        return links;
    }

    private static <T> T present(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("The connection is not prepared yet");
        }
        return value;
    }

    @Override
    public void close() {
        try (Closer closer = new Closer()) {
            if (listener != null) {
                closer.own(listener);
            }
            links().forEach(closer::own);
        }
    }
}
