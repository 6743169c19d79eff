package io.rdmatest.walk;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AddressHandle;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.CompletionQueueAttributes;
import io.rdmatest.verbs.CompletionTimestamp;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Ece;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.KernelResource;
import io.rdmatest.verbs.MemoryPlacement;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.PostException;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.SharedReceiveQueue;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.XrcDomain;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Objects of one thread on a device that all threads share: what becomes of each call is known exactly. */
final class Island {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int QKEY = 0x1357;
    private static final int GRH = 40;

    private final Walker walker;
    private final DeviceContext context;
    private final ProtectionDomain pd;
    private final GidEntry gid;
    private final Link link;
    private final List<MemoryRegion> memories = new ArrayList<>();
    private final List<CompletionQueue> queues = new ArrayList<>();
    private final List<CompletionChannel> channels = new ArrayList<>();
    private final List<SharedReceiveQueue> shared = new ArrayList<>();
    private final List<QueuePair> pairs = new ArrayList<>();
    private final Map<QueuePair, QpState> states = new HashMap<>();
    private final List<AddressHandle> handles = new ArrayList<>();
    /** The last few that were closed. */
    private final List<Object> closed = new ArrayList<>();

    private final List<Runnable> operations = new ArrayList<>();

    Island(Walker walker, DeviceContext context, GidEntry gid) {
        this.walker = walker;
        this.context = context;
        this.gid = gid;
        this.pd = walker.made("allocateProtectionDomain()", context::allocateProtectionDomain);
        this.link = new Link(walker, pd, gid.port(), gid.index());
        // Most is cheap: to destroy an object takes the kernel a hundred times as long as to post.
        add(3000, link::step);
        add(10, this::registerMemory);
        add(14, this::touchMemory);
        add(8, this::closeMemory);
        add(5, this::createQueue);
        add(10, this::useQueue);
        add(4, this::closeQueue);
        add(2, this::createChannel);
        add(3, this::useChannel);
        add(1, this::closeChannel);
        add(2, this::createShared);
        add(6, this::useShared);
        add(2, this::closeShared);
        add(4, this::createPair);
        add(20, this::modifyPair);
        add(10, this::usePair);
        add(4, this::closePair);
        add(2, this::createHandle);
        add(2, this::closeHandle);
        add(1, this::datagram);
        add(3, this::multicast);
        add(8, this::useClosed);
        add(12, this::nothing);
        add(6, this::values);
        add(4, this::device);
        add(6, this::requests);
    }

    private void add(int weight, Runnable operation) {
        for (int i = 0; i < weight; i++) {
            operations.add(operation);
        }
    }

    void step() {
        walker.pick(operations).run();
    }

    private void noteClosed(Object object) {
        closed.add(object);
        if (closed.size() > 8) {
            Object ignored = closed.removeFirst();
        }
    }

    // ---- memory ----

    private void registerMemory() {
        if (walker.chance(3)) {
            long size = walker.one(0L, -1L, Long.MIN_VALUE);
            walker.no(
                    "registerMemory(" + size + ")",
                    () -> pd.registerMemory(size, Link.ALL),
                    IllegalArgumentException.class);
            return;
        }
        if (walker.chance(6)) {
            walker.no(
                    "registerMemory(4096, REMOTE_WRITE alone)",
                    () -> pd.registerMemory(4096, Access.REMOTE_WRITE),
                    RdmaException.class);
            return;
        }
        if (walker.chance(12)) {
            long size = walker.one(1L << 50, Long.MAX_VALUE, Long.MAX_VALUE - 4095);
            walker.no(
                    "registerMemory(" + size + ")",
                    () -> pd.registerMemory(size, Access.LOCAL_WRITE),
                    RdmaException.class);
            return;
        }
        if (memories.size() >= 6) {
            closeMemory();
        }
        if (walker.chance(5)) {
            placeMemory();
            return;
        }
        if (walker.chance(8)) {
            registerOther();
            return;
        }
        long size = 1 + walker.below(walker.chance(10) ? 100_000 : 5000);
        Access[] access = walker.one(Link.ALL, new Access[0], new Access[] {Access.LOCAL_WRITE}, new Access[] {
            Access.LOCAL_WRITE, Access.LOCAL_WRITE, Access.REMOTE_READ
        });
        MemoryRegion region = walker.made("registerMemory(" + size + ")", () -> pd.registerMemory(size, access));
        walker.requireEqual(region.size(), size, "size of " + region);
        walker.requireEqual(
                region.access(), Set.of(access.length == 3 ? new Access[] {access[0], access[2]} : access), "access");
        memories.add(region);
    }

    /** Memory that the harness does not allocate. */
    private void registerOther() {
        switch (walker.below(4)) {
            case 0 -> {
                MemorySegment memory = Arena.ofAuto().allocate(1 + walker.below(5000));
                MemoryRegion region =
                        walker.made("registerMemory(" + memory + ")", () -> pd.registerMemory(memory, Link.ALL));
                walker.requireEqual(region.address(), memory.address(), "address of " + region);
                walker.requireEqual(region.bytes(), memory, "bytes of " + region);
                walker.close(region);
                noteClosed(region);
            }
            case 1 ->
                walker.no(
                        "registerMemory(on the heap)",
                        () -> pd.registerMemory(MemorySegment.ofArray(new byte[8])),
                        IllegalArgumentException.class);
            case 2 -> {
                // Of a kernel that pages on demand.
                MemoryRegion region = walker.maybe(
                        "registerAddressSpace()",
                        () -> pd.registerAddressSpace(Access.LOCAL_WRITE),
                        RdmaException.class);
                if (region != null) {
                    walker.walk.made(region);
                    walker.close(region);
                }
            }
            default -> {
                walker.no(
                        "registerDmaBuf(-1)",
                        () -> pd.registerDmaBuf(-1, 0, 4096, 0, Access.LOCAL_WRITE),
                        IllegalArgumentException.class);
                walker.no(
                        "registerDmaBuf(standard input)",
                        () -> pd.registerDmaBuf(0, 0, 4096, 0, Access.LOCAL_WRITE),
                        RdmaException.class);
            }
        }
    }

    private void placeMemory() {
        if (walker.chance(3)) {
            long alignment = walker.one(-1L, 3L, 2 * MemoryPlacement.MAX_ALIGNMENT, Long.MIN_VALUE);
            walker.no(
                    "alignedTo(" + alignment + ")",
                    () -> MemoryPlacement.ANYWHERE.alignedTo(alignment),
                    IllegalArgumentException.class);
            walker.no("onHugePages(3)", () -> MemoryPlacement.ANYWHERE.onHugePages(3), IllegalArgumentException.class);
            walker.no("onNumaNode(-1)", () -> MemoryPlacement.ANYWHERE.onNumaNode(-1), IllegalArgumentException.class);
            walker.no(
                    "registerMemory(node 1023)",
                    () -> pd.registerMemory(64, MemoryPlacement.ANYWHERE.onNumaNode(1023)),
                    RdmaException.class);
            return;
        }
        long alignment = walker.one(0L, 1L, 2L, 64L, 4096L, 65536L);
        long size = 1 + walker.below(5000);
        MemoryPlacement placement = MemoryPlacement.ANYWHERE.alignedTo(alignment);
        MemoryRegion region = walker.chance(2)
                ? walker.ok("registerMemory(" + size + ", " + placement + ")", () -> pd.registerMemory(size, placement))
                // A kernel without NUMA refuses, and names what it has.
                : walker.maybe(
                        "registerMemory(" + size + ", " + placement + ", node 0)",
                        () -> pd.registerMemory(size, placement.onNumaNode(0)),
                        RdmaException.class);
        if (region != null) {
            walker.walk.made(region);
            walker.requireEqual(region.size(), size, "size of " + region);
            walker.requireEqual(region.address() % Math.max(1, alignment), 0L, "alignment of " + region);
            memories.add(region);
        }
    }

