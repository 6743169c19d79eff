package io.rdmatest.stream;

import io.rdmatest.internal.Cleanup;
import io.rdmatest.stream.StreamException.Reason;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.PostException;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.ReceiveRequests;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.WorkCompletion;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * The data's way: rings, queues, and the messages that pass between the two sides. It knows nothing of how the queue pair
 * got connected.
 *
 * <p>One region holds the send ring, for iWARP the words to send and to receive, and the receive ring. Data is copied into
 * the send ring and written from there into the peer's receive ring; a wrap of either ring splits it. What was sent leaves
 * the send ring when the peer's device acknowledged it, and the peer's ring when the peer said so.
 *
 * <p>In the split mode some pieces are announced instead of written. The peer reads them out of the send ring, at the place
 * that they have in the stream, and tells so; until then neither they nor what follows leaves the send ring. In its own ring,
 * what follows such a piece becomes readable with it.
 *
 * <p>Locks are taken in the order receive, send, pull, queue. Rings and credits belong to the queue lock; the prepared sends
 * to the send lock, the prepared read to the pull lock; only the holder of the send lock puts anything into the send ring, so
 * that it can copy without the queue lock. Nothing is allocated in sending, receiving and polling.
 */
final class DataPath {

    private static final int BATCH = 32;
    private static final int WORD = 4;

    /** The longest that one call polls an empty queue; then it comes back with what it has. */
    private static final long SPIN_NANOS = 10_000;

    /**
     * How many bytes are held back at most until more come, in one message: many packets of any path MTU, so that to post it is
     * little of what it takes, and few of them beside the ring, so that the peer copies out while the next one is under way.
     */
    private static final int MOST_HELD = 16 * 1024;

    /**
     * The most bytes of a message that nothing was held back for, and of a piece to be read: what is longer goes in several, so
     * that the peer copies out of its ring, and gives it back, while the rest is under way.
     */
    private static final int MOST_WRITTEN = 64 * 1024;

    /** The least bytes that the peer is to read by itself: two more messages have to be worth it. */
    private static final int LEAST_PULLED = 16 * 1024;

    /** How many reads are under way at most. */
    private static final int PULLS = 4;

    // The two low bits of a request's identifier: the opcode of a failed request is undefined.
    // The rest is the position of the send ring's counter after the data, or the receive's place.
    private static final int KIND_BITS = 2;
    private static final int KIND = 3;
    private static final long DATA = 0;
    private static final long CONTROL = 1;
    private static final long RECEIVE = 2;
    private static final long PULL = 3;

    private final StreamOptions options;
    private final ProtectionDomain protectionDomain;
    private final CompletionChannel channel;
    private final CompletionQueue queue;
    private final QueuePair queuePair;
    private final MemoryRegion region;

    private final int sendWordsOffset;
    private final int receiveWordsOffset;
    private final int receiveRingOffset;
    private final ByteBuffer sendBytes;
    private final ByteBuffer receiveBytes;
    /** The words of the iWARP mode, in the host's order as libfabric has them; empty in the other mode. */
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
    /** Whether what was set aside last goes on where what is held back ends, in both rings. */
    private boolean reservedBehindHeld;
    /** Whether what was set aside last is left to the peer to read: then the next is written. */
    private boolean reservedToPull;

    private int heldOffset;
    private long heldRemote;
    private long heldEnd;
    /** The bytes in the send ring that are counted but not posted yet: more were announced. Read without the lock, too. */
    private volatile int held;
    /** Whether the peer was owed enough to be told when room was last looked for. */
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
    /** Up to where this side's messages are acknowledged; pieces in between may not have been read yet. */
    private long acknowledged;
    /** What the peer was told to read and has not. */
    private final Pieces toBePulled;
    /** What the peer told this side to read and is not here. */
    private final Pieces pulling;
    /** How many of these are being read. */
    private int pullsPosted;
    /** How many bytes were read that the peer does not know of. */
    private int pulledBytes;
    /** Where the next piece goes: behind the receive ring's produced bytes there may be some that wait for one before. */
    private long landing;
    /** Whether something is to be read. Set under the lock, and read without, too. */
    private volatile boolean pullDue;

