package io.rdmatest.walk;

import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.verbs.AddressHandle;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.PostException;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.SharedReceiveQueue;
import io.rdmatest.verbs.WorkCompletion;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Objects that all threads make, use and close as they like, each under the calls of the others. The model knows when the
 * first close of an object began and when one returned: a call that begins after the return must say that the object is
 * closed, a call that ends before the begin must not, and between the two it may.
 */
final class Commons {

    private static final int SIZE = 8192;
    private static final int SLOTS = 3;

    /** An object of all threads, and what the model knows of its closing. */
    private static final class Shared<T extends NativeResource> {
        final T object;
        final AtomicBoolean closing = new AtomicBoolean();
        volatile boolean closed;

        Shared(T object) {
            this.object = object;
        }
    }

    private final DeviceContext context;
    private final GidEntry gid;
    private final AtomicReferenceArray<@Nullable Shared<ProtectionDomain>> domains = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<@Nullable Shared<CompletionChannel>> channels =
            new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<@Nullable Shared<CompletionQueue>> queues = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<@Nullable Shared<MemoryRegion>> memories = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<@Nullable Shared<QueuePair>> pairs = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<@Nullable Shared<SharedReceiveQueue>> srqs = new AtomicReferenceArray<>(SLOTS);
    private final AtomicReferenceArray<@Nullable Shared<AddressHandle>> handles = new AtomicReferenceArray<>(SLOTS);
    /** Prepared lists outlive the objects that they name. */
    private final List<SendRequests> sends =
            IntStream.range(0, SLOTS).mapToObj(i -> SendRequests.allocate(4, 2)).toList();

    private final List<ReceiveRequests> receives = IntStream.range(0, SLOTS)
            .mapToObj(i -> ReceiveRequests.allocate(4, 2))
            .toList();

    Commons(DeviceContext context, GidEntry gid) {
        this.context = context;
        this.gid = gid;
    }

    // ---- the rule ----

    /** Uses an object that another thread may be closing; others are what the call may throw of itself. */
    @SafeVarargs
    private <T extends NativeResource> void use(
            Walker walker, Shared<T> shared, String what, Walker.Action action, Class<? extends Throwable>... others) {
        boolean closed = shared.closed;
        boolean[] saidClosed = new boolean[1];
        Class<? extends Throwable>[] allowed = with(others, IllegalStateException.class);
        boolean done = walker.maybeDone(
                what + " [" + shared.object + "]",
                () -> {
                    try {
                        action.run();
                    } catch (IllegalStateException e) {
                        saidClosed[0] = true;
                        throw e;
                    }
                },
                allowed);
        if (closed && done) {
            throw walker.walk.diverged(what + " on " + shared.object + " succeeded after it was closed", null);
        }
        if (saidClosed[0] && !shared.closing.get() && !anyClosing()) {
            throw walker.walk.diverged(what + ": " + shared.object + " is not closed, but the call said so", null);
        }
    }

    /** Whether something else that a call may touch is going or gone: lists name memory of any age. */
    private boolean anyClosing() {
        return true;
    }

    @SafeVarargs
    private static Class<? extends Throwable>[] with(
            Class<? extends Throwable>[] others, Class<? extends Throwable>... more) {
        Class<? extends Throwable>[] all = java.util.Arrays.copyOf(others, others.length + more.length);
        System.arraycopy(more, 0, all, others.length, more.length);
        return all;
    }

    private <T extends NativeResource> @Nullable Shared<T> pick(
            Walker walker, AtomicReferenceArray<@Nullable Shared<T>> slots) {
        return slots.get(walker.below(SLOTS));
    }

    /** Puts a new object in the place of one that is closed, or of none; closes it again if another thread was faster. */
    private <T extends NativeResource> void put(
            Walker walker,
            AtomicReferenceArray<@Nullable Shared<T>> slots,
            String what,
            java.util.concurrent.Callable<T> make) {
        int index = walker.below(SLOTS);
        Shared<T> before = slots.get(index);
        if (before != null && !before.closed) {
            return;
        }
        T[] made = newArray();
        boolean done = walker.maybeDone(
                what,
                () -> made[0] = walker.walk.made(make.call()),
                // A parent that goes at the same time, or went before.
                IllegalStateException.class,
                RdmaException.class);
        if (done && !slots.compareAndSet(index, before, new Shared<>(made[0]))) {
            walker.close(made[0]);
        }
    }

    @SuppressWarnings("unchecked")
    private static <T extends NativeResource> T[] newArray() {
        return (T[]) new NativeResource[1];
    }

    /** Closes, or is refused because something is built on the object. */
    private <T extends NativeResource> void close(Walker walker, @Nullable Shared<T> shared) {
        if (shared == null) {
            return;
        }
        shared.closing.set(true);
        boolean done = walker.maybeDone(
                "close [" + shared.object + "]",
                shared.object::close,
                IllegalStateException.class,
                RdmaException.class);
        if (done && shared.object.isClosed()) {
            shared.closed = true;
            walker.walk.gone(shared.object);
        }
    }

