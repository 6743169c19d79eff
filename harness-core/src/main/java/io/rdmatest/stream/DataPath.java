package io.rdmatest.stream;

import io.rdmatest.Closer;
import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.CmId;
import io.rdmatest.connect.RcEndpoint;
import io.rdmatest.stream.StreamException.Reason;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.DriverQuirks;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.PostException;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.WorkCompletion;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The data path: rings, queues, and the messages between the two sides. It does not connect the queue pair.
 *
 * <p>One region holds the send ring, the words of iWARP mode, and the receive ring. Data is copied into the send ring
 * and written from there into the peer's receive ring; a wrap of either ring splits it. Sent data is freed in the send
 * ring when the peer's device acknowledges it, and in the peer's ring when the peer reports it.
 *
 * <p>In split mode some pieces are announced instead of written. The peer reads them from the send ring and reports
 * that. Until then neither they nor later data leave the send ring. In the peer's ring, later data becomes readable
 * only after the piece.
 *
 * <p>Lock order: receive, send, pull, queue. The queue lock guards rings and credits, the send lock the prepared sends,
 * the pull lock the prepared read. Only the holder of the send lock adds to the send ring, so it can copy without the
 * queue lock. Sending, receiving and polling allocate nothing.
 */
final class DataPath {

    private static final int BATCH = 32;
    private static final int WORD = 4;

    /** The longest time that one call polls an empty queue. */
    private static final long SPIN_NANOS = 10_000;

    /**
     * The most bytes that are held back for one message. It is many packets of any path MTU, so posting costs little.
     * It is small compared with the ring, so the peer copies one message while the next one is in flight.
     */
    private static final int MOST_HELD = 16 * 1024;

    /**
     * The most bytes of other messages, and of a piece to be read. Longer data is split, so that the peer copies and
     * frees the first parts while the rest is in flight.
     */
    private static final int MOST_WRITTEN = 64 * 1024;

    /** The fewest bytes of a piece that the peer reads: it costs two more messages. */
    private static final int LEAST_PULLED = 16 * 1024;

    /** The most outstanding reads. */
    private static final int PULLS = 4;

    // The two low bits of a request's identifier have its kind, since the opcode of a failed completion is undefined.
    // The other bits have the send ring's position after the data, or the index of the receive.
    private static final int KIND_BITS = 2;
    private static final int KIND = 3;
    private static final long DATA = 0;
    private static final long CONTROL = 1;
    private static final long RECEIVE = 2;
    private static final long PULL = 3;

    private final StreamOptions options;
    private final RcEndpoint endpoint;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final QueuePair queuePair;
    private final MemoryRegion region;

    private final int sendWordsOffset;
    private final int receiveWordsOffset;
    private final int receiveRingOffset;
    private final ByteBuffer sendBytes;
    private final ByteBuffer receiveBytes;
    /** The words of iWARP mode, in host byte order as in libfabric; empty in other modes. */
    private final ByteBuffer words;

    private final ReentrantLock receiveLock = new ReentrantLock();
    private final ReentrantLock sendLock = new ReentrantLock();
    private final ReentrantLock pullLock = new ReentrantLock();
    private final ReentrantLock queueLock = new ReentrantLock();

    // Guarded by the send lock.
    private final SendRequests data;
    private final SendRequests control;
    private long wordsSent;
    private int reservedOffset;
    private long reservedRemote;
    private long reservedEnd;
    /** Whether the last reservation directly follows the held bytes, in both rings. */
    private boolean reservedAfterHeld;
    /** Whether the peer reads the last reservation; the next one is then written. */
    private boolean reservedToPull;

    private int heldOffset;
    private long heldRemote;
    private long heldEnd;
    /**
     * The bytes in the send ring that are counted but not posted yet, because more will follow. Also read without the
     * lock.
     */
    private volatile int held;
    /** Whether a control message was due at the last check for room. */
    private boolean controlDue;

    // Guarded by the pull lock.
    private final SendRequests read;

