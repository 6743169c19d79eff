package io.rdmatest.scenarios.rping;

import io.rdmatest.Cause;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.scenarios.engine.Progress;
import io.rdmatest.scenarios.engine.RcLink;
import io.rdmatest.scenarios.role.ScenarioException;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.DriverQuirks;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletionException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** What both sides of rping do in the same way: the 16-byte messages, and telling what became of the peer. */
final class RpingLink {

    static final SendFlag[] SIGNALED = {SendFlag.SIGNALED};
    private static final Access[] REMOTE = {Access.LOCAL_WRITE, Access.REMOTE_READ, Access.REMOTE_WRITE};

    private final RcLink link;
    private final String side;
    private final MemoryRegion control;
    private final MemorySegment incoming;
    private final MemorySegment outgoing;
    private long requests;

    /** Registers the memory of the messages and posts the first receive. */
    RpingLink(RcLink link, String side) {
        this.link = link;
        this.side = side;
        this.control = link.register(2L * RpingMessage.SIZE, Access.LOCAL_WRITE);
        this.incoming = control.bytes().asSlice(0, RpingMessage.SIZE);
        this.outgoing = control.bytes().asSlice(RpingMessage.SIZE, RpingMessage.SIZE);
        receiveNext();
    }

    /** Registers memory that the peer reads and writes. */
    static MemoryRegion data(RcLink link, int sizeBytes) {
        return link.register(sizeBytes, REMOTE);
    }

    RcLink link() {
        return link;
    }

    /** The last message that came, until {@link #receiveNext}. */
    MemorySegment incoming() {
        return incoming;
    }

    /** The next message that goes; zeros to begin with. */
    MemorySegment outgoing() {
        return outgoing;
    }

    void receiveNext() {
        link.postReceive(0, control, 0, RpingMessage.SIZE);
    }

    void postMessage() {
        link.queuePair().postSend(1, control, RpingMessage.SIZE, RpingMessage.SIZE, SIGNALED);
        requests++;
    }

    void postRead(MemoryRegion data, long offset, int length, long remote, int rkey) {
        link.queuePair().postRead(2, data, offset, length, remote, rkey, SIGNALED);
        requests++;
    }

    void postWrite(MemoryRegion data, long offset, int length, long remote, int rkey) {
        link.queuePair().postWrite(3, data, offset, length, remote, rkey, SIGNALED);
        requests++;
    }

    /** Waits until all that was posted is done. */
    void awaitRequests() {
        try {
            link.progress().awaitSends(requests);
        } catch (WorkCompletionException e) {
            throw explained(e);
        }
    }

    /** Waits for the next message. */
    void awaitMessage(String what) {
        try {
            link.progress().awaitReceive(what);
        } catch (WorkCompletionException e) {
            throw explained(e);
        }
        requireLength();
    }

    /** Waits for the next message, or for the end of the connection: then false. */
    boolean awaitMessageOrEnd(String what) {
        try {
            if (!link.progress().awaitReceiveOrEnd(what)) {
                return false;
            }
        } catch (WorkCompletionException e) {
            throw explained(e);
        }
        requireLength();
        return true;
    }

    private void requireLength() {
        int length = link.progress().byteLength();
        if (length != RpingMessage.SIZE) {
            throw new AssertionError(
                    "A message at the rping %s has %d bytes instead of %d: the peer speaks another protocol"
                            .formatted(side, length, RpingMessage.SIZE));
        }
    }

    private RuntimeException explained(WorkCompletionException failure) {
        String driver = link.queuePair().protectionDomain().context().driver();
        if (isTooLong(driver, failure)) {
            throw new AssertionError(
                    "A message at the rping %s has more than its %d bytes: the peer speaks another protocol (%s)"
                            .formatted(side, RpingMessage.SIZE, failure.getMessage()),
                    failure);
        }
        return failure;
    }

    /** Tells whether a receive failed because the message did not fit. */
    static boolean isTooLong(String driver, WorkCompletionException failure) {
        return (failure.wrId() & Progress.RECEIVE) != 0 && DriverQuirks.isMessageTooLong(driver, failure.status());
    }

    /**
     * Returns the failure to report if this one shows that a connected peer is gone; null otherwise.
     *
     * @param failure a failure of the data path
     * @param pings pings done before
     */
    @Nullable
    ScenarioException lost(RuntimeException failure, long pings) {
        String peer = side.equals("server") ? "client" : "server";
        String what;
        if (failure instanceof WorkCompletionException e && isGone(e)) {
            what = "stopped acknowledging after %d pings, it or the way to it is gone: %s"
                    .formatted(pings, e.getMessage());
        } else if (failure instanceof RdmaTimeoutException e && pings > 0) {
            what = "stopped answering after %d pings: %s".formatted(pings, e.getMessage());
        } else if (failure instanceof ScenarioException e && e.rdmaCause() == Cause.PEER_LOST) {
            what = "left in the middle of ping %d; its own output says why".formatted(pings);
        } else {
            return null;
        }
        return new ScenarioException(Cause.PEER_LOST, "The rping " + peer + " " + what, failure);
    }

    private boolean isGone(WorkCompletionException e) {
        return switch (e.status()) {
            case RETRY_EXC_ERR, RESP_TIMEOUT_ERR -> true;
            // What soft-RoCE answers for a process that is being ended: its queue pair can do no more.
            case REM_OP_ERR -> true;
            case WR_FLUSH_ERR -> link.isDisconnected();
            default -> false;
        };
    }

    /** The most of a ping that is printed, in bytes; the C program's largest. */
    private static final int PRINTED = RpingPattern.MAX_SIZE;

    /** Returns a ping as text, as a C string is printed. */
    static String text(MemorySegment ping, long size) {
        int most = (int) Math.min(size, PRINTED);
        byte[] bytes = ping.asSlice(0, most).toArray(ValueLayout.JAVA_BYTE);
        int end = 0;
        while (end < most && bytes[end] != 0) {
            end++;
        }
        return new String(bytes, 0, end, StandardCharsets.ISO_8859_1);
    }
}
