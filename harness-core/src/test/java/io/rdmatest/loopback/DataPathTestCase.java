package io.rdmatest.loopback;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.ConnectionMode;
import io.rdmatest.RdmaException;
import io.rdmatest.cm.ConnectionParameters;
import io.rdmatest.connect.RcEndpoint;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.AddressHandle;
import io.rdmatest.verbs.AddressHandleAttributes;
import io.rdmatest.verbs.CompletionChannel;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.Completions;
import io.rdmatest.verbs.Ece;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.Mtu;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.RemoteMemory;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.SharedReceiveQueue;
import io.rdmatest.verbs.WorkCompletion;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The stand-in does what the other cases take for granted, and it says that it is one. */
@ExtendWith(UsualStandin.WithObjects.class)
class DataPathTestCase {

    /** Objects that a reset has taken from other cases, which stay allocated. */
    @Test
    void theDeviceSaysThatItIsAStandIn() {
        assertThat(RdmaDevice.list()).singleElement().satisfies(device -> {
            assertThat(device.name()).isEqualTo(Standin.DEVICE);
            assertThat(device.driver()).isEqualTo("stand-in");
        });
    }

    @Test
    void sendWriteReadAndAtomicsMoveBytes() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.Pair pair = standin.pair();
            MemoryRegion counter = standin.memory(Access.LOCAL_WRITE, Access.REMOTE_ATOMIC);
            fill(pair.mrA(), 3);
            pair.a().postSend(1, pair.mrA(), 0, 100, SendFlag.SIGNALED);
            assertThat(pair.cqA().poll(pair.cqA().newCompletions(1)))
                    .as("no receive yet")
                    .isZero();
            pair.b().postReceive(2, pair.mrB(), 8, 200);
            assertThat(pair.cqA().awaitSuccess(Standin.SOON).wrId()).isEqualTo(1);
            WorkCompletion received = pair.cqB().awaitSuccess(Standin.SOON);
            assertThat(received.wrId()).isEqualTo(2);
            assertThat(received.byteLength()).isEqualTo(100);
            assertThat(bytes(pair.mrB(), 8, 100)).isEqualTo(bytes(pair.mrA(), 0, 100));

            pair.a()
                    .postWrite(
                            3,
                            pair.mrA(),
                            0,
                            64,
                            pair.mrB().address(1024),
                            pair.mrB().rkey(),
                            SendFlag.SIGNALED,
                            SendFlag.INLINE);
            pair.cqA().awaitSuccess(Standin.SOON);
            assertThat(bytes(pair.mrB(), 1024, 64)).isEqualTo(bytes(pair.mrA(), 0, 64));

            pair.a()
                    .postRead(
                            4,
                            pair.mrA(),
                            2048,
                            64,
                            pair.mrB().address(1024),
                            pair.mrB().rkey(),
                            SendFlag.SIGNALED);
            pair.cqA().awaitSuccess(Standin.SOON);
            assertThat(bytes(pair.mrA(), 2048, 64)).isEqualTo(bytes(pair.mrA(), 0, 64));

            RemoteMemory far = pair.mrB().remote();
            assertThat(far.length()).isEqualTo(pair.mrB().size());
            pair.a().postWrite(6, pair.mrA(), far.slice(2048, 64), SendFlag.SIGNALED);
            pair.cqA().awaitSuccess(Standin.SOON);
            assertThat(bytes(pair.mrB(), 2048, 64)).isEqualTo(bytes(pair.mrA(), 0, 64));
            pair.mrA().fill((byte) 0);
            pair.a().postRead(7, pair.mrA(), far.slice(2048, 64), SendFlag.SIGNALED);
            pair.cqA().awaitSuccess(Standin.SOON);
            assertThat(bytes(pair.mrA(), 0, 64)).isEqualTo(bytes(pair.mrB(), 2048, 64));
            pair.b().postReceive(8, pair.mrB(), 0, 64);
            pair.a().postWriteWithImmediate(9, pair.mrA(), far.slice(3072, 8), 42, SendFlag.SIGNALED);
            pair.cqA().awaitSuccess(Standin.SOON);
            assertThat(pair.cqB().awaitSuccess(Standin.SOON).immediate()).isEqualTo(42);
            assertThatThrownBy(() -> pair.a().postWrite(10, pair.mrA(), new RemoteMemory(0, 1, far.length() + 1)))
                    .isInstanceOf(IndexOutOfBoundsException.class);

