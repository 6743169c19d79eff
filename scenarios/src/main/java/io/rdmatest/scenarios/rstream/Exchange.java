package io.rdmatest.scenarios.rstream;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.scenarios.engine.CounterPattern;
import io.rdmatest.scenarios.role.Fault;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.scenarios.rstream.StreamLink.Block;
import java.lang.foreign.Arena;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The exchange of one side of rstream(1), over one connection or several consecutive ones, of whatever kind. For one thread.
 *
 * <p>A call that would block is retried for a while before the thread sleeps, unless the settings say otherwise.
 */
public final class Exchange {

    private static final int SYNC = 16;

    /** The time of retries before the thread sleeps: waking up takes longer than most transfers. */
    private static final long SPIN_NANOS = Duration.ofMillis(10).toNanos();

    /**
     * How a side moves its transfers.
     *
     * @param async whether to poll before each send and receive
     * @param blocking whether to sleep when a call would block, instead of retrying
     * @param bothAtOnce whether both sides send at the same time; otherwise the client sends first, then the server
     * @param together whether consecutive transfers may share a message
     * @param verify whether the data has the running counter and is compared byte by byte
     * @param fault the fault that this side injects
     * @param timeout the limit of each wait
     */
    public record Settings(
            boolean async,
            boolean blocking,
            boolean bothAtOnce,
            boolean together,
            boolean verify,
            Fault fault,
            Duration timeout) {}

    /**
     * The measurements of a row.
     *
     * @param row the row
     * @param nanos the duration of its timed loop in nanoseconds
     * @param latency the time of one transfer in nanoseconds, for each iteration (its time divided by its transfers in
     *     both directions); null with one iteration
     */
    public record Timing(
            StreamRow row, long nanos, @Nullable Histogram latency) {}

    private final RoleContext context;
    private final Settings settings;
    private final String side;
    private CounterPattern sent;
    private CounterPattern received;
    private final List<Timing> timings = new ArrayList<>();
    private final long units;
    private long unit;
    private final Yields yields = new Yields();
    private long bytesReceived;
    private long bytesVerified;

    /** Whether received data is compared at once; not before it is known with which counter it begins. */
    private boolean compares = true;

    /**
     * Creates the exchange of a side.
     *
     * @param side the name of the side, for messages
     * @param position the position of the running counter, at which both directions begin
     * @param units the number of transfers that this side sends
     */
    public Exchange(RoleContext context, Settings settings, String side, long position, long units) {
        this.context = context;
        this.settings = settings;
        this.side = side;
        this.sent = new CounterPattern(position);
        this.received = new CounterPattern(position);
        this.units = units;
    }

    /** Returns the bytes of one direction, including syncs. */
    static long bytes(List<StreamRow> rows) {
        return rows.stream().mapToLong(row -> SYNC + row.totalBytes() / 2).sum();
    }

    // ---- rstream ----

    void drive(StreamLink link, List<StreamRow> rows) {
        for (StreamRow row : rows) {
            try (Arena arena = Arena.ofConfined()) {
                Block sync = Block.of(arena.allocate(SYNC));
                Block transfer = Block.of(arena.allocate(row.size()));
                move(link, sync, 1, sync, 0, false, row);
                move(link, sync, 0, sync, 1, false, row);
                run(link, transfer, transfer, row, true);
            }
        }
        end(link);
    }

    void serve(StreamLink link, List<StreamRow> rows) {
        for (StreamRow row : rows) {
            serve(link, row, false);
        }
        end(link);
    }

    /** Serves the series that the first bytes identify: each begins at another counter value. */
    void serveAnyOf(StreamLink link, List<List<StreamRow>> series) {
        List<StreamRow> rows = series.getFirst();
        try (Arena arena = Arena.ofConfined()) {
            Block sync = Block.of(arena.allocate(SYNC));
            long position = bytes(rows);
            compares = false;
            move(link, sync, 0, sync, 1, false, rows.getFirst());
            compares = true;
            if (sync.bytes().get(0) == (byte) position && (byte) position != 0) {
                rows = series.get(1);
                sent = new CounterPattern(position);
                received = new CounterPattern(position);
            }
            verify(sync);
        }
        for (int i = 0; i < rows.size(); i++) {
            serve(link, rows.get(i), i == 0);
        }
        end(link);
    }

