package io.rdmatest.scenarios.pairs;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class AtOnceTests {

    @Test
    void soManyStartAtOnceAndNoMore() throws Exception {
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        // Without eight at once nobody would get on.
        CyclicBarrier eight = new CyclicBarrier(8);

        Map<Integer, Throwable> failed =
                AtOnce.each(IntStream.range(0, 64).boxed().toList(), 8, item -> {
                    most.accumulateAndGet(running.incrementAndGet(), Math::max);
                    eight.await(1, TimeUnit.MINUTES);
                    running.decrementAndGet();
                });

        assertThat(failed).isEmpty();
        assertThat(most).hasValue(8);
    }

    @Test
    void whoFailsOnceGetsAnotherTryAndWhoFailsTwiceIsNamed() throws Exception {
        Map<String, AtomicInteger> tries = new ConcurrentHashMap<>();

        Map<String, Throwable> failed = AtOnce.withOneRetry(
                List.of("a", "b", "c"),
                2,
                node -> {
                    tries.computeIfAbsent(node, name -> new AtomicInteger()).incrementAndGet();
                    if (!node.equals("a")) {
                        throw new IllegalStateException(node + " is not reached");
                    }
                },
                node -> {
                    tries.get(node).incrementAndGet();
                    if (node.equals("c")) {
                        throw new OutOfMemoryError("unable to create native thread");
                    }
                });

        assertThat(failed).containsOnlyKeys("c");
        assertThat(failed.get("c")).hasMessage("unable to create native thread");
        assertThat(tries.get("a")).hasValue(1);
        assertThat(tries.get("b")).hasValue(2);
        assertThat(tries.get("c")).hasValue(2);
    }

    @Test
    void anInterruptEndsThemAll() throws Exception {
        CountDownLatch begun = new CountDownLatch(2);
        CountDownLatch ended = new CountDownLatch(2);
        AtomicInteger thrown = new AtomicInteger();
        Thread caller = Thread.ofPlatform().start(() -> {
            try {
                AtOnce.each(List.of(1, 2, 3), 2, item -> {
                    begun.countDown();
                    try {
                        new CountDownLatch(1).await();
                    } finally {
                        ended.countDown();
                    }
                });
            } catch (InterruptedException e) {
                thrown.incrementAndGet();
            }
        });
        assertThat(begun.await(1, TimeUnit.MINUTES)).isTrue();
        caller.interrupt();

        assertThat(caller.join(Duration.ofMinutes(1))).isTrue();
        assertThat(ended.getCount()).isZero();
        assertThat(thrown).hasValue(1);
    }
}
