package io.rdmatest.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmatest.Cause;
import io.rdmatest.DeviceUnderTest;
import io.rdmatest.RdmaException;
import io.rdmatest.WholeLedger;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Memory that the harness does not allocate, or not on usual pages. */
@Timeout(300)
@WholeLedger
class MemoryKindsIT {

    private static final int LENGTH = 10_000;
    private static final long HUGE = 1L << 21;
    private static final Path POOL = Path.of("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");

    /** Writes from one region to the other, and compares. */
    private static void carries(Rig.Pair pair, MemoryRegion from, MemoryRegion to) {
        Rig.pattern(from, 5);
        pair.a().postWrite(1, from, 0, LENGTH, to.address(), to.rkey(), SendFlag.SIGNALED);
        WorkCompletion ignored = pair.cqA().awaitSuccess(Rig.SOON);
        assertThat(Rig.slice(to, 0, LENGTH)).isEqualTo(Rig.slice(from, 0, LENGTH));
    }

    @Test
    void memoryOfTheCallersOwnCarriesData() throws Exception {
        MemorySegment memory;
        try (Arena arena = Arena.ofShared()) {
            memory = arena.allocate(3 * LENGTH).asSlice(LENGTH + 1, LENGTH);
            try (Rig rig = new Rig()) {
                Rig.Pair pair = rig.pair();
                MemoryRegion region = rig.add(rig.pd.registerMemory(memory, rig.context.allAccess()));
                assertThat(region.address()).isEqualTo(memory.address());
                assertThat(region.size()).isEqualTo(LENGTH);
                assertThat(region.bytes()).isEqualTo(memory);
                carries(pair, region, pair.mrB());
                carries(pair, pair.mrA(), region);
            }
            // The region is closed, and the memory is the caller's as before.
            assertThat(memory.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) 5);
        }
    }

    @Test
    void memoryOfAMappedFileIsSentFrom(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("data"), new byte[2 * LENGTH]);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
                Arena arena = Arena.ofShared();
                Rig rig = new Rig()) {
            MemorySegment mapped = channel.map(FileChannel.MapMode.PRIVATE, 0, 2 * LENGTH, arena);
            Rig.Pair pair = rig.pair();
            carries(pair, rig.add(rig.pd.registerMemory(mapped, Access.LOCAL_WRITE)), pair.mrB());
        }
    }

    @Test
    void whatCantBeRegisteredIsRefused() throws Exception {
        try (Rig rig = new Rig()) {
            Arena arena = Arena.ofShared();
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> rig.pd.registerMemory(MemorySegment.ofArray(new byte[64])))
                    .withMessageContaining("the Java heap");
            assertThatIllegalArgumentException().isThrownBy(() -> rig.pd.registerMemory(MemorySegment.NULL));
            MemorySegment memory = arena.allocate(64);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> rig.pd.registerMemory(memory.asReadOnly(), Access.LOCAL_WRITE))
                    .withMessageContaining("read-only");
            arena.close();
            assertThatIllegalStateException()
                    .isThrownBy(() -> rig.pd.registerMemory(memory))
                    .withMessageContaining("its arena is closed");
        }
    }

    @Test
    void memoryThatTheCallerFreedIsNotReadInline() throws Exception {
        try (Rig rig = new Rig()) {
            Rig.Pair pair = rig.pair();
            Arena arena = Arena.ofShared();
            MemoryRegion region = rig.add(rig.pd.registerMemory(arena.allocate(64), Access.LOCAL_WRITE));
            arena.close();
            assertThatIllegalStateException()
                    .isThrownBy(() -> pair.a().postSend(1, region, 0, 64, SendFlag.INLINE))
                    .withMessageContaining("whose memory its owner has freed");
            assertThatIllegalStateException().isThrownBy(() -> region.fill((byte) 1));
        }
    }

    @Test
    void hugePagesCarryData() throws Exception {
        assumeTrue(Files.isWritable(POOL), "unsupported by the kernel: it has no huge pages of 2 MiB, or only root's");
        int before = pages();
        try {
            setPages(before + 4);
            assumeTrue(pages() >= before + 4, "unsupported by the kernel: it finds no memory for 4 more huge pages");
            hugePagesOfThePoolCarryData();
        } finally {
            setPages(before);
        }
    }

    private static int pages() throws IOException {
        return Integer.parseInt(Files.readString(POOL).strip());
    }

    private static void setPages(int count) throws IOException {
        Files.writeString(POOL, Integer.toString(count));
    }

    private static void hugePagesOfThePoolCarryData() throws Exception {
        try (Rig rig = new Rig()) {
            Rig.Pair pair = rig.pair();
            MemoryPlacement placement = MemoryPlacement.ANYWHERE.onHugePages(HUGE);
            MemoryRegion region = rig.add(rig.pd.registerMemory(HUGE + 1, placement, rig.context.allAccess()));
            assertThat(region.size()).isEqualTo(HUGE + 1);
            assertThat(region.address() % HUGE).isZero();
            assertThat(Files.readAllLines(Path.of("/proc/self/smaps")))
                    .as("pages of 2 MiB")
                    .anyMatch(line -> line.matches("KernelPageSize: +2048 kB"));
            carries(pair, pair.mrA(), region);
            pair.a().postRead(2, pair.mrA(), 0, 1, region.address(HUGE), region.rkey(), SendFlag.SIGNALED);
            assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(2);

            assertThatThrownBy(() -> rig.pd.registerMemory(HUGE << 20, placement))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("nr_hugepages");
            assertThatThrownBy(() -> rig.pd.registerMemory(64, MemoryPlacement.ANYWHERE.onHugePages(1 << 13)))
                    .isInstanceOf(RdmaException.class)
                    .hasMessageContaining("no huge pages of 8 KiB");
        }
    }

    @Test
    void memoryThatIsPagedOnDemandCarriesDataOrTheDeviceIsSaidToLackIt() throws Exception {
        try (Rig rig = new Rig();
                Arena arena = Arena.ofShared()) {
            long general = rig.context.extendedAttributes().odpCapabilities();
            if ((general & 1) == 0) {
                isUnsupported(
                        () -> rig.pd.registerMemory(4096, Access.LOCAL_WRITE, Access.ON_DEMAND), "on-demand-paging");
            } else {
                Rig.Pair pair = rig.pair();
                MemorySegment memory = arena.allocate(LENGTH);
                carries(
                        pair,
                        pair.mrA(),
                        rig.add(rig.pd.registerMemory(
                                memory, Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.ON_DEMAND)));
            }
            if ((general & 2) == 0) {
                isUnsupported(() -> rig.pd.registerAddressSpace(Access.LOCAL_WRITE), "implicit-on-demand-paging");
            } else {
                Rig.Pair pair = rig.pair();
                MemoryRegion all = rig.add(rig.pd.registerAddressSpace(Access.LOCAL_WRITE));
                pair.b().postReceive(1, pair.mrB(), 0, 64);
                pair.a().postSend(2, all, arena.allocate(64).address(), 64, SendFlag.SIGNALED);
                assertThat(pair.cqA().awaitSuccess(Rig.SOON).wrId()).isEqualTo(2);
            }
        }
    }

    @Test
    void aDmaBufIsRefusedWithItsReason() throws Exception {
        try (Rig rig = new Rig()) {
            assertThatThrownBy(() -> rig.pd.registerDmaBuf(0, 0, 4096, 0, Access.LOCAL_WRITE))
                    .isInstanceOfSatisfying(RdmaException.class, failure -> {
                        assertThat(failure.call()).isEqualTo("ibv_reg_dmabuf_mr");
                        // Others find that the descriptor is of no dma-buf.
                        if (DeviceUnderTest.driver() == DeviceUnderTest.Driver.RXE) {
                            assertThat(failure.isUnsupported()).isTrue();
                            assertThat(failure.rdmaCause()).isEqualTo(Cause.UNSUPPORTED);
                        }
                    })
                    .hasMessageContaining("dma-buf of descriptor 0 from 0");
            assertThatIllegalArgumentException().isThrownBy(() -> rig.pd.registerDmaBuf(-1, 0, 4096, 0));
            assertThatIllegalArgumentException().isThrownBy(() -> rig.pd.registerDmaBuf(0, 0, 0, 0));
        }
    }

    private static void isUnsupported(Supplier<MemoryRegion> register, String capability) {
        assertThatThrownBy(register::get)
                .isInstanceOfSatisfying(RdmaException.class, failure -> {
                    assertThat(failure.isUnsupported()).isTrue();
                    assertThat(failure.rdmaCause()).isEqualTo(Cause.UNSUPPORTED);
                })
                .hasMessageContaining("The device has no " + capability);
    }
}