    private void serve(StreamLink link, StreamRow row, boolean synced) {
        try (Arena arena = Arena.ofConfined()) {
            Block sync = Block.of(arena.allocate(SYNC));
            Block transfer = Block.of(arena.allocate(row.size()));
            if (!synced) {
                move(link, sync, 0, sync, 1, false, row);
            }
            move(link, sync, 1, sync, 0, false, row);
            run(link, transfer, transfer, row, false);
        }
    }

    // ---- transfers ----

    /**
     * Moves the transfers of a row, and measures them.
     *
     * @param out the memory to send from
     * @param in the memory to receive into; the same, unless both sides send at the same time
     * @param sendsFirst whether this side is the client
     */
    public void run(StreamLink link, Block out, Block in, StreamRow row, boolean sendsFirst) {
        int count = row.transfers();
        int iterations = row.iterations();
        Histogram latency = iterations == 1 ? null : new Histogram(TimeUnit.HOURS.toNanos(1), 3);
        long start = System.nanoTime();
        long last = start;
        for (int i = 0; i < iterations; i++) {
            if (settings.bothAtOnce()) {
                move(link, out, count, in, count, true, row);
            } else {
                move(link, out, sendsFirst ? count : 0, in, sendsFirst ? 0 : count, true, row);
                move(link, out, sendsFirst ? 0 : count, in, sendsFirst ? count : 0, true, row);
            }
            long now = System.nanoTime();
            if (latency != null) {
                latency.recordValue(Math.min((now - last) / (2L * count), latency.getHighestTrackableValue()));
            }
            last = now;
        }
        timings.add(new Timing(row, last - start, latency));
    }

    /** Sends and receives a number of transfers, in the order in which it is possible. */
    private void move(StreamLink link, Block out, int toSend, Block in, int toReceive, boolean counted, StreamRow row) {
        int sends = 0;
        int receives = 0;
        int outDone = out.size();
        int inDone = 0;
        int tries = 0;
        long stalledSince = 0;
        while (true) {
            int moved = 0;
            if (sends < toSend) {
                if (outDone == out.size()) {
                    prepare(out, counted);
                    outDone = 0;
                }
                moved = send(link, out, outDone, sends + 1 < toSend);
                outDone += moved;
                sends += outDone == out.size() ? 1 : 0;
            }
            if (receives < toReceive) {
                int count = receive(link, in, inDone);
                if (count < 0) {
                    throw ended(link, row, inDone, in.size());
                }
                moved += count;
                inDone += count;
                if (inDone == in.size()) {
                    context.checkCancelled();
                    bytesReceived += inDone;
                    verify(in);
                    inDone = 0;
                    receives++;
                }
            }
            if (sends == toSend && receives == toReceive) {
                return;
            }
            if (moved > 0) {
                tries = 0;
                stalledSince = 0;
            } else if (!isRetried(++tries)) {
                tries = 0;
                stalledSince = stalledSince == 0 ? System.nanoTime() : stalledSince;
                boolean sending = sends < toSend;
                if (!pause(link, sending, receives < toReceive, stalledSince)) {
                    throw sending
                            ? stalled(link, "received nothing", row, outDone, out.size())
                            : stalled(link, "sent nothing", row, inDone, in.size());
                }
            }
        }
    }

    private void prepare(Block block, boolean counted) {
        context.checkCancelled();
        if (settings.verify()) {
            sent.fill(block.segment());
        }
        if (counted) {
            settings.fault().apply(unit++, units, block.segment());
        }
    }

    private int send(StreamLink link, Block block, int offset, boolean more) {
        return settings.async() && !link.poll(false, true) ? 0 : link.send(block, offset, more && settings.together());
    }

