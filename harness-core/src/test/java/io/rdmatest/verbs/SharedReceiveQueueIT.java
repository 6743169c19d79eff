package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.WholeLedger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
@WholeLedger
class SharedReceiveQueueIT {

    @Test
    void receivesAreSharedAndTheLimitGivesAnEvent() throws Exception {
        try (Rig rig = new Rig()) {
            SharedReceiveQueue srq = rig.add(rig.pd.createSharedReceiveQueue(8, 1));
            assertThat(srq.attributes().maxWr()).isGreaterThanOrEqualTo(8);
            Rig.Pair pair = rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT, builder -> builder.srq(srq));
            Rig.pattern(pair.mrA(), 9);
            for (int i = 0; i < 4; i++) {
                srq.postReceive(i, pair.mrB(), i * 64L, 64);
            }
            srq.arm(3);
            assertThat(srq.attributes().limit()).isEqualTo(3);
            pair.a().postSend(10, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            pair.a().postSend(11, pair.mrA(), 64, 64, SendFlag.SIGNALED);
            pair.cqA().awaitAny(2, Rig.SOON).forEach(WorkCompletion::requireSuccess);
            pair.cqB().awaitAny(2, Rig.SOON).forEach(WorkCompletion::requireSuccess);
            assertThat(Rig.slice(pair.mrB(), 0, 128)).isEqualTo(Rig.slice(pair.mrA(), 0, 128));
            AsyncEvent event = rig.context.awaitAsyncEvent(Rig.SOON);
            while (event.type() != AsyncEvent.Type.SRQ_LIMIT_REACHED) {
                event = rig.context.awaitAsyncEvent(Rig.SOON);
            }
            assertThat(event.affected()).isEqualTo(srq.describe());
            assertThatThrownBy(() -> pair.b().postReceive(1, pair.mrB(), 0, 64))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(srq.describe());
        }
    }
}
