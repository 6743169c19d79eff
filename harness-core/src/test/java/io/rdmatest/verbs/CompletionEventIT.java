package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.WholeLedger;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
@WholeLedger
class CompletionEventIT {

    @Test
    void anArmedQueueGivesOneEvent() throws Exception {
        try (Rig rig = new Rig()) {
            CompletionChannel channel = rig.add(rig.context.createCompletionChannel());
            CompletionQueue cq = rig.add(rig.context.createCompletionQueue(32, channel));
            Rig.Pair pair =
                    rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT, builder -> builder.receiveQueue(cq));
            assertThatThrownBy(() -> channel.awaitEvent(Duration.ofMillis(30)))
                    .isInstanceOf(RdmaTimeoutException.class)
                    .hasMessageContaining(channel.describe());
            cq.requestNotify(false);
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.a().postSend(2, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            assertThat(channel.awaitEvent(Rig.SOON)).isSameAs(cq);
            assertThat(cq.awaitSuccess(Rig.SOON).wrId()).isEqualTo(1);
            assertThat(channel.pollEvent()).isEmpty();
        }
    }

    @Test
    void solicitedOnlyPassesOverOthers() throws Exception {
        try (Rig rig = new Rig()) {
            CompletionChannel channel = rig.add(rig.context.createCompletionChannel());
            CompletionQueue cq = rig.add(rig.context.createCompletionQueue(32, channel));
            Rig.Pair pair =
                    rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT, builder -> builder.receiveQueue(cq));
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.b().postReceive(2, pair.mrB(), 0, 64);
            cq.requestNotify(true);
            pair.a().postSend(3, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            assertThat(cq.awaitSuccess(Rig.SOON).wrId()).isEqualTo(1);
            assertThat(channel.pollEvent()).isEmpty();
            pair.a().postSend(4, pair.mrA(), 0, 64, SendFlag.SIGNALED, SendFlag.SOLICITED);
            assertThat(channel.awaitEvent(Rig.SOON)).isSameAs(cq);
        }
    }

