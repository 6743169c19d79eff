package io.rdmatest.loopback;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdmatest.internal.SharedSecrets;
import io.rdmatest.verbs.Access;
import io.rdmatest.verbs.CompletionQueue;
import io.rdmatest.verbs.DeviceContext;
import io.rdmatest.verbs.Gid;
import io.rdmatest.verbs.GidEntry;
import io.rdmatest.verbs.MemoryRegion;
import io.rdmatest.verbs.ProtectionDomain;
import io.rdmatest.verbs.QpType;
import io.rdmatest.verbs.QueuePair;
import io.rdmatest.verbs.QueuePairAttributes;
import io.rdmatest.verbs.RawConnection;
import io.rdmatest.verbs.RdmaDevice;
import io.rdmatest.verbs.VerbsBridge;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The device of the library in the place of libibverbs, what is built on it, and the answers that it is told to give. The library is
 * the one that loops back, or the interposer.
 */
final class Standin implements AutoCloseable {

    static final String DEVICE = "standin0";
    static final Duration SOON = Duration.ofSeconds(20);
    static final int SIZE = 4096;

    private static final SymbolLookup LIBRARY = SymbolLookup.libraryLookup("libibverbs.so.1", Arena.global());
    private static final String PREFIX = LIBRARY.find("interposer_set").isPresent() ? "interposer_" : "loopback_";
    private static final MethodHandle SET = handle("set", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_LONG));
    private static final MethodHandle GET = handle("get", FunctionDescriptor.of(JAVA_LONG, ADDRESS));
    private static final MethodHandle USUAL = handle("usual", FunctionDescriptor.ofVoid());

    /** What the interposer lacks. */
    private static final class OnlyLoopback {
        static final MethodHandle EVENT = handle("event", FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT));
        static final MethodHandle QP = handle("qp", FunctionDescriptor.of(JAVA_LONG, ADDRESS, ADDRESS));
    }

    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    final DeviceContext context;
    final ProtectionDomain pd;

    Standin() {
        context = add(RdmaDevice.list().getFirst().open());
        pd = add(context.allocateProtectionDomain());
    }

    private static MethodHandle handle(String function, FunctionDescriptor descriptor) {
        return Linker.nativeLinker().downcallHandle(LIBRARY.findOrThrow(PREFIX + function), descriptor);
    }

    /** Changes an answer from now on; loopback_verbs.c has their names. */
    static void set(String setting, long value) {
        try (Arena arena = Arena.ofConfined()) {
            if ((int) SET.invokeExact(arena.allocateFrom(setting), value) != 0) {
                throw new IllegalArgumentException("the library has no setting " + setting);
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    static long get(String setting) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom(setting);
            return (long) GET.invokeExact(name);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns a field of what a queue pair was set to, as C has it; loopback_record.c has their names. */
    static long received(QueuePair queuePair, String field) {
        MemorySegment pointer = SharedSecrets.of(VerbsBridge.class).pointer(queuePair);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = arena.allocateFrom(field);
            return (long) OnlyLoopback.QP.invokeExact(pointer, name);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Lets all answers be the usual ones again. */
    static void setUsual() {
        try {
            USUAL.invokeExact();
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    /** Resets the device: from now on every call that goes to the kernel ends with EIO, as after a reset of the firmware. */
    static void reset() {
        set("destroy_error", 5);
        set("call_error", 5);
    }

    /** Lets the device have an asynchronous event, which is of no port and of no object. */
    void tell(int type) {
        MemorySegment pointer = SharedSecrets.of(VerbsBridge.class).pointer(context);
        try {
            int errno = (int) OnlyLoopback.EVENT.invokeExact(pointer, type, 0);
            if (errno != 0) {
                throw new IllegalStateException("errno " + errno);
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    <T extends AutoCloseable> T add(T resource) {
        opened.push(resource);
        return resource;
    }

    CompletionQueue cq() {
        return add(context.createCompletionQueue(64));
    }

    MemoryRegion memory(Access... access) {
        return add(pd.registerMemory(SIZE, access));
    }

    MemoryRegion memory() {
        return memory(Access.LOCAL_WRITE, Access.REMOTE_WRITE, Access.REMOTE_READ);
    }

    QueuePair qp(QpType type, CompletionQueue cq) {
        return add(pd.createQueuePair(QueuePairAttributes.builder(type)
                .completionQueue(cq)
                .maxSendWr(16)
                .maxReceiveWr(16)
                .maxInline(64)
                .build()));
    }

    Pair pair() {
        return pair(cq(), cq());
    }

    Pair unconnected() {
        return unconnected(cq(), cq());
    }

    private Pair unconnected(CompletionQueue cqA, CompletionQueue cqB) {
        return new Pair(qp(QpType.RC, cqA), qp(QpType.RC, cqB), cqA, cqB, memory(), memory());
    }

    /** Returns an IP address of the device's port, by its GIDs. */
    InetAddress address() {
        return context.gidTable(1).stream()
                .map(GidEntry::gid)
                .filter(Gid::isIpv4Mapped)
                .findFirst()
                .orElseThrow()
                .toInetAddress();
    }

    Pair pair(CompletionQueue cqA, CompletionQueue cqB) {
        Pair pair = unconnected(cqA, cqB);
        GidEntry gid = context.gidTable(1).getFirst();
        RawConnection.connect(pair.a, pair.b, gid, RawConnection.Parameters.DEFAULT);
        return pair;
    }

    /** Two connected queue pairs. */
    record Pair(
            QueuePair a, QueuePair b, CompletionQueue cqA, CompletionQueue cqB, MemoryRegion mrA, MemoryRegion mrB) {}

    @Override
    public void close() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }
}
