package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.WholeLedger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** On a device without XRC, as all software devices are, it is told so. */
@Timeout(300)
@WholeLedger
class XrcIT {

    @Test
    void aMessageReachesTheSharedReceiveQueueOrTheDeviceIsSaidToLackIt() throws Exception {
        try (Rig rig = new Rig();
                SendRequests list = SendRequests.allocate(1)) {
            if (!rig.context.capabilities().has(DeviceCapability.XRC)) {
                assertThatThrownBy(() -> rig.context.openXrcDomain())
                        .isInstanceOfSatisfying(RdmaException.class, failure -> {
                            assertThat(failure.isUnsupported()).isTrue();
                            assertThat(failure.rdmaCause()).isEqualTo(Cause.UNSUPPORTED);
                        })
                        .hasMessageContaining("The device has no xrc");
                return;
            }
            XrcDomain domain = rig.add(rig.context.openXrcDomain());
            CompletionQueue sent = rig.cq();
            CompletionQueue received = rig.cq();
            SharedReceiveQueue srq = rig.add(rig.pd.createSharedReceiveQueue(domain, received, 16, 1));
            MemoryRegion memory = rig.memory();
            QueuePair initiator = rig.add(rig.pd.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                    .completionQueue(sent)
                    .xrcInitiator(true)
                    .build()));
            XrcTarget target = rig.add(domain.createTarget());
            int gid = rig.gid(true).index();
            RawAddress ofInitiator = RawAddress.of(initiator, rig.port, gid, 5);
            RawAddress ofTarget = RawAddress.of(target, rig.port, gid, 6);
            RawConnection.connect(initiator, ofInitiator, ofTarget, RawConnection.Parameters.DEFAULT);
            RawConnection.connect(target, ofTarget, ofInitiator, RawConnection.Parameters.DEFAULT);
            srq.postReceive(1, memory, 0, 64);
            list.send(0, 2, memory, 1024, 64, SendFlag.SIGNALED)
                    .sharedReceiveQueue(0, srq.xrcNumber().getAsInt());
            initiator.post(list);
            assertThat(sent.awaitSuccess(Rig.SOON).wrId()).isEqualTo(2);
            assertThat(received.awaitSuccess(Rig.SOON).wrId()).isEqualTo(1);
        }
    }
}
