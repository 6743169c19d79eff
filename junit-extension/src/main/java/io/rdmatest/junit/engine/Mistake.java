package io.rdmatest.junit.engine;

import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.OutstandingWork;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.SharedReceiveQueue;
import io.rdmatest.verbs.WorkCompletion;
import java.util.Collection;
import java.util.Optional;

/**
 * Finds out whether work could not succeed because of the test itself. Only the queues of this process count as evidence:
 * without evidence the fabric is to blame. {@link Diagnosis} tells likely causes, which need no proof.
 */
final class Mistake {

    private Mistake() {}

    /**
     * Looks at a failed completion.
     *
     * @param status its status
     * @param queuePair its queue pair
     * @param all open queue pairs of the test, the peer among them if it is of this process
     * @return the mistake in words; empty if there is no proof of one
     */
    static Optional<String> of(WorkCompletion.Status status, QueuePair queuePair, Collection<QueuePair> all) {
        if (status == WorkCompletion.Status.RNR_RETRY_EXC_ERR) {
            return withoutReceive(queuePair, all);
        }
        return mayBeTheReceivers(status) ? peer(queuePair, all).flatMap(Mistake::failedReceive) : Optional.empty();
    }

    /** Tells whether the peer answers so to a message that its receive can't take; soft-RoCE uses the first. */
    static boolean mayBeTheReceivers(WorkCompletion.Status status) {
        return status == WorkCompletion.Status.REM_OP_ERR || status == WorkCompletion.Status.REM_INV_REQ_ERR;
    }

    /**
     * Looks at a wait for a completion of a send that nothing came for.
     *
     * @param queuePair the sender
     * @param all open queue pairs of the test
     * @param receiverNotReady whether the device counted answers of a receiver that is not ready
     */
    static Optional<String> ofSilence(QueuePair queuePair, Collection<QueuePair> all, boolean receiverNotReady) {
        OutstandingWork work = queuePair.work();
        // The queue that is awaited may be that of other queue pairs, too.
        boolean onlyThese = all.stream().noneMatch(other -> mayComplete(other, queuePair));
        if (onlyThese && work.signaled() == 0 && work.unsignaled() > 0 && work.undecided() == 0) {
            long silent = work.unsignaled();
            return Optional.of(silent + (silent == 1 ? " send was" : " sends were") + " posted without SIGNALED and "
                    + (silent == 1 ? "completes" : "complete") + " silently: nothing will come");
        }
        return receiverNotReady && work.sends() > 0 ? withoutReceive(queuePair, all) : Optional.empty();
    }

    /** Tells whether something of a queue pair can still complete on the send queue of another one, or of this one a receive. */
    private static boolean mayComplete(QueuePair other, QueuePair sender) {
        return other.receiveQueue() == sender.sendQueue()
                        && workOfReceives(other).receives() > 0
                || other != sender
                        && other.sendQueue() == sender.sendQueue()
                        && other.work().signaled() > 0;
    }

    private static Optional<String> withoutReceive(QueuePair queuePair, Collection<QueuePair> all) {
        return peer(queuePair, all)
                .filter(peer -> !hasReceives(peer))
                .map(peer -> WorkAudit.name(peer) + " has no receive posted");
    }

    private static boolean hasReceives(QueuePair queuePair) {
        OutstandingWork work = workOfReceives(queuePair);
        return work.receives() - work.undecided() > 0;
    }

    private static OutstandingWork workOfReceives(QueuePair queuePair) {
        SharedReceiveQueue shared = queuePair.srq();
        return shared == null ? queuePair.work() : shared.work();
    }

    /** The peer's own completion says what the sender's can't. The test is over, or would have taken it. */
    private static Optional<String> failedReceive(QueuePair peer) {
        Completions batch = peer.receiveQueue().newCompletions(1);
        while (peer.receiveQueue().poll(batch) > 0) {
            WorkCompletion.Status status = batch.status(0);
            Optional<String> unfit = batch.qpNumber(0) == peer.number() ? unfitReceive(peer, status) : Optional.empty();
            if (unfit.isPresent()) {
                return unfit;
            }
        }
        return Optional.empty();
    }

    /** Says that a receive could not take its message, if that is the meaning of its status. */
    static Optional<String> unfitReceive(QueuePair receiver, WorkCompletion.Status status) {
        String receive = "the receive that " + WorkAudit.name(receiver) + " posted ";
        return switch (status) {
            case LOC_LEN_ERR -> Optional.of(receive + "is too short for the message (" + status.ibvName() + ")");
            case LOC_QP_OP_ERR, LOC_PROT_ERR ->
                Optional.of(receive + "can't take the message: it is too short, or its memory lacks LOCAL_WRITE ("
                        + status.ibvName() + ")");
            default -> Optional.empty();
        };
    }

    static Optional<QueuePair> peer(QueuePair queuePair, Collection<QueuePair> all) {
        int destination = destination(queuePair);
        return all.stream()
                .filter(other -> other != queuePair
                        && !other.isClosed()
                        && other.number() == destination
                        && other.deviceName().equals(queuePair.deviceName())
                        && destination(other) == queuePair.number())
                .findFirst();
    }

    private static int destination(QueuePair queuePair) {
        if (queuePair.type() == QpType.UD) {
            return 0;
        }
        QueuePairModification its = queuePair.query();
        return its.state() == QpState.RESET ? 0 : its.destinationQp();
    }
}