    private void touchMemory() {
        if (memories.isEmpty()) {
            return;
        }
        MemoryRegion region = walker.pick(memories);
        long size = region.size();
        switch (walker.below(6)) {
            case 0 -> {
                byte value = (byte) walker.random.nextInt();
                walker.done("fill(" + region + ", " + value + ")", () -> region.fill(value));
                walker.requireEqual(
                        region.bytes().get(ValueLayout.JAVA_BYTE, size - 1), value, "last byte of " + region);
            }
            case 1 -> {
                long offset = walker.one(-1L, size + 1, Long.MAX_VALUE, Long.MIN_VALUE);
                walker.no(
                        "address(" + offset + " of " + size + ")",
                        () -> region.address(offset),
                        IndexOutOfBoundsException.class);
            }
            case 2 ->
                walker.requireEqual(
                        walker.ok("address(" + size + ")", () -> region.address(size)),
                        region.address() + size,
                        "address of the end");
            case 3 -> {
                int length = walker.one(-1, (int) size + 1, Integer.MAX_VALUE);
                walker.no(
                        "buffer(" + length + " of " + size + ")",
                        () -> region.buffer(0, length),
                        IndexOutOfBoundsException.class,
                        IllegalArgumentException.class);
            }
            case 4 -> {
                java.nio.ByteBuffer buffer = walker.ok("buffer(0, " + size + ")", () -> region.buffer(0, (int) size));
                byte value = (byte) walker.random.nextInt();
                java.nio.ByteBuffer ignored = buffer.put(0, value);
                walker.requireEqual(region.bytes().get(ValueLayout.JAVA_BYTE, 0), value, "first byte of " + region);
            }
            default -> Looks.random(walker, region);
        }
    }

    private void closeMemory() {
        if (memories.isEmpty()) {
            return;
        }
        MemoryRegion region = memories.remove(walker.below(memories.size()));
        java.nio.ByteBuffer buffer = region.buffer(0, 1);
        walker.close(region);
        walker.no("buffer.get(closed " + region + ")", () -> buffer.get(0), IllegalStateException.class);
        noteClosed(region);
    }

    // ---- completion queues and channels ----

    private void createQueue() {
        if (walker.chance(3)) {
            int entries = walker.one(0, -1, Integer.MIN_VALUE);
            walker.no(
                    "createCompletionQueue(" + entries + ")",
                    () -> context.createCompletionQueue(entries),
                    IllegalArgumentException.class);
            return;
        }
        if (walker.chance(5)) {
            int entries = walker.one(Integer.MAX_VALUE, 1 << 24);
            walker.no(
                    "createCompletionQueue(" + entries + ")",
                    () -> context.createCompletionQueue(entries),
                    RdmaException.class);
            return;
        }
        if (queues.size() >= 4) {
            return;
        }
        int entries = 1 + walker.below(100);
        CompletionQueue queue;
        if (!channels.isEmpty() && walker.chance(2)) {
            CompletionChannel channel = walker.pick(channels);
            queue = walker.made(
                    "createCompletionQueue(" + entries + ", " + channel + ")",
                    () -> context.createCompletionQueue(entries, channel));
            walker.requireEqual(queue.channel(), channel, "channel of " + queue);
        } else if (walker.chance(2)) {
            int vectors = context.completionVectors();
            CompletionQueueAttributes attributes = CompletionQueueAttributes.of(entries)
                    .withVector(walker.below(vectors))
                    .withChannel(channels.isEmpty() ? null : walker.pick(channels));
            queue = walker.made(
                    "createCompletionQueue(" + attributes + ")", () -> context.createCompletionQueue(attributes));
            CompletionQueue extended = walker.maybe(
                    "createCompletionQueue(extended)",
                    () -> context.createCompletionQueue(attributes.asExtended()),
                    RdmaException.class);
            if (extended != null) {
                walker.walk.made(extended);
                Looks.random(walker, extended);
                walker.requireEqual(
                        walker.ok("poll(" + extended + ")", () -> extended.poll(extended.newCompletions(2))),
                        0,
                        "completions on " + extended);
                walker.close(extended);
            }
            CompletionQueue stamped = walker.maybe(
                    "createCompletionQueue(with timestamps)",
                    () -> context.createCompletionQueue(attributes.withTimestamps(CompletionTimestamp.DEVICE_CLOCK)),
                    RdmaException.class);
            if (stamped != null) {
                walker.walk.made(stamped);
                walker.close(stamped);
            }
            walker.no(
                    "createCompletionQueue(vector " + vectors + ")",
                    () -> context.createCompletionQueue(attributes.withVector(vectors)),
                    RdmaException.class);
        } else {
            queue = walker.made("createCompletionQueue(" + entries + ")", () -> context.createCompletionQueue(entries));
        }
        walker.require(queue.entries() >= entries, queue + " has " + queue.entries() + " entries, not " + entries);
        queues.add(queue);
    }

    private boolean inUse(CompletionQueue queue) {
        return pairs.stream().anyMatch(pair -> pair.sendQueue() == queue || pair.receiveQueue() == queue);
    }

    private void useQueue() {
        if (queues.isEmpty()) {
            return;
        }
        CompletionQueue queue = walker.pick(queues);
        switch (walker.below(8)) {
            case 0 -> {
                int entries = walker.one(0, -5, Integer.MIN_VALUE);
                walker.no("resize(" + entries + ")", () -> queue.resize(entries), IllegalArgumentException.class);
            }
            case 1 -> {
                int entries = 64 + walker.below(200);
                // What is in the queue must fit into it.
                boolean resized = walker.maybeDone(
                        "resize(" + queue + ", " + entries + ")", () -> queue.resize(entries), RdmaException.class);
                walker.require(!resized || queue.entries() >= entries, queue + " was not resized to " + entries);
            }
            case 2 -> {
                int capacity = walker.one(0, -1, Integer.MIN_VALUE);
                walker.no(
                        "newCompletions(" + capacity + ")",
                        () -> queue.newCompletions(capacity),
                        IllegalArgumentException.class);
            }
            case 3 -> {
                Completions into = walker.ok("newCompletions(7)", () -> queue.newCompletions(7));
                int polled = walker.ok("poll(" + queue + ")", () -> queue.poll(into));
                for (int i = 0; i < polled; i++) {
                    completion(into, i);
                }
                int index = walker.one(-1, polled, Integer.MAX_VALUE);
                walker.no(
                        "get(" + index + " of " + polled + ")", () -> into.get(index), IndexOutOfBoundsException.class);
                Looks.random(walker, into);
            }
            case 4 -> walker.done("requestNotify(" + queue + ")", () -> queue.requestNotify(walker.chance(2)));
            case 5 -> {
                walker.maybe(
                        "awaitSuccess(" + queue + ", 0)",
                        () -> queue.awaitSuccess(Duration.ZERO),
                        RdmaTimeoutException.class,
                        io.rdmatest.verbs.WorkCompletionException.class);
                walker.no(
                        "await(" + queue + ", 0)",
                        () -> {
                            List<WorkCompletion> ignored = queue.awaitAny(0, PATIENCE);
                        },
                        IllegalArgumentException.class);
            }
            case 6 ->
                walker.no(
                        "await(" + queue + ", 10000, 0)",
                        () -> {
                            List<WorkCompletion> ignored = queue.awaitAny(10_000, Duration.ZERO);
                        },
                        RdmaTimeoutException.class);
            default -> Looks.random(walker, queue);
        }
    }

