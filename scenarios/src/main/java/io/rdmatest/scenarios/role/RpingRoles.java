package io.rdmatest.scenarios.role;

import io.rdmatest.cm.CmEvent;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * The two sides of rping(1): the client advertises a buffer, the server reads it by RDMA READ, the client advertises a
 * second one, the server writes what it read into that by RDMA WRITE. Either side may be the C program.
 */
public final class RpingRoles {

    private static final SendFlag[] SIGNALED = {SendFlag.SIGNALED};
    private static final byte[] NO_DATA = new byte[0];

    private RpingRoles() {}

    /**
     * The results of the server.
     *
     * @param pings pings answered
     * @param bytesRead bytes that RDMA READ brought
     * @param bytesVerified how many of them were compared with the pattern
     */
    public record ServerResult(int pings, long bytesRead, long bytesVerified) {}

    /**
     * The results of the client.
     *
     * @param pings pings that came back
     * @param bytesVerified bytes that RDMA WRITE brought, all compared with the pattern
     * @param nanos the duration of all pings together, in nanoseconds
     * @param latencies the duration of each ping (one RDMA READ and one RDMA WRITE of the server), in nanoseconds
     * @param resolveNanos address resolution
     * @param routeNanos route resolution
     * @param connectNanos from the request to the established connection
     */
    public record ClientResult(
            int pings,
            long bytesVerified,
            long nanos,
            Histogram latencies,
            long resolveNanos,
            long routeNanos,
            long connectNanos) {}

    /**
     * Answers the pings of one client until it disconnects.
     *
     * @param address the address to bind to; null for that of the device
     * @param port the port, 0 for a free one, which is told to the other side
     * @param bringUp {@link BringUp#RDMA_CM} or {@link BringUp#EXTERNAL_QP} (rping -q)
     * @param bufferSize the largest ping accepted, in bytes
     * @param timeout how long to wait for any one step
     */
    public record Server(@Nullable InetAddress address, int port, BringUp bringUp, int bufferSize, Duration timeout)
            implements Role<ServerResult> {

        @Override
        public ServerResult run(RoleContext context) {
            try (RcLink.Listener listener = RcLink.Listener.open(context, address, port, 3)) {
                context.tell(Integer.toString(listener.id().localPort()));
                CmEvent request = listener.awaitRequest(timeout);
                MemoryRegion[] regions = new MemoryRegion[2];
                try (RcLink link =
                        RcLink.accept(context, RcLink.Spec.rping(bringUp, timeout), request, id -> {}, prepared -> {
                            regions[0] = prepared.register(2 * RpingMessage.SIZE, Access.LOCAL_WRITE);
                            regions[1] = prepared.register(
                                    bufferSize, Access.LOCAL_WRITE, Access.REMOTE_READ, Access.REMOTE_WRITE);
                            prepared.postReceive(0, regions[0], 0, RpingMessage.SIZE);
                            return NO_DATA;
                        })) {
                    ServerResult result = serve(link, regions[0], regions[1]);
                    link.awaitDisconnect();
                    return result;
                }
            }
        }

        private ServerResult serve(RcLink link, MemoryRegion control, MemoryRegion data) {
            MemorySegment message = control.bytes().asSlice(0, RpingMessage.SIZE);
            Progress progress = link.progress();
            int pings = 0;
            long bytes = 0;
            long requests = 0;
            int length = 0;
            boolean reading = true;
            while (progress.awaitReceiveOrEnd("advertisement of the rping client")) {
                requireControl(progress, "server");
                long address = RpingMessage.addressIn(message);
                int rkey = RpingMessage.rkeyIn(message);
                if (reading) {
                    length = RpingMessage.lengthIn(message);
                    if (length < 1 || length > data.size()) {
                        throw new AssertionError("The client advertised %s bytes; this server takes 1 to %d"
                                .formatted(Integer.toUnsignedString(length), data.size()));
                    }
                }
                // The client's next message follows at once on the go-ahead.
                link.postReceive(0, control, 0, RpingMessage.SIZE);
                if (reading) {
                    link.queuePair().postRead(1, data, 0, length, address, rkey, SIGNALED);
                    progress.awaitSends(++requests);
                    RpingPattern.verify(data.bytes().asSlice(0, length), pings, "server after RDMA READ");
                    bytes += length;
                } else {
                    int text = RpingPattern.stringLength(data.bytes().asSlice(0, length));
                    link.queuePair().postWrite(2, data, 0, text, address, rkey, SIGNALED);
                    progress.awaitSends(++requests);
                    pings++;
                }
                link.queuePair().postSend(3, control, RpingMessage.SIZE, RpingMessage.SIZE, SIGNALED);
                progress.awaitSends(++requests);
                reading = !reading;
            }
            return new ServerResult(pings, bytes, bytes);
        }
    }

