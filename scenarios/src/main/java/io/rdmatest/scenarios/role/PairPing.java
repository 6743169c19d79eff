package io.rdmatest.scenarios.role;

import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.scenarios.role.PingPongRoles.Pace;
import io.rdmatest.scenarios.role.PingPongRoles.Plan;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The ping-pong of {@link PingPongRoles} as the measurement of a pair of nodes among many: only a summary of the times comes back,
 * and each side says which counters of its port increased meanwhile.
 */
public final class PairPing {

    /** How long a side waits for a message of the other side's agent; the first role of an agent loads its classes. */
    private static final Duration START = Duration.ofMinutes(1);

    private PairPing() {}

    /**
     * The results of one side.
     *
     * @param iterations round trips, with those that were not measured
     * @param bytesVerified bytes that arrived at this side and were compared
     * @param count how many round trips were measured; 0 at the server
     * @param p50 the median in nanoseconds
     * @param p99 the 99th percentile in nanoseconds
     * @param max the longest in nanoseconds
     * @param increased by how much counters of the port increased, by their names
     * @param unread why the counters were not read; null if they were, or were not asked for
     */
    public record Result(
            int iterations,
            long bytesVerified,
            long count,
            long p50,
            long p99,
            long max,
            Map<String, Long> increased,
            @Nullable String unread) {

        /** Copies the counters. */
        public Result {
            increased = Map.copyOf(increased);
        }
    }

    /**
     * The side that answers.
     *
     * @param plan the ping-pong
     * @param pace how far it goes
     * @param counters whether to read counters
     */
    public record Server(Plan plan, Pace pace, boolean counters) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            return counted(context, counters, new PingPongRoles.Server(plan, pace));
        }
    }

    /**
     * The side that begins and measures.
     *
     * @param plan the ping-pong
     * @param pace how far it goes
     * @param counters whether to read counters
     */
    public record Client(Plan plan, Pace pace, boolean counters) implements Role<Result> {

        @Override
        public Result run(RoleContext context) {
            return counted(new PatientContext(context), counters, new PingPongRoles.Client(plan, pace));
        }
    }

    /** An agent that is slow to start says nothing about the fabric. */
    static final class PatientContext extends ForwardingContext {

        PatientContext(RoleContext context) {
            super(context);
        }

        @Override
        public String hear(String what, Duration timeout) {
            try {
                return super.hear(what, START);
            } catch (RdmaTimeoutException e) {
                throw new ScenarioException(
                        ScenarioException.Reason.HOST_NOT_READY,
                        "The agent of the other side did not send the " + what + " within " + START.toSeconds() + " s",
                        e);
            }
        }
    }

    private static Result counted(RoleContext context, boolean counters, Role<PingPongRoles.Result> role) {
        Reading before = Reading.of(context, counters);
        PingPongRoles.Result result = role.run(context);
        Reading after = Reading.of(context, counters);
        Histogram latencies = result.latencies();
        return new Result(
                result.iterations(),
                result.bytesVerified(),
                latencies.getTotalCount(),
                latencies.getValueAtPercentile(50),
                latencies.getValueAtPercentile(99),
                latencies.getMaxValue(),
                after.since(before),
                before.unread() != null ? before.unread() : after.unread());
    }

    /**
     * The counters of a port.
     *
     * @param values by their names; empty if they were not read
     * @param unread why they were not read; null if they were, or were not asked for
     */
    record Reading(Map<String, Long> values, @Nullable String unread) {

        private static final Reading NONE = new Reading(Map.of(), null);

        static Reading of(RoleContext context, boolean wanted) {
            if (!wanted) {
                return NONE;
            }
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
