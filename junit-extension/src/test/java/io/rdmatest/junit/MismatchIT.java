package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.rdmatest.RdmaException;
import io.rdmatest.SkipReason;
import io.rdmatest.fabric.FabricDevice;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AddressHandle;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.AsyncEvent;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawAddress;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.WorkCompletionException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.opentest4j.TestAbortedException;

/**
 * Two sides that do not fit each other: path MTU, Q_Key, P_Key. Each test also runs with sides that fit, and then its
 * expectation is not met.
 */
@RdmaTest(timeout = "90 s")
@IgnoreCounters
class MismatchIT {

    private static final Duration SOON = Duration.ofSeconds(30);
    private static final int GRH = 40;
    private static final int QKEY = 0x1234567;

    /** Several packets of any MTU, and no whole number of them. */
    private static final int MESSAGE = 10_000;

    // ---- path MTU ----

    /**
     * A responder takes the first packets of a message only if they are as long as its own path MTU says (IBTA volume 1,
     * section 9.7.2.4). Soft-RoCE of Linux 6.1 looks at the length of RDMA WRITE alone: a SEND whose packets are longer than the
     * responder's MTU arrives there.
     */
    @ParameterizedTest(name = "{0} to {1}")
    @CsvSource({"MTU_1024, MTU_256", "MTU_256, MTU_1024", "MTU_1024, MTU_1024"})
    void pathMtusOfBothSidesHaveToBeEqual(Mtu requester, Mtu responder, RdmaResources resources) {
        Throwable failure = failureOfWrite(requester, responder, resources);

        if (requester == responder) {
            assertThat(failure).isNull();
            assertThatThrownBy(() -> requireInvalidRequest(failure)).isInstanceOf(AssertionError.class);
        } else {
            requireInvalidRequest(failure);
            assertThat(failureOfWrite(requester, requester, resources)).isNull();
            assertThat(failureOfWrite(responder, responder, resources)).isNull();
        }
    }

    private static void requireInvalidRequest(@Nullable Throwable failure) {
        assertThat(failure)
                .isInstanceOfSatisfying(
                        WorkCompletionException.class,
                        completion -> assertThat(completion.status()).isEqualTo(WorkCompletion.Status.REM_INV_REQ_ERR));
    }

