package io.rdmatest.scenarios.bench;

import io.rdmatest.scenarios.ucmatose.UcmatoseRoles;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.SendFlag;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** What grows: connections, queue pairs that share a completion queue, sizes of messages, and tests of one run. */
public final class GrowthRows {

    private static final long KIB = 1 << 10;
    private static final long MIB = 1 << 20;

    /** Requests that are under way at once, and completions that are taken at once. */
    private static final int UNDER_WAY = 64;

    /** An array of its own for each request would be counted as what a request costs. */
    private static final SendFlag[] SIGNALED = {SendFlag.SIGNALED};

    private static final int MESSAGES = 4096;
    private static final int SMALL = 64;

    /** KiB of a run, whatever the size of the messages; but no more than {@link #MOST_REPETITIONS} messages. */
    private static final int DATA_KIB = 16 << 10;

    private static final long MOST_REPETITIONS = 500;
    private static final Duration SPIN = Duration.ofSeconds(60);

    private GrowthRows() {}

    /** Returns all rows, in the order in which they are measured. */
    public static List<GrowthRow> all() {
        return List.of(
                new GrowthRow(
                        "growth-connections",
                        "connections of one client, connected and disconnected",
                        "connection",
                        List.of(1L, 4L, 16L, 64L, 256L, 1024L, 4096L),
                        16,
                        GrowthRows::connections),
                new GrowthRow(
                        "growth-qps",
                        "queue pairs that share a completion queue, RDMA WRITE of 64 B by each in turn",
                        "message",
                        List.of(1L, 4L, 16L, 64L, 256L, 1024L),
                        1,
                        onOneProcessor(GrowthRows::queuePairs)),
                new GrowthRow(
                        "growth-size",
                        "bytes of a message, RDMA WRITE, in parts where the port's longest is shorter",
                        "KiB",
                        List.of(1L, 64L, 4 * KIB, 64 * KIB, MIB, 8 * MIB, 64 * MIB),
                        64 * KIB,
                        onOneProcessor(GrowthRows::sizes)),
                new GrowthRow(
                        "growth-tests",
                        "tests of one run, each with a queue pair of its own",
                        "test",
                        List.of(1L, 10L, 100L, 1000L, 10_000L),
                        10,
                        (context, work) -> ManyTests.run(work, context.cancelled())));
    }

    /**
     * Returns work of one thread that is done on the processor of clients, set-up included. On another one it would find nothing
     * of its queue pairs near by, which is the dearer the more there are.
     */
    private static GrowthRow.WorkSource onOneProcessor(GrowthRow.WorkSource source) {
        return (context, work) -> {
            try (Processors.Binding ignored =
                    new Processors.Binding(context.processors().client())) {
                return source.run(context, work);
            }
        };
    }

    private static Effort connections(BenchContext context, long count) {
        return Effort.of(count, () -> {
            UcmatoseRoles.Result result = ConnectionContest.connect(context, (int) count);
            if (result.times().size() != count) {
                throw new AssertionError(
                        "%d of %d connections came up".formatted(result.times().size(), count));
            }
            return ConnectionContest.nanos(result);
        });
    }

    private static Effort queuePairs(BenchContext context, long count) {
        try (Writers writers = new Writers(context, (int) count, SMALL)) {
            long messages = Math.max(count, context.scaled(MESSAGES) / count * count);
            return Effort.of(messages, () -> writers.write(messages, SMALL));
        }
    }

    private static Effort sizes(BenchContext context, long size) {
        try (Writers writers = new Writers(context, 1, (int) size)) {
            long repetitions = Math.clamp(context.scaled(DATA_KIB) * KIB / size, 1, MOST_REPETITIONS);
            return Effort.of(repetitions * size / (double) KIB, () -> writers.write(repetitions, (int) size));
        }
    }

    /** Queue pairs of which all completions come to one queue, each with a partner that it writes to. */
    private static final class Writers implements AutoCloseable {

        private final Resources resources = new Resources();
        private final List<QueuePair> writers = new ArrayList<>();
        private final CompletionQueue queue;
        private final MemoryRegion source;
        private final MemoryRegion target;
        private final long longest;

        Writers(BenchContext context, int count, int size) {
            try {
                DeviceContext device = resources.own(context.device().open());
                longest = device.port(context.device().port()).maxMessageSize();
                ProtectionDomain domain = resources.own(device.allocateProtectionDomain());
                queue = resources.own(device.createCompletionQueue(UNDER_WAY));
                CompletionQueue partners = resources.own(device.createCompletionQueue(1));
                source = resources.own(domain.registerMemory(size, Access.LOCAL_WRITE));
                target = resources.own(domain.registerMemory(size, Access.LOCAL_WRITE, Access.REMOTE_WRITE));
                QueuePairAttributes.Builder attributes = QueuePairAttributes.builder(QpType.RC)
                        .maxSendWr(UNDER_WAY)
                        .maxReceiveWr(1);
                for (int i = 0; i < count; i++) {
                    QueuePair writer = resources.own(domain.createQueuePair(
                            attributes.completionQueue(queue).build()));
                    QueuePair partner = resources.own(domain.createQueuePair(
                            attributes.completionQueue(partners).build()));
                    RawConnection.connect(writer, partner, context.device().gid(), RawConnection.Parameters.DEFAULT);
                    writers.add(writer);
                }
            } catch (RuntimeException | Error e) {
                resources.closeAfter(e);
                throw e;
            }
        }

        /** Writes messages, the writers in turn, and returns the nanoseconds; what arrived is compared afterwards. */
        long write(long messages, int size) {
            byte mark = (byte) (target.bytes().get(ValueLayout.JAVA_BYTE, 0) + 1);
            source.fill(mark);
            Completions completions = queue.newCompletions(UNDER_WAY);
            int parts = (int) ((size + longest - 1) / longest);
            long all = messages * parts;
            long posted = 0;
            long done = 0;
            long begin = System.nanoTime();
            while (done < all) {
                while (posted < all && posted - done < UNDER_WAY) {
                    long from = posted % parts * longest;
                    writers.get((int) (posted / parts % writers.size()))
                            .postWrite(
                                    posted,
                                    source,
                                    from,
                                    (int) Math.min(longest, size - from),
                                    target.address() + from,
                                    target.rkey(),
                                    SIGNALED);
                    posted++;
                }
                int came = queue.poll(completions);
                Duel.require(completions, came);
                done += came;
                if (came == 0) {
                    if (System.nanoTime() - begin > SPIN.toNanos()) {
                        throw new NotMeasuredException(
                                "%d of %d requests completed within %d s".formatted(done, all, SPIN.toSeconds()));
                    }
                    // Where the device is software, the processor that spins is the one it needs.
                    Thread.yield();
                }
            }
            long nanos = System.nanoTime() - begin;
            if (target.bytes().mismatch(source.bytes()) != -1) {
                throw new AssertionError("What was written is not what arrived");
            }
            return nanos;
        }

        @Override
        public void close() {
            resources.close();
        }
    }
}
