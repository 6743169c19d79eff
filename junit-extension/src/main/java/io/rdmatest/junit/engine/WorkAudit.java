package io.rdmatest.junit.engine;

import io.rdmatest.Cause;
import io.rdmatest.Deadline;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.FabricError;
import io.rdmatest.junit.IgnoreCompletions;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.AsyncEvent;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.OutstandingWork;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairModification;
import io.rdmatest.verbs.Transport;
import io.rdmatest.verbs.WorkCompletion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * Looks, before they are released, for failed work on queues that were provided to a test, and that the test did not notice.
 * {@link KernelAudit} looks for objects that are left, and {@link Counters} at what the device counted.
 *
 * <p>The verdict follows from the cause. A completion with an error status has the cause that it has when a test awaits it: the
 * fabric failed, unless {@link Mistake} proves from this process's own queues that the work could not succeed. An overrun is
 * always the test's: it posted more than its queue holds. An asynchronous error, and a queue pair in ERR without any completion
 * that says why, are the device's. Flushed requests never count: they follow from something else, and after a disconnect
 * they are normal.
 */
final class WorkAudit {

    /** How long sends that must still give a completion are waited for, once the test has ended. */
    private static final Duration LAST_SENDS = Duration.ofSeconds(1);

    private static final int BATCH = 64;

    private static final String OPT_OUT = "; annotate a test that provokes this with @IgnoreCompletions";

    /** More than any queue holds: a program that goes on to post must not keep the audit busy. */
    private static final int MOST = 1 << 20;

    /** The number of a queue pair is its own only on its device, which the queue tells. */
    private record Failed(CompletionQueue queue, int queuePair, WorkCompletion.Status status) {

        boolean isOf(QueuePair pair) {
            return pair.number() == queuePair && (pair.sendQueue() == queue || pair.receiveQueue() == queue);
        }
    }

    private final List<CompletionQueue> queues = new ArrayList<>();
    private final List<QueuePair> queuePairs = new ArrayList<>();
    private final Set<DeviceContext> contexts = new LinkedHashSet<>();
    private final Set<CompletionQueue> overrun = new LinkedHashSet<>();
    private final Map<Failed, Integer> failures = new LinkedHashMap<>();
    private final List<Error> found = new ArrayList<>();

    /** The queue pairs of which the test has no reason to know that they fail. */
    private final List<QueuePair> unaware;

    private WorkAudit(List<NativeResource> provided) {
        for (NativeResource resource : provided) {
            if (resource instanceof CompletionQueue queue && !queue.isClosed()) {
                queues.add(queue);
                contexts.add(queue.context());
            } else if (resource instanceof QueuePair queuePair && !queuePair.isClosed()) {
                queuePairs.add(queuePair);
                contexts.add(queuePair.protectionDomain().context());
            }
        }
        // The audit itself takes failed completions, which makes errors known.
        unaware = queuePairs.stream().filter(pair -> !pair.isErrorKnown()).toList();
    }

    /** Tells whether a test, or what encloses it, says that it leaves failed work behind. */
    static boolean isOff(ExtensionContext context) {
        for (Optional<ExtensionContext> current = Optional.of(context);
                current.isPresent();
                current = current.get().getParent()) {
            if (current.get()
                    .getElement()
                    .filter(element -> AnnotationSupport.isAnnotated(element, IgnoreCompletions.class))
                    .isPresent()) {
                return true;
            }
        }
        return false;
    }

    /**
     * Drains the queues, and returns what is wrong with them.
     *
     * @param provided native objects, of which queues and queue pairs are looked at
     * @param events whether asynchronous events of the devices are taken: no later test, and no thread of one, may wait for them
     * @return errors to throw; may be empty
     */
    static List<Error> of(List<NativeResource> provided, boolean events) {
        WorkAudit audit = new WorkAudit(provided);
        audit.look(events);
        return audit.found;
    }

    private void look(boolean events) {
        queues.forEach(this::judgeDepth);
        attempt(this::drain);
        failures.forEach((failed, count) -> attempt(() -> judge(failed, count)));
        if (events) {
            contexts.forEach(context -> attempt(() -> takeEvents(context)));
        }
        // A failure that is no finding explains the state, too.
        if (found.isEmpty() && failures.isEmpty()) {
            unaware.forEach(pair -> attempt(() -> judgeState(pair)));
        }
        // A mistake of the test explains the failures beside it.
        found.sort(Comparator.comparing(error -> error instanceof FabricError));
    }

