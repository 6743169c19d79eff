package io.rdmatest.walk;

import io.rdmatest.RdmaException;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceCapabilities;
import io.rdmatest.verbs.DeviceCapability;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.MemoryWindow;
import io.rdmatest.verbs.PostException;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawAddress;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletion.Opcode;
import io.rdmatest.verbs.WorkCompletion.Status;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Set;

/**
 * Two connected queue pairs of one thread, with an exact model: which completions come on which queue in which order, and
 * what every byte of both memories is once all work is done.
 *
 * <p>Memory of the one that acts: what is sent, 16 places to read into, 16 for the results of atomics. Of the other: what
 * is written to and read from, 16 places to receive into, one number for atomics. The device reads and writes only
 * between posting and completion, so that the order of posting decides what ends up where.
 */
final class Link {

    static final Access[] ALL = {Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ, Access.REMOTE_ATOMIC};
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final int ZONE = 1024;
    private static final int SLOTS = 16;
    private static final int SLOT = ZONE / SLOTS;
    private static final int SIZE = 4096;
    private static final int NUMBER = 2 * ZONE;
    private static final int MOST = 12;

    /** What a completion must say. */
    private record Expected(long wrId, Opcode opcode, int length, boolean immediate, int immediateValue) {}

    private record Receive(long wrId, int offset, int length) {}

    private final Walker walker;
    private final ProtectionDomain pd;
    private final int port;
    private final int gidIndex;
    private final CompletionQueue cqA;
    private final CompletionQueue cqB;
    private final MemoryRegion mrA;
    private final MemoryRegion mrB;
    private final QueuePair a;
    private final QueuePair b;
    private final List<MemoryWindow.Type> windowTypes;
    private final SendRequests sends;
    private final ReceiveRequests receives;
    private final byte[] modelA = new byte[SIZE];
    private final byte[] modelB = new byte[SIZE];
    private final Deque<Expected> expectedA = new ArrayDeque<>();
    private final Deque<Expected> expectedB = new ArrayDeque<>();
    private final Deque<Receive> posted = new ArrayDeque<>();
    private long wrIds = 1;
    private int slot;
    private int outstanding;
    private int expectedOnB;

    Link(Walker walker, ProtectionDomain pd, int port, int gidIndex) {
        this.walker = walker;
        this.pd = pd;
        this.port = port;
        this.gidIndex = gidIndex;
        DeviceContext context = pd.context();
        cqA = walker.made("createCompletionQueue(64)", () -> context.createCompletionQueue(64));
        cqB = walker.made("createCompletionQueue(64)", () -> context.createCompletionQueue(64));
        mrA = walker.made("registerMemory(4096, all)", () -> pd.registerMemory(SIZE, ALL));
        windowTypes = windowTypes(context);
        Access[] access = Arrays.copyOf(ALL, windowTypes.isEmpty() ? ALL.length : ALL.length + 1);
        if (!windowTypes.isEmpty()) {
            access[ALL.length] = Access.MEMORY_WINDOW_BIND;
        }
        mrB = walker.made("registerMemory(4096, all)", () -> pd.registerMemory(SIZE, access));
        a = queuePair(pd, cqA);
        b = queuePair(pd, cqB);
        sends = walker.ok("SendRequests.allocate(4, 2)", () -> SendRequests.allocate(4, 2));
        receives = walker.ok("ReceiveRequests.allocate(4)", () -> ReceiveRequests.allocate(4));
        connect();
        scribble();
    }

    private static List<MemoryWindow.Type> windowTypes(DeviceContext context) {
        DeviceCapabilities seen = new DeviceCapabilities(context.attributes(), context.extendedAttributes(), Set.of());
        List<MemoryWindow.Type> types = new ArrayList<>();
        if (seen.has(DeviceCapability.MEMORY_WINDOWS)) {
            types.add(MemoryWindow.Type.TYPE_1);
        }
        if (seen.has(DeviceCapability.MEMORY_WINDOWS_TYPE_2)) {
            types.add(MemoryWindow.Type.TYPE_2);
        }
        return types;
    }

