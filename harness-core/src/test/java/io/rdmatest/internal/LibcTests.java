package io.rdmatest.internal;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static org.assertj.core.api.Assertions.assertThat;

import io.rdmatest.internal.linux.NativeCalls;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** On purpose without {@link NativeCalls#requireLibraries()}. */
@Timeout(30)
class LibcTests {

    private static final int EBADF = 9;
    private static final int ENOENT = 2;
    private static final int CLOCK_MONOTONIC = 1;

    private final Arena arena = Arena.ofAuto();

    @Test
    void readsAFileFromItsEndOn(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("log"), "before");
        int fd = Libc.open(file.toString(), Libc.O_NONBLOCK | Libc.O_CLOEXEC);
        assertThat(fd).isPositive();
        assertThat(Libc.statusFlags(fd) & Libc.O_NONBLOCK).isEqualTo(Libc.O_NONBLOCK);
        assertThat(Libc.setStatusFlags(fd, 0)).isZero();
        assertThat(Libc.statusFlags(fd) & Libc.O_NONBLOCK).isZero();
        assertThat(Libc.lseek(fd, 0, Libc.SEEK_END)).isEqualTo(6);
        Files.writeString(file, "before and after");
        MemorySegment buffer = arena.allocate(64);
        long length = Libc.read(fd, buffer, buffer.byteSize());
        assertThat(new String(buffer.asSlice(0, length).toArray(JAVA_BYTE), StandardCharsets.UTF_8))
                .isEqualTo(" and after");
        assertThat(Libc.close(fd)).isZero();
    }

    @Test
    void keepsTheErrnoOfAFailure(@TempDir Path folder) {
        assertThat(Libc.open(folder.resolve("none").toString(), 0)).isNegative();
        assertThat(Native.errno()).isEqualTo(ENOENT);
        assertThat(Libc.close(-1)).isEqualTo(-1);
        assertThat(Native.errno()).isEqualTo(EBADF);
        // What runs on the way to a message leaves it alone.
        assertThat(Libc.strerror(ENOENT)).isEqualTo("No such file or directory");
        MemorySegment memory = CMemory.allocate(100, 4096);
        assertThat(memory.address() % 4096).isZero();
        CMemory.free(memory);
        assertThat(Libc.libraryOf(Linker.nativeLinker().defaultLookup().findOrThrow("malloc")))
                .contains("libc");
        assertThat(Native.errno()).isEqualTo(EBADF);
    }

    @Test
    void waitsForAnEventAndForATimer() {
        int event = Libc.eventfd(0, Libc.O_CLOEXEC | Libc.O_NONBLOCK);
        int timer = Libc.timerfdCreate(CLOCK_MONOTONIC, Libc.O_CLOEXEC);
        MemorySegment entries = arena.allocate(16, 8);
        entries.set(JAVA_INT, 0, event);
        entries.set(JAVA_SHORT, 4, Libc.POLLIN);
        entries.set(JAVA_INT, 8, timer);
        entries.set(JAVA_SHORT, 12, Libc.POLLIN);
        assertThat(Libc.poll(entries, 2, 0)).isZero();
        assertThat(Libc.read(event, entries, 8)).isNegative();
        assertThat(Native.errno()).isEqualTo(Libc.EAGAIN);

        assertThat(Libc.write(event, arena.allocateFrom(JAVA_LONG, 1), 8)).isEqualTo(8);
        assertThat(Libc.poll(entries, 2, -1)).isEqualTo(1);
        assertThat(entries.get(JAVA_SHORT, 6)).isEqualTo(Libc.POLLIN);

        assertThat(Libc.timerfdSettime(timer, 0, arena.allocateFrom(JAVA_LONG, 0, 0, 0, 1_000_000)))
                .isZero();
        MemorySegment second = entries.asSlice(8);
        assertThat(Libc.poll(second, 1, -1)).isEqualTo(1);
        assertThat(Libc.close(event)).isZero();
        assertThat(Libc.close(timer)).isZero();
    }

    @Test
    void mapsMemory() {
        long address = Libc.mmap(8192, Libc.PROT_READ_WRITE, Libc.MAP_PRIVATE_ANONYMOUS, -1);
        assertThat(address).isNotEqualTo(Libc.MAP_FAILED);
        MemorySegment memory = MemorySegment.ofAddress(address).reinterpret(8192);
        memory.fill((byte) 1);
        assertThat(Libc.munmap(address, 8192)).isZero();
        assertThat(Libc.mmap(0, Libc.PROT_READ_WRITE, Libc.MAP_PRIVATE_ANONYMOUS, -1))
                .isEqualTo(Libc.MAP_FAILED);
    }

    @Test
    void interruptsNoThreadThatIsNotThere() {
        assertThat(Libc.gettid()).isPositive();
        assertThat(Libc.tgkill((int) ProcessHandle.current().pid(), Integer.MAX_VALUE, 0))
                .isEqualTo(-1);
    }
}