    @Test
    void completionsAreAwaitedThroughTheChannel() throws Exception {
        try (Rig rig = new Rig()) {
            CompletionChannel channel = rig.add(rig.context.createCompletionChannel());
            CompletionQueue cq = rig.add(rig.context.createCompletionQueue(32, channel));
            Rig.Pair pair =
                    rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT, builder -> builder.receiveQueue(cq));
            for (int i = 0; i < 20; i++) {
                pair.b().postReceive(i, pair.mrB(), 0, 64);
            }
            Thread sender = Thread.ofPlatform().start(() -> {
                for (int i = 0; i < 20; i++) {
                    pair.a().postSend(100 + i, pair.mrA(), 0, 64);
                }
            });
            assertThat(cq.awaitEvent(20, Rig.SOON)).hasSize(20).allMatch(WorkCompletion::isSuccess);
            sender.join();
            assertThatThrownBy(() -> cq.awaitEvent(1, Duration.ofMillis(60))).isInstanceOf(RdmaTimeoutException.class);
            assertThatThrownBy(() -> pair.cqA().awaitEvent(1, Rig.SOON)).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void aWaitForAnEventThatIsInterruptedEndsBeforeItsTime() throws Exception {
        try (Rig rig = new Rig()) {
            CompletionChannel channel = rig.add(rig.context.createCompletionChannel());
            CompletionQueue cq = rig.add(rig.context.createCompletionQueue(32, channel));
            AtomicReference<Throwable> end = new AtomicReference<>();
            Thread waiter = Thread.ofPlatform().start(() -> {
                try {
                    end.set(new AssertionError(cq.awaitEvent(1, Duration.ofSeconds(3)) + " came"));
                } catch (RuntimeException e) {
                    end.set(e);
                }
            });
            long deadline = System.nanoTime() + Rig.SOON.toNanos();
            while (Arrays.stream(waiter.getStackTrace())
                    .noneMatch(frame -> frame.getMethodName().equals("readEvent"))) {
                assertThat(System.nanoTime() - deadline).as("the thread waits").isNegative();
            }
            waiter.interrupt();
            waiter.join();
            assertThat(end.get()).isInstanceOf(RdmaException.class).hasMessageContaining("interrupted");
        }
    }

    @Test
    void eventsOfTwoQueuesReachWhoWaitsForThem() throws Exception {
        try (Rig rig = new Rig()) {
            CompletionChannel channel = rig.add(rig.context.createCompletionChannel());
            CompletionQueue one = rig.add(rig.context.createCompletionQueue(32, channel));
            CompletionQueue other = rig.add(rig.context.createCompletionQueue(32, channel));
            Rig.Pair pair = rig.pair(
                    rig.gid(true),
                    RawConnection.Parameters.DEFAULT,
                    builder -> builder.sendQueue(other).receiveQueue(one));
            one.requestNotify(false);
            other.requestNotify(false);
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.a().postSend(2, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            // Both have completed before the first event is read.
            assertThat(one.awaitSuccess(Rig.SOON).wrId()).isEqualTo(1);
            assertThat(other.awaitSuccess(Rig.SOON).wrId()).isEqualTo(2);

            assertThat(List.of(channel.awaitEvent(Rig.SOON), channel.awaitEvent(Rig.SOON)))
                    .containsExactlyInAnyOrder(one, other);
            assertThat(channel.pollEvent()).isEmpty();

            // Whoever waits for one of them reads the other's event, too, and leaves it to whoever takes it.
            pair.b().postReceive(3, pair.mrB(), 0, 64);
            other.requestNotify(false);
            pair.a().postSend(4, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            assertThat(one.awaitEvent(1, Rig.SOON)).hasSize(1);
            assertThatThrownBy(() -> one.awaitEvent(1, Duration.ofMillis(60))).isInstanceOf(RdmaTimeoutException.class);
            assertThat(channel.awaitEvent(Rig.SOON)).isSameAs(other);
        }
    }

    @Test
    void aQueueCanBeResized() throws Exception {
        try (Rig rig = new Rig()) {
            CompletionQueue cq = rig.add(rig.context.createCompletionQueue(16));
            int before = cq.entries();
            cq.resize(before * 2 + 1);
            assertThat(cq.entries()).isGreaterThan(before);
        }
    }

    @Test
    void everyCompletionVectorBringsEvents() throws Exception {
        try (Rig rig = new Rig()) {
            int vectors = rig.context.completionVectors();
            assertThat(vectors).isPositive();
            CompletionChannel channel = rig.add(rig.context.createCompletionChannel());
            for (int vector : List.of(0, vectors - 1)) {
                CompletionQueue cq = rig.add(rig.context.createCompletionQueue(
                        CompletionQueueAttributes.of(32).withChannel(channel).withVector(vector)));
                assertThat(cq.channel()).isSameAs(channel);
                Rig.Pair pair =
                        rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT, builder -> builder.receiveQueue(cq));
                cq.requestNotify(false);
                pair.b().postReceive(1, pair.mrB(), 0, 64);
                pair.a().postSend(2, pair.mrA(), 0, 64);
                assertThat(channel.awaitEvent(Rig.SOON)).isSameAs(cq);
            }
        }
    }

    @Test
    void aVectorThatTheDeviceLacksIsRefusedWithThoseThatItHas() throws Exception {
        try (Rig rig = new Rig()) {
            int vectors = rig.context.completionVectors();
            CompletionQueueAttributes beyond = CompletionQueueAttributes.of(32).withVector(vectors);
            assertThatThrownBy(() -> rig.context.createCompletionQueue(beyond))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("completion vector " + vectors)
                    .hasMessageContaining("use one of 0 to " + (vectors - 1));
        }
    }
}
