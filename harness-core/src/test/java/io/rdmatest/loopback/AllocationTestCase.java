package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** No message costs a byte of the heap. Times are for the benchmark, and for people. */
@ExtendWith(UsualStandin.class)
class AllocationTestCase {

    private static final int WARM = 20_000;
    private static final int COUNTED = 1000;
    private static final SendFlag[] SIGNALED = {SendFlag.SIGNALED};

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    @Test
    void preparedListsInlineAndWritesAllocateNothing() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.Pair pair = standin.pair();
            SendRequests list = standin.add(SendRequests.allocate(8));
            ReceiveRequests receives = standin.add(ReceiveRequests.allocate(4));
            for (int i = 0; i < 4; i++) {
                receives.receive(i, i, pair.mrB(), i * 64L, 64);
                list.send(i, i, pair.mrA(), i * 64L, 64, SendFlag.SIGNALED);
                list.write(
                        4 + i,
                        4 + i,
                        pair.mrA(),
                        0,
                        64,
                        pair.mrB().address(),
                        pair.mrB().rkey(),
                        SIGNALED);
            }
            list.flags(1, SendFlag.SIGNALED, SendFlag.INLINE);
            Completions sent = pair.cqA().newCompletions(8);
            Completions received = pair.cqB().newCompletions(4);
            allocatesNothing(() -> {
                pair.b().post(receives);
                list.wrId(0, 17);
                pair.a().post(list);
                require(pair.cqA().poll(sent), 8);
                require(pair.cqB().poll(received), 4);
                for (int i = 0; i < 8; i++) {
                    require(sent.statusCode(i), 0);
                }
                require((int) sent.wrId(0), 17);
            });
            assertThat(pair.a().work().sends()).isZero();
            assertThat(pair.b().work().receives()).isZero();
        }
    }

    @Test
    void requestsOneByOneAllocateNothing() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.Pair pair = standin.pair();
            Completions one = pair.cqA().newCompletions(1);
            allocatesNothing(() -> {
                pair.b().postReceive(1, pair.mrB(), 0, 64);
                pair.a().postSend(2, pair.mrA(), 0, 64, SIGNALED);
                require(pair.cqA().poll(one), 1);
                require(pair.cqB().poll(one), 1);
            });
        }
    }

    @Test
    void waitsAllocateNothing() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionChannel channel = standin.add(standin.context.createCompletionChannel());
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(16, channel));
            Standin.Pair pair = standin.pair(standin.cq(), cq);
            Completions into = cq.newCompletions(4);
            allocatesNothing(() -> {
                cq.requestNotify(false);
                pair.b().postReceive(1, pair.mrB(), 0, 64);
                pair.a().postSend(2, pair.mrA(), 0, 64, SIGNALED);
                require(channel.awaitEvent(Standin.SOON) == cq ? 1 : 0, 1);
                require(cq.awaitSuccess(into, Standin.SOON), 1);
                require(pair.cqA().awaitSuccess(into, Standin.SOON), 1);
            });
        }
    }

    private static void require(int value, int expected) {
        if (value != expected) {
            throw new AssertionError(value + " instead of " + expected);
        }
    }

    private void allocatesNothing(Runnable message) {
        for (int i = 0; i < WARM; i++) {
            message.run();
        }
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < COUNTED; i++) {
            message.run();
        }
        long after = threads.getCurrentThreadAllocatedBytes();
        assertThat(after - before).as("bytes for %d messages", COUNTED).isZero();
    }
}