    // ---- operations ----

    void step(Walker walker) {
        switch (walker.below(40)) {
            case 0 -> put(walker, domains, "allocateProtectionDomain()", context::allocateProtectionDomain);
            case 1 -> put(walker, channels, "createCompletionChannel()", context::createCompletionChannel);
            case 2, 3 -> makeQueue(walker);
            case 4, 5 -> makeMemory(walker);
            case 6, 7 -> makePair(walker);
            case 8 -> makeShared(walker);
            case 9 -> makeHandle(walker);
            case 10 -> {
                if (walker.chance(4)) {
                    close(walker, pick(walker, domains));
                }
            }
            case 11 -> {
                if (walker.chance(4)) {
                    close(walker, pick(walker, channels));
                }
            }
            case 12 -> {
                if (walker.chance(2)) {
                    close(walker, pick(walker, queues));
                }
            }
            case 13 -> close(walker, pick(walker, memories));
            case 14 -> {
                if (walker.chance(2)) {
                    close(walker, pick(walker, pairs));
                }
            }
            case 15 -> {
                if (walker.chance(2)) {
                    close(walker, pick(walker, srqs));
                }
            }
            case 16 -> close(walker, pick(walker, handles));
            case 17, 18, 19, 20 -> poll(walker);
            case 21, 22, 23, 24, 25 -> memory(walker);
            case 26, 27, 28, 29, 30, 31 -> post(walker);
            case 32, 33 -> change(walker);
            case 34 -> events(walker);
            case 35, 36 -> lists(walker);
            case 37 -> looks(walker);
            default -> shared(walker);
        }
    }

    private void makeQueue(Walker walker) {
        Shared<CompletionChannel> channel = pick(walker, channels);
        if (channel != null && walker.chance(2)) {
            put(
                    walker,
                    queues,
                    "createCompletionQueue(100, " + channel.object + ")",
                    () -> context.createCompletionQueue(100, channel.object));
        } else {
            put(walker, queues, "createCompletionQueue(100)", () -> context.createCompletionQueue(100));
        }
    }

    private void makeMemory(Walker walker) {
        Shared<ProtectionDomain> pd = pick(walker, domains);
        if (pd != null) {
            put(
                    walker,
                    memories,
                    "registerMemory(8192) [" + pd.object + "]",
                    () -> pd.object.registerMemory(SIZE, Link.ALL));
        }
    }

    private void makePair(Walker walker) {
        Shared<ProtectionDomain> pd = pick(walker, domains);
        Shared<CompletionQueue> queue = pick(walker, queues);
        Shared<SharedReceiveQueue> srq = pick(walker, srqs);
        if (pd == null || queue == null) {
            return;
        }
        QueuePairAttributes attributes = QueuePairAttributes.builder(walker.one(QpType.RC, QpType.RC, QpType.UD))
                .completionQueue(queue.object)
                .srq(srq != null && walker.chance(3) ? srq.object : null)
                .maxInline(64)
                .maxSendSge(2)
                .maxReceiveSge(2)
                .build();
        put(
                walker,
                pairs,
                "createQueuePair(" + attributes + ") [" + pd.object + "]",
                () -> pd.object.createQueuePair(attributes));
    }

    private void makeShared(Walker walker) {
        Shared<ProtectionDomain> pd = pick(walker, domains);
        if (pd != null) {
            put(
                    walker,
                    srqs,
                    "createSharedReceiveQueue(8, 2) [" + pd.object + "]",
                    () -> pd.object.createSharedReceiveQueue(8, 2));
        }
    }

    private void makeHandle(Walker walker) {
        Shared<ProtectionDomain> pd = pick(walker, domains);
        if (pd != null) {
            put(
                    walker,
                    handles,
                    "createAddressHandle() [" + pd.object + "]",
                    () -> pd.object.createAddressHandle(
                            AddressHandleAttributes.toGid(gid.port(), gid.index(), gid.gid())));
        }
    }

    private void poll(Walker walker) {
        Shared<CompletionQueue> queue = pick(walker, queues);
        if (queue == null) {
            return;
        }
        CompletionQueue cq = queue.object;
        switch (walker.below(8)) {
            case 0 ->
                use(
                        walker,
                        queue,
                        "resize",
                        () -> cq.resize(100 + ThreadLocalRandom.current().nextInt(100)),
                        RdmaException.class);
            case 1 -> use(walker, queue, "requestNotify", () -> cq.requestNotify(false));
            case 2 ->
                use(
                        walker,
                        queue,
                        "await",
                        () -> {
                            List<WorkCompletion> ignored = cq.awaitAny(2, Duration.ZERO);
                        },
                        RdmaTimeoutException.class);
            case 3 -> {
                if (cq.channel() != null) {
                    use(
                            walker,
                            queue,
                            "awaitEvent",
                            () -> {
                                List<WorkCompletion> ignored = cq.awaitEvent(1, Duration.ofMillis(1));
                            },
                            RdmaTimeoutException.class);
                }
            }
            default ->
                use(walker, queue, "poll", () -> {
                    Completions into = cq.newCompletions(4);
                    int polled = cq.poll(into);
                    for (int i = 0; i < polled; i++) {
                        walker.require(!into.get(i).toString().isEmpty(), "no text");
                    }
                });
        }
    }