    private QueuePair queuePair(ProtectionDomain pd, CompletionQueue cq) {
        QueuePairAttributes attributes = QueuePairAttributes.builder(QpType.RC)
                .completionQueue(cq)
                .maxSendWr(16)
                .maxReceiveWr(16)
                .maxSendSge(2)
                .maxReceiveSge(2)
                .maxInline(64)
                .build();
        return walker.made("createQueuePair(" + attributes + ")", () -> pd.createQueuePair(attributes));
    }

    private void connect() {
        // Nothing may run out of patience only because the machine is slow: timeout 4.096 us * 2^20, about 4 s.
        RawConnection.Parameters parameters = RawConnection.Parameters.DEFAULT
                .withTimeout(20, 7)
                .withRnr(7, 12)
                .withFlowLabel(walker.below(1 << 20));
        RawAddress ofA = walker.ok("RawAddress.of(" + a + ")", () -> RawAddress.of(a, port, gidIndex, psn()));
        RawAddress ofB = walker.ok("RawAddress.of(" + b + ")", () -> RawAddress.of(b, port, gidIndex, psn()));
        if (walker.chance(2)) {
            walker.done("RawConnection.init(" + a + ")", () -> RawConnection.init(a, ofA, parameters));
            walker.done("RawConnection.establish(" + a + ")", () -> RawConnection.establish(a, ofA, ofB, parameters));
        } else {
            walker.done("RawConnection.connect(" + a + ")", () -> RawConnection.connect(a, ofA, ofB, parameters));
        }
        walker.done("RawConnection.connect(" + b + ")", () -> RawConnection.connect(b, ofB, ofA, parameters));
    }

    private int psn() {
        return walker.below(1 << 24);
    }

    // ---- operations ----

    void step() {
        switch (walker.below(20)) {
            case 0, 1, 2 -> write();
            case 3 -> read();
            case 4, 5 -> send();
            case 6 -> atomic();
            case 7, 8 -> receive();
            case 9, 10, 11, 12 -> poll();
            case 13 -> list();
            case 14 -> wrong();
            case 15, 16 -> look();
            case 17 -> {
                if (walker.chance(8)) {
                    settle();
                    scribble();
                }
            }
            case 18 -> {
                if (walker.chance(25)) {
                    breakAndMend();
                } else if (walker.chance(12)) {
                    window();
                }
            }
            default -> {
                boolean solicited = walker.chance(2);
                walker.done("requestNotify(" + solicited + ") on " + cqA, () -> cqA.requestNotify(solicited));
            }
        }
    }

    /** Fills what is sent anew; only while no work is under way. */
    private void scribble() {
        int seed = walker.random.nextInt();
        for (int i = 0; i < ZONE; i++) {
            modelA[i] = (byte) (seed * (i + 1) + (i >> 3));
        }
        walker.done(
                "bytes().copy(" + mrA + ")",
                () -> mrA.bytes().asSlice(0, ZONE).asByteBuffer().put(modelA, 0, ZONE));
    }

    private boolean roomForSend() {
        if (outstanding >= MOST) {
            settle();
        }
        return true;
    }

    private SendFlag[] flags(boolean signaled, int length, boolean inlineAllowed) {
        List<SendFlag> flags = new ArrayList<>();
        if (signaled) {
            flags.add(SendFlag.SIGNALED);
        }
        if (inlineAllowed && length <= 64 && walker.chance(3)) {
            flags.add(SendFlag.INLINE);
        }
        if (walker.chance(5)) {
            flags.add(SendFlag.SOLICITED);
        }
        if (walker.chance(10)) {
            flags.add(SendFlag.FENCE);
        }
        return flags.toArray(SendFlag[]::new);
    }

    private void sent(long wrId, boolean signaled, Opcode opcode) {
        outstanding++;
        if (signaled) {
            expectedA.add(new Expected(wrId, opcode, 0, false, 0));
        }
    }

