package io.rdmatest.loopback;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.MemoryWindow;
import io.rdmatest.verbs.PostException;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.WorkCompletion;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What MemoryWindowIT shows on a device, and what a device without windows, or without one of their types, answers. */
@ExtendWith(UsualStandin.WithObjects.class)
class MemoryWindowTestCase {

    private static final int TYPE_1 = 1;
    private static final int TYPE_2 = 2;

    /** Objects that a reset has taken from other cases, which stay allocated. */
    @BeforeEach
    void usual() {
        Standin.set("windows", TYPE_1 | TYPE_2);
    }

    @ParameterizedTest
    @EnumSource
    void aWindowIsBoundWrittenThroughAndClosedBeforeItsRegion(MemoryWindow.Type type) throws Exception {
        try (Standin standin = new Standin()) {
            Standin.Pair pair = standin.pair();
            MemoryRegion region = standin.memory(Access.LOCAL_WRITE, Access.MEMORY_WINDOW_BIND);
            MemoryWindow window = standin.pd.allocateMemoryWindow(type);
            assertThat(window.type()).isEqualTo(type);
            assertThat(window.protectionDomain()).isSameAs(standin.pd);
            assertThat(window.kind()).isEqualTo("mw");
            int key = pair.b().postBind(1, window, region, 100, 50, Set.of(Access.REMOTE_WRITE), SendFlag.SIGNALED);
            assertThat(key).isEqualTo(window.rkey()).isNotEqualTo(region.rkey());
            assertThat(pair.cqB().awaitSuccess(Standin.SOON).opcode()).isEqualTo(WorkCompletion.Opcode.BIND_MW);
            assertThat(pair.b().work().sends()).isZero();
            pair.a().postWrite(2, pair.mrA(), 0, 50, region.address(100), key, SendFlag.SIGNALED);
            assertThat(pair.cqA().awaitSuccess(Standin.SOON).wrId()).isEqualTo(2);

            assertThatThrownBy(region::close)
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("EBUSY")
                    .hasMessageContaining("A memory window is bound to it: close or invalidate its windows first.");
            assertThat(region.isClosed()).isFalse();
            pair.a().postWrite(3, pair.mrA(), 0, 51, region.address(100), key, SendFlag.SIGNALED);
            assertThat(pair.cqA().awaitAny(1, Standin.SOON).getFirst().status())
                    .as("a byte beyond the window")
                    .isEqualTo(WorkCompletion.Status.REM_ACCESS_ERR);
            window.close();
            region.close();
        }
    }

    @Test
    void aSendInvalidatesTheKeyAndTellsWhichOne() throws Exception {
        try (Standin standin = new Standin();
                SendRequests list = SendRequests.allocate(2)) {
            Standin.Pair pair = standin.pair();
            MemoryRegion region = standin.memory(Access.LOCAL_WRITE, Access.MEMORY_WINDOW_BIND);
            MemoryWindow window = standin.add(standin.pd.allocateMemoryWindow(MemoryWindow.Type.TYPE_2));
            int key = pair.b().postBind(1, window, region, 0, 64, Set.of(Access.REMOTE_WRITE));
            pair.b().postReceive(2, pair.mrB(), 0, 64);
            pair.a().postSendWithInvalidate(3, pair.mrA(), 0, 8, key, SendFlag.SIGNALED);
            WorkCompletion received = pair.cqB().awaitSuccess(Standin.SOON);
            assertThat(received.hasInvalidatedKey()).isTrue();
            assertThat(received.invalidatedKey()).isEqualTo(key);
            assertThat(received.hasImmediate()).isFalse();
            WorkCompletion ignored = pair.cqA().awaitSuccess(Standin.SOON);

            // The same window again, by a list, and taken back by its owner.
            int next = key & ~0xff | 0x77;
            list.bind(0, 4, window, next, region, 0, 64, Set.of(Access.REMOTE_READ))
                    .invalidate(1, 5, next, SendFlag.SIGNALED);
            pair.b().post(list);
            assertThat(pair.cqB().awaitSuccess(Standin.SOON).opcode()).isEqualTo(WorkCompletion.Opcode.LOCAL_INV);
            assertThatIllegalStateException()
                    .isThrownBy(() -> list.remoteAddress(0, 1))
                    .withMessage("request 0 has no remote address");
            pair.a().postRead(6, pair.mrA(), 0, 8, region.address(), next, SendFlag.SIGNALED);
            assertThat(pair.cqA().awaitAny(1, Standin.SOON).getFirst().status())
                    .isEqualTo(WorkCompletion.Status.REM_ACCESS_ERR);
        }
    }