    /** Writes a message of many packets, and returns what became of it; if it arrived, every byte is compared. */
    private static @Nullable Throwable failureOfWrite(Mtu requester, Mtu responder, RdmaResources resources) {
        ProtectionDomain domain = resources.protectionDomain();
        FabricDevice device = resources.device();
        RawConnection.Parameters parameters = RawConnection.Parameters.DEFAULT;
        try (CompletionQueue queue = resources.context().createCompletionQueue(8);
                MemoryRegion source = domain.registerMemory(MESSAGE, Access.LOCAL_WRITE);
                MemoryRegion target = domain.registerMemory(MESSAGE, Access.LOCAL_WRITE, Access.REMOTE_WRITE);
                QueuePair a = domain.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                        .completionQueue(queue)
                        .build());
                QueuePair b = domain.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                        .completionQueue(queue)
                        .build())) {
            RawAddress ofA = RawAddress.of(a, device.port(), device.gid().index(), 1);
            RawAddress ofB = RawAddress.of(b, device.port(), device.gid().index(), 2);
            RawConnection.connect(a, ofA, ofB, parameters.withMtu(requester));
            RawConnection.connect(b, ofB, ofA, parameters.withMtu(responder));
            pattern(source);
            target.fill((byte) 0);

            a.postWrite(1, source, 0, MESSAGE, target.address(), target.rkey(), SendFlag.SIGNALED);
            Throwable failure = catchThrowable(() -> queue.awaitSuccess(SOON));
            if (failure == null) {
                assertThat(target.bytes().mismatch(source.bytes())).isEqualTo(-1);
            } else {
                assertThat(a.state()).isEqualTo(QpState.ERR);
                assertThat(bytes(target)).as("what was refused").containsOnly(0);
            }
            return failure;
        }
    }

    private static void pattern(MemoryRegion region) {
        MemorySegment bytes = region.bytes();
        for (long i = 0; i < bytes.byteSize(); i++) {
            bytes.set(ValueLayout.JAVA_BYTE, i, (byte) (1 + i % 251));
        }
    }

    private static byte[] bytes(MemoryRegion region) {
        return region.bytes().toArray(ValueLayout.JAVA_BYTE);
    }

    // ---- keys of datagrams ----

    @ParameterizedTest(name = "wrong Q_Key: {0}")
    @ValueSource(booleans = {true, false})
    void datagramsWithAnotherQkeyAreDroppedInSilence(boolean wrong, RdmaResources resources) {
        List<Integer> arrived = datagrams(0, 0, wrong ? QKEY + 1 : QKEY, resources);

        if (wrong) {
            requireFirstLost(arrived);
        } else {
            assertThat(arrived).containsExactly(1, 2);
            assertThatThrownBy(() -> requireFirstLost(arrived)).isInstanceOf(AssertionError.class);
        }
    }

    private static void requireFirstLost(List<Integer> arrived) {
        assertThat(arrived).containsExactly(2);
    }

    /**
     * Sends two datagrams, of which the second one is as the receiver wants it; returns those that arrived. Datagrams do not
     * overtake each other on one path, so a first one that has not come before the second does not come at all.
     */
    private static List<Integer> datagrams(int sendersPkey, int receiversPkey, int firstQkey, RdmaResources resources) {
        ProtectionDomain domain = resources.protectionDomain();
        FabricDevice device = resources.device();
        int port = device.port();
        int length = 64;
        try (CompletionQueue sends = resources.context().createCompletionQueue(8);
                CompletionQueue receives = resources.context().createCompletionQueue(8);
                MemoryRegion memory = domain.registerMemory(4096, Access.LOCAL_WRITE);
                QueuePair first = datagramQueuePair(domain, sends, sends, port, sendersPkey);
                QueuePair second = datagramQueuePair(domain, sends, sends, port, receiversPkey);
                QueuePair receiver = datagramQueuePair(domain, sends, receives, port, receiversPkey);
                AddressHandle handle = domain.createAddressHandle(AddressHandleAttributes.toGid(
                        port, device.gid().index(), device.gid().gid()))) {
            receiver.postReceive(1, memory, 0, GRH + length);
            receiver.postReceive(2, memory, 1024, GRH + length);
            first.postSendWithImmediate(
                    1, memory, 2048, length, handle, receiver.number(), firstQkey, 1, SendFlag.SIGNALED);
            // Nobody tells the sender.
            sends.awaitSuccess(SOON);
            second.postSendWithImmediate(
                    2, memory, 2048, length, handle, receiver.number(), QKEY, 2, SendFlag.SIGNALED);
            sends.awaitSuccess(SOON);

            List<Integer> arrived = new ArrayList<>();
            do {
                WorkCompletion completion = receives.awaitSuccess(SOON);
                arrived.add(completion.immediate());
            } while (arrived.getLast() != 2);
            // And nothing else has happened: not to a queue pair, not to the port.
            for (QueuePair each : List.of(first, second, receiver)) {
                assertThat(each.state()).isEqualTo(QpState.RTS);
            }
            assertThat(eventsOf(resources.context()))
                    // What tests before this one did to the addresses of the port.
                    .filteredOn(event -> event.type() != AsyncEvent.Type.GID_CHANGE)
                    .isEmpty();
            return arrived;
        }
    }

    private static List<AsyncEvent> eventsOf(DeviceContext context) {
        return Stream.generate(context::pollAsyncEvent)
                .takeWhile(Optional::isPresent)
                .map(Optional::orElseThrow)
                .toList();
    }

    private static QueuePair datagramQueuePair(
            ProtectionDomain domain, CompletionQueue sends, CompletionQueue receives, int port, int pkeyIndex) {
        QueuePair queuePair = domain.createQueuePair(QueuePairAttributes.builder(QpType.UD)
                .sendQueue(sends)
                .receiveQueue(receives)
                .build());
        try {
            queuePair.toReadyToSendDatagrams(port, pkeyIndex, QKEY, 0);
            return queuePair;
        } catch (RuntimeException e) {
            queuePair.close();
            throw e;
        }
    }

    // ---- partitions ----

    @ParameterizedTest(name = "index outside of the table: {0}")
    @ValueSource(booleans = {true, false})
    void aPkeyIndexOutsideOfTheTableIsRefused(boolean outside, RdmaResources resources) {
        int entries = resources.device().portAttributes().pkeyTableLength();
        int index = outside ? entries : entries - 1;

        Throwable failure = catchThrowable(() -> datagrams(index, 0, QKEY, resources));

        if (outside) {
            requireNoSuchPkey(failure, entries);
            // What was refused has changed nothing: index 0 works.
            assertThat(datagrams(0, 0, QKEY, resources)).containsExactly(1, 2);
        } else {
            assertThatThrownBy(() -> requireNoSuchPkey(failure, entries)).isInstanceOf(AssertionError.class);
        }
    }

    private static void requireNoSuchPkey(@Nullable Throwable failure, int entries) {
        assertThat(failure)
                .isInstanceOf(RdmaException.class)
                .hasMessageContaining("PKEY_INDEX")
                .hasMessageContaining("The P_Key table of port ")
                .hasMessageContaining(" has a length of " + entries + ": use a lower index");
    }

    @RdmaTest
    void datagramsOfAnotherPartitionAreDroppedInSilence(RdmaResources resources) throws IOException {
        Map<Integer, Integer> indexes = partitions(resources.device());
        if (indexes.size() < 2) {
            String port = "port " + resources.device().port() + " of "
                    + resources.device().device().name();
            throw new TestAbortedException(SkipReason.UNSUPPORTED_BY_DEVICE.because(
                    port + " is in " + indexes.size() + " partition, and a mismatch needs two"));
        }
        List<Integer> two = List.copyOf(indexes.values());

        assertThat(datagrams(two.get(0), two.get(1), QKEY, resources)).containsExactly(2);
        assertThat(datagrams(two.get(1), two.get(1), QKEY, resources)).containsExactly(1, 2);
    }

    /** Returns the partitions of the port, and the index of each in its table; the highest bit is the kind of membership. */
    private static Map<Integer, Integer> partitions(FabricDevice device) throws IOException {
        Path folder = Path.of("/sys/class/infiniband", device.device().name(), "ports", "" + device.port(), "pkeys");
        Map<Integer, Integer> indexes = new LinkedHashMap<>();
        for (int i = 0; i < device.portAttributes().pkeyTableLength(); i++) {
            int partition =
                    Integer.decode(Files.readString(folder.resolve("" + i)).strip()) & 0x7fff;
            if (partition != 0) {
                indexes.putIfAbsent(partition, i);
            }
        }
        return indexes;
    }
}
