package io.rdmatest.scenarios.pairs;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;

/** Does the same for many nodes, for a limited number of them at once. */
public final class AtOnce {

    /**
     * The action for one item.
     *
     * @param <T> the type of an item
     */
    @FunctionalInterface
    public interface Action<T> {

        /**
         * Acts.
         *
         * @param item for which
         * @throws Exception as the action sees fit
         */
        void act(T item) throws Exception;
    }

    private AtOnce() {}

    /**
     * Runs an action for each item. When all are done, runs a second action for those that failed.
     *
     * @param items the items, each once
     * @param most how many at once, at least 1
     * @param first the action
     * @param second the action for those that failed
     * @param <T> the type of an item
     * @return the items that failed twice with their last failures, in their order
     * @throws InterruptedException if the caller is to end; actions under way were interrupted, and have ended
     */
    public static <T> Map<T, Throwable> withOneRetry(Collection<T> items, int most, Action<T> first, Action<T> second)
            throws InterruptedException {
        return each(each(items, most, first).keySet(), most, second);
    }

    /**
     * Runs an action for each item.
     *
     * @param items the items, each once
     * @param most how many at once, at least 1
     * @param action the action; called by several threads
     * @param <T> the type of an item
     * @return the items that failed with their failures, in their order
     * @throws InterruptedException if the caller is to end; actions under way were interrupted, and have ended
     */
    public static <T> Map<T, Throwable> each(Collection<T> items, int most, Action<T> action)
            throws InterruptedException {
        Semaphore free = new Semaphore(most);
        Map<T, Throwable> failures = new ConcurrentHashMap<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            try {
                List<? extends Future<?>> running = items.stream()
                        .map(item -> threads.submit(() -> {
                            try {
                                free.acquire();
                                try {
                                    action.act(item);
                                } finally {
                                    free.release();
                                }
                            } catch (Throwable e) {
                                failures.put(item, e);
                            }
                        }))
                        .toList();
                for (Future<?> each : running) {
                    each.get();
                }
            } catch (InterruptedException e) {
                threads.shutdownNow();
                throw e;
            } catch (ExecutionException e) {
                throw new IllegalStateException(e);
            }
        }
        Map<T, Throwable> ordered = new LinkedHashMap<>();
        items.stream().filter(failures::containsKey).forEach(item -> ordered.put(item, failures.get(item)));
        return ordered;
    }
}
