package io.rdmatest.stream;

import static io.rdmatest.stream.StreamFixture.ANY_PORT;
import static io.rdmatest.stream.StreamFixture.TIMEOUT;

import io.rdmatest.Closer;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;

/** The other end of a stream in plain verbs, as libfabric's provider is described; it knows no class of ours. */
final class WirePeer implements AutoCloseable {

    private static final int RING = 1 << 16;
    private static final int WORDS = RING;
    private static final int OUT = WORDS + 4096;
    private static final int SEND_RING = 1 << 16;
    private static final int SIZE = OUT + SEND_RING;
    private static final long RECEIVE = 1L << 40;

    private final Closer open = new Closer();
    private final CmId id;
    private final CompletionQueue queue;
    private final QueuePair queuePair;
    private final MemoryRegion region;
    private final Deque<WorkCompletion> arrived = new ArrayDeque<>();
    private final int credits;

    /** What the other side said of itself. */
    byte[] received = {};

    /** Null for a peer that a listener accepted. */
    private EventChannel channel;

    private int lastWord;
    private long offset;
    private long sends;
    private long acknowledged;
    private long receives;

    private WirePeer(CmId id, byte[] data) {
        this.id = id;
        open.own(id);
        credits = Short.toUnsignedInt(ByteBuffer.wrap(data).getShort(20));
        ProtectionDomain pd = open.own(id.context().allocateProtectionDomain());
        queue = open.own(id.context().createCompletionQueue(1000));
        region = open.own(pd.registerMemory(SIZE, Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ));
        queuePair = open.own(id.createQueuePair(
                pd,
                QueuePairAttributes.builder(QpType.RC)
                        .completionQueue(queue)
                        .maxSendWr(200)
                        .maxReceiveWr(200)
                        .build()));
    }

    /** The 24 bytes, but for address and key. */
    static byte[] data(int ring, int credits) {
        byte[] data = new byte[24];
        ByteBuffer.wrap(data)
                .order(ByteOrder.BIG_ENDIAN)
                .putInt(16, ring)
                .putShort(20, (short) credits)
                .put(22, (byte) 2)
                // Libfabric leaves this byte to chance.
                .put(23, (byte) 0x5a);
        return data;
    }

    /** The 40 bytes of the split mode, but for addresses and key. */
    static byte[] splitData(int ring, int credits) {
        byte[] data = Arrays.copyOf(data(ring, credits), 40);
        ByteBuffer.wrap(data)
                .order(ByteOrder.BIG_ENDIAN)
                .put(24, "SPLT".getBytes(StandardCharsets.US_ASCII))
                .putInt(28, SEND_RING);
        return data;
    }

    private ConnectionParameters parameters(byte[] data) {
        byte[] mine = data.clone();
        ByteBuffer buffer = ByteBuffer.wrap(mine)
                .order(ByteOrder.BIG_ENDIAN)
                .putLong(0, region.address())
                .putLong(8, Integer.toUnsignedLong(region.rkey()));
        if (mine.length == 40 && mine[24] == 'S') {
            // What a test has put there is added: an address that is none of this peer's.
            ByteBuffer ignored = buffer.putLong(32, buffer.getLong(32) + region.address() + OUT);
        }
        return ConnectionParameters.builder().privateData(mine).build();
    }

    /** Asks a listener for a connection. */
    static WirePeer request(InetSocketAddress target, byte[] data) {
        EventChannel channel = EventChannel.create();
        try {
            CmId id = channel.createId(PortSpace.TCP);
            id.resolveAddress(null, target, TIMEOUT);
            id.resolveRoute(TIMEOUT);
            WirePeer peer = new WirePeer(id, data);
            id.connect(peer.parameters(data));
            peer.ownChannel(channel);
            return peer;
        } catch (RuntimeException | Error e) {
            channel.ids().forEach(CmId::close);
            channel.close();
            throw e;
        }
    }

    private void ownChannel(EventChannel own) {
        channel = own;
    }

    void awaitEstablished() {
        received = id.expectEvent(CmEvent.Type.ESTABLISHED, TIMEOUT).privateData();
    }

    void awaitDisconnected() {
        CmEvent event = id.awaitEvent(TIMEOUT);
        // The other side answers, looks at what it was told, and leaves.
        if (event.type() == CmEvent.Type.ESTABLISHED) {
            event = id.awaitEvent(TIMEOUT);
        }
        CmEvent ignored = event.require(CmEvent.Type.DISCONNECTED);
    }

