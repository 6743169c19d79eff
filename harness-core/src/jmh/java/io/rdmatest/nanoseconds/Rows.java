package io.rdmatest.nanoseconds;

import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** One pair of benchmarks for each row of the table: NAME is the harness, NAMEInC the loop in C. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class Rows {

    private static final int TIMES = 1000;
    /** Once: flags that are listed in a call make an array each time. */
    private static final SendFlag[] FLAGS = {SendFlag.SIGNALED};

    private static final int CREATED = 100;
    private static final int LIST = 32;
    private static final int DEPTH = 64;
    private static final int LENGTH = 64;
    private static final Duration SOON = Duration.ofSeconds(10);
    /** IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED and IBV_SEND_INLINE. */
    private static final int SEND = 2;

    private static final int WRITE = 0;
    private static final int SIGNALED = 2;
    private static final int INLINE = 8;

    private static MethodHandle function(String library, String name, FunctionDescriptor descriptor) {
        return Linker.nativeLinker()
                .downcallHandle(
                        SymbolLookup.libraryLookup(library, Arena.global()).findOrThrow(name), descriptor);
    }

    private static void openSinks() throws Throwable {
        MethodHandle set = function(
                "libibverbs.so.1",
                "loopback_set",
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG));
        try (Arena arena = Arena.ofConfined()) {
            check((int) set.invokeExact(arena.allocateFrom("sink"), 1L), 0);
        }
    }

    private static void check(long result, long expected) {
        if (result != expected) {
            throw new IllegalStateException(result + " instead of " + expected);
        }
    }

    /** The harness: one connected queue pair, and prepared lists. */
    @State(Scope.Thread)
    public static class Ours {
        DeviceContext context;
        ProtectionDomain pd;
        CompletionChannel channel;
        CompletionQueue cq;
        QueuePair peer;
        QueuePair qp;
        MemoryRegion mr;
        SendRequests send;
        SendRequests inline;
        SendRequests write;
        SendRequests list;
        SendRequests signaled;
        Completions one;
        Completions many;

        /** Opens the device and connects. */
        @Setup(Level.Trial)
        public void open() throws Throwable {
            openSinks();
            context = RdmaDevice.byName("standin0").open();
            pd = context.allocateProtectionDomain();
            channel = context.createCompletionChannel();
            cq = context.createCompletionQueue(DEPTH, channel);
            qp = pd.createQueuePair(attributes());
            peer = pd.createQueuePair(attributes());
            RawConnection.connect(qp, peer, context.gidTable(1).getFirst(), RawConnection.Parameters.DEFAULT);
            mr = pd.registerMemory(4096, Access.LOCAL_WRITE, Access.REMOTE_WRITE);
            send = SendRequests.allocate(1).send(0, 0, mr, 0, LENGTH, SendFlag.SIGNALED);
            inline = SendRequests.allocate(1).send(0, 0, mr, 0, LENGTH, SendFlag.SIGNALED, SendFlag.INLINE);
            write = SendRequests.allocate(1).write(0, 0, mr, 0, LENGTH, mr.address(), mr.rkey(), SendFlag.SIGNALED);
            list = SendRequests.allocate(LIST);
            signaled = SendRequests.allocate(LIST);
            for (int i = 0; i < LIST; i++) {
                list.send(i, i, mr, 0, LENGTH);
                signaled.send(i, i, mr, 0, LENGTH, SendFlag.SIGNALED);
            }
            list.signaled(LIST - 1, true);
            one = cq.newCompletions(1);
            many = cq.newCompletions(LIST);
        }

        QueuePairAttributes attributes() {
            return QueuePairAttributes.builder(QpType.RC)
                    .completionQueue(cq)
                    .maxSendWr(DEPTH)
                    .maxReceiveWr(DEPTH)
                    .maxInline(LENGTH)
                    .build();
        }

        /** Closes everything. */
        @TearDown(Level.Trial)
        public void close() {
            for (AutoCloseable each : List.<AutoCloseable>of(
                    send, inline, write, list, signaled, qp, peer, mr, cq, channel, pd, context)) {
                try {
                    each.close();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }
        }

        final long turns(SendRequests requests) {
            long succeeded = 0;
            for (int i = 0; i < TIMES; i++) {
                requests.wrId(0, i);
                qp.post(requests);
                while (cq.poll(one) == 0) {
                    Thread.onSpinWait();
                }
                succeeded += one.isSuccess(0) && one.wrId(0) == i ? 1 : 0;
            }
            return succeeded;
        }

        final long lists(SendRequests requests, int completions) {
            long succeeded = 0;
            for (int i = 0; i < TIMES; i++) {
                qp.post(requests);
                for (int open = completions; open > 0; ) {
                    int polled = cq.poll(many);
                    for (int j = 0; j < polled; j++) {
                        succeeded += many.isSuccess(j) ? 1 : 0;
                    }
                    open -= polled;
                }
            }
            return succeeded;
        }
    }

    /** The loop in C. */
    @State(Scope.Thread)
    public static class InC {
        static final FunctionDescriptor OPEN =
                FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT);
        static final FunctionDescriptor LOOP =
                FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.ADDRESS, ValueLayout.JAVA_LONG);
        static final FunctionDescriptor LISTS = LOOP.appendArgumentLayouts(ValueLayout.JAVA_INT);

        MemorySegment send;
        MemorySegment inline;
        MemorySegment write;

        /** Opens the device and connects. */
        @Setup(Level.Trial)
        public void open() throws Throwable {
            openSinks();
            MethodHandle open = function("libloop.so", "loop_open", OPEN);
            send = (MemorySegment) open.invokeExact(SEND, SIGNALED);
            inline = (MemorySegment) open.invokeExact(SEND, SIGNALED | INLINE);
            write = (MemorySegment) open.invokeExact(WRITE, SIGNALED);
            if (send.address() == 0 || inline.address() == 0 || write.address() == 0) {
                throw new IllegalStateException("the loop in C can't open the device");
            }
        }

        final MethodHandle single = function("libloop.so", "loop_single", LOOP);
        final MethodHandle filled = function("libloop.so", "loop_filled", LOOP);
        final MethodHandle list = function("libloop.so", "loop_list", LISTS);
        final MethodHandle events = function("libloop.so", "loop_events", LOOP);
        final MethodHandle queuePairs = function("libloop.so", "loop_queue_pairs", LOOP);
        final MethodHandle regions = function("libloop.so", "loop_regions", LOOP);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void send(Ours ours) {
        check(ours.turns(ours.send), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void sendInC(InC c) throws Throwable {
        check((long) c.single.invokeExact(c.send, (long) TIMES), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void operands(Ours ours) {
        long succeeded = 0;
        for (int i = 0; i < TIMES; i++) {
            ours.qp.postSend(i, ours.mr, i & 63, LENGTH, FLAGS);
            while (ours.cq.poll(ours.one) == 0) {
                Thread.onSpinWait();
            }
            succeeded += ours.one.isSuccess(0) && ours.one.wrId(0) == i ? 1 : 0;
        }
        check(succeeded, TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void operandsInC(InC c) throws Throwable {
        check((long) c.filled.invokeExact(c.send, (long) TIMES), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES * LIST)
    public void list(Ours ours) {
        check(ours.lists(ours.list, 1), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES * LIST)
    public void listInC(InC c) throws Throwable {
        check((long) c.list.invokeExact(c.send, (long) TIMES, 0), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES * LIST)
    public void listSignaled(Ours ours) {
        check(ours.lists(ours.signaled, LIST), (long) TIMES * LIST);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES * LIST)
    public void listSignaledInC(InC c) throws Throwable {
        check((long) c.list.invokeExact(c.send, (long) TIMES, 1), (long) TIMES * LIST);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void inline(Ours ours) {
        check(ours.turns(ours.inline), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void inlineInC(InC c) throws Throwable {
        check((long) c.single.invokeExact(c.inline, (long) TIMES), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void write(Ours ours) {
        check(ours.turns(ours.write), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void writeInC(InC c) throws Throwable {
        check((long) c.single.invokeExact(c.write, (long) TIMES), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void events(Ours ours) {
        long succeeded = 0;
        for (int i = 0; i < TIMES; i++) {
            ours.cq.requestNotify(false);
            ours.qp.post(ours.send);
            CompletionQueue cq = ours.channel.awaitEvent(SOON);
            while (cq.poll(ours.one) == 0) {
                Thread.onSpinWait();
            }
            succeeded += ours.one.isSuccess(0) ? 1 : 0;
        }
        check(succeeded, TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void eventsInC(InC c) throws Throwable {
        check((long) c.events.invokeExact(c.send, (long) TIMES), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void awaitSuccess(Ours ours) {
        long succeeded = 0;
        for (int i = 0; i < TIMES; i++) {
            ours.send.wrId(0, i);
            ours.qp.post(ours.send);
            succeeded += ours.cq.awaitSuccess(SOON).wrId() == i ? 1 : 0;
        }
        check(succeeded, TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void awaitInPlace(Ours ours) {
        long succeeded = 0;
        for (int i = 0; i < TIMES; i++) {
            ours.send.wrId(0, i);
            ours.qp.post(ours.send);
            ours.cq.awaitSuccess(ours.one, SOON);
            succeeded += ours.one.wrId(0) == i ? 1 : 0;
        }
        check(succeeded, TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void awaitInPlaceInC(InC c) throws Throwable {
        check((long) c.single.invokeExact(c.send, (long) TIMES), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(TIMES)
    public void awaitSuccessInC(InC c) throws Throwable {
        check((long) c.single.invokeExact(c.send, (long) TIMES), TIMES);
    }

    @Benchmark
    @OperationsPerInvocation(CREATED)
    public void queuePairs(Ours ours) {
        List<QueuePair> made = new ArrayList<>(CREATED);
        for (int i = 0; i < CREATED; i++) {
            made.add(ours.pd.createQueuePair(ours.attributes()));
        }
        made.forEach(QueuePair::close);
    }

    @Benchmark
    @OperationsPerInvocation(CREATED)
    public void queuePairsInC(InC c) throws Throwable {
        check((long) c.queuePairs.invokeExact(c.send, (long) CREATED), CREATED);
    }

    @Benchmark
    @OperationsPerInvocation(CREATED)
    public void regions(Ours ours) {
        List<MemoryRegion> made = new ArrayList<>(CREATED);
        for (int i = 0; i < CREATED; i++) {
            made.add(ours.pd.registerMemory(4096, Access.LOCAL_WRITE));
        }
        made.forEach(MemoryRegion::close);
    }

    @Benchmark
    @OperationsPerInvocation(CREATED)
    public void regionsInC(InC c) throws Throwable {
        check((long) c.regions.invokeExact(c.send, (long) CREATED), CREATED);
    }
}
