package io.rdmatest.scenarios.engine;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.scenarios.role.Placement;
import io.rdmatest.scenarios.role.RoleContext;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletionException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Polls a completion queue, checks the status of every completion, and counts them.
 *
 * <p>Receives have {@link #RECEIVE} set in their work request ids, because the opcode of a failed completion is
 * undefined (ibv_poll_cq(3)). Polling allocates nothing. A wait that sleeps requests a notification, polls once more,
 * and waits for the event.
 */
public final class Progress {

    /** Set in the work request id of every receive. */
    public static final long RECEIVE = 1L << 62;

    private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();
    private static final int BATCH = 32;

    /**
     * The number of empty polls before sleeping with {@link Waiting#POLLING_FIRST}. On soft-RoCE in emulation a round
     * trip of rping took 690 us if every wait slept, 155 us with 256 polls first, 138 us with 512 and with 1,024, and
     * with 64 as long as with none.
     */
    private static final int AWAKE = 512;

    private static final Duration SLICE = Duration.ofMillis(50);

    /**
     * How long after the peer's disconnect the acknowledgements that it may have left out are awaited. They take another path than
     * the disconnect. Nothing is judged by it.
     */
    private static final Duration LATE = Duration.ofSeconds(1);

    /**
     * How long bytes of a message may arrive after its last byte: the time of a few retransmissions. The peer's wait
     * for an answer is longer.
     */
    private static final Duration PLACEMENT = Duration.ofSeconds(2);

    private static final BooleanSupplier NEVER = () -> false;

    private final RoleContext context;
    private final CompletionQueue queue;
    private final @Nullable CompletionChannel channel;
    private final int awake;
    private final Completions completions;
    private final Duration timeout;

    private final long[] receivedIds;
    private final int[] receivedLengths;
    private final int[] receivedImmediates;
    private final int[] receivedSources;
    private final boolean[] receivedWithImmediate;
    private final boolean[] receivedWithGrh;
    private long receivesSeen;
    private long receivesTaken;
    private long sendsSeen;
    private int current;

    /** Read by tests on another thread. */
    private volatile long sleeps;

    /** Checked from time to time during a wait; true ends a wait for a receive. */
    private BooleanSupplier ended = NEVER;

    /** The first receive that was flushed. */
    private @Nullable WorkCompletionException flushed;

    /**
     * Follows a completion queue.
     *
     * @param context ends a wait if the scenario is cancelled
     * @param queue the queue of one queue pair, or of several that one thread polls
     * @param channel the queue's channel; may be null if waiting is {@link Waiting#POLLING}
     * @param waiting how to wait
     * @param receives how many receives can be posted at a time
     * @param timeout the limit of each wait
     */
    public Progress(
            RoleContext context,
            CompletionQueue queue,
            @Nullable CompletionChannel channel,
            Waiting waiting,
            int receives,
            Duration timeout) {
        this.context = context;
        this.queue = queue;
        this.channel = waiting == Waiting.POLLING ? null : channel;
        this.awake = waiting == Waiting.POLLING_FIRST ? AWAKE : 0;
        this.completions = queue.newCompletions(BATCH);
        this.timeout = timeout;
        int slots = Math.max(1, receives);
        receivedIds = new long[slots];
        receivedLengths = new int[slots];
        receivedImmediates = new int[slots];
        receivedSources = new int[slots];
        receivedWithImmediate = new boolean[slots];
        receivedWithGrh = new boolean[slots];
    }

    /** Sets the condition that the peer ended the connection, which ends a wait for a receive. */
    public void endsWhen(BooleanSupplier condition) {
        ended = condition;
    }

    /** Returns the number of signalled sends, writes, reads and atomics that completed so far. */
    public long sends() {
        return sendsSeen;
    }

    /** Returns the number of receives that completed so far, taken or not. */
    public long receives() {
        return receivesSeen;
    }

    /** Returns how often a wait has slept so far. */
    public long sleeps() {
        return sleeps;
    }

    /** Polls once without waiting. */
    public void poll() {
        take();
        if (flushed != null) {
            throw flushed;
        }
    }

    /** Waits until a total of signalled requests have completed. */
    public void awaitSends(long total) {
        // Not less: the acknowledgement of a peer that has disconnected may need retransmissions.
        if (!awaitSends(total, timeout)) {
            throw lost("completion of a request");
        }
    }

    /**
     * Waits until a total of signalled requests have completed; returns false if the connection ends first. The
     * acknowledgement of the last message may be missing: a peer that disconnects at once destroys its queue pair
     * before it acknowledges.
     */
    public boolean awaitSendsOrEnd(long total) {
        return awaitSends(total, LATE);
    }

    /**
     * Waits until a total of signalled requests have completed.
     *
     * @param late how long to wait after the end of the connection
     * @return false if the connection ends first
     */
    private boolean awaitSends(long total, Duration late) {
        if (sendsSeen >= total) {
            return true;
        }
        long deadline = Deadline.end(timeout);
        long last = 0;
        boolean over = false;
        for (int idle = 1; sendsSeen < total; idle++) {
            if (take() > 0) {
                idle = 0;
            } else if (idle(idle, deadline, timeout, "completion of a request")) {
                if (!over) {
                    over = true;
                    last = Deadline.end(late);
                } else if (Deadline.isOver(last)) {
                    return false;
                }
            }
            if (!over && sendsSeen < total && isFlushedByGoodbye()) {
                over = true;
                last = Deadline.end(late);
            }
        }
        return true;
    }

    private static ScenarioException lost(String what) {
        return new ScenarioException(
                Cause.PEER_LOST,
                "The peer ended the connection while this side waited for the " + what + "; its own output says why");
    }

    /** Waits for the next receive; afterwards the accessors describe it. */
    public void awaitReceive(String what) {
        if (!awaitReceiveOrEnd(what)) {
            throw lost(what);
        }
    }

    /** Waits for the next receive; returns false if the connection ends first. */
    public boolean awaitReceiveOrEnd(String what) {
        return awaitReceive(timeout, what);
    }

    private boolean awaitReceive(Duration limit, String what) {
        if (receivesTaken == receivesSeen) {
            long deadline = Deadline.end(limit);
            for (int idle = 1; receivesTaken == receivesSeen; idle++) {
                if (take() > 0) {
                    idle = 0;
                } else if (idle(idle, deadline, limit, what) && take() == 0) {
                    // Receives before the end still count.
                    return false;
                }
                if (receivesTaken == receivesSeen && isFlushedByGoodbye()) {
                    return false;
                }
            }
        }
        current = (int) (receivesTaken++ % receivedIds.length);
        return true;
    }

    /**
     * Returns whether receives were flushed because the peer ended the connection. On iWARP an orderly end flushes them
     * shortly before rdma_cm reports DISCONNECTED.
     *
     * @throws WorkCompletionException if they were flushed for another reason
     */
    private boolean isFlushedByGoodbye() {
        WorkCompletionException failure = flushed;
        if (failure == null) {
            return false;
        }
        long last = Deadline.end(timeout);
        while (!ended.getAsBoolean()) {
            if (ended == NEVER || Deadline.isOver(last)) {
                throw failure;
            }
            context.checkCancelled();
            if (channel == null) {
                Thread.yield();
            } else {
                awaitSlice(channel);
            }
        }
        return true;
    }

    /** Waits for the next receive with a special limit; false if none arrived in time. */
    public boolean awaitReceiveWithin(Duration limit, String what) {
        try {
            return awaitReceive(limit, what);
        } catch (RdmaTimeoutException e) {
            return false;
        }
    }

    /** Waits until a byte of memory has a value, to poll for the end of an RDMA WRITE. */
    public void awaitByte(MemorySegment memory, long offset, byte value, String what) {
        long deadline = Deadline.end(timeout);
        for (int idle = 1; (byte) BYTE.getAcquire(memory, offset) != value; idle++) {
            if (take() > 0) {
                idle = 0;
            } else if (spin(idle, deadline, timeout, what)) {
                throw lost(what);
            }
            if (isFlushedByGoodbye() && (byte) BYTE.getAcquire(memory, offset) != value) {
                throw lost(what);
            }
        }
    }

    /**
     * Waits until all bytes of an RDMA WRITE are placed after its last byte was seen. The InfiniBand specification does
     * not order the placement of a message's bytes. Packets on several paths are placed as they arrive.
     *
     * @param intact returns whether all bytes are right
     * @return false if they are still wrong after the peer ended the connection or the time is over
     */
    public boolean awaitPlacement(BooleanSupplier intact) {
        return Placement.await(intact, ended, context, PLACEMENT.compareTo(timeout) < 0 ? PLACEMENT : timeout);
    }

    /** Returns the work request id of the taken receive, without {@link #RECEIVE}. */
    public long wrId() {
        return receivedIds[current] & ~RECEIVE;
    }

    /** Returns the bytes of the taken receive, including a global route header. */
    public int byteLength() {
        return receivedLengths[current];
    }

    /** Returns the immediate data of the taken receive, if it {@linkplain #hasImmediate() has} any. */
    public int immediate() {
        return receivedImmediates[current];
    }

    /** Returns whether the taken receive has immediate data. */
    public boolean hasImmediate() {
        return receivedWithImmediate[current];
    }

    /** Returns the queue pair number of the taken datagram's sender. */
    public int sourceQp() {
        return receivedSources[current];
    }

    /** Returns whether the taken datagram has a global route header. */
    public boolean hasGrh() {
        return receivedWithGrh[current];
    }

    private int take() {
        int count = queue.poll(completions);
        for (int i = 0; i < count; i++) {
            if (!completions.isSuccess(i)) {
                WorkCompletionException failure = completions.get(i).exception();
                if ((failure.wrId() & RECEIVE) == 0 || failure.status() != WorkCompletion.Status.WR_FLUSH_ERR) {
                    throw failure;
                }
                // Count the other completions before the failure is thrown.
                flushed = flushed == null ? failure : flushed;
                continue;
            }
            long id = completions.wrId(i);
            if ((id & RECEIVE) == 0) {
                sendsSeen++;
                continue;
            }
            if (receivesSeen - receivesTaken == receivedIds.length) {
                throw new AssertionError("More receives completed than were posted: " + completions.get(i));
            }
            int slot = (int) (receivesSeen++ % receivedIds.length);
            receivedIds[slot] = id;
            receivedLengths[slot] = completions.byteLength(i);
            receivedImmediates[slot] = completions.immediate(i);
            receivedSources[slot] = completions.sourceQp(i);
            receivedWithImmediate[slot] = completions.hasImmediate(i);
            receivedWithGrh[slot] = completions.hasGrh(i);
        }
        return count;
    }

    private boolean idle(int idle, long deadline, Duration limit, String what) {
        if (channel == null) {
            return spin(idle, deadline, limit, what);
        }
        return idle > awake && sleep(channel, deadline, limit, what);
    }

    private boolean spin(int idle, long deadline, Duration limit, String what) {
        return Spin.isTimeToLook(idle) && look(deadline, limit, what);
    }

    private boolean sleep(CompletionChannel events, long deadline, Duration limit, String what) {
        queue.requestNotify(false);
        // A completion between the last poll and the request raises no event.
        if (take() > 0) {
            return false;
        }
        sleeps = sleeps + 1;
        return !awaitSlice(events) && look(deadline, limit, what);
    }

    /** Sleeps until the next event, but not longer than until the next look; returns whether there was one. */
    private static boolean awaitSlice(CompletionChannel events) {
        try {
            events.awaitEvent(SLICE);
            return true;
        } catch (RdmaTimeoutException e) {
            return false;
        }
    }

    private boolean look(long deadline, Duration limit, String what) {
        context.checkCancelled();
        if (ended.getAsBoolean()) {
            return true;
        }
        if (Deadline.isOver(deadline)) {
            // What completed while this thread was suspended is in time.
            if (take() > 0) {
                return false;
            }
            throw new RdmaTimeoutException(
                    what,
                    Deadline.of(deadline, limit),
                    sendsSeen + " requests and " + receivesSeen + " receives completed before");
        }
        return false;
    }
}
