package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.WholeLedger;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
@WholeLedger
class ExtendedQueueIT {

    private static final int LENGTH = 1000;

    private Rig rig;

    @BeforeEach
    void open() {
        rig = new Rig();
    }

    @AfterEach
    void close() throws Exception {
        rig.close();
    }

    private CompletionQueue extended(CompletionQueueAttributes attributes) {
        try {
            return rig.add(rig.context.createCompletionQueue(attributes));
        } catch (RdmaException e) {
            assertThat(e.isUnsupported()).as(e.getMessage()).isTrue();
            return abort("unsupported by the device: " + e.getMessage());
        }
    }

    @Test
    void completionsAreThoseOfAPlainQueue() {
        CompletionChannel channel = rig.add(rig.context.createCompletionChannel());
        CompletionQueue cq =
                extended(CompletionQueueAttributes.of(64).asExtended().withChannel(channel));
        assertThat(cq.isExtended()).isTrue();
        assertThat(cq.entries()).isGreaterThanOrEqualTo(64);
        Rig.Pair pair = rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT, builder -> builder.receiveQueue(cq));
        cq.requestNotify(false);
        pair.b().postReceive(1, pair.mrB(), 0, LENGTH);
        pair.b().postReceive(2, pair.mrB(), 0, LENGTH);
        pair.a().postSend(3, pair.mrA(), 0, LENGTH, SendFlag.SIGNALED);
        assertThat(channel.awaitEvent(Rig.SOON)).isSameAs(cq);
        pair.a().postSendWithImmediate(4, pair.mrA(), 0, 10, 0x01020304, SendFlag.SIGNALED);
        List<WorkCompletion> received = cq.awaitAny(2, Rig.SOON);
        assertThat(received).allMatch(WorkCompletion::isSuccess);
        assertThat(received).extracting(WorkCompletion::wrId).containsExactly(1L, 2L);
        assertThat(received).extracting(WorkCompletion::opcode).containsOnly(WorkCompletion.Opcode.RECV);
        assertThat(received).extracting(WorkCompletion::byteLength).containsExactly(LENGTH, 10);
        assertThat(received)
                .extracting(WorkCompletion::qpNumber)
                .containsOnly(pair.b().number());
        assertThat(received).extracting(WorkCompletion::hasImmediate).containsExactly(false, true);
        assertThat(received.getLast().immediate()).isEqualTo(0x01020304);
        assertThat(pair.b().work().receives()).isZero();
        Completions none = cq.newCompletions(1);
        assertThat(cq.poll(none)).isZero();

        pair.b().postReceive(5, pair.mrB(), 0, 64);
        pair.b().toError();
        assertThat(cq.awaitAny(1, Rig.SOON).getFirst().status()).isEqualTo(WorkCompletion.Status.WR_FLUSH_ERR);
    }

    /** No software device has timestamps: it is told so, whatever errno its provider returns. */
    @Test
    void completionsAreStampedOrTheDeviceIsSaidToLackIt() {
        CompletionQueueAttributes attributes =
                CompletionQueueAttributes.of(64).withTimestamps(CompletionTimestamp.DEVICE_CLOCK);
        if (rig.context.extendedAttributes().completionTimestampMask() == 0) {
            assertThatThrownBy(() -> rig.context.createCompletionQueue(attributes))
                    .isInstanceOfSatisfying(RdmaException.class, failure -> {
                        assertThat(failure.isUnsupported()).isTrue();
                        assertThat(failure.rdmaCause()).isEqualTo(Cause.UNSUPPORTED);
                    })
                    .hasMessageContaining("completion-timestamps");
            return;
        }
        CompletionQueue cq = extended(attributes);
        Rig.Pair pair = rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT, builder -> builder.sendQueue(cq));
        Completions into = cq.newCompletions(2);
        for (int i = 0; i < 2; i++) {
            pair.a()
                    .postWrite(
                            i,
                            pair.mrA(),
                            0,
                            64,
                            pair.mrB().address(),
                            pair.mrB().rkey(),
                            SendFlag.SIGNALED);
            assertThat(cq.awaitSuccess(into, Rig.SOON)).isEqualTo(1);
            assertThat(into.hasTimestamps()).isTrue();
            assertThat(into.timestamp(0)).isNotZero();
        }
    }
}