    private void completion(Completions into, int index) {
        switch (walker.below(4)) {
            case 0 ->
                walker.requireEqual(
                        walker.ok("get(" + index + ")", () -> into.get(index)).wrId(), into.wrId(index), "wr_id");
            case 1 ->
                walker.requireEqual(
                        walker.ok("status(" + index + ")", () -> into.status(index))
                                .code(),
                        into.statusCode(index),
                        "status");
            case 2 -> {
                WorkCompletion completion = walker.ok("get(" + index + ")", () -> into.get(index));
                walker.requireEqual(into.isSuccess(index), completion.isSuccess(), "isSuccess");
                walker.requireEqual(into.opcode(index), completion.opcode(), "opcode");
                walker.requireEqual(into.opcodeCode(index), completion.opcodeCode(), "opcodeCode");
                walker.requireEqual(into.vendorError(index), completion.vendorError(), "vendorError");
                walker.requireEqual(into.byteLength(index), completion.byteLength(), "byteLength");
                walker.requireEqual(into.hasImmediate(index), completion.hasImmediate(), "hasImmediate");
                walker.require(
                        !completion.hasImmediate() || into.immediate(index) == completion.immediate(), "immediate");
                walker.requireEqual(into.qpNumber(index), completion.qpNumber(), "qpNumber");
                walker.requireEqual(into.sourceQp(index), completion.sourceQp(), "sourceQp");
                walker.requireEqual(into.flags(index), completion.flags(), "flags");
                walker.requireEqual(into.hasGrh(index), completion.hasGrh(), "hasGrh");
                walker.requireEqual(into.hasInvalidatedKey(index), completion.hasInvalidatedKey(), "hasInvalidatedKey");
                walker.require(
                        !completion.hasInvalidatedKey() || into.invalidatedKey(index) == completion.invalidatedKey(),
                        "invalidatedKey");
                walker.no("timestamp(" + index + ")", () -> into.timestamp(index), IllegalStateException.class);
                Looks.random(walker, completion);
                if (!completion.isSuccess()) {
                    Looks.random(walker, walker.ok("exception(" + completion.status() + ")", completion::exception));
                }
            }
            default ->
                walker.requireEqual(
                        walker.ok("opcodeCode(" + index + ")", () -> into.opcodeCode(index)),
                        into.get(index).opcodeCode(),
                        "opcode");
        }
    }

    private void closeQueue() {
        if (queues.isEmpty()) {
            return;
        }
        CompletionQueue queue = walker.pick(queues);
        if (inUse(queue)) {
            walker.no("close(" + queue + " in use)", queue::close, IllegalStateException.class);
            return;
        }
        queues.remove(queue);
        walker.close(queue);
        noteClosed(queue);
    }

    private void createChannel() {
        if (channels.size() < 2) {
            channels.add(walker.made("createCompletionChannel()", context::createCompletionChannel));
        }
    }

    private void useChannel() {
        if (channels.isEmpty()) {
            return;
        }
        CompletionChannel channel = walker.pick(channels);
        switch (walker.below(4)) {
            case 0 -> walker.ok("pollEvent(" + channel + ")", channel::pollEvent);
            case 1 ->
                walker.maybe(
                        "awaitEvent(" + channel + ", 1 ms)",
                        () -> channel.awaitEvent(Duration.ofMillis(1)),
                        RdmaTimeoutException.class);
            case 2 ->
                walker.no(
                        "awaitEvent(" + channel + ", -1)",
                        () -> channel.awaitEvent(Duration.ofMillis(-1)),
                        IllegalArgumentException.class);
            default -> Looks.random(walker, channel);
        }
    }

    private void closeChannel() {
        if (channels.isEmpty()) {
            return;
        }
        CompletionChannel channel = walker.pick(channels);
        if (queues.stream().anyMatch(queue -> queue.channel() == channel)) {
            walker.no("close(" + channel + " in use)", channel::close, IllegalStateException.class);
            return;
        }
        channels.remove(channel);
        walker.close(channel);
        noteClosed(channel);
    }

    // ---- shared receive queues ----

    private void createShared() {
        int maxWr = walker.one(1, 4, 16, 0, -1, 1 << 30);
        int maxSge = walker.one(1, 2, 0, -1);
        String what = "createSharedReceiveQueue(" + maxWr + ", " + maxSge + ")";
        if (maxWr < 1 || maxSge < 1) {
            walker.no(what, () -> pd.createSharedReceiveQueue(maxWr, maxSge), IllegalArgumentException.class);
        } else if (maxWr > 16) {
            walker.no(what, () -> pd.createSharedReceiveQueue(maxWr, maxSge), RdmaException.class);
        } else if (shared.size() < 2) {
            shared.add(walker.made(what, () -> pd.createSharedReceiveQueue(maxWr, maxSge)));
        }
    }

    private void useShared() {
        if (shared.isEmpty()) {
            return;
        }
        SharedReceiveQueue srq = walker.pick(shared);
        switch (walker.below(5)) {
            case 0 -> {
                if (!memories.isEmpty()) {
                    MemoryRegion region = walker.pick(memories);
                    // Full some time.
                    walker.maybeDone(
                            "postReceive(" + srq + ", " + region + ")",
                            () -> srq.postReceive(1, region, 0, 1),
                            PostException.class);
                }
            }
            case 1 -> {
                int limit = walker.one(0, 1);
                walker.done("arm(" + srq + ", " + limit + ")", () -> srq.arm(limit));
            }
            case 2 -> {
                int limit = walker.one(-1, 1 << 20, Integer.MAX_VALUE, Integer.MIN_VALUE);
                walker.no(
                        "arm(" + srq + ", " + limit + ")",
                        () -> srq.arm(limit),
                        RdmaException.class,
                        IllegalArgumentException.class);
            }
            case 3 -> {
                try (ReceiveRequests list = ReceiveRequests.allocate(2)) {
                    walker.no("post(unset list) on " + srq, () -> srq.post(list), IllegalStateException.class);
                    walker.no("post(list, 5, 5)", () -> srq.post(list, 5, 5), IndexOutOfBoundsException.class);
                }
            }
            default -> Looks.random(walker, srq);
        }
    }

    private void closeShared() {
        if (shared.isEmpty()) {
            return;
        }
        SharedReceiveQueue srq = walker.pick(shared);
        if (pairs.stream().anyMatch(pair -> pair.srq() == srq)) {
            walker.no("close(" + srq + " in use)", srq::close, IllegalStateException.class);
            return;
        }
        shared.remove(srq);
        walker.close(srq);
        noteClosed(srq);
    }

    // ---- queue pairs ----

