package io.rdmatest.scenarios.role;

import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A flow of RDMA WRITEs from the client to the server over several queue pairs: the bandwidth with large messages, and the rate
 * of small ones. Both sides say which counters of their port increased meanwhile.
 *
 * <p>Data in the middle of a flow overwrites itself. The last message of each queue pair has data of its own. A SEND follows it,
 * which no RDMA WRITE of the same queue pair overtakes, and the server then compares every byte.
 */
public final class PairFlow {

    /** Drivers of devices whose rate is made up. */
    private static final List<String> SOFTWARE = List.of("rdma_rxe", "rxe", "siw");

    private static final SendFlag[] SIGNALED = {SendFlag.SIGNALED};

    /** How many bytes of each queue pair are on their way. */
    private static final int IN_FLIGHT = 1 << 20;

    private static final int LEAST_WINDOW = 4;
    private static final int MOST_WINDOW = 128;

    /** So many small messages have one completion. */
    private static final int CHUNK = 16;

    /** Messages of this size or more have a completion each, so that the time between two is known well on a slow path. */
    private static final int LARGE = 4096;

    /** Fewer completions do not make a rate, unless the time of a step is over. */
    private static final int LEAST_COMPLETIONS = 16;

    /** A flow is not measured until it has run for this share of its time. */
    private static final int WARM_UP_SHARE = 4;

    /** How many vain rounds of polls there are between two looks at the clock, the peer, and whether to end. */
    private static final int LOOK = 256;

    private PairFlow() {}

    /**
     * What both sides must agree on.
     *
     * @param queuePairs how many queue pairs, 1 to 64
     * @param size bytes of a message for the bandwidth, 1 to 16 MiB; 0 for no measurement of the bandwidth
     * @param smallSize bytes of a message for the message rate, 1 to 4,096; 0 for no measurement of the rate
     * @param time how long each is measured
     * @param timeout how long to wait for any one step
     */
    public record Plan(int queuePairs, int size, int smallSize, Duration time, Duration timeout) {

        /** Most bytes of a message. */
        public static final int MOST_BYTES = 1 << 24;

        /**
         * Checks the ranges.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public Plan {
            if (queuePairs < 1 || queuePairs > 64) {
                throw new IllegalArgumentException("Queue pairs are 1 to 64, not " + queuePairs);
            }
            if (size < 0 || size > MOST_BYTES || smallSize < 0 || smallSize > LARGE) {
                throw new IllegalArgumentException(
                        "Sizes are 0 to %d and 0 to %d, not %d and %d".formatted(MOST_BYTES, LARGE, size, smallSize));
            }
            if (size == 0 && smallSize == 0) {
                throw new IllegalArgumentException("Nothing is to be measured: both sizes are 0");
            }
        }

        private List<Integer> sizes() {
            List<Integer> sizes = new ArrayList<>();
            if (size > 0) {
                sizes.add(size);
            }
            if (smallSize > 0) {
                sizes.add(smallSize);
            }
            return sizes;
        }

        private int largest() {
            return Math.max(size, smallSize);
        }

        private RcLink.Spec spec() {
            return new RcLink.Spec(BringUp.RDMA_CM, MOST_WINDOW + 2, 2, 0, 1, Waiting.POLLING, false, timeout);
        }
    }

    /**
     * The results of one side.
     *
     * @param bandwidth payload in bit/s; 0 if it was not measured, and at the server
     * @param messageRate small messages per second; 0 if it was not measured, and at the server
     * @param messages how many messages were completed (client), or announced (server)
     * @param bytesVerified bytes that arrived at this side and were compared
     * @param lineRate the active rate of this side's port in bit/s; 0 if it is not known, as with a device in software
     * @param increased by how much counters of the port increased, by their names
     * @param unread why the counters were not read; null if they were, or were not asked for
     */
    public record Result(
            double bandwidth,
            double messageRate,
            long messages,
            long bytesVerified,
            double lineRate,
            Map<String, Long> increased,
            @Nullable String unread) {

        /** Copies the counters. */
        public Result {
            increased = Map.copyOf(increased);
        }
    }

