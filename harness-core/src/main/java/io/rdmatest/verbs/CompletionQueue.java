package io.rdmatest.verbs;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.ffi.ibv_cq;
import io.rdmatest.ffi.ibv_cq_init_attr_ex;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.ffi.verbs_context;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A completion queue (ibv_create_cq(3), ibv_poll_cq(3); IBTA volume 1, section 10.8.1).
 *
 * <p>{@link #poll} is the hot path: it allocates nothing. The waits build on it.
 */
public final class CompletionQueue extends VerbsObject {

    private static final int BATCH = 16;

    /** The array that the waits of a thread poll into. They copy the completions out of it before they return. */
    private static final ThreadLocal<Completions> SCRATCH = ThreadLocal.withInitial(() -> new Completions(BATCH));

    private static final int SPINS = 256;
    /** IBV_WC_RECV: a bit that the opcodes of all receives have. */
    private static final int RECEIVED = 128;

    /** The flags that request LIDs in completions. The service level has a flag of its own. */
    private static final long OF_LIDS = rdma_h.IBV_WC_EX_WITH_SLID() | rdma_h.IBV_WC_EX_WITH_DLID_PATH_BITS();

    private final DeviceContext context;
    private final @Nullable CompletionChannel channel;
    /** Null if the queue is not an extended one. */
    private final @Nullable ExtendedPoll extended;

    private final CompletionTimestamp timestamps;
    private final int number;
    private final AtomicInteger pendingEvents;
    /** The number by which the channel knows the queue; 0 without a channel. */
    private final int numberInChannel;

    /** Events that were read but not acknowledged. Guarded by the lock of the channel. */
    int unacknowledged;

    /** Whether the channel lists the queue among those that have events. Guarded by the lock of the channel. */
    boolean isReady;

    /**
     * The queue pairs whose work completes here: a hash table by number with open addressing. Some of them may be destroyed
     * already.
     */
    private volatile @Nullable QueuePair[] counted;

    /** The occupied slots of the table, including those of destroyed queue pairs. Guarded by this. */
    private int countedUsed;

    /** The occupied slots whose queue pair still counts completions. Guarded by this. */
    private int countedLive;

    private CompletionQueue(
            DeviceContext context, MemorySegment handle, CompletionQueueAttributes attributes, int numberInChannel) {
        CompletionChannel channel = attributes.channel();
        this.context = context;
        this.channel = channel;
        this.timestamps = attributes.timestamps();
        this.extended = attributes.extended() ? new ExtendedPoll(handle, attributes.timestamps()) : null;
        this.number = ibv_cq.handle(handle);
        this.pendingEvents = new AtomicInteger();
        this.numberInChannel = numberInChannel;
        this.counted = new QueuePair[0];
        super("cq", handle, context.deviceName(), context, channel);
        reportEventsAs();
        if (channel != null) {
            channel.add(this);
        }
    }

    static CompletionQueue create(DeviceContext context, CompletionQueueAttributes attributes) {
        CompletionChannel channel = attributes.channel();
        if (channel != null && channel.context().address != context.address) {
            throw new IllegalArgumentException(channel.describe() + " is not of " + context.describe());
        }
        context.begin();
        try {
            if (channel == null) {
                return create(context, attributes, MemorySegment.NULL, 0);
            }
            channel.begin();
            try {
                return createOn(channel, context, attributes);
            } finally {
                channel.end();
            }
        } finally {
            context.end();
        }
    }

    private static CompletionQueue createOn(
            CompletionChannel channel, DeviceContext context, CompletionQueueAttributes attributes) {
        int number = channel.reserve();
        boolean created = false;
        try {
            CompletionQueue queue = create(context, attributes, channel.handle, number);
            created = true;
            return queue;
        } finally {
            if (!created) {
                channel.unreserve(number);
            }
        }
    }

    private static CompletionQueue create(
            DeviceContext context, CompletionQueueAttributes attributes, MemorySegment channel, int number) {
        MemorySegment handle;
        String call = attributes.extended() ? "ibv_create_cq_ex" : "ibv_create_cq";
        try {
            handle = attributes.extended()
                    ? createExtended(context, attributes, channel, number)
                    : (MemorySegment) Verbs.CREATE_CQ
                            .handle()
                            .invokeExact(
                                    Native.errnoState(),
                                    context.handle,
                                    attributes.entries(),
                                    MemorySegment.ofAddress(number),
                                    channel,
                                    attributes.vector());
        } catch (Throwable e) {
            throw Native.unchecked(call, e);
        }
        if (handle.address() == 0) {
            throw failure(call, context, attributes, Native.errno());
        }
        MemorySegment cq = handle.reinterpret(ibv_cq.sizeof());
        try {
            return new CompletionQueue(context, cq, attributes, number);
        } catch (IllegalStateException e) {
            Verbs.destroy(Verbs.DESTROY_CQ, attributes.toString(), cq);
            throw e;
        }
    }

    /** Does what the inline function ibv_create_cq_ex(3) does. */
    private static MemorySegment createExtended(
            DeviceContext context, CompletionQueueAttributes attributes, MemorySegment channel, int number)
            throws Throwable {
        MemorySegment function = context.extended(verbs_context::create_cq_ex)
                .orElseThrow(() -> new RdmaException(
                        "ibv_create_cq_ex", context.deviceName() + ", " + attributes, rdma_h.EOPNOTSUPP()));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment init = ibv_cq_init_attr_ex.allocate(arena);
            ibv_cq_init_attr_ex.cqe(init, attributes.entries());
            ibv_cq_init_attr_ex.cq_context(init, MemorySegment.ofAddress(number));
            ibv_cq_init_attr_ex.channel(init, channel);
            ibv_cq_init_attr_ex.comp_vector(init, attributes.vector());
            long flags =
                    rdma_h.IBV_WC_STANDARD_FLAGS() | attributes.timestamps().flag();
            MemorySegment made = createExtended(function, context, init, flags);
            if (made.address() == 0 && (Native.errno() == rdma_h.EOPNOTSUPP() || Native.errno() == rdma_h.EINVAL())) {
                // Some providers do not report LIDs, for example irdma.
                made = createExtended(function, context, init, flags & ~OF_LIDS);
            }
            return made;
        }
    }

    private static MemorySegment createExtended(
            MemorySegment function, DeviceContext context, MemorySegment init, long flags) throws Throwable {
        ibv_cq_init_attr_ex.wc_flags(init, flags);
        return (MemorySegment)
                Verbs.CREATE_CQ_EX.handle().invokeExact(function, Native.errnoState(), context.handle, init);
    }

    private static RdmaException failure(
            String call, DeviceContext context, CompletionQueueAttributes attributes, int errno) {
        String operands = context.deviceName() + ", " + attributes;
        int vectors = context.vectors();
        if (attributes.timestamps() != CompletionTimestamp.NONE) {
            RdmaException failure = context.failure(call, operands, errno, DeviceCapability.COMPLETION_TIMESTAMPS);
            if (failure.isUnsupported()) {
                return failure;
            }
        }
        return attributes.vector() < vectors
                ? new RdmaException(call, operands, errno)
                : new RdmaException(
                        call,
                        operands,
                        errno,
                        "The device has " + vectors + " completion vectors: use one of 0 to " + (vectors - 1) + ".");
    }

    int numberInChannel() {
        return numberInChannel;
    }

    /** Returns the device. */
    public DeviceContext context() {
        return context;
    }

    /** Returns the channel that delivers this queue's events; null if the queue is only polled. */
    public @Nullable CompletionChannel channel() {
        return channel;
    }

    /** Returns the clock of the timestamps in completions. {@link Completions#timestamp} returns them. */
    public CompletionTimestamp timestamps() {
        return timestamps;
    }

    /** Tells whether it is an extended queue (ibv_create_cq_ex(3)). */
    public boolean isExtended() {
        return extended != null;
    }

    /** Returns how many completions the queue can hold. */
    public int entries() {
        begin();
        try {
            return ibv_cq.cqe(handle);
        } finally {
            end();
        }
    }

    /**
     * Makes a native array for {@link #poll}.
     *
     * @param capacity the most completions that one poll can return, from 1
     * @return the array
     */
    public Completions newCompletions(int capacity) {
        return new Completions(capacity);
    }

    /**
     * Takes completions off the queue (ibv_poll_cq(3)). Never waits and allocates nothing.
     *
     * @param into the array to fill from its beginning
     * @return how many there were; 0 if none
     */
    public int poll(Completions into) {
        return poll(into, into.capacity());
    }

    private int poll(Completions into, int most) {
        boolean alone = beginOften();
        try {
            ExtendedPoll byField = extended;
            if (byField != null) {
                return pollByField(byField, into, most, alone);
            }
            int polled = context.pollsInUserSpace
                    ? (int) Verbs.POLL_CQ_IN_USER_SPACE.invokeExact(context.pollCq, address, most, into.address())
                    : (int) Verbs.POLL_CQ.invokeExact(context.pollCq, address, most, into.address());
            if (polled <= 0) {
                into.count(0);
                if (polled < 0) {
                    throw pollFailure("ibv_poll_cq", polled);
                }
                return 0;
            }
            into.count(polled);
            if (context.hasFlagsOfKernel) {
                into.mendFlags();
            }
            countCompletions(into, polled, alone);
            return polled;
        } catch (Throwable e) {
            throw Native.unchecked("ibv_poll_cq", e);
        } finally {
            Reference.reachabilityFence(into);
            endOften();
        }
    }

    private int pollByField(ExtendedPoll byField, Completions into, int most, boolean alone) throws Throwable {
        int polled = byField.poll(into, most);
        if (polled < 0) {
            throw Verbs.isErrno(polled)
                    ? new RdmaException("ibv_start_poll", describe(), -polled)
                    : pollFailure("ibv_start_poll", polled);
        }
        if (context.hasFlagsOfKernel) {
            into.mendFlags();
        }
        countCompletions(into, polled, alone);
        return polled;
    }

    private RdmaException pollFailure(String call, int result) {
        if (!Verbs.isErrno(result)) {
            return new RdmaException(
                    Cause.CALL_FAILED,
                    call + "(" + describe() + ") failed: it returned " + result
                            + ", which is no errno but the provider's own number. mlx4, mlx5 and hns return -2 where"
                            + " they find no queue pair for a completion. The completion is lost: close the queue"
                            + " pairs and the queue.",
                    call,
                    0);
        }
        return new RdmaException(
                call, describe(), -result, "It returned " + result + ", the errno as efa and irdma tell it.");
    }

    private void countCompletions(Completions completions, int polled, boolean alone) {
        @Nullable QueuePair[] table = counted;
        int mask = table.length - 1;
        if (mask < 0) {
            return;
        }
        QueuePair queuePair = null;
        int sends = 0;
        int receives = 0;
        int undecided = 0;
        int failures = 0;
        for (int i = 0; i < polled; i++) {
            boolean success = completions.isSuccess(i);
            failures += success ? 0 : 1;
            int number = completions.qpNumber(i);
            if (queuePair == null || queuePair.number() != number) {
                if (queuePair != null) {
                    queuePair.completed(alone, sends, receives, undecided);
                }
                sends = 0;
                receives = 0;
                undecided = 0;
                queuePair = find(table, mask, number);
                if (queuePair == null) {
                    continue;
                }
            }
            if (!queuePair.sharesQueue()) {
                if (queuePair.receiveQueue() == this) {
                    receives++;
                } else {
                    sends++;
                }
            } else if (!success) {
                undecided++;
            } else if (completions.opcodeCode(i) >= RECEIVED) {
                receives++;
            } else {
                sends++;
            }
        }
        if (queuePair != null) {
            queuePair.completed(alone, sends, receives, undecided);
        }
        if (failures != 0) {
            DeviceContext.takeFailures(failures);
        }
    }

    private static @Nullable QueuePair find(@Nullable QueuePair[] table, int mask, int number) {
        int at = number & mask;
        QueuePair there = table[at];
        while (there != null && there.number() != number) {
            at = (at + 1) & mask;
            there = table[at];
        }
        return there;
    }

    /** Counts the completions of this queue pair from now on. */
    synchronized void count(QueuePair queuePair) {
        if ((countedUsed + 1) * 2 > counted.length) {
            rebuild(countedLive + 1);
        }
        @Nullable QueuePair[] table = counted;
        int at = place(table, queuePair.number());
        // The device may reuse the number of a destroyed queue pair at once: the newest queue pair gets the slot.
        QueuePair there = table[at];
        if (there == null) {
            countedUsed++;
        } else if (there.isCounted()) {
            countedLive--;
        }
        countedLive++;
        table[at] = queuePair;
        // The array is the same. The volatile write publishes its new content to later readers.
        counted = table;
    }

    /** Stops counting the completions of a queue pair. Its {@link QueuePair#isCounted()} is already false. */
    synchronized void stopCounting(QueuePair queuePair) {
        @Nullable QueuePair[] table = counted;
        if (table.length == 0 || table[place(table, queuePair.number())] != queuePair) {
            return;
        }
        countedLive--;
        // The queue pair keeps its slot, so that a search still finds those behind it. The table is rebuilt when most
        // slots are dead.
        if (countedLive * 2 < countedUsed) {
            rebuild(countedLive);
        }
    }

    /** Returns the slot of a number: the one that it has, or the one that it would get. */
    private static int place(@Nullable QueuePair[] table, int number) {
        int mask = table.length - 1;
        int at = number & mask;
        for (QueuePair there = table[at]; there != null && there.number() != number; there = table[at]) {
            at = (at + 1) & mask;
        }
        return at;
    }

    /**
     * Makes a table with the queue pairs that are still counted, and with room for as many more. So the cost of adding a queue
     * pair does not depend on their number.
     */
    private void rebuild(int room) {
        @Nullable QueuePair[] table = new QueuePair[Integer.highestOneBit(room) * 8];
        int used = 0;
        for (QueuePair present : counted) {
            if (present != null && present.isCounted()) {
                table[place(table, present.number())] = present;
                used++;
            }
        }
        countedLive = used;
        countedUsed = used;
        counted = table;
    }

    /**
     * Returns how many events of this queue have arrived that no wait has taken. A queue that is polled after {@link
     * #requestNotify} may have one.
     */
    public int eventsNotTaken() {
        return pendingEvents.get();
    }

    /** Takes completions that are there now, at most {@code max} of them. */
    List<WorkCompletion> take(int max) {
        List<WorkCompletion> taken = new ArrayList<>();
        Completions batch = SCRATCH.get();
        int polled = poll(batch, Math.min(BATCH, max));
        for (int i = 0; i < polled; i++) {
            taken.add(batch.get(i));
        }
        return taken;
    }

    /**
     * Polls until a number of completions has arrived, of any status. The caller looks at the status of each; {@link
     * #awaitSuccess(Duration)} and {@link #awaitStatus} do so themselves.
     *
     * @param count how many, from 1
     * @param timeout the longest time to wait for all of them
     * @return exactly that many, in order
     * @throws RdmaTimeoutException if fewer arrive in time; those that arrived are consumed, and the message lists them
     */
    @CheckReturnValue
    public List<WorkCompletion> awaitAny(int count, Duration timeout) {
        return await(count, timeout, false);
    }

    /**
     * Waits through the completion channel until a number of completions has arrived, of any status. It requests an event, polls,
     * waits for the event, and repeats this.
     *
     * @param count how many, from 1
     * @param timeout the longest time to wait for all of them
     * @return exactly that many, in order
     * @throws RdmaTimeoutException if fewer arrive in time; those that arrived are consumed, and the message lists them
     * @throws IllegalStateException if the queue has no channel
     */
    @CheckReturnValue
    public List<WorkCompletion> awaitEvent(int count, Duration timeout) {
        if (channel == null) {
            throw new IllegalStateException(describe() + " has no completion channel");
        }
        return await(count, timeout, true);
    }

    /**
     * Polls until one completion has arrived, and checks it.
     *
     * @param timeout the longest time to wait
     * @return the completion; its status is success
     * @throws WorkCompletionException if its status is another
     * @throws RdmaTimeoutException if none arrives in time
     */
    public WorkCompletion awaitSuccess(Duration timeout) {
        Completions one = SCRATCH.get();
        int ignored = await(one, 1, timeout);
        return one.get(0).requireSuccess();
    }

    /**
     * Polls until one completion has arrived, and checks that it has the status that a test expects.
     *
     * @param status the only status that is accepted
     * @param timeout the longest time to wait
     * @return the completion; its status is the expected one
     * @throws WorkCompletionException if it failed with another status
     * @throws AssertionError if it succeeded, and a failure was expected
     * @throws RdmaTimeoutException if none arrives in time
     */
    public WorkCompletion awaitStatus(WorkCompletion.Status status, Duration timeout) {
        Completions one = SCRATCH.get();
        int ignored = await(one, 1, timeout);
        WorkCompletion completion = one.get(0);
        if (completion.status() == status) {
            return completion;
        }
        if (completion.isSuccess()) {
            throw new AssertionError("work request " + completion.wrId() + " on QP " + completion.qpNumber()
                    + " completed with IBV_WC_SUCCESS, expected " + status.ibvName());
        }
        throw completion.exception();
    }

    /**
     * Polls until at least one completion has arrived, and checks all that have. Allocates nothing.
     *
     * @param into the array to fill from its beginning
     * @param timeout the longest time to wait
     * @return how many there are, from 1 to the capacity of the array; the status of each is success
     * @throws WorkCompletionException if the status of a completion is another; the array has all of them
     * @throws RdmaTimeoutException if none arrives in time
     */
    public int awaitSuccess(Completions into, Duration timeout) {
        int came = await(into, into.capacity(), timeout);
        for (int i = 0; i < came; i++) {
            if (!into.isSuccess(i)) {
                throw into.get(i).exception();
            }
        }
        return came;
    }

    private int await(Completions into, int most, Duration timeout) {
        // Usually a completion is already there. Then the clock is not read.
        int polled = timeout.isNegative() ? 0 : poll(into, most);
        return polled > 0 ? polled : pollUntil(into, most, timeout);
    }

    private int pollUntil(Completions into, int most, Duration timeout) {
        Waiting waiting = new Waiting(1, timeout, false);
        while (true) {
            int polled = poll(into, most);
            if (polled > 0) {
                return polled;
            }
            waiting.turn(List.of());
        }
    }

    private List<WorkCompletion> await(int count, Duration timeout, boolean byEvent) {
        if (count < 1) {
            throw new IllegalArgumentException("the count is at least 1, not " + count);
        }
        Waiting waiting = new Waiting(count, timeout, byEvent);
        List<WorkCompletion> came = new ArrayList<>(Math.min(count, 1024));
        Completions batch = SCRATCH.get();
        while (true) {
            // Never takes more completions than the caller asked for.
            int polled = poll(batch, Math.min(BATCH, count - came.size()));
            for (int i = 0; i < polled; i++) {
                came.add(batch.get(i));
            }
            if (came.size() == count) {
                return came;
            }
            if (polled == 0) {
                waiting.turn(came);
            }
        }
    }

    /** The state of a wait. {@link #turn} runs after each poll that returned nothing. */
    private final class Waiting {
        private final int count;
        private final Duration timeout;
        private final boolean byEvent;
        private final long deadline;
        private boolean armed;
        private boolean last;
        private int turn;

        Waiting(int count, Duration timeout, boolean byEvent) {
            this.count = count;
            this.timeout = timeout;
            this.byEvent = byEvent;
            this.deadline = Deadline.end(timeout);
        }

        void turn(List<WorkCompletion> came) {
            if (Deadline.isOver(deadline)) {
                if (!last) {
                    // What completed while this thread was suspended is in time: one more poll.
                    last = true;
                    return;
                }
                throw new RdmaTimeoutException(
                        (count == 1 ? "completion" : count + " completions") + " on " + describe(),
                        Deadline.of(deadline, timeout),
                        came.isEmpty() ? "none came" : came.size() + " came: " + summary(came));
            }
            // A turn that waits for an event takes up to a slice. A turn that polls takes almost no time.
            if (byEvent || (turn & 0xff) == 0) {
                Verbs.failIfInterrupted("completions on " + describe());
            }
            if (byEvent) {
                if (!armed) {
                    // Completions that arrived before this call raise no event: poll once more before waiting.
                    requestNotify(false);
                    armed = true;
                } else if (takeEvent() || readOwnEvent(deadline)) {
                    armed = false;
                }
            } else if (turn >= SPINS) {
                // The first turns do not execute PAUSE: a poll takes long enough by itself, and an emulated processor
                // leaves its guest for each PAUSE.
                Thread.yield();
            }
            turn++;
        }
    }

    private boolean readOwnEvent(long deadline) {
        if (channel != null) {
            boolean ignored = channel.readEvent(this, deadline);
        }
        return takeEvent();
    }

    private static String summary(List<WorkCompletion> completions) {
        StringBuilder text = new StringBuilder();
        for (WorkCompletion completion : completions.subList(0, Math.min(8, completions.size()))) {
            text.append(text.isEmpty() ? "" : ", ")
                    .append("wr_id ")
                    .append(completion.wrId())
                    .append(' ')
                    .append(completion.status().ibvName());
        }
        return completions.size() > 8 ? text + " …" : text.toString();
    }

    /**
     * Requests one event for the next completion (ibv_req_notify_cq(3)). Completions that are already in the queue raise none.
     *
     * @param solicitedOnly whether only a solicited or failed completion raises an event
     */
    public void requestNotify(boolean solicitedOnly) {
        int result;
        int flag = solicitedOnly ? 1 : 0;
        beginOften();
        try {
            // On irdma this call takes the lock that a poll of an extended queue holds while it runs Java code.
            result = context.postsInUserSpace && extended == null
                    ? (int) Verbs.REQ_NOTIFY_IN_USER_SPACE.invokeExact(context.requestNotify, address, flag)
                    : (int) Verbs.REQ_NOTIFY.invokeExact(context.requestNotify, address, flag);
        } catch (Throwable e) {
            throw Native.unchecked("ibv_req_notify_cq", e);
        } finally {
            endOften();
        }
        if (result != 0) {
            throw Verbs.isErrno(result)
                    ? new RdmaException("ibv_req_notify_cq", describe(), Math.abs(result))
                    : new RdmaException(
                            "ibv_req_notify_cq", describe(), 0, "It returned " + result + ", which is no errno.");
        }
    }

    /**
     * Changes how many completions the queue can hold (ibv_resize_cq(3)).
     *
     * @param entries the least number of entries; not less than what is in the queue
     */
    public void resize(int entries) {
        if (entries < 1) {
            throw new IllegalArgumentException("a completion queue has at least 1 entry, not " + entries);
        }
        begin();
        try {
            int result = (int) Verbs.RESIZE_CQ.handle().invokeExact(Native.errnoState(), handle, entries);
            Verbs.check(result, "ibv_resize_cq", describe() + ", " + entries + " entries");
        } catch (Throwable e) {
            throw Native.unchecked("ibv_resize_cq", e);
        } finally {
            end();
        }
    }

    void addEvent() {
        pendingEvents.incrementAndGet();
    }

    boolean takeEvent() {
        int now;
        do {
            now = pendingEvents.get();
            if (now == 0) {
                return false;
            }
        } while (!pendingEvents.compareAndSet(now, now - 1));
        return true;
    }

    @Override
    protected void release() {
        reportEventsNoMore();
        if (channel != null) {
            channel.remove(this);
        }
        try {
            Verbs.destroy(Verbs.DESTROY_CQ, this::describe, handle);
        } catch (RdmaException e) {
            reportEventsAs();
            if (channel != null) {
                channel.add(this);
            }
            throw e;
        }
        if (channel != null) {
            channel.unreserve(numberInChannel);
        }
    }

    @Override
    public String describe() {
        return "cq " + deviceName() + "/" + number;
    }
}
