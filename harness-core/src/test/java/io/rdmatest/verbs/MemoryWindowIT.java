package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.RdmaException;
import io.rdmatest.WholeLedger;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(300)
@WholeLedger
class MemoryWindowIT {

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

    private MemoryWindow window(MemoryWindow.Type type) {
        DeviceCapability needed = type == MemoryWindow.Type.TYPE_1
                ? DeviceCapability.MEMORY_WINDOWS
                : DeviceCapability.MEMORY_WINDOWS_TYPE_2;
        Optional<String> lack = rig.context.capabilities().lack(needed);
        if (lack.isPresent()) {
            assertThatThrownBy(() -> rig.pd.allocateMemoryWindow(type))
                    .isInstanceOfSatisfying(
                            RdmaException.class,
                            failure -> assertThat(failure.isUnsupported()).isTrue());
        }
        assumeTrue(lack.isEmpty(), () -> "unsupported by the device: " + lack.orElse(""));
        return rig.add(rig.pd.allocateMemoryWindow(type));
    }

    private MemoryRegion region() {
        return rig.add(rig.pd.registerMemory(Rig.SIZE, Access.LOCAL_WRITE, Access.MEMORY_WINDOW_BIND));
    }

    @ParameterizedTest
    @EnumSource
    void thePeerWritesThroughAWindowAndNowhereElse(MemoryWindow.Type type) {
        MemoryRegion region = region();
        Rig.Pair pair = rig.pair();
        MemoryWindow window = window(type);
        int key = pair.b().postBind(1, window, region, 4096, LENGTH, Set.of(Access.REMOTE_WRITE), SendFlag.SIGNALED);
        WorkCompletion bound = pair.cqB().awaitSuccess(Rig.SOON);
        assertThat(bound.wrId()).isEqualTo(1);
        assertThat(bound.opcode()).isEqualTo(WorkCompletion.Opcode.BIND_MW);
        assertThat(key).isEqualTo(window.rkey()).isNotEqualTo(region.rkey());
        assertThat(pair.b().work().sends()).isZero();

        Rig.pattern(pair.mrA(), 7);
        pair.a().postWrite(2, pair.mrA(), 0, LENGTH, region.address(4096), key, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(2);
        assertThat(Rig.slice(region, 4096, LENGTH)).isEqualTo(Rig.slice(pair.mrA(), 0, LENGTH));
        assertThat(Rig.slice(region, 0, 4096)).containsOnly(0);

        pair.a().postRead(3, pair.mrA(), 0, 64, region.address(4096), key, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitAny(1, Rig.SOON).getFirst().status())
                .as("a read through a window for writes")
                .isEqualTo(WorkCompletion.Status.REM_ACCESS_ERR);
    }

    @Test
    void aWriteBesideTheWindowIsRefused() {
        assumeTrue(
                !RdmaDevice.byName(rig.context.deviceName()).driver().equals("rdma_rxe"),
                "unsupported by the device: soft-RoCE checks the bounds of the region, and not those of the window");
        MemoryRegion region = region();
        Rig.Pair pair = rig.pair();
        MemoryWindow window = window(MemoryWindow.Type.TYPE_1);
        int key = pair.b().postBind(1, window, region, 4096, LENGTH, Set.of(Access.REMOTE_WRITE), SendFlag.SIGNALED);
        pair.cqB().awaitSuccess(Rig.SOON);
        pair.a().postWrite(2, pair.mrA(), 0, 64, region.address(4095), key, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitAny(1, Rig.SOON).getFirst().status())
                .isEqualTo(WorkCompletion.Status.REM_ACCESS_ERR);
    }

    @Test
    void aRegionStaysAsLongAsAWindowIsBoundToIt() {
        Rig.Pair pair = rig.pair();
        MemoryRegion region = region();
        MemoryWindow window = window(MemoryWindow.Type.TYPE_1);
        int ignored = pair.b().postBind(1, window, region, 0, LENGTH, Set.of(Access.REMOTE_READ), SendFlag.SIGNALED);
        pair.cqB().awaitSuccess(Rig.SOON);
        assertThatThrownBy(region::close)
                .isInstanceOf(RdmaException.class)
                .hasMessageContaining("close or invalidate its windows first");
        assertThat(region.isClosed()).isFalse();
        window.close();
        region.close();
    }

    @Test
    void aSendInvalidatesAWindow() {
        MemoryRegion region = region();
        Rig.Pair pair = rig.pair();
        MemoryWindow window = window(MemoryWindow.Type.TYPE_2);
        int key = pair.b().postBind(1, window, region, 0, LENGTH, Set.of(Access.REMOTE_WRITE), SendFlag.SIGNALED);
        pair.cqB().awaitSuccess(Rig.SOON);
        pair.b().postReceive(2, pair.mrB(), 0, 64);
        pair.a().postSendWithInvalidate(3, pair.mrA(), 0, 64, key, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(3);
        WorkCompletion received = pair.cqB().awaitSuccess(Rig.SOON);
        assertThat(received.wrId()).isEqualTo(2);
        assertThat(received.byteLength()).isEqualTo(64);
        assertThat(received.hasInvalidatedKey()).isTrue();
        assertThat(received.invalidatedKey()).isEqualTo(key);

        pair.a().postWrite(4, pair.mrA(), 0, 64, region.address(), key, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitAny(1, Rig.SOON).getFirst().status())
                .isEqualTo(WorkCompletion.Status.REM_ACCESS_ERR);
    }

    @Test
    void anInvalidatedWindowIsBoundAgainWithAnotherKey() {
        MemoryRegion region = region();
        Rig.Pair pair = rig.pair();
        MemoryWindow window = window(MemoryWindow.Type.TYPE_2);
        int first = pair.b().postBind(1, window, region, 0, LENGTH, Set.of(Access.REMOTE_WRITE));
        pair.b().postInvalidate(2, first, SendFlag.SIGNALED);
        assertThat(pair.cqB().awaitSuccess(Rig.SOON).opcode()).isEqualTo(WorkCompletion.Opcode.LOCAL_INV);
        int second = pair.b().postBind(3, window, region, 64, 64, Set.of(Access.REMOTE_WRITE), SendFlag.SIGNALED);
        assertThat(pair.cqB().awaitSuccess(Rig.SOON).wrId()).isEqualTo(3);
        assertThat(second).isNotEqualTo(first);
        pair.a().postWrite(4, pair.mrA(), 0, 64, region.address(64), second, SendFlag.SIGNALED);
        assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(4);
    }

    @Test
    void aRegionThatDoesNotAllowItIsNotBound() {
        MemoryRegion region = rig.add(rig.pd.registerMemory(Rig.SIZE, Access.LOCAL_WRITE));
        Rig.Pair pair = rig.pair();
        MemoryWindow window = window(MemoryWindow.Type.TYPE_2);
        int ignored = pair.b().postBind(1, window, region, 0, 64, Set.of(Access.REMOTE_WRITE), SendFlag.SIGNALED);
        assertThat(pair.cqB().awaitAny(1, Rig.SOON).getFirst().isSuccess()).isFalse();
    }
}
