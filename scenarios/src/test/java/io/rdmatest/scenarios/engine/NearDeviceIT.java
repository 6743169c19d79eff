package io.rdmatest.scenarios.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ConnectionMode;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.junit.ExclusiveDevice;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.Role;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory for a connection on the NUMA node that the device is said to be on. */
@Timeout(120)
@ExclusiveDevice
class NearDeviceIT {

    private static final Duration STEP = Duration.ofSeconds(20);

    @TempDir
    private Path devices;

    /** Of node 1023 there is no memory here: then it lies anywhere. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1023})
    void memoryIsRegisteredThereOrElsewhere(int node) throws Exception {
        Path attributes = Files.createDirectories(devices.resolve("near/device"));
        Files.writeString(attributes.resolve("numa_node"), node + "\n");
        Files.writeString(attributes.resolve("local_cpulist"), "0\n");
        RcLink.Spec spec = RcLink.Spec.rping(ConnectionMode.RDMA_CM, STEP);
        Role<String> server = context -> {
            try (RcLink.Listener listener = RcLink.Listener.open(context, null, 0, 1)) {
                context.tell(Integer.toString(listener.id().localPort()));
                try (RcLink link = RcLink.accept(context, spec, listener.awaitRequest(STEP), made -> new byte[0])) {
                    link.awaitDisconnect();
                    return "left";
                }
            }
        };
        Role<Long> client = context -> {
            int port = Integer.parseInt(context.hear("port", STEP));
            InetSocketAddress target = new InetSocketAddress(context.peerAddress(), port);
            try (NearDevice near = NearDevice.begin(devices, "near");
                    RcLink link = RcLink.connect(context, spec, null, target, made -> new byte[0])) {
                assertThat(near.node()).hasValue(node);
                MemoryRegion memory = near.register(link, 10_000, Access.LOCAL_WRITE, Access.REMOTE_WRITE);
                memory.fill((byte) 1);
                link.disconnect();
                return memory.size();
            }
        };

        assertThat(LocalRoles.runPair(Fabric.load("auto").local().resolve(), server, client, STEP.multipliedBy(2))
                        .client())
                .isEqualTo(10_000L);
    }
}
