package io.rdmatest.bench;

import io.rdmatest.bench.QueuePairs.End;
import io.rdmatest.scenarios.cprogram.PerftestOutput;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendRequests;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * As many messages at once as the send queue takes, in one direction, as ib_send_bw, ib_write_bw and ib_read_bw do. The time is
 * from the first post to the last completion at the sender.
 *
 * <p>Requests are posted in lists, one downcall for each; a list never waits for more room than it needs.
 */
final class BandwidthRun {

    /** Completions that one poll takes. */
    private static final int BATCH = 16;

    private final QueuePairs pairs;
    private final Operation operation;
    private final PerftestOutput.Parameters parameters;
    private final int list;
    private final Duel duel;
    private long nanos;
    private long received;
    private long receivedBytes;

    /**
     * Prepares a run.
     *
     * @param pairs both ends
     * @param operation what is posted
     * @param list how many requests are posted with one downcall, at least 1
     * @param context how long it may take, and on which processors
     */
    BandwidthRun(QueuePairs pairs, Operation operation, int list, BenchContext context) {
        this.pairs = pairs;
        this.operation = operation;
        this.parameters = pairs.parameters();
        this.list = Math.min(list, parameters.txDepth());
        this.duel = new Duel(context);
    }

    /**
     * Runs.
     *
     * @param messages whether the value is messages per second, else MiB per second
     * @return the rate, with what was moved
     * @throws AssertionError if the data that arrived is not what was sent, or not all of it came
     */
    Sample run(boolean messages) throws InterruptedException {
        int size = parameters.sizeBytes();
        pairs.client().fill(size, End.OF_CLIENT);
        pairs.server().fill(size, End.OF_SERVER);
        int capacity = ringCapacity();
        try (SendRequests ring = Sends.prepare(operation, capacity, pairs.client(), pairs.server(), parameters)) {
            for (int i = 0; i < capacity; i++) {
                ring.signaled(i, isSignaled(i));
            }
            if (operation == Operation.SEND) {
                try (ReceiveRequests receives = Sends.postReceives(pairs.server(), parameters)) {
                    duel.run(() -> receive(pairs.server(), receives), () -> send(pairs.client(), ring));
                }
            } else {
                duel.run(() -> {}, () -> send(pairs.client(), ring));
            }
        }
        if (operation == Operation.READ) {
            pairs.client().requireData(size, End.OF_SERVER);
        } else {
            pairs.server().requireData(size, End.OF_CLIENT);
        }
        long expected = (long) size * parameters.iterations();
        if (operation == Operation.SEND && receivedBytes != expected) {
            throw new AssertionError("%d bytes received, %d expected".formatted(receivedBytes, expected));
        }
        double seconds = nanos / 1e9;
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("messagesCompleted", (long) parameters.iterations());
        details.put("messagesReceived", received);
        details.put("bytesMoved", expected);
        details.put("seconds", seconds);
        return new Sample(messages ? parameters.iterations() / seconds : expected / seconds / (1 << 20), details);
    }

    /** A list must not reach over the end of the ring more often than necessary, and the ring repeats the moderation. */
    private int ringCapacity() {
        int moderation = parameters.cqModeration();
        return moderation * Math.ceilDiv(Math.max(list, parameters.txDepth()), moderation);
    }

    private boolean isSignaled(int index) {
        return (index + 1) % parameters.cqModeration() == 0;
    }

    private void send(End end, SendRequests ring) {
        QueuePair queuePair = end.queuePair();
        Completions batch = end.sends().newCompletions(BATCH);
        int count = parameters.iterations();
        int depth = parameters.txDepth();
        int moderation = parameters.cqModeration();
        int capacity = ring.capacity();
        int posted = 0;
        int completed = 0;
        int polls = 0;
        long start = System.nanoTime();
        while (completed < count) {
            int left = count - posted;
            int wanted = Math.min(Math.min(list, left), capacity - posted % capacity);
            boolean room = wanted > 0 && depth - (posted - completed) >= wanted;
            if (room) {
                int at = posted % capacity;
                if (wanted == left) {
                    // Nothing else would tell that the last message is done.
                    ring.signaled(at + wanted - 1, true);
                }
                queuePair.post(ring, at, wanted);
                posted += wanted;
            }
            int came = end.sends().poll(batch);
            if (came > 0) {
                Duel.require(batch, came);
                completed = Math.min(count, completed + came * moderation);
            } else if (!room) {
                duel.look(++polls, "the completion of a list of sends");
            }
        }
        nanos = System.nanoTime() - start;
    }

    private void receive(End end, ReceiveRequests receives) {
        QueuePair queuePair = end.queuePair();
        Completions batch = end.receives().newCompletions(BATCH);
        int count = parameters.iterations();
        int posted = receives.capacity();
        int consumed = 0;
        int least = Math.min(BATCH, receives.capacity());
        long bytes = 0;
        int total = 0;
        while (total < count) {
            int came = duel.await(end.receives(), batch, "a SEND");
            for (int i = 0; i < came; i++) {
                bytes += batch.byteLength(i);
            }
            total += came;
            consumed += came;
            if (consumed >= least) {
                int again = Math.min(consumed, count - posted);
                if (again > 0) {
                    queuePair.post(receives, 0, Math.min(again, receives.capacity()));
                    posted += Math.min(again, receives.capacity());
                }
                consumed = 0;
            }
        }
        received = total;
        receivedBytes = bytes;
    }
}