    // Guarded by the queue lock.
    private final ReceiveRequests receives;
    private final Completions completions;
    private final Ring sendRing;
    private final Ring receiveRing;
    private final Credits credits;
    private final long passed;
    private Ring peerRing = new Ring(1);
    private long peerAddress;
    private long peerSendAddress;
    private int peerSendBytes = 1;
    /** The position up to which messages are acknowledged. The peer may not yet have read the pieces before it. */
    private long acknowledged;
    /** The announced pieces that the peer has not read yet. */
    private final Pieces toBePulled;
    /** The pieces that the peer announced and this side has not read yet. */
    private final Pieces pulling;
    /** The number of pieces in {@link #pulling} that have an outstanding read. */
    private int pullsPosted;
    /** The bytes that were read but not yet reported to the peer. */
    private int pulledBytes;
    /**
     * The position of the next data. Data between the receive ring's produced bytes and this position waits for an earlier piece.
     */
    private long landing;
    /** Whether a read is due. Set under the lock, also read without it. */
    private volatile boolean pullDue;

    private int nextReceive;
    /** Completed receives that were not posted again. The peer gets their credits later. */
    private int unposted;

    /** The thread whose last check found no room to send; null if a later check found room. */
    private @Nullable Thread blockedSender;
    /** Whether a completion after that check may have made room. */
    private boolean roomFreed;

    private volatile boolean started;
    /** Whether this side has sent its last data. */
    private volatile boolean stopped;
    /** Whether the connection ends on purpose: later failures are expected. */
    private volatile boolean ending;

    private volatile @Nullable StreamException failure;

    private DataPath(StreamOptions options, RcEndpoint endpoint, MemoryRegion region, long passed) {
        this.options = options;
        this.endpoint = endpoint;
        this.channel = endpoint.channel().orElseThrow();
        this.queue = endpoint.receiveQueue();
        this.queuePair = endpoint.queuePair();
        this.region = region;
        this.sendWordsOffset = wordsOffset(options);
        this.receiveWordsOffset = sendWordsOffset + (iwarp() ? WORD * options.sendQueueDepth() : 0);
        this.receiveRingOffset = receiveWordsOffset + (iwarp() ? WORD * options.receiveQueueDepth() : 0);
        this.sendBytes = region.buffer(0, options.sendBufferBytes());
        this.words = region.buffer(sendWordsOffset, receiveRingOffset - sendWordsOffset);
        this.receiveBytes = region.buffer(receiveRingOffset, options.receiveBufferBytes());
        this.sendRing = new Ring(options.sendBufferBytes(), passed);
        this.receiveRing = new Ring(options.receiveBufferBytes(), passed);
        this.passed = passed;
        this.acknowledged = passed;
        this.landing = passed;
        this.toBePulled = new Pieces(options.sendBufferBytes() / LEAST_PULLED + 1);
        this.pulling = new Pieces(options.receiveBufferBytes() / LEAST_PULLED + 1);
        this.credits = new Credits(options.sendQueueDepth(), options.receiveQueueDepth(), options.receiveBufferBytes());
        this.completions = queue.newCompletions(BATCH);
        this.receives = ReceiveRequests.allocate(options.receiveQueueDepth());
        this.control = SendRequests.allocate(1);
        this.data = SendRequests.allocate(iwarp() ? 2 : 1);
        this.read = SendRequests.allocate(1);
        for (int i = 0; i < options.receiveQueueDepth(); i++) {
            long wrId = (long) i << KIND_BITS | RECEIVE;
            ReceiveRequests ignored = iwarp()
                    ? receives.receive(i, wrId, region, receiveWordsOffset + WORD * i, WORD)
                    : receives.receive(i, wrId, region, 0, 0);
        }
    }

    private static int wordsOffset(StreamOptions options) {
        return (options.sendBufferBytes() + WORD - 1) / WORD * WORD;
    }

    private boolean iwarp() {
        return options.mode() == StreamMode.IWARP;
    }

    private boolean split() {
        return options.mode() == StreamMode.SPLIT;
    }