    private int nextReceive;
    /** Receives that completed and were not posted again. The peer does not know of them before it is given credits. */
    private int unposted;

    /** The thread that last found no room to send; null if there was since. */
    private @Nullable Thread crowded;
    /** Whether something came since that may have made room. */
    private boolean roomCame;

    private volatile boolean started;
    /** Whether this side has sent its last data. */
    private volatile boolean stopped;
    /** Whether the connection is over on purpose: what fails from then on was to be expected. */
    private volatile boolean ending;

    private volatile @Nullable StreamException failure;

    private DataPath(
            StreamOptions options,
            ProtectionDomain protectionDomain,
            CompletionChannel channel,
            CompletionQueue queue,
            QueuePair queuePair,
            MemoryRegion region,
            long passed) {
        this.options = options;
        this.protectionDomain = protectionDomain;
        this.channel = channel;
        this.queue = queue;
        this.queuePair = queuePair;
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
     * Makes all that a stream needs on a device.
     *
     * @param createQueuePair makes the queue pair, by itself or through rdma_cm
     */
    static DataPath open(
            DeviceContext context,
            StreamOptions options,
            BiFunction<ProtectionDomain, QueuePairAttributes, QueuePair> createQueuePair) {
        return open(context, options, createQueuePair, 0);
    }

    /** As the other, with counters as after so many bytes of a long stream in each direction; the peer's must be as far. */
    static DataPath open(
            DeviceContext context,
            StreamOptions options,
            BiFunction<ProtectionDomain, QueuePairAttributes, QueuePair> createQueuePair,
            long passed) {
        boolean iwarp = options.mode() == StreamMode.IWARP;
        // Two requests for each message of data: the write, and the word that tells of it. When they are flushed, both
        // complete.
        boolean split = options.mode() == StreamMode.SPLIT;
        int sends = options.sendQueueDepth() * (iwarp ? 2 : 1) + (split ? PULLS : 0);
        long size = wordsOffset(options)
                + (iwarp ? (long) WORD * (options.sendQueueDepth() + options.receiveQueueDepth()) : 0)
                + options.receiveBufferBytes();
        try (Cleanup made = new Cleanup()) {
            ProtectionDomain pd = made.add(context.allocateProtectionDomain());
            CompletionChannel channel = made.add(context.createCompletionChannel());
            CompletionQueue queue =
                    made.add(context.createCompletionQueue(sends + options.receiveQueueDepth(), channel));
            MemoryRegion region = made.add(
                    split
                            ? pd.registerMemory(size, Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ)
                            : pd.registerMemory(size, Access.LOCAL_WRITE, Access.REMOTE_WRITE));
            QueuePair queuePair = made.add(createQueuePair.apply(
                    pd,
                    QueuePairAttributes.builder(QpType.RC)
                            .completionQueue(queue)
                            .maxSendWr(sends)
                            .maxReceiveWr(options.receiveQueueDepth())
                            .build()));
            DataPath path = new DataPath(options, pd, channel, queue, queuePair, region, passed);
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

    /** Posts all receives: before the peer can know of this side, so that it never finds none. */
    void postReceives() {
        queuePair.post(receives);
    }

    /**
     * Takes what the peer said of itself; data may be sent from now on.
     *
     * @throws StreamException if only one side is in the split mode
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

    /** From now on nothing is sent any more but control messages. */
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

    /** From now on failed requests are what was to be expected. */
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

    /** Tells whether requests were flushed and nothing else is known that went wrong. */
    boolean wasFlushed() {
        StreamException known = failure;
        return known != null && known.getCause() instanceof Flushed;
    }

    /** Takes note of what the queues don't tell. */
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

    /** Takes everything that is in the queue, until it is empty. */
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

    /** Closes all, children first. Nobody may be in another call. */
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
        try (Cleanup made = new Cleanup()) {
            made.add(protectionDomain);
            made.add(channel);
            made.add(queue);
            made.add(region);
            made.add(queuePair);
            made.add(receives::close);
            made.add(control::close);
            made.add(data::close);
            made.add(read::close);
        }
    }

    // ---- sending ----

    /**
     * Sends what there is room for, without waiting: the number of bytes, 0 if there is none.
     *
     * @param more whether another call follows at once: what fills no message of its own may wait for it
     */
    int send(ByteBuffer source, boolean more) {
        sendLock.lock();
        try {
            int sent = 0;
            while (source.hasRemaining()) {
                int chunk = reserve(source.remaining());
                if (chunk == 0) {
                    // What is held back has to go, for the room that it takes to become free.
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
                giveBack();
            }
            return sent;
        } finally {
            sendLock.unlock();
        }
    }

    /** Tells whether at least one byte can be sent, fi_sendmsg(3) with FI_PEEK. */
    boolean maySend() {
        queueLock.lock();
        try {
            if (sendable(1) == 0) {
                int ignored = take();
            }
            boolean room = sendable(1) > 0;
            lookedForRoom(room);
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

    /** Sets a piece of both rings aside that wraps in neither. */
    private int reserve(int most) {
        queueLock.lock();
        try {
            reservedOffset = sendRing.produceOffset();
            reservedRemote = peerAddress + peerRing.produceOffset();
            reservedBehindHeld = held > 0 && reservedOffset == heldOffset + held && reservedRemote == heldRemote + held;
            int chunk = split() && !reservedToPull ? pullable(most) : 0;
            boolean toPull = chunk > 0;
            if (chunk == 0) {
                // What goes into the message that is held back needs no credit of its own.
                chunk = reservedBehindHeld ? room(most) : sendable(most);
            }
            if (chunk > 0) {
                reservedToPull = toPull;
                if (toPull) {
                    toBePulled.add(sendRing.produced(), chunk);
                }
                boolean room = sendRing.produce(chunk) && peerRing.produce(chunk);
                assert room;
                reservedEnd = sendRing.produced();
                if (toPull || !reservedBehindHeld) {
                    credits.dataSent();
                }
            }
            lookedForRoom(chunk > 0);
            controlDue = giveBackDue();
            return chunk;
        } finally {
            queueLock.unlock();
        }
    }

    /** Half of what is to be sent, as far as one piece goes; 0 if that is too little for the peer to read it by itself. */
    private int pullable(int most) {
        int chunk = most < 2 * LEAST_PULLED || toBePulled.isFull() ? 0 : sendable(most / 2);
        return chunk < LEAST_PULLED ? 0 : chunk;
    }

    /** Tells the peer to read what was set aside last, and is filled. */
    private void announce(int length) {
        postHeld();
        if (ending || failure != null) {
            // Nobody would get it.
            return;
        }
        // As data: its acknowledgement is that of all that was written before.
        postControl(reservedEnd << KIND_BITS | DATA, ControlWord.ofPull(length));
    }

    /** Takes what was set aside last, and is filled, to what is held back, and posts that when it is long enough. */
    private void hold(int length) {
        if (!reservedBehindHeld) {
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

    /** Posts what is held back, in calls that announce no more. */
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
            // Nobody would get it.
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

    /** Bytes and credits are counted already: what can't be posted ends the stream. */
    private void post(SendRequests requests) {
        try {
            queuePair.post(requests);
        } catch (PostException e) {
            StreamException broken = lost(e);
            failure = broken;
            throw broken;
        }
    }

    /** Writes a word where none is under way any more: as many places as messages may be unacknowledged. */
    private int nextWord(int word) {
        int at = WORD * (int) (wordsSent++ % options.sendQueueDepth());
        words.putInt(at, word);
        return sendWordsOffset + at;
    }

    /** Reads what the peer said is to be read, as much at once as may be; tells whether there was any. */
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
                // With a software device this is the work itself: without the queue lock.
                post(read);
            }
        } finally {
            pullLock.unlock();
        }
    }

    /** Polls for a while; false if nothing came. */
    private boolean spin() {
        long begin = System.nanoTime();
        do {
            int came = progress();
            boolean ignored = pull();
            if (came > 0) {
                return true;
            }
        } while (System.nanoTime() - begin < SPIN_NANOS);
        return false;
    }

    /** Tells the peer what this side owes it, if it is due and possible. */
    void giveBack() {
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
                    } else if (tellDue() && credits.maySendData()) {
                        // Not out of what is kept for giving back: that alone brings a peer on that has nothing left.
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

    /** Whether the peer is owed so much that it is to be told. */
    private boolean giveBackDue() {
        return credits.controlDue() || tellDue();
    }

    /** Whether it is time to tell what was read: the last piece, after which no call may come, or much of the peer's ring. */
    private boolean tellDue() {
        return pulledBytes > 0 && (pulling.isEmpty() || pulledBytes >= peerSendBytes / 4);
    }

    // ---- receiving ----

    /** Copies out what has arrived, without waiting: the number of bytes, 0 if there is none. */
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
                // Once for each piece, and once in vain: of small messages, the lock is a good part of what they cost.
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
                    due = giveBackDue();
                } finally {
                    queueLock.unlock();
                }
                // First of all: it is under way while this copies.
                if (pull() && chunk == 0) {
                    // With a software device it is here by now.
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
                giveBack();
            }
            return received;
        } finally {
            receiveLock.unlock();
        }
    }

    /** Tells how many bytes can be received at once. */
    int available() {
        queueLock.lock();
        try {
            return receiveRing.used();
        } finally {
            queueLock.unlock();
        }
    }

    /** Tells whether a control message could be sent as far as this side's queue goes. */
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

    /** The queue lock is held. */
    private void lookedForRoom(boolean found) {
        roomCame = false;
        crowded = found ? null : Thread.currentThread();
    }

    /**
     * Tells a thread once whether room may have come since it last found none: whichever call took the completion, it gives no
     * event any more.
     */
    boolean mayHaveRoom() {
        queueLock.lock();
        try {
            boolean room = roomCame && crowded == Thread.currentThread();
            if (room) {
                roomCame = false;
            }
            return room;
        } finally {
            queueLock.unlock();
        }
    }

    /** Takes completions, a batch at most: how many there were. */
    int progress() {
        queueLock.lock();
        try {
            return take();
        } finally {
            queueLock.unlock();
        }
    }

    /** Takes the channel's events and asks for the next one. What came before gives none: look once more afterwards. */
    void arm() {
        while (channel.pollEvent().isPresent()) {
            // until none is left
        }
        queue.requestNotify(false);
    }

    private int take() {
        if (!started) {
            // What the peer said of itself is what its messages are judged by. They stay where they are.
            return 0;
        }
        int count = queue.poll(completions);
        if (count == 0) {
            // Now it delays nothing: the peer is at work.
            repost();
        }
        roomCame |= count > 0;
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

    /** Frees what was acknowledged, up to what the peer has not read. */
    private void release() {
        sendRing.consumeTo(toBePulled.isEmpty() ? acknowledged : Math.min(acknowledged, toBePulled.start(0)));
    }

    /** Reads complete in their order. */
    private void pulled() {
        pulledBytes += pulling.remove();
        pullsPosted--;
        pullDue = pullsPosted < pulling.count();
        landed();
    }

    /** Makes readable what lies before the first piece that is not here. */
    private void landed() {
        long readable = pulling.isEmpty() ? landing : pulling.start(0);
        boolean room = receiveRing.produce((int) (readable - receiveRing.produced()));
        assert room;
    }

    /**
     * Posts the completed receives again: they complete in the order they were posted, so that places are used in a circle.
     * It is time when the peer is given credits for them, and done before when there is nothing else to do: not between
     * data that comes and the answer to it.
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
                violated("it sent immediate data where a word of 4 bytes is awaited: both sides need the same mode");
                return;
            }
            word = words.getInt(receiveWordsOffset - sendWordsOffset + WORD * place);
            isData = ControlWord.isData(word);
            length = ControlWord.dataBytes(word);
        } else {
            if (!immediate) {
                violated("it sent a message without immediate data: both sides need the same mode");
                return;
            }
            word = completions.immediate(index);
            isData = word == 0;
        }
        if (!credited) {
            violated("it sent more messages than there were receives for");
        } else if (isData) {
            int room = landingRoom();
            if (length > room) {
                violated("it wrote " + length + " bytes into a ring with " + room + " free");
                return;
            }
            landing += length;
            landed();
        } else if (split() && ControlWord.isPull(word)) {
            announced(ControlWord.bytes(word));
        } else if (split() && ControlWord.isPulled(word)) {
            toldPulled(ControlWord.bytes(word));
        } else if (!ControlWord.isControl(word)) {
            violated("it sent 0x" + Integer.toHexString(word) + ", which is no control message");
        } else if (!credits.credited(ControlWord.credits(word)) || !peerRing.consume(ControlWord.bytes(word))) {
            violated("it gave back " + ControlWord.credits(word) + " credits and " + ControlWord.bytes(word)
                    + " bytes, more than it had got");
        }
    }

    private int landingRoom() {
        return (int) (receiveRing.size() - (landing - receiveRing.consumed())) - credits.notGivenBack();
    }

    private void announced(int length) {
        int room = (int) Math.min(
                landingRoom(),
                Math.min(receiveRing.size() - landing % receiveRing.size(), peerSendBytes - landing % peerSendBytes));
        if (length < LEAST_PULLED || length > room) {
            violated("it announced a piece of " + length + " bytes to be read: a piece has at least " + LEAST_PULLED
                    + ", and there is room for " + room);
            return;
        }
        pulling.add(landing, length);
        landing += length;
        pullDue = true;
    }

    private void toldPulled(int bytes) {
        int left = bytes;
        while (left > 0 && !toBePulled.isEmpty() && toBePulled.length(0) <= left) {
            left -= toBePulled.remove();
        }
        if (left > 0 || bytes == 0) {
            violated("it told of " + bytes + " bytes that it has read, of which " + left + " are no announced pieces");
            return;
        }
        release();
    }

    private void violated(String what) {
        if (failure == null) {
            failure = new StreamException(
                    Reason.PROTOCOL_VIOLATION, "the peer of " + queuePair.describe() + " broke the protocol: " + what);
            // What comes after is not to be understood.
            queuePair.toError();
        }
    }

    private void failed(WorkCompletion completion) {
        StreamException known = failure;
        if (ending) {
            return;
        }
        boolean flushed = completion.status() == WorkCompletion.Status.WR_FLUSH_ERR;
        // Flushed requests tell only that something else went wrong, which may come later.
        if (known == null || !flushed && known.getCause() instanceof Flushed) {
            failure = flushed ? lost(new Flushed()) : explain(completion);
        }
    }

    private StreamException explain(WorkCompletion completion) {
        WorkCompletion.Status status = completion.status();
        boolean tooLong = status == WorkCompletion.Status.LOC_LEN_ERR
                // What rxe says of it.
                || status == WorkCompletion.Status.LOC_QP_OP_ERR;
        if (tooLong && (completion.wrId() & KIND) == RECEIVE) {
            return new StreamException(
                    Reason.PROTOCOL_VIOLATION,
                    "the peer of " + queuePair.describe()
                            + " sent a message that is longer than the receive for it: both"
                            + " sides need the same mode",
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

    /** Stands for requests that were flushed, whose own text says nothing. */
    private static final class Flushed extends Exception {

        private static final long serialVersionUID = 1L;

        Flushed() {
            super("its queue pair is in error, outstanding requests were flushed", null, false, false);
        }
    }
}
