package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.rdmatest.Cause;
import io.rdmatest.DeviceUnderTest;
import io.rdmatest.RdmaException;
import io.rdmatest.WholeLedger;
import io.rdmatest.verbs.WorkCompletion.Status;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every failure that soft-RoCE can report is provoked once on purpose, and arrives as the right typed error. On other devices a
 * failure has the status that IBTA wants, or one that leaves no doubt.
 */
@Timeout(300)
@WholeLedger
class StatusIT {

    private static final RawConnection.Parameters QUICK =
            RawConnection.Parameters.DEFAULT.withTimeout(8, 1).withRnr(1, 1);
    /** Why the tests of posts are for soft-RoCE alone: DataPathErrorsTestCase has the answers of others. */
    private static final String POSTS = "the provider checks a request when it is posted, and returns an errno";

    private static final int EINVAL = 22;
    private static final int ENOMEM = 12;

    /**
     * What rxe never reports, and why (drivers/infiniband/sw/rxe of Linux 6.1: these names do not occur in it, or the way
     * to them is closed).
     */
    private static final Map<Status, String> OUT_OF_REACH = new EnumMap<>(Map.ofEntries(
            Map.entry(Status.LOC_LEN_ERR, "a message that is too long is told as LOC_QP_OP_ERR to the receiver"),
            Map.entry(Status.LOC_EEC_OP_ERR, "reliable datagram only, which no device has"),
            Map.entry(Status.MW_BIND_ERR, "binds of memory windows only, which this library does not post"),
            Map.entry(Status.BAD_RESP_ERR, "a response that does not fit is FATAL_ERR or the retries run out"),
            Map.entry(Status.LOC_ACCESS_ERR, "local memory without permission is told as LOC_PROT_ERR"),
            Map.entry(Status.LOC_RDD_VIOL_ERR, "reliable datagram only, which no device has"),
            Map.entry(Status.REM_INV_RD_REQ_ERR, "reliable datagram only, which no device has"),
            Map.entry(Status.REM_ABORT_ERR, "the responder has no such answer"),
            Map.entry(Status.INV_EECN_ERR, "reliable datagram only, which no device has"),
            Map.entry(Status.INV_EEC_STATE_ERR, "reliable datagram only, which no device has"),
            Map.entry(Status.FATAL_ERR, "a READ response to another request only, which no responder sends"),
            Map.entry(Status.RESP_TIMEOUT_ERR, "silence is told as RETRY_EXC_ERR"),
            Map.entry(Status.GENERAL_ERR, "the driver has no unspecific error"),
            Map.entry(Status.TM_ERR, "tag matching, which rxe has not"),
            Map.entry(Status.TM_RNDV_INCOMPLETE, "tag matching, which rxe has not")));

    /** Events that are provoked here. */
    private static final Set<AsyncEvent.Type> TOLD = EnumSet.of(
            AsyncEvent.Type.CQ_ERR,
            AsyncEvent.Type.SRQ_LIMIT_REACHED,
            AsyncEvent.Type.PORT_ERR,
            AsyncEvent.Type.PORT_ACTIVE,
            AsyncEvent.Type.GID_CHANGE);

    /** Events that rxe never raises, and why. */
    private static final Map<AsyncEvent.Type, String> NEVER_TOLD = new EnumMap<>(Map.ofEntries(
            Map.entry(AsyncEvent.Type.QP_FATAL, "the error of a queue pair is told by its completions alone"),
            Map.entry(AsyncEvent.Type.QP_REQ_ERR, "the responder answers the request, and tells nobody else"),
            Map.entry(AsyncEvent.Type.QP_ACCESS_ERR, "the responder answers the request, and tells nobody else"),
            Map.entry(AsyncEvent.Type.COMM_EST, "a message that comes before RTS is taken in silence"),
            Map.entry(
                    AsyncEvent.Type.SQ_DRAINED,
                    "only if the last acknowledgement comes after the change to SQD, which no program can time"),
            Map.entry(AsyncEvent.Type.PATH_MIG, "alternate paths, which rxe has not"),
            Map.entry(AsyncEvent.Type.PATH_MIG_ERR, "alternate paths, which rxe has not"),
            Map.entry(AsyncEvent.Type.DEVICE_FATAL, "a device goes away only after its last user"),
            Map.entry(AsyncEvent.Type.LID_CHANGE, "InfiniBand only"),
            Map.entry(AsyncEvent.Type.PKEY_CHANGE, "InfiniBand only"),
            Map.entry(AsyncEvent.Type.SM_CHANGE, "InfiniBand only"),
            Map.entry(AsyncEvent.Type.SRQ_ERR, "the queue fails only when it is resized, which this library does not"),
            Map.entry(AsyncEvent.Type.QP_LAST_WQE_REACHED, "the driver does not count the last receive"),
            Map.entry(AsyncEvent.Type.CLIENT_REREGISTER, "InfiniBand only"),
            Map.entry(AsyncEvent.Type.WQ_FATAL, "work queues of their own, which rxe has not"),
            Map.entry(AsyncEvent.Type.DEVICE_SPEED_CHANGE, "a link that changes its speed, which rxe has not")));

