package io.rdmatest.scenarios.pairs;

import io.rdmatest.scenarios.role.Role;
import io.rdmatest.scenarios.role.RoleContext;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What a side of {@link PairRoles} knew when it failed or was cancelled. A failure alone does not tell whether the host stalled, and
 * which packets passed until then.
 *
 * @param count how many round trips were measured to the end, 0 or more; 0 at the server
 * @param p50 their median in nanoseconds
 * @param p99 their 99th percentile in nanoseconds
 * @param max the longest in nanoseconds
 * @param inBandwidth whether the stream of large messages had begun, and had not ended
 * @param hasMoved whether any request of this side completed in a stream
 * @param delay for how long the host of this side did not run it
 */
public record Unfinished(
        long count, long p50, long p99, long max, boolean inBandwidth, boolean hasMoved, HostStall.Delay delay) {

    /** Nothing is known: the side ended in time, did not begin, or its node can't be asked. */
    public static final Unfinished UNKNOWN = new Unfinished(0, 0, 0, 0, false, false, HostStall.Delay.NONE);

    /** The last one of each side and device in this JVM. */
    private static final Map<String, Unfinished> LAST = new ConcurrentHashMap<>();

    static void forget(RoleContext context, boolean atServer) {
        LAST.remove(key(context, atServer));
    }

    static void keep(RoleContext context, boolean atServer, Unfinished unfinished) {
        LAST.put(key(context, atServer), unfinished);
    }

    private static String key(RoleContext context, boolean atServer) {
        return (atServer ? "server on " : "client on ")
                + context.device().device().name();
    }

    /**
     * Takes what is known of the last failure of a side on the node that it runs on, once.
     *
     * @param atServer whether the side was the server
     */
    public record Read(boolean atServer) implements Role<Unfinished> {

        @Override
        public Unfinished run(RoleContext context) {
            Unfinished last = LAST.remove(key(context, atServer));
            return last == null ? UNKNOWN : last;
        }
    }
}
