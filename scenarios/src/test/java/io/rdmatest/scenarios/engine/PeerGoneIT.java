package io.rdmatest.scenarios.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.rdmatest.ConnectionMode;
import io.rdmatest.cm.CmEvent;
import io.rdmatest.cm.CmId;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.cm.EventChannel;
import io.rdmatest.cm.PortSpace;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.junit.IgnoreCounters;
import io.rdmatest.junit.RdmaTest;
import io.rdmatest.scenarios.pingpong.PingPongRoles;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Plan;
import io.rdmatest.scenarios.pingpong.PingPongRoles.Result;
import io.rdmatest.scenarios.role.LocalRoles;
import io.rdmatest.scenarios.role.LocalRoles.Running;
import io.rdmatest.scenarios.rping.RpingMessage;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawAddress;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletionException;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A peer whose queue pair vanishes without a word in the middle of a transfer: the role at the other end has to learn it from
 * its completions, before any of its steps takes too long.
 */
@RdmaTest(timeout = "4 min")
@IgnoreCounters
@Tag("slow")
class PeerGoneIT {

    /** Much longer than all retries of a connection take together. */
    private static final Duration STEP = Duration.ofSeconds(100);

    private static final int SIZE = 1000;
    private static final int COUNT = 50;

    /** More reads than there is time for. */
    private static final int ENDLESS = 10_000_000;

    @ParameterizedTest(name = "{0}, peer gone: {1}")
    @CsvSource({"RDMA_CM, true", "RDMA_CM, false", "RAW, true", "RAW, false"})
    void requestsToAPeerThatIsGoneEndWhenTheRetriesDo(ConnectionMode bringUp, boolean gone, FabricDevice device) {
        Throwable failure = failureOfReads(plan(bringUp, gone ? ENDLESS : COUNT), gone, device);

        if (gone) {
            requireRetriesExceeded(failure);
        } else {
            assertThat(failure).isNull();
            assertThatThrownBy(() -> requireRetriesExceeded(failure)).isInstanceOf(AssertionError.class);
        }
        Plan again = plan(bringUp, COUNT);
        assertThat(LocalRoles.runPair(device, new PingPongRoles.Server(again), new PingPongRoles.Client(again), STEP)
                        .client()
                        .bytesVerified())
                .isEqualTo((long) COUNT * SIZE);
    }

    private static Plan plan(ConnectionMode bringUp, int count) {
        return Plan.parse("--operation read -S", SIZE, "-C", count, "--timeout", STEP, "--connection", bringUp);
    }

    private static void requireRetriesExceeded(@Nullable Throwable failure) {
        assertThat(failure)
                .isInstanceOfSatisfying(
                        WorkCompletionException.class,
                        completion -> assertThat(completion.status()).isEqualTo(WorkCompletion.Status.RETRY_EXC_ERR));
    }

    /** Is the server of a client that reads, vanishes or not, and returns what became of the client. */
    private static @Nullable Throwable failureOfReads(Plan plan, boolean vanish, FabricDevice device) {
        try (LocalRoles roles = new LocalRoles()) {
            Running<Result> client = roles.start("client", device, new PingPongRoles.Client(plan));
            if (plan.bringUp() == ConnectionMode.RAW) {
                return serveRaw(client, vanish, device);
            }
            return serve(client, vanish, device);
        }
    }

    private static @Nullable Throwable serveRaw(Running<Result> client, boolean vanish, FabricDevice device) {
        RawConnection.Parameters parameters = RawConnection.Parameters.DEFAULT.withReadAtomic(1, 1);
        try (DeviceContext context = device.open();
                ProtectionDomain domain = context.allocateProtectionDomain();
                MemoryRegion memory = memory(domain);
                CompletionQueue queue = context.createCompletionQueue(4);
                QueuePair queuePair = domain.createQueuePair(attributes(queue))) {
            RawAddress local =
                    RawAddress.of(queuePair, device.port(), device.gid().index(), 7);
            RawConnection.init(queuePair, local, parameters);
            queuePair.postReceive(0, memory, SIZE, Long.BYTES);
            client.tell(RawBringUp.encode(local, where(memory)));
            String[] answer = client.hear("address", STEP).split(" ", -1);
            RawConnection.establish(queuePair, local, RawBringUp.decode(answer), parameters);
            client.tell("ready");
            assertThat(client.hear("readiness", STEP)).isEqualTo("ready");
            if (vanish) {
                queuePair.reset();
            } else {
                queue.awaitSuccess(STEP);
                assertThat(client.hear("end", STEP)).isEqualTo("done");
                client.tell("done");
            }
            return catchThrowable(() -> client.join(STEP));
        }
    }

    private static @Nullable Throwable serve(Running<Result> client, boolean vanish, FabricDevice device) {
        try (EventChannel channel = EventChannel.create();
                CmId listener = channel.createId(PortSpace.TCP)) {
            listener.bind(new InetSocketAddress(device.address(), 0));
            listener.listen(1);
            client.tell(Integer.toString(listener.localPort()));
            try (CmId id = listener.awaitEvent(STEP)
                            .require(CmEvent.Type.CONNECT_REQUEST)
                            .id();
                    ProtectionDomain domain = id.context().allocateProtectionDomain();
                    MemoryRegion memory = memory(domain);
                    CompletionQueue queue = id.context().createCompletionQueue(4);
                    QueuePair queuePair = id.createQueuePair(domain, attributes(queue))) {
                queuePair.postReceive(0, memory, SIZE, Long.BYTES);
                id.accept(ConnectionParameters.builder()
                        .privateData(where(memory))
                        .initiatorDepth(1)
                        .responderResources(1)
                        .build());
                id.expectEvent(CmEvent.Type.ESTABLISHED, STEP);
                if (vanish) {
                    queuePair.reset();
                } else {
                    queue.awaitSuccess(STEP);
                    id.expectEvent(CmEvent.Type.DISCONNECTED, STEP);
                    id.disconnect();
                }
                return catchThrowable(() -> client.join(STEP));
            }
        }
    }

    private static QueuePairAttributes attributes(CompletionQueue queue) {
        return QueuePairAttributes.builder(QpType.RC)
                .completionQueue(queue)
                .maxSendWr(1)
                .maxReceiveWr(1)
                .build();
    }

    /** What the client reads, and behind it room for its last word. */
    private static MemoryRegion memory(ProtectionDomain domain) {
        MemoryRegion memory = domain.registerMemory(SIZE + Long.BYTES, Access.LOCAL_WRITE, Access.REMOTE_READ);
        Payload.fill(memory.bytes().asSlice(0, SIZE), 0);
        return memory;
    }

    private static byte[] where(MemoryRegion memory) {
        return new RpingMessage(memory.address(), memory.rkey(), SIZE).toBytes();
    }
}
