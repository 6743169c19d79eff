package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assumptions.abort;

import io.rdmatest.RdmaException;
import io.rdmatest.WholeLedger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
@WholeLedger
class UnreliableConnectionIT {

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

    private Rig.Pair pair(RawConnection.Parameters parameters) {
        CompletionQueue cqA = rig.cq();
        CompletionQueue cqB = rig.cq();
        Rig.Pair pair = new Rig.Pair(queuePair(cqA), queuePair(cqB), cqA, cqB, rig.memory(), rig.memory());
        RawConnection.connect(pair.a(), pair.b(), rig.port, rig.gid(true).index(), parameters);
        return pair;
    }

    private QueuePair queuePair(CompletionQueue cq) {
        try {
            return rig.add(rig.pd.createQueuePair(QueuePairAttributes.builder(QpType.UC)
                    .completionQueue(cq)
                    .maxInline(64)
                    .build()));
        } catch (RdmaException e) {
            assertThat(e.isUnsupported()).as(e.getMessage()).isTrue();
            return abort("unsupported by the device: " + e.getMessage());
        }
    }

    @Test
    void sendAndWriteArrive() {
        Rig.Pair pair = pair(RawConnection.Parameters.DEFAULT);
        assertThat(pair.a().type()).isEqualTo(QpType.UC);
        assertThat(pair.a().state()).isEqualTo(QpState.RTS);
        Rig.pattern(pair.mrA(), 1);
        pair.b().postReceive(1, pair.mrB(), 0, LENGTH);
        pair.a().postSend(2, pair.mrA(), 50, LENGTH, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(2);
        assertThat(pair.cqB().awaitSuccess(Rig.SOON).byteLength()).isEqualTo(LENGTH);
        assertThat(Rig.slice(pair.mrB(), 0, LENGTH)).isEqualTo(Rig.slice(pair.mrA(), 50, LENGTH));

        pair.b().postReceive(3, pair.mrB(), 0, 1);
        pair.a()
                .postWriteWithImmediate(
                        4,
                        pair.mrA(),
                        0,
                        LENGTH,
                        pair.mrB().address(20_000),
                        pair.mrB().rkey(),
                        0xcafe,
                        SendFlag.SIGNALED);
        assertThat(pair.cqB().awaitSuccess(Rig.SOON).immediate()).isEqualTo(0xcafe);
        assertThat(Rig.slice(pair.mrB(), 20_000, LENGTH)).isEqualTo(Rig.slice(pair.mrA(), 0, LENGTH));
    }

    /** What tells it from RC: without a receive the message is lost, and the sender never hears of it. */
    @Test
    void aMessageThatNobodyReceivesIsLost() {
        Rig.Pair pair = pair(RawConnection.Parameters.DEFAULT.withRnr(1, 1));
        pair.a().postSend(1, pair.mrA(), 0, 64, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(1);
        assertThat(pair.a().state()).isEqualTo(QpState.RTS);
    }

    @Test
    void whatUcDoesNotHaveIsNotAskedFor() {
        Rig.Pair pair = pair(RawConnection.Parameters.DEFAULT.withTimeout(5, 1));
        QueuePairModification seen = pair.a().query();
        assertThat(seen.destinationQp()).isEqualTo(pair.b().number());
        assertThat(seen.access())
                .contains(Access.REMOTE_WRITE)
                .doesNotContain(Access.REMOTE_READ, Access.REMOTE_ATOMIC);
    }

    @Test
    void datagramsAreNotConnected() {
        CompletionQueue cq = rig.cq();
        QueuePair ud = rig.add(rig.pd.createQueuePair(
                QueuePairAttributes.builder(QpType.UD).completionQueue(cq).build()));
        RawAddress address = RawAddress.of(ud, rig.gid(true), 1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> RawConnection.connect(ud, address, address, RawConnection.Parameters.DEFAULT))
                .withMessageContaining("is of type UD");
        assertThat(ud.state()).isEqualTo(QpState.RESET);
    }
}