    private void write() {
        boolean room = roomForSend();
        boolean withImmediate = walker.chance(4) && !posted.isEmpty();
        int length = walker.below(200);
        int from = walker.below(ZONE - length);
        int to = walker.below(ZONE - length);
        long wrId = wrIds++;
        int immediate = walker.random.nextInt();
        boolean signaled = walker.chance(2);
        SendFlag[] flags = flags(signaled, length, true);
        boolean prepared = walker.chance(3);
        String what = "(" + wrId + ", " + mrA + "+" + from + ", " + length + " to +" + to + ", "
                + Arrays.toString(flags) + ") on " + a;
        if (withImmediate) {
            if (prepared) {
                SendRequests ignored = walker.ok(
                        "list.writeWithImmediate" + what,
                        () -> sends.writeWithImmediate(
                                0, wrId, mrA, from, length, mrB.address(to), mrB.rkey(), immediate, flags));
                walker.done("post(list, 0, 1) on " + a, () -> a.post(sends, 0, 1));
            } else {
                walker.done(
                        "postWriteWithImmediate" + what,
                        () -> a.postWriteWithImmediate(
                                wrId, mrA, from, length, mrB.address(to), mrB.rkey(), immediate, flags));
            }
            Receive receive = posted.removeFirst();
            expectedOnB++;
            expectedB.add(new Expected(receive.wrId(), Opcode.RECV_RDMA_WITH_IMM, length, true, immediate));
        } else if (prepared) {
            SendRequests ignored = walker.ok(
                    "list.write" + what,
                    () -> sends.write(1, wrId, mrA, from, length, mrB.address(to), mrB.rkey(), flags));
            walker.done("post(list, 1, 1) on " + a, () -> a.post(sends, 1, 1));
        } else {
            walker.done(
                    "postWrite" + what, () -> a.postWrite(wrId, mrA, from, length, mrB.address(to), mrB.rkey(), flags));
        }
        System.arraycopy(modelA, from, modelB, to, length);
        sent(wrId, signaled, Opcode.RDMA_WRITE);
    }

    private void read() {
        boolean room = roomForSend();
        int length = walker.below(SLOT + 1);
        int from = walker.below(ZONE - length);
        int to = ZONE + SLOT * nextSlot();
        long wrId = wrIds++;
        boolean signaled = walker.chance(2);
        SendFlag[] flags = flags(signaled, length, false);
        String what = "(" + wrId + ", " + mrA + "+" + to + ", " + length + " from +" + from + ") on " + a;
        if (walker.chance(3)) {
            SendRequests ignored = walker.ok(
                    "list.read" + what,
                    () -> sends.read(0, wrId, mrA, to, length, mrB.address(from), mrB.rkey(), flags));
            walker.done("post(list, 0, 1) on " + a, () -> a.post(sends, 0, 1));
        } else {
            walker.done(
                    "postRead" + what, () -> a.postRead(wrId, mrA, to, length, mrB.address(from), mrB.rkey(), flags));
        }
        System.arraycopy(modelB, from, modelA, to, length);
        sent(wrId, signaled, Opcode.RDMA_READ);
    }

    private int nextSlot() {
        slot = (slot + 1) % SLOTS;
        return slot;
    }

    private void send() {
        if (posted.isEmpty()) {
            receive();
        }
        boolean room = roomForSend();
        if (posted.isEmpty()) {
            return;
        }
        Receive receive = posted.removeFirst();
        int length = walker.below(receive.length() + 1);
        int from = walker.below(ZONE - length);
        long wrId = wrIds++;
        boolean withImmediate = walker.chance(2);
        int immediate = walker.random.nextInt();
        boolean signaled = walker.chance(2);
        SendFlag[] flags = flags(signaled, length, true);
        String what =
                "(" + wrId + ", " + mrA + "+" + from + ", " + length + ", " + Arrays.toString(flags) + ") on " + a;
        if (walker.chance(3)) {
            SendRequests ignored = walker.ok(
                    "list.send" + what,
                    () -> withImmediate
                            ? sends.sendWithImmediate(2, wrId, mrA, from, length, immediate, flags)
                            : sends.send(2, wrId, mrA, from, length, flags));
            walker.done("post(list, 2, 1) on " + a, () -> a.post(sends, 2, 1));
        } else if (withImmediate) {
            walker.done(
                    "postSendWithImmediate" + what,
                    () -> a.postSendWithImmediate(wrId, mrA, from, length, immediate, flags));
        } else {
            walker.done("postSend" + what, () -> a.postSend(wrId, mrA, from, length, flags));
        }
        System.arraycopy(modelA, from, modelB, receive.offset(), length);
        expectedOnB++;
        expectedB.add(new Expected(receive.wrId(), Opcode.RECV, length, withImmediate, withImmediate ? immediate : 0));
        sent(wrId, signaled, Opcode.SEND);
    }