    @Test
    void whatARequestPointsToIsHeldWhileItIsPosted() throws Exception {
        try (Standin standin = new Standin();
                SendRequests list = SendRequests.allocate(1)) {
            Standin.Pair pair = standin.pair();
            MemoryRegion region = standin.pd.registerMemory(64, Access.LOCAL_WRITE, Access.MEMORY_WINDOW_BIND);
            MemoryWindow window = standin.pd.allocateMemoryWindow(MemoryWindow.Type.TYPE_2);
            list.bind(0, 1, window, window.rkey() + 1, region, 0, 64, Set.of());
            region.close();
            assertThatIllegalStateException()
                    .isThrownBy(() -> pair.b().post(list))
                    .withMessage(region.describe() + " is closed");
            window.close();
            assertThatIllegalStateException()
                    .isThrownBy(() -> pair.b().post(list))
                    .withMessage(window.describe() + " is closed");
            // Nothing is held after a post that was refused: else these closes would have waited.
            list.send(0, 2, pair.mrB(), 0, 8, SendFlag.SIGNALED);
            pair.a().postReceive(3, pair.mrA(), 0, 8);
            pair.b().post(list);
            assertThat(pair.cqB().awaitSuccess(Standin.SOON).wrId()).isEqualTo(2);
        }
    }

    @Test
    void aWindowOfType1IsOfTheProtectionDomainOfItsRegion() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.Pair pair = standin.pair();
            MemoryRegion region = standin.memory(Access.LOCAL_WRITE, Access.MEMORY_WINDOW_BIND);
            ProtectionDomain other = standin.add(standin.context.allocateProtectionDomain());
            MemoryWindow window = standin.add(other.allocateMemoryWindow(MemoryWindow.Type.TYPE_1));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> pair.b().postBind(1, window, region, 0, 8, Set.of()))
                    .withMessage(window.describe() + " and " + region.describe() + " are not of one protection domain");
            assertThat(pair.b().work().sends()).isZero();
        }
    }

    /** A provider takes the region for one of its own: of another device it would follow pointers that are none. */
    @Test
    void aListBindsARegionOfItsDeviceOnly() throws Exception {
        try (Standin standin = new Standin();
                Standin other = new Standin();
                SendRequests list = SendRequests.allocate(1)) {
            Standin.Pair pair = standin.pair();
            MemoryRegion region = other.memory(Access.LOCAL_WRITE, Access.MEMORY_WINDOW_BIND);
            MemoryWindow window = standin.add(standin.pd.allocateMemoryWindow(MemoryWindow.Type.TYPE_2));
            list.bind(0, 1, window, window.rkey() + 1, region, 0, 64, Set.of());
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> pair.b().post(list))
                    .withMessage("the bound region of request 0 is not of the device of "
                            + pair.b().describe());
            assertThat(pair.b().work().sends()).isZero();
        }
    }

    @Test
    void aWindowHasTheKeyOfTheLastBindThatWasPosted() throws Exception {
        try (Standin standin = new Standin();
                SendRequests list = SendRequests.allocate(2)) {
            Standin.Pair pair = standin.pair();
            MemoryRegion region = standin.memory(Access.LOCAL_WRITE, Access.MEMORY_WINDOW_BIND);
            MemoryWindow window = standin.add(standin.pd.allocateMemoryWindow(MemoryWindow.Type.TYPE_2));
            int key = window.rkey();
            list.bind(0, 1, window, key + 1, region, 0, 64, Set.of())
                    .bind(1, 2, window, key + 2, region, 0, 64, Set.of());
            Standin.set("post_result", 12);
            Standin.set("post_bad", 0);
            assertThatThrownBy(() -> pair.b().post(list)).isInstanceOf(PostException.class);
            assertThat(window.rkey()).isEqualTo(key);
            Standin.set("post_bad", 1);
            assertThatThrownBy(() -> pair.b().post(list)).isInstanceOf(PostException.class);
            assertThat(window.rkey()).as("the first of two was posted").isEqualTo(key + 1);
        }
    }

    @Test
    void listsTakeWindowsOfType2Only() throws Exception {
        try (Standin standin = new Standin();
                SendRequests list = SendRequests.allocate(1)) {
            MemoryRegion region = standin.memory(Access.LOCAL_WRITE, Access.MEMORY_WINDOW_BIND);
            MemoryWindow window = standin.add(standin.pd.allocateMemoryWindow(MemoryWindow.Type.TYPE_1));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> list.bind(0, 1, window, 1, region, 0, 64, Set.of()))
                    .withMessageContaining("is of type 1");
        }
    }

    @Test
    void windowsThatTheDeviceLacksAreUnsupported() throws Exception {
        try (Standin standin = new Standin()) {
            Standin.set("windows", TYPE_1);
            refused(standin, MemoryWindow.Type.TYPE_2, "memory-windows-type-2: device_cap_flags has neither");
            Standin.set("windows", 0);
            refused(standin, MemoryWindow.Type.TYPE_1, "memory-windows: max_mw is 0");
        }
    }

    private static void refused(Standin standin, MemoryWindow.Type type, String reason) {
        assertThatThrownBy(() -> standin.pd.allocateMemoryWindow(type))
                .isInstanceOfSatisfying(RdmaException.class, failure -> {
                    assertThat(failure.isUnsupported()).isTrue();
                    assertThat(failure.rdmaCause()).isEqualTo(Cause.UNSUPPORTED);
                })
                .hasMessageContaining("The device has no " + reason);
    }
}
