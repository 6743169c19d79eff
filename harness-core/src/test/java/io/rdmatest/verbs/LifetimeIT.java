package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Ledger;
import io.rdmatest.RdmaException;
import io.rdmatest.WholeLedger;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
@WholeLedger
class LifetimeIT {

    @Test
    void aParentIsNotClosedBeforeItsChildren() throws Exception {
        try (Rig rig = new Rig()) {
            CompletionQueue cq = rig.cq();
            QueuePair qp = rig.qp(cq, builder -> {});
            assertThatThrownBy(rig.pd::close)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(qp.describe());
            assertThatThrownBy(cq::close)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(qp.describe());
            assertThatThrownBy(rig.context::close)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(rig.pd.describe());
            assertThat(qp.state()).isEqualTo(QpState.RESET);
        }
        assertThat(Ledger.live()).isEmpty();
    }

    @Test
    void closingTwiceDoesNothingAndUseAfterCloseIsRefused() throws Exception {
        try (Rig rig = new Rig()) {
            CompletionQueue cq = rig.cq();
            QueuePair qp = rig.qp(cq, builder -> {});
            MemoryRegion memory = rig.memory();
            Completions completions = cq.newCompletions(4);
            SharedReceiveQueue srq = rig.pd.createSharedReceiveQueue(4, 1);
            qp.close();
            qp.close();
            srq.close();
            cq.close();
            cq.close();
            memory.close();
            assertThatThrownBy(() -> qp.postReceive(1, memory, 0, 8))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage(qp.describe() + " is closed");
            assertThatThrownBy(() -> srq.postReceive(1, memory, 0, 8))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage(srq.describe() + " is closed");
            assertThatThrownBy(qp::state)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("is closed");
            assertThatThrownBy(() -> cq.poll(completions)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> cq.requestNotify(false)).isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> memory.bytes().get(ValueLayout.JAVA_BYTE, 0))
                    .isInstanceOf(IllegalStateException.class);
            assertThatThrownBy(() -> rig.pd.createQueuePair(QueuePairAttributes.builder(QpType.RC)
                            .completionQueue(cq)
                            .build()))
                    .isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void inlineDataOfAClosedRegionIsRefused() throws Exception {
        try (Rig rig = new Rig()) {
            Rig.Pair pair = rig.pair();
            MemoryRegion gone = rig.pd.registerMemory(64, Access.LOCAL_WRITE);
            try (SendRequests list = SendRequests.allocate(1)) {
                list.send(0, 1, gone, 0, 8, SendFlag.INLINE);
                gone.close();
                assertThatThrownBy(() -> pair.a().post(list))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("which is closed");
            }
        }
    }

    @Test
    @SuppressWarnings("NullAway") // what a caller without the annotations does
    void aRequestThatWasRefusedIsNotSet() throws Exception {
        try (Rig rig = new Rig()) {
            Rig.Pair pair = rig.pair();
            try (SendRequests list = SendRequests.allocate(1);
                    ReceiveRequests receives = ReceiveRequests.allocate(1)) {
                assertThatThrownBy(() -> list.send(0, 1, null, 0, 8)).isInstanceOf(NullPointerException.class);
                assertThatThrownBy(() -> list.send(0, 1, pair.mrA(), 0, 8, (SendFlag) null))
                        .isInstanceOf(NullPointerException.class);
                assertThatThrownBy(() -> list.sendTo(0, 1, pair.mrA(), 0, 8, null, 1, 1))
                        .isInstanceOf(NullPointerException.class);
                assertThatThrownBy(() -> pair.a().post(list)).hasMessage("request 0 is not set");
                assertThatThrownBy(() -> receives.receive(0, 1, null, 0, 8)).isInstanceOf(NullPointerException.class);
                assertThatThrownBy(() -> pair.a().post(receives)).hasMessage("request 0 is not set");
            }
        }
    }

    @Test
    void operandsAreChecked() throws Exception {
        try (Rig rig = new Rig()) {
            Rig.Pair pair = rig.pair();
            assertThatThrownBy(() -> pair.a().postSend(1, pair.mrA(), Rig.SIZE - 7, 8))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> pair.a().postSend(1, pair.mrA(), -1, 8))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> pair.a().postReceive(1, pair.mrA(), 0, -8))
                    .isInstanceOf(IndexOutOfBoundsException.class);
            try (SendRequests list = SendRequests.allocate(2)) {
                assertThatThrownBy(() -> pair.a().post(list))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("request 0 is not set");
                assertThatThrownBy(() -> list.send(2, 1, pair.mrA(), 0, 8))
                        .isInstanceOf(IndexOutOfBoundsException.class);
                assertThatThrownBy(() -> pair.a().post(list, 1, 2)).isInstanceOf(IndexOutOfBoundsException.class);
                list.close();
                assertThatThrownBy(() -> pair.a().post(list)).isInstanceOf(IllegalStateException.class);
            }
            assertThatThrownBy(() -> SendRequests.allocate(1 << 16, 1 << 16))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("65536 requests of 65536");
            assertThatThrownBy(() -> QueuePairModification.builder().currentState(QpState.UNKNOWN))
                    .isInstanceOf(IllegalArgumentException.class);
            Completions completions = pair.cqA().newCompletions(2);
            assertThat(pair.cqA().poll(completions)).isZero();
            assertThatThrownBy(() -> completions.wrId(0)).isInstanceOf(IndexOutOfBoundsException.class);
        }
    }

    @Test
    void closingUnderAPollingThreadDoesNotCrash() throws Exception {
        try (Rig rig = new Rig()) {
            for (int i = 0; i < 50; i++) {
                CompletionQueue cq = rig.context.createCompletionQueue(16);
                AtomicReference<Throwable> end = new AtomicReference<>();
                Thread poller = Thread.ofPlatform().start(() -> {
                    Completions completions = cq.newCompletions(4);
                    try {
                        while (true) {
                            int ignored = cq.poll(completions);
                        }
                    } catch (IllegalStateException e) {
                        end.set(e);
                    }
                });
                Thread.yield();
                cq.close();
                poller.join(10_000);
                assertThat(end.get()).hasMessageContaining("is closed");
            }
        }
    }

    /** The native arrays are not an arena's: after their end nothing but the list itself keeps anybody from them. */
    @Test
    void aClosedListRefusesAllOfItsMethods() throws Exception {
        try (Rig rig = new Rig()) {
            GidEntry gid = rig.gid(true);
            AddressHandle destination = rig.add(
                    rig.pd.createAddressHandle(AddressHandleAttributes.toGid(rig.port, gid.index(), gid.gid())));
            MemoryRegion memory = rig.memory();
            Map<Class<?>, Object> operands = new HashMap<>(Map.of(
                    int.class,
                    0,
                    long.class,
                    0L,
                    boolean.class,
                    true,
                    MemoryRegion.class,
                    memory,
                    AddressHandle.class,
                    destination,
                    Set.class,
                    Set.of(),
                    SendFlag[].class,
                    new SendFlag[] {SendFlag.SIGNALED}));
            boolean windows = rig.context
                    .capabilities()
                    .lack(DeviceCapability.MEMORY_WINDOWS_TYPE_2)
                    .isEmpty();
            if (windows) {
                operands.put(MemoryWindow.class, rig.add(rig.pd.allocateMemoryWindow(MemoryWindow.Type.TYPE_2)));
            }
            SendRequests sends = SendRequests.allocate(2).send(0, 1, memory, 0, 8);
            ReceiveRequests receives = ReceiveRequests.allocate(2).receive(0, 1, memory, 0, 8);
            Set<String> refused = new TreeSet<>();
            for (WorkRequests list : List.of(sends, receives)) {
                list.close();
                list.close();
                for (Method method : callsOf(list)) {
                    if (!windows && method.getName().equals("bind")) {
                        continue;
                    }
                    Object[] values = Stream.of(method.getParameterTypes())
                            .map(operands::get)
                            .toArray();
                    assertThatThrownBy(() -> method.invoke(list, values))
                            .as("%s", method)
                            .cause()
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessage("the list of work requests is closed");
                    refused.add(method.getName());
                }
            }
            assertThat(refused).contains("send", "sendTo", "write", "receive", "segment", "signaled", "wrId", "post");
        }
    }

    /** Everything that touches the native arrays: what the list declares, and the public calls that both lists inherit. */
    private static List<Method> callsOf(WorkRequests list) {
        Set<String> touchNothing = Set.of("capacity", "maxSegments", "close", "needsKeys", "unsignaled");
        return Stream.concat(
                        Stream.of(list.getClass().getDeclaredMethods()),
                        Stream.of(WorkRequests.class.getDeclaredMethods())
                                .filter(method -> Modifier.isPublic(method.getModifiers())))
                .filter(method -> !touchNothing.contains(method.getName()))
                .filter(method -> (method.getModifiers() & (Modifier.PRIVATE | Modifier.STATIC)) == 0)
                .filter(method -> !method.isSynthetic())
                .toList();
    }

    @Test
    void closingAListUnderAThreadThatChangesItDoesNotCrash() throws Exception {
        try (Rig rig = new Rig()) {
            MemoryRegion memory = rig.memory();
            for (int i = 0; i < 50; i++) {
                SendRequests list = SendRequests.allocate(1).send(0, 1, memory, 0, 8);
                AtomicReference<Throwable> end = new AtomicReference<>();
                CountDownLatch changing = new CountDownLatch(1);
                // A daemon: it ends by the close only, and must not outlive a test that shows that it does not.
                Thread changer = Thread.ofPlatform().daemon().start(() -> {
                    try {
                        for (long wrId = 0; ; wrId++) {
                            list.wrId(0, wrId);
                            changing.countDown();
                        }
                    } catch (IllegalStateException e) {
                        end.set(e);
                    }
                });
                assertThat(changing.await(10, TimeUnit.SECONDS)).isTrue();
                list.close();
                changer.join(10_000);
                assertThat(end.get()).hasMessageContaining("is closed");
            }
        }
    }

    @Test
    void accessThatCannotBeGrantedIsExplained() throws Exception {
        try (Rig rig = new Rig()) {
            assertThatThrownBy(() -> rig.pd.registerMemory(4096, Access.REMOTE_WRITE))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("ibv_reg_mr")
                    .hasMessageContaining("LOCAL_WRITE");
        }
        assertThat(Ledger.live()).isEmpty();
    }
}
