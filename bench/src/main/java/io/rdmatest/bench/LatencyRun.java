package io.rdmatest.bench;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.rdmatest.bench.QueuePairs.End;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendRequests;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * One message at a time, back and forth, as ib_send_lat, ib_write_lat and ib_read_lat do. The time of a message is from its
 * post to the next one's, so that nothing that happens in between is left out; for SEND and WRITE it is half of that, the round
 * trip.
 */
final class LatencyRun {

    private static final VarHandle BYTE = JAVA_BYTE.varHandle();
    private static final long LONGEST = Duration.ofMinutes(10).toNanos();
    private static final int DIGITS = 3;

    /** Receives that are posted again with one downcall; the queue has many more. */
    private static final int REPOSTED = 16;

    private final QueuePairs pairs;
    private final Operation operation;
    private final int size;
    private final int count;
    private final Duel duel;
    private final long[] stamps;
    private long clientMessages;
    private long serverMessages;

    /**
     * Prepares a run.
     *
     * @param pairs both ends
     * @param operation what is posted
     * @param context how long it may take, and on which processors
     */
    LatencyRun(QueuePairs pairs, Operation operation, BenchContext context) {
        this.pairs = pairs;
        this.operation = operation;
        this.size = pairs.parameters().sizeBytes();
        this.count = pairs.parameters().iterations();
        this.duel = new Duel(context);
        this.stamps = new long[count + 1];
    }

    /**
     * Runs.
     *
     * @return the median in microseconds, with the messages moved
     * @throws AssertionError if the data that arrived is not what was sent
     */
    Sample run() throws InterruptedException {
        pairs.client().fill(size, End.OF_CLIENT);
        pairs.server().fill(size, End.OF_SERVER);
        switch (operation) {
            case SEND -> send();
            case WRITE -> write();
            case READ -> read();
        }
        return sample();
    }

    private Sample sample() {
        Histogram nanos = new Histogram(1, LONGEST, DIGITS);
        int halves = operation == Operation.READ ? 1 : 2;
        for (int i = 0; i < count; i++) {
            nanos.recordValue(Math.clamp((stamps[i + 1] - stamps[i]) / halves, 1, LONGEST));
        }
        Map<String, Object> details = new LinkedHashMap<>();
        details.put("messagesOfClient", clientMessages);
        details.put("messagesOfServer", serverMessages);
        details.put("bytesMoved", (clientMessages + serverMessages) * size);
        return new Sample(nanos.getValueAtPercentile(50) / 1e3, details);
    }

    private void send() throws InterruptedException {
        try (SendRequests ping = sends(pairs.client(), pairs.server());
                SendRequests pong = sends(pairs.server(), pairs.client());
                ReceiveRequests pings = Sends.postReceives(pairs.server(), pairs.parameters());
                ReceiveRequests pongs = Sends.postReceives(pairs.client(), pairs.parameters())) {
            duel.run(() -> answerSends(pairs.server(), pong, pings), () -> driveSends(pairs.client(), ping, pongs));
        }
        pairs.server().requireData(size, End.OF_CLIENT);
        pairs.client().requireData(size, End.OF_SERVER);
    }

    private void driveSends(End end, SendRequests ping, ReceiveRequests receives) {
        QueuePair queuePair = end.queuePair();
        Completions sent = end.sends().newCompletions(1);
        Completions received = end.receives().newCompletions(1);
        int posted = receives.capacity();
        int consumed = 0;
        for (int i = 0; i < count; i++) {
            stamps[i] = System.nanoTime();
            queuePair.post(ping, 0, 1);
            // While the other end is busy: none of this is in the answer's way.
            int ignored = duel.await(end.sends(), sent, "the completion of a SEND");
            if (consumed == REPOSTED) {
                posted += repost(queuePair, receives, posted);
                consumed = 0;
            }
            clientMessages += duel.await(end.receives(), received, "the answer to a SEND");
            consumed++;
        }
        stamps[count] = System.nanoTime();
    }

