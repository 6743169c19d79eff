package io.rdmatest.wire;

import io.rdmatest.RdmaException;
import io.rdmatest.internal.PacketRing;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Captures what passes a network interface below a software RDMA device into a pcap file: RoCEv2, IGMP and ICMPv6 with the
 * reports of multicast members, ARP.
 *
 * <p>It sees the traffic between this host and others. What a device sends to itself never reaches the interface, and the
 * packets of a hardware adapter do not pass through the kernel. The process needs CAP_NET_RAW. The interface also receives
 * the packets of groups that this host is no member of while a capture runs.
 *
 * <p>A thread of its own takes the packets from a ring of 16 MiB that the kernel writes, so that nothing grows with the
 * traffic but the file, up to its limit. What did not fit in either is counted, see {@link Result#isComplete()}.
 */
public final class WireCapture implements AutoCloseable {

    /** The bytes that are kept of a packet unless set: all headers, and management datagrams whole. */
    public static final int DEFAULT_SNAP_LENGTH = 400;

    /** Bytes that are enough for any RoCE packet. */
    public static final int WHOLE = 4400;

    /** The size of the file in bytes unless set. */
    public static final long DEFAULT_LIMIT = 64L << 20;

    private static final Path DEVICES = Path.of("/sys/class/infiniband");
    private static final int LEAST_SNAP_LENGTH = 128;
    private static final int MOST_SNAP_LENGTH = 1 << 16;
    private static final int VLAN_TAG = 4;
    private static final int MAC_ADDRESSES = 12;

    /** How long nothing may pass for the traffic to be over, and how long that is waited for. */
    private static final int QUIET_MILLIS = 100;

    private static final Duration PATIENCE = Duration.ofSeconds(2);
    private static final Duration JOIN = Duration.ofSeconds(30);

    private final PacketRing ring;
    private final PcapFile pcap;
    private final Path file;
    private final long limit;
    private final Thread thread;
    private volatile boolean ending;
    private volatile @Nullable Throwable failure;
    private @Nullable Result result;

    // What the thread counts; read when it has ended.
    private long packets;
    private long leftOut;
    private long dropped;

    /**
     * What was captured.
     *
     * @param file where the packets are
     * @param packets how many they are
     * @param dropped packets that the kernel had no room for in its ring
     * @param leftOut packets that the file had no room for within its limit
     */
    public record Result(Path file, long packets, long dropped, long leftOut) {

        /** Tells whether the file has all packets. */
        public boolean isComplete() {
            return dropped == 0 && leftOut == 0;
        }
    }

    private WireCapture(PacketRing ring, PcapFile pcap, Path file, long limit, String name) {
        this.ring = ring;
        this.pcap = pcap;
        this.file = file;
        this.limit = limit;
        thread = new Thread(this::run, "capture on " + name);
        thread.setDaemon(true);
    }

    /**
     * Begins to capture with the default limits; when it returns, no packet escapes it any more.
     *
     * @param networkInterface the interface, such as {@code eth0}; see {@link #interfaceOf(String)}
     * @param file the file for the packets; replaced if it is there
     * @throws RdmaException if there is no such interface, or the process may not capture
     * @throws IOException if the file can't be written
     */
    public static WireCapture start(String networkInterface, Path file) throws IOException {
        return start(networkInterface, file, DEFAULT_SNAP_LENGTH, DEFAULT_LIMIT);
    }

    /**
     * Begins to capture; when it returns, no packet escapes it any more.
     *
     * @param networkInterface the interface, such as {@code eth0}; see {@link #interfaceOf(String)}
     * @param file the file for the packets; replaced if it is there
     * @param snapLength how many bytes of a packet are kept, 128 to 65536; {@link #WHOLE} for all
     * @param limit the largest size of the file in bytes, at least 64 KiB
     * @throws RdmaException if there is no such interface, or the process may not capture
     * @throws IOException if the file can't be written
     */
    public static WireCapture start(String networkInterface, Path file, int snapLength, long limit) throws IOException {
        if (snapLength < LEAST_SNAP_LENGTH || snapLength > MOST_SNAP_LENGTH) {
            throw new IllegalArgumentException("The bytes kept of a packet are %d to %d, not %d"
                    .formatted(LEAST_SNAP_LENGTH, MOST_SNAP_LENGTH, snapLength));
        }
        if (limit < MOST_SNAP_LENGTH) {
            throw new IllegalArgumentException(
                    "The size of a capture is at least " + MOST_SNAP_LENGTH + " bytes, not " + limit);
        }
        PacketRing ring = PacketRing.open(networkInterface, index(networkInterface), snapLength, true);
        try {
            PcapFile pcap = PcapFile.create(file, snapLength + VLAN_TAG);
            WireCapture capture = new WireCapture(ring, pcap, file, limit, networkInterface);
            capture.thread.start();
            return capture;
        } catch (IOException | RuntimeException | Error e) {
            ring.close();
            throw e;
        }
    }

    private static int index(String name) {
        NetworkInterface found;
        try {
            found = NetworkInterface.getByName(name);
        } catch (SocketException e) {
            throw new IllegalStateException(e);
        }
        if (found == null) {
            throw new RdmaException("There is no network interface '" + name + "'; see 'ip link'");
        }
        return found.getIndex();
    }

    /**
     * Returns the network interface below a software RDMA device.
     *
     * @param device the device, such as {@code rxe0}
     * @throws RdmaException if there is no such device, or it is not soft-RoCE
     */
    public static String interfaceOf(String device) {
        Path folder = DEVICES.resolve(device);
        if (device.isEmpty() || !Files.isDirectory(folder)) {
            throw new RdmaException("There is no RDMA device '" + device + "'; see 'rdma link'");
        }
        try {
            return Files.readString(folder.resolve("parent")).strip();
        } catch (IOException e) {
            throw new RdmaException(
                    "The packets of " + device + " can't be captured: it is not a soft-RoCE device, and those"
                            + " of an adapter do not pass through the kernel");
        }
    }

    private void run() {
        try {
            try {
                takeAll();
                dropped = ring.dropped();
            } finally {
                pcap.close();
            }
        } catch (Throwable e) {
            failure = e;
        }
    }

    private void takeAll() {
        while (!ending) {
            if (ring.await(-1)) {
                int ignored = ring.drain(this::take);
            }
        }
        ring.ignoreWake();
        long endAt = System.nanoTime() + PATIENCE.toNanos();
        do {
            int ignored = ring.drain(this::take);
        } while (ring.await(QUIET_MILLIS) && System.nanoTime() - endAt < 0);
    }

    private void take(long seconds, int nanos, int length, MemorySegment bytes, int tag) {
        if (pcap.written() > limit - MOST_SNAP_LENGTH) {
            leftOut++;
            return;
        }
        try {
            ByteBuffer packet = bytes.asByteBuffer();
            if (tag == 0) {
                pcap.write(seconds, nanos, length, packet);
            } else {
                ByteBuffer tagged = ByteBuffer.allocate(packet.remaining() + VLAN_TAG);
                tagged.put(packet.slice(0, MAC_ADDRESSES)).putInt(tag);
                tagged.put(packet.position(MAC_ADDRESSES)).flip();
                pcap.write(seconds, nanos, length + VLAN_TAG, tagged);
            }
            packets++;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Ends the capture when nothing has passed for 100 ms, so that the last acknowledgements are in it, or after 2 s.
     *
     * @return what was captured; the same when called again
     * @throws IOException if the file could not be written
     */
    public synchronized Result stop() throws IOException {
        Result known = result;
        if (known == null) {
            ending = true;
            ring.wake();
            join();
            // The thread no longer uses it.
            ring.close();
            known = new Result(file, packets, dropped, leftOut);
            result = known;
        }
        Throwable failed = failure;
        if (failed != null) {
            throw new IOException("The capture in " + file + " is not complete: " + failed, failed);
        }
        return known;
    }

    private void join() {
        boolean interrupted = false;
        long deadline = System.nanoTime() + JOIN.toNanos();
        while (thread.isAlive() && System.nanoTime() - deadline < 0) {
            try {
                boolean ignored = thread.join(Duration.ofNanos(Math.max(1, deadline - System.nanoTime())));
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (thread.isAlive()) {
            throw new IllegalStateException(thread.getName()
                    + " does not end, although it waits for nothing but packets;" + " its disk may hang");
        }
    }

    /**
     * Ends the capture, if {@link #stop()} has not.
     *
     * @throws IOException if the file could not be written
     */
    @Override
    public void close() throws IOException {
        if (result == null) {
            Result ignored = stop();
        }
    }
}
