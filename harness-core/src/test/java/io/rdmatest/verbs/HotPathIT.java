package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.rdmatest.WholeLedger;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
@WholeLedger
class HotPathIT {

    @Test
    void postingAndPollingAllocateNothing() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        try (Rig rig = new Rig();
                SendRequests sends = SendRequests.allocate(4);
                ReceiveRequests receives = ReceiveRequests.allocate(4)) {
            Rig.Pair pair = rig.pair();
            for (int i = 0; i < 4; i++) {
                sends.send(i, i, pair.mrA(), i * 8L, 8, i == 3 ? new SendFlag[] {SendFlag.SIGNALED} : new SendFlag[0]);
                receives.receive(i, i, pair.mrB(), i * 8L, 8);
            }
            Completions completions = pair.cqA().newCompletions(8);
            long sum = turns(pair, sends, receives, completions, 2000);
            long before = threads.getCurrentThreadAllocatedBytes();
            sum += turns(pair, sends, receives, completions, 500);
            long after = threads.getCurrentThreadAllocatedBytes();
            assertThat(sum).isEqualTo(2500L * (3 + 6));
            assertThat(after - before).isZero();
        }
    }

    private static long turns(
            Rig.Pair pair, SendRequests sends, ReceiveRequests receives, Completions completions, int count) {
        long sum = 0;
        long deadline = System.nanoTime() + Rig.SOON.toNanos();
        for (int turn = 0; turn < count; turn++) {
            pair.b().post(receives);
            sends.wrId(3, 3);
            sends.segment(3, 24, 8);
            pair.a().post(sends);
            for (int open = 5; open > 0; ) {
                open -= pair.cqA().poll(completions);
                for (int i = 0; i < completions.count(); i++) {
                    if (completions.isSuccess(i)) {
                        sum += completions.wrId(i);
                    }
                }
                open -= pair.cqB().poll(completions);
                for (int i = 0; i < completions.count(); i++) {
                    if (completions.isSuccess(i)) {
                        sum += completions.wrId(i);
                    }
                }
                if (System.nanoTime() - deadline > 0) {
                    throw new AssertionError("no completions in turn " + turn);
                }
            }
        }
        return sum;
    }
}