    /**
     * Creates all objects of a stream on a device.
     *
     * @param id the id that connects the queue pair; null without rdma_cm
     * @param passed the number of bytes in each direction after which the counters begin, the same at the peer
     */
    static DataPath open(DeviceContext context, @Nullable CmId id, StreamOptions options, long passed) {
        boolean iwarp = options.mode() == StreamMode.IWARP;
        // Two requests for each message of data: the write, and its word. When they are flushed, both complete.
        boolean split = options.mode() == StreamMode.SPLIT;
        int sends = options.sendQueueDepth() * (iwarp ? 2 : 1) + (split ? PULLS : 0);
        long size = wordsOffset(options)
                + (iwarp ? (long) WORD * (options.sendQueueDepth() + options.receiveQueueDepth()) : 0)
                + options.receiveBufferBytes();
        try (Closer made = new Closer()) {
            ProtectionDomain pd = made.own(context.allocateProtectionDomain());
            RcEndpoint endpoint = made.own(RcEndpoint.open(
                    pd,
                    id,
                    id == null ? ConnectionMode.RAW : ConnectionMode.RDMA_CM,
                    new RcEndpoint.Plan(sends, options.receiveQueueDepth(), 1, 0, true, true, false, Mtu.UNKNOWN)));
            MemoryRegion region = endpoint.own(
                    split
                            ? pd.registerMemory(size, Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ)
                            : pd.registerMemory(size, Access.LOCAL_WRITE, Access.REMOTE_WRITE));
            DataPath path = new DataPath(options, endpoint, region, passed);
            made.keep();
            return path;
        }
    }

    // ---- setting up and ending ----

    QueuePair queuePair() {
        return queuePair;
    }

    int fileDescriptor() {
        return channel.fileDescriptor();
    }

    ConnectionData localData() {
        return new ConnectionData(
                region.address(receiveRingOffset),
                Integer.toUnsignedLong(region.rkey()),
                options.receiveBufferBytes(),
                options.receiveQueueDepth(),
                split() ? new ConnectionData.SendRing(region.address(), options.sendBufferBytes()) : null);
    }

    /** Posts all receives, before the peer knows the ring, so that the peer always finds one. */
    void postReceives() {
        queuePair.post(receives);
    }

    /**
     * Takes the peer's connection data. From now on data may be sent.
     *
     * @throws StreamException if only one side is in split mode
     */
    void start(ConnectionData peer) {
        peer.requireMode(options.mode());
        sendLock.lock();
        try {
            queueLock.lock();
            try {
                credits.connect(peer.credits());
                peerRing = new Ring(peer.ringBytes(), passed);
                peerAddress = peer.ringAddress();
                ConnectionData.SendRing peerSends = peer.sendRing();
                if (peerSends != null) {
                    peerSendAddress = peerSends.address();
                    peerSendBytes = peerSends.bytes();
                }
            } finally {
                queueLock.unlock();
            }
            int rkey = (int) peer.rkey();
            if (split()) {
                SendRequests ignored =
                        read.read(0, PULL, region, receiveRingOffset, 1, peerSendAddress, rkey, SendFlag.SIGNALED);
            }
            if (iwarp()) {
                SendRequests ignored = data.write(0, 0, region, 0, 1, peerAddress, rkey)
                        .send(1, DATA, region, sendWordsOffset, WORD, SendFlag.SIGNALED);
                ignored = control.send(0, CONTROL, region, sendWordsOffset, WORD, SendFlag.SIGNALED);
            } else {
                SendRequests ignored =
                        data.writeWithImmediate(0, DATA, region, 0, 1, peerAddress, rkey, 0, SendFlag.SIGNALED);
                ignored = control.sendWithImmediate(0, CONTROL, region, 0, 0, 0, SendFlag.SIGNALED);
            }
            started = true;
        } finally {
            sendLock.unlock();
        }
    }

    boolean isStarted() {
        return started;
    }