    /**
     * The side that receives.
     *
     * @param plan the flow
     * @param counters whether to read counters
     */
    public record Server(Plan plan, boolean counters) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            PairPing.Reading before = PairPing.Reading.of(context, counters);
            long verified;
            long messages;
            try (Links links = new Links(plan)) {
                links.accept(context);
                long[] announced = {0};
                verified = links.receive(announced);
                messages = announced[0];
                links.awaitEnd();
            }
            return result(context, before, counters, 0, 0, messages, verified);
        }
    }

    /**
     * The side that sends and measures.
     *
     * @param plan the flow
     * @param counters whether to read counters
     * @param fault what it does wrong on purpose
     */
    public record Client(Plan plan, boolean counters, Fault fault) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            RoleContext patient = new PairPing.PatientContext(context);
            PairPing.Reading before = PairPing.Reading.of(context, counters);
            double[] rates = new double[2];
            long messages;
            try (Links links = new Links(plan)) {
                links.connect(patient);
                messages = links.send(context, rates, fault);
                links.end();
            }
            return result(context, before, counters, rates[0], rates[1], messages, 0);
        }
    }

    private static Result result(
            RoleContext context,
            PairPing.Reading before,
            boolean counters,
            double bandwidth,
            double messageRate,
            long messages,
            long verified) {
        PairPing.Reading after = PairPing.Reading.of(context, counters);
        return new Result(
                bandwidth,
                messageRate,
                messages,
                verified,
                lineRate(context.device()),
                after.since(before),
                before.unread() != null ? before.unread() : after.unread());
    }

    private static double lineRate(FabricDevice device) {
        return SOFTWARE.contains(device.device().driver())
                ? 0
                : device.portAttributes().rateGbps() * 1e9;
    }

    /** One queue pair of a side, with its memory. */
    private static final class Lane {

        private final int number;
        private @Nullable RcLink link;
        private @Nullable MemoryRegion data;
        private @Nullable MemoryRegion control;
        private long base;
        private long posted;

        Lane(int number) {
            this.number = number;
        }

        byte[] prepare(RcLink its, Plan plan) {
            MemoryRegion memory = its.register(plan.largest(), Access.LOCAL_WRITE, Access.REMOTE_WRITE);
            // One message to send, two to receive.
            MemoryRegion words = its.register(3L * RpingMessage.SIZE, Access.LOCAL_WRITE);
            data = memory;
            control = words;
            its.postReceive(0, words, RpingMessage.SIZE, RpingMessage.SIZE);
            its.postReceive(1, words, 2L * RpingMessage.SIZE, RpingMessage.SIZE);
            return new RpingMessage(memory.address(), memory.rkey(), plan.largest()).toBytes();
        }

        RcLink link() {
            return present(link);
        }

        MemoryRegion data() {
            return present(data);
        }

        RpingMessage remote() {
            return RpingMessage.readFrom(
                    MemorySegment.ofArray(link().peerData()).asSlice(0, RpingMessage.SIZE));
        }

        /** Sends a number to the peer: how many messages this lane has written, or that they were as they should be. */
        void say(long value) {
            MemoryRegion words = present(control);
            RpingMessage.write(words.bytes(), value, 0, 0);
            long sent = link().progress().sends();
            link().queuePair().postSend(0, words, 0, RpingMessage.SIZE, SIGNALED);
            link().progress().awaitSends(sent + 1);
        }

        long hear(String what) {
            Progress progress = link().progress();
            progress.awaitReceive(what);
            long offset = (1 + progress.wrId()) * RpingMessage.SIZE;
            MemoryRegion words = present(control);
            long value = RpingMessage.addressIn(words.bytes().asSlice(offset));
            link().postReceive(progress.wrId(), words, offset, RpingMessage.SIZE);
            return value;
        }

        private static <T> T present(@Nullable T value) {
            if (value == null) {
                throw new IllegalStateException("The connection is not prepared yet");
            }
            return value;
        }
    }

    /** All queue pairs of a side. */
    private static final class Links implements AutoCloseable {

        private final Plan plan;
        private final List<Lane> lanes = new ArrayList<>();
        private RcLink.@Nullable Listener listener;

        Links(Plan plan) {
            this.plan = plan;
        }

        // ---- connections ----

        void accept(RoleContext context) {
            try (RcLink.Listener listener = RcLink.Listener.open(context, null, 0, plan.queuePairs())) {
                context.tell(Integer.toString(listener.id().localPort()));
                for (int i = 0; i < plan.queuePairs(); i++) {
                    Lane lane = new Lane(i);
                    CmEvent request = listener.awaitRequest(plan.timeout());
                    lane.link =
                            RcLink.accept(context, plan.spec(), request, id -> {}, link -> lane.prepare(link, plan));
                    lanes.add(lane);
                }
            }
        }

        void connect(RoleContext context) {
            int port = Integer.parseInt(context.hear("port of the server of the flow", plan.timeout()));
            InetSocketAddress target = new InetSocketAddress(context.peerAddress(), port);
            for (int i = 0; i < plan.queuePairs(); i++) {
                Lane lane = new Lane(i);
                lane.link =
                        RcLink.connect(context, plan.spec(), null, target, id -> {}, link -> lane.prepare(link, plan));
                lanes.add(lane);
            }
        }

        void end() {
            for (Lane lane : lanes) {
                lane.link().disconnect();
            }
        }

        void awaitEnd() {
            for (Lane lane : lanes) {
                lane.link().awaitDisconnect();
            }
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
                } catch (Exception failure) {
                    RuntimeException e =
                            failure instanceof RuntimeException known ? known : new IllegalStateException(failure);
                    if (first == null) {
                        first = e;
                    } else {
                        first.addSuppressed(e);
                    }
                }
            }
            if (first != null) {
                throw first;
            }
        }

        // ---- the server ----

        /** Compares the last message of each queue pair, for each size. */
        long receive(long[] announced) {
            long verified = 0;
            List<Integer> sizes = plan.sizes();
            for (int phase = 0; phase < sizes.size(); phase++) {
                int size = sizes.get(phase);
                for (Lane lane : lanes) {
                    announced[0] += lane.hear("end of the flow with messages of " + size + " bytes");
                    Payload.verify(
                            lane.data().bytes().asSlice(0, size),
                            number(phase, lane),
                            "last RDMA WRITE of queue pair " + lane.number + " at the server");
                    verified += size;
                }
                for (Lane lane : lanes) {
                    lane.say(phase);
                }
            }
            return verified;
        }

        private static long number(int phase, Lane lane) {
            return 1 + 64L * phase + lane.number;
        }

        // ---- the client ----

        /** Sends with each size; returns how many messages were completed. */
        long send(RoleContext context, double[] rates, Fault fault) {
            long messages = 0;
            List<Integer> sizes = plan.sizes();
            for (int phase = 0; phase < sizes.size(); phase++) {
                int size = sizes.get(phase);
                Flow flow = new Flow(context, size);
                double perSecond = flow.run();
                if (size == plan.size()) {
                    rates[0] = perSecond * size * 8;
                } else {
                    rates[1] = perSecond;
                }
                for (Lane lane : lanes) {
                    MemorySegment last = lane.data().bytes().asSlice(0, size);
                    Payload.fill(last, number(phase, lane));
                    fault.apply(lane.number, plan.queuePairs(), last);
                    RpingMessage remote = lane.remote();
                    long sent = lane.link().progress().sends();
                    lane.link()
                            .queuePair()
                            .postWrite(0, lane.data(), 0, size, remote.address(), remote.rkey(), SIGNALED);
                    lane.link().progress().awaitSends(sent + 1);
                    messages += lane.posted + 1;
                    lane.say(lane.posted + 1);
                }
                for (Lane lane : lanes) {
                    lane.hear("confirmation of the data of " + size + " bytes");
                }
            }
            return messages;
        }

        /** Messages of one size, as many at once as there is room for, for the time of the plan. */
        private final class Flow {

            private final RoleContext context;
            private final int size;
            private final int chunk;
            private final int window;

            Flow(RoleContext context, int size) {
                this.context = context;
                this.size = size;
                chunk = size >= LARGE ? 1 : CHUNK;
                int room = Math.clamp(IN_FLIGHT / size, LEAST_WINDOW, MOST_WINDOW);
                window = Math.max(room / chunk, 2);
            }

            /** Returns how many messages were completed per second. */
            double run() {
                List<SendRequests> lists = new ArrayList<>();
                try {
                    for (Lane lane : lanes) {
                        lists.add(prepare(lane));
                    }
                    return measure(lists);
                } finally {
                    lists.forEach(SendRequests::close);
                }
            }

            private SendRequests prepare(Lane lane) {
                RpingMessage remote = lane.remote();
                Payload.fill(lane.data().bytes(), lane.number);
                SendRequests requests = SendRequests.allocate(chunk);
                for (int i = 0; i < chunk; i++) {
                    SendRequests ignored = requests.write(i, i, lane.data(), 0, size, remote.address(), remote.rkey());
                }
                requests.signaled(chunk - 1, true);
                lane.base = lane.link().progress().sends();
                lane.posted = 0;
                return requests;
            }

            private double measure(List<SendRequests> lists) {
                long time = plan.time().toNanos();
                long enough = Waits.deadline(plan.timeout().dividedBy(2));
                long deadline = Waits.deadline(plan.timeout());
                long start = System.nanoTime();
                long begin = 0;
                long first = 0;
                long end = 0;
                long last = 0;
                long done = 0;
                boolean over = false;
                for (int idle = 1; ; idle++) {
                    long before = done;
                    done = 0;
                    boolean all = true;
                    for (int i = 0; i < lists.size(); i++) {
                        Lane lane = lanes.get(i);
                        Progress progress = lane.link().progress();
                        progress.poll();
                        long completed = progress.sends() - lane.base;
                        long posted = lane.posted / chunk;
                        for (; !over && posted - completed < window; posted++) {
                            lane.link().queuePair().post(lists.get(i), 0, chunk);
                            lane.posted += chunk;
                        }
                        all &= posted == completed;
                        done += completed;
                    }
                    if (over && all) {
                        return (last - first) * (double) chunk / (end - begin) * 1e9;
                    }
                    if (done > before) {
                        idle = 0;
                        long now = System.nanoTime();
                        if (begin == 0) {
                            // A rate is from one completion to another one.
                            if (now - start >= time / WARM_UP_SHARE) {
                                begin = now;
                                first = done;
                            }
                        } else if (!over) {
                            end = now;
                            last = done;
                            over = now - begin >= time && (last - first >= LEAST_COMPLETIONS || now - enough >= 0);
                        }
                    } else if (idle > 32) {
                        Thread.yield();
                        if (idle % LOOK == 0) {
                            look(deadline, last - first);
                        }
                    }
                }
            }

            private void look(long deadline, long completed) {
                context.checkCancelled();
                for (Lane lane : lanes) {
                    if (lane.link().isDisconnected()) {
                        throw new ScenarioException(
                                ScenarioException.Reason.PEER_LOST,
                                "The peer ended the connection in the middle of the flow; its own output says why");
                    }
                }
                if (System.nanoTime() - deadline >= 0) {
                    throw new RdmaTimeoutException(
                            "completions of RDMA WRITEs of " + size + " bytes",
                            plan.timeout(),
                            completed + " completions were measured before");
                }
            }
        }
    }
}
