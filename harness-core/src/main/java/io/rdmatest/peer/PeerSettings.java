package io.rdmatest.peer;

import java.time.Duration;

/**
 * The time limits of both sides of a channel.
 *
 * @param heartbeat an idle side sends a sign of life at this interval; above zero
 * @param patience a side that is silent for longer counts as lost; more than two heartbeats
 * @param start the limit for the agent's hello, including the copying of its jar
 * @param grace the limit for roles to release their resources, and then again for the agent to end before it is killed
 */
public record PeerSettings(Duration heartbeat, Duration patience, Duration start, Duration grace) {

    private static final PeerSettings DEFAULTS = new PeerSettings(
            Duration.ofSeconds(1), Duration.ofSeconds(8), Duration.ofSeconds(60), Duration.ofSeconds(10));

    /**
     * Checks the ranges.
     *
     * @throws IllegalArgumentException if a time is not above zero, or the patience is not more than two heartbeats
     */
    public PeerSettings {
        if (!heartbeat.isPositive() || !start.isPositive() || !grace.isPositive()) {
            throw new IllegalArgumentException(
                    "Heartbeat, start and grace must be positive, not %s, %s, %s".formatted(heartbeat, start, grace));
        }
        if (patience.compareTo(heartbeat.multipliedBy(2)) <= 0) {
            throw new IllegalArgumentException(
                    "The patience must be more than two heartbeats of %s, not %s".formatted(heartbeat, patience));
        }
    }

    /** Returns an agent's settings until the launching side's hello: a heartbeat for every patience above 1.5 s. */
    public static PeerSettings ofAgent() {
        return DEFAULTS.withHeartbeat(Duration.ofMillis(500), DEFAULTS.patience());
    }

    /** Returns the defaults: a heartbeat each second, 8 s of patience, 60 s to start, 10 s to end. */
    public static PeerSettings defaults() {
        return DEFAULTS;
    }

    /**
     * Returns a copy with another heartbeat and patience.
     *
     * @param each the heartbeat
     * @param longest the patience
     */
    public PeerSettings withHeartbeat(Duration each, Duration longest) {
        return new PeerSettings(each, longest, start, grace);
    }

    /**
     * Returns a copy with another limit for the start.
     *
     * @param time the limit for the agent's hello
     */
    public PeerSettings withStart(Duration time) {
        return new PeerSettings(heartbeat, patience, time, grace);
    }

    /**
     * Returns a copy with another grace period.
     *
     * @param time the limit for the roles, and then again for the agent
     */
    public PeerSettings withGrace(Duration time) {
        return new PeerSettings(heartbeat, patience, start, time);
    }
}
