package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.rdmatest.Cause;
import io.rdmatest.Ledger;
import io.rdmatest.NativeResource;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.stream.StreamEndpoint;
import io.rdmatest.stream.StreamOptions;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.RdmaDevice;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** After a reset of the firmware, or a removal, every call that destroys something ends with EIO: the kernel has released all. */
@ExtendWith(UsualStandin.class)
class ResetTestCase {

    private static final int EIO = 5;
    private static final int EBUSY = 16;
    private static final int ENODEV = 19;

    @ParameterizedTest
    @ValueSource(ints = {EIO, ENODEV})
    void everythingIsReleasedWithItsDevice(int errno) throws Exception {
        // Those of the other cases that were released with their device stay allocated.
        long before = Standin.get("live_objects");
        try (Standin standin = new Standin()) {
            CompletionChannel channel = standin.add(standin.context.createCompletionChannel());
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(16, channel));
            Standin.Pair pair = standin.pair(standin.cq(), cq);
            QueuePair datagrams = standin.qp(QpType.UD, standin.cq());
            datagrams.attachMulticast(Gid.parse("ff0e::ffff:224.0.2.1"), 0);
            standin.add(standin.pd.createSharedReceiveQueue(16, 1));
            standin.add(standin.pd.createAddressHandle(AddressHandleAttributes.toGid(
                    1, 0, standin.context.gidTable(1).getFirst().gid())));
            cq.requestNotify(false);
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.a().postSend(2, pair.mrA(), 0, 64);
            long objects = Standin.get("live_objects") - before;
            assertThat(objects).isEqualTo(Ledger.live().size());

            Standin.set("destroy_error", errno);
            Standin.set("call_error", errno);
            standin.close();
            assertThat(Ledger.describeLive()).isEmpty();
            assertThat(Standin.get("destroy_calls")).isEqualTo(objects);
        }
    }

    @Test
    void theMemoryOfARegionIsFreed() throws Exception {
        try (Standin standin = new Standin()) {
            MemoryRegion region = standin.memory();
            Standin.reset();
            region.close();
            assertThatThrownBy(() -> region.fill((byte) 1)).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void anIdIsReleasedWithItsQueuePair() throws Exception {
        EventChannel channel = EventChannel.create();
        CmId id = channel.createId(PortSpace.TCP);
        id.bind(new InetSocketAddress(InetAddress.getByName("192.0.2.1"), 7471));
        DeviceContext context = id.context();
        ProtectionDomain pd = context.allocateProtectionDomain();
        CompletionQueue cq = context.createCompletionQueue(16);
        QueuePair pair = id.createQueuePair(
                pd, QueuePairAttributes.builder(QpType.RC).completionQueue(cq).build());
        Standin.reset();
        for (NativeResource each : new NativeResource[] {pair, cq, pd, id, channel}) {
            each.close();
            assertThat(each.isClosed()).as(each.describe()).isTrue();
        }
    }

    @Test
    void aStreamIsClosed() throws Exception {
        try (DeviceContext context = RdmaDevice.byName(Standin.DEVICE).open()) {
            StreamEndpoint a = StreamEndpoint.unconnected(context, StreamOptions.defaults());
            StreamEndpoint b = StreamEndpoint.unconnected(context, StreamOptions.defaults());
            RawConnection.connect(a.queuePair(), b.queuePair(), 1, 0, RawConnection.Parameters.DEFAULT);
            a.start(b.localData());
            b.start(a.localData());
            Standin.reset();
            a.close();
            b.close();
        }
    }

    /** Others say that the object is still there. */
    @Test
    void anObjectThatIsInUseStaysInTheLedger() throws Exception {
        try (Standin standin = new Standin()) {
            QueuePair pair = standin.qp(QpType.RC, standin.cq());
            Standin.set("destroy_error", EBUSY);
            assertThatThrownBy(pair::close)
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("ibv_destroy_qp")
                    .hasMessageContaining("EBUSY");
            assertThat(Ledger.live()).contains(pair);
            Standin.setUsual();
        }
    }

    /** What is no call that destroys something still fails, and says why. */
    @Test
    void otherCallsSayThatTheDeviceIsGone() throws Exception {
        try (Standin standin = new Standin()) {
            QueuePair pair = standin.qp(QpType.RC, standin.cq());
            Standin.reset();
            for (ThrowingCallable call : List.<ThrowingCallable>of(
                    pair::toError,
                    pair::state,
                    () -> standin.pd.registerMemory(64),
                    standin.context::createCompletionChannel,
                    () -> standin.context.port(1),
                    () -> standin.context.gidTable(1))) {
                RdmaException failure = catchThrowableOfType(RdmaException.class, call);
                assertThat(failure).hasMessageContaining("EIO").hasMessageContaining("firmware was reset");
                assertThat(failure.rdmaCause()).isEqualTo(Cause.DEVICE_REMOVED);
            }
        }
    }
}