    private void createPair() {
        if (walker.chance(4)) {
            walker.no(
                    "build(no queue)",
                    () -> QueuePairAttributes.builder(QpType.RC).build(),
                    IllegalStateException.class);
            QueuePairAttributes.Builder builder = QueuePairAttributes.builder(QpType.RC);
            int number = walker.one(-1, Integer.MIN_VALUE);
            switch (walker.below(5)) {
                case 0 -> walker.no("maxSendWr(-)", () -> builder.maxSendWr(number), IllegalArgumentException.class);
                case 1 ->
                    walker.no("maxReceiveWr(-)", () -> builder.maxReceiveWr(number), IllegalArgumentException.class);
                case 2 -> walker.no("maxSendSge(-)", () -> builder.maxSendSge(number), IllegalArgumentException.class);
                case 3 ->
                    walker.no("maxReceiveSge(-)", () -> builder.maxReceiveSge(number), IllegalArgumentException.class);
                default -> walker.no("maxInline(-)", () -> builder.maxInline(number), IllegalArgumentException.class);
            }
            return;
        }
        if (queues.isEmpty() || pairs.size() >= 4) {
            return;
        }
        CompletionQueue sends = walker.pick(queues);
        CompletionQueue receives = walker.pick(queues);
        QpType type = walker.one(QpType.RC, QpType.UC, QpType.UD);
        QueuePairAttributes.Builder builder = QueuePairAttributes.builder(type)
                .sendQueue(sends)
                .receiveQueue(receives)
                .signalAll(walker.chance(2))
                .maxSendWr(1 + walker.below(20))
                .maxReceiveWr(walker.below(20));
        if (type == QpType.RC && !shared.isEmpty() && walker.chance(2)) {
            builder = builder.srq(walker.pick(shared));
        }
        if (walker.chance(4)) {
            int absurd = walker.one(Integer.MAX_VALUE, 1 << 28);
            QueuePairAttributes.Builder wrong =
                    walker.one(0, 1).equals(0) ? builder.maxSendWr(absurd) : builder.maxSendSge(absurd);
            walker.no("createQueuePair(absurd)", () -> pd.createQueuePair(wrong.build()), RdmaException.class);
            return;
        }
        if (walker.chance(8)) {
            QueuePairAttributes.Builder wrong = builder.blockSelfMulticastLoopback(true);
            walker.no("createQueuePair(block loopback)", () -> pd.createQueuePair(wrong.build()), RdmaException.class);
            return;
        }
        QueuePairAttributes attributes = builder.build();
        Looks.random(walker, attributes);
        QueuePair pair = walker.made("createQueuePair(" + attributes + ")", () -> pd.createQueuePair(attributes));
        pairs.add(pair);
        states.put(pair, QpState.RESET);
    }

    private void modifyPair() {
        if (pairs.isEmpty()) {
            return;
        }
        QueuePair pair = walker.pick(pairs);
        QpState now = states.get(pair);
        switch (walker.below(8)) {
            case 0 -> {
                walker.done("reset() of " + pair + " in " + now, pair::reset);
                states.put(pair, QpState.RESET);
            }
            case 1 -> {
                if (now == QpState.RESET) {
                    walker.no("toError() of " + pair + " in RESET", pair::toError, RdmaException.class);
                } else {
                    walker.done("toError() of " + pair + " in " + now, pair::toError);
                    states.put(pair, QpState.ERR);
                }
            }
            case 2, 3, 4 -> forward(pair, now);
            case 5 -> {
                QpState wrong = now == QpState.RTS ? QpState.INIT : QpState.SQD;
                walker.no(
                        "modify(" + pair + " in " + now + " to " + wrong + ")",
                        () -> pair.modify(QueuePairModification.to(wrong).build()),
                        RdmaException.class);
            }
            case 6 -> {
                walker.no("modify(port 99)", () -> pair.toInit(99, 0, Access.LOCAL_WRITE), RdmaException.class);
            }
            default -> {
                int port = walker.one(0, -1, 256);
                walker.no("toInit(port " + port + ")", () -> pair.toInit(port, 0), IllegalArgumentException.class);
            }
        }
        walker.requireEqual(walker.ok("state() of " + pair, pair::state), states.get(pair), "state of " + pair);
    }

    private void forward(QueuePair pair, QpState now) {
        if (pair.type() == QpType.UD) {
            if (now == QpState.RESET) {
                walker.done(
                        "toReadyToSendDatagrams(" + pair + ")",
                        () -> pair.toReadyToSendDatagrams(gid.port(), 0, QKEY, 7));
                states.put(pair, QpState.RTS);
            }
            return;
        }
        boolean reliable = pair.type() == QpType.RC;
        switch (now) {
            case RESET -> {
                walker.done(
                        "toInit(" + pair + ")",
                        () -> pair.toInit(gid.port(), 0, reliable ? Link.ALL : new Access[] {Access.REMOTE_WRITE}));
                states.put(pair, QpState.INIT);
            }
            case INIT -> {
                QueuePairModification.Builder values = QueuePairModification.builder()
                        .addressVector(AddressHandleAttributes.toGid(gid.port(), gid.index(), gid.gid()))
                        .pathMtu(walker.one(Mtu.MTU_256, Mtu.MTU_512, Mtu.MTU_1024))
                        .destinationQp(0xfffffe)
                        .receivePsn(walker.below(1 << 24));
                QueuePairModification.Builder all =
                        reliable ? values.maxDestinationReadAtomic(4).minRnrTimer(12) : values;
                walker.done("toReadyToReceive(" + pair + ")", () -> pair.toReadyToReceive(all));
                states.put(pair, QpState.RTR);
            }
            case RTR -> {
                QueuePairModification.Builder values =
                        QueuePairModification.builder().sendPsn(walker.below(1 << 24));
                QueuePairModification.Builder all =
                        reliable ? values.timeout(10).retryCount(1).rnrRetry(1).maxReadAtomic(4) : values;
                walker.done("toReadyToSend(" + pair + ")", () -> pair.toReadyToSend(all));
                states.put(pair, QpState.RTS);
            }
            case RTS ->
                Looks.random(walker, walker.ok("query(" + pair + ")", pair::query), IllegalStateException.class);
            default ->
                walker.no(
                        "toReadyToReceive(" + pair + " in " + now + ")",
                        () -> pair.toReadyToReceive(QueuePairModification.builder()),
                        RdmaException.class);
        }
    }

    private void usePair() {
        if (pairs.isEmpty()) {
            return;
        }
        QueuePair pair = walker.pick(pairs);
        QpState now = states.get(pair);
        if (memories.isEmpty() || walker.chance(4)) {
            Looks.random(walker, pair);
            return;
        }
        MemoryRegion region = walker.pick(memories);
        switch (walker.below(4)) {
            case 0 -> {
                if (pair.srq() != null) {
                    walker.no(
                            "postReceive(" + pair + " with srq)",
                            () -> pair.postReceive(1, region, 0, 1),
                            IllegalStateException.class);
                } else {
                    // The provider takes receives in any state until the queue is full.
                    walker.maybeDone(
                            "postReceive(" + pair + " in " + now + ", " + region + ")",
                            () -> pair.postReceive(1, region, 0, 1),
                            PostException.class);
                }
            }
            case 1 -> {
                if (pair.type() == QpType.UD) {
                    walker.no(
                            "postWrite(" + pair + " of UD)",
                            () -> pair.postWrite(1, region, 0, 1, 0, 0),
                            IllegalArgumentException.class);
                } else if (now == QpState.RESET || now == QpState.INIT || now == QpState.RTR) {
                    walker.no(
                            "postSend(" + pair + " in " + now + ", " + region + ")",
                            () -> pair.postSend(1, region, 0, 1),
                            PostException.class);
                }
            }
            case 2 -> {
                walker.maybe("queryEce(" + pair + ")", pair::queryEce, RdmaException.class);
                walker.no("setEce(" + pair + ", nobody)", () -> pair.setEce(new Ece(0, 0)), RdmaException.class);
            }
            default -> {
                if (!handles.isEmpty() && pair.type() != QpType.UD) {
                    AddressHandle handle = walker.pick(handles);
                    walker.no(
                            "postSend(" + pair + ", to " + handle + ")",
                            () -> pair.postSend(1, region, 0, 1, handle, 1, 1),
                            IllegalArgumentException.class);
                }
            }
        }
    }

