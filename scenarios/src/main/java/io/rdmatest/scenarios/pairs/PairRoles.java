package io.rdmatest.scenarios.pairs;

import io.rdmatest.Cause;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.scenarios.engine.NearDevice;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Pace;
import io.rdmatest.scenarios.role.ForwardingContext;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.DriverQuirks;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The measurement of a pair of nodes among many, from the client to the server: round trips of {@link PingPongRoles}, and streams of
 * large and of small messages. Only summaries come back, and each side says which counters of its port increased meanwhile.
 */
public final class PairRoles {

    /** The most queue pairs that a stream has. */
    public static final int MOST_QUEUE_PAIRS = 64;

    /** The largest message of a stream in bytes. */
    public static final int LARGEST = 16 << 20;

    /** The number of lists in which the messages in flight are posted. The last request of each list is signalled. */
    public static final int LISTS = 4;

    /** How long a side waits for a message of the other side's agent; the first role of an agent loads its classes. */
    private static final Duration START = Duration.ofMinutes(1);

    private static final PingPongRoles.Result NO_ROUND_TRIP = new PingPongRoles.Result(0, 0, new Histogram(3));

    private PairRoles() {}

    /** How a stream moves data. */
    public enum Operation {
        /** The client writes into the server's memory. */
        WRITE,
        /** The server reads from the client's memory. */
        READ,
        /** The client sends after the server has announced that it posted a receive. */
        SEND
    }

    /**
     * What both sides must agree on, except for the timeout.
     *
     * @param latency the ping-pong; null for none
     * @param pace the extent of the ping-pong
     * @param operation how streams move data
     * @param bothWays whether data flows from the server to the client as well, at the same time
     * @param queuePairs how many connections a stream has in each direction, 1 to {@value #MOST_QUEUE_PAIRS}
     * @param bandwidthSize bytes of a message of the stream that measures the bandwidth, up to {@value #LARGEST}; 0 for none
     * @param rateSize bytes of a message of the stream that measures the message rate, up to {@value #LARGEST}; 0 for none
     * @param time how long each stream is measured, above 0
     * @param timeout how long to wait for any one step of a stream
     * @param counters whether to read counters
     */
    public record Plan(
            PingPongRoles.@Nullable Plan latency,
            Pace pace,
            Operation operation,
            boolean bothWays,
            int queuePairs,
            int bandwidthSize,
            int rateSize,
            Duration time,
            Duration timeout,
            boolean counters) {

        /**
         * Checks the ranges.
         *
         * @throws IllegalArgumentException if a number is out of its range
         */
        public Plan {
            if (queuePairs < 1 || queuePairs > MOST_QUEUE_PAIRS) {
                throw new IllegalArgumentException(
                        "A stream has 1 to %d queue pairs, not %d".formatted(MOST_QUEUE_PAIRS, queuePairs));
            }
            if (bandwidthSize < 0 || bandwidthSize > LARGEST || rateSize < 0 || rateSize > LARGEST) {
                throw new IllegalArgumentException("A message of a stream has up to %d bytes, not %d and %d"
                        .formatted(LARGEST, bandwidthSize, rateSize));
            }
            if (!time.isPositive()) {
                throw new IllegalArgumentException("A stream takes more time than " + time);
            }
        }

        private boolean hasStreams() {
            return bandwidthSize > 0 || rateSize > 0;
        }

        /** Returns how many connections data flows over; those from the client to the server come first. */
        int connections() {
            return bothWays ? 2 * queuePairs : queuePairs;
        }
    }

    /**
     * What a stream moved.
     *
     * @param messages how many messages
     * @param bytes their payload
     * @param nanos from the first request to the last completion; 0 if nothing was measured at this side
     */
    public record Moved(long messages, long bytes, long nanos) {

        /** Nothing was measured at this side. */
        public static final Moved NOTHING = new Moved(0, 0, 0);

        /** Returns the payload in bit/s; NaN if nothing was measured at this side. */
        public double bitsPerSecond() {
            return nanos == 0 ? Double.NaN : bytes * 8e9 / nanos;
        }

        /** Returns the messages per second; NaN if nothing was measured at this side. */
        public double messagesPerSecond() {
            return nanos == 0 ? Double.NaN : messages * 1e9 / nanos;
        }
    }

    /**
     * The results of one side.
     *
     * @param iterations round trips, with those that were not measured
     * @param bytesVerified bytes that arrived at this side and were compared
     * @param count how many round trips were measured; 0 at the server
     * @param p50 the median in nanoseconds
     * @param p99 the 99th percentile in nanoseconds
     * @param max the longest in nanoseconds
     * @param bandwidth the data that requests of this side moved in the stream of large messages; nothing if it posted none
     * @param rate the same for the stream of small messages
     * @param lineRate the active rate of the port in bit/s; 0 if unknown, as for a software device
     * @param increased by how much counters of the port increased, by their names
     * @param unread why the counters were not read; null if they were, or were not asked for
     * @param delay for how long the host of this side did not run it
     */
    public record Result(
            int iterations,
            long bytesVerified,
            long count,
            long p50,
            long p99,
            long max,
            Moved bandwidth,
            Moved rate,
            long lineRate,
            Map<String, Long> increased,
            @Nullable String unread,
            HostStall.Delay delay) {

        /** Copies the counters. */
        public Result {
            increased = Map.copyOf(increased);
        }
    }