    /** Waits for one connection. */
    static final class Listener implements AutoCloseable {

        private final EventChannel channel = EventChannel.create();
        private final CmId id = channel.createId(PortSpace.TCP);

        Listener() {
            id.bind(ANY_PORT);
            id.listen(1);
        }

        InetSocketAddress address() {
            return id.localAddress();
        }

        WirePeer accept(byte[] data) {
            CmEvent request = id.expectEvent(CmEvent.Type.CONNECT_REQUEST, TIMEOUT);
            WirePeer peer = new WirePeer(request.id(), data);
            peer.received = request.privateData();
            request.id().accept(peer.parameters(data));
            return peer;
        }

        @Override
        public void close() {
            id.close();
            channel.close();
        }
    }

    void postReceives() {
        for (int i = 0; i < credits; i++) {
            queuePair.postReceive(RECEIVE + i, region, WORDS + 4L * i, 4);
        }
    }

    /** Waits for the next message, and posts its receive again. */
    WorkCompletion awaitReceive() {
        while (arrived.isEmpty()) {
            take();
        }
        receives++;
        WorkCompletion completion = arrived.remove();
        lastWord = region.buffer(WORDS + 4L * (completion.wrId() - RECEIVE), 4).getInt(0);
        long place = completion.wrId() - RECEIVE;
        queuePair.postReceive(completion.wrId(), region, WORDS + 4L * place, 4);
        return completion;
    }

    /** The word that came with the last message, in the host's order. */
    int word(WorkCompletion completion) {
        assert completion.byteLength() == 4;
        return lastWord;
    }

    long receives() {
        return receives;
    }

    private void take() {
        WorkCompletion completion = queue.awaitSuccess(TIMEOUT);
        if (completion.wrId() >= RECEIVE) {
            arrived.add(completion);
        } else {
            acknowledged++;
        }
    }

    /** Waits until the other side's device has all that was sent. */
    void awaitSends() {
        while (acknowledged < sends) {
            take();
        }
    }

    private long remote() {
        return ByteBuffer.wrap(received).getLong(0);
    }

    private int remoteKey() {
        return (int) ByteBuffer.wrap(received).getLong(8);
    }

    /** Data: a write with immediate 0 at the running offset, which must not wrap. */
    void write(int length) {
        writeAt(offset, length);
        offset += length;
    }

    void writeAt(long at, int length) {
        int from = prepare(length);
        queuePair.postWriteWithImmediate(
                sends++, region, from, length, remote() + at, remoteKey(), 0, SendFlag.SIGNALED);
    }

    /** Data of the split mode that the other side is to read. */
    void announce(int length) {
        int at = (int) (offset % SEND_RING);
        StreamFixture.fill(region.buffer(OUT + at, length), offset);
        sendControl(1 << 29 | length);
        offset += length;
    }

    /** Reads what the other side announced, into the own ring at the same place: before either ring wraps. */
    void read(int at, int length) {
        ByteBuffer theirs = ByteBuffer.wrap(received);
        queuePair.postRead(sends++, region, at, length, theirs.getLong(32) + at, remoteKey(), SendFlag.SIGNALED);
        awaitSends();
    }

    /** Data of the iWARP mode. */
    void writeAndWord(int length) {
        int from = prepare(length);
        queuePair.postWrite(sends++, region, from, length, remote() + offset, remoteKey(), SendFlag.SIGNALED);
        sendWord(0x80000000 | length);
        offset += length;
    }

    /** Puts data where nothing is that the other side has yet to read; returns where. */
    private int prepare(int length) {
        awaitSends();
        int at = (int) (offset % SEND_RING);
        int place = OUT + (at + length <= SEND_RING ? at : 0);
        StreamFixture.fill(region.buffer(place, length), offset);
        return place;
    }

    /** A control message: an empty send with the word as immediate data. */
    void sendControl(int word) {
        queuePair.postSendWithImmediate(sends++, region, 0, 0, word, SendFlag.SIGNALED);
    }

    /** A control message of the iWARP mode, or the second half of data. */
    void sendWord(int word) {
        region.buffer(OUT - 4, 4).putInt(0, word);
        queuePair.postSend(sends++, region, OUT - 4, 4, SendFlag.SIGNALED);
        awaitSends();
    }

    void assertRing(int at, int length, long position) {
        StreamFixture.assertFilled(region.buffer(at, length), position);
    }

    @Override
    public void close() {
        open.close();
        if (channel != null) {
            channel.close();
        }
    }
}