    private void atomic() {
        boolean room = roomForSend();
        ByteBuffer numbers = ByteBuffer.wrap(modelB).order(ByteOrder.nativeOrder());
        ByteBuffer results = ByteBuffer.wrap(modelA).order(ByteOrder.nativeOrder());
        long before = numbers.getLong(NUMBER);
        int to = NUMBER + 8 * nextSlot();
        long wrId = wrIds++;
        boolean signaled = walker.chance(2);
        SendFlag[] flags = flags(signaled, 8, false);
        boolean prepared = walker.chance(3);
        if (walker.chance(2)) {
            long add = walker.random.nextLong();
            String what = "(" + wrId + ", " + mrA + "+" + to + ", add " + add + ") on " + a;
            if (prepared) {
                SendRequests ignored = walker.ok(
                        "list.fetchAndAdd" + what,
                        () -> sends.fetchAndAdd(3, wrId, mrA, to, mrB.address(NUMBER), mrB.rkey(), add, flags));
                walker.done("post(list, 3, 1) on " + a, () -> a.post(sends, 3, 1));
            } else {
                walker.done(
                        "postFetchAndAdd" + what,
                        () -> a.postFetchAndAdd(wrId, mrA, to, mrB.address(NUMBER), mrB.rkey(), add, flags));
            }
            numbers.putLong(NUMBER, before + add);
            sent(wrId, signaled, Opcode.FETCH_ADD);
        } else {
            long expected = walker.chance(2) ? before : before + 1;
            long swap = walker.random.nextLong();
            String what = "(" + wrId + ", " + mrA + "+" + to + ", " + expected + " by " + swap + ") on " + a;
            if (prepared) {
                SendRequests ignored = walker.ok(
                        "list.compareAndSwap" + what,
                        () -> sends.compareAndSwap(
                                3, wrId, mrA, to, mrB.address(NUMBER), mrB.rkey(), expected, swap, flags));
                walker.done("post(list, 3, 1) on " + a, () -> a.post(sends, 3, 1));
            } else {
                walker.done(
                        "postCompareAndSwap" + what,
                        () -> a.postCompareAndSwap(
                                wrId, mrA, to, mrB.address(NUMBER), mrB.rkey(), expected, swap, flags));
            }
            if (expected == before) {
                numbers.putLong(NUMBER, swap);
            }
            sent(wrId, signaled, Opcode.COMP_SWAP);
        }
        results.putLong(to, before);
    }

    private void receive() {
        if (posted.size() + expectedOnB >= MOST) {
            settle();
            if (posted.size() >= MOST) {
                return;
            }
        }
        long wrId = wrIds++;
        Receive receive = new Receive(wrId, ZONE + SLOT * nextSlot(), 1 + walker.below(SLOT));
        String what = "(" + wrId + ", " + mrB + "+" + receive.offset() + ", " + receive.length() + ") on " + b;
        if (walker.chance(3)) {
            ReceiveRequests ignored = walker.ok(
                    "list.receive" + what, () -> receives.receive(0, wrId, mrB, receive.offset(), receive.length()));
            walker.done("post(list, 0, 1) on " + b, () -> b.post(receives, 0, 1));
        } else {
            walker.done("postReceive" + what, () -> b.postReceive(wrId, mrB, receive.offset(), receive.length()));
        }
        posted.add(receive);
    }

