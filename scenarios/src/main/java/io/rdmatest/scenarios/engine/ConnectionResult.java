package io.rdmatest.scenarios.engine;

import java.util.List;

/** What one side of ucmatose(1) or udaddy(1) reports: of its connections, or of its communication paths. */
public interface ConnectionResult {

    /**
     * The times of one connection or path, in nanoseconds. At the server the first two are 0, at the client the last one is.
     *
     * @param resolve address resolution
     * @param route route resolution
     * @param connect from the request to the established connection
     * @param disconnect from the disconnect to its event; only at the side that disconnects first, and 0 for a path
     */
    record Times(long resolve, long route, long connect, long disconnect) {}

    /** Returns the times of each connection. */
    List<Times> times();

    /** Returns the messages that arrived. */
    long messagesReceived();

    /** Returns the messages that completed: those of a reliable connection are acknowledged. */
    long messagesSent();

    /** Returns the bytes that arrived, without a global route header. */
    long bytesReceived();

    /** Returns the bytes of them that were compared. */
    long bytesVerified();

    /** Returns why payload that arrived was not compared; empty if all was, or there was none. */
    String unverified();

    /** Returns the requests beyond the number of connections, which the server rejected. */
    int surplus();

    /** Returns the time until all connections were established, at the server from the first request, in nanoseconds. */
    long setUpNanos();

    /** Returns the time for all messages of both directions, in nanoseconds. */
    long transferNanos();
}