    private void closePair() {
        if (pairs.isEmpty()) {
            return;
        }
        QueuePair pair = pairs.remove(walker.below(pairs.size()));
        states.remove(pair);
        walker.close(pair);
        noteClosed(pair);
    }

    // ---- datagrams ----

    private void createHandle() {
        if (walker.chance(4)) {
            AddressHandleAttributes wrong = AddressHandleAttributes.toGid(walker.one(2, 200), 0, gid.gid());
            walker.no("createAddressHandle(" + wrong + ")", () -> pd.createAddressHandle(wrong), RdmaException.class);
            return;
        }
        if (handles.size() < 3) {
            AddressHandleAttributes to = AddressHandleAttributes.toGid(gid.port(), gid.index(), gid.gid())
                    .withHopLimit(walker.below(256))
                    .withServiceLevel(walker.below(16))
                    .withTrafficClass(walker.below(256))
                    .withFlowLabel(walker.below(1 << 20))
                    .withLid(0);
            handles.add(walker.made("createAddressHandle(" + to + ")", () -> pd.createAddressHandle(to)));
        } else {
            Looks.random(walker, walker.pick(handles));
        }
    }

    private void closeHandle() {
        if (!handles.isEmpty()) {
            AddressHandle handle = handles.remove(walker.below(handles.size()));
            walker.close(handle);
            noteClosed(handle);
        }
    }

    /** A datagram from one queue pair to itself, and the address of its sender from the completion. */
    private void datagram() {
        CompletionQueue queue = walker.made("createCompletionQueue(16)", () -> context.createCompletionQueue(16));
        MemoryRegion region = walker.made("registerMemory(1024)", () -> pd.registerMemory(1024, Access.LOCAL_WRITE));
        QueuePair pair = walker.made(
                "createQueuePair(UD)",
                () -> pd.createQueuePair(QueuePairAttributes.builder(QpType.UD)
                        .completionQueue(queue)
                        .maxInline(32)
                        .build()));
        walker.done("toReadyToSendDatagrams(" + pair + ")", () -> pair.toReadyToSendDatagrams(gid.port(), 0, QKEY, 7));
        AddressHandle handle = walker.made(
                "createAddressHandle()",
                () -> pd.createAddressHandle(AddressHandleAttributes.toGid(gid.port(), gid.index(), gid.gid())));
        int length = 1 + walker.below(200);
        byte value = (byte) walker.random.nextInt();
        walker.done("fill(" + region + ")", () -> region.fill(value));
        walker.done("postReceive(" + pair + ")", () -> pair.postReceive(1, region, 512, GRH + length));
        if (walker.chance(2)) {
            walker.done(
                    "postSendWithImmediate(" + pair + " to itself)",
                    () -> pair.postSendWithImmediate(
                            2, region, 0, length, handle, pair.number(), QKEY, 5, SendFlag.SIGNALED));
        } else if (walker.chance(2)) {
            walker.done(
                    "postSend(" + pair + " to itself)",
                    () -> pair.postSend(2, region, 0, length, handle, pair.number(), QKEY, SendFlag.SIGNALED));
        } else {
            try (SendRequests list = SendRequests.allocate(2)) {
                SendRequests ignored = walker.ok(
                        "list.sendTo()",
                        () -> list.sendTo(0, 2, region, 0, length, handle, pair.number(), QKEY)
                                .sendToWithImmediate(
                                        1, 2, region, 0, length, handle, pair.number(), QKEY, 9, SendFlag.SIGNALED));
                walker.no("list.remoteAddress(of a send)", () -> list.remoteAddress(0, 1), IllegalStateException.class);
                walker.no("list.immediate(of a send)", () -> list.immediate(0, 1), IllegalStateException.class);
                walker.done("list.immediate(1, 10)", () -> list.immediate(1, 10));
                walker.done("post(list) on " + pair, () -> pair.post(list, 1, 1));
            }
        }
        List<WorkCompletion> came = walker.ok("await(" + queue + ", 2)", () -> queue.awaitAny(2, PATIENCE));
        for (WorkCompletion completion : came) {
            walker.require(completion.isSuccess(), "datagram failed: " + completion);
            if (completion.wrId() == 1) {
                walker.requireEqual(completion.byteLength(), GRH + length, "length of " + completion);
                walker.requireEqual(completion.sourceQp(), pair.number(), "source of " + completion);
                walker.requireEqual(
                        region.bytes().get(ValueLayout.JAVA_BYTE, 512 + GRH + length - 1), value, "last byte received");
                AddressHandle back = walker.made(
                        "createAddressHandle(" + completion.wrId() + ")",
                        () -> pd.createAddressHandle(completion, region, 512, gid.port()));
                walker.close(back);
                walker.no(
                        "createAddressHandle(completion, beyond)",
                        () -> pd.createAddressHandle(completion, region, 1000, gid.port()),
                        IndexOutOfBoundsException.class);
                walker.no(
                        "createAddressHandle(completion, port 0)",
                        () -> pd.createAddressHandle(completion, region, 512, 0),
                        IllegalArgumentException.class);
                walker.maybe(
                        "createAddressHandle(completion, port 77)",
                        () -> {
                            try (AddressHandle other = pd.createAddressHandle(completion, region, 512, 77)) {
                                return other;
                            }
                        },
                        RdmaException.class);
            }
        }
        walker.close(handle);
        walker.no(
                "postSend(to closed " + handle + ")",
                () -> pair.postSend(2, region, 0, length, handle, pair.number(), QKEY),
                IllegalStateException.class);
        walker.close(pair);
        walker.close(queue);
        walker.close(region);
    }

    private void multicast() {
        if (pairs.isEmpty()) {
            return;
        }
        QueuePair pair = walker.pick(pairs);
        Gid group = Gid.parse("::ffff:239.77.1." + walker.below(4));
        int lid = walker.one(-1, 0x10000);
        if (walker.chance(3)) {
            walker.no(
                    "attachMulticast(lid " + lid + ")",
                    () -> pair.attachMulticast(group, lid),
                    IllegalArgumentException.class);
        } else if (pair.type() != QpType.UD) {
            walker.no("attachMulticast(" + pair + ")", () -> pair.attachMulticast(group, 0), RdmaException.class);
        } else {
            boolean in = walker.maybeDone(
                    "attachMulticast(" + pair + ", " + group + ")",
                    () -> pair.attachMulticast(group, 0),
                    RdmaException.class);
            if (in && walker.chance(2)) {
                walker.done("detachMulticast(" + pair + ", " + group + ")", () -> pair.detachMulticast(group, 0));
                walker.no(
                        "detachMulticast(" + pair + ", " + group + ", again)",
                        () -> pair.detachMulticast(group, 0),
                        RdmaException.class);
            }
        }
    }