    private void answerSends(End end, SendRequests pong, ReceiveRequests receives) {
        QueuePair queuePair = end.queuePair();
        Completions sent = end.sends().newCompletions(1);
        Completions received = end.receives().newCompletions(1);
        int posted = receives.capacity();
        int consumed = 0;
        for (int i = 0; i < count; i++) {
            serverMessages += duel.await(end.receives(), received, "a SEND");
            queuePair.post(pong, 0, 1);
            consumed++;
            int ignored = duel.await(end.sends(), sent, "the completion of the answer to a SEND");
            if (consumed == REPOSTED) {
                posted += repost(queuePair, receives, posted);
                consumed = 0;
            }
        }
    }

    /** Posts again what was consumed, no more than there are messages to come; returns how many. */
    private int repost(QueuePair queuePair, ReceiveRequests receives, int posted) {
        int again = Math.min(Math.min(REPOSTED, receives.capacity()), count - posted);
        if (again > 0) {
            queuePair.post(receives, 0, again);
        }
        return again;
    }

    private void write() throws InterruptedException {
        try (SendRequests there = sends(pairs.client(), pairs.server());
                SendRequests back = sends(pairs.server(), pairs.client())) {
            duel.run(() -> answerWrites(pairs.server(), back), () -> driveWrites(pairs.client(), there));
        }
        // The last byte is the mark.
        pairs.server().requireData(size - 1, End.OF_CLIENT);
        pairs.client().requireData(size - 1, End.OF_SERVER);
    }

    private void driveWrites(End end, SendRequests there) {
        QueuePair queuePair = end.queuePair();
        MemorySegment memory = end.memory().bytes();
        Completions sent = end.sends().newCompletions(1);
        long outMark = size - 1L;
        long inMark = end.incoming() + size - 1;
        for (int i = 0; i < count; i++) {
            memory.set(JAVA_BYTE, outMark, mark(i));
            stamps[i] = System.nanoTime();
            queuePair.post(there, 0, 1);
            // While the other end is busy: not between the answer and the next message.
            int ignored = duel.await(end.sends(), sent, "the completion of a WRITE");
            awaitMark(memory, inMark, mark(i));
            clientMessages++;
        }
        stamps[count] = System.nanoTime();
    }

    private void answerWrites(End end, SendRequests back) {
        QueuePair queuePair = end.queuePair();
        MemorySegment memory = end.memory().bytes();
        Completions sent = end.sends().newCompletions(1);
        long outMark = size - 1L;
        long inMark = end.incoming() + size - 1;
        for (int i = 0; i < count; i++) {
            awaitMark(memory, inMark, mark(i));
            serverMessages++;
            memory.set(JAVA_BYTE, outMark, mark(i));
            queuePair.post(back, 0, 1);
            int ignored = duel.await(end.sends(), sent, "the completion of the answer to a WRITE");
        }
    }

    /** Never twice the same in a row, and not what the memory begins with. */
    private static byte mark(int message) {
        return (byte) (message % 251 + 1);
    }

    private void awaitMark(MemorySegment memory, long at, byte mark) {
        for (int polls = 1; (byte) BYTE.getAcquire(memory, at) != mark; polls++) {
            duel.look(polls, "the last byte of a WRITE");
        }
    }

    private void read() throws InterruptedException {
        try (SendRequests requests = sends(pairs.client(), pairs.server())) {
            duel.run(() -> {}, () -> driveReads(pairs.client(), requests));
        }
        pairs.client().requireData(size, End.OF_SERVER);
    }

    private void driveReads(End end, SendRequests requests) {
        QueuePair queuePair = end.queuePair();
        Completions sent = end.sends().newCompletions(1);
        for (int i = 0; i < count; i++) {
            stamps[i] = System.nanoTime();
            queuePair.post(requests, 0, 1);
            clientMessages += duel.await(end.sends(), sent, "the completion of a READ");
        }
        stamps[count] = System.nanoTime();
    }

    private SendRequests sends(End from, End to) {
        return Sends.prepare(operation, 1, from, to, pairs.parameters());
    }
}
