package io.rdmatest.scenarios.bench;

import io.rdmatest.scenarios.bench.QueuePairs.End;
import io.rdmatest.verbs.ReceiveRequests;

/** Prepares the receives of a test. */
final class Receives {

    private Receives() {}

    /**
     * Prepares as many receives as the queue holds, or as there are messages if these are fewer, and posts them.
     *
     * @param end who receives, into the incoming half of its memory
     * @param parameters the size, the number of messages and the depth of the queue
     * @return the list, to post again from
     */
    static ReceiveRequests post(End end, PerftestOutput.Parameters parameters) {
        int depth = Math.min(parameters.rxDepth(), parameters.iterations());
        ReceiveRequests requests = ReceiveRequests.allocate(depth);
        for (int i = 0; i < depth; i++) {
            ReceiveRequests ignored = requests.receive(i, i, end.memory(), end.incoming(), parameters.sizeBytes());
        }
        end.queuePair().post(requests);
        return requests;
    }
}
