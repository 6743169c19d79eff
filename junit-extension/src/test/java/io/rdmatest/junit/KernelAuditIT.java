package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.ffi.rdma_h;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.QueuePair;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What the ledger can't know of: objects that were made past the harness. */
class KernelAuditIT {

    private static final Deque<Runnable> UNDO = new ArrayDeque<>();

    @AfterEach
    void releaseWhatTheFixtureLeft() {
        while (!UNDO.isEmpty()) {
            UNDO.pop().run();
        }
    }

    private static void assertNothingFailed(Run run) {
        run.results().allEvents().failed().stream().findFirst().ifPresent(event -> {
            throw new AssertionError(event.toString());
        });
    }

    @RdmaTest(timeout = "3 min")
    static class LeakingPastTheLedgerTestCase {
        @RdmaTest
        void allocates() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
                MemorySegment devices = rdma_h.ibv_get_device_list(count);
                MemorySegment device =
                        devices.reinterpret(ValueLayout.ADDRESS.byteSize()).get(ValueLayout.ADDRESS, 0);
                MemorySegment context = rdma_h.ibv_open_device(device);
                UNDO.push(() -> rdma_h.ibv_close_device(context));
                rdma_h.ibv_free_device_list(devices);
                MemorySegment pd = rdma_h.ibv_alloc_pd(context);
                assertThat(pd.address()).isNotZero();
                UNDO.push(() -> rdma_h.ibv_dealloc_pd(pd));
            }
        }
    }

    @Test
    void failsTheClassThatLeavesAnObjectInTheKernel() {
        Run run = Run.of(LeakingPastTheLedgerTestCase.class, RdmaConfiguration.AUDIT, "kernel");
        assertThat(run.succeeded()).containsExactly("allocates()");
        assertThat(run.failure("KernelAuditIT$LeakingPastTheLedgerTestCase"))
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("left objects in the kernel")
                .hasMessageMatching(".*\\[pd \\d+ -> \\d+]");
    }

    @Test
    void leavesTheLedgerToItselfByDefault() {
        Run run = Run.of(LeakingPastTheLedgerTestCase.class);
        assertNothingFailed(run);
    }

    @RdmaTest(timeout = "3 min")
    static class CleanTestCase {
        @RdmaTest
        void uses(@QueuePairSpec QueuePair queuePair, @Registered(size = "4KiB") MemoryRegion memory) {
            assertThat(queuePair.number()).isNotZero();
            assertThat(memory.bytes().byteSize()).isEqualTo(4096);
        }
    }

    @Test
    void passesAClassThatReleasesEverything() {
        Run run = Run.of(CleanTestCase.class, RdmaConfiguration.AUDIT, "kernel");
        assertNothingFailed(run);
        assertThat(run.succeeded()).hasSize(1);
    }

    /** Closed by the extension at the end of the class: the audit must come after that. */
    @RdmaTest(timeout = "3 min")
    static class OwnedByTheClassTestCase {
        @BeforeAll
        static void provisioned(@QueuePairSpec QueuePair queuePair) {
            assertThat(queuePair.number()).isNotZero();
        }

        @RdmaTest
        void passes() {}
    }

    @Test
    void looksAfterTheClassHasReleasedWhatBelongsToIt() {
        Run run = Run.of(OwnedByTheClassTestCase.class, RdmaConfiguration.AUDIT, "kernel");
        assertNothingFailed(run);
        assertThat(run.succeeded()).containsExactly("passes()");
    }
}