    /** Ends the sending of data. Control messages are still sent. */
    void stopSending() {
        sendLock.lock();
        try {
            stopped = true;
            postHeld();
        } finally {
            sendLock.unlock();
        }
    }

    boolean isStopped() {
        return stopped;
    }

    /** Notes that failed requests are expected from now on. */
    void ending() {
        ending = true;
    }

    boolean isEnding() {
        return ending;
    }

    @Nullable
    StreamException failure() {
        return failure;
    }

    /** Returns whether flushed requests are the only known failure. */
    boolean wasFlushed() {
        StreamException known = failure;
        return known != null && known.getCause() instanceof Flushed;
    }

    /** Notes a failure that does not show in the completion queue. */
    void broke(StreamException how) {
        queueLock.lock();
        try {
            if (failure == null || wasFlushed()) {
                failure = how;
            }
        } finally {
            queueLock.unlock();
        }
    }

    /** Takes all completions of the queue. */
    void drain() {
        queueLock.lock();
        try {
            while (take() > 0) {
                // until none is left
            }
        } finally {
            queueLock.unlock();
        }
    }

    /** Closes all objects, children first. No other call may be in progress. */
    void close() {
        receiveLock.lock();
        try {
            sendLock.lock();
            pullLock.lock();
            queueLock.lock();
            try {
                closeAll();
            } finally {
                queueLock.unlock();
                pullLock.unlock();
                sendLock.unlock();
            }
        } finally {
            receiveLock.unlock();
        }
    }

    private void closeAll() {
        ending = true;
        started = false;
        try (Closer made = new Closer()) {
            made.own(endpoint.protectionDomain());
            made.own(endpoint);
            made.own(receives::close);
            made.own(control::close);
            made.own(data::close);
            made.own(read::close);
        }
    }

    // ---- sending ----

    /**
     * Sends as many bytes as fit, without waiting; returns their number, 0 if there is no room.
     *
     * @param more whether another call follows at once: small data may wait for it
     */
    int send(ByteBuffer source, boolean more) {
        sendLock.lock();
        try {
            int sent = 0;
            while (source.hasRemaining()) {
                int chunk = reserve(source.remaining());
                if (chunk == 0) {
                    // Room becomes free only if the held bytes are sent.
                    postHeld();
                    if (!spin()) {
                        break;
                    }
                    chunk = reserve(source.remaining());
                    if (chunk == 0) {
                        break;
                    }
                }
                sendBytes.put(reservedOffset, source, source.position(), chunk);
                source.position(source.position() + chunk);
                sent += chunk;
                if (reservedToPull) {
                    announce(chunk);
                } else {
                    hold(chunk);
                }
            }
            if (!more) {
                postHeld();
            }
            if (controlDue) {
                returnCredits();
            }
            return sent;
        } finally {
            sendLock.unlock();
        }
    }

    /** Returns whether at least one byte can be sent, fi_sendmsg(3) with FI_PEEK. */
    boolean maySend() {
        queueLock.lock();
        try {
            if (sendable(1) == 0) {
                int ignored = take();
            }
            boolean room = sendable(1) > 0;
            noteRoom(room);
            return room;
        } finally {
            queueLock.unlock();
        }
    }

    private int sendable(int most) {
        return credits.maySendData() ? room(most) : 0;
    }

    private int room(int most) {
        if (!started || stopped || ending || failure != null) {
            return 0;
        }
        return Math.min(Math.min(most, MOST_WRITTEN), Math.min(sendRing.contiguousFree(), peerRing.contiguousFree()));
    }

