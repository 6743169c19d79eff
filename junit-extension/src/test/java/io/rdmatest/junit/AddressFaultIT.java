package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.rdmatest.Deadline;
import io.rdmatest.NativeResource;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.Fabric;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.fabric.FabricException;
import io.rdmatest.fabric.fault.ActiveFault;
import io.rdmatest.fabric.fault.Faults;
import io.rdmatest.junit.condition.Privilege;
import io.rdmatest.junit.condition.RequiresDevice;
import io.rdmatest.junit.condition.RequiresPrivilege;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AsyncEvent;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.GidType;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletionException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An address that goes away under a connection, on soft-RoCE; it is one that the test adds to the interface. */
@RdmaTest(timeout = "2 min")
@ExclusiveDevice
@IgnoreCounters
@RequiresDevice(driver = "rdma_rxe")
@RequiresPrivilege(Privilege.ROOT)
@Tag("slow")
class AddressFaultIT {

    private static final Duration SOON = Duration.ofSeconds(30);
    private static final Duration MOST = Duration.ofMinutes(2);
    private static final int SIZE = 5000;
    private static final RawConnection.Parameters PARAMETERS = RawConnection.Parameters.DEFAULT.withTimeout(14, 2);

    private final List<String> added = new ArrayList<>();
    private String netdev = "";
    private Fabric fabric;

    @BeforeEach
    void find(FabricDevice device) throws IOException {
        fabric = Fabric.load("microvm");
        netdev = NetworkInterface.getByIndex(device.gid().interfaceIndex()).getName();
    }

    @AfterEach
    void remove() throws IOException, InterruptedException {
        for (String each : added.reversed()) {
            ip("address", "delete", each, "dev", netdev);
        }
    }

    private InetAddress add(String address, int prefix) throws IOException, InterruptedException {
        ip("address", "add", address + "/" + prefix, "dev", netdev);
        added.add(address + "/" + prefix);
        return InetAddress.ofLiteral(address);
    }

