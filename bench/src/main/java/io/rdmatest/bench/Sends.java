package io.rdmatest.bench;

import io.rdmatest.bench.QueuePairs.End;
import io.rdmatest.scenarios.cprogram.PerftestOutput;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;

/** Prepares the sends, all signalled, and the receives of a test. */
final class Sends {

    private Sends() {}

    /**
     * Prepares requests from the outgoing half of one end to the incoming half of the other, or for a READ the other way.
     *
     * @param operation what is posted
     * @param capacity how many requests
     * @param from who posts
     * @param to the other end
     * @param parameters the size, and up to which size data goes inline
     */
    static SendRequests prepare(
            Operation operation, int capacity, End from, End to, PerftestOutput.Parameters parameters) {
        int size = parameters.sizeBytes();
        SendFlag[] flags = size <= parameters.inlineBytes()
                ? new SendFlag[] {SendFlag.SIGNALED, SendFlag.INLINE}
                : new SendFlag[] {SendFlag.SIGNALED};
        SendRequests requests = SendRequests.allocate(capacity);
        for (int i = 0; i < capacity; i++) {
            SendRequests ignored = switch (operation) {
                case SEND -> requests.send(i, i, from.memory(), 0, size, flags);
                case WRITE ->
                    requests.write(
                            i,
                            i,
                            from.memory(),
                            0,
                            size,
                            to.memory().address(to.incoming()),
                            to.memory().rkey(),
                            flags);
                case READ ->
                    requests.read(
                            i,
                            i,
                            from.memory(),
                            from.incoming(),
                            size,
                            to.memory().address(0),
                            to.memory().rkey(),
                            SendFlag.SIGNALED);
            };
        }
        return requests;
    }

    /**
     * Prepares as many receives as the queue holds, or as there are messages if these are fewer, and posts them.
     *
     * @param end who receives, into the incoming half of its memory
     * @param parameters the size, the number of messages and the depth of the queue
     * @return the list, to post again from
     */
    static ReceiveRequests postReceives(End end, PerftestOutput.Parameters parameters) {
        int depth = Math.min(parameters.rxDepth(), parameters.iterations());
        ReceiveRequests requests = ReceiveRequests.allocate(depth);
        for (int i = 0; i < depth; i++) {
            ReceiveRequests ignored = requests.receive(i, i, end.memory(), end.incoming(), parameters.sizeBytes());
        }
        end.queuePair().post(requests);
        return requests;
    }
}
