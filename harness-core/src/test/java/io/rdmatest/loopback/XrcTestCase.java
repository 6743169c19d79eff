package io.rdmatest.loopback;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.QpState;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawAddress;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.SharedReceiveQueue;
import io.rdmatest.verbs.WorkCompletion;
import io.rdmatest.verbs.XrcDomain;
import io.rdmatest.verbs.XrcTarget;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Extended reliable connections, which no software device has. */
@ExtendWith(UsualStandin.WithObjects.class)
class XrcTestCase {

    /** Objects that a reset has taken from other cases, which stay allocated. */
    @BeforeEach
    void usual() {
        Standin.set("xrc", 1);
    }

    /** An initiator and a target in one domain, connected. */
    private record Ends(QueuePair initiator, XrcTarget target) {}

    private static Ends connected(Standin standin, XrcDomain domain, CompletionQueue cq) {
        QueuePair initiator = standin.add(standin.pd.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                .completionQueue(cq)
                .xrcInitiator(true)
                .build()));
        XrcTarget target = standin.add(domain.createTarget());
        GidEntry gid = standin.context.gidTable(1).getFirst();
        RawAddress ofInitiator = RawAddress.of(initiator, 1, gid.index(), 5);
        RawAddress ofTarget = RawAddress.of(target, 1, gid.index(), 6);
        RawConnection.connect(initiator, ofInitiator, ofTarget, RawConnection.Parameters.DEFAULT);
        RawConnection.connect(target, ofTarget, ofInitiator, RawConnection.Parameters.DEFAULT);
        return new Ends(initiator, target);
    }

    @Test
    void oneConnectionServesTwoReceivers() throws Exception {
        try (Standin standin = new Standin();
                SendRequests list = SendRequests.allocate(3)) {
            XrcDomain domain = standin.add(standin.context.openXrcDomain());
            CompletionQueue cq = standin.cq();
            CompletionQueue cqOfOne = standin.cq();
            CompletionQueue cqOfTwo = standin.cq();
            SharedReceiveQueue one = standin.add(standin.pd.createSharedReceiveQueue(domain, cqOfOne, 4, 1));
            SharedReceiveQueue two = standin.add(standin.pd.createSharedReceiveQueue(domain, cqOfTwo, 4, 1));
            assertThat(one.xrcNumber()).isPresent().isNotEqualTo(two.xrcNumber());
            Ends ends = connected(standin, domain, cq);
            assertThat(ends.initiator().isXrcInitiator()).isTrue();
            assertThat(ends.target().state()).isEqualTo(QpState.RTS);
            assertThat(ends.target().domain()).isSameAs(domain);
            assertThat(domain.context()).isSameAs(standin.context);
            MemoryRegion memory = standin.memory();
            memory.bytes().asSlice(0, 64).fill((byte) 5);
            one.postReceive(1, memory, 1024, 64);
            two.postReceive(2, memory, 2048, 64);
            list.send(0, 10, memory, 0, 32, SendFlag.SIGNALED)
                    .sharedReceiveQueue(0, two.xrcNumber().getAsInt());
            list.send(1, 11, memory, 0, 64, SendFlag.SIGNALED)
                    .sharedReceiveQueue(1, one.xrcNumber().getAsInt());
            list.write(2, 12, memory, 0, 64, memory.address(3072), memory.rkey(), SendFlag.SIGNALED)
                    .sharedReceiveQueue(2, one.xrcNumber().getAsInt());
            ends.initiator().post(list);
            assertThat(cq.awaitAny(3, Standin.SOON))
                    .allMatch(WorkCompletion::isSuccess)
                    .extracting(WorkCompletion::wrId)
                    .containsExactly(10L, 11L, 12L);
            WorkCompletion ofOne = cqOfOne.awaitSuccess(Standin.SOON);
            assertThat(ofOne.wrId()).isEqualTo(1);
            assertThat(ofOne.byteLength()).isEqualTo(64);
            assertThat(ofOne.qpNumber()).isEqualTo(ends.target().number());
            assertThat(cqOfTwo.awaitSuccess(Standin.SOON).byteLength()).isEqualTo(32);
            assertThat(memory.bytes().get(JAVA_BYTE, 1024)).isEqualTo((byte) 5);
            assertThat(memory.bytes().get(JAVA_BYTE, 2048)).isEqualTo((byte) 5);
            assertThat(memory.bytes().get(JAVA_BYTE, 3072)).isEqualTo((byte) 5);
            // What is set anew names no queue any more.
            list.send(0, 13, memory, 0, 8);
            ends.initiator().post(list, 0, 1);
            assertThat(cq.awaitAny(1, Standin.SOON).getFirst().status())
                    .isEqualTo(WorkCompletion.Status.REM_INV_REQ_ERR);
        }
    }

    @Test
    void whatIsBuiltOnADomainClosesBeforeIt() throws Exception {
        try (Standin standin = new Standin()) {
            XrcDomain domain = standin.context.openXrcDomain();
            CompletionQueue cq = standin.context.createCompletionQueue(16);
            XrcTarget target = domain.createTarget();
            SharedReceiveQueue srq = standin.pd.createSharedReceiveQueue(domain, cq, 4, 1);
            assertThat(domain.kind()).isEqualTo("xrcd");
            assertThat(target.kind()).isEqualTo("qp");
            assertThatIllegalStateException()
                    .isThrownBy(domain::close)
                    .withMessageContaining(target.describe())
                    .withMessageContaining(srq.describe());
            assertThatIllegalStateException().isThrownBy(cq::close);
            target.close();
            srq.close();
            domain.close();
            cq.close();
            assertThatIllegalStateException().isThrownBy(domain::createTarget);
            assertThatIllegalStateException().isThrownBy(target::state);
        }
    }

    @Test
    void aSharedReceiveQueueOfAnotherKindHasNoNumber() throws Exception {
        try (Standin standin = new Standin()) {
            SharedReceiveQueue srq = standin.add(standin.pd.createSharedReceiveQueue(4, 1));
            assertThat(srq.xrcNumber()).isEmpty();
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> QueuePairAttributes.builder(QpType.UC)
                            .completionQueue(standin.cq())
                            .xrcInitiator(true)
                            .build())
                    .withMessageContaining("an XRC initiator is of type RC");
        }
    }

    @Test
    void withoutTheCapabilityItIsUnsupported() throws Exception {
        Standin.set("xrc", 0);
        try (Standin standin = new Standin()) {
            assertThatThrownBy(() -> standin.context.openXrcDomain())
                    .isInstanceOfSatisfying(RdmaException.class, failure -> {
                        assertThat(failure.isUnsupported()).isTrue();
                        assertThat(failure.rdmaCause()).isEqualTo(Cause.UNSUPPORTED);
                    })
                    .hasMessageContaining("The device has no xrc: device_cap_flags has no IBV_DEVICE_XRC.");
        }
    }
}
