package io.rdmatest.verbs;

import io.rdmatest.DeviceUnderTest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;

/** The port under test and what is built on it; closes all of it in reverse order. */
final class Rig implements AutoCloseable {

    static final Duration SOON = Duration.ofSeconds(20);
    static final int SIZE = 64 * 1024;

    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    final DeviceContext context;
    final int port = DeviceUnderTest.port();
    final ProtectionDomain pd;

    Rig() {
        context = add(DeviceUnderTest.device().open());
        pd = add(context.allocateProtectionDomain());
    }

    <T extends AutoCloseable> T add(T resource) {
        opened.push(resource);
        return resource;
    }

    CompletionQueue cq() {
        return add(context.createCompletionQueue(64));
    }

    MemoryRegion memory() {
        return add(pd.registerMemory(SIZE, context.allAccess()));
    }

    GidEntry gid(boolean ipv4) {
        return DeviceUnderTest.gid(context, ipv4);
    }

    QueuePair qp(CompletionQueue cq, Consumer<QueuePairAttributes.Builder> more) {
        QueuePairAttributes.Builder builder = QueuePairAttributes.builder(QpType.RC)
                .completionQueue(cq)
                .maxSendWr(32)
                .maxReceiveWr(32)
                .maxSendSge(2)
                .maxReceiveSge(2)
                .maxInline(64);
        more.accept(builder);
        return add(pd.createQueuePair(builder.build()));
    }

    Pair pair() {
        return pair(gid(true), RawConnection.Parameters.DEFAULT, builder -> {});
    }

    Pair pair(GidEntry gid, RawConnection.Parameters parameters, Consumer<QueuePairAttributes.Builder> more) {
        CompletionQueue cqA = cq();
        CompletionQueue cqB = cq();
        Pair pair = new Pair(qp(cqA, more), qp(cqB, more), cqA, cqB, memory(), memory());
        RawConnection.connect(pair.a, pair.b, port, gid.index(), parameters);
        return pair;
    }

    /** Two connected queue pairs; a is the one that acts. */
    record Pair(
            QueuePair a, QueuePair b, CompletionQueue cqA, CompletionQueue cqB, MemoryRegion mrA, MemoryRegion mrB) {}

    /** Fills memory with a pattern that depends on the position, so that a shift shows. */
    static void pattern(MemoryRegion region, int seed) {
        MemorySegment bytes = region.bytes();
        for (long i = 0; i < bytes.byteSize(); i++) {
            bytes.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31 + (i >> 8) + seed));
        }
    }

    static byte[] slice(MemoryRegion region, long offset, int length) {
        return region.bytes().asSlice(offset, length).toArray(ValueLayout.JAVA_BYTE);
    }

    @Override
    public void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