    /** Does a part of the audit. What was found before it fails counts. */
    private static void attempt(Runnable part) {
        try {
            part.run();
        } catch (RuntimeException e) {
            // The device is gone, or the test still closes things on another thread. Their release tells.
            return;
        }
    }

    /** Takes what is there, and what is still to come: the refusal of a request may be under way when the test ends. */
    private void drain() {
        if (queues.isEmpty()) {
            return;
        }
        Completions batch = queues.getFirst().newCompletions(BATCH);
        long deadline = Deadline.end(LAST_SENDS);
        while (true) {
            // Asked before the queues are drained: what came in between is taken as well.
            boolean last = queuePairs.stream().noneMatch(this::isSending) || Deadline.isOver(deadline);
            queues.forEach(queue -> drain(queue, batch));
            if (last) {
                return;
            }
            Thread.yield();
        }
    }

    private void drain(CompletionQueue queue, Completions batch) {
        int polled = queue.poll(batch);
        for (int taken = polled; polled > 0 && taken < MOST; taken += polled) {
            for (int i = 0; i < polled; i++) {
                WorkCompletion.Status status = batch.status(i);
                if (status != WorkCompletion.Status.SUCCESS && status != WorkCompletion.Status.WR_FLUSH_ERR) {
                    failures.merge(new Failed(queue, batch.qpNumber(i), status), 1, Integer::sum);
                }
            }
            polled = queue.poll(batch);
        }
    }

    /** In ERR, what is outstanding completes as well: it failed, or is flushed. */
    private boolean isSending(QueuePair queuePair) {
        return queues.contains(queuePair.sendQueue())
                && outstanding(queuePair) > 0
                && Set.of(QpState.RTS, QpState.ERR).contains(queuePair.state());
    }

    /** On a queue that sends and receives share, a failed completion may be that of a send. */
    private static long outstanding(QueuePair queuePair) {
        OutstandingWork work = queuePair.work();
        return Math.max(0, work.signaled() - work.undecided());
    }

    private void judgeDepth(CompletionQueue queue) {
        long outstanding = queuePairs.stream()
                .filter(pair -> pair.sendQueue() == queue)
                .mapToLong(WorkAudit::outstanding)
                .sum();
        if (outstanding > queue.entries()) {
            addOverrun(queue, ": " + outstanding + " signaled sends were posted and not polled");
        }
    }

    private void addOverrun(CompletionQueue queue, String how) {
        if (overrun.add(queue)) {
            found.add(new TestFaultError(
                    Cause.WRONG_USE,
                    queue.describe() + " of " + queue.entries() + " entries overran" + how
                            + ". Completions are lost: poll it in time, or make it larger"));
        }
    }

    private void judge(Failed failed, int count) {
        Optional<QueuePair> queuePair = queuePairs.stream().filter(failed::isOf).findFirst();
        if (queuePair.filter(pair -> isExpected(failed, pair)).isPresent()) {
            return;
        }
        String message = queuePair.map(WorkAudit::name).orElseGet(() -> "a closed queue pair, " + failed.queuePair())
                + ": " + count + " completion" + (count == 1 ? "" : "s") + " with "
                + failed.status().ibvName() + (count == 1 ? " was" : " were") + " never polled";
        Optional<String> mistake = queuePair.flatMap(pair -> Mistake.of(failed.status(), pair, queuePairs)
                .or(() -> ofReceiver(pair, failed.status()))
                .or(() -> pair.sendQueue() == failed.queue()
                        ? Optional.empty()
                        : Mistake.unfitReceive(pair, failed.status())));
        found.add(
                mistake.isPresent()
                        ? new TestFaultError(Cause.WRONG_USE, message + ": " + mistake.get())
                        : new FabricError(failed.status().cause(), message + OPT_OUT));
    }

