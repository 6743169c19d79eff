package io.rdmatest.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.rdmatest.RdmaException;
import io.rdmatest.junit.condition.Privilege;
import io.rdmatest.junit.condition.RequiresPrivilege;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.SendFlag;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory that may not be locked while a transfer runs: the registration says so, and the transfer does not notice. */
@RdmaTest(timeout = "90 s")
@ExclusiveDevice
@RequiresPrivilege(Privilege.CAP_IPC_LOCK)
class MemoryPressureIT {

    private static final Duration SOON = Duration.ofSeconds(30);
    private static final int MESSAGE = 4096;
    private static final int MESSAGES = 20;
    private static final int LIMIT = 64 << 10;
    private static final int MORE = 1 << 20;

    @ParameterizedTest(name = "limited: {0}")
    @ValueSource(booleans = {true, false})
    void aRegistrationBeyondTheLimitFailsAloneAndSaysWhatHelps(
            boolean limited,
            Connection connection,
            ProtectionDomain domain,
            @Registered(size = "4KiB") MemoryRegion source,
            @Registered(size = "4KiB") MemoryRegion sink)
            throws Exception {
        Transfer transfer = new Transfer(connection, source, sink);
        transfer.begin();
        try {
            transfer.awaitMessages();
            Throwable failure;
            if (limited) {
                long before = Libc.limitLockedMemory(LIMIT);
                try {
                    failure = registrationWithoutPrivilege(domain);
                    transfer.awaitMessages();
                } finally {
                    Libc.limitLockedMemory(before);
                }
                requireLimit(failure);
            } else {
                failure = registrationWithoutPrivilege(domain);
                assertThat(failure).isNull();
                assertThatThrownBy(() -> requireLimit(failure)).isInstanceOf(AssertionError.class);
            }
            transfer.awaitMessages();
            // What was refused is granted when there is room again.
            assertThat(registration(domain)).isNull();
        } finally {
            transfer.end();
        }
    }

    private static @Nullable Throwable registration(ProtectionDomain domain) {
        return catchThrowable(
                () -> domain.registerMemory(MORE, Access.LOCAL_WRITE).close());
    }

    private static void requireLimit(@Nullable Throwable failure) {
        assertThat(failure)
                .isInstanceOfSatisfying(RdmaException.class, refused -> {
                    assertThat(refused.call()).isEqualTo("ibv_reg_mr");
                    assertThat(refused.errnoName()).isEqualTo("ENOMEM");
                })
                .hasMessageContaining(MORE + " bytes")
                .hasMessageContaining("The limit of locked memory is " + LIMIT / 1024 + " KiB")
                .hasMessageContaining("ulimit -l");
    }

    /** Messages one after the other, each compared where it arrives, on a thread of its own. */
    private static final class Transfer {

        private final Connection connection;
        private final MemoryRegion source;
        private final MemoryRegion sink;
        private final Semaphore arrived = new Semaphore(0);
        private final FutureTask<Void> work = new FutureTask<>(this::run, null);
        private volatile boolean ending;

        Transfer(Connection connection, MemoryRegion source, MemoryRegion sink) {
            this.connection = connection;
            this.source = source;
            this.sink = sink;
        }

        void begin() {
            Thread.ofPlatform().name("rdma-transfer").daemon(true).start(work);
        }

        private void run() {
            for (int i = 0; !ending; i++) {
                source.fill((byte) i);
                connection.server().queuePair().postReceive(i, sink, 0, MESSAGE);
                connection.client().queuePair().postSend(i, source, 0, MESSAGE, SendFlag.SIGNALED);
                connection.client().sendQueue().awaitSuccess(SOON);
                connection.server().receiveQueue().awaitSuccess(SOON);
                assertThat(sink.bytes().mismatch(source.bytes())).isEqualTo(-1);
                arrived.release();
            }
        }

        /** Waits until more messages have arrived than were there. */
        void awaitMessages() throws InterruptedException {
            arrived.drainPermits();
            assertThat(arrived.tryAcquire(MESSAGES, SOON.toSeconds(), TimeUnit.SECONDS))
                    .as("%s messages arrive", MESSAGES)
                    .isTrue();
        }

        void end() throws Exception {
            ending = true;
            work.get(2 * SOON.toSeconds(), TimeUnit.SECONDS);
        }
    }

    /**
     * Registers on a thread of its own, which may not pass the limit (capset(2): capabilities belong to a thread). Not on that
     * of the test: the kernel compares the credentials of a thread with those that opened the device as objects, and a thread
     * that had others for a while can't post any more (EACCES), even if they are equal again.
     */
    private static @Nullable Throwable registrationWithoutPrivilege(ProtectionDomain domain) throws Exception {
        FutureTask<@Nullable Throwable> task = new FutureTask<>(() -> {
            Libc.dropMemoryCapability();
            return registration(domain);
        });
        Thread.ofPlatform().name("rdma-registration").daemon(true).start(task);
        return task.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    /** What has no other way than the C library. */
    private static final class Libc {

        private static final int RLIMIT_MEMLOCK = 8;
        private static final int CAPABILITY_VERSION_3 = 0x20080522;
        private static final int CAP_IPC_LOCK = 14;

        private static final MethodHandle GETRLIMIT = function("getrlimit", ValueLayout.JAVA_INT);
        private static final MethodHandle SETRLIMIT = function("setrlimit", ValueLayout.JAVA_INT);
        private static final MethodHandle CAPGET = function("capget", ValueLayout.ADDRESS);
        private static final MethodHandle CAPSET = function("capset", ValueLayout.ADDRESS);

        private static MethodHandle function(String name, MemoryLayout first) {
            Linker linker = Linker.nativeLinker();
            return linker.downcallHandle(
                    linker.defaultLookup().findOrThrow(name),
                    FunctionDescriptor.of(ValueLayout.JAVA_INT, first, ValueLayout.ADDRESS));
        }

        /**
         * Sets the soft limit of locked memory of this process.
         *
         * @param bytes the limit, -1 for none
         * @return what it was
         */
        static long limitLockedMemory(long bytes) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment limit = arena.allocate(2 * Long.BYTES, Long.BYTES);
                assertThat((int) GETRLIMIT.invokeExact(RLIMIT_MEMLOCK, limit)).isZero();
                long before = limit.get(ValueLayout.JAVA_LONG, 0);
                limit.set(ValueLayout.JAVA_LONG, 0, bytes);
                assertThat((int) SETRLIMIT.invokeExact(RLIMIT_MEMLOCK, limit)).isZero();
                return before;
            } catch (Throwable e) {
                throw new AssertionError("setrlimit", e);
            }
        }

        /** Takes CAP_IPC_LOCK from the set of capabilities that this thread uses. */
        static void dropMemoryCapability() {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment header = arena.allocate(2 * Integer.BYTES, Integer.BYTES);
                MemorySegment sets = arena.allocate(6 * Integer.BYTES, Integer.BYTES);
                header.set(ValueLayout.JAVA_INT, 0, CAPABILITY_VERSION_3);
                assertThat((int) CAPGET.invokeExact(header, sets)).isZero();
                sets.set(ValueLayout.JAVA_INT, 0, sets.get(ValueLayout.JAVA_INT, 0) & ~(1 << CAP_IPC_LOCK));
                assertThat((int) CAPSET.invokeExact(header, sets)).isZero();
            } catch (Throwable e) {
                throw new AssertionError("capset", e);
            }
        }
    }
}
