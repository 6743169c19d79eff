package io.rdmatest.rsocket;

import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.linux.ManagerFile;
import io.rdmatest.internal.linux.SocketAddresses;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes room for many sockets in two tables of librdmacm, which must not grow while they are in use.
 *
 * <p>The library has two threads for the connection manager: one for all connected sockets, one for all listening
 * sockets. In rdma-core (seen in release 44) such a thread reallocates its table for the fourth socket, but continues
 * to use the old, freed memory. It then confuses sockets and waits for ever, and so does every raccept and rclose of
 * the process. It also corrupts memory.
 *
 * <p>A table grows by four entries each time its thread starts, and never shrinks. The thread starts with the first
 * socket and ends with the last one. So this class makes both threads start and end until the tables are large enough,
 * before the process has a socket.
 */
final class ServiceTable {

    private static final int DEFAULT = 63;
    private static final int MOST = 16_383;

    /** The entries by which a table grows at each start of its thread. The thread itself uses the first entry. */
    private static final int STEP = 4;

    private static final AtomicInteger TAKEN = new AtomicInteger();

    private static int room;

    private ServiceTable() {}

    /**
     * Reserves an entry and creates or accepts a socket. Closing the socket frees the entry. The first call prepares
     * the tables.
     *
     * @param making creates the socket; if it throws, the entry is freed
     * @return the socket
     * @throws RdmaException if all entries are in use, or the socket can't be created
     * @throws IllegalArgumentException if the system property is wrong
     */
    static RSocket take(Supplier<RSocket> making) {
        int most = prepared();
        boolean made = false;
        int taken = TAKEN.incrementAndGet();
        try {
            if (taken > most) {
                throw new RdmaException(
                        "all %d rsockets that librdmacm was prepared for are open: close one, or start the JVM with -D%s=%d"
                                .formatted(most, RSocket.SOCKETS, Math.min(MOST, 2 * most + 1)));
            }
            RSocket socket = making.get();
            made = true;
            return socket;
        } finally {
            if (!made) {
                give();
            }
        }
    }

    /** Frees the entry of a closed socket. */
    static void give() {
        int ignored = TAKEN.decrementAndGet();
    }

    /**
     * Reads the system property.
     *
     * @param value its value; null if it is not set
     * @return the largest number of open sockets
     * @throws IllegalArgumentException if it is not an allowed number
     */
    static int configured(@Nullable String value) {
        if (value == null) {
            return DEFAULT;
        }
        int most = value.strip().matches("\\d{1,9}") ? Integer.parseInt(value.strip()) : 0;
        if (most < 1 || most > MOST) {
            throw new IllegalArgumentException("-D%s=%s: allowed are 1 to %d".formatted(RSocket.SOCKETS, value, MOST));
        }
        return most;
    }

    private static synchronized int prepared() {
        if (room == 0) {
            int most = configured(System.getProperty(RSocket.SOCKETS));
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment self =
                        SocketAddresses.encode(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), arena);
                MemorySegment any = SocketAddresses.encode(new InetSocketAddress(0), arena);
                for (int entries = 0; entries <= most; entries += STEP) {
                    startAndEnd(fd -> RCalls.connect(fd, self));
                    startAndEnd(fd -> RCalls.bind(fd, any) == 0 ? RCalls.listen(fd, 1) : -1);
                }
            }
            room = most;
        }
        return room;
    }

    /** Creates a socket, passes it to a library thread by a call, ignores the result, and closes it. */
    private static void startAndEnd(IntUnaryOperator call) {
        int fd = RCalls.socket(rdma_h.AF_INET(), rdma_h.SOCK_STREAM(), 0);
        if (fd < 0) {
            // Not through RSocket: the tables are still too small for it.
            throw ManagerFile.failure("rsocket", "AF_INET, SOCK_STREAM");
        }
        // A non-blocking connect returns while the address is resolved, and the thread already has the socket.
        int ignored = RCalls.fcntl(fd, rdma_h.F_SETFL(), rdma_h.O_NONBLOCK());
        ignored = call.applyAsInt(fd);
        ignored = RCalls.close(fd);
    }
}
