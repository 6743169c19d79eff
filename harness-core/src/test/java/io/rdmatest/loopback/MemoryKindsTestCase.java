package io.rdmatest.loopback;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.rdmatest.Cause;
import io.rdmatest.RdmaException;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.SendFlag;
import io.rdmatest.verbs.SendRequests;
import io.rdmatest.verbs.WorkCompletion;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Memory of other devices and the whole address space, which soft-RoCE of most kernels can't register. */
@ExtendWith(UsualStandin.WithObjects.class)
class MemoryKindsTestCase {

    private static final int EXPLICIT = 1;
    private static final int IMPLICIT = 2;

    /** Objects that a reset has taken from other cases, which stay allocated. */
    @Test
    void theWholeAddressSpaceIsSentFrom() throws Exception {
        Standin.set("paging", EXPLICIT | IMPLICIT);
        try (Standin standin = new Standin();
                Arena arena = Arena.ofShared()) {
            Standin.Pair pair = standin.pair();
            MemoryRegion all = standin.add(standin.pd.registerAddressSpace(Access.LOCAL_WRITE));
            assertThat(all.access()).containsExactlyInAnyOrder(Access.LOCAL_WRITE, Access.ON_DEMAND);
            assertThat(all.size()).isEqualTo(Long.MAX_VALUE);
            assertThat(all.address(0)).isZero();
            assertThat(all.address(Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE);
            assertThatThrownBy(() -> all.address(-1)).isInstanceOf(IndexOutOfBoundsException.class);
            MemoryRegion some = standin.memory();
            assertThat(some.address(Standin.SIZE)).isEqualTo(some.address() + Standin.SIZE);
            assertThatThrownBy(() -> some.address(Standin.SIZE + 1)).isInstanceOf(IndexOutOfBoundsException.class);
            MemorySegment memory = arena.allocate(64).fill((byte) 7);
            pair.b().postReceive(1, pair.mrB(), 0, 64);
            pair.a().postSend(2, all, memory.address(), 64, SendFlag.SIGNALED);
            assertThat(pair.cqA().awaitSuccess(Standin.SOON).wrId()).isEqualTo(2);
            assertThat(pair.mrB().bytes().asSlice(0, 64).toArray(JAVA_BYTE)).containsOnly(7);
            assertThatThrownBy(all::bytes).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> all.fill((byte) 0)).isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> all.buffer(0, 1)).isInstanceOf(UnsupportedOperationException.class);
        }
    }

    /** Providers refuse with EINVAL as well: what tells is the device's capabilities. */
    @Test
    void pagingThatTheDeviceLacksIsUnsupported() throws Exception {
        Standin.set("paging", EXPLICIT);
        try (Standin standin = new Standin()) {
            assertThatThrownBy(() -> standin.pd.registerAddressSpace())
                    .isInstanceOfSatisfying(RdmaException.class, MemoryKindsTestCase::isUnsupported)
                    .hasMessageContaining("The device has no implicit-on-demand-paging");
            MemoryRegion paged = standin.memory(Access.LOCAL_WRITE, Access.ON_DEMAND);
            assertThat(paged.access()).contains(Access.ON_DEMAND);
            Standin.set("paging", 0);
            assertThatThrownBy(() -> standin.pd.registerMemory(64, Access.ON_DEMAND))
                    .isInstanceOfSatisfying(RdmaException.class, MemoryKindsTestCase::isUnsupported)
                    .hasMessageContaining("The device has no on-demand-paging");
        }
    }

    private static void isUnsupported(RdmaException failure) {
        assertThat(failure.isUnsupported()).isTrue();
        assertThat(failure.rdmaCause()).isEqualTo(Cause.UNSUPPORTED);
    }

    /** A file stands for the memory of the other device. */
    @Test
    void memoryOfADmaBufIsWrittenTo(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("memory"), new byte[3 * 4096]);
        try (Standin standin = new Standin();
                FileChannel opened = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            int descriptor = descriptorOf(file);
            assertThat(opened.isOpen()).isTrue();
            Standin.Pair pair = standin.pair();
            assertThatThrownBy(() -> standin.pd.registerDmaBuf(descriptor, 0, 4096, 0))
                    .isInstanceOfSatisfying(RdmaException.class, MemoryKindsTestCase::isUnsupported);
            Standin.set("dmabuf", 1);
            long address = 0x7000_0000_0000L;
            MemoryRegion region = standin.add(standin.pd.registerDmaBuf(
                    descriptor, 4096, 8192, address, Access.LOCAL_WRITE, Access.REMOTE_WRITE));
            assertThat(region.address()).isEqualTo(address);
            assertThat(region.size()).isEqualTo(8192);
            assertThatThrownBy(region::bytes).isInstanceOf(UnsupportedOperationException.class);
            pair.mrA().fill((byte) 9);
            pair.a().postWrite(1, pair.mrA(), 0, 64, region.address(100), region.rkey(), SendFlag.SIGNALED);
            WorkCompletion ignored = pair.cqA().awaitSuccess(Standin.SOON);
            byte[] bytes = Files.readAllBytes(file);
            assertThat(bytes[4096 + 99]).isZero();
            assertThat(bytes[4096 + 100]).isEqualTo((byte) 9);
            assertThat(bytes[4096 + 163]).isEqualTo((byte) 9);
            assertThat(bytes[4096 + 164]).isZero();
        }
    }

    /** The address of the region is the device's own: a provider that copied from there would end the JVM. */
    @Test
    void memoryOfADmaBufIsNotSentInline(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("memory"), new byte[4096]);
        Standin.set("dmabuf", 1);
        try (Standin standin = new Standin();
                FileChannel opened = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
                SendRequests list = SendRequests.allocate(1)) {
            assertThat(opened.isOpen()).isTrue();
            Standin.Pair pair = standin.pair();
            MemoryRegion region = standin.add(standin.pd.registerDmaBuf(
                    descriptorOf(file), 0, 4096, 0x7000_0000_0000L, Access.LOCAL_WRITE, Access.MEMORY_WINDOW_BIND));
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> pair.a().postSend(1, region, 0, 8, SendFlag.INLINE))
                    .withMessage("request 0 sends inline from " + region.describe()
                            + ", which may have memory that the processor can't read: send it without INLINE");
            list.send(0, 2, region, 0, 8).flags(0, SendFlag.SIGNALED, SendFlag.INLINE);
            assertThatIllegalArgumentException().isThrownBy(() -> pair.a().post(list));
            assertThat(pair.a().work().sends()).isZero();

            pair.b().postReceive(3, pair.mrB(), 0, 64);
            list.flags(0, SendFlag.SIGNALED);
            pair.a().post(list);
            assertThat(pair.cqA().awaitSuccess(Standin.SOON).wrId()).isEqualTo(2);
        }
    }

    private static int descriptorOf(Path file) throws Exception {
        try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors
                    .filter(descriptor -> {
                        try {
                            return Files.isSameFile(descriptor, file);
                        } catch (java.io.IOException e) {
                            return false;
                        }
                    })
                    .map(descriptor -> Integer.parseInt(descriptor.getFileName().toString()))
                    .findFirst()
                    .orElseThrow();
        }
    }
}