    private static String ip(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("ip"));
        command.addAll(List.of(arguments));
        return Command.run(command.toArray(String[]::new));
    }

    @ParameterizedTest(name = "{0}/{1}, removed: {2}")
    @CsvSource({"10.77.1.1, 24, true", "10.77.1.1, 24, false", "fd77:1::1, 64, true"})
    void withItsAddressAConnectionGoesAndAllWorksAgain(String literal, int prefix, boolean removed, FabricDevice device)
            throws Exception {
        InetAddress address = add(literal, prefix);
        try (DeviceContext context = device.open();
                ProtectionDomain domain = context.allocateProtectionDomain();
                Transfer transfer = new Transfer(context, domain, device.port(), address)) {
            assertThat(transfer.failure()).isNull();
            while (context.pollAsyncEvent().isPresent()) {
                // Of the address that was added.
                continue;
            }
            if (removed) {
                String before = ip("address", "show", "dev", netdev);
                try (ActiveFault fault =
                        Faults.on(fabric).addressRemoved(fabric.local().port(), address, MOST)) {
                    assertThat(fault.awaitApplied()).endsWith(" is not on " + netdev);
                    requireGone(context, device.port(), address, transfer.awaitFailure());
                    assertThat(awaitEvent(context, AsyncEvent.Type.GID_CHANGE)).isEqualTo("port " + device.port());
                }
                assertThat(ip("address", "show", "dev", netdev)).isEqualTo(before);
            } else {
                assertThat(context.pollAsyncEvent()).isEmpty();
                assertThatThrownBy(() -> requireGone(context, device.port(), address, transfer.failure()))
                        .isInstanceOf(AssertionError.class);
            }
            // A connection of which a request failed stays broken; a new one works.
            try (Transfer again = new Transfer(context, domain, device.port(), address)) {
                assertThat(again.failure()).isNull();
            }
            resolve(address);
        }
    }

    private static void requireGone(DeviceContext context, int port, InetAddress address, @Nullable Throwable failure) {
        assertThat(failure)
                .isInstanceOfSatisfying(
                        WorkCompletionException.class,
                        completion -> assertThat(completion.status()).isEqualTo(WorkCompletion.Status.LOC_QP_OP_ERR));
        assertThat(gid(context, port, address)).isEmpty();
        assertThatThrownBy(() -> resolve(address)).hasMessageContaining("rdma_resolve_addr");
    }

    /** What comes first when an id is to be connected from the address to itself. */
    private static void resolve(InetAddress address) {
        try (EventChannel channel = EventChannel.create();
                CmId id = channel.createId(PortSpace.TCP)) {
            id.resolveAddress(address, new InetSocketAddress(address, 7), SOON);
        }
    }

    private static Optional<GidEntry> gid(DeviceContext context, int port, InetAddress address) {
        return context.gidTable(port).stream()
                .filter(entry -> entry.type() == GidType.ROCE_V2 && entry.gid().equals(Gid.of(address)))
                .findFirst();
    }

    private static String awaitEvent(DeviceContext context, AsyncEvent.Type wanted) {
        AsyncEvent event = context.awaitAsyncEvent(SOON);
        while (event.type() != wanted) {
            event = context.awaitAsyncEvent(SOON);
        }
        return event.affected();
    }

    /** Two connected queue pairs and what goes from one to the other. */
    private static final class Transfer implements AutoCloseable {

        private final Deque<NativeResource> opened = new ArrayDeque<>();
        private final CompletionQueue queue;
        private final QueuePair a;
        private final MemoryRegion source;
        private final MemoryRegion target;
        private byte mark;

        Transfer(DeviceContext context, ProtectionDomain domain, int port, InetAddress address) {
            try {
                queue = own(context.createCompletionQueue(8));
                source = own(domain.registerMemory(SIZE, Access.LOCAL_WRITE));
                target = own(domain.registerMemory(SIZE, Access.LOCAL_WRITE, Access.REMOTE_WRITE));
                QueuePairAttributes attributes = QueuePairAttributes.builder(QpType.RC)
                        .completionQueue(queue)
                        .build();
                a = own(domain.createQueuePair(attributes));
                QueuePair b = own(domain.createQueuePair(attributes));
                int index = gid(context, port, address).orElseThrow().index();
                RawConnection.connect(a, b, port, index, PARAMETERS);
            } catch (RuntimeException | Error e) {
                close();
                throw e;
            }
        }

        private <T extends NativeResource> T own(T resource) {
            opened.push(resource);
            return resource;
        }

        /** Writes a message of several packets, and returns what became of it. */
        private @Nullable Throwable failure() {
            source.fill(++mark);
            a.postWrite(mark, source, 0, SIZE, target.address(), target.rkey(), SendFlag.SIGNALED);
            Throwable failure = catchThrowable(() -> queue.awaitSuccess(SOON));
            if (failure == null) {
                assertThat(target.bytes().mismatch(source.bytes())).isEqualTo(-1);
            }
            return failure;
        }

        /** Writes until a message fails: with Linux 7.3 a connection outlives its address by up to 4 s. */
        private @Nullable Throwable awaitFailure() {
            Deadline deadline = Deadline.after(SOON);
            Throwable failure;
            do {
                failure = failure();
            } while (failure == null && !deadline.isOver());
            return failure;
        }

        @Override
        public void close() {
            while (!opened.isEmpty()) {
                opened.pop().close();
            }
        }
    }

    @RdmaTest
    void anAddressThatIsNotThereIsToldWithThoseThatAre(FabricDevice device) throws IOException {
        assertThatThrownBy(() -> Faults.on(fabric)
                        .addressRemoved(fabric.local().port(), InetAddress.ofLiteral("192.0.2.77"), MOST))
                .isInstanceOf(FabricException.class)
                .hasMessageContaining("192.0.2.77 is no address of " + netdev + " that stays; it has: ")
                .hasMessageContaining(device.address().getHostAddress());
    }
}
