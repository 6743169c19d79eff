package io.rdmatest.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class BiasedLockTests {

    private final BiasedLock lock = new BiasedLock();
    private int counter;

    @Test
    void isReentrantForTheFirstThreadAndForOthers() throws InterruptedException {
        twice();
        Thread other = Thread.ofPlatform().start(this::twice);
        other.join(TimeUnit.SECONDS.toMillis(20));
        twice();
        assertThat(counter).isEqualTo(3);
    }

    private void twice() {
        lock.lock();
        lock.lock();
        counter++;
        lock.unlock();
        lock.unlock();
    }

    @Test
    void anotherThreadWaitsForTheFirst() throws InterruptedException {
        lock.lock();
        CountDownLatch came = new CountDownLatch(1);
        List<Integer> seen = new ArrayList<>();
        Thread other = Thread.ofPlatform().start(() -> {
            came.countDown();
            lock.lock();
            seen.add(counter);
            lock.unlock();
        });
        assertThat(came.await(20, TimeUnit.SECONDS)).isTrue();
        // Still the first one's, also when it takes the lock again while the other waits.
        for (int i = 0; i < 1000; i++) {
            lock.lock();
            counter++;
            lock.unlock();
            Thread.onSpinWait();
        }
        assertThat(other.isAlive()).isTrue();
        lock.unlock();
        other.join(TimeUnit.SECONDS.toMillis(20));
        assertThat(seen).containsExactly(1000);
    }

    @Test
    void oneThreadAtATimeHasIt() throws InterruptedException {
        for (int round = 0; round < 200; round++) {
            BiasedLock of = new BiasedLock();
            int[] count = {0};
            CountDownLatch start = new CountDownLatch(1);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                threads.add(Thread.ofPlatform().start(() -> {
                    try {
                        assertThat(start.await(20, TimeUnit.SECONDS)).isTrue();
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                    for (int turn = 0; turn < 2000; turn++) {
                        of.lock();
                        count[0]++;
                        of.unlock();
                    }
                }));
            }
            start.countDown();
            for (Thread thread : threads) {
                thread.join(TimeUnit.SECONDS.toMillis(20));
            }
            assertThat(count[0]).isEqualTo(6000);
        }
    }
}