    private int receive(StreamLink link, Block block, int offset) {
        return settings.async() && !link.poll(true, false) ? 0 : link.receive(block, offset);
    }

    private void verify(Block block) {
        if (settings.verify() && compares) {
            // Both sides must verify, or none: without verification a peer's data is arbitrary.
            received.verify(
                    block.segment(),
                    bytesReceived == block.size()
                            ? "stream at the " + side + " (from its first message on: does the peer verify, -T v?)"
                            : "stream at the " + side);
            bytesVerified += block.size();
        }
    }

    // ---- waiting ----

    /** Tells whether a call is tried again at once. There is no PAUSE: a call takes long enough without. */
    private boolean isRetried(int tries) {
        return !settings.async() && !settings.blocking() && tries < yields.tries();
    }

    /** Sleeps, or gives the processor away; returns false when the time is over. */
    private boolean pause(StreamLink link, boolean sending, boolean receiving, long stalledSince) {
        long stalled = System.nanoTime() - stalledSince;
        if (stalled >= settings.timeout().toNanos()) {
            return false;
        }
        context.checkCancelled();
        boolean spins = !settings.async() && !settings.blocking();
        if (settings.blocking() || spins && stalled >= SPIN_NANOS) {
            boolean ignored = link.poll(receiving, sending);
        } else if (spins) {
            // A software device may need the processor that spins.
            yields.giveWay();
        }
        return true;
    }

    private static ScenarioException ended(StreamLink link, StreamRow row, int done, int size) {
        return new ScenarioException(
                Cause.PEER_LOST,
                "%s ended the connection in the row %s, after %d of %d bytes of a transfer: it failed, was killed, or has other options"
                        .formatted(link.peer(), row.name(), done, size));
    }

    private ScenarioException stalled(StreamLink link, String what, StreamRow row, int done, int size) {
        return new ScenarioException(
                Cause.PEER_LOST,
                "%s %s for %d ms in the row %s, after %d of %d bytes of a transfer: it hangs, is disconnected, or has another -S, -C or -I"
                        .formatted(link.peer(), what, settings.timeout().toMillis(), row.name(), done, size));
    }

    // ---- the end ----

    /** Ends this direction, and requires the end of the other: a peer with other options may have more to send. */
    private void end(StreamLink link) {
        try {
            link.endSending();
            requireEnd(link);
        } catch (ScenarioException e) {
            // A peer that has received everything may close first, and break the other direction.
            if (e.rdmaCause() != Cause.PEER_LOST || !(e.getCause() instanceof Exception)) {
                throw e;
            }
        }
    }

    /**
     * Requires the end of the stream.
     *
     * @throws AssertionError if the peer sends more
     * @throws ScenarioException PEER_LOST if the stream does not end in time, or breaks
     */
    public void requireEnd(StreamLink link) {
        long deadline = Deadline.end(settings.timeout());
        try (Arena arena = Arena.ofConfined()) {
            Block surplus = Block.of(arena.allocate(SYNC));
            while (true) {
                context.checkCancelled();
                int count = link.receive(surplus, 0);
                if (count < 0) {
                    return;
                }
                if (count > 0) {
                    throw new AssertionError(
                            "%s sent more than the expected %d bytes: give both sides the same -S, -C and -I"
                                    .formatted(link.peer(), bytesReceived));
                }
                if (Deadline.isOver(deadline)) {
                    throw new ScenarioException(
                            Cause.PEER_LOST,
                            "%s did not end the connection within %d ms after the last transfer: check whether it hangs, and give both sides the same -S, -C and -I"
                                    .formatted(link.peer(), settings.timeout().toMillis()));
                }
                boolean ignored = link.poll(true, false);
            }
        }
    }

    // ---- results ----

    /** Returns the timings of the rows so far. */
    public List<Timing> timings() {
        return timings;
    }

    /** Returns the received bytes, including syncs. */
    public long bytesReceived() {
        return bytesReceived;
    }

    /** Returns how many of them were compared. */
    public long bytesVerified() {
        return bytesVerified;
    }
}
