package io.rdmatest.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.RdmaException;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * On the loopback interface, with packets from a socket; the traffic of a device needs another host. One test after the other:
 * each would capture the packets of the others, too.
 */
@Execution(ExecutionMode.SAME_THREAD)
class WireCaptureTests {

    private static final int EPERM = 1;

    /** Another run of these tests on this host is captured, too. */
    private static final int QP = ThreadLocalRandom.current().nextInt(2, 1 << 24);

    @TempDir
    private Path folder;

    private WireCapture start(int snapLength, long limit) throws IOException {
        try {
            return WireCapture.start("lo", folder.resolve("lo.pcap"), snapLength, limit);
        } catch (RdmaException e) {
            assertThat(e).hasMessageContaining("CAP_NET_RAW");
            assertThat(e.errno()).isEqualTo(EPERM);
            return abort("not permitted: " + e.getMessage());
        }
    }

    /** The payload of a UDP packet that is a RoCE one. */
    private static byte[] send(int psn, int length) {
        return ByteBuffer.allocate(12 + length + 4)
                .putInt(0x0400_ffff)
                .putInt(QP)
                .putInt(psn)
                .array();
    }

    private static void send(DatagramSocket socket, int port, byte[] bytes) throws IOException {
        send(socket, new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port), bytes);
    }

    private static void send(DatagramSocket socket, InetSocketAddress to, byte[] bytes) throws IOException {
        socket.send(new DatagramPacket(bytes, bytes.length, to));
    }

    private static List<RocePacket> mine(Path file) throws IOException {
        List<RocePacket> found = new ArrayList<>();
        Object ignored = PcapFile.read(file, frame -> {
            // What else this host does is no matter here.
            if (WirePacket.of(frame) instanceof RocePacket packet && packet.destinationQp() == QP) {
                found.add(packet);
            }
        });
        return found;
    }

    @Test
    void packetsOfTheFabricAreKeptAndOthersAreNot() throws IOException {
        WireCapture.Result result;
        try (WireCapture capture = start(WireCapture.WHOLE, WireCapture.DEFAULT_LIMIT);
                DatagramSocket socket = new DatagramSocket()) {
            for (int psn = 0; psn < 50; psn++) {
                send(socket, RocePacket.PORT, send(psn, 1000));
                send(socket, RocePacket.PORT + 1, send(psn, 1000));
            }
            result = capture.stop();
            assertThat(capture.stop()).isEqualTo(result);
        }

        assertThat(result.isComplete()).isTrue();
        List<RocePacket> mine = mine(result.file());
        // A packet on the loopback interface passes it twice.
        assertThat(mine.stream().map(RocePacket::psn).distinct()).hasSize(50);
        assertThat(mine).allSatisfy(packet -> {
            assertThat(packet.payload().remaining()).isEqualTo(1000);
            assertThat(packet.checksum()).isFalse();
        });
        assertThat(result.packets()).isLessThan(150);
    }

    @Test
    void packetsOfVersionSixAreKept() throws IOException {
        InetAddress six = InetAddress.ofLiteral("::1");
        assumeTrue(NetworkInterface.getByInetAddress(six) != null, "peer absent: this host has no IPv6");
        try (WireCapture capture = start(128, WireCapture.DEFAULT_LIMIT);
                DatagramSocket socket = new DatagramSocket()) {
            send(socket, new InetSocketAddress(six, RocePacket.PORT), send(7, 1000));
            send(socket, new InetSocketAddress(six, RocePacket.PORT + 1), send(8, 1000));
            assertThat(mine(capture.stop().file())).isNotEmpty().allSatisfy(packet -> {
                assertThat(packet.destination()).isEqualTo(six);
                assertThat(packet.psn()).isEqualTo(7);
            });
        }
    }

    @Test
    void onlyTheBeginOfAPacketIsKept() throws IOException {
        try (WireCapture capture = start(128, WireCapture.DEFAULT_LIMIT);
                DatagramSocket socket = new DatagramSocket()) {
            send(socket, RocePacket.PORT, send(1, 1000));
            List<RocePacket> mine = mine(capture.stop().file());
            assertThat(mine).isNotEmpty().allSatisfy(packet -> {
                assertThat(packet.payload().remaining()).isEqualTo(128 - 14 - 20 - 8 - 12);
                assertThat(packet.payloadLength()).isEqualTo(1000);
            });
        }
    }

    @Test
    void theFileHasItsLimit() throws IOException {
        try (WireCapture capture = start(WireCapture.WHOLE, 1 << 17);
                DatagramSocket socket = new DatagramSocket()) {
            for (int psn = 0; psn < 200; psn++) {
                send(socket, RocePacket.PORT, send(psn, 1400));
            }
            WireCapture.Result result = capture.stop();
            assertThat(result.isComplete()).isFalse();
            assertThat(result.leftOut() + result.dropped()).isPositive();
            assertThat(Files.size(result.file())).isLessThan(1 << 17);
            assertThat(WireJudge.judge(result).observations().getFirst()).contains("the capture is not complete");
        }
    }

    @Test
    void nothingIsLeftOfCaptures() throws IOException {
        int rounds = 40;
        long before = openFiles();
        for (int i = 0; i < rounds; i++) {
            WireCapture capture = start(128, WireCapture.DEFAULT_LIMIT);
            capture.close();
            capture.close();
        }

        // What other tests open meanwhile is less than one file of each capture.
        assertThat(openFiles() - before).isLessThan(rounds);
        assertThat(Files.readAllLines(Path.of("/proc/self/maps")).stream().filter(line -> line.contains("socket:[")))
                .hasSizeLessThan(rounds);
        assertThat(Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread.getName().equals("capture on lo")))
                .hasSizeLessThan(rounds);
    }

    private static long openFiles() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("/proc/self/fd"))) {
            return files.count();
        }
    }

    @Test
    void wrongUseIsNamed() {
        Path file = folder.resolve("x.pcap");
        assertThatThrownBy(() -> WireCapture.start("nope0", file))
                .isInstanceOf(RdmaException.class)
                .hasMessageContaining("There is no network interface 'nope0'");
        assertThatThrownBy(() -> WireCapture.start("lo", file, 1, 1 << 20)).hasMessageContaining("128 to 65536, not 1");
        assertThatThrownBy(() -> WireCapture.start("lo", file, 128, 1)).hasMessageContaining("at least 65536 bytes");
        assertThatThrownBy(() -> WireCapture.interfaceOf("nope0")).hasMessageContaining("no RDMA device 'nope0'");
        assertThat(file).doesNotExist();
    }
}