    /**
     * The side that receives the data.
     *
     * @param plan what is measured
     */
    public record Server(Plan plan) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            PingPongRoles.Plan latency = plan.latency();
            return counted(
                    context,
                    true,
                    plan,
                    latency == null ? null : new PingPongRoles.Server(latency, plan.pace(), null),
                    PairStream::accept);
        }
    }

    /**
     * The side that data comes from. It begins, and measures the round trips.
     *
     * @param plan what is measured
     */
    public record Client(Plan plan) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            PingPongRoles.Plan latency = plan.latency();
            return counted(
                    new PatientContext(context),
                    false,
                    plan,
                    latency == null ? null : new PingPongRoles.Client(latency, plan.pace(), null),
                    PairStream::connect);
        }
    }

    /**
     * Returns the results of the side whose requests moved the data from the client to the server. For RDMA READs, the receiving
     * side posts the requests.
     *
     * @param operation how data was moved
     * @param server the results of the server
     * @param client the results of the client
     * @param <T> the results
     */
    public static <T> T poster(Operation operation, T server, T client) {
        return operation == Operation.READ ? server : client;
    }

    /**
     * Returns how many messages each queue pair of a stream has in flight at most.
     *
     * @param size bytes of a message, 1 or more
     */
    public static int messagesInFlight(int size) {
        return PairStream.slots(size);
    }

    /** Waits longer for messages, because an agent that starts slowly is no evidence about the fabric. */
    private static final class PatientContext extends ForwardingContext {

        PatientContext(RoleContext context) {
            super(context);
        }

        @Override
        public String hear(String what, Duration timeout) {
            try {
                return super.hear(what, START);
            } catch (RdmaTimeoutException e) {
                throw new ScenarioException(
                        Cause.HOST_NOT_READY,
                        "The agent of the other side did not send the " + what + " within " + START.toSeconds() + " s",
                        e);
            }
        }
    }

    /** Makes the connections of a side. */
    @FunctionalInterface
    private interface Connection {

        PairStream open(RoleContext context, Plan plan, NearDevice near);
    }

    /** What a side has measured by now. */
    private static final class Course {

        private PingPongRoles.Result pingPong = NO_ROUND_TRIP;
        private boolean inBandwidth;
        private @Nullable PairStream stream;

        Unfinished unfinished(HostStall.Delay delay) {
            Histogram latencies = pingPong.latencies();
            return new Unfinished(
                    latencies.getTotalCount(),
                    latencies.getValueAtPercentile(50),
                    latencies.getValueAtPercentile(99),
                    latencies.getMaxValue(),
                    inBandwidth,
                    stream != null && stream.hasMoved(),
                    delay);
        }
    }

    private static Result counted(
            RoleContext context,
            boolean atServer,
            Plan plan,
            @Nullable Role<PingPongRoles.Result> pingPong,
            Connection connection) {
        Unfinished.forget(context, atServer);
        Course course = new Course();
        try (NearDevice near = NearDevice.begin(context.device().device().name());
                HostStall stall = HostStall.begin()) {
            try {
                return counted(context, plan, pingPong, connection, near, stall, course);
            } catch (RuntimeException | Error e) {
                Unfinished.keep(context, atServer, course.unfinished(stall.end()));
                throw e;
            }
        }
    }

    private static Result counted(
            RoleContext context,
            Plan plan,
            @Nullable Role<PingPongRoles.Result> pingPong,
            Connection connection,
            NearDevice near,
            HostStall stall,
            Course course) {
        near.node().ifPresent(node -> context.trace(() -> "measured on NUMA node " + node));
        Reading before = plan.counters() ? Reading.of(context) : Reading.NONE;
        PingPongRoles.Result result = pingPong == null ? NO_ROUND_TRIP : pingPong.run(context);
        course.pingPong = result;
        Moved bandwidth = Moved.NOTHING;
        Moved rate = Moved.NOTHING;
        long verified = result.bytesVerified();
        if (plan.hasStreams()) {
            try (PairStream stream = connection.open(context, plan, near)) {
                course.stream = stream;
                if (plan.bandwidthSize() > 0) {
                    course.inBandwidth = true;
                    bandwidth = stream.run(0, plan.bandwidthSize());
                    course.inBandwidth = false;
                }
                if (plan.rateSize() > 0) {
                    rate = stream.run(1, plan.rateSize());
                }
                stream.finish();
                verified += stream.bytesVerified();
            }
        }
        Reading after = plan.counters() ? Reading.of(context) : Reading.NONE;
        Histogram latencies = result.latencies();
        return new Result(
                result.iterations(),
                verified,
                latencies.getTotalCount(),
                latencies.getValueAtPercentile(50),
                latencies.getValueAtPercentile(99),
                latencies.getMaxValue(),
                bandwidth,
                rate,
                lineRate(context),
                after.since(before),
                before.unread() != null ? before.unread() : after.unread(),
                stall.end());
    }

    private static long lineRate(RoleContext context) {
        String driver = context.device().environment().getOrDefault("driver", "");
        return DriverQuirks.isSoftware(driver)
                ? 0
                : Math.round(context.device().portAttributes().rateGbps() * 1e9);
    }

    private record Reading(
            Map<String, Long> values, @Nullable String unread) {

        static final Reading NONE = new Reading(Map.of(), null);

        static Reading of(RoleContext context) {
            try {
                Map<String, Long> values = context.device().counters();
                return new Reading(values, values.isEmpty() ? "the device has none that can be read" : null);
            } catch (RuntimeException e) {
                return new Reading(Map.of(), e.getMessage() == null ? e.toString() : e.getMessage());
            }
        }

        Map<String, Long> since(Reading before) {
            Map<String, Long> increased = new TreeMap<>();
            values.forEach((name, value) -> {
                long by = value - before.values.getOrDefault(name, value);
                if (by > 0) {
                    increased.put(name, by);
                }
            });
            return increased;
        }
    }
}