    /** Reserves a piece of both rings that wraps in neither. */
    private int reserve(int most) {
        queueLock.lock();
        try {
            reservedOffset = sendRing.produceOffset();
            reservedRemote = peerAddress + peerRing.produceOffset();
            reservedAfterHeld = held > 0 && reservedOffset == heldOffset + held && reservedRemote == heldRemote + held;
            int chunk = split() && !reservedToPull ? pullable(most) : 0;
            boolean toPull = chunk > 0;
            if (chunk == 0) {
                // Data that joins the held message needs no further credit.
                chunk = reservedAfterHeld ? room(most) : sendable(most);
            }
            if (chunk > 0) {
                reservedToPull = toPull;
                if (toPull) {
                    toBePulled.add(sendRing.produced(), chunk);
                }
                boolean room = sendRing.produce(chunk) && peerRing.produce(chunk);
                assert room;
                reservedEnd = sendRing.produced();
                if (toPull || !reservedAfterHeld) {
                    credits.dataSent();
                }
            }
            noteRoom(chunk > 0);
            controlDue = returnDue();
            return chunk;
        } finally {
            queueLock.unlock();
        }
    }

    /** Returns the size of a piece for the peer to read, at most half of the data; 0 if that is too small. */
    private int pullable(int most) {
        int chunk = most < 2 * LEAST_PULLED || toBePulled.isFull() ? 0 : sendable(most / 2);
        return chunk < LEAST_PULLED ? 0 : chunk;
    }

    /** Announces the last reservation, now filled, for the peer to read. */
    private void announce(int length) {
        postHeld();
        if (ending || failure != null) {
            // The connection is over.
            return;
        }
        // Sent as data: its acknowledgement includes all earlier writes.
        postControl(reservedEnd << KIND_BITS | DATA, ControlWord.ofPull(length));
    }

    /** Adds the last reservation, now filled, to the held bytes, and posts them if they are enough. */
    private void hold(int length) {
        if (!reservedAfterHeld) {
            postHeld();
            heldOffset = reservedOffset;
            heldRemote = reservedRemote;
        }
        heldEnd = reservedEnd;
        int all = held + length;
        held = all;
        if (all >= MOST_HELD) {
            postHeld();
        }
    }

    /** Posts the held bytes. Each call that does not announce more data does this. */
    void flush() {
        if (held == 0) {
            return;
        }
        sendLock.lock();
        try {
            postHeld();
        } finally {
            sendLock.unlock();
        }
    }

    private void postHeld() {
        int length = held;
        if (length == 0) {
            return;
        }
        held = 0;
        if (ending || failure != null) {
            // The connection is over.
            return;
        }
        data.segment(0, heldOffset, length);
        data.remoteAddress(0, heldRemote);
        data.wrId(iwarp() ? 1 : 0, heldEnd << KIND_BITS | DATA);
        if (iwarp()) {
            data.segment(1, nextWord(ControlWord.ofData(length)), WORD);
        }
        post(data);
    }

    private void postControl(long wrId, int word) {
        control.wrId(0, wrId);
        if (iwarp()) {
            control.segment(0, nextWord(word), WORD);
        } else {
            control.immediate(0, word);
        }
        post(control);
    }

    /** Posts requests. Their bytes and credits are already counted, so a failure ends the stream. */
    private void post(SendRequests requests) {
        try {
            queuePair.post(requests);
        } catch (PostException e) {
            StreamException broken = lost(e);
            failure = broken;
            throw broken;
        }
    }

    /** Writes a word into a free slot: there is a slot for each message that may be unacknowledged. */
    private int nextWord(int word) {
        int at = WORD * (int) (wordsSent++ % options.sendQueueDepth());
        words.putInt(at, word);
        return sendWordsOffset + at;
    }

    /** Posts reads of announced pieces, up to the limit; returns whether there was any. */
    boolean pull() {
        if (!pullDue) {
            return false;
        }
        pullLock.lock();
        try {
            for (boolean any = false; ; any = true) {
                long start;
                int length;
                queueLock.lock();
                try {
                    if (ending || failure != null || pullsPosted == Math.min(PULLS, pulling.count())) {
                        pullDue = false;
                        return any;
                    }
                    start = pulling.start(pullsPosted);
                    length = pulling.length(pullsPosted);
                    pullsPosted++;
                } finally {
                    queueLock.unlock();
                }
                read.segment(0, receiveRingOffset + (int) (start % options.receiveBufferBytes()), length);
                read.remoteAddress(0, peerSendAddress + start % peerSendBytes);
                // Without the queue lock: a software device moves the data in this call.
                post(read);
            }
        } finally {
            pullLock.unlock();
        }
    }