    /** A whole list of writes in one call, changed after it was set. */
    private void list() {
        if (outstanding + sends.capacity() > MOST) {
            settle();
        }
        for (int i = 0; i < sends.capacity(); i++) {
            int index = i;
            long wrId = wrIds++;
            int first = walker.below(60);
            int second = 1 + walker.below(60);
            int from = walker.below(ZONE - 200);
            int to = walker.below(ZONE - 200);
            SendRequests ignored = walker.ok(
                    "list.write(" + index + ", " + mrA + "+" + from + ", " + first + " to +" + to + ")",
                    () -> sends.write(index, -1, mrA, from, first, mrB.address(0), mrB.rkey()));
            walker.done("list.wrId(" + index + ", " + wrId + ")", () -> sends.wrId(index, wrId));
            walker.done("list.remoteAddress(" + index + ")", () -> sends.remoteAddress(index, mrB.address(to)));
            boolean two = walker.chance(2);
            int start = two ? from : from + 1;
            if (two) {
                ignored = walker.ok(
                        "list.add(" + index + ", +" + (from + 60) + ", " + second + ")",
                        () -> sends.add(index, mrA, from + 60, second));
            } else {
                walker.done("list.segment(" + index + ")", () -> sends.segment(index, start, first));
            }
            boolean signaled = walker.chance(2);
            if (walker.chance(2)) {
                walker.done("list.signaled(" + index + ", " + signaled + ")", () -> sends.signaled(index, signaled));
            } else {
                walker.done(
                        "list.flags(" + index + ", " + signaled + ")",
                        () -> sends.flags(index, signaled ? new SendFlag[] {SendFlag.SIGNALED} : new SendFlag[0]));
            }
            System.arraycopy(modelA, start, modelB, to, first);
            if (two) {
                System.arraycopy(modelA, from + 60, modelB, to + first, second);
            }
            sent(wrId, signaled, Opcode.RDMA_WRITE);
        }
        walker.done("post(list of " + sends.capacity() + ") on " + a, () -> a.post(sends));
    }

    private void wrong() {
        switch (walker.below(12)) {
            case 0 ->
                walker.no(
                        "postSend(beyond " + mrA + ")",
                        () -> a.postSend(0, mrA, SIZE - 7, 8),
                        IndexOutOfBoundsException.class);
            case 1 ->
                walker.no("postSend(length -1)", () -> a.postSend(0, mrA, 0, -1), IndexOutOfBoundsException.class);
            case 2 ->
                walker.no(
                        "postReceive(offset -1)", () -> b.postReceive(0, mrB, -1, 8), IndexOutOfBoundsException.class);
            case 3 ->
                walker.no(
                        "postFetchAndAdd(misaligned)",
                        () -> a.postFetchAndAdd(0, mrA, NUMBER, mrB.address(NUMBER + 4), mrB.rkey(), 1),
                        PostException.class);
            case 4 ->
                walker.no(
                        "postSend(inline of 2000)",
                        () -> a.postSend(0, mrA, 0, 2000, SendFlag.INLINE),
                        PostException.class);
            case 5 -> walker.no("post(list, 0, 0)", () -> a.post(sends, 0, 0), IllegalArgumentException.class);
            case 6 -> {
                int from = walker.one(-1, 4, 100, Integer.MAX_VALUE);
                walker.no("post(list, " + from + ", 1)", () -> a.post(sends, from, 1), IndexOutOfBoundsException.class);
            }
            case 7 ->
                walker.no(
                        "post(list, 1, max)",
                        () -> a.post(sends, 1, Integer.MAX_VALUE),
                        IndexOutOfBoundsException.class);
            case 8 -> walker.no("close(cq in use)", cqA::close, IllegalStateException.class);
            case 9 ->
                walker.no("modify(RTS to INIT)", () -> a.toInit(port, 0, Access.LOCAL_WRITE), RdmaException.class);
            case 10 -> walker.no("address(beyond)", () -> mrA.address(SIZE + 1), IndexOutOfBoundsException.class);
            default ->
                walker.no(
                        "awaitEvent(no channel)",
                        () -> {
                            List<WorkCompletion> ignored = cqA.awaitEvent(1, PATIENCE);
                        },
                        IllegalStateException.class);
        }
    }