    /**
     * Sends pings and compares every byte that comes back.
     *
     * @param address the server's address; null for that of the device
     * @param port the server's port; 0 to be told by the other side
     * @param bringUp {@link BringUp#RDMA_CM} or {@link BringUp#EXTERNAL_QP} (rping -q)
     * @param size the size of a ping, {@value RpingPattern#MIN_SIZE} to {@value RpingPattern#MAX_SIZE} bytes
     * @param count how many pings
     * @param timeout how long to wait for any one step
     */
    public record Client(
            @Nullable InetAddress address, int port, BringUp bringUp, int size, int count, Duration timeout)
            implements Role<ClientResult> {

        /** Checks the size. */
        public Client {
            RpingPattern.checkedSize(size);
        }

        @Override
        public ClientResult run(RoleContext context) {
            InetAddress remote = address != null ? address : context.device().address();
            int remotePort = port != 0 ? port : Integer.parseInt(context.hear("port of the rping server", timeout));
            MemoryRegion[] regions = new MemoryRegion[3];
            try (RcLink link = RcLink.connect(
                    context,
                    RcLink.Spec.rping(bringUp, timeout),
                    null,
                    new InetSocketAddress(remote, remotePort),
                    id -> {},
                    prepared -> {
                        regions[0] = prepared.register(2 * RpingMessage.SIZE, Access.LOCAL_WRITE);
                        for (int i = 1; i < 3; i++) {
                            regions[i] = prepared.register(
                                    size, Access.LOCAL_WRITE, Access.REMOTE_READ, Access.REMOTE_WRITE);
                        }
                        prepared.postReceive(0, regions[0], 0, RpingMessage.SIZE);
                        return NO_DATA;
                    })) {
                ClientResult result = ping(link, regions[0], regions[1], regions[2]);
                link.disconnect();
                return result;
            }
        }

        private ClientResult ping(RcLink link, MemoryRegion control, MemoryRegion source, MemoryRegion sink) {
            Histogram latencies = new Histogram(3);
            long nanos = 0;
            long requests = 0;
            for (int ping = 0; ping < count; ping++) {
                RpingPattern.fill(source.bytes(), ping);
                sink.fill((byte) 0xff);
                long start = System.nanoTime();
                requests = advertise(link, control, source, requests, "go-ahead of the rping server after RDMA READ");
                requests = advertise(link, control, sink, requests, "go-ahead of the rping server after RDMA WRITE");
                long elapsed = System.nanoTime() - start;
                latencies.recordValue(elapsed);
                nanos += elapsed;
                RpingPattern.verify(sink.bytes(), ping, "client after RDMA WRITE");
            }
            return new ClientResult(
                    count,
                    (long) count * size,
                    nanos,
                    latencies,
                    link.resolveNanos,
                    link.routeNanos,
                    link.connectNanos);
        }

        private static long advertise(
                RcLink link, MemoryRegion control, MemoryRegion buffer, long requests, String what) {
            RpingMessage.write(
                    control.bytes().asSlice(RpingMessage.SIZE, RpingMessage.SIZE),
                    buffer.address(),
                    buffer.rkey(),
                    (int) buffer.size());
            link.queuePair().postSend(1, control, RpingMessage.SIZE, RpingMessage.SIZE, SIGNALED);
            Progress progress = link.progress();
            progress.awaitReceive(what);
            requireControl(progress, "client");
            link.postReceive(0, control, 0, RpingMessage.SIZE);
            progress.awaitSends(requests + 1);
            return requests + 1;
        }
    }

    private static void requireControl(Progress progress, String side) {
        if (progress.byteLength() != RpingMessage.SIZE) {
            throw new AssertionError("A control message at the %s has %d bytes instead of %d"
                    .formatted(side, progress.byteLength(), RpingMessage.SIZE));
        }
    }
}