    /** Polls for a while; false if there was no completion. */
    private boolean spin() {
        long begin = System.nanoTime();
        do {
            int completed = progress();
            boolean ignored = pull();
            if (completed > 0) {
                return true;
            }
        } while (System.nanoTime() - begin < SPIN_NANOS);
        return false;
    }

    /** Returns credits and bytes to the peer, if that is due and possible. */
    void returnCredits() {
        sendLock.lock();
        try {
            while (true) {
                int word;
                queueLock.lock();
                try {
                    if (!started || ending || failure != null) {
                        return;
                    }
                    if (credits.controlDue() && credits.maySendControl()) {
                        repost();
                        word = credits.takeControlWord();
                        credits.controlSent();
                    } else if (pullReportDue() && credits.maySendData()) {
                        // Not from the reserve, which must stay for returning credits to a peer without any.
                        word = ControlWord.ofPulled(pulledBytes);
                        pulledBytes = 0;
                        credits.dataSent();
                    } else {
                        return;
                    }
                } finally {
                    queueLock.unlock();
                }
                postControl(CONTROL, word);
            }
        } finally {
            sendLock.unlock();
        }
    }

    /** Returns whether a control message is due. */
    private boolean returnDue() {
        return credits.controlDue() || pullReportDue();
    }

    /**
     * Returns whether to report the bytes that were read: after the last piece, or after a quarter of the peer's ring.
     */
    private boolean pullReportDue() {
        return pulledBytes > 0 && (pulling.isEmpty() || pulledBytes >= peerSendBytes / 4);
    }

    // ---- receiving ----

    /** Copies received data out, without waiting; returns the number of bytes, 0 if there are none. */
    int receive(ByteBuffer destination) {
        flush();
        receiveLock.lock();
        try {
            int received = 0;
            int copied = 0;
            boolean polled = false;
            boolean due;
            while (true) {
                int offset;
                int chunk;
                // The lock is taken once for each piece, and a last time without one. For small messages it is a
                // large part of the cost.
                queueLock.lock();
                try {
                    if (copied > 0) {
                        boolean there = receiveRing.consume(copied);
                        assert there;
                        credits.copiedOut(copied);
                        copied = 0;
                    }
                    if (!polled && destination.hasRemaining() && receiveRing.used() == 0) {
                        polled = true;
                        int ignored = take();
                    }
                    offset = receiveRing.consumeOffset();
                    chunk = Math.min(destination.remaining(), receiveRing.contiguousUsed());
                    due = returnDue();
                } finally {
                    queueLock.unlock();
                }
                // Before the copy, so that reads and copy overlap.
                if (pull() && chunk == 0) {
                    // A software device has already completed the read.
                    polled = false;
                    continue;
                }
                if (chunk == 0) {
                    break;
                }
                destination.put(destination.position(), receiveBytes, offset, chunk);
                destination.position(destination.position() + chunk);
                copied = chunk;
                received += chunk;
            }
            if (due) {
                returnCredits();
            }
            return received;
        } finally {
            receiveLock.unlock();
        }
    }

    /** Returns how many bytes can be received now. */
    int available() {
        queueLock.lock();
        try {
            return receiveRing.used();
        } finally {
            queueLock.unlock();
        }
    }

    /** Returns whether this side's send queue has room for a control message. */
    boolean hasControlCredit() {
        queueLock.lock();
        try {
            return credits.hasControlCredit();
        } finally {
            queueLock.unlock();
        }
    }

    /** Returns how many messages the peer's device has not acknowledged. */
    int outstanding() {
        queueLock.lock();
        try {
            return credits.outstanding() + toBePulled.count();
        } finally {
            queueLock.unlock();
        }
    }