    private void look() {
        switch (walker.below(8)) {
            case 0 -> walker.requireEqual(walker.ok("state() of " + a, a::state), QpState.RTS, "state of " + a);
            case 1 ->
                walker.requireEqual(
                        walker.ok("query() of " + b, b::query).destinationQp(), a.number(), "destination of " + b);
            case 2 -> Looks.random(walker, walker.one(a, b));
            case 3 -> Looks.random(walker, walker.one(mrA, mrB));
            case 4 -> Looks.random(walker, walker.one(cqA, cqB));
            case 5 ->
                walker.requireEqual(
                        walker.ok("bytes().get(" + mrA + ")", () -> mrA.bytes().get(ValueLayout.JAVA_BYTE, 5)),
                        modelA[5],
                        "byte 5 of " + mrA);
            case 6 ->
                walker.requireEqual(
                        walker.ok("buffer(" + mrA + ")", () -> mrA.buffer(6, 10).get(0)),
                        modelA[6],
                        "byte 6 of " + mrA);
            default -> walker.requireEqual(walker.ok("children(" + cqA + ")", cqA::children), List.of(a), "children");
        }
    }

    // ---- completions ----

    private void poll() {
        boolean onA = walker.chance(2);
        int polled = poll(onA ? cqA : cqB, onA ? expectedA : expectedB, 1 + walker.below(8));
    }

    private int poll(CompletionQueue cq, Deque<Expected> expected, int capacity) {
        Completions into = walker.ok("newCompletions(" + capacity + ")", () -> cq.newCompletions(capacity));
        int polled = walker.ok("poll(" + cq + ", " + capacity + ")", () -> cq.poll(into));
        walker.requireEqual(into.count(), polled, "count of polled completions");
        for (int i = 0; i < polled; i++) {
            check(cq, expected, into.get(i));
        }
        if (walker.chance(10)) {
            walker.no(
                    "wrId(" + polled + " of " + polled + ")", () -> into.wrId(polled), IndexOutOfBoundsException.class);
        }
        return polled;
    }

    private void check(CompletionQueue cq, Deque<Expected> expected, WorkCompletion seen) {
        if (expected.isEmpty()) {
            throw walker.walk.diverged("a completion on " + cq + " that the model does not expect: " + seen, null);
        }
        Expected wanted = expected.removeFirst();
        walker.requireEqual(seen.wrId(), wanted.wrId(), "wr_id of " + seen);
        walker.requireEqual(seen.status(), Status.SUCCESS, "status of " + seen);
        walker.requireEqual(seen.opcode(), wanted.opcode(), "opcode of " + seen);
        walker.requireEqual(seen.qpNumber(), (cq == cqA ? a : b).number(), "qp of " + seen);
        if (cq == cqB) {
            walker.requireEqual(seen.byteLength(), wanted.length(), "length of " + seen);
            walker.requireEqual(seen.hasImmediate(), wanted.immediate(), "immediate flag of " + seen);
            walker.requireEqual(seen.immediate(), wanted.immediateValue(), "immediate data of " + seen);
            expectedOnB--;
        }
    }

    /** Waits for all work and compares both memories with the model. */
    void settle() {
        long wrId = wrIds++;
        walker.done(
                "postWrite(" + wrId + ", empty, to settle) on " + a,
                () -> a.postWrite(wrId, mrA, 0, 0, mrB.address(), mrB.rkey(), SendFlag.SIGNALED));
        expectedA.add(new Expected(wrId, Opcode.RDMA_WRITE, 0, false, 0));
        await(cqA, expectedA);
        await(cqB, expectedB);
        outstanding = 0;
        compare(mrA, modelA);
        compare(mrB, modelB);
    }

    private void await(CompletionQueue cq, Deque<Expected> expected) {
        if (!expected.isEmpty()) {
            int count = expected.size();
            List<WorkCompletion> came =
                    walker.ok("await(" + cq + ", " + count + ")", () -> cq.awaitAny(count, PATIENCE));
            came.forEach(seen -> check(cq, expected, seen));
        }
        walker.requireEqual(poll(cq, expected, 4), 0, "number of completions on settled " + cq);
    }

    private void compare(MemoryRegion region, byte[] model) {
        byte[] actual = walker.ok(
                "bytes().toArray(" + region + ")", () -> region.bytes().toArray(ValueLayout.JAVA_BYTE));
        int wrong = Arrays.mismatch(actual, model);
        walker.require(
                wrong < 0,
                region + " differs from the model at byte " + wrong + ": " + (wrong < 0 ? 0 : actual[wrong])
                        + " instead of " + (wrong < 0 ? 0 : model[wrong]));
    }

    // ---- memory windows ----

