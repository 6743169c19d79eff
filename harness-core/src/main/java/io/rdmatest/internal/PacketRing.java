package io.rdmatest.internal;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import io.rdmatest.RdmaException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
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
    private static final int SOCK_RAW_CLOEXEC = 3 | 0x80000;
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
    private static final int PROT_READ_WRITE = 3;
    private static final int MAP_SHARED = 1;
    private static final int EFD_CLOEXEC_NONBLOCK = 0x80000 | 0x800;
    private static final short POLLIN = 1;
    private static final short POLLERR = 8;
    private static final int EPERM = 1;
    private static final int EINTR = 4;

    private static final int STATUS_USER = 1;
    private static final int STATUS_VLAN = 1 << 4;
    private static final int STATUS_VLAN_PROTOCOL = 1 << 6;
    private static final int VLAN = 0x8100;

    private static final MethodHandle SOCKET =
            handle("socket", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle BIND =
            handle("bind", FunctionDescriptor.of(JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle SETSOCKOPT =
            handle("setsockopt", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, JAVA_INT));
    private static final MethodHandle GETSOCKOPT =
            handle("getsockopt", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT, JAVA_INT, ADDRESS, ADDRESS));
    private static final MethodHandle MMAP =
            handle("mmap", FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_LONG, JAVA_INT, JAVA_INT, JAVA_INT, JAVA_LONG));
    private static final MethodHandle MUNMAP = handle("munmap", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle EVENTFD = handle("eventfd", FunctionDescriptor.of(JAVA_INT, JAVA_INT, JAVA_INT));
    private static final MethodHandle WRITE =
            handle("write", FunctionDescriptor.of(JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle POLL =
            handle("poll", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG, JAVA_INT));
    private static final MethodHandle CLOSE = handle("close", FunctionDescriptor.of(JAVA_INT, JAVA_INT));
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

    private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
        return Native.capturing(Linker.nativeLinker().defaultLookup().findOrThrow(name), descriptor);
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
            throw Native.unchecked("socket", e);
        }
    }

    private void prepare(int index, int snapLength, boolean multicast) throws Throwable {
        // Protocol 0: no capture before the filter is attached.
        socket = (int) SOCKET.invokeExact(Native.errnoState(), AF_PACKET, SOCK_RAW_CLOEXEC, 0);
        if (socket < 0) {
            int errno = Native.errno();
            throw new RdmaException(
                    "socket",
                    "AF_PACKET, SOCK_RAW",
                    errno,
                    errno == EPERM
                            ? "Capturing packets needs CAP_NET_RAW: run as root, or give java that capability"
                            : "");
        }
        event = (int) EVENTFD.invokeExact(Native.errnoState(), 0, EFD_CLOEXEC_NONBLOCK);
        if (event < 0) {
            throw Native.failure("eventfd", "");
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
            MemorySegment mapped = (MemorySegment) MMAP.invokeExact(
                    Native.errnoState(), MemorySegment.NULL, (long) SIZE, PROT_READ_WRITE, MAP_SHARED, socket, 0L);
            if (mapped.address() == -1) {
                throw Native.failure("mmap", SIZE + " bytes of a packet ring");
            }
            ring = mapped.reinterpret(SIZE, arena, PacketRing::unmap);
            MemorySegment address = temporary.allocate(20, 4);
            address.set(JAVA_SHORT, 0, (short) AF_PACKET);
            address.set(JAVA_SHORT, 2, Short.reverseBytes((short) ETH_P_ALL));
            address.set(JAVA_INT, 4, index);
            if ((int) BIND.invokeExact(Native.errnoState(), socket, address, 20) != 0) {
                throw Native.failure("bind", "AF_PACKET, " + name);
            }
        }
        polled.set(JAVA_INT, 0, socket);
        polled.set(JAVA_SHORT, 4, POLLIN);
        polled.set(JAVA_INT, 8, event);
        polled.set(JAVA_SHORT, 12, POLLIN);
    }

    private void option(int level, int option, MemorySegment value, String operands) throws Throwable {
        int status =
                (int) SETSOCKOPT.invokeExact(Native.errnoState(), socket, level, option, value, (int) value.byteSize());
        if (status != 0) {
            throw Native.failure("setsockopt", operands);
        }
    }

    private static void unmap(MemorySegment mapped) {
        try {
            int ignored = (int) MUNMAP.invokeExact(Native.errnoState(), mapped, (long) SIZE);
        } catch (Throwable e) {
            throw Native.unchecked("munmap", e);
        }
    }

    /**
     * Waits for a packet or {@link #wake()}. After a wake, all later waits return at once.
     *
     * @param millis the timeout; -1 for none
     * @return whether a packet may be available
     */
    public boolean await(int millis) {
        try {
            int ready = (int) POLL.invokeExact(Native.errnoState(), polled, 2L, millis);
            if (ready < 0 && Native.errno() != EINTR) {
                throw Native.failure("poll", "a packet ring");
            }
            if (ready > 0 && (polled.get(JAVA_SHORT, 6) & POLLERR) != 0) {
                // The interface went down. Reading the error clears it; the capture continues when the interface is up
                // again.
                scratch.set(JAVA_INT, 8, 4);
                int ignored = (int) GETSOCKOPT.invokeExact(
                        Native.errnoState(), socket, SOL_SOCKET, SO_ERROR, scratch, scratch.asSlice(8));
            }
            return ready > 0 && (polled.get(JAVA_SHORT, 6) & POLLIN) != 0;
        } catch (Throwable e) {
            throw Native.unchecked("poll", e);
        }
    }

    /** Ignores {@link #wake()} from now on: later waits are for packets only. */
    public void ignoreWake() {
        polled.set(JAVA_INT, 8, -1);
    }

    /** Ends a wait, from any thread, while the ring is open. */
    public void wake() {
        try {
            long ignored = (long) WRITE.invokeExact(Native.errnoState(), event, one, 8L);
        } catch (Throwable e) {
            throw Native.unchecked("write", e);
        }
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
        try {
            int status = (int) GETSOCKOPT.invokeExact(
                    Native.errnoState(), socket, SOL_PACKET, PACKET_STATISTICS, scratch, scratch.asSlice(8));
            if (status != 0) {
                throw Native.failure("getsockopt", "PACKET_STATISTICS");
            }
        } catch (Throwable e) {
            throw Native.unchecked("getsockopt", e);
        }
        dropped += Integer.toUnsignedLong(scratch.get(JAVA_INT, 4));
        return dropped;
    }

    @Override
    public void close() {
        arena.close();
        for (int fd : new int[] {socket, event}) {
            if (fd >= 0) {
                try {
                    int ignored = (int) CLOSE.invokeExact(Native.errnoState(), fd);
                } catch (Throwable e) {
                    throw Native.unchecked("close", e);
                }
            }
        }
        socket = -1;
        event = -1;
    }
}
