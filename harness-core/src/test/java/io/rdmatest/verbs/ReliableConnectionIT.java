package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.RdmaException;
import io.rdmatest.RdmaTimeoutException;
import io.rdmatest.WholeLedger;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.List;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(300)
@WholeLedger
class ReliableConnectionIT {

    private static final int LENGTH = 10_000;

    private Rig rig;

    @BeforeEach
    void open() {
        rig = new Rig();
    }

    @AfterEach
    void close() throws Exception {
        rig.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void sendArrivesOverEitherFamily(boolean ipv4) {
        Rig.Pair pair = rig.pair(rig.gid(ipv4), RawConnection.Parameters.DEFAULT, builder -> {});
        Rig.pattern(pair.mrA(), 1);
        pair.b().postReceive(7, pair.mrB(), 100, LENGTH);
        pair.a().postSend(8, pair.mrA(), 50, LENGTH, SendFlag.SIGNALED);
        WorkCompletion sent = pair.cqA().awaitSuccess(Rig.SOON);
        WorkCompletion received = pair.cqB().awaitSuccess(Rig.SOON);
        assertThat(sent.wrId()).isEqualTo(8);
        assertThat(sent.opcode()).isEqualTo(WorkCompletion.Opcode.SEND);
        assertThat(sent.qpNumber()).isEqualTo(pair.a().number());
        assertThat(received.wrId()).isEqualTo(7);
        assertThat(received.opcode()).isEqualTo(WorkCompletion.Opcode.RECV);
        assertThat(received.byteLength()).isEqualTo(LENGTH);
        assertThat(received.hasImmediate()).isFalse();
        assertThat(Rig.slice(pair.mrB(), 100, LENGTH)).isEqualTo(Rig.slice(pair.mrA(), 50, LENGTH));
        assertThat(Rig.slice(pair.mrB(), 100 + LENGTH, 100)).containsOnly(0);
    }

    @Test
    void theDeviceOffersSomethingByEceOrIsSaidToLackIt() {
        Rig.Pair pair = rig.pair();
        try {
            assertThat(pair.a().queryEce().vendorId()).isNotNegative();
        } catch (RdmaException e) {
            assertThat(e.isUnsupported()).as(e.getMessage()).isTrue();
            assertThat(e).hasMessageContaining("ibv_query_ece(" + pair.a().describe());
        }
        // No vendor: there is nothing to agree on.
        assertThatThrownBy(() -> pair.a().setEce(new Ece(0, 0)))
                .isInstanceOfSatisfying(
                        RdmaException.class,
                        failure -> assertThat(failure.isUnsupported()).isTrue());
    }

    @Test
    void immediateDataKeepsItsOrder() {
        Rig.Pair pair = rig.pair();
        pair.b().postReceive(1, pair.mrB(), 0, 16);
        pair.a().postSendWithImmediate(2, pair.mrA(), 0, 16, 0x01020304, SendFlag.SIGNALED);
        WorkCompletion received = pair.cqB().awaitSuccess(Rig.SOON);
        assertThat(received.hasImmediate()).isTrue();
        assertThat(received.immediate()).isEqualTo(0x01020304);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(2);
    }

    @Test
    void writeAndReadMoveData() {
        Rig.Pair pair = rig.pair();
        Rig.pattern(pair.mrA(), 2);
        pair.a()
                .postWrite(
                        1,
                        pair.mrA(),
                        0,
                        LENGTH,
                        pair.mrB().address(4096),
                        pair.mrB().rkey(),
                        SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).opcode()).isEqualTo(WorkCompletion.Opcode.RDMA_WRITE);
        assertThat(Rig.slice(pair.mrB(), 4096, LENGTH)).isEqualTo(Rig.slice(pair.mrA(), 0, LENGTH));
        pair.a()
                .postRead(
                        2,
                        pair.mrA(),
                        30_000,
                        LENGTH,
                        pair.mrB().address(4096),
                        pair.mrB().rkey(),
                        SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).opcode()).isEqualTo(WorkCompletion.Opcode.RDMA_READ);
        assertThat(Rig.slice(pair.mrA(), 30_000, LENGTH)).isEqualTo(Rig.slice(pair.mrA(), 0, LENGTH));
    }

    @Test
    void writeWithImmediateConsumesAReceive() {
        Rig.Pair pair = rig.pair();
        Rig.pattern(pair.mrA(), 3);
        pair.b().postReceive(5, pair.mrB(), 0, 1);
        pair.a()
                .postWriteWithImmediate(
                        6,
                        pair.mrA(),
                        0,
                        LENGTH,
                        pair.mrB().address(64),
                        pair.mrB().rkey(),
                        0xcafebabe,
                        SendFlag.SIGNALED,
                        SendFlag.SOLICITED);
        WorkCompletion received = pair.cqB().awaitSuccess(Rig.SOON);
        assertThat(received.opcode()).isEqualTo(WorkCompletion.Opcode.RECV_RDMA_WITH_IMM);
        assertThat(received.immediate()).isEqualTo(0xcafebabe);
        assertThat(received.byteLength()).isEqualTo(LENGTH);
        assertThat(Rig.slice(pair.mrB(), 64, LENGTH)).isEqualTo(Rig.slice(pair.mrA(), 0, LENGTH));
        pair.cqA().awaitSuccess(Rig.SOON);
    }

    @Test
    void atomicsReturnWhatWasThere() {
        Rig.Pair pair = rig.pair();
        pair.mrB().bytes().set(ValueLayout.JAVA_LONG, 64, 40L);
        pair.a()
                .postFetchAndAdd(
                        1, pair.mrA(), 8, pair.mrB().address(64), pair.mrB().rkey(), 2, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).opcode()).isEqualTo(WorkCompletion.Opcode.FETCH_ADD);
        assertThat(pair.mrA().bytes().get(ValueLayout.JAVA_LONG, 8)).isEqualTo(40);
        assertThat(pair.mrB().bytes().get(ValueLayout.JAVA_LONG, 64)).isEqualTo(42);
        pair.a()
                .postCompareAndSwap(
                        2, pair.mrA(), 16, pair.mrB().address(64), pair.mrB().rkey(), 42, -1, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).opcode()).isEqualTo(WorkCompletion.Opcode.COMP_SWAP);
        assertThat(pair.mrA().bytes().get(ValueLayout.JAVA_LONG, 16)).isEqualTo(42);
        assertThat(pair.mrB().bytes().get(ValueLayout.JAVA_LONG, 64)).isEqualTo(-1);
        pair.a()
                .postCompareAndSwap(
                        3, pair.mrA(), 24, pair.mrB().address(64), pair.mrB().rkey(), 42, 5, SendFlag.SIGNALED);
        pair.cqA().awaitSuccess(Rig.SOON);
        assertThat(pair.mrA().bytes().get(ValueLayout.JAVA_LONG, 24)).isEqualTo(-1);
        assertThat(pair.mrB().bytes().get(ValueLayout.JAVA_LONG, 64)).isEqualTo(-1);
    }

    @Test
    void inlineDataIsTakenWhenPosted() {
        Rig.Pair pair = rig.pair();
        Rig.pattern(pair.mrA(), 4);
        byte[] before = Rig.slice(pair.mrA(), 0, 64);
        pair.b().postReceive(1, pair.mrB(), 0, 64);
        pair.a().postSend(2, pair.mrA(), 0, 64, SendFlag.SIGNALED, SendFlag.INLINE);
        pair.mrA().fill((byte) 0);
        pair.cqB().awaitSuccess(Rig.SOON);
        pair.cqA().awaitSuccess(Rig.SOON);
        assertThat(Rig.slice(pair.mrB(), 0, 64)).isEqualTo(before);
    }

    @Test
    void tooMuchInlineDataIsRefusedWithItsIndex() {
        Rig.Pair pair = rig.pair();
        int tooMuch = pair.a().maxInline() + 1;
        pair.b().postReceive(1, pair.mrB(), 0, 64);
        try (SendRequests list = SendRequests.allocate(3)) {
            list.send(0, 10, pair.mrA(), 0, 8, SendFlag.SIGNALED);
            list.send(1, 11, pair.mrA(), 0, tooMuch, SendFlag.INLINE);
            list.send(2, 12, pair.mrA(), 0, 8);
            assertThatThrownBy(() -> pair.a().post(list))
                    .isInstanceOfSatisfying(
                            PostException.class, e -> assertThat(e.badIndex()).isEqualTo(1))
                    .hasMessageContaining("request 1 of 3");
        }
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(10);
    }

    @Test
    void aFullQueueIsRefusedWithItsIndex() {
        Rig.Pair pair = rig.pair();
        int room = pair.a().maxReceiveWr();
        try (ReceiveRequests list = ReceiveRequests.allocate(4 * room)) {
            for (int i = 0; i < list.capacity(); i++) {
                list.receive(i, i, pair.mrA(), 0, 8);
            }
            assertThatThrownBy(() -> pair.a().post(list))
                    .isInstanceOfSatisfying(
                            PostException.class, e -> assertThat(e.badIndex()).isBetween(room, 2 * room));
        }
    }

    @Test
    void aListArrivesInOrder() {
        Rig.Pair pair = rig.pair();
        Rig.pattern(pair.mrA(), 5);
        int count = 16;
        try (SendRequests sends = SendRequests.allocate(count, 2);
                ReceiveRequests receives = ReceiveRequests.allocate(count, 2)) {
            for (int i = 0; i < count; i++) {
                receives.receive(i, 100 + i, pair.mrB(), i * 200L, 50).add(i, pair.mrB(), i * 200L + 50, 150);
                sends.send(i, i, pair.mrA(), i * 200L, 150).add(i, pair.mrA(), i * 200L + 150, 50);
            }
            sends.signaled(count - 1, true);
            pair.b().post(receives);
            pair.a().post(sends, 0, 5);
            pair.a().post(sends, 5, count - 5);
        }
        List<WorkCompletion> received = pair.cqB().awaitAny(count, Rig.SOON);
        assertThat(received).allMatch(WorkCompletion::isSuccess);
        assertThat(received).extracting(WorkCompletion::wrId).first().isEqualTo(100L);
        assertThat(received).extracting(WorkCompletion::wrId).isSorted();
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(count - 1);
        assertThat(Rig.slice(pair.mrB(), 0, count * 200)).isEqualTo(Rig.slice(pair.mrA(), 0, count * 200));
    }

    @Test
    void emptyMessagesArrive() {
        Rig.Pair pair = rig.pair();
        pair.b().postReceive(1, pair.mrB(), 0, 0);
        pair.a().postSendWithImmediate(2, pair.mrA(), 0, 0, 9, SendFlag.SIGNALED, SendFlag.FENCE);
        WorkCompletion received = pair.cqB().awaitSuccess(Rig.SOON);
        assertThat(received.byteLength()).isZero();
        assertThat(received.immediate()).isEqualTo(9);
    }

    @Test
    void aWrongKeyIsARemoteAccessError() {
        Rig.Pair pair = rig.pair();
        pair.a()
                .postWrite(
                        77, pair.mrA(), 0, 64, pair.mrB().address(), pair.mrB().rkey() ^ 0x5555, SendFlag.SIGNALED);
        assertThatThrownBy(() -> pair.cqA().awaitSuccess(Rig.SOON))
                .isInstanceOfSatisfying(WorkCompletionException.class, e -> {
                    assertThat(e.status()).isEqualTo(WorkCompletion.Status.REM_ACCESS_ERR);
                    assertThat(e.wrId()).isEqualTo(77);
                })
                .hasMessageContaining("IBV_WC_REM_ACCESS_ERR");
        assertThat(pair.a().state()).isEqualTo(QpState.ERR);
    }

    @Test
    void aWriteBeyondTheRegionIsARemoteAccessError() {
        Rig.Pair pair = rig.pair();
        pair.a()
                .postWrite(
                        1,
                        pair.mrA(),
                        0,
                        64,
                        pair.mrB().address(Rig.SIZE - 63),
                        pair.mrB().rkey(),
                        SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitAny(1, Rig.SOON).get(0).status()).isEqualTo(WorkCompletion.Status.REM_ACCESS_ERR);
    }

    @Test
    void noReceiveIsReceiverNotReady() {
        Rig.Pair pair = rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT.withRnr(1, 1), builder -> {});
        pair.a().postSend(3, pair.mrA(), 0, 64, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitAny(1, Rig.SOON).get(0).status()).isEqualTo(WorkCompletion.Status.RNR_RETRY_EXC_ERR);
    }

    @Test
    void aPeerThatIsNotThereExceedsTheRetries() {
        CompletionQueue cq = rig.cq();
        QueuePair alone = rig.qp(cq, builder -> {});
        RawAddress local = RawAddress.of(alone, rig.port, rig.gid(true).index(), 1);
        RawAddress nobody =
                new RawAddress(local.gid(), local.gidIndex(), rig.port, 0x00fffe, 1, local.mtu(), local.lid());
        RawConnection.connect(alone, local, nobody, RawConnection.Parameters.DEFAULT.withTimeout(8, 1));
        alone.postSend(3, rig.memory(), 0, 64, SendFlag.SIGNALED);
        assertThat(cq.awaitAny(1, Rig.SOON).get(0).status()).isEqualTo(WorkCompletion.Status.RETRY_EXC_ERR);
    }

    @Test
    void aReceiveThatIsTooShortIsALengthError() {
        Rig.Pair pair = rig.pair();
        pair.b().postReceive(1, pair.mrB(), 0, 32);
        pair.a().postSend(2, pair.mrA(), 0, 64, SendFlag.SIGNALED);
        // IBTA volume 1, section 10.10.2 wants LOC_LEN_ERR and REM_INV_REQ_ERR; rxe reports an operation error.
        assertThat(pair.cqB().awaitAny(1, Rig.SOON).get(0).status())
                .isIn(WorkCompletion.Status.LOC_LEN_ERR, WorkCompletion.Status.LOC_QP_OP_ERR);
        assertThat(pair.cqA().awaitAny(1, Rig.SOON).get(0).status())
                .isIn(WorkCompletion.Status.REM_INV_REQ_ERR, WorkCompletion.Status.REM_OP_ERR);
    }

    @Test
    void workIsFlushedInError() {
        Rig.Pair pair = rig.pair();
        pair.a().postReceive(1, pair.mrA(), 0, 64);
        pair.a().postReceive(2, pair.mrA(), 0, 64);
        pair.a().toError();
        assertThat(pair.cqA().awaitAny(2, Rig.SOON))
                .extracting(WorkCompletion::status)
                .containsOnly(WorkCompletion.Status.WR_FLUSH_ERR);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void drainOfAFullReceiveQueueReturnsAllOfIt(boolean oneCompletionQueue) {
        CompletionQueue sends = rig.add(rig.context.createCompletionQueue(1024));
        CompletionQueue receives = oneCompletionQueue ? sends : rig.add(rig.context.createCompletionQueue(1024));
        QueuePair qp = rig.qp(sends, builder -> builder.receiveQueue(receives).maxReceiveWr(100));
        qp.toInit(rig.port, 0);
        MemoryRegion memory = rig.memory();
        int posted = postUntilFull(wrId -> qp.postReceive(wrId, memory, 0, 64));
        assertThat(posted).isGreaterThanOrEqualTo(100);

        assertThat(qp.drain(Rig.SOON)).hasSize(posted);
        assertThat(sends.poll(sends.newCompletions(1))).isZero();
        assertThat(receives.poll(receives.newCompletions(1))).isZero();
        assertThat(qp.drain(Rig.SOON)).isEmpty();
    }

    @Test
    void drainOfAFullSendQueueReturnsAllOfIt() {
        // Nobody receives, and the first send tries for ever.
        Rig.Pair pair = rig.pair();
        int posted = postUntilFull(wrId -> pair.a().postSend(wrId, pair.mrA(), 0, 64, SendFlag.SIGNALED));
        assertThat(posted).isGreaterThanOrEqualTo(32);

        assertThat(pair.a().drain(Rig.SOON)).hasSize(posted);
        assertThat(pair.cqA().poll(pair.cqA().newCompletions(1))).isZero();
    }

    private static int postUntilFull(LongConsumer post) {
        for (int posted = 0; posted < 10_000; posted++) {
            try {
                post.accept(posted);
            } catch (PostException full) {
                return posted;
            }
        }
        throw new AssertionError("a queue of 10000 requests is not full");
    }

    @Test
    void aListIsWholeAfterAQueueRefusedAPartOfIt() {
        CompletionQueue queue = rig.cq();
        QueuePair gone = rig.qp(queue, builder -> {});
        gone.close();
        QueuePair qp = rig.qp(queue, builder -> {});
        qp.toInit(rig.port, 0);
        MemoryRegion memory = rig.memory();
        try (ReceiveRequests list = ReceiveRequests.allocate(4)) {
            for (int i = 0; i < 4; i++) {
                ReceiveRequests ignored = list.receive(i, i, memory, 0, 64);
            }
            assertThatIllegalStateException().isThrownBy(() -> gone.post(list, 0, 2));

            qp.post(list);

            assertThat(qp.drain(Rig.SOON)).extracting(WorkCompletion::wrId).containsExactly(0L, 1L, 2L, 3L);
        }
    }

    @Test
    void drainReturnsWhatWasOutstanding() {
        Rig.Pair pair = rig.pair();
        pair.a().postReceive(1, pair.mrA(), 0, 64);
        pair.a().postReceive(2, pair.mrA(), 0, 64);
        assertThat(pair.a().drain(Rig.SOON)).extracting(WorkCompletion::wrId).containsExactly(1L, 2L);
        assertThat(pair.a().state()).isEqualTo(QpState.ERR);
    }

    @Test
    void theQueuePairTellsItsConnection() {
        Rig.Pair pair = rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT.withMtu(Mtu.MTU_512), builder -> {});
        QueuePairModification seen = pair.a().query();
        assertThat(seen.state()).isEqualTo(QpState.RTS);
        assertThat(seen.pathMtu()).isEqualTo(Mtu.MTU_512);
        assertThat(seen.destinationQp()).isEqualTo(pair.b().number());
        assertThat(seen.timeout()).isEqualTo(14);
        assertThat(seen.retryCount()).isEqualTo(7);
        AddressHandleAttributes destination = seen.addressVector();
        assertThat(destination).isNotNull();
        assertThat(destination.gid()).isEqualTo(rig.gid(true).gid());
    }

    @Test
    void aTransitionThatIsNotAllowedNamesWhatWasSet() {
        QueuePair qp = rig.qp(rig.cq(), builder -> {});
        assertThatThrownBy(
                        () -> qp.toReadyToSend(QueuePairModification.builder().sendPsn(1)))
                .hasMessageContaining("ibv_modify_qp")
                .hasMessageContaining("RTS")
                .hasMessageContaining("IBV_QP_SQ_PSN")
                .hasMessageContaining("EINVAL");
        assertThat(qp.state()).isEqualTo(QpState.RESET);
    }

    @Test
    void aWaitThatRunsOutSaysWhatCame() {
        Rig.Pair pair = rig.pair();
        pair.b().postReceive(1, pair.mrB(), 0, 64);
        pair.a().postSend(41, pair.mrA(), 0, 64, SendFlag.SIGNALED);
        pair.cqB().awaitSuccess(Rig.SOON);
        assertThatThrownBy(() -> pair.cqA().awaitAny(2, Duration.ofSeconds(1)))
                .isInstanceOf(RdmaTimeoutException.class)
                .hasMessageContaining("2 completions on cq")
                .hasMessageContaining("1000 ms")
                .hasMessageContaining("wr_id 41 IBV_WC_SUCCESS");
    }
}