    /** The peer binds a window onto its memory, is written to through it, and takes it back. */
    private void window() {
        if (windowTypes.isEmpty()) {
            return;
        }
        settle();
        MemoryWindow.Type type = walker.pick(windowTypes);
        boolean prepared = walker.chance(2);
        MemoryWindow window = walker.made("allocateMemoryWindow(" + type + ")", () -> pd.allocateMemoryWindow(type));
        long bind = wrIds++;
        String what = "(" + bind + ", " + window + " onto " + mrB + ") on " + b;
        if (prepared && type == MemoryWindow.Type.TYPE_2) {
            int key = window.rkey() & ~0xff | window.rkey() + 1 & 0xff;
            SendRequests ignored = walker.ok(
                    "list.bind" + what,
                    () -> sends.bind(
                            0, bind, window, key, mrB, 0, ZONE, Set.of(Access.REMOTE_WRITE), SendFlag.SIGNALED));
            walker.done("post(list, 0, 1) on " + b, () -> b.post(sends, 0, 1));
            walker.requireEqual(window.rkey(), key, "key of " + window);
        } else {
            int key = walker.ok(
                    "postBind" + what,
                    () -> b.postBind(bind, window, mrB, 0, ZONE, Set.of(Access.REMOTE_WRITE), SendFlag.SIGNALED));
            walker.requireEqual(window.rkey(), key, "key of " + window);
        }
        requireDone(cqB, bind, Opcode.BIND_MW);
        long write = wrIds++;
        int to = walker.below(ZONE - 100);
        walker.done(
                "postWrite(" + write + ", through " + window + " to +" + to + ") on " + a,
                () -> a.postWrite(write, mrA, 0, 100, mrB.address(to), window.rkey(), SendFlag.SIGNALED));
        System.arraycopy(modelA, 0, modelB, to, 100);
        requireDone(cqA, write, Opcode.RDMA_WRITE);
        if (type == MemoryWindow.Type.TYPE_2) {
            takeBack(window, prepared);
        }
        walker.close(window);
        walker.no(
                "postBind(closed " + window + ")",
                () -> b.postBind(1, window, mrB, 0, 1, Set.of()),
                IllegalStateException.class);
    }

    private void takeBack(MemoryWindow window, boolean prepared) {
        long wrId = wrIds++;
        int key = window.rkey();
        if (posted.isEmpty() || walker.chance(2)) {
            String what = "(" + wrId + ", " + window + ") on " + b;
            if (prepared) {
                SendRequests ignored =
                        walker.ok("list.invalidate" + what, () -> sends.invalidate(1, wrId, key, SendFlag.SIGNALED));
                walker.done("post(list, 1, 1) on " + b, () -> b.post(sends, 1, 1));
            } else {
                walker.done("postInvalidate" + what, () -> b.postInvalidate(wrId, key, SendFlag.SIGNALED));
            }
            requireDone(cqB, wrId, Opcode.LOCAL_INV);
            return;
        }
        Receive receive = posted.removeFirst();
        String what = "(" + wrId + ", " + mrA + ", empty, " + window + ") on " + a;
        if (prepared) {
            SendRequests ignored = walker.ok(
                    "list.sendWithInvalidate" + what,
                    () -> sends.sendWithInvalidate(2, wrId, mrA, 0, 0, key, SendFlag.SIGNALED));
            walker.done("post(list, 2, 1) on " + a, () -> a.post(sends, 2, 1));
        } else {
            walker.done(
                    "postSendWithInvalidate" + what,
                    () -> a.postSendWithInvalidate(wrId, mrA, 0, 0, key, SendFlag.SIGNALED));
        }
        requireDone(cqA, wrId, Opcode.SEND);
        WorkCompletion received = requireDone(cqB, receive.wrId(), Opcode.RECV);
        walker.require(received.hasInvalidatedKey(), "no invalidated key in " + received);
        walker.requireEqual(received.invalidatedKey(), key, "invalidated key of " + received);
    }

    private WorkCompletion requireDone(CompletionQueue cq, long wrId, Opcode opcode) {
        WorkCompletion seen =
                walker.ok("awaitStatus(" + cq + ", SUCCESS)", () -> cq.awaitStatus(Status.SUCCESS, PATIENCE));
        walker.requireEqual(seen.wrId(), wrId, "wr_id of " + seen);
        walker.requireEqual(seen.opcode(), opcode, "opcode of " + seen);
        return seen;
    }

