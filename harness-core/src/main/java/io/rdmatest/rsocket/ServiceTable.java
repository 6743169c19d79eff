package io.rdmatest.rsocket;

import io.rdmatest.RdmaException;
import io.rdmatest.ffi.rdma_h;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Room for many sockets in two tables of librdmacm that must not grow while they are in use.
 *
 * <p>Two threads of the library listen to the connection manager: one for all sockets of the process that are connected, one
 * for all that listen. In rdma-core (seen in release 44), when such a thread has three sockets and the fourth one comes, it
 * moves its table and goes on with the old one, whose memory it has given back. It then takes one socket for another, and
 * waits for an event that never comes, and with it every raccept and rclose of the process; and it writes into memory that
 * may be somebody else's by then.
 *
 * <p>A table grows by four entries each time its thread starts, which it does for the first socket after none, and keeps its
 * size. So both are made large enough by letting the threads start and end, before the process has a socket.
 */
final class ServiceTable {

    private static final int DEFAULT = 63;
    private static final int MOST = 16_383;

    /** How many entries a table grows by at each start of its thread; the first entry is the thread's own. */
    private static final int STEP = 4;

    private static final AtomicInteger TAKEN = new AtomicInteger();

    private static int room;

    private ServiceTable() {}

    /**
     * Takes the entry of a socket while it is created or accepted; the socket gives it back when it is closed. The first call
     * prepares the tables.
     *
     * @param making makes the socket; if it throws, the entry is free again
     * @return the socket
     * @throws RdmaException if all entries are taken, or there can be no socket
     * @throws IllegalArgumentException if the system property is wrong
     */
    static RSocket take(Supplier<RSocket> making) {
        int most = prepared();
        boolean made = false;
        int taken = TAKEN.incrementAndGet();
        try {
            if (taken > most) {
                throw new RdmaException(
                        "the %d rsockets that librdmacm was prepared for are open: close one, or start the JVM with -D%s=%d"
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

    /** Gives the entry of a socket back that is closed. */
    static void give() {
        int ignored = TAKEN.decrementAndGet();
    }

    /**
     * Reads the system property.
     *
     * @param value its value; null if it is not set
     * @return the most sockets that are open at a time
     * @throws IllegalArgumentException if it is none of the allowed numbers
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

    /** Hands a socket to a thread by a call, whatever comes of that, and closes it. */
    private static void startAndEnd(IntUnaryOperator call) {
        int fd = RCalls.socket(rdma_h.AF_INET(), rdma_h.SOCK_STREAM(), 0);
        if (fd < 0) {
            // The tables may be too small still: there is no socket before they are not.
            throw Native.failure("rsocket", "AF_INET, SOCK_STREAM");
        }
        // Connecting does not wait then: it is handed over while the address is looked up.
        int ignored = RCalls.fcntl(fd, rdma_h.F_SETFL(), rdma_h.O_NONBLOCK());
        ignored = call.applyAsInt(fd);
        ignored = RCalls.close(fd);
    }
}