    private Rig rig;

    @BeforeEach
    void open() {
        rig = new Rig();
    }

    @AfterEach
    void close() throws Exception {
        rig.close();
    }

    /** One way to make a request fail: what its poster sees, and the peer if a receive of it is consumed. */
    enum Provocation {
        READ_INTO_READ_ONLY_MEMORY(Status.LOC_PROT_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                pair.a()
                        .postRead(
                                REQUEST,
                                rig.add(rig.pd.registerMemory(4096)),
                                0,
                                64,
                                pair.mrB().address(),
                                pair.mrB().rkey(),
                                SendFlag.SIGNALED);
            }
        },
        RECEIVE_INTO_READ_ONLY_MEMORY(Status.REM_OP_ERR, Status.LOC_QP_OP_ERR, Status.REM_OP_ERR, Status.LOC_PROT_ERR) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                pair.b().postReceive(RECEIVE, rig.add(rig.pd.registerMemory(4096)), 0, 64);
                pair.a().postSend(REQUEST, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            }
        },
        RECEIVE_TOO_SHORT(Status.REM_OP_ERR, Status.LOC_QP_OP_ERR, Status.REM_INV_REQ_ERR, Status.LOC_LEN_ERR) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                pair.b().postReceive(RECEIVE, pair.mrB(), 0, 32);
                pair.a().postSend(REQUEST, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            }
        },
        WRITE_WITH_WRONG_KEY(Status.REM_ACCESS_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                pair.a()
                        .postWrite(
                                REQUEST,
                                pair.mrA(),
                                0,
                                64,
                                pair.mrB().address(),
                                pair.mrB().rkey() ^ 0x5555,
                                SendFlag.SIGNALED);
            }
        },
        WRITE_BEYOND_THE_REGION(Status.REM_ACCESS_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                pair.a()
                        .postWrite(
                                REQUEST,
                                pair.mrA(),
                                0,
                                64,
                                pair.mrB().address(Rig.SIZE - 63),
                                pair.mrB().rkey(),
                                SendFlag.SIGNALED);
            }
        },
        WRITE_TO_MEMORY_WITHOUT_REMOTE_WRITE(Status.REM_ACCESS_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                MemoryRegion local = rig.add(rig.pd.registerMemory(4096, Access.LOCAL_WRITE, Access.REMOTE_READ));
                pair.a().postWrite(REQUEST, pair.mrA(), 0, 64, local.address(), local.rkey(), SendFlag.SIGNALED);
            }
        },
        READ_FROM_MEMORY_WITHOUT_REMOTE_READ(Status.REM_ACCESS_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                MemoryRegion local = rig.add(rig.pd.registerMemory(4096, Access.LOCAL_WRITE, Access.REMOTE_WRITE));
                pair.a().postRead(REQUEST, pair.mrA(), 0, 64, local.address(), local.rkey(), SendFlag.SIGNALED);
            }
        },
        ATOMIC_ON_MEMORY_WITHOUT_REMOTE_ATOMIC(Status.REM_ACCESS_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                MemoryRegion local = rig.add(rig.pd.registerMemory(4096, Access.LOCAL_WRITE, Access.REMOTE_WRITE));
                pair.a().postFetchAndAdd(REQUEST, pair.mrA(), 0, local.address(), local.rkey(), 1, SendFlag.SIGNALED);
            }
        },
        WRITE_TO_FOREIGN_MEMORY(Status.REM_ACCESS_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                MemoryRegion foreign = foreign(rig);
                pair.a().postWrite(REQUEST, pair.mrA(), 0, 64, foreign.address(), foreign.rkey(), SendFlag.SIGNALED);
            }
        },
        WRITE_TO_CLOSED_MEMORY(Status.REM_ACCESS_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                MemoryRegion gone = rig.pd.registerMemory(4096, rig.context.allAccess());
                long address = gone.address();
                gone.close();
                pair.a().postWrite(REQUEST, pair.mrA(), 0, 64, address, gone.rkey(), SendFlag.SIGNALED);
            }
        },
        /** Of a READ that is not enabled IBTA has both. */
        READ_THAT_THE_QUEUE_PAIR_FORBIDS(Status.REM_INV_REQ_ERR, null, Status.REM_ACCESS_ERR, null) {
            @Override
            RawConnection.Parameters parameters() {
                return QUICK.withAccess(Access.LOCAL_WRITE, Access.REMOTE_WRITE);
            }

            @Override
            void post(Rig rig, Rig.Pair pair) {
                pair.a()
                        .postRead(
                                REQUEST,
                                pair.mrA(),
                                0,
                                64,
                                pair.mrB().address(),
                                pair.mrB().rkey(),
                                SendFlag.SIGNALED);
            }
        },
        NO_RECEIVE_POSTED(Status.RNR_RETRY_EXC_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                pair.a().postSend(REQUEST, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            }
        },
        PEER_GONE(Status.RETRY_EXC_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                pair.b().reset();
                pair.a().postSend(REQUEST, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            }
        },
        FLUSHED(Status.WR_FLUSH_ERR, null) {
            @Override
            void post(Rig rig, Rig.Pair pair) {
                pair.a().toError();
                pair.a().postSend(REQUEST, pair.mrA(), 0, 64, SendFlag.SIGNALED);
            }
        };

        static final long REQUEST = 77;
        static final long RECEIVE = 88;

        final Status poster;
        final @Nullable Status receiver;
        private final Status posterByIbta;
        private final @Nullable Status receiverByIbta;

        Provocation(Status poster, @Nullable Status receiver) {
            this(poster, receiver, poster, receiver);
        }

        /** With what IBTA wants where soft-RoCE reports something else. */
        Provocation(Status poster, @Nullable Status receiver, Status posterByIbta, @Nullable Status receiverByIbta) {
            this.poster = poster;
            this.receiver = receiver;
            this.posterByIbta = posterByIbta;
            this.receiverByIbta = receiverByIbta;
        }

        Set<Status> ofPoster() {
            return allowed(poster, posterByIbta);
        }

        /** Returns null if no receive is consumed. */
        @Nullable
        Set<Status> ofReceiver() {
            return receiver == null ? null : allowed(receiver, Objects.requireNonNull(receiverByIbta));
        }

        private static Set<Status> allowed(Status ofRxe, Status byIbta) {
            return DeviceUnderTest.driver() == DeviceUnderTest.Driver.RXE
                    ? EnumSet.of(ofRxe)
                    : EnumSet.of(ofRxe, byIbta);
        }

        RawConnection.Parameters parameters() {
            return QUICK;
        }

        abstract void post(Rig rig, Rig.Pair pair);

        static MemoryRegion foreign(Rig rig) {
            ProtectionDomain other = rig.add(rig.context.allocateProtectionDomain());
            return rig.add(other.registerMemory(4096, rig.context.allAccess()));
        }
    }

    @ParameterizedTest
    @EnumSource
    void aFailureArrivesAsItsTypedError(Provocation provocation) {
        assumeThat(provocation != Provocation.ATOMIC_ON_MEMORY_WITHOUT_REMOTE_ATOMIC
                        || rig.context.attributes().atomicCapability() != AtomicCapability.NONE)
                .as("%s has atomic operations", rig.context.deviceName())
                .isTrue();
        Rig.Pair pair = rig.pair(rig.gid(true), provocation.parameters(), builder -> {});
        provocation.post(rig, pair);
        WorkCompletionException seen = requireFailure(
                pair.cqA(),
                provocation.ofPoster(),
                Provocation.REQUEST,
                pair.a().number());
        assertThat(pair.a().state()).as(seen.getMessage()).isEqualTo(QpState.ERR);
        Set<Status> ofReceiver = provocation.ofReceiver();
        if (ofReceiver != null) {
            requireFailure(pair.cqB(), ofReceiver, Provocation.RECEIVE, pair.b().number());
        }
    }

    /** Without the refusal, soft-RoCE answers LOC_QP_OP_ERR, and other devices LOC_PROT_ERR. */
    @Test
    void memoryOfAnotherProtectionDomainIsRefused() {
        Rig.Pair pair = rig.pair(rig.gid(true), QUICK, builder -> {});
        MemoryRegion foreign = Provocation.foreign(rig);
        String refusal = foreign.describe() + " is of "
                + foreign.protectionDomain().describe() + ", and %s is of " + rig.pd.describe()
                + ": register the memory in the protection domain of the queue";
        assertThatIllegalArgumentException()
                .isThrownBy(() -> pair.a().postSend(1, foreign, 0, 64, SendFlag.SIGNALED))
                .withMessage(refusal, pair.a().describe())
                .extracting(Cause::of)
                .isEqualTo(Cause.WRONG_USE);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> pair.b().postReceive(1, foreign, 0, 64))
                .withMessage(refusal, pair.b().describe());
        SendRequests list = rig.add(SendRequests.allocate(2));
        list.send(0, 1, pair.mrA(), 0, 64).send(1, 2, foreign, 0, 64);
        assertThatIllegalArgumentException().isThrownBy(() -> pair.a().post(list));
        assertThat(pair.a().work().sendsPosted()).isZero();
    }

    private static WorkCompletionException requireFailure(CompletionQueue cq, Set<Status> allowed, long wrId, int qp) {
        WorkCompletionException failure =
                catchThrowableOfType(WorkCompletionException.class, () -> cq.awaitSuccess(Rig.SOON));
        assertThat(failure).as("a success instead of " + allowed).isNotNull();
        Status seen = failure.status();
        assertThat(allowed).as(failure.getMessage()).contains(seen);
        assertThat(failure.statusCode()).isEqualTo(seen.code());
        assertThat(failure.wrId()).isEqualTo(wrId);
        assertThat(failure.qpNumber()).isEqualTo(qp);
        assertThat(failure)
                .hasMessageContaining("work request " + wrId + " on QP " + qp)
                .hasMessageContaining(seen.ibvName())
                .hasMessageContaining(seen.cause().clause());
        return failure;
    }

    @Test
    void noEventIsForgotten() {
        Set<AsyncEvent.Type> known = EnumSet.copyOf(TOLD);
        assertThat(known).doesNotContainAnyElementsOf(NEVER_TOLD.keySet());
        known.addAll(NEVER_TOLD.keySet());
        known.add(AsyncEvent.Type.UNKNOWN);
        assertThat(known).containsExactlyInAnyOrder(AsyncEvent.Type.values());
    }

    @Test
    void noStatusIsForgotten() {
        Set<Status> known = EnumSet.of(Status.SUCCESS, Status.UNKNOWN);
        for (Provocation provocation : Provocation.values()) {
            known.add(provocation.poster);
            if (provocation.receiver != null) {
                known.add(provocation.receiver);
            }
        }
        assertThat(known).as("provoked although out of reach").doesNotContainAnyElementsOf(OUT_OF_REACH.keySet());
        known.addAll(OUT_OF_REACH.keySet());
        assertThat(known).containsExactlyInAnyOrder(Status.values());
    }

    // ---- when posting ----

    @Test
    void aRequestThatDoesNotFitIsRefusedWithItsCure() {
        DeviceUnderTest.assumeRxe(POSTS);
        Rig.Pair pair = rig.pair();
        try (SendRequests list = SendRequests.allocate(1, 8)) {
            list.send(0, 1, pair.mrA(), 0, 8);
            for (int i = 1; i < list.maxSegments(); i++) {
                list.add(0, pair.mrA(), 8L * i, 8);
            }
            refused(EINVAL, "the number of segments", () -> pair.a().post(list));
        }
        try (ReceiveRequests list = ReceiveRequests.allocate(1, 8)) {
            list.receive(0, 1, pair.mrA(), 0, 8);
            for (int i = 1; i < list.maxSegments(); i++) {
                list.add(0, pair.mrA(), 8L * i, 8);
            }
            refused(EINVAL, "the number of segments", () -> pair.a().post(list));
        }
        refused(
                EINVAL,
                "does not fit the queue pair",
                () -> pair.a()
                        .postFetchAndAdd(
                                2,
                                pair.mrA(),
                                0,
                                pair.mrB().address(4),
                                pair.mrB().rkey(),
                                1));
        refused(
                EINVAL,
                "inline data",
                () -> pair.a().postSend(3, pair.mrA(), 0, pair.a().maxInline() + 1, SendFlag.INLINE));
        assertThat(pair.a().state()).isEqualTo(QpState.RTS);
    }

    @Test
    void aFullQueueIsRefusedWithItsCure() {
        DeviceUnderTest.assumeRxe(POSTS);
        QueuePair qp = rig.qp(rig.cq(), builder -> {});
        qp.toInit(rig.port, 0);
        MemoryRegion memory = rig.memory();
        refused(ENOMEM, "poll completions first", () -> {
            for (int i = 0; i < 4 * qp.maxReceiveWr(); i++) {
                qp.postReceive(i, memory, 0, 8);
            }
        });
    }

    @Test
    void aSendBeforeTheQueuePairIsReadyIsRefused() {
        DeviceUnderTest.assumeRxe(POSTS);
        QueuePair qp = rig.qp(rig.cq(), builder -> {});
        MemoryRegion memory = rig.memory();
        refused(EINVAL, "check its state", () -> qp.postSend(1, memory, 0, 8, SendFlag.SIGNALED));
        qp.toInit(rig.port, 0);
        refused(EINVAL, "check its state", () -> qp.postSend(2, memory, 0, 8, SendFlag.SIGNALED));
    }

    private static void refused(int errno, String cure, Runnable post) {
        assertThatThrownBy(post::run)
                .isInstanceOfSatisfying(
                        PostException.class, e -> assertThat(e.errno()).isEqualTo(errno))
                .hasMessageContaining(cure);
    }

    // ---- when making and changing objects ----

    @Test
    void limitsOfTheDeviceAreRefusedWithTheOperands() {
        DeviceAttributes limits = rig.context.attributes();
        CompletionQueue cq = rig.cq();
        fails(
                "ibv_create_cq",
                EINVAL,
                (limits.maxCqe() + 1) + " entries",
                () -> rig.context.createCompletionQueue(limits.maxCqe() + 1));
        fails("ibv_resize_cq", EINVAL, (limits.maxCqe() + 1) + " entries", () -> cq.resize(limits.maxCqe() + 1));
        fails(
                "ibv_create_srq",
                EINVAL,
                "max_wr " + (limits.maxSrqWr() + 1),
                () -> rig.pd.createSharedReceiveQueue(limits.maxSrqWr() + 1, 1));
        qpFails("max_send_wr " + (limits.maxQpWr() + 1), builder -> builder.maxSendWr(limits.maxQpWr() + 1));
        qpFails("max_recv_wr " + (limits.maxQpWr() + 1), builder -> builder.maxReceiveWr(limits.maxQpWr() + 1));
        qpFails("max_send_sge " + (limits.maxSge() + 1), builder -> builder.maxSendSge(limits.maxSge() + 1));
        qpFails("max_recv_sge " + (limits.maxSge() + 1), builder -> builder.maxReceiveSge(limits.maxSge() + 1));
        qpFails("max_inline_data 1000000", builder -> builder.maxInline(1_000_000));
        SharedReceiveQueue srq = rig.add(rig.pd.createSharedReceiveQueue(4, 1));
        fails("ibv_modify_srq", EINVAL, "srq_limit 1000000", () -> srq.arm(1_000_000));
        assertThatThrownBy(() -> rig.pd.registerMemory(1L << 60, Access.LOCAL_WRITE))
                .isInstanceOf(RdmaException.class)
                .hasMessageContaining("ibv_reg_mr")
                .hasMessageContaining((1L << 60) + " bytes");
    }

    private void qpFails(String operand, Consumer<QueuePairAttributes.Builder> more) {
        QueuePairAttributes.Builder builder =
                QueuePairAttributes.builder(QpType.RC).completionQueue(rig.cq());
        more.accept(builder);
        fails("ibv_create_qp", EINVAL, operand, () -> rig.pd.createQueuePair(builder.build()));
    }

    @Test
    void changesThatAreNotPossibleAreRefusedWithTheOperands() {
        QueuePair qp = rig.qp(rig.cq(), builder -> {});
        fails(
                "ibv_modify_qp",
                EINVAL,
                "to INIT",
                () -> qp.toInit(rig.context.attributes().physicalPorts() + 1, 0));
        fails(
                "ibv_modify_qp",
                EINVAL,
                "to RTR",
                () -> qp.modify(QueuePairModification.to(QpState.RTR).build()));
        assertThat(qp.state()).isEqualTo(QpState.RESET);
        qp.toInit(rig.port, 0);
        fails(
                "ibv_modify_qp",
                EINVAL,
                "to SQD",
                () -> qp.modify(QueuePairModification.to(QpState.SQD).build()));
        fails(
                "ibv_modify_qp",
                EINVAL,
                "IBV_QP_TIMEOUT",
                () -> qp.modify(QueuePairModification.builder().timeout(14).build()));
        assertThat(qp.state()).isEqualTo(QpState.INIT);
        qp.toError();
        fails(
                "ibv_modify_qp",
                EINVAL,
                "to RTS",
                () -> qp.modify(QueuePairModification.to(QpState.RTS).build()));
        qp.reset();
        assertThat(qp.state()).isEqualTo(QpState.RESET);
    }

    private static void fails(String call, int errno, String operand, Runnable action) {
        assertThatThrownBy(action::run)
                .isInstanceOfSatisfying(RdmaException.class, e -> {
                    assertThat(e.call()).isEqualTo(call);
                    if (DeviceUnderTest.driver() == DeviceUnderTest.Driver.RXE) {
                        assertThat(e.errno()).as(e.getMessage()).isEqualTo(errno);
                    }
                })
                .hasMessageContaining(operand);
    }

    // ---- later, as events ----

    @Test
    void aCompletionQueueThatOverrunsIsTold() {
        DeviceUnderTest.assumeRxe("others lose completions without a word, or end all queue pairs of the queue");
        CompletionQueue small = rig.add(rig.context.createCompletionQueue(1));
        QueuePair qp = rig.qp(small, builder -> {});
        qp.toInit(rig.port, 0);
        MemoryRegion memory = rig.memory();
        for (int i = 0; i < 2 * small.entries() + 2; i++) {
            qp.postReceive(i, memory, 0, 8);
        }
        qp.toError();
        AsyncEvent event = await(rig.context, AsyncEvent.Type.CQ_ERR);
        assertThat(event.affected()).isEqualTo(small.describe());
    }

    @Test
    void aSharedReceiveQueueThatRunsLowIsTold() {
        SharedReceiveQueue srq = rig.add(rig.pd.createSharedReceiveQueue(8, 1));
        Rig.Pair pair = rig.pair(rig.gid(true), RawConnection.Parameters.DEFAULT, builder -> builder.srq(srq));
        srq.postReceive(1, pair.mrB(), 0, 64);
        srq.postReceive(2, pair.mrB(), 64, 64);
        srq.arm(2);
        pair.a().postSend(3, pair.mrA(), 0, 64, SendFlag.SIGNALED);
        assertThat(await(rig.context, AsyncEvent.Type.SRQ_LIMIT_REACHED).affected())
                .isEqualTo(srq.describe());
    }

    @Test
    void aPortThatGoesDownAndUpAndGetsAnAddressIsTold() throws Exception {
        DeviceUnderTest.assumeRxe("a second device of soft-RoCE can be made and removed");
        run("ip", "link", "add", "statusit0", "type", "dummy");
        try {
            run("ip", "link", "set", "statusit0", "up");
            run("rdma", "link", "add", "rxestatusit", "type", "rxe", "netdev", "statusit0");
            try (DeviceContext other = RdmaDevice.byName("rxestatusit").open()) {
                run("ip", "link", "set", "statusit0", "down");
                assertThat(await(other, AsyncEvent.Type.PORT_ERR).affected()).isEqualTo("port 1");
                assertThat(other.port(1).state()).isEqualTo(PortState.DOWN);
                run("ip", "link", "set", "statusit0", "up");
                assertThat(await(other, AsyncEvent.Type.PORT_ACTIVE).affected()).isEqualTo("port 1");
                assertThat(other.port(1).state()).isEqualTo(PortState.ACTIVE);
                run("ip", "address", "add", "198.51.100.1/24", "dev", "statusit0");
                assertThat(await(other, AsyncEvent.Type.GID_CHANGE).affected()).isEqualTo("port 1");
            }
            run("rdma", "link", "delete", "rxestatusit");
        } finally {
            run("ip", "link", "delete", "statusit0");
        }
    }

    private static AsyncEvent await(DeviceContext context, AsyncEvent.Type wanted) {
        assertThat(TOLD).contains(wanted);
        List<AsyncEvent> others = new ArrayList<>();
        while (others.size() < 100) {
            AsyncEvent event = context.awaitAsyncEvent(Rig.SOON);
            if (event.type() == wanted) {
                return event;
            }
            others.add(event);
        }
        throw new AssertionError("no " + wanted + " among " + others);
    }

    private static void run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(30, TimeUnit.SECONDS))
                .as(String.join(" ", command))
                .isTrue();
        assertThat(process.exitValue())
                .as(String.join(" ", command) + ": " + output)
                .isZero();
    }
}
