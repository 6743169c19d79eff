package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.WholeLedger;
import io.rdmatest.wire.PcapFile;
import io.rdmatest.wire.RocePacket;
import io.rdmatest.wire.WireCapture;
import io.rdmatest.wire.WirePacket;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(300)
@WholeLedger
class FlowLabelIT {

    private static final int PEER_QP = 0x99;

    private Rig rig;
    private QueuePair last;

    @BeforeEach
    void open() {
        rig = new Rig();
    }

    @AfterEach
    void close() throws Exception {
        rig.close();
    }

    @Test
    void theQueuePairHasTheLabel() {
        Rig.Pair pair = rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT.withFlowLabel(0x12345), builder -> {});
        assertThat(pair.a().query().addressVector().flowLabel()).isEqualTo(0x12345);
        Rig.pattern(pair.mrA(), 1);
        pair.a()
                .postWrite(
                        1, pair.mrA(), 0, 64, pair.mrB().address(), pair.mrB().rkey(), SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(1);
    }

    /** Only packets for another host are on the wire: this one is not there, and the kernel is told its hardware address. */
    @Test
    void theLabelChoosesTheSourcePort(@TempDir Path folder) throws Exception {
        RdmaDevice device = RdmaDevice.byName(rig.context.deviceName());
        assumeTrue(
                device.driver().equals("rdma_rxe"),
                "unsupported by the device: packets of " + device.driver() + " are not seen by this host");
        String networkInterface = WireCapture.interfaceOf(device.name());
        byte[] gid = rig.gid(true).gid().bytes();
        gid[15] ^= 0x55;
        String peer = InetAddress.getByAddress(Arrays.copyOfRange(gid, 12, 16)).getHostAddress();
        ip("neigh", "replace", peer, "lladdr", "02:00:00:00:00:55", "dev", networkInterface, "nud", "permanent");
        try {
            int label = 0xabcde;
            assertThat(portsOf(RawConnection.Parameters.DEFAULT.withFlowLabel(label), gid, networkInterface, folder))
                    .containsExactly(AddressHandleAttributes.udpSourcePort(label));
            assertThat(portsOf(
                            RawConnection.Parameters.DEFAULT.withUdpSourcePort(50_000), gid, networkInterface, folder))
                    .containsExactly(50_000);
            Set<Integer> byNumbers = portsOf(RawConnection.Parameters.DEFAULT, gid, networkInterface, folder);
            assertThat(byNumbers)
                    .as("of numbers %d and %d", last.number(), PEER_QP)
                    .containsExactly(AddressHandleAttributes.udpSourcePort(
                            AddressHandleAttributes.flowLabel(last.number(), PEER_QP)));
        } finally {
            ip("neigh", "del", peer, "dev", networkInterface);
        }
    }

    /** Returns the source ports of all packets of a queue pair that writes until it gives up. */
    private Set<Integer> portsOf(RawConnection.Parameters parameters, byte[] gid, String networkInterface, Path folder)
            throws Exception {
        CompletionQueue cq = rig.cq();
        QueuePair queuePair = rig.qp(cq, builder -> {});
        MemoryRegion memory = rig.memory();
        last = queuePair;
        RawAddress local = RawAddress.of(queuePair, rig.gid(true), 1);
        RawAddress remote = new RawAddress(Gid.of(gid), 0, rig.port, PEER_QP, 1, local.mtu(), 0);
        Set<Integer> ports = new LinkedHashSet<>();
        try (WireCapture capture = WireCapture.start(networkInterface, folder.resolve(queuePair.number() + ".pcap"))) {
            RawConnection.connect(queuePair, local, remote, parameters.withTimeout(10, 1));
            queuePair.postWrite(1, memory, 0, 64, 0, 0, SendFlag.SIGNALED);
            assertThat(cq.awaitAny(1, Rig.SOON).getFirst().status()).isEqualTo(WorkCompletion.Status.RETRY_EXC_ERR);
            Object ignored = PcapFile.read(capture.stop().file(), frame -> {
                if (WirePacket.of(frame) instanceof RocePacket packet && packet.destinationQp() == PEER_QP) {
                    ports.add(packet.sourcePort());
                }
            });
        }
        return ports;
    }

    private static void ip(String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("ip"));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).as("%s: %s", command, said).isZero();
    }
}
