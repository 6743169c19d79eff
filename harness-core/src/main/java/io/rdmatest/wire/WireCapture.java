package io.rdmatest.wire;

import io.rdmatest.Deadline;
import io.rdmatest.RdmaException;
import io.rdmatest.internal.linux.PacketRing;
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
 * Captures the packets of the network interface below a software RDMA device into a pcap file: RoCEv2, ARP, and IGMP
 * and ICMPv6 with the membership reports.
 *
 * <p>It captures the traffic between this host and others. Packets that a device sends to itself never reach the
 * interface, and packets of a hardware adapter bypass the kernel. The process needs CAP_NET_RAW. During a capture the
 * interface also receives multicast groups that this host has not joined.
 *
 * <p>A thread copies the packets from a ring of 16 MiB that the kernel writes. Only the file grows with the traffic, up
 * to its limit. Packets that did not fit in the ring or the file are counted, see {@link Result#isComplete()}.
 */
public final class WireCapture implements AutoCloseable {

    /** The default number of captured bytes of a packet: all headers, and whole management datagrams. */
    public static final int DEFAULT_SNAP_LENGTH = 400;

    /** A number of captured bytes that is enough for any RoCE packet. */
    public static final int WHOLE = 4400;

    /** The default limit of the file in bytes. */
    public static final long DEFAULT_LIMIT = 64L << 20;

    private static final Path DEVICES = Path.of("/sys/class/infiniband");
    private static final int LEAST_SNAP_LENGTH = 128;
    private static final int MOST_SNAP_LENGTH = 1 << 16;
    private static final int VLAN_TAG = 4;
    private static final int MAC_ADDRESSES = 12;

    /** The traffic is over after this time without a packet, or after {@link #PATIENCE}. */
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

    // Counted by the thread; read after its end.
    private long packets;
    private long leftOut;
    private long dropped;

    /**
     * The result of a capture.
     *
     * @param file the capture file
     * @param packets the number of captured packets
     * @param dropped packets that the kernel dropped because the ring was full
     * @param leftOut packets that did not fit into the file's limit
     */
    public record Result(Path file, long packets, long dropped, long leftOut) {

        /** Returns whether the file has all packets. */
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
     * Begins a capture with the default limits. It has every packet after this method returns.
     *
     * @param networkInterface the interface, such as {@code eth0}; see {@link #interfaceOf(String)}
     * @param file the file for the packets; replaced if it exists
     * @throws RdmaException if there is no such interface, or the process may not capture
     * @throws IOException if the file can't be written
     */
    public static WireCapture start(String networkInterface, Path file) throws IOException {
        return start(networkInterface, file, DEFAULT_SNAP_LENGTH, DEFAULT_LIMIT);
    }

    /**
     * Begins a capture. It has every packet after this method returns.
     *
     * @param networkInterface the interface, such as {@code eth0}; see {@link #interfaceOf(String)}
     * @param file the file for the packets; replaced if it exists
     * @param snapLength the captured bytes of a packet, 128 to 65536; {@link #WHOLE} for all
     * @param limit the largest size of the file in bytes, at least 64 KiB
     * @throws RdmaException if there is no such interface, or the process may not capture
     * @throws IOException if the file can't be written
     */
    public static WireCapture start(String networkInterface, Path file, int snapLength, long limit) throws IOException {
        if (snapLength < LEAST_SNAP_LENGTH || snapLength > MOST_SNAP_LENGTH) {
            throw new IllegalArgumentException("The captured bytes of a packet must be %d to %d, not %d"
                    .formatted(LEAST_SNAP_LENGTH, MOST_SNAP_LENGTH, snapLength));
        }
        if (limit < MOST_SNAP_LENGTH) {
            throw new IllegalArgumentException(
                    "The limit of a capture must be at least " + MOST_SNAP_LENGTH + " bytes, not " + limit);
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
            throw new RdmaException("Can't capture the packets of " + device
                    + ": it is not a soft-RoCE device, and packets of an adapter bypass the kernel");
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
        Deadline deadline = Deadline.after(PATIENCE);
        do {
            int ignored = ring.drain(this::take);
        } while (ring.await(QUIET_MILLIS) && !deadline.isOver());
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
     * Ends the capture after 100 ms without a packet, so that it has the last acknowledgements, or after 2 s.
     *
     * @return the result; a second call returns the same
     * @throws IOException if the file could not be written
     */
    public synchronized Result stop() throws IOException {
        Result known = result;
        if (known == null) {
            ending = true;
            ring.wake();
            join();
            // The thread has ended.
            ring.close();
            known = new Result(file, packets, dropped, leftOut);
            result = known;
        }
        Throwable failed = failure;
        if (failed != null) {
            throw new IOException("The capture in " + file + " is incomplete: " + failed, failed);
        }
        return known;
    }

    private void join() {
        if (!Deadline.after(JOIN).join(thread, () -> {})) {
            throw new IllegalStateException(thread.getName() + " did not end; its disk may hang");
        }
    }

    /**
     * Ends the capture, unless {@link #stop()} has done so.
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
