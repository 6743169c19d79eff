package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.condition.Privilege;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.junit.condition.RequiresPrivilege;
import io.rdmatest.wire.WireCapture;
import io.rdmatest.wire.WireJudge;
import io.rdmatest.wire.WireReport;
import io.rdmatest.wire.WireReport.Group;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.StandardProtocolFamily;
import java.nio.channels.DatagramChannel;
import java.nio.channels.MembershipKey;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

/** What the page about the wire shows. Of one machine, only what goes to groups is on the wire. */
@RdmaTest
@RequiresDevice(driver = "rdma_rxe")
@RequiresPrivilege(Privilege.ROOT)
class WireDocsIT {

    private static final InetAddress GROUP = InetAddress.ofLiteral("239.77.0.99");

    @RdmaTest
    void theWireIsJudged(FabricDevice device, @TempDir Path folder) throws IOException {
        // begin code
        String networkInterface = WireCapture.interfaceOf(device.device().name());
        try (WireCapture capture = WireCapture.start(networkInterface, folder.resolve("exchange.pcap"));
                DatagramChannel member = join(networkInterface)) {
            assertThat(member.isOpen()).isTrue();
            WireReport report = WireJudge.judge(capture.stop());
            report.requireClean();
            assertThat(report.retransmissions()).isZero();
            assertThat(report.groups()).extracting(Group::address).contains(GROUP);
        }
        // end code
    }

    /** Who left at once would take back the report before the kernel sends it. */
    private static DatagramChannel join(String networkInterface) throws IOException {
        DatagramChannel channel = DatagramChannel.open(StandardProtocolFamily.INET);
        try {
            MembershipKey membership = channel.join(GROUP, NetworkInterface.getByName(networkInterface));
            assertThat(membership.isValid()).isTrue();
            return channel;
        } catch (IOException | RuntimeException | Error e) {
            channel.close();
            throw e;
        }
    }
}
