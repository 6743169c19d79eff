package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.rdmatest.WholeLedger;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A completion queue knows whose completions it delivers, however many queue pairs came and went. */
@Timeout(300)
@WholeLedger
class SharedCompletionQueueIT {

    private static final int FEW = 64;
    private static final int MANY = 1024;

    @Test
    void eachCompletionIsCountedForItsQueuePair() throws Exception {
        Random random = new Random(7);
        try (Rig rig = new Rig()) {
            CompletionQueue queue = rig.cq();
            CompletionQueue partners = rig.cq();
            MemoryRegion memory = rig.memory();
            int gid = rig.gid(true).index();
            List<QueuePair> writers = new ArrayList<>();
            List<QueuePair> others = new ArrayList<>();
            for (int round = 0; round < 6; round++) {
                while (writers.size() < FEW) {
                    QueuePair writer = rig.qp(queue, builder -> {});
                    QueuePair other = rig.qp(partners, builder -> {});
                    RawConnection.connect(writer, other, rig.port, gid, RawConnection.Parameters.DEFAULT);
                    writers.add(writer);
                    others.add(other);
                }
                for (QueuePair writer : writers) {
                    writer.postWrite(1, memory, 0, 8, memory.address() + 8, memory.rkey(), SendFlag.SIGNALED);
                    assertThat(queue.awaitSuccess(Rig.SOON).qpNumber()).isEqualTo(writer.number());
                }
                for (QueuePair writer : writers) {
                    OutstandingWork work = writer.work();
                    assertThat(work.sendsCompleted())
                            .isEqualTo(work.sendsPosted())
                            .isPositive();
                }
                // All but one now and then, so that the queue forgets most of what it knew.
                int gone = round % 2 == 0 ? FEW - 1 : FEW / 3;
                for (int i = 0; i < gone; i++) {
                    int at = random.nextInt(writers.size());
                    writers.remove(at).close();
                    others.remove(at).close();
                }
            }
        }
    }

    @Test
    void aQueuePairMoreCostsTheSameHoweverManyThereAre() throws Exception {
        try (Rig rig = new Rig()) {
            CompletionQueue queue = rig.cq();
            QueuePairAttributes attributes = QueuePairAttributes.builder(QpType.RC)
                    .completionQueue(queue)
                    .build();
            Deque<QueuePair> all = new ArrayDeque<>();
            try {
                // What is done for the first time allocates more.
                long ignored = allocated(rig, attributes, all, FEW);
                long first = allocated(rig, attributes, all, FEW);
                ignored = allocated(rig, attributes, all, MANY);
                List<Long> last = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    last.add(allocated(rig, attributes, all, FEW));
                }
                // One of them may have met a table that had to grow.
                assertThat(Collections.min(last)).isLessThan(first * 3 / 2);
            } finally {
                while (!all.isEmpty()) {
                    all.pop().close();
                }
            }
        }
    }

    private static long allocated(Rig rig, QueuePairAttributes attributes, Deque<QueuePair> all, int count) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < count; i++) {
            all.push(rig.pd.createQueuePair(attributes));
        }
        return threads.getCurrentThreadAllocatedBytes() - before;
    }
}