    private void memory(Walker walker) {
        Shared<MemoryRegion> memory = pick(walker, memories);
        if (memory == null) {
            return;
        }
        MemoryRegion region = memory.object;
        switch (walker.below(4)) {
            case 0 -> use(walker, memory, "fill", () -> region.fill((byte) 3));
            case 1 ->
                use(walker, memory, "bytes().get", () -> {
                    byte ignored = region.bytes().get(ValueLayout.JAVA_BYTE, SIZE - 1);
                });
            case 2 -> use(walker, memory, "bytes().set", () -> region.bytes().set(ValueLayout.JAVA_LONG, 8, 7L));
            default ->
                use(walker, memory, "buffer().put", () -> {
                    java.nio.ByteBuffer ignored = region.buffer(0, 16).put(3, (byte) 1);
                });
        }
    }

    private void post(Walker walker) {
        Shared<QueuePair> shared = pick(walker, pairs);
        Shared<MemoryRegion> memory = pick(walker, memories);
        Shared<AddressHandle> handle = pick(walker, handles);
        if (shared == null || memory == null) {
            return;
        }
        QueuePair pair = shared.object;
        MemoryRegion region = memory.object;
        SendFlag[] flags =
                walker.one(new SendFlag[0], new SendFlag[] {SendFlag.SIGNALED}, new SendFlag[] {SendFlag.INLINE});
        switch (walker.below(7)) {
            case 0, 1 ->
                use(
                        walker,
                        shared,
                        "postReceive(" + region + ")",
                        () -> pair.postReceive(1, region, 0, 64),
                        PostException.class,
                        IllegalArgumentException.class);
            case 2 ->
                use(
                        walker,
                        shared,
                        "postSend(" + region + ")",
                        () -> pair.postSend(2, region, 64, 32, flags),
                        PostException.class,
                        IllegalArgumentException.class);
            case 3 ->
                use(
                        walker,
                        shared,
                        "postWrite(" + region + ")",
                        () -> pair.postWrite(2, region, 64, 32, region.address(), region.rkey(), flags),
                        PostException.class,
                        IllegalArgumentException.class);
            case 4 ->
                use(
                        walker,
                        shared,
                        "postRead(" + region + ")",
                        () -> pair.postRead(2, region, 64, 32, region.address(), region.rkey(), SendFlag.SIGNALED),
                        PostException.class,
                        IllegalArgumentException.class);
            case 5 ->
                use(
                        walker,
                        shared,
                        "postCompareAndSwap(" + region + ")",
                        () -> pair.postCompareAndSwap(2, region, 64, region.address(), region.rkey(), 1, 2),
                        PostException.class,
                        IllegalArgumentException.class);
            default -> {
                if (handle != null) {
                    use(
                            walker,
                            shared,
                            "postSend(" + region + " to " + handle.object + ")",
                            () -> pair.postSend(3, region, 0, 32, handle.object, pair.number(), 17, flags),
                            PostException.class,
                            IllegalArgumentException.class);
                }
            }
        }
    }

    private void change(Walker walker) {
        Shared<QueuePair> shared = pick(walker, pairs);
        if (shared == null) {
            return;
        }
        QueuePair pair = shared.object;
        switch (walker.below(6)) {
            case 0 -> use(walker, shared, "reset", pair::reset, RdmaException.class);
            case 1 -> use(walker, shared, "toError", pair::toError, RdmaException.class);
            case 2 ->
                use(
                        walker,
                        shared,
                        "drain",
                        () -> pair.drain(Duration.ofMillis(2)),
                        RdmaException.class,
                        RdmaTimeoutException.class);
            case 3 ->
                use(
                        walker,
                        shared,
                        "toReadyToSendDatagrams",
                        () -> pair.toReadyToSendDatagrams(1, 0, 17, 5),
                        RdmaException.class);
            case 4 ->
                use(
                        walker,
                        shared,
                        "connect to itself",
                        () -> RawConnection.connect(
                                pair,
                                pair,
                                gid.port(),
                                gid.index(),
                                RawConnection.Parameters.DEFAULT
                                        .withTimeout(8, 1)
                                        .withRnr(1, 1)),
                        // Of datagrams, which have no connections.
                        IllegalArgumentException.class,
                        RdmaException.class);
            default ->
                use(
                        walker,
                        shared,
                        "attachMulticast",
                        () -> pair.attachMulticast(io.rdmatest.verbs.Gid.parse("::ffff:239.77.2.1"), 0),
                        RdmaException.class);
        }
    }