    /** Tells whether a failure follows from what the test did or has seen: it ended the peer, or took the peer's failure. */
    private boolean isExpected(Failed failed, QueuePair pair) {
        return failed.status() == WorkCompletion.Status.RETRY_EXC_ERR
                ? isPeerEnded(pair)
                : failed.queue() == pair.receiveQueue()
                        && !unaware.contains(pair)
                        && Mistake.unfitReceive(pair, failed.status()).isPresent();
    }

    /** Tells whether the peer of an unanswered sender is of this process, and the test closed it or moved it out of service. */
    private boolean isPeerEnded(QueuePair sender) {
        QueuePairModification its = sender.query();
        List<QueuePair> peers = Ledger.live().stream()
                .filter(QueuePair.class::isInstance)
                .map(QueuePair.class::cast)
                .filter(pair -> pair != sender && pair.number() == its.destinationQp())
                .toList();
        if (peers.isEmpty()) {
            return isOfThisPort(sender.protectionDomain().context(), its.addressVector());
        }
        return peers.stream()
                .anyMatch(pair -> !unaware.contains(pair)
                        && switch (pair.state()) {
                            case RESET, INIT, ERR -> true;
                            default -> false;
                        });
    }

    private static boolean isOfThisPort(DeviceContext context, @Nullable AddressHandleAttributes destination) {
        if (destination == null) {
            return false;
        }
        Gid gid = destination.gid();
        return gid == null
                ? destination.lid() == context.port(destination.port()).lid()
                : gid.equals(context.gid(destination.port(), destination.gidIndex()));
    }

    /** What the receiver of a refused message says is taken off its queue by now. */
    private Optional<String> ofReceiver(QueuePair sender, WorkCompletion.Status status) {
        if (!Mistake.mayBeTheReceivers(status)) {
            return Optional.empty();
        }
        return Mistake.peer(sender, queuePairs)
                .flatMap(peer -> failures.keySet().stream()
                        .filter(other -> other.isOf(peer))
                        .flatMap(other -> Mistake.unfitReceive(peer, other.status()).stream())
                        .findFirst());
    }

    private void takeEvents(DeviceContext context) {
        Optional<AsyncEvent> event = context.pollAsyncEvent();
        for (int taken = 1; event.isPresent() && taken < MOST; taken++) {
            judge(event.get());
            event = context.pollAsyncEvent();
        }
    }

    private void judge(AsyncEvent event) {
        switch (event.type()) {
            case CQ_ERR ->
                queues.stream()
                        .filter(queue -> queue.describe().equals(event.affected()))
                        .forEach(queue -> addOverrun(queue, " or failed (IBV_EVENT_CQ_ERR)"));
            case QP_FATAL, QP_REQ_ERR, QP_ACCESS_ERR, PATH_MIG_ERR ->
                unaware.stream()
                        .filter(pair -> pair.describe().equals(event.affected()))
                        .forEach(pair -> found.add(new FabricError(
                                Cause.ASYNCHRONOUS_ERROR,
                                name(pair) + " failed: IBV_EVENT_" + event.type() + OPT_OUT)));
            case SRQ_ERR, WQ_FATAL ->
                found.add(new FabricError(
                        Cause.ASYNCHRONOUS_ERROR, event.affected() + " failed: IBV_EVENT_" + event.type() + OPT_OUT));
            case DEVICE_FATAL ->
                found.add(
                        new TestFaultError(Cause.DEVICE_REMOVED, event.affected() + " failed: IBV_EVENT_DEVICE_FATAL"));
            // The state of ports is judged by their counters, and what else is told is no error.
            default -> {}
        }
    }

    /**
     * The connection manager of iWARP moves a queue pair to ERR when the peer closes. The reason may also be on a queue that is
     * not looked at, such as one of the class.
     */
    private void judgeState(QueuePair queuePair) {
        if (queues.contains(queuePair.sendQueue())
                && queues.contains(queuePair.receiveQueue())
                && queuePair.protectionDomain().context().transport() != Transport.IWARP
                && queuePair.state() == QpState.ERR) {
            found.add(new FabricError(
                    Cause.ASYNCHRONOUS_ERROR,
                    name(queuePair) + " is in ERR, where the test did not move it, and no completion says why"
                            + OPT_OUT));
        }
    }

    static String name(QueuePair queuePair) {
        String side = Connection.side(queuePair);
        return (side.isEmpty() ? "" : side + " ") + queuePair.describe();
    }
}