    String describe() {
        queueLock.lock();
        try {
            return sendRing.used() + " bytes in the send ring, " + peerRing.used() + " in the peer's ring, "
                    + (split() ? toBePulled.count() + " pieces that the peer has not read yet, " : "")
                    + receiveRing.used() + " in the receive ring, " + credits;
        } finally {
            queueLock.unlock();
        }
    }

    // ---- progress ----

    /** Notes the result of a check for room. The caller holds the queue lock. */
    private void noteRoom(boolean found) {
        roomFreed = false;
        blockedSender = found ? null : Thread.currentThread();
    }

    /**
     * Returns, once per thread, whether room may have become free since its last check. Another call may have taken the
     * completion, which then raises no event.
     */
    boolean mayHaveRoom() {
        queueLock.lock();
        try {
            boolean room = roomFreed && blockedSender == Thread.currentThread();
            if (room) {
                roomFreed = false;
            }
            return room;
        } finally {
            queueLock.unlock();
        }
    }

    /** Takes at most a batch of completions; returns their number. */
    int progress() {
        queueLock.lock();
        try {
            return take();
        } finally {
            queueLock.unlock();
        }
    }

    /**
     * Takes the channel's events and requests a notification. Earlier completions raise none: poll once more
     * afterwards.
     */
    void arm() {
        while (channel.pollEvent().isPresent()) {
            // until none is left
        }
        queue.requestNotify(false);
    }

    private int take() {
        if (!started) {
            // The peer's messages can't be checked before its connection data is known, so they stay in the queue.
            return 0;
        }
        int count = queue.poll(completions);
        if (count == 0) {
            // An idle moment: posting now delays nothing.
            repost();
        }
        roomFreed |= count > 0;
        for (int i = 0; i < count; i++) {
            if (!completions.isSuccess(i)) {
                failed(completions.get(i));
                continue;
            }
            long id = completions.wrId(i);
            switch ((int) (id & KIND)) {
                case (int) DATA -> {
                    acknowledged = id >>> KIND_BITS;
                    release();
                    credits.transmitCompleted();
                }
                case (int) CONTROL -> credits.transmitCompleted();
                case (int) PULL -> pulled();
                default -> {
                    unposted++;
                    received(i, (int) (id >>> KIND_BITS));
                }
            }
        }
        return count;
    }

    /** Frees acknowledged bytes of the send ring, up to the first piece that the peer has not read. */
    private void release() {
        sendRing.consumeTo(toBePulled.isEmpty() ? acknowledged : Math.min(acknowledged, toBePulled.start(0)));
    }

    /** Handles a completed read. Reads complete in their order. */
    private void pulled() {
        pulledBytes += pulling.remove();
        pullsPosted--;
        pullDue = pullsPosted < pulling.count();
        landed();
    }

    /** Makes all data before the first missing piece readable. */
    private void landed() {
        long readable = pulling.isEmpty() ? landing : pulling.start(0);
        boolean room = receiveRing.produce((int) (readable - receiveRing.produced()));
        assert room;
    }

    /**
     * Posts completed receives again. They complete in the order of posting, so their buffers are used as a ring. This
     * must happen before the peer gets their credits. Idle moments are better than the time between a message and its
     * answer.
     */
    private void repost() {
        int count = unposted;
        if (count == 0 || failure != null || ending) {
            return;
        }
        unposted = 0;
        int first = Math.min(count, options.receiveQueueDepth() - nextReceive);
        queuePair.post(receives, nextReceive, first);
        if (first < count) {
            queuePair.post(receives, 0, count - first);
        }
        nextReceive = (nextReceive + count) % options.receiveQueueDepth();
    }

