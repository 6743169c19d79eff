package io.rdmatest.internal.linux;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.rdmatest.RdmaException;
import io.rdmatest.internal.Libc;
import io.rdmatest.internal.Native;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * Captures the packets of a network interface in both directions, in a ring of memory that the kernel writes: packet(7)
 * with PACKET_RX_RING of version 2, see the kernel's packet_mmap document. It needs no system call per packet.
 *
 * <p>For one thread, except {@link #wake()}.
 */
public final class PacketRing implements AutoCloseable {

    /** Takes captured packets. The bytes belong to the ring and are valid only during the call. */
    @FunctionalInterface
    public interface Sink {

        /**
         * Takes a packet.
         *
         * @param seconds its time in seconds since 1970
         * @param nanos the nanoseconds of that second
         * @param length the length of the packet in bytes, without the VLAN tag
         * @param bytes the captured bytes, from the Ethernet header on
         * @param tag the VLAN tag that the kernel removed from the packet: TPID and TCI; 0 if none
         */
        void take(long seconds, int nanos, int length, MemorySegment bytes, int tag);
    }

    /** The ring's memory in bytes. */
    private static final int SIZE = 16 << 20;

    private static final int BLOCK = 1 << 18;

    /** The kernel's header before a packet in its frame, and reserve for alignment. */
    private static final int OVERHEAD = 96;

    private static final int AF_PACKET = 17;
    private static final int ETH_P_ALL = 3;
    private static final int SOL_SOCKET = 1;
    private static final int SO_ERROR = 4;
    private static final int SO_ATTACH_FILTER = 26;
    private static final int SOL_PACKET = 263;
    private static final int PACKET_ADD_MEMBERSHIP = 1;
    private static final int PACKET_RX_RING = 5;
    private static final int PACKET_STATISTICS = 6;
    private static final int PACKET_VERSION = 10;
    private static final int TPACKET_V2 = 1;
    private static final short PACKET_MR_ALLMULTI = 2;

    private static final int STATUS_USER = 1;
    private static final int STATUS_VLAN = 1 << 4;
    private static final int STATUS_VLAN_PROTOCOL = 1 << 6;
    private static final int VLAN = 0x8100;

    private static final VarHandle STATUS = JAVA_INT.varHandle();

    private final Arena arena = Arena.ofShared();
    private final MemorySegment polled = arena.allocate(16, 8);
    private final MemorySegment scratch = arena.allocate(32, 8);
    private final MemorySegment one = arena.allocateFrom(JAVA_LONG, 1L);
    private final String name;
    private final int frameSize;
    private final int frames;
    private int socket = -1;
    private int event = -1;
    private MemorySegment ring = MemorySegment.NULL;
    private int next;
    private long dropped;

    private PacketRing(String name, int snapLength) {
        this.name = name;
        frameSize = Math.max(512, Integer.highestOneBit(snapLength + OVERHEAD - 1) << 1);
        frames = SIZE / frameSize;
    }

    /**
     * Begins the capture.
     *
     * @param name the network interface
     * @param index its index
     * @param snapLength the captured bytes of a packet, 64 to 65536
     * @param multicast whether to capture multicast groups that this host has not joined, too
     * @throws RdmaException for example EPERM without CAP_NET_RAW
     */
    public static PacketRing open(String name, int index, int snapLength, boolean multicast) {
        PacketRing opened = new PacketRing(name, snapLength);
        try {
            opened.prepare(index, snapLength, multicast);
            return opened;
        } catch (Throwable e) {
            opened.close();
            throw e;
        }
    }

    private void prepare(int index, int snapLength, boolean multicast) {
        // Protocol 0: no capture before the filter is attached.
        socket = Libc.socket(AF_PACKET, Libc.SOCK_RAW | Libc.O_CLOEXEC, 0);
        if (socket < 0) {
            int errno = Native.errno();
            throw new RdmaException(
                    "socket",
                    "AF_PACKET, SOCK_RAW",
                    errno,
                    errno == Libc.EPERM
                            ? "Capturing packets needs CAP_NET_RAW: run as root, or give java that capability"
                            : "");
        }
        event = Libc.eventfd(0, Libc.O_CLOEXEC | Libc.O_NONBLOCK);
        if (event < 0) {
            throw NativeCalls.failure("eventfd", "");
        }
        try (Arena temporary = Arena.ofConfined()) {
            option(SOL_PACKET, PACKET_VERSION, temporary.allocateFrom(JAVA_INT, TPACKET_V2), "PACKET_VERSION");
            option(
                    SOL_PACKET,
                    PACKET_RX_RING,
                    temporary.allocateFrom(JAVA_INT, BLOCK, SIZE / BLOCK, frameSize, frames),
                    "PACKET_RX_RING, " + frames + " frames of " + frameSize + " bytes");
            long[] program = PacketFilter.program(snapLength);
            MemorySegment filter = temporary.allocate(16, 8);
            filter.set(JAVA_SHORT, 0, (short) program.length);
            filter.set(ADDRESS, 8, temporary.allocateFrom(JAVA_LONG, program));
            option(SOL_SOCKET, SO_ATTACH_FILTER, filter, "SO_ATTACH_FILTER");
            if (multicast) {
                MemorySegment membership = temporary.allocate(16, 4);
                membership.set(JAVA_INT, 0, index);
                membership.set(JAVA_SHORT, 4, PACKET_MR_ALLMULTI);
                option(SOL_PACKET, PACKET_ADD_MEMBERSHIP, membership, "PACKET_ADD_MEMBERSHIP");
            }
            long mapped = Libc.mmap(SIZE, Libc.PROT_READ_WRITE, Libc.MAP_SHARED, socket);
            if (mapped == Libc.MAP_FAILED) {
                throw NativeCalls.failure("mmap", SIZE + " bytes of a packet ring");
            }
            ring = MemorySegment.ofAddress(mapped).reinterpret(SIZE, arena, PacketRing::unmap);
            MemorySegment address = temporary.allocate(20, 4);
            address.set(JAVA_SHORT, 0, (short) AF_PACKET);
            address.set(JAVA_SHORT, 2, Short.reverseBytes((short) ETH_P_ALL));
            address.set(JAVA_INT, 4, index);
            if (Libc.bind(socket, address) != 0) {
                throw NativeCalls.failure("bind", "AF_PACKET, " + name);
            }
        }
        polled.set(JAVA_INT, 0, socket);
        polled.set(JAVA_SHORT, 4, Libc.POLLIN);
        polled.set(JAVA_INT, 8, event);
        polled.set(JAVA_SHORT, 12, Libc.POLLIN);
    }

    private void option(int level, int option, MemorySegment value, String operands) {
        if (Libc.setsockopt(socket, level, option, value) != 0) {
            throw NativeCalls.failure("setsockopt", operands);
        }
    }

    private static void unmap(MemorySegment mapped) {
        int ignored = Libc.munmap(mapped.address(), SIZE);
    }

    /**
     * Waits for a packet or {@link #wake()}. After a wake, all later waits return at once.
     *
     * @param millis the timeout; -1 for none
     * @return whether a packet may be available
     */
    public boolean await(int millis) {
        int ready = Libc.poll(polled, 2, millis);
        if (ready < 0 && Native.errno() != Libc.EINTR) {
            throw NativeCalls.failure("poll", "a packet ring");
        }
        if (ready > 0 && (polled.get(JAVA_SHORT, 6) & Libc.POLLERR) != 0) {
            // The interface went down. Reading the error clears it; the capture continues when the interface is up
            // again.
            scratch.set(JAVA_INT, 8, 4);
            int ignored = Libc.getsockopt(socket, SOL_SOCKET, SO_ERROR, scratch, scratch.asSlice(8));
        }
        return ready > 0 && (polled.get(JAVA_SHORT, 6) & Libc.POLLIN) != 0;
    }

    /** Ignores {@link #wake()} from now on: later waits are for packets only. */
    public void ignoreWake() {
        polled.set(JAVA_INT, 8, -1);
    }

    /** Ends a wait, from any thread, while the ring is open. */
    public void wake() {
        long ignored = Libc.write(event, one, Long.BYTES);
    }

    /**
     * Passes the available packets to a sink.
     *
     * @return the number of packets
     */
    public int drain(Sink sink) {
        int taken = 0;
        // At most once around the ring: a busy link would never end it.
        while (taken < frames) {
            long at = (long) next * frameSize;
            int status = (int) STATUS.getAcquire(ring, at);
            if ((status & STATUS_USER) == 0) {
                return taken;
            }
            int length = ring.get(JAVA_INT, at + 4);
            int captured = ring.get(JAVA_INT, at + 8);
            int from = Short.toUnsignedInt(ring.get(JAVA_SHORT, at + 12));
            int tag = 0;
            if ((status & STATUS_VLAN) != 0) {
                int protocol = (status & STATUS_VLAN_PROTOCOL) == 0
                        ? VLAN
                        : Short.toUnsignedInt(ring.get(JAVA_SHORT, at + 26));
                tag = protocol << 16 | Short.toUnsignedInt(ring.get(JAVA_SHORT, at + 24));
            }
            sink.take(
                    Integer.toUnsignedLong(ring.get(JAVA_INT, at + 16)),
                    ring.get(JAVA_INT, at + 20),
                    length,
                    ring.asSlice(at + from, captured),
                    tag);
            STATUS.setRelease(ring, at, 0);
            next = (next + 1) % frames;
            taken++;
        }
        return taken;
    }

    /** Returns how many packets the kernel has dropped so far because the ring was full. */
    public long dropped() {
        // Reading resets the kernel's count.
        scratch.set(JAVA_INT, 8, 8);
        if (Libc.getsockopt(socket, SOL_PACKET, PACKET_STATISTICS, scratch, scratch.asSlice(8)) != 0) {
            throw NativeCalls.failure("getsockopt", "PACKET_STATISTICS");
        }
        dropped += Integer.toUnsignedLong(scratch.get(JAVA_INT, 4));
        return dropped;
    }

    @Override
    public void close() {
        arena.close();
        for (int fd : new int[] {socket, event}) {
            if (fd >= 0) {
                int ignored = Libc.close(fd);
            }
        }
        socket = -1;
        event = -1;
    }
}