    // ---- what is closed, and what is nothing ----

    private void useClosed() {
        if (closed.isEmpty()) {
            return;
        }
        Object object = walker.pick(closed);
        Looks.random(walker, object, IllegalStateException.class);
        switch (object) {
            case MemoryRegion region -> {
                walker.no("fill(closed " + region + ")", () -> region.fill((byte) 1), IllegalStateException.class);
                try (SendRequests list = SendRequests.allocate(1)) {
                    // A key may be asked for, and a request made: posting is what it takes to be refused.
                    walker.maybe(
                            "list.send(closed " + region + ")",
                            () -> list.send(0, 1, region, 0, 1),
                            IllegalStateException.class);
                }
            }
            case CompletionQueue queue -> {
                walker.no("resize(closed " + queue + ")", () -> queue.resize(10), IllegalStateException.class);
                walker.no("requestNotify(closed)", () -> queue.requestNotify(true), IllegalStateException.class);
                walker.no(
                        "createQueuePair(on closed " + queue + ")",
                        () -> pd.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                                .completionQueue(queue)
                                .build()),
                        IllegalStateException.class);
            }
            case CompletionChannel channel -> {
                walker.no("pollEvent(closed " + channel + ")", channel::pollEvent, IllegalStateException.class);
                walker.no(
                        "createCompletionQueue(on closed " + channel + ")",
                        () -> context.createCompletionQueue(4, channel),
                        IllegalStateException.class);
            }
            case SharedReceiveQueue srq ->
                walker.no("arm(closed " + srq + ")", () -> srq.arm(0), IllegalStateException.class);
            case QueuePair pair -> {
                walker.no("toError(closed " + pair + ")", pair::toError, IllegalStateException.class);
                walker.no("drain(closed " + pair + ")", () -> pair.drain(PATIENCE), IllegalStateException.class);
                if (!memories.isEmpty()) {
                    MemoryRegion region = walker.pick(memories);
                    walker.no(
                            "postReceive(closed " + pair + ")",
                            () -> pair.postReceive(1, region, 0, 1),
                            IllegalStateException.class);
                }
                walker.no(
                        "attachMulticast(closed " + pair + ")",
                        () -> pair.attachMulticast(gid.gid(), 0),
                        IllegalStateException.class);
            }
            case AddressHandle handle -> walker.done("close(closed " + handle + ")", handle::close);
            default -> throw new IllegalStateException("unexpected " + object);
        }
    }

    /** Null where the annotations forbid it. */
    @SuppressWarnings("NullAway")
    private void nothing() {
        Class<NullPointerException> npe = NullPointerException.class;
        switch (walker.below(14)) {
            case 0 -> walker.no("registerMemory(null access)", () -> pd.registerMemory(8, (Access[]) null), npe);
            case 1 -> walker.no("registerMemory(access of null)", () -> pd.registerMemory(8, (Access) null), npe);
            case 2 -> walker.no("createQueuePair(null)", () -> pd.createQueuePair(null), npe);
            case 3 ->
                walker.no(
                        "createAddressHandle(null)", () -> pd.createAddressHandle((AddressHandleAttributes) null), npe);
            case 4 -> walker.no("RdmaDevice.byName(null)", () -> RdmaDevice.byName(null), npe, RdmaException.class);
            case 5 -> walker.no("Gid.of(null)", () -> Gid.of((byte[]) null), npe);
            case 6 -> walker.no("QueuePairModification.to(null)", () -> QueuePairModification.to(null), npe);
            case 7 -> {
                try (SendRequests list = SendRequests.allocate(1)) {
                    walker.no("list.send(null memory)", () -> list.send(0, 1, null, 0, 8), npe);
                    walker.no("list.write(null memory)", () -> list.write(0, 1, null, 0, 8, 0, 0), npe);
                    for (QueuePair pair : pairs) {
                        walker.no(
                                "post(list of nothing) on " + pair, () -> pair.post(list), IllegalStateException.class);
                    }
                }
            }
            case 8 -> {
                if (!memories.isEmpty()) {
                    MemoryRegion region = walker.pick(memories);
                    try (SendRequests list = SendRequests.allocate(1)) {
                        walker.no(
                                "list.sendTo(null destination)",
                                () -> list.sendTo(0, 1, region, 0, 1, null, 1, 1),
                                npe);
                        walker.no("list.send(null flags)", () -> list.send(0, 1, region, 0, 1, (SendFlag[]) null), npe);
                        walker.no("list.send(flag null)", () -> list.send(0, 1, region, 0, 1, (SendFlag) null), npe);
                        for (QueuePair pair : pairs) {
                            walker.no(
                                    "post(list that was refused) on " + pair,
                                    () -> pair.post(list),
                                    IllegalStateException.class);
                        }
                    }
                }
            }
            case 9 -> {
                try (ReceiveRequests list = ReceiveRequests.allocate(1)) {
                    walker.no("list.receive(null memory)", () -> list.receive(0, 1, null, 0, 8), npe);
                }
            }
            case 10 -> {
                if (!queues.isEmpty()) {
                    walker.no("poll(null)", () -> walker.pick(queues).poll(null), npe);
                }
            }
            case 11 -> {
                if (!pairs.isEmpty()) {
                    QueuePair pair = walker.pick(pairs);
                    walker.no("modify(null)", () -> pair.modify(null), npe);
                    walker.no("post(null)", () -> pair.post((SendRequests) null), npe);
                    walker.no("attachMulticast(null)", () -> pair.attachMulticast(null, 0), npe);
                }
            }
            case 12 -> {
                if (!queues.isEmpty()) {
                    QueuePairAttributes.Builder builder = QueuePairAttributes.builder(null);
                    walker.no(
                            "createQueuePair(type null)",
                            () -> pd.createQueuePair(
                                    builder.completionQueue(queues.getFirst()).build()),
                            npe);
                }
            }
            default -> walker.no("awaitAsyncEvent(null)", () -> context.awaitAsyncEvent(null), npe);
        }
    }

    // ---- values and devices ----

    private void values() {
        switch (walker.below(9)) {
            case 0 -> {
                String text = walker.one("", "1.2.3.4", "fe80::1%lo", "x::y", ":::", "::ffff:1.2.3.400");
                walker.no("Gid.parse(" + text + ")", () -> Gid.parse(text), IllegalArgumentException.class);
            }
            case 1 -> {
                byte[] bytes = new byte[Gid.LENGTH];
                walker.random.nextBytes(bytes);
                Gid made = walker.ok("Gid.of(bytes)", () -> Gid.of(bytes));
                walker.requireEqual(
                        walker.ok("Gid.parse(" + made + ")", () -> Gid.parse(made.toString())), made, "gid");
                walker.requireEqual(Gid.of(made.bytes()).hashCode(), made.hashCode(), "hash of gid");
                walker.requireEqual(
                        walker.ok("Gid.of(address)", () -> Gid.of(made.toInetAddress())), made, "gid by address");
                Looks.random(walker, made);
            }
            case 2 -> {
                byte[] bytes = new byte[walker.one(0, 4, 15, 17)];
                walker.no("Gid.of(" + bytes.length + " bytes)", () -> Gid.of(bytes), IllegalArgumentException.class);
                byte[] hardware = new byte[walker.one(0, 6, 20)];
                walker.random.nextBytes(hardware);
                Gid made = walker.ok("Gid.ofHardware(" + hardware.length + " bytes)", () -> Gid.ofHardware(hardware));
                walker.requireEqual(made.bytes()[0], (byte) (hardware.length == 6 ? 0xfe : 0), "first byte");
            }
            case 3 -> {
                int value = walker.one(-1, 1 << 24, Integer.MIN_VALUE);
                QueuePairModification.Builder builder = QueuePairModification.builder();
                walker.no(
                        "destinationQp(" + value + ")",
                        () -> builder.destinationQp(value),
                        IllegalArgumentException.class);
                walker.no("sendPsn(" + value + ")", () -> builder.sendPsn(value), IllegalArgumentException.class);
                walker.no("receivePsn(" + value + ")", () -> builder.receivePsn(value), IllegalArgumentException.class);
                walker.no("timeout(" + value + ")", () -> builder.timeout(value), IllegalArgumentException.class);
                walker.no("retryCount(" + value + ")", () -> builder.retryCount(value), IllegalArgumentException.class);
                walker.no("rnrRetry(" + value + ")", () -> builder.rnrRetry(value), IllegalArgumentException.class);
                walker.no(
                        "minRnrTimer(" + value + ")", () -> builder.minRnrTimer(value), IllegalArgumentException.class);
                walker.no(
                        "maxReadAtomic(" + value + ")",
                        () -> builder.maxReadAtomic(value),
                        IllegalArgumentException.class);
                walker.no(
                        "maxDestinationReadAtomic(" + value + ")",
                        () -> builder.maxDestinationReadAtomic(value),
                        IllegalArgumentException.class);
                walker.no("pkeyIndex(" + value + ")", () -> builder.pkeyIndex(value), IllegalArgumentException.class);
                walker.no("port(" + value + ")", () -> builder.port(value), IllegalArgumentException.class);
                walker.no("state(UNKNOWN)", () -> builder.state(QpState.UNKNOWN), IllegalArgumentException.class);
                walker.no(
                        "currentState(UNKNOWN)",
                        () -> builder.currentState(QpState.UNKNOWN),
                        IllegalArgumentException.class);
                walker.no("pathMtu(UNKNOWN)", () -> builder.pathMtu(Mtu.UNKNOWN), IllegalArgumentException.class);
            }
            case 4 -> {
                QueuePairModification made = walker.ok(
                        "build()",
                        () -> QueuePairModification.to(QpState.RTS)
                                .currentState(QpState.SQD)
                                .qkey(7)
                                .access(List.of(Access.REMOTE_READ))
                                .access(Access.REMOTE_READ)
                                .build()
                                .toBuilder()
                                .sendPsn(9)
                                .build());
                walker.requireEqual(made.state(), QpState.RTS, "state of " + made);
                walker.requireEqual(made.access(), Set.of(Access.REMOTE_READ), "access of " + made);
                walker.requireEqual(made.sendPsn(), 9, "psn of " + made);
                walker.no("timeout(not set)", made::timeout, IllegalStateException.class);
                Looks.random(walker, made, IllegalStateException.class);
            }
            case 5 -> {
                int bytes = walker.one(0, 1500, -1, 8192);
                walker.no("Mtu.ofBytes(" + bytes + ")", () -> Mtu.ofBytes(bytes), IllegalArgumentException.class);
                walker.requireEqual(walker.ok("Mtu.ofBytes(1024)", () -> Mtu.ofBytes(1024)), Mtu.MTU_1024, "MTU");
            }
            case 6 -> {
                int value = walker.one(-1, 1 << 30);
                walker.no(
                        "AddressHandleAttributes(" + value + ")",
                        () -> AddressHandleAttributes.toLid(1, value),
                        IllegalArgumentException.class);
                AddressHandleAttributes lid = walker.ok("toLid(1, 5)", () -> AddressHandleAttributes.toLid(1, 5));
                int port = 49152 + walker.below(1 << 14);
                AddressHandleAttributes chosen =
                        walker.ok("withUdpSourcePort(" + port + ")", () -> lid.withUdpSourcePort(port));
                walker.requireEqual(
                        AddressHandleAttributes.udpSourcePort(chosen.flowLabel()), port, "port of " + chosen);
                walker.requireEqual(
                        AddressHandleAttributes.flowLabelOfUdpSourcePort(port), chosen.flowLabel(), "flow label");
                walker.requireEqual(
                        AddressHandleAttributes.flowLabel(port, 3),
                        AddressHandleAttributes.flowLabel(3, port),
                        "flow label of two queue pairs");
                walker.no("withUdpSourcePort(4791)", () -> lid.withUdpSourcePort(4791), IllegalArgumentException.class);
                walker.no("withPathBits(128)", () -> lid.withPathBits(128), IllegalArgumentException.class);
                walker.no("withStaticRate(256)", () -> lid.withStaticRate(256), IllegalArgumentException.class);
                AddressHandleAttributes routed = walker.ok(
                        "withGid(0)",
                        () -> lid.withGid(gid.gid(), 0).withPathBits(3).withStaticRate(2));
                walker.requireEqual(routed.gid(), gid.gid(), "GID of " + routed);
                walker.requireEqual(routed.lid(), 5, "LID of " + routed);
                Looks.random(walker, routed);
            }
            case 7 -> {
                io.rdmatest.verbs.RawAddress address = new io.rdmatest.verbs.RawAddress(
                        gid.gid(),
                        gid.index(),
                        gid.port(),
                        walker.below(1 << 24),
                        walker.below(1 << 24),
                        Mtu.MTU_512,
                        0);
                String text = walker.ok("RawAddress.toText()", address::toString);
                walker.no(
                        "RawAddress(port 0)",
                        () -> new io.rdmatest.verbs.RawAddress(gid.gid(), 0, 0, 0, 0, Mtu.MTU_512, 0),
                        IllegalArgumentException.class);
                walker.require(!text.isEmpty(), "no text");
                Looks.random(walker, address);
            }
            default -> {
                io.rdmatest.verbs.RawConnection.Parameters made = walker.ok(
                        "Parameters.with()",
                        () -> io.rdmatest.verbs.RawConnection.Parameters.DEFAULT
                                .withMtu(Mtu.MTU_512)
                                .withRouting(1, 2, 3)
                                .withReadAtomic(2, 2)
                                .withAccess(Access.LOCAL_WRITE)
                                .withUdpSourcePort(50_000)
                                .withPkeyIndex(3));
                walker.requireEqual(AddressHandleAttributes.udpSourcePort(made.flowLabel()), 50_000, "UDP source port");
                walker.requireEqual(made.hopLimit(), 1, "hop limit");
                walker.requireEqual(made.pkeyIndex(), 3, "P_Key index");
                Looks.random(walker, made);
            }
        }
    }

    private void device() {
        switch (walker.below(10)) {
            case 0 -> Looks.random(walker, walker.ok("attributes()", context::attributes));
            case 8 -> {
                List<Integer> table = walker.ok("pkeyTable(1)", () -> context.pkeyTable(1));
                walker.requireEqual(table.size(), context.port(1).pkeyTableLength(), "length of the P_Key table");
                int pkey = table.getFirst();
                walker.requireEqual(
                        walker.ok("pkeyIndex(1, " + pkey + ")", () -> context.pkeyIndex(1, pkey)), 0, "index");
                walker.no("pkeyIndex(1, 0x1234)", () -> context.pkeyIndex(1, 0x1234), RdmaException.class);
                walker.no("pkeyIndex(1, -1)", () -> context.pkeyIndex(1, -1), IllegalArgumentException.class);
            }
            case 1 -> Looks.random(walker, walker.ok("port(1)", () -> context.port(1)));
            case 2 -> {
                int port = walker.one(0, -1, 256, Integer.MAX_VALUE);
                walker.no("port(" + port + ")", () -> context.port(port), IllegalArgumentException.class);
            }
            case 3 -> {
                int port = walker.one(2, 255);
                walker.no("port(" + port + ")", () -> context.port(port), RdmaException.class);
            }
            case 4 -> {
                walker.requireEqual(
                        walker.ok("gid(1, " + gid.index() + ")", () -> context.gid(1, gid.index())), gid.gid(), "gid");
                walker.requireEqual(walker.ok("current(" + gid + ")", () -> context.current(gid)), gid, "entry");
            }
            case 5 -> {
                int index = walker.one(-1, 250, 100_000);
                walker.no("gid(1, " + index + ")", () -> context.gid(1, index), RdmaException.class);
            }
            case 6 -> {
                if (walker.chance(5)) {
                    List<RdmaDevice> devices = walker.ok("RdmaDevice.list()", RdmaDevice::list);
                    walker.requireEqual(
                            walker.ok("RdmaDevice.unusable()", RdmaDevice::unusable), Map.of(), "unusable devices");
                    Looks.random(walker, walker.pick(devices));
                    RdmaDevice device = walker.pick(devices);
                    walker.ok("hardwareCounters(" + device + ")", () -> device.hardwareCounters(gid.port()));
                    walker.ok("portCounters(" + device + ")", () -> device.portCounters(gid.port()));
                    walker.ok(
                            "networkInterfaces(" + device + ")",
                            () -> device.networkInterfaces(gid.port(), List.of(gid)));
                    walker.ok("KernelResource.list()", () -> KernelResource.list());
                    walker.no("RdmaDevice.byName(none)", () -> RdmaDevice.byName("none"), RdmaException.class);
                    DeviceContext other =
                            walker.made("open()", () -> walker.pick(devices).open());
                    foreign(other);
                    walker.close(other);
                }
            }
            case 7 -> {
                walker.maybe("deviceClock()", context::deviceClock, RdmaException.class);
                XrcDomain domain = walker.maybe("openXrcDomain()", context::openXrcDomain, RdmaException.class);
                if (domain != null) {
                    walker.walk.made(domain);
                    walker.close(domain);
                }
            }
            default ->
                walker.maybe(
                        "awaitAsyncEvent(0)", () -> context.awaitAsyncEvent(Duration.ZERO), RdmaTimeoutException.class);
        }
    }

    /** Objects of two contexts do not go together. */
    private void foreign(DeviceContext other) {
        CompletionChannel channel =
                walker.made("createCompletionChannel(" + other + ")", other::createCompletionChannel);
        walker.no(
                "createCompletionQueue(4, foreign " + channel + ")",
                () -> context.createCompletionQueue(4, channel),
                IllegalArgumentException.class);
        CompletionQueue queue =
                walker.made("createCompletionQueue(4, " + channel + ")", () -> other.createCompletionQueue(4, channel));
        walker.no(
                "createQueuePair(foreign " + queue + ")",
                () -> pd.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                        .completionQueue(queue)
                        .build()),
                IllegalArgumentException.class);
        walker.no("close(" + channel + " in use)", channel::close, IllegalStateException.class);
        walker.no("close(" + other + " in use)", other::close, IllegalStateException.class);
        walker.close(queue);
        walker.close(channel);
    }

    /** Lists of work requests by themselves. */
    private void requests() {
        int capacity = walker.one(0, -1, Integer.MIN_VALUE);
        switch (walker.below(5)) {
            case 0 ->
                walker.no(
                        "SendRequests.allocate(" + capacity + ")",
                        () -> SendRequests.allocate(capacity),
                        IllegalArgumentException.class);
            case 1 ->
                walker.no(
                        "ReceiveRequests.allocate(1, " + capacity + ")",
                        () -> ReceiveRequests.allocate(1, capacity),
                        IllegalArgumentException.class);
            case 2 ->
                walker.no(
                        "SendRequests.allocate(max, max)",
                        () -> SendRequests.allocate(Integer.MAX_VALUE, Integer.MAX_VALUE),
                        IllegalArgumentException.class);
            case 3 ->
                walker.no(
                        "ReceiveRequests.allocate(2^16, 2^16)",
                        () -> ReceiveRequests.allocate(1 << 16, 1 << 16),
                        IllegalArgumentException.class);
            default -> {
                if (memories.isEmpty()) {
                    return;
                }
                MemoryRegion region = walker.pick(memories);
                ReceiveRequests list =
                        walker.ok("ReceiveRequests.allocate(2, 2)", () -> ReceiveRequests.allocate(2, 2));
                walker.no("list.wrId(unset)", () -> list.wrId(0, 1), IllegalStateException.class);
                walker.no("list.add(unset)", () -> list.add(0, region, 0, 1), IllegalStateException.class);
                int index = walker.one(-1, 2, Integer.MAX_VALUE);
                walker.no(
                        "list.receive(" + index + ")",
                        () -> list.receive(index, 1, region, 0, 1),
                        IndexOutOfBoundsException.class);
                ReceiveRequests ignored = walker.ok(
                        "list.receive(0)",
                        () -> list.receive(0, 1, region, 0, 1).add(0, region, 0, 1));
                walker.no("list.add(third)", () -> list.add(0, region, 0, 1), IllegalStateException.class);
                walker.no(
                        "list.segment(beyond)",
                        () -> list.segment(0, region.size(), 1),
                        IndexOutOfBoundsException.class);
                walker.done("list.segment(0, 0, 1)", () -> list.segment(0, 0, 1));
                walker.done("list.wrId(0, 5)", () -> list.wrId(0, 5));
                Looks.random(walker, list);
                walker.done("list.close()", list::close);
                walker.done("list.close()", list::close);
                walker.no("list.receive(closed)", () -> list.receive(0, 1, region, 0, 1), IllegalStateException.class);
                walker.no("list.wrId(closed)", () -> list.wrId(0, 1), IllegalStateException.class);
            }
        }
    }

    // ---- the end ----

    void settle() {
        link.settle();
    }

    void close() {
        link.close();
        walker.no("close(" + pd + " in use)", this::closePdInUse, IllegalStateException.class);
        pairs.forEach(walker::close);
        shared.forEach(walker::close);
        queues.forEach(walker::close);
        channels.forEach(walker::close);
        handles.forEach(walker::close);
        memories.forEach(walker::close);
        walker.close(pd);
        walker.no("registerMemory(closed " + pd + ")", () -> pd.registerMemory(8), IllegalStateException.class);
    }

    private void closePdInUse() {
        if (pairs.isEmpty() && shared.isEmpty() && handles.isEmpty() && memories.isEmpty()) {
            throw new IllegalStateException("nothing to be in use of " + pd);
        }
        pd.close();
    }
}