    private void received(int index, int place) {
        boolean credited = credits.received();
        boolean immediate = completions.hasImmediate(index);
        int length = completions.byteLength(index);
        int word;
        boolean isData;
        if (iwarp()) {
            if (immediate || length != WORD) {
                protocolViolated("it sent immediate data instead of a word of 4 bytes: both sides need the same mode");
                return;
            }
            word = words.getInt(receiveWordsOffset - sendWordsOffset + WORD * place);
            isData = ControlWord.isData(word);
            length = ControlWord.dataBytes(word);
        } else {
            if (!immediate) {
                protocolViolated("it sent a message without immediate data: both sides need the same mode");
                return;
            }
            word = completions.immediate(index);
            isData = word == 0;
        }
        if (!credited) {
            protocolViolated("it sent more messages than it had credits for");
        } else if (isData) {
            int room = landingRoom();
            if (length > room) {
                protocolViolated("it wrote " + length + " bytes into a ring with " + room + " free");
                return;
            }
            landing += length;
            landed();
        } else if (split() && ControlWord.isPull(word)) {
            announced(ControlWord.bytes(word));
        } else if (split() && ControlWord.isPulled(word)) {
            pulledByPeer(ControlWord.bytes(word));
        } else if (!ControlWord.isControl(word)) {
            protocolViolated("it sent 0x" + Integer.toHexString(word) + ", which is not a control message");
        } else if (!credits.credited(ControlWord.credits(word)) || !peerRing.consume(ControlWord.bytes(word))) {
            protocolViolated("it returned " + ControlWord.credits(word) + " credits and " + ControlWord.bytes(word)
                    + " bytes, more than it had received");
        }
    }

    private int landingRoom() {
        return (int) (receiveRing.size() - (landing - receiveRing.consumed())) - credits.notReturned();
    }

    private void announced(int length) {
        int room = (int) Math.min(
                landingRoom(),
                Math.min(receiveRing.size() - landing % receiveRing.size(), peerSendBytes - landing % peerSendBytes));
        if (length < LEAST_PULLED || length > room) {
            protocolViolated("it announced a piece of " + length + " bytes to read: the least is " + LEAST_PULLED
                    + ", and there is room for " + room);
            return;
        }
        pulling.add(landing, length);
        landing += length;
        pullDue = true;
    }

    private void pulledByPeer(int bytes) {
        int left = bytes;
        while (left > 0 && !toBePulled.isEmpty() && toBePulled.length(0) <= left) {
            left -= toBePulled.remove();
        }
        if (left > 0 || bytes == 0) {
            protocolViolated("it reported " + bytes + " bytes as read, but " + left + " of them were not announced");
            return;
        }
        release();
    }

    private void protocolViolated(String what) {
        if (failure == null) {
            failure = new StreamException(
                    Reason.PROTOCOL_VIOLATION,
                    "the peer of " + queuePair.describe() + " violated the protocol: " + what);
            // Later messages can't be interpreted.
            queuePair.toError();
        }
    }

    private void failed(WorkCompletion completion) {
        StreamException known = failure;
        if (ending) {
            return;
        }
        boolean flushed = completion.status() == WorkCompletion.Status.WR_FLUSH_ERR;
        // Flushed requests are a consequence; the completion with the cause may come later.
        if (known == null || !flushed && known.getCause() instanceof Flushed) {
            failure = flushed ? lost(new Flushed()) : explain(completion);
        }
    }

    private StreamException explain(WorkCompletion completion) {
        if ((completion.wrId() & KIND) == RECEIVE
                && DriverQuirks.isMessageTooLong(
                        queuePair.protectionDomain().context().driver(), completion.status())) {
            return new StreamException(
                    Reason.PROTOCOL_VIOLATION,
                    "the peer of " + queuePair.describe()
                            + " sent a message longer than the posted receive: both sides need the same mode",
                    completion.exception());
        }
        return lost(completion.exception());
    }

    private StreamException lost(Throwable cause) {
        return new StreamException(
                Reason.CONNECTION_LOST,
                "the stream on " + queuePair.describe() + " broke: " + cause.getMessage(),
                cause);
    }

    /** The cause for flushed requests, whose own completions don't explain the failure. */
    private static final class Flushed extends Exception {

        private static final long serialVersionUID = 1L;

        Flushed() {
            super("its queue pair is in error, outstanding requests were flushed", null, false, false);
        }
    }
}