            counter.bytes().set(JAVA_LONG, 0, 40L);
            pair.a().postFetchAndAdd(5, pair.mrA(), 0, counter.address(), counter.rkey(), 2, SendFlag.SIGNALED);
            pair.cqA().awaitSuccess(Standin.SOON);
            assertThat(counter.bytes().get(JAVA_LONG, 0)).isEqualTo(42);
            assertThat(pair.mrA().bytes().get(JAVA_LONG, 0)).isEqualTo(40);
        }
    }

    @Test
    void whatMayNotBeWrittenIsRefusedAndEndsTheConnection() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.Pair pair = standin.pair();
            MemoryRegion closed = standin.memory(Access.LOCAL_WRITE);
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.a().postWrite(2, pair.mrA(), 0, 64, closed.address(), closed.rkey(), SendFlag.SIGNALED);
            assertThat(pair.cqA().awaitAny(1, Standin.SOON).getFirst().status())
                    .isEqualTo(WorkCompletion.Status.REM_ACCESS_ERR);
            assertThat(pair.cqB().awaitAny(1, Standin.SOON).getFirst().status())
                    .isEqualTo(WorkCompletion.Status.WR_FLUSH_ERR);
            assertThat(List.of(pair.a().state(), pair.b().state())).containsOnly(QpState.ERR);
            assertThat(pair.a().drain(Standin.SOON)).isEmpty();
        }
    }

    @Test
    void anUnreliableConnectionLosesWhatNobodyReceives() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.cq();
            QueuePair a = standin.qp(QpType.UC, cq);
            QueuePair b = standin.qp(QpType.UC, standin.cq());
            GidEntry gid = standin.context.gidTable(1).getFirst();
            RawConnection.connect(a, b, gid, RawConnection.Parameters.DEFAULT.withFlowLabel(0x54321));
            assertThat(Standin.received(a, "flow_label")).isEqualTo(0x54321);
            assertThat(Standin.received(a, "min_rnr_timer")).isZero();
            assertThat(Standin.received(a, "qp_access_flags"))
                    .as("LOCAL_WRITE and REMOTE_WRITE")
                    .isEqualTo(3);
            MemoryRegion memory = standin.memory();
            a.postSend(1, memory, 0, 8, SendFlag.SIGNALED);
            assertThat(cq.awaitSuccess(Standin.SOON).wrId()).isEqualTo(1);
            b.postReceive(2, memory, 1024, 8);
            a.postSend(3, memory, 0, 8);
            assertThat(b.receiveQueue().awaitSuccess(Standin.SOON).wrId()).isEqualTo(2);
        }
    }

    @Test
    void twoQueuePairsAgreeByEce() throws Exception {
        try (Standin standin = new Standin()) {
            QueuePair queuePair = standin.qp(QpType.RC, standin.cq());
            assertThatThrownBy(queuePair::queryEce)
                    .isInstanceOfSatisfying(
                            RdmaException.class,
                            failure -> assertThat(failure.isUnsupported()).isTrue())
                    .hasMessageContaining("ibv_query_ece(" + queuePair.describe());
            Standin.set("ece", 0b110);
            assertThat(queuePair.queryEce()).isEqualTo(new Ece(0x123456, 0b110));
            queuePair.setEce(new Ece(0x123456, 0b011));
            assertThat(queuePair.queryEce()).isEqualTo(new Ece(0x123456, 0b010));
            assertThatThrownBy(() -> queuePair.setEce(new Ece(0x2c9, 1)))
                    .isInstanceOfSatisfying(RdmaException.class, failure -> {
                        assertThat(failure.errnoName()).isEqualTo("EINVAL");
                        assertThat(failure.isUnsupported()).isFalse();
                    })
                    .hasMessageContaining("ibv_set_ece(" + queuePair.describe());
            Standin.set("ece", 0);
            assertThatThrownBy(() -> queuePair.setEce(new Ece(0x123456, 1)))
                    .isInstanceOfSatisfying(
                            RdmaException.class,
                            failure -> assertThat(failure.isUnsupported()).isTrue());
        }
    }

    @Test
    void aDatagramArrivesBehindItsHeader() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionQueue cq = standin.cq();
            QueuePair a = standin.qp(QpType.UD, cq);
            QueuePair b = standin.qp(QpType.UD, cq);
            a.toReadyToSendDatagrams(1, 0, 0x11, 0);
            b.toReadyToSendDatagrams(1, 0, 0x11, 0);
            MemoryRegion memory = standin.memory();
            fill(memory, 9);
            GidEntry gid = standin.context.gidTable(1).getFirst();
            AddressHandle to = standin.add(
                    standin.pd.createAddressHandle(AddressHandleAttributes.toGid(1, gid.index(), gid.gid())));
            b.postReceive(1, memory, 1024, 140);
            a.postSend(2, memory, 0, 100, to, b.number(), 0x11, SendFlag.SIGNALED);
            assertThat(cq.awaitAny(2, Standin.SOON)).allMatch(WorkCompletion::isSuccess);
            assertThat(bytes(memory, 1064, 100)).isEqualTo(bytes(memory, 0, 100));
        }
    }

    @Test
    void aSharedReceiveQueueServesTwoQueuePairs() throws Exception {
        try (Standin standin = new Standin()) {
            SharedReceiveQueue srq = standin.add(standin.pd.createSharedReceiveQueue(4, 1));
            CompletionQueue cq = standin.cq();
            MemoryRegion memory = standin.memory();
            GidEntry gid = standin.context.gidTable(1).getFirst();
            for (int i = 0; i < 2; i++) {
                QueuePair sender = standin.qp(QpType.RC, standin.cq());
                QueuePair receiver = standin.add(standin.pd.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                        .completionQueue(cq)
                        .srq(srq)
                        .build()));
                RawConnection.connect(sender, receiver, gid, RawConnection.Parameters.DEFAULT);
                sender.postSend(i, memory, 0, 64, SendFlag.SIGNALED);
            }
            assertThat(cq.poll(cq.newCompletions(2))).as("no receive yet").isZero();
            srq.postReceive(10, memory, 1024, 64);
            srq.postReceive(11, memory, 2048, 64);
            assertThat(cq.awaitAny(2, Standin.SOON))
                    .allMatch(WorkCompletion::isSuccess)
                    .extracting(WorkCompletion::wrId)
                    .containsExactly(10L, 11L);
            assertThat(srq.work().receives()).isZero();
        }
    }

    @Test
    void anArmedQueueGivesOneEvent() throws Exception {
        try (Standin standin = new Standin()) {
            CompletionChannel channel = standin.add(standin.context.createCompletionChannel());
            CompletionQueue cq = standin.add(standin.context.createCompletionQueue(16, channel));
            Standin.Pair pair = standin.pair(standin.cq(), cq);
            cq.requestNotify(false);
            for (int i = 0; i < 2; i++) {
                pair.b().postReceive(i, pair.mrB(), 0, 64);
                pair.a().postSend(i, pair.mrA(), 0, 64);
            }
            assertThat(channel.awaitEvent(Standin.SOON)).isSameAs(cq);
            assertThat(channel.pollEvent()).isEmpty();
            assertThat(cq.awaitAny(2, Standin.SOON)).hasSize(2);
            // An event that nobody reads does not keep the queue.
            cq.requestNotify(false);
            pair.b().postReceive(3, pair.mrB(), 0, 64);
            pair.a().postSend(3, pair.mrA(), 0, 64);
        }
    }

    /** The first thread counts and locks without a locked instruction, the other one with: nothing is lost between them. */
    @Test
    void twoThreadsPostOneListAndPollOneQueue() throws Exception {
        int messages = 3000;
        try (Standin standin = new Standin();
                SendRequests list = SendRequests.allocate(1);
                ExecutorService threads = Executors.newFixedThreadPool(2)) {
            Standin.Pair pair = standin.pair();
            list.write(0, 0, pair.mrA(), 0, 64, pair.mrB().address(), pair.mrB().rkey(), SendFlag.SIGNALED);
            AtomicInteger polled = new AtomicInteger();
            Callable<Integer> side = () -> {
                Completions completions = pair.cqA().newCompletions(4);
                for (int i = 0; i < messages; i++) {
                    pair.a().post(list);
                    pair.a()
                            .postWrite(
                                    1,
                                    pair.mrA(),
                                    0,
                                    64,
                                    pair.mrB().address(),
                                    pair.mrB().rkey(),
                                    SendFlag.SIGNALED);
                    polled.addAndGet(pair.cqA().poll(completions));
                }
                return polled.get();
            };
            for (Future<Integer> end : threads.invokeAll(List.of(side, side), 60, TimeUnit.SECONDS)) {
                assertThat(end.get()).isPositive();
            }
            Completions rest = pair.cqA().newCompletions(16);
            for (int count = pair.cqA().poll(rest);
                    count > 0;
                    count = pair.cqA().poll(rest)) {
                polled.addAndGet(count);
            }
            assertThat(polled).hasValue(4 * messages);
            assertThat(pair.a().work().sendsPosted()).isEqualTo(4L * messages);
            assertThat(pair.a().work().sendsCompleted()).isEqualTo(4L * messages);
            pair.a().reset();
            assertThat(pair.a().work().sendsPosted()).isZero();
        }
    }

    @Test
    void aListTellsWhichOfItsRegionsIsClosed() throws Exception {
        try (Standin standin = new Standin();
                SendRequests list = SendRequests.allocate(2)) {
            Standin.Pair pair = standin.pair();
            try (MemoryRegion other = standin.pd.registerMemory(64)) {
                list.send(0, 0, other, 0, 64).send(1, 1, pair.mrA(), 0, 64);
            }
            assertThatIllegalStateException()
                    .isThrownBy(() -> pair.a().post(list))
                    .withMessageContaining("request 0 uses mr ")
                    .withMessageContaining("which is closed");
            // What no request uses any more may be closed.
            list.send(0, 0, pair.mrA(), 0, 64);
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.a().post(list);
            assertThat(pair.cqB().awaitAny(2, Standin.SOON)).allMatch(WorkCompletion::isSuccess);
        }
    }

    /** Small memory has a view for Java code from the first look on; large memory has it always. */
    @ParameterizedTest
    @ValueSource(longs = {64, 2 << 20})
    void bytesOfAClosedRegionCantBeRead(long size) throws Exception {
        try (Standin standin = new Standin()) {
            MemoryRegion seen = standin.pd.registerMemory(size, Access.LOCAL_WRITE);
            MemoryRegion unseen = standin.pd.registerMemory(size, Access.LOCAL_WRITE);
            seen.fill((byte) 3);
            MemorySegment bytes = seen.bytes();
            assertThat(bytes.byteSize()).isEqualTo(size);
            assertThat(bytes.get(JAVA_BYTE, size - 1)).isEqualTo((byte) 3);
            assertThat(seen.address() % 4096).isZero();
            seen.close();
            unseen.close();
            assertThatIllegalStateException().isThrownBy(() -> bytes.get(JAVA_BYTE, 0));
            assertThatIllegalStateException().isThrownBy(() -> unseen.bytes().get(JAVA_BYTE, 0));
            assertThatIllegalStateException().isThrownBy(() -> unseen.fill((byte) 1));
        }
    }

    @Test
    void anEndpointReceivesAndClosesItsQueuePairBeforeItsMemory() throws Exception {
        RcEndpoint.Plan plan = new RcEndpoint.Plan(4, 4, 1, 0, true, true, true, Mtu.UNKNOWN);
        List<Boolean> closed = new ArrayList<>();
        try (Standin standin = new Standin()) {
            RcEndpoint a = standin.add(RcEndpoint.open(standin.pd, null, ConnectionMode.RAW, plan));
            RcEndpoint b = standin.add(RcEndpoint.open(standin.pd, null, ConnectionMode.RAW, plan));
            MemoryRegion memory = b.own(standin.pd.registerMemory(Standin.SIZE, Access.LOCAL_WRITE));
            b.own(() -> closed.add(b.queuePair().isClosed() && !memory.isClosed()));
            GidEntry gid = standin.context.gidTable(1).getFirst();
            RawConnection.connect(a.queuePair(), b.queuePair(), gid, RawConnection.Parameters.DEFAULT);
            assertThat(b.receiveQueue()).isSameAs(b.sendQueue());
            assertThat(b.channel()).isPresent();
            b.postReceive(7, memory, 64, 64);
            a.queuePair().postSend(1, memory, 0, 64, SendFlag.SIGNALED);
            assertThat(b.receiveQueue().awaitAny(1, Standin.SOON))
                    .singleElement()
                    .satisfies(receive -> {
                        assertThat(receive.isSuccess()).isTrue();
                        assertThat(receive.wrId()).isEqualTo(7);
                    });
        }
        assertThat(closed).containsExactly(true);
    }

    @Test
    void anEndpointWithoutAnIdIsConnectedRaw() throws Exception {
        RcEndpoint.Plan plan = new RcEndpoint.Plan(4, 4, 1, 0, false, false, false, Mtu.UNKNOWN);
        try (Standin standin = new Standin()) {
            for (ConnectionMode mode : List.of(ConnectionMode.RDMA_CM, ConnectionMode.EXTERNAL_QP)) {
                assertThatIllegalArgumentException()
                        .isThrownBy(() -> RcEndpoint.open(standin.pd, null, mode, plan))
                        .withMessageContaining("needs an id");
            }
            RcEndpoint endpoint = standin.add(RcEndpoint.open(standin.pd, null, ConnectionMode.RAW, plan));
            assertThat(endpoint.receiveQueue()).isNotSameAs(endpoint.sendQueue());
            assertThat(endpoint.id()).isEmpty();
            assertThatIllegalStateException()
                    .isThrownBy(() -> endpoint.accept(ConnectionParameters.builder()))
                    .withMessageContaining("has no rdma_cm id");
        }
    }

    private static void fill(MemoryRegion region, int seed) {
        for (long i = 0; i < region.size(); i++) {
            region.bytes().set(JAVA_BYTE, i, (byte) (i * 31 + (i >> 8) + seed));
        }
    }

    private static byte[] bytes(MemoryRegion region, long offset, int length) {
        return region.bytes().asSlice(offset, length).toArray(JAVA_BYTE);
    }
}