    // ---- errors ----

    /** Makes one request fail, sees all later work flushed in order, and connects anew. */
    private void breakAndMend() {
        settle();
        long wrId = wrIds++;
        walker.done(
                "postWrite(" + wrId + ", wrong rkey) on " + a,
                () -> a.postWrite(wrId, mrA, 0, 8, mrB.address(), mrB.rkey() ^ 0x4321, SendFlag.SIGNALED));
        requireStatus(cqA, List.of(wrId), Status.REM_ACCESS_ERR);
        walker.requireEqual(walker.ok("state() of " + a, a::state), QpState.ERR, "state of " + a);
        List<Long> flushed = new ArrayList<>();
        for (int i = walker.below(4); i > 0; i--) {
            long next = wrIds++;
            flushed.add(next);
            walker.done("postSend(" + next + ", in ERR) on " + a, () -> a.postSend(next, mrA, 0, 8));
        }
        requireStatus(cqA, flushed, Status.WR_FLUSH_ERR);
        walker.done("toError() of " + b, b::toError);
        requireStatus(cqB, posted.stream().map(Receive::wrId).toList(), Status.WR_FLUSH_ERR);
        posted.clear();
        if (walker.chance(2)) {
            walker.requireEqual(walker.ok("drain(" + b + ")", () -> b.drain(PATIENCE)), List.of(), "drained work");
        }
        for (QueuePair qp : List.of(a, b)) {
            walker.done("reset() of " + qp, qp::reset);
            walker.requireEqual(walker.ok("state() of " + qp, qp::state), QpState.RESET, "state of " + qp);
        }
        connect();
    }

    private void requireStatus(CompletionQueue cq, List<Long> wrIdsInOrder, Status status) {
        if (wrIdsInOrder.isEmpty()) {
            return;
        }
        List<WorkCompletion> seen = walker.ok(
                "await(" + cq + ", " + wrIdsInOrder.size() + ")", () -> cq.awaitAny(wrIdsInOrder.size(), PATIENCE));
        walker.requireEqual(seen.stream().map(WorkCompletion::wrId).toList(), wrIdsInOrder, "wr_ids on " + cq);
        for (WorkCompletion completion : seen) {
            walker.requireEqual(completion.status(), status, "status of " + completion);
            walker.no(
                    "requireSuccess(" + status + ")",
                    completion::requireSuccess,
                    io.rdmatest.verbs.WorkCompletionException.class);
        }
    }

    // ---- the end ----

    /** Closes all in an order that chance takes, as far as the rules leave it one. */
    void close() {
        walker.done("list.close()", sends::close);
        walker.done("list.close()", receives::close);
        walker.no("post(closed list) on " + a, () -> a.post(sends), IllegalStateException.class);
        List<MemoryRegion> memories = walker.chance(2) ? List.of(mrA, mrB) : List.of(mrB, mrA);
        boolean memoryFirst = walker.chance(2);
        if (memoryFirst) {
            memories.forEach(walker::close);
            walker.no(
                    "bytes().get(closed " + mrA + ")",
                    () -> mrA.bytes().get(ValueLayout.JAVA_BYTE, 0),
                    IllegalStateException.class);
            walker.no("postSend(closed memory)", () -> a.postSend(1, mrA, 0, 8), IllegalStateException.class);
        }
        List<QueuePair> pairs = walker.chance(2) ? List.of(a, b) : List.of(b, a);
        pairs.forEach(walker::close);
        walker.no("state(closed " + a + ")", a::state, IllegalStateException.class);
        walker.no("postReceive(closed " + b + ")", () -> b.postReceive(1, mrB, 0, 8), IllegalStateException.class);
        walker.close(cqA);
        walker.close(cqB);
        Completions into = cqA.newCompletions(1);
        walker.no("poll(closed " + cqA + ")", () -> cqA.poll(into), IllegalStateException.class);
        if (!memoryFirst) {
            memories.forEach(walker::close);
        }
        walker.done("close(closed " + a + ")", a::close);
    }
}
