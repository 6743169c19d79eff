package io.rdmatest.docs;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ConnectionMode;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.Connection;
import io.rdmatest.junit.ConnectionOptions;
import io.rdmatest.junit.QueuePairOptions;
import io.rdmatest.junit.RdmaResources;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.junit.params.EachConnectionMode;
import io.rdmatest.junit.params.EachDevice;
import io.rdmatest.junit.params.EachGid;
import io.rdmatest.junit.params.EachMtu;
import io.rdmatest.junit.params.EachQpType;
import io.rdmatest.junit.params.EachSize;
import io.rdmatest.junit.params.RdmaParameterizedTest;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.SendFlag;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The examples of the pages about sources. */
@RdmaTest
class SourcesDocsIT {

    // begin each-size
    @RdmaParameterizedTest
    @EachSize(from = "64B", to = "16KiB", factor = 16)
    void arrives(QueuePair client, QueuePair server, RdmaResources resources, long size) {
        MemoryRegion source = resources.memory(size);
        MemoryRegion target = resources.memory(size);
        source.fill((byte) 42);
        client.postWrite(1, source, 0, (int) size, target.address(), target.rkey(), SendFlag.SIGNALED);
        client.sendQueue().awaitSuccess(Duration.ofSeconds(15));
        assertThat(target.buffer(0, (int) size).get((int) size - 1)).isEqualTo((byte) 42);
    }
    // end each-size

    // begin product
    @RdmaParameterizedTest
    @ValueSource(ints = {1, 8})
    void product(@EachQpType({QpType.RC, QpType.UD}) QpType type, int depth, RdmaResources resources) {
        QueuePair queuePair = resources.queuePair(QueuePairOptions.of(type).depth(depth, depth));
        assertThat(queuePair.type()).isEqualTo(type);
    }
    // end product

    // begin parameterized-test
    @ParameterizedTest
    @EachSize(values = {"1B", "4097B"})
    void withJunitsOwn(long size, RdmaResources resources) {
        assertThat(resources.memory(size).size()).isEqualTo(size);
    }
    // end parameterized-test

    // begin each-mtu
    @RdmaParameterizedTest
    void eachMtu(@EachMtu Mtu mtu, RdmaResources resources) {
        Connection connection = resources.connection(
                ConnectionOptions.defaults().mode(ConnectionMode.RAW).mtu(mtu));
        assertThat(connection.client().queuePair().query().pathMtu()).isEqualTo(mtu);
    }
    // end each-mtu

    // begin each-qp-type
    @RdmaParameterizedTest
    void eachType(@EachQpType QpType type, RdmaResources resources) {
        assertThat(resources.queuePair(QueuePairOptions.of(type)).type()).isEqualTo(type);
    }
    // end each-qp-type

    // begin each-connection-mode
    @RdmaParameterizedTest
    void eachWay(@EachConnectionMode ConnectionMode mode, Connection connection) {
        assertThat(connection.mode()).isEqualTo(mode);
    }
    // end each-connection-mode

    // begin each-device
    @RdmaParameterizedTest
    void eachDevice(@EachDevice FabricDevice device, Connection connection) {
        assertThat(connection.client().protectionDomain().context().deviceName())
                .isEqualTo(device.device().name());
    }
    // end each-device

    // begin each-gid
    @RdmaParameterizedTest
    @EachConnectionMode(ConnectionMode.RAW)
    void eachGid(@EachGid GidEntry gid, Connection connection) {
        assertThat(connection.client().queuePair().query().addressVector().gidIndex())
                .isEqualTo(gid.index());
    }
    // end each-gid
}
