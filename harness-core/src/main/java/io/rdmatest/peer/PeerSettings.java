package io.rdmatest.peer;

import java.time.Duration;

/**
 * How long both sides of a channel wait.
 *
 * @param heartbeat how often a side that has nothing to say says so; above zero
 * @param patience how long silence is taken for life; more than two heartbeats
 * @param start how long the agent's JVM may take until it says hello, its copying included
 * @param grace how long roles may take to release what they have, and then the agent to end, before it is killed
 */
public record PeerSettings(Duration heartbeat, Duration patience, Duration start, Duration grace) {

    private static final PeerSettings DEFAULTS = new PeerSettings(
            Duration.ofSeconds(1), Duration.ofSeconds(8), Duration.ofSeconds(60), Duration.ofSeconds(10));

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException if a time is not above zero, or the patience not above two heartbeats
     */
    public PeerSettings {
        if (!heartbeat.isPositive() || !start.isPositive() || !grace.isPositive()) {
            throw new IllegalArgumentException(
                    "Heartbeat, start and grace are above zero, not %s, %s and %s".formatted(heartbeat, start, grace));
        }
        if (patience.compareTo(heartbeat.multipliedBy(2)) <= 0) {
            throw new IllegalArgumentException(
                    "The patience is more than two heartbeats of %s, not %s".formatted(heartbeat, patience));
        }
    }

    /** Returns what an agent uses until it knows better: a heartbeat that suits every patience above 1.5 s. */
    public static PeerSettings ofAgent() {
        return DEFAULTS.withHeartbeat(Duration.ofMillis(500), DEFAULTS.patience());
    }

    /** Returns the usual: a heartbeat each second, 8 s of patience, 60 s to start, 10 s to end. */
    public static PeerSettings defaults() {
        return DEFAULTS;
    }

    /**
     * Returns a copy with other signs of life.
     *
     * @param each how often they come
     * @param longest how long silence is taken for life
     */
    public PeerSettings withHeartbeat(Duration each, Duration longest) {
        return new PeerSettings(each, longest, start, grace);
    }

    /**
     * Returns a copy with another time to start.
     *
     * @param time until the agent says hello
     */
    public PeerSettings withStart(Duration time) {
        return new PeerSettings(heartbeat, patience, time, grace);
    }

    /**
     * Returns a copy with another time to end.
     *
     * @param time for the roles, and then for the agent
     */
    public PeerSettings withGrace(Duration time) {
        return new PeerSettings(heartbeat, patience, start, time);
    }
}