    private void events(Walker walker) {
        Shared<CompletionChannel> channel = pick(walker, channels);
        if (channel == null || walker.chance(3)) {
            walker.ok("pollAsyncEvent()", context::pollAsyncEvent);
        } else if (walker.chance(2)) {
            use(walker, channel, "pollEvent", channel.object::pollEvent);
        } else {
            use(
                    walker,
                    channel,
                    "awaitEvent",
                    () -> channel.object.awaitEvent(Duration.ofMillis(1)),
                    RdmaTimeoutException.class);
        }
    }

    /** Lists are set by one thread and posted by another, after what they name is long gone. */
    private void lists(Walker walker) {
        SendRequests list = walker.pick(sends);
        ReceiveRequests other = walker.pick(receives);
        Shared<MemoryRegion> memory = pick(walker, memories);
        Shared<QueuePair> pair = pick(walker, pairs);
        Shared<SharedReceiveQueue> srq = pick(walker, srqs);
        Shared<AddressHandle> handle = pick(walker, handles);
        int index = walker.below(4);
        switch (walker.below(6)) {
            case 0 -> {
                if (memory != null) {
                    walker.maybe(
                            "shared list.write(" + index + ", " + memory.object + ")",
                            () -> list.write(index, 1, memory.object, 0, 16, 4096, 77, SendFlag.INLINE),
                            IllegalStateException.class);
                }
            }
            case 1 -> {
                if (memory != null && handle != null) {
                    walker.maybe(
                            "shared list.sendTo(" + index + ", " + memory.object + ", " + handle.object + ")",
                            () -> list.sendTo(index, 1, memory.object, 0, 16, handle.object, 5, 17),
                            IllegalStateException.class);
                }
            }
            case 2 -> {
                if (memory != null) {
                    walker.maybe(
                            "shared list.receive(" + index + ", " + memory.object + ")",
                            () -> other.receive(index, 1, memory.object, 0, 64),
                            IllegalStateException.class);
                }
            }
            case 3 -> {
                if (pair != null) {
                    use(
                            walker,
                            pair,
                            "post(shared list " + index + ")",
                            () -> pair.object.post(list, index, 1),
                            PostException.class,
                            IllegalArgumentException.class);
                }
            }
            case 4 -> {
                if (pair != null) {
                    use(
                            walker,
                            pair,
                            "post(shared receives)",
                            () -> pair.object.post(other),
                            PostException.class,
                            IllegalArgumentException.class);
                }
            }
            default -> {
                if (srq != null) {
                    use(
                            walker,
                            srq,
                            "post(shared receives)",
                            () -> srq.object.post(other, index, 1),
                            PostException.class,
                            IllegalArgumentException.class);
                }
            }
        }
    }

    private void looks(Walker walker) {
        Shared<? extends NativeResource> shared = walker.pick(
                        List.<AtomicReferenceArray<? extends @Nullable Shared<? extends NativeResource>>>of(
                                domains, channels, queues, memories, pairs, srqs, handles))
                .get(walker.below(SLOTS));
        if (shared != null) {
            Looks.random(walker, shared.object, IllegalStateException.class);
        }
    }

    private void shared(Walker walker) {
        Shared<SharedReceiveQueue> srq = pick(walker, srqs);
        Shared<MemoryRegion> memory = pick(walker, memories);
        if (srq == null) {
            return;
        }
        if (memory != null && walker.chance(2)) {
            use(
                    walker,
                    srq,
                    "postReceive(" + memory.object + ")",
                    () -> srq.object.postReceive(5, memory.object, 0, 64),
                    PostException.class,
                    IllegalArgumentException.class);
        } else {
            use(walker, srq, "arm", () -> srq.object.arm(1), RdmaException.class);
        }
    }

    // ---- the end ----

    /** Closes all while no other thread is left; an order that the parents allow must succeed. */
    void close(Walker walker) {
        for (AtomicReferenceArray<? extends @Nullable Shared<? extends NativeResource>> slots :
                List.<AtomicReferenceArray<? extends @Nullable Shared<? extends NativeResource>>>of(
                        handles, pairs, srqs, queues, channels, memories, domains)) {
            for (int i = 0; i < SLOTS; i++) {
                Shared<? extends NativeResource> shared = slots.get(i);
                if (shared != null && !shared.object.isClosed()) {
                    walker.close(shared.object);
                }
            }
        }
        sends.forEach(SendRequests::close);
        receives.forEach(ReceiveRequests::close);
    }
}
